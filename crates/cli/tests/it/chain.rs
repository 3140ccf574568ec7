//! A dump of Chain: a linked list so long that its dominator tree can only be shown in part.

use std::sync::OnceLock;

use anthill_testkit::{DumpOptions, Jdk, Sample};
use serde_json::Value;

use crate::program::{self, json, print};

const NODE: &str = "anthill.samples.Chain$Node";
/// More than anybody reads.
const LARGE: usize = 200_000;

struct Fixture {
    dump: String,
    nodes: u64,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let dump = program::scratch("chain.hprof");
        let sample = Sample::start(jdk, "Chain", &["300000"], &[]);
        sample.dump(&dump, DumpOptions::default());
        Some(Fixture {
            dump: dump.to_str().unwrap().to_owned(),
            nodes: sample.count("nodes"),
        })
    });
    fixture.as_ref()
}

/// The address of the first node: the one that no other refers to.
fn head(dump: &str) -> String {
    let nodes = json(&["objects", dump, "--class", NODE, "--sort", "retained"]);
    nodes["rows"][0]["address"].as_str().unwrap().to_owned()
}

#[test]
fn a_linked_list_is_shown_as_its_first_node_the_chain_and_its_last() {
    let Some(fixture) = fixture() else { return };
    let head = head(&fixture.dump);
    let all = ["--depth", "1000000000", "--least", "0"];
    let tree = [&["dominators", &fixture.dump, &head][..], &all].concat();
    let text = print(&tree);
    let folded = format!("… 299,998 × {NODE} in a chain …");
    assert!(text.contains(&folded), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");

    let result = json(&tree);
    let first = &result["tree"];
    let chain = &first["children"][0];
    let last = &chain["children"][0];
    assert_eq!(first["objects"], fixture.nodes);
    assert_eq!(chain["chain"], true);
    assert_eq!(chain["members"], fixture.nodes - 2);
    assert_eq!(
        (&last["objects"], &last["class"]),
        (&1.into(), &NODE.into())
    );
    assert_eq!(last["children"], Value::Array(Vec::new()));
}

#[test]
fn the_whole_tree_stays_small() {
    let Some(fixture) = fixture() else { return };
    let tree = ["dominators", &fixture.dump, "--depth", "300010"];
    let text = print(&tree);
    assert!(text.len() < LARGE && text.contains("in a chain"), "{text}");
    let result = print(&[&tree[..], &["--json"]].concat());
    assert!(result.len() < LARGE, "{result}");
    assert!(serde_json::from_str::<Value>(&result).is_ok());
}
