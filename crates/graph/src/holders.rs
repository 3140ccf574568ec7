//! Who holds an object: every node that refers to it and can be reached without it.

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};

use crate::dominators::{Dominators, UNREACHABLE, bottom_up};
use crate::graph::{Graph, NodeId};
use crate::paths::Paths;

const STEPS: NodeId = 1 << 16;

/// How many of the reachable `targets` have a holder besides the one before them on their path, or
/// besides the root if they are one. Each target counts once.
pub fn held_otherwise(
    graph: &Graph,
    dominators: &Dominators,
    paths: &Paths,
    targets: &[NodeId],
    progress: &dyn Progress,
) -> Result<u64, Cancelled> {
    progress.stage("finding other holders", u64::from(graph.len()));
    // What does not dominate a target, although it is before it, is not all that leads there.
    let is_plain = |target: NodeId| match paths.before(target) {
        Some(Some(before)) => dominators.immediate[target as usize] != before,
        _ => false,
    };
    let mut left = BitSet::new(graph.len() as usize);
    targets.iter().for_each(|&target| left.insert(target));
    let all = left.count();
    let plain = targets.iter().filter(|&&target| is_plain(target));
    plain.for_each(|&target| left.remove(target));
    if !left.is_empty() {
        remove_held(graph, dominators, paths, &mut left, progress)?;
    }
    Ok((all - left.count()) as u64)
}

/// Removes the targets that have a holder besides the one before them on their path.
fn remove_held(
    graph: &Graph,
    dominators: &Dominators,
    paths: &Paths,
    targets: &mut BitSet,
    progress: &dyn Progress,
) -> Result<(), Cancelled> {
    let mut keeps_others = BitSet::new(graph.len() as usize);
    let above = dominators.immediate.iter();
    above.for_each(|&above| keeps_others.insert(above));
    // Where a target that keeps others alive is held by one that it may keep alive itself.
    let mut doubtful = Vec::new();
    for from in 0..graph.len() {
        if from % STEPS == 0 {
            progress.check()?;
            progress.advance(STEPS.into());
        }
        if !dominators.is_reachable(from) {
            continue;
        }
        for to in graph.successors(from) {
            if !targets.contains(to) || to == from || paths.before(to) == Some(Some(from)) {
                continue;
            }
            if keeps_others.contains(to) {
                doubtful.push((from, to));
            } else {
                targets.remove(to);
            }
        }
    }
    if !doubtful.is_empty() {
        let below = Subtrees::new(&dominators.immediate);
        for (from, to) in doubtful {
            if !below.contains(to, from) {
                targets.remove(to);
            }
        }
    }
    Ok(())
}

/// The dominator tree, numbered so that what a node dominates has consecutive numbers.
struct Subtrees {
    /// By node: its number, and how many it dominates, itself included.
    first: Buffer<u32>,
    size: Buffer<u32>,
}

impl Subtrees {
    fn new(immediate: &[u32]) -> Self {
        let nodes = immediate.len();
        let mut size = Buffer::filled(nodes, 1);
        let mut order = Vec::with_capacity(nodes);
        bottom_up(immediate, |node, above| {
            order.push(node);
            if above < UNREACHABLE {
                size[above as usize] += size[node as usize];
            }
        });
        let (mut first, mut next) = (Buffer::zeroed(nodes), Buffer::zeroed(nodes));
        let mut tops = 0;
        for node in order.into_iter().rev() {
            let place = match immediate[node as usize] {
                above if above < UNREACHABLE => &mut next[above as usize],
                _ => &mut tops,
            };
            let number = *place;
            *place += size[node as usize];
            first[node as usize] = number;
            next[node as usize] = number + 1;
        }
        Subtrees { first, size }
    }

    /// Whether a node is another one or dominated by it.
    fn contains(&self, top: NodeId, node: NodeId) -> bool {
        let after = self.first[node as usize].checked_sub(self.first[top as usize]);
        after.is_some_and(|after| after < self.size[top as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anthill_heap::Quiet;

    use super::*;
    use crate::DepthFirst;
    use crate::brute_force::{on_random_heaps, reach};

    /// All that refer to a node and are reached without it.
    fn holders(graph: &Graph, node: NodeId) -> BTreeSet<NodeId> {
        let without = reach(graph, &BTreeSet::from([node]));
        let holds = |from: &NodeId| graph.successors(*from).any(|to| to == node);
        without.into_iter().filter(holds).collect()
    }

    #[test]
    fn other_holders_are_those_that_a_search_without_the_object_reaches() {
        let (mut several, mut dominated) = (0, 0);
        on_random_heaps(|graph, seed| {
            let search = DepthFirst::new(graph, &Quiet).unwrap();
            let dominators = Dominators::new(graph, search, &Quiet).unwrap();
            let paths = Paths::search(graph, &[], &Quiet).unwrap();
            let targets: Vec<NodeId> = (0..graph.len())
                .filter(|&node| dominators.is_reachable(node))
                .collect();
            let is_held = |&&target: &&NodeId| {
                let mut holders = holders(graph, target);
                let before = paths.before(target).unwrap();
                before.map(|before| holders.remove(&before));
                let immediate = dominators.immediate[target as usize];
                dominated += u64::from(!holders.is_empty() && Some(immediate) == before);
                !holders.is_empty()
            };
            let expected = targets.iter().filter(is_held).count() as u64;
            let found = held_otherwise(graph, &dominators, &paths, &targets, &Quiet).unwrap();
            assert_eq!(found, expected, "seed {seed}");
            several += found;
        });
        assert!(several > 1000 && dominated > 100, "{several}, {dominated}");
    }

    #[test]
    fn a_search_around_an_object_reaches_what_is_reached_without_it() {
        on_random_heaps(|graph, seed| {
            let around = seed as NodeId % graph.len();
            let paths = Paths::search_around(graph, Some(around), &[], &Quiet).unwrap();
            let expected = reach(graph, &BTreeSet::from([around]));
            for node in 0..graph.len() {
                let path = paths.to(node);
                assert_eq!(path.is_some(), expected.contains(&node), "seed {seed}");
                let Some(path) = path else { continue };
                assert!(
                    !path.contains(&around) && graph.is_root(path[0]),
                    "seed {seed}"
                );
                let is_step = |pair: &[NodeId]| graph.successors(pair[0]).any(|to| to == pair[1]);
                assert!(path.windows(2).all(is_step), "seed {seed}");
            }
        });
    }
}
