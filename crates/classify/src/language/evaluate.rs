//! Evaluates expressions for one object after the other.
//!
//! What a value does not have is null, and null counts as false, so that evaluation cannot fail, but
//! it is stopped when it takes too long or too much memory.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::ControlFlow;

use anthill_heap::{
    ClassId, ClassKind, FieldType, HeapState, ObjectId, Value as Stored, package_of,
};
use anthill_hprof::{Cursor, FieldPlace};

use super::functions::{Function, Property};
use super::node::{CURRENT, Node, Op, OwnFunction};
use super::parser::{Binary, Unary};
use super::run::{Budget, Leaving, Stop, Used};
use super::value::{Number, Value};
use crate::builtin::{Context, kind_of};
use crate::pattern::matches;

/// What changes from object to object.
pub struct Frame<'p> {
    slots: Vec<Value<'p>>,
    /// The slots of the function that is called come after this one.
    base: usize,
    pub(super) leaving: Leaving<'p>,
    pub(super) used: Used,
    /// For the object that is classified: they come in ascending order.
    here: Cursor<'p>,
    /// For other objects.
    there: Cursor<'p>,
    /// For the arrays of strings.
    arrays: Cursor<'p>,
}

impl<'p> Frame<'p> {
    pub fn new(context: &'p Context) -> Self {
        Frame {
            slots: vec![Value::Null],
            base: 0,
            leaving: Leaving::Not,
            used: Used::default(),
            here: context.records.cursor(),
            there: context.records.cursor(),
            arrays: context.records.cursor(),
        }
    }

    /// Goes on to another object, or to any object of a class.
    pub fn visit(&mut self, object: Value<'p>) {
        self.slots.truncate(1);
        self.slots[CURRENT] = object;
        self.base = 0;
        self.used.begin();
    }

    /// Why the evaluation was stopped, if it was.
    pub fn stopped(&self) -> Option<&Stop> {
        self.used.stop.as_ref()
    }

    fn cursor(&mut self, object: ObjectId) -> &mut Cursor<'p> {
        if self.slots[CURRENT] == Value::Object(object) {
            &mut self.here
        } else {
            &mut self.there
        }
    }

    /// Where a slot is: there is one object that is classified, whatever function is called.
    fn index(&self, slot: usize) -> usize {
        if slot == CURRENT {
            CURRENT
        } else {
            self.base + slot
        }
    }

    pub fn set(&mut self, slot: usize, value: Value<'p>) {
        let index = self.index(slot);
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Value::Null);
        }
        self.slots[index] = value;
    }

    fn get(&self, slot: usize) -> Value<'p> {
        let value = self.slots.get(self.index(slot));
        value.cloned().unwrap_or(Value::Null)
    }

    pub(super) fn take(&mut self, slot: usize) -> Value<'p> {
        let index = self.index(slot);
        let value = self.slots.get_mut(index);
        value.map_or(Value::Null, std::mem::take)
    }

    /// Begins a function with these arguments; gives what [`Frame::leave`] needs.
    pub(super) fn enter(&mut self, arguments: Vec<Value<'p>>) -> (usize, usize) {
        let outer = (self.base, self.slots.len());
        self.base = self.slots.len() - 1;
        self.slots.extend(arguments);
        outer
    }

    pub(super) fn leave(&mut self, (base, slots): (usize, usize)) {
        self.base = base;
        self.slots.truncate(slots);
    }
}

/// Whether to go on with the next element of a list.
pub(super) type Flow = ControlFlow<()>;

pub(super) const NEXT: Flow = ControlFlow::Continue(());
pub(super) const ENOUGH: Flow = ControlFlow::Break(());

/// Called for each element of a list.
pub(super) type Visit<'v, 'p> = &'v mut dyn FnMut(&mut Frame<'p>, Value<'p>) -> Flow;

