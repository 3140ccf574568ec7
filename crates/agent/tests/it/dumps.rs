//! Dumps with the places of followed objects, against the objects in the dump.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Instant;

use anthill_heap::{Quiet, Value};
use anthill_hprof::Dump;
use anthill_testkit::{Jdk, Sample};
use anthill_wire::{Follow, FromAgent, SetSampling, StateDone, TakeDump, ToAgent};

use crate::recorder::{Listener, PATIENCE, Recorder};
use crate::{UNLOCK, everywhere, heads, is_searchable};

/// The number in the head at each address, by id. Every address must be a head.
fn numbers(path: &Path, pairs: &[(u64, u64)]) -> HashMap<u64, i32> {
    let dump = Dump::open(path, None, &Quiet).unwrap();
    let head = |&(id, address): &(u64, u64)| {
        let object = dump.state.addresses.find(address);
        let object = object.unwrap_or_else(|| panic!("no object at {address:x}"));
        let class = &dump.state.class(object).name;
        assert!(class.ends_with("Head"), "{class} at {address:x}");
        match dump.records.field(&dump.state, object, "number") {
            Some(Value::Int(number)) => (id, number),
            other => panic!("{other:?} at {address:x}"),
        }
    };
    let numbers: HashMap<u64, i32> = pairs.iter().map(head).collect();
    assert_eq!(numbers.len(), pairs.len(), "ids are unique");
    numbers
}

/// Some may be missing if the state says so, since collectors move objects when they like.
fn assert_all(found: usize, expected: u64, missing: &Option<String>, about: &str) {
    let found = found as u64;
    let enough = found == expected || missing.is_some() && found < expected;
    assert!(enough, "{about}: {found} of {expected}, {missing:?}");
}

#[test]
fn heads_keep_their_ids_while_they_move() {
    everywhere(|jdk, flag, collector| {
        let mut flags = vec![UNLOCK, flag];
        if collector == "Shenandoah" {
            // Otherwise it leaves objects where they are if most around them are alive.
            flags.extend([
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:ShenandoahGCHeuristics=aggressive",
            ]);
        }
        follow_heads(jdk, &flags, collector);
    });
}

/// Other pointers and other headers than by default.
#[test]
fn heads_keep_their_ids_in_other_layouts() {
    for jdk in Jdk::all() {
        let (flags, collector): (&[&str], &str) = match jdk.feature() {
            21 => (&["-XX:+UseZGC", "-XX:+ZGenerational"], "ZGC"),
            25 => (&["-XX:+UseG1GC", "-XX:+UseCompactObjectHeaders"], "G1"),
            _ => (&["-XX:+UseG1GC", "-XX:-UseCompressedOops"], "G1"),
        };
        follow_heads(jdk, flags, collector);
    }
}

fn follow_heads(jdk: &Jdk, flags: &[&str], collector: &str) {
    let listener = Listener::new(",sample=0");
    let agent = listener.flag();
    let flags = [&[&agent, "-Xmx256m"], flags].concat();
    let mut sample = Sample::start(jdk, "Recorded", &["500"], &flags);
    let mut recorder = listener.accept();
    let hello = recorder.hello();
    assert_eq!(hello.collector, collector);
    recorder.order(&heads());
    if !is_searchable(jdk, collector) {
        assert_no_heads(&mut sample, &mut recorder, &listener);
        return;
    }

    let mut known: HashMap<u64, i32> = HashMap::new();
    let mut places: HashMap<u64, HashSet<u64>> = HashMap::new();
    let has_moved = |places: &HashMap<u64, HashSet<u64>>| places.values().any(|at| at.len() > 1);
    let commands = ["churn 100", "gc", "heads 100", "churn 150", "gc"];
    // When a concurrent collector moves objects is its own decision: it may take until later on a busy machine.
    let more = ["churn 100", "gc"].iter().cycle();
    let deadline = Instant::now() + PATIENCE;
    for (round, command) in commands.iter().chain(more).enumerate() {
        if round >= commands.len() && (has_moved(&places) || Instant::now() > deadline) {
            break;
        }
        sample.send(command);
        // On a busy machine there may be no room for a search at first.
        let is_refused = |done: &StateDone| {
            let missing = done.identities_missing.as_deref();
            missing.is_some_and(|text| text.contains("too full"))
        };
        let mut tries = (0..10).map(|attempt| {
            let path = listener.folder().join(format!("{round}-{attempt}.hprof"));
            let (done, pairs) = recorder.dump(&path);
            (path, done, pairs)
        });
        let searched = tries.find(|(_, done, _)| !is_refused(done));
        let (path, done, pairs) = searched.expect("there is room at some time");
        let about = format!("{collector} of JDK {} after {command}", jdk.version());
        assert_eq!(done.failure, None, "{about}");
        assert!(done.pause_ns > 0, "{about}");
        assert!(done.pause_ns <= done.end_ns - done.start_ns, "{about}");

        let now = numbers(&path, &pairs);
        let different: HashSet<_> = now.values().collect();
        assert_eq!(different.len(), now.len(), "{about}: one id per head");
        assert_all(
            now.len(),
            sample.count("heads"),
            &done.identities_missing,
            &about,
        );
        for (id, number) in &now {
            let before = known.insert(*id, *number);
            assert!(before.is_none_or(|b| b == *number), "{about}: id {id}");
        }
        for (id, address) in pairs {
            places.entry(id).or_default().insert(address);
        }
    }
    assert!(has_moved(&places), "{collector}: no object moved");
    assert_eq!(known.len(), 600, "{collector}: ids were given once");
}

