//! Split any object group by anything: classifiers, transformers, and classification trees with
//! exact sizes on every node.
//!
//! Knows heap states, graphs and values in the file, but not how anything is shown.

mod builtin;
mod catalog;
mod error;
mod language;
mod parts;
mod pattern;
mod transform;
mod tree;
mod unions;
mod values;

pub use builtin::Context;
pub use catalog::{CATALOG, Cardinality, Entry, Step, What};
pub use error::Error;
pub use language::{Binary, Expr, ExprKind, Mistake, Parser, Token, Unary};
pub use pattern::Pattern;
pub use tree::{OVERALL, Tree, TreeNode, TreeNodeId};
pub use values::{Assignment, Classified, KeyId, LabelId, NO_PATH, PathId, Values};

#[cfg(test)]
mod brute_force;
