//! Split any object group by anything: classifiers, transformers, and classification trees with
//! exact sizes on every node.
//!
//! Knows heap states, graphs and values in the file, but not how anything is shown.

mod builtin;
mod catalog;
mod error;
mod expression;
mod facts;
mod language;
mod lists;
mod members;
mod parts;
mod pattern;
mod plain_labels;
mod referred;
mod steps;
mod transform;
mod tree;
mod unions;
mod values;

pub use builtin::{Context, read_no_files};
pub use catalog::{CATALOG, Call, Cardinality, Entry, What};
pub use error::Error;
pub use language::{
    Binary, Block, Body, DefinedGroup, Definition, Definitions, Expr, ExprKind, Expression, Kind,
    Mistake, Parser, Role, SIGNATURES, Signature, Source, Statement, Token, Type, Unary,
};
pub use members::{HeadPlace, Members};
pub use pattern::{Pattern, closest};
pub use steps::Step;
pub use tree::{OVERALL, Tree, TreeNode, TreeNodeId};
pub use values::{Assignment, Classified, KeyId, LabelId, NO_PATH, PathId, Values};

#[cfg(test)]
mod brute_force;
