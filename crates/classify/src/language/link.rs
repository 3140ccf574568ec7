//! Expressions made ready for a heap: names become places, and what depends on the class only is
//! evaluated once per class.

use std::sync::Arc;

use anthill_heap::ClassId;

use super::evaluate::{Evaluator, Frame};
use super::functions::{Function, Property};
use super::node::{CURRENT, Labels, Node, Op};
use super::parser::{Binary, Unary};
use super::run::Budget;
use super::value::Value;
use crate::builtin::Context;
use crate::catalog::Call;
use crate::error::Error;
use crate::referred::Referred;
use crate::values::{Classified, LabelId};

/// What a node depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependence {
    Nothing,
    /// The class of what is in the slot.
    ClassOf(usize),
    More,
}

impl Dependence {
    fn and(self, other: Dependence) -> Dependence {
        match (self, other) {
            (Dependence::Nothing, other) | (other, Dependence::Nothing) => other,
            (a, b) if a == b => a,
            _ => Dependence::More,
        }
    }
}

impl Node {
    fn dependence(&self) -> Dependence {
        let of_class = match &self.op {
            Op::Property(property) => property.is_of_class(),
            Op::ByClass(_) => true,
            Op::Variable(_) | Op::FieldAt(_) | Op::Labelled(_) | Op::Referred(_) | Op::Element => {
                return Dependence::More;
            }
            Op::Each(..) | Op::Function(Function::RootedBy | Function::Range) => {
                return Dependence::More;
            }
            op if op.is_statement() => return Dependence::More,
            _ => false,
        };
        match (of_class, self.parts.first().map(|part| &part.op)) {
            (true, Some(&Op::Variable(slot))) => Dependence::ClassOf(slot),
            (true, _) => Dependence::More,
            (false, _) => self
                .parts
                .iter()
                .map(Node::dependence)
                .fold(Dependence::Nothing, Dependence::and),
        }
    }
}

pub(crate) struct Linker<'c> {
    context: &'c Context<'c>,
    /// What is decided once per class is limited like everything else.
    budget: Budget,
}

impl<'c> Linker<'c> {
    pub(crate) fn new(context: &'c Context<'c>) -> Self {
        Linker {
            context,
            budget: Budget::for_objects(context.graph.state.len()),
        }
    }

    /// For nodes that call no functions.
    fn evaluator(&self) -> Evaluator<'_> {
        Evaluator {
            context: self.context,
            functions: &[],
            budget: &self.budget,
            name: "",
        }
    }

    fn classes(&self) -> std::ops::Range<ClassId> {
        0..self.context.graph.state.classes().len() as ClassId
    }

    /// Names become places and tables by class.
    pub(crate) fn link(&self, node: Node) -> Result<Node, Error> {
        let parts = node.parts.into_iter().map(|part| self.link(part));
        let parts: Vec<Node> = parts.collect::<Result<_, _>>()?;
        let state = self.context.graph.state;
        let op = match node.op {
            Op::Is(name) => {
                let named = |class: ClassId| state.classes()[class as usize].name == name;
                let is = |class| Value::Bool(state.superclasses(class).any(named));
                Op::ByClass(self.classes().map(is).collect())
            }
            Op::Field(name) => {
                let place = |class| self.context.records.field_place(state, class, &name);
                Op::FieldAt(self.classes().map(place).collect())
            }
            Op::Predefined(call) => Op::Labelled(Arc::new(self.labels(&call)?)),
            op => op,
        };
        Ok(Node { op, parts })
    }

    fn labels(&self, call: &Call) -> Result<Labels, Error> {
        let classified = self.context.predefined(call)?;
        let values = (0..classified.values.labels() as LabelId)
            .map(|label| value_of(&classified, label, call))
            .collect();
        Ok(Labels { classified, values })
    }

    /// Parts that depend only on the class of a lambda's parameter become tables by class, tests of
    /// referrers one pass over all references.
    pub(crate) fn tabulate(&self, node: Node) -> Node {
        let trivial = matches!(node.op, Op::ByClass(_));
        if let (Dependence::ClassOf(slot), false) = (node.dependence(), trivial) {
            if slot != CURRENT {
                return self.table(&node, slot);
            }
        }
        let parts = node.parts.into_iter().map(|part| self.tabulate(part));
        let node = Node::new(node.op, parts.collect::<Vec<_>>());
        Referred::of(&node).unwrap_or(node)
    }

    fn table(&self, node: &Node, slot: usize) -> Node {
        let evaluator = self.evaluator();
        let mut frame = Frame::new(self.context);
        let values = self.classes().map(|class| {
            frame.set(slot, Value::OfClass(class));
            evaluator.evaluate(node, &mut frame).into_owned()
        });
        Node::new(Op::ByClass(values.collect()), [Node::variable(slot)])
    }

    /// The expression for the objects of each class.
    pub(crate) fn by_class(&self, node: &Node) -> Vec<Node> {
        self.classes()
            .map(|class| self.specialise(node, class))
            .collect()
    }

    /// The expression for objects of one class: what the class decides is decided.
    fn specialise(&self, node: &Node, class: ClassId) -> Node {
        let evaluator = self.evaluator();
        let on_current = matches!(node.parts.as_slice(), [of] if of.is_variable(CURRENT));
        let decided = match &node.op {
            Op::Property(property) if on_current => evaluator.of_class(*property, class),
            Op::ByClass(values) if on_current => Some(values[class as usize].borrowed()),
            Op::FieldAt(places) if on_current && places[class as usize].is_none() => {
                Some(Value::Null)
            }
            _ => None,
        };
        if let Some(value) = decided {
            return Node::constant(value.into_owned());
        }
        let parts = node.parts.iter().map(|part| self.specialise(part, class));
        let parts: Vec<Node> = parts.collect();
        self.simplify(Node::new(node.op.clone(), parts))
    }

    /// Constants are folded, and what does not matter is left out.
    fn simplify(&self, mut node: Node) -> Node {
        match &node.op {
            Op::Const(_) | Op::Variable(_) => return node,
            Op::Block => return flatten(node),
            Op::Body => return simplify_body(node),
            op if op.is_statement() => return node,
            Op::Binary(operator @ (Binary::And | Binary::Or)) => {
                let decisive = *operator == Binary::Or;
                match node.parts[0].as_const() {
                    Some(first) if (*first == Value::Bool(true)) == decisive => {
                        return Node::constant(Value::Bool(decisive));
                    }
                    Some(_) if node.parts[1].is_condition() => return node.parts.swap_remove(1),
                    _ => {}
                }
            }
            Op::Choice => {
                if let Some(condition) = node.parts[0].as_const() {
                    let chosen = if *condition == Value::Bool(true) {
                        1
                    } else {
                        2
                    };
                    return node.parts.swap_remove(chosen);
                }
            }
            // A test or mapping of no element.
            Op::Each(function, ..)
                if node.parts[0].as_const() == Some(&Value::List(Vec::new())) =>
            {
                return Node::constant(match function {
                    Function::All => Value::Bool(true),
                    Function::Any => Value::Bool(false),
                    Function::Count => Value::Int(0),
                    Function::First => Value::Null,
                    _ => Value::List(Vec::new()),
                });
            }
            // A range can be long.
            Op::Each(..) | Op::Function(Function::Range) => return node,
            _ => {}
        }
        if node.parts.iter().all(|part| part.as_const().is_some()) {
            let evaluator = self.evaluator();
            let mut frame = Frame::new(self.context);
            let value = evaluator.evaluate(&node, &mut frame).into_owned();
            return Node::constant(value);
        }
        node
    }
}

