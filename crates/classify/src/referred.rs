//! `referrers.any(r => …)` and `referrers.all(r => …)` whose condition is about the referrer only:
//! one pass over all references, from those that refer, instead of a list of referrers per object.

use std::sync::{Arc, OnceLock};

use anthill_heap::{BitSet, Cancelled, ObjectId};
use rayon::prelude::*;

use crate::builtin::Context;
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
    pub fn of(node: &Node) -> Option<Node> {
        let &Op::Each(function @ (Function::Any | Function::All), slot) = &node.op else {
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

    pub fn holds(&self, object: ObjectId) -> bool {
        let objects = self.objects.get();
        objects.is_some_and(|objects| objects.contains(object)) != self.all
    }

    /// Whether it holds for what has no referrers.
    pub fn holds_for_none(&self) -> bool {
        self.all
    }

    /// Computes it for all objects, unless that is done.
    pub fn compute(&self, context: &Context, by_class: &[Node]) -> Result<(), Cancelled> {
        if self.objects.get().is_none() {
            let found = context.referred_from(by_class, self.all)?;
            let _ = self.objects.set(found);
        }
        Ok(())
    }
}

impl Context<'_> {
    /// The objects that reachable objects refer to for which the condition holds, or does not.
    fn referred_from(&self, by_class: &[Node], unless: bool) -> Result<BitSet, Cancelled> {
        let objects = self.graph.state.len();
        let decided: Vec<Option<bool>> = by_class
            .iter()
            .map(|node| node.as_const().map(|value| *value == Value::Bool(true)))
            .collect();
        let classes: &[u32] = &self.graph.state.columns.classes;
        let share = (objects as usize).div_ceil(rayon::current_num_threads() * 4);
        let found = classes
            .par_chunks(share.max(1))
            .enumerate()
            .map(|(index, classes)| {
                self.progress.check()?;
                let evaluator = Evaluator { context: self };
                let mut frame = Frame::new(self);
                let mut found = BitSet::new(objects as usize);
                for (&class, from) in classes.iter().zip((index * share) as ObjectId..) {
                    let holds = decided[class as usize].unwrap_or_else(|| {
                        frame.visit(Value::Object(from));
                        evaluator.holds(&by_class[class as usize], &mut frame)
                    });
                    if holds != unless && self.dominators.is_reachable(from) {
                        let to = self.graph.referenced(from);
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
}
