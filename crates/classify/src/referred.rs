//! `referrers.any(r => …)` and `referrers.all(r => …)` whose condition is about the referrer only:
//! one pass over all references, from those that refer, instead of a list of referrers per object.

use std::sync::{Arc, OnceLock};

use anthill_heap::{BitSet, ObjectId};
use rayon::prelude::*;

use crate::error::Error;
use crate::language::{CURRENT, Evaluator, Frame, Function, Node, Op, Property, Value};

/// What holds of an object if a condition holds for any, or for all, of its referrers.
pub(crate) struct Referred {
    all: bool,
    /// About the object in the first slot.
    pub condition: Node,
    /// The objects that a referrer refers to for which the condition holds; or, if it must for all,
    /// does not.
    objects: OnceLock<BitSet>,
}

impl Referred {
    /// The same as a test of all elements of a list, if it can be had so.
    pub(crate) fn of(node: &Node) -> Option<Node> {
        let &Op::Each(function @ (Function::Any | Function::All), slot, _) = &node.op else {
            return None;
        };
        let [list, condition] = node.parts.as_slice() else {
            return None;
        };
        let referrers = matches!(list.op, Op::Property(Property::Referrers));
        let outer = |part: &Node| matches!(part.op, Op::Variable(found) if found < slot);
        if !referrers || condition.contains(&outer) {
            return None;
        }
        let referred = Referred {
            all: function == Function::All,
            condition: condition.with_slot(slot, CURRENT),
            objects: OnceLock::new(),
        };
        Some(Node::new(
            Op::Referred(Arc::new(referred)),
            list.parts.clone(),
        ))
    }

    pub(crate) fn holds(&self, object: ObjectId) -> bool {
        let objects = self.objects.get();
        objects.is_some_and(|objects| objects.contains(object)) != self.all
    }

    /// Whether it holds for what has no referrers.
    pub(crate) fn holds_for_none(&self) -> bool {
        self.all
    }

    /// Computes it for all objects, unless that is done.
    pub(crate) fn compute(&self, evaluator: &Evaluator, by_class: &[Node]) -> Result<(), Error> {
        if self.objects.get().is_none() {
            let found = referred_from(evaluator, by_class, self.all)?;
            let _ = self.objects.set(found);
        }
        Ok(())
    }
}

/// The objects that reachable objects refer to for which the condition holds, or does not.
fn referred_from(evaluator: &Evaluator, by_class: &[Node], unless: bool) -> Result<BitSet, Error> {
    let context = evaluator.context;
    let objects = context.graph.state.len();
    let decided: Vec<Option<bool>> = by_class
        .iter()
        .map(|node| node.as_const().map(|value| *value == Value::Bool(true)))
        .collect();
    let classes: &[u32] = &context.graph.state.columns.classes;
    let share = (objects as usize).div_ceil(rayon::current_num_threads() * 4);
    let found = classes
        .par_chunks(share.max(1))
        .enumerate()
        .map(|(index, classes)| {
            context.progress.check()?;
            let mut frame = Frame::new(context);
            let mut found = BitSet::new(objects as usize);
            for (&class, from) in classes.iter().zip((index * share) as ObjectId..) {
                let holds = match decided[class as usize] {
                    Some(holds) => holds,
                    None => {
                        frame.visit(Value::Object(from));
                        let holds = evaluator.holds(&by_class[class as usize], &mut frame);
                        evaluator.check(&frame, from)?;
                        holds
                    }
                };
                if holds != unless && context.dominators.is_reachable(from) {
                    let to = context.graph.referenced(from);
                    to.filter(|&to| to < objects)
                        .for_each(|to| found.insert(to));
                }
            }
            Ok(found)
        });
    found.try_reduce(
        || BitSet::new(objects as usize),
        |mut all, found| {
            all.union_with(&found);
            Ok(all)
        },
    )
}
