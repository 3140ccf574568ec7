//! Notes and bookmarks of a person on objects, groups, suspects and views, kept beside the index of a dump or of a state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Heap, ObjectName};

/// A note, or a bookmark if it has no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// What the note is about.
    pub kind: NoteKind,
    /// The address of the object, the expression of the group, the fingerprint of the suspect, or the
    /// view with its choices.
    pub about: String,
    /// What people call it.
    pub label: String,
    /// The text of the note; empty for a bookmark.
    pub text: String,
    /// When it was written, in milliseconds since 1970.
    pub written_ms: u64,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// An object, by its address.
    Object,
    /// A group of objects, by its expression.
    Group,
    /// A leak suspect, by its fingerprint.
    Suspect,
    /// What a page shows, by its address.
    View,
}

/// All notes on a heap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notes {
    /// In the order in which they were first written.
    pub notes: Vec<Note>,
}

const MOST: usize = 500;
const LONGEST_TEXT: usize = 4_000;
const LONGEST_NAME: usize = 4_000;

impl Notes {
    /// The notes on a heap.
    pub fn of(heap: &Heap) -> Self {
        let kept = heap.session.kept_notes();
        let notes = kept.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        notes.unwrap_or_default()
    }

    /// Keeps one more, or another instead of the one about the same; returns all.
    pub fn keep(heap: &Heap, note: Note) -> Result<Self, Error> {
        let note = checked(heap, note)?;
        let mut all = Notes::of(heap);
        match all.find(note.kind, &note.about) {
            Some(place) => all.notes[place] = note,
            None if all.notes.len() >= MOST => {
                return Err(Error::unusable(
                    format!("there are {MOST} notes on this heap already"),
                    "Delete some.",
                ));
            }
            None => all.notes.push(note),
        }
        all.write(heap)?;
        Ok(all)
    }

    /// Deletes the one about this, if there is one; returns the others.
    pub fn delete(heap: &Heap, kind: NoteKind, about: &str) -> Result<Self, Error> {
        let mut all = Notes::of(heap);
        if let Some(place) = all.find(kind, about) {
            all.notes.remove(place);
            all.write(heap)?;
        }
        Ok(all)
    }

    fn find(&self, kind: NoteKind, about: &str) -> Option<usize> {
        let is_it = |note: &Note| note.kind == kind && note.about == about;
        self.notes.iter().position(is_it)
    }

    fn write(&self, heap: &Heap) -> Result<(), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| {
            Error::unusable(format!("the notes cannot be written: {error}"), "")
        })?;
        Ok(heap.session.keep_notes(&bytes)?)
    }
}

/// A note as it is kept: not too long, and an object has the name it has in this heap.
fn checked(heap: &Heap, mut note: Note) -> Result<Note, Error> {
    for (what, text, most) in [
        ("the note", &note.text, LONGEST_TEXT),
        ("its subject", &note.about, LONGEST_NAME),
        ("the name of its subject", &note.label, LONGEST_NAME),
    ] {
        if text.chars().count() > most {
            return Err(Error::unusable(
                format!("{what} is longer than {most} characters"),
                "Shorten it.",
            ));
        }
    }
    if note.kind == NoteKind::Object {
        let object = heap.object(&note.about)?;
        let name = ObjectName::new(&heap.session, heap.session.analysis()?, object);
        note.about = name.address;
        note.label = name.label;
    }
    Ok(note)
}
