//! The upper part of the dominator tree, for people: many siblings of one class are one item, a
//! long chain such as a linked list is folded, and what is left out is counted.

use std::cmp::Reverse;

use anthill_graph::{Dominators, Graph, NodeId};
use anthill_heap::ClassId;
use anthill_session::{Dominated, Error, Session};
use rustc_hash::FxHashMap;

/// Siblings of one class become one item from this number on, even if each could be shown.
const GROUP_FROM: usize = 4;
/// An object that retains less than this part of what its parent retains does not stand alone.
const STANDS_ALONE: u64 = 100;
/// A chain is folded from this number of objects below its head on.
const FOLD_FROM: usize = 10;
/// In a chain, the class of its head comes again after at most this number of steps.
const PERIOD: usize = 8;

/// How much of the dominator tree is wanted.
pub struct TreeOptions {
    /// The object to start from; by default all that is reachable.
    pub top: Option<NodeId>,
    /// Levels below the top, at most [`TreeOptions::DEEPEST`].
    pub depth: usize,
    /// Items below each item.
    pub limit: usize,
    /// Items that retain less are left out.
    pub least: u64,
}

impl TreeOptions {
    /// The tree goes no deeper, so that it stays readable, also for programs: many readers of JSON
    /// refuse more than 128 levels, and every item takes two.
    pub const DEEPEST: usize = 50;
}

/// Objects in the dominator tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Member {
    /// All that is reachable.
    Heap,
    /// One object.
    Object(NodeId),
    /// Several objects of one class with the same parent.
    Group(ClassId),
    /// Objects that each dominate the next one and nothing else that is shown, with their class
    /// if it is the same. The item above is the first of the chain, the one below its last.
    Chain(Option<ClassId>),
}

/// A line of the dominator tree.
#[derive(Clone, Debug)]
pub struct TreeItem {
    /// Which objects.
    pub member: Member,
    /// How many objects the item itself stands for.
    pub count: u64,
    /// Bytes that would die with them.
    pub retained: u64,
    /// Objects retained, those of the item included.
    pub objects: u64,
    /// Indices of items.
    pub children: Vec<usize>,
    /// How many objects below were left out, and what they retain.
    pub omitted: u64,
    /// See `omitted`.
    pub omitted_retained: u64,
    /// How many of the objects retained are below the last level.
    pub deeper: u64,
    parent: usize,
}

/// The items of the tree; the first one is the top, parents come before their children.
pub fn dominator_tree(session: &Session, options: &TreeOptions) -> Result<Vec<TreeItem>, Error> {
    let dominators = &session.analysis()?.dominators;
    let children = session.dominated()?;
    Ok(tree(&session.graph(), dominators, children, options))
}

fn tree(
    graph: &Graph,
    dominators: &Dominators,
    children: &Dominated,
    options: &TreeOptions,
) -> Vec<TreeItem> {
    let mut builder = Builder {
        graph,
        dominators,
        children,
        options,
        items: Vec::new(),
        below: Vec::new(),
    };
    match options.top {
        None => {
            let retained = builder.retained_by(builder.children.of_root());
            builder.add(Member::Heap, 1, retained, 0, Below::Heap);
        }
        Some(node) => builder.add_objects(vec![node], 0),
    }
    let mut level = 0;
    for _ in 0..options.depth.min(TreeOptions::DEEPEST) {
        let next = builder.items.len();
        for item in level..next {
            builder.expand(item);
        }
        level = next;
    }
    builder.finish()
}

/// What is to come below an item.
enum Below {
    Heap,
    /// The children of these objects.
    Objects(Vec<NodeId>),
    /// The last object of a chain.
    End(NodeId),
    /// It is there.
    Added,
}

/// The children of an item as they are shown.
#[derive(Default)]
struct Selection {
    /// The objects of each item.
    shown: Vec<Vec<NodeId>>,
    omitted: Vec<NodeId>,
}

impl Selection {
    /// The only object that is shown.
    fn only(&self) -> Option<NodeId> {
        match self.shown.as_slice() {
            [nodes] if nodes.len() == 1 => Some(nodes[0]),
            _ => None,
        }
    }
}

struct Builder<'a> {
    graph: &'a Graph<'a>,
    /// By node.
    dominators: &'a Dominators,
    children: &'a Dominated,
    options: &'a TreeOptions,
    items: Vec<TreeItem>,
    /// By item.
    below: Vec<Below>,
}

