//! What belongs to which structure, for those who ask about members instead of figures.

use anthill_classify::{HeadPlace, Members};
use anthill_heap::{Cancelled, ObjectId, Progress};
use rustc_hash::FxHashSet;

use crate::detect::{Inside, Instance, Structures};
use crate::model::Model;
use crate::walk::{Met, Shared, Walker};

/// Pairs of a head and a member, for each object of the heap, above which members of parts are no longer
/// told for what they are a part of.
const MOST_PAIRS: usize = 4;

impl Instance {
    pub fn place(&self) -> HeadPlace {
        match (self.is_part, self.is_element) {
            (true, _) => HeadPlace::Part,
            (_, true) => HeadPlace::Element,
            _ if self.is_view => HeadPlace::View,
            _ => HeadPlace::TopLevel,
        }
    }
}

/// Members of structures, one structure after the other.
#[derive(Default)]
struct Lists {
    ends: Vec<usize>,
    members: Vec<ObjectId>,
}

impl Lists {
    fn of(&self, number: u32) -> &[ObjectId] {
        let start = match number {
            0 => 0,
            number => self.ends[number as usize - 1],
        };
        &self.members[start..self.ends[number as usize]]
    }

    /// Ends the list of one structure, whose members began there; each is in it once.
    fn end(&mut self, start: usize) {
        self.members[start..].sort_unstable();
        let mut last = start;
        for at in start..self.members.len() {
            if at == start || self.members[at] != self.members[last - 1] {
                self.members[last] = self.members[at];
                last += 1;
            }
        }
        self.members.truncate(last);
        self.ends.push(last);
    }
}

impl Structures {
    /// The members of all structures; those of parts belong to what they are a part of, too.
    pub fn members(&self, model: &Model, progress: &dyn Progress) -> Result<Members, Cancelled> {
        progress.stage("collecting the members of data structures", 0);
        let (mut internals, mut leaves) = (Lists::default(), Lists::default());
        let mut walker = Walker::new(model);
        for instance in &self.instances {
            let (first_internal, first_leaf) = (internals.members.len(), leaves.members.len());
            let leave = match instance.at_least {
                true => Shared::Leave,
                false => Shared::Follow,
            };
            let tell = |met| match met {
                Met::Internal { object, .. } => internals.members.push(object),
                Met::Part(object) if !instance.is_view => internals.members.push(object),
                Met::Leaf { object, .. } => leaves.members.push(object),
                Met::Part(_) | Met::Array(_) => {}
            };
            walker.walk(instance.head, tell, || leave);
            internals.end(first_internal);
            leaves.end(first_leaf);
        }
        progress.check()?;
        let (internals, leaves) = (self.pairs(&internals, model), self.pairs(&leaves, model));
        let heads = self.instances.iter().map(|instance| {
            let of_type = model.name(instance.definition as usize).to_owned();
            (instance.head, of_type, instance.place())
        });
        let objects = model.state.len() as usize;
        Ok(Members::new(objects, heads, &internals, &leaves))
    }

    /// Heads with their members and those of their parts.
    fn pairs(&self, own: &Lists, model: &Model) -> Vec<(ObjectId, ObjectId)> {
        let most = MOST_PAIRS * model.state.len() as usize + own.members.len();
        let mut pairs = Vec::with_capacity(own.members.len());
        for (number, instance) in (0..).zip(&self.instances) {
            let start = pairs.len();
            let mut waiting = vec![number];
            let mut seen = FxHashSet::from_iter([number]);
            while let Some(number) = waiting.pop() {
                pairs.extend(own.of(number).iter().map(|&member| (instance.head, member)));
                let parts = self.inside(number).iter();
                for &(_, inner, _) in parts.filter(|pair| pair.2 == Inside::Part) {
                    if pairs.len() < most && seen.insert(inner) {
                        waiting.push(inner);
                    }
                }
            }
            if seen.len() > 1 {
                pairs[start..].sort_unstable();
                let mut rest = pairs.split_off(start);
                rest.dedup();
                pairs.append(&mut rest);
            }
        }
        pairs
    }
}
