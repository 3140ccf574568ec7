//! The heap over time: the states of a recording, or of a series of dumps, without opening any
//! recorded state in full.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anthill_session::{Error, Grouping, Session, stable_name};
use anthill_trace::{Gc, IdentityKind, MOST_STRUCTURES, StateHeader, Timeline, Totals, Trace};
use serde::Serialize;

use crate::identities::why_missing;

const SECOND: u64 = 1_000_000_000;
/// Stretches of time that allocation is told in.
const STRETCHES: u64 = 60;

/// All that is to be told of how a heap changed.
pub struct History {
    /// The recording, or the first dump.
    pub path: PathBuf,
    /// In the order of time.
    pub moments: Vec<HeapMoment>,
    /// By name; each has a value for every moment.
    types: BTreeMap<String, Vec<Totals>>,
    /// Where it looks as if memory leaks.
    pub window: Option<LeakWindow>,
    /// The recording, if it is one.
    pub trace: Option<Trace>,
}

/// A moment at which the whole heap is known.
#[derive(Clone, Debug, Serialize)]
pub struct HeapMoment {
    /// How `--at` names it; for a dump its file.
    pub point: String,
    /// Nanoseconds since the recording's start or the first dump.
    pub time: u64,
    /// The collection after which it was.
    pub gc: Option<u64>,
    /// What a person or the program calls it.
    pub mark: Option<String>,
    /// Nanoseconds the program stood still for it.
    pub pause: Option<u64>,
    /// All objects, alive or not.
    pub objects: u64,
    /// All bytes, alive or not.
    pub bytes: u64,
    /// Objects and bytes that GC roots keep alive, where that is known.
    pub reachable_objects: Option<u64>,
    /// See `reachable_objects`.
    pub reachable_bytes: Option<u64>,
}

impl HeapMoment {
    /// What is alive; all there is where that is not known.
    pub fn alive(&self) -> u64 {
        self.reachable_bytes.unwrap_or(self.bytes)
    }

    /// How many are alive; all there are where that is not known.
    pub fn alive_objects(&self) -> u64 {
        self.reachable_objects.unwrap_or(self.objects)
    }
}

/// A type over time.
#[derive(Clone, Debug, Serialize)]
pub struct TypeHistory {
    /// In Java notation.
    #[serde(rename = "type")]
    pub name: String,
    /// By moment.
    pub objects: Vec<u64>,
    /// By moment.
    pub bytes: Vec<u64>,
}

/// A data structure over time, as far as it was followed.
#[derive(Clone, Debug, Serialize)]
pub struct StructureHistory {
    /// Who it is in the recording.
    pub identity: u64,
    /// Of its head, in Java notation.
    pub class: String,
    /// By moment; null where it is not there, or not known: not among the largest, or without an identity.
    pub elements: Vec<Option<u64>>,
    /// Of head and inner parts.
    pub bytes: Vec<Option<u64>>,
    #[serde(skip)]
    change: i64,
}

impl StructureHistory {
    /// Bytes more, or less, at the last moment that tells about it than at the first.
    pub fn change(&self) -> i64 {
        self.change
    }
}

/// How bytes changed from the first to the last moment that tells. Where all structures are known, one that is
/// not there has none; elsewhere that says nothing.
fn change(bytes: &[Option<u64>], all_known: &[bool]) -> i64 {
    let told = bytes.iter().zip(all_known);
    let mut told = told.filter_map(|(bytes, all_known)| bytes.or(all_known.then_some(0)));
    let first = told.next().unwrap_or(0);
    let last = told.next_back().unwrap_or(first);
    last as i64 - first as i64
}

/// Where the heap only grows, to the end of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeakWindow {
    /// Indices of the first and the last moment.
    pub from: usize,
    /// See `from`.
    pub to: usize,
    /// Bytes.
    pub growth: u64,
    /// Nanoseconds.
    pub duration: u64,
}

impl LeakWindow {
    /// The last stretch in which what is alive only grows, if there is one.
    pub fn of(moments: &[HeapMoment]) -> Option<Self> {
        let sizes = moments.iter().map(|moment| (moment.time, moment.alive()));
        leak_window(&sizes.collect::<Vec<_>>())
    }

    /// How quickly it grows.
    pub fn bytes_per_minute(&self) -> u64 {
        (self.growth as f64 * 60e9 / self.duration.max(1) as f64) as u64
    }
}

