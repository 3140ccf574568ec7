//! The heap over the time of a recording: what is alive in its states beside what collections saw,
//! marks, where the heap keeps growing and which state the report is about. Drawn as SVG.

use std::fmt::Write;

use anthill_session::{HeapMoment, LeakWindow, Recording};
use anthill_trace::{Gc, elapsed};
use serde::Serialize;

use super::html::escaped;
use super::redaction::Redactor;
use crate::output::shell;
use crate::output::table::cut;
use crate::output::units::{bytes, count};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 340.0;
const LEFT: f64 = 120.0;
const RIGHT: f64 = 955.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 304.0;
/// Width of a character of a label on a phone, where they are largest.
const CHARACTER: f64 = 16.0;
/// Characters of a mark that are shown.
const MARK: usize = 24;
/// More states than this are a line without dots.
const MOST_DOTS: usize = 150;
/// The curve of collections has at most so many steps.
const MOST_STEPS: usize = 500;
/// Lines across the chart, and times below it, at most.
const LINES: u64 = 5;
const TIMES: u64 = 8;

#[derive(Serialize)]
pub struct Timeline {
    pub duration_ns: u64,
    pub states: Vec<State>,
    /// The place of the state that the report is about.
    pub chosen: usize,
    pub collections: Vec<Collection>,
    pub marks: Vec<Mark>,
    pub leak_window: Option<LeakWindow>,
    /// Where the heap keeps growing, in words, and a command line that tells what grows there.
    pub growth: Option<Growth>,
}

#[derive(Serialize)]
pub struct State {
    pub point: String,
    pub time_ns: u64,
    pub alive: u64,
    pub objects: u64,
}

/// What was used before and after a garbage collection.
#[derive(Serialize)]
pub struct Collection {
    pub time_ns: u64,
    pub used_before: Option<u64>,
    pub used_after: u64,
}

#[derive(Serialize)]
pub struct Mark {
    pub time_ns: u64,
    pub text: String,
}

#[derive(Serialize)]
pub struct Growth {
    pub sentence: String,
    pub verify: String,
}

impl Timeline {
    pub fn new(recording: &Recording, file: &str, redactor: &Redactor) -> Self {
        let moments = recording.moments();
        let window = LeakWindow::of(&moments);
        let timeline = recording.trace().timeline();
        let number = format!("#{}", recording.state().number);
        let chosen = moments.iter().position(|moment| moment.point == number);
        let last = moments.last().map_or(0, |moment| moment.time);
        let growth = window.map(|window| Growth {
            sentence: window_sentence(&moments, window),
            verify: format!(
                "anthill diff {} --from {} --to {}",
                redactor.file_word(file),
                shell::word(&moments[window.from].point),
                shell::word(&moments[window.to].point)
            ),
        });
        Timeline {
            duration_ns: timeline.end().max(last).max(1),
            chosen: chosen.unwrap_or_default(),
            collections: timeline.gcs.iter().filter_map(Collection::new).collect(),
            marks: timeline
                .marks
                .iter()
                .map(|mark| Mark {
                    time_ns: mark.time,
                    text: match redactor.is_off() {
                        true => mark.text.clone(),
                        false => "mark".to_owned(),
                    },
                })
                .collect(),
            states: moments.iter().map(State::new).collect(),
            leak_window: window,
            growth,
        }
    }

    fn most(&self) -> u64 {
        let collections = self.collections.iter();
        let used = collections.map(|gc| gc.used_after.max(gc.used_before.unwrap_or(0)));
        let alive = self.states.iter().map(|state| state.alive);
        used.chain(alive).max().unwrap_or(0).max(1)
    }

    pub fn svg(&self) -> String {
        let scale = Scale {
            duration: self.duration_ns,
            most: self.most(),
        };
        let mut out = format!(
            "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-label=\"What is alive over the time of the recording\">\n"
        );
        self.draw_window(&mut out, &scale);
        draw_axes(&mut out, &scale);
        self.draw_collections(&mut out, &scale);
        self.draw_states(&mut out, &scale);
        self.draw_marks(&mut out, &scale);
        self.draw_chosen(&mut out, &scale);
        out += "</svg>\n";
        out
    }

    fn draw_window(&self, out: &mut String, scale: &Scale) {
        let ends = self.leak_window.and_then(|window| {
            let at = |index: usize| self.states.get(index).map(|state| scale.x(state.time_ns));
            Some((at(window.from)?, at(window.to)?))
        });
        if let Some((from, to)) = ends {
            let _ = writeln!(
                out,
                "<rect class=\"window\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{}\"><title>The heap keeps growing</title></rect>",
                to - from,
                BOTTOM - TOP
            );
        }
    }

