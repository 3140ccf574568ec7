//! Numbers as people read them.

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

/// A count with thousands separators: `8,912,345`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A sentence whose large numbers get thousands separators.
pub fn separated(sentence: &str) -> String {
    let digits = |word: &str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let words = sentence.split(' ').map(|word| {
        // Punctuation around the number stays.
        let number = word.trim_matches(['(', ')', ',', ':', ';', '.']);
        match number.parse() {
            Ok(value) if digits(number) => word.replace(number, &count(value)),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
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

/// An address as everywhere: `0x7f00`.
pub fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// Milliseconds since 1970 as a date and time in UTC.
pub fn date(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    // Days since 1 March 0000 in eras of 400 years, so that leap days come last.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
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
    fn counts_have_separators() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (8912345, "8,912,345"),
        ] {
            assert_eq!(count(number), shown);
        }
    }

    #[test]
    fn numbers_in_sentences_have_separators() {
        assert_eq!(
            separated("1234567 bytes (at 0x12345, 4096) of C1234 are 12."),
            "1,234,567 bytes (at 0x12345, 4,096) of C1234 are 12."
        );
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
    }
}
