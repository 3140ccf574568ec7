//! What must hold for a heap: the program's own assertions and rules, checked, with names and paths.

mod naming;
mod program;
mod rules;
mod sets;

pub use program::{ProgramCheck, ProgramChecked};
pub use rules::{RuleChecked, check_rule_groups, growth_violation};
