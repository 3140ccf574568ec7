//! The heap over the time of a recording: what is alive in its states beside what collections saw,
//! marks, where the heap keeps growing and which state the report is about. Drawn as SVG.

use std::fmt::Write;

use anthill_api::report::{State, Timeline};
use anthill_trace::elapsed;

use crate::html::escaped;
use crate::words::cut;
use anthill_api::units::{bytes, count};

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

fn most(timeline: &Timeline) -> u64 {
    let collections = timeline.collections.iter();
    let used = collections.map(|gc| gc.used_after.max(gc.used_before.unwrap_or(0)));
    let alive = timeline.states.iter().map(|state| state.alive);
    used.chain(alive).max().unwrap_or(0).max(1)
}

/// The chart.
pub(crate) fn svg(timeline: &Timeline) -> String {
    let scale = Scale {
        duration: timeline.duration_ns,
        most: most(timeline),
    };
    let mut out = format!(
        "<svg class=\"timeline\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Live heap over the time of the recording\">\n"
    );
    draw_window(timeline, &mut out, &scale);
    draw_axes(&mut out, &scale);
    draw_collections(timeline, &mut out, &scale);
    draw_states(timeline, &mut out, &scale);
    draw_marks(timeline, &mut out, &scale);
    draw_chosen(timeline, &mut out, &scale);
    out += "</svg>\n";
    out
}

fn draw_window(timeline: &Timeline, out: &mut String, scale: &Scale) {
    let ends = timeline.leak_window.as_ref().and_then(|window| {
        let at = |index: usize| {
            timeline
                .states
                .get(index)
                .map(|state| scale.x(state.time_ns))
        };
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

fn draw_collections(timeline: &Timeline, out: &mut String, scale: &Scale) {
    if timeline.collections.is_empty() {
        return;
    }
    let together = timeline.collections.len().div_ceil(MOST_STEPS);
    let mut points = String::new();
    for some in timeline.collections.chunks(together) {
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

fn draw_states(timeline: &Timeline, out: &mut String, scale: &Scale) {
    let points: Vec<String> = timeline
        .states
        .iter()
        .map(|state| format!("{:.1},{:.1}", scale.x(state.time_ns), scale.y(state.alive)))
        .collect();
    let line = points.join(" ");
    if let (Some(first), Some(last)) = (timeline.states.first(), timeline.states.last()) {
        let (first, last) = (scale.x(first.time_ns), scale.x(last.time_ns));
        let _ = writeln!(
            out,
            "<polygon class=\"area\" points=\"{first:.1},{BOTTOM} {line} {last:.1},{BOTTOM}\"/>\n\
             <polyline class=\"alive\" points=\"{line}\"/>"
        );
    }
    if timeline.states.len() > MOST_DOTS {
        return;
    }
    for state in &timeline.states {
        let _ = writeln!(
            out,
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>{}</title></circle>",
            scale.x(state.time_ns),
            scale.y(state.alive),
            escaped(&words(state))
        );
    }
}

/// Texts that would cover each other are left to the pointer.
fn draw_marks(timeline: &Timeline, out: &mut String, scale: &Scale) {
    let mut free = LEFT;
    for mark in &timeline.marks {
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

fn draw_chosen(timeline: &Timeline, out: &mut String, scale: &Scale) {
    let Some(state) = timeline.states.get(timeline.chosen) else {
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
        escaped(&words(state)),
        escaped(&text)
    );
}

fn words(state: &State) -> String {
    format!(
        "{} at {}: {} in {} objects",
        state.point,
        elapsed(state.time_ns),
        bytes(state.alive),
        count(state.objects)
    )
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

#[cfg(test)]
mod tests {
    use anthill_api::report::{Collection, Mark};

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
        let svg = svg(&timeline);
        assert!(svg.contains("this report: #2, 3.0 MB"), "{svg}");
        assert!(svg.contains("&lt;deploy&gt; &amp;") && !svg.contains("<deploy>"));
        assert!(!svg.contains("class=\"window\""));
        let places = svg.split("x=\"").skip(1);
        for place in places.filter_map(|rest| rest.split('"').next()?.parse::<f64>().ok()) {
            assert!((0.0..=WIDTH).contains(&place), "{place}");
        }
    }
}
