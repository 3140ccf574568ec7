//! Which objects own which: whether references lead from one object to another, for hundreds of
//! thousands of pairs at once, and how many objects each of many owners has. Exactly.
//!
//! Ways end at class objects: static fields are roots of their own, and every class leads to its
//! loader and so to everything. Most pairs are near each other, so a short search from the first
//! object finds the second. What that leaves open is answered together: over the condensed graph
//! the set of owners that reach a component flows along the references, as in [`crate::deep`].

use std::rc::Rc;

use anthill_heap::{BitSet, Buffer, Cancelled, ClassKind, Progress};
use rustc_hash::FxHashMap;

use crate::components::Components;
use crate::graph::{Graph, NodeId};

/// Objects a search from one object may visit.
const SHORT: usize = 4_000;
/// Visits that all short searches may make, for each object of the heap.
const VISITS: usize = 3;
/// More members than this in all sets together, and the owners are treated in parts.
const MAX_MEMBERS: usize = 1 << 24;

/// References between objects: what an owner has.
pub struct Data<'a> {
    graph: &'a Graph<'a>,
    /// By class: whether its objects are class objects.
    is_mirror: Vec<bool>,
    /// Objects that ways do not go into.
    closed: Option<&'a BitSet>,
}

impl<'a> Data<'a> {
    /// The references of all objects.
    pub fn new(graph: &'a Graph<'a>) -> Self {
        let classes = graph.state.classes().iter();
        Data {
            graph,
            is_mirror: classes
                .map(|class| class.kind == ClassKind::Mirror)
                .collect(),
            closed: None,
        }
    }

    /// Ways do not go into these objects.
    pub fn without(self, closed: &'a BitSet) -> Self {
        Data {
            closed: Some(closed),
            ..self
        }
    }

    #[inline]
    fn ends(&self, node: NodeId) -> bool {
        let class = self.graph.class(node);
        class.is_none_or(|class| self.is_mirror[class as usize])
    }

    #[inline]
    fn enters(&self, node: NodeId) -> bool {
        self.closed.is_none_or(|closed| !closed.contains(node))
    }

    /// Where ways go on from a node.
    pub fn next(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let on = (!self.ends(node)).then(|| self.graph.referenced(node));
        on.into_iter().flatten().filter(|&to| self.enters(to))
    }

    fn components(&self, progress: &dyn Progress) -> Result<Components, Cancelled> {
        // An edge that does not count leads back to where it starts.
        let edge = |node, index| match self.ends(node) {
            true => None,
            false => {
                let to = self.graph.reference(node, index)?;
                Some(if self.enters(to) { to } else { node })
            }
        };
        Components::new(self.graph.len(), edge, progress)
    }

    /// All that some nodes reach, themselves included, and the node each was reached from.
    pub fn reached(&self, from: impl Iterator<Item = NodeId>) -> Reached {
        let mut reached = Reached {
            parent: Buffer::filled(self.graph.len() as usize, UNSEEN),
        };
        let parent: &mut [u32] = &mut reached.parent;
        let mut queue: Vec<NodeId> = Vec::new();
        for node in from {
            if parent[node as usize] == UNSEEN {
                parent[node as usize] = START;
                queue.push(node);
            }
        }
        let mut next = 0;
        while let Some(&node) = queue.get(next) {
            next += 1;
            for to in self.next(node) {
                if parent[to as usize] == UNSEEN {
                    parent[to as usize] = node;
                    queue.push(to);
                }
            }
        }
        reached
    }
}

const UNSEEN: u32 = u32::MAX;
const START: u32 = u32::MAX - 1;

/// What a search found, with a shortest way to each.
pub struct Reached {
    parent: Buffer<u32>,
}

impl Reached {
    /// Whether the search came to the node.
    pub fn contains(&self, node: NodeId) -> bool {
        self.parent[node as usize] != UNSEEN
    }

    /// The node before a node on the way to it, `Some(None)` if the search started there; `None` if
    /// it was not reached.
    pub fn before(&self, node: NodeId) -> Option<Option<NodeId>> {
        match self.parent[node as usize] {
            UNSEEN => None,
            START => Some(None),
            before => Some(Some(before)),
        }
    }

