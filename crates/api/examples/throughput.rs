//! Measures how fast an opened dump is classified and searched for suspects: name, objects, seconds,
//! objects/s, the best of some rounds.
//!
//! `cargo run --release -p anthill-api --example throughput -- DUMP [ROUNDS]`

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anthill_classify::{Context, Step, Tree};
use anthill_graph::{
    DepthFirst, Dominators, Membership, NodeId, deep_by_groups, retained_by_groups,
};
use anthill_heap::Quiet;
use anthill_leaks::{Thresholds, suspects};
use anthill_session::{Error, Options, Session};

/// Expressions and scripts: a name and steps.
const STEPS: [(&str, &str); 10] = [
    ("constant by class", "package(type)"),
    ("filter", "where length > 1000 && type == \"byte[]\""),
    ("classes and lengths", "length > 1000 && type == \"byte[]\""),
    ("number field", "field(\"hash\") % 10"),
    ("field of a field", "field(\"value\").length"),
    ("text", "text.length"),
    ("references", "references.any(r => r.is_array)"),
    ("referrers", "referrers.any(r => r.type ~ \"java.util.*\")"),
    (
        "list of referrers",
        "referrers.map(r => r.type).distinct.count",
    ),
    (
        "script",
        "{ let n = 0; for r in references { if r.size > 16 { n += r.size } } return bucket(n) }",
    ),
];

/// Trees: levels and nodes with objects and bytes.
const TREES: [(&str, &str); 3] = [
    ("tree: type", "type"),
    ("tree: type, rooted", "type, rooted"),
    ("tree: type, pointed-from, type", "type, pointed-from, type"),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: throughput DUMP [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = arguments
        .next()
        .and_then(|rounds| rounds.to_str()?.parse().ok());
    match measure(Path::new(&path), rounds.unwrap_or(3)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// The best time of some rounds of a piece of work on all objects.
struct Rounds {
    objects: u32,
    rounds: usize,
}

impl Rounds {
    fn time<T>(&self, name: &str, mut work: impl FnMut() -> Result<T, Error>) -> Result<(), Error> {
        let mut best = f64::INFINITY;
        for _ in 0..self.rounds {
            let start = Instant::now();
            let result = work()?;
            best = best.min(start.elapsed().as_secs_f64());
            drop(result);
        }
        let objects = self.objects;
        println!(
            "{name}\t{objects}\t{best:.3}\t{:.0}",
            f64::from(objects) / best
        );
        Ok(())
    }
}

fn measure(path: &Path, rounds: usize) -> Result<(), Error> {
    let session = Session::open(path, Options::default(), Box::new(Quiet))?;
    session.analysis()?;
    let rounds = Rounds {
        objects: session.state().len(),
        rounds,
    };
    trees(&session, &rounds)?;
    groups(&session, &rounds)?;
    steps(&session, &rounds)?;
    rounds.time("suspects", || suspects(&session, &Thresholds::default()))
}

fn parsed(name: &str, steps: &str) -> Result<Vec<Step>, Error> {
    Step::parse_list(steps).map_err(|mistake| Error::Question(mistake.show(name, steps)))
}

fn trees(session: &Session, rounds: &Rounds) -> Result<(), Error> {
    let (graph, analysis) = (session.graph(), session.analysis()?);
    let group = session.objects_of(|_| true, false)?;
    for (name, steps) in TREES {
        let steps = parsed(name, steps)?;
        rounds.time(name, || {
            let context = Context::new(&graph, &analysis.dominators, session.records(), &Quiet);
            let levels = context.levels_of(&steps, &group)?;
            Ok(Tree::new(&graph, &group, &levels))
        })?;
    }
    Ok(())
}

/// The sizes of all nodes of the type tree beside the dominator tree, which all of them begin anew.
fn groups(session: &Session, rounds: &Rounds) -> Result<(), Error> {
    let graph = session.graph();
    let classes: &[u32] = &session.state().columns.classes;
    // Every class, and all together.
    let all = session.state().classes().len() as u32;
    let groups: Vec<Vec<u32>> = (0..all).map(|class| vec![class, all]).collect();
    let membership = Membership {
        label: |node: NodeId| classes.get(node as usize).copied(),
        groups_of_label: &groups,
        groups: groups.len() + 1,
    };
    rounds.time("dominator tree", || {
        let search = DepthFirst::new(&graph, &Quiet)?;
        Ok(Dominators::new(&graph, search, &Quiet)?)
    })?;
    rounds.time("retained sizes of all nodes", || {
        let mut search = DepthFirst::new(&graph, &Quiet)?;
        Ok(retained_by_groups(
            &graph,
            &mut search,
            &membership,
            &Quiet,
        )?)
    })?;
    rounds.time("deep sizes of all nodes", || {
        Ok(deep_by_groups(&graph, &membership, &Quiet)?)
    })
}

fn steps(session: &Session, rounds: &Rounds) -> Result<(), Error> {
    let (graph, analysis) = (session.graph(), session.analysis()?);
    for (name, steps) in STEPS {
        let steps = parsed(name, steps)?;
        rounds.time(name, || {
            // Nothing that was computed for one round helps the next.
            let context = Context::new(&graph, &analysis.dominators, session.records(), &Quiet);
            Ok(context.levels(&steps)?)
        })?;
    }
    Ok(())
}
