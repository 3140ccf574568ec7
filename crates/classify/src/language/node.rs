//! Checked expressions, ready to be linked to a heap and evaluated.

use std::sync::Arc;

use anthill_hprof::FieldPlace;
use anthill_syntax::Mistake;

use super::functions::{Function, Property};
use super::parser::{Binary, Unary};
use super::value::Value;
use crate::catalog::Call;
use crate::referred::Referred;
use crate::values::Classified;

/// The slot of the object that is classified. Parameters of lambdas have the slots after it.
pub(crate) const CURRENT: usize = 0;

#[derive(Clone)]
pub(crate) struct Node {
    pub op: Op,
    pub parts: Vec<Node>,
}

/// What is done with the parts of a node; unless said otherwise, with one part, an object.
#[derive(Clone)]
pub(crate) enum Op {
    /// No parts.
    Const(Value<'static>),
    /// No parts: what is in the slot.
    Variable(usize),
    /// An argument of a definition that is not used yet.
    Unknown,
    Property(Property),
    /// The class or a superclass has this name.
    Is(String),
    Field(String),
    /// A list or an array, and an index.
    Element,
    Unary(Unary),
    Binary(Binary),
    /// A condition, what holds then and what otherwise.
    Choice,
    /// What it is called on, then its arguments.
    Function(Function),
    /// A list, then what is evaluated with the slot set to each of its elements.
    Each(Function, usize, Arc<Spot>),
    Path,
    List,
    /// A function of one's own, and its arguments.
    Call(usize, Arc<Spot>),
    /// A script: its value is what its block returns, or else the value of the block.
    Body,
    /// Statements; the value is that of the last one.
    Block,
    /// A value for the variable in the slot.
    Let(usize),
    /// A value to be added to what is in the slot.
    Add(usize, Arc<Spot>),
    /// A list, and what is done with the slot set to each of its elements.
    For(usize, Arc<Spot>),
    /// A condition, and what is done as long as it holds.
    While(Arc<Spot>),
    /// No parts.
    Break,
    /// No parts.
    Continue,
    /// A value.
    Return,
    /// What a predefined classifier says.
    Predefined(Call),

    // What linking to a heap makes of the above.
    /// A value by class.
    ByClass(Arc<[Value<'static>]>),
    /// Where the field is, by class.
    FieldAt(Arc<[Option<FieldPlace>]>),
    Labelled(Arc<Labels>),
    Referred(Arc<Referred>),
}

/// A place in what a person wrote, for messages while it is evaluated.
pub(crate) struct Spot {
    pub origin: Arc<str>,
    pub source: Arc<str>,
    pub at: usize,
}

impl Spot {
    /// A message with the line and a caret.
    pub(crate) fn show(&self, message: &str) -> String {
        Mistake::at(&self.source, self.at, message).show(&self.origin, &self.source)
    }
}

/// A function of one's own: its parameters have the first slots after the object's.
#[derive(Clone)]
pub(crate) struct OwnFunction {
    pub body: Node,
    /// Levels of nodes in it.
    pub height: usize,
}

/// What a classifier says of all objects, with the value of each label.
pub(crate) struct Labels {
    pub classified: Classified,
    pub values: Vec<Value<'static>>,
}

impl Op {
    /// Whether it does something besides having a value, or calls what may.
    pub(crate) fn is_statement(&self) -> bool {
        matches!(
            self,
            Op::Call(..)
                | Op::Body
                | Op::Block
                | Op::Let(_)
                | Op::Add(..)
                | Op::For(..)
                | Op::While(_)
                | Op::Break
                | Op::Continue
                | Op::Return
        )
    }
}

impl Node {
    pub(crate) fn new(op: Op, parts: impl Into<Vec<Node>>) -> Self {
        Node {
            op,
            parts: parts.into(),
        }
    }

    pub(crate) fn constant(value: Value<'static>) -> Self {
        Node::new(Op::Const(value), [])
    }

    pub(crate) fn variable(slot: usize) -> Self {
        Node::new(Op::Variable(slot), [])
    }

    pub(crate) fn as_const(&self) -> Option<&Value<'static>> {
        match &self.op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is_variable(&self, slot: usize) -> bool {
        matches!(self.op, Op::Variable(found) if found == slot)
    }

    /// The same with what is in one slot in another.
    pub(crate) fn with_slot(&self, from: usize, to: usize) -> Node {
        let op = match &self.op {
            Op::Variable(slot) if *slot == from => Op::Variable(to),
            op => op.clone(),
        };
        let parts = self.parts.iter().map(|part| part.with_slot(from, to));
        Node::new(op, parts.collect::<Vec<_>>())
    }

    /// Nodes in it, itself included.
    pub(crate) fn size(&self) -> usize {
        1 + self.parts.iter().map(Node::size).sum::<usize>()
    }

    /// Levels of nodes in it, itself included.
    pub(crate) fn height(&self) -> usize {
        1 + self.parts.iter().map(Node::height).max().unwrap_or(0)
    }

    /// Whether it or a part of it is such a node.
    pub(crate) fn contains(&self, wanted: &impl Fn(&Node) -> bool) -> bool {
        wanted(self) || self.parts.iter().any(|part| part.contains(wanted))
    }
}
