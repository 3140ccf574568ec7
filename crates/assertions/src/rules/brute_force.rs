//! Every kind of rule against a brute-force reference implementation on ten thousand random heaps:
//! nothing is reported that is fine, nothing is missed.

use std::collections::BTreeSet;

use anthill_graph::{Convention, DepthFirst, Dominators, Graph, NodeId};
use anthill_heap::{BitSet, Cancelled, HeapBuilder, HeapState, Quiet, RootOrigin, Strength};
use anthill_syntax::Pattern;
use fastrand::Rng;

use super::*;
use crate::program::Problem;

/// Up to two dozen objects of classes A to E, some of them class objects, weak and soft references.
fn random_heap(seed: u64) -> HeapState {
    let mut random = Rng::with_seed(seed);
    let mut heap = HeapBuilder::new();
    let count = 2 + random.usize(..24);
    let name = |number: usize| format!("o{number}");
    for number in 0..count {
        if random.usize(..9) == 0 && number > 0 {
            let strength = [Strength::Soft, Strength::Weak][random.usize(..2)];
            heap.reference(&name(number), strength, &name(random.usize(..number)));
        } else {
            let class = random.usize(..5);
            let letter = ["A", "B", "C", "D", "E"][class];
            heap.object(&name(number), letter, 8 * (1 + class as u32));
        }
    }
    for letter in ["A", "B"] {
        if random.usize(..3) == 0 {
            let class = format!("class_{letter}");
            heap.class_object(&class, letter);
            heap.edges(&format!("{class} -> {}", name(random.usize(..count))));
        }
    }
    for _ in 0..random.usize(..3 * count) {
        let (from, to) = (random.usize(..count), random.usize(..count));
        heap.edges(&format!("{} -> {}", name(from), name(to)));
    }
    for _ in 0..random.usize(..4) {
        heap.root(&name(random.usize(..count)));
    }
    heap.build()
}

/// Sets by name of class; elements of a "structure" are its references.
struct ByName<'a>(&'a Graph<'a>, &'a BTreeSet<NodeId>);

impl ByName<'_> {
    fn of(&self, pattern: &str) -> BTreeSet<NodeId> {
        let pattern = Pattern::class(pattern);
        let fits = |&&node: &&NodeId| pattern.matches(&self.0.state.class(node).name);
        self.1.iter().filter(fits).copied().collect()
    }
}

impl Sets for ByName<'_> {
    type Error = Cancelled;

    fn objects(&mut self, set: &Set) -> Result<BitSet, Cancelled> {
        let SetKind::Class { pattern, .. } = &set.kind else {
            panic!("only classes here");
        };
        let mut found = BitSet::new(self.0.state.len() as usize);
        self.of(pattern).iter().for_each(|&node| found.insert(node));
        Ok(found)
    }

    fn of_structure(&mut self, _: Measure, head: NodeId) -> Result<Option<f64>, Cancelled> {
        Ok(Some(self.0.references(head).len() as f64))
    }
}

/// What can be reached from the roots without passing `without`.
fn reach(graph: &Graph, without: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<NodeId> = graph.roots().to_vec();
    while let Some(node) = work.pop() {
        if !without.contains(&node) && seen.insert(node) {
            work.extend(graph.successors(node));
        }
    }
    seen
}

/// What references lead to from a node; ways end at class objects and before `closed`.
fn data(graph: &Graph, start: NodeId, closed: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    let mut work = vec![start];
    while let Some(node) = work.pop() {
        if graph.state.mirrored(node).is_none() {
            let next = graph.referenced(node).filter(|to| !closed.contains(to));
            work.extend(next.filter(|&to| seen.insert(to)));
        }
    }
    seen
}

fn bytes(graph: &Graph, nodes: &BTreeSet<NodeId>) -> f64 {
    nodes.iter().map(|&node| graph.size(node) as f64).sum()
}

/// The violating objects that a rule finds.
fn found(finding: Finding) -> BTreeSet<NodeId> {
    match finding {
        Finding::Holds => BTreeSet::new(),
        Finding::Objects(objects) | Finding::Reached(objects, _) => objects.into_iter().collect(),
        Finding::Shared(shared) => shared.into_iter().map(|one| one.0).collect(),
        Finding::Each(each) => each.into_iter().map(|one| one.object).collect(),
        Finding::Total(total) => total.objects.iter().collect(),
    }
}

