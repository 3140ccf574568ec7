//! Source text → tokens with their places.

use std::ops::Range;

use super::Mistake;

#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Int(i64),
    Float(f64),
    Text(String),
    Word(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// What cannot be read is no mistake until it is needed: the argument of a predefined classifier
    /// is any text.
    Wrong(Box<Mistake>),
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
pub struct Placed {
    pub token: Token,
    /// In bytes of the source.
    pub span: Range<usize>,
}

/// Longer ones first, so that `<=` is not read as `<`.
const SYMBOLS: [&str; 32] = [
    "&&", "||", "==", "!=", "<=", ">=", "=>", "->", "+=", "(", ")", "[", "]", "{", "}", ",", ".",
    "?", ":", ";", "!", "-", "+", "*", "/", "%", "<", ">", "~", "|", "&", "=",
];

/// All tokens, [`Token::End`] last. `#` begins a comment.
pub fn tokens(source: &str) -> Vec<Placed> {
    let mut lexer = Lexer { source, at: 0 };
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

    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest().starts_with('#') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    /// Goes on after something that cannot be read.
    fn skip_wrong(&mut self, start: usize) {
        if self.at == start {
            self.at += self.peek().map_or(0, char::len_utf8);
        }
    }

    fn token(&mut self) -> Result<Token, Mistake> {
        let Some(first) = self.peek() else {
            return Ok(Token::End);
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        if first.is_alphabetic() || first == '_' || first == '$' {
            let word = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '$');
            return Ok(Token::Word(word.to_owned()));
        }
        if first == '"' || first == '\'' {
            return self.text(first);
        }
        match SYMBOLS
            .iter()
            .find(|symbol| self.rest().starts_with(**symbol))
        {
            Some(symbol) => {
                self.at += symbol.len();
                Ok(Token::Symbol(symbol))
            }
            None => Err(self.mistake(self.at, format!("`{first}` means nothing here"))),
        }
    }

    fn number(&mut self) -> Result<Token, Mistake> {
        let start = self.at;
        if self.rest().starts_with("0x") || self.rest().starts_with("0X") {
            self.at += 2;
            let digits = self.take_while(|c| c.is_alphanumeric() || c == '_');
            return i64::from_str_radix(&digits.replace('_', ""), 16)
                .map(Token::Int)
                .map_err(|_| self.mistake(start, "this is no hexadecimal number of 64 bits"));
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
                let message = format!("`{unit}` is no unit; there are K, M and G");
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
                _ => return Err(self.mistake(start, "this text lacks its closing quote")),
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
                format!("`\\{c}` means nothing; a backslash itself is written `\\\\`"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Vec<Token> {
        let tokens = tokens(source).into_iter();
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
