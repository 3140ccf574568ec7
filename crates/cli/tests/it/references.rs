//! A dump of LargeMap: references one by one and merged, in both directions, are those that the program made.

use serde_json::Value;

use crate::elements::{fixture, largest};
use crate::program::{json, print, run};

fn row<'a>(answer: &'a Value, step: &str) -> &'a Value {
    let rows = answer["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["step"] == step);
    found.unwrap_or_else(|| panic!("{step} in {answer:#}"))
}

#[test]
fn merged_references_to_a_class_are_as_many_as_the_program_made() {
    let Some(fixture) = fixture() else { return };
    let (dump, entries) = (&fixture.dump, fixture.entries);
    let incoming = ["--direction", "incoming", "--merged"];
    let keys = "retained(anthill.samples.LargeMap.users) & java.lang.String";
    let all = [&["references", dump, keys][..], &incoming].concat();
    let answer = json(&all);
    let nodes = row(&answer, "key -> java.util.HashMap$Node");
    assert_eq!(
        (&nodes["objects"], &nodes["references"]),
        (&entries.into(), &entries.into())
    );
    // A node is in a slot of the table, or behind another node.
    let step = ["--step", "key -> java.util.HashMap$Node"];
    let further = json(&[&all[..], &step].concat());
    let (slots, chains) = (
        row(&further, "[…] -> java.util.HashMap$Node[]"),
        row(&further, "next -> java.util.HashMap$Node"),
    );
    assert_eq!(slots["objects"], 1);
    let count = |row: &Value| row["references"].as_u64().unwrap();
    assert_eq!(count(slots) + count(chains), entries);
    assert_eq!(further["from"]["objects"], entries);
    // What a group retains at least is no more than what it retains.
    let nodes = "retained(anthill.samples.LargeMap.users) & java.util.HashMap$Node";
    let retained = json(&["inspect", dump, nodes])["retained"].clone();
    let at_least = &further["from"];
    assert_eq!(at_least["at_least"], true);
    assert!(
        at_least["retained"].as_u64() <= retained.as_u64(),
        "{retained}"
    );
    assert!(at_least["retained"].as_u64() > at_least["shallow"].as_u64());
}

#[test]
fn references_of_an_object_lead_there_and_back() {
    let Some(fixture) = fixture() else { return };
    let (dump, map) = (&fixture.dump, &fixture.map);
    let out = json(&["references", dump, map]);
    let table = &out["rows"].as_array().unwrap()[0];
    assert_eq!(
        (&table["via"], &table["class"]),
        (&"table".into(), &"java.util.HashMap$Node[]".into())
    );
    let address = table["address"].as_str().unwrap();
    let back = json(&["references", dump, address, "--direction", "incoming"]);
    assert_eq!(
        (&back["total"], &back["rows"][0]["address"]),
        (&1.into(), &map.as_str().into())
    );
    // Page by page: what is left out of one is on the next.
    let page = |offset: &str| {
        json(&[
            "references",
            dump,
            address,
            "--offset",
            offset,
            "--limit",
            "2",
        ])
    };
    let (first, second) = (page("0"), page("2"));
    assert_eq!(first["total"], second["total"]);
    assert!(
        first["rows"][1]["via"] != second["rows"][0]["via"],
        "{first:#} {second:#}"
    );
    let holder = json(&["references", dump, map, "--direction", "incoming"]);
    assert_eq!(holder["rows"][0]["via"], "static users");
    let text = print(&["references", dump, map, "--direction", "incoming"]);
    assert!(
        text.contains("static users") && text.contains("class anthill.samples.LargeMap"),
        "{text}"
    );
}

#[test]
fn a_group_is_listed_by_what_its_objects_retain_and_wrong_steps_are_refused() {
    let Some(fixture) = fixture() else { return };
    let dump = &fixture.dump;
    let maps = json(&["references", dump, "java.util.HashMap", "--limit", "3"]);
    assert_eq!(maps["rows"][0]["address"], fixture.map);
    let largest = largest(dump, "java.util.HashMap");
    assert_eq!(maps["rows"][0]["address"], largest);
    let ran = run(&[
        "references",
        dump,
        "java.util.HashMap",
        "--merged",
        "--step",
        "nothing",
    ]);
    assert_eq!(
        (ran.code, ran.err.contains("no reference `nothing`")),
        (1, true),
        "{}",
        ran.err
    );
}
