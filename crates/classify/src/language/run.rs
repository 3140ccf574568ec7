//! Runs the statements of scripts, and keeps everything that is evaluated within limits.

use std::mem;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::evaluate::{ENOUGH, Evaluator, Flow, Frame, NEXT};
use super::node::{Node, Op, Spot};
use super::value::{Number, Value};

/// Loops and calls for one object; tests need not wait for so many.
const MOST_STEPS: u64 = if cfg!(test) { 2_000_000 } else { 20_000_000 };

/// Loops and calls for all objects: this many for each on average, or so many for a small heap.
const AVERAGE_STEPS: u64 = 1_000;
const LEAST_BUDGET: u64 = 200_000_000;

/// Elements of lists that are looked at or copied for one object, besides going a few times through
/// the longest array that it comes to.
const MOST_VISITS: u64 = if cfg!(test) { 4_000_000 } else { 60_000_000 };
const ROUNDS_OF_ARRAY: u64 = 4;

/// After how many of those it is looked whether to go on; each counts as a step for all objects.
const CHECK_VISITS: u64 = 1 << 16;

/// Elements of lists, and pieces of texts, that are made for one object.
const MOST_CELLS: usize = if cfg!(test) { 400_000 } else { 8_000_000 };

/// Bytes of an element.
const CELL: usize = 32;

/// How often a text is there while it is used to make another one.
const COPIES: usize = 3;

/// Levels of nodes in all functions that are waiting for one another: each takes some stack.
const DEEPEST_CALLS: usize = 600;

/// Steps after which others are told of them.
const SETTLE_EVERY: u64 = 1 << 20;

/// Why an evaluation was stopped.
#[derive(Clone)]
pub(crate) enum Stop {
    Cancelled,
    /// With the place, where it is known.
    Limit(Option<Arc<Spot>>, String),
}

/// Steps that may be taken for all objects together.
pub(crate) struct Budget {
    spent: AtomicU64,
    most: u64,
}

impl Budget {
    pub(crate) fn for_objects(objects: u32) -> Self {
        Budget {
            spent: AtomicU64::new(0),
            most: LEAST_BUDGET.max(u64::from(objects) * AVERAGE_STEPS),
        }
    }
}

/// How a block was left.
#[derive(Default)]
pub(super) enum Leaving<'p> {
    #[default]
    Not,
    Break,
    Continue,
    Return(Value<'p>),
}

/// What was used up for an object, and whether that was too much.
#[derive(Default)]
pub(super) struct Used {
    steps: u64,
    unsettled: u64,
    visits: u64,
    /// When it is to be looked whether to go on.
    check_at: u64,
    /// Elements of the longest array that was gone through.
    longest_array: u64,
    cells: usize,
    depth: usize,
    pub stop: Option<Stop>,
}

impl Used {
    /// Another object begins.
    pub(super) fn begin(&mut self) {
        self.steps = 0;
        self.visits = 0;
        self.check_at = CHECK_VISITS;
        self.longest_array = 0;
        self.cells = 0;
        self.depth = 0;
    }

    fn stop(&mut self, spot: Option<&Arc<Spot>>, reason: String) {
        self.end(Stop::Limit(spot.cloned(), reason));
    }

    /// A value was needed that the recording does not have.
    pub(super) fn not_recorded(&mut self) {
        let reason = "stopped because a value was needed that was not recorded; \
                      a recording with contents has it";
        self.stop(None, reason.to_owned());
    }

    /// From now on every element and every step finds that there is nothing more to do.
    fn end(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
        self.check_at = 0;
    }

    /// Elements or texts were made.
    pub(super) fn make(&mut self, cells: usize) -> Flow {
        self.cells += cells;
        if self.cells <= MOST_CELLS {
            return NEXT;
        }
        let reason = format!(
            "stopped because lists and texts of one object took more than {} MB",
            MOST_CELLS * CELL / 1_000_000
        );
        self.stop(None, reason);
        ENOUGH
    }

    /// A value was copied.
    pub(super) fn copied(&mut self, value: &Value) {
        self.visits += match value {
            Value::List(items) | Value::Path(items) => items.len() as u64,
            Value::Text(text) => (text.len() / CELL) as u64,
            _ => 0,
        };
    }

    /// A text of so many bytes is about to be made.
    pub(super) fn make_text(&mut self, bytes: usize) -> Flow {
        self.make(bytes.saturating_mul(COPIES) / CELL)
    }

    /// A value becomes an element of a list.
    pub(super) fn keep(&mut self, value: &Value) -> Flow {
        self.make(match value {
            Value::Text(text) => 1 + text.len() / CELL,
            Value::List(items) | Value::Path(items) => 1 + items.len(),
            _ => 1,
        })
    }

