//! What the commands print about random small heaps against an implementation that searches by brute force. The session's own tests
//! look at many more heaps; here it is what only the commands make of it: limits, shares, addresses.

use std::path::{Path, PathBuf};

use anthill_testkit::brute_force::{BruteForce, Set, count, is_thread, nodes, one, thread_of};
use anthill_testkit::heap::{Addresses, Heap, Item};
use anthill_testkit::random;
use serde_json::Value;

use crate::program::{run, scratch};

/// In each check.
const HEAPS: u64 = 100;

struct Case {
    seed: u64,
    heap: Heap,
    at: Addresses,
    path: PathBuf,
}

impl Case {
    fn new(seed: u64) -> Self {
        let heap = random::heap(seed).heap;
        let order: Vec<Item> = heap.items().collect();
        let at = heap.lay_out(&order, 0x7_0000_0000);
        let path = scratch(&format!("brute_force-{seed}.hprof"));
        std::fs::write(&path, heap.hprof(&at).file(usize::MAX)).unwrap();
        Case {
            seed,
            heap,
            at,
            path,
        }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}:\n{}", self.seed, self.heap.show(&self.at));
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A heap that is asked under one of the conventions.
struct Asked<'a> {
    brute_force: BruteForce<'a>,
    path: &'a Path,
}

impl Asked<'_> {
    fn arguments<'t>(&'t self, command: &[&'t str]) -> Vec<&'t str> {
        let mut arguments = vec![command[0], self.path.to_str().unwrap()];
        arguments.extend(&command[1..]);
        arguments.push("--no-index");
        if self.brute_force.mat {
            arguments.extend(["--compat", "mat"]);
        }
        arguments
    }

    fn json(&self, command: &[&str]) -> Value {
        let command = [command, &["--json"]].concat();
        // A heap without roots is told on standard error.
        let ran = run(&self.arguments(&command));
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    fn fails(&self, command: &[&str]) -> bool {
        run(&self.arguments(command)).code != 0
    }

    fn address(&self, node: usize) -> String {
        let item = self.brute_force.item(node);
        format!("{:#x}", item.map_or(0, |item| self.brute_force.at.of(item)))
    }

    fn node(&self, address: &Value) -> usize {
        let address = address.as_str().unwrap();
        let mut all = 0..self.brute_force.node_count();
        let found = all.find(|&node| self.address(node) == address);
        found.unwrap_or_else(|| panic!("nothing is at {address}"))
    }
}

fn on_heaps(first: u64, check: impl Fn(&Asked, u64)) {
    for seed in first..first + HEAPS {
        let case = Case::new(seed);
        let asked = Asked {
            brute_force: BruteForce::new(&case.heap, &case.at, seed % 2 == 0),
            path: &case.path,
        };
        check(&asked, seed);
    }
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn numbers<const N: usize>(value: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| number(&value[name]))
}

fn rows<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().unwrap()
}

fn totals(brute_force: &BruteForce, set: Set) -> [u64; 2] {
    [count(set), brute_force.bytes(set)]
}

#[test]
fn objects_say_who_keeps_them_alive() {
    on_heaps(1000, |asked, _| {
        let brute_force = &asked.brute_force;
        let answer = asked.json(&["objects", "--limit", "0"]);
        let mut left: Set = match brute_force.mat {
            true => brute_force.live,
            false => (0..brute_force.node_count()).fold(0, |set, node| set | one(node)),
        };
        for row in rows(&answer, "rows") {
            let node = asked.node(&row["address"]);
            left &= !one(node);
            let live = brute_force.live & one(node) != 0;
            assert_eq!(row["reachable"], live, "{row}");
            assert_eq!(number(&row["shallow"]), brute_force.size(node), "{row}");
            let dead = if live {
                brute_force.dominated(node)
            } else {
                one(node)
            };
            assert_eq!(number(&row["retained"]), brute_force.bytes(dead), "{row}");
            let above = nodes(brute_force.dominators(node));
            let nearest = above.min_by_key(|&above| count(brute_force.dominated(above)));
            match (live, nearest) {
                (false, _) => assert!(row["dominator"].is_null(), "{row}"),
                (_, None) => assert_eq!(row["dominator"], "root", "{row}"),
                (_, Some(above)) => assert_eq!(row["dominator"], asked.address(above), "{row}"),
            }
        }
        assert_eq!(left, 0, "not listed: {left:#b}");
    });
}

