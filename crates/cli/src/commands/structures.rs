//! `anthill structures`: the lists, maps and other data structures of a heap.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

use anthill_classify::Pattern;
use anthill_session::StructurePlace;
use anthill_structures::{Instance, Together};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::{Failure, say};
use crate::names::ObjectName;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, hex, share};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit};

/// Find data structures: the largest, the most wasteful, the most deeply nested
///
/// A structure is a head, e.g. a HashMap, with its internals, e.g. a table and nodes. Shown are what it
/// retains, how many elements it has, how much of its room they fill, the bytes of head and internals, how
/// many structures are in each other from there on, and how it is held. Structures that are parts of others,
/// like the map in a set, or views of them, like its keys, are left out unless --parts is given; class
/// loaders, which retain all that belongs to their classes, unless --type asks for them. Totals count what
/// several structures share once.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill structures app.hprof
      Which collections are large, wasteful, nested?
  anthill structures app.hprof --sort elements --limit 10
      The ten with most elements
  anthill structures app.hprof --type '*ConcurrentHashMap' --csv > maps.csv
      All maps of one type, for a spreadsheet
  anthill structures app.hprof --structures cache.structures
      With structures of your own; docs/structures.md has the language")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// What comes first [default: a short list of each of retained, waste and depth]
    #[arg(long, value_enum)]
    pub sort: Option<Sort>,
    /// Only structures of this type; `*` stands for any characters
    #[arg(long = "type", value_name = "GLOB")]
    pub of_type: Option<String>,
    /// Also those that are parts or views of others
    #[arg(long)]
    pub parts: bool,
    /// How many rows; 0 for all [default: 30, or 10 of each list; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    /// What would be freed with it
    Retained,
    Elements,
    /// Bytes of head and internals
    Bytes,
    /// Bytes that hold nothing
    Waste,
    /// How many structures are in each other
    Depth,
}

/// Rows of each list if there are several.
const SHORT: usize = 10;

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    for warning in source.session.structure_warnings() {
        say(&format!(
            "warning: {}",
            warning.mistake.show_in_file(&warning.origin, &warning.text)
        ));
    }
    let found = Found::new(arguments, source)?;
    let for_program = arguments.source.json || arguments.csv;
    if for_program {
        let sort = arguments.sort.unwrap_or(Sort::Retained);
        let limit = super::row_limit(arguments.limit, true);
        let rows = found.rows(sort, limit)?;
        let mut out = source.out();
        if arguments.csv {
            return print_csv(&rows, &mut out);
        }
        return json::print(&mut out, source, "structures", found.json(rows)?);
    }
    found.text(arguments)
}

struct Found<'a> {
    source: &'a Source,
    /// Those that are asked for, with their numbers.
    instances: Vec<(u32, Instance)>,
    reachable: u64,
}

#[derive(Serialize)]
struct Json {
    totals: Type,
    types: Vec<Type>,
    sites: Vec<Site>,
    structures: Vec<Row>,
}

/// What structures of one type have together.
#[derive(Serialize)]
struct Type {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    structures: u64,
    empty: u64,
    elements: u64,
    bytes: u64,
    /// Of them, those of objects that belong to several of the structures.
    shared: u64,
    wasted: u64,
}

impl Type {
    fn new(name: &str, together: Together) -> Self {
        let Together {
            structures,
            empty,
            elements,
            bytes,
            shared,
            wasted,
        } = together;
        Type {
            name: name.to_owned(),
            structures,
            empty,
            elements,
            bytes,
            shared,
            wasted,
        }
    }
}

/// Structures whose heads were allocated at the same place.
#[derive(Serialize)]
struct Site {
    site: String,
    structures: u64,
    elements: u64,
    bytes: u64,
    wasted: u64,
}

