//! Evaluates expressions for one object after the other.
//!
//! What a value does not have is null, and null counts as false, so that evaluation cannot fail, but
//! it is stopped when it takes too long or too much memory.

mod apply;
mod frame;
mod objects;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use anthill_heap::{HeapState, ObjectId};
use anthill_syntax::wildcard_match;

use super::node::{Node, Op, OwnFunction};
use super::parser::{Binary, Unary};
use super::run::Budget;
use super::value::{Number, Value};
use crate::builtin::Context;

pub(crate) use frame::Frame;

/// Whether to go on with the next element of a list.
pub(super) type Flow = ControlFlow<()>;

pub(super) const NEXT: Flow = ControlFlow::Continue(());
pub(super) const ENOUGH: Flow = ControlFlow::Break(());

/// Called for each element of a list.
pub(super) type Visit<'v, 'p> = &'v mut dyn FnMut(&mut Frame<'p>, Value<'p>) -> Flow;

#[derive(Clone, Copy)]
pub(crate) struct Evaluator<'p> {
    pub context: &'p Context<'p>,
    pub functions: &'p [OwnFunction],
    pub budget: &'p Budget,
    /// How messages call what is evaluated.
    pub name: &'p str,
}

impl<'p> Evaluator<'p> {
    fn state(&self) -> &'p HeapState {
        self.context.graph.state
    }

    pub(crate) fn evaluate(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        match &node.op {
            Op::Const(value) => value.borrowed(),
            Op::Variable(slot) => {
                let value = frame.get(*slot);
                frame.used.copied(&value);
                value
            }
            Op::Property(property) => {
                let of = self.evaluate(&node.parts[0], frame);
                self.property(*property, of, frame)
            }
            Op::FieldAt(places) => {
                let of = self.evaluate(&node.parts[0], frame);
                self.field(places, of, frame)
            }
            Op::ByClass(values) => {
                let of = self.evaluate(&node.parts[0], frame);
                match self.class_of(&of) {
                    Some(class) => values[class as usize].borrowed(),
                    None => Value::Null,
                }
            }
            Op::Labelled(labels) => match self.evaluate(&node.parts[0], frame) {
                Value::Object(object) => {
                    let class = self.state().class_id(object);
                    let label = labels.classified.label(object, class);
                    labels.values[label as usize].borrowed()
                }
                _ => Value::Null,
            },
            Op::Referred(referred) => match self.evaluate(&node.parts[0], frame) {
                Value::Object(object) => Value::Bool(referred.holds(object)),
                // Nothing refers to null.
                _ => Value::Bool(referred.holds_for_none()),
            },
            Op::Unary(Unary::Minus) => match self.number(&node.parts[0], frame) {
                Some(number) => Number::Int(0)
                    .combine(number, i64::checked_sub, |a, b| a - b)
                    .into(),
                None => Value::Null,
            },
            Op::Unary(Unary::Not) => Value::Bool(self.holds(node, frame)),
            Op::Binary(operator) => self.binary(*operator, node, frame),
            Op::Choice => {
                let holds = self.holds(&node.parts[0], frame);
                self.evaluate(&node.parts[if holds { 1 } else { 2 }], frame)
            }
            Op::Element => self.element(node, frame),
            Op::Function(function) => self.function(*function, node, frame),
            Op::Each(function, _, spot) => {
                let value = self.list_function(*function, node, frame);
                frame.used.place(spot);
                value
            }
            Op::Path => {
                let parts = node.parts.iter().map(|part| self.evaluate(part, frame));
                Value::Path(parts.collect())
            }
            Op::List => {
                let parts = node.parts.iter().map(|part| self.evaluate(part, frame));
                let items: Vec<Value> = parts.collect();
                let _ = frame.used.make(items.len());
                Value::List(items)
            }
            Op::Call(function, spot) => self.call(node, *function, spot, frame),
            Op::Body => self.body(node, frame),
            Op::Block => self.block(node, frame),
            Op::Let(_)
            | Op::Add(..)
            | Op::For(..)
            | Op::While(_)
            | Op::Break
            | Op::Continue
            | Op::Return => self.statement(node, frame),
            Op::Unknown | Op::Is(_) | Op::Field(_) | Op::Predefined(_) => {
                debug_assert!(false, "linking leaves none of these");
                Value::Null
            }
        }
    }

    /// Whether a condition is true: null and everything else is not.
    pub(crate) fn holds(&self, node: &'p Node, frame: &mut Frame<'p>) -> bool {
        let [a, b] = match (&node.op, node.parts.as_slice()) {
            (Op::Unary(Unary::Not), [of]) => return !self.holds(of, frame),
            (Op::Binary(_), [a, b]) => [a, b],
            _ => {
                let value = self.evaluate(node, frame);
                return self.as_bool(&value, frame);
            }
        };
        match node.op {
            Op::Binary(Binary::And) => self.holds(a, frame) && self.holds(b, frame),
            Op::Binary(Binary::Or) => self.holds(a, frame) || self.holds(b, frame),
            Op::Binary(operator) if operator.is_comparison() => {
                let (a, b) = (self.evaluate(a, frame), self.evaluate(b, frame));
                self.compare(operator, &a, &b, frame)
            }
            _ => false,
        }
    }

    fn binary(&self, operator: Binary, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let arithmetic: fn(Number, Number) -> Option<Number> = match operator {
            Binary::Plus => return self.plus(node, frame),
            Binary::Minus => |a, b| Some(a.combine(b, i64::checked_sub, |a, b| a - b)),
            Binary::Times => |a, b| Some(a.combine(b, i64::checked_mul, |a, b| a * b)),
            Binary::Divide => |a, b| {
                let result = a.combine(b, i64::checked_div, |a, b| a / b);
                (b.float() != 0.0).then_some(result)
            },
            Binary::Remainder => |a, b| {
                let result = a.combine(b, i64::checked_rem, |a, b| a % b);
                (b.float() != 0.0).then_some(result)
            },
            _ => return Value::Bool(self.holds(node, frame)),
        };
        let (a, b) = (
            self.number(&node.parts[0], frame),
            self.number(&node.parts[1], frame),
        );
        let result = a.zip(b).and_then(|(a, b)| arithmetic(a, b));
        result.map_or(Value::Null, Value::from)
    }

    fn plus(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let a = self.evaluate(&node.parts[0], frame);
        let b = self.evaluate(&node.parts[1], frame);
        self.sum(a, b, frame)
    }

    fn compare(&self, operator: Binary, a: &Value, b: &Value, frame: &mut Frame<'p>) -> bool {
        let order = match operator {
            Binary::Equal => return self.equal(a, b, frame),
            Binary::NotEqual => return !self.equal(a, b, frame),
            Binary::Matches => {
                let texts = self.as_text(a, frame).zip(self.as_text(b, frame));
                return texts.is_some_and(|(text, pattern)| wildcard_match(&pattern, &text));
            }
            _ => self.order(a, b, frame),
        };
        order.is_some_and(|order| match operator {
            Binary::Less => order == Ordering::Less,
            Binary::LessEqual => order != Ordering::Greater,
            Binary::Greater => order == Ordering::Greater,
            _ => order != Ordering::Less,
        })
    }

    fn order(&self, a: &Value, b: &Value, frame: &mut Frame<'p>) -> Option<Ordering> {
        if matches!(a, Value::Text(_)) || matches!(b, Value::Text(_)) {
            return Some(self.as_text(a, frame)?.cmp(&self.as_text(b, frame)?));
        }
        self.as_number(a, frame)?
            .partial_cmp(&self.as_number(b, frame)?)
    }

    fn equal(&self, a: &Value, b: &Value, frame: &mut Frame<'p>) -> bool {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) => a == b,
            (Value::Text(_), _) | (_, Value::Text(_)) => {
                let texts = self.as_text(a, frame).zip(self.as_text(b, frame));
                texts.is_some_and(|(a, b)| a == b)
            }
            (Value::Int(_) | Value::Float(_), _) | (_, Value::Int(_) | Value::Float(_)) => {
                let numbers = self.as_number(a, frame).zip(self.as_number(b, frame));
                numbers.is_some_and(|(a, b)| a == b)
            }
            (Value::Bool(flag), Value::Object(object))
            | (Value::Object(object), Value::Bool(flag)) => {
                self.boxed(*object, frame) == Value::Bool(*flag)
            }
            (Value::List(a), Value::List(b)) | (Value::Path(a), Value::Path(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b, frame))
            }
            (a, b) => a == b,
        }
    }

    fn number(&self, node: &'p Node, frame: &mut Frame<'p>) -> Option<Number> {
        let value = self.evaluate(node, frame);
        self.as_number(&value, frame)
    }

    pub(super) fn as_number(&self, value: &Value, frame: &mut Frame<'p>) -> Option<Number> {
        match value {
            Value::Int(number) => Some(Number::Int(*number)),
            Value::Float(number) => Some(Number::Float(*number)),
            Value::Object(object) => match self.boxed(*object, frame) {
                Value::Int(number) => Some(Number::Int(number)),
                Value::Float(number) => Some(Number::Float(number)),
                _ => None,
            },
            _ => None,
        }
    }

    fn as_bool(&self, value: &Value, frame: &mut Frame<'p>) -> bool {
        match value {
            Value::Bool(value) => *value,
            Value::Object(object) => self.boxed(*object, frame) == Value::Bool(true),
            _ => false,
        }
    }

    fn as_text<'v>(&self, value: &'v Value, frame: &mut Frame<'p>) -> Option<Cow<'v, str>> {
        match value {
            Value::Text(text) => Some(Cow::Borrowed(text)),
            Value::Object(object) => self.text(*object, frame).map(Cow::Owned),
            _ => None,
        }
    }

    /// How a value is shown as a key: strings of the heap in quotes.
    pub(crate) fn key(&self, value: &Value, frame: &mut Frame<'p>) -> String {
        match value {
            Value::Object(object) if !self.is_enum(*object) => match self.text(*object, frame) {
                Some(text) => format!("{text:?}"),
                None => self.context.object_name(*object),
            },
            other => self.show(other, frame),
        }
    }

    fn is_enum(&self, object: ObjectId) -> bool {
        let class = self.state().class_id(object);
        self.context.enum_name(class).is_some()
    }

    /// The same as [`Self::show`], without copying what is a text already.
    pub(super) fn into_text(self, value: Value, frame: &mut Frame<'p>) -> String {
        match value {
            Value::Text(text) => text.into_owned(),
            other => self.show(&other, frame),
        }
    }

    /// A value as part of a text.
    pub(crate) fn show(&self, value: &Value, frame: &mut Frame<'p>) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => text.clone().into_owned(),
            Value::Object(object) => match self.text(*object, frame) {
                Some(text) => text,
                None => self.context.object_name(*object),
            },
            Value::OfClass(class) => self.state().classes()[*class as usize].name.clone(),
            Value::List(items) | Value::Path(items) => {
                let shown: Vec<String> = items.iter().map(|item| self.show(item, frame)).collect();
                shown.join(", ")
            }
        }
    }
}
