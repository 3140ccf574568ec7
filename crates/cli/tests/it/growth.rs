//! Series of dumps of programs whose data structures grow in a known way.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;

use anthill_heap::{HeapBuilder, HeapState, RecordedValues};
use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};
use anthill_trace::{
    Dropped, Event, Facts, Identities, Moment, StateKind, StateToWrite, Trace, TraceWriter,
};
use serde_json::Value;

use crate::program::{self, command, json, print, run};
use crate::record::{ON_DEMAND, Recorded};

struct Fixture {
    dumps: Vec<String>,
    /// By dump: what the program says.
    in_leak: Vec<u64>,
    /// By dump: the bytes that the JVM itself counts.
    bytes: Vec<u64>,
}

/// Nothing without a JDK.
fn fixture() -> Option<&'static Fixture> {
    static FIXTURE: OnceLock<Option<Fixture>> = OnceLock::new();
    let fixture = FIXTURE.get_or_init(|| {
        let jdk = Jdk::all().first()?;
        let mut sample = Sample::start(jdk, "Growth", &["3000", "10000"], &["-Xmx128m"]);
        let mut fixture = Fixture {
            dumps: Vec::new(),
            in_leak: Vec::new(),
            bytes: Vec::new(),
        };
        for number in 0..3 {
            if number > 0 {
                sample.send("grow");
            }
            let dump = program::scratch(&format!("growth-{number}.hprof"));
            sample.dump(&dump, DumpOptions::default());
            fixture.dumps.push(dump.to_str().unwrap().to_owned());
            fixture.in_leak.push(sample.count("leak"));
            let histogram = sample.histogram();
            fixture
                .bytes
                .push(histogram.values().map(|total| total.bytes).sum());
        }
        Some(fixture)
    });
    fixture.as_ref()
}

const LEAK: &str = "anthill.samples.Growth.leak (java.util.HashMap)";

