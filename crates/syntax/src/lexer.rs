//! Source text → tokens with their positions. What a language has for symbols, words and comments is
//! its [`Lexicon`].

use std::ops::Range;

use crate::Mistake;

/// What a text consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text in quotes, without them.
    Text(String),
    /// A keyword or a name.
    Word(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// What cannot be read is no mistake until it is needed: the argument of a predefined classifier
    /// is any text.
    Wrong(Box<Mistake>),
    /// After everything else.
    End,
}

impl Token {
    /// How a message names it.
    pub fn describe(&self) -> String {
        match self {
            Token::Int(number) => format!("`{number}`"),
            Token::Float(number) => format!("`{number}`"),
            Token::Text(text) => format!("the text {text:?}"),
            Token::Word(word) => format!("`{word}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::Wrong(mistake) => mistake.message.clone(),
            Token::End => "the end".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub token: Token,
    /// In bytes of the source.
    pub span: Range<usize>,
}

/// How the text of a language divides into tokens.
pub struct Lexicon {
    /// Operators and brackets; longer ones first, so that `<=` is not read as `<`.
    pub symbols: &'static [&'static str],
    /// What begins a comment that ends with the line.
    pub line_comments: &'static [&'static str],
    /// Whether there are comments between `/*` and `*/`.
    pub block_comments: bool,
    /// Whether there are numbers and texts in quotes.
    pub literals: bool,
    /// The length of the word that a text begins with, in bytes; 0 if it begins with none.
    pub word_length: fn(&str) -> usize,
    /// Words and symbols of other languages, and what is probably meant by them.
    pub foreign: &'static [(&'static str, &'static str)],
}

impl Lexicon {
    /// Of expressions, and of the languages that contain them.
    pub const EXPRESSIONS: Lexicon = Lexicon {
        symbols: &[
            "&&", "||", "==", "!=", "<=", ">=", "=>", "->", "+=", "(", ")", "[", "]", "{", "}",
            ",", ".", "?", ":", ";", "!", "-", "+", "*", "/", "%", "<", ">", "~", "|", "&", "=",
        ],
        line_comments: &["#"],
        block_comments: false,
        literals: true,
        word_length: identifier_length,
        foreign: &[
            ("and", "&&"),
            ("or", "||"),
            ("not", "!"),
            ("like", "~"),
            ("=", "=="),
            ("&", "&&"),
        ],
    };
}

fn identifier_length(text: &str) -> usize {
    match text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$') {
        true => text
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
            .unwrap_or(text.len()),
        false => 0,
    }
}

