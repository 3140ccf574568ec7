//! `anthill timeline`: the heap over time, from a recording or a series of dumps.

use std::io::Write;
use std::path::PathBuf;

use anthill_api::timeline::{Answer, Gc, Layers, Sort, Timeline};
use anthill_api::{Basis, MORE_STATES, Moment, SeriesQuestion, window_sentence};
use anthill_heap::Missing;
use anthill_trace::elapsed;
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::bars::{bar, sparkline};
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, csv, json, shell};
use crate::recorded::recording;
use crate::source::{Files, SourceArguments, heap_file};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill timeline app.trace
      Does the heap grow, and which types?
  anthill timeline app.trace --class 'com.acme.*' --limit 50
      Show all types of a package
  anthill timeline monday.hprof wednesday.hprof friday.hprof
      Show a series of dumps
  anthill timeline app.trace --by closest-root --top 5
      Which static fields and threads lead to the growth?
  anthill timeline app.trace --by 'where type ~ \"com.acme.*\", allocation-site' --states 0
      Where were the objects of a package allocated, in every state?
  anthill timeline app.trace --csv > heap.csv
      For a spreadsheet: one line for each state and type")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER", value_parser = heap_file())]
    pub later: Vec<PathBuf>,
    #[command(flatten)]
    pub asked: Asked<Timeline>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

/// States that are listed, unless the user wants another number.
const STATES: usize = 20;
/// Characters of a bar.
const BAR: usize = 30;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let definitions = arguments.define.read()?;
    // A mistake is told before anything is read.
    arguments.asked.check(&definitions)?;
    let for_program = arguments.source.json || arguments.csv;
    let timeline = arguments.asked.question(for_program)?;
    let files = Files::new(&arguments.source, &arguments.later, definitions)?;
    let (answer, basis) = timeline.answer(&files)?;
    let name = arguments.source.file.display().to_string();
    let mut out = files.out();
    if arguments.source.json {
        return json::print_series::<Timeline>(&mut out, &answer, &basis, &files);
    }
    let view = View {
        name: &name,
        answer: &answer,
        missing: match &basis {
            Basis::Files(missing) => missing,
            Basis::Heap(heap) => heap.missing(),
        },
        states: timeline.limit.map_or(STATES, |limit| limit.most()),
    };
    if arguments.csv {
        view.csv(&mut out)?;
    } else {
        view.text(&mut out)?;
    }
    Ok(out.flush()?)
}

/// The answer as a person reads it.
struct View<'a> {
    name: &'a str,
    answer: &'a Answer,
    missing: &'a [Missing],
    /// How many states at most.
    states: usize,
}

