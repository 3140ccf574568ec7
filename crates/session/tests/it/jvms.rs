//! Samples on every JDK found: what Anthill says is what the JVM and the program say.

use anthill_graph::{Convention, NodeId, gc_closure};
use anthill_heap::{ObjectId, Value};
use anthill_session::{Grouping, Session, package_group};
use anthill_testkit::{DumpOptions, Jdk, Sample, histogram};

use crate::{compare, open};

fn session_of(sample: &Sample, options: DumpOptions) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(if options.gz {
        "heap.hprof.gz"
    } else {
        "heap.hprof"
    });
    sample.dump(&path, options);
    open(&path, Convention::DEFAULT).unwrap()
}

/// The object that a static field refers to.
fn static_object(session: &Session, class: &str, field: &str) -> ObjectId {
    let state = session.state();
    let class = state
        .classes()
        .iter()
        .find(|known| known.name == class)
        .unwrap();
    match class
        .statics
        .iter()
        .find(|known| known.name == field)
        .unwrap()
        .value
    {
        Value::Object(address) => state.addresses.find(address).unwrap(),
        other => panic!("{field} is {other:?}"),
    }
}

#[test]
fn sizes_equal_the_jvms_under_every_layout() {
    for jdk in Jdk::all() {
        let mut layouts: Vec<&[&str]> = vec![
            &["-XX:+UseSerialGC"],
            &["-XX:+UseG1GC"],
            &["-XX:+UseParallelGC"],
            &["-XX:+UseZGC"],
            &["-XX:-UseCompressedOops"],
            &["-XX:ObjectAlignmentInBytes=16"],
        ];
        if jdk.feature() < 25 {
            layouts.push(&["-XX:-UseCompressedClassPointers"]);
        } else {
            layouts.push(&["-XX:+UseCompactObjectHeaders"]);
            layouts.push(&["-XX:+UseCompactObjectHeaders", "-XX:-UseCompressedOops"]);
        }
        for flags in layouts {
            // JDK 11 has ZGC only as an experiment.
            let flags: Vec<&str> = ["-Xmx128m", "-XX:+UnlockExperimentalVMOptions"]
                .into_iter()
                .chain(flags.iter().copied())
                .collect();
            let sample = Sample::start(jdk, "OrderTable", &["20", "50", "table"], &flags);
            let jvm = sample.histogram();
            let session = session_of(&sample, DumpOptions::default());
            assert!(session.state().tables.missing.is_empty());
            let what = format!("{} {flags:?}", jdk.version());
            let compared = compare(&session, &jvm, &what);
            assert!(
                compared * 10 >= jvm.len() * 9,
                "only {compared} of {} classes on {what}",
                jvm.len()
            );
        }
    }
}

#[test]
fn the_two_caches_retain_together_what_neither_does_alone() {
    for jdk in Jdk::all() {
        let sample = Sample::start(jdk, "MultiCache", &["5000"], &["-Xmx256m"]);
        let session = session_of(&sample, DumpOptions::default());
        let by_id = static_object(&session, "anthill.samples.IdCache", "idCache");
        let by_name = static_object(&session, "anthill.samples.NameCache", "nameCache");
        let graph = session.graph();
        let count = |group: &[NodeId]| gc_closure(&graph, group).count() as u64;
        let truth = sample.truth();
        let keys: Vec<&String> = truth.keys().collect();
        let value = |part: &str| {
            let key = truth
                .keys()
                .find(|key| key.contains(part))
                .unwrap_or_else(|| panic!("{part} in {keys:?}"));
            sample.count(key)
        };
        assert_eq!(
            count(&[by_id]),
            value("retained by idCache"),
            "JDK {}",
            jdk.version()
        );
        assert_eq!(
            count(&[by_name]),
            value("retained by nameCache"),
            "JDK {}",
            jdk.version()
        );
        assert_eq!(
            count(&[by_id, by_name]),
            value("retained by both"),
            "JDK {}",
            jdk.version()
        );
    }
}

