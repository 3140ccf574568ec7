//! `anthill paths`: why an object, or the objects of a class, are alive.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::paths::{
    Answer, LedTo, Merged, ObjectPaths, Omitted, Paths, ShownBranch, unreachable,
};
use anthill_graph::Convention;
use anthill_paths::PATH_ENDS;
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::keep::{all_kept, kept};
use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, json, shell};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill paths app.hprof com.acme.Order
      Who keeps the orders alive, and how many of them?
  anthill paths app.hprof 0x7f0012345678
      Why is this object alive?
  anthill paths app.hprof 'com.acme.*Listener' --limit 3
      Show the main paths to all listeners
  anthill paths app.hprof --group 'retained(IdCache.idCache) & byte[]'
      How does this cache reach its byte arrays?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Paths>,
    #[command(flatten)]
    pub define: DefineArguments,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        self.asked.check(&self.define.read()?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let heap = source.with_definitions(arguments.define.read()?);
    let paths = arguments.asked.question(arguments.source.json)?;
    let answer = paths.answer(&heap)?;
    let mut out = source.out();
    if arguments.source.json {
        return json::print::<Paths>(&mut out, source, &answer);
    }
    match &answer {
        Answer::Object(paths) => write_paths(paths, &mut out)?,
        Answer::Merged(merged) => {
            write_heading(merged, source, &mut out)?;
            write_tree(
                merged,
                source,
                arguments.source.heap.options()?.dump,
                &mut out,
            )?;
        }
    }
    Ok(out.flush()?)
}

fn write_paths(paths: &ObjectPaths, out: &mut Out) -> Result<(), Failure> {
    out.heading(&format!(
        "{}, retains {}",
        paths.object.label,
        bytes(paths.object.retained)
    ))?;
    for path in &paths.paths {
        out.blank()?;
        let roots: Vec<&str> = path.roots.iter().map(|root| root.label.as_str()).collect();
        let roots = match roots[..] {
            [] => path.start.clone(),
            _ => roots.join(", "),
        };
        out.line(format!("GC root: {roots}"))?;
        let mut table = Table::new([("", Align::Right), ("", Align::Left)]);
        for (depth, step) in path.steps.iter().enumerate() {
            if path.skipped > 0 && depth == PATH_ENDS {
                let more = counted(path.skipped as u64, "more object", "more objects");
                table.row([String::new(), format!("{}… {more} …", "   ".repeat(depth))]);
            }
            let via = step.via.as_ref().map_or(String::new(), |via| {
                format!("{}└─ {via} → ", "   ".repeat(depth - 1))
            });
            table.row([bytes(step.object.retained), via + &step.object.label]);
        }
        table.print(out)?;
    }
    if paths.omitted > 0 {
        out.blank()?;
        let more = counted(paths.omitted as u64, "path", "paths");
        out.remark(&format!(
            "… {more} more through other referrers; --limit 0 shows all"
        ))?;
    }
    Ok(())
}

fn write_heading(merged: &Merged, source: &Source, out: &mut Out) -> Result<(), Failure> {
    let objects = counted(merged.objects, "object", "objects");
    let retain = match merged.objects {
        1 => "retains",
        _ => "together retain",
    };
    out.heading(&format!(
        "{objects} of {} {retain} {}",
        merged.target,
        bytes(merged.retained)
    ))?;
    if merged.unreachable_objects > 0 {
        let more = counted(
            merged.unreachable_objects,
            "more object is",
            "more objects are",
        );
        let objects = merged.unreachable_objects;
        let mut why = unreachable(objects, &merged.led_to);
        why += &how_to_follow(source.session.convention(), &merged.led_to);
        out.line(format!("{more} {why}"))?;
    }
    Ok(())
}

