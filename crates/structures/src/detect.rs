//! All structures of a heap, in one pass over what belongs to them.

use anthill_heap::{BitSet, Cancelled, ObjectId, Progress, Sizes};

use crate::element_counts::Counts;
use crate::language::Kind;
use crate::model::Model;
use crate::tally::{Measures, Tally};
use crate::walker::{Met, Shared, Walker};

/// One data structure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    /// The object it is known by.
    pub head: ObjectId,
    /// The number of its definition.
    pub definition: u32,
    /// How many elements it has, if that can be told. Null elements are not counted.
    pub elements: Option<u64>,
    /// References to leaves.
    pub leaves: u64,
    /// Inner parts, those of its part structures included.
    pub internals: u64,
    /// Bytes of the head and the inner parts.
    pub bytes: u64,
    /// For how many elements there is room, if that is known.
    pub capacity: Option<u64>,
    /// For how many there is room in its arrays, if it has any.
    pub slots: Option<u64>,
    /// Used slots of hash tables: of arrays with inner parts in them.
    pub buckets: u64,
    /// Bytes of slots that nothing is in.
    pub unused: u64,
    /// How many structures are in each other from here on, this one included.
    pub depth: u32,
    /// Whether it is a part of another structure, like the map in a set.
    pub is_part: bool,
    /// Whether it is an element of another structure.
    pub is_element: bool,
    /// Whether it only shows what another structure has that does not need it.
    pub is_view: bool,
    /// Whether it shares parts with so many others that not all of its own were counted.
    pub at_least: bool,
}

impl Instance {
    /// Elements as a share of the capacity, if there is any.
    pub fn fill(&self) -> Option<f64> {
        let (elements, capacity) = (self.elements?, self.capacity?);
        (capacity > 0).then(|| elements as f64 / capacity as f64)
    }

    /// Whether it is known to have no element.
    pub fn is_empty(&self) -> bool {
        self.elements == Some(0)
    }

    /// Bytes that hold nothing: all of an empty structure, otherwise the slots without elements.
    pub fn waste(&self) -> u64 {
        if self.is_empty() {
            self.bytes
        } else {
            self.unused
        }
    }

    /// Whether the entries of a hash table are in so few buckets that there is something wrong with their
    /// hash codes: even a bad spread has fewer than two in the used ones.
    pub fn is_degenerate(&self) -> bool {
        let entries = self.elements.unwrap_or(0);
        self.buckets > 0 && entries >= FEWEST_ENTRIES && entries > 2 * self.buckets
    }

    /// Whether most of its slots are free, and there are enough of them to matter.
    pub fn is_sparse(&self) -> bool {
        let elements = self.elements.unwrap_or(u64::MAX);
        let slots = self.slots.unwrap_or(0);
        elements > 0 && slots >= FEWEST_SLOTS && elements.saturating_mul(4) < slots
    }

    fn add_elements(&mut self, part: &Instance) {
        self.elements = match (self.elements, part.elements) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            _ => None,
        };
        self.capacity = sum(self.capacity, part.capacity);
        self.at_least |= part.at_least;
    }

    fn add_bytes(&mut self, part: &Instance) {
        self.leaves = self.leaves.saturating_add(part.leaves);
        self.internals = self.internals.saturating_add(part.internals + 1);
        self.bytes = self.bytes.saturating_add(part.bytes);
        self.buckets = self.buckets.saturating_add(part.buckets);
        self.unused = self.unused.saturating_add(part.unused);
        self.slots = sum(self.slots, part.slots);
        self.at_least |= part.at_least;
    }

    /// Whether no other structure has it as a part or an element.
    pub fn is_top_level(&self) -> bool {
        !self.is_part && !self.is_element
    }
}

/// The sum of those that are known.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    }
}

/// In smaller hash tables chance does as much as bad hash codes.
const FEWEST_ENTRIES: u64 = 64;
/// Arrays of fewer slots are never sparse.
const FEWEST_SLOTS: u64 = 16;

/// How one structure is in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inside {
    /// It is a part of the outer one.
    Part,
    /// It is an element of the outer one.
    Element,
    /// The outer one is a view of the inner one, which is there without it.
    Viewed,
}

/// All structures of a heap.
pub struct Structures {
    /// By object number of the head.
    pub instances: Vec<Instance>,
    /// Objects that are inner parts of some structure.
    pub internals: BitSet,
    /// Objects that some structure has as elements, keys or values.
    pub leaves: BitSet,
    /// Outer and inner structure by number, ascending, each pair once.
    contained: Vec<(u32, u32, Inside)>,
}

