//! Expressions evaluated for all objects: once for each class as far as the class decides, the
//! rest object by object, in parallel.

use std::sync::Arc;

use anthill_heap::{BitSet, Buffer, ClassId, ObjectId};
use rayon::prelude::*;

use crate::builtin::{Asked, Context};
use crate::error::Error;
use crate::language::{
    Budget, Evaluator, Expression, Frame, Function, Linker, Node, Op, OwnFunction, Property, Stop,
    Value,
};
use crate::referred::Referred;
use crate::scalar_labels::{ScalarLabels, key};
use crate::values::{Assignment, Classified, LabelId, NO_PATH, Values};

/// Objects from which on it pays to share work; tests share the work on small heaps too.
const SMALLEST_SHARE: usize = if cfg!(test) { 4 } else { 4096 };

/// How often it is looked whether anybody still wants the result.
const CHECK_EVERY: usize = 1 << 16;

/// The key of an empty list.
const NOTHING: &str = "(none)";

/// An expression for each class of a heap.
pub(crate) struct Compiled {
    by_class: Vec<Node>,
    functions: Vec<OwnFunction>,
    budget: Budget,
    /// How messages call it.
    name: String,
}

/// What expressions ask that is computed for all objects at once.
#[derive(Default)]
struct Needs {
    referrers: bool,
    in_degrees: bool,
    roots: bool,
    referred: Vec<Arc<Referred>>,
}

impl Needs {
    fn add(&mut self, node: &Node) {
        match &node.op {
            Op::Property(Property::Referrers) => self.referrers = true,
            Op::Property(Property::InDegree) => self.in_degrees = true,
            Op::Property(Property::Rooted | Property::Roots) | Op::Function(Function::RootedBy) => {
                self.roots = true
            }
            Op::Referred(referred) if !self.has(referred) => self.referred.push(referred.clone()),
            _ => {}
        }
        node.parts.iter().for_each(|part| self.add(part));
    }

    fn has(&self, wanted: &Arc<Referred>) -> bool {
        let mut known = self.referred.iter();
        known.any(|referred| Arc::ptr_eq(referred, wanted))
    }
}

/// Which objects slots belong to: those from `first` on, and only those of a group are filled.
#[derive(Clone, Copy)]
struct Places<'g> {
    first: ObjectId,
    group: Option<&'g BitSet>,
}

/// Lists of objects one after the other: how long each is, and the objects.
type Lists = (Vec<u32>, Vec<ObjectId>);

impl Compiled {
    pub(crate) fn evaluator<'p>(&'p self, context: &'p Context<'p>) -> Evaluator<'p> {
        Evaluator {
            context,
            functions: &self.functions,
            budget: &self.budget,
            name: &self.name,
        }
    }

    fn is_by_class(&self) -> bool {
        self.by_class.iter().all(|node| node.as_const().is_some())
    }
}

