//! Classification trees of a session's heap.

use anthill_classify::{Context, Step, Tree, TreeNodeId};
use anthill_heap::BitSet;

use crate::{Error, Session};

/// Nobody reads more nodes, and every one costs time and memory to measure.
pub(crate) const MOST_NODES: usize = 1 << 20;

impl Session {
    /// Splits a group by steps, with exact sizes on every node.
    pub fn classify(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
        let mut tree = self.unmeasured(group, steps)?;
        tree.measure(&self.graph(), self.progress())?;
        Ok(tree)
    }

    /// Splits several groups, each by steps of its own. What all nodes retain and reach is found together,
    /// which takes little longer than for one tree.
    pub fn classify_all(&self, groups: &[(&BitSet, &[Step])]) -> Result<Vec<Tree>, Error> {
        let trees = groups.iter();
        let trees = trees.map(|(group, steps)| self.unmeasured(group, steps));
        let mut trees = trees.collect::<Result<Vec<Tree>, Error>>()?;
        Tree::measure_all(&mut trees, &self.graph(), self.progress())?;
        Ok(trees)
    }

    fn unmeasured(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
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
        let tree = Tree::new(&graph, group, &levels);
        match tree.nodes().len() > MOST_NODES {
            true => Err(anthill_classify::Error::TooManyNodes(MOST_NODES).into()),
            false => Ok(tree),
        }
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
