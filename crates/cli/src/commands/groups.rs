//! `anthill groups`: the object groups that are kept for a dump.

use std::io::Write;

use anthill_heap::BitSet;
use anthill_session::{Error, check_group};
use clap::Args;
use serde::Serialize;

use crate::definitions::DefinitionArguments;
use crate::failure::{Failure, say};
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, share};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};

/// List, keep and forget object groups
///
/// A group is any set of objects, written in a small language: classes, single objects, static
/// fields, conditions, what a group reaches or retains, its roots, referrers and dominators, rows of
/// classification trees, and unions, intersections and differences of them. A kept group has a name
/// that stands for it wherever a group is asked for; so has a group of a file with definitions. docs/groups.md
/// describes the language.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill groups app.hprof
      Which groups are kept for this dump?
  anthill groups app.hprof --save caches 'IdCache.idCache | NameCache.nameCache'
      Keep what two static fields refer to under one name
  anthill groups app.hprof --save lost 'com.acme.Order - reached(caches)'
      Orders that the caches do not lead to
  anthill inspect app.hprof 'retained(caches)'
      Use it
  anthill groups app.hprof --forget lost
  anthill groups app.hprof --define mine.txt
      How large are the groups of a file here?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The group to keep
    #[arg(value_name = "GROUP", requires = "save")]
    pub group: Option<String>,
    /// Keep the group under this name: letters, digits and _
    #[arg(long, value_name = "NAME", requires = "group")]
    pub save: Option<String>,
    /// Forget the group of this name
    #[arg(long, value_name = "NAME", conflicts_with_all = ["group", "save"])]
    pub forget: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(group) = &self.group {
            check_group(group, &self.definitions.read()?)?;
        }
        Ok(())
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let session = &source.session;
    if let (Some(name), Some(text)) = (&arguments.save, &arguments.group) {
        let group = session.group(text, &arguments.definitions.read()?)?;
        session.keep_group(name, text, &group)?;
    }
    if let Some(name) = &arguments.forget {
        if !session.forget_group(name)? {
            let message = format!("no group `{name}` is kept for this dump");
            return Err(Failure::NothingFound(message));
        }
    }
    let (kept, unusable) = session.kept_groups();
    for name in unusable {
        say(&format!(
            "the group `{name}` was kept for another dump or is damaged, so it is not used"
        ));
    }
    let definitions = arguments.definitions.read()?;
    let mut rows = Vec::new();
    for group in definitions.groups() {
        let objects = match session.group(&group.name, &definitions) {
            // A file may be about several programs.
            Err(Error::NothingFound(_)) => BitSet::new(session.state().len() as usize),
            objects => objects?,
        };
        rows.push(Row::new(source, &group.name, &group.text, &objects)?);
    }
    for kept in kept {
        rows.push(Row {
            kept: true,
            ..Row::new(source, &kept.name, &kept.expression, &kept.objects)?
        });
    }
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "groups", &Groups { groups: &rows })
    } else {
        text(&rows, session.analysis()?.total().retained, &mut out)?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct Groups<'a> {
    groups: &'a [Row],
}

#[derive(Serialize)]
struct Row {
    name: String,
    expression: String,
    /// Beside the index; otherwise it is from a definition.
    kept: bool,
    objects: u64,
    shallow: u64,
    deep: u64,
    deep_objects: u64,
    retained: u64,
    retained_objects: u64,
}

impl Row {
    fn new(
        source: &Source,
        name: &str,
        expression: &str,
        objects: &BitSet,
    ) -> Result<Self, Failure> {
        let metrics = source.session.measure(objects)?;
        Ok(Row {
            name: name.to_owned(),
            expression: expression.to_owned(),
            kept: false,
            objects: metrics.objects,
            shallow: metrics.shallow,
            deep: metrics.deep.bytes,
            deep_objects: metrics.deep.objects,
            retained: metrics.retained.bytes,
            retained_objects: metrics.retained.objects,
        })
    }
}

fn text(rows: &[Row], heap: u64, out: &mut Out) -> Result<(), Failure> {
    if rows.is_empty() {
        out.line("no groups are kept for this dump; --save NAME GROUP keeps one")?;
        return Ok(());
    }
    let mut table = Table::new([
        ("name", Align::Left),
        ("objects", Align::Right),
        ("shallow", Align::Right),
        ("deep", Align::Right),
        ("retained", Align::Right),
        ("share", Align::Right),
        ("group", Align::Left),
    ]);
    for row in rows {
        table.row([
            row.name.clone(),
            count(row.objects),
            bytes(row.shallow),
            bytes(row.deep),
            bytes(row.retained),
            share(row.retained, heap),
            row.expression.clone(),
        ]);
    }
    Ok(table.print(out)?)
}
