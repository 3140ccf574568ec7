//! The texts of all strings, for searching.

use anthill_heap::ObjectId;
use rayon::prelude::*;

use crate::{Error, Session};

/// Strings that are read between two reports of progress.
const BATCH: usize = 1 << 14;

impl Session {
    /// All `java.lang.String` objects whose text is wanted, in the order of their addresses.
    pub fn find_strings(
        &self,
        wanted: impl Fn(&str) -> bool + Sync,
    ) -> Result<Vec<(ObjectId, String)>, Error> {
        let state = self.state();
        self.records().open()?;
        if !self.records().has_contents() {
            return Err(Error::NotRecorded("the texts of strings"));
        }
        let is_string: Vec<bool> = state
            .classes()
            .iter()
            .map(|class| class.name == "java.lang.String")
            .collect();
        let strings: Vec<ObjectId> = (0..state.len())
            .filter(|&object| is_string[state.class_id(object) as usize])
            .collect();
        self.progress()
            .stage("reading strings", strings.len() as u64);
        let mut found = Vec::new();
        for batch in strings.chunks(BATCH) {
            self.progress().check()?;
            let texts = batch.par_iter().filter_map(|&object| {
                let text = self.records().string(state, object)?;
                wanted(&text).then_some((object, text))
            });
            found.par_extend(texts);
            self.progress().advance(batch.len() as u64);
        }
        Ok(found)
    }
}
