//! Tokens → expressions. Step lists, definitions and other small languages that contain
//! expressions read their own words with the same cursor.

use std::ops::Range;

use anthill_syntax::{Mistake, Token, TokenCursor};

/// Expressions nested deeper than this are refused: everything that handles them is recursive.
const DEEPEST: usize = 200;

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// In bytes of the source.
    pub span: Range<usize>,
    /// Levels of expressions in it, itself included.
    height: usize,
    /// Whether it stands without parentheses of its own.
    bare: bool,
}

/// What an expression can be.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the language has the same words")]
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

/// Operators before a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the language has the same words")]
pub enum Unary {
    Not,
    Minus,
}

/// Operators between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the language has the same words")]
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
    /// As it is written.
    pub fn symbol(self) -> &'static str {
        let operator = OPERATORS.iter().find(|operator| operator.1 == self);
        operator.map_or("", |operator| operator.0)
    }

    /// Whether it orders two values.
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

/// Reads an expression or a script at a cursor.
pub(crate) struct Parser<'c, 's> {
    pub(super) cursor: &'c mut TokenCursor<'s>,
    depth: usize,
    /// Whether `=` compares too: nothing is assigned where conditions alone can stand.
    single_equals: bool,
}

impl Expr {
    /// The whole source as one expression.
    pub fn parse(source: &str) -> Result<Expr, Mistake> {
        let mut cursor = TokenCursor::of_expressions(source);
        let expression = Parser::new(&mut cursor).expression()?;
        cursor.end()?;
        Ok(expression)
    }
}

impl<'c, 's> Parser<'c, 's> {
    /// Of what comes next at the cursor.
    pub(crate) fn new(cursor: &'c mut TokenCursor<'s>) -> Self {
        Parser {
            cursor,
            depth: 0,
            single_equals: false,
        }
    }

    /// Of a condition in a language without assignments: `=` compares, like `==`.
    pub(crate) fn of_condition(cursor: &'c mut TokenCursor<'s>) -> Self {
        Parser {
            single_equals: true,
            ..Parser::new(cursor)
        }
    }

    /// Expressions between parentheses, separated by commas; the opening one is taken.
    pub(crate) fn arguments(&mut self) -> Result<Vec<Expr>, Mistake> {
        self.expressions(")", "or `)`")
    }

    /// Expressions separated by commas, up to the closing bracket.
    fn expressions(&mut self, close: &str, or_close: &str) -> Result<Vec<Expr>, Mistake> {
        let mut expressions = Vec::new();
        if self.cursor.take_symbol(close) {
            return Ok(expressions);
        }
        loop {
            expressions.push(self.expression()?);
            if self.cursor.take_symbol(close) {
                return Ok(expressions);
            }
            self.cursor.expect_symbol(",", or_close)?;
        }
    }

    /// Reads an expression.
    pub(crate) fn expression(&mut self) -> Result<Expr, Mistake> {
        self.nested(Self::lambda_or_choice)
    }