/// Parts that several structures share may be met so many times more often than there are objects.
const MOST_SHARED: u64 = 4;

/// How many heads there are between two looks at whether somebody still wants the result.
pub(crate) const BETWEEN_LOOKS: usize = 1 << 12;

impl Structures {
    /// Finds the structures whose heads `wanted` accepts. A view has what it leads to as a part if `owns` says
    /// that the latter is there because of it.
    pub fn detect(
        model: &Model,
        sizes: &Sizes,
        wanted: impl Fn(ObjectId) -> bool,
        owns: impl Fn(ObjectId, ObjectId) -> bool,
        progress: &dyn Progress,
    ) -> Result<Self, Cancelled> {
        let state = model.state;
        let classes: &[u32] = &state.columns.classes;
        let heads: Vec<ObjectId> = (0..state.len())
            .filter(|&object| model.is_head.contains(classes[object as usize]) && wanted(object))
            .collect();
        progress.stage("finding data structures", heads.len() as u64);
        let measure = Measures::new(model, sizes);
        let mut found = Structures {
            instances: Vec::with_capacity(heads.len()),
            internals: BitSet::new(state.len() as usize),
            leaves: BitSet::new(state.len() as usize),
            contained: Vec::new(),
        };
        let mut walker = Walker::new(model);
        let mut left = MOST_SHARED * u64::from(state.len());
        for (number, &head) in heads.iter().enumerate() {
            if number % BETWEEN_LOOKS == 0 {
                progress.check()?;
                progress.advance(BETWEEN_LOOKS.min(heads.len() - number) as u64);
            }
            found.add(&mut walker, head, &measure, &heads, &owns, &mut left);
        }
        found.contained.sort_unstable();
        found.contained.dedup();
        found.mark_contained(model);
        found.add_up_parts(model);
        found.measure_depth();
        Ok(found)
    }

    fn add(
        &mut self,
        walker: &mut Walker,
        head: ObjectId,
        measures: &Measures,
        heads: &[ObjectId],
        owns: &impl Fn(ObjectId, ObjectId) -> bool,
        left: &mut u64,
    ) {
        let model = walker.model();
        let state = model.state;
        let number = self.instances.len() as u32;
        let plan = model.plan_at(head);
        let is_view = plan.is_some_and(|plan| plan.kind == Kind::View);
        let mut tally = Tally::new(measures, head);
        let (mut leaves, mut owned, mut at_least) = (0, false, false);
        let mut inside = |object: ObjectId, how| {
            if model.is_head.contains(state.class_id(object)) {
                if let Ok(inner) = heads.binary_search(&object) {
                    self.contained.push((number, inner as u32, how));
                }
            }
        };
        let shared = || {
            *left = left.saturating_sub(1);
            match *left {
                0 => {
                    at_least = true;
                    Shared::Leave
                }
                _ => Shared::Follow,
            }
        };
        let tell = |met| {
            tally.add(met);
            match met {
                Met::Internal { object, .. } => self.internals.insert(object),
                Met::Array(_) => {}
                Met::Part(object) if is_view && !owns(head, object) => {
                    inside(object, Inside::Viewed);
                }
                Met::Part(object) => {
                    owned = true;
                    inside(object, Inside::Part);
                }
                Met::Leaf { object, .. } => {
                    self.leaves.insert(object);
                    leaves += 1;
                    inside(object, Inside::Element);
                }
            }
        };
        walker.walk(head, tell, shared);
        let elements = tally.elements(walker);
        self.instances.push(Instance {
            head,
            definition: plan.map_or(0, |plan| plan.definition) as u32,
            elements,
            leaves,
            internals: tally.internals,
            bytes: tally.bytes,
            capacity: tally.capacity(walker),
            slots: tally.slots(),
            buckets: tally.buckets,
            unused: tally.unused(elements),
            depth: 1,
            is_view: is_view && !owned,
            at_least,
            ..Instance::default()
        });
    }

    fn mark_contained(&mut self, model: &Model) {
        for &(outer, inner, how) in &self.contained {
            let head = self.instances[outer as usize].head;
            let inner_instance = &mut self.instances[inner as usize];
            // A view that a collection itself has made is none that it is a part of.
            let is_view = || model.state.references(inner_instance.head).contains(&head);
            match how {
                _ if outer == inner => {}
                Inside::Part => inner_instance.is_part |= !is_view(),
                Inside::Element => inner_instance.is_element = true,
                Inside::Viewed => {}
            }
        }
    }

