//! What changes from object to object while an expression is evaluated.

use anthill_heap::{HeapState, ObjectId};
use anthill_hprof::Cursor;

use crate::builtin::Context;
use crate::language::node::CURRENT;
use crate::language::run::{Leaving, Stop, Used};
use crate::language::value::Value;

/// Variables, what was used up, and places in the dump.
pub(crate) struct Frame<'p> {
    slots: Vec<Value<'p>>,
    /// The slots of the function that is called come after this one.
    base: usize,
    pub(in crate::language) leaving: Leaving<'p>,
    pub(in crate::language) used: Used,
    /// For the object that is classified: they come in ascending order.
    here: Cursor<'p>,
    /// For other objects.
    there: Cursor<'p>,
    /// For the arrays of strings.
    arrays: Cursor<'p>,
}

impl<'p> Frame<'p> {
    pub(crate) fn new(context: &'p Context) -> Self {
        Frame {
            slots: vec![Value::Null],
            base: 0,
            leaving: Leaving::Not,
            used: Used::default(),
            here: context.records.cursor(),
            there: context.records.cursor(),
            arrays: context.records.cursor(),
        }
    }

    /// Goes on to another object, or to any object of a class.
    pub(crate) fn visit(&mut self, object: Value<'p>) {
        self.slots.truncate(1);
        self.slots[CURRENT] = object;
        self.base = 0;
        self.used.begin();
    }

    /// Why the evaluation was stopped, if it was.
    pub(crate) fn stopped(&self) -> Option<&Stop> {
        self.used.stop.as_ref()
    }

    pub(super) fn cursor(&mut self, object: ObjectId) -> &mut Cursor<'p> {
        if self.slots[CURRENT] == Value::Object(object) {
            &mut self.here
        } else {
            &mut self.there
        }
    }

    /// Where a slot is: there is one object that is classified, whatever function is called.
    fn index(&self, slot: usize) -> usize {
        if slot == CURRENT {
            CURRENT
        } else {
            self.base + slot
        }
    }

    pub(crate) fn set(&mut self, slot: usize, value: Value<'p>) {
        let index = self.index(slot);
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Value::Null);
        }
        self.slots[index] = value;
    }

    pub(super) fn get(&self, slot: usize) -> Value<'p> {
        let value = self.slots.get(self.index(slot));
        value.cloned().unwrap_or(Value::Null)
    }

    pub(in crate::language) fn take(&mut self, slot: usize) -> Value<'p> {
        let index = self.index(slot);
        let value = self.slots.get_mut(index);
        value.map_or(Value::Null, std::mem::take)
    }

    /// Begins a function with these arguments; gives what [`Frame::leave`] needs.
    pub(in crate::language) fn enter(&mut self, arguments: Vec<Value<'p>>) -> (usize, usize) {
        let outer = (self.base, self.slots.len());
        self.base = self.slots.len() - 1;
        self.slots.extend(arguments);
        outer
    }

    pub(in crate::language) fn leave(&mut self, (base, slots): (usize, usize)) {
        self.base = base;
        self.slots.truncate(slots);
    }

    /// The text of a string.
    pub(super) fn text(&mut self, state: &HeapState, object: ObjectId) -> Option<String> {
        let current = self.slots[CURRENT] == Value::Object(object);
        let Frame {
            here,
            there,
            arrays,
            ..
        } = self;
        let cursor = if current { here } else { there };
        cursor.text(arrays, state, object, usize::MAX)
    }
}
