//! The predefined classifiers and transformers, each evaluated for all objects at once.

mod allocation;
mod contents;
mod features;
mod roots;
mod strength;
mod structures;

use anthill_graph::{Dominators, Graph};
use anthill_heap::{
    BitSet, Buffer, ClassId, ClassKind, FieldType, HeapState, Loaders, ObjectId, Progress, Thread,
};
use anthill_hprof::Records;
use anthill_structures::Members;
use rustc_hash::FxHashMap;

use crate::catalog::{Call, What};
use crate::error::Error;
use crate::facts::Facts;
use crate::parts;
use crate::steps::Step;
use crate::values::{Assignment, Classified, LabelId, Values};

pub(crate) use roots::RootOptions;

/// What classifiers can ask.
pub struct Context<'a> {
    pub(crate) graph: &'a Graph<'a>,
    pub(crate) dominators: &'a Dominators,
    pub(crate) records: &'a Records,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) facts: Facts,
    /// What belongs to data structures, if somebody asks about them.
    pub(crate) members: Option<&'a Members>,
    /// Nodes that a tree may have.
    most_nodes: usize,
}

/// Which objects are asked about, and how many distinct keys they may have.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'g> {
    /// All if there is no group.
    pub group: Option<&'g BitSet>,
    most_keys: usize,
}

impl Asked<'_> {
    pub(crate) const ALL: Self = Asked {
        group: None,
        most_keys: usize::MAX,
    };

    /// Refuses so many keys as early as can be: those who would use them would refuse them too.
    pub(crate) fn check(self, keys: usize) -> Result<(), Error> {
        if keys > self.most_keys {
            return Err(Error::TooManyNodes(self.most_keys));
        }
        Ok(())
    }
}

/// Arrays from this length on are big.
const BIG_ARRAY: u32 = 255;

const KINDS: [&str; 3] = ["instance", "small array", "big array"];

/// The index into [`KINDS`] for an array of this length, or for no array.
fn array_kind(length: Option<u32>) -> usize {
    match length {
        None => 0,
        Some(length) if length < BIG_ARRAY => 1,
        Some(_) => 2,
    }
}

pub(crate) fn kind_of(length: Option<u32>) -> &'static str {
    KINDS[array_kind(length)]
}