    /// An array is gone through.
    pub(super) fn array(&mut self, length: u32) {
        self.longest_array = self.longest_array.max(length.into());
    }

    fn most_visits(&self) -> u64 {
        MOST_VISITS + ROUNDS_OF_ARRAY * self.longest_array
    }
}

impl<'p> Evaluator<'p> {
    /// A step of a loop, or a call.
    fn step(&self, frame: &mut Frame<'p>, spot: &Arc<Spot>) -> Flow {
        let used = &mut frame.used;
        used.unsettled += 1;
        used.steps += 1;
        if used.unsettled >= SETTLE_EVERY || used.visits >= used.check_at {
            self.settle(used, Some(spot));
        }
        match used.stop {
            None => NEXT,
            Some(_) => ENOUGH,
        }
    }

    /// An element of a list is looked at.
    #[inline]
    pub(super) fn visited(&self, frame: &mut Frame<'p>) -> Flow {
        let used = &mut frame.used;
        used.visits += 1;
        if used.visits < used.check_at {
            return NEXT;
        }
        self.settle(used, None);
        match used.stop {
            None => NEXT,
            Some(_) => ENOUGH,
        }
    }

    /// Looks whether to go on.
    fn settle(&self, used: &mut Used, spot: Option<&Arc<Spot>>) {
        if used.stop.is_some() {
            return;
        }
        if used.visits >= used.check_at {
            used.unsettled += used.visits + CHECK_VISITS - used.check_at;
            used.check_at = used.visits + CHECK_VISITS;
        }
        let steps = mem::take(&mut used.unsettled);
        let spent = self.budget.spent.fetch_add(steps, Ordering::Relaxed) + steps;
        let most = self.budget.most;
        let reason = if self.context.progress.cancelled() {
            return used.end(Stop::Cancelled);
        } else if used.steps > MOST_STEPS {
            format!("stopped after {MOST_STEPS} steps for one object")
        } else if used.visits > used.most_visits() {
            format!(
                "stopped after looking at {} elements of lists for one object",
                used.most_visits()
            )
        } else if spent > most {
            format!("stopped after {most} steps for all objects together")
        } else {
            return;
        };
        used.stop(spot, reason);
    }

    pub(super) fn body(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let outer = mem::take(&mut frame.leaving);
        let value = self.evaluate(&node.parts[0], frame);
        match mem::replace(&mut frame.leaving, outer) {
            Leaving::Return(value) => value,
            _ => value,
        }
    }

    pub(super) fn block(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        let mut value = Value::Null;
        for statement in &node.parts {
            value = self.evaluate(statement, frame);
            if !matches!(frame.leaving, Leaving::Not) || frame.used.stop.is_some() {
                return Value::Null;
            }
        }
        value
    }

    pub(super) fn call(
        &self,
        node: &'p Node,
        function: usize,
        spot: &Arc<Spot>,
        frame: &mut Frame<'p>,
    ) -> Value<'p> {
        let function = &self.functions[function];
        let arguments = node.parts.iter().map(|part| self.evaluate(part, frame));
        let arguments: Vec<Value> = arguments.collect();
        if self.step(frame, spot).is_break() {
            return Value::Null;
        }
        if frame.used.depth + function.height > DEEPEST_CALLS {
            let reason = "stopped because functions call each other too deeply".to_owned();
            frame.used.stop(Some(spot), reason);
            return Value::Null;
        }
        frame.used.depth += function.height;
        let outer = frame.enter(arguments);
        let value = self.evaluate(&function.body, frame);
        frame.leave(outer);
        frame.used.depth -= function.height;
        value
    }

    pub(super) fn statement(&self, node: &'p Node, frame: &mut Frame<'p>) -> Value<'p> {
        match &node.op {
            Op::Let(slot) => {
                let value = self.evaluate(&node.parts[0], frame);
                frame.set(*slot, value);
            }
            Op::Add(slot, spot) => {
                let value = self.evaluate(&node.parts[0], frame);
                self.add(*slot, value, spot, frame);
            }
            Op::For(slot, spot) => {
                let body = &node.parts[1];
                let _ = self.each(&node.parts[0], frame, &mut |frame, item| {
                    self.step(frame, spot)?;
                    frame.set(*slot, item);
                    self.evaluate(body, frame);
                    after_round(frame)
                });
            }
            Op::While(spot) => {
                while self.holds(&node.parts[0], frame) && self.step(frame, spot).is_continue() {
                    self.evaluate(&node.parts[1], frame);
                    if after_round(frame).is_break() {
                        break;
                    }
                }
            }
            Op::Break => frame.leaving = Leaving::Break,
            Op::Continue => frame.leaving = Leaving::Continue,
            _ => {
                let value = self.evaluate(&node.parts[0], frame);
                frame.leaving = Leaving::Return(value);
            }
        }
        Value::Null
    }

    /// Adds to what is in a slot, in place where it is a list.
    fn add(&self, slot: usize, value: Value<'p>, spot: &Arc<Spot>, frame: &mut Frame<'p>) {
        match frame.take(slot) {
            Value::List(mut items) => {
                if frame.used.keep(&value).is_continue() {
                    items.push(value);
                } else {
                    frame.used.place(spot);
                }
                frame.set(slot, Value::List(items));
            }
            before => {
                let sum = self.sum(before, value, frame);
                frame.set(slot, sum);
            }
        }
    }

    /// Numbers added, texts joined.
    pub(super) fn sum(&self, a: Value<'p>, b: Value<'p>, frame: &mut Frame<'p>) -> Value<'p> {
        if matches!(a, Value::Text(_)) || matches!(b, Value::Text(_)) {
            let (mut text, more) = (self.into_text(a, frame), self.into_text(b, frame));
            if frame.used.make_text(text.len() + more.len()).is_break() {
                return Value::Null;
            }
            text += &more;
            return Value::Text(text.into());
        }
        let numbers = self.as_number(&a, frame).zip(self.as_number(&b, frame));
        match numbers {
            Some((a, b)) => Number::combine(a, b, i64::checked_add, |a, b| a + b).into(),
            None => Value::Null,
        }
    }
}

