//! The stored dumps with ground truth, where they are: skipped, and said so, without them.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anthill_graph::{Convention, EdgeKind, Graph, ROOT};
use anthill_heap::{BitSet, ClassKind, MissingKind};
use anthill_session::{Grouping, Session};
use anthill_testkit::{corpus, histogram, skipped, unpack};

use crate::{compare, open};

/// The dumps of the corpus that have a file of that ending beside them.
fn dumps_with(ending: &str) -> Vec<(PathBuf, PathBuf)> {
    let Some(folder) = corpus() else {
        skipped(
            "the stored dumps",
            "there is no corpus beside the repository",
        );
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .strip_suffix(".hprof.gz")
            .map(str::to_owned)
        else {
            continue;
        };
        let beside = folder.join(format!("{name}{ending}"));
        if beside.exists() {
            found.push((path, beside));
        }
    }
    assert!(found.len() > 10, "the corpus has many dumps");
    found
}

#[test]
fn class_totals_equal_the_jvms_histogram() {
    for (dump, truth) in dumps_with(".histo.txt") {
        let session = open(&dump, Convention::DEFAULT).unwrap();
        // The JVM writes names in the platform's encoding, so that one may be garbled.
        let jvm = histogram::parse(&String::from_utf8_lossy(&std::fs::read(&truth).unwrap()));
        let compared = compare(&session, &jvm, &dump.display().to_string());
        let uncompared = jvm.len() - compared;
        assert!(
            uncompared <= 7,
            "{uncompared} classes of {} could not be compared",
            dump.display()
        );
    }
}

