//! The report: the suspects of a heap with all that is to be told of each, and the figures around
//! them. What it says is the same for every face; how it is said is theirs.

use anthill_graph::{Graph, NodeId, Paths, gc_closure_among};
use anthill_heap::{BitSet, ClassId, both};
use anthill_leaks::{Kept, KeptGroup, Roles, Severity, Subject, Suspect, Thresholds};
use rustc_hash::FxHashMap;

use crate::fingerprint::Holder;
use crate::labels::edge_kind;
use crate::patterns::{Pattern, Scene, is_stopped};
use crate::ways::Way;
use crate::{Error, RootsByObject, Session};

/// Classes that are listed of what a suspect keeps alive.
const CONTENTS: usize = 8;

pub struct Report {
    /// Those that retain most first.
    pub suspects: Vec<ReportedSuspect>,
    /// Objects that retain much because the suspects are below them, outermost first.
    pub context: Vec<NodeId>,
    /// Known ways to waste or lose memory that no suspect is needed for.
    pub patterns: Vec<Pattern>,
}

pub struct ReportedSuspect {
    pub subject: Subject,
    pub severity: Severity,
    pub retained: u64,
    pub retained_objects: u64,
    /// The object below which memory fans out.
    pub accumulation: Option<NodeId>,
    pub kept: Option<Kept>,
    /// A shortest path to each owner; for a class, to one of its objects.
    pub ways: Vec<(NodeId, Way)>,
    /// What it keeps alive, by class, most bytes first.
    pub contents: Vec<Content>,
    /// Known ways to leak that it looks like.
    pub patterns: Vec<Pattern>,
    /// Names the leak, the same in every run of the program.
    pub fingerprint: String,
    /// Where the program holds the owners, in names that are the same in every run.
    pub holders: Vec<String>,
}

/// The objects of a class that a suspect keeps alive.
#[derive(Clone, Debug)]
pub struct Content {
    pub class: ClassId,
    pub objects: u64,
    pub shallow: u64,
    /// How most of them are held, if one way stands out: `com.acme.Customer.lastOrder`.
    pub through: Option<String>,
}

impl Session {
    pub fn report(&self, thresholds: &Thresholds) -> Result<Report, Error> {
        let (found, paths) = both(|| self.suspects(thresholds), || self.paths());
        let (mut found, paths) = (found?, paths?);
        self.put_stopped_loaders_first(&mut found.suspects, thresholds)?;
        let graph = self.graph();
        let owners: Vec<Vec<NodeId>> = found
            .suspects
            .iter()
            .map(|suspect| self.owners(suspect))
            .collect();
        let roots = RootsByObject::new(self);
        let roles = Roles::new(self.state(), &self.analysis()?.dominators);
        let mut suspects = Vec::new();
        for (suspect, owners) in found.suspects.into_iter().zip(owners) {
            self.progress().check()?;
            let (mut ways, mut holders) = (Vec::new(), Vec::new());
            for owner in owners {
                if let Some(path) = paths.to(owner) {
                    let way = self.way(&graph, &roots, &path);
                    holders.push(self.holder(&graph, &roles, &path, &way));
                    ways.push((owner, way));
                }
            }
            suspects.push(self.reported(&graph, paths, suspect, ways, &holders)?);
        }
        Ok(Report {
            suspects,
            context: found.context,
            patterns: self.heap_patterns(),
        })
    }

    /// A component that was stopped should be gone: its class loader is a leak for certain, however
    /// small, and explains all suspects within.
    fn put_stopped_loaders_first(
        &self,
        suspects: &mut Vec<Suspect>,
        thresholds: &Thresholds,
    ) -> Result<(), Error> {
        let analysis = self.analysis()?;
        let dominators = &analysis.dominators;
        let is_stopped = |&loader: &NodeId| {
            let state = self.loader_state(loader);
            dominators.is_reachable(loader) && state.is_some_and(|state| is_stopped(&state))
        };
        let loaders = analysis.groups().loaders.iter().copied().flatten();
        let mut stopped: Vec<NodeId> = loaders.filter(is_stopped).collect();
        stopped.sort_by_key(|&loader| std::cmp::Reverse(dominators.retained(loader)));
        let within = |node: NodeId| {
            let mut chain = std::iter::once(node).chain(dominators.chain(node));
            chain.any(|node| stopped.contains(&node))
        };
        suspects.retain(|suspect| match &suspect.subject {
            Subject::Loader(node) | Subject::Object(node) => !within(*node),
            Subject::Owners(owners) => !owners.iter().all(|&owner| within(owner)),
            Subject::Class(_) => true,
        });
        let reachable = analysis.total().retained;
        let suspect = |&loader: &NodeId| {
            let retained = dominators.retained(loader);
            Suspect {
                subject: Subject::Loader(loader),
                retained,
                severity: thresholds.severity(retained, reachable),
                accumulation: None,
                kept: None,
            }
        };
        suspects.splice(0..0, stopped.iter().map(suspect));
        Ok(())
    }