#[test]
fn dumps_of_every_kind_hold_the_same_program() {
    let Some(jdk) = Jdk::installed() else {
        return anthill_testkit::skipped("kinds of dumps", "no JDK was found");
    };
    let sample = Sample::start(jdk, "SwapLeak", &["300"], &["-Xmx64m"]);
    let expected = sample.histogram();
    for (all, gz) in [(false, false), (true, false), (false, true)] {
        let session = session_of(&sample, DumpOptions { all, gz });
        for (name, total) in expected
            .iter()
            .filter(|(name, _)| name.starts_with("anthill.samples."))
        {
            let rows = session.analysis().unwrap().rows(Grouping::Class);
            let class = session
                .state()
                .classes()
                .iter()
                .position(|class| class.name == *name)
                .unwrap();
            assert_eq!(
                (rows[class].objects, rows[class].shallow),
                (total.instances, total.bytes),
                "{name} all={all} gz={gz}"
            );
        }
    }
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    let Some(jdk) = Jdk::installed() else {
        return anthill_testkit::skipped("a long chain", "no JDK was found");
    };
    let sample = Sample::start(jdk, "Chain", &["1000000"], &["-Xmx256m", "-Xss256k"]);
    let session = session_of(&sample, DumpOptions::default());
    let analysis = session.analysis().unwrap();
    let class = session
        .state()
        .classes()
        .iter()
        .position(|class| class.name == "anthill.samples.Chain$Node")
        .unwrap();
    let row = analysis.rows(Grouping::Class)[class];
    assert_eq!(row.objects, 1_000_000);
    let last = (0..session.state().len())
        .filter(|&object| session.state().class_id(object) == class as u32);
    let deepest = last
        .map(|object| analysis.dominators.retained(object))
        .max()
        .unwrap();
    assert_eq!(deepest, row.shallow, "the head retains the whole chain");
}

/// Every group against a walk of the heap without it.
#[test]
fn classes_packages_and_loaders_retain_what_dies_with_them() {
    let Some(jdk) = Jdk::installed() else {
        return anthill_testkit::skipped("groups", "no JDK was found");
    };
    let sample = Sample::start(jdk, "OrderTable", &["20", "50", "table"], &["-Xmx64m"]);
    let session = session_of(&sample, DumpOptions::default());
    let (state, graph) = (session.state(), session.graph());
    let analysis = session.analysis().unwrap();
    let check = |grouping: Grouping, group: usize, is_member: &dyn Fn(ObjectId) -> bool| {
        let members: Vec<NodeId> = (0..state.len())
            .filter(|&object| is_member(object))
            .collect();
        let row = analysis.rows(grouping)[group];
        let shallow = members
            .iter()
            .map(|&object| graph.size(object))
            .sum::<u64>();
        assert_eq!(
            (row.objects, row.shallow),
            (members.len() as u64, shallow),
            "{grouping:?} {group}"
        );
        let closure = gc_closure(&graph, &members);
        let bytes = closure.iter().map(|object| graph.size(object)).sum::<u64>();
        assert_eq!(
            (row.retained_objects, row.retained),
            (closure.count() as u64, bytes),
            "{grouping:?} {group}"
        );
    };
    for class in (0..state.classes().len()).step_by(13) {
        check(Grouping::Class, class, &|object| {
            state.class_id(object) as usize == class
        });
    }
    for (group, package) in analysis.groups().packages.iter().enumerate() {
        check(Grouping::Package, group, &|object| {
            package_group(state.class(object)) == package
        });
    }
    let loaders = analysis.groups().loaders();
    assert!(loaders.len() > 1);
    for (group, &loader) in loaders.iter().enumerate() {
        check(
            Grouping::Loader,
            group,
            &|object| match state.mirrored(object) {
                Some(class) => state.classes()[class as usize].loader == loader,
                None if loaders.contains(&Some(object)) => Some(object) == loader,
                None => state.class(object).loader == loader,
            },
        );
    }
}

/// What the JVM's own histogram calls fillers is in the dump as `int[]`; without those that nothing
/// refers to, it has as many as the JVM says. A few objects come and go in between, so it may take
/// several dumps.
#[test]
fn fillers_are_the_int_arrays_that_nothing_refers_to() {
    const FILLERS: &str = "jdk.internal.vm.FillerElement[]";
    for jdk in Jdk::all().iter().filter(|jdk| jdk.feature() >= 19) {
        let flags = ["-Xmx128m", "-XX:+UseG1GC"];
        let sample = Sample::start(jdk, "Holes", &[], &flags);
        let compare = || {
            let session = session_of(&sample, DumpOptions::default());
            let jvm = histogram::parse(&sample.jcmd(&["GC.class_histogram", "-all"]));
            let classes = session.state().classes().iter();
            let mut rows = classes.zip(session.analysis().unwrap().rows(Grouping::Class));
            let row = rows.find(|(class, _)| class.name == "int[]").unwrap().1;
            let fillers = session.fillers().unwrap().unwrap();
            let of = |name: &str| jvm.get(name).map_or((0, 0), |of| (of.instances, of.bytes));
            let ours = [
                (fillers.objects, fillers.bytes),
                (row.objects - fillers.objects, row.shallow - fillers.bytes),
            ];
            (ours, [of(FILLERS), of("int[]")])
        };
        let is_equal = (0..5).any(|_| {
            let (ours, jvms) = compare();
            println!("{ours:?}, JDK {}: {jvms:?}", jdk.version());
            ours == jvms && ours[0].0 > 0
        });
        assert!(is_equal, "fillers, other int[] as above");
    }
}
