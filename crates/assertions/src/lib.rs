//! What must hold for a heap: assertions that the program itself made and rules that a person
//! wrote, how they are checked, and what a violation says.
//!
//! Works on heap states and numbers of objects. Knows neither JVMs nor where states come from, and
//! leaves the naming of objects and paths to whoever has the names.

#![warn(missing_docs)]

mod forgiveness;
mod program;
pub mod rules;
mod violation;

pub use forgiveness::{Forgive, Forgiven, ThreadName};
pub use program::{Asserted, Assertion, Problem, ViolatedAssertion, assertions, check};
pub use violation::{Holders, Kind, Named, NamedPath, NamedStep, Severity, Violation};