impl Context<'_> {
    pub(crate) fn compile(&self, expression: &Expression) -> Result<Compiled, Error> {
        let linker = Linker::new(self);
        let ready = |node: &Node| -> Result<Node, Error> {
            Ok(linker.tabulate(linker.link(node.clone())?))
        };
        let node = ready(expression.node())?;
        let functions = expression.functions().iter().map(|function| {
            let body = ready(&function.body)?;
            Ok(OwnFunction {
                body,
                ..function.clone()
            })
        });
        let compiled = Compiled {
            by_class: linker.by_class(&node),
            functions: functions.collect::<Result<_, Error>>()?,
            budget: Budget::for_objects(self.graph.state.len()),
            name: expression.source().to_owned(),
        };
        let calls = |node: &Node| node.contains(&|node| matches!(node.op, Op::Call(..)));
        self.prepare(&linker, &compiled, &compiled.by_class)?;
        if compiled.by_class.iter().any(calls) {
            let bodies = compiled.functions.iter().map(|function| &function.body);
            let bodies: Vec<Node> = bodies.cloned().collect();
            self.prepare(&linker, &compiled, &bodies)?;
        }
        Ok(compiled)
    }

    /// Computes what all threads will ask for before they do.
    fn prepare(&self, linker: &Linker, compiled: &Compiled, nodes: &[Node]) -> Result<(), Error> {
        let mut needs = Needs::default();
        nodes.iter().for_each(|node| needs.add(node));
        for referred in needs.referred {
            let by_class = linker.by_class(&referred.condition);
            self.prepare(linker, compiled, &by_class)?;
            referred.compute(&compiled.evaluator(self), &by_class)?;
        }
        if needs.referrers {
            self.all_referrers();
        }
        if needs.in_degrees {
            self.in_degrees();
        }
        if needs.roots {
            self.root_kinds(0);
        }
        Ok(())
    }

    /// The values of an expression as keys, of the objects of a group.
    pub(crate) fn by_expression(
        &self,
        expression: &Expression,
        asked: Asked,
    ) -> Result<Classified, Error> {
        let compiled = self.compile(expression)?;
        if compiled.is_by_class() {
            let mut keys = Keys::new(self, &compiled);
            let classes = 0..self.graph.state.classes().len() as ClassId;
            let labels = classes.map(|class| keys.of_class(class)).collect();
            return Ok(Classified {
                values: keys.scalars.values,
                of: Assignment::ByClass(labels),
            });
        }
        let mut labels = Buffer::zeroed(self.graph.state.len() as usize);
        let shares = self.in_shares(&mut labels, |first, slots| {
            let mut keys = Keys::new(self, &compiled);
            // What is not evaluated keeps the label 0.
            keys.scalars.values.label(Vec::new());
            let group = asked.group;
            let places = Places { first, group };
            self.by_objects(&compiled, places, slots, |class, value, frame| {
                let label = match value {
                    None => keys.of_class(class),
                    Some(value) => keys.label(value, frame),
                };
                asked.check(keys.scalars.values.distinct_paths())?;
                Ok(label)
            })?;
            Ok(keys.scalars.values)
        })?;
        let values = merge(&mut labels, shares, asked)?;
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    /// Objects of a group for which the expression holds stay where they are, others are in no
    /// group.
    pub(crate) fn by_filter(
        &self,
        expression: &Expression,
        group: Option<&BitSet>,
    ) -> Result<Classified, Error> {
        let compiled = self.compile(expression)?;
        let mut values = Values::default();
        let (out, stay) = (values.label(Vec::new()), values.label(vec![NO_PATH]));
        let decided = |node: &Node| {
            let value = node.as_const()?;
            Some(if *value == Value::Bool(true) {
                stay
            } else {
                out
            })
        };
        let decided: Vec<Option<LabelId>> = compiled.by_class.iter().map(decided).collect();
        if compiled.is_by_class() {
            let labels = decided.into_iter().map(|label| label.unwrap_or(out));
            let of = Assignment::ByClass(labels.collect());
            return Ok(Classified { values, of });
        }
        let mut labels = Buffer::zeroed(self.graph.state.len() as usize);
        self.in_shares(&mut labels, |first, slots| {
            let evaluator = compiled.evaluator(self);
            let mut frame = Frame::new(self);
            let places = Places { first, group };
            self.each_object(places, slots, |object, class| {
                if let Some(label) = decided[class as usize] {
                    return Ok(label);
                }
                frame.visit(Value::Object(object));
                let holds = evaluator.holds(&compiled.by_class[class as usize], &mut frame);
                evaluator.check(&frame, object)?;
                Ok(if holds { stay } else { out })
            })
        })?;
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    /// Labels of the objects of a group, made in parallel; others are in no group.
    pub(crate) fn by_labels<C>(
        &self,
        asked: Asked,
        begin: impl Fn() -> C + Sync,
        label: impl Fn(&mut C, &mut ScalarLabels, ObjectId, ClassId) -> LabelId + Sync,
    ) -> Result<Classified, Error> {
        let mut labels = Buffer::zeroed(self.graph.state.len() as usize);
        let shares = self.in_shares(&mut labels, |first, slots| {
            let (mut scalars, mut own) = (ScalarLabels::default(), begin());
            // What is outside of the group keeps the label 0.
            scalars.values.label(Vec::new());
            let group = asked.group;
            self.each_object(Places { first, group }, slots, |object, class| {
                let label = label(&mut own, &mut scalars, object, class);
                asked.check(scalars.values.distinct_paths())?;
                Ok(label)
            })?;
            Ok(scalars.values)
        })?;
        let values = merge(&mut labels, shares, asked)?;
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    /// The objects that the expression leads to from each of some objects, in shares.
    pub(crate) fn objects_by_expression(
        &self,
        compiled: &Compiled,
        from: std::ops::Range<ObjectId>,
    ) -> Result<Vec<Lists>, Error> {
        let mut counts = vec![0; from.len()];
        self.in_shares(&mut counts, |first, slots| {
            let mut objects = Vec::new();
            let places = Places {
                first: from.start + first,
                group: None,
            };
            self.by_objects(compiled, places, slots, |class, value, _| {
                let constant = compiled.by_class[class as usize].as_const();
                let before = objects.len();
                if let Some(value) = value.or_else(|| constant.map(Value::borrowed)) {
                    collect_objects(value, &mut objects);
                }
                Ok((objects.len() - before) as u32)
            })?;
            Ok((slots.to_vec(), objects))
        })
    }

    /// Shares the objects among the threads: each share gets its first object and its slots.
    fn in_shares<T: Send, S: Send>(
        &self,
        slots: &mut [S],
        work: impl Fn(ObjectId, &mut [S]) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let share = share(slots.len());
        self.progress
            .stage("evaluating expressions", slots.len() as u64);
        slots
            .par_chunks_mut(share)
            .enumerate()
            .map(|(index, slots)| work((index * share) as ObjectId, slots))
            .collect()
    }

    /// Fills the slots of some objects.
    fn each_object<S>(
        &self,
        Places { first, group }: Places,
        slots: &mut [S],
        mut value: impl FnMut(ObjectId, ClassId) -> Result<S, Error>,
    ) -> Result<(), Error> {
        let classes: &[u32] = &self.graph.state.columns.classes;
        let classes = &classes[first as usize..];
        let mut object = first;
        for (slots, classes) in slots
            .chunks_mut(CHECK_EVERY)
            .zip(classes.chunks(CHECK_EVERY))
        {
            self.progress.check()?;
            for (slot, &class) in slots.iter_mut().zip(classes) {
                if group.is_none_or(|group| group.contains(object)) {
                    *slot = value(object, class)?;
                }
                object += 1;
            }
            self.progress.advance(classes.len().min(slots.len()) as u64);
        }
        Ok(())
    }

    /// Fills the slots of some objects from the value of an expression, or from `None` for
    /// objects whose class decides it.
    fn by_objects<'p, S>(
        &'p self,
        compiled: &'p Compiled,
        places: Places,
        slots: &mut [S],
        mut use_value: impl FnMut(ClassId, Option<Value<'p>>, &mut Frame<'p>) -> Result<S, Error>,
    ) -> Result<(), Error> {
        let evaluator = compiled.evaluator(self);
        let mut frame = Frame::new(self);
        self.each_object(places, slots, |object, class| {
            let node = &compiled.by_class[class as usize];
            if node.as_const().is_some() {
                return use_value(class, None, &mut frame);
            }
            frame.visit(Value::Object(object));
            let value = evaluator.evaluate(node, &mut frame);
            evaluator.check(&frame, object)?;
            use_value(class, Some(value), &mut frame)
        })
    }
}

impl Evaluator<'_> {
    /// Whether an object could be evaluated within the limits.
    pub(crate) fn check(&self, frame: &Frame, object: ObjectId) -> Result<(), Error> {
        let (spot, reason) = match frame.stopped() {
            None => return Ok(()),
            Some(Stop::Cancelled) => return Err(Error::Cancelled),
            Some(Stop::Limit(spot, reason)) => (spot, reason),
        };
        let reason = format!("{reason}, at {}", self.context.object_name(object));
        Err(match spot {
            Some(spot) => Error::Stopped(spot.show(&reason)),
            None => Error::Step {
                step: self.name.to_owned(),
                reason,
            },
        })
    }
}

