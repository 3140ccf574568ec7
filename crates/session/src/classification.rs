//! Classification trees of a session's heap.

use anthill_classify::{Context, Step, Tree, TreeNodeId};
use anthill_graph::NodeId;
use anthill_heap::{BitSet, ClassId};

use crate::{Error, Session};

/// Nobody reads more nodes, and every one costs time and memory to measure.
const MOST_NODES: usize = 1 << 20;

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

    /// Splits a group by steps and counts the objects of every node, without deep and retained sizes.
    pub fn count(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
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
        Ok(Tree::new(&graph, group, &levels))
    }

    fn unmeasured(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
        let tree = self.count(group, steps)?;
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

    /// All objects of a class, reachable or not.
    pub fn objects_of_class(&self, class: ClassId) -> impl Iterator<Item = NodeId> + '_ {
        let classes: &[ClassId] = &self.state().columns.classes;
        let of_class = (0..).zip(classes).filter(move |&(_, &of)| of == class);
        of_class.map(|(object, _)| object)
    }
}