impl Builder<'_> {
    fn retained_by(&self, nodes: &[NodeId]) -> u64 {
        nodes
            .iter()
            .map(|&node| self.dominators.retained(node))
            .sum()
    }

    fn add(&mut self, member: Member, count: u64, retained: u64, parent: usize, below: Below) {
        let number = self.items.len();
        if number > 0 {
            self.items[parent].children.push(number);
        }
        self.items.push(TreeItem {
            member,
            count,
            retained,
            objects: 0,
            children: Vec::new(),
            omitted: 0,
            omitted_retained: 0,
            deeper: 0,
            parent,
        });
        self.below.push(below);
    }

    /// Adds an item for objects of one class.
    fn add_objects(&mut self, nodes: Vec<NodeId>, parent: usize) {
        let member = match (nodes.as_slice(), self.graph.class(nodes[0])) {
            (&[_, _, ..], Some(class)) => Member::Group(class),
            _ => Member::Object(nodes[0]),
        };
        let retained = self.retained_by(&nodes);
        let count = nodes.len() as u64;
        self.add(member, count, retained, parent, Below::Objects(nodes));
    }

    /// Adds what is below an item.
    fn expand(&mut self, item: usize) {
        let retained = self.items[item].retained;
        match std::mem::replace(&mut self.below[item], Below::Added) {
            Below::Added => {}
            Below::Heap => {
                let selection = self.select(retained, self.children.of_root());
                self.add_selection(selection, item);
            }
            Below::Objects(nodes) => {
                let children = nodes.iter().map(|&node| self.children.of(node));
                let selection = self.select(retained, &children.collect::<Vec<_>>().concat());
                match nodes.as_slice() {
                    &[head] => match self.chain(head) {
                        Some(chain) => {
                            self.omit(item, &selection.omitted);
                            self.add_chain(&chain, item);
                        }
                        None => self.add_selection(selection, item),
                    },
                    _ => self.add_selection(selection, item),
                }
            }
            Below::End(node) => self.add_objects(vec![node], item),
        }
    }

    fn add_selection(&mut self, selection: Selection, parent: usize) {
        self.omit(parent, &selection.omitted);
        for nodes in selection.shown {
            self.add_objects(nodes, parent);
        }
    }

    /// Counts what is left out below an item.
    fn omit(&mut self, item: usize, nodes: &[NodeId]) {
        let (retained, objects) = (self.retained_by(nodes), self.children.count(nodes));
        let item = &mut self.items[item];
        item.omitted += nodes.len() as u64;
        item.omitted_retained += retained;
        item.objects += objects;
    }

    /// Which of the children of something are shown, largest first. A class has one item for those
    /// that are small, and it counts by what they retain together.
    fn select(&self, retained: u64, children: &[NodeId]) -> Selection {
        let least = self.options.least;
        let large = retained.div_ceil(STANDS_ALONE).max(least).max(1);
        let most_alone = self.options.limit.saturating_sub(2).max(1);
        let size = |node: NodeId| self.dominators.retained(node);
        let mut by_class: FxHashMap<u32, Vec<NodeId>> = FxHashMap::default();
        for &node in children {
            let class = self.graph.class(node).unwrap_or(u32::MAX);
            by_class.entry(class).or_default().push(node);
        }
        let mut candidates: Vec<(u64, Vec<NodeId>)> = Vec::new();
        for mut nodes in by_class.into_values() {
            if !nodes.is_sorted() {
                nodes.sort_unstable();
            }
            let (mut alone, mut together): (Vec<NodeId>, Vec<NodeId>) =
                nodes.into_iter().partition(|&node| size(node) >= large);
            if alone.len() > most_alone {
                alone.sort_by_key(|&node| (Reverse(size(node)), node));
                together.extend(alone.split_off(most_alone));
            }
            if together.len() < GROUP_FROM && together.iter().all(|&node| size(node) >= least) {
                alone.append(&mut together);
            }
            candidates.extend(alone.iter().map(|&node| (size(node), vec![node])));
            if !together.is_empty() {
                candidates.push((self.retained_by(&together), together));
            }
        }
        candidates.sort_by_key(|(retained, nodes)| (Reverse(*retained), nodes[0]));
        let mut selection = Selection::default();
        for (index, (retained, nodes)) in candidates.into_iter().enumerate() {
            if index >= self.options.limit || retained < least {
                selection.omitted.extend(nodes);
            } else {
                selection.shown.push(nodes);
            }
        }
        selection
    }

    fn select_below(&self, node: NodeId) -> Selection {
        self.select(self.dominators.retained(node), self.children.of(node))
    }

    /// The objects of the chain that begins with `head`, without it, if it is long enough to be
    /// folded: each is all that is shown below the one before, and their classes come again and
    /// again.
    fn chain(&self, head: NodeId) -> Option<Vec<NodeId>> {
        let class = |node| self.graph.class(node);
        let mut chain = Vec::new();
        let mut classes = Vec::new();
        let mut at = head;
        while classes.last() != Some(&class(head)) {
            if classes.len() == PERIOD {
                return None;
            }
            at = self.select_below(at).only()?;
            chain.push(at);
            classes.push(class(at));
        }
        let next = |at| self.select_below(at).only();
        while let Some(found) = next(at).filter(|&next| classes.contains(&class(next))) {
            chain.push(found);
            at = found;
        }
        (chain.len() >= FOLD_FROM).then_some(chain)
    }

    /// Adds an item for all of a chain but its end.
    fn add_chain(&mut self, chain: &[NodeId], parent: usize) {
        let Some((&end, folded)) = chain.split_last() else {
            return;
        };
        let class = self.graph.class(folded[0]);
        let same = folded.iter().all(|&node| self.graph.class(node) == class);
        let omitted: Vec<NodeId> = folded
            .iter()
            .flat_map(|&node| self.select_below(node).omitted)
            .collect();
        let item = self.items.len();
        self.add(
            Member::Chain(class.filter(|_| same)),
            folded.len() as u64,
            self.dominators.retained(folded[0]),
            parent,
            Below::End(end),
        );
        self.omit(item, &omitted);
    }

    /// Counts the objects that each item retains; those left out are counted already.
    fn finish(mut self) -> Vec<TreeItem> {
        for index in (0..self.items.len()).rev() {
            let deeper = match &self.below[index] {
                Below::Heap => self.children.count(self.children.of_root()),
                Below::Objects(nodes) => self.children.count(nodes) - nodes.len() as u64,
                Below::End(node) => self.children.count(&[*node]),
                Below::Added => 0,
            };
            let item = &mut self.items[index];
            item.deeper = deeper;
            item.objects += deeper;
            if item.member != Member::Heap {
                item.objects += item.count;
            }
            let (objects, parent) = (item.objects, item.parent);
            if index > 0 {
                self.items[parent].objects += objects;
            }
        }
        self.items
    }
}