    fn draw_collections(&self, out: &mut String, scale: &Scale) {
        if self.collections.is_empty() {
            return;
        }
        let together = self.collections.len().div_ceil(MOST_STEPS);
        let mut points = String::new();
        for some in self.collections.chunks(together) {
            let before = some.iter().filter_map(|gc| gc.used_before).max();
            let after = some.iter().map(|gc| gc.used_after).min().unwrap_or(0);
            let x = scale.x(some[0].time_ns);
            for used in before.into_iter().chain([after]) {
                let _ = write!(points, "{x:.1},{:.1} ", scale.y(used));
            }
        }
        let _ = writeln!(
            out,
            "<polyline class=\"used\" points=\"{}\"/>",
            points.trim_end()
        );
    }

    fn draw_states(&self, out: &mut String, scale: &Scale) {
        let points: Vec<String> = self
            .states
            .iter()
            .map(|state| format!("{:.1},{:.1}", scale.x(state.time_ns), scale.y(state.alive)))
            .collect();
        let line = points.join(" ");
        if let (Some(first), Some(last)) = (self.states.first(), self.states.last()) {
            let (first, last) = (scale.x(first.time_ns), scale.x(last.time_ns));
            let _ = writeln!(
                out,
                "<polygon class=\"area\" points=\"{first:.1},{BOTTOM} {line} {last:.1},{BOTTOM}\"/>\n\
                 <polyline class=\"alive\" points=\"{line}\"/>"
            );
        }
        if self.states.len() > MOST_DOTS {
            return;
        }
        for state in &self.states {
            let _ = writeln!(
                out,
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}</title></circle>",
                scale.x(state.time_ns),
                scale.y(state.alive),
                escaped(&state.words())
            );
        }
    }

    /// Texts that would cover each other are left to the pointer.
    fn draw_marks(&self, out: &mut String, scale: &Scale) {
        let mut free = LEFT;
        for mark in &self.marks {
            let x = scale.x(mark.time_ns);
            let title = format!("{} at {}", mark.text, elapsed(mark.time_ns));
            let _ = writeln!(
                out,
                "<g><title>{}</title><line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{BOTTOM}\"/></g>",
                escaped(&title),
                TOP - 8.0
            );
            let text = cut(&mark.text, MARK);
            let width = text.chars().count() as f64 * CHARACTER;
            let (anchor, start) = match x + width > RIGHT {
                true => ("end", x - width),
                false => ("start", x),
            };
            if start >= free {
                let _ = writeln!(
                    out,
                    "<text class=\"mark\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                    TOP - 12.0,
                    escaped(&text)
                );
                free = start + width + CHARACTER;
            }
        }
    }

    fn draw_chosen(&self, out: &mut String, scale: &Scale) {
        let Some(state) = self.states.get(self.chosen) else {
            return;
        };
        let (x, y) = (scale.x(state.time_ns), scale.y(state.alive));
        let text = format!("this report: {}, {}", state.point, bytes(state.alive));
        let half = text.chars().count() as f64 * CHARACTER / 2.0;
        let anchor = match x {
            x if x - half < LEFT => "start",
            x if x + half > RIGHT => "end",
            _ => "middle",
        };
        let _ = writeln!(
            out,
            "<g><title>{}</title><line class=\"chosen\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"28\" y2=\"{BOTTOM}\"/>\
             <circle class=\"chosen\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"6\"/>\
             <text class=\"chosen\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"22\">{}</text></g>",
            escaped(&state.words()),
            escaped(&text)
        );
    }
}

impl State {
    fn new(moment: &HeapMoment) -> Self {
        State {
            point: moment.point.clone(),
            time_ns: moment.time,
            alive: moment.alive(),
            objects: moment.alive_objects(),
        }
    }

    fn words(&self) -> String {
        format!(
            "{} at {}: {} in {} objects",
            self.point,
            elapsed(self.time_ns),
            bytes(self.alive),
            count(self.objects)
        )
    }
}

impl Collection {
    fn new(gc: &Gc) -> Option<Self> {
        Some(Collection {
            time_ns: gc.end,
            used_before: gc.used_before,
            used_after: gc.used_after?,
        })
    }
}

/// Where times and bytes are in the chart.
struct Scale {
    duration: u64,
    most: u64,
}

