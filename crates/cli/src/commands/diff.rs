//! `anthill diff`: what changed between two dumps of a program, or over a series of them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anthill_leaks::Thresholds;
use anthill_session::{Change, Changed, Figures, Snapshot, changes};
use anthill_trace::{Point, is_trace};
use clap::Args;
use serde::Serialize;

use super::evolution;
use crate::definitions::DefinitionArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count};
use crate::output::{BOLD, Out, csv, json};
use crate::report::{self, Leak, SuspectText};
use crate::source::{Source, SourceArguments, limit, point};

/// Compare dumps, or two states of a recording
///
/// Of dumps, give the earlier one first: classes and packages are compared by name, data structures by
/// how they are held, suspects by what they keep alive and who holds them, which is the same in every run of the program. With
/// more than two dumps, what grew from each to the next is marked. Of a recording, say from which point to which: it shows by any
/// classifiers how many objects were born, died and survived, and says of which objects that is known.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill diff monday.hprof friday.hprof
      What grew during the week?
  anthill diff before.hprof after.hprof --fail-on-new
      For CI: exit code 1 if a suspect was not there before
  anthill diff 1.hprof 2.hprof 3.hprof --by package
      Which packages keep growing?
  anthill diff before.hprof after.hprof --by structure
      Which lists and maps are new, gone, larger, smaller?
  anthill diff app.trace --from 'mark:after deploy' --to last
      What was born, died and survived since the deployment?
  anthill diff app.trace --from '#5' --to '#12' --class com.acme.Order --by type,allocation-site
      Where were the orders allocated that were born in between?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER")]
    pub later: Vec<PathBuf>,
    /// Of a recording: the earlier point [default: where the heap begins to grow, or first]
    #[arg(long, value_name = "POINT", value_parser = point)]
    pub from: Option<Point>,
    /// Of a recording: the later point [default: last]
    #[arg(long, value_name = "POINT", value_parser = point)]
    pub to: Option<Point>,
    /// What is compared: of dumps `class`, `package` or `structure`, of a recording any list of classifiers
    /// [default: class]
    #[arg(long, value_name = "STEPS")]
    pub by: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Of a recording: only objects of these classes; * and ? are wildcards
    #[arg(long, value_name = "GLOB")]
    pub class: Option<String>,
    /// Of a recording: unreachable objects too
    #[arg(long)]
    pub unreachable: bool,
    /// How many rows; 0 for all [default: 30, of a recording 20 below each; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// End with exit code 1 if the last dump has a suspect that the first has not
    #[arg(long)]
    pub fail_on_new: bool,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Class,
    Package,
    /// Data structures by how they are held; objects are their elements, shallow are head and internals
    Structure,
}

/// What is remembered of a dump after it was closed.
struct Heap {
    name: String,
    snapshot: Snapshot,
    /// Only if they are asked for.
    structures: BTreeMap<String, Figures>,
    suspects: Vec<SuspectText>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.source.file.display();
    if is_trace(&arguments.source.file) {
        return match &arguments.later[..] {
            [] if arguments.source.at.is_none() => evolution::show(arguments),
            _ => Err(Failure::unusable(
                format!("{file}: this is a recording, which is compared with itself"),
                "Say from which point to which with --from and --to.",
            )),
        };
    }
    if arguments.later.is_empty() {
        return Err(Failure::unusable(
            format!("{file}: this is a heap dump, which is compared with a later one"),
            "Name the later dump, too.",
        ));
    }
    let of_recordings = arguments.from.is_some()
        || arguments.to.is_some()
        || arguments.class.is_some()
        || arguments.unreachable
        || !arguments.definitions.is_empty();
    if of_recordings {
        return Err(Failure::unusable(
            "--from, --to, --class, --unreachable and --define are for recordings",
            "Leave them out to compare dumps.",
        ));
    }
    show(arguments, arguments.source.open()?)
}

/// How the rows of a comparison of dumps are made.
fn by(arguments: &Arguments) -> Result<By, Failure> {
    match arguments.by.as_deref() {
        None | Some("class") => Ok(By::Class),
        Some("package") => Ok(By::Package),
        Some("structure") => Ok(By::Structure),
        Some(other) => Err(Failure::unusable(
            format!(
                "--by: dumps are compared by `class`, `package` or `structure`, not by `{other}`"
            ),
            "Only the states of a recording are compared by classifiers.",
        )),
    }
}

