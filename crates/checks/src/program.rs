//! The program's own assertions, found in its heap and checked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anthill_assertions::{
    Asserted, Assertion, Forgive, Forgiven, Kind, Problem, ViolatedAssertion, Violation,
    assertions, check,
};
use anthill_graph::{Convention, Graph, NodeId, reachable};
use anthill_heap::{BitSet, ClassId, ObjectId, Root, Value};
use anthill_session::{Error, Session};
use rustc_hash::FxHashMap;

use crate::naming::NamedPaths;

/// Different violations that are told with their paths; equal ones are one.
const MOST: usize = 1_000;
/// Paths to instances of which there are too many.
const SAMPLE: usize = 3;

/// Which of the program's assertions are checked, and how.
#[derive(Clone, Debug, Default)]
pub struct ProgramCheck {
    /// Variables that do not count as keeping an asserted object alive.
    pub forgive: Option<Forgive>,
    /// Leaves out what was reported while the program ran.
    pub unreported: bool,
}

/// What came out.
#[derive(Clone, Debug, Default)]
pub struct ProgramChecked {
    /// Equal ones once, by kind, those with more objects first.
    pub violations: Vec<Violation>,
    /// How many assertions of each kind there are whose objects are still there.
    pub assertions: BTreeMap<Kind, u64>,
    /// Assertions that could not be checked, since what they say was not recorded.
    pub unread: u64,
    /// Violations beyond those that are told.
    pub omitted: u64,
}

/// Checks what the program asserted through Anthill's Java API. Strong references keep alive, and
/// soft ones if they do in this session; nothing else does.
pub fn check_program(session: &Session, how: &ProgramCheck) -> Result<ProgramChecked, Error> {
    session.progress().stage("checking assertions", 0);
    let convention = Convention {
        soft: session.convention().soft,
        weak: false,
        phantom: false,
        finalizer: false,
        mat: false,
    };
    let state = session.state();
    let own_classes = state.classes().iter();
    if !own_classes
        .clone()
        .any(|class| class.name.starts_with("dev.anthill.internal."))
    {
        return Ok(ProgramChecked::default());
    }
    session.records().open()?;
    let mut graph = Graph::new(state, session.sizes(), convention);
    let mut alive = reachable(&graph);
    let (mut found, unread) = assertions(state, session.records(), &alive);
    if how.unreported {
        found.retain(|assertion| !assertion.reported);
    }
    let mut forgiven = Forgiven::default();
    if let Some(forgive) = &how.forgive {
        let objects = found.iter().map(|assertion| assertion.about);
        forgiven = Forgiven::new(state, session.records(), forgive, objects);
        graph = graph.without_roots(&forgiven.no_roots(state));
        alive = reachable(&graph);
    }
    let problems = check(&graph, &alive, &found, session.progress())?;
    let mut checked = ProgramChecked {
        unread,
        ..ProgramChecked::default()
    };
    for assertion in &found {
        *checked
            .assertions
            .entry(assertion.asserted.kind())
            .or_default() += 1;
    }
    if problems.is_empty() {
        return Ok(checked);
    }
    let (targets, instances) = targets(&graph, &alive, &found, &problems);
    let counts = |root: &Root| !forgiven.contains(root);
    let describer = Describer {
        paths: NamedPaths::search(session, &graph, counts, &targets)?,
        assertions: &found,
        instances,
        texts: Texts::default(),
        sites: FxHashMap::default(),
        messages: FxHashMap::default(),
    };
    let (violations, omitted) = describer.violations(&problems);
    Ok(ProgramChecked {
        violations,
        omitted,
        ..checked
    })
}

/// What equal violations have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Likeness {
    kind: Kind,
    made: Made,
    class: Option<ClassId>,
    /// The path to the object, or how all that refer to it hold it.
    shape: Vec<u32>,
    /// The class that is counted, its limit and number.
    instances: Option<(NodeId, u64, u64)>,
    owner_dead: bool,
}

/// Where an assertion was made and what it says: numbers of texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Made {
    site: u32,
    message: u32,
}

/// By asserted class object, and whether subclasses count: the reachable instances.
type Instances = FxHashMap<(NodeId, bool), Vec<NodeId>>;