struct Reference<'a> {
    graph: &'a Graph<'a>,
    alive: &'a BTreeSet<NodeId>,
    heap: Heap<'a>,
    definitions: &'a Definitions,
    holding: &'a mut [usize; 2],
    seed: u64,
}

impl Reference<'_> {
    fn sets(&self) -> ByName<'_> {
        ByName(self.graph, self.alive)
    }

    fn check(&mut self, text: &str) -> Finding {
        let rule = format!("rule: {text}");
        let rules = parse(&rule, self.definitions);
        let rules = rules.unwrap_or_else(|mistake| panic!("{}", mistake.show("rule", &rule)));
        let finding = check(&self.heap, &rules[0], &mut ByName(self.graph, self.alive));
        finding.unwrap_or_else(|_| panic!("nobody cancels"))
    }

    /// The objects that violate a rule are exactly these.
    fn expect(&mut self, text: &str, expected: BTreeSet<NodeId>) {
        self.holding[usize::from(expected.is_empty())] += 1;
        let finding = self.check(text);
        assert_eq!(found(finding), expected, "seed {}, {text}", self.seed);
    }

    /// A rule about all objects of a class together is violated exactly if it should be.
    fn expect_total(&mut self, text: &str, class: &str, figure: f64, most: f64) {
        match figure > most {
            true => {
                let finding = self.check(text);
                let Finding::Total(total) = finding else {
                    panic!("seed {}: {text} is {figure}", self.seed);
                };
                assert_eq!(total.figure, figure, "seed {}, {text}", self.seed);
                self.holding[0] += 1;
                let objects: BTreeSet<NodeId> = total.objects.iter().collect();
                assert_eq!(objects, self.sets().of(class));
            }
            false => self.expect(text, BTreeSet::new()),
        }
    }
}

#[test]
fn rules_find_all_that_is_wrong_and_nothing_else() {
    let mut holding = [0; 2];
    let definitions = Definitions::default();
    for seed in 0..10_000 {
        let state = random_heap(seed);
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(&state, sizes, Convention::DEFAULT);
        let search = DepthFirst::new(&graph, &Quiet).unwrap();
        let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
        let alive = reach(&graph, &BTreeSet::new());
        let reference = Reference {
            graph: &graph,
            alive: &alive,
            heap: Heap::new(&graph, &dominators, &Quiet),
            definitions: &definitions,
            holding: &mut holding,
            seed,
        };
        on_one_heap(reference, seed);
    }
    // Rules that always hold or never do would show nothing.
    assert!(holding.iter().all(|&number| number > 20_000), "{holding:?}");
}

