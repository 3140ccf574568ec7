//! Where a recording says that memory was allocated.

use std::path::PathBuf;

use anthill_heap::{Frame, HeapBuilder, HeapState, RecordedValues};
use anthill_trace::{Event, Facts, Identities, Sample, StateToWrite, TraceWriter};
use serde_json::{Value, json};

use crate::program::{json as ask, print, run, scratch};
use crate::recording::{growing, moment};

const SECOND: u64 = 1_000_000_000;

/// A heap that holds these orders, and one that nobody holds.
fn heap(orders: &[&str]) -> HeapState {
    let mut heap = HeapBuilder::new();
    heap.object("main", "shop.Main", 64);
    heap.object("garbage", "shop.Order", 24);
    for order in orders {
        heap.object(order, "shop.Order", 24);
    }
    heap.edges(&format!("main -> {}", orders.join(" ")));
    heap.root("main");
    heap.build()
}

/// A recording of two states. Orders are loaded and imported, texts are garbage at once; each sample stands for the
/// bytes that it has here.
fn recording(name: &str) -> PathBuf {
    let path = scratch(name);
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    let mut frame = |class: &str, method: &str, line: i32| {
        writer.frame(&Frame {
            class: class.to_owned(),
            method: method.to_owned(),
            signature: "()V".to_owned(),
            source: None,
            line,
        })
    };
    let main = frame("shop.Main", "main", 3);
    let again = frame("shop.Main", "main", 5);
    let load = frame("shop.Loader", "load", 10);
    let import = frame("shop.Import", "run", 20);
    let load = writer.stack(&[load, main]);
    let import = writer.stack(&[import, again]);
    let order = writer.class("shop.Order");
    let text = writer.class("byte[]");
    let mut sample =
        |time: u64, class: u32, weight: u64, stack: Option<u32>, tracked: Option<u64>| {
            let sample = Sample {
                time: time * SECOND,
                class,
                size: 24,
                weight,
                stack,
                tracked,
                ..Sample::default()
            };
            writer.add(Event::Sample(sample)).unwrap();
        };
    sample(1, order, 1000, Some(load), Some(1));
    sample(2, order, 2000, Some(load), Some(2));
    sample(3, text, 500, Some(load), None);
    sample(4, order, 4000, Some(import), Some(3));
    sample(11, order, 8000, Some(import), Some(4));
    sample(12, text, 100, None, None);
    // It is garbage, and still in the file.
    sample(13, order, 300, Some(import), Some(5));
    for (time, orders) in [
        (10, &[("o1", 1), ("o2", 2), ("o3", 3)][..]),
        (20, &[("o1", 1), ("o3", 3), ("o4", 4)]),
    ] {
        let names: Vec<&str> = orders.iter().map(|order| order.0).collect();
        let heap = heap(&names);
        // Objects are numbered in the order in which they were named.
        let address = |number: u32| heap.addresses.address(number);
        let of_orders = (2..)
            .zip(orders)
            .map(|(number, order)| (order.1, address(number)));
        let garbage = (time == 20).then(|| (5, address(1)));
        let mut state = StateToWrite::from_state(&heap, moment(time, 1), RecordedValues::default());
        state.identities = Identities::tracked(&heap, of_orders.chain(garbage));
        writer.state(&state).unwrap();
    }
    writer.finish().unwrap();
    path
}

/// A node as a line: call, samples, allocated, survived, before, after; and those below it.
fn told(node: &Value) -> Value {
    let name = match node["kind"].as_str().unwrap() {
        "method" => json!(format!(
            "{}.{}",
            node["class"].as_str().unwrap(),
            node["method"].as_str().unwrap()
        )),
        "objects" => node["class"].clone(),
        kind => json!(kind),
    };
    let figures = ["samples", "allocated", "survived", "before", "after"];
    let mut line = vec![name];
    line.extend(figures.map(|figure| node[figure].clone()));
    let below = node["children"].as_array().cloned().unwrap_or_default();
    line.extend(below.iter().map(told));
    json!(line)
}

#[test]
fn allocations_are_told_by_call_with_those_that_stay_alive() {
    let path = recording("allocations.trace");
    let answer = ask(&["allocations", path.to_str().unwrap()]);
    assert_eq!(answer["followed"], true);
    assert_eq!(answer["from"], Value::Null);
    assert_eq!(answer["to"]["point"], "#2");
    assert_eq!(
        told(&answer["tree"]),
        json!([
            "program",
            7,
            15_900,
            13_000,
            0,
            13_000,
            [
                "shop.Main.main",
                6,
                15_800,
                13_000,
                0,
                13_000,
                [
                    "shop.Import.run",
                    3,
                    12_300,
                    12_000,
                    0,
                    12_000,
                    ["shop.Order", 3, 12_300, 12_000, 0, 12_000]
                ],
                [
                    "shop.Loader.load",
                    3,
                    3_500,
                    1_000,
                    0,
                    1_000,
                    ["shop.Order", 2, 3_000, 1_000, 0, 1_000],
                    ["byte[]", 1, 500, 0, 0, 0]
                ]
            ],
            ["unknown", 1, 100, 0, 0, 0, ["byte[]", 1, 100, 0, 0, 0]],
        ])
    );
}

