//! What became of objects between two states of a recording: born, died, survived, by any
//! classification (Weninger et al. 2018, section 5.3.1).

use anthill_classify::{OVERALL, Step, Tree, TreeNodeId};
use anthill_heap::{BitSet, HeapState};
use anthill_session::{Error, Session};
use anthill_trace::{Identities, IdentityKind, Totals};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::identities::{identities, identities_missing, newest};

/// How the objects of two states differ.
pub struct Evolution {
    /// Which objects were told apart: of the others only numbers are known.
    pub identity: IdentityKind,
    /// Objects of the two groups, and how many of them were told apart.
    pub objects: [u64; 2],
    /// See `objects`.
    pub told_apart: [u64; 2],
    /// Why not all objects that were followed are known in each state.
    pub missing: [Option<String>; 2],
    /// All objects; its children are the first level of the classification.
    pub root: EvolvedNode,
}

/// A node of the classification trees of both states.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EvolvedNode {
    /// What the classifier says of its objects.
    pub key: String,
    /// All objects in the earlier and in the later state.
    pub before: Totals,
    /// See `before`.
    pub after: Totals,
    /// Of the objects that can be told apart. Those that survived are counted where they are in
    /// the later state. Exact unless `missing` tells why not: then at least so many survived, and some of the
    /// others may have been there at both times.
    pub born: Totals,
    /// See `born`.
    pub died: Totals,
    /// See `born`.
    pub survived: Totals,
    /// The next level.
    pub children: Vec<EvolvedNode>,
}

impl EvolvedNode {
    /// Bytes more, or less, than before.
    pub fn change(&self) -> i64 {
        self.after.bytes as i64 - self.before.bytes as i64
    }

    /// How much happened here, in bytes.
    pub fn turnover(&self) -> u64 {
        let moved = self.born.bytes + self.died.bytes;
        moved.max(self.change().unsigned_abs())
    }

    fn sort(&mut self) {
        self.children.iter_mut().for_each(EvolvedNode::sort);
        self.children.sort_by(|a, b| {
            let weight = |node: &EvolvedNode| (node.turnover(), node.after.bytes);
            weight(b).cmp(&weight(a)).then_with(|| a.key.cmp(&b.key))
        });
    }
}

/// What a tree counts of a node.
type Count = fn(&mut EvolvedNode) -> &mut Totals;

/// Compares the objects of classes that `wanted` accepts by name, in two states of one recording.
pub fn evolution(
    [before, after]: [&Session; 2],
    steps: &[Step],
    wanted: impl Fn(&str) -> bool,
    unreachable: bool,
) -> Result<Evolution, Error> {
    let groups = [
        before.objects_of(&wanted, unreachable)?,
        after.objects_of(&wanted, unreachable)?,
    ];
    let known = [identities(before)?, identities(after)?];
    let identity = match (known[0].kind(), known[1].kind()) {
        (a, b) if a == b => a,
        // One state with fewer identities than the other: what both can tell is nothing.
        _ => IdentityKind::None,
    };
    let told = match identity {
        IdentityKind::None => None,
        _ => Some(tell_apart([before, after], &groups, &known, unreachable)?),
    };
    let mut merged = Merged::default();
    merged.add(&before.count(&groups[0], steps)?, |node| &mut node.before);
    merged.add(&after.count(&groups[1], steps)?, |node| &mut node.after);
    let mut told_apart = [0; 2];
    if let Some(told) = told {
        merged.add(&after.count(&told.born, steps)?, |node| &mut node.born);
        merged.add(&before.count(&told.died, steps)?, |node| &mut node.died);
        merged.add(&after.count(&told.survived, steps)?, |node| {
            &mut node.survived
        });
        told_apart = told.objects;
    }
    let mut root = merged.root(0);
    root.sort();
    Ok(Evolution {
        identity,
        objects: groups.map(|group| group.count() as u64),
        told_apart,
        missing: [identities_missing(before), identities_missing(after)],
        root,
    })
}

/// The groups of objects whose fate is known.
struct Told {
    /// Of the later state.
    born: BitSet,
    survived: BitSet,
    /// Of the earlier state.
    died: BitSet,
    /// Of both.
    objects: [u64; 2],
}

