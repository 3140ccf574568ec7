//! A mistake in something a person wrote, with its position; shown with the line and a caret.

use std::fmt;

use crate::did_you_mean;

/// What is wrong in a list of steps, an expression, a definition or a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

impl Mistake {
    /// A mistake at a byte of the source.
    pub fn at(source: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(source.len());
        while !source.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &source[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Mistake {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
            suggestion: None,
        }
    }

    /// With what was probably meant.
    pub fn suggesting(self, suggestion: Option<impl Into<String>>) -> Self {
        Mistake {
            suggestion: suggestion.map(Into::into),
            ..self
        }
    }

    /// The mistake, the line it is in and a caret under the place. `origin` is the file or option
    /// the source comes from.
    pub fn show(&self, origin: &str, source: &str) -> String {
        let place = if source.trim_end().contains('\n') {
            format!("line {}, column {}", self.line, self.column)
        } else {
            format!("column {}", self.column)
        };
        self.show_at(&format!("{origin}, {place}"), source)
    }

    /// The same for a file: names the line even if it is the only one.
    pub fn show_in_file(&self, file: &str, source: &str) -> String {
        let place = format!("{file}, line {}, column {}", self.line, self.column);
        self.show_at(&place, source)
    }

    fn show_at(&self, place: &str, source: &str) -> String {
        let line = source.lines().nth(self.line - 1).unwrap_or_default();
        let indent: String = line
            .chars()
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .chain(std::iter::repeat(' '))
            .take(self.column - 1)
            .collect();
        format!("{place}: {self}\n  {line}\n  {indent}^")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)?;
        f.write_str(&did_you_mean(self.suggestion.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let source = "a = 1\n\tß == lenght\n";
        let offset = source.find("lenght").unwrap();
        let mistake = Mistake::at(source, offset, "unknown name `lenght`");
        assert_eq!((mistake.line, mistake.column), (2, 7));
        assert_eq!(
            mistake.suggesting(Some("length")).show("my.rules", source),
            "my.rules, line 2, column 7: unknown name `lenght`; did you mean `length`?\n  \
             \tß == lenght\n  \t     ^"
        );
        let end = Mistake::at("type,", 5, "a step is missing");
        assert_eq!(
            end.show("--by", "type,"),
            "--by, column 6: a step is missing\n  type,\n       ^"
        );
        assert!(
            end.show_in_file("one.line", "type,")
                .starts_with("one.line, line 1, column 6: ")
        );
    }
}
