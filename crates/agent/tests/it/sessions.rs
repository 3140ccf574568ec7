//! Coming and going: starts, attaches, recorders that vanish, programs that end, while the program checks its own results.

use std::collections::HashSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anthill_heap::Quiet;
use anthill_hprof::Dump;
use anthill_testkit::{Jdk, Sample};
use anthill_wire::{
    Follow, FromAgent, GoodbyeReason, LetGo, PROTOCOL, SetSampling, Stop, TakeDump, ToAgent,
};

use crate::recorder::Listener;
use crate::{COLLECTORS, UNLOCK, everywhere, everywhere_searchable, heads, is_searchable};

fn goodbye(messages: &[FromAgent]) -> Option<GoodbyeReason> {
    match messages.last() {
        Some(FromAgent::Goodbye(goodbye)) => Some(goodbye.reason),
        _ => None,
    }
}

fn is_over(message: &FromAgent) -> Option<()> {
    matches!(message, FromAgent::ProgramOver(_)).then_some(())
}

#[test]
fn a_program_that_is_over_can_still_be_dumped() {
    everywhere(|jdk, flag, collector| {
        let listener = Listener::new(",last-state=60");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx200m"];
        let mut sample = Sample::start(jdk, "Recorded", &["1000"], &flags);
        let mut recorder = listener.accept();
        let heads = sample.count("heads");
        sample.tell("exit");
        recorder.wait_for("that the program is over", is_over);
        let dump = listener.folder().join("last.hprof");
        recorder.order(&ToAgent::TakeDump(TakeDump {
            order: 1,
            path: dump.to_str().unwrap().to_owned(),
            collect: false,
            find_heads: false,
            limit: 1_000_000,
        }));
        let failure = recorder.wait_for("state done", |message| match message {
            FromAgent::StateDone(done) => Some(done.failure.clone()),
            _ => None,
        });
        assert_eq!(failure, None, "JDK {} {collector}", jdk.version());
        recorder.order(&ToAgent::LetGo(LetGo {}));
        assert_eq!(sample.ended(), (0, String::new()));
        let messages = recorder.all_to_the_end();
        assert_eq!(goodbye(&messages), Some(GoodbyeReason::JvmEnds));
        let dump = Dump::open(&dump, None, &Quiet).unwrap();
        let classes = dump.state.columns.classes.iter();
        let is_head = |&class: &u32| {
            let class = &dump.state.classes()[class as usize];
            // Some are of a subclass.
            class.name.starts_with("anthill.samples.Recorded") && class.name.ends_with("Head")
        };
        let found = classes.filter(|class| is_head(class)).count() as u64;
        assert_eq!(found, heads, "{collector}");
    });
}

#[test]
fn the_end_of_a_jvm_does_not_wait_for_a_silent_recorder() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",last-state=1");
        let mut sample = Sample::start(jdk, "Recorded", &["10"], &[&listener.flag()]);
        let recorder = listener.accept();
        sample.tell("exit");
        assert_eq!(sample.ended(), (0, String::new()));
        let messages = recorder.all_to_the_end();
        assert!(messages.iter().any(|message| is_over(message).is_some()));
        assert_eq!(goodbye(&messages), Some(GoodbyeReason::JvmEnds));
    }
}

#[test]
fn the_agent_says_where_it_is() {
    everywhere(|jdk, flag, collector| {
        let listener = Listener::new(",stacks=7");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx200m", "-Dsome=a thing"];
        let mut sample = Sample::start(jdk, "Recorded", &["10"], &flags);
        let recorder = listener.accept();
        let hello = recorder.hello();
        assert_eq!(hello.protocol, PROTOCOL);
        assert_eq!(hello.pid, sample.pid());
        assert!(!hello.attached);
        assert!(hello.vm_version.starts_with(jdk.version()), "{hello:?}");
        assert_eq!(hello.specification, jdk.feature().to_string());
        assert_eq!(hello.collector, collector);
        assert_eq!(hello.max_heap, 200 << 20);
        assert!((1..=hello.max_heap).contains(&hello.used_heap), "{hello:?}");
        assert_eq!(hello.object_alignment, 8);
        let compressed = (collector != "ZGC").then_some(true);
        let said = hello.compressed_references.filter(|&compressed| compressed);
        assert_eq!(said, compressed, "{collector}");
        assert_eq!(hello.command, "anthill.samples.Recorded 10");
        let argument = "-Dsome=a thing".to_owned();
        assert!(hello.vm_arguments.contains(&argument), "{hello:?}");
        let age = hello.wall_ns - hello.jvm_start_wall_ns;
        assert!(Duration::from_nanos(age) < Duration::from_secs(100));
        let known = ["heap in use", "identities of data structures"];
        let unknown = |m: &&String| !known.iter().any(|known| m.starts_with(known));
        assert_eq!(hello.missing.iter().find(unknown), None);

        sample.tell("exit");
        assert_eq!(sample.ended(), (0, String::new()));
        let messages = recorder.all_to_the_end();
        assert!(
            matches!(messages[0], FromAgent::Hello(_)),
            "hello comes first"
        );
        assert_eq!(goodbye(&messages), Some(GoodbyeReason::JvmEnds));
    });
}

