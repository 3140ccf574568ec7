//! Local variables that own nothing: they refer to objects that are alive without them.
//!
//! While a method of a map runs, its frame holds the map, the table and an entry. All three are roots then,
//! and none of them is dominated by the static field that owns the map. Without these roots it is.

use anthill_heap::{BitSet, Cancelled, Progress, Root, RootOrigin};

use crate::graph::{Graph, NodeId};

const STEPS: u64 = 1 << 16;

/// Whether a root is there only as long as a method runs.
pub fn passes(root: &Root) -> bool {
    use RootOrigin::{JavaFrame, JniLocal, MonitorUsed, NativeStack, ThreadBlock};
    matches!(
        root.origin,
        JavaFrame | JniLocal | MonitorUsed | NativeStack | ThreadBlock
    )
}

/// The nodes that only running methods make roots and that stay reachable when all of these roots are
/// gone. Of local variables that lead to each other one is left. MAT's view has none: there locals are
/// held by their thread.
pub fn borrowed_locals(graph: &Graph, progress: &dyn Progress) -> Result<Vec<NodeId>, Cancelled> {
    progress.stage("finding owners of local variables", u64::from(graph.len()));
    let mut stays = BitSet::new(graph.len() as usize);
    let lasting = graph.state.tables.roots.iter().filter(|root| !passes(root));
    lasting.for_each(|root| stays.insert(root.object));
    let (locals, lasting): (Vec<NodeId>, Vec<NodeId>) = graph
        .roots()
        .iter()
        .partition(|&&root| root < graph.state.len() && !stays.contains(root));
    if locals.is_empty() {
        return Ok(locals);
    }
    let mut search = Search {
        graph,
        progress,
        reached: BitSet::new(graph.len() as usize),
        work: Vec::new(),
        steps: 0,
    };
    for &root in &lasting {
        search.reach(root)?;
    }
    let lasting = search.reached.clone();
    // Those that no earlier one leads to; then, backwards, those that no later one leads to either.
    let mut owners = Vec::new();
    for &local in &locals {
        if search.reach(local)? {
            owners.push(local);
        }
    }
    search.reached = lasting;
    let mut is_owner = BitSet::new(graph.len() as usize);
    for &local in owners.iter().rev() {
        if search.reach(local)? {
            is_owner.insert(local);
        }
    }
    let borrowed = locals
        .into_iter()
        .filter(|&local| !is_owner.contains(local));
    Ok(borrowed.collect())
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    progress: &'a dyn Progress,
    reached: BitSet,
    work: Vec<NodeId>,
    steps: u64,
}

impl Search<'_> {
    /// Marks all that a node leads to; whether it had not been reached before.
    fn reach(&mut self, node: NodeId) -> Result<bool, Cancelled> {
        if !self.reached.add(node) {
            return Ok(false);
        }
        self.work.push(node);
        while let Some(node) = self.work.pop() {
            self.steps += 1;
            if self.steps % STEPS == 0 {
                self.progress.check()?;
                self.progress.advance(STEPS);
            }
            let next = self.graph.successors(node);
            let (reached, work) = (&mut self.reached, &mut self.work);
            work.extend(next.filter(|&to| reached.add(to)));
        }
        Ok(true)
    }
}
