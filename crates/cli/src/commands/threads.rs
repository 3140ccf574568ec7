//! `anthill threads`: the threads with their stacks, what each frame holds, and what they keep alive.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io::Write;

use anthill_heap::RootOrigin;
use anthill_session::{Analysis, Kept, Local, ThreadStack, frame_name, quoted};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::names::ObjectName;
use crate::output::table::{Align, Table, fit};
use crate::output::units::{bytes, count, counted};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments, limit};
use anthill_classify::Pattern;

/// Show threads, their stacks, and what the local variables hold
///
/// First all threads in a table, then their stacks. Threads with the same stack are shown together; an
/// object that several frames of a stack hold is shown in the innermost one.
///
/// What a thread and its locals keep alive together is computed exactly while that is quick: each
/// thread takes a walk over the heap. For more, the retained sizes of the thread and its locals are
/// added up, which leaves out what only several of them keep alive together; the output says which
/// of the two it is.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill threads app.hprof
      What was every thread doing, and what does its stack hold?
  anthill threads app.hprof --name 'http-worker-*' --exact
      How much do the workers keep alive, exactly?
  anthill threads app.hprof --limit 5
      The five threads that keep most alive")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Only threads of this name; `*` stands for any characters, `?` for one
    #[arg(long, value_name = "GLOB")]
    pub name: Option<String>,
    /// How many threads; 0 for all
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Compute exactly what each thread keeps alive, however long it takes
    #[arg(long)]
    pub exact: bool,
}

