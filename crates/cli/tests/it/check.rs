//! Rules and assertions on real dumps and on recordings: the cases of Aftandilian and Guyer (2009), each found, each silent
//! once the program is repaired, with the numbers that the programs tell about themselves.

use std::path::Path;

use anthill_heap::{HeapBuilder, RecordedValues};
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};
use anthill_trace::{Event, Facts, StateToWrite, TraceWriter, Violation};
use serde_json::Value;

use crate::program::{run, scratch};
use crate::recording::{growing, moment};

/// A program with something wrong in it.
struct Case {
    program: &'static str,
    argument: Option<&'static str>,
    /// The kind of assertion that is violated.
    kind: &'static str,
    /// Under which key the program tells how many objects that is.
    truth: &'static str,
    /// What the path or the referrers must name.
    shown: &'static [&'static str],
    /// The same as a rule.
    rule: &'static str,
}

const CASES: [Case; 9] = [
    Case {
        program: "AssertedOrders",
        argument: Some("customer"),
        kind: "dead",
        truth: "kept",
        shown: &[
            "customers → ",
            "lastOrder → anthill.samples.AssertedOrders$Order",
        ],
        rule: "dead anthill.samples.AssertedOrders$Order",
    },
    Case {
        program: "AssertedOrders",
        argument: Some("table"),
        kind: "dead",
        truth: "kept",
        shown: &[
            "orderTable → java.util.TreeMap",
            "value → anthill.samples.AssertedOrders$Order",
        ],
        rule: "no anthill.samples.*$Order where number >= 0",
    },
    Case {
        program: "AssertedOrders",
        argument: Some("owned"),
        kind: "owned-by",
        truth: "kept",
        shown: &[
            "lastOrder → anthill.samples.AssertedOrders$Order",
            "owner: java.util.TreeMap",
        ],
        rule: "anthill.samples.AssertedOrders$Order owned by java.util.TreeMap",
    },
    Case {
        program: "AssertedOrders",
        argument: Some("company"),
        kind: "dead",
        truth: "kept",
        shown: &[
            "local variable in thread \"main\"",
            "replaceCompany(AssertedOrders.java:",
        ],
        rule: "dead anthill.samples.AssertedOrders$Company \
               where !referrers.any(r => r.type == \"java.lang.Class\")",
    },
    Case {
        program: "AssertedSwap",
        argument: None,
        kind: "dead",
        truth: "kept",
        shown: &["rep → ", "this$0 → anthill.samples.AssertedSwap$SObject"],
        rule: "dead anthill.samples.AssertedSwap$SObject where name = 'temporary'",
    },
    Case {
        program: "AssertedSearchers",
        argument: None,
        kind: "instances",
        truth: "searchers",
        shown: &["searcher"],
        rule: "at most 1 instances of org.apache.lucene.search.IndexSearcher",
    },
    Case {
        program: "AssertedSingleton",
        argument: None,
        kind: "instances",
        truth: "instances",
        shown: &["static received", "static ONLY"],
        rule: "instances of anthill.samples.AssertedSingleton$Settings exactly 1",
    },
    Case {
        program: "AssertedTree",
        argument: None,
        kind: "unshared",
        truth: "shared",
        shown: &["referred to by anthill.samples.AssertedTree$Node"],
        rule: "anthill.samples.AssertedTree$Node unshared",
    },
    Case {
        program: "AssertedCache",
        argument: None,
        kind: "owned-by",
        truth: "stray",
        shown: &[
            "static CACHE → java.util.HashMap",
            "value → anthill.samples.AssertedCache$Element",
        ],
        rule: "anthill.samples.AssertedCache$Element owned by static AssertedCache.OWNER",
    },
];

impl Case {
    /// A dump of the program, wrong or repaired, with garbage in it, and how many objects are wrong in it.
    fn dump(&self, jdk: &Jdk, fixed: bool, path: &Path) -> Option<u64> {
        let mut arguments: Vec<&str> = self.argument.into_iter().collect();
        arguments.extend(fixed.then_some("fixed"));
        let sample = Sample::start_asserted_for_dump(jdk, self.program, &arguments)?;
        let all = DumpOptions {
            all: true,
            ..DumpOptions::default()
        };
        sample.dump(path, all);
        Some(sample.count(self.truth))
    }

