//! Garbage collections, against the JVM's own log.

use std::fs;

use anthill_testkit::{Jdk, Sample};
use anthill_wire::{FromAgent, Gc, GcKind};

use crate::recorder::Listener;
use crate::{UNLOCK, everywhere};

fn gcs(messages: Vec<FromAgent>) -> Vec<Gc> {
    messages
        .into_iter()
        .filter_map(|message| match message {
            FromAgent::Gc(gc) => Some(gc),
            _ => None,
        })
        .collect()
}

/// A pause as the JVM logs it: `GC(3) Pause Full (System.gc()) 53M->0M(8M) 6.692ms`.
struct Logged {
    line: String,
    /// Megabytes before and after, if it says so.
    sizes: Option<(u64, u64)>,
    milliseconds: f64,
}

fn logged(log: &str) -> Vec<Logged> {
    log.lines()
        .filter(|line| line.contains("Pause ") && line.ends_with("ms"))
        // The scavenge before a full collection of Parallel is part of the same pause.
        .filter(|line| !line.contains("Pause Young (System.gc())"))
        .map(|line| {
            let (rest, time) = line.rsplit_once(' ').unwrap();
            let sizes = rest.rsplit_once(' ').and_then(|(_, sizes)| {
                let (before, after) = sizes.split_once("->")?;
                let number = |text: &str| text.split('M').next()?.parse().ok();
                Some((number(before)?, number(after)?))
            });
            Logged {
                line: line.to_owned(),
                sizes,
                milliseconds: time.trim_end_matches("ms").parse().unwrap(),
            }
        })
        .collect()
}

#[test]
fn every_pause_is_reported_as_the_jvm_logs_it() {
    everywhere(|jdk, flag, collector| {
        let listener = Listener::new(",sample=0");
        let log = listener.folder().join("gc.log");
        let logging = format!("-Xlog:gc,gc+phases:file={}", log.display());
        let flags = [&listener.flag(), &logging, UNLOCK, flag, "-Xmx256m"];
        let mut sample = Sample::start(jdk, "Recorded", &["20000"], &flags);
        let recorder = listener.accept();
        recorder.hello();
        sample.send("churn 300");
        sample.send("gc");
        sample.send("churn 50");
        sample.tell("exit");
        sample.ended();

        let reported = gcs(recorder.all_to_the_end());
        let logged = logged(&fs::read_to_string(&log).unwrap());
        assert_eq!(reported.len(), logged.len(), "{collector}");
        let mut different = 0;
        for (gc, logged) in reported.iter().zip(&logged) {
            let about = format!("{collector}: {gc:?}\n{}", logged.line);
            let concurrent = matches!(collector, "ZGC" | "Shenandoah");
            let kind = match &logged.line {
                _ if concurrent => GcKind::ConcurrentPause,
                line if line.contains("Pause Full") => GcKind::Full,
                line if line.contains("Pause Young") => GcKind::Young,
                _ => GcKind::ConcurrentPause,
            };
            assert_eq!(gc.kind, kind, "{about}");
            if !concurrent && kind != GcKind::ConcurrentPause {
                assert!(logged.line.contains(&format!("({})", gc.cause)), "{about}");
                let (before, after) = logged.sizes.unwrap();
                // G1 counts the regions that are being filled as full.
                let near = |bytes: u64, megabytes: u64| (bytes >> 20).abs_diff(megabytes) <= 3;
                assert!(near(gc.used_after, after), "{about}");
                let known = gc.used_before != 0;
                assert!(!known || near(gc.used_before, before), "{about}");
                assert!(known || gc.cause == "System.gc()", "{about}");
            }
            // The JVM's measure lies within ours, but for its rounding, and unless another program got
            // the processor between the two. Pauses beside the program are too short to compare.
            let ours = (gc.end_ns - gc.start_ns) as f64 / 1e6;
            let near = concurrent || ours + 0.3 > logged.milliseconds * 0.5;
            different += usize::from(!near);
        }
        assert!(
            different * 4 <= reported.len(),
            "{collector}: {different} pauses"
        );
        let numbers = reported.iter().map(|gc| gc.number);
        assert!(numbers.eq(1..=reported.len() as u32), "{collector}");
        let full = reported.iter().filter(|gc| gc.cause == "System.gc()");
        assert!(full.count() > 0, "{collector}");
    });
}

#[test]
fn without_counters_the_rest_is_reported_and_what_is_missing_is_said() {
    for jdk in Jdk::all() {
        let listener = Listener::new(",sample=524288");
        let flags = [&listener.flag(), "-XX:-UsePerfData", "-Xmx128m"];
        let mut sample = Sample::start(jdk, "Recorded", &["1000"], &flags);
        let mut recorder = listener.accept();
        let hello = recorder.hello();
        assert!(
            hello.missing.iter().any(|m| m.contains("UsePerfData")),
            "{:?}",
            hello.missing
        );
        sample.send("churn 200");
        sample.send("gc");
        let gcs = gcs(recorder.flushed());
        assert!(gcs.len() > 1);
        for gc in gcs {
            assert_eq!(gc.kind, GcKind::Unknown);
            assert!(gc.used_after > 0 && gc.used_after <= gc.committed, "{gc:?}");
        }
        let (done, _) = recorder.dump(&listener.folder().join("x.hprof"));
        assert_eq!(done.failure, None);
        assert!(!done.pause_measured && done.pause_ns > 0);
    }
}
