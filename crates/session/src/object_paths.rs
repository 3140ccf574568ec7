//! Paths from the roots to one object.

use anthill_graph::{NodeId, Paths, RootPath};
use anthill_heap::ObjectId;

use crate::labels::edge_kind;
use crate::{Error, Session};

impl Session {
    /// The shortest path, then a shortest one through each other object that refers to this one and
    /// is alive without it. Shorter ones come first; none if it is unreachable.
    pub fn paths_to(&self, object: ObjectId) -> Result<Vec<RootPath>, Error> {
        let graph = self.graph();
        let search = Paths::search(&graph, &[], self.progress())?;
        let Some(shortest) = search.to(object) else {
            return Ok(Vec::new());
        };
        let before = shortest.iter().rev().nth(1).copied();
        let through = |from: NodeId| {
            let mut path = search.to(from)?;
            let circular = path.contains(&object);
            path.push(object);
            (!circular).then_some(path)
        };
        let mut referrers: Vec<NodeId> = self
            .referrers(&graph, object)
            .iter()
            .map(|referrer| referrer.from)
            .filter(|&from| Some(from) != before && edge_kind(&graph, from, object).is_some())
            .collect();
        referrers.dedup();
        let mut paths = vec![shortest];
        paths.extend(referrers.into_iter().filter_map(through));
        paths.sort_by_key(Vec::len);
        Ok(paths)
    }
}
