//! What each thread keeps alive: all that becomes unreachable if the roots of the thread go, its
//! object and its local variables, while everything else stays.
//!
//! That is what can be reached from roots of this thread and from no other root. So one search
//! marks what other roots reach, and one search from each thread labels the rest: a node is labelled
//! twice at most, with its first thread and as held by several.

use anthill_heap::{BitSet, Buffer, Cancelled, Progress};

use crate::graph::{EdgeKind, Graph, NodeId};
use crate::groups::GroupTotals;

/// The label of nodes that no thread reached. Thread number `n` is `n + 1`.
const NONE: u32 = 0;
const SEVERAL: u32 = u32::MAX;
const STEPS: u64 = 1 << 16;

/// By thread, in the order of [`anthill_heap::Tables::threads`]: what only its roots keep alive.
pub fn kept_by_threads(
    graph: &Graph,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    progress.stage(
        "finding the memory that threads keep alive",
        u64::from(graph.len()),
    );
    let tables = &graph.state.tables;
    let mut of_threads: Vec<Vec<NodeId>> = vec![Vec::new(); tables.threads.len()];
    for root in &tables.roots {
        if let Some(thread) = root.thread {
            of_threads[thread as usize].push(root.object);
        }
    }
    let mut search = Search {
        graph,
        progress,
        steps: 0,
        held_otherwise: BitSet::new(graph.len() as usize),
        label: Buffer::filled(graph.len() as usize, NONE),
        kept: vec![GroupTotals::default(); of_threads.len()],
        work: Vec::new(),
    };
    search.mark_held_otherwise()?;
    for (thread, roots) in (0..).zip(&of_threads) {
        search.label_from(thread, roots)?;
    }
    Ok(search.kept)
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    progress: &'a dyn Progress,
    steps: u64,
    /// What can be reached from roots that belong to no thread.
    held_otherwise: BitSet,
    /// By node: who reaches it.
    label: Buffer<u32>,
    kept: Vec<GroupTotals>,
    work: Vec<NodeId>,
}

impl Search<'_> {
    fn mark_held_otherwise(&mut self) -> Result<(), Cancelled> {
        let graph = self.graph;
        let others = graph.roots_without_thread();
        self.work
            .extend(others.filter(|&node| self.held_otherwise.add(node)));
        while let Some(node) = self.work.pop() {
            self.step()?;
            let next = successors(graph, node).filter(|&to| self.held_otherwise.add(to));
            self.work.extend(next);
        }
        Ok(())
    }

    fn label_from(&mut self, thread: u32, roots: &[NodeId]) -> Result<(), Cancelled> {
        let graph = self.graph;
        roots.iter().for_each(|&root| self.visit(root, thread));
        while let Some(node) = self.work.pop() {
            self.step()?;
            successors(graph, node).for_each(|to| self.visit(to, thread));
        }
        Ok(())
    }

    /// Labels a node; what it leads to is visited if that says something new.
    fn visit(&mut self, node: NodeId, thread: u32) {
        let own = thread + 1;
        let label = self.label[node as usize];
        if label == own || label == SEVERAL || self.held_otherwise.contains(node) {
            return;
        }
        let bytes = self.graph.size(node);
        if label == NONE {
            self.label[node as usize] = own;
            let kept = &mut self.kept[thread as usize];
            kept.objects += 1;
            kept.bytes += bytes;
        } else {
            self.label[node as usize] = SEVERAL;
            let kept = &mut self.kept[label as usize - 1];
            kept.objects -= 1;
            kept.bytes -= bytes;
        }
        self.work.push(node);
    }

    fn step(&mut self) -> Result<(), Cancelled> {
        self.steps += 1;
        if self.steps % STEPS == 0 {
            self.progress.check()?;
            self.progress.advance(STEPS);
        }
        Ok(())
    }
}

