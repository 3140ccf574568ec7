//! `anthill histogram`: objects, shallow and retained bytes by class, package or class loader.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use anthill_heap::{ClassId, ObjectId};
use anthill_session::{Grouping, Row};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::Failure;
use crate::names::ClassNames;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit};
use anthill_classify::Pattern;

/// Count objects and bytes by class, package or class loader
///
/// Objects and shallow bytes count everything in the dump, as `jcmd GC.class_histogram` does; with
/// class data sharing, HotSpot's histogram also has archived java.lang.Class objects that are not in
/// the dump. Retained is what would be freed if all objects of the row were gone; it is exact, and since rows
/// can keep the same objects alive through each other, it does not add up. Shares are of the
/// reachable heap.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill histogram app.hprof
      Which classes keep most of the memory alive?
  anthill histogram app.hprof --by package --sort shallow
      Whose objects fill the heap?
  anthill histogram app.hprof --filter 'com.acme.*' --csv
      All classes of the application, for a spreadsheet")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// What a row stands for
    #[arg(long, value_enum, default_value_t = By::Class)]
    pub by: By,
    /// What comes first
    #[arg(long, value_enum, default_value_t = Sort::Retained)]
    pub sort: Sort,
    /// How many rows; 0 for all [default: 30; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Only rows of this name; `*` stands for any characters, `?` for one
    #[arg(long, value_name = "GLOB")]
    pub filter: Option<String>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    Class,
    Package,
    Loader,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Retained,
    Shallow,
    Objects,
    Name,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let histogram = Histogram::new(source, arguments)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "histogram", histogram.json())
    } else if arguments.csv {
        histogram.csv(&mut out)
    } else {
        histogram.text(&mut out)
    }
}

/// The rows that are asked for.
struct Histogram {
    by: By,
    rows: Vec<(GroupName, Row)>,
    /// How many rows of the list are shown.
    shown: usize,
    total: Row,
    /// Whether the rows are all there are, so that what they retain together is known.
    complete: bool,
    /// Bytes of the reachable heap.
    reachable: u64,
}

struct GroupName {
    name: String,
    class: Option<ClassId>,
    /// Of a class that is shown: its loader, where that is needed.
    loader: Option<String>,
}

impl GroupName {
    fn shown(&self) -> String {
        match &self.loader {
            Some(loader) => format!("{} (loader {loader})", self.name),
            None => self.name.clone(),
        }
    }
}

#[derive(Serialize)]
struct Json<'a> {
    by: &'static str,
    rows: Vec<JsonRow<'a>>,
    /// Rows that the limit left out.
    omitted: usize,
    total: JsonTotal,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loader: Option<&'a str>,
    #[serde(flatten)]
    counts: Counts,
    retained: u64,
    retained_objects: u64,
}

#[derive(Serialize)]
struct JsonTotal {
    #[serde(flatten)]
    counts: Counts,
    /// Not known for a selection of rows.
    retained: Option<u64>,
    retained_objects: Option<u64>,
}

#[derive(Serialize)]
struct Counts {
    objects: u64,
    shallow: u64,
    unreachable_objects: u64,
    unreachable_shallow: u64,
}

impl Counts {
    fn of(row: &Row) -> Self {
        Counts {
            objects: row.objects,
            shallow: row.shallow,
            unreachable_objects: row.unreachable_objects,
            unreachable_shallow: row.unreachable_shallow,
        }
    }
}