#[test]
fn mats_convention_gives_mats_numbers_for_every_object() {
    for (dump, truth) in dumps_with(".mat-objects.csv.gz") {
        let session = open(&dump, Convention::MAT).unwrap();
        let graph = session.graph();
        let dominators = &session.analysis().unwrap().dominators;
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(std::fs::File::open(&truth).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        let mut rows = 0;
        for line in text.lines().skip(1) {
            let mut columns = line.split(',');
            let mut next = || columns.next().unwrap();
            let (address, shallow, retained, above) = (next(), next(), next(), next());
            let number = u64::from_str_radix(address, 16).unwrap();
            let node = if number == 0 {
                graph.system_loader().unwrap()
            } else {
                session.state().addresses.find(number).unwrap()
            };
            let immediate = match dominators.immediate[node as usize] {
                ROOT => "root".to_owned(),
                above => format!("{:x}", session.address(above)),
            };
            let ours = (
                graph.size(node).to_string(),
                dominators.retained(node).to_string(),
                immediate,
            );
            assert_eq!(
                ours,
                (shallow.to_owned(), retained.to_owned(), above.to_owned()),
                "{address} in {}",
                dump.display()
            );
            rows += 1;
        }
        let reachable = (0..graph.len())
            .filter(|&node| dominators.is_reachable(node))
            .count();
        assert_eq!(reachable, rows, "objects of {}", dump.display());
    }
}

#[test]
fn mats_convention_gives_mats_histogram() {
    for (dump, truth) in dumps_with(".mat-histogram.csv") {
        let session = open(&dump, Convention::MAT).unwrap();
        let rows = session.analysis().unwrap().rows(Grouping::Class);
        let state = session.state();
        let text = std::fs::read_to_string(&truth).unwrap();
        let mut classes = 0;
        for line in text.lines().skip(1) {
            // "name",address,loader,count,shallow,instance size
            let (name, rest) = line.strip_prefix('"').unwrap().rsplit_once('"').unwrap();
            let columns: Vec<&str> = rest[1..].split(',').collect();
            let address = u64::from_str_radix(columns[0].trim_start_matches("0x"), 16).unwrap();
            let class = state
                .mirrored(state.addresses.find(address).unwrap())
                .unwrap() as usize;
            let row = rows[class];
            let ours = (
                row.objects - row.unreachable_objects,
                row.shallow - row.unreachable_shallow,
            );
            let theirs = (columns[2].parse().unwrap(), columns[3].parse().unwrap());
            assert_eq!(ours, theirs, "{name} in {}", dump.display());
            classes += 1;
        }
        assert!(classes > 100, "{}", truth.display());
    }
}

/// The oracle does not know what class objects hold inside the JVM.
fn reachable_without_class_fields(graph: &Graph) -> BitSet {
    let mut told = BitSet::new(graph.len() as usize);
    let roots = graph.state.tables.roots.iter();
    let told_roots = roots.filter(|root| !root.origin.is_class_field());
    told_roots.for_each(|root| told.insert(root.object));
    let mut work: Vec<u32> = told.iter().collect();
    while let Some(node) = work.pop() {
        let edges = graph.edges(node);
        let edges = edges.filter(|(_, kind)| !matches!(kind, EdgeKind::ClassField(_)));
        work.extend(edges.map(|(to, _)| to).filter(|&to| told.add(to)));
    }
    told
}

#[test]
fn walks_with_a_node_removed_agree() {
    let everything = Convention {
        weak: true,
        phantom: true,
        finalizer: true,
        ..Convention::DEFAULT
    };
    for (dump, truth) in dumps_with(".oracle.txt") {
        let session = open(&dump, everything).unwrap();
        let analysis = session.analysis().unwrap();
        let state = session.state();
        let text = std::fs::read_to_string(&truth).unwrap();
        // The oracle counts no bytes for class objects.
        let graph = session.graph();
        let is_class = |node: u32| state.class(node).kind == ClassKind::Mirror;
        let sum = |nodes: &mut dyn Iterator<Item = u32>| {
            nodes.fold((0u64, 0u64), |sum, node| {
                (
                    sum.0 + 1,
                    sum.1 + if is_class(node) { 0 } else { graph.size(node) },
                )
            })
        };
        let all = sum(&mut (0..state.len()));
        let known = reachable_without_class_fields(&graph);
        let reachable = sum(&mut (0..state.len()).filter(|&node| known.contains(node)));
        let first = text.lines().next().unwrap();
        let expected = format!(
            "objects {} (with classes) bytes(ex Class mirrors) {};",
            all.0, all.1
        );
        assert!(
            first.starts_with(&expected),
            "{expected} in {}",
            truth.display()
        );
        let mut numbers = first[first.find("; reachable ").unwrap()..]
            .split(' ')
            .filter_map(|word| word.parse::<u64>().ok());
        let (objects, bytes) = (numbers.next().unwrap(), numbers.next().unwrap());
        assert_eq!(reachable.1, bytes, "{}", truth.display());
        // The oracle does not follow a class to its superclass; class objects have no bytes there.
        assert!(
            (objects..objects + 10).contains(&reachable.0),
            "{reachable:?} in {}",
            truth.display()
        );
        let mut checked = 0;
        for line in text
            .lines()
            .filter(|line| line.contains("retained objects"))
        {
            let word_after = |key: &str| {
                let rest = &line[line.find(key).unwrap() + key.len()..];
                rest.trim_start().split([' ', ',']).next().unwrap()
            };
            let address = u64::from_str_radix(word_after("@0x"), 16).unwrap();
            let node = state.addresses.find(address).unwrap();
            let below = |above: u32| {
                above == node || analysis.dominators.chain(above).any(|above| above == node)
            };
            let retained = sum(&mut (0..state.len())
                .filter(|&other| analysis.dominators.is_reachable(other) && below(other)));
            assert_eq!(
                retained.1.to_string(),
                word_after("retained bytes"),
                "{line}"
            );
            // By way of its subclass, a superclass may have one more referrer here than there.
            let objects: u64 = word_after("retained objects").parse().unwrap();
            assert!(
                retained.0 == objects || retained.0 + 1 == objects,
                "{} in {line}",
                retained.0
            );
            checked += 1;
        }
        assert!(checked > 0, "{}", truth.display());
    }
}

fn broken(name: &str) -> Option<PathBuf> {
    let folder = corpus()?.join("broken");
    let packed = folder.join(format!("{name}.hprof.zst"));
    Some(if packed.exists() {
        unpack(&packed).unwrap()
    } else {
        folder.join(format!("{name}.hprof.gz"))
    })
}

/// Objects, instances of the session class, and kinds of what is missing.
type Found = (u32, u64, Vec<MissingKind>);

fn survey(name: &str) -> Option<Result<Found, String>> {
    let path = broken(name)?;
    Some(
        open(&path, Convention::DEFAULT)
            .map_err(|error| error.to_string())
            .map(|session| {
                let sessions = instances(&session, "Small$Session");
                let kinds = session
                    .state()
                    .tables
                    .missing
                    .iter()
                    .map(|missing| missing.kind)
                    .collect();
                (session.state().len(), sessions, kinds)
            }),
    )
}

fn instances(session: &Session, name: &str) -> u64 {
    let rows = session.analysis().unwrap().rows(Grouping::Class);
    let named = session
        .state()
        .classes()
        .iter()
        .zip(rows)
        .filter(|(class, _)| class.name == name);
    named.map(|(_, row)| row.objects).sum()
}

#[test]
fn odd_files_that_are_whole_load_fully() {
    let Some(whole) = survey("no-stacks") else {
        return skipped("damaged dumps", "there is no corpus beside the repository");
    };
    let (objects, sessions, missing) = whole.unwrap();
    assert_eq!((sessions, missing), (2000, vec![]));
    for name in [
        "version-1.0.3",
        "gz-named-hprof",
        "heap-before-strings",
        "concatenated",
        "zero-length-0x0c",
        "idsize-0",
        "idsize-4",
        "idsize-4294967295",
        "no-nul-in-header",
        "seglen-long",
        "trunc-noend",
        "no-roots",
        "duplicate-sessions",
        "super-cycle2",
        "no-classdump-Session",
        "unknown-sub",
        // What was flipped is inside an array.
        "flip16-middle",
    ] {
        let (found, sessions, missing) = survey(name)
            .unwrap()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        // One class object is gone with its class dump.
        let expected = if name == "no-classdump-Session" {
            objects - 1
        } else {
            objects
        };
        assert_eq!((found, sessions), (expected, 2000), "{name}: {missing:?}");
        let valid = [
            "version-1.0.3",
            "flip16-middle",
            "gz-named-hprof",
            "heap-before-strings",
            "concatenated",
        ]
        .contains(&name);
        assert_eq!(missing.is_empty(), valid, "{name}: {missing:?}");
    }
}

/// How many class dumps, instances and arrays lie wholly in a dump with 8-byte ids, by a plain
/// walk that stops at the first record that does not end in the file.
fn whole_objects(bytes: &[u8]) -> u32 {
    let number = |at: usize, len: usize| {
        let bytes = bytes.get(at..at + len)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, &byte| number << 8 | usize::from(byte)),
        )
    };
    let size = |ty: usize| [8, 0, 1, 2, 4, 8, 1, 2, 4, 8][ty - 2];
    let class_end = |at: usize| {
        let mut at = at + 1 + 7 * 8 + 8;
        for name in [2, 8] {
            let count = number(at, 2)?;
            at += 2;
            for _ in 0..count {
                at += name + 1 + size(number(at + name, 1)?);
            }
        }
        Some(at + 2 + number(at, 2)? * 9)
    };
    let sub_end = |at: usize| {
        Some(match number(at, 1)? {
            0x05 | 0x07 | 0xff => at + 9,
            0x01 => at + 17,
            0x02 | 0x03 | 0x08 => at + 17,
            0x04 | 0x06 => at + 13,
            0x20 => class_end(at)?,
            0x21 => at + 25 + number(at + 21, 4)?,
            0x22 => at + 25 + number(at + 13, 4)? * 8,
            0x23 => at + 18 + number(at + 13, 4)? * size(number(at + 17, 1)?),
            tag => panic!("tag {tag:#x} at {at}"),
        })
    };
    let mut at = bytes.iter().position(|&byte| byte == 0).unwrap() + 13;
    let mut objects = 0;
    while let (Some(tag), Some(len)) = (number(at, 1), number(at + 5, 4)) {
        let end = at + 9 + len;
        if tag == 0x1c {
            let mut sub = at + 9;
            while sub < end {
                let Some(next) = sub_end(sub).filter(|&next| next <= bytes.len()) else {
                    return objects;
                };
                objects += u32::from((0x20..=0x23).contains(&bytes[sub]));
                sub = next;
            }
        }
        at = end;
    }
    objects
}

