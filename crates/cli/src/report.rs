//! The report as a document: everything named and in words, ready to be written as text, Markdown,
//! HTML or JSON.

mod document;
pub mod html;
mod leak;
pub mod markdown;
mod redaction;
pub mod text;
mod timeline;
mod treemap;
mod waste;

pub use document::{Document, SuspectText, suspects};
pub use leak::Leak;
pub use redaction::{Redaction, Redactor};
pub use timeline::window_sentence;
pub use waste::Waste;
