//! Transformers: an object stands for other objects, whose classification becomes its own.

use anthill_graph::{Components, NodeId, UNREACHABLE};
use anthill_heap::{Buffer, Cancelled, ObjectId, ObjectLists};
use anthill_structures::Members;
use rustc_hash::FxHashMap;

use crate::builtin::Context;
use crate::catalog::What;
use crate::error::Error;
use crate::expression::Compiled;
use crate::steps::Step;
use crate::unions::{TooMany, Unions};
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
    pub(crate) fn transform(&self, step: &Step, after: Classified) -> Result<Classified, Error> {
        let what = match step {
            Step::Predefined(call) => call.what,
            _ => What::PointsTo,
        };
        let mut turned = Turned {
            context: self,
            labels: after.marked(mark(what)),
            after: &after,
        };
        let labels = match (step, what) {
            (Step::To(expression), _) => turned.by_expression(&self.compile(expression)?),
            (_, What::PointedFrom) => turned.by_referrers(),
            (_, What::Dominator) => turned.by_dominator(),
            (_, What::Dominated) => turned.by_dominated(false),
            (_, What::GcClosure) => turned.by_dominated(true),
            (_, What::TransitiveClosure) => turned.by_closure(),
            (_, What::Structure) => turned.by_members(Members::structures),
            (_, What::StructureInternals) => turned.by_members(Members::internals),
            (_, What::StructureLeaves) => turned.by_members(Members::leaves),
            _ => turned.by_references(),
        };
        let mut labels = labels.map_err(|failure| failure.of(step))?;
        let mut values = turned.labels.values;
        let nothing = values.one(&format!("{}nothing", mark(what)));
        for label in labels.iter_mut().filter(|label| **label == NOTHING) {
            *label = nothing;
        }
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }
}

/// What stands before the keys of transformed objects.
fn mark(what: What) -> &'static str {
    match what {
        What::PointedFrom => "← ",
        What::Dominator => "kept by ",
        What::Dominated => "dominates ",
        What::GcClosure => "retains ",
        What::TransitiveClosure => "reaches ",
        What::Structure => "in ",
        What::StructureInternals | What::StructureLeaves => "has ",
        _ => "→ ",
    }
}

/// The label of objects that are turned into none, until it has a name.
const NOTHING: LabelId = LabelId::MAX;

enum Failure {
    Cancelled,
    TooMany(TooMany),
    Other(Error),
}

impl Failure {
    fn of(self, step: &Step) -> Error {
        match self {
            Failure::Cancelled => Error::Cancelled,
            Failure::Other(error) => error,
            Failure::TooMany(too_many) => Error::Step {
                step: step.name().to_owned(),
                reason: too_many.reason(),
            },
        }
    }
}

impl From<Cancelled> for Failure {
    fn from(_: Cancelled) -> Self {
        Failure::Cancelled
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Other(error)
    }
}

impl From<TooMany> for Failure {
    fn from(too_many: TooMany) -> Self {
        Failure::TooMany(too_many)
    }
}

/// Objects whose lists of objects are in memory at the same time.
const BATCH: usize = 1 << 18;

type Labels = Result<Buffer<LabelId>, Failure>;

/// Labels of objects from the labels of the objects they are turned into.
struct Turned<'a> {
    context: &'a Context<'a>,
    after: &'a Classified,
    labels: Unions,
}

