//! Retained sizes of many object groups at once, exactly, by must-pass sets.
//!
//! A group retains an object if every path to it passes the group. So every object gets the set
//! of groups that all paths to it pass: its own and what all its live predecessors have in
//! common. Equal sets share one number and both operations are remembered, since a heap has
//! millions of objects but few distinct sets.

use crate::depth_first::{DepthFirst, OtherPredecessors};
use crate::graph::{Graph, NodeId};
use crate::sets::{EMPTY, SetId, Sets, Sums, UNSET};
use std::collections::VecDeque;

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// What a group keeps alive, itself included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    /// How many objects.
    pub objects: u64,
    /// Their shallow sizes.
    pub bytes: u64,
}

impl GroupTotals {
    /// One object of so many bytes.
    #[inline]
    pub(crate) fn one(bytes: u64) -> Self {
        GroupTotals { objects: 1, bytes }
    }
}

/// Which groups each object belongs to. Objects with the same label belong to the same groups;
/// one without a label belongs to none.
pub struct Membership<'a, L> {
    /// The label of an object, if it has one.
    pub label: L,
    /// By label: its groups, ascending.
    pub groups_of_label: &'a [Vec<u32>],
    /// How many groups there are.
    pub groups: usize,
}

/// What each group retains.
pub fn retained_by_groups<L: Fn(NodeId) -> Option<u32> + Copy + Sync>(
    graph: &Graph,
    search: &mut DepthFirst,
    membership: &Membership<L>,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    progress.stage("computing retained sizes of groups", search.len() as u64);
    // Lent for the time being: the sets take the place of the search's scratch memory.
    let mut must = std::mem::replace(&mut search.scratch, Buffer::zeroed(0));
    let pass = Pass {
        graph,
        order: &search.order,
        parent: &search.parent,
        postorder: &search.postorder,
        leaves: &search.leaves,
        others: search.other_predecessors(),
        label: membership.label,
        progress,
    };
    let totals = membership
        .in_parts(|groups_of_label, totals| pass.run(groups_of_label, &mut must, totals))?;
    search.scratch = must;
    progress.advance(search.len() as u64);
    Ok(totals)
}

impl<L> Membership<'_, L> {
    /// Runs `pass` for all groups, or if it finds their sets too large, for halves, quarters
    /// and so on of them: a single group never is. It is given the groups of each label and adds
    /// to the totals of the groups.
    pub(crate) fn in_parts(
        &self,
        mut pass: impl FnMut(&[Vec<u32>], &mut [GroupTotals]) -> Result<bool, Cancelled>,
    ) -> Result<Vec<GroupTotals>, Cancelled> {
        let mut totals = vec![GroupTotals::default(); self.groups];
        let all = 0..self.groups as u32;
        let mut parts = Vec::from([all]);
        while let Some(part) = parts.pop() {
            let keep = |groups: &Vec<u32>| {
                groups
                    .iter()
                    .copied()
                    .filter(|group| part.contains(group))
                    .collect()
            };
            let within: Vec<Vec<u32>> = self.groups_of_label.iter().map(keep).collect();
            if !pass(&within, &mut totals)? {
                let middle = part.start + (part.end - part.start) / 2;
                parts.extend([part.start..middle, middle..part.end]);
            }
        }
        Ok(totals)
    }
}

struct Pass<'a, L> {
    graph: &'a Graph<'a>,
    order: &'a [u32],
    parent: &'a [u32],
    postorder: &'a [u32],
    leaves: &'a BitSet,
    others: OtherPredecessors<'a>,
    label: L,
    progress: &'a dyn Progress,
}

