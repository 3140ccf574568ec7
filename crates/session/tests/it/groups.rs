//! Object groups of real heaps: the evaluation of Weninger et al. 2018 (document of the multi-cache
//! program), cross-checked by taking objects away.

use std::path::Path;

use anthill_classify::{Definitions, OVERALL, Step};
use anthill_graph::{Convention, Graph};
use anthill_heap::{BitSet, Quiet};
use anthill_session::{Error, IndexFolder, Options, Session};
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};

fn open(dump: &Path, index: &Path) -> Session {
    let options = Options {
        index: IndexFolder::Folder(index.to_owned()),
        convention: Convention::DEFAULT,
        dump: None,
        at: None,
    };
    Session::open(dump, options, Box::new(Quiet)).unwrap()
}

fn group(session: &Session, text: &str) -> BitSet {
    let group = session.group(text, &Definitions::default());
    group.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The bytes that are no longer reachable when the group is not there, by a plain search.
fn freed(graph: &Graph, group: &BitSet) -> u64 {
    let alive = |without: Option<&BitSet>| {
        let mut seen = vec![false; graph.len() as usize];
        let mut work = graph.roots().to_vec();
        let mut bytes = 0;
        while let Some(node) = work.pop() {
            let gone = without.is_some_and(|group| group.contains(node));
            if !gone && !std::mem::replace(&mut seen[node as usize], true) {
                bytes += graph.size(node);
                work.extend(graph.successors(node));
            }
        }
        bytes
    };
    alive(None) - alive(Some(group))
}

#[test]
fn the_two_caches_together_keep_nearly_everything() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("groups of the two caches", "no JDK was found");
    };
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("heap.hprof");
    let sample = Sample::start(jdk, "MultiCache", &["300000"], &["-Xmx512m"]);
    sample.dump(&dump, DumpOptions::default());
    let session = open(&dump, &folder.path().join("index"));
    let graph = session.graph();
    let heap = session.analysis().unwrap().total().retained;
    let percent = |text: &str| {
        let group = group(&session, text);
        let retained = session.measure(&group).unwrap().retained.bytes;
        assert_eq!(retained, freed(&graph, &group), "{text}");
        retained as f64 * 100.0 / heap as f64
    };
    // As in the paper: all maps nearly everything, each cache a small part, both nearly everything.
    let maps = percent("java.util.HashMap");
    assert!(maps > 99.0, "{maps}");
    let by_id = percent("IdCache.idCache");
    let by_name = percent("static('anthill.samples.NameCache', nameCache)");
    assert!((14.0..17.0).contains(&by_id), "{by_id}");
    assert!((8.0..12.0).contains(&by_name), "{by_name}");
    let both = percent("IdCache.idCache | NameCache.nameCache");
    assert!(both > 99.0, "{both}");

    // All products are in what both keep alive, none in what one does.
    let count = |text: &str| group(&session, text).count() as u64;
    let both = "retained(IdCache.idCache + NameCache.nameCache)";
    assert_eq!(count(both), sample.count("objects retained by both caches"));
    assert_eq!(
        count("retained(IdCache.idCache)"),
        sample.count("objects retained by idCache")
    );
    let products = sample.count("products");
    assert_eq!(count("*.Product"), products);
    assert_eq!(count(&format!("{both} & *.Product")), products);
    assert_eq!(count("retained(IdCache.idCache) & *.Product"), 0);
    assert_eq!(count("reached(NameCache.nameCache) & *.Product"), products);

    // The roots of the products are the two maps; both are named.
    let roots = group(&session, "roots(*.Product)");
    assert_eq!(
        roots,
        group(&session, "IdCache.idCache | NameCache.nameCache")
    );
    let steps = Step::parse_list("rooted").unwrap();
    let tree = session.classify(&roots, &steps).unwrap();
    for path in [
        "static field > anthill.samples.IdCache > idCache",
        "static field > anthill.samples.NameCache > nameCache",
    ] {
        assert_eq!(tree.node(tree.find(path).unwrap()).objects, 1, "{path}");
    }

    // Each product is referred to by a node of each map, and no single object keeps it.
    assert_eq!(count("referrers(*.Product)"), 2 * products);
    assert_eq!(count("referrers(*.Product) - java.util.HashMap$Node"), 0);
    let sales = "references(*.Product) & int[]";
    assert_eq!(count(sales), 2 * products);
    assert_eq!(count(&format!("dominators({sales})")), products);
    assert_eq!(count(&format!("dominators({sales}) - *.Product")), 0);
    let node =
        "node('type, pointed-from, type', 'anthill.samples.Product > ← java.util.HashMap$Node')";
    assert_eq!(count(node), products);
    assert_eq!(
        count(&format!("{node} & where(type ~ \"*.Product\")")),
        products
    );

    kept_groups(&session, &dump, &folder.path().join("index"));
}

