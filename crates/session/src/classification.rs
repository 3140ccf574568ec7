//! Classification trees of a session's heap.

use anthill_classify::{Context, Step, Tree, TreeNodeId};
use anthill_heap::BitSet;

use crate::{Error, Session};

/// Nobody reads more nodes, and every one costs time and memory to measure.
pub(crate) const MOST_NODES: usize = 1 << 20;

impl Session {
    /// Splits a group by steps, with exact sizes on every node.
    pub fn classify(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let context = Context::new(
            &graph,
            &analysis.dominators,
            self.records(),
            self.progress(),
        )
        .with_members(self.members_for(steps)?)
        .with_most_nodes(MOST_NODES);
        let levels = context.levels_of(steps, group)?;
        let mut tree = Tree::new(&graph, group, &levels);
        drop(levels);
        if tree.nodes().len() > MOST_NODES {
            return Err(anthill_classify::Error::TooManyNodes(MOST_NODES).into());
        }
        tree.measure(&graph, self.progress())?;
        Ok(tree)
    }

    /// Splits a single node of a tree further; [`Tree::can_be_split`] tells whether it can be.
    pub fn split(&self, tree: &mut Tree, node: TreeNodeId, steps: &[Step]) -> Result<(), Error> {
        let objects = tree.objects(self.state(), node);
        tree.split(node, self.classify(&objects, steps)?);
        Ok(())
    }

    /// The objects of classes that `wanted` accepts by name; unreachable ones only on demand.
    pub fn objects_of(
        &self,
        wanted: impl Fn(&str) -> bool,
        unreachable: bool,
    ) -> Result<BitSet, Error> {
        let dominators = &self.analysis()?.dominators;
        let state = self.state();
        let classes: Vec<bool> = state
            .classes()
            .iter()
            .map(|class| wanted(&class.name))
            .collect();
        let mut group = BitSet::new(state.len() as usize);
        for (&class, object) in state.columns.classes.iter().zip(0..) {
            if classes[class as usize] && (unreachable || dominators.is_reachable(object)) {
                group.insert(object);
            }
        }
        Ok(group)
    }
}
