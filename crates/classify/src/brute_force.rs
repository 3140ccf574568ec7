//! Classifiers and transformers against brute-force reference implementations on random heaps, with
//! cycles, unreachable parts, class objects with static fields, loaders and references of any
//! strength.

use std::collections::BTreeSet;
use std::path::Path;

use anthill_graph::{Convention, DepthFirst, Dominators, Graph, NodeId};
use anthill_heap::{
    BitSet, CLASS_LOADER, Column, HeapBuilder, HeapState, Quiet, StaticField, Strength, Value,
};
use anthill_hprof::Records;
use fastrand::Rng;

use crate::{Classified, Context, Definitions, Error, Files, Step, Tree};

fn random_heap(random: &mut Rng) -> HeapState {
    let mut heap = HeapBuilder::new();
    // MAT's view has a stand-in for the boot loader, an object of this class.
    heap.class(CLASS_LOADER, 16);
    let count = 1 + random.usize(..20);
    let classes = 1 + random.usize(..4);
    let mut without_references = BTreeSet::new();
    for object in 0..count {
        let strengths = [
            Strength::Soft,
            Strength::Weak,
            Strength::Phantom,
            Strength::Finalizer,
        ];
        if object > 0 && random.usize(..5) == 0 {
            let referent = format!("o{}", random.usize(..object));
            heap.reference(
                &format!("o{object}"),
                strengths[random.usize(..4)],
                &referent,
            );
        } else if random.usize(..5) == 0 {
            let class = ["int[]", "byte[][]", "p.C0[]"][random.usize(..3)];
            let array = heap.array(&format!("o{object}"), class, random.usize(..400) as u32);
            without_references.extend((class == "int[]").then_some(array));
        } else {
            let class = random.usize(..classes);
            heap.object(&format!("o{object}"), &format!("C{class}"), 16);
        }
    }
    let any = |random: &mut Rng| format!("o{}", random.usize(..count));
    for _ in 0..random.usize(..2 * count) {
        let (from, to) = (any(random), any(random));
        if !without_references.contains(&heap.id(&from)) {
            heap.edges(&format!("{from} -> {to}"));
        }
    }
    for _ in 0..random.usize(..4) {
        heap.root(&any(random));
    }
    let mut statics = Vec::new();
    for class in (0..classes)
        .filter(|_| random.usize(..2) == 0)
        .collect::<Vec<_>>()
    {
        let class_object = format!("class{class}");
        heap.class_object(&class_object, &format!("C{class}"));
        if random.usize(..2) == 0 {
            heap.loaded_by(&format!("C{class}"), &any(random));
        }
        if random.usize(..2) == 0 {
            heap.root(&class_object);
        }
        for field in 0..random.usize(..3) {
            let to = any(random);
            heap.edges(&format!("{class_object} -> {to}"));
            statics.push((format!("C{class}"), format!("f{field}"), heap.id(&to)));
        }
    }
    let mut state = heap.build();
    for (class, name, object) in statics {
        let value = Value::Object(state.addresses.address(object));
        let classes = &mut state.tables.classes;
        let class = classes.iter_mut().find(|known| known.name == class);
        class.unwrap().statics.push(StaticField { name, value });
    }
    state
}

pub(crate) type Keys = BTreeSet<Vec<String>>;

/// What steps say about every object, as texts.
pub(crate) fn said(context: &Context, steps: &str) -> Vec<Keys> {
    let definitions = Definitions::default().with_files(Files::Readable);
    let levels = context.levels(&definitions.steps(steps).unwrap()).unwrap();
    let [Classified { values, .. }] = &levels[..] else {
        panic!("{steps} are one level");
    };
    let state = context.graph.state;
    let keys = |object: u32| {
        let label = levels[0].label(object, state.class_id(object));
        let texts = |&path| {
            let keys = values.keys_of(path).into_iter();
            keys.map(|key| values.key_text(key).to_owned()).collect()
        };
        values.paths(label).iter().map(texts).collect()
    };
    (0..state.len()).map(keys).collect()
}

pub(crate) fn on_random_heaps(check: impl Fn(&Context, u64)) {
    for seed in 1..2500 {
        let mut random = Rng::with_seed(seed);
        let state = random_heap(&mut random);
        let convention = Convention {
            weak: seed % 3 == 0,
            mat: seed % 5 == 0,
            ..Convention::DEFAULT
        };
        under(convention, &state, |context| check(context, seed));
    }
}

/// Asks about a heap that no file is behind.
pub(crate) fn with_context(state: &HeapState, ask: impl FnOnce(&Context)) {
    under(Convention::DEFAULT, state, ask);
}

