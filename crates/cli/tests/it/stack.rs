//! The stack that keeps what was popped (Weninger et al. 2018, section 5.3.1): a recording of it tells
//! which items were born, died and survived.

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anthill_testkit::{Jdk, Sample, agent, skipped};
use serde_json::Value;

use crate::program::{command, json, run, scratch};

const PATIENCE: Duration = Duration::from_secs(120);

/// A recording of a sample that already runs.
struct Attached {
    recorder: Child,
    pid: String,
}

impl Attached {
    fn new(sample: &Sample, trace: &Path) -> Self {
        let pid = sample.pid().to_string();
        let options = [
            "--identity",
            "all",
            "--overhead",
            "100%",
            "--at",
            "gc:1000000",
        ];
        let recorder = command(&["attach", &pid, "-o", trace.to_str().unwrap()])
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let attached = Attached { recorder, pid };
        let started = Instant::now();
        while !run(&["recordings"]).out.contains(&attached.pid) {
            assert!(started.elapsed() < PATIENCE, "nothing is recorded");
            sleep(Duration::from_millis(50));
        }
        attached
    }

    fn snapshot(&self, name: &str) {
        let ran = run(&["snapshot", &self.pid, name, "--collect"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }

    /// Waits for the end, which is that of the program.
    fn end(mut self) {
        self.recorder.wait().unwrap();
    }
}

/// What became of the items between two states around the program's next round.
fn items(jdk: &Jdk, arguments: &[&str], trace: &Path) -> (u64, Value) {
    let mut sample = Sample::start(jdk, "BuggyStack", arguments, &["-Xmx256m"]);
    let attached = Attached::new(&sample, trace);
    attached.snapshot("before");
    sample.send("again");
    attached.snapshot("after");
    let replaced = sample.count("items replaced");
    drop(sample);
    attached.end();
    let file = trace.to_str().unwrap();
    let diff = json(&[
        "diff",
        file,
        "--from",
        "before",
        "--to",
        "after",
        "--no-index",
    ]);
    assert_eq!(diff["identity"], "all");
    (replaced, diff)
}

fn of_class<'a>(diff: &'a Value, class: &str) -> Option<&'a Value> {
    let nodes = diff["tree"]["children"].as_array().unwrap();
    nodes.iter().find(|node| node["key"] == class)
}

#[test]
fn the_stack_shows_what_was_born_died_and_survived() {
    const ITEM: &str = "anthill.samples.BuggyStack$Item";
    const ITEMS: u64 = 50_000;
    let Some(jdk) = Jdk::installed() else {
        return skipped("the stack over time", "no JDK was found");
    };
    agent();
    let count = ITEMS.to_string();
    let (replaced, diff) = items(jdk, &[&count], &scratch("stack.trace"));
    let stack = of_class(&diff, ITEM).unwrap();
    let objects = |fate: &str| stack[fate]["objects"].as_u64().unwrap();
    assert_eq!(
        (objects("born"), objects("died"), objects("survived")),
        (replaced, replaced, ITEMS - replaced)
    );
    let (_, diff) = items(jdk, &[&count, "fixed"], &scratch("stack-fixed.trace"));
    let survived =
        of_class(&diff, ITEM).map_or(0, |node| node["survived"]["objects"].as_u64().unwrap());
    assert_eq!(survived, 0, "the fixed stack keeps nothing");
}