    /// The way to a node, from one of those the search started with; nothing if it was not reached.
    pub fn way(&self, node: NodeId) -> Vec<NodeId> {
        let mut way = Vec::new();
        let mut at = Some(node);
        while let Some(node) = at {
            let Some(before) = self.before(node) else {
                break;
            };
            way.push(node);
            at = before;
        }
        way.reverse();
        way
    }
}

/// By pair: whether references lead from its first object to its second. An object reaches itself.
pub fn reached_from(
    graph: &Graph,
    pairs: &[(NodeId, NodeId)],
    progress: &dyn Progress,
) -> Result<Vec<bool>, Cancelled> {
    reached_within(graph, pairs, SHORT, MAX_MEMBERS, progress)
}

pub(crate) fn reached_within(
    graph: &Graph,
    pairs: &[(NodeId, NodeId)],
    short: usize,
    max_members: usize,
    progress: &dyn Progress,
) -> Result<Vec<bool>, Cancelled> {
    progress.stage("finding owners", pairs.len() as u64);
    let mut by_owner: Vec<usize> = (0..pairs.len()).collect();
    by_owner.sort_unstable_by_key(|&pair| pairs[pair].0);
    let owners: Vec<&[usize]> = by_owner
        .chunk_by(|&a, &b| pairs[a].0 == pairs[b].0)
        .collect();
    let mut reached = vec![false; pairs.len()];
    // A single owner is searched to the end: nothing is cheaper.
    let limit = if owners.len() == 1 { usize::MAX } else { short };
    let data = Data::new(graph);
    let mut search = ShortSearch::new(&data, limit);
    let mut open = Vec::new();
    for of_owner in owners {
        progress.check()?;
        progress.advance(of_owner.len() as u64);
        if !search.run(pairs, of_owner, &mut reached) {
            open.extend(of_owner.iter().copied().filter(|&pair| !reached[pair]));
        }
    }
    drop(search);
    if !open.is_empty() {
        let components = data.components(progress)?;
        let flow = Flow {
            data: &data,
            components: &components,
            max_members,
        };
        let mut parts = vec![open];
        while let Some(part) = parts.pop() {
            progress.check()?;
            if !flow.pairs(pairs, &part, &mut reached) {
                parts.extend(halves(pairs, part));
            }
        }
    }
    Ok(reached)
}

/// By owner: how many of the `targets` references lead to from there, without going through another
/// owner. Owners ascend.
pub fn owned_by_each(
    graph: &Graph,
    owners: &[NodeId],
    targets: &BitSet,
    progress: &dyn Progress,
) -> Result<Vec<u64>, Cancelled> {
    owned_within(graph, owners, targets, SHORT, MAX_MEMBERS, progress)
}

pub(crate) fn owned_within(
    graph: &Graph,
    owners: &[NodeId],
    targets: &BitSet,
    short: usize,
    max_members: usize,
    progress: &dyn Progress,
) -> Result<Vec<u64>, Cancelled> {
    progress.stage("counting owned objects", u64::from(graph.len()));
    let mut closed = BitSet::new(graph.len() as usize);
    owners.iter().for_each(|&owner| closed.insert(owner));
    let data = Data::new(graph).without(&closed);
    let mut search = ShortSearch::new(&data, short);
    let mut counts = vec![0; owners.len()];
    let mut open = Vec::new();
    for (number, &owner) in owners.iter().enumerate() {
        if number % (1 << 14) == 0 {
            progress.check()?;
        }
        match search.count(owner, targets) {
            Some(count) => counts[number] = count,
            None => open.push(number),
        }
    }
    drop(search);
    if open.is_empty() {
        return Ok(counts);
    }
    let components = data.components(progress)?;
    let flow = Flow {
        data: &data,
        components: &components,
        max_members,
    };
    let leads_on = flow.leads_to(targets.iter());
    let all = 0..open.len();
    let mut parts = Vec::from([all]);
    while let Some(part) = parts.pop() {
        progress.check()?;
        let numbers = &open[part.clone()];
        let of_part: Vec<NodeId> = numbers.iter().map(|&number| owners[number]).collect();
        // By set, since many targets have the same owners.
        let mut sums: FxHashMap<*const u32, (OwnerSet, u64)> = FxHashMap::default();
        let complete = flow.run(&of_part, &leads_on, |members, set| {
            let counts = |&&node: &&NodeId| targets.contains(node) && !closed.contains(node);
            let number = members.iter().filter(counts).count() as u64;
            if number > 0 {
                let sum = sums.entry(set.as_ptr());
                sum.or_insert_with(|| (set.clone(), 0)).1 += number;
            }
        });
        if complete {
            for (set, sum) in sums.values() {
                set.iter()
                    .for_each(|&owner| counts[numbers[owner as usize]] += sum);
            }
        } else {
            let middle = part.start + part.len() / 2;
            parts.extend([part.start..middle, middle..part.end]);
        }
    }
    Ok(counts)
}