#[test]
fn sites_come_first_on_demand() {
    let path = recording("allocations-sites.trace");
    let file = path.to_str().unwrap();
    let answer = ask(&["allocations", file, "--sites"]);
    assert_eq!(
        told(&answer["tree"]),
        json!([
            "program",
            7,
            15_900,
            13_000,
            0,
            13_000,
            [
                "shop.Order",
                5,
                15_300,
                13_000,
                0,
                13_000,
                [
                    "shop.Import.run",
                    3,
                    12_300,
                    12_000,
                    0,
                    12_000,
                    ["shop.Main.main", 3, 12_300, 12_000, 0, 12_000]
                ],
                [
                    "shop.Loader.load",
                    2,
                    3_000,
                    1_000,
                    0,
                    1_000,
                    ["shop.Main.main", 2, 3_000, 1_000, 0, 1_000]
                ]
            ],
            [
                "byte[]",
                2,
                600,
                0,
                0,
                0,
                [
                    "shop.Loader.load",
                    1,
                    500,
                    0,
                    0,
                    0,
                    ["shop.Main.main", 1, 500, 0, 0, 0]
                ],
                ["unknown", 1, 100, 0, 0, 0]
            ],
        ])
    );
    // The same lines, in another order.
    let lines = |options: &[&str]| {
        let csv = print(&[&["allocations", file, "--csv"], options].concat());
        let mut lines: Vec<String> = csv.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(&["--sites"]), lines(&[]));
}

#[test]
fn two_states_are_compared_call_by_call() {
    let path = recording("allocations-diff.trace");
    let file = path.to_str().unwrap();
    let answer = ask(&["allocations", file, "--from", "#1", "--to", "#2"]);
    assert_eq!(
        told(&answer["tree"]),
        json!([
            "program",
            3,
            8_400,
            8_000,
            7_000,
            13_000,
            [
                "shop.Main.main",
                2,
                8_300,
                8_000,
                7_000,
                13_000,
                [
                    "shop.Import.run",
                    2,
                    8_300,
                    8_000,
                    4_000,
                    12_000,
                    ["shop.Order", 2, 8_300, 8_000, 4_000, 12_000]
                ],
                // One of the orders that were loaded has died.
                [
                    "shop.Loader.load",
                    0,
                    0,
                    0,
                    3_000,
                    1_000,
                    ["shop.Order", 0, 0, 0, 3_000, 1_000]
                ]
            ],
            ["unknown", 1, 100, 0, 0, 0, ["byte[]", 1, 100, 0, 0, 0]],
        ])
    );
    let csv = print(&["allocations", file, "--from", "#1", "--csv"]);
    assert_eq!(
        csv,
        "stack,class,samples,allocated,survived,before,after\n\
         shop.Main.main > shop.Import.run,shop.Order,2,8300,8000,4000,12000\n\
         shop.Main.main > shop.Loader.load,shop.Order,0,0,0,3000,1000\n\
         (stack not recorded),byte[],1,100,0,0,0\n"
    );
    let refused = run(&["allocations", file, "--from", "#2", "--to", "#1"]);
    assert!(
        refused.err.contains("--from is later than --to"),
        "{}",
        refused.err
    );
}

#[test]
fn small_calls_are_left_out_and_counted() {
    let path = recording("allocations-least.trace");
    let file = path.to_str().unwrap();
    let answer = ask(&["allocations", file, "--least", "10"]);
    let main = &answer["tree"]["children"][0];
    assert_eq!(answer["tree"]["omitted"], 1);
    assert_eq!(main["children"][1]["method"], "load");
    assert_eq!(main["children"][1]["omitted"], 1);
    assert_eq!(
        print(&["allocations", file]).lines().collect::<Vec<_>>(),
        [
            "15.5 KB allocated up to #2 (20s), as 7 samples tell",
            "",
            "allocated  share  survived  call",
            "  15.5 KB   100%   12.7 KB  the program",
            "  15.4 KB  99.4%   12.7 KB  ├─ shop.Main.main",
            "  12.0 KB  77.4%   11.7 KB  │  ├─ shop.Import.run",
            "  12.0 KB  77.4%   11.7 KB  │  │  └─ shop.Order",
            "   3.4 KB  22.0%    1000 B  │  └─ shop.Loader.load",
            "   2.9 KB  18.9%    1000 B  │     ├─ shop.Order",
            "    500 B   3.1%       0 B  │     └─ byte[]",
            "                            └─ … 1 smaller one",
        ]
    );
}

#[test]
fn what_no_recording_tells_is_said() {
    let path = growing("allocations-not-followed.trace");
    let file = path.to_str().unwrap();
    let answer = ask(&["allocations", file]);
    assert_eq!(answer["followed"], false);
    assert_eq!(answer["tree"]["samples"], 24);
    let text = print(&["allocations", file]);
    assert!(
        text.contains("does not show which of these objects are still alive"),
        "{text}"
    );
    let dump = scratch("allocations.hprof");
    let dump = dump.to_str().unwrap();
    print(&["demo", "--save", dump]);
    let refused = run(&["allocations", dump]);
    assert!(refused.err.contains("is a heap dump"), "{}", refused.err);
}