/// The tree of branches and what its marks mean.
pub fn write_tree(
    merged: &Merged,
    source: &Source,
    dump: Option<usize>,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut table = Table::new([
        ("objects", Align::Right),
        ("share", Align::Right),
        ("held", Align::Right),
        ("share", Align::Right),
        ("merged shortest paths from GC roots", Align::Left),
    ]);
    let mut marks = Marks::default();
    add(
        merged,
        &merged.branches,
        &merged.omitted,
        &mut Vec::new(),
        &mut table,
        &mut marks,
    );
    table.print(out)?;
    out.remark("held: the retained size of each of these objects, added up")?;
    if marks.runs {
        out.remark("↻ field: each of these objects may hold the next one, as in a linked list")?;
    }
    if marks.loops {
        out.remark("↻ steps: the last steps repeat")?;
    }
    let others = match merged.other_holders {
        0 => String::new(),
        others => format!(
            " {} another holder as well.",
            counted(others, "of them has", "of them have")
        ),
    };
    out.remark(&format!(
        "Each object counts on one shortest path only.{others} To see all paths to one of them:"
    ))?;
    let all_ways = command_line(source, dump, &merged.example);
    out.remark(&format!("  {all_ways}"))?;
    Ok(())
}

fn add(
    merged: &Merged,
    branches: &[ShownBranch],
    omitted: &Omitted,
    last: &mut Vec<bool>,
    table: &mut Table<5>,
    marks: &mut Marks,
) {
    for (position, branch) in branches.iter().enumerate() {
        let top = last.is_empty();
        last.push(position + 1 == branches.len() && omitted.branches == 0);
        let label = indent(&last[1..]) + &label(branch, top);
        row(merged, table, [branch.objects, branch.held], label);
        marks.runs |= !branch.through.is_empty();
        marks.loops |= !branch.repeats.is_empty();
        if branch.skipped > 0 {
            let more = counted(branch.skipped as u64, "more step", "more steps");
            last.push(true);
            let label = format!("{}… {more} …", indent(&last[1..]));
            row(merged, table, [branch.objects, branch.held], label);
        }
        add(
            merged,
            &branch.children,
            &branch.omitted,
            last,
            table,
            marks,
        );
        if branch.skipped > 0 {
            last.pop();
        }
        last.pop();
    }
    if omitted.branches > 0 {
        last.push(true);
        let more = counted(omitted.branches, "more branch", "more branches");
        let label = format!("{}… {more}", indent(&last[1..]));
        row(merged, table, [omitted.objects, omitted.held], label);
        last.pop();
    }
}

fn row(merged: &Merged, table: &mut Table<5>, [objects, held]: [u64; 2], label: String) {
    table.row([
        count(objects),
        share(objects, merged.objects),
        bytes(held),
        share(held, merged.held),
        label,
    ]);
}

/// Which marks the tree has.
#[derive(Default)]
struct Marks {
    runs: bool,
    loops: bool,
}

fn label(branch: &ShownBranch, top: bool) -> String {
    let mut what = match branch.class_object {
        true => format!("class {}", branch.class),
        false => branch.class.clone(),
    };
    if !branch.through.is_empty() {
        what += &format!(" ↻ {}", branch.through.join(", "));
    }
    for steps in &branch.repeats {
        what += &format!(" ↻ {steps} steps");
    }
    if top {
        format!("{what}  (GC root: {})", branch.via)
    } else {
        format!("{} → {what}", branch.via)
    }
}

/// The command line that asks about another target with the same options.
fn command_line(source: &Source, dump: Option<usize>, target: &str) -> String {
    let mut words = vec!["anthill paths".to_owned(), shell::file(&source.file)];
    words.push(shell::word(target));
    let convention = source.session.convention();
    if convention.mat {
        words.push("--compat mat".to_owned());
    } else if convention != Convention::DEFAULT {
        words.push(format!("--keep {}", kept(convention, &[])));
    }
    words.extend(dump.map(|dump| format!("--dump {dump}")));
    if let Some(recording) = source.session.recording() {
        words.push(format!("--at state:{}", recording.state().number));
    }
    words.join(" ")
}

/// How to follow the references that lead to unreachable objects, if there are some.
pub fn how_to_follow(convention: Convention, led_to: &[LedTo]) -> String {
    match led_to {
        [] => String::new(),
        _ => format!("; `--keep {}` follows them", all_kept(convention, led_to)),
    }
}