/// The pairs of one half of the owners and of the other.
fn halves(pairs: &[(NodeId, NodeId)], mut part: Vec<usize>) -> [Vec<usize>; 2] {
    let middle = pairs[part[part.len() / 2]].0;
    let first = pairs[part[0]].0;
    // Pairs come by owner; the owner in the middle may be the first one.
    let split = match middle == first {
        true => part.partition_point(|&pair| pairs[pair].0 == first),
        false => part.partition_point(|&pair| pairs[pair].0 < middle),
    };
    let rest = part.split_off(split);
    [part, rest]
}

/// Breadth-first searches that stop when all is found.
struct ShortSearch<'a> {
    data: &'a Data<'a>,
    limit: usize,
    /// Visits left for all searches together.
    left: usize,
    seen: BitSet,
    queue: Vec<NodeId>,
    wanted: FxHashMap<NodeId, Vec<usize>>,
}

impl<'a> ShortSearch<'a> {
    fn new(data: &'a Data<'a>, limit: usize) -> Self {
        let graph = data.graph;
        ShortSearch {
            data,
            limit,
            left: match limit {
                usize::MAX => usize::MAX,
                _ => VISITS * graph.len() as usize,
            },
            seen: BitSet::new(graph.len() as usize),
            queue: Vec::new(),
            wanted: FxHashMap::default(),
        }
    }

    /// Marks the pairs of one owner that are found; `false` if the search had to stop before
    /// it could tell about all of them.
    fn run(
        &mut self,
        pairs: &[(NodeId, NodeId)],
        of_owner: &[usize],
        reached: &mut [bool],
    ) -> bool {
        for &pair in of_owner {
            self.wanted.entry(pairs[pair].1).or_default().push(pair);
        }
        let owner = pairs[of_owner[0]].0;
        self.queue.push(owner);
        self.seen.insert(owner);
        // A collection of many elements is worth as many visits.
        let limit = self
            .limit
            .saturating_mul(1 + of_owner.len() / 256)
            .min(self.left);
        let mut next = 0;
        while next < self.queue.len() && next < limit && !self.wanted.is_empty() {
            let node = self.queue[next];
            next += 1;
            for pair in self.wanted.remove(&node).into_iter().flatten() {
                reached[pair] = true;
            }
            for to in self.data.next(node) {
                if self.seen.add(to) {
                    self.queue.push(to);
                }
            }
        }
        let complete = self.wanted.is_empty() || next == self.queue.len();
        self.wanted.clear();
        self.forget();
        complete
    }

    /// How many targets an owner leads to, itself not counted; `None` if the search had to stop
    /// before it could tell.
    fn count(&mut self, owner: NodeId, targets: &BitSet) -> Option<u64> {
        self.queue.push(owner);
        let limit = self.limit.min(self.left);
        let mut next = 0;
        while next < self.queue.len() && next < limit {
            let node = self.queue[next];
            next += 1;
            for to in self.data.next(node) {
                if self.seen.add(to) {
                    self.queue.push(to);
                }
            }
        }
        let reached = &self.queue[1..];
        let count = reached.iter().filter(|&&node| targets.contains(node));
        let count = (next == self.queue.len()).then(|| count.count() as u64);
        self.forget();
        count
    }