impl History {
    /// Of a recording.
    pub fn of_trace(path: &Path) -> Result<Self, Error> {
        let trace = Trace::open(path)?;
        let moments = moments(&trace);
        let mut types: BTreeMap<String, Vec<Totals>> = BTreeMap::new();
        for (index, state) in trace.states().iter().enumerate() {
            for class in &state.classes {
                let name = trace.symbols().class(class.class).unwrap_or("(name lost)");
                let alive = class.reachable.unwrap_or(class.all);
                add(&mut types, name, index, moments.len(), alive);
            }
        }
        Ok(History {
            path: path.to_owned(),
            window: LeakWindow::of(&moments),
            moments,
            types,
            trace: Some(trace),
        })
    }

    /// Of dumps that were opened one after the other, in the order they were taken.
    pub fn of_dumps(path: &Path, dumps: Vec<DumpMoment>) -> Self {
        let count = dumps.len();
        let start = dumps.iter().map(|dump| dump.timestamp).min().unwrap_or(0);
        let mut types = BTreeMap::new();
        let mut moments = Vec::new();
        for (index, mut dump) in dumps.into_iter().enumerate() {
            for (name, totals) in dump.types {
                add(&mut types, &name, index, count, totals);
            }
            dump.moment.time = (dump.timestamp - start) * 1_000_000;
            moments.push(dump.moment);
        }
        History {
            path: path.to_owned(),
            window: LeakWindow::of(&moments),
            moments,
            types,
            trace: None,
        }
    }

    /// The types that took up most at any moment, or those that `wanted` accepts, the largest at
    /// the end first.
    pub fn types(&self, most: usize, wanted: impl Fn(&str) -> bool) -> Vec<TypeHistory> {
        let wanted = self.types.iter().filter(|(name, _)| wanted(name));
        let largest = |series: &[Totals]| series.iter().map(|totals| totals.bytes).max();
        let mut found: Vec<(&String, &Vec<Totals>)> = wanted.collect();
        found.sort_by_key(|(_, series)| std::cmp::Reverse(largest(series)));
        found.retain(|(_, series)| largest(series) > Some(0));
        found.truncate(most);
        let last = |series: &[Totals]| series.last().map(|totals| totals.bytes);
        found.sort_by_key(|(_, series)| std::cmp::Reverse(last(series)));
        let history = found.into_iter().map(|(name, series)| TypeHistory {
            name: name.clone(),
            objects: series.iter().map(|totals| totals.objects).collect(),
            bytes: series.iter().map(|totals| totals.bytes).collect(),
        });
        history.collect()
    }

    /// The data structures that differ most between the first moment and the last that tell about them.
    pub fn structures(&self, most: usize) -> Vec<StructureHistory> {
        let Some(trace) = &self.trace else {
            return Vec::new();
        };
        let moments = trace.states().len();
        let mut found: BTreeMap<(u64, u32), StructureHistory> = BTreeMap::new();
        let mut all_known = vec![false; moments];
        for (moment, state) in trace.states().iter().enumerate() {
            // Where they cannot be read, the rest of the history is told all the same.
            let Ok(structures) = trace.structures(state.number) else {
                continue;
            };
            all_known[moment] = state.identity != IdentityKind::None
                && structures.len() < MOST_STRUCTURES
                && why_missing(trace, state).is_none();
            for one in structures {
                let name = || trace.symbols().class(one.class).unwrap_or("(name lost)");
                let history =
                    found
                        .entry((one.identity, one.class))
                        .or_insert_with(|| StructureHistory {
                            identity: one.identity,
                            class: stable_name(name()),
                            elements: vec![None; moments],
                            bytes: vec![None; moments],
                            change: 0,
                        });
                history.elements[moment] = one.elements;
                history.bytes[moment] = Some(one.bytes);
            }
        }
        let mut changed: Vec<StructureHistory> = found.into_values().collect();
        for one in &mut changed {
            one.change = change(&one.bytes, &all_known);
        }
        changed.retain(|one| one.change != 0);
        changed.sort_by_key(|one| std::cmp::Reverse(one.change.unsigned_abs()));
        changed.truncate(most);
        changed
    }

    /// The collections of the recording; none for dumps.
    pub fn gcs(&self) -> &[Gc] {
        let timeline = self.trace.as_ref().map(Trace::timeline);
        timeline.map_or(&[], |timeline| &timeline.gcs)
    }

    /// Nanoseconds from the start to whatever happened last.
    pub fn duration(&self) -> u64 {
        let events = self
            .trace
            .as_ref()
            .map_or(0, |trace| trace.timeline().end());
        let states = self.moments.last().map_or(0, |moment| moment.time);
        events.max(states)
    }

