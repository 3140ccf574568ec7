//! The dominator tree from above, as columns: the children of every node, and how many nodes are below it.

use std::io;

use anthill_graph::{NodeId, ROOT, UNREACHABLE, bottom_up};
use anthill_heap::{Buffer, Cancelled, Column, Progress};
use anthill_index::{Index, IndexWriter};

use crate::{Error, Session, convention_name};

impl Session {
    /// The dominator tree from above, mapped where there is an index.
    pub fn dominated(&self) -> Result<&Dominated, Error> {
        let make = || {
            let immediate = &self.analysis()?.dominators.immediate;
            let name = format!("dominated-{}", convention_name(self.convention()));
            let kept = || Dominated::restore(immediate.len(), &self.kept(&name)?);
            if let Some(dominated) = kept() {
                return Ok(dominated);
            }
            let dominated = Dominated::new(immediate, self.progress())?;
            self.keep(&name, |writer| dominated.save(writer));
            Ok(kept().unwrap_or(dominated))
        };
        self.open.dominated.get_or_make(self.progress(), make)
    }
}

/// The dominator tree from above: what each node dominates immediately, and how many nodes in all.
pub struct Dominated {
    /// By node, then for the virtual root: where its children begin.
    first: Column<u32>,
    nodes: Column<NodeId>,
    /// By node: how many nodes it dominates, itself included.
    below: Column<u32>,
}

impl Dominated {
    /// From the immediate dominator of every node.
    pub fn new(immediate: &[u32], progress: &dyn Progress) -> Result<Self, Cancelled> {
        progress.stage("ordering the dominator tree", immediate.len() as u64);
        let place = |above: u32| match above {
            UNREACHABLE => None,
            ROOT => Some(immediate.len()),
            above => Some(above as usize),
        };
        let mut first = Buffer::<u32>::zeroed(immediate.len() + 2);
        let starts: &mut [u32] = &mut first;
        for above in immediate.iter().filter_map(|&above| place(above)) {
            starts[above] += 1;
        }
        progress.check()?;
        let below = below(immediate);
        progress.check()?;
        let mut end = 0;
        for first in starts.iter_mut() {
            end += *first;
            *first = end;
        }
        let mut nodes = Buffer::zeroed(end as usize);
        let children: &mut [NodeId] = &mut nodes;
        for (node, &above) in immediate.iter().enumerate().rev() {
            if let Some(above) = place(above) {
                starts[above] -= 1;
                children[starts[above] as usize] = node as NodeId;
            }
        }
        Ok(Dominated {
            first: first.into(),
            nodes: nodes.into(),
            below: below.into(),
        })
    }

    pub(crate) fn save(&self, index: &mut IndexWriter) -> io::Result<()> {
        index.add("first", &self.first)?;
        index.add("nodes", &self.nodes)?;
        index.add("below", &self.below)
    }

    pub(crate) fn restore(nodes: usize, index: &Index) -> Option<Self> {
        let dominated = Dominated {
            first: index.column("first")?,
            nodes: index.column("nodes")?,
            below: index.column("below")?,
        };
        let fits = dominated.first.len() == nodes + 2
            && dominated.below.len() == nodes
            && dominated.first.last().map(|&end| end as usize) == Some(dominated.nodes.len());
        fits.then_some(dominated)
    }

    /// What a node dominates immediately.
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        self.at(node as usize)
    }

    /// What no node dominates.
    pub fn of_root(&self) -> &[NodeId] {
        self.at(self.first.len() - 2)
    }

    fn at(&self, place: usize) -> &[NodeId] {
        &self.nodes[self.first[place] as usize..self.first[place + 1] as usize]
    }

    /// The number of nodes that some nodes dominate, themselves included; none dominates another.
    pub fn count(&self, nodes: &[NodeId]) -> u64 {
        let below: &[u32] = &self.below;
        nodes
            .iter()
            .map(|&node| u64::from(below[node as usize]))
            .sum()
    }
}

/// By node: how many nodes it dominates, itself included.
fn below(immediate: &[u32]) -> Buffer<u32> {
    let mut below = Buffer::filled(immediate.len(), 1);
    let counts: &mut [u32] = &mut below;
    bottom_up(immediate, |node, above| {
        if above < UNREACHABLE {
            counts[above as usize] += counts[node as usize];
        }
    });
    below
}