impl Used {
    /// Says where it was stopped, if that is not known.
    pub(super) fn place(&mut self, at: &Arc<Spot>) {
        if let Some(Stop::Limit(spot @ None, _)) = &mut self.stop {
            *spot = Some(at.clone());
        }
    }
}

/// Whether a loop goes on after its body.
fn after_round(frame: &mut Frame) -> Flow {
    if frame.used.stop.is_some() {
        return ENOUGH;
    }
    match frame.leaving {
        Leaving::Not => NEXT,
        Leaving::Continue => {
            frame.leaving = Leaving::Not;
            NEXT
        }
        Leaving::Break => {
            frame.leaving = Leaving::Not;
            ControlFlow::Break(())
        }
        Leaving::Return(_) => ENOUGH,
    }
}

#[cfg(test)]
mod tests {
    use anthill_heap::HeapBuilder;

    use crate::brute_force::{on_random_heaps, said, with_context};
    use crate::{Assignment, Classified, Context, Definitions, Error};

    fn small_heap() -> HeapBuilder {
        let mut heap = HeapBuilder::new();
        heap.objects("a b c", "Item", 16);
        heap.object("list", "List", 24);
        heap.array("table", "Item[]", 4);
        heap.edges("list -> table, table -> a b c, a -> b, b -> a");
        heap.root("list");
        heap
    }

    fn level(context: &Context, definitions: &str, steps: &str) -> Result<Classified, Error> {
        let mut all = Definitions::default();
        all.add("test", definitions).unwrap();
        let mut levels = context.levels(&all.steps(steps).unwrap())?;
        Ok(levels.remove(0))
    }

    fn keys(context: &Context, definitions: &str, steps: &str) -> Vec<String> {
        let Classified { values, of } = level(context, definitions, steps).unwrap();
        let level = Classified { values, of };
        let state = context.graph.state;
        let keys = (0..state.len()).map(|object| {
            let label = level.label(object, state.class_id(object));
            let paths = level.values.paths(label).iter();
            let keys = paths.flat_map(|&path| level.values.keys_of(path));
            let keys: Vec<&str> = keys.map(|key| level.values.key_text(key)).collect();
            keys.join(" ")
        });
        keys.collect()
    }