#[test]
fn paths_to_an_object_are_all_there() {
    on_heaps(2000, |asked, seed| {
        let brute_force = &asked.brute_force;
        let node = seed as usize % brute_force.objects();
        let address = asked.address(node);
        if brute_force.live & one(node) == 0 {
            assert!(
                asked.fails(&["paths", &address]),
                "{address} is unreachable"
            );
            return;
        }
        let answer = asked.json(&["paths", &address, "--limit", "0"]);
        let around = brute_force.distances(one(node));
        let mut holders: Set = 0;
        let mut alone = false;
        for path in rows(&answer, "paths") {
            let steps = rows(path, "steps");
            let path: Vec<usize> = steps
                .iter()
                .map(|step| asked.node(&step["address"]))
                .collect();
            assert_eq!(path.last(), Some(&node));
            assert!(brute_force.roots & one(path[0]) != 0, "{path:?}");
            for (pair, step) in path.windows(2).zip(&steps[1..]) {
                let names = brute_force.names(pair[0], pair[1]);
                let via = step["via"].as_str().unwrap();
                assert!(names.contains(&via), "{via} is none of {names:?}");
            }
            match path.len().checked_sub(2).map(|at| path[at]) {
                Some(holder) => {
                    assert_eq!(around[holder], Some(path.len() - 1), "{path:?}");
                    holders |= one(holder);
                }
                None => alone = true,
            }
        }
        assert_eq!(
            holders,
            brute_force.live_holders(node),
            "holders of {address}"
        );
        assert_eq!(alone, brute_force.roots & one(node) != 0);
        let few = asked.json(&["paths", &address, "--limit", "1"]);
        let shown = rows(&few, "paths").len() as u64;
        assert_eq!(
            number(&few["omitted"]) + shown,
            rows(&answer, "paths").len() as u64
        );
    });
}

#[test]
fn merged_paths_count_every_object() {
    on_heaps(3000, |asked, seed| {
        let brute_force = &asked.brute_force;
        let name = brute_force.class_name(seed as usize % brute_force.objects());
        let targets =
            (0..brute_force.node_count()).filter(|&node| brute_force.class_name(node) == name);
        let targets: Set = targets.fold(0, |set, node| set | one(node));
        let alive = targets & brute_force.live;
        let arguments = ["paths", name, "--limit", "0", "--least", "0"];
        if alive == 0 {
            assert!(asked.fails(&arguments), "{name} is unreachable");
            return;
        }
        let answer = asked.json(&arguments);
        let found = numbers(&answer, ["objects", "unreachable_objects", "retained"]);
        let retained = brute_force.bytes(brute_force.dies_with(targets));
        assert_eq!(
            found,
            [count(alive), count(targets & !brute_force.live), retained],
            "{name}"
        );
        let top = nodes(alive).filter(|&node| brute_force.dominators(node) & targets == 0);
        let held: u64 = top
            .map(|node| brute_force.bytes(brute_force.dominated(node)))
            .sum();
        assert_eq!(number(&answer["held"]), held, "{name}");
        let branches = rows(&answer, "branches").iter();
        let sums = branches.fold([0, 0], |[objects, bytes], branch| {
            let [more, held] = numbers(branch, ["objects", "held"]);
            [objects + more, bytes + held]
        });
        let [objects, bytes] = numbers(&answer["omitted"], ["objects", "held"]);
        assert_eq!(
            [sums[0] + objects, sums[1] + bytes],
            [count(alive), held],
            "{name}"
        );
    });
}

#[test]
fn threads_say_what_their_roots_keep() {
    on_heaps(4000, |asked, _| {
        let brute_force = &asked.brute_force;
        if brute_force.heap.threads.is_empty() {
            return;
        }
        let answer = asked.json(&["threads", "--exact"]);
        assert_eq!(answer["exact"], true);
        assert_eq!(rows(&answer, "rows").len(), brute_force.heap.threads.len());
        for row in rows(&answer, "rows") {
            let object = asked.node(&row["object"]["address"]);
            let mut threads = 0..brute_force.heap.threads.len();
            let thread = threads
                .find(|&thread| brute_force.thread(thread) == object)
                .unwrap();
            let dead = brute_force.kept_by_thread(thread);
            let found = numbers(&row["kept"], ["objects", "retained"]);
            assert_eq!(found, totals(brute_force, dead), "thread {thread}");
            let frames = rows(row, "frames")
                .iter()
                .map(|frame| rows(frame, "locals").len());
            let held = frames.sum::<usize>() + rows(row, "other").len();
            let roots = brute_force.heap.roots.iter();
            let own = roots.filter(|root| thread_of(root.kind) == Some(thread));
            let mut own: Vec<String> = own
                .filter(|root| !is_thread(root.kind))
                .map(|root| format!("{root:?}"))
                .collect();
            own.sort();
            own.dedup();
            assert!(
                held <= own.len() && (held > 0) != own.is_empty(),
                "thread {thread}"
            );
        }
    });
}

