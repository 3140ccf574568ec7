//! A dump that was opened: its heap state, where its objects are in the file, and what it says
//! about itself.

use std::path::Path;

use anthill_heap::{HeapState, Progress};
use serde::{Deserialize, Serialize};

use crate::records::{self, Section};
use crate::values::Records;
use crate::{DumpBytes, Error, load};

/// A heap state with whatever its source tells besides.
pub struct Dump {
    /// The heap itself.
    pub state: HeapState,
    /// Where the values of its objects are.
    pub records: Records,
    /// What the file says about itself.
    pub info: DumpInfo,
}

/// What the file says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpInfo {
    /// E.g. `JAVA PROFILE 1.0.2`.
    pub format: String,
    /// Bytes of an id in the file.
    pub id_size: u8,
    /// Milliseconds since 1970.
    pub timestamp: u64,
    /// Which of the dumps in the file this is, from 1.
    pub dump: usize,
    /// How many dumps the file has.
    pub dumps: usize,
    /// Bytes of the decompressed file.
    pub bytes: u64,
}

impl Dump {
    /// Opens the dump with that number (from 1) in the file; by default the last.
    pub fn open(
        path: &Path,
        number: Option<usize>,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let content = DumpBytes::open(path, progress)?;
        let bytes = content.bytes();
        let sections = records::scan(path, bytes)?;
        let (section, dump, info) = choose(path, &sections, number, bytes.len())?;
        let mut loaded = load::load(path, bytes, section, dump, progress)?;
        loaded
            .state
            .tables
            .missing
            .splice(0..0, content.missing.iter().cloned());
        let (objects, positions) = loaded.anchors;
        let records = Records::new(path, info.id_size, objects.into(), positions.into());
        records.keep(content);
        let mut dump = Dump {
            state: loaded.state,
            records,
            info,
        };
        dump.name_threads();
        Ok(dump)
    }

    fn name_threads(&mut self) {
        for index in 0..self.state.tables.threads.len() {
            let thread = &self.state.tables.threads[index];
            let Some(object) = thread.object.filter(|_| thread.name.is_none()) else {
                continue;
            };
            let name = self.records.thread_name(&self.state, object);
            self.state.tables.threads[index].name = name;
        }
    }
}

fn choose<'a>(
    path: &Path,
    sections: &'a [Section],
    number: Option<usize>,
    bytes: usize,
) -> Result<(&'a Section, usize, DumpInfo), Error> {
    let all: Vec<(&Section, usize)> = sections
        .iter()
        .flat_map(|section| (0..section.dumps.len()).map(move |dump| (section, dump)))
        .collect();
    if all.is_empty() {
        let lost = sections.iter().flat_map(|section| &section.missing).take(3);
        let lost: String = lost.map(|missing| format!(": {}", missing.what)).collect();
        let reason = format!("the file contains no heap dump{lost}");
        return Err(Error::unusable(path, bytes as u64, reason));
    }
    let number = number.unwrap_or(all.len());
    let Some(&(section, dump)) = number.checked_sub(1).and_then(|index| all.get(index)) else {
        return Err(Error::NoSuchDump {
            path: path.to_owned(),
            number,
            dumps: all.len(),
        });
    };
    let info = DumpInfo {
        format: section.format.clone(),
        id_size: section.id_size as u8,
        timestamp: section.timestamp,
        dump: number,
        dumps: all.len(),
        bytes: bytes as u64,
    };
    Ok((section, dump, info))
}