    /// The structures inside one, each as a part or as an element.
    pub fn inside(&self, outer: u32) -> &[(u32, u32, Inside)] {
        let start = self.contained.partition_point(|pair| pair.0 < outer);
        let length = self.contained[start..].partition_point(|pair| pair.0 == outer);
        &self.contained[start..start + length]
    }

    /// All pairs of an outer and an inner structure.
    pub fn contained(&self) -> &[(u32, u32, Inside)] {
        &self.contained
    }

    /// The number of the structure with that head.
    pub fn of_head(&self, head: ObjectId) -> Option<u32> {
        let found = self.instances.binary_search_by_key(&head, |one| one.head);
        found.ok().map(|number| number as u32)
    }

    /// What parts have belongs to the structures they are parts of; a view has the elements of what it shows.
    fn add_up_parts(&mut self, model: &Model) {
        for outer in self.inner_first(|how| how != Inside::Element) {
            let mut sum = self.instances[outer as usize];
            let plan = model.plan_at(sum.head);
            let by_field = plan.is_some_and(|plan| plan.counts == Counts::Field);
            for &(_, inner, how) in self.inside(outer) {
                let inner_instance = &self.instances[inner as usize];
                if how == Inside::Element || inner == outer {
                    continue;
                }
                if !by_field {
                    sum.add_elements(inner_instance);
                }
                if how == Inside::Part {
                    sum.add_bytes(inner_instance);
                }
            }
            self.instances[outer as usize] = sum;
        }
    }

    fn measure_depth(&mut self) {
        for outer in self.inner_first(|_| true) {
            let deepest = self.inside(outer).iter().filter(|pair| pair.1 != outer);
            let deeper = deepest.map(|&(_, inner, how)| {
                let depth = self.instances[inner as usize].depth;
                // A part is the same structure to a person.
                depth + u32::from(how == Inside::Element)
            });
            let depth = deeper.max().unwrap_or(1).max(1);
            self.instances[outer as usize].depth = depth;
        }
    }