    fn check(&self, dump: &str, fixed: bool, number: u64) {
        let name = self.argument.unwrap_or(self.program);
        let ran = run(&["check", dump, "--rule", self.rule, "--no-index"]);
        let json = run(&["check", dump, "--rule", self.rule, "--no-index", "--json"]);
        let found: Value = serde_json::from_str(&json.out).unwrap();
        let checks = found["checks"].as_array().unwrap();
        let rule = checks
            .iter()
            .find(|check| check["rule"].is_string())
            .unwrap();
        if fixed {
            assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{name}: {}", ran.out);
            assert!(checks.iter().all(|check| check["holds"] == true), "{name}");
            return;
        }
        assert_eq!((ran.code, json.code), (1, 1), "{name}: {}", ran.out);
        for shown in self.shown {
            assert!(
                ran.out.contains(shown),
                "{name} does not show {shown}: {}",
                ran.out
            );
        }
        let wrong = checks
            .iter()
            .filter(|check| check["rule"].is_null() && check["holds"] == false);
        let violations: Vec<&Value> = wrong
            .flat_map(|check| check["violations"].as_array().unwrap())
            .collect();
        assert!(
            violations.iter().all(|one| one["kind"] == self.kind),
            "{name}"
        );
        let count = |violations: &[&Value]| -> u64 {
            violations
                .iter()
                .filter_map(|one| one["count"].as_u64())
                .sum()
        };
        assert_eq!(count(&violations), number, "{name}: {}", ran.out);
        // Made in the program, not in the API.
        let made_at = violations[0]["made_at"][0].as_str().unwrap();
        assert!(made_at.starts_with("anthill.samples."), "{name}: {made_at}");
        let violations: Vec<&Value> = rule["violations"].as_array().unwrap().iter().collect();
        assert_eq!(count(&violations), number, "{name}, as a rule: {}", ran.out);
    }
}

#[test]
fn what_is_wrong_is_found_and_what_is_repaired_is_not() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("checks of assertions in dumps", "no JDK was found");
    };
    let path = scratch("asserted.hprof");
    for case in &CASES {
        for fixed in [false, true] {
            let Some(number) = case.dump(jdk, fixed, &path) else {
                return;
            };
            case.check(path.to_str().unwrap(), fixed, number);
        }
    }
}