    #[test]
    fn scripts_loop_branch_and_call() {
        with_context(&small_heap().build(), |context| {
            let sizes =
                "{ let n = 0; for r in references { if r.is_array { continue } n += r.size } n }";
            // Two items each hold one of 16 bytes, the table three; the list only the table.
            assert_eq!(keys(context, "", sizes), ["16", "16", "0", "0", "48"]);
            let first = "{ for r in references { for s in r.references { if s == object { break } return 1 } } 2 }";
            assert_eq!(keys(context, "", first), ["2", "2", "2", "1", "1"]);
            let depth = "function depth(o, left) {
                             if left == 0 { return 0; }
                             let deepest = 0;
                             for r in o.references {
                                 let d = 1 + depth(r, left - 1);
                                 if d > deepest { deepest = d }
                             }
                             return deepest;
                         }
                         classifier depth-of = depth(object, 3)";
            // a and b refer to each other, so their depth ends at the limit.
            assert_eq!(keys(context, depth, "depth-of"), ["3", "3", "0", "3", "3"]);
            let many = "{ let all = []; let n = 3; while n > 1 { n = n - 1; all += 'k' + n } all }";
            assert_eq!(keys(context, "", many)[0], "k2 k1");
            assert_eq!(keys(context, "", "{ if size > 16 { size } }")[3], "null");
        });
    }

    #[test]
    fn the_deepest_nesting_fits_on_the_stack() {
        with_context(&small_heap().build(), |context| {
            let levels = 95;
            let opening: String = (0..levels)
                .map(|level| format!("x{level}.references.all(x{} => ", level + 1))
                .collect();
            let nested = format!("{opening}true{}", ")".repeat(levels));
            let nested = nested.replacen("x0", "object", 1);
            assert_eq!(keys(context, "", &nested)[0], "true");
            let ifs = "if size > 0 { ".repeat(195);
            let sum = format!("0{}", " + size".repeat(195));
            let nested = format!("{{ {ifs} return {sum}; {} }}", "}".repeat(195));
            assert_eq!(keys(context, "", &nested)[0], (195 * 16).to_string());
        });
    }

    #[test]
    fn what_the_class_decides_in_a_script_is_decided_once() {
        with_context(&small_heap().build(), |context| {
            let script = "{ if is_array { return 'array' } else if type == 'List' { return 'list' } 'other' }";
            let Classified { of, .. } = level(context, "", script).unwrap();
            assert!(matches!(of, Assignment::ByClass(_)));
            let expected = ["other", "other", "other", "list", "array"];
            assert_eq!(keys(context, "", script), expected);
        });
    }

    #[test]
    fn a_script_for_collection_health_says_what_the_predefined_one_says() {
        let script = "{
            if is_array { return type.ends_with('[][]') || !primitives.has(type) ? 'array' : 'contained' }
            for r in references { if r.type == type { return 'entry' } }
            for r in references {
                if r.is_array { return 'head' }
                for s in r.references { if s.type == r.type { return 'head' } }
            }
            'contained'
        }"
        .replace("primitives", "['int[]']");
        on_random_heaps(|context, seed| {
            // The referent of a reference object is among its references only if it is kept.
            if context.graph.state.columns.referents.is_empty() && !context.graph.convention.mat {
                let expected = said(context, "collection-health");
                assert_eq!(said(context, &script), expected, "seed {seed}");
            }
        });
    }

    #[test]
    fn what_never_ends_or_grows_is_stopped_and_says_where() {
        with_context(&small_heap().build(), |context| {
            let message = |definitions: &str, steps: &str| {
                level(context, definitions, steps)
                    .err()
                    .unwrap()
                    .to_string()
            };
            let endless = "# Endless.\nfilter endless {\n  while true { }\n}";
            let shown = message(endless, "endless");
            let place = "test, line 3, column 3: stopped after 2000000 steps for one object, at ";
            let line = "\n    while true { }\n    ^";
            assert!(shown.starts_with(place) && shown.ends_with(line), "{shown}");
            let recursive = "function f(n) = f(n + 1)\nclassifier deep = f(size)";
            let shown = message(recursive, "deep");
            assert!(shown.starts_with("test, line 1, column 17: stopped because functions"));
            let through_lists = "function g(o) = o.references.map(r => [g(r)][0]).count\n\
                                 classifier deep = g(object)";
            let shown = message(through_lists, "deep");
            assert!(shown.contains("stopped because functions"), "{shown}");
            let list = message("", "{ let all = []; while true { all += 1 } }");
            assert!(
                list.contains("column 30: stopped because lists and texts"),
                "{list}"
            );
            let nested = "references.any(a => range(0, 1_000_000_000).any(b => b < 0))";
            let shown = message("", nested);
            assert!(
                shown.contains("elements of lists for one object, at"),
                "{shown}"
            );
            assert!(shown.contains("column 49"), "{shown}");
            let again = "range(0, 1_000_000).map(x => range(0, 1_000_000).count).sum";
            let begun = std::time::Instant::now();
            let shown = message("", again);
            assert!(shown.contains("column 25: stopped after"), "{shown}");
            // The inner list is not begun again and again.
            assert!(begun.elapsed().as_secs() < 60);
            let kept = message(
                "",
                "{ let t = range(0, 9999).join('-'); range(0, 999).map(x => t) }",
            );
            assert!(
                kept.contains("column 55: stopped because lists and texts"),
                "{kept}"
            );
            let copies = "{ let all = range(0, 1000).map(x => x); while true { let b = all; } }";
            let shown = message("", copies);
            assert!(shown.contains("stopped after"), "{shown}");
            let text = message("", "{ let t = 'x'; while true { t = t + t } t }");
            assert!(
                text.contains("lists and texts of one object took more than"),
                "{text}"
            );
        });
    }
}