fn names(growth: &Value) -> Vec<&str> {
    let structures = growth["structures"].as_array().unwrap().iter();
    structures
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

#[test]
fn the_map_that_grows_comes_first_among_thousands_that_do_not() {
    let Some(fixture) = fixture() else { return };
    let [first, second, third] = &fixture.dumps[..] else {
        panic!("three dumps");
    };
    let growth = json(&["growth", first, second, third]);
    assert_eq!(growth["approximate"], true);
    // Neither the bounded cache nor the list that was dropped.
    assert_eq!(names(&growth), [LEAK], "{growth:#}");
    let leak = &growth["structures"][0];
    assert_eq!(leak["elements"], serde_json::json!(fixture.in_leak));
    let new = fixture.in_leak[2] - fixture.in_leak[0];
    assert_eq!(leak["new_elements"], new);
    let arrays = leak["newcomers"].as_array().unwrap().iter();
    let arrays = arrays.filter(|of| of["class"] == "byte[]");
    assert_eq!(
        arrays
            .map(|of| of["objects"].as_u64().unwrap())
            .sum::<u64>(),
        new
    );
    // All that the heap grew by, as the JVM counts it: nothing else of the program stays.
    let by_jvm = (fixture.bytes[2] - fixture.bytes[0]) as f64;
    let grown = leak["growth"].as_f64().unwrap();
    let hgp = leak["hgp"].as_f64().unwrap();
    assert!(
        (grown / by_jvm - hgp / 100.0).abs() < 0.05,
        "{grown} of {by_jvm}, {hgp} %"
    );
    assert!(hgp > 90.0 && leak["born"] == false && leak["never_shrinks"] == true);
}

#[test]
fn what_is_dropped_later_is_growth_as_long_as_it_is_there() {
    let Some(fixture) = fixture() else { return };
    let growth = json(&["growth", &fixture.dumps[0], &fixture.dumps[1]]);
    let names = names(&growth);
    assert_eq!(names[0], LEAK);
    assert!(
        names.contains(&"anthill.samples.Growth.passing (java.util.ArrayList)"),
        "{names:?}"
    );
}

#[test]
fn a_limit_makes_the_program_fail() {
    let Some(fixture) = fixture() else { return };
    let (first, last) = (fixture.dumps[0].as_str(), fixture.dumps[2].as_str());
    let ran = run(&["growth", first, last, "--fail-on", "hgp=20%"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.contains(LEAK) && ran.err.contains("--fail-on allows less than 20%"),
        "{}",
        ran.err
    );
    // The other way round the heap shrinks.
    let ran = run(&["growth", last, first, "--fail-on", "hgp=20%"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let ran = run(&["growth", first]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("growth needs at least two dumps"),
        "{}",
        ran.err
    );
    assert_eq!(run(&["growth", first, last, "--fail-on", "20%"]).code, 2);
    let ran = run(&["growth", first, last, "--from", "first"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
fn structures_are_compared_by_how_they_are_held() {
    let Some(fixture) = fixture() else { return };
    let (first, last) = (fixture.dumps[0].as_str(), fixture.dumps[2].as_str());
    let diff = json(&["diff", first, last, "--by", "structure"]);
    let rows = diff["rows"].as_array().unwrap();
    let change = |name: &str| {
        let row = rows.iter().find(|row| row["name"] == name);
        row.map(|row| row["change"].as_str().unwrap())
    };
    assert_eq!(rows[0]["name"], LEAK);
    assert_eq!(change(LEAK), Some("grown"));
    assert_eq!(
        change("anthill.samples.Growth.passing (java.util.ArrayList)"),
        Some("gone")
    );
    assert_eq!(
        change("anthill.samples.Growth.stable → [9999] (java.util.ArrayList)"),
        Some("same")
    );
    let text = print(&["diff", first, last, "--by", "structure", "--limit", "3"]);
    assert!(text.contains(LEAK), "{text}");
}

fn assert_pair(growth: &Value) {
    let joint = &growth["joint"][0];
    let owners = joint["owners"].as_array().unwrap();
    let mut owners: Vec<&str> = owners.iter().map(|owner| owner.as_str().unwrap()).collect();
    owners.sort_unstable();
    assert_eq!(
        owners,
        [
            "anthill.samples.IdCache.idCache (java.util.HashMap)",
            "anthill.samples.NameCache.nameCache (java.util.HashMap)"
        ]
    );
    let together = joint["hgp"].as_f64().unwrap();
    let alone = growth["structures"].as_array().unwrap().iter();
    let alone = alone.map(|one| one["hgp"].as_f64().unwrap()).sum::<f64>();
    assert!(together > 90.0 && alone < together / 2.0, "{growth:#}");
}

#[test]
fn two_caches_of_a_recorded_program_come_first_as_a_pair() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("a pair in a recording", "no JDK was found");
    };
    let trace = program::scratch("growth-caches.trace");
    let mut recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "MultiCache", &["4000"], &[]);
    recorded.snapshot("few");
    recorded.sample.send("more");
    recorded.snapshot("many");
    let trace = recorded.trace.clone();
    recorded.end();
    let growth = json(&["growth", &trace, "--no-index"]);
    assert_pair(&growth);
    assert_eq!(growth["approximate"], false);
}

#[test]
fn two_caches_of_the_same_products_come_first_as_a_pair() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let dump = |products: &str| {
        let dump = program::scratch(&format!("growth-caches-{products}.hprof"));
        let sample = Sample::start(jdk, "MultiCache", &[products], &["-Xmx128m"]);
        sample.dump(&dump, DumpOptions::default());
        dump.to_str().unwrap().to_owned()
    };
    let (few, many) = (dump("1000"), dump("8000"));
    assert_pair(&json(&["growth", &few, &many]));
    let text = print(&["growth", &few, &many]);
    let first = text.lines().find(|line| line.starts_with("HGP")).unwrap();
    assert!(first.contains("2 structures together"), "{text}");
}

/// A state in which `holder` holds a list with so many elements, and its identity.
fn state_with_list(holder: &str, identity: u64, elements: u32) -> (HeapState, Identities) {
    let mut heap = HeapBuilder::new();
    heap.object(holder, &format!("shop.{holder}"), 16);
    add_orders(&mut heap, elements);
    add_list(&mut heap, "list", elements);
    heap.edges(&format!("{holder} -> list"));
    heap.root(holder);
    let state = heap.build();
    let address = state.addresses.address(heap.id("list"));
    let identities = Identities::tracked(&state, [(identity, address)]);
    (state, identities)
}

fn add_orders(heap: &mut HeapBuilder, orders: u32) {
    for order in 0..orders {
        heap.object(&format!("e{order}"), "shop.Order", 100);
    }
}

/// A list of the first so many orders.
fn add_list(heap: &mut HeapBuilder, name: &str, elements: u32) {
    heap.object(name, "java.util.ArrayList", 24);
    heap.array(&format!("{name}[]"), "java.lang.Object[]", elements);
    heap.edges(&format!("{name} -> {name}[]"));
    for element in 0..elements {
        heap.edges(&format!("{name}[] -> e{element}"));
    }
}

/// A recording of states, a second apart.
pub fn trace_of(name: &str, states: impl IntoIterator<Item = (HeapState, Identities)>) -> String {
    trace_with_loss(name, states, &[])
}

/// The same, with what the recorder says about identities that it lost in some of the states, by number.
fn trace_with_loss(
    name: &str,
    states: impl IntoIterator<Item = (HeapState, Identities)>,
    lost: &[(u64, &str)],
) -> String {
    let path = program::scratch(name);
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    for ((state, identities), number) in states.into_iter().zip(1..) {
        let mut state = StateToWrite::from_state(&state, at(number), RecordedValues::default());
        state.identities = identities;
        writer.state(&state).unwrap();
    }
    for &(number, reason) in lost {
        let dropped = Dropped {
            time: number * 1_000_000_000 + 1000,
            what: "identities".to_owned(),
            amount: 1,
            reason: reason.to_owned(),
        };
        writer.add(Event::Dropped(dropped)).unwrap();
    }
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

/// So many seconds after the start.
fn at(seconds: u64) -> Moment {
    Moment {
        gc: Some(seconds),
        time: seconds * 1_000_000_000,
        timestamp: 1_700_000_000_000,
        kind: StateKind::Dump,
        mark: None,
        pause: 0,
        source_bytes: None,
    }
}

#[test]
fn a_recording_follows_structures_wherever_they_are_held() {
    let states = [("Left", 10), ("Left", 20), ("Right", 60)];
    let states = states.map(|(holder, elements)| state_with_list(holder, 77, elements));
    let path = trace_of("growth-moved.trace", states);
    let path = path.as_str();
    let growth = json(&["growth", path, "--no-index"]);
    let [list] = &growth["structures"].as_array().unwrap()[..] else {
        panic!("one list: {growth:#}");
    };
    assert_eq!(list["elements"], serde_json::json!([10, 20, 60]));
    assert_eq!(
        (&list["born"], &list["approximate"]),
        (&false.into(), &false.into())
    );
    // 50 orders of 100 bytes and 50 slots of 4, all that the heap grew by.
    assert_eq!(list["growth"], 50 * (100 + 4));
    assert_eq!(list["hgp"], 100.0);
    // What it reaches is what it retains: nobody else has an order.
    let change = &list["change"];
    assert_eq!(change["deep"], change["retained"]);
    let bytes = ["before", "after"].map(|when| change["retained"][when].as_f64().unwrap());
    assert_eq!(bytes[1] - bytes[0], (50 * (100 + 4)) as f64);
    let relative = (bytes[1] - bytes[0]) / bytes[0] * 100.0;
    assert_eq!(change["retained"]["relative"], relative);
    let elements = serde_json::json!({
        "before": 10, "after": 60, "absolute": 50, "relative": 500.0
    });
    assert_eq!(change["elements"], elements);
    let csv = print(&["growth", path, "--no-index", "--csv"]);
    let row = csv.lines().nth(1).unwrap();
    let [before, after] = bytes;
    let expected = format!(
        "100.00,5200,{relative:.2},{before},{after},{before},{after},10,60,83.33,false,false,1,"
    );
    assert!(row.starts_with(&expected), "{expected} in\n{csv}");
    let text = print(&["growth", path, "--no-index"]);
    assert!(text.contains(&format!("more, {relative:+.0}%")), "{text}");
    let part = json(&[
        "growth",
        path,
        "--no-index",
        "--from",
        "first",
        "--to",
        "#2",
    ]);
    assert_eq!(
        part["structures"][0]["elements"],
        serde_json::json!([10, 20])
    );
}

#[test]
fn a_list_that_took_the_place_of_another_grows_by_the_difference() {
    let lists = [(1, 10), (2, 10), (3, 30)];
    let states = lists.map(|(identity, elements)| state_with_list("Holder", identity, elements));
    let path = trace_of("growth-replaced.trace", states);
    let growth = json(&["growth", &path, "--no-index"]);
    let [list] = &growth["structures"].as_array().unwrap()[..] else {
        panic!("one list: {growth:#}");
    };
    assert_eq!(list["elements"], serde_json::json!([10, 10, 30]));
    assert_eq!(
        (&list["replaces"], &list["born"]),
        (&true.into(), &false.into())
    );
    assert_eq!(list["growth"], 20 * (100 + 4));
    let same = json(&["growth", &path, "--no-index", "--to", "#2"]);
    assert!(names(&same).is_empty(), "{same:#}");
}

/// A state with lists, each with its holder, its identity if that is known, and its number of elements.
fn state_with_lists(lists: &[(&str, Option<u64>, u32)]) -> (HeapState, Identities) {
    let mut heap = HeapBuilder::new();
    for &(holder, _, elements) in lists {
        let list = format!("{holder}.list");
        heap.object(holder, &format!("shop.{holder}"), 16);
        heap.object(&list, "java.util.ArrayList", 24);
        heap.array(&format!("{holder}[]"), "java.lang.Object[]", elements);
        heap.edges(&format!("{holder} -> {list}, {list} -> {holder}[]"));
        for element in 0..elements {
            let order = format!("{holder}.{element}");
            heap.object(&order, "shop.Order", 100);
            heap.edges(&format!("{holder}[] -> {order}"));
        }
        heap.root(holder);
    }
    let state = heap.build();
    let known = lists.iter().filter_map(|&(holder, identity, _)| {
        let list = heap.id(&format!("{holder}.list"));
        Some((identity?, state.addresses.address(list)))
    });
    let identities = match lists.iter().any(|list| list.1.is_some()) {
        true => Identities::tracked(&state, known),
        false => Identities::None,
    };
    (state, identities)
}

/// Elements of the lists that grew, with whether each is new and whether it was recognised by how it is held.
fn lists(growth: &Value) -> Vec<(Value, bool, bool)> {
    let structures = growth["structures"].as_array().unwrap().iter();
    let lists = structures.map(|one| {
        let flag = |name: &str| one[name].as_bool().unwrap();
        (one["elements"].clone(), flag("born"), flag("approximate"))
    });
    lists.collect()
}

#[test]
fn a_state_without_identities_is_compared_by_how_structures_are_held() {
    let known =
        |more: u32| state_with_lists(&[("Stable", Some(1), 300), ("Growing", Some(2), more)]);
    let unknown = |more: u32| state_with_lists(&[("Stable", None, 300), ("Growing", None, more)]);
    let reason = "2 objects moved or died between the dump and the reading of their addresses";
    for (name, states, lost) in [
        ("first", [unknown(10), known(20)], 1),
        ("last", [known(10), unknown(20)], 2),
    ] {
        let name = format!("growth-no-identities-{name}.trace");
        let path = trace_with_loss(&name, states, &[(lost, reason)]);
        let growth = json(&["growth", &path, "--no-index"]);
        let growing = (serde_json::json!([10, 20]), false, true);
        assert_eq!(lists(&growth), [growing], "{growth:#}");
        // Ten orders of 100 bytes and ten slots of 4 are all that the heap grew by.
        assert_eq!(growth["structures"][0]["growth"], 10 * (100 + 4));
        assert_eq!(growth["structures"][0]["hgp"], 100.0);
        let missing = |state: usize| growth["states"][state]["identities_missing"].as_str();
        assert_eq!(missing(lost as usize - 1), Some(reason));
        assert_eq!(missing(2 - lost as usize), None);
        let text = print(&["growth", &path, "--no-index"]);
        let said = format!("Identities are missing in state:{lost}: {reason}.");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains(&said) && text.contains("approximate"),
            "{text}"
        );
    }
}

#[test]
fn a_state_between_without_identities_does_not_make_the_ends_approximate() {
    let states = [
        state_with_lists(&[("Left", Some(1), 10)]),
        state_with_lists(&[("Left", None, 20)]),
        state_with_lists(&[("Right", None, 30)]),
        state_with_lists(&[("Left", Some(1), 60)]),
    ];
    let path = trace_of("growth-no-identities-between.trace", states);
    let growth = json(&["growth", &path, "--no-index"]);
    // In the third it is held elsewhere, as far as one can tell.
    let list = (serde_json::json!([10, 20, null, 60]), false, false);
    assert_eq!(lists(&growth), [list], "{growth:#}");
    assert_eq!(growth["structures"][0]["never_shrinks"], true);
}

#[test]
fn a_structure_that_moved_during_the_first_dump_is_not_new() {
    let first = state_with_lists(&[
        ("Left", None, 100),
        ("Right", None, 200),
        ("Other", Some(9), 1),
    ]);
    let last = state_with_lists(&[
        ("Left", Some(3), 110),
        ("Elsewhere", Some(4), 200),
        ("Other", Some(9), 1),
        ("New", Some(12), 30),
    ]);
    let path = trace_with_loss("growth-moved-heads.trace", [first, last], &[(1, "2 moved")]);
    let growth = json(&["growth", &path, "--no-index"]);
    // The fourth was there before the ninth was, but cannot be found: nothing is said about it.
    let expected = [
        (serde_json::json!([null, 30]), true, false),
        (serde_json::json!([100, 110]), false, true),
    ];
    assert_eq!(lists(&growth), expected, "{growth:#}");
    assert_eq!(growth["unclear"], 1);
    let diff = json(&[
        "diff",
        &path,
        "--no-index",
        "--class",
        "java.util.ArrayList",
    ]);
    assert_eq!(diff["states"][0]["identities_missing"], "2 moved");
    let fates = ["born", "died", "survived"].map(|fate| &diff["tree"][fate]["objects"]);
    assert_eq!(fates, [1, 0, 3], "{diff:#}");
    let text = print(&["diff", &path, "--no-index"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "survived are not exact: in #1, 2 moved. The numbers of survivors are lower bounds;";
    assert!(text.contains(said), "{text}");
}

#[test]
fn two_recordings_are_compared_by_how_structures_are_held() {
    // Each recording counts its identities from 1.
    let first = state_with_lists(&[("Left", Some(1), 10), ("Right", Some(2), 200)]);
    let second = state_with_lists(&[("Right", Some(1), 200), ("Left", Some(2), 15)]);
    let first = trace_of("growth-recording-1.trace", [first]);
    let second = trace_of("growth-recording-2.trace", [second]);
    let growth = json(&["growth", &first, &second, "--no-index"]);
    let left = (serde_json::json!([10, 15]), false, true);
    assert_eq!(lists(&growth), [left], "{growth:#}");
}

#[test]
fn what_changed_is_told_by_the_structures_it_is_in() {
    let states = [10, 30].map(|elements| state_with_list("Holder", 7, elements));
    let path = trace_of("growth-classified.trace", states);
    let by = ["--by", "containing-structure", "--no-index"];
    let diff = print(&[&["diff", &path], &by[..]].concat());
    let row = diff
        .lines()
        .find(|line| line.contains("java.util.ArrayList"));
    // The array and all orders.
    assert!(row.is_some_and(|row| row.contains(" 31 ")), "{diff}");
}

/// A state in which a list has these of 30 orders, which are all there; who can be told apart is chosen.
fn state_with_some(
    orders: Range<u32>,
    identities: impl Fn(&HeapState, &[u32]) -> Identities,
) -> (HeapState, Identities) {
    let mut heap = HeapBuilder::new();
    heap.object("Holder", "shop.Holder", 16);
    add_orders(&mut heap, 30);
    heap.object("list", "java.util.ArrayList", 24);
    heap.array("array", "java.lang.Object[]", orders.len() as u32);
    heap.edges("Holder -> list, list -> array");
    for order in orders {
        heap.edges(&format!("array -> e{order}"));
    }
    heap.root("Holder");
    let state = heap.build();
    let mut followed = vec![heap.id("list")];
    followed.extend((0..30).map(|order| heap.id(&format!("e{order}"))));
    let identities = identities(&state, &followed);
    (state, identities)
}

#[test]
fn newcomers_are_told_apart_where_a_recording_can() {
    let all = |_: &HeapState, _: &[u32]| Identities::All;
    let heads = |state: &HeapState, followed: &[u32]| {
        Identities::tracked(state, [(1, state.addresses.address(followed[0]))])
    };
    let orders = |state: &HeapState, followed: &[u32]| {
        let addresses = followed
            .iter()
            .map(|&object| state.addresses.address(object));
        Identities::tracked(state, (1..).zip(addresses))
    };
    // Half of the first ten leave, fifteen come.
    let trace = |name: &str, identities: &dyn Fn(&HeapState, &[u32]) -> Identities| {
        trace_of(
            name,
            [0..10, 5..25].map(|of| state_with_some(of, identities)),
        )
    };
    for (name, identities, newcomers, by_identity, share) in [
        (
            "all",
            &all as &dyn Fn(&HeapState, &[u32]) -> Identities,
            15,
            true,
            75.0,
        ),
        ("orders", &orders, 15, true, 50.0),
        ("heads", &heads, 10, false, 50.0),
    ] {
        let path = trace(&format!("growth-newcomers-{name}.trace"), identities);
        let growth = json(&["growth", &path, "--no-index"]);
        let list = &growth["structures"][0];
        let expected = serde_json::json!({
            "class": "shop.Order",
            "objects": newcomers,
            "bytes": newcomers * 100,
            "by_identity": by_identity,
        });
        assert_eq!(list["newcomers"][0], expected, "{name}: {growth:#}");
        assert_eq!(list["new_share"], share, "{name}");
        let by = json(&["growth", &path, "--no-index", "--by", "type, size"]);
        let kind = &by["structures"][0]["newcomers_by"][0];
        let (told, number) = if name == "all" {
            (true, 15)
        } else {
            (false, 10)
        };
        let expected = serde_json::json!({
            "keys": ["shop.Order", kind["keys"][1]],
            "objects": number,
            "bytes": number * 100,
            "by_identity": told,
        });
        assert_eq!(*kind, expected, "{name}: {by:#}");
        let text = print(&["growth", &path, "--no-index"]);
        let line = match by_identity {
            true => "newcomers, by identity: 15 shop.Order",
            false => "newcomers, by number: +10 shop.Order",
        };
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn definitions_that_come_through_a_pipe_hold_for_every_state() {
    let states = [10, 30].map(|orders| {
        let mut heap = HeapBuilder::new();
        heap.object("basket", "shop.Basket", 24);
        heap.array("orders", "shop.Order[]", orders);
        heap.edges("basket -> orders");
        add_orders(&mut heap, orders);
        for order in 0..orders {
            heap.edges(&format!("orders -> e{order}"));
        }
        heap.root("basket");
        (heap.build(), Identities::None)
    });
    let path = trace_of("growth-pipe.trace", states);
    let arguments = [
        "growth",
        &path,
        "--no-index",
        "--json",
        "--structures",
        "/dev/stdin",
    ];
    let mut child = command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"DS shop.Basket { shop.Order[]; }").unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    let growth: Value = serde_json::from_slice(&output.stdout).unwrap();
    let basket = &growth["structures"][0];
    assert_eq!(
        basket["elements"],
        serde_json::json!([10, 30]),
        "{growth:#}"
    );
}

#[test]
fn a_wrapper_is_followed_by_what_it_wraps() {
    let states = [("Left", 10), ("Right", 40)].map(|(holder, orders)| {
        let mut heap = HeapBuilder::new();
        heap.object(holder, &format!("shop.{holder}"), 16);
        heap.object(
            "wrapper",
            "java.util.Collections$SynchronizedCollection",
            24,
        );
        add_orders(&mut heap, orders);
        add_list(&mut heap, "list", orders);
        heap.edges(&format!("{holder} -> wrapper, wrapper -> list"));
        heap.root(holder);
        let state = heap.build();
        let address = state.addresses.address(heap.id("list"));
        let identities = Identities::tracked(&state, [(5, address)]);
        (state, identities)
    });
    let path = trace_of("growth-wrapped.trace", states);
    let growth = json(&["growth", &path, "--no-index"]);
    let [list] = &growth["structures"].as_array().unwrap()[..] else {
        panic!("one structure: {growth:#}");
    };
    assert_eq!(list["elements"], serde_json::json!([10, 40]), "{growth:#}");
    assert_eq!(
        (&list["approximate"], &list["born"]),
        (&false.into(), &false.into())
    );
}

/// Two lists of the same orders, and somebody who is at work with one of them.
fn state_with_pair(orders: u32) -> (HeapState, Identities) {
    let mut heap = HeapBuilder::new();
    add_orders(&mut heap, orders);
    for (holder, list) in [("Left", "left"), ("Right", "right")] {
        heap.object(holder, &format!("shop.{holder}"), 16);
        add_list(&mut heap, list, orders);
        heap.edges(&format!("{holder} -> {list}"));
        heap.root(holder);
    }
    heap.object("work", "shop.Work", 16);
    heap.edges("work -> e3");
    heap.root("work");
    (heap.build(), Identities::None)
}

#[test]
fn a_pair_is_found_while_somebody_works_with_what_it_shares() {
    let path = trace_of("growth-pair.trace", [100, 400].map(state_with_pair));
    let growth = json(&["growth", &path, "--no-index"]);
    let joint = &growth["joint"][0];
    assert_eq!(
        joint["owners"].as_array().map(Vec::len),
        Some(2),
        "{growth:#}"
    );
    // 300 orders of 100 bytes and 300 slots of 4 in each list.
    assert_eq!(joint["growth"], 300 * (100 + 4 + 4));
    assert_eq!(growth["elsewhere"], 0);
}

/// A list of lists, of which one has so many orders, and orders that are in no structure.
fn state_with_nested(orders: u32, others: u32) -> (HeapState, Identities) {
    let mut heap = HeapBuilder::new();
    heap.object("Holder", "shop.Holder", 16);
    heap.object("outer", "java.util.ArrayList", 24);
    heap.array("outer[]", "java.lang.Object[]", 2);
    heap.edges("Holder -> outer, outer -> outer[]");
    add_orders(&mut heap, orders);
    add_list(&mut heap, "large", orders);
    add_list(&mut heap, "empty", 0);
    heap.edges("outer[] -> large, outer[] -> empty");
    for other in 0..others {
        heap.object(&format!("o{other}"), "shop.Other", 100);
        heap.root(&format!("o{other}"));
    }
    heap.root("Holder");
    let state = heap.build();
    let lists = ["outer", "large", "empty"].map(|list| heap.id(list));
    let addresses = lists.map(|list| state.addresses.address(list));
    let identities = Identities::tracked(&state, (1..).zip(addresses));
    (state, identities)
}

#[test]
fn the_structure_inside_that_grows_is_the_one_that_is_named() {
    let states = [state_with_nested(10, 10), state_with_nested(60, 110)];
    let path = trace_of("growth-nested.trace", states);
    let growth = json(&["growth", &path, "--no-index"]);
    let [list] = &growth["structures"].as_array().unwrap()[..] else {
        panic!("one list: {growth:#}");
    };
    assert_eq!(list["elements"], serde_json::json!([10, 60]));
    assert_eq!(list["inside_of"]["growth"], 50 * (100 + 4));
    assert_eq!(growth["within"], 0);
    let all = json(&["growth", &path, "--no-index", "--inside"]);
    assert_eq!(names(&all).len(), 2, "{all:#}");
    // The others are roots themselves.
    assert_eq!(growth["elsewhere"], 100 * 100);
    let [place] = &growth["places"].as_array().unwrap()[..] else {
        panic!("one place: {growth:#}");
    };
    assert_eq!(place["elements"]["class"], "shop.Other");
    let (before, after) = (&place["elements"]["before"], &place["elements"]["after"]);
    assert_eq!((before, after), (&10.into(), &110.into()), "{place}");
    assert_eq!(place["growth"], 100 * 100);
    let text = print(&["growth", &path, "--no-index"]);
    assert!(text.contains("objects: 10 → 110 shop.Other"), "{text}");
}

#[test]
fn in_a_recorded_program_the_leak_comes_first_with_its_part_of_the_growth() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("growth in a recording", "no JDK was found");
    };
    let trace = program::scratch("growth.trace");
    let arguments = ["3000", "10000"];
    let mut recorded = Recorded::start(jdk, &trace, &ON_DEMAND, "Growth", &arguments, &[]);
    let mut in_leak = vec![recorded.sample.count("leak")];
    recorded.snapshot("0");
    for step in ["1", "2"] {
        recorded.sample.send("grow");
        in_leak.push(recorded.sample.count("leak"));
        recorded.snapshot(step);
    }
    let trace = recorded.trace.clone();
    recorded.end();
    let growth = json(&["growth", &trace, "--no-index"]);
    assert_eq!(names(&growth), [LEAK], "{growth:#}");
    let leak = &growth["structures"][0];
    assert_eq!(leak["elements"], serde_json::json!(in_leak));
    assert_eq!(
        (&leak["approximate"], &leak["born"]),
        (&false.into(), &false.into())
    );
    assert!(leak["hgp"].as_f64().unwrap() > 90.0, "{leak:#}");
    // The timeline follows it through the summaries of the states, and names it by the last one.
    let timeline = json(&["timeline", &trace]);
    let most = &timeline["structures"][0];
    assert_eq!(most["class"], "java.util.HashMap", "{most:#}");
    assert_eq!(most["elements"], serde_json::json!(in_leak));
    assert_eq!(most["name"], LEAK);
    assert!(print(&["timeline", &trace]).contains(LEAK));
    // Without identities at the end it is still the one, by the same part of the growth.
    let lost = without_last_identities(Path::new(&trace));
    let approximately = json(&["growth", &lost, "--no-index"]);
    assert_eq!(names(&approximately), [LEAK], "{approximately:#}");
    let same = &approximately["structures"][0];
    assert_eq!(same["elements"], leak["elements"]);
    assert_eq!(same["hgp"], leak["hgp"]);
    assert_eq!(
        (&same["approximate"], &same["born"]),
        (&true.into(), &false.into())
    );
}

/// The states of a recording, the last one without identities.
fn without_last_identities(path: &Path) -> String {
    let trace = Trace::open(path).unwrap();
    let copy = path.with_extension("lost.trace");
    let mut writer = TraceWriter::create(&copy, &Facts::default()).unwrap();
    let numbers = trace.states().iter().map(|state| state.number);
    for number in numbers {
        let recorded = trace.load(number).unwrap();
        let mut state = StateToWrite::from_dump(&recorded.dump, at(number.into()), false);
        if number < trace.states().len() as u32 {
            state.identities = recorded.identities;
        }
        writer.state(&state).unwrap();
    }
    writer.finish().unwrap();
    copy.to_str().unwrap().to_owned()
}

#[test]
fn structures_are_named_by_static_fields_keys_and_fields() {
    let Some(jdk) = Jdk::all().first() else {
        return;
    };
    let dump = program::scratch("growth-nested.hprof");
    let sample = Sample::start(jdk, "NestedMaps", &["5", "3", "100"], &[]);
    sample.dump(&dump, DumpOptions::default());
    let file = dump.to_str().unwrap();
    let diff = json(&["diff", file, file, "--by", "structure"]);
    let rows = diff["rows"].as_array().unwrap();
    for tenant in 0..sample.count("tenants") {
        let name = format!(
            "anthill.samples.NestedMaps.tenants → [\"tenant {tenant}\"] → sessions (java.util.HashMap)"
        );
        let row = rows.iter().find(|row| row["name"] == name.as_str());
        let row = row.unwrap_or_else(|| panic!("no {name}"));
        let sessions = sample.count("sessions") / sample.count("tenants");
        assert_eq!(row["figures"][0]["objects"], sessions);
    }
}

/// The registry is too small to be a suspect at first, and the settings are no longer one at the end.
#[test]
fn a_comparison_shows_what_a_suspect_retained_before_it_was_one() {
    let Some(jdk) = Jdk::installed() else { return };
    let mut sample = Sample::start(jdk, "GrowingRegistry", &["100"], &[]);
    let [before, after] = ["minor.hprof", "major.hprof"].map(program::scratch);
    sample.dump(&before, DumpOptions::default());
    let entries = sample.count("registry entries");
    for _ in 0..100 {
        sample.send("grow");
    }
    sample.dump(&after, DumpOptions::default());
    let diff = json(&["diff", before.to_str().unwrap(), after.to_str().unwrap()]);
    let first = &diff["suspects"][0];
    assert_eq!(first["change"], "new", "{first}");
    assert!(
        first["sentence"]
            .to_string()
            .contains("GrowingRegistry.registry"),
        "{first}"
    );
    let [was, is] = [0, 1].map(|file| first["retained"][file].as_u64().unwrap());
    // An entry has 24 bytes and an array of 216.
    assert!(was >= entries * 240, "{was}");
    assert!(
        is >= sample.count("registry entries") * 240 && is > was,
        "{is}"
    );
    let changes = diff["suspects"].as_array().unwrap().iter();
    let others: Vec<&Value> = changes.skip(1).map(|suspect| &suspect["change"]).collect();
    assert!(!others.contains(&&Value::from("new")), "{others:?}");
    // The other way round it is still there, but too small for a suspect.
    let back = json(&["diff", after.to_str().unwrap(), before.to_str().unwrap()]);
    let mut changes = back["suspects"].as_array().unwrap().iter();
    let registry = changes
        .find(|suspect| suspect["fingerprint"] == first["fingerprint"])
        .unwrap();
    assert_eq!(registry["change"], "shrunk", "{registry}");
    assert_eq!(registry["retained"][1], first["retained"][0]);
}