impl<L: Fn(NodeId) -> Option<u32> + Sync> Pass<'_, L> {
    /// Adds what the groups retain to `totals`; `false` if the sets grow too large.
    fn run(
        &self,
        groups_of_label: &[Vec<u32>],
        must: &mut [SetId],
        totals: &mut [GroupTotals],
    ) -> Result<bool, Cancelled> {
        let mut sets = Sets::new(groups_of_label);
        if !self.must_pass(must, &mut sets)? {
            return Ok(false);
        }
        let sums = self.sums(&mut sets, must);
        if sets.overfull() {
            return Ok(false);
        }
        sums.spread(&sets, totals);
        Ok(true)
    }

    /// Fills in, by number of the search, the set of groups every path passes. `false` if the
    /// sets grow too large.
    fn must_pass(&self, must: &mut [SetId], sets: &mut Sets) -> Result<bool, Cancelled> {
        must.fill(UNSET);
        must[0] = EMPTY;
        // Numbers some of whose predecessors had no set yet: after one round, only they and
        // what comes after them can be wrong.
        let mut doubtful = BitSet::new(must.len());
        for &number in self.postorder.iter().rev() {
            let (set, complete) = self.must_pass_one(number, must, sets);
            must[number as usize] = set;
            if sets.overfull() {
                return Ok(false);
            }
            if !complete {
                doubtful.insert(number);
            }
        }
        let mut changed = VecDeque::new();
        for number in doubtful.iter() {
            let set = self.must_pass_one(number, must, sets).0;
            if set != must[number as usize] {
                must[number as usize] = set;
                changed.push_back(number);
            }
        }
        if changed.is_empty() {
            Ok(true)
        } else {
            self.settle(must, sets, changed)
        }
    }

    /// Takes away from successors what a number no longer has, until nothing changes. Sets only
    /// shrink, so an edge is followed as often as its source changes: rarely more than twice.
    fn settle(
        &self,
        must: &mut [SetId],
        sets: &mut Sets,
        mut changed: VecDeque<u32>,
    ) -> Result<bool, Cancelled> {
        let mut numbers = Buffer::zeroed(self.graph.len() as usize);
        let number_of: &mut [u32] = &mut numbers;
        for (&node, number) in self.order.iter().zip(0..).skip(1) {
            number_of[node as usize] = number;
        }
        let mut waiting = BitSet::new(must.len());
        changed.iter().for_each(|&number| waiting.insert(number));
        let mut steps = 0u32;
        while let Some(number) = changed.pop_front() {
            waiting.remove(number);
            steps = steps.wrapping_add(1);
            if steps % (1 << 16) == 0 {
                self.progress.check()?;
            }
            let set = must[number as usize];
            for to in self.graph.successors(self.order[number as usize]) {
                let target = number_of[to as usize];
                // Leaves have no number, and nothing is taken away from roots.
                if target == 0 || self.graph.is_root(to) {
                    continue;
                }
                let left = sets.intersection(must[target as usize], set);
                let left = (self.label)(to).map_or(left, |label| sets.with_label(left, label));
                if left != must[target as usize] {
                    must[target as usize] = left;
                    if waiting.add(target) {
                        changed.push_back(target);
                    }
                }
            }
            if sets.overfull() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The set of one number as its predecessors are now, and whether they all have one.
    #[inline]
    fn must_pass_one(&self, number: u32, must: &[SetId], sets: &mut Sets) -> (SetId, bool) {
        let mut set = must[self.parent[number as usize] as usize];
        let mut complete = true;
        for &from in self.others.of(number) {
            match must[from as usize] {
                // Optimistically it takes nothing away.
                UNSET => complete = false,
                from if from != set => set = sets.intersection(set, from),
                _ => {}
            }
        }
        let label = (self.label)(self.order[number as usize]);
        (
            label.map_or(set, |label| sets.with_label(set, label)),
            complete,
        )
    }

    /// By set: how many objects have it, and their bytes.
    fn sums(&self, sets: &mut Sets, must: &[SetId]) -> Sums {
        let mut of_node = Buffer::filled(self.graph.len() as usize, UNSET);
        let of_node: &mut [SetId] = &mut of_node;
        for (&node, &set) in self.order.iter().zip(must.iter()).skip(1) {
            of_node[node as usize] = set;
        }
        let counted = of_node
            .par_chunks(CHUNK)
            .enumerate()
            .fold(Counted::default, |counted, (chunk, sets)| {
                self.count((chunk * CHUNK) as NodeId, sets, counted)
            })
            .reduce(Counted::default, Counted::joined);
        let mut sums = counted.own;
        for ((set, label), totals) in counted.leaves {
            if sets.overfull() {
                break;
            }
            sums.add(sets.with_label(set, label), totals);
        }
        sums
    }

    /// Counts consecutive nodes, from `start` on, that have these sets.
    fn count(&self, start: NodeId, sets: &[SetId], mut counted: Counted) -> Counted {
        for (node, &set) in (start..).zip(sets).filter(|(_, set)| **set != UNSET) {
            counted.own.add(set, self.one(node));
            for &to in self.graph.references(node) {
                if self.leaves.contains(to) {
                    match (self.label)(to) {
                        Some(label) => counted.add_leaf(set, label, self.one(to)),
                        None => counted.own.add(set, self.one(to)),
                    }
                }
            }
        }
        counted
    }

    #[inline]
    fn one(&self, node: NodeId) -> GroupTotals {
        GroupTotals::one(self.graph.size(node))
    }
}

/// Nodes that are counted at a time.
const CHUNK: usize = 1 << 17;

/// What was counted so far: by set, and of leaves by the set of their referrer and their label.
#[derive(Default)]
struct Counted {
    own: Sums,
    leaves: FxHashMap<(SetId, u32), GroupTotals>,
}

impl Counted {
    #[inline]
    fn add_leaf(&mut self, set: SetId, label: u32, totals: GroupTotals) {
        let sum = self.leaves.entry((set, label)).or_default();
        sum.objects += totals.objects;
        sum.bytes += totals.bytes;
    }

    fn joined(mut self, other: Counted) -> Self {
        self.own.join(&other.own);
        for ((set, label), totals) in other.leaves {
            self.add_leaf(set, label, totals);
        }
        self
    }
}
