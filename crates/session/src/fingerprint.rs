//! By what a leak is recognised in another run of the program, or later in the same: names only,
//! no addresses, sizes or indices, and nothing of how the JVM's own collections are made up.

use anthill_graph::{Graph, NodeId};
use anthill_heap::ClassId;
use anthill_leaks::{KeptGroup, Roles, Subject, Suspect};
use xxhash_rust::xxh3::xxh3_64;

use crate::Session;
use crate::diff::stable_name;
use crate::ways::Way;

/// Where the program holds an object: `static field Shop.tenants → orders`.
pub(crate) struct Holder {
    pub name: String,
    /// The program's class whose static field it starts with.
    class: Option<ClassId>,
}

impl Session {
    pub(crate) fn holder(
        &self,
        graph: &Graph,
        roles: &Roles,
        path: &[NodeId],
        way: &Way,
    ) -> Holder {
        let last = path.len() - 1;
        let static_field = |index: usize| {
            let class = self.mirrored(path[index])?;
            let edge = self.via(graph, path[index], path[index + 1])?;
            let name = &self.state().classes()[class as usize].name;
            let start = format!("static field {name}.{}", edge.strip_prefix("static ")?);
            Some((start, Some(class), index + 1))
        };
        // The path may start with a local variable although the object is in a static field, too.
        let in_field = || {
            let (class, field) = self.static_field(path[last])?;
            Some((field, Some(class), last))
        };
        let found = (0..last).rev().find_map(static_field).or_else(in_field);
        let (start, class, from) = found.unwrap_or_else(|| {
            let root = self.root_without_numbers(way);
            (root, None, 0)
        });
        let mut steps = vec![stable_name(&start)];
        for pair in path[from..].windows(2) {
            if !self.is_of_platform(roles, pair[0]) {
                let step = self.via(graph, pair[0], pair[1]).unwrap_or_default();
                // The elements of an array of the program's own are held alike.
                if !step.starts_with('[') && !steps.contains(&step) {
                    steps.push(step);
                }
            }
        }
        let class = class.filter(|&class| !roles.is_platform_class(class));
        let mut name = steps.join(" → ");
        if class.is_none() {
            name += &format!(", {}", self.class_word(path[last]));
        }
        Holder { name, class }
    }

    fn mirrored(&self, node: NodeId) -> Option<ClassId> {
        let state = self.state();
        (node < state.len()).then(|| state.mirrored(node)).flatten()
    }

    fn is_of_platform(&self, roles: &Roles, node: NodeId) -> bool {
        let state = self.state();
        node >= state.len() || roles.is_platform_class(state.class_id(node))
    }

    /// The thread a way starts in, or else the kind of its root. Where a thread is in its code differs
    /// from moment to moment, and threads of a pool differ in their number.
    fn root_without_numbers(&self, way: &Way) -> String {
        let threads = &self.state().tables.threads;
        let thread = way.thread.and_then(|thread| threads.get(thread as usize));
        let name = match thread.and_then(|thread| thread.name.as_deref()) {
            Some(name) => format!("thread \"{name}\""),
            None => way.root.clone(),
        };
        name.chars().filter(|char| !char.is_ascii_digit()).collect()
    }

    fn class_word(&self, node: NodeId) -> String {
        let classes = self.state().classes();
        match self.mirrored(node) {
            Some(class) => format!("class {}", stable_name(&classes[class as usize].name)),
            None if node < self.state().len() => stable_name(&self.state().class(node).name),
            None => String::new(),
        }
    }

    /// Of owners that keep a group alive together the group counts, and the program's classes that
    /// they belong to: which of the owners retains most, and whether there is one more, changes
    /// while the program runs.
    pub(crate) fn fingerprint(&self, suspect: &Suspect, holders: &[Holder]) -> String {
        let names = holders.iter().map(|holder| holder.name.clone());
        let mut words: Vec<String> = match suspect.subject {
            Subject::Class(_) => Vec::new(),
            Subject::Loader(_) | Subject::Object(_) => names.collect(),
            Subject::Owners(_) => {
                let classes = holders.iter().filter_map(|holder| holder.class);
                let classes: Vec<String> = classes
                    .map(|class| stable_name(&self.state().classes()[class as usize].name))
                    .collect();
                match classes[..] {
                    [] => names.collect(),
                    _ => classes,
                }
            }
        };
        words.sort_unstable();
        words.dedup();
        let group = match suspect.subject {
            Subject::Class(class) => Some(KeptGroup::Class(class)),
            Subject::Owners(_) => suspect.kept.map(|kept| kept.group),
            Subject::Loader(loader) => {
                words.push(self.class_word(loader));
                None
            }
            Subject::Object(_) => None,
        };
        words.extend(group.map(|group| stable_name(&self.kept_name(group))));
        format!("{:016x}", xxh3_64(words.join("\n").as_bytes()))
    }
}
