//! `anthill threads`: the threads with their stacks, what each frame holds, and what they keep alive.

use std::io::Write;

use anthill_heap::RootOrigin;
use anthill_session::{Analysis, Kept, Local, ThreadStack, frame_name, quoted};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::names::ObjectName;
use crate::output::units::{bytes, counted};
use crate::output::{Out, json};
use crate::pattern::Pattern;
use crate::source::{Source, SourceArguments};

/// Show threads, their stacks, and what the local variables hold
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
    #[arg(long, value_name = "N", default_value_t = 0)]
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
        for row in &self.rows {
            row.text(self.exact, out)?;
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

    fn text(&self, exact: bool, out: &mut Out) -> Result<(), Failure> {
        let name = self.name.as_deref().unwrap_or("(unnamed)");
        let mut facts = Vec::new();
        facts.extend((self.daemon == Some(true)).then(|| "daemon".to_owned()));
        facts.extend(self.state.map(str::to_owned));
        match &self.object {
            Some(object) => facts.push(format!(
                "{} @ {}, retains {}",
                object.class,
                object.address,
                bytes(object.retained)
            )),
            None => facts.push("its thread object is not in the dump".to_owned()),
        }
        let least = if exact { "" } else { "at least " };
        let objects = self.kept.objects.map_or(String::new(), |objects| {
            format!(" in {}", counted(objects, "object", "objects"))
        });
        facts.push(format!(
            "kept alive with its locals: {least}{}{objects}",
            bytes(self.kept.retained)
        ));
        out.heading(&quoted(name, usize::MAX))?;
        out.line(format!("  {}", facts.join(", ")))?;
        for frame in &self.frames {
            out.line(format!("    at {}", frame.frame))?;
            for local in &frame.locals {
                local.text(out)?;
            }
        }
        if !self.other.is_empty() {
            out.line("    held outside of these frames:")?;
            for local in &self.other {
                local.text(out)?;
            }
        }
        Ok(())
    }
}

impl LocalRow {
    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let retained = bytes(self.object.retained);
        let root = match self.root {
            RootOrigin::JavaFrame => String::new(),
            other => format!("  ({})", other.label()),
        };
        Ok(out.line(format!("       {retained:>9}  {}{root}", self.object.label))?)
    }
}
