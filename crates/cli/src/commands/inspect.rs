//! `anthill inspect`: everything about one object group.

use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_api::inspect::{Answer, Inspect};
use anthill_api::tree::Node;
use anthill_api::{Heap, HeapQuestion};
use clap::Args;

use super::paths::write_tree;
use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, dot, json};
use crate::source::{Source, SourceArguments};
use crate::tree_view;

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill inspect app.hprof com.acme.Order
      Show everything about all orders together
  anthill inspect app.hprof 'IdCache.idCache | NameCache.nameCache'
      What do two caches keep alive together?
  anthill inspect app.hprof 'retained(caches) & com.acme.*' --by package,type --roots-by type
      Choose how to split the closures and the roots
  anthill inspect app.hprof com.acme.Order --dot orders.dot && dot -Tsvg orders.dot -o orders.svg
      Draw the paths to the orders")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Inspect>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Write the paths to FILE as a Graphviz graph, with one node for each class
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        self.asked.check(&self.define.read()?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let heap = source.with_definitions(arguments.define.read()?);
    let answer = arguments.asked.question(for_program)?.answer(&heap)?;
    if let Some(file) = &arguments.dot {
        write_dot(file, &answer, &heap)?;
    }
    let mut out = source.out();
    if for_program {
        return json::print::<Inspect>(&mut out, source, &answer);
    }
    write_text(&answer, &mut out)?;
    match &answer.paths {
        Some(paths) => write_tree(
            paths,
            source,
            arguments.source.heap.options()?.dump,
            &mut out,
        )?,
        None => out.line("no GC root leads to any of these objects")?,
    }
    Ok(out.flush()?)
}

fn write_dot(file: &Path, answer: &Answer, heap: &Heap) -> Result<(), Failure> {
    let title = format!("Shortest paths to {}", answer.group);
    let graph = answer.graph(heap);
    let graph = dot::paths(&graph.of, &title, graph.least, &graph.names);
    std::fs::write(file, graph).map_err(|error| {
        let reason = format!("{}: {error}", file.display());
        Failure::unusable(reason, "Choose a writable file with --dot FILE.")
    })
}

/// All but the ways to the group.
fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    out.heading(&answer.group)?;
    write_sizes(answer, out)?;
    let keeping = counted(
        answer.roots_keeping.objects,
        "root object keeps it alive",
        "root objects keep it alive",
    );
    write_part(answer, &answer.roots_keeping, &keeping, out)?;
    if !answer.same_roots {
        let reaching = counted(
            answer.roots_reaching.objects,
            "root object reaches it through references of any strength",
            "root objects reach it through references of any strength",
        );
        write_part(answer, &answer.roots_reaching, &reaching, out)?;
    }
    let parts = [
        (
            &answer.transitive_closure,
            "Transitive closure (everything it reaches)",
        ),
        (
            &answer.gc_closure,
            "GC closure (everything that would be freed with it)",
        ),
    ];
    for (tree, title) in parts {
        write_part(answer, tree, title, out)?;
    }
    out.blank()?;
    Ok(out.heading("Paths to the group")?)
}

fn write_sizes(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("", Align::Left),
        ("objects", Align::Right),
        ("bytes", Align::Right),
        ("share", Align::Right),
    ]);
    for (name, objects, size) in [
        ("the group itself", answer.objects, answer.shallow),
        ("reaches (deep)", answer.deep_objects, answer.deep),
        ("retains", answer.retained_objects, answer.retained),
    ] {
        let share = share(size, answer.heap);
        table.row([name.to_owned(), count(objects), bytes(size), share]);
    }
    Ok(table.print(out)?)
}

fn write_part(answer: &Answer, tree: &Node, title: &str, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    out.heading(title)?;
    match tree.objects {
        0 => out.line("nothing")?,
        _ => tree_view::write_text(tree, answer.heap, out)?,
    }
    Ok(())
}