#[test]
fn what_damage_leaves_is_analysed() {
    let Some(whole) = survey("no-stacks") else {
        return skipped("damaged dumps", "there is no corpus beside the repository");
    };
    let (objects, ..) = whole.unwrap();
    let cut = std::fs::read(broken("trunc95").unwrap()).unwrap();
    let mut unpacked = Vec::new();
    let packed = std::fs::File::open(broken("gz-truncated").unwrap()).unwrap();
    // Reads up to where the file is cut off; the error is the cut.
    let _ = flate2::read::MultiGzDecoder::new(packed).read_to_end(&mut unpacked);
    // 4,096 bytes hold at most so many of the shortest object records, an empty primitive array.
    let most_in_a_page = 4096 / 18 + 2;
    for (name, expected, kind) in [
        (
            "trunc95",
            whole_objects(&cut)..=whole_objects(&cut),
            MissingKind::Truncated,
        ),
        (
            "gz-truncated",
            whole_objects(&unpacked)..=whole_objects(&unpacked),
            MissingKind::Truncated,
        ),
        (
            "zero4k-middle",
            objects - most_in_a_page..=objects,
            MissingKind::Unreadable,
        ),
        (
            "objarray-len-ffffffff",
            objects - 1..=objects - 1,
            MissingKind::Unreadable,
        ),
        (
            "id-zero",
            objects - 2000..=objects - 2000,
            MissingKind::BadObjects,
        ),
    ] {
        let (found, _, missing) = survey(name)
            .unwrap()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            expected.contains(&found),
            "{name}: {found}, not {expected:?}, {missing:?}"
        );
        assert!(missing.contains(&kind), "{name}: {missing:?}");
    }
    let (found, sessions, _) = survey("id-zero").unwrap().unwrap();
    assert_eq!((found, sessions), (objects - 2000, 0));
    let (found, sessions, _) = survey("no-loadclass").unwrap().unwrap();
    assert_eq!((found, sessions), (objects, 0), "without names");
}

