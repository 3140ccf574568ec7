//! Assertions of the program and rules, checked on an open heap: names become objects, and violations get
//! names and paths.
//!
//! Knows sessions and paths; `anthill_assertions` decides what is violated.

#![warn(missing_docs)]

mod naming;
mod program;
mod rules;
mod sets;

pub use program::{ProgramCheck, ProgramChecked, check_program};
pub use rules::{RuleChecked, check_rule_groups, check_rules, growth_violation};
