//! Recording real JVMs: start, attach, detach, kill, a full disk, and what the states say.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anthill_testkit::process::kill;
use anthill_testkit::{DumpOptions, Jdk, Sample, agent, skipped};
use serde_json::Value;

use crate::program::{command, json, print, run, scratch};

const PATIENCE: Duration = Duration::from_secs(120);
/// States only when they are asked for, and then at once.
pub const ON_DEMAND: [&str; 5] = [
    "--overhead",
    "100%",
    "--at",
    "gc:1000000000",
    "--no-last-state",
];

/// A sample program that `anthill record` has started.
pub struct Recorded {
    pub sample: Sample,
    /// Its number, which is not that of the process that was started.
    pub jvm: String,
    pub trace: String,
}

impl Recorded {
    pub fn start(
        jdk: &Jdk,
        trace: &Path,
        options: &[&str],
        name: &str,
        arguments: &[&str],
        jvm_flags: &[&str],
    ) -> Self {
        agent();
        let trace = trace.to_str().unwrap().to_owned();
        let mut recorder = command(&["record", "--replace", "-o", &trace]);
        recorder.args(options).arg("--");
        let mut sample = Sample::start_by(recorder, jdk, name, arguments, jvm_flags);
        let jvm = sample.line(|line| {
            let rest = line.strip_prefix("anthill: recording JVM ")?;
            Some(rest.split(' ').next()?.to_owned())
        });
        Recorded { sample, jvm, trace }
    }

    pub fn snapshot(&self, name: &str) {
        let ran = run(&["snapshot", &self.jvm, name, "--collect"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("state "), "{}", ran.err);
    }

    /// The program ends when its input is closed, and the recorder with it.
    pub fn end(self) -> (i32, String) {
        self.sample.ended()
    }
}

/// By class of the sample programs: objects, their bytes, what they retain.
fn program_classes(file: &[&str]) -> Vec<(String, [u64; 3])> {
    let histogram = json(&[&["histogram"], file, &["--filter", "anthill.samples.*"]].concat());
    let rows = histogram["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let numbers = ["objects", "shallow", "retained"].map(|key| row[key].as_u64().unwrap());
        (row["class"].as_str().unwrap().to_owned(), numbers)
    };
    let mut rows: Vec<_> = rows.map(row).collect();
    rows.sort();
    rows
}

/// A state that was recorded while the program stood still is the JVM's own dump of that moment:
/// equal retained sizes mean equal references and roots.
fn assert_state_equals_dump(jdk: &Jdk, collector: &str, identity: &str) {
    let name = format!("equal-{}{collector}-{identity}", jdk.feature());
    let trace = scratch(&format!("{name}.trace"));
    let options = [&ON_DEMAND[..], &["--identity", identity]].concat();
    let recorded = Recorded::start(jdk, &trace, &options, "MultiCache", &["2000"], &[collector]);
    let products = recorded.sample.count("products");
    recorded.snapshot("now");
    let dump = scratch(&format!("{name}.hprof"));
    let jvm = recorded.jvm.parse().unwrap();
    recorded.sample.dump_of(jvm, &dump, DumpOptions::default());
    let trace = recorded.trace.clone();
    recorded.end();

    let other_graph = "unlike a heap dump";
    let listed = print(&["summary", &trace, "--at", "mark:now"]).contains(other_graph);
    let said = run(&["histogram", &trace, "--at", "mark:now"]).err;
    let differs = [listed, said.contains(other_graph)];
    assert_eq!(differs, [identity == "all"; 2], "{said}");
    let of_state = program_classes(&[&trace, "--at", "mark:now"]);
    let of_dump = program_classes(&[dump.to_str().unwrap()]);
    assert_eq!(
        of_state,
        of_dump,
        "JDK {} {collector} {identity}",
        jdk.version()
    );
    let product = of_state
        .iter()
        .find(|(class, _)| class.ends_with(".Product"));
    assert_eq!(product.unwrap().1[0], products);
}

#[test]
fn a_state_equals_a_dump_of_the_same_moment_on_every_jdk() {
    for jdk in Jdk::all() {
        assert_state_equals_dump(jdk, "-XX:+UseG1GC", "heads");
        assert_state_equals_dump(jdk, "-XX:+UseG1GC", "all");
    }
}

#[test]
fn a_state_equals_a_dump_of_the_same_moment_with_every_collector() {
    let Some(jdk) = Jdk::installed() else { return };
    for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseZGC"] {
        assert_state_equals_dump(jdk, collector, "heads");
    }
}