fn collect_objects(value: Value, objects: &mut Vec<ObjectId>) {
    match value {
        Value::Object(object) => objects.push(object),
        Value::List(items) => items
            .into_iter()
            .for_each(|item| collect_objects(item, objects)),
        _ => {}
    }
}

/// Makes labels of values, remembering those of plain ones.
struct Keys<'p> {
    evaluator: Evaluator<'p>,
    compiled: &'p Compiled,
    scalars: ScalarLabels,
    by_class: Vec<Option<LabelId>>,
}

impl<'p> Keys<'p> {
    fn new(context: &'p Context<'p>, compiled: &'p Compiled) -> Self {
        Keys {
            evaluator: compiled.evaluator(context),
            compiled,
            scalars: ScalarLabels::default(),
            by_class: vec![None; compiled.by_class.len()],
        }
    }

    /// The label of a class that decides the value.
    fn of_class(&mut self, class: ClassId) -> LabelId {
        if let Some(label) = self.by_class[class as usize] {
            return label;
        }
        let value = self.compiled.by_class[class as usize].as_const();
        let value = value.map_or(Value::Null, Value::borrowed);
        let mut frame = Frame::new(self.evaluator.context);
        let label = self.label(value, &mut frame);
        self.by_class[class as usize] = Some(label);
        label
    }