#[test]
fn a_recording_is_checked_in_every_state() {
    let trace = growing("checked.trace");
    let trace = trace.to_str().unwrap();
    // 100 orders, from state 13 on 20 more in each: more than 200 from state 18 to 24.
    let rules = scratch("growing.rules");
    std::fs::write(
        &rules,
        "rule few: instances of shop.Order at most 200\n\
         rule growth: growth of instances of shop.Order at most 100\n\
         rule \"slow growth\": growth of instances of shop.Order at most 300 %\n  severity warning\n\
         rule marked: growth of instances of shop.Order at most 99 between mark \"after deploy\" and \"3m10s\"\n\
         rule closed: dead shop.Order where closed = true\n",
    )
    .unwrap();
    let rules = rules.to_str().unwrap();
    let ran = run(&["check", trace, rules, "--no-index", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let few = &found["checks"][0];
    assert_eq!(
        (&few["states"], &few["violated_states"]),
        (&24.into(), &7.into())
    );
    assert_eq!(
        (&few["first"]["number"], &few["worst"]["number"]),
        (&18.into(), &24.into())
    );
    assert_eq!(few["longest"], 60_000_000_000u64);
    assert_eq!(few["violations"][0]["found"], 340.0);
    let growth = &found["checks"][1];
    assert_eq!(growth["violations"][0]["found"], 240.0);
    assert_eq!(found["checks"][2]["holds"], true);
    // The state of the mark is number 13 with 120 orders, that at 3m10s number 19 with 240.
    assert_eq!(found["checks"][3]["violations"][0]["found"], 120.0);
    assert!(
        ran.err.contains("no class has a field `closed`"),
        "{}",
        ran.err
    );

    let one = run(&["check", trace, rules, "--no-index", "--at", "first"]);
    assert_eq!(one.code, 0, "{}{}", one.out, one.err);
    assert!(one.out.contains("growth needs two states"), "{}", one.out);
    let text = run(&["check", trace, rules, "--no-index"]).out;
    assert!(text.contains("in 7 of 24 states, for up to 1m"), "{text}");
}

#[test]
fn build_servers_and_code_scanning_can_read_it() {
    let trace = growing("formats.trace");
    let trace = trace.to_str().unwrap();
    let rules = scratch("formats.rules");
    let text = "# orders\nrule \"few < & >\": instances of shop.Order at most 200\n\
                rule: instances of shop.Order at least 1\n\
                rule: dead group(nobody)\n\
                rule warned: instances of shop.Order at most 300 severity warning\n";
    std::fs::write(&rules, text).unwrap();
    let rules = rules.to_str().unwrap();
    let format = |format: &str| {
        let ran = run(&["check", trace, rules, "--no-index", "--format", format]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        ran.out
    };
    let xml = format("junit");
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite "));
    for attribute in [
        "tests=\"4\"",
        "failures=\"1\"",
        "errors=\"0\"",
        "skipped=\"1\"",
        "time=\"0\"",
    ] {
        assert!(xml.contains(attribute), "{attribute}: {xml}");
    }
    assert!(
        xml.contains("<testcase name=\"few &lt; &amp; &gt;\""),
        "{xml}"
    );
    assert!(xml.contains("type=\"instances\""), "{xml}");
    assert_eq!(xml.matches("<system-out>").count(), 1, "{xml}");
    well_formed(&xml);

    let sarif: Value = serde_json::from_str(&format("sarif")).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "Anthill");
    let ids: Vec<&Value> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| &rule["id"])
        .collect();
    assert_eq!(ids.len(), 4);
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(results[1]["level"], "warning");
    let result = &results[0];
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(
        (&result["ruleId"], &result["level"]),
        (ids[index], &"error".into())
    );
    assert!(result["message"]["text"].as_str().unwrap().contains("340"));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 2);
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.ends_with("/formats.rules"), "{uri}");
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn what_did_not_hold_while_the_program_ran_is_part_of_the_result() {
    let path = scratch("told.trace");
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    let mut heap = HeapBuilder::new();
    heap.object("main", "shop.Main", 16);
    heap.root("main");
    let heap = heap.build();
    let state = StateToWrite::from_state(&heap, moment(10, 1), RecordedValues::default());
    writer.state(&state).unwrap();
    let told = Violation {
        time: 12_000_000_000,
        kind: "owned-by".to_owned(),
        message: Some("orders live in the table".to_owned()),
        made_at: vec!["shop.Main.add(Main.java:7)".to_owned()],
        class: "shop.Order".to_owned(),
        count: 3,
        bytes: 72,
        text: "an owned object is reachable, but not from its owner\n  shop.Order".to_owned(),
        json: "{}".to_owned(),
    };
    writer.add(Event::Violation(told)).unwrap();
    writer.finish().unwrap();
    let trace = path.to_str().unwrap();
    let ran = run(&["check", trace, "--no-index", "--json"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let check = &found["checks"][0];
    assert_eq!(check["first"]["time"], 12_000_000_000u64);
    let violation = &check["violations"][0];
    assert_eq!(violation["kind"], "owned-by");
    assert_eq!(
        (&violation["count"], &violation["bytes"]),
        (&3.into(), &72.into())
    );
    let text = run(&["check", trace, "--no-index"]).out;
    assert!(
        text.contains("asserted at shop.Main.add(Main.java:7)"),
        "{text}"
    );
    assert_eq!(
        run(&["check", trace, "--no-index", "--no-assertions"]).code,
        0
    );
}

/// Every element that is opened is closed in its turn, and nothing is left unescaped.
fn well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        let name = tag
            .split([' ', '/'])
            .find(|name| !name.is_empty())
            .unwrap_or("");
        match tag {
            tag if tag.starts_with('?') || tag.ends_with('/') => {}
            tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            _ => open.push(name),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn mistakes_in_rules_are_shown_before_anything_is_opened() {
    let rules = scratch("mistaken.rules");
    std::fs::write(&rules, "rule a: dead A\nrule b: at mots 1 B\n").unwrap();
    let ran = run(&["check", "nowhere.hprof", rules.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    let expected = "mistaken.rules, line 2, column 12: expected `most` or `least`, found `mots`; \
                    did you mean `most`?\n  rule b: at mots 1 B\n             ^\n";
    assert!(ran.err.contains(expected), "{}", ran.err);
    let ran = run(&["check", "nowhere.hprof", "--rule", "dead group(reachd(A))"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("unknown function `reachd`"), "{}", ran.err);
    let ran = run(&[
        "check",
        "nowhere.hprof",
        "--rule",
        "dead A",
        "--rule",
        "dead A",
    ]);
    assert!(ran.err.contains("duplicate rule `dead A`"), "{}", ran.err);
}