#[test]
fn unusable_files_say_where_and_why() {
    for name in [
        "empty",
        "text",
        "random",
        "png",
        "trunc-header2",
        "trunc-in-strings",
    ] {
        match survey(name) {
            None => return skipped("damaged dumps", "there is no corpus beside the repository"),
            Some(Ok(found)) => panic!("{name} was opened: {found:?}"),
            Some(Err(message)) => assert!(
                message.contains(name) && message.contains("at offset"),
                "{message}"
            ),
        }
    }
}

#[test]
fn the_last_of_several_dumps_is_taken_unless_asked() {
    let Some(path) = broken("concatenated") else {
        return skipped("damaged dumps", "there is no corpus beside the repository");
    };
    let session = open(&path, Convention::DEFAULT).unwrap();
    assert_eq!((session.info().dump, session.info().dumps), (2, 2));
    let choose = |dump| {
        let options = anthill_session::Options {
            dump: Some(dump),
            index: anthill_session::IndexFolder::None,
            ..Default::default()
        };
        Session::open(&path, options, Box::new(anthill_heap::Quiet))
    };
    assert_eq!(choose(1).unwrap().state().len(), session.state().len());
    assert!(choose(3).err().unwrap().to_string().contains("contains 2"));
}

/// `..GC primitive array dump: 849` and the like from the results published for these files.
fn published(path: &Path) -> HashMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let counts = text.lines().filter_map(|line| {
        line.trim_start_matches('.')
            .strip_prefix("GC ")?
            .split_once(": ")
    });
    counts
        .map(|(what, count)| (what.to_owned(), count.parse().unwrap()))
        .collect()
}

#[test]
fn public_files_hold_what_was_published() {
    let Some(folder) = corpus().map(|folder| folder.join("public")) else {
        return skipped(
            "the public dumps",
            "there is no corpus beside the repository",
        );
    };
    for name in ["hprof-32", "hprof-64", "hprof-android"] {
        let expected = published(&folder.join(format!("{name}-result.txt")));
        let session = open(&folder.join(format!("{name}.bin.gz")), Convention::DEFAULT).unwrap();
        let state = session.state();
        let count = |keep: &dyn Fn(&ClassKind) -> bool| {
            let objects = (0..state.len()).filter(|&object| keep(&state.class(object).kind));
            objects.count() as u64
        };
        let primitive = |kind: &ClassKind| matches!(kind, ClassKind::Array(element) if *element != anthill_heap::FieldType::Object);
        assert_eq!(
            count(&primitive),
            expected["primitive array dump"],
            "{name}"
        );
        assert_eq!(
            count(&|kind| *kind == ClassKind::Array(anthill_heap::FieldType::Object)),
            expected["object array dump"],
            "{name}"
        );
        let classes = state
            .classes()
            .iter()
            .filter(|class| class.mirror.is_some())
            .count() as u64;
        assert_eq!(classes, expected["class dump"], "{name}");
        let arrays = expected["primitive array dump"] + expected["object array dump"];
        let instances = u64::from(state.len()) - arrays - classes;
        assert_eq!(instances, expected["instance dump"], "{name}");
        let roots = |origin| {
            state
                .tables
                .roots
                .iter()
                .filter(|root| root.origin == origin)
                .count() as u64
        };
        // And one thread has no object.
        let lost = state.tables.dangling;
        for (origin, key) in [
            (
                anthill_heap::RootOrigin::ThreadObject,
                "root thread objects",
            ),
            (anthill_heap::RootOrigin::JavaFrame, "root Java frame"),
            (anthill_heap::RootOrigin::StickyClass, "root sticky class"),
            (anthill_heap::RootOrigin::MonitorUsed, "root monitor used"),
            (anthill_heap::RootOrigin::JniGlobal, "root JNI global"),
        ] {
            let found = roots(origin);
            assert!(
                found <= expected[key] && found + lost + 1 >= expected[key],
                "{name} {key}: {found} of {}",
                expected[key]
            );
        }
    }
}