    fn label(&mut self, value: Value, frame: &mut Frame<'p>) -> LabelId {
        match value {
            Value::Int(number) => self.scalars.number(number),
            Value::Bool(truth) => self.scalars.truth(truth),
            Value::Text(text) => self.scalars.text(&text),
            other => {
                let mut paths = Vec::new();
                self.paths(&other, frame, &mut paths);
                if paths.is_empty() {
                    // An object is not lost because there is nothing to say about it.
                    paths.push(vec![NOTHING.to_owned()]);
                }
                let values = &mut self.scalars.values;
                let paths = paths
                    .iter()
                    .map(|keys| values.path(keys.iter().map(|text| key(text))))
                    .collect();
                values.label(paths)
            }
        }
    }

    /// The paths of a value: one for each element of a list.
    fn paths(&self, value: &Value, frame: &mut Frame<'p>, paths: &mut Vec<Vec<String>>) {
        match value {
            Value::List(items) => items.iter().for_each(|item| self.paths(item, frame, paths)),
            Value::Path(items) => {
                let mut keys = Vec::new();
                items
                    .iter()
                    .for_each(|item| self.keys(item, frame, &mut keys));
                paths.push(keys);
            }
            plain => paths.push(vec![self.evaluator.key(plain, frame)]),
        }
    }

    /// The keys of a part of a path: a list stands for several.
    fn keys(&self, value: &Value, frame: &mut Frame<'p>, keys: &mut Vec<String>) {
        match value {
            Value::List(items) | Value::Path(items) => {
                items.iter().for_each(|item| self.keys(item, frame, keys));
            }
            plain => keys.push(self.evaluator.key(plain, frame)),
        }
    }
}

/// How many objects a share of the work has.
fn share(objects: usize) -> usize {
    let share = objects.div_ceil(rayon::current_num_threads() * 4);
    share.max(SMALLEST_SHARE)
}

/// One set of values for the shares, whose labels are renumbered.
fn merge(labels: &mut [LabelId], shares: Vec<Values>, asked: Asked) -> Result<Values, Error> {
    let mut merged = Values::default();
    let mut renumbered: Vec<Vec<LabelId>> = Vec::new();
    for values in &shares {
        let labels = 0..values.labels() as LabelId;
        renumbered.push(labels.map(|label| merged.adopt(values, label)).collect());
        asked.check(merged.distinct_paths())?;
    }
    labels
        .par_chunks_mut(share(labels.len()))
        .zip(renumbered)
        .for_each(|(labels, numbers)| {
            for label in labels {
                *label = numbers[*label as usize];
            }
        });
    Ok(merged)
}