fn tell_apart(
    sessions: [&Session; 2],
    groups: &[BitSet; 2],
    known: &[Identities; 2],
    unreachable: bool,
) -> Result<Told, Error> {
    let [before, after] = sessions;
    let alive = [
        Alive::new(before, &known[0], unreachable)?,
        Alive::new(after, &known[1], unreachable)?,
    ];
    let newest = newest(&known[0]);
    // The earlier state may have lost sight of an object, but it was there if its identity was.
    let was_there = |id: u64| alive[0].contains(id) || newest.is_some_and(|newest| id <= newest);
    let none = |session: &Session| BitSet::new(session.state().len() as usize);
    let mut told = Told {
        born: none(sessions[1]),
        survived: none(sessions[1]),
        died: none(sessions[0]),
        objects: [0; 2],
    };
    for (object, id) in identified(sessions[0], &known[0], &groups[0]) {
        told.objects[0] += 1;
        if !alive[1].contains(id) {
            told.died.insert(object);
        }
    }
    for (object, id) in identified(sessions[1], &known[1], &groups[1]) {
        told.objects[1] += 1;
        match was_there(id) {
            true => told.survived.insert(object),
            false => told.born.insert(object),
        }
    }
    Ok(told)
}

/// The identities of the objects that are alive in a state.
enum Alive<'a> {
    Ids(FxHashSet<u64>),
    /// Identities are addresses.
    Objects(&'a HeapState, BitSet),
}

impl<'a> Alive<'a> {
    fn new(session: &'a Session, known: &Identities, unreachable: bool) -> Result<Self, Error> {
        let objects = session.objects_of(|_| true, unreachable)?;
        Ok(match known {
            Identities::All => Alive::Objects(session.state(), objects),
            known => {
                let identified = identified(session, known, &objects);
                Alive::Ids(identified.map(|pair| pair.1).collect())
            }
        })
    }

    fn contains(&self, id: u64) -> bool {
        match self {
            Alive::Ids(ids) => ids.contains(&id),
            Alive::Objects(state, objects) => {
                let object = state.addresses.find(id);
                object.is_some_and(|object| objects.contains(object))
            }
        }
    }
}

/// The objects of a group that have an identity, with it.
fn identified<'a>(
    session: &'a Session,
    known: &'a Identities,
    group: &'a BitSet,
) -> Box<dyn Iterator<Item = (u32, u64)> + 'a> {
    match known {
        Identities::None => Box::new(std::iter::empty()),
        Identities::Tracked(pairs) => {
            let pairs = pairs.iter().copied();
            Box::new(pairs.filter(|pair| group.contains(pair.0)))
        }
        Identities::All => {
            let addresses = session.state().addresses.iter();
            Box::new((0..).zip(addresses).filter(|pair| group.contains(pair.0)))
        }
    }
}

/// Trees that are laid over each other: nodes with equal keys become one.
#[derive(Default)]
struct Merged {
    nodes: Vec<EvolvedNode>,
    /// By node.
    children: Vec<Vec<usize>>,
    by_key: FxHashMap<(usize, String), usize>,
}

impl Merged {
    fn add(&mut self, tree: &Tree, count: Count) {
        if self.nodes.is_empty() {
            self.nodes.push(EvolvedNode::default());
            self.children.push(Vec::new());
        }
        // Nodes of the tree with where they are here; their parents come before them.
        let mut waiting: Vec<(TreeNodeId, usize)> = vec![(OVERALL, 0)];
        while let Some((from, to)) = waiting.pop() {
            let node = tree.node(from);
            self.nodes[to].key.clone_from(&node.key);
            *count(&mut self.nodes[to]) = Totals {
                objects: node.objects,
                bytes: node.shallow,
            };
            for &child in &node.children {
                let key = tree.node(child).key.clone();
                waiting.push((child, self.child(to, key)));
            }
        }
    }

    fn child(&mut self, parent: usize, key: String) -> usize {
        let next = self.nodes.len();
        let child = *self.by_key.entry((parent, key)).or_insert(next);
        if child == next {
            self.nodes.push(EvolvedNode::default());
            self.children.push(Vec::new());
            self.children[parent].push(child);
        }
        child
    }

    /// A node with all that is below it; trees are as deep as there are steps.
    fn root(&mut self, node: usize) -> EvolvedNode {
        let children = std::mem::take(&mut self.children[node]);
        let children = children.into_iter().map(|child| self.root(child)).collect();
        EvolvedNode {
            children,
            ..std::mem::take(&mut self.nodes[node])
        }
    }
}
