//! Scripts: statements between braces, for what an expression cannot say.

use anthill_syntax::{Mistake, Token};

use super::parser::{Expr, Parser};

/// Statements that run one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In the order of the text.
    pub statements: Vec<Statement>,
}

/// Places are bytes of the source.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the language has the same words")]
pub enum Statement {
    /// `let name = value;`
    Let(String, Expr),
    /// `name = value;`
    Assign {
        name: String,
        value: Expr,
        at: usize,
    },
    /// `name += value;`: adds to a number or a text, or an element to a list.
    Add {
        name: String,
        value: Expr,
        at: usize,
    },
    If(Expr, Block, Block),
    For {
        name: String,
        list: Expr,
        body: Block,
        at: usize,
    },
    While {
        condition: Expr,
        body: Block,
        at: usize,
    },
    Break(usize),
    Continue(usize),
    Return(Option<Expr>),
    /// An expression; the last one of a block is its value.
    Value(Expr),
}

/// Words that begin a statement and cannot be names.
pub(super) const KEYWORDS: [&str; 9] = [
    "let", "if", "else", "for", "in", "while", "break", "continue", "return",
];

impl Parser<'_, '_> {
    /// Statements between braces.
    pub(crate) fn block(&mut self) -> Result<Block, Mistake> {
        self.cursor.expect_symbol("{", "and statements")?;
        self.nested(|parser| {
            let mut statements = Vec::new();
            while !parser.cursor.take_symbol("}") {
                if parser.cursor.at_end() {
                    return Err(parser.cursor.unexpected("`}`"));
                }
                statements.push(parser.statement()?);
            }
            Ok(Block { statements })
        })
    }

    fn statement(&mut self) -> Result<Statement, Mistake> {
        let at = self.cursor.span().start;
        if self.cursor.take_word("if") {
            return self.condition();
        }
        if self.cursor.take_word("for") {
            let name = self.variable()?;
            if !self.cursor.take_word("in") {
                return Err(self.cursor.unexpected("`in` and a list"));
            }
            let list = self.expression()?;
            let body = self.block()?;
            return Ok(Statement::For {
                name,
                list,
                body,
                at,
            });
        }
        if self.cursor.take_word("while") {
            let condition = self.expression()?;
            let body = self.block()?;
            return Ok(Statement::While {
                condition,
                body,
                at,
            });
        }
        let statement = self.simple(at)?;
        if !self.cursor.is_symbol("}") {
            self.cursor
                .expect_symbol(";", "after a statement, or `}`")?;
        }
        Ok(statement)
    }

    fn condition(&mut self) -> Result<Statement, Mistake> {
        let condition = self.expression()?;
        let then = self.block()?;
        let otherwise = if !self.cursor.take_word("else") {
            Block {
                statements: Vec::new(),
            }
        } else if self.cursor.take_word("if") {
            let other = self.nested(Self::condition)?;
            Block {
                statements: vec![other],
            }
        } else {
            self.block()?
        };
        Ok(Statement::If(condition, then, otherwise))
    }

    /// A statement that ends with a semicolon.
    fn simple(&mut self, at: usize) -> Result<Statement, Mistake> {
        if self.cursor.take_word("let") {
            let name = self.variable()?;
            self.cursor.expect_symbol("=", "and a value")?;
            return Ok(Statement::Let(name, self.expression()?));
        }
        if self.cursor.take_word("break") {
            return Ok(Statement::Break(at));
        }
        if self.cursor.take_word("continue") {
            return Ok(Statement::Continue(at));
        }
        if self.cursor.take_word("return") {
            let ends = self.cursor.is_symbol(";") || self.cursor.is_symbol("}");
            let value = if ends { None } else { Some(self.expression()?) };
            return Ok(Statement::Return(value));
        }
        let position = self.cursor.position();
        if let Token::Word(name) = self.cursor.peek().clone() {
            self.cursor.advance();
            if self.cursor.take_symbol("=") {
                let value = self.expression()?;
                return Ok(Statement::Assign { name, value, at });
            }
            if self.cursor.take_symbol("+=") {
                let value = self.expression()?;
                return Ok(Statement::Add { name, value, at });
            }
            self.cursor.back_to(position);
        }
        Ok(Statement::Value(self.expression()?))
    }

    /// The name of a new variable.
    fn variable(&mut self) -> Result<String, Mistake> {
        match self.cursor.peek().clone() {
            Token::Word(name) if !KEYWORDS.contains(&name.as_str()) => {
                self.cursor.advance();
                Ok(name)
            }
            _ => Err(self.cursor.unexpected("the name of a variable")),
        }
    }
}

#[cfg(test)]
mod tests {
    use anthill_syntax::TokenCursor;

    use super::*;

    fn read(source: &str) -> Result<Block, Mistake> {
        Parser::new(&mut TokenCursor::of_expressions(source)).block()
    }

    #[test]
    fn statements_are_read_and_mistakes_located() {
        let source = "{ let n = 0; for r in references { n += r.size; if n > 3 { break } else if n < 0 \
                      { return } else { n = 1; } } while n > 0 { n = n - 1 } n }";
        let block = read(source).unwrap();
        assert_eq!(block.statements.len(), 4);
        for (source, column) in [
            ("{ let = 3; }", 7),
            ("{ let if = 3; }", 7),
            ("{ n = 3 m }", 9),
            ("{ for r references { } }", 9),
            ("{ if a b }", 8),
            ("{ return 3", 11),
            ("{ a; ", 6),
            ("a", 1),
        ] {
            let mistake = read(source).unwrap_err();
            assert_eq!(mistake.column, column, "{source}: {mistake}");
        }
    }
}
