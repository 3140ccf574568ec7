//! States that a recording takes by itself because they tell something: soon after the start, when the program exits, and when its
//! memory is exhausted.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::{Jdk, Sample, agent};
use serde_json::Value;

use crate::program::{json, run, scratch};
use crate::record::{ON_DEMAND, Recorded};

const PATIENCE: Duration = Duration::from_secs(240);

fn states(trace: &str) -> Vec<Value> {
    json(&["timeline", trace])["states"]
        .as_array()
        .unwrap()
        .clone()
}

fn wait_for_states(trace: &str, number: usize) {
    let deadline = Instant::now() + PATIENCE;
    while states(trace).len() < number {
        assert!(Instant::now() < deadline, "no {number} states");
        thread::sleep(Duration::from_millis(200));
    }
}

fn marks(trace: &str) -> Vec<String> {
    let mark = |state: &Value| state["mark"].as_str().map(str::to_owned);
    states(trace).iter().filter_map(mark).collect()
}

/// Reachable objects of a class of the sample programs in a state.
fn objects(trace: &str, at: &str, class: &str) -> u64 {
    let class = format!("anthill.samples.{class}");
    let histogram = json(&["histogram", trace, "--at", at, "--limit", "0"]);
    let mut rows = histogram["rows"].as_array().unwrap().iter();
    let row = rows.find(|row| row["class"] == class.as_str());
    row.map_or(0, |row| {
        let [all, garbage] = ["objects", "unreachable_objects"].map(|key| row[key].as_u64());
        all.unwrap() - garbage.unwrap_or(0)
    })
}

/// A program that is recorded with all defaults, and grows before it exits.
fn assert_early_and_last_state(jdk: &Jdk, collector: &str) {
    let trace = scratch(&format!("telling-{}{collector}.trace", jdk.feature()));
    let arguments = ["30000"];
    let flags = ["-Xmx256m", collector];
    let mut recorded = Recorded::start(jdk, &trace, &[], "GrowingRegistry", &arguments, &flags);
    wait_for_states(&recorded.trace, 1);
    recorded.sample.send("grow");
    recorded.sample.send("grow");
    let entries = recorded.sample.count("registry entries");
    let trace = recorded.trace.clone();
    let (code, log) = recorded.end();
    let of = format!("JDK {} {collector}: {log}", jdk.version());
    assert_eq!(code, 0, "{of}");
    let listener = "GrowingRegistry$Listener";
    assert_eq!(objects(&trace, "mark:exit", listener), entries, "{of}");
    assert!(objects(&trace, "first", listener) < entries, "{of}");
    assert!(log.contains(" states, "), "{of}");
}

#[test]
fn a_short_program_has_an_early_and_a_last_state_on_every_jdk() {
    for jdk in Jdk::all() {
        assert_early_and_last_state(jdk, "-XX:+UseG1GC");
    }
}

#[test]
fn a_short_program_has_an_early_and_a_last_state_with_every_collector() {
    for jdk in Jdk::all() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC"] {
            let unlocked = jdk.feature() > 11 || collector != "-XX:+UseZGC";
            if unlocked {
                assert_early_and_last_state(jdk, collector);
            }
        }
    }
}

#[test]
fn the_last_state_can_be_switched_off() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("no-last-state.trace");
    let options = ["--no-last-state"];
    let recorded = Recorded::start(jdk, &trace, &options, "GrowingRegistry", &["10"], &[]);
    let trace = recorded.trace.clone();
    let (code, log) = recorded.end();
    assert_eq!((code, marks(&trace)), (0, Vec::new()), "{log}");
    assert!(log.contains("Growth needs two states"), "{log}");
}

#[test]
fn an_exhausted_heap_is_recorded_on_every_jdk() {
    for jdk in Jdk::all() {
        let trace = scratch(&format!("exhausted-{}.trace", jdk.feature()));
        let recorded = Recorded::start(jdk, &trace, &[], "Sessions", &[], &["-Xmx64m"]);
        let sessions = recorded.sample.count("sessions");
        let trace = recorded.trace.clone();
        let (code, log) = recorded.end();
        assert_eq!(code, 0, "{log}");
        let recorded = objects(&trace, "mark:out of memory", "Sessions$Session");
        // The last one may have been made and not yet been put into the map.
        let of = format!("JDK {}: {log}", jdk.version());
        assert!((sessions..=sessions + 1).contains(&recorded), "{of}");
        assert_eq!(objects(&trace, "mark:exit", "Sessions$Session"), 0, "{of}");
    }
}

#[test]
fn a_jvm_that_ends_at_once_when_it_is_exhausted_leaves_that_state() {
    for jdk in Jdk::all() {
        let trace = scratch(&format!("exit-on-error-{}.trace", jdk.feature()));
        let flags = ["-Xmx64m", "-XX:+ExitOnOutOfMemoryError"];
        let mut recorded = Recorded::start(jdk, &trace, &[], "Sessions", &["wait"], &flags);
        recorded.sample.tell("begin");
        let trace = recorded.trace.clone();
        let (code, log) = recorded.end();
        assert_eq!(code, 3, "the JVM's own code: {log}");
        // Half of the heap at least is full of pages of 2,000 bytes.
        let sessions = objects(&trace, "mark:out of memory", "Sessions$Session");
        assert!(sessions > 32_000_000 / 2_200, "{sessions}: {log}");
    }
}