#[test]
fn cutting_references_frees_what_nothing_else_leads_to() {
    on_heaps(5000, |asked, seed| {
        let brute_force = &asked.brute_force;
        let edges: Vec<_> = brute_force
            .edges
            .iter()
            .filter(|edge| {
                edge.keeps && edge.from < brute_force.objects() && edge.to < brute_force.objects()
            })
            .collect();
        let edge = edges[seed as usize % edges.len()];
        let (from, to) = (asked.address(edge.from), asked.address(edge.to));
        let answer = asked.json(&["cut", &from, &to]);
        let between = edges
            .iter()
            .filter(|of| (of.from, of.to) == (edge.from, edge.to));
        assert_eq!(number(&answer["references"]), between.count() as u64);
        let freed = brute_force.freed_by_cutting(one(edge.from), one(edge.to));
        let found = numbers(&answer, ["freed_objects", "freed"]);
        assert_eq!(
            found,
            totals(brute_force, freed & (one(brute_force.objects()) - 1)),
            "{from} to {to}"
        );
    });
}

#[test]
fn owners_retain_what_dies_with_them() {
    on_heaps(6000, |asked, seed| {
        // Neither local variables nor soft references own what is held otherwise.
        let brute_force = &asked.brute_force.owned();
        let name = brute_force.class_name(seed as usize % brute_force.objects());
        let members =
            (0..brute_force.objects()).filter(|&node| brute_force.class_name(node) == name);
        let members: Set = members.fold(0, |set, node| set | one(node)) & brute_force.live;
        let ran = run(&asked.arguments(&["owners", name, "--json"]));
        // Nothing needs an owner if all are roots.
        if ran.code != 0 {
            let needs = members & !brute_force.roots;
            assert_eq!(brute_force.bytes(needs), 0, "{name}: {}", ran.err);
            return;
        }
        let answer: Value = serde_json::from_str(&ran.out).unwrap();
        for front in rows(&answer, "fronts") {
            let owners = rows(front, "owners").iter();
            let owners = owners.map(|owner| asked.node(&owner["address"]));
            let owners: Set = owners.fold(0, |set, node| set | one(node));
            let dead = brute_force.dies_with(owners);
            let found = numbers(front, ["retained_objects", "retained"]);
            assert_eq!(found, totals(brute_force, dead), "{name}");
            let share = brute_force.bytes(members & dead) as f64 * 100.0;
            let share = share / brute_force.bytes(members).max(1) as f64;
            let covered = front["covered"].as_f64().unwrap();
            assert!(
                (covered - share).abs() < 1e-9,
                "{name}: {covered}, not {share}"
            );
            for owner in rows(front, "owners") {
                let node = asked.node(&owner["address"]);
                let retained = brute_force.bytes(brute_force.dominated(node));
                assert_eq!(number(&owner["retained"]), retained, "{owner}");
            }
            for above in rows(front, "above") {
                let alone = brute_force.dies_with(one(asked.node(&above["address"])));
                assert_eq!(owners & !alone, 0, "{name}: {above}");
            }
        }
    });
}

#[test]
fn the_report_and_its_shares_are_of_the_reachable_heap() {
    on_heaps(7000, |asked, _| {
        let brute_force = &asked.brute_force.owned();
        let answer = asked.json(&["report"]);
        let heap = brute_force.bytes(brute_force.live);
        assert_eq!(number(&answer["reachable"]), heap);
        for suspect in rows(&answer, "suspects") {
            let retained = number(&suspect["retained"]);
            let share = retained as f64 * 100.0 / heap as f64;
            assert!(
                (suspect["share"].as_f64().unwrap() - share).abs() < 1e-9,
                "{suspect}"
            );
            let owners = rows(suspect, "owners");
            let nodes = owners.iter().map(|owner| asked.node(&owner["address"]));
            let owners: Set = nodes.fold(0, |set, node| set | one(node));
            // Of classes and of equal owners only an example is named.
            if !["class", "alike"].contains(&suspect["kind"].as_str().unwrap()) {
                let found = numbers(suspect, ["retained_objects", "retained"]);
                assert_eq!(
                    found,
                    totals(brute_force, brute_force.dies_with(owners)),
                    "{suspect}"
                );
            }
        }
        let kinds = rows(&answer["waste"], "kinds").iter();
        let savable: u64 = kinds.map(|kind| number(&kind["savable"])).sum();
        assert_eq!(number(&answer["waste"]["savable"]), savable);
        assert_eq!(number(&answer["waste"]["reachable"]), heap);
    });
}