#[test]
fn the_agent_comes_to_a_running_program_and_leaves_it() {
    everywhere(|jdk, flag, collector| {
        let mut sample = Sample::start(jdk, "Recorded", &["100"], &[UNLOCK, flag]);
        let searchable = is_searchable(jdk, collector);
        let heads_followed = if searchable { 100 } else { 0 };
        for _ in 0..3 {
            let listener = Listener::new(",sample=65536");
            listener.attach(&sample);
            let mut recorder = listener.accept();
            assert!(recorder.hello().attached);
            recorder.order(&heads());
            sample.send("churn 100");
            sample.send("threads 20");
            let (done, pairs) = recorder.dump(&listener.folder().join("x.hprof"));
            assert_eq!((done.failure, pairs.len()), (None, heads_followed));
            let walked = recorder.walk(&listener.folder().join("walk"));
            assert_eq!(walked.failure.is_none(), searchable);
            let samples = recorder.flushed();
            let samples = samples.iter().filter(|m| matches!(m, FromAgent::Sample(_)));
            assert!(samples.count() > 500);

            recorder.order(&ToAgent::Stop(Stop {}));
            let messages = recorder.all_to_the_end();
            assert_eq!(goodbye(&messages), Some(GoodbyeReason::Stopped));
            sample.send("churn 20");
        }
        let threads = sample.jcmd(&["Thread.print"]);
        assert!(!threads.contains("anthill agent"), "{threads}");
    });
}

#[test]
fn a_second_recorder_is_sent_away_and_the_first_goes_on() {
    for jdk in Jdk::all() {
        let (first, second) = (
            Listener::new(",sample=524288"),
            Listener::new(",sample=524288"),
        );
        let mut sample = Sample::start(jdk, "Recorded", &["100"], &[&first.flag()]);
        let mut recorder = first.accept();
        recorder.hello();
        let answer = second.attach(&sample);
        assert!(answer.contains("1"), "{answer}");
        sample.send("churn 10");
        assert!(
            sample.log().contains("already being recorded"),
            "{}",
            sample.log()
        );
        let (done, _) = recorder.dump(&first.folder().join("x.hprof"));
        assert_eq!(done.failure, None);
    }
}

/// The JVM gives samples of allocations to one environment at a time.
#[test]
fn a_recorder_that_comes_while_another_leaves_misses_nothing() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let (first, second) = (Listener::new(",sample=1"), Listener::new(",sample=16384"));
    let mut sample = Sample::start(jdk, "Recorded", &["100"], &[&first.flag()]);
    // The agent waits some seconds for it to take the last messages.
    let mut leaving = first.accept_deaf();
    sample.send("churn 100");
    leaving.order(&ToAgent::Stop(Stop {}));
    second.attach_after_another(&sample);
    let mut recorder = second.accept();
    let missing = recorder.hello().missing;
    let said = |text: &String| text.starts_with("allocation samples");
    assert!(!missing.iter().any(said), "{missing:?}");
    sample.send("churn 20");
    let samples = recorder.flushed();
    let samples = samples.iter().filter(|m| matches!(m, FromAgent::Sample(_)));
    assert!(samples.count() > 100);
}

