//! Everything that is asked about a heap that was let in. Answers may be anything, errors too: only
//! panics, hangs and memory without measure are wrong.

use anthill_checks::{ProgramCheck, check_program};
use anthill_classify::{CATALOG, Definitions};
use anthill_graph::{Convention, DepthFirst, Dominators, FrontOptions, Graph, Paths};
use anthill_heap::{BitSet, HeapState, Quiet};
use anthill_history::{DumpMoment, Snapshot, inventory, inventory_by_path, structures_by_name};
use anthill_hprof::{Dump, Records};
use anthill_leaks::{Thresholds, owner_fronts, report, waste};
use anthill_paths::{
    TreeOptions, collapsed_paths, dominator_tree, merged_paths, owner_paths, paths_to,
};
use anthill_session::{Error, Grouping, Session};
use fastrand::Rng;

/// Questions about single objects are asked of so many.
const OBJECTS: usize = 12;

/// Steps with arguments; those without are all in the catalog.
const STEPS: [&str; 3] = ["field(value)", "feature(closest-root)", "text, length"];

type Question = fn(&Session) -> Result<(), Error>;

const QUESTIONS: [Question; 19] = [
    |session| report(session, &Thresholds::default()).map(drop),
    |session| waste(session, 10).map(drop),
    |session| check_program(session, &ProgramCheck::default()).map(drop),
    |session| structures_by_name(session).map(drop),
    |session| inventory(session).map(drop),
    |session| inventory_by_path(session).map(drop),
    |session| Snapshot::of(session).map(drop),
    |session| DumpMoment::of(session).map(drop),
    |session| session.find_strings(|text| text.len() > 3).map(drop),
    |session| merged_paths(session, &few(session)).map(|paths| drop(paths.graph())),
    |session| collapsed_paths(session, &few(session)).map(|paths| drop(paths.graph())),
    |session| owner_paths(session, &few(session)).map(drop),
    dominator_trees,
    single_objects,
    owners,
    measures,
    |session| {
        let _ = session.thread_stacks();
        let _ = session.structure_warnings();
        Ok(())
    },
    |session| classified(session, 0),
    |session| classified(session, 1),
];

/// Of all questions so many are asked on average, chosen by the input: more inputs say more than more
/// questions about each.
const ASKED: usize = 5;

/// Asks a session about its heap.
pub(crate) fn ask(session: &Session, random: &mut Rng) {
    values(session.state(), session.records());
    let Ok(analysis) = session.analysis() else {
        return;
    };
    let _ = analysis.total();
    for grouping in [Grouping::Class, Grouping::Package, Grouping::Loader] {
        let _ = analysis.rows(grouping).len();
    }
    for question in QUESTIONS {
        if random.usize(..QUESTIONS.len()) < ASKED {
            // Whoever fails has said why.
            let _ = question(session);
        }
    }
}

/// Asks what can be asked of a heap alone.
pub(crate) fn ask_heap(dump: &Dump) {
    let state = &dump.state;
    values(state, &dump.records);
    let Some(sizes) = &state.tables.sizes else {
        return;
    };
    for convention in [Convention::DEFAULT, Convention::MAT] {
        let graph = Graph::new(state, sizes, convention);
        let search = DepthFirst::new(&graph, &Quiet).expect("nobody cancels it");
        let dominators = Dominators::new(&graph, search, &Quiet).expect("nobody cancels it");
        let _ = dominators.reachable();
        let _ = Paths::search(&graph, &[], &Quiet);
    }
}

/// The fields, elements and texts of some objects.
fn values(state: &HeapState, records: &Records) {
    for object in some(state) {
        let _ = records.fields(state, object);
        let _ = records.elements(state, object, 0..10);
        let _ = records.text(state, object, 100);
        for &to in state.references(object).iter().take(OBJECTS) {
            let _ = records.reference_name(state, object, to);
        }
    }
}

/// Objects from all over the heap.
fn some(state: &HeapState) -> impl Iterator<Item = u32> + use<> {
    let objects = state.len();
    (0..objects).step_by((objects as usize / OBJECTS).max(1))
}

fn few(session: &Session) -> Vec<u32> {
    some(session.state()).collect()
}

fn dominator_trees(session: &Session) -> Result<(), Error> {
    for top in [None, Some(0)] {
        let top = top.filter(|&top| top < session.state().len());
        dominator_tree(
            session,
            &TreeOptions {
                top,
                depth: 8,
                limit: 10,
                least: 0,
            },
        )?;
    }
    Ok(())
}

fn single_objects(session: &Session) -> Result<(), Error> {
    let graph = session.graph();
    for object in some(session.state()) {
        let _ = session.label(object);
        let _ = session.referrers(&graph, object);
        let _ = session.allocated_at(object);
        paths_to(session, object, 3)?;
    }
    Ok(())
}

/// All objects, the reachable ones, some.
fn groups(session: &Session) -> Result<[BitSet; 3], Error> {
    let mut some = BitSet::new(session.state().len() as usize);
    few(session).iter().for_each(|&object| some.insert(object));
    Ok([
        session.objects_of(|_| true, true)?,
        session.objects_of(|_| true, false)?,
        some,
    ])
}

fn owners(session: &Session) -> Result<(), Error> {
    for group in groups(session)? {
        owner_fronts(session, &group, FrontOptions::default())?;
        session.roots_of_both_kinds(&group)?;
    }
    Ok(())
}

fn measures(session: &Session) -> Result<(), Error> {
    for group in groups(session)? {
        session.measure(&group)?;
        session.closures(&group)?;
    }
    Ok(())
}

/// Splits all objects by every second step of the catalog, from the given one on.
fn classified(session: &Session, first: usize) -> Result<(), Error> {
    let [all, ..] = groups(session)?;
    let definitions = Definitions::default();
    let known = CATALOG.iter().map(|entry| format!("{}, type", entry.name));
    let all_steps = known.chain(STEPS.map(str::to_owned));
    for steps in all_steps.skip(first).step_by(2) {
        if let Ok(steps) = definitions.steps(&steps) {
            let _ = session.classify(&all, &steps);
        }
    }
    Ok(())
}