#[test]
fn a_dump_that_the_user_wants_at_an_error_is_left_alone() {
    let Some(jdk) = Jdk::installed() else { return };
    let dump = scratch("the-user-s.hprof");
    let _ = std::fs::remove_file(&dump);
    let path = format!("-XX:HeapDumpPath={}", dump.display());
    let flags = ["-Xmx64m", "-XX:+HeapDumpOnOutOfMemoryError", &path];
    let trace = scratch("the-user-s.trace");
    let recorded = Recorded::start(jdk, &trace, &[], "Sessions", &[], &flags);
    let trace = recorded.trace.clone();
    let (code, log) = recorded.end();
    assert_eq!(code, 0, "{log}");
    assert!(is_file(&dump) && !marks(&trace).contains(&"out of memory".to_owned()));
    let dropped = json(&["timeline", &trace])["dropped"].to_string();
    assert!(dropped.contains("the JVM writes its own dump"), "{dropped}");
}

fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() > 0)
}

#[test]
fn a_program_that_is_no_longer_recorded_dumps_nothing_at_an_error() {
    agent();
    for jdk in Jdk::all() {
        let mut sample = Sample::start(jdk, "Sessions", &["wait"], &["-Xmx64m"]);
        let pid = sample.pid().to_string();
        for round in 1..=2 {
            let trace = scratch(&format!("left-{}-{round}.trace", jdk.feature()));
            let trace = trace.to_str().unwrap();
            let on_demand: Vec<&str> = ON_DEMAND
                .into_iter()
                .filter(|&option| option != "--no-last-state")
                .collect();
            let attach = ["attach", &pid, "--replace", "-o", trace];
            let attached = run(&[&attach[..], &on_demand[..]].concat());
            assert_eq!(attached.code, 0, "{}", attached.err);
            // The agent carries out one order after the other.
            assert_eq!(run(&["snapshot", &pid]).code, 0);
            let flags = sample.jcmd(&["VM.flags"]);
            assert!(flags.contains("+HeapDumpOnOutOfMemoryError"), "{flags}");
            assert_eq!(run(&["detach", &pid]).code, 0);
            let flags = sample.jcmd(&["VM.flags"]);
            assert!(!flags.contains("+HeapDumpOnOutOfMemoryError"), "{flags}");
            assert!(!flags.contains("exhausted.hprof"), "{flags}");
        }
        sample.send("begin");
        let (code, log) = sample.ended();
        assert_eq!(code, 0, "{log}");
        assert!(!log.contains("Dumping heap"), "{log}");
    }
}

/// Before the last growth a thread borrows the inside of the map, and after it everything is dropped.
#[test]
fn neither_a_dip_nor_a_visitor_nor_the_start_hides_what_grew() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("dip.trace");
    let mut recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "CopyOnWrite", &["2000"], &[]);
    recorded.snapshot("empty");
    recorded.sample.send("grow");
    recorded.snapshot("some");
    recorded.sample.send("grow");
    recorded.sample.send("visit");
    recorded.snapshot("most");
    let [entries, registry] = ["entries", "registry"].map(|key| recorded.sample.count(key));
    recorded.sample.send("clear");
    recorded.snapshot("cleared");
    let trace = recorded.trace.clone();
    recorded.end();

    let growth = json(&["growth", &trace]);
    assert_eq!(growth["shrunk"]["name"], "#4");
    assert_eq!(growth["states"].as_array().unwrap().len(), 3);
    let structures = growth["structures"].as_array().unwrap();
    let named = |rows: &[Value], name: &str| {
        let is_it = |row: &&Value| row["name"].as_str().unwrap().contains(name);
        rows.iter().find(is_it).cloned()
    };
    let map = named(structures, "CopyOnWrite.registry").unwrap();
    assert_eq!(map["change"]["elements"]["after"], registry);
    // Each entry has 1,000 bytes of its own.
    assert!(map["growth"].as_u64().unwrap() >= registry * 1000, "{map}");
    let array = named(growth["places"].as_array().unwrap(), "CopyOnWrite.entries").unwrap();
    assert_eq!(array["elements"]["after"], entries);
    assert!(
        array["growth"].as_u64().unwrap() >= entries * 1000,
        "{array}"
    );
    assert_eq!(named(structures, "CopyOnWrite.settings"), None);
    assert_eq!(growth["settled"], 1);
    let text = run(&["growth", &trace]).out;
    assert!(text.contains("shrank to"), "{text}");
    let to_the_end = json(&["growth", &trace, "--to", "last"]);
    assert_eq!(to_the_end["shrunk"], Value::Null);

    let sites = map["allocation_sites"].as_array().unwrap().iter();
    for site in sites.map(|site| site["site"].as_str().unwrap()) {
        assert!(site.starts_with("anthill.samples.CopyOnWrite"), "{site}");
    }
}

#[test]
fn too_few_states_are_explained() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("few.trace");
    let recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "GrowingRegistry", &["10"], &[]);
    let trace = recorded.trace.clone();
    let status = run(&["recordings"]).out;
    assert!(
        status.contains("the next state waits for a collection"),
        "{status}"
    );
    for command in ["growth", "diff", "report"] {
        let none = run(&[command, &trace]);
        assert!(
            none.err.contains("the recording has no heap state"),
            "{}",
            none.err
        );
        assert!(none.err.contains("anthill snapshot"), "{}", none.err);
    }
    recorded.snapshot("only");
    for command in ["growth", "diff"] {
        let one = run(&[command, &trace]);
        assert_eq!(one.code, 2);
        assert!(
            one.err.contains("the recording has one heap state"),
            "{}",
            one.err
        );
    }
    let (_, log) = recorded.end();
    assert!(log.contains("Growth needs two states"), "{log}");
    assert!(
        run(&["timeline", &trace])
            .out
            .contains("Growth needs two states")
    );
}
