//! Tokens → expressions. Step lists, definitions and other small languages that contain
//! expressions read their own words with the same parser.

use std::ops::Range;

use super::Mistake;
use super::lexer::{Placed, Token, tokens};

/// Expressions nested deeper than this are refused: everything that handles them is recursive.
const DEEPEST: usize = 200;

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    /// In bytes of the source.
    pub span: Range<usize>,
    /// Levels of expressions in it, itself included.
    height: usize,
    /// Whether it stands without parentheses of its own.
    bare: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Name(String),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Choice(Box<[Expr; 3]>),
    /// `name(…)`
    Call(String, Vec<Expr>),
    /// `of.name(…)`, or `of.name` without arguments.
    Member {
        of: Box<Expr>,
        name: String,
        name_span: Range<usize>,
        arguments: Option<Vec<Expr>>,
    },
    /// `of[index]`
    Element(Box<[Expr; 2]>),
    /// `[…]`
    List(Vec<Expr>),
    /// `name => body`
    Lambda(String, Box<Expr>),
}

impl ExprKind {
    /// The expressions directly in it.
    pub fn parts(&self) -> Vec<&Expr> {
        match self {
            ExprKind::Unary(_, of) | ExprKind::Lambda(_, of) => vec![of],
            ExprKind::Binary(_, a, b) => vec![a, b],
            ExprKind::Choice(parts) => parts.iter().collect(),
            ExprKind::Element(parts) => parts.iter().collect(),
            ExprKind::Call(_, parts) | ExprKind::List(parts) => parts.iter().collect(),
            ExprKind::Member { of, arguments, .. } => [&**of]
                .into_iter()
                .chain(arguments.iter().flatten())
                .collect(),
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Text(_)
            | ExprKind::Name(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    Not,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Text fits a pattern with `*` and `?`.
    Matches,
    Plus,
    Minus,
    Times,
    Divide,
    Remainder,
}

impl Binary {
    pub fn symbol(self) -> &'static str {
        let operator = OPERATORS.iter().find(|operator| operator.1 == self);
        operator.map_or("", |operator| operator.0)
    }

    pub fn is_comparison(self) -> bool {
        OPERATORS
            .iter()
            .any(|operator| operator.1 == self && operator.2 == COMPARISON)
    }
}

/// The binding strength of comparisons, which do not chain.
const COMPARISON: u8 = 3;

/// How strongly an operator binds.
const OPERATORS: [(&str, Binary, u8); 14] = [
    ("||", Binary::Or, 1),
    ("&&", Binary::And, 2),
    ("==", Binary::Equal, COMPARISON),
    ("!=", Binary::NotEqual, COMPARISON),
    ("<", Binary::Less, COMPARISON),
    ("<=", Binary::LessEqual, COMPARISON),
    (">", Binary::Greater, COMPARISON),
    (">=", Binary::GreaterEqual, COMPARISON),
    ("~", Binary::Matches, COMPARISON),
    ("+", Binary::Plus, 4),
    ("-", Binary::Minus, 4),
    ("*", Binary::Times, 5),
    ("/", Binary::Divide, 5),
    ("%", Binary::Remainder, 5),
];

/// Words that other languages have for operators.
const FOREIGN: [(&str, &str); 4] = [("and", "&&"), ("or", "||"), ("not", "!"), ("like", "~")];

pub struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Placed>,
    next: usize,
    depth: usize,
    /// Whether `=` compares too: nothing is assigned where conditions alone can stand.
    pub single_equals: bool,
}

impl Expr {
    /// The whole source as one expression.
    pub fn parse(source: &str) -> Result<Expr, Mistake> {
        let mut parser = Parser::new(source);
        let expression = parser.expression()?;
        parser.end()?;
        Ok(expression)
    }
}

impl<'s> Parser<'s> {
    pub fn new(source: &'s str) -> Self {
        Parser {
            source,
            tokens: tokens(source),
            next: 0,
            depth: 0,
            single_equals: false,
        }
    }

    pub fn source(&self) -> &'s str {
        self.source
    }

    pub fn peek(&self) -> &Token {
        &self.tokens[self.next].token
    }

