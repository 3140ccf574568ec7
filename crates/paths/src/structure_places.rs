//! Where data structures are held, what they reach and where they were allocated.

use anthill_graph::transitive_closure;
use anthill_heap::ObjectId;
use anthill_session::{Error, Session};

use crate::{RootsByObject, owner_paths, readable_path};

/// The number of structures up to which each gets its deep size and its exact path: both take a walk each.
const MOST_DEEP: usize = 100;

/// The surroundings of one structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructurePlace {
    /// How it is held: `static field Registry.all → [3]`.
    pub held_by: String,
    /// Bytes of all that it reaches; only if at most 100 structures are asked for, since each takes a walk.
    pub deep: Option<u64>,
    /// Where its head was allocated, if the source says so.
    pub allocated_at: Option<String>,
}

/// Where the structures with these heads are held, and what they reach.
pub fn structure_places(
    session: &Session,
    heads: &[ObjectId],
) -> Result<Vec<StructurePlace>, Error> {
    let graph = session.graph();
    let deep = |head: ObjectId| {
        let few = heads.len() <= MOST_DEEP;
        few.then(|| graph.totals(&transitive_closure(&graph, &[head])).bytes)
    };
    let mut places = Vec::with_capacity(heads.len());
    for (held_by, &head) in held_by(session, heads)?.into_iter().zip(heads) {
        session.progress().check()?;
        places.push(StructurePlace {
            held_by,
            deep: deep(head),
            allocated_at: session.allocated_at(head),
        });
    }
    Ok(places)
}

/// How some objects are held: `static field Registry.all → [3]`; unreachable ones by nothing. Many are named by
/// owner paths: these do not search the file for the place of each object in an array.
pub fn held_by(session: &Session, heads: &[ObjectId]) -> Result<Vec<String>, Error> {
    if heads.len() > MOST_DEEP {
        return owner_paths(session, heads);
    }
    let graph = session.graph();
    let paths = session.paths_from_owners()?;
    let roots = RootsByObject::new(session);
    let short = |&head: &ObjectId| {
        let path = paths.to(head);
        path.map_or(String::new(), |path| {
            readable_path(session, &graph, &roots, &path).short
        })
    };
    Ok(heads.iter().map(short).collect())
}