/// The objects that paths must lead to.
fn targets(
    graph: &Graph,
    alive: &BitSet,
    assertions: &[Assertion],
    problems: &[ViolatedAssertion],
) -> (Vec<NodeId>, Instances) {
    let mut targets = Vec::new();
    let mut instances = FxHashMap::default();
    for found in problems {
        let assertion = &assertions[found.assertion];
        match assertion.asserted {
            Asserted::Instances { subclasses, .. } => {
                let class = (assertion.about, subclasses);
                instances.entry(class).or_insert_with(|| {
                    let of_class = instances_of(graph, alive, class);
                    targets.extend_from_slice(&of_class);
                    of_class
                });
            }
            _ => targets.push(assertion.about),
        }
    }
    (targets, instances)
}

/// Turns problems into violations.
struct Describer<'a> {
    paths: NamedPaths<'a>,
    assertions: &'a [Assertion],
    instances: Instances,
    texts: Texts,
    sites: FxHashMap<Option<ObjectId>, u32>,
    messages: FxHashMap<Option<ObjectId>, u32>,
}

impl Describer<'_> {
    /// All violations, equal ones once, and how many are left out.
    fn violations(mut self, problems: &[ViolatedAssertion]) -> (Vec<Violation>, u64) {
        let mut numbers: FxHashMap<Likeness, usize> = FxHashMap::default();
        let mut groups: Vec<(Likeness, Vec<usize>)> = Vec::new();
        for (index, found) in problems.iter().enumerate() {
            let likeness = self.likeness(found);
            let number = *numbers.entry(likeness.clone()).or_insert_with(|| {
                groups.push((likeness, Vec::new()));
                groups.len() - 1
            });
            groups[number].1.push(index);
        }
        groups.sort_by_key(|(likeness, equal)| (likeness.kind, Reverse(equal.len())));
        let omitted = groups
            .iter()
            .skip(MOST)
            .map(|group| group.1.len() as u64)
            .sum();
        groups.truncate(MOST);
        let violations = groups
            .iter()
            .map(|(likeness, equal)| self.violation(likeness, equal, problems))
            .collect();
        (violations, omitted)
    }

    fn likeness(&mut self, found: &ViolatedAssertion) -> Likeness {
        let assertion = self.assertions[found.assertion];
        let state = self.paths.session.state();
        let about = assertion.about;
        let shape = match &found.problem {
            Problem::Shared { from, .. } => self.paths.shape_of_referrers(about, from),
            Problem::TooMany(_) => Vec::new(),
            _ => self.paths.shape(about).into_iter().collect(),
        };
        Likeness {
            kind: assertion.asserted.kind(),
            made: self.made(&assertion),
            class: (about < state.len()).then(|| state.class_id(about)),
            shape,
            instances: match (&found.problem, assertion.asserted) {
                (Problem::TooMany(number), Asserted::Instances { most, .. }) => {
                    Some((about, most, *number))
                }
                _ => None,
            },
            owner_dead: found.problem == (Problem::NotOwned { owner_dead: true }),
        }
    }

    fn made(&mut self, assertion: &Assertion) -> Made {
        let session = self.paths.session;
        let of_region = |field| match assertion.asserted {
            Asserted::Survivor(Some(region)) => {
                session
                    .records()
                    .field_object(session.state(), region, field)
            }
            _ => None,
        };
        let site = of_region("site").or(assertion.site);
        let message = of_region("message").or(assertion.message);
        let texts = &mut self.texts;
        let site = *self
            .sites
            .entry(site)
            .or_insert_with(|| texts.number(frames(session, site)));
        let message = *self.messages.entry(message).or_insert_with(|| {
            let text = message.and_then(|text| session.records().string(session.state(), text));
            texts.number(text.into_iter().collect())
        });
        Made { site, message }
    }

    fn violation(
        &mut self,
        likeness: &Likeness,
        equal: &[usize],
        problems: &[ViolatedAssertion],
    ) -> Violation {
        let first = &problems[equal[0]];
        let assertion = self.assertions[first.assertion];
        let about = assertion.about;
        let members = || {
            equal
                .iter()
                .map(|&index| &self.assertions[problems[index].assertion])
        };
        let paths = self.paths.path(about);
        let mut violation = Violation {
            message: self.texts.get(likeness.made.message).first().cloned(),
            made_at: self.texts.get(likeness.made.site).to_vec(),
            class: self.paths.class(about).to_owned(),
            count: equal.len() as u64,
            bytes: members().map(|one| self.paths.graph.size(one.about)).sum(),
            object: Some(self.paths.object(about)),
            paths: paths.into_iter().collect(),
            reported: members().all(|one| one.reported),
            ids: members().filter_map(|one| one.id).collect(),
            ..Violation::of(likeness.kind)
        };
        match &first.problem {
            Problem::Alive => violation.what = alive_text(likeness.kind).to_owned(),
            Problem::Shared { from, handles } => {
                violation.what = format!(
                    "an object that was asserted to be unshared has {} references",
                    from.len() + handles
                );
                violation.referrers = self.paths.referrers(about, from, *handles);
                violation.limit = Some(1.0);
                violation.found = Some((from.len() + handles) as f64);
            }
            Problem::NotOwned { owner_dead } => {
                violation.what = match owner_dead {
                    true => "an owned object is reachable, but its owner is dead",
                    false => "an owned object is reachable, but not from its owner",
                }
                .to_owned();
                violation.owner = match assertion.asserted {
                    Asserted::Owned(Some(owner)) => Some(self.paths.object(owner)),
                    _ => None,
                };
            }
            Problem::TooMany(number) => self.too_many(&mut violation, assertion, *number),
        }
        violation
    }

    fn too_many(&mut self, violation: &mut Violation, assertion: Assertion, number: u64) {
        let Asserted::Instances { most, subclasses } = assertion.asserted else {
            return;
        };
        let state = self.paths.session.state();
        let class = state.mirrored(assertion.about);
        violation.class = class.map_or(String::new(), |class| {
            state.classes()[class as usize].name.clone()
        });
        let with = if subclasses { " or a subclass" } else { "" };
        violation.what = format!(
            "{number} instances of {}{with} are reachable; the limit is {most}",
            violation.class
        );
        violation.limit = Some(most as f64);
        violation.found = Some(number as f64);
        let instances = self.instances.get(&(assertion.about, subclasses));
        let instances = instances.cloned().unwrap_or_default();
        violation.count = number;
        violation.bytes = instances
            .iter()
            .map(|&one| self.paths.graph.size(one))
            .sum();
        violation.object = None;
        let by_shape = self.paths.by_shape(&instances);
        let samples = by_shape.iter().take(SAMPLE);
        violation.paths = samples
            .filter_map(|alike| self.paths.path(alike.1[0]))
            .collect();
        violation.holders = by_shape
            .iter()
            .map(|(shape, held)| self.paths.holders(*shape, held))
            .collect();
    }
}