fn show(arguments: &Arguments, first: Source) -> Result<(), Failure> {
    let by = by(arguments)?;
    let mut heaps = vec![Heap::new(&first, by)?];
    for path in &arguments.later {
        let source = arguments.source.open_file(path)?;
        heaps.push(Heap::new(&source, by)?);
    }
    let difference = Difference::new(arguments, by, &heaps);
    let mut out = first.out();
    if arguments.source.json {
        json::print(&mut out, &first, "diff", &difference)?;
    } else if arguments.csv {
        difference.csv(&mut out)?;
    } else {
        difference.text(&mut out)?;
    }
    out.flush()?;
    let new = difference
        .suspects
        .iter()
        .filter(|suspect| suspect.change == Change::New);
    match new.count() {
        many if many > 0 && arguments.fail_on_new => Err(Failure::Findings(match many {
            1 => "1 suspect is new".to_owned(),
            many => format!("{many} suspects are new"),
        })),
        _ => Ok(()),
    }
}

impl Heap {
    fn new(source: &Source, by: By) -> Result<Self, Failure> {
        let report = source.session.report(&Thresholds::default())?;
        Ok(Heap {
            name: source.name.clone(),
            snapshot: source.session.snapshot()?,
            structures: match by {
                By::Structure => source.session.structures_by_name()?,
                By::Class | By::Package => BTreeMap::new(),
            },
            suspects: report::suspects(source, &report)?,
        })
    }
}

#[derive(Serialize)]
struct Difference<'a> {
    by: &'static str,
    files: Vec<&'a str>,
    totals: Vec<Figures>,
    suspects: Vec<SuspectChange<'a>>,
    rows: Vec<Line>,
    omitted: usize,
}

#[derive(Serialize)]
struct SuspectChange<'a> {
    change: Change,
    fingerprint: &'a str,
    sentence: &'a str,
    /// By file; nothing where it is no suspect.
    retained: Vec<Option<u64>>,
}

impl<'a> SuspectChange<'a> {
    /// Of a suspect that is in none of so many files yet.
    fn new(suspect: &'a SuspectText, files: usize) -> Self {
        SuspectChange {
            change: Change::Same,
            fingerprint: &suspect.fingerprint,
            sentence: &suspect.sentence,
            retained: vec![None; files],
        }
    }
}

#[derive(Serialize)]
struct Line {
    name: String,
    change: Change,
    /// Whether it retains more in every file than in the one before.
    grows_throughout: bool,
    /// By file; nothing where there is none.
    figures: Vec<Option<Figures>>,
    objects_change: i64,
    shallow_change: i64,
    retained_change: i64,
}

impl Line {
    fn new(changed: Changed) -> Self {
        let (first, last) = (changed.first(), changed.last());
        let by = |last: u64, first: u64| last as i64 - first as i64;
        Line {
            change: changed.change(),
            grows_throughout: changed.grows_throughout(),
            objects_change: by(last.objects, first.objects),
            shallow_change: by(last.shallow, first.shallow),
            retained_change: by(last.retained, first.retained),
            name: changed.name,
            figures: changed.figures,
        }
    }
}

