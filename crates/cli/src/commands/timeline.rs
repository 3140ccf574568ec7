//! `anthill timeline`: the heap over time, from a recording or a series of dumps.

mod layers;

use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_classify::Pattern;
use anthill_heap::Missing;
use anthill_session::{HeapMoment, History, LeakWindow, StructureHistory, TypeHistory};
use anthill_trace::{Facts, Gc, Mark, Trace, Violation, elapsed, is_trace};
use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::bars::{bar, sparkline};
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, date, share};
use crate::output::{Out, csv, json, shell};
use crate::report::window_sentence;
use crate::source::{SourceArguments, limit};
use layers::{LayerArguments, Shown, Subject};

/// Show the heap over time: sizes, types, collections, allocation, marks
///
/// Of a recording only what is said about its states is read, so that hundreds of them take no time.
/// Several dumps, the earliest first, are shown in the same way. Where the heap only grows to the end,
/// in spite of dips, that window is proposed for a closer look. --by splits the heap by any classifiers
/// instead of by type, which takes a look into the states themselves.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill timeline app.trace
      Does the heap grow, and which types?
  anthill timeline app.trace --class 'com.acme.*' --limit 50
      All types of a package
  anthill timeline monday.hprof wednesday.hprof friday.hprof
      A series of dumps
  anthill timeline app.trace --by closest-root --top 5
      Which static fields and threads lead to what grows?
  anthill timeline app.trace --by 'where type ~ \"com.acme.*\", allocation-site' --states 0
      Where do the objects of a package come from, at every state?
  anthill timeline app.trace --csv > heap.csv
      A line for each state and type")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER")]
    pub later: Vec<PathBuf>,
    /// Only types that fit; * and ? are wildcards
    #[arg(long, value_name = "GLOB")]
    pub class: Option<String>,
    #[command(flatten)]
    pub layers: LayerArguments,
    /// How many states, types and data structures; 0 for all [default: 20, 10 and 5; all with --json and --csv]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub limit: Option<usize>,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

const STATES: usize = 20;
const TYPES: usize = 10;
const STRUCTURES: usize = 5;
/// Characters of a bar.
const BAR: usize = 30;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.source.at.is_some() {
        return Err(Failure::unusable(
            "the timeline is about all states of a recording",
            "Leave out --at, or ask another command about that state.",
        ));
    }
    // A mistake is told before anything is read.
    arguments.layers.steps()?;
    let history = history(arguments)?;
    let for_program = arguments.source.json || arguments.csv;
    let most = |usual: usize| match arguments.limit {
        Some(limit) => super::or_all(limit),
        None if for_program => usize::MAX,
        None => usual,
    };
    let pattern = arguments.class.as_deref().map(Pattern::class);
    let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let types = history.types(most(TYPES), wanted);
    if let Some(glob) = arguments.class.as_ref().filter(|_| types.is_empty()) {
        let reason = format!("no state has objects of a class that fits `{glob}`");
        return Err(Failure::NothingFound(reason));
    }
    let structures = history.structures(most(STRUCTURES));
    let subject = Subject {
        history: &history,
        files: &files(arguments),
        class: arguments.class.as_deref(),
    };
    let layers = arguments
        .layers
        .shown(&arguments.source, &subject, wanted)?;
    let name = arguments.source.file.display().to_string();
    let view = View {
        structures: &structures,
        name: &name,
        history: &history,
        types: &types,
        layers: layers.as_ref(),
        states: most(STATES),
    };
    let mut out = arguments.source.out();
    if arguments.source.json {
        let missing = history.trace.as_ref().map_or(&[][..], Trace::damage);
        return json::print_bare(&mut out, &name, "timeline", missing, view.json());
    }
    if arguments.csv {
        view.csv(&mut out)?;
    } else {
        view.text(&mut out)?;
    }
    Ok(out.flush()?)
}

/// The recording, or the dumps.
fn files(arguments: &Arguments) -> Vec<&Path> {
    let first = [&arguments.source.file].into_iter();
    first
        .chain(&arguments.later)
        .map(PathBuf::as_path)
        .collect()
}

