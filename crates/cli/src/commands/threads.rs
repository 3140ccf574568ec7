//! `anthill threads`: the threads with their stacks, what each frame holds, and what they keep alive.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::threads::{Answer, Held, ThreadGroup, ThreadRow, Threads};
use anthill_heap::RootOrigin;
use anthill_session::quoted;
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table, fit};
use crate::output::units::{bytes, count, counted};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill threads app.hprof
      What was every thread doing, and what does its stack hold?
  anthill threads app.hprof --name 'http-worker-*'
      How much does each of the workers keep alive?
  anthill threads app.hprof --limit 5
      Show the five threads that keep the most memory alive")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Threads>,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if for_program {
        json::print::<Threads>(&mut out, source, &answer)
    } else {
        write_text(&answer, &mut out)
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    let groups: Vec<Group> = answer
        .groups
        .iter()
        .map(|of| Group { answer, of })
        .collect();
    if groups.len() > 1 {
        overview(&groups).print(out)?;
        out.blank()?;
    }
    for group in &groups {
        group.text(out)?;
        out.blank()?;
    }
    if answer.omitted > 0 {
        let more = counted(answer.omitted as u64, "more thread", "more threads");
        out.remark(&format!("… {more}; --limit 0 shows all"))?;
    }
    out.remark("Kept alive: the memory that only the thread and its local variables hold.")?;
    Ok(out.flush()?)
}

/// Characters of a name that are shown.
const NAME: usize = 100;

fn shown_name(row: &ThreadRow) -> String {
    quoted(row.name.as_deref().unwrap_or("(unnamed)"), NAME)
}

fn overview(groups: &[Group]) -> Table<4> {
    let mut table = Table::new([
        ("kept alive", Align::Right),
        ("locals", Align::Right),
        ("state", Align::Left),
        ("thread", Align::Left),
    ]);
    for group in groups {
        table.row([
            bytes(group.of.kept),
            count(group.of.locals),
            group.first().state.unwrap_or("").to_owned(),
            group.name(),
        ]);
    }
    table
}

/// Threads with the same stack.
struct Group<'a> {
    answer: &'a Answer,
    of: &'a ThreadGroup,
}

impl Group<'_> {
    fn first(&self) -> &ThreadRow {
        &self.answer.rows[self.of.threads[0]]
    }

    /// `"main"`, or `8 threads: "worker-1" … "worker-8"`.
    fn name(&self) -> String {
        let name = |place: &usize| shown_name(&self.answer.rows[*place]);
        match self.of.threads.as_slice() {
            [] => String::new(),
            [only] => name(only),
            [first, between @ .., last] => format!(
                "{} threads: {} {} {}",
                count(self.of.threads.len() as u64),
                name(first),
                if between.is_empty() { "and" } else { "…" },
                name(last)
            ),
        }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.heading(&fit(&self.name(), out))?;
        out.line(fit(&format!("  {}", self.facts().join(", ")), out))?;
        for frame in &self.of.frames {
            out.line(fit(&format!("    at {}", frame.frame), out))?;
            write_held(&frame.held, out)?;
        }
        if !self.of.other.is_empty() {
            out.line("    held outside of these stack frames:")?;
            write_held(&self.of.other, out)?;
        }
        Ok(())
    }

    fn facts(&self) -> Vec<String> {
        let first = self.first();
        let mut facts = Vec::new();
        facts.extend((first.daemon == Some(true)).then(|| "daemon".to_owned()));
        facts.extend(first.state.map(str::to_owned));
        match (&first.object, self.of.threads.len()) {
            (Some(object), 1) => facts.push(format!(
                "{} @ {}, retains {}",
                object.class,
                object.address,
                bytes(object.retained)
            )),
            (Some(object), _) => facts.push(object.class.clone()),
            (None, _) => facts.push("not in the dump as an object".to_owned()),
        }
        facts.push(match self.of.threads.len() {
            1 => format!(
                "kept alive: {} in {}",
                bytes(self.of.most_kept),
                counted(first.kept.objects, "object", "objects")
            ),
            _ => format!(
                "kept alive: up to {} by each thread, {} in total",
                bytes(self.of.most_kept),
                bytes(self.of.kept)
            ),
        });
        facts
    }
}

fn write_held(held: &[Held], out: &mut Out) -> Result<(), Failure> {
    for held in held {
        let retained = bytes(held.retained);
        let label = match &held.label {
            Some(label) => label.clone(),
            None => format!("{} × {}", count(held.objects), held.class),
        };
        let root = match held.root {
            RootOrigin::JavaFrame => String::new(),
            other => format!("  ({})", other.label()),
        };
        let line = format!("       {retained:>9}  {label}{root}");
        out.line(fit(&line, out))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use anthill_api::threads::Kept;

    use super::*;

    fn thread(name: &str) -> ThreadRow {
        ThreadRow {
            name: Some(name.to_owned()),
            object: None,
            state: Some("WAITING"),
            daemon: None,
            kept: Kept {
                objects: 1,
                retained: 10,
            },
            frames: Vec::new(),
            other: Vec::new(),
        }
    }

    #[test]
    fn a_group_is_named_by_its_first_and_last_thread() {
        let answer = Answer {
            exact: true,
            rows: ["worker-10", "worker-9", "worker-11"].map(thread).into(),
            omitted: 0,
            groups: Vec::new(),
        };
        for (threads, name) in [
            (vec![0], "\"worker-10\""),
            (vec![1, 0], "2 threads: \"worker-9\" and \"worker-10\""),
            (vec![1, 0, 2], "3 threads: \"worker-9\" … \"worker-11\""),
        ] {
            let of = ThreadGroup {
                threads,
                kept: 0,
                most_kept: 0,
                locals: 0,
                frames: Vec::new(),
                other: Vec::new(),
            };
            let group = Group {
                answer: &answer,
                of: &of,
            };
            assert_eq!(group.name(), name);
        }
    }
}
