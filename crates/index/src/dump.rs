//! A loaded dump in an index and back.

use std::io;
use std::path::Path;

use anthill_heap::{
    AddressMap, AddressMapParts, Column, HeapColumns, HeapState, Offsets, RecordedValues, Tables,
};
use anthill_hprof::{Dump, DumpInfo, Records};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Index, IndexWriter};

/// Adds all that is needed to have the dump again without reading it.
pub fn save(dump: &Dump, index: &mut IndexWriter) -> io::Result<()> {
    index.add("info", &encode(&dump.info)?)?;
    index.add("tables", &encode(&dump.state.tables)?)?;
    let columns = &dump.state.columns;
    let (bases, distances) = columns.offsets.columns();
    index.add("classes", &columns.classes)?;
    index.add("details", &columns.details)?;
    index.add("offset-bases", bases)?;
    index.add("offset-distances", distances)?;
    index.add("references", &columns.references)?;
    index.add("referrers-by-referent", &columns.referrers_by_referent)?;
    index.add("referents", &columns.referents)?;
    let addresses = dump.state.addresses.parts();
    index.add("address-shape", &addresses.shape)?;
    index.add("address-directory", &addresses.directory)?;
    index.add("address-pages", &addresses.pages)?;
    index.add("address-blocks", &addresses.blocks)?;
    index.add("address-sorted", &addresses.sorted)?;
    let (objects, positions) = dump.records.anchors();
    index.add("anchor-objects", objects)?;
    index.add("anchor-positions", positions)?;
    let Some(recorded) = dump.records.recorded_values() else {
        return Ok(());
    };
    if let Some(present) = &recorded.present {
        index.add("present", present)?;
    }
    if let Some(contents) = &recorded.contents {
        index.add("contents", contents)?;
    }
    index.add("recorded", &[1u8])
}

/// The dump at `path` from its index; `None` if the index lacks something.
pub fn restore(path: &Path, index: &Index) -> Option<Dump> {
    let info: DumpInfo = decode(&index.column("info")?)?;
    let tables: Tables = decode(&index.column("tables")?)?;
    let columns = HeapColumns {
        classes: index.column("classes")?,
        details: index.column("details")?,
        offsets: Offsets::from_columns(
            index.column("offset-bases")?,
            index.column("offset-distances")?,
        )?,
        references: index.column("references")?,
        referrers_by_referent: index.column("referrers-by-referent")?,
        referents: index.column("referents")?,
    };
    let addresses = AddressMap::from_parts(AddressMapParts {
        shape: index.column::<u64>("address-shape")?[..].try_into().ok()?,
        directory: index.column("address-directory")?,
        pages: index.column("address-pages")?,
        blocks: index.column("address-blocks")?,
        sorted: index.column("address-sorted")?,
    });
    let records = if index.column::<u8>("recorded").is_some() {
        let values = RecordedValues {
            id_size: info.id_size,
            present: index.column("present"),
            contents: index.column("contents"),
        };
        Records::recorded(path, values)
    } else {
        let objects: Column<u32> = index.column("anchor-objects")?;
        let positions: Column<u64> = index.column("anchor-positions")?;
        if objects.len() != positions.len() || !objects.is_sorted() {
            return None;
        }
        Records::new(path, info.id_size, objects, positions)
    };
    let state = HeapState {
        tables,
        columns,
        addresses,
    };
    state.check().is_ok().then_some(Dump {
        state,
        records,
        info,
    })
}

/// The same dump with its columns mapped from the index it was saved in.
pub fn mapped(dump: Dump, index: &Index) -> Dump {
    match restore(dump.records.path(), index) {
        Some(restored) => {
            restored.records.take_over(dump.records);
            restored
        }
        None => dump,
    }
}

fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(value).map_err(io::Error::other)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