/// Objects times threads up to which exact results take a few seconds at most.
const QUICK: u64 = 50_000_000;

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let threads = Threads::new(source, arguments)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "threads", &threads)
    } else {
        threads.text(&mut out)?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct Threads {
    /// Whether `kept` is exact.
    exact: bool,
    rows: Vec<ThreadRow>,
    omitted: usize,
}

#[derive(Serialize)]
struct ThreadRow {
    name: Option<String>,
    object: Option<ObjectName>,
    state: Option<&'static str>,
    daemon: Option<bool>,
    kept: KeptJson,
    frames: Vec<FrameRow>,
    /// What the thread holds outside of the frames that are known.
    other: Vec<LocalRow>,
}

/// What the thread and its locals keep alive together.
#[derive(Serialize)]
struct KeptJson {
    objects: Option<u64>,
    retained: u64,
}

#[derive(Serialize)]
struct FrameRow {
    frame: String,
    locals: Vec<LocalRow>,
}

#[derive(Serialize)]
struct LocalRow {
    root: RootOrigin,
    #[serde(flatten)]
    object: ObjectName,
}

impl Threads {
    fn new(source: &Source, arguments: &Arguments) -> Result<Self, Failure> {
        let session = &source.session;
        let analysis = session.analysis()?;
        let mut stacks = session.thread_stacks();
        if let Some(wanted) = &arguments.name {
            stacks = named(source, stacks, wanted)?;
        }
        if stacks.is_empty() {
            let reason = "there are no threads in this dump";
            return Err(Failure::NothingFound(reason.to_owned()));
        }
        let graph = session.graph();
        let exact = arguments.exact || stacks.len() as u64 * u64::from(graph.len()) <= QUICK;
        let mut kept = Vec::new();
        session
            .progress()
            .stage("computing what threads keep alive", stacks.len() as u64);
        for stack in &stacks {
            let group = session.thread_group(stack);
            kept.push(if exact {
                session.kept_by(&graph, &group)
            } else {
                session.kept_at_least(&group)?
            });
            session.progress().advance(1);
        }
        let mut threads: Vec<(ThreadStack, Kept)> = stacks.into_iter().zip(kept).collect();
        threads.sort_by_key(|(_, kept)| std::cmp::Reverse(kept.retained));
        let shown = super::or_all(arguments.limit).min(threads.len());
        Ok(Threads {
            exact,
            omitted: threads.len() - shown,
            rows: threads[..shown]
                .iter()
                .map(|(stack, kept)| ThreadRow::new(source, analysis, stack, *kept))
                .collect(),
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let groups = self.groups();
        if groups.len() > 1 {
            overview(&groups).print(out)?;
            out.blank()?;
        }
        for group in &groups {
            group.text(self.exact, out)?;
            out.blank()?;
        }
        if self.omitted > 0 {
            let more = counted(self.omitted as u64, "more thread", "more threads");
            out.remark(&format!("… {more}; --limit 0 shows all"))?;
        }
        out.remark(if self.exact {
            "Kept alive: what would be freed with the thread and all its locals, exactly."
        } else {
            "Kept alive: the retained sizes of the thread and its locals added up, without what only \
             several of them keep alive together; --exact computes that."
        })?;
        Ok(())
    }
}

fn named(
    source: &Source,
    stacks: Vec<ThreadStack>,
    wanted: &str,
) -> Result<Vec<ThreadStack>, Failure> {
    let pattern = Pattern::new(wanted);
    let threads = &source.session.state().tables.threads;
    let name = |stack: &ThreadStack| {
        let name = threads[stack.thread as usize].name.as_deref();
        name.unwrap_or_default()
    };
    let (found, others): (Vec<ThreadStack>, Vec<ThreadStack>) = stacks
        .into_iter()
        .partition(|stack| pattern.matches(name(stack)));
    if found.is_empty() {
        let message = pattern.no_match("thread", others.iter().map(name));
        return Err(Failure::NothingFound(message));
    }
    Ok(found)
}

impl ThreadRow {
    fn new(source: &Source, analysis: &Analysis, stack: &ThreadStack, kept: Kept) -> Self {
        let session = &source.session;
        let tables = &session.state().tables;
        let thread = &tables.threads[stack.thread as usize];
        let named = |node| ObjectName::new(session, analysis, node);
        let locals = |locals: &[Local]| {
            let rows = locals.iter().map(|local| LocalRow {
                root: local.origin,
                object: named(local.object),
            });
            rows.collect()
        };
        ThreadRow {
            name: thread.name.clone(),
            object: thread.object.map(named),
            state: stack.state,
            daemon: stack.daemon,
            kept: KeptJson {
                objects: kept.objects,
                retained: kept.retained,
            },
            frames: stack
                .frames
                .iter()
                .map(|(frame, held)| FrameRow {
                    frame: frame_name(&tables.frames[*frame as usize]),
                    locals: locals(held),
                })
                .collect(),
            other: locals(&stack.other),
        }
    }

    fn shown_name(&self) -> String {
        quoted(self.name.as_deref().unwrap_or("(unnamed)"), NAME)
    }

    /// What must be equal for threads to be shown together.
    fn alike(&self) -> impl Eq + Hash {
        let class = self.object.as_ref().map(|object| object.class.as_str());
        let frames: Vec<&str> = self.frames.iter().map(|row| row.frame.as_str()).collect();
        // Without a stack there is nothing that threads have in common.
        let own = frames.is_empty().then_some(self.name.as_deref());
        (self.state, self.daemon, class, frames, own)
    }
}

/// Characters of a name that are shown.
const NAME: usize = 100;

/// Threads with the same stack.
struct ThreadGroup<'a> {
    threads: Vec<&'a ThreadRow>,
}

impl Threads {
    /// Those that keep most alive first.
    fn groups(&self) -> Vec<ThreadGroup<'_>> {
        let mut groups: Vec<ThreadGroup> = Vec::new();
        let mut numbers = HashMap::new();
        for row in &self.rows {
            let number = *numbers.entry(row.alike()).or_insert(groups.len());
            match groups.get_mut(number) {
                Some(group) => group.threads.push(row),
                None => groups.push(ThreadGroup { threads: vec![row] }),
            }
        }
        groups.sort_by_key(|group| std::cmp::Reverse(group.kept()));
        groups
    }
}

fn overview(groups: &[ThreadGroup]) -> Table<4> {
    let mut table = Table::new([
        ("kept alive", Align::Right),
        ("locals", Align::Right),
        ("state", Align::Left),
        ("thread", Align::Left),
    ]);
    for group in groups {
        table.row([
            bytes(group.kept()),
            count(group.locals()),
            group.first().state.unwrap_or("").to_owned(),
            group.name(),
        ]);
    }
    table
}

impl ThreadGroup<'_> {
    fn first(&self) -> &ThreadRow {
        self.threads[0]
    }

    /// `"main"`, or `8 threads: "worker-1" … "worker-8"`.
    fn name(&self) -> String {
        let mut names: Vec<&ThreadRow> = self.threads.clone();
        // worker-2 comes before worker-10.
        names.sort_by_key(|row| row.name.as_ref().map(|name| (name.len(), name.as_str())));
        match names.as_slice() {
            [] => String::new(),
            [only] => only.shown_name(),
            [first, .., last] => format!(
                "{} threads: {} {} {}",
                count(names.len() as u64),
                first.shown_name(),
                if names.len() == 2 { "and" } else { "…" },
                last.shown_name()
            ),
        }
    }

    /// Of several threads, what each keeps alive, added up.
    fn kept(&self) -> u64 {
        self.threads.iter().map(|row| row.kept.retained).sum()
    }

    /// Distinct objects that the threads hold.
    fn locals(&self) -> u64 {
        let rows = self.threads.iter().flat_map(|row| {
            let frames = row.frames.iter().flat_map(|frame| &frame.locals);
            frames.chain(&row.other)
        });
        let objects: HashSet<&str> = rows.map(|local| local.object.address.as_str()).collect();
        objects.len() as u64
    }

    fn text(&self, exact: bool, out: &mut Out) -> Result<(), Failure> {
        out.heading(&fit(&self.name(), out))?;
        out.line(fit(&format!("  {}", self.facts(exact).join(", ")), out))?;
        let mut seen = HashSet::new();
        for (index, frame) in self.first().frames.iter().enumerate() {
            out.line(fit(&format!("    at {}", frame.frame), out))?;
            let locals = self.threads.iter().map(|row| &row.frames[index].locals);
            locals_text(locals.flatten(), &mut seen, out)?;
        }
        let other = || self.threads.iter().flat_map(|row| &row.other);
        if other().any(|local| !seen.contains(local.object.address.as_str())) {
            out.line("    held outside of these frames:")?;
            locals_text(other(), &mut seen, out)?;
        }
        Ok(())
    }

    fn facts(&self, exact: bool) -> Vec<String> {
        let first = self.first();
        let mut facts = Vec::new();
        facts.extend((first.daemon == Some(true)).then(|| "daemon".to_owned()));
        facts.extend(first.state.map(str::to_owned));
        match (&first.object, self.threads.len()) {
            (Some(object), 1) => facts.push(format!(
                "{} @ {}, retains {}",
                object.class,
                object.address,
                bytes(object.retained)
            )),
            (Some(object), _) => facts.push(object.class.clone()),
            (None, _) => facts.push("not in the dump as an object".to_owned()),
        }
        let least = if exact { "" } else { "at least " };
        let kept = |row: &ThreadRow| row.kept.retained;
        let most = self.threads.iter().map(|row| kept(row)).max().unwrap_or(0);
        facts.push(match (self.threads.len(), first.kept.objects) {
            (1, Some(objects)) => format!(
                "kept alive with its locals: {least}{} in {}",
                bytes(most),
                counted(objects, "object", "objects")
            ),
            (1, None) => format!("kept alive with its locals: {least}{}", bytes(most)),
            _ => format!(
                "kept alive by each with its locals: {least}up to {}, added up {}",
                bytes(most),
                bytes(self.kept())
            ),
        });
        facts
    }
}

