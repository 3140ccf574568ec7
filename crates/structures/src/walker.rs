//! Goes through one structure: from its head to its parts and its leaves.

use anthill_heap::{ClassKind, FieldType, ObjectId, Value};
use anthill_hprof::Cursor;

use crate::model::{BY_CLASS, Effect, Model, Plan};

/// What belongs to a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// An inner part; entries count as elements.
    Internal {
        /// Which object.
        object: ObjectId,
        /// Whether it counts as an element.
        entry: bool,
    },
    /// An array among the inner parts.
    Array(Array),
    /// Another structure that is a part of this one, like the map in a set.
    Part(ObjectId),
    /// A reference to a leaf, with what it adds to twice the number of elements.
    Leaf {
        /// Which object.
        object: ObjectId,
        /// Twice the number of elements that it counts.
        halves: u64,
    },
}

/// An array with room for elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// What it adds to twice the capacity: twice its slots, or once if keys and values take turns.
    pub halves: u64,
    /// How many references or values fit into it.
    pub slots: u64,
    /// Slots that have references in them.
    pub used: u64,
    /// What they are.
    pub element: FieldType,
    /// Whether there are inner parts in it, as in a hash table, not elements.
    pub buckets: bool,
}

/// Whether to go on from a part that another structure has too.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// As if it were this one's only.
    Follow,
    /// It is counted where it was met first.
    Leave,
}

/// Walks through structures, one after the other, meeting each object once in each.
pub struct Walker<'m> {
    model: &'m Model<'m>,
    /// By object: the number of the walk that met it last, from 1.
    met_in: Vec<u32>,
    walk: u32,
    /// Walks up to this one do not count any more.
    forgotten: u32,
    /// Objects and what is in them, if they are arrays.
    stack: Vec<(ObjectId, u16)>,
    cursor: Option<Cursor<'m>>,
    /// Scratch: the effects of one object's references.
    effects: Vec<(ObjectId, Effect)>,
}

impl<'m> Walker<'m> {
    /// For the structures of a heap.
    pub fn new(model: &'m Model<'m>) -> Self {
        Walker {
            model,
            met_in: vec![0; model.state.len() as usize],
            walk: 0,
            forgotten: 0,
            stack: Vec::new(),
            cursor: model.records.map(|records| records.cursor()),
            effects: Vec::new(),
        }
    }

    pub(crate) fn model(&self) -> &'m Model<'m> {
        self.model
    }

    /// Tells all that belongs to the structure with that head. The second function is asked about parts
    /// that an earlier walk met too.
    pub fn walk(
        &mut self,
        head: ObjectId,
        mut tell: impl FnMut(Met),
        mut shared: impl FnMut() -> Shared,
    ) {
        self.walk += 1;
        self.met_in[head as usize] = self.walk;
        self.stack.push((head, BY_CLASS));
        while let Some((object, content)) = self.stack.pop() {
            let class = self.model.state.class_id(object) as usize;
            match self.model.plan_of[class] {
                Some(plan) => {
                    let plan = &self.model.plans[plan as usize];
                    self.part(object, plan, &mut tell, &mut shared);
                }
                None => self.array(object, content, &mut tell, &mut shared),
            }
        }
    }

    /// Forgets all walks: nothing was met by an earlier one.
    pub(crate) fn restart(&mut self) {
        self.forgotten = self.walk;
    }

    /// What the head itself says about its number of elements.
    pub fn reported_size(&mut self, head: ObjectId) -> Option<u64> {
        self.model.reported_size(self.cursor.as_mut()?, head)
    }

    /// For how many elements the head says that it has room.
    pub(crate) fn reported_capacity(&mut self, head: ObjectId) -> Option<u64> {
        self.model.reported_capacity(self.cursor.as_mut()?, head)
    }

    fn array(
        &mut self,
        object: ObjectId,
        content: u16,
        tell: &mut impl FnMut(Met),
        shared: &mut impl FnMut() -> Shared,
    ) {
        let model = self.model;
        let state = model.state;
        let Some(length) = state.array_length(object) else {
            return;
        };
        let content = match content {
            BY_CLASS => model.content_of[state.class_id(object) as usize],
            content => content,
        };
        let content = &model.contents[content as usize];
        let references = state.references(object);
        if content.slot > 0 {
            let element = match state.class(object).kind {
                ClassKind::Array(element) => element,
                _ => FieldType::Object,
            };
            tell(Met::Array(Array {
                halves: u64::from(length) * content.slot,
                slots: length.into(),
                used: references.len() as u64,
                element,
                buckets: content.buckets,
            }));
        }
        for &to in references {
            let effect = content.effects[state.class_id(to) as usize];
            self.apply(to, effect, tell, shared);
        }
    }

    fn part(
        &mut self,
        object: ObjectId,
        plan: &'m Plan,
        tell: &mut impl FnMut(Met),
        shared: &mut impl FnMut() -> Shared,
    ) {
        let model = self.model;
        let state = model.state;
        let effects = &model.tables[plan.effects].effects;
        let references = state.references(object);
        let unclear = |&to: &ObjectId| effects[state.class_id(to) as usize] == Effect::Ambiguous;
        if !plan.fields.is_empty() && references.iter().any(unclear) {
            let mut told_apart = std::mem::take(&mut self.effects);
            self.tell_apart(object, plan, &mut told_apart);
            for (to, effect) in told_apart.drain(..) {
                self.apply(to, effect, tell, shared);
            }
            self.effects = told_apart;
        } else {
            for &to in references {
                let effect = effects[state.class_id(to) as usize];
                self.apply(to, effect, tell, shared);
            }
        }
        if let Some(table) = plan.referent {
            if let Some((to, _)) = state.referent(object) {
                let effect = model.tables[table].effects[state.class_id(to) as usize];
                self.apply(to, effect, tell, shared);
            }
        }
    }

