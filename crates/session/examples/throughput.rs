//! Measures how many objects a second steps are evaluated for: name, objects, seconds, objects/s.
//!
//! `cargo run --release -p anthill-session --example throughput -- DUMP`

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anthill_classify::{Context, Step};
use anthill_heap::Quiet;
use anthill_session::{Error, Options, Session};

/// What is measured: a name and steps.
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

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("usage: throughput DUMP");
        return ExitCode::from(2);
    };
    match measure(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measure(path: &Path) -> Result<(), Error> {
    let session = Session::open(path, Options::default(), Box::new(Quiet))?;
    let analysis = session.analysis()?;
    let graph = session.graph();
    let objects = session.state().len();
    for (name, steps) in STEPS {
        let steps = Step::parse_list(steps)
            .map_err(|mistake| Error::Question(mistake.show(name, steps)))?;
        // Nothing that was computed for one measurement helps the next.
        let context = Context::new(&graph, &analysis.dominators, session.records(), &Quiet);
        let start = Instant::now();
        let levels = context.levels(&steps)?;
        let seconds = start.elapsed().as_secs_f64();
        drop(levels);
        println!(
            "{name}\t{objects}\t{seconds:.3}\t{:.0}",
            f64::from(objects) / seconds
        );
    }
    Ok(())
}
