//! The predefined classifiers and transformers, each evaluated for all objects at once.

use anthill_graph::{Dominators, Graph, Paths, ROOT, UNREACHABLE};
use anthill_heap::{
    Buffer, Cancelled, ClassId, ClassKind, FieldType, HeapState, ObjectId, Progress, RootKind,
    Value,
};
use anthill_hprof::Records;
use rustc_hash::FxHashMap;

use crate::catalog::{Step, What};
use crate::error::Error;
use crate::parts;
use crate::values::{Assignment, Classified, LabelId, PathId, Values};

/// What classifiers can ask.
pub struct Context<'a> {
    pub graph: &'a Graph<'a>,
    pub dominators: &'a Dominators,
    pub records: &'a Records,
    pub progress: &'a dyn Progress,
}

/// Arrays from this length on are big.
const BIG_ARRAY: u32 = 255;

impl<'a> Context<'a> {
    fn state(&self) -> &'a HeapState {
        self.graph.state
    }

    /// The levels of a tree: what each step says about all objects. A transformer and all steps
    /// after it make one level.
    pub fn levels(&self, steps: &[Step]) -> Result<Vec<Classified>, Error> {
        let mut levels = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            if step.entry().transformer {
                let after = self.levels(&steps[index + 1..])?;
                levels.push(self.transform(step, self.join(after))?);
                break;
            }
            levels.push(self.classify(step)?);
        }
        Ok(levels)
    }

    fn classify(&self, step: &Step) -> Result<Classified, Error> {
        let state = self.state();
        Ok(match step.what {
            What::Type => {
                self.by_class(|values, class| values.one(&state.classes()[class as usize].name))
            }
            What::Package => self.by_class(|values, class| {
                let package = state.classes()[class as usize].package();
                let path = values.path(if package.is_empty() {
                    vec!["(no package)"]
                } else {
                    package.split('.').collect()
                });
                values.label(vec![path])
            }),
            What::Superclass => self.by_class(|values, class| {
                let mut chain: Vec<&str> = state
                    .superclasses(class)
                    .map(|class| state.classes()[class as usize].name.as_str())
                    .collect();
                chain.reverse();
                let path = values.path(chain);
                values.label(vec![path])
            }),
            What::Loader => {
                self.by_class(
                    |values, class| match state.classes()[class as usize].loader {
                        Some(loader) => values.one(&self.object_name(loader)),
                        None => values.one("boot"),
                    },
                )
            }
            What::Kind => self.by_number(
                |object| match state.array_length(object) {
                    None => 0,
                    Some(length) if length < BIG_ARRAY => 1,
                    Some(_) => 2,
                },
                |kind| ["instance", "small array", "big array"][kind as usize].to_owned(),
            ),
            What::Length => self.by_number(
                |object| state.array_length(object).map_or(-1, i64::from),
                |length| length.to_string(),
            ),
            What::Size => self.by_number(
                |object| {
                    i64::from(
                        self.graph
                            .size(object)
                            .max(1)
                            .next_power_of_two()
                            .trailing_zeros(),
                    )
                },
                |power| {
                    let most = 1u64 << power;
                    if power == 0 {
                        "1 byte".to_owned()
                    } else {
                        format!("{} to {most} bytes", most / 2 + 1)
                    }
                },
            ),
            What::InDegree => {
                let degrees = self.in_degrees();
                self.by_number(
                    |object| i64::from(degrees[object as usize]),
                    |degree| degree.to_string(),
                )
            }
            What::OutDegree => self.by_number(
                |object| state.references(object).len() as i64,
                |degree| degree.to_string(),
            ),
            What::Address => self.by_object(|values, object| {
                values.one(&format!("{:#x}", state.addresses.address(object)))
            }),
            What::Text => {
                self.by_object(
                    |values, object| match self.records.text(state, object, 120) {
                        Some(text) => values.one(&format!("{text:?}")),
                        None => values.one("(no string)"),
                    },
                )
            }
            What::Field => {
                let name = step.argument.as_deref().unwrap_or_default();
                self.by_object(|values, object| values.one(&self.field_text(object, name)))
            }
            What::Rooted => self.rooted(),
            What::ClosestRoot => self.closest_root()?,
            What::DominatingRoot => self.dominating_root(),
            What::CollectionHealth => self.collection_health(),
            What::InstanceHealth => {
                let mut values = Values::default();
                let paths = parts::NAMES.map(|name| values.path([name]));
                let of = Assignment::Parts(values.label(paths.to_vec()));
                Classified { values, of }
            }
            What::AllocationSite => self.allocation_site(),
            What::PointedFrom
            | What::PointsTo
            | What::Dominator
            | What::Dominated
            | What::GcClosure
            | What::TransitiveClosure => self.by_object(|values, _| values.label(Vec::new())),
        })
    }

    fn by_class(&self, mut label: impl FnMut(&mut Values, ClassId) -> LabelId) -> Classified {
        let mut values = Values::default();
        let classes = 0..self.state().classes().len() as ClassId;
        let of = Assignment::ByClass(classes.map(|class| label(&mut values, class)).collect());
        Classified { values, of }
    }

    fn by_object(&self, mut label: impl FnMut(&mut Values, ObjectId) -> LabelId) -> Classified {
        let mut values = Values::default();
        let objects = 0..self.state().len();
        let labels = objects.map(|object| label(&mut values, object));
        let of = Assignment::ByObject(Buffer::collect(self.state().len() as usize, labels));
        Classified { values, of }
    }

    /// A classifier with few distinct numbers, which are made texts once each.
    fn by_number(
        &self,
        number: impl Fn(ObjectId) -> i64,
        text: impl Fn(i64) -> String,
    ) -> Classified {
        let mut known: FxHashMap<i64, LabelId> = FxHashMap::default();
        self.by_object(|values, object| {
            let number = number(object);
            *known
                .entry(number)
                .or_insert_with(|| values.one(&text(number)))
        })
    }

    fn object_name(&self, object: ObjectId) -> String {
        let state = self.state();
        match state.mirrored(object) {
            Some(class) => format!("class {}", state.classes()[class as usize].name),
            None => format!(
                "{} @ {:#x}",
                state.class(object).name,
                state.addresses.address(object)
            ),
        }
    }

    fn in_degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0u32; self.state().len() as usize];
        for &to in self
            .state()
            .columns
            .references
            .iter()
            .chain(self.state().columns.referents.iter())
        {
            degrees[to as usize] = degrees[to as usize].saturating_add(1);
        }
        degrees
    }

    fn field_text(&self, object: ObjectId, name: &str) -> String {
        let state = self.state();
        match self.records.field(state, object, name) {
            None => "(no such field)".to_owned(),
            Some(Value::Object(0)) => "null".to_owned(),
            Some(Value::Object(address)) => match state.addresses.find(address) {
                Some(to) => match self.records.text(state, to, 120) {
                    Some(text) => format!("{text:?}"),
                    None => state.class(to).name.clone(),
                },
                None => "(not in the dump)".to_owned(),
            },
            Some(Value::Boolean(value)) => value.to_string(),
            Some(Value::Char(unit)) => {
                format!("{:?}", char::from_u32(unit.into()).unwrap_or('\u{fffd}'))
            }
            Some(Value::Float(value)) => value.to_string(),
            Some(Value::Double(value)) => value.to_string(),
            Some(Value::Byte(value)) => value.to_string(),
            Some(Value::Short(value)) => value.to_string(),
            Some(Value::Int(value)) => value.to_string(),
            Some(Value::Long(value)) => value.to_string(),
        }
    }

    /// The paths of all roots, by object: static fields count as roots of what they refer to.
    fn root_paths(&self, values: &mut Values) -> FxHashMap<ObjectId, Vec<PathId>> {
        let state = self.state();
        let mut paths: FxHashMap<ObjectId, Vec<PathId>> = FxHashMap::default();
        for class in state.classes() {
            for field in &class.statics {
                let Value::Object(address) = field.value else {
                    continue;
                };
                let Some(object) = state.addresses.find(address) else {
                    continue;
                };
                let path = values.path(["static field", &class.name, &field.name]);
                paths.entry(object).or_default().push(path);
            }
        }
        for root in &state.tables.roots {
            let thread = root
                .thread
                .map(|thread| &state.tables.threads[thread as usize]);
            let name = thread.map(|thread| {
                thread
                    .name
                    .clone()
                    .unwrap_or_else(|| format!("thread {}", thread.serial))
            });
            let frame = thread.and_then(|thread| {
                let trace = &state.tables.traces[thread.trace? as usize];
                let frame = &state.tables.frames[*trace.frames.get(root.frame? as usize)? as usize];
                Some(format!("{}.{}", frame.class, frame.method))
            });
            let kind = match root.kind() {
                RootKind::LocalVariable => "local variable",
                _ => root.origin.label(),
            };
            let keys = [Some(kind), name.as_deref(), frame.as_deref()];
            let path = values.path(keys.into_iter().flatten());
            paths.entry(root.object).or_default().push(path);
        }
        paths
    }

    fn rooted(&self) -> Classified {
        let mut values = Values::default();
        let mut of_object = self.root_paths(&mut values);
        let none = values.one("not directly rooted");
        let state = self.state();
        let labels = (0..state.len()).map(|object| {
            of_object
                .remove(&object)
                .map_or(none, |paths| values.label(paths))
        });
        let labels = Buffer::collect(state.len() as usize, labels);
        Classified {
            values,
            of: Assignment::ByObject(labels),
        }
    }

    /// The last static field or GC root on the shortest path to each object.
    fn closest_root(&self) -> Result<Classified, Cancelled> {
        let mut values = Values::default();
        let of_object = self.root_paths(&mut values);
        let paths = Paths::search(self.graph, &[], self.progress)?;
        let none = values.one("not reachable");
        let state = self.state();
        const UNKNOWN: LabelId = LabelId::MAX;
        let mut labels = Buffer::filled(state.len() as usize, UNKNOWN);
        let known: &mut [LabelId] = &mut labels;
        let mut way = Vec::new();
        for object in 0..state.len() {
            let mut at = object;
            let label = loop {
                if known[at as usize] != UNKNOWN {
                    break known[at as usize];
                }
                way.push(at);
                if let Some(paths) = of_object.get(&at) {
                    break values.label(vec![paths[0]]);
                }
                match paths.before(at) {
                    Some(Some(before)) => at = before,
                    _ => break none,
                }
            };
            for passed in way.drain(..) {
                known[passed as usize] = label;
            }
        }
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    fn dominating_root(&self) -> Classified {
        let state = self.state();
        let immediate: &[u32] = &self.dominators.immediate;
        let mut outermost: FxHashMap<ObjectId, LabelId> = FxHashMap::default();
        let mut top = Buffer::filled(state.len() as usize, u32::MAX);
        let tops: &mut [u32] = &mut top;
        let mut way = Vec::new();
        for object in 0..state.len() {
            let mut at = object;
            let found = loop {
                if tops[at as usize] != u32::MAX {
                    break tops[at as usize];
                }
                way.push(at);
                match immediate[at as usize] {
                    ROOT => break at,
                    UNREACHABLE => break UNREACHABLE,
                    above if above >= state.len() => break at,
                    above => at = above,
                }
            };
            way.drain(..)
                .for_each(|passed| tops[passed as usize] = found);
        }
        self.by_object(|values, object| {
            let top = tops[object as usize];
            *outermost.entry(top).or_insert_with(|| match top {
                UNREACHABLE => values.one("not reachable"),
                top => values.one(&self.object_name(top)),
            })
        })
    }

    /// Mitchell and Sevitsky's roles, as told by Weninger et al. 2018, section 5.3.2.
    fn collection_health(&self) -> Classified {
        let state = self.state();
        let kind = |object: ObjectId| state.class(object).kind;
        let is_entry = |object: ObjectId| {
            let class = state.class_id(object);
            state
                .references(object)
                .iter()
                .any(|&to| state.class_id(to) == class)
        };
        let role = |object: ObjectId| match kind(object) {
            ClassKind::Array(FieldType::Object) => 0,
            ClassKind::Array(_) => 3,
            _ if is_entry(object) => 1,
            _ => {
                let backbone =
                    |&to: &ObjectId| matches!(kind(to), ClassKind::Array(_)) || is_entry(to);
                if state.references(object).iter().any(backbone) {
                    2
                } else {
                    3
                }
            }
        };
        self.by_number(role, |role| {
            ["array", "entry", "head", "contained"][role as usize].to_owned()
        })
    }

    fn allocation_site(&self) -> Classified {
        let state = self.state();
        let sites: FxHashMap<ObjectId, u32> = state.tables.allocations.iter().copied().collect();
        let mut known: FxHashMap<Option<u32>, LabelId> = FxHashMap::default();
        self.by_object(|values, object| {
            let trace = sites.get(&object).copied();
            *known.entry(trace).or_insert_with(|| match trace {
                None => values.one("(not recorded)"),
                Some(trace) => {
                    let frames = state.tables.traces[trace as usize].frames.iter();
                    let frames: Vec<String> = frames
                        .map(|&frame| &state.tables.frames[frame as usize])
                        .map(|frame| format!("{}.{}:{}", frame.class, frame.method, frame.line))
                        .collect();
                    let path = values.path(frames.iter().map(String::as_str));
                    values.label(vec![path])
                }
            })
        })
    }
}
