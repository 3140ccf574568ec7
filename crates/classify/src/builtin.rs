//! The predefined classifiers and transformers, each evaluated for all objects at once.

mod allocation;
mod features;
mod roots;
mod strength;

use anthill_graph::{Dominators, Graph};
use anthill_heap::{
    Buffer, ClassId, ClassKind, FieldType, HeapState, ObjectId, Progress, Thread, Value,
};
use anthill_hprof::Records;
use rustc_hash::FxHashMap;

use crate::catalog::{Step, What};
use crate::error::Error;
use crate::parts;
use crate::values::{Assignment, Classified, LabelId, Values};

pub(crate) use roots::RootOptions;

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
            What::Rooted => self.rooted(step)?,
            What::IndirectlyRooted => self.indirectly_rooted(step)?,
            What::Strength => self.strength(),
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
            What::AllocatingThread => self.allocating_thread(),
            What::Feature => self.feature(step)?,
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
}

/// The name of a thread, or its number if it has none.
fn thread_name(thread: &Thread) -> String {
    thread
        .name
        .clone()
        .unwrap_or_else(|| format!("thread {}", thread.serial))
}
