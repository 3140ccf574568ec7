//! `anthill summary`: what is in a dump, how it was read, and what is missing from it.

use std::io::Write;

use anthill_api::summary::{Answer, Jvm, RecordedState, Summary, Unreachable};
use anthill_api::{HeapQuestion, RootKind, Strength, window_sentence};
use anthill_graph::Convention;
use anthill_session::quoted;
use anthill_trace::elapsed;
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::keep::kept;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, date, share};
use crate::output::{Out, json};
use crate::recorded::recording;
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill summary app.hprof
      Is the heap full of live objects, and who holds them?
  anthill summary app.hprof.gz --json
      The same for a script
  anthill summary app.hprof --keep none
      How much would be left if the JVM dropped all soft references?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Summary>,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let summary = arguments.asked.question(arguments.source.json)?;
    let answer = summary.answer(source)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Summary>(&mut out, source, &answer)
    } else {
        let page = Page {
            answer: &answer,
            source,
        };
        page.text(&mut out)
    }
}

/// The answer as a person reads it.
struct Page<'a> {
    answer: &'a Answer,
    source: &'a Source,
}

impl Page<'_> {
    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let source = self.source;
        out.heading(&source.file)?;
        if let Some(recorded) = &self.answer.recording {
            recorded_state(recorded, out)?;
        } else {
            self.file_line(out)?;
        }
        if let Some(jvm) = &self.answer.jvm {
            self.jvm_lines(jvm, out)?;
        }
        out.line(format!("  {}", source.layout()))?;
        out.line(format!("  {}", source.session.convention()))?;
        let index = match (&self.answer.index.folder, self.answer.index.used) {
            (None, _) => "no index".to_owned(),
            (Some(folder), true) => format!("opened from the index in {folder}"),
            (Some(folder), false) if self.answer.index.kept => format!("index kept in {folder}"),
            (Some(folder), false) => format!("cannot write the index to {folder}"),
        };
        out.line(format!("  {index}"))?;
        if !source.missing().is_empty() {
            out.blank()?;
            out.heading("Missing or different in this file")?;
            for missing in source.missing() {
                let place = missing.offset.map_or(String::new(), |offset| {
                    format!("at offset {}: ", count(offset))
                });
                out.line(format!("  {place}{}", missing.what))?;
            }
        }
        out.blank()?;
        self.totals().print(out)?;
        out.blank()?;
        self.hints(source.session.convention(), out)?;
        out.line(format!(
            "{} loaded by {}, {} of them with instances; {}",
            counted(self.answer.classes, "class", "classes"),
            counted(self.answer.loaders, "class loader", "class loaders"),
            count(self.answer.classes_with_instances),
            counted(self.answer.threads, "thread", "threads"),
        ))?;
        out.blank()?;
        self.root_table().print(out)?;
        if !self.answer.assumed.is_empty() {
            out.blank()?;
            out.heading("Assumed sizes (the file does not determine them)")?;
            for assumed in &self.answer.assumed {
                out.line(format!("  {}: {}", assumed.class, assumed.what))?;
            }
        }
        let classes = self.answer.top_classes.iter();
        let classes = classes.map(|class| (class.retained, &class.class));
        out.blank()?;
        self.top_table("largest classes by retained size", classes)
            .print(out)?;
        let dominators = self.answer.top_dominators.iter();
        let dominators = dominators.map(|item| (item.retained, &item.label));
        if !self.answer.top_dominators.is_empty() {
            out.blank()?;
            self.top_table("largest objects by retained size", dominators)
                .print(out)?;
        }
        Ok(out.flush()?)
    }

    /// What the file of a dump is.
    fn file_line(&self, out: &mut Out) -> Result<(), Failure> {
        let dumps = if self.answer.dumps > 1 {
            format!(", dump {} of {}", self.answer.dump, self.answer.dumps)
        } else {
            String::new()
        };
        let packed = self.answer.packed_bytes.map_or(String::new(), |packed| {
            format!(" decompressed from {}", bytes(packed))
        });
        out.line(format!(
            "  {}, {}{packed}, {}-byte ids, taken {}{dumps}",
            self.answer.format,
            bytes(self.answer.file_bytes),
            self.answer.id_size,
            date(self.answer.timestamp),
        ))?;
        Ok(())
    }

    fn jvm_lines(&self, jvm: &Jvm, out: &mut Out) -> Result<(), Failure> {
        out.line(format!("  {} {}, {}", jvm.name, jvm.version, jvm.system))?;
        if let Some(command) = jvm.command.as_deref().filter(|command| !command.is_empty()) {
            out.line(format!("  running {}", quoted(command, 100)))?;
        }
        Ok(())
    }

    /// How to see more of what is not reachable.
    fn hints(&self, convention: Convention, out: &mut Out) -> Result<(), Failure> {
        let Unreachable {
            finalizable,
            weakly_held,
            ..
        } = self.answer.unreachable;
        if finalizable > 0 {
            let (wait, they) = match finalizable {
                1 => ("object waits", "it"),
                _ => ("objects wait", "them"),
            };
            out.line(format!(
                "{} {wait} to be finalized; --keep {} counts {they} as alive",
                count(finalizable),
                kept(convention, &[Strength::Finalizer]),
            ))?;
        }
        if weakly_held > 0 {
            let (are, they) = match weakly_held {
                1 => ("object is", "it"),
                _ => ("objects are", "them"),
            };
            out.line(format!(
                "{} {are} held only weakly; --keep {} counts {they} as alive",
                count(weakly_held),
                kept(convention, &[Strength::Weak, Strength::Phantom]),
            ))?;
        }
        if finalizable + weakly_held > 0 {
            out.blank()?;
        }
        Ok(())
    }

    fn totals(&self) -> Table<3> {
        let mut table = Table::new([
            ("", Align::Left),
            ("objects", Align::Right),
            ("shallow", Align::Right),
        ]);
        let mut row = |name: &str, objects, shallow| {
            table.row([name.to_owned(), count(objects), bytes(shallow)]);
        };
        row("in the dump", self.answer.objects, self.answer.shallow);
        row(
            "reachable",
            self.answer.reachable.objects,
            self.answer.reachable.shallow,
        );
        let Unreachable {
            weakly_reachable,
            garbage,
            ..
        } = &self.answer.unreachable;
        row(
            "weakly reachable only",
            weakly_reachable.objects,
            weakly_reachable.shallow,
        );
        row(
            "garbage, or held only inside the JVM",
            garbage.objects,
            garbage.shallow,
        );
        table
    }

    fn root_table(&self) -> Table<3> {
        let mut table = Table::new([
            ("GC roots", Align::Right),
            ("kind", Align::Left),
            ("named in the dump as", Align::Left),
        ]);
        for roots in &self.answer.roots {
            table.row([
                count(roots.roots),
                kind_name(roots.kind).to_owned(),
                roots.named.to_owned(),
            ]);
        }
        table
    }

    fn top_table<'a>(
        &self,
        title: &'static str,
        rows: impl Iterator<Item = (u64, &'a String)>,
    ) -> Table<3> {
        let mut table = Table::new([
            ("retained", Align::Right),
            ("share", Align::Right),
            (title, Align::Left),
        ]);
        for (retained, name) in rows.filter(|row| row.0 > 0) {
            table.row([
                bytes(retained),
                share(retained, self.answer.reachable.shallow),
                name.clone(),
            ]);
        }
        table
    }
}

