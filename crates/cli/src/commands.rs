//! The commands, one file each: their arguments, and how their result is shown.

pub mod attach;
pub mod check;
pub mod classifiers;
pub mod classify;
pub mod completions;
pub mod control;
pub mod cut;
pub mod demo;
pub mod diff;
pub mod dominators;
pub mod evolution;
pub mod groups;
pub mod growth;
pub mod histogram;
pub mod inspect;
pub mod man;
pub mod object;
pub mod objects;
pub mod open;
pub mod owners;
pub mod paths;
pub mod record;
pub mod report;
pub mod strings;
pub mod structures;
pub mod summary;
pub mod threads;
pub mod timeline;
pub mod waste;

/// Rows of a table, unless the user wants another number.
const DEFAULT_ROWS: usize = 30;

/// How many rows to show: 0 stands for all, and programs get all unless they ask for less.
fn row_limit(asked: Option<usize>, for_program: bool) -> usize {
    match asked {
        Some(limit) => or_all(limit),
        None if for_program => usize::MAX,
        None => DEFAULT_ROWS,
    }
}

/// A limit, where 0 stands for none.
pub fn or_all(limit: usize) -> usize {
    match limit {
        0 => usize::MAX,
        limit => limit,
    }
}
