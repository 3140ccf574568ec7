//! Whether what must hold for a heap does.

mod verdict;
mod violation;

use std::path::Path as FilePath;

use anthill_assertions::rules::{Claim, Rule, parse};
use anthill_checks::{
    ProgramCheck, ProgramChecked, RuleChecked, check_program, check_rule_groups, check_rules,
};
use anthill_session::Error as SessionError;
use anthill_trace::{Point, Trace, elapsed, is_trace};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{Basis, Definitions, Error, Heap, Question, Series, SeriesQuestion, with_definitions};
pub use verdict::{Answer, Origin, State, Verdict};
pub use violation::{Holders, Kind, Named, Path, Severity, Step, Violation};

/// Check rules and the program's own assertions on heap dumps and recordings
///
/// A rule states a condition on the heap: how many instances may exist, which objects must be dead,
/// unshared or owned, how much something may retain. docs/rules.md describes the language. The
/// command also finds the assertions that the program made through Anthill's Java API and checks
/// them, in any dump. It shows each violation with the paths from the GC roots. It checks every
/// state of a recording, or one state with --at.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Check {
    /// Check this rule; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "RULE"))]
    pub rule: Vec<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Skip the program's own assertions
    #[serde(default)]
    pub no_assertions: bool,
    /// Rules that a face read from files, which a question does not name.
    #[serde(skip)]
    pub files: Vec<RuleFile>,
}

/// A text with rules.
pub struct RuleFile {
    /// How messages call it.
    pub file: String,
    /// The rules, in the language of docs/rules.md.
    pub text: String,
}

impl Question for Check {
    const NAME: &'static str = "check";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        Rules::read(&self.files, &self.rule, &definitions).map(drop)
    }
}

impl SeriesQuestion for Check {
    fn answer(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let definitions = with_definitions(series.definitions(), &self.definitions)?;
        let rules = Rules::read(&self.files, &self.rule, &definitions)?;
        let mut found = Vec::new();
        let mut last = None;
        for (file, path) in series.files().iter().enumerate() {
            for at in states(series, path)? {
                // The one before is closed first: two heaps need twice the memory.
                drop(last.take());
                let heap = series.open(file, at)?;
                found.push(self.state(&heap, &rules, &definitions)?);
                last = Some(heap);
            }
        }
        let mut answer = Answer::new(&rules.all, found);
        for path in series.files() {
            if !self.no_assertions && series.at().is_none() && is_trace(path) {
                let trace = Trace::open(path).map_err(SessionError::from)?;
                answer.add_told(&path.display().to_string(), &trace.timeline().violations);
            }
        }
        let names = series.files().iter();
        let names: Vec<String> = names.map(|file| file.display().to_string()).collect();
        let basis = match last {
            Some(heap) => Basis::Heap(heap.called(names.join(", "))),
            None => Basis::Files(Vec::new()),
        };
        Ok((answer, basis))
    }
}

/// Which states of a file are checked: one that was chosen, or all of a recording.
fn states(series: &dyn Series, path: &FilePath) -> Result<Vec<Option<Point>>, Error> {
    if series.at().is_some() || !is_trace(path) {
        return Ok(vec![series.at()]);
    }
    let trace = Trace::open(path).map_err(SessionError::from)?;
    let states = trace.states().iter();
    let states: Vec<_> = states
        .map(|state| Some(Point::State(state.number)))
        .collect();
    match states[..] {
        [] => Err(Error::unusable(
            format!("{}: the recording has no heap states", path.display()),
            "`anthill timeline` shows what it contains.",
        )),
        _ => Ok(states),
    }
}

impl Check {
    fn state(
        &self,
        heap: &Heap,
        rules: &Rules,
        definitions: &Definitions,
    ) -> Result<CheckedState, Error> {
        let session = &heap.session;
        let header = session.recording().map(|recording| recording.state());
        let state = State {
            name: match header {
                Some(header) => format!(
                    "{} #{} at {}",
                    heap.file,
                    header.number,
                    elapsed(header.time)
                ),
                None => heap.file.clone(),
            },
            number: header.map(|header| header.number),
            time: header.map(|header| header.time),
            points: header.map_or(Vec::new(), |header| {
                let trace = session.recording().map(|recording| recording.trace());
                let is_here = |point: &&String| {
                    let state = trace.and_then(|trace| trace.at(&Point::parse(point)).ok());
                    state.is_some_and(|state| state.number == header.number)
                };
                rules.points().filter(is_here).cloned().collect()
            }),
        };
        let program = match self.no_assertions {
            true => ProgramChecked::default(),
            false => check_program(session, &ProgramCheck::default())?,
        };
        let rules = check_rules(session, &rules.plain, definitions)?;
        Ok((state, program, rules))
    }
}

type CheckedState = (State, ProgramChecked, Vec<RuleChecked>);

/// All rules with where they were written.
struct Rules {
    all: Vec<(Rule, Origin)>,
    plain: Vec<Rule>,
}

impl Rules {
    fn read(
        files: &[RuleFile],
        options: &[String],
        definitions: &Definitions,
    ) -> Result<Self, Error> {
        let mut all = Vec::new();
        for file in files {
            let origin = file.file.as_str();
            add(&mut all, origin, Some(origin), &file.text, definitions)?;
        }
        for option in options {
            let after = option.trim_start().strip_prefix("rule");
            let is_whole = |after: &str| after.starts_with([' ', '\t', '\n', ':', '"', '\'']);
            let text = match after.is_some_and(is_whole) {
                true => option.clone(),
                false => format!("rule: {option}"),
            };
            add(&mut all, "--rule", None, &text, definitions)?;
        }
        let plain: Vec<Rule> = all.iter().map(|(rule, _)| rule.clone()).collect();
        for (index, rule) in plain.iter().enumerate() {
            if plain[..index].iter().any(|known| known.name == rule.name) {
                return Err(Error::unusable(
                    format!("duplicate rule `{}`", rule.name),
                    "Rename one of them.",
                ));
            }
        }
        check_rule_groups(&plain, definitions)?;
        Ok(Rules { all, plain })
    }

    /// The points of recordings that rules name.
    fn points(&self) -> impl Iterator<Item = &String> {
        let growths = self.plain.iter().filter_map(|rule| match &rule.claim {
            Claim::Measured(one) => one.growth.as_ref(),
            _ => None,
        });
        growths.flat_map(|growth| growth.from.iter().chain(&growth.to))
    }
}

fn add(
    all: &mut Vec<(Rule, Origin)>,
    origin: &str,
    file: Option<&str>,
    text: &str,
    definitions: &Definitions,
) -> Result<(), Error> {
    let rules = parse(text, definitions).map_err(|mistake| {
        Error::unusable(
            mistake.show(origin, text),
            "docs/rules.md describes the language of rules.",
        )
    })?;
    all.extend(rules.into_iter().map(|rule| {
        let origin = Origin {
            file: file.map(str::to_owned),
            line: rule.line,
        };
        (rule, origin)
    }));
    Ok(())
}
