//! What a person wrote about a heap, kept beside its index. What it means is the business of whoever keeps it.

use crate::{Error, Session};

const NAME: &str = "notes";

/// Whether a file beside an index has that name because a person wrote it.
pub(crate) fn is_notes(file: &str) -> bool {
    file == NAME
}

impl Session {
    /// What was kept; nothing if there is none, or it belongs to another dump that was under this path before.
    pub fn kept_notes(&self) -> Option<Vec<u8>> {
        Some(self.kept(NAME)?.column::<u8>(NAME)?.to_vec())
    }

    /// Keeps this instead of what was kept before.
    pub fn keep_notes(&self, notes: &[u8]) -> Result<(), Error> {
        let place = self.open.index.as_ref().ok_or_else(|| {
            Error::Keeping("notes are kept next to the index, which is turned off".to_owned())
        })?;
        let kept = place.keep(NAME, |writer| writer.add(NAME, notes));
        kept.map_err(Error::Keeping)
    }
}