/// Groups are kept by name for later sessions on the same dump, and for no other.
fn kept_groups(session: &Session, dump: &Path, index: &Path) {
    let definitions = Definitions::default();
    let products = group(session, "*.Product");
    session
        .keep_group("products", "*.Product", &products)
        .unwrap();
    session
        .keep_group("some", "0", &BitSet::new(products.capacity()))
        .unwrap();
    let again = open(dump, index);
    let (kept, unusable) = again.kept_groups();
    let names: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
    assert_eq!(names, ["products", "some"]);
    assert!(unusable.is_empty());
    assert_eq!(kept[0].expression, "*.Product");
    assert_eq!(group(&again, "products"), products);
    assert!(group(&again, "products - products").is_empty());
    assert!(again.forget_group("some").unwrap());
    assert!(!again.forget_group("some").unwrap());

    for name in ["", "a-b", "../x", "0x1", &"x".repeat(65)] {
        assert!(matches!(
            again.keep_group(name, "", &products),
            Err(Error::Mistake(_))
        ));
        assert!(!again.forget_group(name).unwrap());
    }
    // Damage is noticed, and so is that the file under this path became another.
    let file = again.index_folder().unwrap().join("group-products");
    let mut bytes = std::fs::read(&file).unwrap();
    let whole = bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(again.kept_groups().1, ["products"]);
    assert!(again.group("products", &definitions).is_err());
    std::fs::write(&file, whole).unwrap();
    assert_eq!(open(dump, index).kept_groups().0.len(), 1);
    let modified = std::fs::File::options().append(true).open(dump).unwrap();
    modified.set_modified(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(open(dump, index).kept_groups().1, ["products"]);
}

#[test]
fn what_a_heap_does_not_have_is_told_with_its_place() {
    let Some(folder) = anthill_testkit::corpus() else {
        return skipped(
            "mistakes in groups",
            "there is no corpus beside the repository",
        );
    };
    let session = crate::open(&folder.join("waste.hprof.gz"), Convention::DEFAULT).unwrap();
    let told = |text: &str| match session.group(text, &Definitions::default()) {
        Err(Error::NothingFound(message)) => message,
        Err(error) => panic!("{text}: {error}"),
        Ok(group) => panic!("{text} has {} objects", group.count()),
    };
    assert!(told("byte[] | java.util.HasMap").contains("did you mean java.util.HashMap"));
    assert!(told("byte[] | java.util.HasMap").contains("column 10"));
    assert!(told("0x7").contains("no object at 0x7"));
    assert!(told("static(Integer, wrong)").contains("no static field `wrong`"));
    assert!(told("node('kind', 'tiny array')").contains("at the top, only "));
    assert!(matches!(
        session.keep_group("x", "", &BitSet::new(0)),
        Err(Error::Keeping(_))
    ));
    let all = group(&session, "all()");
    let steps = Step::parse_list("type").unwrap();
    let tree = session.classify(&all, &steps).unwrap();
    assert_eq!(tree.node(OVERALL).objects, all.count() as u64);
    let unreachable = group(&session, "unreachable()").count();
    assert_eq!(all.count() + unreachable, session.state().len() as usize);
}
