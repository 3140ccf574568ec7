//! The heap as its owners see it: without the local variables that refer to objects which are alive anyway.
//! What a running method works with belongs to whatever holds it when the method has returned.

use anthill_graph::{Borrowed, DepthFirst, Dominators, Graph, Paths};

use crate::analysis::{restore_dominators, save_dominators};
use crate::{Dominated, Error, Session, convention_name};

impl Session {
    /// What only seems to be owned: by local variables of running methods, or inside the JVM.
    pub fn borrowed(&self) -> Result<&Borrowed, Error> {
        let make = || Ok::<_, Error>(Borrowed::find(&self.graph(), self.progress())?);
        self.open.borrowed.get_or_make(self.progress(), make)
    }

    /// The heap as nodes and edges, with the roots that own something.
    pub fn owners_graph(&self) -> Result<Graph<'_>, Error> {
        Ok(self.graph().without_borrowed(self.borrowed()?))
    }

    /// Who alone keeps what alive when running methods have returned.
    pub fn owner_dominators(&self) -> Result<&Dominators, Error> {
        if self.borrowed()?.is_empty() {
            return Ok(&self.analysis()?.dominators);
        }
        let make = || {
            let name = format!("owners-{}", convention_name(self.convention()));
            let kept = self.kept(&name);
            let kept = kept.and_then(|index| restore_dominators(&index));
            let nodes = self.graph().len() as usize;
            if let Some(kept) = kept.filter(|kept| kept.immediate.len() == nodes) {
                return Ok(kept);
            }
            let graph = self.owners_graph()?;
            let search = DepthFirst::new(&graph, self.progress())?;
            let owners = Dominators::new(&graph, search, self.progress())?;
            self.keep(&name, |writer| save_dominators(&owners, writer));
            Ok(owners)
        };
        self.open
            .owner_dominators
            .get_or_make(self.progress(), make)
    }

    /// The same from above.
    pub fn owner_dominated(&self) -> Result<&Dominated, Error> {
        let make = || {
            let immediate = &self.owner_dominators()?.immediate;
            Ok(Dominated::new(immediate, self.progress())?)
        };
        self.open.owner_dominated.get_or_make(self.progress(), make)
    }

    /// A shortest path to every reachable object from a root that owns something.
    pub fn paths_from_owners(&self) -> Result<&Paths, Error> {
        if self.borrowed()?.is_empty() {
            return self.shortest_paths();
        }
        let make = || Ok(Paths::search(&self.owners_graph()?, &[], self.progress())?);
        self.open
            .paths_from_owners
            .get_or_make(self.progress(), make)
    }
}
