//! Recordings: the timeline, and every command on a state as on the dump it was made from.

use std::path::{Path, PathBuf};

use anthill_heap::{BitSet, HeapBuilder, Quiet, RecordedValues};
use anthill_hprof::Dump;
use anthill_testkit::{DumpOptions, Jdk, Sample as Program, skipped};
use anthill_trace::{
    Cost, Dropped, Event, Facts, Gc, Mark, Moment, Sample, StateKind, StateToWrite, TraceWriter,
};
use serde_json::Value;

use crate::program::{assert_expected, json, print, run, scratch};

const SECOND: u64 = 1_000_000_000;

pub fn moment(seconds: u64, gc: u64) -> Moment {
    Moment {
        gc: Some(gc),
        time: seconds * SECOND,
        timestamp: 1_700_000_000_000 + seconds * 1000,
        kind: StateKind::Dump,
        mark: None,
        pause: 30_000_000,
        source_bytes: None,
    }
}

/// A recording of a list that grows in its second half.
pub fn growing(name: &str) -> PathBuf {
    growing_over(24, name)
}

/// The same with so many states.
pub fn growing_over(states: u64, name: &str) -> PathBuf {
    let path = scratch(name);
    let facts = Facts {
        started: 1_700_000_000 * SECOND,
        version: "17.0.12+7".to_owned(),
        vm: "OpenJDK 64-Bit Server VM".to_owned(),
        collector: "G1".to_owned(),
        command_line: "java -jar shop.jar".to_owned(),
        cores: Some(2),
        max_heap: Some(512 << 20),
        missing: vec!["owned monitors: the agent was attached later".to_owned()],
        ..Facts::default()
    };
    let mut writer = TraceWriter::create(&path, &facts).unwrap();
    let class = writer.class("shop.Order");
    for state in 1..=states {
        let time = state * 10 * SECOND;
        for gc in [state * 2 - 1, state * 2] {
            let start = time - (state * 2 - gc) * 5 * SECOND;
            let gc = Gc {
                number: gc,
                full: gc % 10 == 0,
                collector: "G1 Young Generation".to_owned(),
                cause: "G1 Evacuation Pause".to_owned(),
                start,
                end: start + gc * 1_000_000,
                used_before: Some(64 << 20),
                used_after: Some((20 + gc) << 20),
                committed: Some(128 << 20),
            };
            writer.add(Event::Gc(gc)).unwrap();
        }
        let sample = Sample {
            time,
            class,
            size: 24,
            weight: state << 20,
            ..Sample::default()
        };
        writer.add(Event::Sample(sample)).unwrap();
        let cost = Cost {
            time,
            pause: 30_000_000,
            agent: 1_000_000,
            recorder: 60_000_000,
            what: format!("state {state}"),
        };
        writer.add(Event::Cost(cost)).unwrap();
        let mut heap = HeapBuilder::new();
        let orders = 100 + state.saturating_sub(states / 2) * 20;
        for order in 0..orders {
            heap.object(&format!("o{order}"), "shop.Order", 24);
            heap.object(&format!("c{order}"), "shop.Customer", 16);
        }
        heap.object("main", "shop.Main", 4096);
        let names: Vec<String> = (0..orders).map(|order| format!("o{order}")).collect();
        heap.edges(&format!("main -> {}", names.join(" ")));
        heap.root("main");
        let heap = heap.build();
        let mut reachable = BitSet::new(heap.len() as usize);
        (0..heap.len())
            .filter(|&object| heap.class(object).name != "shop.Customer")
            .for_each(|object| reachable.insert(object));
        let mut moment = moment(state * 10, state * 2);
        moment.mark = (state == 13).then(|| "after deploy".to_owned());
        let mut to_write = StateToWrite::from_state(&heap, moment, RecordedValues::default());
        to_write.reachable = Some(&reachable);
        writer.state(&to_write).unwrap();
    }
    let mark = Mark {
        time: 125 * SECOND,
        text: "deploy".to_owned(),
    };
    writer.add(Event::Mark(mark)).unwrap();
    let dropped = Dropped {
        time: 200 * SECOND,
        what: "state".to_owned(),
        amount: 1,
        reason: "the disk is full".to_owned(),
    };
    writer.add(Event::Dropped(dropped)).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn the_timeline_shows_sizes_types_collections_marks_and_where_the_heap_only_grows() {
    let path = growing("growing.trace");
    let file = path.to_str().unwrap();
    let named = |text: &str| text.replace(file, "growing.trace");
    assert_expected("timeline.txt", &named(&print(&["timeline", file])));
    let csv = print(&["timeline", file, "--csv", "--class", "shop.Order"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 24 * 2);
    assert_eq!(lines[0], "point,seconds,gc,mark,type,objects,bytes");
    // 100 orders of 24 bytes and the main object of 4096.
    assert_eq!(lines[1], "#1,10.000,2,,,101,6496");
    assert_eq!(lines[2], "#1,10.000,2,,shop.Order,100,2400");
    let timeline = json(&["timeline", file]);
    assert_eq!(timeline["leak_window"]["to"], 23);
    assert_eq!(timeline["gcs"].as_array().unwrap().len(), 48);
    assert_eq!(timeline["facts"]["max_heap"], 512 << 20);
    assert_eq!(timeline["complete"], true);
    assert_eq!(run(&["timeline", file, "--class", "nothing"]).code, 1);
    assert_eq!(run(&["timeline", file, "--at", "last"]).code, 2);
}

/// Keys of the nodes of a tree, joined, with objects and bytes of each that are in no node below it.
fn ends(node: &Value, path: &str, found: &mut Vec<(String, u64, u64)>) {
    let number = |node: &Value, name: &str| node[name].as_u64().unwrap();
    let (mut objects, mut bytes) = (number(node, "objects"), number(node, "shallow"));
    for child in node["children"].as_array().into_iter().flatten() {
        objects -= number(child, "objects");
        bytes -= number(child, "shallow");
        let key = child["key"].as_str().unwrap();
        let path = match path {
            "" => key.to_owned(),
            path => format!("{path} > {key}"),
        };
        ends(child, &path, found);
    }
    if objects > 0 {
        found.push((path.to_owned(), objects, bytes));
    }
}

/// The layers of a timeline at a place: those that have objects there.
fn layers_at(layers: &Value, place: usize) -> Vec<(String, u64, u64)> {
    let rows = layers["rows"].as_array().unwrap().iter();
    let mut found: Vec<(String, u64, u64)> = rows
        .map(|row| {
            let number = |name: &str| row[name][place].as_u64().unwrap();
            let key = row["key"].as_str().unwrap().to_owned();
            (key, number("objects"), number("bytes"))
        })
        .filter(|row| row.1 > 0)
        .collect();
    found.sort();
    found
}

#[test]
fn the_timeline_is_split_by_what_every_state_says_by_itself() {
    let path = growing("layers.trace");
    let file = path.to_str().unwrap();
    for by in [
        "type",
        "package",
        "size > 1K, type",
        "closest-root",
        "type, pointed-from, type",
    ] {
        let layers = &json(&["timeline", file, "--by", by, "--top=0", "--states=5"])["layers"];
        let states = layers["states"].as_array().unwrap();
        let looked = if ["type", "package"].contains(&by) {
            24
        } else {
            5
        };
        assert_eq!(states.len(), looked, "{by}");
        for (place, state) in states.iter().enumerate().step_by(states.len() / 5) {
            let at = format!("#{}", state.as_u64().unwrap() + 1);
            let tree = &json(&["classify", file, "--by", by, "--at", &at])["tree"];
            let mut told = Vec::new();
            ends(tree, "", &mut told);
            told.sort();
            assert_eq!(layers_at(layers, place), told, "{by} at {at}");
            assert_eq!(layers["total"]["bytes"][place], tree["shallow"], "{by}");
            assert_eq!(layers["others"]["bytes"][place], 0, "{by}");
        }
    }
    // 100 orders at first, 340 at last; the main object is larger than all of them at first.
    let few = &json(&[
        "timeline",
        file,
        "--by=type, size",
        "--top=1",
        "--sort=objects",
    ])["layers"];
    let row = &few["rows"][0];
    assert!(row["key"].as_str().unwrap().starts_with("shop.Order > "));
    assert_eq!(
        (&row["objects"][0], &row["objects"][23]),
        (&100.into(), &340.into())
    );
    assert_eq!(
        (&few["others"]["rows"], &few["others"]["bytes"][23]),
        (&1.into(), &4096.into())
    );
    let csv = print(&["timeline", file, "--csv", "--by=type, size", "--states=2"]);
    assert_eq!(
        csv.lines().next().unwrap(),
        "point,seconds,gc,mark,key,objects,bytes"
    );
    assert_eq!(csv.lines().count(), 1 + 24 + 2 * 2);
    let text = print(&["timeline", file, "--by=is_array", "--states=3"]);
    assert!(text.contains("based on 3 of 24 states"), "{text}");
    let mistake = run(&["timeline", file, "--by=typ"]);
    assert!(
        mistake.code == 2 && mistake.err.contains("--by, column 1"),
        "{}",
        mistake.err
    );
    assert_eq!(
        run(&["timeline", file, "--by=where size > 1M, type"]).code,
        1
    );
}

#[test]
fn of_hundreds_of_states_some_are_looked_into() {
    let path = growing_over(300, "hundreds.trace");
    let file = path.to_str().unwrap();
    let timeline = json(&["timeline", file, "--by=closest-root", "--limit=1"]);
    let states = timeline["states"].as_array().unwrap();
    assert_eq!(states.len(), 300);
    let looked = timeline["layers"]["states"].as_array().unwrap();
    assert_eq!(
        (looked.len(), &looked[0], &looked[59]),
        (60, &0.into(), &299.into())
    );
    for (place, state) in looked.iter().enumerate() {
        let state = &states[state.as_u64().unwrap() as usize];
        assert_eq!(
            timeline["layers"]["total"]["bytes"][place],
            state["reachable_bytes"]
        );
    }
    let growth = json(&["growth", file]);
    let all = json(&["growth", file, "--states=0"]);
    assert_eq!(growth["states"].as_array().unwrap().len(), 30);
    assert_eq!(
        (&growth["skipped"], &all["skipped"]),
        (&270.into(), &0.into())
    );
    for (some, every) in [("0", "0"), ("29", "299")] {
        let some = growth["states"].pointer(&format!("/{some}"));
        assert_eq!(some, all["states"].pointer(&format!("/{every}")));
    }
    assert_eq!(growth["heap_growth"], all["heap_growth"]);
    let text = print(&["growth", file]);
    assert!(text.contains("270 states in between skipped"), "{text}");
}

/// Every reachable object is in one layer, whether its package has sub-packages or not.
#[test]
fn a_series_of_dumps_is_split_in_layers_too() {
    let file = scratch("layers.hprof").to_str().unwrap().to_owned();
    print(&["demo", "--save", &file]);
    let summary = json(&["summary", &file]);
    for by in ["package", "package, type", "loader"] {
        let timeline = json(&["timeline", &file, &file, "--by", by, "--top=0"]);
        let layers = &timeline["layers"];
        let rows = layers["rows"].as_array().unwrap();
        for place in 0..2 {
            let sum: u64 = rows
                .iter()
                .map(|row| row["bytes"][place].as_u64().unwrap())
                .sum();
            assert_eq!(summary["reachable"]["shallow"], sum, "{by}");
        }
    }
    let layers = &json(&["timeline", &file, &file, "--by=package", "--top=0"])["layers"];
    let layers = layers_at(layers, 0);
    for package in ["java > util", "java > util > concurrent"] {
        assert!(layers.iter().any(|layer| layer.0 == package), "{package}");
    }
}

#[test]
fn a_state_of_a_recording_is_opened_by_its_point() {
    let path = growing("points.trace");
    let file = path.to_str().unwrap();
    let summary = |at: &[&str]| json(&[&["summary", file], at].concat());
    assert_eq!(summary(&[])["recording"]["state"], 24);
    for (at, state) in [
        ("gc:11", 5),
        ("1m5s", 6),
        ("after deploy", 13),
        ("deploy", 12),
    ] {
        assert_eq!(summary(&["--at", at])["recording"]["state"], state, "{at}");
    }
    let text = print(&["summary", file, "--at", "after deploy"]);
    for words in [
        "recording of OpenJDK 64-Bit Server VM 17.0.12+7, G1, maximum heap 512.0 MB, 2 cores",
        "state #13 of 24, at 2m10s, after gc:26, for mark:after deploy, without contents",
        "The heap keeps growing from #",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let wrong = run(&["histogram", file, "--at", "gc:1"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("#1  10s  gc:2"), "{}", wrong.err);
    assert_eq!(run(&["histogram", file, "--dump", "1"]).code, 2);
    let strings = run(&["strings", file, "x"]);
    assert_eq!(strings.code, 2);
    assert!(strings.err.contains("were not recorded"), "{}", strings.err);
}

#[test]
fn the_report_of_a_recording_has_its_timeline() {
    let path = growing("report-growing.trace");
    let file = path.to_str().unwrap();
    let to = scratch("report-growing.html");
    let page = |more: &[&str]| {
        let report = ["report", file, "--no-index", "-o", to.to_str().unwrap()];
        print(&[&report[..], more].concat());
        std::fs::read_to_string(&to).unwrap()
    };
    let html = page(&["--at", "#20"]);
    let chart = html.split("<svg class=\"timeline\"").nth(1);
    let chart = chart.and_then(|rest| rest.split("</svg>").next()).unwrap();
    // As many dots as states, besides the one that is chosen.
    assert_eq!(chart.matches("<circle class=\"dot\"").count(), 24);
    // 260 orders of 24 bytes and the main object of 4096.
    assert!(chart.contains("this report: #20, 10.1 KB"), "{chart}");
    assert!(chart.contains(">deploy</text>") && chart.contains("class=\"window\""));
    assert!(html.contains("--from '#12' --to '#24'"));
    assert!(!page(&["--redact"]).contains("deploy"));
    let report = json(&["report", file, "--no-index", "--at", "#20"]);
    let timeline = &report["timeline"];
    assert_eq!(timeline["chosen"], 19);
    assert_eq!(timeline["states"][0]["alive"], 6496);
    assert_eq!(timeline["collections"].as_array().unwrap().len(), 48);
    assert_eq!(
        timeline["leak_window"],
        json(&["timeline", file])["leak_window"]
    );
}

/// A recording of one state, that of the dump.
fn record(dump: &Path, contents: bool) -> PathBuf {
    let path = scratch(if contents { "full.trace" } else { "bare.trace" });
    let dump = Dump::open(dump, None, &Quiet).unwrap();
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    let mut to_write = StateToWrite::from_dump(&dump, moment(1, 1), contents);
    to_write.moment.timestamp = dump.info.timestamp;
    writer.state(&to_write).unwrap();
    writer.finish().unwrap();
    path
}

/// A result without what names the file it is from.
fn unnamed(mut result: Value, file: &str) -> Value {
    let fields = result.as_object_mut().unwrap();
    for field in [
        "file",
        "recording",
        "format",
        "file_bytes",
        "packed_bytes",
        "index",
    ] {
        fields.remove(field);
    }
    let text = result.to_string().replace(file, "FILE");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn every_command_answers_on_a_recorded_state_as_on_its_dump() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("commands on recordings", "no JDK was found");
    };
    let sample = Program::start(jdk, "MultiCache", &["2000"], &["-Xmx64m"]);
    let dump = scratch("recorded.hprof");
    sample.dump(&dump, DumpOptions::default());
    let product = "anthill.samples.Product";
    let without_contents: [&[&str]; 8] = [
        &["histogram"],
        &["histogram", "--by", "loader"],
        &["classify", "--by", "type,closest-root"],
        &[
            "classify",
            "--by",
            "package,pointed-from,type",
            "--class",
            product,
        ],
        &["classify", "--where", "in_degree > 5", "--by", "type"],
        &["owners", product],
        &["paths", product],
        &["inspect", "class(\"anthill.samples.Product\")"],
    ];
    let with_contents: [&[&str]; 7] = [
        &["summary"],
        &["dominators"],
        &["threads"],
        &["strings", "a"],
        &["waste"],
        &["classify", "--by", "field(id)", "--class", product],
        &["classify", "--by", "text", "--class", "java.lang.String"],
    ];
    let answer = |path: &Path, question: &[&str]| {
        let file = path.to_str().unwrap();
        let mut arguments = vec![question[0], file];
        arguments.extend(&question[1..]);
        let ran = run(&[&arguments[..], &["--json", "--no-index"]].concat());
        match ran.code {
            0 => unnamed(serde_json::from_str(&ran.out).unwrap(), file),
            code => Value::String(format!("{code} {}", ran.err.replace(file, "FILE"))),
        }
    };
    let (bare, full) = (record(&dump, false), record(&dump, true));
    for question in without_contents {
        let expected = answer(&dump, question);
        assert!(expected.is_object(), "{question:?}: {expected}");
        assert_eq!(answer(&full, question), expected, "{question:?}");
        assert_eq!(answer(&bare, question), expected, "{question:?}");
    }
    for question in with_contents {
        assert_eq!(
            answer(&full, question),
            answer(&dump, question),
            "{question:?}"
        );
    }
    let refused = answer(
        &bare,
        &["classify", "--by", "field(\"id\") % 10", "--class", product],
    );
    assert!(
        refused.as_str().unwrap().contains("not recorded"),
        "{refused}"
    );
}

#[test]
fn two_states_are_compared_by_any_classifiers() {
    let path = growing("compared.trace");
    let file = path.to_str().unwrap();
    let text = print(&["diff", file, "--by", "package,type"]);
    assert_expected("diff-recording.txt", &text);
    let diff = json(&["diff", file, "--from", "#1", "--to", "gc:28"]);
    assert_eq!(diff["identity"], "none");
    assert_eq!(diff["states"][1]["state"], 14);
    let orders = &diff["tree"]["children"][0];
    assert_eq!(orders["key"], "shop.Order");
    assert_eq!(
        (&orders["before"]["objects"], &orders["after"]["objects"]),
        (&100.into(), &140.into())
    );
    let csv = print(&["diff", file, "--from", "#1", "--to", "#14", "--csv"]);
    assert!(
        csv.contains("\nOverall > shop.Order,100,140,2400,3360,,,,,,\n"),
        "{csv}"
    );
    for wrong in [
        &["diff", file, file][..],
        &["diff", file, "--at", "last"],
        &["diff", file, "--by", "colour"],
        &["diff", file, "--from", "never"],
    ] {
        assert_eq!(run(wrong).code, 2, "{wrong:?}");
    }
}
