//! Retained sizes of many object groups at once, exactly, by must-pass sets.
//!
//! A group retains an object if every path to it passes the group. So every object gets the set
//! of groups that all paths to it pass: its own and what all its live predecessors have in
//! common. Equal sets share one number and both operations are remembered, since a heap has
//! millions of objects but few distinct sets.

use anthill_heap::{Cancelled, Progress};
use rustc_hash::FxHashMap;

use crate::depth_first::DepthFirst;
use crate::dominators::{Dominators, UNREACHABLE};
use crate::graph::Graph;

/// What a group keeps alive, itself included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    pub objects: u64,
    pub bytes: u64,
}

type SetId = u32;
const EMPTY: SetId = 0;
const UNSET: SetId = SetId::MAX;
/// More members than this in all sets together, and the groups are treated in parts.
const MAX_MEMBERS: usize = 1 << 26;

/// What each of `groups` groups retains, where the groups of an object depend on its class:
/// `groups_of_class` has them by class, each ascending.
pub fn retained_by_groups(
    graph: &Graph,
    search: &DepthFirst,
    dominators: &Dominators,
    groups_of_class: &[Vec<u32>],
    groups: usize,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    progress.stage("computing what groups retain", search.len() as u64);
    let mut totals = vec![GroupTotals::default(); groups];
    let mut parts = vec![0..groups as u32];
    while let Some(part) = parts.pop() {
        let within: Vec<Vec<u32>> = groups_of_class
            .iter()
            .map(|groups| {
                groups
                    .iter()
                    .copied()
                    .filter(|group| part.contains(group))
                    .collect()
            })
            .collect();
        let pass = Pass {
            graph,
            search,
            dominators,
            groups_of_class: &within,
        };
        if !pass.run(&mut totals, MAX_MEMBERS, progress)? {
            let middle = part.start + (part.end - part.start) / 2;
            parts.extend([part.start..middle, middle..part.end]);
        }
    }
    progress.advance(search.len() as u64);
    Ok(totals)
}

struct Pass<'a> {
    graph: &'a Graph<'a>,
    search: &'a DepthFirst,
    dominators: &'a Dominators,
    groups_of_class: &'a [Vec<u32>],
}

impl Pass<'_> {
    /// Adds what the groups retain to `totals`; `false` if the sets grow too large, which
    /// cannot happen for a single group.
    fn run(
        &self,
        totals: &mut [GroupTotals],
        max_members: usize,
        progress: &dyn Progress,
    ) -> Result<bool, Cancelled> {
        let mut sets = Sets::new(self.groups_of_class, max_members);
        let Some(must) = self.must_pass(&mut sets, progress)? else {
            return Ok(false);
        };
        let Some(sums) = self.sums(&mut sets, must) else {
            return Ok(false);
        };
        for (set, sum) in sums.iter().enumerate() {
            for &group in sets.members(set as SetId) {
                totals[group as usize].objects += sum.objects;
                totals[group as usize].bytes += sum.bytes;
            }
        }
        Ok(true)
    }

    /// By number of the search: the set of groups every path passes.
    fn must_pass(
        &self,
        sets: &mut Sets,
        progress: &dyn Progress,
    ) -> Result<Option<Vec<SetId>>, Cancelled> {
        let others = self.search.other_predecessors();
        let mut must = vec![UNSET; self.search.len()];
        must[0] = EMPTY;
        let mut first = true;
        loop {
            let (mut changed, mut incomplete) = (false, false);
            for &number in self.search.postorder.iter().rev() {
                let mut set = must[self.search.parent[number as usize] as usize];
                for &from in others(number) {
                    match must[from as usize] {
                        // Not seen yet: optimistically it takes nothing away.
                        UNSET => incomplete = true,
                        from if from != set => set = sets.intersection(set, from),
                        _ => {}
                    }
                }
                if let Some(class) = self.graph.class(self.search.order[number as usize]) {
                    set = sets.with_class(set, class);
                }
                changed |= must[number as usize] != set;
                must[number as usize] = set;
            }
            progress.check()?;
            if sets.overfull() {
                return Ok(None);
            }
            // Without an unseen predecessor in the first round, the first round was exact.
            if !changed || (first && !incomplete) {
                return Ok(Some(must));
            }
            first = false;
        }
    }

    /// By set: how many objects have it, and their bytes.
    fn sums(&self, sets: &mut Sets, must: Vec<SetId>) -> Option<Vec<GroupTotals>> {
        let mut of_node = vec![UNSET; self.graph.len() as usize];
        for (&node, &set) in self.search.order.iter().zip(&must).skip(1) {
            of_node[node as usize] = set;
        }
        drop(must);
        let mut sums = vec![GroupTotals::default(); sets.len()];
        let immediate: &[u32] = &self.dominators.immediate;
        for (node, size) in (0..self.graph.len()).zip(self.graph.sizes()) {
            let mut set = of_node[node as usize];
            if set == UNSET {
                let owner = immediate[node as usize];
                if owner == UNREACHABLE {
                    continue;
                }
                set = of_node[owner as usize];
                if let Some(class) = self.graph.class(node) {
                    set = sets.with_class(set, class);
                }
                if sums.len() < sets.len() {
                    sums.resize(sets.len(), GroupTotals::default());
                }
            }
            sums[set as usize].objects += 1;
            sums[set as usize].bytes += size;
        }
        (!sets.overfull()).then_some(sums)
    }
}