#[cfg(test)]
mod tests {
    use anthill_graph::{Convention, DepthFirst};
    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;

    /// The items of a heap's tree, one line each: level, name of the class with the number of
    /// objects, what is omitted.
    fn lines(heap: &HeapBuilder, options: &TreeOptions) -> Vec<String> {
        let state = heap.build();
        let sizes = state.tables.sizes.as_ref().unwrap();
        let graph = Graph::new(&state, sizes, Convention::DEFAULT);
        let search = DepthFirst::new(&graph, &Quiet).unwrap();
        let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
        let dominated = Dominated::new(&dominators.immediate, &Quiet).unwrap();
        let items = tree(&graph, &dominators, &dominated, options);
        let mut open = vec![(0, 0)];
        let mut lines = Vec::new();
        while let Some((index, level)) = open.pop() {
            let item = &items[index];
            let class = |class: ClassId| state.classes()[class as usize].name.as_str();
            let name = match item.member {
                Member::Heap => "heap",
                Member::Object(node) => &state.class(node).name,
                Member::Group(of) => class(of),
                Member::Chain(of) => of.map_or("chain", class),
            };
            let (count, omitted, objects) = (item.count, item.omitted, item.objects);
            lines.push(format!("{level} {count} {name} {objects} -{omitted}"));
            open.extend(item.children.iter().rev().map(|&child| (child, level + 1)));
        }
        lines
    }

    fn options(depth: usize, least: u64) -> TreeOptions {
        TreeOptions {
            top: None,
            depth,
            limit: 10,
            least,
        }
    }

