//! What the languages of Anthill share: tokens with their positions, a cursor over them, mistakes
//! shown with their line and a caret, names with wildcards, and suggestions for misspelt names.
//!
//! Knows no grammar: classifiers, groups, rules and data structures are read elsewhere.

#![warn(missing_docs)]

mod lexer;
mod mistake;
mod pattern;
mod suggestion;
mod token_cursor;

pub use lexer::{Lexicon, Token};
pub use mistake::Mistake;
pub use pattern::{Pattern, wildcard_match};
pub use suggestion::{closest, did_you_mean, similar};
pub use token_cursor::TokenCursor;
