//! Tables with aligned columns. Where the width is known, text that is too long is cut in the
//! middle, where class names differ least.

use std::io;

use anthill_documents::cut;
use unicode_width::UnicodeWidthStr;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_gives_way() {
        let mut table = Table::new([("bytes", Align::Right), ("class", Align::Left)]);
        table.row(["1,000,000".into(), "a.very.long.name.of.a.Class".into()]);
        assert_eq!(table.widths(Some(31)), [9, 20]);
        assert_eq!(table.widths(None), [9, 27]);
        assert_eq!(table.widths(Some(3)), [9, NARROWEST]);
    }
}