fn history(arguments: &Arguments) -> Result<History, Failure> {
    let first = &arguments.source.file;
    if !is_trace(first) {
        let mut dumps = Vec::new();
        for file in files(arguments) {
            dumps.push(arguments.source.open_file(file)?.session.moment()?);
        }
        return Ok(History::of_dumps(first, dumps));
    }
    if let Some(other) = arguments.later.first() {
        return Err(Failure::unusable(
            format!(
                "{} is a recording and has a timeline of its own",
                first.display()
            ),
            format!(
                "Leave out {}; only dumps are put in a row.",
                other.display()
            ),
        ));
    }
    Ok(History::of_trace(first)?)
}

/// What is shown of a history.
struct View<'a> {
    name: &'a str,
    history: &'a History,
    types: &'a [TypeHistory],
    /// With --by.
    layers: Option<&'a Shown>,
    structures: &'a [StructureHistory],
    /// How many states at most.
    states: usize,
}

#[derive(Serialize)]
struct Json<'a> {
    facts: Option<FactsJson<'a>>,
    complete: Option<bool>,
    duration_ns: u64,
    states: &'a [HeapMoment],
    types: &'a [TypeHistory],
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<&'a Shown>,
    structures: &'a [StructureHistory],
    gcs: Vec<GcJson<'a>>,
    /// Bytes per second in equal stretches of time.
    allocation_rates: Vec<u64>,
    marks: Vec<MarkJson<'a>>,
    costs: Costs,
    dropped: Vec<DroppedJson<'a>>,
    violations: Vec<ViolationJson<'a>>,
    leak_window: Option<LeakWindow>,
}

/// An assertion of the program that did not hold.
#[derive(Serialize)]
struct ViolationJson<'a> {
    time_ns: u64,
    kind: &'a str,
    message: Option<&'a str>,
    made_at: &'a [String],
    class: &'a str,
    count: u64,
    bytes: u64,
    text: &'a str,
}

impl<'a> ViolationJson<'a> {
    fn new(violation: &'a Violation) -> Self {
        ViolationJson {
            time_ns: violation.time,
            kind: &violation.kind,
            message: violation.message.as_deref(),
            made_at: &violation.made_at,
            class: &violation.class,
            count: violation.count,
            bytes: violation.bytes,
            text: &violation.text,
        }
    }
}

#[derive(Serialize)]
struct FactsJson<'a> {
    started_ns: u64,
    jvm_started_ns: Option<u64>,
    pid: Option<u32>,
    version: &'a str,
    vm: &'a str,
    vendor: &'a str,
    collector: &'a str,
    command_line: &'a str,
    flags: &'a [(String, String)],
    cores: Option<u32>,
    max_heap: Option<u64>,
    options: &'a [(String, String)],
    missing: &'a [String],
}

#[derive(Serialize)]
struct GcJson<'a> {
    number: u64,
    full: bool,
    collector: &'a str,
    cause: &'a str,
    start_ns: u64,
    end_ns: u64,
    used_before: Option<u64>,
    used_after: Option<u64>,
    committed: Option<u64>,
}

#[derive(Serialize)]
struct MarkJson<'a> {
    time_ns: u64,
    text: &'a str,
}

#[derive(Serialize)]
struct DroppedJson<'a> {
    time_ns: u64,
    what: &'a str,
    amount: u64,
    reason: &'a str,
}

/// What recording cost, in nanoseconds.
#[derive(Clone, Copy, Default, Serialize)]
struct Costs {
    pause_ns: u64,
    agent_cpu_ns: u64,
    recorder_cpu_ns: u64,
}

impl<'a> FactsJson<'a> {
    fn new(facts: &'a Facts) -> Self {
        FactsJson {
            started_ns: facts.started,
            jvm_started_ns: facts.jvm_started,
            pid: facts.pid,
            version: &facts.version,
            vm: &facts.vm,
            vendor: &facts.vendor,
            collector: &facts.collector,
            command_line: &facts.command_line,
            flags: &facts.flags,
            cores: facts.cores,
            max_heap: facts.max_heap,
            options: &facts.options,
            missing: &facts.missing,
        }
    }
}