impl<'a> Context<'a> {
    fn state(&self) -> &'a HeapState {
        self.graph.state
    }

    /// All that classifiers of this heap need.
    pub fn new(
        graph: &'a Graph<'a>,
        dominators: &'a Dominators,
        records: &'a Records,
        progress: &'a dyn Progress,
    ) -> Self {
        Context {
            graph,
            dominators,
            records,
            progress,
            facts: Facts::default(),
            members: None,
            most_nodes: usize::MAX,
        }
    }

    /// Answers questions about data structures; without members nothing is in any.
    pub fn with_members(self, members: Option<&'a Members>) -> Self {
        Context { members, ..self }
    }

    /// Refuses levels that would make a tree of more nodes.
    pub fn with_most_nodes(self, most_nodes: usize) -> Self {
        Context { most_nodes, ..self }
    }

    /// The levels of a tree: what each step says about all objects. A transformer and all steps
    /// after it make one level. Filters come first, so that no node is made for what they leave
    /// out.
    pub fn levels(&self, steps: &[Step]) -> Result<Vec<Classified>, Error> {
        self.levels_among(steps, None)
    }

    /// The same, but nothing is asked about objects outside of the group where that takes long.
    pub fn levels_of(&self, steps: &[Step], group: &BitSet) -> Result<Vec<Classified>, Error> {
        self.levels_among(steps, Some(group))
    }

    fn levels_among(
        &self,
        steps: &[Step],
        group: Option<&BitSet>,
    ) -> Result<Vec<Classified>, Error> {
        let before = steps.iter().take_while(|step| !step.is_transformer());
        let (mut levels, mut left) = (Vec::new(), None);
        // Without a group it is not known which objects will come here.
        let mut most_keys = group.map_or(usize::MAX, |_| self.most_nodes);
        for step in before.clone() {
            if let Step::Where(condition) = step {
                let filter = self.by_filter(condition, left.as_ref().or(group))?;
                left = Some(self.members(&filter, left.as_ref().or(group)));
                levels.push(filter);
            }
        }
        let group = left.as_ref().or(group);
        for step in before.clone() {
            let asked = Asked { group, most_keys };
            match step {
                Step::Where(_) => {}
                Step::Predefined(call) => levels.push(self.classify_by(call, asked)?),
                Step::Classify(expression) | Step::To(expression) => {
                    levels.push(self.by_expression(expression, asked)?);
                }
            }
            if !step.keeps_all() {
                most_keys = usize::MAX;
            }
        }
        let transformer = before.count();
        if let Some(step) = steps.get(transformer) {
            let after = self.levels(&steps[transformer + 1..])?;
            levels.push(self.transform(step, self.join(after))?);
        }
        Ok(levels)
    }

    /// The objects that a filter lets pass.
    fn members(&self, filter: &Classified, group: Option<&BitSet>) -> BitSet {
        let mut members = BitSet::new(self.state().len() as usize);
        for (&class, object) in self.state().columns.classes.iter().zip(0..) {
            let passes = || !filter.values.paths(filter.label(object, class)).is_empty();
            if group.is_none_or(|group| group.contains(object)) && passes() {
                members.insert(object);
            }
        }
        members
    }

    /// What a predefined classifier says about the objects of a group. What it says about others
    /// is not asked where that takes long.
    fn classify_by(&self, step: &Call, asked: Asked) -> Result<Classified, Error> {
        let state = self.state();
        let argument = step.argument.as_deref().unwrap_or_default();
        Ok(match step.what {
            What::Address => {
                asked.check(asked.group.map_or(0, BitSet::count))?;
                self.by_object_of(asked.group, |values, object| {
                    values.one(&format!("{:#x}", state.addresses.address(object)))
                })
            }
            What::Text => self.texts(asked)?,
            What::Field => self.fields(argument, asked)?,
            _ => self.predefined(step)?,
        })
    }

    pub(crate) fn predefined(&self, step: &Call) -> Result<Classified, Error> {
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
            What::Loader => self.loader(),
            What::Kind => self.by_number(
                |object| array_kind(state.array_length(object)) as i64,
                |kind| KINDS[kind as usize].to_owned(),
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
                |object| self.out_degree(object) as i64,
                |degree| degree.to_string(),
            ),
            What::Address | What::Text | What::Field => self.classify_by(step, Asked::ALL)?,
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
            What::StructureRole => self.structure_role(),
            What::StructurePlace => self.structure_place(),
            What::ContainingStructure => self.containing_structure(),
            What::AllocationSite => self.allocation_site(),
            What::AllocatingThread => self.allocating_thread(),
            What::Age => self.age(),
            What::Space => self.space(),
            What::Feature => self.feature(step)?,
            What::PointedFrom
            | What::PointsTo
            | What::Dominator
            | What::Dominated
            | What::GcClosure
            | What::TransitiveClosure
            | What::Structure
            | What::StructureInternals
            | What::StructureLeaves => self.by_object(|values, _| values.label(Vec::new())),
        })
    }

    fn by_class(&self, mut label: impl FnMut(&mut Values, ClassId) -> LabelId) -> Classified {
        let mut values = Values::default();
        let classes = 0..self.state().classes().len() as ClassId;
        let of = Assignment::ByClass(classes.map(|class| label(&mut values, class)).collect());
        Classified { values, of }
    }

    pub(crate) fn by_object(
        &self,
        label: impl FnMut(&mut Values, ObjectId) -> LabelId,
    ) -> Classified {
        self.by_object_of(None, label)
    }

    /// The labels of the objects of a group; others are in no group.
    fn by_object_of(
        &self,
        group: Option<&BitSet>,
        mut label: impl FnMut(&mut Values, ObjectId) -> LabelId,
    ) -> Classified {
        let mut values = Values::default();
        let objects = 0..self.state().len();
        let none = group.map(|group| (group, values.label(Vec::new())));
        let labels = objects.map(|object| match none {
            Some((group, none)) if !group.contains(object) => none,
            _ => label(&mut values, object),
        });
        let of = Assignment::ByObject(Buffer::collect(self.state().len() as usize, labels));
        Classified { values, of }
    }

    /// A classifier with few distinct numbers, which are made texts once each.
    pub(crate) fn by_number(
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

    /// The loader each object belongs to, as in a histogram by loader.
    fn loader(&self) -> Classified {
        let state = self.state();
        let loaders = Loaders::new(state);
        let mut values = Values::default();
        let of_loader: FxHashMap<Option<ObjectId>, LabelId> = loaders
            .all()
            .iter()
            .map(|&loader| (loader, values.one(&self.name_of_loader(loader))))
            .collect();
        let of_class: Vec<LabelId> = state
            .classes()
            .iter()
            .map(|class| of_loader[&class.loader])
            .collect();
        let objects = state.columns.classes.iter().zip(0..);
        let labels = objects.map(|(&class, object)| match loaders.is_special(class) {
            true => of_loader[&loaders.of(state, object)],
            false => of_class[class as usize],
        });
        let of = Assignment::ByObject(Buffer::collect(state.len() as usize, labels));
        Classified { values, of }
    }

    /// The name of the loader of a class.
    pub(crate) fn loader_name(&self, class: ClassId) -> String {
        self.name_of_loader(self.state().classes()[class as usize].loader)
    }

    fn name_of_loader(&self, loader: Option<ObjectId>) -> String {
        loader.map_or("boot".to_owned(), |loader| self.object_name(loader))
    }

    /// The name of a class, with its loader where other classes have the name too.
    fn unambiguous_name(&self, class: ClassId) -> String {
        let name = &self.state().classes()[class as usize].name;
        match self.is_ambiguous(name) {
            true => format!("{name} (loader {})", self.loader_name(class)),
            false => name.clone(),
        }
    }

    pub(crate) fn object_name(&self, object: ObjectId) -> String {
        let state = self.state();
        match state.mirrored(object) {
            Some(class) => format!("class {}", self.unambiguous_name(class)),
            None => format!(
                "{} @ {:#x}",
                state.class(object).name,
                state.addresses.address(object)
            ),
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