    /// Makes ready for the next search.
    fn forget(&mut self) {
        if self.left != usize::MAX {
            self.left = self.left.saturating_sub(self.queue.len());
        }
        self.queue.iter().for_each(|&node| self.seen.remove(node));
        self.queue.clear();
    }
}

/// Lets owners flow along the references.
struct Flow<'a> {
    data: &'a Data<'a>,
    components: &'a Components,
    max_members: usize,
}

impl Flow<'_> {
    /// Marks the pairs of a part, which come by owner; `false` if the sets of owners grow too large.
    fn pairs(&self, pairs: &[(NodeId, NodeId)], part: &[usize], reached: &mut [bool]) -> bool {
        let mut owners: Vec<NodeId> = part.iter().map(|&pair| pairs[pair].0).collect();
        owners.dedup();
        let leads_on = self.leads_to(part.iter().map(|&pair| pairs[pair].1));
        let mut ownees_in: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for &pair in part {
            let component = self.components.of(pairs[pair].1);
            ownees_in.entry(component).or_default().push(pair);
        }
        self.run(&owners, &leads_on, |members, set| {
            let component = self.components.of(members[0]);
            for &pair in ownees_in.get(&component).into_iter().flatten() {
                let number = owners.partition_point(|&owner| owner < pairs[pair].0) as u32;
                reached[pair] = set.binary_search(&number).is_ok();
            }
        })
    }

    /// Shows each component that leads on, with the owners that reach it, if there are any. `false`
    /// if the sets grow too large and there is more than one owner.
    fn run(
        &self,
        owners: &[NodeId],
        leads_on: &BitSet,
        mut show: impl FnMut(&[NodeId], &OwnerSet),
    ) -> bool {
        let mut owners_in: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        for (&owner, number) in owners.iter().zip(0..) {
            let component = self.components.of(owner);
            owners_in.entry(component).or_default().push(number);
        }
        let mut sets = OwnerSets::new(self.components.len());
        let mut total = 0;
        for members in self.components.iter().rev() {
            let component = self.components.of(members[0]);
            if !leads_on.contains(component as u32) {
                continue;
            }
            let own = owners_in.get(&component).map_or(&[][..], Vec::as_slice);
            let Some(set) = sets.arrived(component, own, &mut total) else {
                continue;
            };
            if total > self.max_members && owners.len() > 1 {
                return false;
            }
            show(members, &set);
            for to in members.iter().flat_map(|&node| self.data.next(node)) {
                let target = self.components.of(to);
                if target != component && leads_on.contains(target as u32) {
                    sets.send(target, &set);
                }
            }
        }
        true
    }

    /// The components from which references lead to one of the nodes, theirs included.
    fn leads_to(&self, nodes: impl Iterator<Item = NodeId>) -> BitSet {
        let mut leads = BitSet::new(self.components.len());
        nodes.for_each(|node| leads.insert(self.components.of(node) as u32));
        for members in self.components.iter() {
            let component = self.components.of(members[0]) as u32;
            let mut targets = members.iter().flat_map(|&node| self.data.next(node));
            if !leads.contains(component)
                && targets.any(|to| leads.contains(self.components.of(to) as u32))
            {
                leads.insert(component);
            }
        }
        leads
    }
}

type OwnerSet = Rc<[u32]>;

const NOTHING: u32 = u32::MAX;

/// The sets of owners that were sent to components, joined when a component's turn comes: joined
/// one by one, what many owners lead to would see a set for each number of owners.
struct OwnerSets {
    /// By component: the last set sent to it.
    last: Buffer<u32>,
    /// A set, and the one that was sent to the same component before.
    sent: Vec<(OwnerSet, u32)>,
}

impl OwnerSets {
    fn new(components: usize) -> Self {
        OwnerSets {
            last: Buffer::filled(components, NOTHING),
            sent: Vec::new(),
        }
    }

    fn send(&mut self, to: usize, set: &OwnerSet) {
        let last = self.last[to];
        let known = self.sent.get(last as usize);
        if known.is_some_and(|known| Rc::ptr_eq(&known.0, set)) {
            return;
        }
        self.last[to] = self.sent.len() as u32;
        self.sent.push((set.clone(), last));
    }

