//! Answers as documents: the report as a page of HTML and as Markdown, checks as JUnit XML and as SARIF. Each takes an answer and knows
//! nothing of where it came from or where the document goes.

#![warn(missing_docs)]

pub mod html;
mod junit;
pub mod markdown;
mod sarif;
mod timeline;
mod treemap;
pub mod waste;
mod words;

pub use junit::junit;
pub use sarif::sarif;
pub use words::{cut, duration};
