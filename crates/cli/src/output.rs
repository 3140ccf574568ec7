//! Where results go and how they look: tables for people, JSON and CSV for programs.

pub mod bars;
pub mod csv;
pub mod dot;
pub mod json;
pub mod table;
pub mod tree;

pub use anthill_api::{shell, units};

use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();

/// Standard output or a file, buffered, with what is known of who reads it.
pub struct Out {
    writer: Box<dyn Write>,
    /// Columns of the terminal; none if it is no terminal, and then nothing is cut.
    pub width: Option<usize>,
    colors: bool,
}

impl Out {
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let plain = set("NO_COLOR").is_some() || set("TERM").is_some_and(|term| term == "dumb");
        let width = terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0.into());
        Out {
            writer: Box::new(BufWriter::with_capacity(1 << 16, stdout)),
            width: width.filter(|_| terminal),
            colors: terminal && !plain,
        }
    }

    pub fn to(writer: impl Write + 'static) -> Self {
        Out {
            writer: Box::new(BufWriter::new(writer)),
            width: None,
            colors: false,
        }
    }

    pub fn line(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        writeln!(self.writer, "{text}")
    }

    pub fn blank(&mut self) -> io::Result<()> {
        self.line("")
    }

    /// A line that heads a section.
    pub fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self.styled(BOLD, text);
        self.line(text)
    }

    /// A paragraph, broken where the terminal ends; further lines are indented.
    pub fn wrapped(&mut self, text: &str, indent: usize) -> io::Result<()> {
        let width = self.width.unwrap_or(100).clamp(40, 120);
        let mut line = String::new();
        for word in text.split_inclusive(' ') {
            if !line.is_empty() && line.width() + word.trim_end().width() > width {
                self.line(line.trim_end())?;
                line = " ".repeat(indent);
            }
            line += word;
        }
        self.line(line.trim_end())
    }

    /// A line that explains what was shown.
    pub fn remark(&mut self, text: &str) -> io::Result<()> {
        let text = self.styled(DIM, text);
        self.line(text)
    }

    /// Says how many rows were left out, if some were.
    pub fn omitted(&mut self, rows: usize) -> io::Result<()> {
        match rows {
            0 => Ok(()),
            rows => self.remark(&format!(
                "… {} more; --limit 0 shows all",
                units::count(rows as u64)
            )),
        }
    }

    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.colors {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
