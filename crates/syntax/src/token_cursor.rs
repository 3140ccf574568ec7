//! A position among the tokens of a text, and what every parser does with it.

use std::ops::Range;

use crate::lexer::{Lexicon, Placed, Token, tokens};
use crate::{Mistake, closest};

/// Reads a text token by token.
pub struct TokenCursor<'s> {
    source: &'s str,
    lexicon: &'static Lexicon,
    tokens: Vec<Placed>,
    next: usize,
}

impl<'s> TokenCursor<'s> {
    /// At the beginning of a text.
    pub fn new(source: &'s str, lexicon: &'static Lexicon) -> Self {
        TokenCursor {
            source,
            lexicon,
            tokens: tokens(source, lexicon),
            next: 0,
        }
    }

    /// At the beginning of a text that consists of or contains expressions.
    pub fn of_expressions(source: &'s str) -> Self {
        TokenCursor::new(source, &Lexicon::EXPRESSIONS)
    }

    /// All of the text.
    pub fn source(&self) -> &'s str {
        self.source
    }

    /// The next token.
    pub fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    /// The token after the next.
    pub fn after(&self) -> &Token {
        &self.tokens[self.following()].token
    }

    /// The end is never passed.
    fn following(&self) -> usize {
        (self.next + 1).min(self.tokens.len() - 1)
    }

    /// Where the next token is, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.tokens[self.next].span.clone()
    }

    /// Where the last token ended.
    pub fn last_end(&self) -> usize {
        match self.next.checked_sub(1) {
            Some(last) => self.tokens[last].span.end,
            None => 0,
        }
    }

    /// Takes a token; the end is never passed.
    pub fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = self.following();
        token
    }

    /// Where the cursor is, to come back with [`TokenCursor::back_to`].
    pub fn position(&self) -> usize {
        self.next
    }

    /// Reads on from a token that was read before.
    pub fn back_to(&mut self, position: usize) {
        self.next = position;
    }

    /// Whether all was read.
    pub fn at_end(&self) -> bool {
        *self.peek() == Token::End
    }

    /// Whether this symbol comes next.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    /// Whether this word comes next.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(found) if found == word)
    }

    /// Reads this symbol if it comes next, and returns whether it did.
    pub fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    /// Reads this word if it comes next, and returns whether it did.
    pub fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Reads this symbol, which must come next; `why` follows it in the message.
    pub fn expect_symbol(&mut self, symbol: &str, why: &str) -> Result<(), Mistake> {
        match self.take_symbol(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&quoted(symbol, why))),
        }
    }

    /// Reads this word, which must come next; `why` follows it in the message.
    pub fn expect_word(&mut self, word: &str, why: &str) -> Result<(), Mistake> {
        match self.take_word(word) {
            true => Ok(()),
            false => Err(self.unexpected_word(&quoted(word, why), &[word])),
        }
    }

    /// Whatever is left is a mistake.
    pub fn end(&self) -> Result<(), Mistake> {
        match self.peek() {
            Token::End => Ok(()),
            Token::Symbol(symbol @ (")" | "]" | "}")) => {
                let message = format!("unmatched `{symbol}`");
                Err(self.mistake(self.span().start, message))
            }
            _ => Err(self.unexpected("an operator or the end")),
        }
    }

    /// A mistake at this byte of the text.
    pub fn mistake(&self, offset: usize, message: impl Into<String>) -> Mistake {
        Mistake::at(self.source, offset, message)
    }

    /// The next token is not what must come here.
    pub fn unexpected(&self, wanted: &str) -> Mistake {
        let (text, found) = match self.peek() {
            Token::Wrong(mistake) => return (**mistake).clone(),
            Token::Word(word) => (word.as_str(), self.peek()),
            Token::Symbol(symbol) => (*symbol, self.peek()),
            found => ("", found),
        };
        let mut foreign = self.lexicon.foreign.iter();
        let meant = foreign.find(|foreign| foreign.0 == text);
        let message = format!("expected {wanted}, found {}", found.describe());
        self.mistake(self.span().start, message)
            .suggesting(meant.map(|foreign| foreign.1))
    }

    /// The next token is none of the words that can come here; suggests the closest one.
    pub fn unexpected_word(&self, wanted: &str, words: &[&str]) -> Mistake {
        self.unexpected(wanted).suggesting(self.closest(words))
    }

    /// The word that was probably meant by the next token.
    pub fn closest<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        match self.peek() {
            Token::Word(word) => closest(word, words.iter().copied()),
            _ => None,
        }
    }

    /// A name like `pointed-from`: words joined by hyphens without blanks.
    pub fn hyphenated(&mut self) -> Option<(String, Range<usize>)> {
        let Token::Word(word) = self.peek() else {
            return None;
        };
        let (mut name, mut span) = (word.clone(), self.span());
        self.advance();
        while let [hyphen, word, ..] = &self.tokens[self.next..] {
            let adjacent = hyphen.span.start == span.end && word.span.start == hyphen.span.end;
            match (&hyphen.token, &word.token) {
                (Token::Symbol("-"), Token::Word(word)) if adjacent => {
                    name = format!("{name}-{word}");
                }
                _ => break,
            }
            span.end = word.span.end;
            self.next += 2;
        }
        Some((name, span))
    }

    /// The name of a class or field with dots, wildcards and brackets, up to the next blank; empty
    /// if none comes next.
    pub fn qualified_name(&mut self) -> &'s str {
        let start = self.span().start;
        let mut end = start;
        while self.span().start == end {
            match self.peek() {
                Token::Word(_) | Token::Int(_) => {}
                Token::Symbol("." | "*" | "?" | "[" | "]" | "/" | ";") => {}
                _ => break,
            }
            self.advance();
            end = self.last_end();
        }
        &self.source[start..end]
    }

    /// Skips from an opening parenthesis, which comes next, to the one that closes it. Returns
    /// where the text between them is, and its tokens without parentheses.
    pub fn parenthesized(&mut self) -> Result<(Range<usize>, Vec<Token>), Mistake> {
        let open = self.span();
        self.advance();
        let mut depth = 1;
        let mut tokens = Vec::new();
        loop {
            let end = self.span().start;
            match self.advance() {
                Token::End => {
                    return Err(self.mistake(open.start, "this parenthesis is not closed"));
                }
                Token::Symbol("(") => depth += 1,
                Token::Symbol(")") => depth -= 1,
                token => tokens.push(token),
            }
            if depth == 0 {
                return Ok((open.end..end, tokens));
            }
        }
    }
}

