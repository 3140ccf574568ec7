//! `anthill check`: whether what must hold for a heap does.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anthill_assertions::Severity;
use anthill_assertions::rules::{Claim, Rule, parse};
use anthill_classify::Definitions;
use anthill_session::{ProgramCheck, ProgramChecked, RuleChecked, check_rule_groups};
use anthill_trace::{Point, Trace, elapsed, is_trace};
use clap::{Args, ValueEnum};

use crate::check::{Origin, State, Verdicts, junit, sarif, text};
use crate::definitions::DefinitionArguments;
use crate::failure::{Failure, say};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments, limit};

/// Check rules and the program's own assertions on heap dumps and recordings
///
/// Rules say what must hold: how many instances there may be, what must be dead, unshared or owned, how much
/// something may retain. docs/rules.md has the language. Assertions that the program made through Anthill's
/// Java API are in its heap and are checked as well, in any dump. What does not hold is shown
/// with the paths from the GC roots. On a recording every state is checked, unless --at chooses one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill check app.hprof
      The program's own assertions: assertDead, assertOwnedBy and so on
  anthill check app.hprof heap.rules
      Rules of a file, too
  anthill check app.hprof --rule 'at most 1 instances of com.acme.Registry'
      A single rule
  anthill check monday.hprof friday.hprof --rule 'growth of retained of com.acme.* at most 10 MB'
      From dump to dump
  anthill check app.trace heap.rules --format junit -o heap.xml
      A recording, for a build server

Exit code 1 means that something does not hold (of severity error, unless --fail-on says otherwise).")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Files with rules, and further dumps or recordings
    #[arg(value_name = "RULES|FILE")]
    pub more: Vec<PathBuf>,
    /// A rule; can be repeated
    #[arg(long, value_name = "RULE")]
    pub rule: Vec<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Leave out the program's own assertions
    #[arg(long)]
    pub no_assertions: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    pub format: Format,
    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// From which severity on a violation leads to exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// How many violations of each rule are shown; 0 for all
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with paths
    Text,
    /// docs/output.md describes it
    Json,
    /// The XML report of a test suite, as Maven Surefire writes it
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Note,
}