    /// The objects to which paths are shown.
    fn owners(&self, suspect: &Suspect) -> Vec<NodeId> {
        match &suspect.subject {
            Subject::Loader(node) | Subject::Object(node) => vec![*node],
            Subject::Owners(owners) => owners.clone(),
            Subject::Class(class) => {
                let Ok(analysis) = self.analysis() else {
                    return Vec::new();
                };
                let largest = self
                    .objects_of_class(*class)
                    .max_by_key(|&object| analysis.dominators.retained(object));
                largest.into_iter().collect()
            }
        }
    }

    fn reported(
        &self,
        graph: &Graph,
        paths: &Paths,
        suspect: Suspect,
        ways: Vec<(NodeId, Way)>,
        holders: &[Holder],
    ) -> Result<ReportedSuspect, Error> {
        let dominators = &self.analysis()?.dominators;
        let closure = match &suspect.subject {
            Subject::Loader(node) | Subject::Object(node) => dominators.dominated_by(&[*node]),
            Subject::Owners(owners) => gc_closure_among(graph, dominators.reachable(), owners),
            Subject::Class(class) => {
                let objects: Vec<NodeId> = self.objects_of_class(*class).collect();
                gc_closure_among(graph, dominators.reachable(), &objects)
            }
        };
        let contents = self.contents(graph, paths, &closure);
        let scene = Scene {
            session: self,
            graph,
            paths,
            subject: &suspect.subject,
            accumulation: suspect.accumulation,
            ways: &ways,
            closure: &closure,
            contents: &contents,
        };
        Ok(ReportedSuspect {
            patterns: scene.patterns(),
            retained_objects: closure.count() as u64,
            contents,
            fingerprint: self.fingerprint(&suspect, holders),
            holders: holders.iter().map(|holder| holder.name.clone()).collect(),
            subject: suspect.subject,
            severity: suspect.severity,
            retained: suspect.retained,
            accumulation: suspect.accumulation,
            kept: suspect.kept,
            ways,
        })
    }

    fn contents(&self, graph: &Graph, paths: &Paths, closure: &BitSet) -> Vec<Content> {
        let mut contents: Vec<Content> = (0..self.state().classes().len() as ClassId)
            .map(|class| Content {
                class,
                objects: 0,
                shallow: 0,
                through: None,
            })
            .collect();
        for node in closure.iter().filter(|&node| node < self.state().len()) {
            let Some(class) = graph.class(node) else {
                continue;
            };
            let content = &mut contents[class as usize];
            content.objects += 1;
            content.shallow += graph.size(node);
        }
        contents.sort_by_key(|content| (std::cmp::Reverse(content.shallow), content.class));
        contents.truncate(CONTENTS);
        contents.retain(|content| content.objects > 0);
        for content in &mut contents {
            content.through = self.mostly_through(graph, paths, closure, content);
        }
        contents
    }

    /// The field, or array, by which more than half of some objects of the class are held on a
    /// shortest path to them.
    fn mostly_through(
        &self,
        graph: &Graph,
        paths: &Paths,
        closure: &BitSet,
        content: &Content,
    ) -> Option<String> {
        const SAMPLE: usize = 64;
        let every = (content.objects as usize / SAMPLE).max(1);
        let members = self.objects_of_class(content.class);
        let members = members.filter(|&object| closure.contains(object));
        let sample: Vec<NodeId> = members.step_by(every).take(SAMPLE).collect();
        let mut held: FxHashMap<String, usize> = FxHashMap::default();
        for &object in &sample {
            let through = self.held_through(graph, paths, object);
            *held.entry(through.unwrap_or_default()).or_default() += 1;
        }
        let most = held
            .into_iter()
            .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
        let (through, objects) = most?;
        (objects * 2 > sample.len() && !through.is_empty()).then_some(through)
    }

    fn held_through(&self, graph: &Graph, paths: &Paths, object: NodeId) -> Option<String> {
        let state = self.state();
        let before = paths.before(object).flatten()?;
        let class = state.class(before).name.as_str();
        if state.array_length(before).is_some() {
            return Some(class.to_owned());
        }
        let field = self.edge_name(before, object, edge_kind(graph, before, object)?);
        Some(match state.mirrored(before) {
            Some(class) => format!("{} {field}", state.classes()[class as usize].name),
            None => format!("{class}.{field}"),
        })
    }

    /// The name of the class or package whose objects are kept.
    pub fn kept_name(&self, group: KeptGroup) -> String {
        match group {
            KeptGroup::Class(class) => self.state().classes()[class as usize].name.clone(),
            KeptGroup::Package(package) => {
                let packages = self.analysis().map(|analysis| &analysis.groups().packages);
                let name = packages.ok().and_then(|names| names.get(package as usize));
                format!("package {}", name.map_or("", String::as_str))
            }
        }
    }
}