#[derive(Serialize)]
struct Row {
    /// The name of the definition.
    #[serde(rename = "type")]
    of_type: String,
    #[serde(flatten)]
    head: ObjectName,
    elements: Option<u64>,
    capacity: Option<u64>,
    /// Elements of the capacity, in percent.
    fill: Option<f64>,
    internals: u64,
    bytes: u64,
    /// Null if more than 100 rows are shown.
    deep: Option<u64>,
    wasted: u64,
    /// Empty, sparse or degenerate.
    health: &'static str,
    depth: u32,
    place: &'static str,
    /// Of a view, the address of the structure it shows.
    view_of: Option<String>,
    /// Whether not all that it shares with others was counted.
    at_least: bool,
    held_by: String,
    allocated_at: Option<String>,
}

impl<'a> Found<'a> {
    fn new(arguments: &Arguments, source: &'a Source) -> Result<Self, Failure> {
        let session = &source.session;
        let all = &session.structures()?.instances;
        let pattern = arguments.of_type.as_deref().map(Pattern::class);
        let class = |one: &Instance| session.state().class(one.head).name.as_str();
        let of_type = |(_, one): &(u32, &Instance)| {
            pattern.as_ref().is_none_or(|pattern| {
                pattern.matches(session.structure_type(one)) || pattern.matches(class(one))
            })
        };
        let fitting: Vec<(u32, &Instance)> = (0..).zip(all).filter(of_type).collect();
        if let Some(pattern) = pattern.as_ref().filter(|_| fitting.is_empty()) {
            let names = all.iter().map(|one| session.structure_type(one));
            return Err(Failure::NothingFound(pattern.no_match("structure", names)));
        }
        let state = session.state();
        let is_loader = |head| state.extends(state.class_id(head), "java.lang.ClassLoader");
        let wanted_loader = |head| pattern.is_some() || !is_loader(head);
        let is_wanted = |one: &Instance| {
            (arguments.parts || !(one.is_part || one.is_view)) && wanted_loader(one.head)
        };
        let fits = fitting.len() as u64;
        let wanted = fitting.into_iter().filter(|(_, one)| is_wanted(one));
        let instances: Vec<(u32, Instance)> = wanted.map(|(at, one)| (at, *one)).collect();
        if instances.is_empty() && pattern.is_some() {
            let fitting = counted(fits, "structure that fits is", "structures that fit are");
            return Err(Failure::NothingFound(format!(
                "{fitting} part or view of another; --parts shows them"
            )));
        }
        Ok(Found {
            source,
            instances,
            reachable: session.analysis()?.total().retained,
        })
    }

    /// What all have together and what those of each type have, most bytes first. An object that several
    /// share counts once.
    fn types(&self) -> Result<(Type, Vec<Type>), Failure> {
        let session = &self.source.session;
        let mut by_type: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (number, one) in &self.instances {
            let of_type = by_type.entry(session.structure_type(one)).or_default();
            of_type.push(*number);
        }
        let (names, mut groups): (Vec<&str>, Vec<Vec<u32>>) = by_type.into_iter().unzip();
        groups.push(self.instances.iter().map(|one| one.0).collect());
        let mut together = session.together(&groups)?;
        let totals = Type::new("", together.pop().unwrap_or_default());
        let types = names.into_iter().zip(together);
        let mut types: Vec<Type> = types.map(|(name, of)| Type::new(name, of)).collect();
        types.sort_by_key(|of_type| Reverse(of_type.bytes));
        Ok((totals, types))
    }

    /// Where heads were allocated, as far as the source tells, most bytes first.
    fn sites(&self) -> Vec<Site> {
        let mut sites: BTreeMap<String, Site> = BTreeMap::new();
        for (_, one) in &self.instances {
            let Some(site) = self.source.session.allocated_at(one.head) else {
                continue;
            };
            let sum = sites.entry(site.clone()).or_insert(Site {
                site,
                structures: 0,
                elements: 0,
                bytes: 0,
                wasted: 0,
            });
            sum.structures += 1;
            sum.elements += one.elements.unwrap_or(0);
            sum.bytes += one.bytes;
            sum.wasted += one.waste();
        }
        let mut sites: Vec<Site> = sites.into_values().collect();
        sites.sort_by_key(|site| Reverse(site.bytes));
        sites
    }