fn on_one_heap(mut reference: Reference, seed: u64) {
    let (graph, alive) = (reference.graph, reference.alive);
    let of = |class: &str| ByName(graph, alive).of(class);
    let none = BTreeSet::new();
    let (a, b, c) = (of("A"), of("B"), of("C"));
    let most = (seed % 3) as f64;

    reference.expect("dead A", a.clone());
    reference.expect("A unshared", shared(graph, alive, &a));
    let owned: BTreeSet<NodeId> = b
        .iter()
        .flat_map(|&owner| data(graph, owner, &none))
        .collect();
    reference.expect("A owned by B", a.difference(&owned).copied().collect());
    let reached = |closed: &BTreeSet<NodeId>| {
        let starts = b.iter().filter(|start| !closed.contains(start));
        let reached = starts.flat_map(|&start| data(graph, start, closed));
        reached.collect::<BTreeSet<NodeId>>()
    };
    let wrong = |closed| a.intersection(&reached(closed)).copied().collect();
    reference.expect("A not reachable from B", wrong(&none));
    reference.expect("A not reachable from B except through C", wrong(&c));
    let count = |&&owner: &&NodeId| {
        let reached = data(graph, owner, &b);
        reached.intersection(&a).count() as f64 > most
    };
    let crowded = b.iter().filter(count).copied().collect();
    reference.expect(&format!("at most {most} A per B"), crowded);

    reference.expect_total(
        &format!("instances of A at most {most}"),
        "A",
        a.len() as f64,
        most,
    );
    let retained = |group: &BTreeSet<NodeId>| {
        bytes(
            graph,
            &alive.difference(&reach(graph, group)).copied().collect(),
        )
    };
    let deep = |group: &BTreeSet<NodeId>| {
        let mut reached = group.clone();
        let mut work: Vec<NodeId> = group.iter().copied().collect();
        while let Some(node) = work.pop() {
            work.extend(graph.referenced(node).filter(|&to| reached.insert(to)));
        }
        bytes(graph, &reached)
    };
    let limit = 16.0 * most;
    reference.expect_total(
        &format!("retained of B at most {limit} bytes"),
        "B",
        retained(&b),
        limit,
    );
    reference.expect_total(
        &format!("deep of B at most {limit} bytes"),
        "B",
        deep(&b),
        limit,
    );
    reference.expect_total(
        &format!("shallow of B at most {limit} bytes"),
        "B",
        bytes(graph, &b),
        limit,
    );
    let heap = bytes(graph, alive);
    if heap > 0.0 {
        let share = bytes(graph, &b) * 100.0 / heap;
        reference.expect_total("at most 10% of heap in B", "B", share, 10.0);
        let share = retained(&b) * 100.0 / heap;
        reference.expect_total("retained of B at most 25% of heap", "B", share, 25.0);
    }
    let large = |measure: &dyn Fn(&BTreeSet<NodeId>) -> f64| {
        let beyond = |&&one: &&NodeId| measure(&BTreeSet::from([one])) > limit;
        c.iter()
            .filter(beyond)
            .copied()
            .collect::<BTreeSet<NodeId>>()
    };
    reference.expect(
        &format!("retained of each C at most {limit} bytes"),
        large(&retained),
    );
    reference.expect(
        &format!("deep of each C at most {limit} bytes"),
        large(&deep),
    );
    let full = |&&one: &&NodeId| graph.references(one).len() as f64 > most;
    let full = c.iter().filter(full).copied().collect();
    reference.expect(&format!("elements of C at most {most}"), full);
    let empty = |&&one: &&NodeId| graph.references(one).is_empty();
    let empty = c.iter().filter(empty).copied().collect();
    reference.expect("fill of C at least 1%", empty);
}

/// Objects with more than one reference, JNI handles included: all roots here are such.
fn shared(graph: &Graph, alive: &BTreeSet<NodeId>, of: &BTreeSet<NodeId>) -> BTreeSet<NodeId> {
    let references = |object: NodeId| {
        let from = alive.iter().flat_map(|&node| graph.referenced(node));
        let roots = graph.state.tables.roots.iter();
        let handles = roots.filter(|root| root.origin == RootOrigin::JniGlobal);
        from.filter(|&to| to == object).count()
            + handles.filter(|root| root.object == object).count()
    };
    of.iter()
        .copied()
        .filter(|&one| references(one) > 1)
        .collect()
}

#[test]
fn all_references_to_a_shared_object_are_told() {
    let mut heap = HeapBuilder::new();
    heap.objects("root leaf", "Tree", 16);
    heap.objects("left right", "Tree", 16);
    heap.edges("root -> left right, left -> leaf leaf, right -> leaf");
    heap.root("root");
    let state = heap.build();
    let graph = Graph::new(
        &state,
        state.tables.sizes.as_ref().unwrap(),
        Convention::DEFAULT,
    );
    let search = DepthFirst::new(&graph, &Quiet).unwrap();
    let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
    let alive: BTreeSet<NodeId> = (0..4).collect();
    let rules = parse("rule: Tree unshared", &Definitions::default()).unwrap();
    let at = Heap::new(&graph, &dominators, &Quiet);
    let finding = check(&at, &rules[0], &mut ByName(&graph, &alive)).unwrap_or(Finding::Holds);
    let Finding::Shared(shared) = finding else {
        panic!("the leaf is shared");
    };
    let from = vec![heap.id("left"), heap.id("left"), heap.id("right")];
    let problem = Problem::Shared { from, handles: 0 };
    assert_eq!(shared, [(heap.id("leaf"), problem)]);
}
