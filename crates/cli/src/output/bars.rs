//! Figures as bars and lines of block characters.

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A horizontal bar of at most so many characters.
pub fn bar(value: u64, most: u64, width: usize) -> String {
    if most == 0 || value == 0 {
        return String::new();
    }
    let eighths = (value as f64 / most as f64 * width as f64 * 8.0).round() as usize;
    let eighths = eighths.clamp(1, width * 8);
    let mut bar = "█".repeat(eighths / 8);
    if eighths % 8 > 0 {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    }
    bar
}

/// A line that rises and falls with the values, in at most so many characters; of several values
/// in one place the largest is seen. Zero is a space.
pub fn sparkline(values: &[u64], width: usize) -> String {
    let most = values.iter().copied().max().unwrap_or(0);
    let shown = values.len().min(width);
    let height = |index: usize| {
        let (from, to) = (
            index * values.len() / shown,
            (index + 1) * values.len() / shown,
        );
        let value = values[from..to].iter().copied().max().unwrap_or(0);
        match value {
            0 => ' ',
            value => HEIGHTS[(value as f64 / most as f64 * 7.0).round() as usize],
        }
    };
    (0..shown).map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, 1000, 4), "▏");
        assert_eq!(bar(0, 10, 4), "");
        assert_eq!(bar(9, 16, 2), "█▏");
    }

    #[test]
    fn lines_show_what_is_highest() {
        assert_eq!(sparkline(&[0, 1, 4, 7], 10), " ▂▅█");
        assert_eq!(sparkline(&[1, 9, 1, 1], 2), "█▂");
        assert_eq!(sparkline(&[], 5), "");
        assert_eq!(sparkline(&[0, 0], 5), "  ");
    }
}
