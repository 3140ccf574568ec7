//! Split any object group by anything: classifiers, transformers, and classification trees with
//! exact sizes on every node.
//!
//! Knows heap states, graphs and values in the file, but not how anything is shown.

#![warn(missing_docs)]

mod builtin;
mod catalog;
mod error;
mod expression;
mod facts;
mod files;
mod language;
mod parts;
mod referred;
mod scalar_labels;
mod steps;
mod transform;
mod tree;
mod unions;
mod values;

pub use builtin::Context;
pub use catalog::{CATALOG, Call, Cardinality, Entry, What};
pub use error::Error;
pub use files::Files;
pub use language::{
    Binary, Block, Body, DefinedGroup, Definition, Definitions, Expr, ExprKind, Expression, Kind,
    Role, SIGNATURES, Signature, Source, Statement, Type, Unary,
};
pub use steps::Step;
pub use tree::{OVERALL, Tree, TreeNode, TreeNodeId};
pub use values::{Assignment, Classified, KeyId, LabelId, NO_PATH, PathId, Values};

#[cfg(test)]
mod brute_force;