    /// Structures with others in them, after those; in a cycle one comes before what is in it.
    fn inner_first(&self, counts: impl Fn(Inside) -> bool) -> Vec<u32> {
        let mut order = Vec::new();
        let mut seen = BitSet::new(self.instances.len());
        let mut stack: Vec<(u32, usize)> = Vec::new();
        let outer = self.contained.iter().map(|pair| pair.0);
        for start in outer {
            if !seen.add(start) {
                continue;
            }
            stack.push((start, 0));
            while let Some((number, at)) = stack.pop() {
                let inside = self.inside(number);
                match inside.get(at) {
                    Some(&(_, inner, how)) => {
                        stack.push((number, at + 1));
                        if counts(how) && seen.add(inner) {
                            stack.push((inner, 0));
                        }
                    }
                    None if inside.is_empty() => {}
                    None => order.push(number),
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anthill_heap::{HeapBuilder, HeapState, Quiet};

    use super::*;
    use crate::Definitions;

    const LIST: &str = "DS List { Node; } Node { Node; (*); }";

    fn detect(state: &HeapState, text: &str) -> Structures {
        let mut definitions = Definitions::none();
        definitions.add("test", text).unwrap();
        let model = Model::new(state, None, &definitions);
        let sizes = state.tables.sizes.clone().unwrap();
        Structures::detect(&model, &sizes, |_| true, |_, _| false, &Quiet).unwrap()
    }

    #[test]
    fn a_linked_list_has_its_nodes_and_its_data() {
        let mut heap = HeapBuilder::new();
        heap.object("list", "List", 24);
        heap.objects("n1 n2", "Node", 32);
        heap.objects("d1 d2", "Data", 16);
        heap.object("beyond", "Other", 100);
        heap.edges("list -> n1, n1 -> n2 d1, n2 -> n1 d2, d1 -> beyond, list -> beyond");
        let found = detect(&heap.build(), LIST);
        let [list] = found.instances[..] else {
            panic!("one list");
        };
        assert_eq!(
            (list.elements, list.internals, list.leaves),
            (Some(2), 2, 2)
        );
        assert_eq!(list.bytes, 24 + 2 * 32);
        let of = |names: &str| {
            let mut set = BitSet::new(6);
            names.split(' ').for_each(|name| set.insert(heap.id(name)));
            set
        };
        assert_eq!(found.internals, of("n1 n2"));
        assert_eq!(found.leaves, of("d1 d2"));
    }

    #[test]
    fn structures_in_structures_are_elements_or_parts() {
        let mut heap = HeapBuilder::new();
        heap.object("set", "Set", 16);
        heap.objects("map inner", "Map", 48);
        heap.array("table", "Entry[]", 16);
        heap.array("few", "Entry[]", 4);
        heap.objects("e1 e2 e3", "Entry", 32);
        heap.objects("k v", "Data", 16);
        heap.edges("set -> map, map -> table set, table -> e1 e2, e1 -> k inner, e2 -> k v");
        heap.edges("inner -> few, few -> e3, e3 -> k");
        let text = "DS Set { Map; } DS Map { Entry[]; } entry Entry { Entry; (*); }";
        let found = detect(&heap.build(), text);
        let of = |name: &str| {
            let number = found.of_head(heap.id(name)).unwrap();
            found.instances[number as usize]
        };
        let (set, map, inner) = (of("set"), of("map"), of("inner"));
        assert_eq!(
            (set.elements, set.capacity, set.buckets, set.unused),
            (Some(2), Some(16), 2, 14 * 4)
        );
        assert_eq!(set.bytes, 16 + map.bytes);
        assert_eq!((set.depth, map.depth, inner.depth), (2, 2, 1));
        assert!(inner.is_element && !inner.is_part && !inner.is_top_level());
        assert!(!map.is_part, "the set is a view that the map itself has");
        assert!(set.is_top_level());
    }

    #[test]
    fn structures_that_contain_each_other_come_to_an_end() {
        let mut heap = HeapBuilder::new();
        heap.objects("a b c", "List", 16);
        heap.objects("x y z", "Node", 16);
        heap.edges("a -> x, x -> b, b -> y, y -> a b, c -> z, z -> c");
        let found = detect(&heap.build(), LIST);
        assert!(
            found
                .instances
                .iter()
                .all(|list| list.is_element || list.head == heap.id("c"))
        );
        assert!(found.instances.iter().all(|list| list.depth <= 3));
        let parts = "DS List { List; Node; } Node { List; Node; }";
        let found = detect(&heap.build(), parts);
        assert!(found.instances.iter().all(|list| list.elements.is_none()));
    }

    /// By head: parts and leaf references, found by a plain search for each.
    fn reference(state: &HeapState) -> Vec<(u32, usize, u64)> {
        let name = |object: u32| state.class(object).name.as_str();
        let heads = (0..state.len()).filter(|&object| name(object) == "List");
        heads
            .map(|head| {
                let (mut parts, mut leaves) = (BTreeSet::new(), 0);
                let mut waiting = vec![head];
                while let Some(from) = waiting.pop() {
                    for &to in state.references(from) {
                        if name(to) != "Node" {
                            leaves += u64::from(name(from) == "Node");
                        } else if parts.insert(to) {
                            waiting.push(to);
                        }
                    }
                }
                (head, parts.len(), leaves)
            })
            .collect()
    }

    #[test]
    fn random_heaps_give_what_a_plain_search_gives() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..2000 {
            let mut heap = HeapBuilder::new();
            let objects = 1 + next(12);
            for object in 0..objects {
                let class = ["List", "Node", "Node", "Data"][next(4) as usize];
                heap.object(&object.to_string(), class, 16);
            }
            for _ in 0..next(30) {
                heap.edges(&format!("{} -> {}", next(objects), next(objects)));
            }
            let state = heap.build();
            let found: Vec<(u32, usize, u64)> = detect(&state, LIST)
                .instances
                .iter()
                .map(|list| (list.head, list.internals as usize, list.leaves))
                .collect();
            assert_eq!(found, reference(&state));
        }
    }

    #[test]
    fn parts_that_many_structures_share_cost_no_more_than_they_may() {
        let mut heap = HeapBuilder::new();
        let (lists, nodes) = (400, 400);
        for node in 0..nodes {
            heap.object(&format!("n{node}"), "Node", 16);
        }
        for node in 1..nodes {
            heap.edges(&format!("n{} -> n{node}", node - 1));
        }
        for list in 0..lists {
            heap.object(&format!("l{list}"), "List", 16);
            heap.edges(&format!("l{list} -> n0"));
        }
        let found = detect(&heap.build(), LIST);
        let parts: u64 = found.instances.iter().map(|list| list.internals).sum();
        assert!(parts <= (1 + MOST_SHARED) * (lists + nodes), "{parts}");
        assert!(!found.instances[0].at_least && found.instances[399].at_least);
    }
}