impl Turned<'_> {
    /// What the steps after the transformer say about an object.
    fn own(&self, object: ObjectId) -> LabelId {
        self.after
            .label(object, self.context.graph.state.class_id(object))
    }

    fn objects(&self) -> usize {
        self.context.graph.state.len() as usize
    }

    /// MAT's stand-in for the boot loader is no object.
    fn is_object(&self, node: NodeId) -> bool {
        node < self.context.graph.state.len()
    }

    fn by_references(&mut self) -> Labels {
        let graph = self.context.graph;
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let mut labels = Vec::new();
        for (slot, from) in result.iter_mut().zip(0..) {
            let objects = graph.referenced(from).filter(|&to| self.is_object(to));
            labels.extend(objects.map(|to| self.own(to)));
            *slot = self.labels.all(&mut labels)?.unwrap_or(NOTHING);
            labels.clear();
        }
        Ok(result)
    }

    fn by_referrers(&mut self) -> Labels {
        let referrers = self.context.all_referrers();
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let mut labels = Vec::new();
        for (slot, object) in result.iter_mut().zip(0..) {
            labels.extend(referrers.of(object).iter().map(|&from| self.own(from)));
            *slot = self.labels.all(&mut labels)?.unwrap_or(NOTHING);
            labels.clear();
        }
        Ok(result)
    }

    /// The members of structures, or the structures of members.
    fn by_members(&mut self, members_of: fn(&Members, ObjectId) -> &[ObjectId]) -> Labels {
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let Some(members) = self.context.members else {
            return Ok(result);
        };
        let mut labels = Vec::new();
        for (slot, object) in result.iter_mut().zip(0..) {
            let into = members_of(members, object).iter();
            labels.extend(into.map(|&member| self.own(member)));
            *slot = self.labels.all(&mut labels)?.unwrap_or(NOTHING);
            labels.clear();
        }
        Ok(result)
    }

    fn by_expression(&mut self, leads_to: &Compiled) -> Labels {
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let mut labels = Vec::new();
        for (batch, slots) in result.chunks_mut(BATCH).enumerate() {
            let first = (batch * BATCH) as ObjectId;
            let from = first..first + slots.len() as ObjectId;
            let shares = self.context.objects_by_expression(leads_to, from)?;
            let mut slots = slots.iter_mut();
            for (counts, objects) in shares {
                let mut rest = objects.as_slice();
                for (count, slot) in counts.into_iter().zip(&mut slots) {
                    let (own, after) = rest.split_at(count as usize);
                    labels.extend(own.iter().map(|&object| self.own(object)));
                    *slot = self.labels.all(&mut labels)?.unwrap_or(NOTHING);
                    labels.clear();
                    rest = after;
                }
            }
        }
        Ok(result)
    }

    fn by_dominator(&mut self) -> Labels {
        let above = self.context.dominators.immediate.iter();
        let label = |&above: &NodeId| {
            if self.is_object(above) && above < UNREACHABLE {
                self.own(above)
            } else {
                NOTHING
            }
        };
        Ok(Buffer::collect(self.objects(), above.map(label)))
    }

    /// What each object dominates, and itself if it is to be counted.
    fn by_dominated(&mut self, with_itself: bool) -> Labels {
        let immediate: &[u32] = &self.context.dominators.immediate;
        let edges = || {
            let pairs = immediate.iter().copied().zip(0..);
            pairs.filter(|&(above, below)| self.is_object(above) && self.is_object(below))
        };
        let dominated = ObjectLists::new(self.objects(), edges);
        let mut closures = Buffer::filled(self.objects(), NOTHING);
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let mut labels = Vec::new();
        for object in from_below(immediate, self.objects()) {
            let below = dominated.of(object).iter();
            labels.extend(below.map(|&below| closures[below as usize]));
            let below = self.labels.all(&mut labels)?;
            labels.clear();
            let own = self.own(object);
            let all = below.map_or(Ok(own), |below| self.labels.two(below, own))?;
            closures[object as usize] = all;
            result[object as usize] = match below {
                Some(below) if !with_itself => below,
                None if !with_itself => NOTHING,
                _ => all,
            };
        }
        Ok(result)
    }

    /// All that each object reaches, itself included.
    fn by_closure(&mut self) -> Labels {
        let graph = self.context.graph;
        let components = Components::under_references(graph, self.context.progress)?;
        let mut closures = Buffer::filled(components.len(), NOTHING);
        let mut result = Buffer::filled(self.objects(), NOTHING);
        let mut labels = Vec::new();
        for members in components.iter() {
            let component = components.of(members[0]);
            for &node in members {
                if self.is_object(node) {
                    labels.push(self.own(node));
                }
                let elsewhere = graph
                    .referenced(node)
                    .map(|to| components.of(to))
                    .filter(|&to| to != component)
                    .map(|to| closures[to]);
                labels.extend(elsewhere.filter(|&label| label != NOTHING));
            }
            let all = self.labels.all(&mut labels)?.unwrap_or(NOTHING);
            labels.clear();
            closures[component] = all;
            for &node in members.iter().filter(|&&node| self.is_object(node)) {
                result[node as usize] = all;
            }
        }
        Ok(result)
    }
}

/// Objects, those that are dominated before those that dominate them.
fn from_below(immediate: &[u32], objects: usize) -> impl Iterator<Item = ObjectId> {
    let mut waiting = Buffer::filled(objects, 0u32);
    let above = move |object: ObjectId| {
        let above = immediate[object as usize];
        ((above as usize) < objects).then_some(above)
    };
    for above in (0..objects as ObjectId).filter_map(above) {
        waiting[above as usize] += 1;
    }
    let leaves = (0..objects as ObjectId).filter(|&object| waiting[object as usize] == 0);
    let mut ready: Vec<ObjectId> = leaves.collect();
    std::iter::from_fn(move || {
        let object = ready.pop()?;
        if let Some(above) = above(object) {
            waiting[above as usize] -= 1;
            if waiting[above as usize] == 0 {
                ready.push(above);
            }
        }
        Some(object)
    })
}

impl Classified {
    /// The same labels with a mark before the first key of every path.
    fn marked(&self, mark: &str) -> Unions {
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
        Unions::of(values)
    }
}
