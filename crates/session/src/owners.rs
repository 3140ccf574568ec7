//! Who owns a group: the fronts of objects that together keep it alive.

use anthill_graph::{FrontOptions, GroupTotals, NodeId};
use anthill_heap::BitSet;
use anthill_leaks::fronts_of;

use crate::ways::Way;
use crate::{Error, RootsByObject, Session};

/// Objects that together keep most of a group alive.
pub struct OwnerFront {
    /// Those that retain most alone first, each with a shortest path to it.
    pub owners: Vec<(NodeId, Way)>,
    /// What would be freed with them all.
    pub retained: GroupTotals,
    /// Bytes of the group that would be freed, and of all of it that is reachable.
    pub covered: (u64, u64),
}

impl Session {
    /// The fronts of a group, each with more owners and nearer to the group than the one before.
    pub fn owner_fronts(
        &self,
        group: &BitSet,
        options: FrontOptions,
    ) -> Result<Vec<OwnerFront>, Error> {
        let dominators = &self.analysis()?.dominators;
        let graph = self.graph();
        let fronts = fronts_of(&graph, dominators, group, options, self.progress())?;
        let paths = self.paths()?;
        let roots = RootsByObject::new(self);
        let with_way = |&owner: &NodeId| {
            let path = paths.to(owner)?;
            Some((owner, self.way(&graph, &roots, &path)))
        };
        Ok(fronts
            .iter()
            .map(|front| OwnerFront {
                owners: front.owners.iter().filter_map(with_way).collect(),
                retained: front.retained,
                covered: front.covered,
            })
            .collect())
    }
}