    fn apply(
        &mut self,
        to: ObjectId,
        effect: Effect,
        tell: &mut impl FnMut(Met),
        shared: &mut impl FnMut() -> Shared,
    ) {
        let content = match effect {
            Effect::Follow(content) => content,
            Effect::Leaf(halves) => {
                return tell(Met::Leaf {
                    object: to,
                    halves: halves.into(),
                });
            }
            Effect::Ignore | Effect::Ambiguous => return,
        };
        let met_in = self.met_in[to as usize];
        if met_in == self.walk {
            return;
        }
        let class = self.model.state.class_id(to);
        if self.model.is_head.contains(class) {
            self.met_in[to as usize] = self.walk;
            return tell(Met::Part(to));
        }
        if met_in > self.forgotten && shared() == Shared::Leave {
            return;
        }
        self.met_in[to as usize] = self.walk;
        let entry = self.model.is_entry(to);
        tell(Met::Internal { object: to, entry });
        self.stack.push((to, content));
    }

    /// Finds out which field each reference comes from. References are in the order of fields, without
    /// nulls: if there are as many as fields, their places tell; otherwise the types of those that a
    /// field can refer to; and if that leaves a choice that matters, the file.
    fn tell_apart(
        &mut self,
        object: ObjectId,
        plan: &Plan,
        told_apart: &mut Vec<(ObjectId, Effect)>,
    ) {
        let (state, tables) = (self.model.state, &self.model.tables);
        let references = state.references(object);
        let class = |reference: usize| state.class_id(references[reference]);
        let table = |field: usize| &tables[plan.fields[field].table];
        let effect =
            |reference: usize, field: usize| table(field).effects[class(reference) as usize];
        let (count, fields) = (references.len(), plan.fields.len());
        if count == fields {
            told_apart.extend((0..count).map(|at| (references[at], effect(at, at))));
            return;
        }
        let fits = |reference: usize, field: usize| table(field).is_possible(class(reference));
        if count < fields && fields <= MOST_FIELDS {
            if let Some((first, last)) = ranges(count, fields, fits) {
                let one = |at: usize| {
                    let mut possible = (first[at]..=last[at])
                        .filter(|&field| fits(at, field))
                        .map(|field| effect(at, field));
                    let effect = possible.next()?;
                    possible.all(|other| other == effect).then_some(effect)
                };
                told_apart.extend((0..count).map_while(|at| Some((references[at], one(at)?))));
                if told_apart.len() == count {
                    return;
                }
                told_apart.clear();
            }
        }
        if self.read_fields(object, plan, told_apart) {
            return;
        }
        // Nothing tells for sure: most probably they come from fields that the definition names.
        let named = |at: usize, field: usize| table(field).is_named() && fits(at, field);
        let all_named = match fields <= MOST_FIELDS {
            true => ranges(count, fields, named),
            false => None,
        };
        let probable = |at: usize| {
            let mut possible = (0..fields).filter(|&field| named(at, field));
            let expected = |&field: &usize| table(field).is_expected(class(at));
            let field = possible.clone().find(expected).or_else(|| possible.next());
            all_named.map_or(field, |(first, _)| Some(first[at]))
        };
        told_apart.clear();
        told_apart.extend((0..count).map(|at| {
            let effect = probable(at).map_or(Effect::Ignore, |field| effect(at, field));
            (references[at], effect)
        }));
    }

    fn read_fields(
        &mut self,
        object: ObjectId,
        plan: &Plan,
        told_apart: &mut Vec<(ObjectId, Effect)>,
    ) -> bool {
        let state = self.model.state;
        let Some(cursor) = self.cursor.as_mut() else {
            return false;
        };
        for field in &plan.fields {
            let Some(place) = field.place else {
                return false;
            };
            let Some(Value::Object(address)) = cursor.field(state, object, place) else {
                return false;
            };
            if let Some(to) = state.addresses.find(address) {
                let effects = &self.model.tables[field.table].effects;
                told_apart.push((to, effects[state.class_id(to) as usize]));
            }
        }
        true
    }
}

/// Objects with more reference fields are always looked up in the file.
const MOST_FIELDS: usize = 32;

/// For each reference the first and the last field it can come from; `None` if they cannot all come from
/// some field.
fn ranges(
    references: usize,
    fields: usize,
    fits: impl Fn(usize, usize) -> bool,
) -> Option<([usize; MOST_FIELDS], [usize; MOST_FIELDS])> {
    let (mut first, mut last) = ([0; MOST_FIELDS], [0; MOST_FIELDS]);
    let mut from = 0;
    for (reference, first) in first.iter_mut().enumerate().take(references) {
        *first = (from..fields).find(|&field| fits(reference, field))?;
        from = *first + 1;
    }
    let mut before = fields;
    for reference in (0..references).rev() {
        let field = (0..before).rev().find(|&field| fits(reference, field))?;
        last[reference] = field;
        before = field;
    }
    Some((first, last))
}
