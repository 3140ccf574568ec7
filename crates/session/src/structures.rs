//! The data structures of a session's heap, found once.

use anthill_classify::{Members, Step};
use anthill_graph::{Graph, transitive_closure};
use anthill_heap::ObjectId;
use anthill_structures::{Inside, Instance, Model, Structures, Together, Unions, Warning};

use crate::labels::frame_name;
use crate::{Error, RootsByObject, Session};

/// What a person wants to know of one structure besides what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructurePlace {
    /// How it is held: `static field Registry.all → [3]`.
    pub held_by: String,
    /// Bytes of all that it reaches; not of more than [`MOST_DEEP`] structures, since each takes a walk.
    pub deep: Option<u64>,
    /// Where its head was allocated, if the source says so.
    pub allocated_at: Option<String>,
}

/// Of so many structures at once the deep size is told.
pub const MOST_DEEP: usize = 100;

impl Session {
    /// The definitions of structures, linked to this heap.
    pub fn structure_model(&self) -> Model<'_> {
        Model::new(self.state(), Some(self.records()), &self.found.definitions)
    }

    /// All structures with reachable heads.
    pub fn structures(&self) -> Result<&Structures, Error> {
        let make = || {
            let dominators = &self.analysis()?.dominators;
            self.records().open()?;
            let reachable = |object| dominators.is_reachable(object);
            let owns = |head, inner| dominators.chain(inner).next() == Some(head);
            Ok(Structures::detect(
                &self.structure_model(),
                self.sizes(),
                reachable,
                owns,
                self.progress(),
            )?)
        };
        self.found.structures.get_or_make(self.progress(), make)
    }

    /// What belongs to which structure, if one of the steps asks that.
    pub(crate) fn members_for(&self, steps: &[Step]) -> Result<Option<&Members>, Error> {
        if !steps.iter().any(Step::needs_members) {
            return Ok(None);
        }
        let make = || {
            let structures = self.structures()?;
            Ok(structures.members(&self.structure_model(), self.progress())?)
        };
        let members = &self.found.members;
        members.get_or_make(self.progress(), make).map(Some)
    }

    /// The name of a structure's definition.
    pub fn structure_type(&self, instance: &Instance) -> &str {
        let definition = &self.found.definitions.all()[instance.definition as usize];
        &definition.definition.name
    }

    /// What groups of structures, by their numbers, have together, every object once in each group.
    pub fn together(&self, groups: &[Vec<u32>]) -> Result<Vec<Together>, Error> {
        let model = self.structure_model();
        let mut unions = Unions::new(self.structures()?, &model, self.sizes());
        let of_group = |group: &Vec<u32>| Ok(unions.of(group, self.progress())?);
        groups.iter().map(of_group).collect()
    }

    /// The head of what a view shows.
    pub fn viewed(&self, instance: &Instance) -> Result<Option<ObjectId>, Error> {
        let structures = self.structures()?;
        let number = structures
            .of_head(instance.head)
            .filter(|_| instance.is_view);
        let mut inside = number
            .map_or(&[][..], |number| structures.inside(number))
            .iter();
        let viewed = inside.find(|(_, _, how)| *how == Inside::Viewed);
        Ok(viewed.map(|&(_, inner, _)| structures.instances[inner as usize].head))
    }

    /// What the user's own definitions have that does not fit this heap.
    pub fn structure_warnings(&self) -> Vec<Warning> {
        self.structure_model().warnings()
    }

    /// Where some structures are held, and what they reach.
    pub fn structure_places(&self, heads: &[ObjectId]) -> Result<Vec<StructurePlace>, Error> {
        let graph = self.graph();
        let deep = |head: ObjectId| {
            let few = heads.len() <= MOST_DEEP;
            few.then(|| graph.totals(&transitive_closure(&graph, &[head])).bytes)
        };
        let mut places = Vec::with_capacity(heads.len());
        for (held_by, &head) in self.held_by(&graph, heads)?.into_iter().zip(heads) {
            self.progress().check()?;
            places.push(StructurePlace {
                held_by,
                deep: deep(head),
                allocated_at: self.allocated_at(head),
            });
        }
        Ok(places)
    }

    /// How some objects are held. Of many it is told by owner paths: the place of each in an array is not
    /// searched in the file then.
    fn held_by(&self, graph: &Graph, heads: &[ObjectId]) -> Result<Vec<String>, Error> {
        if heads.len() > MOST_DEEP {
            return self.owner_paths(heads);
        }
        let paths = self.paths()?;
        let roots = RootsByObject::new(self);
        let way = |&head: &ObjectId| {
            let path = paths.to(head);
            path.map_or(String::new(), |path| self.way(graph, &roots, &path).short)
        };
        Ok(heads.iter().map(way).collect())
    }

    /// The frame that allocated an object, if the source says so.
    pub fn allocated_at(&self, object: ObjectId) -> Option<String> {
        let tables = &self.state().tables;
        let found = tables
            .allocations
            .binary_search_by_key(&object, |one| one.0);
        let trace = tables
            .traces
            .get(tables.allocations[found.ok()?].1 as usize)?;
        let frame = tables.frames.get(*trace.frames.first()? as usize)?;
        Some(frame_name(frame))
    }
}
