//! GC assertions of running programs on real JVMs: what holds is silent, what does not is told with its path, and whatever happens
//! to Anthill, the program goes on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::process::kill;
use anthill_testkit::{DumpOptions, Jdk, Sample, agent, api, skipped};
use serde_json::Value;

use crate::program::{command, json, run, scratch};

const PATIENCE: Duration = Duration::from_secs(120);
const COLLECTORS: [&str; 5] = [
    "-XX:+UseG1GC",
    "-XX:+UseParallelGC",
    "-XX:+UseSerialGC",
    "-XX:+UseZGC",
    "-XX:+UseShenandoahGC",
];

/// The releases that all collectors are tried on.
fn jdks() -> impl Iterator<Item = &'static Jdk> {
    let wanted = |jdk: &&Jdk| [17, 25].contains(&jdk.feature());
    Jdk::all().iter().filter(wanted)
}

/// A JVM may be built without a collector.
fn has(jdk: &Jdk, collector: &str) -> bool {
    let tried = jdk.command("java").args([collector, "-version"]).output();
    let has = tried.is_ok_and(|tried| tried.status.success());
    if !has {
        skipped(
            &format!("{collector} on JDK {}", jdk.version()),
            "it has none",
        );
    }
    has
}

fn plain(options: &str) -> String {
    format!("-agentpath:{}{options}", agent().display())
}

fn told<'a>(sample: &'a Sample, key: &str) -> &'a str {
    let value = sample.truth().get(key);
    value.unwrap_or_else(|| {
        panic!(
            "nothing about {key}: {:?}\n{}",
            sample.truth(),
            sample.log()
        )
    })
}

/// The number of the violation of that class among those the program got.
fn violation_of(sample: &Sample, class: &str) -> usize {
    let found = sample.count("found") as usize;
    (0..found)
        .find(|index| told(sample, &format!("{index}.class")) == class)
        .unwrap_or_else(|| panic!("none of {class}: {:?}", sample.truth()))
}

/// Asserts something that does not hold, and then the same that does.
fn leak_and_fix(sample: &mut Sample, kind: &str, class: &str, expected: &[(&str, &str)]) {
    sample.send(&format!("{kind} leak"));
    let index = violation_of(sample, class);
    for (key, value) in expected {
        let found = told(sample, &format!("{index}.{key}"));
        assert!(
            found.contains(value),
            "{kind}: {key} is {found}, not {value}"
        );
    }
    let own = format!("{kind} fixed");
    sample.send(&own);
    assert_eq!(sample.count("found"), 0, "{own}: {:?}", sample.truth());
}

const SESSION: &str = "anthill.samples.Asserting$Session";
const ORDER: &str = "anthill.samples.Asserting$Order";
const NODE: &str = "anthill.samples.Asserting$Node";

fn all_kinds(sample: &mut Sample) {
    assert_eq!(told(sample, "active"), "true");
    let made = "anthill.samples.Asserting$Session.close(Asserting.java:";
    leak_and_fix(
        sample,
        "dead",
        SESSION,
        &[
            ("kind", "DEAD"),
            ("message", "closed sessions"),
            ("count", "20"),
            ("made", made),
            ("path", "SESSIONS"),
            ("path", "table"),
            ("path", "value"),
            ("text", "Asserting"),
        ],
    );
    leak_and_fix(
        sample,
        "instances",
        SESSION,
        &[
            ("kind", "INSTANCES"),
            ("message", "few sessions"),
            ("count", "5"),
            ("path", "SESSIONS"),
        ],
    );
    leak_and_fix(
        sample,
        "unshared",
        NODE,
        &[
            ("kind", "UNSHARED"),
            ("count", "1"),
            ("text", "elementData"),
        ],
    );
    leak_and_fix(
        sample,
        "owned",
        ORDER,
        &[("kind", "OWNED_BY"), ("count", "10"), ("path", "KEPT")],
    );
    leak_and_fix(
        sample,
        "region",
        ORDER,
        &[
            ("kind", "ALL_DEAD"),
            ("message", "one request"),
            ("count", "7"),
            ("path", "KEPT"),
        ],
    );
}