impl View<'_> {
    /// A line for each state, and one for each state and type or layer.
    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        let split = if self.answer.layers.is_some() {
            "key"
        } else {
            "type"
        };
        csv::line(
            out,
            &["point", "seconds", "gc", "mark", split, "objects", "bytes"],
        )?;
        for (index, moment) in self.answer.states.iter().enumerate() {
            let seconds = format!("{:.3}", moment.time as f64 / 1e9);
            let gc = moment.gc.map_or(String::new(), |gc| gc.to_string());
            let mark = moment.mark.clone().unwrap_or_default();
            let mut line = |name: &str, objects: u64, bytes: u64| {
                let (objects, bytes) = (objects.to_string(), bytes.to_string());
                let cells = [&moment.point, &seconds, &gc, &mark, name, &objects, &bytes];
                csv::line(out, &cells)
            };
            line("", moment.alive_objects(), moment.alive())?;
            let Some(layers) = &self.answer.layers else {
                for history in &self.answer.types {
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
        out.heading(self.name)?;
        if let Some(recorded) = &self.answer.recording {
            for line in recording(recorded) {
                out.line(format!("  {line}"))?;
            }
            self.cost_line(out)?;
        }
        damage(self.missing, out)?;
        if self.answer.states.is_empty() {
            out.blank()?;
            out.line("No heap state was recorded.")?;
            out.line(MORE_STATES)?;
        } else {
            out.blank()?;
            self.state_table().print(out)?;
            self.omitted(out)?;
            out.blank()?;
            match &self.answer.layers {
                Some(layers) => print_layers(layers, self.answer.states.len(), out)?,
                None => self.type_table().print(out)?,
            }
            self.structures(out)?;
            if let ([_], Some(_)) = (&self.answer.states[..], &self.answer.recording) {
                out.blank()?;
                out.line(format!("Growth needs two states. {MORE_STATES}"))?;
            }
        }
        self.collections(out)?;
        self.marks(out)?;
        self.violations(out)?;
        self.window(out)
    }

    fn cost_line(&self, out: &mut Out) -> Result<(), Failure> {
        let costs = self.answer.costs;
        let sum = costs.pause_ns + costs.agent_cpu_ns + costs.recorder_cpu_ns;
        if sum > 0 {
            out.line(format!(
                "  recording cost {} of pauses ({} of the time), {} CPU in the JVM, {} outside",
                seconds(costs.pause_ns),
                share(costs.pause_ns, self.answer.duration_ns),
                seconds(costs.agent_cpu_ns),
                seconds(costs.recorder_cpu_ns),
            ))?;
        }
        let dropped = &self.answer.dropped;
        for dropped in dropped.iter().take(5) {
            out.line(format!(
                "  not recorded at {}: {} ({}): {}",
                elapsed(dropped.time_ns),
                dropped.what,
                count(dropped.amount),
                dropped.reason
            ))?;
        }
        if let Some(more) = dropped.len().checked_sub(5).filter(|&more| more > 0) {
            out.line(format!("  and {more} more"))?;
        }
        Ok(())
    }

    /// Which states are shown: first, last, marked ones, and others evenly between.
    fn shown(&self) -> Vec<usize> {
        let moments = &self.answer.states;
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
        let moments = &self.answer.states;
        let most = moments.iter().map(Moment::alive).max().unwrap_or(0);
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
        let more = self.answer.states.len() - self.shown().len();
        if more > 0 {
            let states = counted(more as u64, "state in between is", "states in between are");
            out.remark(&format!("{states} not shown; --limit 0 shows all"))?;
        }
        Ok(())
    }

    fn type_table(&self) -> Table<5> {
        let rows = self.answer.types.iter();
        let rows = rows.map(|history| (history.name.clone(), &history.bytes[..]));
        over_time("type", rows, bytes)
    }

    /// The structures that changed. Those that are gone have no name but their class and identity.
    fn structures(&self, out: &mut Out) -> Result<(), Failure> {
        if self.answer.structures.is_empty() {
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
        for one in &self.answer.structures {
            let sizes: Vec<u64> = one.bytes.iter().map(|bytes| bytes.unwrap_or(0)).collect();
            table.row([
                shown(one.elements.first()),
                shown(one.elements.last()),
                super::diff::signed(one.change, bytes),
                sparkline(&sizes, BAR),
                one.name
                    .clone()
                    .unwrap_or_else(|| format!("{} #{}", one.class, one.identity)),
            ]);
        }
        out.blank()?;
        Ok(table.print(out)?)
    }

    fn collections(&self, out: &mut Out) -> Result<(), Failure> {
        let gcs = &self.answer.gcs;
        let rates = &self.answer.allocation_rates;
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
                    &per_time(gcs, self.answer.duration_ns, |_| 1, u64::wrapping_add),
                    BAR,
                ),
                format!(
                    "{}, {} of them full",
                    count(gcs.len() as u64),
                    count(full as u64)
                ),
            ]);
            table.row([
                "longest pause".to_owned(),
                sparkline(
                    &per_time(gcs, self.answer.duration_ns, length, u64::max),
                    BAR,
                ),
                format!(
                    "{}; total {} ({} of the time)",
                    seconds(pauses.iter().copied().max().unwrap_or(0)),
                    seconds(sum),
                    share(sum, self.answer.duration_ns)
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
                sparkline(rates, BAR),
                format!("average {}/s, maximum {}/s", bytes(average), bytes(most)),
            ]);
        }
        Ok(table.print(out)?)
    }

    fn marks(&self, out: &mut Out) -> Result<(), Failure> {
        let marks = &self.answer.marks;
        if marks.is_empty() {
            return Ok(());
        }
        out.blank()?;
        let mut table = Table::new([("at", Align::Right), ("mark", Align::Left)]);
        for mark in marks {
            table.row([elapsed(mark.time_ns), mark.text.clone()]);
        }
        Ok(table.print(out)?)
    }

    /// Assertions of the program that did not hold, with the paths that were found then.
    fn violations(&self, out: &mut Out) -> Result<(), Failure> {
        const SHOWN: usize = 10;
        let violations = &self.answer.violations;
        for violation in violations.iter().take(SHOWN) {
            out.blank()?;
            let mut lines = violation.text.lines();
            let first = lines.next().unwrap_or(&violation.kind);
            out.line(format!(
                "assertion at {}: {first}",
                elapsed(violation.time_ns)
            ))?;
            for line in lines {
                out.line(line)?;
            }
        }
        if let Some(more) = violations.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            out.blank()?;
            out.line(format!("and {more} more violated assertions"))?;
        }
        Ok(())
    }

    fn window(&self, out: &mut Out) -> Result<(), Failure> {
        let Some(window) = &self.answer.leak_window else {
            return Ok(());
        };
        out.blank()?;
        let states = &self.answer.states;
        let (from, to) = (&states[window.from], &states[window.to]);
        out.wrapped(&window_sentence(from, to, window), 0)?;
        if self.answer.recording.is_some() {
            out.line(format!(
                "  anthill diff {} --from {} --to {}",
                shell::file(self.name),
                shell::word(&from.point),
                shell::word(&to.point)
            ))?;
        }
        Ok(())
    }
}