    /// The first structures in an order, those with nothing of what is asked for left out.
    fn rows(&self, sort: Sort, limit: usize) -> Result<Vec<Row>, Failure> {
        let session = &self.source.session;
        let analysis = session.analysis()?;
        let retained = |one: &Instance| analysis.dominators.retained(one.head);
        let key = |one: &Instance| match sort {
            Sort::Retained => retained(one),
            Sort::Elements => one.elements.unwrap_or(0),
            Sort::Bytes => one.bytes,
            Sort::Waste => one.waste(),
            Sort::Depth => one.depth.into(),
        };
        let mut chosen: Vec<&Instance> = self.instances.iter().map(|one| &one.1).collect();
        chosen.sort_by_key(|one| (Reverse(key(one)), Reverse(retained(one)), one.head));
        chosen.truncate(limit);
        let heads: Vec<u32> = chosen.iter().map(|one| one.head).collect();
        let places = session.structure_places(&heads)?;
        let row = |(one, place): (&Instance, StructurePlace)| {
            let viewed = session.viewed(one)?;
            Ok(Row {
                of_type: session.structure_type(one).to_owned(),
                head: ObjectName::new(session, analysis, one.head),
                elements: one.elements,
                capacity: one.capacity,
                fill: one.fill().map(|fill| fill * 100.0),
                internals: one.internals,
                bytes: one.bytes,
                deep: place.deep,
                wasted: one.waste(),
                health: health(one),
                depth: one.depth,
                place: one.place().name(),
                view_of: viewed.map(|head| hex(session.state().addresses.address(head))),
                at_least: one.at_least,
                held_by: place.held_by,
                allocated_at: place.allocated_at,
            })
        };
        chosen.into_iter().zip(places).map(row).collect()
    }

    fn json(&self, structures: Vec<Row>) -> Result<Json, Failure> {
        let (totals, types) = self.types()?;
        Ok(Json {
            totals,
            types,
            sites: self.sites(),
            structures,
        })
    }

    fn text(&self, arguments: &Arguments) -> Result<(), Failure> {
        let limit = |otherwise| arguments.limit.map_or(otherwise, super::or_all);
        let lists = match arguments.sort {
            Some(sort) => vec![(sort, self.rows(sort, limit(super::DEFAULT_ROWS))?)],
            None => [Sort::Retained, Sort::Waste, Sort::Depth]
                .into_iter()
                .map(|sort| Ok((sort, self.rows(sort, limit(SHORT))?)))
                .collect::<Result<_, Failure>>()?,
        };
        let mut out = self.source.out();
        let several = lists.len() > 1;
        if several {
            self.print_types(&mut out)?;
        }
        for (sort, rows) in &lists {
            if several {
                out.blank()?;
            }
            out.heading(title(*sort))?;
            self.print_rows(rows, &mut out)?;
        }
        if several {
            print_sites(&self.sites(), limit(SHORT), &mut out)?;
        }
        Ok(out.flush()?)
    }

    fn print_types(&self, out: &mut Out) -> Result<(), Failure> {
        let (totals, types) = self.types()?;
        let shared = match totals.shared {
            0 => String::new(),
            shared => format!(", {} belong to several", bytes(shared)),
        };
        out.heading(&format!(
            "{} of {}: {} elements, {} for heads and internals, {} of it hold nothing{shared}",
            counted(totals.structures, "data structure", "data structures"),
            counted(types.len() as u64, "type", "types"),
            count(totals.elements),
            bytes(totals.bytes),
            bytes(totals.wasted),
        ))?;
        let mut table = Table::new([
            ("structures", Align::Right),
            ("empty", Align::Right),
            ("elements", Align::Right),
            ("bytes", Align::Right),
            ("shared", Align::Right),
            ("wasted", Align::Right),
            ("type", Align::Left),
        ]);
        for of_type in types.iter().take(SHORT) {
            table.row([
                count(of_type.structures),
                count(of_type.empty),
                count(of_type.elements),
                bytes(of_type.bytes),
                bytes(of_type.shared),
                bytes(of_type.wasted),
                of_type.name.clone(),
            ]);
        }
        Ok(table.print(out)?)
    }