impl<'a> Difference<'a> {
    fn new(arguments: &Arguments, by: By, heaps: &'a [Heap]) -> Self {
        let of: Vec<_> = heaps
            .iter()
            .map(|heap| match by {
                By::Class => &heap.snapshot.classes,
                By::Package => &heap.snapshot.packages,
                By::Structure => &heap.structures,
            })
            .collect();
        let mut rows: Vec<Line> = changes(&of).into_iter().map(Line::new).collect();
        let for_program = arguments.source.json || arguments.csv;
        if !for_program {
            rows.retain(|line| line.change != Change::Same || line.objects_change != 0);
        }
        let shown = super::row_limit(arguments.limit, for_program).min(rows.len());
        let omitted = rows.len() - shown;
        rows.truncate(shown);
        Difference {
            by: match by {
                By::Class => "class",
                By::Package => "package",
                By::Structure => "structure",
            },
            files: heaps.iter().map(|heap| heap.name.as_str()).collect(),
            totals: heaps.iter().map(|heap| heap.snapshot.total).collect(),
            suspects: suspects(heaps),
            rows,
            omitted,
        }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let mut files = Table::new([
            ("reachable", Align::Right),
            ("objects", Align::Right),
            ("file", Align::Left),
        ]);
        for (name, total) in self.files.iter().zip(&self.totals) {
            files.row([
                bytes(total.retained),
                count(total.objects),
                (*name).to_owned(),
            ]);
        }
        files.print(out)?;
        out.blank()?;
        for suspect in &self.suspects {
            let change = out.styled(BOLD, word(suspect.change));
            out.wrapped(&format!("{change} suspect: {}", suspect.sentence), 2)?;
            let sizes: Vec<String> = suspect
                .retained
                .iter()
                .map(|retained| retained.map_or("–".to_owned(), bytes))
                .collect();
            out.remark(&format!(
                "  {}   fingerprint {}",
                sizes.join(" → "),
                suspect.fingerprint
            ))?;
        }
        out.blank()?;
        if self.rows.is_empty() {
            out.line(format!("No {} changed.", self.by))?;
            return Ok(());
        }
        let mut table = Table::new([
            ("retained", Align::Right),
            ("change", Align::Right),
            ("shallow", Align::Right),
            ("objects", Align::Right),
            ("", Align::Left),
            (self.by, Align::Left),
        ]);
        for line in &self.rows {
            let last = line.figures.last().copied().flatten().unwrap_or_default();
            let mark = match line.change {
                Change::Grown if self.files.len() > 2 && line.grows_throughout => {
                    "grows throughout"
                }
                change => word(change),
            };
            table.row([
                bytes(last.retained),
                signed(line.retained_change, bytes),
                signed(line.shallow_change, bytes),
                signed(line.objects_change, count),
                mark.to_owned(),
                line.name.clone(),
            ]);
        }
        table.print(out)?;
        Ok(out.omitted(self.omitted)?)
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        csv::line(
            out,
            &[
                self.by,
                "change",
                "objects_before",
                "objects",
                "shallow_before",
                "shallow",
                "retained_before",
                "retained",
            ],
        )?;
        for line in &self.rows {
            let of =
                |figures: Option<&Option<Figures>>| figures.copied().flatten().unwrap_or_default();
            let (first, last) = (of(line.figures.first()), of(line.figures.last()));
            let numbers = [
                first.objects,
                last.objects,
                first.shallow,
                last.shallow,
                first.retained,
                last.retained,
            ]
            .map(|number| number.to_string());
            let mut cells = vec![line.name.as_str(), word(line.change)];
            cells.extend(numbers.iter().map(String::as_str));
            csv::line(out, &cells)?;
        }
        Ok(())
    }
}

/// The suspects of all dumps by leak: the latest first, then those that are gone.
fn suspects(heaps: &[Heap]) -> Vec<SuspectChange<'_>> {
    let mut found: Vec<(Vec<Leak>, SuspectChange)> = Vec::new();
    for (index, heap) in heaps.iter().enumerate().rev() {
        for suspect in &heap.suspects {
            let leak = Leak::of(suspect);
            let is_same =
                |(leaks, _): &(Vec<Leak>, SuspectChange)| leaks.iter().any(|known| known.is(&leak));
            let place = found.iter().position(is_same).unwrap_or_else(|| {
                let change = SuspectChange::new(suspect, heaps.len());
                found.push((Vec::new(), change));
                found.len() - 1
            });
            let (leaks, change) = &mut found[place];
            leaks.push(leak);
            *change.retained[index].get_or_insert(0) += suspect.retained;
        }
    }
    for (_, change) in &mut found {
        change.change = Change::over(&change.retained);
    }
    found.into_iter().map(|(_, change)| change).collect()
}

fn word(change: Change) -> &'static str {
    match change {
        Change::New => "new",
        Change::Gone => "gone",
        Change::Grown => "grown",
        Change::Shrunk => "shrunk",
        Change::Same => "same",
        Change::Passed => "came and went",
    }
}

pub fn signed(change: i64, shown: impl Fn(u64) -> String) -> String {
    match change {
        0 => "0".to_owned(),
        change if change > 0 => format!("+{}", shown(change.unsigned_abs())),
        change => format!("−{}", shown(change.unsigned_abs())),
    }
}
