//! Whether a suspect would be freed by letting go of it in the place that is named: all other places that hold it as well.

use anthill_graph::{Graph, NodeId, Paths};
use anthill_paths::{RootsByObject, readable_path};
use anthill_session::{Error, Session, edge_kind};

use crate::roles::Roles;

/// Holders that are looked at.
const EXAMINED: usize = 64;

/// A heap in which holders are looked for.
pub(crate) struct OtherHolders<'a> {
    pub session: &'a Session,
    pub graph: &'a Graph<'a>,
    pub paths: &'a Paths,
    pub roots: &'a RootsByObject<'a>,
    pub roles: &'a Roles<'a>,
}

impl OtherHolders<'_> {
    /// The static fields, threads and other starting points besides `named` from which an object stays alive.
    pub(crate) fn of(&self, node: NodeId, named: &str) -> Result<Vec<String>, Error> {
        let dominators = self.session.owner_dominators()?;
        let around = std::iter::once(node).chain(dominators.chain(node));
        let own = around.take_while(|&node| !self.roles.is_frame(node));
        let Some(top) = own.last().filter(|&top| top < self.session.state().len()) else {
            return Ok(Vec::new());
        };
        let below = dominators.dominated_by(&[top]);
        let mut holders: Vec<NodeId> = self
            .session
            .referrers(self.graph, top)
            .iter()
            .map(|referrer| referrer.from)
            .filter(|&from| edge_kind(self.graph, from, top).is_some())
            .filter(|&from| dominators.is_reachable(from) && !below.contains(from))
            .collect();
        holders.dedup();
        if holders.len() + usize::from(self.graph.is_root(top)) < 2 {
            return Ok(Vec::new());
        }
        holders.truncate(EXAMINED);
        let passes = |&from: &NodeId| self.paths.to(from).is_none_or(|path| path.contains(&top));
        let around;
        let paths = match holders.iter().any(passes) {
            true => {
                let progress = self.session.progress();
                around = Paths::search_around(self.graph, Some(top), &holders, progress)?;
                &around
            }
            false => self.paths,
        };
        let start = |path: Vec<NodeId>| {
            let readable = readable_path(self.session, self.graph, self.roots, &path);
            starting_point(&readable.short).to_owned()
        };
        let through = holders.iter().filter_map(|&from| {
            let mut path = paths.to(from)?;
            path.push(top);
            Some(start(path))
        });
        let root = self.graph.is_root(top).then(|| start(vec![top]));
        let mut starts: Vec<String> = through.chain(root).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|start| start != starting_point(named));
        Ok(starts)
    }
}

/// What a path starts with: `static field Shop.tenants`.
fn starting_point(path: &str) -> &str {
    path.split(" → ").next().unwrap_or(path)
}