    fn print_rows(&self, rows: &[Row], out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("retained", Align::Right),
            ("share", Align::Right),
            ("elements", Align::Right),
            ("fill", Align::Right),
            ("bytes", Align::Right),
            ("wasted", Align::Right),
            ("depth", Align::Right),
            ("structure", Align::Left),
            ("held by", Align::Left),
        ]);
        for row in rows {
            let least = if row.at_least { "≥ " } else { "" };
            let elements = row.elements.map_or("?".to_owned(), count);
            let structure = match (&row.view_of, row.health) {
                (Some(shown), _) => format!("{} (view of {shown})", row.head.label),
                (None, "") => row.head.label.clone(),
                (None, health) => format!("{} ({health})", row.head.label),
            };
            let held_by = match &row.allocated_at {
                Some(place) => format!("{}, allocated at {place}", row.held_by),
                None => row.held_by.clone(),
            };
            table.row([
                bytes(row.head.retained),
                share(row.head.retained, self.reachable),
                format!("{least}{elements}"),
                row.fill.map_or(String::new(), |fill| format!("{fill:.0}%")),
                bytes(row.bytes),
                bytes(row.wasted),
                row.depth.to_string(),
                structure,
                held_by,
            ]);
        }
        Ok(table.print(out)?)
    }
}

fn print_sites(sites: &[Site], most: usize, out: &mut Out) -> Result<(), Failure> {
    if sites.is_empty() {
        return Ok(());
    }
    out.blank()?;
    out.heading("By allocation site, of those whose site is known")?;
    let mut table = Table::new([
        ("structures", Align::Right),
        ("elements", Align::Right),
        ("bytes", Align::Right),
        ("wasted", Align::Right),
        ("allocated at", Align::Left),
    ]);
    for site in sites.iter().take(most) {
        table.row([
            count(site.structures),
            count(site.elements),
            bytes(site.bytes),
            bytes(site.wasted),
            site.site.clone(),
        ]);
    }
    Ok(table.print(out)?)
}

fn title(sort: Sort) -> &'static str {
    match sort {
        Sort::Retained => "Those that retain most",
        Sort::Elements => "Those with most elements",
        Sort::Bytes => "Those with most bytes for head and internals",
        Sort::Waste => "Those with most bytes that hold nothing",
        Sort::Depth => "Those with most structures in each other",
    }
}

/// What is wrong with a structure, in a word.
fn health(one: &Instance) -> &'static str {
    if one.is_empty() {
        "empty"
    } else if one.is_degenerate() {
        "degenerate"
    } else if one.is_sparse() {
        "sparse"
    } else {
        ""
    }
}

fn print_csv(rows: &[Row], out: &mut Out) -> Result<(), Failure> {
    let columns = [
        "type",
        "address",
        "class",
        "retained",
        "elements",
        "capacity",
        "internals",
        "bytes",
        "deep",
        "wasted",
        "health",
        "depth",
        "place",
        "held_by",
        "fill",
        "view_of",
        "allocated_at",
    ];
    csv::line(out, &columns)?;
    for row in rows {
        let number =
            |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
        let cells = [
            row.of_type.clone(),
            row.head.address.clone(),
            row.head.class.clone(),
            row.head.retained.to_string(),
            number(row.elements),
            number(row.capacity),
            row.internals.to_string(),
            row.bytes.to_string(),
            number(row.deep),
            row.wasted.to_string(),
            row.health.to_owned(),
            row.depth.to_string(),
            row.place.to_owned(),
            row.held_by.clone(),
            row.fill.map_or(String::new(), |fill| format!("{fill:.1}")),
            row.view_of.clone().unwrap_or_default(),
            row.allocated_at.clone().unwrap_or_default(),
        ];
        csv::line(out, &cells.each_ref().map(String::as_str))?;
    }
    Ok(out.flush()?)
}
