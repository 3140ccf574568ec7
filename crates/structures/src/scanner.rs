//! Source text → tokens with their places. Names of types are one token, wildcards and brackets of
//! arrays included.

use std::ops::Range;

use anthill_classify::Mistake;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// `java.util.HashMap$Node[]`, `*`, `size`.
    Name(String),
    /// `{`, `}`, `(`, `)`, `;`, `,`, `=` or `->`.
    Symbol(&'static str),
    End,
}

impl Token {
    /// How a message names it.
    pub fn describe(&self) -> String {
        match self {
            Token::Name(name) => format!("`{name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Placed {
    pub token: Token,
    /// In bytes of the source.
    pub span: Range<usize>,
}

const SYMBOLS: [&str; 8] = ["->", "{", "}", "(", ")", ";", ",", "="];

/// All tokens, [`Token::End`] last. `#` and `//` begin a comment that ends with the line, `/*` one that
/// ends with `*/`.
pub fn tokens(source: &str) -> Result<Vec<Placed>, Mistake> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at = after_blanks(source, at)?;
        let rest = &source[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push(Placed {
                token: Token::End,
                span: at..at,
            });
            return Ok(tokens);
        };
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let (token, length) = match symbol {
            Some(symbol) => (Token::Symbol(symbol), symbol.len()),
            None => match name_length(rest) {
                0 => {
                    let message = format!("`{first}` means nothing here");
                    return Err(Mistake::at(source, at, message));
                }
                length => (Token::Name(rest[..length].to_owned()), length),
            },
        };
        tokens.push(Placed {
            token,
            span: at..at + length,
        });
        at += length;
    }
}

fn after_blanks(source: &str, mut at: usize) -> Result<usize, Mistake> {
    loop {
        let rest = &source[at..];
        at = source.len() - rest.trim_start().len();
        let rest = &source[at..];
        if rest.starts_with('#') || rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            match rest.find("*/") {
                Some(end) => at += end + 2,
                None => return Err(Mistake::at(source, at, "this comment lacks its `*/`")),
            }
        } else {
            return Ok(at);
        }
    }
}

/// A name ends where none of its characters follows. `->` and `//` end it too: hidden classes have `/`
/// in their names, no class has two.
fn name_length(rest: &str) -> usize {
    let part_of_name = |c: char| c.is_alphanumeric() || "_$.*?[]/+-".contains(c);
    let length = rest.find(|c| !part_of_name(c)).unwrap_or(rest.len());
    let end = |mark| rest[..length].find(mark).unwrap_or(length);
    match rest[length..].starts_with('>') && rest[..length].ends_with('-') {
        true => end("//").min(length - 1),
        false => end("//").min(end("/*")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        let tokens = tokens(source).unwrap();
        tokens
            .iter()
            .map(|placed| placed.token.describe())
            .collect()
    }

    #[test]
    fn names_have_wildcards_brackets_and_dollars() {
        assert_eq!(
            words("DS a.B$C{t->a.*Node[]// no\n;(*);}#end\n/* {\n */a.B$$Lambda/0x1"),
            [
                "`DS`",
                "`a.B$C`",
                "`{`",
                "`t`",
                "`->`",
                "`a.*Node[]`",
                "`;`",
                "`(`",
                "`*`",
                "`)`",
                "`;`",
                "`}`",
                "`a.B$$Lambda/0x1`",
                "the end"
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_located() {
        let mistake = tokens("DS A {\n  @;\n}").unwrap_err();
        assert_eq!((mistake.line, mistake.column), (2, 3));
        let mistake = tokens("DS A { }\n /* never").unwrap_err();
        assert_eq!((mistake.line, mistake.column), (2, 2));
    }
}