/// All tokens, [`Token::End`] last.
pub(crate) fn tokens(source: &str, lexicon: &'static Lexicon) -> Vec<Placed> {
    let mut lexer = Lexer {
        source,
        lexicon,
        at: 0,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        let token = lexer.token().unwrap_or_else(|mistake| {
            lexer.skip_wrong(start);
            Token::Wrong(Box::new(mistake))
        });
        let end = token == Token::End;
        tokens.push(Placed {
            token,
            span: start..lexer.at,
        });
        if end {
            return tokens;
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    lexicon: &'static Lexicon,
    at: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn mistake(&self, offset: usize, message: impl Into<String>) -> Mistake {
        Mistake::at(self.source, offset, message)
    }

    /// Goes on to the next token, past blanks and comments.
    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            let mut line_comments = self.lexicon.line_comments.iter();
            if line_comments.any(|begin| self.rest().starts_with(begin)) {
                self.take_while(|c| c != '\n');
                continue;
            }
            if !self.is_block_comment() {
                return;
            }
            match self.rest().find("*/") {
                Some(end) => self.at += end + "*/".len(),
                None => return,
            }
        }
    }

    fn is_block_comment(&self) -> bool {
        self.lexicon.block_comments && self.rest().starts_with("/*")
    }

    /// Goes on after something that cannot be read.
    fn skip_wrong(&mut self, start: usize) {
        if self.at == start {
            self.at += self.peek().map_or(0, char::len_utf8);
        }
    }

    fn token(&mut self) -> Result<Token, Mistake> {
        let (start, rest) = (self.at, self.rest());
        let Some(first) = self.peek() else {
            return Ok(Token::End);
        };
        if self.is_block_comment() {
            self.at = self.source.len();
            return Err(self.mistake(start, "this comment has no closing `*/`"));
        }
        if self.lexicon.literals && first.is_ascii_digit() {
            return self.number();
        }
        if self.lexicon.literals && (first == '"' || first == '\'') {
            return self.text(first);
        }
        let mut symbols = self.lexicon.symbols.iter();
        if let Some(symbol) = symbols.find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        match (self.lexicon.word_length)(rest) {
            0 => Err(self.mistake(start, format!("unexpected `{first}`"))),
            length => {
                self.at += length;
                Ok(Token::Word(rest[..length].to_owned()))
            }
        }
    }

    fn number(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.at += 2;
            let digits = self.take_while(|c| c.is_alphanumeric() || c == '_');
            return i64::from_str_radix(&digits.replace('_', ""), 16)
                .map(Token::Int)
                .map_err(|_| self.mistake(start, "not a 64-bit hexadecimal number"));
        }
        self.take_while(|c| c.is_ascii_digit() || c == '_');
        let mut after_point = self.rest().strip_prefix('.').unwrap_or("").chars();
        let fraction = after_point.next().is_some_and(|c| c.is_ascii_digit());
        if fraction {
            self.at += 1;
            self.take_while(|c| c.is_ascii_digit() || c == '_');
        }
        let digits = self.source[start..self.at].replace('_', "");
        let unit_at = self.at;
        let factor: i64 = match self.take_while(char::is_alphanumeric) {
            "" => 1,
            "K" | "KB" | "KiB" => 1 << 10,
            "M" | "MB" | "MiB" => 1 << 20,
            "G" | "GB" | "GiB" => 1 << 30,
            unit => {
                let message = format!("unknown unit `{unit}`; use K, M or G");
                return Err(self.mistake(unit_at, message));
            }
        };
        let float = digits.parse::<f64>().ok().filter(|_| fraction);
        let number = match float {
            Some(float) => Some(Token::Float(float * factor as f64)),
            None => digits
                .parse::<i64>()
                .ok()
                .and_then(|int| int.checked_mul(factor))
                .map(Token::Int),
        };
        number.ok_or_else(|| self.mistake(start, "this number does not fit into 64 bits"))
    }

    fn text(&mut self, quote: char) -> Result<Token, Mistake> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(self.take_while(|c| c != quote && c != '\\' && c != '\n'));
            let place = self.at;
            match self.peek() {
                Some('\\') => {
                    self.at += 1;
                    text.push(self.escape(place)?);
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    return Ok(Token::Text(text));
                }
                _ => return Err(self.mistake(start, "this text has no closing quote")),
            }
        }
    }

    /// The character after a backslash.
    fn escape(&mut self, place: usize) -> Result<char, Mistake> {
        let Some(c) = self.peek() else {
            return Err(self.mistake(place, "a character is missing after the backslash"));
        };
        self.at += c.len_utf8();
        match c {
            'n' => Ok('\n'),
            't' => Ok('\t'),
            'r' => Ok('\r'),
            '\\' | '"' | '\'' => Ok(c),
            _ => Err(self.mistake(
                place,
                format!("unknown escape `\\{c}`; write a backslash as `\\\\`"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Vec<Token> {
        let tokens = tokens(source, &Lexicon::EXPRESSIONS).into_iter();
        tokens.map(|placed| placed.token).collect()
    }

    #[test]
    fn numbers_texts_words_and_symbols() {
        use Token::*;
        assert_eq!(
            read("1_000 2.5 0xff 4K 1.5M a.b_1 'x\\'y' \"\\\\\" <= => # rest\n =="),
            [
                Int(1000),
                Float(2.5),
                Int(255),
                Int(4096),
                Float(1_572_864.0),
                Word("a".into()),
                Symbol("."),
                Word("b_1".into()),
                Text("x'y".into()),
                Text("\\".into()),
                Symbol("<="),
                Symbol("=>"),
                Symbol("=="),
                End
            ]
        );
    }

    fn wrong(source: &str) -> Mistake {
        let mut tokens = read(source).into_iter();
        let wrong = tokens.find_map(|token| match token {
            Token::Wrong(mistake) => Some(*mistake),
            _ => None,
        });
        wrong.unwrap()
    }

    #[test]
    fn what_cannot_be_read_is_located() {
        for (source, column) in [
            ("x == \"abc", 6),
            ("99999999999999999999", 1),
            ("12 3px", 5),
            ("'a\\q'", 3),
            ("0xg", 1),
            ("ä § b", 3),
            ("'\\", 2),
        ] {
            assert_eq!(wrong(source).column, column, "{source}");
        }
    }
}
