//! What seems to hold objects, but owns nothing of what is alive without it.
//!
//! While a method of a map runs, its frame holds the map, the table and an entry. All three are roots then,
//! and none of them is dominated by the static field that owns the map. Without these roots it is. What the
//! JVM holds in fields of classes that cannot be told lives only as long as these classes; it owns nothing
//! that something else keeps alive. Neither does a soft reference, which the JVM clears before the heap is full.

use anthill_heap::{BitSet, Cancelled, Progress, Root, RootOrigin, Strength};

use crate::graph::{EdgeKind, Graph, NodeId};

const STEPS: u64 = 1 << 16;

/// Whether a root is there only as long as a method runs.
pub fn passes(root: &Root) -> bool {
    use RootOrigin::{JavaFrame, JniLocal, MonitorUsed, NativeStack, ThreadBlock};
    matches!(
        root.origin,
        JavaFrame | JniLocal | MonitorUsed | NativeStack | ThreadBlock
    )
}

/// What only seems to be owned.
#[derive(Debug, Default)]
pub struct Borrowed {
    /// The nodes that only running methods make roots and that stay reachable when all of these roots are
    /// gone. Of local variables that lead to each other one is left. MAT's view has none: there locals are
    /// held by their thread.
    pub locals: Vec<NodeId>,
    /// All that is reachable only softly, or because the JVM holds it for classes that cannot be told.
    pub lent: BitSet,
    /// Soft references, ascending, to anything else.
    pub soft: Vec<NodeId>,
}

impl Borrowed {
    /// Whether the graph is as its owners see it.
    pub fn is_empty(&self) -> bool {
        self.locals.is_empty() && self.soft.is_empty() && self.lent.is_empty()
    }

    /// Finds it in a graph.
    pub fn find(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        progress.stage("finding owners of local variables", u64::from(graph.len()));
        let roots = &graph.state.tables.roots;
        let (mut stays, mut in_class) = (
            BitSet::new(graph.len() as usize),
            BitSet::new(graph.len() as usize),
        );
        for root in roots.iter().filter(|root| !passes(root)) {
            match root.origin.is_class_field() {
                true => in_class.insert(root.object),
                false => stays.insert(root.object),
            }
        }
        let is_local = |root: NodeId| {
            root < graph.state.len() && !stays.contains(root) && !in_class.contains(root)
        };
        let (locals, lasting): (Vec<NodeId>, Vec<NodeId>) =
            graph.roots().iter().partition(|&&root| is_local(root));
        let (lasting, of_classes): (Vec<NodeId>, Vec<NodeId>) = lasting
            .into_iter()
            .partition(|&root| root >= graph.state.len() || stays.contains(root));
        let references = soft_references(graph);
        if locals.is_empty() && of_classes.is_empty() && references.is_empty() {
            return Ok(Borrowed::default());
        }
        // Where soft references are like all others, as in MAT's view.
        let all_own = references.is_empty();
        let mut search = Search {
            graph,
            progress,
            reached: BitSet::new(graph.len() as usize),
            work: Vec::new(),
            steps: 0,
            softly: all_own,
        };
        for &root in &lasting {
            search.reach(root)?;
        }
        let held = search.reached.clone();
        search.softly = true;
        for &(from, to) in &references {
            if search.reached.contains(from) {
                search.reach(to)?;
            }
        }
        for &root in &of_classes {
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
        let all = std::mem::replace(&mut search.reached, lasting);
        let mut is_owner = BitSet::new(graph.len() as usize);
        for &local in owners.iter().rev() {
            if search.reach(local)? {
                is_owner.insert(local);
            }
        }
        search.reached = held;
        search.softly = all_own;
        for local in is_owner.iter() {
            search.reach(local)?;
        }
        let mut lent = all;
        lent.subtract(&search.reached);
        let soft = references.iter().filter(|(_, to)| !lent.contains(*to));
        let soft = soft.map(|&(from, _)| from).collect();
        let borrowed = locals
            .into_iter()
            .filter(|&local| !is_owner.contains(local));
        Ok(Borrowed {
            locals: borrowed.collect(),
            lent,
            soft,
        })
    }
}

/// Soft references that keep their referents alive, with these.
fn soft_references(graph: &Graph) -> Vec<(NodeId, NodeId)> {
    let columns = &graph.state.columns;
    let pairs = columns
        .referrers_by_referent
        .iter()
        .zip(columns.referents.iter());
    let is_soft = |from: NodeId| graph.state.class(from).reference == Some(Strength::Soft);
    let counts = graph.convention.soft && !graph.convention.mat;
    pairs
        .map(|(&from, &to)| (from, to))
        .filter(|&(from, _)| counts && is_soft(from))
        .collect()
}

struct Search<'a> {
    graph: &'a Graph<'a>,
    progress: &'a dyn Progress,
    reached: BitSet,
    work: Vec<NodeId>,
    steps: u64,
    /// Whether soft references are followed.
    softly: bool,
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
            let is_soft = || self.graph.state.class(node).reference == Some(Strength::Soft);
            let (reached, work) = (&mut self.reached, &mut self.work);
            if self.softly || self.graph.extra_edges(node).is_empty() || !is_soft() {
                let next = self.graph.successors(node);
                work.extend(next.filter(|&to| reached.add(to)));
            } else {
                let edges = self.graph.edges(node);
                let next = edges.filter(|(_, kind)| *kind != EdgeKind::Referent);
                work.extend(next.map(|(to, _)| to).filter(|&to| reached.add(to)));
            }
        }
        Ok(true)
    }
}
