//! The language of user-defined classifiers, filters and transformers: source text → tokens →
//! expressions → checked → linked to a heap → evaluated. Knows nothing of steps and trees.

mod check;
mod definitions;
mod evaluate;
mod functions;
mod link;
mod node;
mod parser;
mod run;
mod script;
mod types;
mod value;

#[cfg(test)]
mod reference;

use std::fmt;

use crate::catalog::Call;

pub(crate) use check::{Checked, Checker};
pub(crate) use evaluate::{Evaluator, Frame};
pub(crate) use functions::{Function, Property};
pub(crate) use link::Linker;
pub(crate) use node::{CURRENT, Node, Op, OwnFunction};
pub(crate) use parser::Parser;
pub(crate) use run::{Budget, Stop};
pub(crate) use value::Value;

pub use definitions::{Body, DefinedGroup, Definition, Definitions, Role, Source};
pub use functions::{Kind, SIGNATURES, Signature};
pub use parser::{Binary, Expr, ExprKind, Unary};
pub use script::{Block, Statement};
pub use types::Type;

/// An expression without mistakes, for any heap.
#[derive(Clone)]
pub struct Expression {
    source: String,
    node: Node,
    /// The functions it can call, by number.
    functions: Vec<OwnFunction>,
    ty: Type,
}

impl Expression {
    pub(crate) fn new(source: &str, checked: Checked, definitions: &Definitions) -> Self {
        Expression {
            source: source.trim_end().to_owned(),
            node: checked.node,
            functions: definitions.functions(),
            ty: checked.ty,
        }
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn functions(&self) -> &[OwnFunction] {
        &self.functions
    }

    /// Whether it asks a predefined classifier that is wanted.
    pub(crate) fn calls(&self, wanted: &impl Fn(&Call) -> bool) -> bool {
        let is_call = |node: &Node| matches!(&node.op, Op::Predefined(call) if wanted(call));
        let mut functions = self.functions.iter();
        self.node.contains(&is_call) || functions.any(|own| own.body.contains(&is_call))
    }

    /// The names of the fields whose values it asks for.
    pub(crate) fn fields(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut work = vec![&self.node];
        while let Some(node) = work.pop() {
            if let Op::Field(name) = &node.op {
                found.push(name.as_str());
            }
            work.extend(&node.parts);
        }
        found
    }

    /// What it evaluates to.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// As it was written.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "`{}`: {}", self.source, self.ty)
    }
}