#[test]
fn every_kind_is_found_and_silent_after_the_fix_with_every_collector() {
    for jdk in Jdk::all() {
        let thorough = jdks().any(|one| one.feature() == jdk.feature());
        let collectors = &COLLECTORS[..if thorough { COLLECTORS.len() } else { 1 }];
        for &collector in collectors.iter().filter(|one| has(jdk, one)) {
            let flags = [collector, "-Xmx96m", &plain("")];
            let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &flags);
            all_kinds(&mut sample);
        }
    }
}

/// The threads know which objects they released and which they leaked on purpose.
fn assert_stress(jdk: &Jdk, collector: &str) {
    let flags = [collector, "-Xmx96m", &plain("=overhead=50%")];
    let stress = Sample::start_asserting(jdk, "AssertingStress", &["4", "3"], &flags);
    let what = format!("{} {collector}: {:?}", jdk.version(), stress.truth());
    assert_eq!(stress.count("wrong"), 0, "{what}");
    assert_eq!(stress.count("missing"), 0, "{what}");
    assert_eq!(stress.count("found"), stress.count("leaked"), "{what}");
    assert!(stress.count("released") > 1_000, "{what}");
}

#[test]
fn under_concurrent_change_all_that_was_leaked_is_found_and_nothing_else() {
    for jdk in jdks() {
        for collector in COLLECTORS.into_iter().filter(|one| has(jdk, one)) {
            assert_stress(jdk, collector);
        }
    }
}

#[test]
fn a_recording_has_the_violations_with_their_paths() {
    for (jdk, collectors) in jdks().zip([&COLLECTORS[..3], &COLLECTORS[3..]]) {
        for &collector in collectors.iter().filter(|one| has(jdk, one)) {
            assert_recorded(jdk, collector);
        }
    }
}

fn assert_recorded(jdk: &Jdk, collector: &str) {
    agent();
    let trace = scratch(&format!("asserting{collector}.trace"));
    let lines = scratch(&format!("asserting{collector}.jsonl"));
    let _ = fs::remove_file(&lines);
    let (trace, lines) = (trace.to_str().unwrap(), lines.to_str().unwrap());
    let record = command(&[
        "record",
        "--replace",
        "-o",
        trace,
        "--violations",
        lines,
        "--",
    ]);
    let flags = [collector, "-Xmx96m"];
    let mut sample = Sample::start_asserting_by(record, jdk, "Asserting", &[], &flags);
    all_kinds(&mut sample);
    // Known by now: not told again.
    sample.send("dead leak");
    sample.ended();
    let timeline = json(&["timeline", trace]);
    let violations = timeline["violations"].as_array().unwrap();
    for kind in ["dead", "instances", "unshared", "owned-by", "all-dead"] {
        let of_kind = |one: &&Value| one["kind"] == kind && one["class"] != "byte[]";
        assert!(
            violations.iter().any(|one| of_kind(&one)),
            "{kind}: {violations:?}"
        );
    }
    let dead = violations.iter().filter(|one| one["kind"] == "dead");
    assert_eq!(dead.count(), 1, "{violations:?}");
    let text = crate::program::print(&["timeline", trace]);
    assert!(text.contains("asserted dead"), "{text}");
    let lines = fs::read_to_string(lines).unwrap();
    assert_eq!(lines.lines().count(), violations.len());
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(
            line["paths"].is_array() && line["class"].is_string() && line["pid"].is_u64(),
            "{line}"
        );
    }
}

#[test]
fn a_program_that_runs_is_checked_from_the_moment_anthill_attaches() {
    for (jdk, collectors) in jdks().zip([&COLLECTORS[3..], &COLLECTORS[..3]]) {
        for &collector in collectors.iter().filter(|one| has(jdk, one)) {
            assert_attached(jdk, collector);
        }
    }
}