/// The objects that a frame holds and that were not seen before; several of a class are one line.
fn locals_text<'a>(
    locals: impl Iterator<Item = &'a LocalRow>,
    seen: &mut HashSet<&'a str>,
    out: &mut Out,
) -> Result<(), Failure> {
    let mut by_class: Vec<Vec<&LocalRow>> = Vec::new();
    for local in locals.filter(|local| seen.insert(local.object.address.as_str())) {
        let same = |other: &Vec<&LocalRow>| {
            (other[0].root, &other[0].object.class) == (local.root, &local.object.class)
        };
        match by_class.iter_mut().find(|other| same(other)) {
            Some(others) => others.push(local),
            None => by_class.push(vec![local]),
        }
    }
    for locals in by_class {
        if locals.len() < GROUP_FROM {
            for local in locals {
                local.text(local.object.retained, &local.object.label, out)?;
            }
        } else {
            let retained = locals.iter().map(|local| local.object.retained).sum();
            let number = count(locals.len() as u64);
            let label = format!("{number} × {}", locals[0].object.class);
            locals[0].text(retained, &label, out)?;
        }
    }
    Ok(())
}

/// Objects of one class in the same frame are one line from this number on.
const GROUP_FROM: usize = 4;

impl LocalRow {
    fn text(&self, retained: u64, label: &str, out: &mut Out) -> Result<(), Failure> {
        let retained = bytes(retained);
        let root = match self.root {
            RootOrigin::JavaFrame => String::new(),
            other => format!("  ({})", other.label()),
        };
        let line = format!("       {retained:>9}  {label}{root}");
        Ok(out.line(fit(&line, out))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str, frames: &[&str]) -> ThreadRow {
        ThreadRow {
            name: Some(name.to_owned()),
            object: None,
            state: Some("WAITING"),
            daemon: None,
            kept: KeptJson {
                objects: None,
                retained: 10,
            },
            frames: frames
                .iter()
                .map(|&frame| FrameRow {
                    frame: frame.to_owned(),
                    locals: Vec::new(),
                })
                .collect(),
            other: Vec::new(),
        }
    }

    #[test]
    fn threads_with_the_same_stack_are_together() {
        let worker = ["Pool.take(Pool.java:7)", "Pool.run(Pool.java:3)"];
        let threads = Threads {
            exact: true,
            rows: vec![
                thread("worker-10", &worker),
                thread("main", &["Main.main(Main.java:1)"]),
                thread("worker-9", &worker),
                thread("worker-11", &worker),
                thread("no stack", &[]),
                thread("none either", &[]),
            ],
            omitted: 0,
        };
        let groups = threads.groups();
        let names: Vec<String> = groups.iter().map(ThreadGroup::name).collect();
        assert_eq!(
            names,
            [
                "3 threads: \"worker-9\" … \"worker-11\"",
                "\"main\"",
                "\"no stack\"",
                "\"none either\""
            ]
        );
        assert_eq!(groups[0].kept(), 30);
    }
}
