//! Who holds wasted objects: going up the dominator tree, the first class object or object of one
//! of the program's own classes, because there the waste can be mended.

use std::cmp::Reverse;

use anthill_graph::{Dominators, NodeId, ROOT, UNREACHABLE};
use anthill_heap::{BitSet, Buffer, ClassId, ClassKind, HeapState};
use rustc_hash::FxHashMap;

use crate::roles::Roles;

const UNKNOWN: NodeId = NodeId::MAX;

/// References that are looked at to name the fields of a holder.
const SAMPLES: usize = 32;

pub(super) struct Holders<'a> {
    state: &'a HeapState,
    dominators: &'a Dominators,
    /// By class.
    holds: Vec<bool>,
    in_static_field: BitSet,
    /// By node: the topmost one at or above it that its holder dominates immediately.
    below: Buffer<NodeId>,
    way: Vec<NodeId>,
}

/// Where objects are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HolderPlace {
    /// By the static field of a class object that refers to the second object.
    Static(NodeId, NodeId),
    /// By several static fields of a class object together.
    Class(NodeId),
    /// By objects of a class, through objects of the second class.
    Objects(ClassId, ClassId),
    /// By no single object of the program: the class of the topmost object, unless it is the wasted
    /// one.
    Nobody(Option<ClassId>),
}

/// Wasted objects that are held in the same place.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Which place.
    pub place: HolderPlace,
    /// How many.
    pub objects: u64,
    /// Bytes of them that need not be.
    pub savable: u64,
    /// Some holders with what they hold.
    pub samples: Vec<(NodeId, NodeId)>,
}

/// Wasted objects by where they are held.
#[derive(Default)]
pub(super) struct Tally(FxHashMap<HolderPlace, Holder>);

impl<'a> Holders<'a> {
    pub(super) fn new(state: &'a HeapState, dominators: &'a Dominators) -> Self {
        let roles = Roles::new(state, dominators);
        let classes = (0..).zip(state.classes());
        let holds = classes.map(|(id, class)| match class.kind {
            ClassKind::Mirror => true,
            ClassKind::Array(_) => false,
            _ => !roles.is_platform_class(id),
        });
        let mut in_static_field = BitSet::new(dominators.immediate.len());
        for mirror in state.classes().iter().filter_map(|class| class.mirror) {
            let fields = state.references(mirror).iter();
            fields.for_each(|&object| in_static_field.insert(object));
        }
        Holders {
            state,
            dominators,
            holds: holds.collect(),
            in_static_field,
            below: Buffer::filled(dominators.immediate.len(), UNKNOWN),
            way: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, tally: &mut Tally, object: NodeId, savable: u64) {
        let below = self.below(object);
        let above = self.dominators.immediate[below as usize];
        let place = self.place(object, below, above);
        let holder = tally.0.entry(place).or_insert_with(|| Holder {
            place,
            objects: 0,
            savable: 0,
            samples: Vec::new(),
        });
        holder.objects += 1;
        holder.savable += savable;
        if matches!(place, HolderPlace::Objects(..)) && holder.samples.len() < SAMPLES {
            holder.samples.push((above, below));
        }
    }

    /// Those that hold most of the savable bytes first.
    pub(super) fn ranked(&self, tally: Tally) -> Vec<Holder> {
        let mut holders: Vec<Holder> = tally.0.into_values().collect();
        let name = |place: HolderPlace| match place {
            HolderPlace::Static(class, object) => (0, class, object),
            HolderPlace::Class(class) => (1, class, 0),
            HolderPlace::Objects(class, through) => (2, class, through),
            HolderPlace::Nobody(class) => (3, class.unwrap_or_default(), 0),
        };
        holders.sort_unstable_by_key(|holder| {
            let (savable, objects) = (Reverse(holder.savable), Reverse(holder.objects));
            (savable, objects, name(holder.place))
        });
        holders
    }

    fn place(&self, object: NodeId, below: NodeId, above: NodeId) -> HolderPlace {
        if !self.is_holder(above) {
            let class =
                (below != object && below < self.state.len()).then(|| self.state.class_id(below));
            return HolderPlace::Nobody(class);
        }
        match self.state.class(above).kind {
            ClassKind::Mirror if self.in_static_field.contains(below) => {
                HolderPlace::Static(above, below)
            }
            ClassKind::Mirror => HolderPlace::Class(above),
            _ => HolderPlace::Objects(self.state.class_id(above), self.state.class_id(below)),
        }
    }

    fn is_holder(&self, node: NodeId) -> bool {
        node < self.state.len() && self.holds[self.state.class_id(node) as usize]
    }

    fn below(&mut self, node: NodeId) -> NodeId {
        let mut at = node;
        let top = loop {
            match self.below[at as usize] {
                UNKNOWN => self.way.push(at),
                known => break known,
            }
            match self.dominators.immediate[at as usize] {
                ROOT | UNREACHABLE => break at,
                above if self.is_holder(above) => break at,
                above => at = above,
            }
        };
        for passed in self.way.drain(..) {
            self.below[passed as usize] = top;
        }
        top
    }
}

#[cfg(test)]
mod tests {
    use anthill_graph::{Convention, DepthFirst, Graph};
    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;

    /// Where each object is held, by name.
    fn places(heap: &HeapBuilder, names: &[&str]) -> Vec<HolderPlace> {
        let state = heap.build();
        let sizes = state.tables.sizes.clone().unwrap();
        let graph = Graph::new(&state, &sizes, Convention::DEFAULT);
        let search = DepthFirst::new(&graph, &Quiet).unwrap();
        let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
        let mut holders = Holders::new(&state, &dominators);
        let place = |name: &&str| {
            let mut tally = Tally::default();
            holders.add(&mut tally, heap.id(name), 8);
            holders.ranked(tally)[0].place
        };
        names.iter().map(place).collect()
    }

    #[test]
    fn the_first_of_the_programs_own_objects_holds() {
        let mut heap = HeapBuilder::new();
        heap.class_object("class", "app.Registry");
        heap.objects("list shared-list", "java.util.ArrayList", 24);
        heap.array("array", "java.lang.Object[]", 2);
        heap.object("user", "app.User", 16);
        heap.objects("name alone both of-two", "java.lang.String", 24);
        heap.edges("class -> list shared-list of-two, list -> array, array -> alone user");
        heap.edges("user -> name both, shared-list -> both of-two");
        heap.root("class");
        let class = |name: &str| heap.build().class_id(heap.id(name));
        let expected = [
            HolderPlace::Objects(class("user"), class("name")),
            HolderPlace::Static(heap.id("class"), heap.id("list")),
            HolderPlace::Class(heap.id("class")),
            HolderPlace::Static(heap.id("class"), heap.id("of-two")),
        ];
        assert_eq!(
            places(&heap, &["name", "alone", "both", "of-two"]),
            expected
        );
    }

    #[test]
    fn without_a_single_object_of_the_program_nobody_holds() {
        let mut heap = HeapBuilder::new();
        heap.object("map", "java.util.HashMap", 48);
        heap.objects("a b", "app.User", 16);
        heap.objects("in-map of-two", "java.lang.String", 24);
        heap.edges("map -> in-map, a -> of-two, b -> of-two");
        heap.root("map");
        heap.root("a");
        heap.root("b");
        let map = heap.build().class_id(heap.id("map"));
        let expected = [HolderPlace::Nobody(Some(map)), HolderPlace::Nobody(None)];
        assert_eq!(places(&heap, &["in-map", "of-two"]), expected);
    }
}