/// What a node keeps alive, without the locals that MAT's view has a thread hold: they are roots of
/// the thread.
fn successors<'a>(graph: &'a Graph, node: NodeId) -> impl Iterator<Item = NodeId> + 'a {
    let edges = graph.edges(node);
    edges
        .filter(|edge| edge.1 != EdgeKind::Local)
        .map(|edge| edge.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anthill_heap::{CLASS_LOADER, HeapBuilder, HeapState, Quiet, Root, RootOrigin, Thread};
    use fastrand::Rng;

    use super::*;
    use crate::Convention;

    /// Up to 20 objects, held by up to four threads and other roots; some threads are no objects.
    fn random_heap(seed: u64) -> HeapState {
        let mut random = Rng::with_seed(seed);
        let mut heap = HeapBuilder::new();
        heap.class(CLASS_LOADER, 16);
        heap.class_object("class", "Node");
        let count = 1 + random.usize(..20);
        let names: Vec<String> = (0..count).map(|number| format!("o{number}")).collect();
        heap.objects(&names.join(" "), "Node", 16);
        for _ in 0..random.usize(..2 * count) {
            let (from, to) = (random.usize(..count), random.usize(..count));
            heap.edges(&format!("o{from} -> o{to}"));
        }
        for _ in 0..random.usize(..2) {
            heap.root(&names[random.usize(..count)]);
        }
        let mut state = heap.build();
        let mut object = || heap.id(&names[random.usize(..count)]);
        for thread in 0..1 + seed as u32 % 4 {
            let of_thread = (seed / 4 % 3 > 0).then(&mut object);
            state.tables.threads.push(Thread {
                serial: thread,
                object: of_thread,
                name: None,
                trace: None,
            });
            let own = of_thread.map(|object| (object, RootOrigin::ThreadObject));
            let locals = (0..seed % 3).map(|_| (object(), RootOrigin::JavaFrame));
            let roots = own.into_iter().chain(locals.collect::<Vec<_>>());
            state
                .tables
                .roots
                .extend(roots.map(|(object, origin)| Root {
                    object,
                    origin,
                    thread: Some(thread),
                    frame: None,
                }));
        }
        state
    }

    /// What is reached if the roots of a thread are left out, or none.
    fn reached(graph: &Graph, without: Option<u32>) -> BTreeSet<NodeId> {
        let roots = graph.state.tables.roots.iter();
        let left = roots.filter(|root| without.is_none() || root.thread != without);
        let mut work: Vec<NodeId> = left.map(|root| root.object).collect();
        work.extend(graph.system_loader());
        let mut seen = BTreeSet::new();
        while let Some(node) = work.pop() {
            if seen.insert(node) {
                let edges = graph.edges(node);
                let kept = edges.filter(|(_, kind)| *kind != EdgeKind::Local);
                work.extend(kept.map(|(to, _)| to));
            }
        }
        seen
    }

    #[test]
    fn threads_keep_what_dies_with_their_roots() {
        let (mut shared, mut kept) = (0, 0);
        for seed in 0..6000 {
            let state = random_heap(seed);
            let convention = Convention {
                mat: seed % 5 == 0,
                ..Convention::DEFAULT
            };
            let sizes = state.tables.sizes.as_ref().unwrap();
            let graph = Graph::new(&state, sizes, convention);
            let all = reached(&graph, None);
            let found = kept_by_threads(&graph, &Quiet).unwrap();
            for (thread, found) in (0..).zip(found) {
                let left = reached(&graph, Some(thread));
                let freed: Vec<NodeId> = all.difference(&left).copied().collect();
                let expected = GroupTotals {
                    objects: freed.len() as u64,
                    bytes: freed.iter().map(|&node| graph.size(node)).sum(),
                };
                assert_eq!(found, expected, "seed {seed}, thread {thread}");
                kept += usize::from(!freed.is_empty());
                shared += usize::from(freed.is_empty());
            }
        }
        assert!(kept > 1000 && shared > 1000, "{kept}, {shared}");
    }
}