/// Where a search of the heap finds wrong objects or crashes, none is made: the rest of the dump is there.
fn assert_no_heads(sample: &mut Sample, recorder: &mut Recorder, listener: &Listener) {
    let said = |text: &str| text.contains("cannot be searched");
    assert!(recorder.hello().missing.iter().any(|text| said(text)));
    for round in 0..10 {
        sample.send("churn 10");
        sample.send("heads 10");
        let path = listener.folder().join(format!("{round}.hprof"));
        let (done, pairs) = recorder.dump(&path);
        assert_eq!((done.failure, pairs.len()), (None, 0));
        assert!(done.identities_missing.is_some_and(|text| said(&text)));
        let dump = Dump::open(&path, None, &Quiet).unwrap();
        let objects = 0..dump.state.addresses.len();
        let heads = objects.filter(|&o| dump.state.class(o).name.ends_with("Head"));
        assert_eq!(heads.count() as u64, sample.count("heads"));
    }
}

#[test]
fn dead_heads_vanish() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=0");
        let mut sample = Sample::start(jdk, "Recorded", &["1000"], &[&listener.flag()]);
        let mut recorder = listener.accept();
        recorder.order(&heads());
        let path = listener.folder().join("x.hprof");
        assert_eq!(recorder.dump(&path).1.len(), 1000);

        sample.send("drop 400");
        assert_eq!(recorder.collect().failure, None);
        let (_, pairs) = recorder.dump(&path);
        let mut left: Vec<i32> = numbers(&path, &pairs).into_values().collect();
        left.sort_unstable();
        assert!(left.into_iter().eq(400..1000));
    }
}

#[test]
fn sampled_objects_are_followed_into_dumps() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=0");
        let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
        let mut recorder = listener.accept();
        recorder.order(&ToAgent::SetSampling(SetSampling {
            bytes: 2048,
            follow: Follow::Handle,
        }));
        recorder.flushed();
        // The interval takes effect on a thread after its next sample.
        sample.send("churn 5");
        sample.send("heads 20000");
        sample.send("gc");
        let path = listener.folder().join("x.hprof");
        let (done, pairs) = recorder.dump(&path);
        assert_eq!((done.failure, done.identities_missing), (None, None));

        let dump = Dump::open(&path, None, &Quiet).unwrap();
        let sizes = dump.state.tables.sizes.as_ref().expect("sizes are known");
        let sizer = sizes.sizer(dump.state.classes());
        let mut classes = HashMap::new();
        let mut sampled = HashMap::new();
        for message in recorder.messages() {
            match message {
                FromAgent::Class(class) => {
                    classes.insert(class.id, class.signature);
                }
                FromAgent::Sample(sample) if sample.id != 0 => {
                    sampled.insert(sample.id, (sample.class, sample.size));
                }
                _ => {}
            }
        }
        let mut heads = 0;
        for (id, address) in pairs {
            let object = dump.state.addresses.find(address).expect("an object");
            let (class, size) = sampled[&id];
            let name = dump.state.class(object).name.replace('.', "/");
            if name.ends_with("Head") {
                assert_eq!(classes[&class], format!("L{name};"));
                assert_eq!(sizer.size(dump.state.class_id(object), 0), size);
                heads += 1;
            }
        }
        // 20,000 heads of 24 bytes, one sample in 2048.
        assert!(heads > 100, "{heads}");
    }
}

