//! The figures of the report: what suspects retain, what is in that, how severe it is, and how it is held.

use std::collections::BTreeMap;

use anthill_leaks::{Severity, Subject, Thresholds, report};
use anthill_paths::{Member, TreeOptions, dominator_tree};
use anthill_session::Session;

use crate::cases::{Needs, on_heaps};
use crate::paths::{is_held_by, is_valid};
use crate::roots::class_number;
use anthill_testkit::brute_force::{BruteForce, Set, count, nodes, one};

#[test]
fn suspects_retain_what_dies_with_them() {
    on_heaps(16, 5000, Needs::References, |session, brute_force, _| {
        let thresholds = Thresholds::default();
        let report = report(session, &thresholds).unwrap();
        let heap = brute_force.bytes(brute_force.live);
        let brute_force = &without_borrowed_locals(session, brute_force);
        let distances = brute_force.distances(0);
        let graph = session.owners_graph().unwrap();
        for suspect in &report.suspects {
            let subject = subject(session, brute_force, &suspect.subject);
            let dead = brute_force.dies_with(subject);
            let found = (suspect.retained_objects, suspect.retained);
            assert_eq!(
                found,
                (count(dead), brute_force.bytes(dead)),
                "{:?}",
                suspect.subject
            );
            let is_high = suspect.retained * 100 > heap * 30;
            assert_eq!(suspect.severity == Severity::High, is_high);
            contents(session, brute_force, dead, suspect);
            if let Some(kept) = suspect.kept {
                assert!(kept.covered.0 <= kept.covered.1, "{:?}", suspect.subject);
            }
            for (owner, readable) in &suspect.owner_paths {
                is_held_by(brute_force, &readable.short, *owner as usize);
                let path: Vec<u32> = readable.steps.iter().map(|step| step.node).collect();
                assert_eq!(
                    distances[*owner as usize],
                    Some(path.len() + readable.skipped)
                );
                if readable.skipped == 0 {
                    is_valid(session, brute_force, &graph, &path);
                }
            }
        }
    });
}

/// The same heap without the roots that own nothing: the report does not count them. Of local variables that lead to each
/// other any may stay.
pub(crate) fn without_borrowed_locals<'a>(
    session: &Session,
    brute_force: &BruteForce<'a>,
) -> BruteForce<'a> {
    let mut owned = brute_force.owned();
    let borrowed = session.borrowed().unwrap().locals.iter();
    let borrowed = borrowed.fold(0, |set, &node| set | one(node as usize));
    let roots = brute_force.roots & !borrowed;
    assert_eq!(count(roots), count(owned.roots), "as few roots as possible");
    owned.roots = roots;
    assert_eq!(
        owned.dies_with(0),
        0,
        "all that was reachable is so without borrowed locals"
    );
    owned
}

fn subject(session: &Session, brute_force: &BruteForce, subject: &Subject) -> Set {
    match subject {
        Subject::Loader(node) | Subject::Object(node) => one(*node as usize),
        Subject::Owners(owners) | Subject::Alike(owners) => {
            owners.iter().fold(0, |set, &node| set | one(node as usize))
        }
        Subject::Class(class) => {
            let class = class_number(session, brute_force, *class as usize);
            let members =
                (0..brute_force.node_count()).filter(|&node| brute_force.class_of(node) == class);
            members.fold(0, |set, node| set | one(node))
        }
    }
}

/// The classes with most bytes in what a suspect keeps alive.
fn contents(
    session: &Session,
    brute_force: &BruteForce,
    dead: Set,
    suspect: &anthill_leaks::ReportedSuspect,
) {
    let mut by_class: BTreeMap<Option<usize>, (u64, u64)> = BTreeMap::new();
    for node in nodes(dead).filter(|&node| node < brute_force.objects()) {
        let (objects, bytes) = by_class.entry(brute_force.class_of(node)).or_default();
        *objects += 1;
        *bytes += brute_force.size(node);
    }
    let mut sizes: Vec<u64> = by_class.values().map(|of| of.1).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.truncate(8);
    let found: Vec<u64> = suspect.contents.iter().map(|of| of.shallow).collect();
    assert_eq!(found, sizes, "{:?}", suspect.subject);
    for content in &suspect.contents {
        let class = class_number(session, brute_force, content.class as usize);
        let expected = by_class.get(&class).copied().unwrap_or_default();
        assert_eq!(
            (content.objects, content.shallow),
            expected,
            "class {class:?}"
        );
    }
}

#[test]
fn the_dominator_tree_counts_what_is_below() {
    on_heaps(17, 7000, Needs::References, |session, brute_force, case| {
        let options = TreeOptions {
            top: None,
            depth: 1 + case.seed as usize % 4,
            limit: 1 + case.seed as usize % 5,
            least: 0,
        };
        let items = dominator_tree(session, &options).unwrap();
        assert_eq!(items[0].member, Member::Heap);
        assert_eq!(items[0].objects, count(brute_force.live));
        assert_eq!(items[0].retained, brute_force.bytes(brute_force.live));
        for item in &items {
            if let Member::Object(node) = item.member {
                let dead = brute_force.dominated(node as usize);
                assert_eq!(
                    (item.objects, item.retained),
                    (count(dead), brute_force.bytes(dead)),
                    "{node}"
                );
            }
            let below = item.children.iter().map(|&child| &items[child]);
            let retained: u64 = below.map(|child| child.retained).sum();
            assert!(
                retained + item.omitted_retained <= item.retained,
                "{item:?}"
            );
        }
    });
}
