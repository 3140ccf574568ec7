//! Notes of whoever looks at a heap: the only thing that pages write, beside the index and never into a source.

use std::time::{SystemTime, UNIX_EPOCH};

use anthill_api::notes::{Note, NoteKind, Notes};
use anthill_api::{HeapOptions, read};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::reply::Error;
use crate::sources::{Sources, lock};

/// So many bytes a request may have: more than the longest note takes.
pub(crate) const LONGEST_REQUEST: usize = 64 << 10;

/// A note as a page sends it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NoteToKeep {
    /// What the note is about.
    kind: NoteKind,
    /// The address of the object, the expression of the group, the fingerprint of the suspect, or the
    /// view with its choices.
    about: String,
    /// What people call it; an object is called by what it is.
    label: String,
    /// The text of the note; empty for a bookmark.
    text: String,
}

/// What is to be done.
pub(crate) enum Wish {
    List,
    Keep(NoteToKeep),
    Delete { kind: NoteKind, about: String },
}

impl Wish {
    /// To delete the note that the options of an address name; others say which heap it is about.
    pub(crate) fn deleting(options: &mut Vec<(String, String)>) -> Result<Self, Error> {
        let mut take = |wanted: &str| {
            let place = options.iter().position(|(name, _)| name == wanted);
            let missing = || Error::bad_request(format!("`{wanted}` is missing"));
            place
                .map(|place| options.remove(place).1)
                .ok_or_else(missing)
        };
        let kind = serde_json::from_value(take("kind")?.into());
        Ok(Wish::Delete {
            kind: kind.map_err(|_| Error::bad_request("there are no such notes"))?,
            about: take("about")?,
        })
    }
}

/// Does it, and returns all notes. Blocks.
pub(crate) fn grant(
    sources: &Sources,
    source: usize,
    options: &[(String, String)],
    wish: Wish,
) -> Result<Notes, Error> {
    let options = options.iter();
    let heap: HeapOptions = read(options.map(|(name, value)| (name.as_str(), value.as_str())))?;
    let heap = sources.heap_of(source, &heap)?;
    // One after the other, so that none is lost.
    let mut version = lock(&sources.notes);
    let notes = match wish {
        Wish::List => return Ok(Notes::of(&heap)),
        Wish::Keep(note) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let note = Note {
                kind: note.kind,
                about: note.about,
                label: note.label,
                text: note.text,
                written_ms: now.map_or(0, |now| now.as_millis() as u64),
            };
            Notes::keep(&heap, note)?
        }
        Wish::Delete { kind, about } => Notes::delete(&heap, kind, &about)?,
    };
    *version += 1;
    Ok(notes)
}
