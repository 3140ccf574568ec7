//! Numbers as people read them.

use jiff::Timestamp;
use jiff::tz::Offset;

pub use crate::hex;
pub use anthill_heap::phrases::count;

/// Bytes with a 1024-based unit: `407.2 MB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // Never more than three digits: 1000 KB are 1.0 MB.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A share in percent: `12.3%`.
pub fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0%".to_owned();
    }
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        _ if part == whole => "100%".to_owned(),
        percent if percent < 0.05 => "<0.1%".to_owned(),
        percent if (99.95..100.0).contains(&percent) => ">99.9%".to_owned(),
        percent => format!("{percent:.1}%"),
    }
}

/// A noun with its number: `1 class`, `2,000 classes`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Milliseconds since 1970 as a date and time in UTC; beyond the year 9999 as a plain number.
pub fn date(milliseconds: u64) -> String {
    let seconds = i64::try_from(milliseconds / 1000).ok();
    match seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
        Some(moment) => {
            let moment = Offset::UTC.to_datetime(moment);
            format!("{} {} UTC", moment.date(), moment.time())
        }
        None => format!("{milliseconds} ms since 1970"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_of_1024() {
        for (number, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KB"),
            (426_980_147, "407.2 MB"),
            (999 << 10, "999.0 KB"),
            (1000 << 10, "1.0 MB"),
            ((1 << 20) - 1, "1.0 MB"),
            (1 << 40, "1.0 TB"),
            (u64::MAX, "16.0 EB"),
        ] {
            assert_eq!(bytes(number), shown);
        }
    }

    #[test]
    fn shares_never_look_like_nothing_or_all_when_they_are_not() {
        assert_eq!(share(1, 1_000_000), "<0.1%");
        assert_eq!(share(999_999, 1_000_000), ">99.9%");
        assert_eq!(share(5, 5), "100%");
        assert_eq!(share(0, 5), "0%");
        assert_eq!(share(1, 3), "33.3%");
    }

    #[test]
    fn dates_follow_the_calendar() {
        // As `date -u -d @…` prints them.
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_700_000_000_123), "2023-11-14 22:13:20 UTC");
        assert_eq!(date(4_102_444_799_000), "2099-12-31 23:59:59 UTC");
        assert_eq!(date(u64::MAX), "18446744073709551615 ms since 1970");
    }
}
