//! The tables of a heap state as they are in a trace: kept apart from those in memory, so that
//! these can change while old traces stay readable.

use std::borrow::Cow;

use anthill_heap::{
    Class, FieldType, Frame, Missing, ObjectId, Root, Sizes, StackTrace, Tables, Thread, Value,
};
use serde::{Deserialize, Serialize};

/// What a state is recorded with. Where objects were allocated is in the events; spaces are
/// places in the file of a dump.
#[derive(Serialize, Deserialize)]
pub(crate) struct StateTables<'a> {
    classes: Cow<'a, [Class]>,
    roots: Cow<'a, [Root]>,
    threads: Cow<'a, [Thread]>,
    frames: Cow<'a, [Frame]>,
    traces: Cow<'a, [StackTrace]>,
    sizes: Option<Cow<'a, Sizes>>,
    layout: Cow<'a, str>,
    assumed: Cow<'a, [(String, String)]>,
    missing: Cow<'a, [Missing]>,
    dangling: u64,
    loader_names: Cow<'a, [(ObjectId, String)]>,
}

impl<'a> StateTables<'a> {
    /// Without the values of static fields of primitive types.
    pub(crate) fn without_contents(mut self) -> Self {
        let classes = self.classes.to_mut();
        let statics = classes.iter_mut().flat_map(|class| &mut class.statics);
        for field in statics {
            let ty = field.value.field_type();
            if ty != FieldType::Object {
                field.value = Value::NotRecorded(ty);
            }
        }
        self
    }

    /// With the names of class loaders, which can no longer be read when there are no texts.
    pub(crate) fn with_loader_names(mut self, names: &'a [(ObjectId, String)]) -> Self {
        if self.loader_names.is_empty() {
            self.loader_names = names.into();
        }
        self
    }
}

impl<'a> From<&'a Tables> for StateTables<'a> {
    fn from(tables: &'a Tables) -> Self {
        StateTables {
            classes: (&tables.classes).into(),
            roots: recorded_roots(&tables.roots),
            threads: (&tables.threads).into(),
            frames: (&tables.frames).into(),
            traces: (&tables.traces).into(),
            sizes: tables.sizes.as_ref().map(Cow::Borrowed),
            layout: (&tables.layout).into(),
            assumed: (&tables.assumed).into(),
            missing: (&tables.missing).into(),
            dangling: tables.dangling,
            loader_names: (&tables.loader_names).into(),
        }
    }
}

/// Without those that [`HeapState::find_class_fields`](anthill_heap::HeapState::find_class_fields) finds
/// again when the state is read.
fn recorded_roots(roots: &[Root]) -> Cow<'_, [Root]> {
    let is_recorded = |root: &&Root| !root.origin.is_class_field();
    match roots.iter().all(|root| is_recorded(&root)) {
        true => roots.into(),
        false => roots.iter().filter(is_recorded).copied().collect(),
    }
}

impl From<StateTables<'_>> for Tables {
    fn from(tables: StateTables) -> Self {
        Tables {
            classes: tables.classes.into_owned(),
            roots: tables.roots.into_owned(),
            threads: tables.threads.into_owned(),
            frames: tables.frames.into_owned(),
            traces: tables.traces.into_owned(),
            sizes: tables.sizes.map(Cow::into_owned),
            layout: tables.layout.into_owned(),
            assumed: tables.assumed.into_owned(),
            missing: tables.missing.into_owned(),
            dangling: tables.dangling,
            loader_names: tables.loader_names.into_owned(),
            ..Tables::default()
        }
    }
}
