//! Points: how a person names one of the states of a recording.

use std::fmt;

use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use crate::{StateHeader, Trace};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 24 * 60 * 60;
/// Points that an error lists at most.
const LISTED: usize = 12;

/// A state by its place in the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// The first state.
    First,
    /// The last state.
    Last,
    /// `state:4` or `#4`.
    State(u32),
    /// `gc:17`: the state at that collection or the nearest before.
    Gc(u64),
    /// `90s`, `2m30s`: so many nanoseconds after the recording's start, or the nearest before.
    Time(u64),
    /// `14:05:30`, seconds of a day in UTC, with the seconds since 1970 at which that day began
    /// if it was named.
    Clock {
        /// When the day began, if it was named.
        day: Option<u64>,
        /// Of that day, or of any.
        second: u64,
    },
    /// `mark:after deploy`, or the text alone.
    Mark(String),
}

impl Point {
    /// Anything that is no other point is the text of a mark.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let number = |prefix: &str| text.strip_prefix(prefix)?.trim().parse().ok();
        if let Some(mark) = text.strip_prefix("mark:") {
            return Point::Mark(mark.trim().to_owned());
        }
        if let Some(gc) = number("gc:") {
            return Point::Gc(gc);
        }
        let state = number("state:").or_else(|| number("#"));
        if let Some(state) = state.and_then(|state| u32::try_from(state).ok()) {
            return Point::State(state);
        }
        match text {
            "first" => Point::First,
            "last" => Point::Last,
            _ => duration(text)
                .map(Point::Time)
                .or_else(|| clock(text))
                .unwrap_or_else(|| Point::Mark(text.to_owned())),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Point::First => f.write_str("first"),
            Point::Last => f.write_str("last"),
            Point::State(number) => write!(f, "state:{number}"),
            Point::Gc(number) => write!(f, "gc:{number}"),
            Point::Time(time) => write!(f, "{}", elapsed(*time)),
            Point::Clock { second, .. } => {
                let (hour, minute) = (second / 3600, second / 60 % 60);
                write!(f, "{hour:02}:{minute:02}:{:02}", second % 60)
            }
            Point::Mark(text) => write!(f, "mark:{text}"),
        }
    }
}

/// A time since the recording's start as points write it: `2m30s`, `1.5s`.
pub fn elapsed(time: u64) -> String {
    let seconds = time / SECOND;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match (hours, minutes) {
        (0, 0) if seconds < 10 => {
            let tenths = (time + SECOND / 20) / (SECOND / 10);
            match tenths % 10 {
                0 => format!("{}s", tenths / 10),
                rest => format!("{}.{rest}s", tenths / 10),
            }
        }
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{:02}s", seconds % 60),
        _ => format!("{hours}h{minutes:02}m{:02}s", seconds % 60),
    }
}

/// `90s`, `2m30s`, `1h`, `1.5s`, `250ms` in nanoseconds.
pub fn duration(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0u64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].find(|c: char| !c.is_ascii_alphabetic());
        let unit = &rest[digits..unit.map_or(rest.len(), |unit| digits + unit)];
        let nanoseconds = match unit {
            "d" => DAY * SECOND,
            "h" => 3600 * SECOND,
            "m" | "min" => 60 * SECOND,
            "s" => SECOND,
            "ms" => SECOND / 1000,
            _ => return None,
        };
        // Saturates: a person's number may be anything.
        total = total.saturating_add((number * nanoseconds as f64) as u64);
        rest = &rest[digits + unit.len()..];
    }
    (!text.is_empty()).then_some(total)
}

/// `14:05`, `14:05:30`, `2026-11-15T14:05:30`.
fn clock(text: &str) -> Option<Point> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (Some(date), time.trim_end_matches('Z')),
        None => (None, text),
    };
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().map_or(Some(0), |second| second)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(Point::Clock {
        day: match date {
            Some(date) => Some(day_start(date)?),
            None => None,
        },
        second: hour * 3600 + minute * 60 + second,
    })
}

/// Seconds since 1970 at which a day of the Gregorian calendar begins.
fn day_start(date: &str) -> Option<u64> {
    let mut parts = date.split('-').map(str::parse::<i16>);
    let (year, month, day) = (
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    );
    if parts.next().is_some() {
        return None;
    }
    let day = Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    let start = Offset::UTC
        .to_timestamp(day.to_datetime(Time::midnight()))
        .ok()?;
    start.as_second().try_into().ok()
}

impl Trace {
    /// The state at a point; if there is none, which points there are.
    pub fn at(&self, point: &Point) -> Result<&StateHeader, String> {
        let states = self.states();
        let found = match point {
            Point::First => states.first(),
            Point::Last => states.last(),
            Point::State(number) => states.iter().find(|state| state.number == *number),
            Point::Gc(gc) => states
                .iter()
                .rfind(|state| state.gc.is_some_and(|of| of <= *gc))
                .filter(|_| *gc <= self.last_gc()),
            // A time that was read off a table has been rounded.
            Point::Time(time) => states
                .iter()
                .rfind(|state| state.time <= *time || elapsed(state.time) == elapsed(*time))
                .filter(|_| *time <= self.end()),
            Point::Clock { day, second } => {
                let time = self.time_of(*day, *second);
                states
                    .iter()
                    .rfind(|state| time.is_some_and(|time| state.time <= time))
            }
            Point::Mark(text) => return self.marked(text),
        };
        found.ok_or_else(|| match states.is_empty() {
            true => self.about_states(),
            false => format!("no heap state at `{point}`{}", self.listing()),
        })
    }

