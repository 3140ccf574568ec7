//! Tables with aligned columns. Where the width is known, text that is too long is cut in the
//! middle, where class names differ least.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{BOLD, Out};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text: may be cut.
    Left,
    /// Numbers: never cut.
    Right,
}

pub struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
    total: Option<[String; N]>,
}

const GAP: &str = "  ";
/// Text is not cut to less than this.
const NARROWEST: usize = 16;

impl<const N: usize> Table<N> {
    pub fn new(columns: [(&'static str, Align); N]) -> Self {
        Table {
            columns,
            rows: Vec::new(),
            total: None,
        }
    }

    pub fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// The last row, set off from the others.
    pub fn total(&mut self, cells: [String; N]) {
        self.total = Some(cells);
    }

    pub fn print(&self, out: &mut Out) -> io::Result<()> {
        let widths = self.widths(width(out));
        let titles = self.columns.map(|(title, _)| title.to_owned());
        if titles.iter().any(|title| !title.is_empty()) {
            let head = self.line(&titles, &widths);
            out.heading(&head)?;
        }
        for row in &self.rows {
            out.line(self.line(row, &widths))?;
        }
        if let Some(total) = &self.total {
            let line = out.styled(BOLD, &self.line(total, &widths));
            out.line(line)?;
        }
        Ok(())
    }

    fn widths(&self, available: Option<usize>) -> [usize; N] {
        let mut widths = self.columns.map(|(title, _)| title.width());
        for row in self.rows.iter().chain(&self.total) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let gaps = GAP.len() * (N - 1);
        let mut excess = available.map_or(0, |available| {
            (widths.iter().sum::<usize>() + gaps).saturating_sub(available)
        });
        while excess > 0 {
            let cuttable = (0..N).filter(|&column| self.columns[column].1 == Align::Left);
            let widest = cuttable.max_by_key(|&column| widths[column]);
            match widest.filter(|&column| widths[column] > NARROWEST) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
            excess -= 1;
        }
        widths
    }

    fn line(&self, cells: &[String; N], widths: &[usize; N]) -> String {
        let mut line = String::new();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                line += GAP;
            }
            let (width, align) = (widths[index], self.columns[index].1);
            let cell = cut(cell, width);
            let padding = " ".repeat(width - cell.width().min(width));
            match align {
                Align::Left => line.extend([cell.as_str(), &padding]),
                Align::Right => line.extend([&padding, cell.as_str()]),
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// How many columns there are: as COLUMNS says, which shells keep to themselves unless somebody
/// exports it, otherwise those of the terminal.
fn width(out: &Out) -> Option<usize> {
    let set = std::env::var("COLUMNS").ok();
    let set = set.and_then(|columns| columns.parse().ok());
    set.filter(|&columns| columns > 0).or(out.width)
}

/// A line of its own, cut as tables are.
pub fn fit(line: &str, out: &Out) -> String {
    width(out).map_or(line.to_owned(), |width| cut(line, width.max(NARROWEST)))
}

/// The text, or its beginning and end around an ellipsis if it is too wide.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let half = width.saturating_sub(1) / 2;
    let head = prefix(text.chars(), width.saturating_sub(1) - half);
    let tail: String = prefix(text.chars().rev(), half).chars().rev().collect();
    format!("{head}…{tail}")
}

fn prefix(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    chars
        .take_while(|char| {
            let fits = char.width().unwrap_or(0) <= left;
            left -= char.width().unwrap_or(0).min(left);
            fits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_in_the_middle_by_its_width_on_screen() {
        assert_eq!(cut("java.lang.String", 16), "java.lang.String");
        assert_eq!(cut("java.lang.String", 9), "java…ring");
        assert_eq!(cut("クラスクラス", 5), "ク…ス");
    }

    #[test]
    fn only_text_gives_way() {
        let mut table = Table::new([("bytes", Align::Right), ("class", Align::Left)]);
        table.row(["1,000,000".into(), "a.very.long.name.of.a.Class".into()]);
        assert_eq!(table.widths(Some(31)), [9, 20]);
        assert_eq!(table.widths(None), [9, 27]);
        assert_eq!(table.widths(Some(3)), [9, NARROWEST]);
    }
}
