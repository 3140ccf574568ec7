//! Transformers: an object stands for other objects, whose classification becomes its own.

use anthill_graph::UNREACHABLE;
use anthill_heap::Buffer;
use rustc_hash::FxHashMap;

use crate::builtin::Context;
use crate::catalog::What;
use crate::values::{Assignment, Classified, LabelId, Values};

impl Context<'_> {
    /// Several levels as one: paths of the first continued by paths of the second, and so on.
    pub(crate) fn join(&self, levels: Vec<Classified>) -> Classified {
        let mut levels = levels.into_iter();
        let first = levels.next().unwrap_or_else(|| Classified {
            values: Values::default(),
            of: Assignment::ByClass(Vec::new()),
        });
        levels.fold(first, |outer, inner| self.join_two(outer, inner))
    }

    fn join_two(&self, outer: Classified, inner: Classified) -> Classified {
        let mut values = Values::default();
        let mut known: FxHashMap<(LabelId, LabelId), LabelId> = FxHashMap::default();
        let classes: &[u32] = &self.graph.state.columns.classes;
        let mut joined = |object: u32, class: u32| {
            let pair = (outer.label(object, class), inner.label(object, class));
            *known.entry(pair).or_insert_with(|| {
                let mut paths = Vec::new();
                for &first in outer.values.paths(pair.0) {
                    for &second in inner.values.paths(pair.1) {
                        let of = |values: &Values, path| -> Vec<String> {
                            values
                                .keys_of(path)
                                .into_iter()
                                .map(|key| values.key_text(key).to_owned())
                                .collect()
                        };
                        let keys = [of(&outer.values, first), of(&inner.values, second)].concat();
                        paths.push(values.path(keys.iter().map(String::as_str)));
                    }
                }
                values.label(paths)
            })
        };
        let of = match (&outer.of, &inner.of) {
            (Assignment::ByClass(by_class), Assignment::ByClass(_)) => Assignment::ByClass(
                (0..by_class.len() as u32)
                    .map(|class| joined(0, class))
                    .collect(),
            ),
            _ => {
                let labels = classes
                    .iter()
                    .zip(0..)
                    .map(|(&class, object)| joined(object, class));
                Assignment::ByObject(Buffer::collect(classes.len(), labels))
            }
        };
        Classified { values, of }
    }

    /// What `after` says about the objects an object is turned into.
    pub(crate) fn transform(&self, what: What, after: Classified) -> Classified {
        let state = self.graph.state;
        let classes: &[u32] = &state.columns.classes;
        let label = |object: u32| after.label(object, classes[object as usize]);
        let mut sets = LabelSets::new(after.values_with_mark(mark(what)), what);
        let mut result = Buffer::filled(classes.len(), sets.nothing);
        let slots: &mut [LabelId] = &mut result;
        match what {
            What::PointedFrom => {
                for from in (0..state.len()).filter(|&from| self.dominators.is_reachable(from)) {
                    let label = label(from);
                    for to in self.graph.referenced(from).filter(|&to| to < state.len()) {
                        slots[to as usize] = sets.add(slots[to as usize], label);
                    }
                }
            }
            What::Dominator => {
                for (slot, &above) in slots.iter_mut().zip(self.dominators.immediate.iter()) {
                    if above < UNREACHABLE && above < state.len() {
                        *slot = sets.add(*slot, label(above));
                    }
                }
            }
            _ => {
                for (slot, from) in slots.iter_mut().zip(0..) {
                    for to in self.graph.referenced(from).filter(|&to| to < state.len()) {
                        *slot = sets.add(*slot, label(to));
                    }
                }
            }
        }
        Classified {
            values: sets.values,
            of: Assignment::ByObject(result),
        }
    }
}

/// What stands before the keys of transformed objects.
fn mark(what: What) -> &'static str {
    match what {
        What::PointedFrom => "← ",
        What::Dominator => "kept by ",
        _ => "→ ",
    }
}

impl Classified {
    /// The same values with a mark before the first key of every path, label by label.
    fn values_with_mark(&self, mark: &str) -> Values {
        let mut values = Values::default();
        for label in 0..self.values.labels() as LabelId {
            let paths = self.values.paths(label).iter().map(|&path| {
                let keys = self.values.keys_of(path);
                let texts = keys.iter().enumerate().map(|(index, &key)| {
                    let text = self.values.key_text(key);
                    if index == 0 {
                        format!("{mark}{text}")
                    } else {
                        text.to_owned()
                    }
                });
                texts.collect::<Vec<_>>()
            });
            let paths: Vec<Vec<String>> = paths.collect();
            let paths = paths
                .iter()
                .map(|keys| values.path(keys.iter().map(String::as_str)))
                .collect();
            let number = values.label(paths);
            debug_assert_eq!(number, label, "labels keep their numbers");
        }
        values
    }
}

/// Unions of labels, remembered.
struct LabelSets {
    values: Values,
    /// The label of objects that are turned into none.
    nothing: LabelId,
    unions: FxHashMap<(LabelId, LabelId), LabelId>,
}

impl LabelSets {
    fn new(mut values: Values, what: What) -> Self {
        let nothing = values.one(&format!("{}nothing", mark(what)));
        LabelSets {
            values,
            nothing,
            unions: FxHashMap::default(),
        }
    }

    fn add(&mut self, set: LabelId, label: LabelId) -> LabelId {
        if set == self.nothing || set == label {
            return label;
        }
        if let Some(&union) = self.unions.get(&(set, label)) {
            return union;
        }
        let union = self
            .values
            .label([self.values.paths(set), self.values.paths(label)].concat());
        self.unions.insert((set, label), union);
        union
    }
}
