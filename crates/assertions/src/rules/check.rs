//! A rule on a heap: which objects violate it, and by how much. Knows numbers of objects only; what a
//! set of a rule has in it, whoever has the names tells.

use std::cmp::Ordering;

use anthill_graph::{
    Data, Dominators, Graph, GroupTotals, Membership, NodeId, Reached, deep_by_groups,
    gc_closure_among, owned_by_each, transitive_closure,
};
use anthill_heap::{BitSet, Cancelled, Progress};

use super::{Bound, Claim, Limit, Measure, Measured, Rule, Set, Unit};
use crate::program::{Problem, Sharing};

/// A heap state to check rules on.
pub struct Heap<'a> {
    /// Its objects and references.
    pub graph: &'a Graph<'a>,
    /// Who keeps what alive alone.
    pub dominators: &'a Dominators,
    /// What the roots keep alive.
    pub reachable: BitSet,
    /// Bytes of all that is reachable.
    pub bytes: u64,
    /// Who watches.
    pub progress: &'a dyn Progress,
}

impl<'a> Heap<'a> {
    /// Adds up what is reachable.
    pub fn new(
        graph: &'a Graph<'a>,
        dominators: &'a Dominators,
        progress: &'a dyn Progress,
    ) -> Self {
        let mut reachable = BitSet::new(graph.len() as usize);
        let mut bytes = 0;
        for (node, size) in (0..graph.len()).zip(graph.sizes()) {
            if dominators.is_reachable(node) {
                reachable.insert(node);
                bytes += size;
            }
        }
        Heap {
            graph,
            dominators,
            reachable,
            bytes,
            progress,
        }
    }
}

/// What rules ask about names and data structures.
pub trait Sets {
    /// What can go wrong while names are resolved.
    type Error: From<Cancelled>;

    /// The reachable objects of a set.
    fn objects(&mut self, set: &Set) -> Result<BitSet, Self::Error>;

    /// A figure of the data structure with this head, if it is one and the figure is known.
    fn of_structure(&mut self, measure: Measure, head: NodeId) -> Result<Option<f64>, Self::Error>;
}

/// What became of a rule.
pub enum Finding {
    /// Nothing is wrong.
    Holds,
    /// These objects should not be, or not be like this.
    Objects(Vec<NodeId>),
    /// More than one reference leads to each of these.
    Shared(Vec<(NodeId, Problem)>),
    /// Objects that were reached from where they must not be, with the ways to them.
    Reached(Vec<NodeId>, Reached),
    /// Objects with their figures, the worst first.
    Each(Vec<Each>),
    /// All objects together.
    Total(Total),
}

/// An object whose figure is not within the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Each {
    /// Which object.
    pub object: NodeId,
    /// Its figure.
    pub figure: f64,
}

/// Objects whose figure together is not within the limit.
pub struct Total {
    /// Their figure.
    pub figure: f64,
    /// Which objects.
    pub objects: BitSet,
}

/// Checks a rule on one heap. Growth cannot be told from one and holds.
pub fn check<S: Sets>(heap: &Heap, rule: &Rule, sets: &mut S) -> Result<Finding, S::Error> {
    Ok(match &rule.claim {
        Claim::Dead(what) => objects(sets.objects(what)?.iter().collect()),
        Claim::Unshared(what) => {
            let what = sets.objects(what)?;
            let sharing = Sharing::new(heap.graph, &heap.reachable, what.iter());
            let problem = |object| Some((object, sharing.problem(object)?));
            let shared: Vec<_> = what.iter().filter_map(problem).collect();
            match shared.is_empty() {
                true => Finding::Holds,
                false => Finding::Shared(shared),
            }
        }
        Claim::Owned { what, by } => {
            let (what, by) = (sets.objects(what)?, sets.objects(by)?);
            let reached = Data::new(heap.graph).reached(by.iter());
            objects(what.iter().filter(|&one| !reached.contains(one)).collect())
        }
        Claim::NotReachable {
            what,
            from,
            through,
        } => {
            let (what, from) = (sets.objects(what)?, sets.objects(from)?);
            let closed = match through {
                Some(through) => sets.objects(through)?,
                None => BitSet::new(what.capacity()),
            };
            let closed = closed.resized(heap.graph.len() as usize);
            let starts = from.iter().filter(|&start| !closed.contains(start));
            let reached = Data::new(heap.graph).without(&closed).reached(starts);
            let is_reached = |&one: &NodeId| reached.contains(one) && !from.contains(one);
            let wrong: Vec<NodeId> = what.iter().filter(is_reached).collect();
            match wrong.is_empty() {
                true => Finding::Holds,
                false => Finding::Reached(wrong, reached),
            }
        }
        Claim::PerOwner { what, owner, limit } => {
            let owners: Vec<NodeId> = sets.objects(owner)?.iter().collect();
            let what = sets.objects(what)?.resized(heap.graph.len() as usize);
            let counts = owned_by_each(heap.graph, &owners, &what, heap.progress)?;
            let figures = counts.into_iter().map(|count| count as f64);
            each(limit, owners.into_iter().zip(figures))
        }
        Claim::Measured(one) if one.growth.is_some() => Finding::Holds,
        Claim::Measured(one) if one.each => {
            let of = sets.objects(&one.of)?;
            each(&one.limit, figures(heap, one, &of, sets)?.into_iter())
        }
        Claim::Measured(one) => {
            let objects = sets.objects(&one.of)?;
            let figure = total(heap, one, &objects)?;
            match one.limit.allows(figure) {
                true => Finding::Holds,
                false => Finding::Total(Total { figure, objects }),
            }
        }
    })
}