/// Events are under way when a recording ends, threads start and end, classes come and go. Ends of the last environment
/// used to corrupt the JVM's memory here.
#[test]
fn recorders_come_and_go_while_the_program_works() {
    for jdk in Jdk::all() {
        let beside = ["threads", "unload", "virtual"];
        let sample = Sample::start(jdk, "Busy", &beside, &["-Xmx128m"]);
        let before = sample.weak_handles();
        for follow in [Follow::Tag, Follow::Handle, Follow::Nothing].repeat(5) {
            let listener = Listener::new(",sample=64");
            listener.attach_after_another(&sample);
            let mut recorder = listener.accept();
            let bytes = 64;
            recorder.order(&ToAgent::SetSampling(SetSampling { bytes, follow }));
            recorder.wait_for("a sample", |message| match message {
                FromAgent::Sample(sample) => {
                    (sample.id != 0 || follow == Follow::Nothing).then_some(())
                }
                _ => None,
            });
            if follow == Follow::Handle {
                recorder.vanish();
                continue;
            }
            recorder.order(&ToAgent::Stop(Stop {}));
            let messages = recorder.all_to_the_end();
            assert_eq!(goodbye(&messages), Some(GoodbyeReason::Stopped));
        }
        // The JVM's own come and go; of each recording there were hundreds.
        sample.wait_until_gone("anthill");
        let after = sample.weak_handles();
        assert!(after < before + 16, "JDK {}: {after}", jdk.version());
        assert_eq!(sample.ended().0, 0);
    }
}

/// Threads start and end while the events are being turned on. Of one that was there before, HotSpot may have decided by then that
/// nobody wants to hear of its end.
#[test]
fn threads_that_are_seen_to_start_are_seen_to_end() {
    for jdk in Jdk::all() {
        let mut sample = Sample::start(jdk, "Busy", &["threads"], &["-Xmx128m"]);
        for _ in 0..5 {
            sample.send("work");
            let listener = Listener::new(",sample=524288");
            listener.attach_after_another(&sample);
            let mut recorder = listener.accept();
            recorder.hello();
            // Of the short threads none is left.
            sample.send("rest");
            let mut living = HashSet::new();
            for message in recorder.flushed() {
                match message {
                    FromAgent::Thread(thread) if !thread.earlier => {
                        let is_short = thread.name.starts_with("short ");
                        living.extend(is_short.then_some(thread.number));
                    }
                    FromAgent::ThreadEnd(end) => {
                        living.remove(&end.number);
                    }
                    _ => {}
                }
            }
            assert_eq!(living, HashSet::new(), "JDK {}", jdk.version());
            recorder.order(&ToAgent::Stop(Stop {}));
            recorder.all_to_the_end();
        }
    }
}

/// What cannot be said is not said: `/dev/full` takes nothing.
#[test]
fn without_anybody_to_tell_the_program_runs_on() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=524288");
        let flag = listener.flag();
        drop(listener);
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut java = jdk.command("java");
        java.args([&flag, "--version"]).stdout(Stdio::null());
        assert!(java.stderr(full.unwrap()).status().unwrap().success());
    }
}

#[test]
fn without_a_recorder_the_program_runs_on() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=524288");
        let flag = listener.flag();
        drop(listener);
        let mut sample = Sample::start(jdk, "Recorded", &["100"], &[&flag]);
        sample.send("churn 10");
        sample.tell("exit");
        let (code, log) = sample.ended();
        assert_eq!(code, 0);
        assert_eq!(log.matches("anthill: not recording").count(), 1, "{log}");
    }
}

#[test]
fn a_recorder_that_vanishes_leaves_the_program_alone_and_another_can_come() {
    everywhere_searchable(|jdk, flag, _| {
        let listener = Listener::new(",sample=16384");
        let flags = [&listener.flag(), UNLOCK, flag, "-Xmx256m"];
        let mut sample = Sample::start(jdk, "Recorded", &["5000"], &flags);
        let mut recorder = listener.accept();
        recorder.order(&heads());
        recorder.dump(&listener.folder().join("x.hprof"));
        sample.tell("run 500");
        recorder.begin_walk(&listener.folder().join("walk"));
        recorder.vanish();
        sample.wait();

        let next = Listener::new(",sample=524288");
        next.attach(&sample);
        let mut recorder = next.accept();
        let walked = recorder.walk(&next.folder().join("walk"));
        assert_eq!(walked.failure, None);
        sample.tell("exit");
        assert_eq!(sample.ended().0, 0);
        let messages = recorder.all_to_the_end();
        assert_eq!(goodbye(&messages), Some(GoodbyeReason::JvmEnds));
    });
}

