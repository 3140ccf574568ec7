//! Retained sizes of many object groups at once, exactly, by must-pass sets.
//!
//! A group retains an object if every path to it passes the group. So every object gets the set
//! of groups that all paths to it pass: its own and what all its live predecessors have in
//! common. Equal sets share one number and both operations are remembered, since a heap has
//! millions of objects but few distinct sets.

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};
use rustc_hash::FxHashMap;

use crate::depth_first::{DepthFirst, OtherPredecessors};
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
const RECENT: usize = 1 << 10;

/// What each of `groups` groups retains, where the groups of an object depend on its class:
/// `groups_of_class` has them by class, each ascending.
pub fn retained_by_groups(
    graph: &Graph,
    search: &mut DepthFirst,
    groups_of_class: &[Vec<u32>],
    groups: usize,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    progress.stage("computing what groups retain", search.len() as u64);
    // Lent for the time being: the sets take the place of the search's scratch memory.
    let mut must = std::mem::replace(&mut search.scratch, Buffer::zeroed(0));
    let search = &mut *search;
    let mut totals = vec![GroupTotals::default(); groups];
    // Halves, quarters and so on of all groups: one part as a rule.
    let all = 0..groups as u32;
    let mut parts = Vec::from([all]);
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
            order: &search.order,
            parent: &search.parent,
            postorder: &search.postorder,
            leaves: &search.leaves,
            others: search.other_predecessors(),
            groups_of_class: &within,
        };
        if !pass.run(&mut totals, &mut must, progress)? {
            let middle = part.start + (part.end - part.start) / 2;
            parts.extend([part.start..middle, middle..part.end]);
        }
    }
    search.scratch = must;
    progress.advance(search.len() as u64);
    Ok(totals)
}

struct Pass<'a> {
    graph: &'a Graph<'a>,
    order: &'a [u32],
    parent: &'a [u32],
    postorder: &'a [u32],
    leaves: &'a BitSet,
    others: OtherPredecessors<'a>,
    groups_of_class: &'a [Vec<u32>],
}

impl Pass<'_> {
    /// Adds what the groups retain to `totals`; `false` if the sets grow too large, which
    /// cannot happen for a single group.
    fn run(
        &self,
        totals: &mut [GroupTotals],
        must: &mut [SetId],
        progress: &dyn Progress,
    ) -> Result<bool, Cancelled> {
        let mut sets = Sets::new(self.groups_of_class, MAX_MEMBERS);
        if !self.must_pass(must, &mut sets, progress)? {
            return Ok(false);
        }
        let sums = self.sums(&mut sets, must);
        if sets.overfull() {
            return Ok(false);
        }
        for (set, sum) in sums.iter().enumerate() {
            for &group in sets.members(set as SetId) {
                totals[group as usize].objects += sum.objects;
                totals[group as usize].bytes += sum.bytes;
            }
        }
        Ok(true)
    }

    /// Fills in, by number of the search, the set of groups every path passes. `false` if the
    /// sets grow too large.
    fn must_pass(
        &self,
        must: &mut [SetId],
        sets: &mut Sets,
        progress: &dyn Progress,
    ) -> Result<bool, Cancelled> {
        must.fill(UNSET);
        must[0] = EMPTY;
        // Numbers some of whose predecessors had no set yet: after one round, only they and
        // what comes after them can be wrong.
        let mut doubtful = BitSet::new(must.len());
        for &number in self.postorder.iter().rev() {
            let (set, complete) = self.must_pass_one(number, must, sets);
            must[number as usize] = set;
            if !complete {
                doubtful.insert(number);
            }
        }
        let settled = doubtful
            .iter()
            .all(|number| self.must_pass_one(number, must, sets).0 == must[number as usize]);
        let mut changing = !settled;
        let mut changed_before = BitSet::new(must.len());
        while changing && !sets.overfull() {
            progress.check()?;
            changing = false;
            let mut changed = BitSet::new(must.len());
            for &number in self.postorder.iter().rev() {
                let moved = |from: u32| changed.contains(from) || changed_before.contains(from);
                let affected = doubtful.contains(number)
                    || moved(self.parent[number as usize])
                    || self.others.of(number).iter().any(|&from| moved(from));
                if affected {
                    let set = self.must_pass_one(number, must, sets).0;
                    if must[number as usize] != set {
                        must[number as usize] = set;
                        changed.insert(number);
                        changing = true;
                    }
                }
            }
            doubtful = BitSet::new(must.len());
            changed_before = changed;
        }
        Ok(!sets.overfull())
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
        let class = self.graph.class(self.order[number as usize]);
        (
            class.map_or(set, |class| sets.with_class(set, class)),
            complete,
        )
    }

    /// By set: how many objects have it, and their bytes.
    fn sums(&self, sets: &mut Sets, must: &[SetId]) -> Vec<GroupTotals> {
        let mut of_node = Buffer::filled(self.graph.len() as usize, UNSET);
        let of_node: &mut [SetId] = &mut of_node;
        for (&node, &set) in self.order.iter().zip(must.iter()).skip(1) {
            of_node[node as usize] = set;
        }
        let mut sums = Vec::new();
        let mut add = |set: SetId, size: u64| {
            if sums.len() <= set as usize {
                sums.resize(set as usize + 1, GroupTotals::default());
            }
            let sum: &mut GroupTotals = &mut sums[set as usize];
            sum.objects += 1;
            sum.bytes += size;
        };
        for (node, size) in (0..self.graph.len()).zip(self.graph.sizes()) {
            let set = of_node[node as usize];
            if set == UNSET {
                continue;
            }
            add(set, size);
            for &to in self.graph.references(node) {
                if self.leaves.contains(to) {
                    let with = self
                        .graph
                        .class(to)
                        .map_or(set, |class| sets.with_class(set, class));
                    add(with, self.graph.size(to));
                }
            }
        }
        sums
    }
}

/// Sets of groups, equal ones once.
struct Sets<'a> {
    groups_of_class: &'a [Vec<u32>],
    members: Vec<Box<[u32]>>,
    numbers: FxHashMap<Box<[u32]>, SetId>,
    with_class: FxHashMap<(SetId, u32), SetId>,
    /// The latest answers of `with_class`, by a few bits of the question.
    recent: Box<[(SetId, u32, SetId); RECENT]>,
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
            recent: Box::new([(UNSET, 0, 0); RECENT]),
            intersections: FxHashMap::default(),
            total_members: 0,
            max_members,
        };
        sets.number(Box::new([]));
        sets
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
        let slot = (set as usize).wrapping_mul(31).wrapping_add(class as usize) % RECENT;
        let recent = self.recent[slot];
        if (recent.0, recent.1) == (set, class) {
            return recent.2;
        }
        let with = match self.with_class.get(&(set, class)) {
            Some(&with) => with,
            None => self.make_with_class(set, class),
        };
        self.recent[slot] = (set, class, with);
        with
    }

    fn make_with_class(&mut self, set: SetId, class: u32) -> SetId {
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
