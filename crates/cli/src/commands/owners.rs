//! `anthill owners`: who keeps a group alive together.

use std::io::Write;

use anthill_graph::FrontOptions;
use anthill_session::{OwnerFront, check_group};
use clap::Args;
use serde::Serialize;

use crate::definitions::DefinitionArguments;
use crate::failure::Failure;
use crate::names::ObjectName;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments, percent};

/// Find the smallest sets of objects that together keep a group alive
///
/// A dominator is one object that keeps all of a group alive. Often there is none but a class loader,
/// because a few objects share the group: two caches, three registries. This shows, from the roots to
/// the group, the smallest sets of objects without which the group would be freed, up to --most.
/// Inner parts such as the table of a map are named by their map.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill owners app.hprof com.acme.Product
      Which caches keep the products alive together?
  anthill owners app.hprof 'com.acme.*' --share 80
      Who keeps 80 % of what the application has?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The group: a class, an address, or any other group; docs/groups.md has the language
    #[arg(value_name = "GROUP")]
    pub group: String,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// The most owners of a set
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = at_least_one)]
    pub most: usize,
    /// The share of the group's bytes that the first owner must keep alive, so that a stray reference
    /// does not hide it
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = percent, allow_negative_numbers = true)]
    pub share: f64,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        Ok(check_group(&self.group, &self.definitions.read()?)?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let session = &source.session;
    let group = session.group(&arguments.group, &arguments.definitions.read()?)?;
    let options = FrontOptions {
        most: arguments.most,
        share: arguments.share / 100.0,
    };
    let dominators = &session.analysis()?.dominators;
    if !group.iter().any(|object| dominators.is_reachable(object)) {
        let reason = format!("nothing of {} is kept alive by anything", arguments.group);
        return Err(Failure::NothingFound(reason));
    }
    let fronts = session.owner_fronts(&group, options)?;
    if fronts.is_empty() {
        return Err(Failure::NothingFound(format!(
            "no {} or fewer objects keep {} alive together; --most allows more, --share less of the group",
            arguments.most, arguments.group
        )));
    }
    let owners = Owners::new(source, arguments, &fronts)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "owners", &owners)
    } else {
        owners.text(&mut out)?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct Owners<'a> {
    group: &'a str,
    #[serde(skip)]
    reachable: u64,
    fronts: Vec<Front>,
}

#[derive(Serialize)]
struct Front {
    owners: Vec<Owner>,
    /// What would be freed with all of them.
    retained: u64,
    retained_objects: u64,
    /// Of the group's bytes that are reachable, in percent.
    covered: f64,
}

#[derive(Serialize)]
struct Owner {
    #[serde(flatten)]
    object: ObjectName,
    held_by: String,
}

impl<'a> Owners<'a> {
    fn new(
        source: &Source,
        arguments: &'a Arguments,
        fronts: &[OwnerFront],
    ) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let front = |front: &OwnerFront| Front {
            owners: front
                .owners
                .iter()
                .map(|(node, way)| Owner {
                    object: ObjectName::new(session, analysis, *node),
                    held_by: way.short.clone(),
                })
                .collect(),
            retained: front.retained.bytes,
            retained_objects: front.retained.objects,
            covered: front.covered.0 as f64 * 100.0 / front.covered.1.max(1) as f64,
        };
        Ok(Owners {
            group: &arguments.group,
            reachable: analysis.total().retained,
            fronts: fronts.iter().map(front).collect(),
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        for (index, front) in self.fronts.iter().enumerate() {
            if index > 0 {
                out.blank()?;
            }
            let together = if front.owners.len() == 1 {
                ""
            } else {
                "together "
            };
            out.heading(&format!(
                "{}: {together}{} ({}), {} objects, {:.1}% of {}",
                counted(front.owners.len() as u64, "owner", "owners"),
                bytes(front.retained),
                share(front.retained, self.reachable),
                count(front.retained_objects),
                front.covered,
                self.group
            ))?;
            let mut table = Table::new([
                ("alone", Align::Right),
                ("share", Align::Right),
                ("owner", Align::Left),
                ("held by", Align::Left),
            ]);
            for owner in &front.owners {
                table.row([
                    bytes(owner.object.retained),
                    share(owner.object.retained, self.reachable),
                    owner.object.label.clone(),
                    owner.held_by.clone(),
                ]);
            }
            table.print(out)?;
        }
        Ok(())
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| "it must be a whole number from 1 on".to_owned())
}
