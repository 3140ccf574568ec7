//! The data structures of a session's heap, found once.

use anthill_classify::Step;
use anthill_heap::ObjectId;
use anthill_structures::{
    Element, Inside, Instance, Members, Model, Structures, Together, Unions, Warning,
};

use crate::labels::frame_name;
use crate::platform::is_program_name;
use crate::{Error, Session};

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

    /// Which objects belong to which structure, if one of the steps needs that.
    pub fn members_for(&self, steps: &[Step]) -> Result<Option<&Members>, Error> {
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

    /// The name of the definition of a structure, if an object is the head of one.
    pub fn structure_of(&self, object: ObjectId) -> Option<String> {
        let class = self.state().class_id(object);
        let model = self.structure_model();
        let definition = model
            .definition_of(class)
            .filter(|_| model.has_elements(class));
        definition.map(str::to_owned)
    }

    /// Tells the elements of the structure with that head, in its own order.
    pub fn elements(&self, head: ObjectId, tell: &mut dyn FnMut(Element)) -> Result<(), Error> {
        self.records().open()?;
        self.progress().stage("listing the elements", 0);
        let model = self.structure_model();
        Ok(model.elements(self.records(), head, self.progress(), tell)?)
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

    /// The head of a structure by its number.
    pub fn head(&self, number: u32) -> Result<ObjectId, Error> {
        Ok(self.structures()?.instances[number as usize].head)
    }

    /// The frame of the program that allocated an object, if the source says so: the innermost that is not the JDK's or of a
    /// language's own library, or the innermost of all.
    pub fn allocated_at(&self, object: ObjectId) -> Option<String> {
        let tables = &self.state().tables;
        let found = tables
            .allocations
            .binary_search_by_key(&object, |one| one.0);
        let trace = tables
            .traces
            .get(tables.allocations[found.ok()?].1 as usize)?;
        let frames = || {
            let frames = trace.frames.iter();
            frames.filter_map(|&frame| tables.frames.get(frame as usize))
        };
        let program_s = frames().find(|frame| is_program_name(&frame.class));
        let frame = program_s.or_else(|| frames().next())?;
        Some(frame_name(frame))
    }
}