/// How many nodes of hash maps lead to a product, by whether another node follows, and the fields on the ways to products.
fn fields(file: &[&str]) -> (Vec<(String, u64)>, Vec<String>) {
    let product = "anthill.samples.Product";
    let nodes = [
        "--class",
        "java.util.HashMap$Node",
        "--by",
        r#"field("value").type, field("next") == null"#,
    ];
    let tree = json(
        &[
            &["classify"],
            file,
            &nodes,
            &["--least", "0", "--limit", "0"],
        ]
        .concat(),
    );
    let rows = |node: &Value| node["children"].as_array().unwrap().clone();
    let of_products = rows(&tree["tree"]);
    let of_products = of_products
        .iter()
        .find(|row| row["key"] == product)
        .unwrap();
    let followed = rows(of_products).into_iter().map(|row| {
        let key = row["key"].as_str().unwrap().to_owned();
        (key, row["objects"].as_u64().unwrap())
    });
    let paths = run(&[&["paths"], file, &[product]].concat());
    let (_, from_cache) = paths.out.split_once("static idCache").unwrap();
    let ways = from_cache.lines().take(4);
    let field = |line: &str| line.rsplit('─').next().unwrap().trim().to_owned();
    (followed.collect(), ways.map(field).collect())
}

/// There are more objects than are written as one part.
#[test]
fn the_fields_of_a_walk_are_those_of_a_dump() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("fields.trace");
    let options = [&ON_DEMAND[..], &["--identity", "all"]].concat();
    let recorded = Recorded::start(jdk, &trace, &options, "MultiCache", &["40000"], &[]);
    recorded.snapshot("now");
    let dump = scratch("fields.hprof");
    let jvm = recorded.jvm.parse().unwrap();
    recorded.sample.dump_of(jvm, &dump, DumpOptions::default());
    let trace = recorded.trace.clone();
    recorded.end();
    let of_dump = fields(&[dump.to_str().unwrap()]);
    assert_eq!(
        of_dump.0.iter().map(|(_, nodes)| nodes).sum::<u64>(),
        80_000
    );
    assert_eq!(fields(&[&trace, "--at", "mark:now"]), of_dump);
}

/// Items that were born, died and survived while a tenth of the items was pushed and popped again.
fn stack_items(arguments: &[&str], name: &str) -> [u64; 3] {
    let jdk = Jdk::installed().unwrap();
    let options = [&ON_DEMAND[..], &["--identity", "all"]].concat();
    let trace = scratch(name);
    let mut recorded = Recorded::start(jdk, &trace, &options, "BuggyStack", arguments, &[]);
    recorded.snapshot("before");
    recorded.sample.send("again");
    recorded.snapshot("after");
    let trace = recorded.trace.clone();
    recorded.end();
    let window = [
        "--from",
        "mark:before",
        "--to",
        "mark:after",
        "--limit",
        "0",
    ];
    let diff = json(&[&["diff", &trace], &window[..]].concat());
    let rows = diff["tree"]["children"].as_array().unwrap();
    let items = rows
        .iter()
        .find(|row| row["key"] == "anthill.samples.BuggyStack$Item");
    ["born", "died", "survived"]
        .map(|key| items.map_or(0, |items| items[key]["objects"].as_u64().unwrap()))
}

/// Weninger and Mössenböck (2018), figures 14 and 17.
#[test]
fn objects_that_a_stack_forgets_to_drop_survive_and_none_after_the_fix() {
    if Jdk::installed().is_none() {
        return;
    }
    let buggy = stack_items(&["1000000"], "buggy-stack.trace");
    assert_eq!(buggy, [100_000, 100_000, 900_000]);
    let fixed = stack_items(&["1000000", "fixed"], "fixed-stack.trace");
    assert_eq!(fixed, [0, 0, 0]);
}