    /// Bytes allocated per second in equal stretches of the recording, as the samples tell it;
    /// nothing without samples.
    pub fn allocation_rates(&self) -> Vec<u64> {
        let timeline = self.trace.as_ref().map(Trace::timeline);
        let samples = timeline.map_or(&[][..], |timeline| &timeline.samples);
        let duration = self.duration();
        if samples.is_empty() || duration == 0 {
            return Vec::new();
        }
        let stretch = duration.div_ceil(STRETCHES).max(1);
        let mut bytes = vec![0u64; duration.div_ceil(stretch).max(1) as usize];
        let last = bytes.len() - 1;
        for sample in samples {
            let index = ((sample.time / stretch) as usize).min(last);
            bytes[index] = bytes[index].saturating_add(sample.weight.max(sample.size));
        }
        let per_second = |bytes: u64| (bytes as f64 * SECOND as f64 / stretch as f64) as u64;
        bytes.into_iter().map(per_second).collect()
    }

    /// The events of the recording; none for dumps.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.trace.as_ref().map(Trace::timeline)
    }
}

/// Where growth from a moment on ends: at the last moment, unless most of the growth is gone by then, as when a program clears up
/// before it exits. Then where the heap is largest.
pub fn end_of_growth(moments: &[HeapMoment]) -> usize {
    let last = moments.len().saturating_sub(1);
    let sizes = || moments.iter().map(HeapMoment::alive);
    let (Some(first), Some(end)) = (sizes().next(), sizes().next_back()) else {
        return last;
    };
    let largest = sizes().enumerate().max_by_key(|&(_, size)| size);
    let grown_to = |size: u64| size.saturating_sub(first);
    match largest {
        Some((at, largest)) if grown_to(end) < grown_to(largest) / 2 => at,
        _ => last,
    }
}

/// What is remembered of a dump after it was closed.
pub struct DumpMoment {
    /// Milliseconds since 1970.
    pub timestamp: u64,
    moment: HeapMoment,
    types: BTreeMap<String, Totals>,
}

impl DumpMoment {
    /// The heap of a session.
    pub fn of(session: &Session) -> Result<Self, Error> {
        let analysis = session.analysis()?;
        let total = analysis.total();
        let mut types: BTreeMap<String, Totals> = BTreeMap::new();
        let rows = analysis.rows(Grouping::Class);
        for (class, row) in session.state().classes().iter().zip(rows) {
            *types.entry(stable_name(&class.name)).or_default() += Totals {
                objects: row.objects - row.unreachable_objects,
                bytes: row.shallow - row.unreachable_shallow,
            };
        }
        types.retain(|_, totals| totals.objects > 0);
        Ok(DumpMoment {
            timestamp: session.info().timestamp,
            moment: HeapMoment {
                point: session.path().display().to_string(),
                time: 0,
                gc: None,
                mark: None,
                pause: None,
                objects: total.objects,
                bytes: total.shallow,
                reachable_objects: Some(total.retained_objects),
                reachable_bytes: Some(total.retained),
            },
            types,
        })
    }
}

/// The states of a recording as moments.
pub fn moments(trace: &Trace) -> Vec<HeapMoment> {
    trace.states().iter().map(moment).collect()
}

fn moment(state: &StateHeader) -> HeapMoment {
    HeapMoment {
        point: format!("#{}", state.number),
        time: state.time,
        gc: state.gc,
        mark: state.mark.clone(),
        pause: Some(state.pause),
        objects: state.all.objects,
        bytes: state.all.bytes,
        reachable_objects: state.reachable.map(|totals| totals.objects),
        reachable_bytes: state.reachable.map(|totals| totals.bytes),
    }
}

fn add(
    types: &mut BTreeMap<String, Vec<Totals>>,
    name: &str,
    moment: usize,
    moments: usize,
    totals: Totals,
) {
    let series = types
        .entry(stable_name(name))
        .or_insert_with(|| vec![Totals::default(); moments]);
    series[moment] += totals;
}

/// The fewest moments that make a trend.
const FEWEST: usize = 4;
/// How deep the heap may dip below what it was, in percent of the growth of the whole window.
const DEEPEST_DIP: u64 = 25;
/// How much each half of the window has to grow, in percent of the whole growth: a heap that
/// filled up and stays full is no leak.
const LEAST_IN_HALF: u64 = 20;
/// The least growth, in percent of the heap at the end.
const LEAST_GROWTH: u64 = 5;