impl View<'_> {
    fn costs(&self) -> Costs {
        let costs = self
            .history
            .timeline()
            .map_or(&[][..], |timeline| &timeline.costs);
        costs.iter().fold(Costs::default(), |sum, cost| Costs {
            pause_ns: sum.pause_ns.saturating_add(cost.pause),
            agent_cpu_ns: sum.agent_cpu_ns.saturating_add(cost.agent),
            recorder_cpu_ns: sum.recorder_cpu_ns.saturating_add(cost.recorder),
        })
    }

    fn json(&self) -> Json<'_> {
        let history = self.history;
        let trace = history.trace.as_ref();
        let timeline = history.timeline();
        let gcs = history.gcs().iter().map(|gc| GcJson {
            number: gc.number,
            full: gc.full,
            collector: &gc.collector,
            cause: &gc.cause,
            start_ns: gc.start,
            end_ns: gc.end,
            used_before: gc.used_before,
            used_after: gc.used_after,
            committed: gc.committed,
        });
        let marks = timeline.map_or(&[][..], |timeline| &timeline.marks).iter();
        let dropped = timeline
            .map_or(&[][..], |timeline| &timeline.dropped)
            .iter();
        let violations = timeline
            .map_or(&[][..], |timeline| &timeline.violations)
            .iter();
        Json {
            facts: trace.map(|trace| FactsJson::new(trace.facts())),
            complete: trace.map(Trace::is_complete),
            duration_ns: history.duration(),
            states: &history.moments,
            types: self.types,
            layers: self.layers,
            structures: self.structures,
            gcs: gcs.collect(),
            allocation_rates: history.allocation_rates(),
            marks: marks
                .map(|mark| MarkJson {
                    time_ns: mark.time,
                    text: &mark.text,
                })
                .collect(),
            costs: self.costs(),
            dropped: dropped
                .map(|dropped| DroppedJson {
                    time_ns: dropped.time,
                    what: &dropped.what,
                    amount: dropped.amount,
                    reason: &dropped.reason,
                })
                .collect(),
            violations: violations.map(ViolationJson::new).collect(),
            leak_window: history.window,
        }
    }

    /// A line for each state, and one for each state and type or layer.
    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        let split = if self.layers.is_some() { "key" } else { "type" };
        csv::line(
            out,
            &["point", "seconds", "gc", "mark", split, "objects", "bytes"],
        )?;
        for (index, moment) in self.history.moments.iter().enumerate() {
            let seconds = format!("{:.3}", moment.time as f64 / 1e9);
            let gc = moment.gc.map_or(String::new(), |gc| gc.to_string());
            let mark = moment.mark.clone().unwrap_or_default();
            let mut line = |name: &str, objects: u64, bytes: u64| {
                let (objects, bytes) = (objects.to_string(), bytes.to_string());
                let cells = [&moment.point, &seconds, &gc, &mark, name, &objects, &bytes];
                csv::line(out, &cells)
            };
            line("", moment.alive_objects(), moment.alive())?;
            let Some(layers) = self.layers else {
                for history in self.types {
                    line(&history.name, history.objects[index], history.bytes[index])?;
                }
                continue;
            };
            if let Ok(place) = layers.states.binary_search(&index) {
                for layer in &layers.rows {
                    line(&layer.key, layer.objects[place], layer.bytes[place])?;
                }
            }
        }
        Ok(())
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let history = self.history;
        out.heading(self.name)?;
        if let Some(trace) = &history.trace {
            for line in recording(trace, history) {
                out.line(format!("  {line}"))?;
            }
            self.cost_line(out)?;
        }
        damage(history.trace.as_ref().map_or(&[], Trace::damage), out)?;
        if history.moments.is_empty() {
            out.blank()?;
            out.line("No heap state was recorded.")?;
        } else {
            out.blank()?;
            self.state_table().print(out)?;
            self.omitted(out)?;
            out.blank()?;
            match self.layers {
                Some(layers) => layers.print(self.history.moments.len(), out)?,
                None => self.type_table().print(out)?,
            }
            self.structures(out)?;
        }
        self.collections(out)?;
        self.marks(out)?;
        self.violations(out)?;
        self.window(out)
    }

    fn cost_line(&self, out: &mut Out) -> Result<(), Failure> {
        let costs = self.costs();
        let sum = costs.pause_ns + costs.agent_cpu_ns + costs.recorder_cpu_ns;
        if sum > 0 {
            out.line(format!(
                "  recording cost {} of pauses ({} of the time), {} CPU in the JVM, {} outside",
                seconds(costs.pause_ns),
                share(costs.pause_ns, self.history.duration()),
                seconds(costs.agent_cpu_ns),
                seconds(costs.recorder_cpu_ns),
            ))?;
        }
        let dropped = self
            .history
            .timeline()
            .map_or(&[][..], |timeline| &timeline.dropped);
        for dropped in dropped.iter().take(5) {
            out.line(format!(
                "  not recorded at {}: {} ({}): {}",
                elapsed(dropped.time),
                dropped.what,
                count(dropped.amount),
                dropped.reason
            ))?;
        }
        if let Some(more) = dropped.len().checked_sub(5).filter(|&more| more > 0) {
            out.line(format!("  and {more} times more"))?;
        }
        Ok(())
    }

    /// Which states are shown: first, last, marked ones, and others evenly between.
    fn shown(&self) -> Vec<usize> {
        let moments = &self.history.moments;
        if moments.len() <= self.states {
            return (0..moments.len()).collect();
        }
        let marked = (0..moments.len()).filter(|&index| moments[index].mark.is_some());
        let mut shown: Vec<usize> = marked.take(self.states / 2).collect();
        let even = self.states.saturating_sub(shown.len()).max(2);
        let last = moments.len() - 1;
        shown.extend((0..even).map(|index| index * last / (even - 1)));
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    fn state_table(&self) -> Table<7> {
        let mut table = Table::new([
            ("at", Align::Right),
            ("state", Align::Left),
            ("alive", Align::Right),
            ("objects", Align::Right),
            ("pause", Align::Right),
            ("", Align::Left),
            ("mark", Align::Left),
        ]);
        let moments = &self.history.moments;
        let most = moments.iter().map(HeapMoment::alive).max().unwrap_or(0);
        for index in self.shown() {
            let moment = &moments[index];
            let gc = moment.gc.map_or(String::new(), |gc| format!(" gc:{gc}"));
            table.row([
                elapsed(moment.time),
                format!("{}{gc}", moment.point),
                bytes(moment.alive()),
                count(moment.alive_objects()),
                moment.pause.map_or(String::new(), seconds),
                bar(moment.alive(), most, BAR),
                moment.mark.clone().unwrap_or_default(),
            ]);
        }
        table
    }

    fn omitted(&self, out: &mut Out) -> Result<(), Failure> {
        let more = self.history.moments.len() - self.shown().len();
        if more > 0 {
            let states = counted(more as u64, "state between is", "states between are");
            out.remark(&format!("{states} left out; --limit 0 shows all"))?;
        }
        Ok(())
    }

    fn type_table(&self) -> Table<5> {
        let rows = self.types.iter();
        let rows = rows.map(|history| (history.name.clone(), &history.bytes[..]));
        over_time("type", rows, bytes)
    }

    /// The structures that changed, which have no name here but their class and identity.
    fn structures(&self, out: &mut Out) -> Result<(), Failure> {
        if self.structures.is_empty() {
            return Ok(());
        }
        let mut table = Table::new([
            ("elements", Align::Right),
            ("last", Align::Right),
            ("own bytes", Align::Right),
            ("", Align::Left),
            ("structure", Align::Left),
        ]);
        let shown = |elements: Option<&Option<u64>>| {
            elements.copied().flatten().map_or("–".to_owned(), count)
        };
        for one in self.structures {
            let sizes: Vec<u64> = one.bytes.iter().map(|bytes| bytes.unwrap_or(0)).collect();
            table.row([
                shown(one.elements.first()),
                shown(one.elements.last()),
                super::diff::signed(one.change(), bytes),
                sparkline(&sizes, BAR),
                format!("{} #{}", one.class, one.identity),
            ]);
        }
        out.blank()?;
        Ok(table.print(out)?)
    }

    fn collections(&self, out: &mut Out) -> Result<(), Failure> {
        let gcs = self.history.gcs();
        let rates = self.history.allocation_rates();
        if gcs.is_empty() && rates.is_empty() {
            return Ok(());
        }
        out.blank()?;
        let mut table = Table::new([("", Align::Left), ("", Align::Left), ("", Align::Left)]);
        if !gcs.is_empty() {
            let pauses: Vec<u64> = gcs.iter().map(length).collect();
            let sum = pauses.iter().sum();
            let full = gcs.iter().filter(|gc| gc.full).count();
            table.row([
                "collections".to_owned(),
                sparkline(
                    &per_time(gcs, self.history.duration(), |_| 1, u64::wrapping_add),
                    BAR,
                ),
                format!(
                    "{} of which {} full",
                    count(gcs.len() as u64),
                    count(full as u64)
                ),
            ]);
            table.row([
                "longest pause".to_owned(),
                sparkline(
                    &per_time(gcs, self.history.duration(), length, u64::max),
                    BAR,
                ),
                format!(
                    "{}; in all {} ({} of the time)",
                    seconds(pauses.iter().copied().max().unwrap_or(0)),
                    seconds(sum),
                    share(sum, self.history.duration())
                ),
            ]);
            let after: Vec<u64> = gcs.iter().filter_map(|gc| gc.used_after).collect();
            if let (Some(&first), Some(&last)) = (after.first(), after.last()) {
                table.row([
                    "heap after collections".to_owned(),
                    sparkline(&after, BAR),
                    format!("from {} to {}", bytes(first), bytes(last)),
                ]);
            }
        }
        if !rates.is_empty() {
            let average = rates.iter().sum::<u64>() / rates.len() as u64;
            let most = rates.iter().copied().max().unwrap_or(0);
            table.row([
                "allocation".to_owned(),
                sparkline(&rates, BAR),
                format!("{}/s on average, {}/s at most", bytes(average), bytes(most)),
            ]);
        }
        Ok(table.print(out)?)
    }

    fn marks(&self, out: &mut Out) -> Result<(), Failure> {
        let marks: &[Mark] = self
            .history
            .timeline()
            .map_or(&[], |timeline| &timeline.marks);
        if marks.is_empty() {
            return Ok(());
        }
        out.blank()?;
        let mut table = Table::new([("at", Align::Right), ("mark", Align::Left)]);
        for mark in marks {
            table.row([elapsed(mark.time), mark.text.clone()]);
        }
        Ok(table.print(out)?)
    }

    /// Assertions of the program that did not hold, with the paths that were found then.
    fn violations(&self, out: &mut Out) -> Result<(), Failure> {
        const SHOWN: usize = 10;
        let violations: &[Violation] = self
            .history
            .timeline()
            .map_or(&[], |timeline| &timeline.violations);
        for violation in violations.iter().take(SHOWN) {
            out.blank()?;
            let mut lines = violation.text.lines();
            let first = lines.next().unwrap_or(&violation.kind);
            out.line(format!("assertion at {}: {first}", elapsed(violation.time)))?;
            for line in lines {
                out.line(line)?;
            }
        }
        if let Some(more) = violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            out.blank()?;
            out.line(format!("and {more} assertions more that did not hold"))?;
        }
        Ok(())
    }

    fn window(&self, out: &mut Out) -> Result<(), Failure> {
        let Some(window) = self.history.window else {
            return Ok(());
        };
        out.blank()?;
        out.wrapped(&window_sentence(&self.history.moments, window), 0)?;
        if self.history.trace.is_some() {
            let point = |index: usize| shell::word(&self.history.moments[index].point);
            out.line(format!(
                "  anthill diff {} --from {} --to {}",
                shell::file(self.name),
                point(window.from),
                point(window.to)
            ))?;
        }
        Ok(())
    }
}