fn under(convention: Convention, state: &HeapState, ask: impl FnOnce(&Context)) {
    let sizes = state.tables.sizes.clone().unwrap();
    let graph = Graph::new(state, &sizes, convention);
    let search = DepthFirst::new(&graph, &Quiet).unwrap();
    let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
    let records = Records::new(Path::new(""), 8, Column::default(), Column::default());
    ask(&Context::new(&graph, &dominators, &records, &Quiet));
}

/// What can be reached from `starts` over `edges`, without `without`.
fn reach<I: IntoIterator<Item = NodeId>>(
    starts: impl IntoIterator<Item = NodeId>,
    without: Option<NodeId>,
    edges: impl Fn(NodeId) -> I,
) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    let mut work: Vec<NodeId> = starts.into_iter().collect();
    while let Some(node) = work.pop() {
        if Some(node) != without && seen.insert(node) {
            work.extend(edges(node));
        }
    }
    seen
}

/// What dies with one node.
fn dies_with(graph: &Graph, node: NodeId) -> BTreeSet<NodeId> {
    let edges = |node| graph.successors(node).collect::<Vec<_>>();
    let roots = || graph.roots().iter().copied();
    let without = reach(roots(), Some(node), edges);
    let mut all = reach(roots(), None, edges);
    all.retain(|node| !without.contains(node));
    all
}

#[test]
fn degrees_count_references_of_every_strength() {
    let mut heap = HeapBuilder::new();
    heap.objects("a b", "Item", 16);
    heap.reference("weak", Strength::Weak, "b");
    heap.edges("a -> b, weak -> a");
    heap.root("weak");
    with_context(&heap.build(), |context| {
        for (steps, expected) in [
            ("in-degree", ["1", "2", "0"]),
            ("in_degree", ["1", "2", "0"]),
            ("out-degree", ["1", "0", "2"]),
            ("out_degree", ["1", "0", "2"]),
        ] {
            let keys: Vec<String> = said(context, steps)
                .iter()
                .map(|paths| paths.iter().flatten().cloned().collect())
                .collect();
            assert_eq!(keys, expected, "{steps}");
        }
    });
}

#[test]
fn more_keys_than_a_tree_may_have_nodes_are_refused_at_once() {
    let mut heap = HeapBuilder::new();
    heap.objects("a b c d e f g h", "Item", 16);
    heap.edges("a -> b, c -> d");
    heap.root("a");
    with_context(&heap.build(), |context| {
        let context = Context::new(
            context.graph,
            context.dominators,
            context.records,
            context.progress,
        )
        .with_most_nodes(4);
        let mut group = BitSet::new(8);
        (0..8).for_each(|object| group.insert(object));
        let refused = |steps: &str| {
            let steps = Step::parse_list(steps).unwrap();
            let levels = context.levels_of(&steps, &group);
            matches!(levels, Err(Error::TooManyNodes(4)))
        };
        assert!(refused("address"));
        assert!(refused("type, address"));
        assert!(refused("address + 1"), "keys of an expression");
        assert!(!refused("type"));
        assert!(!refused("out_degree"));
        assert!(!refused("where out_degree > 0, address"), "two are left");
        assert!(
            !refused("references.map(r => r.type), address"),
            "most are in no group of the first level"
        );
    });
}

#[test]
fn transformers_lead_to_the_objects_brute_force_finds() {
    on_random_heaps(|context, seed| {
        let graph = context.graph;
        let references = |node| graph.referenced(node).collect::<Vec<_>>();
        let objects = 0..graph.state.len();
        let reachable = |node: &NodeId| context.dominators.is_reachable(*node);
        let check = |name: &str, mark: &str, turn: &dyn Fn(NodeId) -> BTreeSet<NodeId>| {
            let said = said(context, &format!("{name}, address"));
            for object in objects.clone() {
                let mut into = turn(object);
                into.remove(&graph.state.len());
                let text = |&to: &NodeId| format!("{mark}{:#x}", graph.state.addresses.address(to));
                let mut expected: Keys = into.iter().map(|to| vec![text(to)]).collect();
                if expected.is_empty() {
                    expected.insert(vec![format!("{mark}nothing")]);
                }
                assert_eq!(said[object as usize], expected, "{name}, seed {seed}");
            }
        };
        check("points-to", "→ ", &|object| {
            references(object).into_iter().collect()
        });
        check("pointed-from", "← ", &|object| {
            let holds = |from: &NodeId| reachable(from) && references(*from).contains(&object);
            objects.clone().filter(holds).collect()
        });
        check("transitive-closure", "reaches ", &|object| {
            reach([object], None, references)
        });
        // Objects that are not reachable are nobody's but their own.
        check("gc-closure", "retains ", &|object| {
            let mut closure = dies_with(graph, object);
            closure.insert(object);
            closure
        });
        check("dominated", "dominates ", &|object| {
            let mut closure = dies_with(graph, object);
            closure.remove(&object);
            closure
        });
        check("dominator", "kept by ", &|object| {
            let above = objects.clone().filter(|&above| {
                above != object && reachable(&object) && dies_with(graph, above).contains(&object)
            });
            let nearest = above.min_by_key(|&above| dies_with(graph, above).len());
            nearest.into_iter().collect()
        });
    });
}