#[test]
fn a_program_that_ends_at_once_was_seen() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=524288");
        let mut java = jdk.command("java");
        java.arg(listener.flag()).arg("-version");
        let mut child = java.stderr(Stdio::null()).spawn().unwrap();
        let messages = listener.accept().all_to_the_end();
        assert!(child.wait().unwrap().success());
        assert!(matches!(messages[0], FromAgent::Hello(_)));
        assert_eq!(goodbye(&messages), Some(GoodbyeReason::JvmEnds));
    }
}

#[test]
fn the_program_may_end_during_a_state() {
    for jdk in Jdk::all() {
        for (flag, _) in &COLLECTORS[..2] {
            for walk in [false, true] {
                let listener = Listener::new(",sample=524288");
                let flags = [&listener.flag(), *flag];
                let mut sample = Sample::start(jdk, "Recorded", &["300000"], &flags);
                let mut recorder = listener.accept();
                recorder.hello();
                recorder.order(&heads());
                let path = listener.folder().join("state");
                if walk {
                    recorder.begin_walk(&path);
                } else {
                    recorder.begin_dump(&path);
                }
                sample.tell("exit");
                assert_eq!(sample.ended().0, 0);
                recorder.all_to_the_end();
            }
        }
    }
}

#[test]
fn garbage_from_the_recorder_ends_the_recording_only() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new(",sample=524288");
    let mut sample = Sample::start(jdk, "Recorded", &["10"], &[&listener.flag()]);
    let mut recorder = listener.accept();
    recorder.hello();
    recorder.send(&[5, 0, 0, 0, 99, 1, 2, 3, 4]);
    recorder.all_to_the_end();
    sample.send("churn 10");
}

/// Nobody takes what the agent says: the program must not wait for it.
#[test]
fn a_recorder_that_does_not_listen_does_not_hold_up_the_program() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let listener = Listener::new(",sample=1");
    let mut sample = Sample::start(jdk, "Recorded", &["10"], &[&listener.flag()]);
    sample.send("churn 100");
    let recorder = listener.accept();
    recorder.wait_for("events were dropped", |message| match message {
        FromAgent::Dropped(dropped) => (dropped.samples > 1000).then_some(()),
        _ => None,
    });
}

/// A disk that is full during a walk costs the walk, nothing else. `/dev/full` is always full.
#[test]
fn a_full_disk_costs_the_state_only() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=524288");
        let mut sample = Sample::start(jdk, "Recorded", &["10"], &[&listener.flag()]);
        let mut recorder = listener.accept();
        let full = listener.folder().join("full");
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        let walked = recorder.walk(&full);
        assert!(walked.failure.unwrap().contains("No space"), "{full:?}");
        fs::remove_file(&full).unwrap();
        assert_eq!(recorder.walk(&full).failure, None);
        sample.send("churn 10");
    }
}

/// With `-Xcheck:jni` the JVM looks at every call of the agent.
#[test]
fn the_jvm_finds_nothing_wrong_with_the_agent_s_calls() {
    for jdk in Jdk::all() {
        let first = Listener::new(",sample=4096");
        let flags = ["-Xcheck:jni", &first.flag(), "-Xmx256m"];
        let mut sample = Sample::start(jdk, "Recorded", &["100000"], &flags);
        let second = Listener::new(",sample=4096");
        for (listener, attached) in [(&first, false), (&second, true)] {
            if attached {
                listener.attach(&sample);
            }
            let mut recorder = listener.accept();
            recorder.order(&heads());
            let (done, pairs) = recorder.dump(&listener.folder().join("x.hprof"));
            assert_eq!((done.failure, pairs.len()), (None, 100_000));
            for follow in [Follow::Tag, Follow::Handle] {
                let bytes = 4096;
                recorder.order(&ToAgent::SetSampling(SetSampling { bytes, follow }));
                sample.send("churn 10");
                sample.send("threads 20");
                sample.send("virtual 20");
                sample.send("unload 20");
            }
            assert_eq!(recorder.collect().failure, None);
            let walked = recorder.walk(&listener.folder().join("walk"));
            assert_eq!(walked.failure, None);
            recorder.order(&ToAgent::Stop(Stop {}));
            recorder.all_to_the_end();
        }
        let (code, log) = sample.ended();
        assert_eq!(code, 0, "{log}");
        assert!(!log.contains("native method"), "{log}");
        assert!(!log.contains("JNI local refs"), "{log}");
    }
}