    /// How many states there are, in how much time, and why the last one that is missing was dropped, for errors.
    pub fn about_states(&self) -> String {
        let duration = elapsed(self.timeline().end());
        let mut out = match self.states() {
            [] => format!("the recording has no heap state in {duration}"),
            [one] => format!(
                "the recording has one heap state, at {} of {duration}",
                elapsed(one.time)
            ),
            states => format!(
                "the recording has {} heap states in {duration}",
                states.len()
            ),
        };
        if !self.is_complete() {
            out += ", and it may still grow";
        }
        let mut dropped = self.timeline().dropped.iter().rev();
        if let Some(dropped) = dropped.find(|dropped| dropped.what == "state") {
            out += &format!("; a state was dropped: {}", dropped.reason);
        }
        out
    }

    /// Nanoseconds after the start of a time of day: the first such moment in the recording,
    /// unless the day is named.
    fn time_of(&self, day: Option<u64>, second: u64) -> Option<u64> {
        let started = self.facts().started;
        let today = started / SECOND / DAY * DAY;
        // A person's day and a damaged file's start may be beyond what nanoseconds reach.
        let since_start = |day: u64| {
            let moment = day.checked_add(second)?.checked_mul(SECOND)?;
            moment.checked_add(SECOND - 1)?.checked_sub(started)
        };
        match day {
            Some(day) => since_start(day),
            None => since_start(today).or_else(|| since_start(today + DAY)),
        }
        .filter(|&time| time < self.end().saturating_add(SECOND))
    }

    /// When the last thing happened, in whole seconds: as exactly as points are written.
    fn end(&self) -> u64 {
        let state = self.states().last().map_or(0, |state| state.time);
        self.timeline().end().max(state).next_multiple_of(SECOND)
    }

    fn last_gc(&self) -> u64 {
        let of_states = self.states().iter().filter_map(|state| state.gc);
        let events = self.timeline().gcs.iter().map(|gc| gc.number);
        of_states.chain(events).max().unwrap_or(0)
    }

    /// The state that was taken for a mark, or else the one nearest to it in time.
    fn marked(&self, text: &str) -> Result<&StateHeader, String> {
        let states = self.states();
        let taken: Vec<&StateHeader> = states
            .iter()
            .filter(|state| state.mark.as_deref() == Some(text))
            .collect();
        let marks = self.timeline().marks.iter();
        let times: Vec<u64> = marks
            .filter(|mark| mark.text == text)
            .map(|mark| mark.time)
            .collect();
        match (&taken[..], &times[..]) {
            ([state], _) => Ok(state),
            ([], [time]) => states
                .iter()
                .min_by_key(|state| state.time.abs_diff(*time))
                .ok_or_else(|| self.about_states()),
            ([], []) => Err(format!("unknown point `{text}`{}", self.listing())),
            (states, times) => {
                let times = match states.is_empty() {
                    true => times.to_vec(),
                    false => states.iter().map(|state| state.time).collect(),
                };
                let times: Vec<String> = times.into_iter().map(elapsed).collect();
                Err(format!(
                    "`{text}` was marked more than once: at {}",
                    times.join(", ")
                ))
            }
        }
    }

    /// The points there are, for errors.
    fn listing(&self) -> String {
        let mut out = String::from("; there are:");
        for state in self.states().iter().take(LISTED) {
            out += &format!("\n  #{}  {}", state.number, elapsed(state.time));
            if let Some(gc) = state.gc {
                out += &format!("  gc:{gc}");
            }
            if let Some(mark) = &state.mark {
                out += &format!("  mark:{mark}");
            }
        }
        let more = self.states().len().saturating_sub(LISTED);
        if more > 0 {
            let last = self.states().last().map_or(0, |state| state.number);
            out += &format!("\n  and {more} more up to #{last}");
        }
        let marks = self.timeline().marks.iter().take(LISTED);
        for mark in marks {
            out += &format!("\n  mark:{}  {}", mark.text, elapsed(mark.time));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_are_written() {
        let time = |seconds: u64| Point::Time(seconds * SECOND);
        for (text, point) in [
            ("first", Point::First),
            ("last", Point::Last),
            ("#4", Point::State(4)),
            ("state:12", Point::State(12)),
            ("gc:7", Point::Gc(7)),
            ("90s", time(90)),
            ("2m30s", time(150)),
            ("1h", time(3600)),
            ("1.5s", Point::Time(1_500_000_000)),
            ("mark:90s", Point::Mark("90s".to_owned())),
            ("after deploy", Point::Mark("after deploy".to_owned())),
            (
                "2026-02-29T12:00",
                Point::Mark("2026-02-29T12:00".to_owned()),
            ),
            ("12 apples", Point::Mark("12 apples".to_owned())),
            ("", Point::Mark(String::new())),
        ] {
            assert_eq!(Point::parse(text), point, "{text}");
        }
        let clock = |text| match Point::parse(text) {
            Point::Clock { day, second } => (day, second),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(clock("14:05:30"), (None, 14 * 3600 + 330));
        assert_eq!(clock("00:01"), (None, 60));
        // From `date -d 2024-03-01T00:00:00Z +%s`.
        assert_eq!(clock("2024-03-01T00:00:10"), (Some(1_709_251_200), 10));
        assert_eq!(clock("1970-01-01 00:00"), (Some(0), 0));
        // From `date -d 9999-12-30T00:00:00Z +%s`.
        assert_eq!(clock("9999-12-30 00:00"), (Some(253_402_128_000), 0));
    }

    #[test]
    fn times_are_short() {
        for (time, text) in [
            (0, "0s"),
            (1_500_000_000, "1.5s"),
            (59 * SECOND, "59s"),
            (150 * SECOND, "2m30s"),
            (3_605 * SECOND, "1h00m05s"),
        ] {
            assert_eq!(elapsed(time), text);
            assert_eq!(duration(text), Some(time));
        }
    }
}