/// A dump, which sets the limit of followed objects, and then samples that are followed.
fn dump_and_follow_samples(recorder: &mut Recorder, listener: &Listener, limit: u32) {
    let path = listener.folder().join("x.hprof");
    recorder.order(&ToAgent::TakeDump(TakeDump {
        order: 1,
        path: path.to_str().unwrap().to_owned(),
        collect: false,
        find_heads: false,
        limit,
    }));
    recorder.order(&ToAgent::SetSampling(SetSampling {
        bytes: 16384,
        follow: Follow::Handle,
    }));
}

/// Sampled objects die all the time; they must not use up the limit when no dump is taken for long.
#[test]
fn dead_sampled_objects_make_room_for_new_ones() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new(",sample=0");
    let flags = [&listener.flag(), "-Xmx256m", "-XX:+UseParallelGC"];
    let mut sample = Sample::start(jdk, "Recorded", &[], &flags);
    let mut recorder = listener.accept();
    dump_and_follow_samples(&mut recorder, &listener, 500);
    recorder.flushed();
    // Some 25,000 samples, and a collection in between every few thousand.
    sample.send("churn 400");
    let messages = recorder.flushed();
    let followed = messages.iter().filter(|message| match message {
        FromAgent::Sample(sample) => sample.id != 0,
        _ => false,
    });
    let followed = followed.count();
    assert!(followed > 1000, "{followed} samples were followed");
}

/// A dump without identities, as checks take them, has nothing to say about what is followed.
#[test]
fn sampled_objects_are_followed_after_a_dump_without_identities() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new(",sample=0");
    let mut sample = Sample::start(jdk, "Recorded", &[], &[&listener.flag()]);
    let mut recorder = listener.accept();
    dump_and_follow_samples(&mut recorder, &listener, 0);
    recorder.flushed();
    sample.send("churn 50");
    let samples: Vec<u64> = recorder
        .flushed()
        .iter()
        .filter_map(|message| match message {
            FromAgent::Sample(sample) => Some(sample.id),
            _ => None,
        })
        .collect();
    assert!(samples.len() > 100, "{} samples", samples.len());
    assert!(samples.iter().all(|&id| id != 0), "{samples:?}");
}

#[test]
fn too_many_heads_are_not_followed_and_that_is_said() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new(",sample=0");
    let _sample = Sample::start(jdk, "Recorded", &["1000"], &[&listener.flag()]);
    let mut recorder = listener.accept();
    recorder.order(&heads());
    let path = listener.folder().join("x.hprof");
    recorder.order(&ToAgent::TakeDump(TakeDump {
        order: 77,
        path: path.to_str().unwrap().to_owned(),
        collect: false,
        find_heads: true,
        limit: 300,
    }));
    let done = recorder.wait_for("the state", |message| match message {
        FromAgent::StateDone(done) => Some(done.clone()),
        _ => None,
    });
    assert_eq!(done.objects, 300);
    assert!(done.identities_missing.unwrap().contains("300"));
}

#[test]
fn a_dump_that_cannot_be_written_is_answered_with_the_reason() {
    for jdk in Jdk::all() {
        let listener = Listener::new("");
        let mut sample = Sample::start(jdk, "Recorded", &["10"], &[&listener.flag()]);
        let mut recorder = listener.accept();
        let (done, _) = recorder.dump(Path::new("/nowhere/at/all.hprof"));
        assert!(done.failure.unwrap().contains("/nowhere/at/all.hprof"));
        let walked = recorder.walk(Path::new("/nowhere/at/all.walk"));
        assert!(walked.failure.unwrap().contains("/nowhere/at/all.walk"));
        sample.send("churn 1");
    }
}

#[test]
fn without_the_management_module_the_reason_is_given() {
    for jdk in Jdk::all() {
        let listener = Listener::new("");
        let flags = [&listener.flag(), "--limit-modules", "java.base"];
        let _sample = Sample::start(jdk, "Chain", &["10"], &flags);
        let mut recorder = listener.accept();
        assert!(recorder.hello().missing.iter().any(|m| m.contains("dumps")));
        let (done, _) = recorder.dump(&listener.folder().join("x.hprof"));
        assert!(done.failure.unwrap().contains("com/sun/management"));
    }
}