    /// All that was sent to a component and its own owners; adds the members of sets that are new.
    fn arrived(&mut self, at: usize, own: &[u32], total: &mut usize) -> Option<OwnerSet> {
        let mut next = self.last[at];
        let mut arrived: Vec<OwnerSet> = Vec::new();
        while let Some((set, before)) = self.sent.get(next as usize) {
            arrived.push(set.clone());
            next = *before;
        }
        if let ([only], []) = (arrived.as_slice(), own) {
            return Some(only.clone());
        }
        let members = arrived.iter().flat_map(|set| set.iter()).chain(own);
        let mut members: Vec<u32> = members.copied().collect();
        members.sort_unstable();
        members.dedup();
        if members.is_empty() {
            return None;
        }
        // Often one of the sets has all.
        if let Some(same) = arrived.into_iter().find(|set| set.len() == members.len()) {
            return Some(same);
        }
        *total += members.len();
        Some(members.into())
    }
}

#[cfg(test)]
mod tests {
    use anthill_heap::{HeapBuilder, HeapState, Quiet};

    use super::*;
    use crate::Convention;

    fn on(state: &HeapState, pairs: &[(NodeId, NodeId)]) -> Vec<bool> {
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(state, sizes, Convention::DEFAULT);
        reached_from(&graph, pairs, &Quiet).unwrap()
    }

    /// A search from each owner through all that it reaches would take hours on these heaps.
    #[test]
    fn many_owners_that_reach_much_cost_little() {
        const OWNERS: u32 = 8_000;
        let mut heap = HeapBuilder::new();
        let mut edges = String::new();
        for number in 0..OWNERS {
            heap.object(&format!("owner{number}"), "Owner", 16);
            heap.object(&format!("ownee{number}"), "Ownee", 16);
            heap.object(&format!("stray{number}"), "Ownee", 16);
            if number > 0 {
                edges += &format!("owner{} -> owner{number},", number - 1);
            }
        }
        heap.object("hub", "Hub", 16);
        // Each owner leads to all after it, the last one to a hub with all ownees.
        edges += &format!("owner{} -> hub", OWNERS - 1);
        for number in 0..OWNERS {
            edges += &format!(", hub -> ownee{number}");
        }
        heap.edges(&edges);
        let state = heap.build();
        let (owner, ownee, stray) = (|n: u32| 3 * n, |n: u32| 3 * n + 1, |n: u32| 3 * n + 2);
        let numbers = || 0..OWNERS;
        let owned: Vec<_> = numbers()
            .map(|n| (owner(n), ownee(OWNERS - 1 - n)))
            .collect();
        assert!(on(&state, &owned).iter().all(|&reached| reached));
        let lost: Vec<_> = numbers().map(|n| (owner(n), stray(n))).collect();
        assert!(!on(&state, &lost).iter().any(|&reached| reached));
        let chain: Vec<_> = numbers().map(|n| (owner(n), owner(OWNERS / 2))).collect();
        let before = on(&state, &chain)
            .iter()
            .filter(|&&reached| reached)
            .count();
        assert_eq!(before as u32, OWNERS / 2 + 1);
    }

    #[test]
    fn one_owner_of_very_many_is_searched_once() {
        const OWNEES: u32 = 200_000;
        let mut heap = HeapBuilder::new();
        heap.object("owner", "Owner", 16);
        heap.object("array", "Array", 16);
        heap.edges("owner -> array");
        let mut edges = String::from("array ->");
        for number in 0..OWNEES {
            heap.object(&format!("o{number}"), "Ownee", 16);
            if number % 2 == 0 {
                edges += &format!(" o{number}");
            }
        }
        heap.edges(&edges);
        let pairs: Vec<_> = (0..OWNEES).map(|number| (0, number + 2)).collect();
        let reached = on(&heap.build(), &pairs);
        let expected = (0..OWNEES).map(|number| number % 2 == 0);
        assert!(reached.into_iter().eq(expected));
    }
}
