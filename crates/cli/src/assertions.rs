//! Checks the assertions that a running program makes, on the dumps that its recorder takes.

use std::fmt::Write;
use std::path::Path;

use anthill_assertions::{Forgive, Kind, NamedPath, ThreadName, Violation as Violated};
use anthill_checks::{ProgramCheck, check_program};
use anthill_heap::Quiet;
use anthill_recorder::{Checker, FoundViolation, Violation};
use anthill_session::{IndexFolder, Options, Session};

pub struct ProgramAssertions;

impl Checker for ProgramAssertions {
    fn check(&self, dump: &Path, forgiven: Option<u64>) -> Result<Vec<FoundViolation>, String> {
        let options = Options {
            index: IndexFolder::None,
            ..Options::default()
        };
        let how = ProgramCheck {
            forgive: forgiven.map(|thread| Forgive {
                thread: ThreadName::Id(thread as i64),
            }),
            ..ProgramCheck::default()
        };
        let checked = Session::open(dump, options, Box::new(Quiet))
            .and_then(|session| check_program(&session, &how))
            .map_err(|error| error.to_string())?;
        let own = checked.violations.iter().filter(|one| !is_by_jvm(one));
        own.map(found).collect()
    }
}

/// Whether something survived a region because the JVM keeps it for a class that was first used there, constants and locks of
/// loaders, or because it is what an assertion says.
fn is_by_jvm(violated: &Violated) -> bool {
    const KEPT_FOR_CLASSES: [&str; 2] = ["parallelLockMap", "<resolved_references>"];
    let by_jvm = |via: &str| KEPT_FOR_CLASSES.iter().any(|kept| via.contains(kept));
    let mut steps = violated.paths.iter().flat_map(|path| &path.steps);
    violated.kind == Kind::AllDead
        && steps.any(|step| {
            step.via.as_deref().is_some_and(by_jvm)
                || step.object.class.starts_with("dev.anthill.internal.")
        })
}

/// The most that is told of many referrers and ways.
const LISTED: usize = 50;

fn found(violated: &Violated) -> Result<FoundViolation, String> {
    let mut violated = violated.clone();
    violated.referrers.truncate(LISTED);
    violated.holders.truncate(LISTED);
    let by_variable = |path: &NamedPath| path.frame.is_some();
    let lines = |path: &NamedPath| path.to_string().lines().map(str::to_owned).collect();
    Ok(FoundViolation {
        fleeting: violated.kind != Kind::Instances && violated.paths.iter().any(by_variable),
        violation: Violation {
            kind: violated.kind.name().to_uppercase().replace('-', "_"),
            message: violated.message.clone(),
            class: violated.class.clone(),
            bytes: violated.bytes,
            count: violated.count,
            made_at: violated.made_at.clone(),
            paths: violated.paths.iter().map(lines).collect(),
            text: violated.to_string().trim_end().to_owned(),
            json: serde_json::to_string(&violated).map_err(|error| error.to_string())?,
            assertions: violated.ids.iter().map(|&id| id as u64).collect(),
            key: key(&violated),
        },
    })
}

/// The same for violations that differ in their objects only.
fn key(violated: &Violated) -> String {
    let Violated {
        kind,
        class,
        message,
        made_at,
        ..
    } = violated;
    let mut key = format!("{} {class} {message:?} {made_at:?}", kind.name());
    for step in violated.paths.iter().flat_map(|path| &path.steps) {
        let via = step.via.as_deref().unwrap_or_default();
        let without_index = via.trim_matches(|c: char| c.is_ascii_digit() || "[]".contains(c));
        // Writing to a text cannot fail.
        let _ = write!(key, " {without_index} {}", step.object.class);
    }
    key
}