/// Statements that are blocks become part of the block, those without effect are left out, and so
/// are those that are never reached.
fn flatten(block: Node) -> Node {
    let mut flat = Vec::new();
    let last = block.parts.len().saturating_sub(1);
    for (index, statement) in block.parts.into_iter().enumerate() {
        match statement.op {
            Op::Block => flat.extend(statement.parts),
            Op::Const(_) if index < last => {}
            _ => flat.push(statement),
        }
        // The value of a block that is spliced in is none of this block.
        while index < last && flat.last().is_some_and(|last| last.as_const().is_some()) {
            flat.pop();
        }
        let leaves = |node: &Node| matches!(node.op, Op::Return | Op::Break | Op::Continue);
        if flat.last().is_some_and(leaves) {
            break;
        }
    }
    Node::new(Op::Block, flat)
}

/// A script that does nothing but return a constant is one.
fn simplify_body(mut body: Node) -> Node {
    let value = match body.parts[0].parts.as_slice() {
        [] => Some(Value::Null),
        [only] => match only.op {
            Op::Return => only.parts[0].as_const().cloned(),
            _ => only.as_const().cloned(),
        },
        _ => None,
    };
    match value {
        Some(value) => Node::constant(value),
        None => {
            body.parts.truncate(1);
            body
        }
    }
}

/// What a label says, as a value.
fn value_of(classified: &Classified, label: LabelId, call: &Call) -> Value<'static> {
    use crate::catalog::Cardinality;
    let values = &classified.values;
    let keys = |path| {
        let keys = values.keys_of(path).into_iter();
        keys.map(|key| Value::Text(values.key_text(key).to_owned().into()))
            .collect::<Vec<_>>()
    };
    let mut paths = values.paths(label).iter().map(|&path| keys(path));
    match call.entry().cardinality {
        Cardinality::Many => Value::List(paths.map(Value::Path).collect()),
        Cardinality::Hierarchy => paths.next().map_or(Value::Null, Value::Path),
        Cardinality::One => {
            let first = paths.next().and_then(|keys| keys.into_iter().next());
            first.unwrap_or(Value::Null)
        }
    }
}

impl Node {
    /// Whether it can only be true or false.
    fn is_condition(&self) -> bool {
        match &self.op {
            Op::Const(value) => matches!(value, Value::Bool(_)),
            Op::Unary(operator) => *operator == Unary::Not,
            Op::Binary(operator) => {
                operator.is_comparison() || matches!(operator, Binary::And | Binary::Or)
            }
            Op::Property(property) => {
                self.parts[0].is_variable(CURRENT)
                    && matches!(property, Property::Reachable | Property::Rooted)
            }
            Op::Each(function, ..) => matches!(function, Function::Any | Function::All),
            Op::Function(function) => *function == Function::RootedBy,
            Op::Referred(_) => true,
            _ => false,
        }
    }
}