/// What recording took, standing still and beside the program, is within what was allowed.
#[test]
fn the_overhead_is_kept_while_the_heap_grows() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("budget.trace");
    let options = ["--overhead", "40%", "--every", "50ms"];
    let mut recorded = Recorded::start(jdk, &trace, &options, "GrowingRegistry", &["5000"], &[]);
    let trace = recorded.trace.clone();
    let states = |trace: &str| {
        json(&["timeline", trace])["states"]
            .as_array()
            .unwrap()
            .len()
    };
    // On a machine that is busy with something else it takes long until the second one is affordable.
    let deadline = Instant::now() + Duration::from_secs(600);
    for step in 0.. {
        let enough = step >= 60 && step % 10 == 0 && states(&trace) >= 2;
        if enough || Instant::now() > deadline {
            break;
        }
        if step < 60 || step % 20 == 0 {
            recorded.sample.send("grow");
        }
        thread::sleep(Duration::from_millis(100));
    }
    recorded.end();
    let timeline = json(&["timeline", &trace]);
    let number = |value: &Value| value.as_f64().unwrap();
    let costs = &timeline["costs"];
    let cores = number(&timeline["facts"]["cores"]);
    let spent = number(&costs["pause_ns"]) + number(&costs["recorder_cpu_ns"]) / cores;
    let duration = number(&timeline["duration_ns"]);
    let share = spent / duration;
    let states = states(&trace);
    // The guess about the first state may be wrong on a machine that is busy with something else.
    assert!(share < 0.5, "{share}");
    assert!(states >= 2, "{states}");
    let unlimited = duration / 50e6;
    assert!(
        (states as f64) < unlimited / 2.0,
        "{states} states: none of them waited"
    );
}

#[test]
fn a_running_jvm_is_recorded_left_alone_and_recorded_again() {
    agent();
    for jdk in Jdk::all() {
        let mut sample = Sample::start(jdk, "GrowingRegistry", &["100"], &[]);
        let pid = sample.pid().to_string();
        for round in 1..=2 {
            let trace = scratch(&format!("attach-{}-{round}.trace", jdk.feature()));
            let trace = trace.to_str().unwrap();
            let attach = [&["attach", &pid, "--replace", "-o", trace], &ON_DEMAND[..]].concat();
            let attached = run(&attach);
            assert_eq!(attached.code, 0, "{}", attached.err);
            let again = run(&attach);
            assert!(
                again.err.contains("already being recorded"),
                "{}",
                again.err
            );
            assert_eq!(run(&["mark", &pid, "a moment"]).code, 0);
            assert_eq!(run(&["snapshot", &pid, "grown"]).code, 0);
            let detached = run(&["detach", &pid]);
            assert_eq!(detached.code, 0, "{}", detached.err);
            assert!(detached.err.contains("1 state,"), "{}", detached.err);
            assert_eq!(run(&["detach", &pid]).code, 2);
            assert!(!program_classes(&[trace, "--at", "mark:grown"]).is_empty());
            sample.send("grow");
        }
    }
}

#[test]
fn a_jvm_that_is_killed_leaves_a_trace_that_opens() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("killed.trace");
    let recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "MultiCache", &["500"], &[]);
    recorded.snapshot("before");
    kill(recorded.jvm.parse().unwrap());
    let trace = recorded.trace.clone();
    let (code, _) = recorded.end();
    assert_eq!(code, 128 + 9, "as a shell says it");
    assert_eq!(
        program_classes(&[&trace]),
        program_classes(&[&trace, "--at", "mark:before"])
    );
}

