//! The dominator tree with equal owners merged: objects of one class that objects of one group hold in the
//! same way are one group. The way to a group is the same in every dump, so groups can be compared, and a
//! thousand threads that each hold a little are one owner.

use anthill_graph::{Dominators, Graph, NodeId};
use anthill_heap::ClassId;
use anthill_session::{Dominated, Error, Session, edge_kind, stable_name};
use rustc_hash::FxHashMap;

use crate::RootsByObject;

/// Groups with more members are not looked into: what they hold are elements of elements.
const MOST_MEMBERS: u64 = 20_000;
/// A group is the same as one around it if that is at most so many steps away: the nodes of a list are one
/// group.
const PERIOD: usize = 4;
/// Nothing further away from the roots is looked at.
const DEEPEST: u32 = 200;
/// References of an object that are searched for the one to another object.
const MOST_REFERENCES: usize = 1_000;

/// Several objects hold it, or it cannot be told in which way one does.
const UNKNOWN: u32 = 0;
/// It is an element of an array.
const ELEMENT: u32 = 1;

/// The groups; the first one is the whole heap.
pub struct OwnerTree {
    /// Those around others come first.
    pub groups: Vec<OwnerGroup>,
}

/// Objects that are held in the same way by objects of another group.
#[derive(Clone, Debug)]
pub struct OwnerGroup {
    /// How they are held, and their class, in words that are the same in every dump.
    pub name: String,
    /// Their class.
    pub class: Option<ClassId>,
    /// The number of objects; of nodes in a list only those that keep much alive are counted.
    pub members: u64,
    /// Bytes that would be freed with them all.
    pub retained: u64,
    /// The members, up to 20,000 of them.
    pub nodes: Vec<NodeId>,
    /// The member that retains most.
    pub example: Option<NodeId>,
    /// Groups that these objects keep alive, largest first.
    pub children: Vec<usize>,
    parent: usize,
    depth: u32,
    edge: u32,
}

impl OwnerGroup {
    /// Whether it is known how its members are held; several objects hold those of which it is not.
    pub fn is_held_in_one_way(&self) -> bool {
        self.edge != UNKNOWN
    }
}

impl OwnerTree {
    /// The groups that retain at least so many bytes.
    pub fn new(session: &Session, least: u64) -> Result<Self, Error> {
        let dominators = session.owner_dominators()?;
        let graph = session.owners_graph()?;
        let state = session.state();
        let heap = OwnerGroup {
            name: "the heap".to_owned(),
            class: None,
            members: 1,
            retained: session.analysis()?.total().retained,
            nodes: Vec::new(),
            example: None,
            children: Vec::new(),
            parent: 0,
            depth: 0,
            edge: UNKNOWN,
        };
        let mut builder = Builder {
            session,
            graph: &graph,
            dominators,
            dominated: session.owner_dominated()?,
            roots: RootsByObject::new(session),
            groups: vec![heap],
            known: FxHashMap::default(),
            edges: vec![String::new(), "[]".to_owned()],
            edge_numbers: FxHashMap::default(),
            is_thread: (0..state.classes().len() as ClassId)
                .map(|class| state.extends(class, "java.lang.Thread"))
                .collect(),
        };
        builder.build(least)?;
        Ok(builder.finish(least))
    }

    /// The group below another one that has a name.
    pub fn child(&self, group: usize, name: &str) -> Option<usize> {
        let mut children = self.groups[group].children.iter().copied();
        children.find(|&child| self.groups[child].name == name)
    }
}

struct Builder<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    dominators: &'a Dominators,
    dominated: &'a Dominated,
    roots: RootsByObject<'a>,
    groups: Vec<OwnerGroup>,
    /// By the group around them, how they are held, and their class.
    known: FxHashMap<(usize, u32, ClassId), usize>,
    edges: Vec<String>,
    edge_numbers: FxHashMap<String, u32>,
    /// By class: there may be millions of objects to ask for.
    is_thread: Vec<bool>,
}