fn alive_text(kind: Kind) -> &'static str {
    match kind {
        Kind::AllDead => "an object that was allocated in a region survived it",
        _ => "an object that was asserted dead is reachable",
    }
}

/// The reachable instances of the class that a class object stands for.
fn instances_of(graph: &Graph, alive: &BitSet, (class, subclasses): (NodeId, bool)) -> Vec<NodeId> {
    let state = graph.state;
    let Some(class) = state.mirrored(class) else {
        return Vec::new();
    };
    let wanted: Vec<bool> = (0..state.classes().len() as ClassId)
        .map(|one| one == class || subclasses && state.superclasses(one).any(|one| one == class))
        .collect();
    let is_wanted = |&node: &NodeId| {
        graph
            .class(node)
            .is_some_and(|class| wanted[class as usize])
    };
    alive.iter().filter(is_wanted).collect()
}

/// The frames that a `Site` object lists.
fn frames(session: &Session, site: Option<ObjectId>) -> Vec<String> {
    const MOST: u32 = 256;
    let (state, records) = (session.state(), session.records());
    let array = site.and_then(|site| records.field_object(state, site, "frames"));
    let Some(array) = array else {
        return Vec::new();
    };
    let elements = records.elements(state, array, 0..MOST).into_iter();
    let texts = elements.filter_map(|element| match element {
        Value::Object(address) => records.string(state, state.addresses.find(address)?),
        _ => None,
    });
    texts.collect()
}

/// Lists of lines, equal ones once.
#[derive(Default)]
struct Texts {
    numbers: FxHashMap<Vec<String>, u32>,
    all: Vec<Vec<String>>,
}

impl Texts {
    fn number(&mut self, lines: Vec<String>) -> u32 {
        let next = self.all.len() as u32;
        let all = &mut self.all;
        *self.numbers.entry(lines).or_insert_with_key(|lines| {
            all.push(lines.clone());
            next
        })
    }

    fn get(&self, number: u32) -> &[String] {
        &self.all[number as usize]
    }
}