#[test]
fn strengths_are_the_first_that_lead_there() {
    on_random_heaps(|context, seed| {
        let graph = context.graph;
        let state = graph.state;
        let order = [
            ("strong", Strength::Strong),
            ("soft", Strength::Soft),
            ("weak", Strength::Weak),
            ("finalizer", Strength::Finalizer),
            ("phantom", Strength::Phantom),
        ];
        let mut left: BTreeSet<NodeId> = (0..state.len()).collect();
        let mut expected = vec!["unreachable"; state.len() as usize];
        for level in 0..order.len() {
            let followed = |strength: Strength| order[..=level].iter().any(|o| o.1 == strength);
            let edges = |node: NodeId| {
                let mut to: Vec<NodeId> = graph.successors(node).collect();
                if node < state.len() {
                    // What the graph follows by its convention is not asked here.
                    if let Some((referent, strength)) = state.referent(node) {
                        if graph.convention.keeps(strength) {
                            let at = to.iter().rposition(|&to| to == referent).unwrap();
                            to.remove(at);
                        }
                        to.extend(followed(strength).then_some(referent));
                    }
                }
                to
            };
            for node in reach(graph.roots().iter().copied(), None, edges) {
                if left.remove(&node) {
                    expected[node as usize] = order[level].0;
                }
            }
        }
        let said = said(context, "strength");
        for (said, expected) in said.iter().zip(&expected) {
            assert_eq!(
                *said,
                Keys::from([vec![(*expected).to_owned()]]),
                "seed {seed}"
            );
        }
    });
}

/// The roots of a random heap as keys, with the objects they lead to, and whether they are variables.
fn roots(context: &Context) -> Vec<(Vec<String>, NodeId, bool)> {
    let state = context.graph.state;
    let mut roots = Vec::new();
    for class in state.classes() {
        let loaded = context.dominators.is_reachable(class.mirror.unwrap_or(0));
        for field in class.statics.iter().filter(|_| loaded) {
            let Value::Object(address) = field.value else {
                unreachable!("statics of random heaps refer to objects");
            };
            let keys = ["static field", &class.name, &field.name].map(str::to_owned);
            let object = state.addresses.find(address).unwrap();
            roots.push((keys.to_vec(), object, true));
        }
    }
    for root in &state.tables.roots {
        roots.push((vec!["JNI global".to_owned()], root.object, false));
    }
    roots
}

#[test]
fn indirect_roots_are_those_that_reach_an_object() {
    on_random_heaps(|context, seed| {
        let graph = context.graph;
        let state = graph.state;
        // Static fields are roots of their own, so ways end at class objects.
        let edges = |node: NodeId| {
            let class_object = node < state.len() && state.mirrored(node).is_some();
            let statics = if class_object {
                state.references(node).len()
            } else {
                0
            };
            graph.referenced(node).skip(statics).collect::<Vec<_>>()
        };
        let one = |key: &str| Keys::from([vec![key.to_owned()]]);
        for (options, variables) in [("all", false), ("all variables", true), ("all hide", false)] {
            let mut expected = vec![Keys::new(); state.len() as usize];
            for (keys, object, variable) in roots(context) {
                if variable || !variables {
                    for node in reach([object], None, edges).range(..state.len()) {
                        expected[*node as usize].insert(keys.clone());
                    }
                }
            }
            let none = |object: u32| match options {
                "all hide" => Keys::new(),
                _ if !context.dominators.is_reachable(object) => one("not reachable"),
                "all" => one("reached through classes only"),
                _ => one("not reached from any variable"),
            };
            let all = said(context, &format!("indirectly-rooted({options})"));
            let first = said(
                context,
                &format!("indirectly-rooted(first {options})").replace("all", ""),
            );
            for object in 0..state.len() as usize {
                if expected[object].is_empty() {
                    expected[object] = none(object as u32);
                }
                let wanted = &expected[object];
                assert_eq!(all[object], *wanted, "{options}, seed {seed}");
                assert!(first[object].is_subset(wanted), "{options}, seed {seed}");
                assert_eq!(first[object].len(), wanted.len().min(1));
            }
        }
    });
}