impl Scale {
    fn x(&self, time: u64) -> f64 {
        LEFT + (RIGHT - LEFT) * (time as f64 / self.duration as f64).min(1.0)
    }

    fn y(&self, bytes: u64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (bytes as f64 / self.most as f64).min(1.0)
    }
}

fn draw_axes(out: &mut String, scale: &Scale) {
    for value in steps(scale.most, LINES, round_bytes()) {
        let y = scale.y(value);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text class=\"axis\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT - 6.0,
            y + 4.0,
            bytes(value)
        );
    }
    for value in steps(scale.duration, TIMES, round_times()) {
        let _ = writeln!(
            out,
            "<text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            scale.x(value),
            BOTTOM + 25.0,
            elapsed(value)
        );
    }
}

/// Times between those below the chart, in tenths of a second.
const ROUND_TIMES: [u64; 18] = [
    1, 2, 5, 10, 20, 50, 100, 200, 300, 600, 1200, 3000, 6000, 12_000, 18_000, 36_000, 108_000,
    216_000,
];

fn round_times() -> impl Iterator<Item = u64> {
    let days = (0..).map_while(|power| 864_000u64.checked_mul(1 << power));
    let tenths = ROUND_TIMES.into_iter().chain(days.take(20));
    tenths.map(|tenths| tenths * 100_000_000)
}

fn round_bytes() -> impl Iterator<Item = u64> {
    (0..u64::BITS).map(|power| 1 << power)
}

/// Values from 0 to `most`, at most so many besides 0, in the smallest of these steps that will do.
fn steps(most: u64, at_most: u64, mut rounds: impl Iterator<Item = u64>) -> Vec<u64> {
    let step = rounds.find(|&step| most / step <= at_most);
    let step = step.unwrap_or(u64::MAX);
    (0..=most / step).map(|index| index * step).collect()
}

/// Where the heap only grows, in a sentence.
pub fn window_sentence(moments: &[HeapMoment], window: LeakWindow) -> String {
    let (from, to) = (&moments[window.from], &moments[window.to]);
    format!(
        "The heap keeps growing from {} (at {}) to {} (at {}): {} to {}, {} a minute. What grows there?",
        from.point,
        elapsed(from.time),
        to.point,
        elapsed(to.time),
        bytes(from.alive()),
        bytes(to.alive()),
        bytes(window.bytes_per_minute()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_at_round_values() {
        let lines = |most: u64| steps(most, LINES, round_bytes());
        assert_eq!(lines(5), [0, 1, 2, 3, 4, 5]);
        const MB: u64 = 1 << 20;
        assert_eq!(lines(70 * MB), [0, 16 * MB, 32 * MB, 48 * MB, 64 * MB]);
        for most in [1, 1000, 123_456_789, u64::MAX / 2, u64::MAX] {
            let found = lines(most);
            assert!((2..=6).contains(&found.len()), "{most}: {found:?}");
        }
        const MINUTE: u64 = 60_000_000_000;
        let times = steps(35 * MINUTE, TIMES, round_times());
        assert_eq!(times.last(), Some(&(35 * MINUTE)), "{times:?}");
        assert_eq!(times[1], 5 * MINUTE);
    }

    #[test]
    fn the_chart_shows_what_is_known_and_stays_within_its_frame() {
        let state = |point: &str, time_ns: u64, alive: u64| State {
            point: point.to_owned(),
            time_ns,
            alive,
            objects: 1,
        };
        let timeline = Timeline {
            duration_ns: 10_000_000_000,
            states: vec![
                state("#1", 1_000_000_000, 1 << 20),
                state("#2", 10_000_000_000, 3 << 20),
            ],
            chosen: 1,
            collections: (1..2000)
                .map(|number| Collection {
                    time_ns: number * 5_000_000,
                    used_before: Some(4 << 20),
                    used_after: 2 << 20,
                })
                .collect(),
            marks: vec![Mark {
                time_ns: 9_900_000_000,
                text: "after <deploy> & long words of somebody".to_owned(),
            }],
            leak_window: None,
            growth: None,
        };
        let svg = timeline.svg();
        assert!(svg.contains("this report: #2, 3.0 MB"), "{svg}");
        assert!(svg.contains("&lt;deploy&gt; &amp;") && !svg.contains("<deploy>"));
        assert!(!svg.contains("class=\"window\""));
        let places = svg.split("x=\"").skip(1);
        for place in places.filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok()) {
            assert!((0.0..=WIDTH).contains(&place), "{place}");
        }
    }
}
