//! Patterns that no suspect is needed for, compared with a plain search.

use std::collections::BTreeSet;

use anthill_graph::Convention;
use anthill_heap::RootOrigin;
use anthill_leaks::{Pattern, Thresholds, report};
use anthill_testkit::{corpus, skipped};

use crate::open;

#[test]
fn interned_strings_that_nothing_else_uses_are_told() {
    let Some(folder) = corpus().map(|folder| folder.join("public")) else {
        return skipped(
            "interned strings",
            "there is no corpus beside the repository",
        );
    };
    let session = open(&folder.join("hprof-android.bin.gz"), Convention::DEFAULT);
    let state = session.state();
    let dominators = &session.analysis().unwrap().dominators;
    let held: BTreeSet<u32> = (0..state.len())
        .filter(|&from| dominators.is_reachable(from))
        .flat_map(|from| state.references(from).iter().copied())
        .collect();
    let of = |interned: bool| -> BTreeSet<u32> {
        let is_interned = |origin| origin == RootOrigin::InternedString;
        let roots = state.tables.roots.iter();
        let roots = roots.filter(|root| is_interned(root.origin) == interned);
        roots.map(|root| root.object).collect()
    };
    let (interned, others) = (of(true), of(false));
    let alone = interned
        .iter()
        .filter(|string| !held.contains(string) && !others.contains(string));
    let report = report(&session, &Thresholds::default()).unwrap();
    let found = report.patterns.iter().find_map(|pattern| match *pattern {
        Pattern::InternedStrings { unused, all, .. } => Some((unused, all)),
        _ => None,
    });
    let expected = (alone.count() as u64, interned.len() as u64);
    assert_eq!(found, Some(expected));
}