/// The figure that the growth of is limited, in one heap.
pub fn figure<S: Sets>(heap: &Heap, of: &Measured, sets: &mut S) -> Result<f64, S::Error> {
    let objects = sets.objects(&of.of)?;
    Ok(total(heap, of, &objects)?)
}

fn objects(found: Vec<NodeId>) -> Finding {
    match found.is_empty() {
        true => Finding::Holds,
        false => Finding::Objects(found),
    }
}

/// Those beyond the limit, the worst first.
fn each(limit: &Limit, figures: impl Iterator<Item = (NodeId, f64)>) -> Finding {
    let beyond = figures.filter(|one| !limit.allows(one.1));
    let mut found: Vec<Each> = beyond
        .map(|(object, figure)| Each { object, figure })
        .collect();
    if found.is_empty() {
        return Finding::Holds;
    }
    let distance = |one: &Each| match limit.bound {
        Bound::AtMost => one.figure - limit.amount,
        Bound::AtLeast => limit.amount - one.figure,
        Bound::Exactly => (one.figure - limit.amount).abs(),
    };
    let worse = |a: &Each, b: &Each| distance(b).partial_cmp(&distance(a));
    found.sort_by(|a, b| {
        let worse = worse(a, b).unwrap_or(Ordering::Equal);
        worse.then(a.object.cmp(&b.object))
    });
    Finding::Each(found)
}

/// A figure of all objects together, in the unit of the limit.
fn total(heap: &Heap, of: &Measured, objects: &BitSet) -> Result<f64, Cancelled> {
    let graph = heap.graph;
    let share = of.limit.unit == Unit::PercentOfHeap;
    let bytes = match of.measure {
        Measure::Instances if !share => return Ok(objects.count() as f64),
        Measure::Retained => retained(heap, objects),
        Measure::Deep => {
            let members: Vec<NodeId> = objects.iter().collect();
            graph.totals(&transitive_closure(graph, &members)).bytes
        }
        _ => graph.totals(objects).bytes,
    };
    heap.progress.check()?;
    Ok(in_unit(heap, &of.limit, bytes as f64))
}

fn in_unit(heap: &Heap, limit: &Limit, bytes: f64) -> f64 {
    match limit.unit {
        Unit::PercentOfHeap if heap.bytes > 0 => bytes * 100.0 / heap.bytes as f64,
        _ => bytes,
    }
}

fn retained(heap: &Heap, objects: &BitSet) -> u64 {
    let mut members = objects.iter();
    match (members.next(), members.next()) {
        (None, _) => 0,
        (Some(only), None) => heap.dominators.retained(only),
        _ => {
            let members: Vec<NodeId> = objects.iter().collect();
            let closure = gc_closure_among(heap.graph, heap.reachable.clone(), &members);
            heap.graph.totals(&closure).bytes
        }
    }
}

/// A figure of each object; objects without one are left out.
fn figures<S: Sets>(
    heap: &Heap,
    of: &Measured,
    objects: &BitSet,
    sets: &mut S,
) -> Result<Vec<(NodeId, f64)>, S::Error> {
    let mut found = Vec::new();
    let deep = match of.measure {
        Measure::Deep => deep_of_each(heap, objects)?,
        _ => Vec::new(),
    };
    for (index, object) in objects.iter().enumerate() {
        let bytes = match of.measure {
            Measure::Elements | Measure::Capacity | Measure::Fill => {
                let figure = sets.of_structure(of.measure, object)?;
                found.extend(figure.map(|figure| (object, figure)));
                continue;
            }
            Measure::Instances => {
                found.push((object, 1.0));
                continue;
            }
            Measure::Retained => heap.dominators.retained(object),
            Measure::Deep => deep[index].bytes,
            Measure::Shallow => heap.graph.size(object),
        };
        found.push((object, in_unit(heap, &of.limit, bytes as f64)));
    }
    Ok(found)
}

/// What each object reaches, in their order.
fn deep_of_each(heap: &Heap, objects: &BitSet) -> Result<Vec<GroupTotals>, Cancelled> {
    let members: Vec<NodeId> = objects.iter().collect();
    let groups: Vec<Vec<u32>> = (0..members.len() as u32).map(|group| vec![group]).collect();
    let membership = Membership {
        label: |node| members.binary_search(&node).ok().map(|label| label as u32),
        groups_of_label: &groups,
        groups: groups.len(),
    };
    deep_by_groups(heap.graph, &membership, heap.progress)
}
