//! Reachability and the closures of one group (Weninger et al. 2018, section 3.2).

use anthill_heap::BitSet;

use crate::dominators::Dominators;
use crate::graph::{Graph, NodeId};
use crate::groups::GroupTotals;

/// All nodes that can be reached from the roots.
pub fn reachable(graph: &Graph) -> BitSet {
    let mut seen = BitSet::new(graph.len() as usize);
    spread(graph, &mut seen, graph.roots().iter().copied());
    seen
}

/// All that a group reaches through references, itself included; see [`Graph::referenced`].
pub fn transitive_closure(graph: &Graph, group: &[NodeId]) -> BitSet {
    let mut seen = BitSet::new(graph.len() as usize);
    let mut work: Vec<NodeId> = group
        .iter()
        .copied()
        .filter(|&node| seen.add(node))
        .collect();
    while let Some(node) = work.pop() {
        work.extend(graph.referenced(node).filter(|&to| seen.add(to)));
    }
    seen
}

/// All that would die with a group: what is reachable, but not without it.
pub fn gc_closure(graph: &Graph, group: &[NodeId]) -> BitSet {
    gc_closure_among(graph, reachable(graph), group)
}

/// The same if all that is reachable is known: costs only what does not die.
pub fn gc_closure_among(graph: &Graph, reachable: BitSet, group: &[NodeId]) -> BitSet {
    let mut closure = reachable;
    let mut without = BitSet::new(graph.len() as usize);
    for &node in group {
        without.insert(node);
    }
    let members = without.clone();
    spread(graph, &mut without, graph.roots().iter().copied());
    without.subtract(&members);
    closure.subtract(&without);
    closure
}

/// All that would die if every reference from one group to another were cut.
pub fn cut_closure(graph: &Graph, reachable: BitSet, from: &BitSet, to: &BitSet) -> BitSet {
    let mut without = BitSet::new(graph.len() as usize);
    let roots = graph.roots().iter().copied();
    let mut work: Vec<NodeId> = roots.filter(|&node| without.add(node)).collect();
    while let Some(node) = work.pop() {
        let is_cut = from.contains(node);
        let next = graph.successors(node);
        let next = next.filter(|&next| !(is_cut && to.contains(next)) && without.add(next));
        work.extend(next);
    }
    let mut closure = reachable;
    closure.subtract(&without);
    closure
}

/// Adds `starts` and what they reach to `seen`; what is in it already is not passed.
fn spread(graph: &Graph, seen: &mut BitSet, starts: impl Iterator<Item = NodeId>) {
    let mut work: Vec<NodeId> = starts.filter(|&node| seen.add(node)).collect();
    while let Some(node) = work.pop() {
        work.extend(graph.successors(node).filter(|&to| seen.add(to)));
    }
}

/// What is not kept alive, but reached through references that do not keep alive: objects
/// and bytes.
pub fn weakly_reachable(graph: &Graph, dominators: &Dominators) -> GroupTotals {
    let columns = &graph.state.columns;
    let mut seen = BitSet::new(graph.len() as usize);
    let pairs = columns
        .referrers_by_referent
        .iter()
        .zip(columns.referents.iter());
    let mut work: Vec<NodeId> = pairs
        .filter(|&(&from, &to)| dominators.is_reachable(from) && !dominators.is_reachable(to))
        .map(|(_, &to)| to)
        .filter(|&to| seen.add(to))
        .collect();
    let mut totals = GroupTotals::default();
    while let Some(node) = work.pop() {
        totals.objects += 1;
        totals.bytes += graph.size(node);
        let weakly = graph.state.referent(node).map(|(to, _)| to);
        let next = graph.successors(node).chain(weakly);
        work.extend(next.filter(|&to| !dominators.is_reachable(to) && seen.add(to)));
    }
    totals
}