#[test]
fn a_program_goes_on_when_its_recorder_is_killed() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("recorder-killed.trace");
    let options = ["--overhead", "100%", "--every", "200ms"];
    agent();
    let mut sample = Sample::start(jdk, "BuggyStack", &["1000"], &[]);
    let pid = sample.pid().to_string();
    let mut attach = command(&["attach", &pid, "--foreground", "--replace", "-o"]);
    let mut recorder = attach.arg(&trace).args(options).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while run(&["mark", &pid, "here"]).code != 0 {
        assert!(Instant::now() < deadline, "it is not being recorded");
        thread::sleep(Duration::from_millis(100));
    }
    let summary = ["summary", trace.to_str().unwrap()];
    while run(&summary).code != 0 {
        assert!(Instant::now() < deadline, "no state is recorded");
        thread::sleep(Duration::from_millis(100));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    sample.send("again");
    assert_eq!(sample.count("items replaced"), 100);
    assert_eq!(run(&summary).code, 0);
    let attached = run(&[
        &["attach", &pid, "--replace", "-o", trace.to_str().unwrap()],
        &ON_DEMAND[..],
    ]
    .concat());
    assert_eq!(attached.code, 0, "{}", attached.err);
    assert_eq!(run(&["detach", &pid]).code, 0);
}

#[test]
fn a_full_disk_costs_states_but_neither_the_program_nor_the_trace() {
    let Some(jdk) = Jdk::installed() else { return };
    let Some(disk) = SmallDisk::new("small-disk", "8m") else {
        skipped("the full disk", "no tmpfs can be mounted; that needs root");
        return;
    };
    let trace = disk.0.join("full.trace");
    let recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "MultiCache", &["100"], &[]);
    recorded.snapshot("fits");
    std::fs::write(disk.0.join("ballast"), vec![7; 8 << 20]).unwrap_err();
    let refused = run(&["snapshot", &recorded.jvm, "does not fit"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("no space"), "{}", refused.err);
    for seed in 1..=8u64 {
        // What cannot be compressed fills more than the page that is there already.
        let mut state = seed;
        let text: String = (0..3900).map(|_| noise(&mut state)).collect();
        assert_eq!(run(&["mark", &recorded.jvm, &text]).code, 0);
    }
    let trace = recorded.trace.clone();
    let (code, log) = recorded.end();
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("No space left on device"), "{log}");
    assert!(!program_classes(&[&trace, "--at", "mark:fits"]).is_empty());
}

#[test]
fn what_was_asked_for_and_cannot_be_had_is_said_and_kept() {
    let Some(jdk) = Jdk::installed() else { return };
    let trace = scratch("cannot.trace");
    let options = ["--at", "full-gc", "--identity", "all", "--contents"];
    let flags = ["-XX:+UseZGC"];
    let recorded = Recorded::start(jdk, &trace, &options, "MultiCache", &["10"], &flags);
    let trace = recorded.trace.clone();
    let (code, log) = recorded.end();
    assert_eq!(code, 0, "{log}");
    for what in ["states after full collections: ZGC", "values and strings: "] {
        assert!(log.contains(what), "{log}");
        let kept = json(&["timeline", &trace]).to_string();
        assert!(kept.contains(what), "{kept}");
    }
}

#[test]
fn the_exit_code_is_the_program_s() {
    agent();
    let trace = scratch("exit.trace");
    let _ = std::fs::remove_file(&trace);
    let record = ["record", "-o", trace.to_str().unwrap(), "--"];
    let missing = run(&[&record[..], &["java", "NoSuchClass"]].concat());
    assert_eq!(missing.code, 1, "{}", missing.err);
    let again = run(&[&record[..], &["java", "NoSuchClass"]].concat());
    assert_eq!(again.code, 2, "a recording is not replaced by accident");
    assert!(again.err.contains("already exists"), "{}", again.err);
    let nowhere = run(&[
        "record",
        "-o",
        "/no/such/folder/x",
        "--",
        "java",
        "-version",
    ]);
    assert_eq!(nowhere.code, 2, "known before the program starts");
    let absent = run(&["record", "--", "/no/such/program"]);
    assert_eq!(absent.code, 2);
    assert!(absent.err.contains("/no/such/program"), "{}", absent.err);
}

/// A letter or digit that follows from the state.
fn noise(state: &mut u64) -> char {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    char::from_digit((*state >> 40) as u32 % 36, 36).unwrap()
}

/// A file system of its own; it is gone when this is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(name: &str, size: &str) -> Option<Self> {
        let folder = scratch(name);
        std::fs::create_dir_all(&folder).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&folder)
            .output();
        mounted
            .is_ok_and(|mounted| mounted.status.success())
            .then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