impl Builder<'_> {
    fn build(&mut self, least: u64) -> Result<(), Error> {
        let top: Vec<NodeId> = self.dominated.of_root().to_vec();
        let mut work = self.divide(0, None, &top);
        while let Some((group, members)) = work.pop() {
            self.session.progress().check()?;
            let retained: u64 = members
                .iter()
                .map(|&node| self.dominators.retained(node))
                .sum();
            let OwnerGroup {
                members: all,
                depth,
                ..
            } = self.groups[group];
            if retained < least || all > MOST_MEMBERS || depth >= DEEPEST {
                continue;
            }
            let mut below: FxHashMap<usize, Vec<NodeId>> = FxHashMap::default();
            for &member in &members {
                for (group, nodes) in self.divide(group, Some(member), self.dominated.of(member)) {
                    below.entry(group).or_default().extend(nodes);
                }
            }
            work.extend(below);
        }
        Ok(())
    }

    /// Puts what a member of a group dominates into groups below it.
    fn divide(
        &mut self,
        group: usize,
        holder: Option<NodeId>,
        nodes: &[NodeId],
    ) -> Vec<(usize, Vec<NodeId>)> {
        let mut divided: FxHashMap<usize, Vec<NodeId>> = FxHashMap::default();
        for &node in nodes {
            let edge = self.edge(holder, node);
            let Some(class) = self.graph.class(node) else {
                continue;
            };
            let (into, is_inner) = self.group_of(group, edge, class);
            let retained = self.dominators.retained(node);
            let one = &mut self.groups[into];
            one.members += 1;
            if one.members <= MOST_MEMBERS {
                one.nodes.push(node);
            }
            if !is_inner {
                one.retained += retained;
            }
            let is_larger = |known: NodeId| self.dominators.retained(known) < retained;
            if one.example.is_none_or(is_larger) {
                one.example = Some(node);
            }
            divided.entry(into).or_default().push(node);
        }
        divided.into_iter().collect()
    }

    /// The group for objects of a class that are held in a way; and whether it is around the holder itself.
    fn group_of(&mut self, holder: usize, edge: u32, class: ClassId) -> (usize, bool) {
        let mut around = holder;
        for _ in 0..PERIOD {
            let group = &self.groups[around];
            if group.edge == edge && group.class == Some(class) && around != 0 {
                return (around, true);
            }
            around = group.parent;
        }
        if let Some(&known) = self.known.get(&(holder, edge, class)) {
            return (known, false);
        }
        let number = self.groups.len();
        let name = &self.session.state().classes()[class as usize].name;
        self.groups.push(OwnerGroup {
            name: format!("{} ({})", self.edges[edge as usize], stable_name(name)),
            class: Some(class),
            members: 0,
            retained: 0,
            nodes: Vec::new(),
            example: None,
            children: Vec::new(),
            parent: holder,
            depth: self.groups[holder].depth + 1,
            edge,
        });
        self.known.insert((holder, edge, class), number);
        (number, false)
    }

    /// How an object is held; threads and classes have names of their own.
    fn edge(&mut self, holder: Option<NodeId>, node: NodeId) -> u32 {
        let state = self.session.state();
        if node < state.len()
            && let Some(class) = state.mirrored(node)
        {
            let name = format!("class {}", state.classes()[class as usize].name);
            return self.number(name);
        }
        let class = self.graph.class(node);
        if class.is_some_and(|class| self.is_thread[class as usize]) {
            let name = self.session.label(node).detail.unwrap_or_default();
            return self.number(format!("thread {}", without_numbers(&name)));
        }
        let name = match holder {
            None if self.graph.is_root(node) => without_numbers(&self.roots.place(node)),
            None => return UNKNOWN,
            Some(holder) if holder < state.len() && state.array_length(holder).is_some() => {
                return ELEMENT;
            }
            Some(holder) => {
                if self.graph.references(holder).len() > MOST_REFERENCES {
                    return UNKNOWN;
                }
                match edge_kind(self.graph, holder, node) {
                    Some(kind) => self.session.edge_name(holder, node, kind),
                    None => return UNKNOWN,
                }
            }
        };
        self.number(name)
    }

    fn number(&mut self, edge: String) -> u32 {
        if let Some(&number) = self.edge_numbers.get(&edge) {
            return number;
        }
        let number = self.edges.len() as u32;
        self.edges.push(edge.clone());
        self.edge_numbers.insert(edge, number);
        number
    }

    fn finish(mut self, least: u64) -> OwnerTree {
        for group in 1..self.groups.len() {
            if self.groups[group].retained >= least {
                let parent = self.groups[group].parent;
                self.groups[parent].children.push(group);
            }
        }
        for group in 0..self.groups.len() {
            let mut children = std::mem::take(&mut self.groups[group].children);
            children.sort_by_key(|&child| std::cmp::Reverse(self.groups[child].retained));
            self.groups[group].children = children;
        }
        OwnerTree {
            groups: self.groups,
        }
    }
}

/// A name in which every number is a star, such as `"pool-*-thread-*"`, except for digits within the names of
/// classes and fields.
pub fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let (mut is_quoted, mut is_escaped) = (false, false);
    for char in name.chars() {
        let is_within_name = || {
            let before = out.chars().next_back();
            !is_quoted && before.is_some_and(|char| char.is_alphanumeric() || "_$".contains(char))
        };
        match char {
            '0'..='9' if out.ends_with('*') => {}
            '0'..='9' if !is_within_name() => out.push('*'),
            _ => out.push(char),
        }
        is_quoted ^= char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn threads_of_one_pool_have_one_name() {
        assert_eq!(
            without_numbers("\"pool-12-thread-3\""),
            "\"pool-*-thread-*\""
        );
        assert_eq!(without_numbers("main"), "main");
        assert_eq!(
            without_numbers("thread \"a1\\\"b2\" → [17] → log4j.Map$Node2 → x_3 (A.java:10)"),
            "thread \"a*\\\"b*\" → [*] → log4j.Map$Node2 → x_3 (A.java:*)"
        );
    }
}