#[derive(Clone, Copy)]
pub struct Evaluator<'p> {
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

    pub fn evaluate(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        match &node.op {
            Op::Const(value) => value.borrowed(),
            Op::Variable(slot) => frame.get(*slot),
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
            Op::Each(function, _) => self.list_function(*function, node, frame),
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
    pub fn holds(&self, node: &'p Node, frame: &mut Frame<'p>) -> bool {
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
                return texts.is_some_and(|(text, pattern)| matches(&pattern, &text));
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

    /// The value in an `Integer`, `Boolean` and the like.
    fn boxed(&self, object: ObjectId, frame: &mut Frame<'p>) -> Value<'p> {
        const BOXES: [&str; 8] = [
            "Boolean",
            "Character",
            "Byte",
            "Short",
            "Integer",
            "Long",
            "Float",
            "Double",
        ];
        let class = self.state().class_id(object);
        let name = &self.state().classes()[class as usize].name;
        let simple = name.strip_prefix("java.lang.");
        if !simple.is_some_and(|name| BOXES.contains(&name)) {
            return Value::Null;
        }
        match self
            .context
            .records
            .field_place(self.state(), class, "value")
        {
            Some(place) => self.stored_field(object, place, frame),
            None => Value::Null,
        }
    }

    /// The text of a string, the name of an enum constant.
    fn text(&self, object: ObjectId, frame: &mut Frame<'p>) -> Option<String> {
        let state = self.state();
        if let Some(place) = self.context.enum_name(state.class_id(object)) {
            let Value::Object(name) = self.stored_field(object, place, frame) else {
                return None;
            };
            let Frame { there, arrays, .. } = frame;
            return there.text(arrays, state, name, usize::MAX);
        }
        let current = frame.slots[CURRENT] == Value::Object(object);
        let Frame {
            here,
            there,
            arrays,
            ..
        } = frame;
        let cursor = if current { here } else { there };
        cursor.text(arrays, state, object, usize::MAX)
    }

    fn stored_field(
        &self,
        object: ObjectId,
        place: FieldPlace,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let stored = frame.cursor(object).field(self.state(), object, place);
        stored.map_or(Value::Null, |stored| self.stored(stored))
    }

    fn stored(&self, value: Stored) -> Value<'p> {
        match value {
            Stored::Object(address) => match self.state().addresses.find(address) {
                Some(object) => Value::Object(object),
                None => Value::Null,
            },
            Stored::Boolean(value) => Value::Bool(value),
            Stored::Char(unit) => {
                let c = char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
                Value::Text(c.to_string().into())
            }
            Stored::Float(value) => Value::Float(value.into()),
            Stored::Double(value) => Value::Float(value),
            Stored::Byte(value) => Value::Int(value.into()),
            Stored::Short(value) => Value::Int(value.into()),
            Stored::Int(value) => Value::Int(value.into()),
            Stored::Long(value) => Value::Int(value),
        }
    }

    fn class_of(&self, value: &Value) -> Option<ClassId> {
        match value {
            Value::Object(object) => Some(self.state().class_id(*object)),
            Value::OfClass(class) => Some(*class),
            _ => None,
        }
    }

    fn field(
        &self,
        places: &[Option<FieldPlace>],
        of: Value<'p>,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let Value::Object(object) = of else {
            return Value::Null;
        };
        match places[self.state().class_id(object) as usize] {
            Some(place) => self.stored_field(object, place, frame),
            None => Value::Null,
        }
    }

    fn element(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let of = self.evaluate(&node.parts[0], frame);
        let index = match self.number(&node.parts[1], frame) {
            Some(Number::Int(index)) => u32::try_from(index).ok(),
            _ => None,
        };
        let Some(index) = index else {
            return Value::Null;
        };
        match of {
            Value::List(items) => items.into_iter().nth(index as usize).unwrap_or(Value::Null),
            Value::Object(array) => {
                let stored = frame.cursor(array).element(self.state(), array, index);
                stored.map_or(Value::Null, |stored| self.stored(stored))
            }
            _ => Value::Null,
        }
    }

    /// What all objects of a class have in common, as far as the class alone decides it.
    pub fn of_class(&self, property: Property, class: ClassId) -> Option<Value<'p>> {
        let described = &self.state().classes()[class as usize];
        let array = match described.kind {
            ClassKind::Array(element) => Some(element),
            _ => None,
        };
        let no_array = array.is_none();
        Some(match property {
            Property::Type => Value::text(&described.name),
            Property::Package => Value::text(described.package()),
            Property::SimpleName => Value::text(simple_name(&described.name)),
            Property::Superclass => match described.super_class {
                Some(class) => Value::text(&self.state().classes()[class as usize].name),
                None => Value::Null,
            },
            Property::Superclasses => {
                let above = self.state().superclasses(class).skip(1);
                let names = above.map(|class| self.state().classes()[class as usize].name.as_str());
                Value::List(names.map(Value::text).collect())
            }
            Property::Loader => Value::Text(self.context.loader_name(class).into()),
            Property::IsArray => Value::Bool(array.is_some()),
            Property::ElementType => match array {
                Some(element) => Value::text(element.java_name()),
                None => Value::Null,
            },
            Property::FieldTypes => {
                let classes = self.state().superclasses(class);
                let fields =
                    classes.flat_map(|class| &self.state().classes()[class as usize].fields);
                Value::List(
                    fields
                        .map(|field| Value::text(field.ty.java_name()))
                        .collect(),
                )
            }
            Property::ReferenceSize => Value::Int(self.context.graph.reference_size().into()),
            Property::Length if no_array => Value::Null,
            Property::Elements if no_array => Value::List(Vec::new()),
            Property::Kind if no_array => Value::text(kind_of(None)),
            Property::Size if described.kind == ClassKind::Instance => {
                Value::Int(self.context.graph.size_of(class, 0) as i64)
            }
            Property::OutDegree if array.is_some_and(|element| element != FieldType::Object) => {
                Value::Int(0)
            }
            Property::References if array.is_some_and(|element| element != FieldType::Object) => {
                Value::List(Vec::new())
            }
            Property::Text
                if described.name != "java.lang.String"
                    && self.context.enum_name(class).is_none() =>
            {
                Value::Null
            }
            _ => return None,
        })
    }

    fn property(&self, property: Property, of: Value<'p>, frame: &mut Frame<'p>) -> Value<'p> {
        if property.is_of_class() {
            let class = self.class_of(&of);
            let value = class.and_then(|class| self.of_class(property, class));
            return value.unwrap_or(Value::Null);
        }
        let Value::Object(object) = of else {
            return Value::Null;
        };
        let state = self.state();
        let dominators = self.context.dominators;
        match property {
            Property::Length => state.array_length(object).map(i64::from).into(),
            Property::Kind => Value::text(kind_of(state.array_length(object))),
            Property::Size => Value::Int(self.context.graph.size(object) as i64),
            Property::Retained => Value::Int(dominators.retained(object) as i64),
            Property::Address => Value::Int(state.addresses.address(object) as i64),
            Property::Reachable => Value::Bool(dominators.is_reachable(object)),
            Property::Rooted => Value::Bool(!self.context.root_kinds(object).is_empty()),
            Property::Roots => {
                let kinds = self.context.root_kinds(object).iter();
                Value::List(kinds.map(|&kind| Value::text(kind)).collect())
            }
            Property::InDegree => Value::Int(self.context.in_degrees()[object as usize].into()),
            Property::OutDegree => Value::Int(state.references(object).len() as i64),
            Property::Text => match self.text(object, frame) {
                Some(text) => Value::Text(text.into()),
                None => Value::Null,
            },
            Property::Dominator => match dominators.immediate[object as usize] {
                above if above < state.len() => Value::Object(above),
                _ => Value::Null,
            },
            Property::References | Property::Referrers | Property::Elements => {
                let mut items = Vec::new();
                let _ = self.each_of(property, object, frame, &mut |frame, item| {
                    items.push(item);
                    frame.used.make(1)
                });
                Value::List(items)
            }
            Property::Type
            | Property::Package
            | Property::SimpleName
            | Property::Superclass
            | Property::Superclasses
            | Property::Loader
            | Property::IsArray
            | Property::ElementType
            | Property::FieldTypes
            | Property::ReferenceSize => Value::Null,
        }
    }

    /// The elements of a property that is a list of objects or values.
    fn each_of(
        &self,
        property: Property,
        object: ObjectId,
        frame: &mut Frame<'p>,
        visit: Visit<'_, 'p>,
    ) -> Flow {
        let graph = self.context.graph;
        let state = self.state();
        match property {
            Property::Referrers => {
                for &from in self.context.referrers(object) {
                    visit(frame, Value::Object(from))?;
                }
            }
            Property::Elements => {
                for index in 0..state.array_length(object).unwrap_or(0) {
                    let stored = frame.cursor(object).element(state, object, index);
                    visit(
                        frame,
                        stored.map_or(Value::Null, |stored| self.stored(stored)),
                    )?;
                }
            }
            _ => {
                for to in graph.referenced(object).filter(|&to| to < state.len()) {
                    visit(frame, Value::Object(to))?;
                }
            }
        }
        NEXT
    }

    /// The elements of a list one by one, without making the list where that can be avoided.
    pub(super) fn each(&self, list: &'p Node, frame: &mut Frame<'p>, visit: Visit<'_, 'p>) -> Flow {
        match &list.op {
            Op::Property(
                property @ (Property::References | Property::Referrers | Property::Elements),
            ) => match self.evaluate(&list.parts[0], frame) {
                Value::Object(object) => self.each_of(*property, object, frame, visit),
                _ => NEXT,
            },
            Op::Each(Function::Filter, slot) => {
                let body = &list.parts[1];
                self.each(&list.parts[0], frame, &mut |frame, item| {
                    frame.set(*slot, item.clone());
                    if self.holds(body, frame) {
                        visit(frame, item)
                    } else {
                        NEXT
                    }
                })
            }
            Op::Each(Function::Map, slot) => {
                let body = &list.parts[1];
                self.each(&list.parts[0], frame, &mut |frame, item| {
                    frame.set(*slot, item);
                    let mapped = self.evaluate(body, frame);
                    visit(frame, mapped)
                })
            }
            Op::Function(Function::Range) => {
                let bounds = (
                    self.number(&list.parts[0], frame),
                    self.number(&list.parts[1], frame),
                );
                match bounds {
                    (Some(Number::Int(start)), Some(Number::Int(end))) => {
                        (start..end).try_for_each(|number| visit(frame, Value::Int(number)))
                    }
                    _ => NEXT,
                }
            }
            _ => match self.evaluate(list, frame) {
                Value::List(items) => items.into_iter().try_for_each(|item| visit(frame, item)),
                _ => NEXT,
            },
        }
    }

    /// Functions of lists with a test or a mapping.
    fn list_function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let Op::Each(_, slot) = node.op else {
            return Value::Null;
        };
        let [list, body] = node.parts.as_slice() else {
            return Value::Null;
        };
        let mut items = Vec::new();
        let mut count = 0;
        let mut found = false;
        let _ = match function {
            Function::Filter | Function::Map => self.each(node, frame, &mut |frame, item| {
                items.push(item);
                frame.used.make(1)
            }),
            _ => self.each(list, frame, &mut |frame, item| {
                frame.set(slot, item);
                let holds = self.holds(body, frame);
                count += i64::from(holds);
                match function {
                    Function::Any if holds => found = true,
                    Function::All if !holds => found = true,
                    Function::First if holds => items.push(frame.get(slot)),
                    _ => return NEXT,
                }
                ENOUGH
            }),
        };
        match function {
            Function::Any => Value::Bool(found),
            Function::All => Value::Bool(!found),
            Function::Count => Value::Int(count),
            Function::First => items.pop().unwrap_or(Value::Null),
            _ => Value::List(items),
        }
    }

    fn function(&self, function: Function, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        use Function::*;
        match function {
            LesserOf | GreaterOf | Absolute | Bucket | Floor => {
                self.number_function(function, node, frame)
            }
            Count | First | Last | Sum | Least | Most | Distinct | Has | Join => {
                self.plain_list_function(function, node, frame)
            }
            Range => {
                let mut items = Vec::new();
                let _ = self.each(node, frame, &mut |frame, item| {
                    items.push(item);
                    frame.used.make(1)
                });
                Value::List(items)
            }
            RootedBy => {
                let of = self.evaluate(&node.parts[0], frame);
                let kind = self.evaluate(&node.parts[1], frame);
                let kind = self.as_text(&kind, frame);
                match (of, kind) {
                    (Value::Object(object), Some(kind)) => {
                        Value::Bool(self.context.root_kinds(object).contains(&&*kind))
                    }
                    _ => Value::Bool(false),
                }
            }
            _ => self.text_function(function, node, frame),
        }
    }

    fn text_function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let value = self.evaluate(&node.parts[0], frame);
        let Some(text) = self.as_text(&value, frame) else {
            return Value::Null;
        };
        let owned = |text: &str| Value::Text(text.to_owned().into());
        if function == Function::Substring {
            return self.substring(&text, node, frame);
        }
        let argument = node.parts.get(1).map(|part| self.evaluate(part, frame));
        let other = argument
            .as_ref()
            .and_then(|argument| self.as_text(argument, frame));
        match (function, &other) {
            (Function::TextLength, _) => Value::Int(text.chars().count() as i64),
            (Function::PackageOf, _) => owned(package_of(&text)),
            (Function::SimpleNameOf, _) => owned(simple_name(&text)),
            (Function::Lower, _) => Value::Text(text.to_lowercase().into()),
            (Function::Upper, _) => Value::Text(text.to_uppercase().into()),
            (Function::Trim, _) => owned(text.trim()),
            (Function::Contains, Some(other)) => Value::Bool(text.contains(&**other)),
            (Function::StartsWith, Some(other)) => Value::Bool(text.starts_with(&**other)),
            (Function::EndsWith, Some(other)) => Value::Bool(text.ends_with(&**other)),
            (Function::Split, Some(other)) if !other.is_empty() => {
                let parts: Vec<Value> = text.split(&**other).map(owned).collect();
                let _ = frame.used.make(parts.len());
                Value::List(parts)
            }
            _ => Value::Null,
        }
    }

    fn substring(&self, text: &str, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let mut bound = |index: usize, default: usize| match node.parts.get(index) {
            None => Some(default),
            Some(part) => match self.number(part, frame)? {
                Number::Int(number) => usize::try_from(number.max(0)).ok(),
                Number::Float(_) => None,
            },
        };
        match (bound(1, 0), bound(2, usize::MAX)) {
            (Some(start), Some(end)) => {
                let part = text.chars().skip(start).take(end.saturating_sub(start));
                Value::Text(part.collect::<String>().into())
            }
            _ => Value::Null,
        }
    }

    fn number_function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let Some(number) = self.number(&node.parts[0], frame) else {
            return Value::Null;
        };
        let other = node.parts.get(1).and_then(|part| self.number(part, frame));
        match (function, other) {
            (Function::LesserOf, Some(other)) if other < number => other.into(),
            (Function::GreaterOf, Some(other)) if other > number => other.into(),
            (Function::LesserOf | Function::GreaterOf, Some(_)) => number.into(),
            (Function::Absolute, _) => match number {
                Number::Int(int) => int.checked_abs().into(),
                Number::Float(float) => Value::Float(float.abs()),
            },
            (Function::Bucket, _) => bucket(number).into(),
            (Function::Floor, _) => match number {
                Number::Int(int) => Value::Int(int),
                Number::Float(float) => Value::Int(float.floor() as i64),
            },
            _ => Value::Null,
        }
    }

    /// Functions of lists without a test.
    fn plain_list_function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let list = &node.parts[0];
        match function {
            Function::Count => {
                let mut count = 0;
                let _ = self.each(list, frame, &mut |_, _| {
                    count += 1;
                    NEXT
                });
                Value::Int(count)
            }
            Function::First | Function::Last => {
                let mut found = Value::Null;
                let _ = self.each(list, frame, &mut |_, item| {
                    found = item;
                    if function == Function::First {
                        ENOUGH
                    } else {
                        NEXT
                    }
                });
                found
            }
            Function::Distinct => self.distinct(list, frame),
            Function::Has => {
                let wanted = self.evaluate(&node.parts[1], frame);
                let mut found = false;
                let _ = self.each(list, frame, &mut |frame, item| {
                    found = self.equal(&item, &wanted, frame);
                    if found { ENOUGH } else { NEXT }
                });
                Value::Bool(found)
            }
            Function::Join => {
                let between = self.evaluate(&node.parts[1], frame);
                let between = self.show(&between, frame);
                let mut texts = Vec::new();
                let _ = self.each(list, frame, &mut |frame, item| {
                    let text = self.show(&item, frame);
                    frame.used.make_text(&text);
                    texts.push(text);
                    frame.used.make(1)
                });
                Value::Text(texts.join(&between).into())
            }
            _ => self.fold_numbers(function, list, frame),
        }
    }

    fn fold_numbers(&self, function: Function, list: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let mut total: Option<Number> = None;
        let _ = self.each(list, frame, &mut |frame, item| {
            let Some(number) = self.as_number(&item, frame) else {
                return NEXT;
            };
            total = Some(match (total, function) {
                (None, _) => number,
                (Some(total), Function::Sum) => {
                    total.combine(number, i64::checked_add, |a, b| a + b)
                }
                (Some(total), Function::Least) if total < number => total,
                (Some(total), Function::Most) if total > number => total,
                _ => number,
            });
            NEXT
        });
        match total {
            Some(total) => total.into(),
            None if function == Function::Sum => Value::Int(0),
            None => Value::Null,
        }
    }

    fn distinct(&self, list: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let mut items: Vec<Value> = Vec::new();
        let mut objects = rustc_hash::FxHashSet::default();
        let _ = self.each(list, frame, &mut |frame, item| {
            let new = match item {
                Value::Object(object) => objects.insert(object),
                _ => !items.iter().any(|known| self.equal(known, &item, frame)),
            };
            if new {
                items.push(item);
            }
            frame.used.make(usize::from(new))
        });
        Value::List(items)
    }

    /// How a value is shown as a key: strings of the heap in quotes.
    pub fn key(&self, value: &Value, frame: &mut Frame<'p>) -> String {
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

    /// A value as part of a text.
    pub fn show(&self, value: &Value, frame: &mut Frame<'p>) -> String {
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

/// The least power of two that is not less; 0 for what is not positive.
fn bucket(number: Number) -> Option<i64> {
    let least = match number {
        Number::Int(int) => int,
        Number::Float(float) => float.ceil() as i64,
    };
    match u64::try_from(least) {
        Err(_) | Ok(0) => Some(0),
        Ok(least) => i64::try_from(least.checked_next_power_of_two()?).ok(),
    }
}

/// The name of a class without its package and the classes around it.
fn simple_name(name: &str) -> &str {
    let package = package_of(name);
    let rest = name[package.len()..].trim_start_matches('.');
    let last = rest.rfind('$').map_or(rest, |dollar| &rest[dollar + 1..]);
    // What the compiler named itself has nothing but a number after the dollar.
    if last.trim_end_matches("[]").is_empty() || last.starts_with(|c: char| c.is_ascii_digit()) {
        rest
    } else {
        last
    }
}
