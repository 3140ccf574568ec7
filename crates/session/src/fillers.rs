//! The arrays by which the JVM fills unused parts of its heap. Its own histogram has them as a class
//! of its own; a dump has them as `int[]` like any other, but nothing refers to them.

use anthill_graph::GroupTotals;
use anthill_heap::{ClassKind, FieldType, ObjectId};

use crate::{Error, Session};

/// The class of the smallest fillers, since JDK 19. That of the others was renamed once, from `FillerArray` to
/// `FillerElement[]`, and no object in a dump has it.
const FILLER: &str = "jdk.internal.vm.FillerObject";

impl Session {
    /// The `int[]` that nothing refers to, if the JVM fills its heap with such: they are its fillers, or
    /// garbage where the dump has any.
    pub fn fillers(&self) -> Result<Option<GroupTotals>, Error> {
        let state = self.state();
        if !state.classes().iter().any(|class| class.name == FILLER) {
            return Ok(None);
        }
        let dominators = &self.analysis()?.dominators;
        let unreachable = || (0..state.len()).filter(|&object| !dominators.is_reachable(object));
        let is_int_array =
            |object: &ObjectId| state.class(*object).kind == ClassKind::Array(FieldType::Int);
        let mut found: Vec<ObjectId> = unreachable().filter(is_int_array).collect();
        // What is reachable refers to unreachable objects by referents only.
        let mut referred: Vec<ObjectId> = unreachable()
            .flat_map(|object| state.references(object).iter().copied())
            .chain(state.columns.referents.iter().copied())
            .filter(is_int_array)
            .collect();
        referred.sort_unstable();
        found.retain(|object| referred.binary_search(object).is_err());
        let graph = self.graph();
        Ok(Some(GroupTotals {
            objects: found.len() as u64,
            bytes: found.iter().map(|&object| graph.size(object)).sum(),
        }))
    }
}