impl FailOn {
    fn least(self) -> Severity {
        match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let definitions = arguments.definitions.read()?;
    let (heaps, rule_files): (Vec<&PathBuf>, Vec<&PathBuf>) =
        arguments.more.iter().partition(|path| is_heap(path));
    let rules = Rules::read(&rule_files, &arguments.rule, &definitions)?;
    let heaps: Vec<&PathBuf> = [&arguments.source.file].into_iter().chain(heaps).collect();
    let check = Check {
        arguments,
        rules: &rules,
        definitions: &definitions,
    };
    let mut found = Vec::new();
    let mut last = None;
    for heap in &heaps {
        check.file(heap, &mut found, &mut last)?;
    }
    let mut verdicts = Verdicts::new(&rules.all, found);
    for heap in heaps.iter().filter(|heap| check.asks_for_told(heap)) {
        let trace = Trace::open(heap).map_err(anthill_session::Error::from)?;
        verdicts.add_told(&heap.display().to_string(), &trace.timeline().violations);
    }
    for note in &verdicts.notes {
        say(&format!("warning: {note}"));
    }
    let files: Vec<String> = heaps
        .iter()
        .map(|heap| heap.display().to_string())
        .collect();
    if let Some(source) = last {
        check.write(&verdicts, &files, &source)?;
    }
    match verdicts.violated(arguments.fail_on.least()) {
        0 => Ok(()),
        1 => Err(Failure::Findings("1 check does not hold".to_owned())),
        number => Err(Failure::Findings(format!("{number} checks do not hold"))),
    }
}

/// Whether a file is a heap dump or a recording, not a text with rules. What cannot be read is no text.
fn is_heap(path: &Path) -> bool {
    let mut start = [0; 12];
    let read = File::open(path).and_then(|file| file.take(12).read(&mut start));
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    read.is_ok() && (start == *b"JAVA PROFILE" || gzip || is_trace(path))
}

/// All rules with where they were written.
struct Rules {
    all: Vec<(Rule, Origin)>,
    plain: Vec<Rule>,
}

impl Rules {
    fn read(
        files: &[&PathBuf],
        options: &[String],
        definitions: &Definitions,
    ) -> Result<Self, Failure> {
        let mut all = Vec::new();
        for path in files {
            let origin = path.display().to_string();
            let text = fs::read_to_string(path).map_err(|error| {
                let reason = format!("{origin}: {error}");
                Failure::unusable(
                    reason,
                    "Name heap dumps, recordings and text files with rules.",
                )
            })?;
            add(&mut all, &origin, Some(&origin), &text, definitions)?;
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
                return Err(Failure::unusable(
                    format!("there are two rules `{}`", rule.name),
                    "Give one of them another name.",
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
) -> Result<(), Failure> {
    let rules = parse(text, definitions).map_err(|mistake| {
        Failure::unusable(
            mistake.show(origin, text),
            "docs/rules.md explains how rules are written.",
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

type Found = (State, ProgramChecked, Vec<RuleChecked>);

struct Check<'a> {
    arguments: &'a Arguments,
    rules: &'a Rules,
    definitions: &'a Definitions,
}

impl Check<'_> {
    /// Whether a file may tell what did not hold while the program ran.
    fn asks_for_told(&self, path: &Path) -> bool {
        !self.arguments.no_assertions && self.arguments.source.at.is_none() && is_trace(path)
    }

    /// Checks a dump, a state of a recording, or all of its states.
    fn file(
        &self,
        path: &Path,
        found: &mut Vec<Found>,
        last: &mut Option<Source>,
    ) -> Result<(), Failure> {
        let source = &self.arguments.source;
        if source.at.is_some() || !is_trace(path) {
            // The one before is closed first: two heaps need twice the memory.
            *last = None;
            let opened = source.open_at(path, source.at.clone())?;
            opened.warn_of_missing();
            found.push(self.state(&opened)?);
            *last = Some(opened);
            return Ok(());
        }
        let trace = Trace::open(path).map_err(anthill_session::Error::from)?;
        let numbers: Vec<u32> = trace.states().iter().map(|state| state.number).collect();
        drop(trace);
        if numbers.is_empty() {
            return Err(Failure::unusable(
                format!("{}: the recording has no heap states", path.display()),
                "`anthill timeline` shows what it has.",
            ));
        }
        for number in numbers {
            *last = None;
            let opened = source.open_at(path, Some(Point::State(number)))?;
            found.push(self.state(&opened)?);
            *last = Some(opened);
        }
        Ok(())
    }

    fn state(&self, source: &Source) -> Result<Found, Failure> {
        let session = &source.session;
        let header = session.recording().map(|recording| recording.state());
        let state = State {
            name: match header {
                Some(header) => format!(
                    "{} #{} at {}",
                    source.name,
                    header.number,
                    elapsed(header.time)
                ),
                None => source.name.clone(),
            },
            number: header.map(|header| header.number),
            time: header.map(|header| header.time),
            points: header.map_or(Vec::new(), |header| {
                let trace = session.recording().map(|recording| recording.trace());
                let is_here = |point: &&String| {
                    let state = trace.and_then(|trace| trace.at(&Point::parse(point)).ok());
                    state.is_some_and(|state| state.number == header.number)
                };
                self.rules.points().filter(is_here).cloned().collect()
            }),
        };
        let program = match self.arguments.no_assertions {
            true => ProgramChecked::default(),
            false => session.check_program(&ProgramCheck::default())?,
        };
        let rules = session.check_rules(&self.rules.plain, self.definitions)?;
        Ok((state, program, rules))
    }

    fn write(&self, verdicts: &Verdicts, files: &[String], source: &Source) -> Result<(), Failure> {
        let mut out = match &self.arguments.output {
            Some(path) => source.out_to(File::create(path).map_err(|error| {
                Failure::unusable(
                    format!("{}: {error}", path.display()),
                    "Name another file with -o.",
                )
            })?),
            None => source.out(),
        };
        let name = files.join(", ");
        let format = match self.arguments.source.json {
            true => Format::Json,
            false => self.arguments.format,
        };
        match format {
            Format::Text => self.text(verdicts, &mut out),
            Format::Json => json::print_as(&mut out, source, &name, "check", verdicts),
            Format::Junit => junit(verdicts, &name, self.arguments.fail_on.least(), &mut out),
            Format::Sarif => sarif(verdicts, files, &mut out),
        }
    }

    fn text(&self, verdicts: &Verdicts, out: &mut Out) -> Result<(), Failure> {
        text(verdicts, super::or_all(self.arguments.limit), out)?;
        Ok(out.flush()?)
    }
}
