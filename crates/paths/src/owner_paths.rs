//! How structures are held, in words that stay the same from dump to dump: static fields, fields, indices
//! and keys, without addresses and without the inner parts of other structures.

use anthill_graph::{Graph, NodeId, Paths};
use anthill_heap::ObjectId;
use anthill_session::{Error, Session, edge_kind, stable_name};
use rustc_hash::FxHashMap;

use crate::RootsByObject;
use crate::structure_parts::{PartStep, StructureParts};

/// Longer paths are cut in the middle; a number of what was left out keeps them apart.
const LONGEST: usize = 400;
/// Whatever is further away is not told apart: a list of millions of objects has as many paths.
const MOST_STEPS: u32 = 64;

/// In place of the number of a path: it is not known yet.
const UNKNOWN: u32 = u32::MAX;

/// The path of all that is too far away; the first of all paths.
const TOO_FAR: &str = "(too far from a GC root)";

/// The owner paths of some objects along shortest paths from the roots.
pub fn owner_paths(session: &Session, objects: &[ObjectId]) -> Result<Vec<String>, Error> {
    let graph = session.owners_graph()?;
    let paths = session.paths_from_owners()?;
    let model = session.structure_model();
    let mut owners = OwnerPaths {
        session,
        graph: &graph,
        parts: StructureParts::new(session, &model)?,
        roots: RootsByObject::new(session),
        path_of: vec![UNKNOWN; graph.len() as usize],
        texts: vec![(TOO_FAR.to_owned(), MOST_STEPS)],
        positions: FxHashMap::default(),
    };
    let mut found = Vec::with_capacity(objects.len());
    for (number, &object) in objects.iter().enumerate() {
        if number % (1 << 12) == 0 {
            session.progress().check()?;
        }
        found.push(owners.of(paths, object));
    }
    Ok(found)
}

struct OwnerPaths<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    parts: StructureParts<'a>,
    roots: RootsByObject<'a>,
    /// By node: the number of its path.
    path_of: Vec<u32>,
    /// Paths with how many steps they have.
    texts: Vec<(String, u32)>,
    /// By array: where its elements are among those that are not null.
    positions: FxHashMap<NodeId, FxHashMap<NodeId, usize>>,
}

impl OwnerPaths<'_> {
    fn of(&mut self, paths: &Paths, object: NodeId) -> String {
        let mut pending = Vec::new();
        let mut at = object;
        // A class is where a path begins for a person, however it is reached itself.
        while self.path_of[at as usize] == UNKNOWN && self.class_name(at).is_none() {
            match paths.before(at) {
                Some(Some(before)) => {
                    pending.push(at);
                    at = before;
                }
                _ => break,
            }
        }
        if self.path_of[at as usize] == UNKNOWN {
            let start = self.start(at);
            self.path_of[at as usize] = self.add(start, 0);
        }
        while let Some(node) = pending.pop() {
            self.path_of[node as usize] = self.extended(at, node);
            at = node;
        }
        self.texts[self.path_of[object as usize] as usize].0.clone()
    }

    fn add(&mut self, text: String, steps: u32) -> u32 {
        self.texts.push((text, steps));
        self.texts.len() as u32 - 1
    }

    /// The path of an object that comes after another one.
    fn extended(&mut self, from: NodeId, to: NodeId) -> u32 {
        let before = self.path_of[from as usize];
        let steps = self.texts[before as usize].1;
        if steps >= MOST_STEPS {
            return 0;
        }
        match self.step(from, to) {
            Some(step) => {
                let text = cut(format!("{}{step}", self.texts[before as usize].0));
                self.add(text, steps + 1)
            }
            None => before,
        }
    }

    fn class_name(&self, node: NodeId) -> Option<String> {
        let state = self.session.state();
        let class = (node < state.len())
            .then(|| state.mirrored(node))
            .flatten()?;
        Some(stable_name(&state.classes()[class as usize].name))
    }

    fn start(&self, node: NodeId) -> String {
        match self.class_name(node) {
            Some(class) => class,
            None if node >= self.session.state().len() => "the boot loader".to_owned(),
            None => {
                let class = stable_name(&self.session.state().class(node).name);
                let label = self.session.label(node);
                let name = label
                    .detail
                    .map_or(String::new(), |name| format!(" {name}"));
                format!("{} ({class}{name})", self.roots.name(node))
            }
        }
    }

    /// How one object holds the next; nothing where that is a matter of a structure alone.
    fn step(&mut self, from: NodeId, to: NodeId) -> Option<String> {
        match self.parts.step(from, to) {
            PartStep::Inside => None,
            PartStep::Key(key) => Some(format!(" → [{key}]")),
            PartStep::Other => {
                let state = self.session.state();
                if from < state.len() && state.array_length(from).is_some() {
                    return Some(format!(" → [{}]", self.position(from, to)));
                }
                let kind = edge_kind(self.graph, from, to)?;
                let name = self.session.edge_name(from, to, kind);
                Some(match name.strip_prefix("static ") {
                    Some(field) if self.class_name(from).is_some() => format!(".{field}"),
                    _ => format!(" → {name}"),
                })
            }
        }
    }

    fn position(&mut self, array: NodeId, element: NodeId) -> usize {
        let positions = self.positions.entry(array).or_insert_with(|| {
            let references = self.graph.references(array).iter();
            let mut first = FxHashMap::default();
            for (position, &to) in references.enumerate() {
                first.entry(to).or_insert(position);
            }
            first
        });
        positions.get(&element).copied().unwrap_or_default()
    }
}

fn cut(path: String) -> String {
    let length = path.chars().count();
    if length <= LONGEST {
        return path;
    }
    let head: String = path.chars().take(LONGEST / 2).collect();
    let tail: String = path.chars().skip(length - LONGEST / 3).collect();
    let number = xxhash_rust::xxh3::xxh3_64(path.as_bytes()) as u32;
    format!("{head} … {number:08x} … {tail}")
}