/// Growth that is none yet, in percent of the whole.
const BARELY: u64 = 2;

/// The longest tail of sizes, given with their times, that keeps rising in spite of dips.
fn leak_window(sizes: &[(u64, u64)]) -> Option<LeakWindow> {
    let to = sizes.len().checked_sub(1)?;
    let from = (0..sizes.len().saturating_sub(FEWEST - 1)).find(|&from| rises(&sizes[from..]))?;
    // It begins where the heap last was as small as at its beginning.
    let barely = sizes[from].1 + (sizes[to].1 - sizes[from].1) * BARELY / 100;
    let from = (from..to)
        .rfind(|&index| sizes[index].1 <= barely)
        .unwrap_or(from);
    Some(LeakWindow {
        from,
        to,
        growth: sizes[to].1 - sizes[from].1,
        duration: sizes[to].0 - sizes[from].0,
    })
}

fn rises(sizes: &[(u64, u64)]) -> bool {
    let (Some(&(start, first)), Some(&(end, last))) = (sizes.first(), sizes.last()) else {
        return false;
    };
    let growth = last.saturating_sub(first);
    if growth == 0 || growth * 100 < last * LEAST_GROWTH {
        return false;
    }
    let deepest = growth * DEEPEST_DIP / 100;
    let mut highest = first;
    for &(_, size) in sizes {
        if size < first || size + deepest < highest {
            return false;
        }
        highest = highest.max(size);
    }
    let middle = start + (end - start) / 2;
    let at_middle = sizes.iter().rfind(|size| size.0 <= middle);
    let at_middle = at_middle.map_or(first, |size| size.1);
    let enough = |part: u64| part * 100 >= growth * LEAST_IN_HALF;
    last + deepest >= highest
        && enough(at_middle.saturating_sub(first))
        && enough(last.saturating_sub(at_middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(sizes: &[u64]) -> Option<(usize, u64)> {
        let timed: Vec<(u64, u64)> = (0..).step_by(10).zip(sizes.iter().copied()).collect();
        let window = leak_window(&timed)?;
        assert_eq!(window.to, sizes.len() - 1);
        Some((window.from, window.growth))
    }

    #[test]
    fn what_is_not_known_of_a_structure_is_no_change() {
        let always = [true; 4];
        let bytes = [Some(100), Some(120), Some(150), Some(180)];
        assert_eq!(change(&bytes, &always), 80);
        // Born, and died.
        assert_eq!(
            change(&[None, Some(120), Some(150), Some(180)], &always),
            180
        );
        assert_eq!(change(&[Some(100), Some(120), None, None], &always), -100);
        let first_lost = [false, true, true, true];
        assert_eq!(
            change(&[None, Some(120), Some(150), Some(180)], &first_lost),
            60
        );
        assert_eq!(
            change(&[None, None, Some(150), Some(180)], &first_lost),
            180
        );
        let last_lost = [true, true, true, false];
        assert_eq!(
            change(&[Some(100), Some(120), Some(150), None], &last_lost),
            50
        );
        assert_eq!(change(&[None; 4], &[false; 4]), 0);
    }

    #[test]
    fn a_heap_that_keeps_growing_is_found_from_where_it_began() {
        assert_eq!(window(&[100, 110, 120, 130, 140]), Some((0, 40)));
        assert_eq!(
            window(&[500, 490, 500, 100, 120, 140, 160, 180]),
            Some((3, 80)),
            "what was before the drop does not count"
        );
    }

    #[test]
    fn dips_are_forgiven() {
        assert_eq!(
            window(&[100, 140, 130, 170, 165, 200, 195, 230]),
            Some((0, 130))
        );
        assert_eq!(window(&[100, 200, 105, 210, 106, 220]), None, "a sawtooth");
    }

    #[test]
    fn a_heap_that_filled_up_and_stays_full_does_not_leak() {
        assert_eq!(window(&[10, 300, 301, 300, 302, 301, 302, 301]), None);
        assert_eq!(
            window(&[10, 100, 200, 300, 300, 301, 300, 301, 300, 301]),
            None
        );
        assert_eq!(window(&[300, 200, 100, 50]), None);
        assert_eq!(window(&[100, 110, 120]), None, "too few");
        assert_eq!(window(&[]), None);
    }

    #[test]
    fn growth_after_a_start_is_found_behind_it() {
        assert_eq!(
            window(&[10, 1000, 1000, 1020, 1040, 1061, 1080, 1101]),
            Some((2, 101))
        );
    }
}
