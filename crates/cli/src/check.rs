//! What came out of a check, over one heap or many states, and the forms it is written in.

mod junit;
mod sarif;
mod text;
mod verdict;

pub use junit::junit;
pub use sarif::sarif;
pub use text::text;
pub use verdict::{Origin, State, Verdict, Verdicts};