fn assert_attached(jdk: &Jdk, collector: &str) {
    agent();
    let flags = [collector, "-Xmx96m"];
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &flags);
    sample.send("dead leak");
    assert_eq!(
        sample.count("found"),
        0,
        "without the agent nothing happens"
    );
    let pid = sample.pid().to_string();
    let ran = run(&["attach", &pid, "--assertions"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("checking the assertions"), "{}", ran.err);
    // The class of the API hears of it a moment later.
    wait_until(|| {
        sample.send("collect");
        told(&sample, "active") == "true"
    });
    all_kinds(&mut sample);
    let status = crate::program::print(&["recordings"]);
    assert!(
        status.contains(&pid) && status.contains("assertions checked"),
        "{status}"
    );
    assert_eq!(run(&["detach", &pid]).code, 0);
    wait_until(|| {
        sample.send("dead leak");
        told(&sample, "active") == "false" && sample.count("found") == 0
    });
}

fn wait_until(mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "it does not come true");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn without_the_agent_calls_do_nothing_or_fail_if_that_is_wanted() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &[]);
    assert_eq!(told(&sample, "active"), "false");
    for kind in ["dead", "instances", "unshared", "owned", "region"] {
        sample.send(&format!("{kind} leak"));
        assert_eq!((sample.count("found"), sample.count("heard")), (0, 0));
    }
    assert_eq!(sample.log(), "");

    let required = ["-Ddev.anthill.required=true"];
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &required);
    sample.tell("dead leak");
    let (code, log) = sample.ended();
    assert_eq!(code, 1, "{log}");
    assert!(
        log.contains("IllegalStateException") && log.contains("-agentpath"),
        "{log}"
    );
}

#[test]
fn every_class_loader_hears_of_its_own_violations() {
    let Some(jdk) = Jdk::installed() else { return };
    let flags = ["-Xmx96m", &plain("")];
    let folder = api().to_str().unwrap();
    let sample = Sample::start_asserting(jdk, "AssertingLoaders", &[folder], &flags);
    assert_eq!(told(&sample, "different"), "true");
    assert_eq!(told(&sample, "active"), "true");
    let counts = ["one", "other", "none"].map(|key| sample.count(key));
    assert_eq!(counts, [3, 1, 0], "{}", sample.log());
    assert_eq!(children_of(sample.pid()).len(), 1, "one checks for all");
}

#[test]
fn assertions_that_are_only_kept_are_found_in_a_dump() {
    let Some(jdk) = Jdk::installed() else { return };
    let keep = ["-Ddev.anthill.keep=true"];
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &keep);
    let dump = scratch("kept-assertions.hprof");
    for (command, code) in [("dead leak", 1), ("dead fixed", 0)] {
        sample.send(command);
        assert_eq!(sample.count("found"), 0, "nobody checks");
        sample.dump(&dump, DumpOptions::default());
        let ran = run(&["check", dump.to_str().unwrap()]);
        assert_eq!(ran.code, code, "{command}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out.contains("SESSIONS"), code == 1, "{}", ran.out);
        assert_eq!(
            ran.out.contains("Asserting$Session.close("),
            code == 1,
            "{}",
            ran.out
        );
    }
}

#[test]
fn what_nobody_asked_for_is_checked_after_a_full_collection() {
    let Some(jdk) = Jdk::installed() else { return };
    let lines = scratch("unasked.jsonl");
    let _ = fs::remove_file(&lines);
    let options = plain(&format!("=overhead=100%,violations={}", lines.display()));
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &["-Xmx96m", &options]);
    sample.send("later dead leak");
    sample.send("collect");
    let log = sample.line(|line| line.contains("asserted dead").then(|| line.to_owned()));
    assert!(log.starts_with("anthill: "), "{log}");
    sample.line(|line| line.contains("SESSIONS").then_some(()));
    wait_until(|| {
        sample.send("collect");
        sample.count("heard") == 1
    });
    assert!(has_line(&lines, "closed sessions"));
    // A check that is asked for tells it all the same, but does not log it again.
    sample.send("check");
    assert_eq!((sample.count("found"), sample.count("heard")), (1, 1));
}

fn has_line(file: &Path, words: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| line.contains(words))
}

