//! The report: the suspects of a heap with all that is to be told of each, and the figures around
//! them. What it says is the same for every face; how it is said is theirs.

use anthill_graph::{Graph, NodeId, Paths};
use anthill_heap::{BitSet, ClassId, both};
use anthill_paths::{ReadablePath, RootsByObject, readable_path};
use anthill_session::{Error, Session};
use rustc_hash::FxHashMap;

use crate::alike::main_part;
use crate::fingerprint::{Holder, fingerprint, holder, tell_apart};
use crate::loader_holders::{CommonHolder, LoaderHolders};
use crate::names::{NamedBy, named_by};
use crate::other_holders::OtherHolders;
use crate::out_of_memory::{OutOfMemory, out_of_memory};
use crate::patterns::{Pattern, Scene, heap_patterns};
use crate::place::{Elements, FieldPlace, Places};
use crate::roles::Roles;
use crate::suspects::{Kept, Severity, Subject, Suspect, Thresholds, suspects};

/// Classes that are listed of what a suspect keeps alive.
const CONTENTS: usize = 8;

/// Where memory leaks, or seems to, and why.
pub struct Report {
    /// In the order of [`Suspects::suspects`](crate::Suspects).
    pub suspects: Vec<ReportedSuspect>,
    /// Objects that retain much because the suspects are below them, outermost first.
    pub context: Vec<NodeId>,
    /// Known ways to waste or lose memory that no suspect is needed for.
    pub patterns: Vec<Pattern>,
    /// The thread that found no memory, if the heap was full, with the path to what it was working on.
    pub out_of_memory: Option<(OutOfMemory, Option<ReadablePath>)>,
}

/// A suspect with all that a person needs to judge it.
pub struct ReportedSuspect {
    /// Who keeps it alive.
    pub subject: Subject,
    /// How bad it is.
    pub severity: Severity,
    /// Bytes that would die with the subject.
    pub retained: u64,
    /// Bytes outside of the heap that would be freed with the subject, where they are many.
    pub outside: u64,
    /// How many objects would die with the subject.
    pub retained_objects: u64,
    /// The object below which memory fans out.
    pub accumulation: Option<NodeId>,
    /// Which objects were found to be kept, if it was found by them.
    pub kept: Option<Kept>,
    /// The field in which memory accumulates, for a single object or class loader.
    pub place: Option<FieldPlace>,
    /// What it keeps many of.
    pub elements: Option<Elements>,
    /// Where else a single object is held: letting go of it in the place that is named frees nothing.
    pub also_held_by: Vec<String>,
    /// What a single object is called in the program.
    pub named_by: Option<NamedBy>,
    /// A shortest path to each owner; for a class, to one of its objects.
    pub owner_paths: Vec<(NodeId, ReadablePath)>,
    /// What it keeps alive, by class, most bytes first.
    pub contents: Vec<ContainedClass>,
    /// Known ways to leak that it looks like.
    pub patterns: Vec<Pattern>,
    /// For the same class in several class loaders, how most of them are held.
    pub common: Option<CommonHolder>,
    /// Names the leak, the same in every run of the program.
    pub fingerprint: String,
    /// Where the program holds the owners, in names that are the same in every run.
    pub holders: Vec<String>,
}

/// The objects of a class that a suspect keeps alive.
#[derive(Clone, Debug)]
pub struct ContainedClass {
    /// Of the objects.
    pub class: ClassId,
    /// How many.
    pub objects: u64,
    /// Their own bytes.
    pub shallow: u64,
    /// How most of them are held, if one way stands out: `com.acme.Customer.lastOrder`.
    pub through: Option<String>,
}