fn recorded_state(recorded: &RecordedState, out: &mut Out) -> Result<(), Failure> {
    for words in recording(&recorded.recording) {
        out.line(format!("  {words}"))?;
    }
    let gc = recorded.gc;
    let gc = gc.map_or(String::new(), |gc| format!(", after gc:{gc}"));
    let mark = recorded.mark.as_ref();
    let mark = mark.map_or(String::new(), |mark| format!(", for mark:{mark}"));
    out.line(format!(
        "  state #{} of {}, at {}{gc}{mark}, {}",
        recorded.state,
        recorded.states,
        elapsed(recorded.time_ns),
        match recorded.contents {
            true => "with contents",
            false => "without contents (record with --contents to have them)",
        }
    ))?;
    if let (Some(window), Some((from, to))) = (&recorded.leak_window, &recorded.window) {
        out.wrapped(&format!("  {}", window_sentence(from, to, window)), 2)?;
    }
    Ok(())
}

/// The words a person knows a kind of roots by.
fn kind_name(kind: RootKind) -> &'static str {
    match kind {
        RootKind::ClassLoader => "class loader",
        RootKind::StaticField => "static field",
        RootKind::Thread => "thread",
        RootKind::LocalVariable => "local variable",
        RootKind::CodeBlob => "code blob",
        RootKind::Jni => "JNI",
        RootKind::Jvmti => "JVMTI",
        RootKind::Monitor => "monitor",
        RootKind::Management => "management",
        RootKind::Other => "other",
    }
}