/// Things with a number for each state: the first, the last, and how it came there.
fn over_time<'a>(
    title: &'static str,
    rows: impl Iterator<Item = (String, &'a [u64])>,
    show: fn(u64) -> String,
) -> Table<5> {
    let mut table = Table::new([
        ("first", Align::Right),
        ("last", Align::Right),
        ("change", Align::Right),
        ("", Align::Left),
        (title, Align::Left),
    ]);
    for (name, values) in rows {
        let first = values.first().copied().unwrap_or(0);
        let last = values.last().copied().unwrap_or(0);
        let change = last.abs_diff(first);
        let sign = if last < first { "−" } else { "+" };
        table.row([
            show(first),
            show(last),
            match change {
                0 => String::new(),
                change => format!("{sign}{}", show(change)),
            },
            sparkline(values, BAR),
            name,
        ]);
    }
    table
}

/// What was recorded, of which JVM, and when, in lines.
pub fn recording(trace: &Trace, history: &History) -> Vec<String> {
    let facts = trace.facts();
    let mut jvm = vec![format!("{} {}", facts.vm, facts.version).trim().to_owned()];
    jvm.push(facts.collector.clone());
    jvm.extend(
        facts
            .max_heap
            .map(|most| format!("at most {} heap", bytes(most))),
    );
    jvm.extend(
        facts
            .cores
            .map(|cores| counted(cores.into(), "core", "cores")),
    );
    jvm.retain(|part| !part.is_empty());
    if jvm.is_empty() {
        jvm.push("an unknown JVM".to_owned());
    }
    let mut lines = vec![format!("recording of {}", jvm.join(", "))];
    if !facts.command_line.is_empty() {
        lines.push(facts.command_line.clone());
    }
    let timeline = trace.timeline();
    let samples = timeline.samples.len() as u64;
    lines.push(format!(
        "from {}, {}{}: {}, {}, {}, {}",
        date(facts.started / 1_000_000),
        elapsed(history.duration()),
        if trace.is_complete() {
            ""
        } else {
            " so far, not ended"
        },
        counted(trace.states().len() as u64, "state", "states"),
        counted(timeline.gcs.len() as u64, "collection", "collections"),
        counted(samples, "sampled allocation", "sampled allocations"),
        counted(timeline.marks.len() as u64, "mark", "marks"),
    ));
    let missing = facts.missing.iter();
    lines.extend(missing.map(|missing| format!("not to be had from this JVM: {missing}")));
    lines
}

fn damage(damage: &[Missing], out: &mut Out) -> Result<(), Failure> {
    for missing in damage {
        let place = missing.offset.unwrap_or(0);
        out.line(format!("  at offset {}: {}", count(place), missing.what))?;
    }
    Ok(())
}

fn length(gc: &Gc) -> u64 {
    gc.end.saturating_sub(gc.start)
}

/// Something about collections in equal stretches of time.
fn per_time(gcs: &[Gc], duration: u64, of: fn(&Gc) -> u64, join: fn(u64, u64) -> u64) -> Vec<u64> {
    let stretch = duration.div_ceil(BAR as u64).max(1);
    let mut values = vec![0; BAR];
    for gc in gcs {
        let index = ((gc.start / stretch) as usize).min(BAR - 1);
        values[index] = join(values[index], of(gc));
    }
    values
}

/// Nanoseconds as a person reads them.
pub fn seconds(nanoseconds: u64) -> String {
    match nanoseconds {
        0 => "0".to_owned(),
        1..1_000_000 => format!("{} µs", nanoseconds / 1000),
        1_000_000..1_000_000_000 => format!("{} ms", nanoseconds / 1_000_000),
        _ => format!("{:.1} s", nanoseconds as f64 / 1e9),
    }
}
