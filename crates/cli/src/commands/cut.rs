//! `anthill cut`: what would be freed without some references.

use std::io::Write;

use anthill_classify::{Definitions, OVERALL, Step, Tree};
use anthill_session::check_group;
use clap::Args;
use serde::Serialize;

use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::output::json;
use crate::output::units::{bytes, count, counted, share};
use crate::source::{Source, SourceArguments};
use crate::tree_view::{Node, TreeArguments, TreeView};

/// What would be freed if these references were cut?
///
/// Takes away every reference from the objects of one group to those of another and shows what would no longer be
/// reachable: what a fix would give back, before it is written. It is exact, also if many references are cut at once;
/// nothing is freed as long as something else leads to it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill cut app.hprof 'class_objects(\"com.acme.IdCache\")' IdCache.idCache
      What if this static field were cleared?
  anthill cut app.hprof 'class_objects(\"com.acme.*Cache\")' java.util.HashMap
      What if all caches were?
  anthill cut app.hprof com.acme.Listener com.acme.Session --by package,type
      What if listeners did not hold sessions?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Where the references come from: a class, an address, or any other group; docs/groups.md has the language
    #[arg(value_name = "FROM")]
    pub from: String,
    /// Where they lead to, also a group
    #[arg(value_name = "TO")]
    pub to: String,
    /// How what is freed is split
    #[arg(long, value_name = "STEPS", default_value = "type")]
    pub by: String,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    #[command(flatten)]
    pub shown: TreeArguments,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        let definitions = self.definitions.read()?;
        self.steps(&definitions)?;
        check_group(&self.from, &definitions)?;
        Ok(check_group(&self.to, &definitions)?)
    }

    fn steps(&self, definitions: &Definitions) -> Result<Vec<Step>, Failure> {
        let steps = definitions.steps(&self.by);
        steps.map_err(|mistake| mistaken(&mistake, "--by", &self.by))
    }
}

#[derive(Serialize)]
struct Json<'a> {
    from: &'a str,
    to: &'a str,
    by: &'a str,
    /// References that are cut.
    references: u64,
    freed: u64,
    freed_objects: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<Node<'a>>,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let definitions = arguments.definitions.read()?;
    let steps = arguments.steps(&definitions)?;
    let session = &source.session;
    let from = session.group(&arguments.from, &definitions)?;
    let to = session.group(&arguments.to, &definitions)?;
    let references = session.references_between(&from, &to);
    if references == 0 {
        let (from, to) = (&arguments.from, &arguments.to);
        let reason = format!("no reference leads from `{from}` to `{to}`");
        return Err(Failure::NothingFound(reason));
    }
    let freed = session.freed_by_cutting(&from, &to)?;
    let tree = match freed.is_empty() {
        true => None,
        false => Some(session.classify(&freed, &steps)?),
    };
    let heap = session.analysis()?.total().retained;
    let view = |tree| {
        let shown = arguments.shown.shown(arguments.source.json);
        TreeView::new(tree, OVERALL, heap, shown)
    };
    let own = |tree: &Tree| (tree.node(OVERALL).shallow, tree.node(OVERALL).objects);
    let (freed, freed_objects) = tree.as_ref().map_or((0, 0), own);
    let mut out = source.out();
    if arguments.source.json {
        let result = Json {
            from: &arguments.from,
            to: &arguments.to,
            by: &arguments.by,
            references,
            freed,
            freed_objects,
            tree: tree.as_ref().map(|tree| view(tree).json()),
        };
        return json::print(&mut out, source, "cut", result);
    }
    out.line(format!(
        "Without {} from {} to {}, {} ({} of the reachable heap) in {} objects would be freed.",
        counted(references, "reference", "references"),
        arguments.from,
        arguments.to,
        bytes(freed),
        share(freed, heap),
        count(freed_objects)
    ))?;
    match &tree {
        Some(tree) => {
            out.blank()?;
            view(tree).text(&mut out)?;
        }
        None => out.line("Something else leads to all of it: `anthill owners` tells what does.")?,
    }
    Ok(out.flush()?)
}
