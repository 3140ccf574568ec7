//! The language of user-defined classifiers, filters and transformers: source text → tokens →
//! expressions. Knows nothing of heaps before an expression is checked.

mod lexer;
mod mistake;
mod parser;

pub use lexer::Token;
pub use mistake::Mistake;
pub use parser::{Binary, Expr, ExprKind, Parser, Unary};
