//! Assertions on thousands of random heaps against a search for each.

use std::collections::BTreeSet;

use anthill_graph::{Convention, reachable};
use anthill_heap::{HeapBuilder, Quiet};
use fastrand::Rng;

use super::*;

fn random_heap(random: &mut Rng) -> HeapState {
    let mut heap = HeapBuilder::new();
    let count = 2 + random.usize(..20);
    for number in 0..count {
        let class = ["A", "B", "C"][random.usize(..3)];
        heap.object(&format!("o{number}"), class, 16);
    }
    heap.class_object("class_A", "A");
    heap.class_object("class_B", "B");
    heap.root("class_A");
    let mut name = || format!("o{}", random.usize(..count));
    for number in 0..count {
        heap.edges(&format!("{} -> {}", name(), name()));
        if number % 9 == 0 {
            heap.root(&name());
        }
    }
    let mut state = heap.build();
    let class = |state: &HeapState, name: &str| {
        let mut classes = state.classes().iter();
        classes
            .position(|class| class.name == name)
            .map(|class| class as ClassId)
    };
    if let (Some(a), Some(b)) = (class(&state, "A"), class(&state, "B")) {
        state.tables.classes[b as usize].super_class = Some(a);
    }
    state
}

fn random_assertion(random: &mut Rng, state: &HeapState) -> Assertion {
    let objects = state.len() as usize;
    let mirrors: Vec<ObjectId> = state
        .classes()
        .iter()
        .filter_map(|class| class.mirror)
        .collect();
    let about = random.usize(..objects) as NodeId;
    let (about, asserted) = match random.usize(..5) {
        0 => (about, Asserted::Dead),
        1 => (about, Asserted::Survivor(None)),
        2 => (about, Asserted::Unshared),
        3 => {
            let owner = (random.usize(..6) > 0).then(|| random.usize(..objects) as NodeId);
            (about, Asserted::Owned(owner))
        }
        _ => {
            let instances = Asserted::Instances {
                most: random.usize(..6) as u64,
                subclasses: random.usize(..2) == 0,
            };
            (mirrors[random.usize(..mirrors.len())], instances)
        }
    };
    Assertion {
        about,
        asserted,
        id: None,
        site: None,
        message: None,
        reported: false,
    }
}

/// What references lead to from the start; ways end at class objects.
fn data(graph: &Graph, start: NodeId) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::from([start]);
    let mut work = vec![start];
    while let Some(node) = work.pop() {
        if graph.state.mirrored(node).is_none() {
            work.extend(graph.referenced(node).filter(|&to| seen.insert(to)));
        }
    }
    seen
}

fn problem(graph: &Graph, alive: &BTreeSet<NodeId>, one: &Assertion) -> Option<Problem> {
    if !alive.contains(&one.about) {
        return None;
    }
    match one.asserted {
        Asserted::Dead | Asserted::Survivor(_) => Some(Problem::Alive),
        Asserted::Unshared => {
            let from: Vec<NodeId> = alive
                .iter()
                .flat_map(|&from| {
                    let references = graph.referenced(from).filter(|&to| to == one.about);
                    references.map(move |_| from)
                })
                .collect();
            let roots = graph.state.tables.roots.iter();
            let handles = roots.filter(|root| root.object == one.about).count();
            (from.len() + handles > 1).then_some(Problem::Shared { from, handles })
        }
        Asserted::Owned(owner) => match owner.filter(|owner| alive.contains(owner)) {
            None => Some(Problem::NotOwned { owner_dead: true }),
            Some(owner) => (!data(graph, owner).contains(&one.about))
                .then_some(Problem::NotOwned { owner_dead: false }),
        },
        Asserted::Instances { most, subclasses } => {
            let class = graph.state.mirrored(one.about)?;
            let name = &graph.state.classes()[class as usize].name;
            let counts = |&&node: &&NodeId| {
                let own = graph.state.class_id(node);
                own == class || subclasses && graph.state.extends(own, name)
            };
            let number = alive.iter().filter(counts).count() as u64;
            (number > most).then_some(Problem::TooMany(number))
        }
    }
}

#[test]
fn exactly_the_assertions_that_do_not_hold_are_found() {
    let mut violated = 0;
    for seed in 1..6_000u64 {
        let mut random = Rng::with_seed(seed);
        let state = random_heap(&mut random);
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(&state, sizes, Convention::DEFAULT);
        let assertions: Vec<Assertion> = (0..random.usize(..12))
            .map(|_| random_assertion(&mut random, &state))
            .collect();
        let alive: BTreeSet<NodeId> = reachable(&graph).iter().collect();
        let expected: Vec<ViolatedAssertion> = assertions
            .iter()
            .enumerate()
            .filter_map(|(assertion, one)| {
                let problem = problem(&graph, &alive, one)?;
                Some(ViolatedAssertion { assertion, problem })
            })
            .collect();
        let found = check(&graph, &reachable(&graph), &assertions, &Quiet).unwrap();
        assert_eq!(found, expected, "seed {seed}");
        violated += found.len();
    }
    assert!(violated > 5_000, "{violated}");
}
