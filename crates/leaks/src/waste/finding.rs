//! What was found of one kind of waste, and how it is added up.

use std::cmp::Reverse;

use anthill_heap::{ClassId, ObjectId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::holders::{Holder, Holders, Tally};

/// Ways to waste memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WasteKind {
    /// Strings of equal contents: all but one of each.
    DuplicateStrings,
    /// Arrays of primitives, equal in type and contents and not only zeros, that belong to no string.
    DuplicateArrays,
    /// Arrays of primitives in which every element is zero, for information.
    ZeroArrays,
    /// `Integer`s and so on of equal values.
    DuplicateBoxes,
    /// All of them, for information.
    BoxedNumbers,
    /// Collections without elements that have storage for some.
    EmptyCollections,
    /// Collections without elements and without storage.
    UnusedCollections,
    /// Collections whose storage is mostly unused.
    SparseCollections,
    /// Arrays of references outside of collections that are mostly null.
    SparseArrays,
    /// Hash maps whose entries share too few buckets.
    HashCollisions,
    /// Classes whose fields are mostly null.
    NullFields,
}

/// One kind of waste.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Which kind.
    pub kind: WasteKind,
    /// How many objects are wasted or have waste in them.
    pub objects: u64,
    /// What they, or for collections their storage, take up.
    pub bytes: u64,
    /// Bytes that need not be.
    pub savable: u64,
    /// Those with most to save first.
    pub rows: Vec<Row>,
    /// How many rows were left out.
    pub omitted: u64,
    /// Who holds the objects, those that hold most of the savable bytes first.
    pub holders: Vec<Holder>,
    /// How many holders were left out.
    pub omitted_holders: u64,
}

/// Objects that are wasted in the same way: equal ones, or those of a class.
#[derive(Clone, Debug)]
pub struct Row {
    /// Of the objects.
    pub class: ClassId,
    /// One of them: the first of equal ones, otherwise the one with most to save.
    pub object: ObjectId,
    /// How many.
    pub objects: u64,
    /// Bytes of them that need not be.
    pub savable: u64,
    /// What else is known of the object.
    pub detail: Detail,
}

/// What makes an object wasteful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detail {
    /// That it is there.
    None,
    /// How full the storage of the object is.
    Fill {
        /// Slots with something in them.
        used: u64,
        /// All slots.
        slots: u32,
    },
    /// How the entries of a hash map are spread.
    Buckets {
        /// All entries.
        entries: u64,
        /// Buckets with entries in them.
        used: u64,
        /// Most entries in one bucket.
        longest: u64,
    },
    /// By field, how many of the objects have null there; most first.
    Nulls(Vec<(String, u64)>),
}

/// Adds up one kind of waste.
pub(super) struct Collector<'h, 'a> {
    holders: &'h mut Holders<'a>,
    tally: Tally,
    finding: Finding,
}

impl<'h, 'a> Collector<'h, 'a> {
    pub(super) fn new(kind: WasteKind, holders: &'h mut Holders<'a>) -> Self {
        let finding = Finding {
            kind,
            objects: 0,
            bytes: 0,
            savable: 0,
            rows: Vec::new(),
            omitted: 0,
            holders: Vec::new(),
            omitted_holders: 0,
        };
        Collector {
            holders,
            tally: Tally::default(),
            finding,
        }
    }

    pub(super) fn add(&mut self, object: ObjectId, bytes: u64, savable: u64) {
        self.finding.objects += 1;
        self.finding.bytes += bytes;
        self.finding.savable += savable;
        self.holders.add(&mut self.tally, object, savable);
    }

    pub(super) fn row(&mut self, row: Row) {
        self.finding.rows.push(row);
    }

    pub(super) fn finish(self, most: usize) -> Finding {
        let mut finding = self.finding;
        let rows = &mut finding.rows;
        rows.sort_unstable_by_key(|row| (Reverse(row.savable), Reverse(row.objects), row.object));
        finding.omitted = rows.len().saturating_sub(most) as u64;
        rows.truncate(most);
        let mut holders = self.holders.ranked(self.tally);
        finding.omitted_holders = holders.len().saturating_sub(most) as u64;
        holders.truncate(most);
        finding.holders = holders;
        finding
    }
}

/// Rows by class, for what is alike in all objects of a class.
#[derive(Default)]
pub(super) struct RowsByClass {
    rows: FxHashMap<ClassId, (Row, u64)>,
}

impl RowsByClass {
    pub(super) fn add(&mut self, class: ClassId, object: ObjectId, savable: u64, detail: Detail) {
        let empty = Row {
            class,
            object,
            objects: 0,
            savable: 0,
            detail: Detail::None,
        };
        let (row, most) = self.rows.entry(class).or_insert((empty, 0));
        if row.objects == 0 || savable > *most {
            *most = savable;
            row.object = object;
            row.detail = detail;
        }
        row.objects += 1;
        row.savable += savable;
    }

    pub(super) fn into_rows(self) -> impl Iterator<Item = Row> {
        self.rows.into_values().map(|(row, _)| row)
    }
}