/// Layers as a table; `states` are all that there are.
fn print_layers(layers: &Layers, states: usize, out: &mut Out) -> Result<(), Failure> {
    let of = |objects, bytes| match layers.sort {
        Sort::Bytes => bytes,
        Sort::Objects => objects,
    };
    let rows = layers.rows.iter();
    let rows = rows.map(|row| (row.key.clone(), of(&row.objects[..], &row.bytes[..])));
    let others = &layers.others;
    let rest = (others.rows > 0).then(|| {
        let name = counted(others.rows as u64, "other", "others");
        (name, of(&others.objects[..], &others.bytes[..]))
    });
    let show: fn(u64) -> String = match layers.sort {
        Sort::Bytes => bytes,
        Sort::Objects => count,
    };
    over_time("layer", rows.chain(rest), show).print(out)?;
    if layers.states.len() < states {
        let looked = count(layers.states.len() as u64);
        let all = count(states as u64);
        out.remark(&format!(
            "based on {looked} of {all} states; --states 0 analyzes all"
        ))?;
    }
    Ok(())
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

fn damage(damage: &[Missing], out: &mut Out) -> Result<(), Failure> {
    for missing in damage {
        let place = missing.offset.unwrap_or(0);
        out.line(format!("  at offset {}: {}", count(place), missing.what))?;
    }
    Ok(())
}

fn length(gc: &Gc) -> u64 {
    gc.end_ns.saturating_sub(gc.start_ns)
}

/// Something about collections in equal stretches of time.
fn per_time(gcs: &[Gc], duration: u64, of: fn(&Gc) -> u64, join: fn(u64, u64) -> u64) -> Vec<u64> {
    let stretch = duration.div_ceil(BAR as u64).max(1);
    let mut values = vec![0; BAR];
    for gc in gcs {
        let index = ((gc.start_ns / stretch) as usize).min(BAR - 1);
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