/// Finds suspects and explains them.
pub fn report(session: &Session, thresholds: &Thresholds) -> Result<Report, Error> {
    // Neither needs the other, and both take long.
    let (structures, dominators) = both(|| session.structures(), || session.owner_dominators());
    structures.and(dominators)?;
    let (found, paths) = both(
        || suspects(session, thresholds),
        || session.paths_from_owners(),
    );
    let (found, paths) = (found?, paths?);
    let graph = session.owners_graph()?;
    let owners: Vec<Vec<NodeId>> = found
        .suspects
        .iter()
        .map(|suspect| owners(session, suspect))
        .collect();
    let roots = RootsByObject::new(session);
    let dominators = session.owner_dominators()?;
    let roles = Roles::new(session.state(), dominators).with_structures(session.structures()?);
    let places = Places {
        session,
        graph: &graph,
        dominators,
        dominated: session.owner_dominated()?,
        roles: &roles,
    };
    let others = OtherHolders {
        session,
        graph: &graph,
        paths,
        roots: &roots,
        roles: &roles,
    };
    let mut reported_suspects = Vec::new();
    for (suspect, owners) in found.suspects.into_iter().zip(owners) {
        session.progress().check()?;
        let (mut owner_paths, mut holders) = (Vec::new(), Vec::new());
        let (mut place, mut elements, mut also_held_by) = (None, None, Vec::new());
        for owner in owners {
            if let Some(path) = paths.to(owner) {
                match suspect.subject {
                    Subject::Object(node) => {
                        place = places.place(node, suspect.accumulation, &path);
                        elements = places.elements(suspect.accumulation.unwrap_or(node));
                    }
                    Subject::Loader(node) => {
                        let accumulation = suspect.accumulation;
                        place = accumulation.and_then(|at| places.own_field(node, at));
                    }
                    Subject::Alike(_) => place = places.place(owner, None, &path),
                    _ => {}
                }
                let readable = readable_path(session, &graph, &roots, &path);
                if let Subject::Object(node) = suspect.subject {
                    also_held_by = others.of(node, &readable.short)?;
                }
                holders.push(holder(session, &graph, &roles, &path, &readable));
                owner_paths.push((owner, readable));
            }
        }
        let reported = reported(session, &graph, paths, suspect, owner_paths, &holders)?;
        reported_suspects.push(ReportedSuspect {
            place,
            elements,
            also_held_by,
            ..reported
        });
    }
    add_names(session, &roles, &mut reported_suspects);
    tell_apart(&mut reported_suspects);
    Ok(Report {
        suspects: reported_suspects,
        context: found.context,
        patterns: heap_patterns(session, thresholds),
        out_of_memory: out_of_memory(session)?.map(|found| {
            let path = found.working_on.and_then(|object| paths.to(object));
            let path = path.map(|path| readable_path(session, &graph, &roots, &path));
            (found, path)
        }),
    })
}

/// What single objects are called.
fn add_names(session: &Session, roles: &Roles, suspects: &mut [ReportedSuspect]) {
    let single = |suspect: &&mut ReportedSuspect| matches!(suspect.subject, Subject::Object(_));
    let mut single: Vec<&mut ReportedSuspect> = suspects.iter_mut().filter(single).collect();
    let nodes = single.iter().filter_map(|suspect| match suspect.subject {
        Subject::Object(node) => Some(node),
        _ => None,
    });
    let nodes: Vec<NodeId> = nodes.collect();
    let names = named_by(session, roles, &nodes);
    for (suspect, name) in single.iter_mut().zip(names) {
        suspect.named_by = name;
    }
}

/// The objects to which paths are shown.
fn owners(session: &Session, suspect: &Suspect) -> Vec<NodeId> {
    match &suspect.subject {
        Subject::Loader(node) | Subject::Object(node) => vec![*node],
        Subject::Owners(owners) => owners.clone(),
        Subject::Alike(owners) => {
            let example = owners.first();
            let part = example.and_then(|&owner| main_part(session, owner).ok());
            part.into_iter().collect()
        }
        Subject::Class(class) => {
            let Ok(dominators) = session.owner_dominators() else {
                return Vec::new();
            };
            let largest = session
                .objects_of_class(*class)
                .max_by_key(|&object| dominators.retained(object));
            largest.into_iter().collect()
        }
    }
}