    /// Reads something that can contain its like.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.depth == DEEPEST {
            return Err(self.too_deep(self.cursor.span().start));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn too_deep(&self, offset: usize) -> Mistake {
        let message =
            format!("nested more than {DEEPEST} levels deep; move parts into definitions");
        self.cursor.mistake(offset, message)
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
        let start = self.cursor.span().start;
        if let Some(parameter) = self.lambda_parameter()? {
            let body = self.expression()?;
            let span = start..body.span.end;
            return self.make(ExprKind::Lambda(parameter, Box::new(body)), span);
        }
        let condition = self.binary(0)?;
        if !self.cursor.take_symbol("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.cursor.expect_symbol(":", "and the alternative")?;
        let otherwise = self.expression()?;
        let span = start..otherwise.span.end;
        let kind = ExprKind::Choice(Box::new([condition, then, otherwise]));
        self.make(kind, span)
    }

    fn lambda_parameter(&mut self) -> Result<Option<String>, Mistake> {
        let arrow = matches!(self.cursor.after(), Token::Symbol("=>" | "->"));
        if let (Token::Word(word), true) = (self.cursor.peek().clone(), arrow) {
            self.cursor.advance();
            self.cursor.advance();
            return Ok(Some(word));
        }
        if !self.cursor.take_symbol("|") {
            return Ok(None);
        }
        let Token::Word(word) = self.cursor.peek().clone() else {
            return Err(self.cursor.unexpected("the name of the parameter"));
        };
        self.cursor.advance();
        self.cursor.expect_symbol("|", "after the parameter")?;
        Ok(Some(word))
    }

    /// Operators that bind more strongly than `than`.
    fn binary(&mut self, than: u8) -> Result<Expr, Mistake> {
        let mut left = self.unary()?;
        loop {
            let symbol = match *self.cursor.peek() {
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
                let message = "comparisons cannot be chained; join them with `&&`";
                return Err(self.cursor.mistake(self.cursor.span().start, message));
            }
            self.cursor.advance();
            let right = self.binary(strength)?;
            let span = left.span.start..right.span.end;
            let kind = ExprKind::Binary(operator, Box::new(left), Box::new(right));
            left = self.make(kind, span)?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Mistake> {
        let start = self.cursor.span().start;
        let operator = match self.cursor.peek() {
            Token::Symbol("!") => Unary::Not,
            Token::Symbol("-") => Unary::Minus,
            _ => return self.postfix(),
        };
        self.cursor.advance();
        let operand = self.nested(Self::unary)?;
        let span = start..operand.span.end;
        self.make(ExprKind::Unary(operator, Box::new(operand)), span)
    }

    fn postfix(&mut self) -> Result<Expr, Mistake> {
        let mut of = self.primary()?;
        let start = of.span.start;
        loop {
            let kind = if self.cursor.take_symbol(".") {
                let name_span = self.cursor.span();
                let Token::Word(name) = self.cursor.peek().clone() else {
                    return Err(self.cursor.unexpected("the name of a property"));
                };
                self.cursor.advance();
                let arguments = match self.cursor.take_symbol("(") {
                    true => Some(self.arguments()?),
                    false => None,
                };
                ExprKind::Member {
                    of: Box::new(of),
                    name,
                    name_span,
                    arguments,
                }
            } else if self.cursor.take_symbol("[") {
                let index = self.expression()?;
                self.cursor.expect_symbol("]", "after the index")?;
                ExprKind::Element(Box::new([of, index]))
            } else {
                return Ok(of);
            };
            of = self.make(kind, start..self.cursor.last_end())?;
        }
    }

    fn primary(&mut self) -> Result<Expr, Mistake> {
        let span = self.cursor.span();
        let kind = match self.cursor.peek().clone() {
            Token::Int(number) => ExprKind::Int(number),
            Token::Float(number) => ExprKind::Float(number),
            Token::Text(text) => ExprKind::Text(text),
            Token::Word(word) => {
                self.cursor.advance();
                return self.word(word, span.start);
            }
            Token::Symbol("(") => {
                self.cursor.advance();
                let inner = self.expression()?;
                self.cursor.expect_symbol(")", "to close the parenthesis")?;
                return Ok(Expr {
                    bare: false,
                    ..inner
                });
            }
            Token::Symbol("[") => {
                self.cursor.advance();
                let items = self.expressions("]", "or `]`")?;
                return self.make(ExprKind::List(items), span.start..self.cursor.last_end());
            }
            _ => return Err(self.cursor.unexpected("an expression")),
        };
        self.cursor.advance();
        self.make(kind, span)
    }

    fn word(&mut self, word: String, start: usize) -> Result<Expr, Mistake> {
        let kind = match word.as_str() {
            "null" => ExprKind::Null,
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            _ if self.cursor.take_symbol("(") => ExprKind::Call(word, self.arguments()?),
            _ => ExprKind::Name(word),
        };
        self.make(kind, start..self.cursor.last_end())
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
}