#[test]
fn without_the_program_anthill_a_violation_says_what_to_do_about_it() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut nowhere = Command::new("env");
    nowhere.arg("ANTHILL_PROGRAM=/no/such/anthill");
    let flags = ["-Xmx96m", &plain("")];
    let mut sample = Sample::start_asserting_by(nowhere, jdk, "Asserting", &[], &flags);
    sample.send("dead leak");
    assert_eq!(sample.count("found"), 1);
    assert_eq!(told(&sample, "0.count"), "20");
    assert_eq!(told(&sample, "0.path"), "");
    assert!(told(&sample, "0.text").contains("/no/such/anthill"));
    sample.send("dead fixed");
    assert_eq!(sample.count("found"), 0);
    sample.send("region leak");
    let orders = violation_of(&sample, ORDER);
    assert_eq!(told(&sample, &format!("{orders}.count")), "7");
}

#[test]
fn the_program_goes_on_when_anthill_is_killed() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &["-Xmx96m", &plain("")]);
    sample.send("dead leak");
    assert_eq!(sample.count("found"), 1);
    let child = child_of(sample.pid());
    kill(child.parse().unwrap());
    // At first with nobody there, then by the JVM's own word.
    wait_until(|| {
        sample.send("dead leak");
        sample.count("found") == 1 && told(&sample, "0.path").is_empty()
    });
    assert!(told(&sample, "0.text").contains("anthill"));
    sample.send("dead fixed");
    assert_eq!(sample.count("found"), 0);
    assert_eq!(sample.ended().0, 0);
}

fn child_of(pid: u32) -> String {
    let mut children = children_of(pid);
    assert!(!children.is_empty(), "JVM {pid} has started nothing");
    children.remove(0)
}

fn children_of(pid: u32) -> Vec<String> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(children.split_whitespace().map(str::to_owned));
    }
    all
}

#[test]
fn nothing_of_the_thread_that_asserts_first_is_kept_alive() {
    for jdk in Jdk::all() {
        let flags = ["-Xmx96m", &plain("")];
        let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &flags);
        sample.send("stranger");
        assert_eq!(told(&sample, "kept"), "false", "JDK {}", jdk.version());
    }
}

/// Alone the JVM's own word is what there is, before somebody was there and after.
#[test]
fn regions_are_seen_again_when_a_recorder_has_left_a_program_that_is_alone() {
    let Some(jdk) = Jdk::installed() else { return };
    agent();
    let mut nowhere = Command::new("env");
    nowhere.arg("ANTHILL_PROGRAM=/no/such/anthill");
    let flags = ["-Xmx96m", &plain("")];
    let mut sample = Sample::start_asserting_by(nowhere, jdk, "Asserting", &[], &flags);
    sample.send("region leak");
    violation_of(&sample, ORDER);
    let pid = sample.pid().to_string();
    let ran = run(&["attach", &pid, "--assertions"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    wait_until(|| {
        sample.send("region leak");
        let orders = violation_of(&sample, ORDER);
        told(&sample, &format!("{orders}.path")).contains("KEPT")
    });
    assert_eq!(run(&["detach", &pid]).code, 0);
    wait_until(|| {
        sample.send("region leak");
        let found = sample.count("found") as usize;
        (0..found).any(|index| {
            told(&sample, &format!("{index}.class")) == ORDER
                && told(&sample, &format!("{index}.path")).is_empty()
        })
    });
    assert!(
        !sample.log().contains("assertAllDead checks nothing"),
        "{}",
        sample.log()
    );
}

#[test]
fn a_million_assertions_are_fine_and_leave_nothing_behind() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &["-Xmx256m", &plain("")]);
    sample.send("million");
    assert_eq!(sample.count("found"), 0, "{:?}", sample.truth());
    let used = sample.count("used");
    assert!(used < 30 << 20, "{used} bytes are still used");
}

#[test]
fn a_violation_is_thrown_by_the_next_call_if_that_is_wanted() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &["-Xmx96m", &plain("")]);
    sample.send("throw");
    assert_eq!(told(&sample, "thrown"), "1");
    assert!(told(&sample, "message").contains("SESSIONS"));
}

#[test]
fn a_violation_halts_the_jvm_if_that_is_wanted() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start_asserting(jdk, "Asserting", &[], &["-Xmx96m", &plain("")]);
    sample.tell("halt");
    let (code, log) = sample.ended();
    assert_eq!(code, 70, "{log}");
    assert!(log.contains("SESSIONS"), "{log}");
}