    fn roots(heap: &mut HeapBuilder, name: &str, class: &str, size: u32, count: usize) {
        for number in 0..count {
            heap.object(&format!("{name}{number}"), class, size);
            heap.root(&format!("{name}{number}"));
        }
    }

    #[test]
    fn a_class_counts_by_what_its_objects_retain_together() {
        let mut heap = HeapBuilder::new();
        heap.object("large", "Large", 9_500);
        heap.object("holder", "Holder", 0);
        heap.root("large");
        heap.root("holder");
        for number in 0..10 {
            heap.object(&format!("o{number}"), "byte[]", 50);
            heap.edges(&format!("holder -> o{number}"));
        }
        assert_eq!(
            lines(&heap, &options(2, 100)),
            [
                "0 1 heap 12 -0",
                "1 1 Large 1 -0",
                "1 1 Holder 11 -0",
                "2 10 byte[] 10 -0",
            ]
        );
    }

    #[test]
    fn objects_over_the_limit_stand_alone_and_the_rest_of_their_class_together() {
        let mut heap = HeapBuilder::new();
        roots(&mut heap, "thread", "Thread", 10, 7);
        heap.object("rest", "Rest", 900);
        heap.root("rest");
        for number in 0..3 {
            heap.object(&format!("map{number}"), "Map", 30);
            heap.edges(&format!("thread{number} -> map{number}"));
        }
        assert_eq!(
            lines(&heap, &options(1, 40)),
            [
                "0 1 heap 11 -0",
                "1 1 Rest 1 -0",
                "1 1 Thread 2 -0",
                "1 1 Thread 2 -0",
                "1 1 Thread 2 -0",
                "1 4 Thread 4 -0",
            ]
        );
    }

    #[test]
    fn large_objects_of_a_class_leave_room_for_others() {
        let mut heap = HeapBuilder::new();
        roots(&mut heap, "session", "Session", 20, 50);
        roots(&mut heap, "other", "Other", 10, 1);
        let lines = lines(&heap, &options(1, 10));
        assert_eq!(lines[0], "0 1 heap 51 -0");
        assert_eq!(lines[1], "1 42 Session 42 -0");
        assert!(lines[2..10].iter().all(|line| line == "1 1 Session 1 -0"));
        assert_eq!(lines[10..], ["1 1 Other 1 -0"]);
    }

    /// `holder -> n0 -> m0 -> n1 -> m1 …`, of two classes in turn, the last holds `end`.
    fn list(pairs: usize) -> HeapBuilder {
        let mut heap = HeapBuilder::new();
        heap.object("before", "Holder", 16);
        heap.root("before");
        let mut before = "before".to_owned();
        for pair in 0..pairs {
            for class in ["Node", "More"] {
                let name = format!("{class}{pair}");
                heap.object(&name, class, 16);
                heap.edges(&format!("{before} -> {name}"));
                before = name;
            }
        }
        heap.object("end", "End", 16);
        heap.edges(&format!("{before} -> end"));
        heap
    }

    #[test]
    fn a_long_chain_is_folded_and_a_short_one_is_not() {
        assert_eq!(
            lines(&list(500), &options(6, 0)),
            [
                "0 1 heap 1002 -0",
                "1 1 Holder 1002 -0",
                "2 1 Node 1001 -0",
                "3 998 chain 1000 -0",
                "4 1 More 2 -0",
                "5 1 End 1 -0",
            ]
        );
        assert_eq!(lines(&list(5), &options(50, 0)).len(), 13);
    }

    #[test]
    fn depth_is_bounded() {
        let mut heap = HeapBuilder::new();
        heap.object("n0", "Node", 16);
        heap.root("n0");
        for number in 1..200 {
            heap.object(&format!("n{number}"), "Node", 16);
            heap.object(&format!("v{number}"), "Value", 16);
            let before = number - 1;
            heap.edges(&format!("n{before} -> n{number} v{number}"));
        }
        let deepest = TreeOptions::DEEPEST;
        assert_eq!(lines(&heap, &options(usize::MAX, 0)).len(), 2 * deepest);
        let lines = lines(&heap, &options(2, 0));
        assert_eq!(lines[0], "0 1 heap 399 -0");
        assert_eq!(lines[2], "2 1 Node 397 -0");
    }
}
