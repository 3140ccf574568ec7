//! Functions of texts, numbers and lists.

use anthill_heap::package_of;
use rustc_hash::FxHashSet;

use super::objects::simple_name;
use super::{ENOUGH, Evaluator, Flow, Frame, NEXT, Visit};
use crate::language::functions::{Function, Property};
use crate::language::node::{Node, Op};
use crate::language::value::{Number, Value};

impl<'p> Evaluator<'p> {
    /// The elements of a list one by one, without making the list where that can be avoided.
    pub(in crate::language) fn each(
        &self,
        list: &'p Node,
        frame: &mut Frame<'p>,
        visit: Visit<'_, 'p>,
    ) -> Flow {
        match &list.op {
            Op::Property(
                property @ (Property::References | Property::Referrers | Property::Elements),
            ) => match self.evaluate(&list.parts[0], frame) {
                Value::Object(object) => self.each_of(*property, object, frame, visit),
                _ => NEXT,
            },
            Op::Each(Function::Filter, slot, spot) => {
                let body = &list.parts[1];
                let flow = self.each(&list.parts[0], frame, &mut |frame, item| {
                    frame.set(*slot, item.clone());
                    if self.holds(body, frame) {
                        visit(frame, item)
                    } else {
                        NEXT
                    }
                });
                frame.used.place(spot);
                flow
            }
            Op::Each(Function::Map, slot, spot) => {
                let body = &list.parts[1];
                let flow = self.each(&list.parts[0], frame, &mut |frame, item| {
                    frame.set(*slot, item);
                    let mapped = self.evaluate(body, frame);
                    visit(frame, mapped)
                });
                frame.used.place(spot);
                flow
            }
            Op::Function(Function::Range) => {
                let bounds = (
                    self.number(&list.parts[0], frame),
                    self.number(&list.parts[1], frame),
                );
                match bounds {
                    (Some(Number::Int(start)), Some(Number::Int(end))) => (start..end)
                        .try_for_each(|number| {
                            self.visited(frame)?;
                            visit(frame, Value::Int(number))
                        }),
                    _ => NEXT,
                }
            }
            _ => match self.evaluate(list, frame) {
                Value::List(items) => items.into_iter().try_for_each(|item| {
                    self.visited(frame)?;
                    visit(frame, item)
                }),
                _ => NEXT,
            },
        }
    }

    /// Functions of lists with a test or a mapping.
    pub(super) fn list_function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let Op::Each(_, slot, _) = node.op else {
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
                let flow = frame.used.keep(&item);
                items.push(item);
                flow
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

    pub(super) fn function(
        &self,
        function: Function,
        node: &'p Node,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
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
                    let bytes = text.len() + between.len();
                    texts.push(text);
                    frame.used.make_text(bytes)?;
                    frame.used.make(1)
                });
                if frame.used.stop.is_some() {
                    return Value::Null;
                }
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
        let mut objects = FxHashSet::default();
        let _ = self.each(list, frame, &mut |frame, item| {
            let new = match item {
                Value::Object(object) => objects.insert(object),
                _ => !items.iter().any(|known| self.equal(known, &item, frame)),
            };
            if !new {
                return NEXT;
            }
            let flow = frame.used.keep(&item);
            items.push(item);
            flow
        });
        Value::List(items)
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