    /// Where the next token is.
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
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    pub fn at_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    pub fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    pub fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        if found {
            self.advance();
        }
        found
    }

    pub fn expect_symbol(&mut self, symbol: &str, why: &str) -> Result<(), Mistake> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{symbol}` {why}")))
    }

    /// Whatever is left is a mistake.
    pub fn end(&self) -> Result<(), Mistake> {
        match self.peek() {
            Token::End => Ok(()),
            Token::Symbol(symbol @ (")" | "]" | "}")) => {
                let message = format!("nothing was opened that this `{symbol}` closes");
                Err(self.mistake(self.span().start, message))
            }
            _ => Err(self.unexpected("an operator or the end")),
        }
    }

    pub fn mistake(&self, offset: usize, message: impl Into<String>) -> Mistake {
        Mistake::at(self.source, offset, message)
    }

    /// The next token is not what must come here.
    pub fn unexpected(&self, wanted: &str) -> Mistake {
        let found = self.peek();
        if let Token::Wrong(mistake) = found {
            return (**mistake).clone();
        }
        let foreign = match found {
            Token::Word(word) => FOREIGN
                .iter()
                .find(|foreign| foreign.0 == word)
                .map(|foreign| foreign.1),
            Token::Symbol("=") => Some("=="),
            Token::Symbol("&") => Some("&&"),
            _ => None,
        };
        let message = format!("{wanted} should come here, not {}", found.describe());
        self.mistake(self.span().start, message).suggesting(foreign)
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

    /// Where the parser is, to come back with [`Parser::back_to`].
    pub fn position(&self) -> usize {
        self.next
    }

    pub fn back_to(&mut self, position: usize) {
        self.next = position;
    }

    /// Expressions between parentheses, separated by commas; the opening one is taken.
    pub fn arguments(&mut self) -> Result<Vec<Expr>, Mistake> {
        self.expressions(")", "or `)`")
    }

    /// Expressions separated by commas, up to the closing bracket.
    fn expressions(&mut self, close: &str, or_close: &str) -> Result<Vec<Expr>, Mistake> {
        let mut expressions = Vec::new();
        if self.take_symbol(close) {
            return Ok(expressions);
        }
        loop {
            expressions.push(self.expression()?);
            if self.take_symbol(close) {
                return Ok(expressions);
            }
            self.expect_symbol(",", or_close)?;
        }
    }

    pub fn expression(&mut self) -> Result<Expr, Mistake> {
        self.nested(Self::lambda_or_choice)
    }

    /// Reads something that can contain its like.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.depth == DEEPEST {
            return Err(self.too_deep(self.span().start));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&self, offset: usize) -> Mistake {
        let message = format!("this is nested deeper than {DEEPEST} levels; define parts of it");
        self.mistake(offset, message)
    }

    fn make(&self, kind: ExprKind, span: Range<usize>) -> Result<Expr, Mistake> {
        let height = 1 + kind
            .parts()
            .iter()
            .map(|part| part.height)
            .max()
            .unwrap_or(0);
        if height > DEEPEST {
            return Err(self.too_deep(span.start));
        }
        Ok(Expr {
            kind,
            span,
            height,
            bare: true,
        })
    }

    fn lambda_or_choice(&mut self) -> Result<Expr, Mistake> {
        let start = self.span().start;
        if let Some(parameter) = self.lambda_parameter()? {
            let body = self.expression()?;
            let span = start..body.span.end;
            return self.make(ExprKind::Lambda(parameter, Box::new(body)), span);
        }
        let condition = self.binary(0)?;
        if !self.take_symbol("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect_symbol(":", "and what holds otherwise")?;
        let otherwise = self.expression()?;
        let span = start..otherwise.span.end;
        let kind = ExprKind::Choice(Box::new([condition, then, otherwise]));
        self.make(kind, span)
    }

    fn lambda_parameter(&mut self) -> Result<Option<String>, Mistake> {
        let arrow = self.tokens.get(self.next + 1);
        let arrow = arrow.is_some_and(|placed| matches!(placed.token, Token::Symbol("=>" | "->")));
        if let (Token::Word(word), true) = (self.peek().clone(), arrow) {
            self.next += 2;
            return Ok(Some(word));
        }
        if !self.take_symbol("|") {
            return Ok(None);
        }
        let Token::Word(word) = self.peek().clone() else {
            return Err(self.unexpected("the name of the parameter"));
        };
        self.advance();
        self.expect_symbol("|", "after the parameter")?;
        Ok(Some(word))
    }

    /// Operators that bind more strongly than `than`.
    fn binary(&mut self, than: u8) -> Result<Expr, Mistake> {
        let mut left = self.unary()?;
        loop {
            let symbol = match *self.peek() {
                Token::Symbol("=") if self.single_equals => "==",
                Token::Symbol(symbol) => symbol,
                _ => return Ok(left),
            };
            let operator = OPERATORS.iter().find(|operator| operator.0 == symbol);
            let Some(&(_, operator, strength)) = operator.filter(|operator| operator.2 > than)
            else {
                return Ok(left);
            };
            let chained = match &left.kind {
                ExprKind::Binary(before, ..) => before.is_comparison() && left.bare,
                _ => false,
            };
            if strength == COMPARISON && chained {
                let message = "comparisons do not chain; join them with `&&`";
                return Err(self.mistake(self.span().start, message));
            }
            self.advance();
            let right = self.binary(strength)?;
            let span = left.span.start..right.span.end;
            let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
            left = self.make(kind, span)?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Mistake> {
        let start = self.span().start;
        let operator = match self.peek() {
            Token::Symbol("!") => Unary::Not,
            Token::Symbol("-") => Unary::Minus,
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        let span = start..operand.span.end;
        self.make(ExprKind::Unary(operator, Box::new(operand)), span)
    }

    fn postfix(&mut self) -> Result<Expr, Mistake> {
        let mut of = self.primary()?;
        let start = of.span.start;
        loop {
            let kind = if self.take_symbol(".") {
                let name_span = self.span();
                let Token::Word(name) = self.peek().clone() else {
                    return Err(self.unexpected("the name of a property"));
                };
                self.advance();
                let arguments = match self.take_symbol("(") {
                    true => Some(self.arguments()?),
                    false => None,
                };
                ExprKind::Member {
                    of: Box::new(of),
                    name,
                    name_span,
                    arguments,
                }
            } else if self.take_symbol("[") {
                let index = self.expression()?;
                self.expect_symbol("]", "after the index")?;
                ExprKind::Element(Box::new([of, index]))
            } else {
                return Ok(of);
            };
            of = self.make(kind, start..self.last_end())?;
        }
    }

    fn primary(&mut self) -> Result<Expr, Mistake> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Int(number) => ExprKind::Int(number),
            Token::Float(number) => ExprKind::Float(number),
            Token::Text(text) => ExprKind::Text(text),
            Token::Word(word) => {
                self.advance();
                return self.word(word, span.start);
            }
            Token::Symbol("(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect_symbol(")", "to close what was opened")?;
                return Ok(Expr {
                    bare: false,
                    ..inner
                });
            }
            Token::Symbol("[") => {
                self.advance();
                let items = self.expressions("]", "or `]`")?;
                return self.make(ExprKind::List(items), span.start..self.last_end());
            }
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        self.make(kind, span)
    }

    fn word(&mut self, word: String, start: usize) -> Result<Expr, Mistake> {
        let kind = match word.as_str() {
            "null" => ExprKind::Null,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            _ if self.take_symbol("(") => ExprKind::Call(word, self.arguments()?),
            _ => ExprKind::Name(word),
        };
        self.make(kind, start..self.last_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written back with all parentheses.
    fn full(expression: &Expr) -> String {
        let all = |parts: &[Expr]| parts.iter().map(full).collect::<Vec<_>>().join(", ");
        match &expression.kind {
            ExprKind::Null => "null".to_owned(),
            ExprKind::Bool(value) => value.to_string(),
            ExprKind::Int(number) => number.to_string(),
            ExprKind::Float(number) => format!("{number:?}"),
            ExprKind::Text(text) => format!("{text:?}"),
            ExprKind::Name(name) => name.clone(),
            ExprKind::Unary(Unary::Not, of) => format!("!{}", full(of)),
            ExprKind::Unary(Unary::Minus, of) => format!("-{}", full(of)),
            ExprKind::Binary(operator, a, b) => {
                format!("({} {} {})", full(a), operator.symbol(), full(b))
            }
            ExprKind::Choice(parts) => {
                let [a, b, c] = &**parts;
                format!("({} ? {} : {})", full(a), full(b), full(c))
            }
            ExprKind::Call(name, arguments) => format!("{name}({})", all(arguments)),
            ExprKind::Member {
                of,
                name,
                arguments,
                ..
            } => match arguments {
                Some(arguments) => format!("{}.{name}({})", full(of), all(arguments)),
                None => format!("{}.{name}", full(of)),
            },
            ExprKind::Element(parts) => format!("{}[{}]", full(&parts[0]), full(&parts[1])),
            ExprKind::List(parts) => format!("[{}]", all(parts)),
            ExprKind::Lambda(name, body) => format!("({name} => {})", full(body)),
        }
    }

    #[test]
    fn operators_bind_as_in_java() {
        for (source, expected) in [
            (
                "a || b && c == d + e * -f",
                "(a || (b && (c == (d + (e * -f)))))",
            ),
            ("a - b - c", "((a - b) - c)"),
            ("!a.b(1)[2].c", "!a.b(1)[2].c"),
            ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
            ("(a < b) == (c < d)", "((a < b) == (c < d))"),
            (
                "referrers.any(r => r.length > 1K && r.type ~ 'x*')",
                "referrers.any((r => ((r.length > 1024) && (r.type ~ \"x*\"))))",
            ),
            ("list.map(|x| x.size)", "list.map((x => x.size))"),
            ("list.map(x -> x.size)", "list.map((x => x.size))"),
            ("path(1, 2.5, null, true)", "path(1, 2.5, null, true)"),
            ("[a, [1][0]].count", "[a, [1][0]].count"),
        ] {
            assert_eq!(full(&Expr::parse(source).unwrap()), expected, "{source}");
        }
    }

    #[test]
    fn mistakes_are_located_and_explained() {
        for (source, column, suggestion) in [
            ("", 1, None),
            ("a +", 4, None),
            ("a b", 3, None),
            ("a and b", 3, Some("&&")),
            ("a = b", 3, Some("==")),
            ("(a", 3, None),
            ("a)", 2, None),
            ("a < b < c", 7, None),
            ("f(a b)", 5, None),
            ("a ? b", 6, None),
            ("a.", 3, None),
            ("|| a", 1, None),
            ("a[1", 4, None),
        ] {
            let mistake = Expr::parse(source).unwrap_err();
            assert_eq!(mistake.column, column, "{source}: {mistake}");
            assert_eq!(mistake.suggestion.as_deref(), suggestion, "{source}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let depths = [DEEPEST - 1, 100_000];
        for (depth, fine) in depths.into_iter().zip([true, false]) {
            for source in [
                format!("{}a{}", "(".repeat(depth), ")".repeat(depth)),
                format!("{}a", "!".repeat(depth)),
                format!("a{}", "+a".repeat(depth)),
                format!("a{}", ".b".repeat(depth)),
                format!("{}a", "x => ".repeat(depth)),
                format!("{}a{}", "a?".repeat(depth), ":a".repeat(depth)),
                format!("a{}", "?a:a".repeat(depth)),
            ] {
                let result = Expr::parse(&source);
                assert_eq!(result.is_ok(), fine, "{} of {depth}", &source[..10]);
            }
        }
    }

    #[test]
    fn hyphens_join_words_only_without_blanks() {
        let mut parser = Parser::new("pointed-from, a - b");
        assert_eq!(
            parser.hyphenated(),
            Some(("pointed-from".to_owned(), 0..12))
        );
        assert!(parser.take_symbol(","));
        assert_eq!(parser.hyphenated().unwrap().0, "a");
        assert!(parser.is_symbol("-"));
        assert_eq!(parser.hyphenated(), None);
    }
}
