//! What objects have: properties, fields, elements, texts.

use anthill_heap::{ClassId, ClassKind, FieldType, ObjectId, Value as Stored, package_of};
use anthill_hprof::FieldPlace;

use super::{Evaluator, Flow, Frame, NEXT, Visit};
use crate::builtin::kind_of;
use crate::language::functions::Property;
use crate::language::node::Node;
use crate::language::value::{Number, Value};

impl<'p> Evaluator<'p> {
    /// The value in an `Integer`, `Boolean` and the like.
    pub(super) fn boxed(&self, object: ObjectId, frame: &mut Frame<'p>) -> Value<'p> {
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
    pub(super) fn text(&self, object: ObjectId, frame: &mut Frame<'p>) -> Option<String> {
        let state = self.state();
        if let Some(place) = self.context.enum_name(state.class_id(object)) {
            let Value::Object(name) = self.stored_field(object, place, frame) else {
                return None;
            };
            return self.string(name, frame);
        }
        self.string(object, frame)
    }

    fn string(&self, object: ObjectId, frame: &mut Frame<'p>) -> Option<String> {
        let state = self.state();
        let text = frame.text(state, object);
        if text.is_none()
            && !self.context.records.has_contents()
            && state.class(object).name == "java.lang.String"
        {
            frame.used.not_recorded();
        }
        text
    }

    pub(super) fn stored_field(
        &self,
        object: ObjectId,
        place: FieldPlace,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let stored = frame.cursor(object).field(self.state(), object, place);
        self.read(stored, place.ty, frame)
    }

    /// An element of an array.
    fn stored_element(&self, array: ObjectId, index: u32, frame: &mut Frame<'p>) -> Value<'p> {
        let state = self.state();
        let stored = frame.cursor(array).element(state, array, index);
        match state.class(array).kind {
            ClassKind::Array(element) if state.detail(array) > index => {
                self.read(stored, element, frame)
            }
            _ => Value::Null,
        }
    }

    /// What was read of a value of some type.
    fn read(&self, stored: Option<Stored>, ty: FieldType, frame: &mut Frame<'p>) -> Value<'p> {
        if stored.is_none() && !self.context.records.has(ty) {
            frame.used.not_recorded();
        }
        stored.map_or(Value::Null, |stored| self.stored(stored))
    }

    pub(super) fn stored(&self, value: Stored) -> Value<'p> {
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
            Stored::NotRecorded(_) => Value::Null,
        }
    }

    pub(super) fn class_of(&self, value: &Value) -> Option<ClassId> {
        match value {
            Value::Object(object) => Some(self.state().class_id(*object)),
            Value::OfClass(class) => Some(*class),
            _ => None,
        }
    }

    pub(super) fn field(
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

    pub(super) fn element(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
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
            Value::Object(array) => self.stored_element(array, index, frame),
            _ => Value::Null,
        }
    }

    /// What all objects of a class have in common, as far as the class alone decides it.
    pub(crate) fn of_class(&self, property: Property, class: ClassId) -> Option<Value<'p>> {
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
                Some(element) => Value::text(element.keyword()),
                None => Value::Null,
            },
            Property::FieldTypes => {
                let classes = self.state().superclasses(class);
                let fields =
                    classes.flat_map(|class| &self.state().classes()[class as usize].fields);
                Value::List(
                    fields
                        .map(|field| Value::text(field.ty.keyword()))
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

    pub(super) fn property(
        &self,
        property: Property,
        of: Value<'p>,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
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
            Property::OutDegree => Value::Int(self.context.out_degree(object) as i64),
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
    pub(super) fn each_of(
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
                    self.visited(frame)?;
                    visit(frame, Value::Object(from))?;
                }
            }
            Property::Elements => {
                let length = state.array_length(object).unwrap_or(0);
                frame.used.array(length);
                for index in 0..length {
                    self.visited(frame)?;
                    let value = self.stored_element(object, index, frame);
                    visit(frame, value)?;
                }
            }
            _ => {
                for to in graph.referenced(object).filter(|&to| to < state.len()) {
                    self.visited(frame)?;
                    visit(frame, Value::Object(to))?;
                }
            }
        }
        NEXT
    }
}

/// The name of a class without its package and the classes around it.
pub(super) fn simple_name(name: &str) -> &str {
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