#[test]
fn roots_reach_what_a_search_from_them_meets() {
    on_random_heaps(|context, seed| {
        let graph = context.graph;
        let state = graph.state;
        let mut random = Rng::with_seed(seed + 1);
        let mut group = BitSet::new(state.len() as usize);
        (0..1 + random.usize(..3))
            .for_each(|_| group.insert(random.usize(..state.len() as usize) as u32));
        let both = context.roots_reaching_by_both(&group).unwrap();
        for (any_strength, of_both) in [(false, both.0), (true, both.1)] {
            let edges = |node: NodeId| {
                let is_object = node < state.len();
                let class_object = is_object && state.mirrored(node).is_some();
                let statics = if class_object {
                    state.references(node).len()
                } else {
                    0
                };
                let mut to: Vec<NodeId> = graph.referenced(node).skip(statics).collect();
                if any_strength && is_object {
                    to.extend(state.referent(node).map(|(referent, _)| referent));
                }
                to
            };
            let reaches = |object: &NodeId| {
                let reached = reach([*object], None, edges);
                reached
                    .range(..state.len())
                    .any(|&node| group.contains(node))
            };
            let objects: BTreeSet<NodeId> = roots(context).iter().map(|root| root.1).collect();
            let live = objects
                .into_iter()
                .filter(|&object| context.dominators.is_reachable(object));
            let expected: BTreeSet<NodeId> = live.filter(reaches).collect();
            let alone = context.roots_reaching(&group, any_strength).unwrap();
            for found in [alone, of_both] {
                let found: BTreeSet<_> = found.iter().collect();
                assert_eq!(found, expected, "seed {seed}");
            }
        }
    });
}

#[test]
fn what_is_said_about_a_group_does_not_depend_on_who_asks() {
    on_random_heaps(|context, seed| {
        let state = context.graph.state;
        let mut random = Rng::with_seed(seed + 2);
        let mut group = BitSet::new(state.len() as usize);
        (0..state.len())
            .filter(|_| random.usize(..3) == 0)
            .for_each(|object| group.insert(object));
        for steps in [
            "address",
            "where size > 16, size + 1, where in_degree > 0, address",
            "where in_degree > 1, pointed-from, size, address",
        ] {
            let steps = Step::parse_list(steps).unwrap();
            let keys = |levels: &[Classified]| -> Vec<Vec<Keys>> {
                let of_object = |object: u32| {
                    let level = |level: &Classified| {
                        let label = level.label(object, state.class_id(object));
                        let values = &level.values;
                        let text = |key| values.key_text(key).to_owned();
                        let paths = values.paths(label).iter();
                        paths
                            .map(|&path| values.keys_of(path).into_iter().map(text).collect())
                            .collect()
                    };
                    // What a filter leaves out is not asked about further.
                    let said: Vec<Keys> = levels.iter().map(level).collect();
                    let end = said.iter().position(Keys::is_empty).unwrap_or(said.len());
                    said[..end].to_vec()
                };
                group.iter().map(of_object).collect()
            };
            let all = context.levels(&steps).unwrap();
            let of_group = context.levels_of(&steps, &group).unwrap();
            assert_eq!(keys(&of_group), keys(&all), "seed {seed}");
        }
    });
}

#[test]
fn trees_that_are_measured_together_are_as_each_alone() {
    on_random_heaps(|context, seed| {
        let graph = context.graph;
        let mut random = Rng::with_seed(seed + 3);
        let mut tree = |steps: &str| {
            let mut group = BitSet::new(graph.state.len() as usize);
            (0..graph.state.len())
                .filter(|_| random.usize(..3) == 0)
                .for_each(|object| group.insert(object));
            let levels = context.levels_of(&Step::parse_list(steps).unwrap(), &group);
            // Twice the same: a tree cannot be copied.
            let levels = levels.unwrap();
            [(); 2].map(|()| Tree::new(graph, &group, &levels))
        };
        let steps = [
            "type",
            "type, pointed-from, type",
            "instance-health",
            "type",
        ];
        let (mut alone, mut together): (Vec<Tree>, Vec<Tree>) = steps
            .iter()
            .map(|steps| <(Tree, Tree)>::from(tree(steps)))
            .unzip();
        for tree in &mut alone {
            tree.measure(graph, &Quiet).unwrap();
        }
        Tree::measure_all(&mut together, graph, &Quiet).unwrap();
        for (alone, together) in alone.iter().zip(&together) {
            for (one, other) in alone.nodes().iter().zip(together.nodes()) {
                let closures = (other.deep, other.retained);
                assert_eq!(
                    (one.deep, one.retained),
                    closures,
                    "seed {seed}, {}",
                    one.key
                );
            }
        }
    });
}