impl Histogram {
    fn new(source: &Source, arguments: &Arguments) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let names = group_names(source, arguments.by)?;
        let grouping = match arguments.by {
            By::Class => Grouping::Class,
            By::Package => Grouping::Package,
            By::Loader => Grouping::Loader,
        };
        let reachable_only = session.convention().mat;
        let visible = |row: Row| if reachable_only { reachable(row) } else { row };
        let mut rows: Vec<(GroupName, Row)> = names
            .into_iter()
            .zip(analysis.rows(grouping).iter().copied().map(visible))
            .filter(|(_, row)| row.objects > 0)
            .collect();
        if let Some(filter) = &arguments.filter {
            let pattern = Pattern::class(filter);
            if !rows.iter().any(|(group, _)| pattern.matches(&group.name)) {
                let all = rows.iter().map(|(group, _)| group.name.as_str());
                return Err(Failure::NothingFound(
                    pattern.no_match(what(arguments.by).0, all),
                ));
            }
            rows.retain(|(group, _)| pattern.matches(&group.name));
        }
        sort(&mut rows, arguments.sort);
        let for_program = arguments.source.json || arguments.csv;
        let shown = super::row_limit(arguments.limit, for_program).min(rows.len());
        name_loaders(source, &mut rows[..shown], for_program);
        let total = match &arguments.filter {
            None => visible(analysis.total()),
            Some(_) => rows.iter().fold(Row::default(), |sum, (_, row)| Row {
                objects: sum.objects + row.objects,
                shallow: sum.shallow + row.shallow,
                unreachable_objects: sum.unreachable_objects + row.unreachable_objects,
                unreachable_shallow: sum.unreachable_shallow + row.unreachable_shallow,
                ..sum
            }),
        };
        Ok(Histogram {
            by: arguments.by,
            rows,
            shown,
            total,
            complete: arguments.filter.is_none(),
            reachable: analysis.total().retained,
        })
    }

    fn json(&self) -> Json<'_> {
        let rows = self.rows[..self.shown].iter();
        let rows = rows.map(|(group, row)| {
            let name = |by| (self.by == by).then_some(group.name.as_str());
            JsonRow {
                class: name(By::Class),
                package: name(By::Package),
                loader: name(By::Loader).or(group.loader.as_deref()),
                counts: Counts::of(row),
                retained: row.retained,
                retained_objects: row.retained_objects,
            }
        });
        Json {
            by: what(self.by).0,
            rows: rows.collect(),
            omitted: self.rows.len() - self.shown,
            total: JsonTotal {
                counts: Counts::of(&self.total),
                retained: self.complete.then_some(self.total.retained),
                retained_objects: self.complete.then_some(self.total.retained_objects),
            },
        }
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        let name = match self.by {
            By::Class => "class,loader",
            By::Package => "package",
            By::Loader => "loader",
        };
        let numbers =
            "objects,shallow,retained,retained_objects,unreachable_objects,unreachable_shallow";
        writeln!(out, "{name},{numbers}")?;
        for (group, row) in &self.rows[..self.shown] {
            let numbers = [
                row.objects,
                row.shallow,
                row.retained,
                row.retained_objects,
                row.unreachable_objects,
                row.unreachable_shallow,
            ]
            .map(|number| number.to_string());
            let names = [Some(group.name.as_str()), group.loader.as_deref()];
            let cells: Vec<&str> = names
                .into_iter()
                .flatten()
                .chain(numbers.iter().map(String::as_str))
                .collect();
            csv::line(out, &cells)?;
        }
        Ok(out.flush()?)
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let (one, many) = what(self.by);
        let mut table = Table::new([
            ("objects", Align::Right),
            ("shallow", Align::Right),
            ("retained", Align::Right),
            ("share", Align::Right),
            (one, Align::Left),
        ]);
        for (group, row) in &self.rows[..self.shown] {
            table.row([
                count(row.objects),
                bytes(row.shallow),
                bytes(row.retained),
                share(row.retained, self.reachable),
                group.shown(),
            ]);
        }
        let omitted = &self.rows[self.shown..];
        if !omitted.is_empty() {
            table.row([
                count(omitted.iter().map(|(_, row)| row.objects).sum()),
                bytes(omitted.iter().map(|(_, row)| row.shallow).sum()),
                String::new(),
                String::new(),
                format!(
                    "… {}; --limit 0 shows all",
                    counted(
                        omitted.len() as u64,
                        &format!("more {one}"),
                        &format!("more {many}")
                    )
                ),
            ]);
        }
        let of_class = match self.by {
            By::Class => " with instances",
            _ => "",
        };
        let together = |text: String| if self.complete { text } else { String::new() };
        table.total([
            count(self.total.objects),
            bytes(self.total.shallow),
            together(bytes(self.total.retained)),
            together(share(self.total.retained, self.reachable)),
            format!(
                "total of {}{of_class}",
                counted(self.rows.len() as u64, one, many)
            ),
        ]);
        table.print(out)?;
        if self.total.unreachable_objects > 0 {
            out.remark(&format!(
                "{} ({}) of these are unreachable; they count in objects and shallow, not in retained.",
                counted(self.total.unreachable_objects, "object", "objects"),
                bytes(self.total.unreachable_shallow),
            ))?;
        }
        Ok(out.flush()?)
    }
}

/// What a row stands for, and several.
fn what(by: By) -> (&'static str, &'static str) {
    match by {
        By::Class => ("class", "classes"),
        By::Package => ("package", "packages"),
        By::Loader => ("loader", "loaders"),
    }
}

/// A row without what is unreachable.
fn reachable(row: Row) -> Row {
    Row {
        objects: row.objects - row.unreachable_objects,
        shallow: row.shallow - row.unreachable_shallow,
        unreachable_objects: 0,
        unreachable_shallow: 0,
        ..row
    }
}

/// The names of all groups, in the order of the analysis.
fn group_names(source: &Source, by: By) -> Result<Vec<GroupName>, Failure> {
    let state = source.session.state();
    let plain = |name: &str| GroupName {
        name: name.to_owned(),
        class: None,
        loader: None,
    };
    let analysis = source.session.analysis()?;
    let groups = analysis.groups();
    Ok(match by {
        By::Class => (0..)
            .zip(state.classes())
            .map(|(id, class)| GroupName {
                class: Some(id),
                ..plain(&class.name)
            })
            .collect(),
        By::Package => groups
            .packages
            .iter()
            .map(|package| plain(package))
            .collect(),
        By::Loader => groups
            .loaders
            .iter()
            .map(|&loader| plain(&source.session.loader_name(loader)))
            .collect(),
    })
}

/// Names the loaders of classes: for programs always, for people where the name of the class is
/// ambiguous. The names are in the file, which need not be read for anything else.
fn name_loaders(source: &Source, rows: &mut [(GroupName, Row)], for_program: bool) {
    let state = source.session.state();
    let ambiguous = ClassNames::new(&source.session);
    let mut known: HashMap<Option<ObjectId>, String> = HashMap::new();
    for (group, _) in rows {
        let Some(id) = group.class else { continue };
        if for_program || ambiguous.unambiguous(id) != group.name {
            let loader = state.classes()[id as usize].loader;
            let name = known
                .entry(loader)
                .or_insert_with(|| source.session.loader_name(loader));
            group.loader = Some(name.clone());
        }
    }
}

fn sort(rows: &mut [(GroupName, Row)], by: Sort) {
    // Names decide between equals, so that the order is always the same.
    rows.sort_by(|(a, _), (b, _)| (&a.name, a.class).cmp(&(&b.name, b.class)));
    let key = |row: &Row| match by {
        Sort::Retained => row.retained,
        Sort::Shallow => row.shallow,
        Sort::Objects => row.objects,
        Sort::Name => 0,
    };
    rows.sort_by_key(|(_, row)| Reverse(key(row)));
}
