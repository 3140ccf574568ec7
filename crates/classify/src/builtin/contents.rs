//! Classifiers by what is in the objects: texts and fields, read from the dump in parallel.

use anthill_heap::{ClassId, ObjectId, Value};
use anthill_hprof::{Cursor, FieldPlace};

use super::{Asked, Context};
use crate::error::Error;
use crate::scalar_labels::ScalarLabels;
use crate::values::{Classified, LabelId};

/// Characters of a text that are shown.
const LONGEST_TEXT: usize = 120;
/// What a recording was not asked to keep.
const NOT_RECORDED: &str = "(not recorded)";

/// Reads objects that come in ascending order, and those they refer to.
struct Reading<'a> {
    context: &'a Context<'a>,
    here: Cursor<'a>,
    there: Cursor<'a>,
    arrays: Cursor<'a>,
}

impl<'a> Reading<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        let cursor = || context.records.cursor();
        Reading {
            context,
            here: cursor(),
            there: cursor(),
            arrays: cursor(),
        }
    }

    fn field(&mut self, labels: &mut ScalarLabels, object: ObjectId, place: FieldPlace) -> LabelId {
        let state = self.context.graph.state;
        match self.here.field(state, object, place) {
            Some(Value::NotRecorded(_)) => labels.text(NOT_RECORDED),
            None if !self.context.records.has(place.ty) => labels.text(NOT_RECORDED),
            None => labels.text("(not in the dump)"),
            Some(Value::Object(0)) => labels.text("null"),
            Some(Value::Object(address)) => match state.addresses.find(address) {
                Some(to) => self.referenced(labels, to),
                None => labels.text("(not in the dump)"),
            },
            Some(Value::Boolean(value)) => labels.truth(value),
            Some(Value::Char(unit)) => {
                let c = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                labels.text(&format!("{c:?}"))
            }
            Some(Value::Float(value)) => labels.text(&value.to_string()),
            Some(Value::Double(value)) => labels.text(&value.to_string()),
            Some(Value::Byte(value)) => labels.number(value.into()),
            Some(Value::Short(value)) => labels.number(value.into()),
            Some(Value::Int(value)) => labels.number(value.into()),
            Some(Value::Long(value)) => labels.number(value),
        }
    }

    fn referenced(&mut self, labels: &mut ScalarLabels, object: ObjectId) -> LabelId {
        let state = self.context.graph.state;
        match self
            .there
            .text(&mut self.arrays, state, object, LONGEST_TEXT)
        {
            Some(text) => labels.text(&format!("{text:?}")),
            None => labels.text(&state.class(object).name),
        }
    }
}

impl Context<'_> {
    pub(super) fn texts(&self, asked: Asked) -> Result<Classified, Error> {
        let begin = || Reading::new(self);
        let without = !self.records.has_contents();
        let classes = self.state().classes().iter();
        let is_string: Vec<bool> = classes
            .map(|class| without && class.name == "java.lang.String")
            .collect();
        self.by_labels(asked, begin, |reading, labels, object, class| {
            let Reading { here, arrays, .. } = reading;
            match here.text(arrays, self.state(), object, LONGEST_TEXT) {
                Some(text) => labels.text(&format!("{text:?}")),
                None if is_string[class as usize] => labels.text(NOT_RECORDED),
                None => labels.text("(no string)"),
            }
        })
    }

    pub(super) fn fields(&self, name: &str, asked: Asked) -> Result<Classified, Error> {
        let place = |class| self.records.field_place(self.state(), class, name);
        let classes = 0..self.state().classes().len() as ClassId;
        let places: Vec<Option<FieldPlace>> = classes.map(place).collect();
        let begin = || Reading::new(self);
        self.by_labels(
            asked,
            begin,
            |reading, labels, object, class| match places[class as usize] {
                Some(place) => reading.field(labels, object, place),
                None => labels.text("(no such field)"),
            },
        )
    }
}