fn reported(
    session: &Session,
    graph: &Graph,
    paths: &Paths,
    suspect: Suspect,
    owner_paths: Vec<(NodeId, ReadablePath)>,
    holders: &[Holder],
) -> Result<ReportedSuspect, Error> {
    let dominators = session.owner_dominators()?;
    let closure = suspect.subject.closure(session, graph, dominators);
    let contents = contents(session, graph, paths, &closure);
    let common = match &suspect.subject {
        Subject::Alike(alike) => LoaderHolders::new(session, graph, paths).common(alike),
        _ => None,
    };
    let scene = Scene {
        session,
        graph,
        paths,
        subject: &suspect.subject,
        accumulation: suspect.accumulation,
        common: common.as_ref(),
        owner_paths: &owner_paths,
        closure: &closure,
        contents: &contents,
    };
    Ok(ReportedSuspect {
        patterns: scene.patterns(),
        common,
        retained_objects: closure.count() as u64,
        contents,
        fingerprint: fingerprint(session, &suspect, holders),
        holders: holders.iter().map(|holder| holder.name.clone()).collect(),
        subject: suspect.subject,
        severity: suspect.severity,
        retained: suspect.retained,
        outside: suspect.outside,
        accumulation: suspect.accumulation,
        kept: suspect.kept,
        place: None,
        elements: None,
        also_held_by: Vec::new(),
        named_by: None,
        owner_paths,
    })
}

fn contents(
    session: &Session,
    graph: &Graph,
    paths: &Paths,
    closure: &BitSet,
) -> Vec<ContainedClass> {
    let mut contents: Vec<ContainedClass> = (0..session.state().classes().len() as ClassId)
        .map(|class| ContainedClass {
            class,
            objects: 0,
            shallow: 0,
            through: None,
        })
        .collect();
    for node in closure.iter().filter(|&node| node < session.state().len()) {
        let Some(class) = graph.class(node) else {
            continue;
        };
        let content = &mut contents[class as usize];
        content.objects += 1;
        content.shallow += graph.size(node);
    }
    // Class objects have no bytes in MAT's view; they are something all the same.
    contents.retain(|content| content.objects > 0);
    contents.sort_by_key(|content| (std::cmp::Reverse(content.shallow), content.class));
    contents.truncate(CONTENTS);
    for content in &mut contents {
        content.through = mostly_through(session, graph, paths, closure, content);
    }
    contents
}

/// The field, or array, by which more than half of the bytes of the class are held on shortest paths. Objects are
/// sampled by their bytes: one of a megabyte counts as much as a thousand of a kilobyte.
fn mostly_through(
    session: &Session,
    graph: &Graph,
    paths: &Paths,
    closure: &BitSet,
    content: &ContainedClass,
) -> Option<String> {
    const SAMPLES: u64 = 64;
    let every = (content.shallow / SAMPLES).max(1);
    let members = session.objects_of_class(content.class);
    let mut held: FxHashMap<String, u64> = FxHashMap::default();
    let (mut bytes, mut samples) = (0, 0);
    for object in members.filter(|&object| closure.contains(object)) {
        bytes += graph.size(object);
        let new = bytes / every - samples;
        if new > 0 {
            let through = held_through(session, graph, paths, object);
            *held.entry(through.unwrap_or_default()).or_default() += new;
            samples += new;
        }
    }
    let most = held
        .into_iter()
        .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    let (through, sampled) = most?;
    (sampled * 2 > samples && !through.is_empty()).then_some(through)
}

fn held_through(session: &Session, graph: &Graph, paths: &Paths, object: NodeId) -> Option<String> {
    let state = session.state();
    let before = paths.before(object).flatten()?;
    let class = state.class(before).name.as_str();
    if state.array_length(before).is_some() {
        return Some(class.to_owned());
    }
    let field = session.reference_name(graph, before, object)?;
    Some(match state.mirrored(before) {
        Some(class) => format!("{} {field}", state.classes()[class as usize].name),
        None => format!("{class}.{field}"),
    })
}