/// What must come next, as a message has it.
fn quoted(text: &str, why: &str) -> String {
    match why {
        "" => format!("`{text}`"),
        _ => format!("`{text}` {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_join_words_only_without_blanks() {
        let mut cursor = TokenCursor::of_expressions("pointed-from, a - b");
        assert_eq!(
            cursor.hyphenated(),
            Some(("pointed-from".to_owned(), 0..12))
        );
        assert!(cursor.take_symbol(","));
        assert_eq!(cursor.hyphenated().unwrap().0, "a");
        assert!(cursor.is_symbol("-"));
        assert_eq!(cursor.hyphenated(), None);
    }

    #[test]
    fn qualified_names_end_at_a_blank() {
        let mut cursor = TokenCursor::of_expressions("java.util.HashMap$Node[] A$$Lambda/0x01, [B");
        assert_eq!(cursor.qualified_name(), "java.util.HashMap$Node[]");
        assert_eq!(cursor.qualified_name(), "A$$Lambda/0x01");
        assert_eq!(cursor.qualified_name(), "");
        assert!(cursor.take_symbol(","));
        assert_eq!(cursor.qualified_name(), "[B");
    }

    #[test]
    fn parentheses_are_skipped_with_their_contents() {
        let mut cursor = TokenCursor::of_expressions("(a (')') b) c");
        let (inner, tokens) = cursor.parenthesized().unwrap();
        assert_eq!(&cursor.source()[inner], "a (')') b");
        assert_eq!(tokens.len(), 3);
        assert!(cursor.is_word("c"));
        let mistake = TokenCursor::of_expressions("(a (b)")
            .parenthesized()
            .unwrap_err();
        assert_eq!(mistake.column, 1);
    }

    #[test]
    fn messages_say_what_was_expected_and_suggest_what_was_meant() {
        let message = |mut cursor: TokenCursor, word, why| {
            let mistake = cursor.expect_word(word, why).unwrap_err();
            mistake.to_string()
        };
        assert_eq!(
            message(TokenCursor::of_expressions("form x"), "from", "and a set"),
            "expected `from` and a set, found `form`; did you mean `from`?"
        );
        let mistake = TokenCursor::of_expressions("and b").expect_symbol(")", "");
        assert_eq!(
            mistake.unwrap_err().to_string(),
            "expected `)`, found `and`; did you mean `&&`?"
        );
    }
}