/// Sets of groups, equal ones once.
struct Sets<'a> {
    groups_of_class: &'a [Vec<u32>],
    members: Vec<Box<[u32]>>,
    numbers: FxHashMap<Box<[u32]>, SetId>,
    with_class: FxHashMap<(SetId, u32), SetId>,
    intersections: FxHashMap<(SetId, SetId), SetId>,
    total_members: usize,
    max_members: usize,
}

impl<'a> Sets<'a> {
    fn new(groups_of_class: &'a [Vec<u32>], max_members: usize) -> Self {
        let mut sets = Sets {
            groups_of_class,
            members: Vec::new(),
            numbers: FxHashMap::default(),
            with_class: FxHashMap::default(),
            intersections: FxHashMap::default(),
            total_members: 0,
            max_members,
        };
        sets.number(Box::new([]));
        sets
    }

    fn len(&self) -> usize {
        self.members.len()
    }

    fn members(&self, set: SetId) -> &[u32] {
        &self.members[set as usize]
    }

    /// With at most two sets, {} and one other, there is nothing left to split.
    fn overfull(&self) -> bool {
        self.total_members > self.max_members && self.members.len() > 2
    }

    fn number(&mut self, members: Box<[u32]>) -> SetId {
        if let Some(&set) = self.numbers.get(&members) {
            return set;
        }
        let set = self.members.len() as SetId;
        self.total_members += members.len();
        self.numbers.insert(members.clone(), set);
        self.members.push(members);
        set
    }

    #[inline]
    fn with_class(&mut self, set: SetId, class: u32) -> SetId {
        if let Some(&with) = self.with_class.get(&(set, class)) {
            return with;
        }
        let mut members = self.members(set).to_vec();
        members.extend_from_slice(&self.groups_of_class[class as usize]);
        members.sort_unstable();
        members.dedup();
        let with = self.number(members.into());
        self.with_class.insert((set, class), with);
        with
    }

    #[inline]
    fn intersection(&mut self, a: SetId, b: SetId) -> SetId {
        if a == EMPTY || b == EMPTY {
            return EMPTY;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&both) = self.intersections.get(&key) {
            return both;
        }
        let other = self.members(b);
        let both: Box<[u32]> = self
            .members(a)
            .iter()
            .copied()
            .filter(|g| other.binary_search(g).is_ok())
            .collect();
        let both = self.number(both);
        self.intersections.insert(key, both);
        both
    }
}
