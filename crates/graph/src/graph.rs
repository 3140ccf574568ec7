//! The heap state as a graph under a convention: nodes, edges, roots and sizes.

use std::ops::Range;

use anthill_heap::{
    BitSet, ClassField, ClassId, HeapState, ObjectId, OffsetsView, Root, RootOrigin, Sizer, Sizes,
};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Convention;
use crate::borrowed::Borrowed;
use crate::groups::GroupTotals;

/// An object number, or [`Graph::system_loader`].
pub type NodeId = u32;

const NONE: u32 = u32::MAX;

/// Why there is an edge, for those who name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// A field, array element or static field.
    Reference,
    /// An object's class.
    Class,
    /// A class's superclass.
    Superclass,
    /// A class's loader.
    Loader,
    /// Who signed a class.
    Signers,
    /// A class's protection domain.
    ProtectionDomain,
    /// A field of a class object that the source leaves out.
    ClassField(ClassField),
    /// What a `java.lang.ref.Reference` refers to, if its strength keeps alive.
    Referent,
    /// A local variable, seen as held by its thread.
    Local,
}

/// A heap state as nodes and edges under a convention.
pub struct Graph<'a> {
    /// Whose objects the nodes are.
    pub state: &'a HeapState,
    /// Which edges there are.
    pub convention: Convention,
    nodes: u32,
    offsets: OffsetsView<'a>,
    references: &'a [u32],
    classes: &'a [u32],
    details: &'a [u32],
    /// By class: its class object.
    class_objects: Vec<u32>,
    /// Edges that are neither references nor lead to the object's class, by source, ascending.
    extra: Vec<(NodeId, NodeId, EdgeKind)>,
    has_extra: BitSet,
    roots: Vec<NodeId>,
    is_root: BitSet,
    /// Those that only a field of a class that cannot be told makes roots.
    class_fields: FxHashSet<NodeId>,
    sizer: Sizer<'a>,
    reference_size: u32,
    system_loader: Option<NodeId>,
    system_loader_class: Option<u32>,
    lent: Option<Lent>,
}

/// Nodes that keep nothing alive but each other: see [`Borrowed::lent`].
struct Lent {
    nodes: BitSet,
    /// Those that refer to anything else.
    is_cut: BitSet,
    /// What they refer to among themselves.
    references: FxHashMap<NodeId, Vec<ObjectId>>,
}

impl<'a> Graph<'a> {
    /// `sizes` say how bytes are counted; they must be for the classes of `state`.
    pub fn new(state: &'a HeapState, sizes: &'a Sizes, convention: Convention) -> Self {
        let objects = state.len();
        let boot_classes = state
            .classes()
            .iter()
            .any(|class| class.mirror.is_some() && class.loader.is_none());
        // MAT's stand-in is an object of the class of loaders; a damaged dump may lack it.
        let system_loader_class = state
            .class_of_loaders()
            .filter(|_| convention.mat && boot_classes);
        let system_loader = system_loader_class.map(|_| objects);
        let nodes = objects + u32::from(system_loader.is_some());
        let mut graph = Graph {
            state,
            convention,
            nodes,
            offsets: state.columns.offsets.view(),
            references: &state.columns.references,
            classes: &state.columns.classes,
            details: &state.columns.details,
            class_objects: state
                .classes()
                .iter()
                .map(|class| class.mirror.unwrap_or(NONE))
                .collect(),
            extra: Vec::new(),
            has_extra: BitSet::new(nodes as usize),
            roots: Vec::new(),
            is_root: BitSet::new(nodes as usize),
            class_fields: FxHashSet::default(),
            sizer: match convention.mat {
                true => sizes.uniform_sizer(state.classes()),
                false => sizes.sizer(state.classes()),
            },
            reference_size: sizes.arrays.reference_size,
            system_loader,
            system_loader_class,
            lent: None,
        };
        graph.add_class_edges();
        graph.add_referents();
        graph.add_roots();
        graph
            .extra
            .sort_unstable_by_key(|&(from, to, _)| (from, to));
        for &(from, ..) in &graph.extra {
            graph.has_extra.insert(from);
        }
        graph
    }

    fn add_class_edges(&mut self) {
        let classes = self.state.classes();
        for class in classes {
            let Some(mirror) = class.mirror else { continue };
            let above = class.super_class.and_then(|id| classes[id as usize].mirror);
            let mut edge =
                |to: Option<NodeId>, kind| self.extra.extend(to.map(|to| (mirror, to, kind)));
            edge(above, EdgeKind::Superclass);
            edge(class.loader.or(self.system_loader), EdgeKind::Loader);
            if !self.convention.mat {
                edge(class.signers, EdgeKind::Signers);
                edge(class.protection_domain, EdgeKind::ProtectionDomain);
            }
        }
        let held = self.state.tables.held_by_classes.iter();
        for held in held.filter(|_| !self.convention.mat) {
            let mirror = classes[held.class as usize].mirror;
            let edge = |mirror| (mirror, held.object, EdgeKind::ClassField(held.field));
            self.extra.extend(mirror.map(edge));
        }
        if let (Some(loader), Some(class)) = (self.system_loader, self.system_loader_class) {
            let mirror = classes[class as usize].mirror;
            self.extra
                .extend(mirror.map(|to| (loader, to, EdgeKind::Class)));
        }
    }

    fn add_referents(&mut self) {
        let (from, to): (&[u32], &[u32]) = (
            &self.state.columns.referrers_by_referent,
            &self.state.columns.referents,
        );
        for (&from, &to) in from.iter().zip(to) {
            let strength = self.state.class(from).reference;
            if strength.is_some_and(|strength| self.convention.keeps(strength)) {
                self.extra.push((from, to, EdgeKind::Referent));
            }
        }
    }

    fn add_roots(&mut self) {
        for root in &self.state.tables.roots {
            let thread = root
                .thread
                .and_then(|thread| self.state.tables.threads[thread as usize].object);
            match thread {
                Some(thread) if self.convention.mat && root.origin != RootOrigin::ThreadObject => {
                    self.extra.push((thread, root.object, EdgeKind::Local));
                }
                _ if self.counts(root) => {
                    if self.is_root.add(root.object) {
                        self.roots.push(root.object);
                    }
                    if root.origin.is_class_field() {
                        self.class_fields.insert(root.object);
                    }
                }
                _ => {}
            }
        }
        let others = self.state.tables.roots.iter();
        for root in others.filter(|root| !root.origin.is_class_field()) {
            self.class_fields.remove(&root.object);
        }
        if let Some(loader) = self
            .system_loader
            .filter(|&loader| self.is_root.add(loader))
        {
            self.roots.push(loader);
        }
    }

    /// Whether a root is one under the convention: MAT assumes no more than the classes of the boot
    /// loader, and knows no fields of class objects but static ones.
    pub fn counts(&self, root: &Root) -> bool {
        let unknown_to_mat = match root.origin {
            RootOrigin::Assumed => self.is_loaded(root.object),
            origin => origin.is_class_field(),
        };
        !(self.convention.mat && unknown_to_mat)
    }

    /// The nodes that roots lead to which belong to no thread; some may come several times.
    pub(crate) fn roots_without_thread(&self) -> impl Iterator<Item = NodeId> + '_ {
        let roots = self.state.tables.roots.iter();
        let others = roots.filter(|root| root.thread.is_none() && self.counts(root));
        others.map(|root| root.object).chain(self.system_loader)
    }

    /// The same graph in which these nodes are no roots.
    pub fn without_roots(mut self, nodes: &[NodeId]) -> Self {
        for &node in nodes {
            self.is_root.remove(node);
        }
        let is_root = &self.is_root;
        self.roots.retain(|&node| is_root.contains(node));
        self
    }

    /// The graph as the owners of its objects see it.
    pub fn without_borrowed(mut self, borrowed: &Borrowed) -> Self {
        self = self.without_roots(&borrowed.locals);
        self.extra.retain(|(from, _, kind)| {
            *kind != EdgeKind::Referent || borrowed.soft.binary_search(from).is_err()
        });
        if borrowed.lent.is_empty() {
            return self;
        }
        let nodes = borrowed.lent.clone();
        let is_kept = |from: NodeId, to: NodeId| !nodes.contains(from) || nodes.contains(to);
        self.extra.retain(|&(from, to, _)| is_kept(from, to));
        let mut lent = Lent {
            is_cut: BitSet::new(self.len() as usize),
            references: FxHashMap::default(),
            nodes: BitSet::default(),
        };
        for node in nodes.iter() {
            let references = self.references(node);
            let kept = || references.iter().copied().filter(|&to| nodes.contains(to));
            if kept().count() < references.len() {
                lent.is_cut.insert(node);
                lent.references.insert(node, kept().collect());
            }
        }
        self.lent = Some(Lent { nodes, ..lent });
        self
    }

    /// What is lent, if the node is.
    #[inline]
    fn lent(&self, node: NodeId) -> Option<&Lent> {
        self.lent.as_ref().filter(|lent| lent.nodes.contains(node))
    }

    /// Whether an object is the class object of a class that a class loader object loaded.
    fn is_loaded(&self, object: ObjectId) -> bool {
        let class = self.state.mirrored(object);
        class.is_some_and(|class| self.state.classes()[class as usize].loader.is_some())
    }

    /// The number of nodes: all objects, and the system loader if there is one.
    pub fn len(&self) -> u32 {
        self.nodes
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// The stand-in for the boot loader that MAT's view has.
    pub fn system_loader(&self) -> Option<NodeId> {
        self.system_loader
    }

    /// The nodes that roots lead to, each once.
    pub fn roots(&self) -> &[NodeId] {
        &self.roots
    }

    /// Whether a root leads to the node.
    pub fn is_root(&self, node: NodeId) -> bool {
        self.is_root.contains(node)
    }

    /// Whether the node is a root only because a class that cannot be told has it in a field.
    pub fn is_class_field(&self, node: NodeId) -> bool {
        self.class_fields.contains(&node)
    }

    pub(crate) fn root_set(&self) -> &BitSet {
        &self.is_root
    }

    /// The class of a node, if it has one that the heap state knows.
    #[inline]
    pub fn class(&self, node: NodeId) -> Option<u32> {
        self.classes
            .get(node as usize)
            .copied()
            .or(self.system_loader_class)
    }

    /// Bytes of a reference.
    pub fn reference_size(&self) -> u32 {
        self.reference_size
    }

    /// Shallow bytes.
    #[inline]
    pub fn size(&self, node: NodeId) -> u64 {
        match self.classes.get(node as usize) {
            Some(&class) => self.sizer.size(class, self.details[node as usize]),
            None => self
                .system_loader_class
                .map_or(0, |class| self.sizer.size(class, 0)),
        }
    }

    /// How many nodes a set has, and their bytes.
    pub fn totals(&self, set: &BitSet) -> GroupTotals {
        const CHUNK: usize = 1 << 11;
        let words = set.words().par_chunks(CHUNK).enumerate();
        let bytes = |(chunk, words): (usize, &[u64])| {
            let first = (chunk * CHUNK) as u32;
            let words = (first..).zip(words).filter(|(_, word)| **word != 0);
            words
                .map(|(at, &word)| self.bytes_of(at, word))
                .sum::<u64>()
        };
        GroupTotals {
            objects: set.count() as u64,
            bytes: words.map(bytes).sum(),
        }
    }

    /// Bytes of the nodes in word number `at` of a set.
    fn bytes_of(&self, at: u32, mut word: u64) -> u64 {
        let mut bytes = 0;
        while word != 0 {
            bytes += self.size(at * u64::BITS + word.trailing_zeros());
            word &= word - 1;
        }
        bytes
    }

    /// Every size is a multiple of two to the power of this.
    pub fn size_shift(&self) -> u32 {
        self.sizer.shift()
    }

    /// Shallow bytes of an object of a class with this detail.
    pub fn size_of(&self, class: u32, detail: u32) -> u64 {
        self.sizer.size(class, detail)
    }

    /// Shallow bytes of all nodes in order.
    pub fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        let objects = self
            .classes
            .iter()
            .zip(self.details)
            .map(|(&class, &detail)| self.sizer.size(class, detail));
        objects.chain(self.system_loader.map(|loader| self.size(loader)))
    }

    /// Classes and shallow bytes of consecutive objects.
    pub fn classes_and_sizes(
        &self,
        objects: Range<ObjectId>,
    ) -> impl Iterator<Item = (ClassId, u64)> + '_ {
        let objects = objects.start as usize..objects.end as usize;
        let details = &self.details[objects.clone()];
        let classes = self.classes[objects].iter().zip(details);
        classes.map(|(&class, &detail)| (class, self.sizer.size(class, detail)))
    }

    /// References of a node: fields or elements, or static fields of a class object.
    #[inline]
    pub fn references(&self, node: NodeId) -> &[ObjectId] {
        if node >= self.state.len() {
            return &[];
        }
        match &self.lent {
            Some(lent) if lent.is_cut.contains(node) => &lent.references[&node],
            _ => &self.references[self.offsets.range(node)],
        }
    }

    /// The class object of a node's class.
    #[inline]
    pub fn class_object(&self, node: NodeId) -> Option<NodeId> {
        let class = *self.classes.get(node as usize)?;
        let object = self.class_objects[class as usize];
        let is_kept = |lent: &Lent| lent.nodes.contains(object);
        (object != NONE && self.lent(node).is_none_or(is_kept)).then_some(object)
    }

    /// The other edges of a node.
    pub fn extra_edges(&self, node: NodeId) -> &[(NodeId, NodeId, EdgeKind)] {
        if !self.has_extra.contains(node) {
            return &[];
        }
        let start = self.extra.partition_point(|edge| edge.0 < node);
        let len = self.extra[start..].partition_point(|edge| edge.0 == node);
        &self.extra[start..start + len]
    }

    /// All that a node keeps alive directly.
    pub fn successors(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let references = self.references(node).iter().copied();
        let extra = self.extra_edges(node).iter().map(|edge| edge.1);
        references.chain(self.class_object(node)).chain(extra)
    }

    /// What a node references as data: fields, elements, static fields, kept referents and, in
    /// MAT's view, a thread's locals. Not its class, superclass or loader.
    pub fn referenced(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let references = self.references(node).iter().copied();
        references.chain(self.extra_references(node))
    }

    /// What a node references as data beside [`Graph::references`].
    pub fn extra_references(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let data = |edge: &&(NodeId, NodeId, EdgeKind)| {
            matches!(edge.2, EdgeKind::Referent | EdgeKind::Local)
        };
        let extra = self.extra_edges(node).iter();
        extra.filter(data).map(|edge| edge.1)
    }

    /// Number `index` of [`Graph::referenced`].
    #[inline]
    pub(crate) fn reference(&self, node: NodeId, index: usize) -> Option<NodeId> {
        match self.references(node).get(index) {
            Some(&to) => Some(to),
            None if self.has_extra.contains(node) => self.referenced(node).nth(index),
            None => None,
        }
    }

    /// All edges of a node with their kinds.
    pub fn edges(&self, node: NodeId) -> impl Iterator<Item = (NodeId, EdgeKind)> + '_ {
        let references = self
            .references(node)
            .iter()
            .map(|&to| (to, EdgeKind::Reference));
        let class = self.class_object(node).map(|to| (to, EdgeKind::Class));
        references.chain(class).chain(
            self.extra_edges(node)
                .iter()
                .map(|&(_, to, kind)| (to, kind)),
        )
    }

    /// The nodes with edges besides references that matter for dominance: an edge to a root
    /// does not, and most classes are roots.
    pub(crate) fn with_further_edges(&self) -> (BitSet, Vec<u32>) {
        let targets: Vec<u32> = self
            .class_objects
            .iter()
            .map(|&object| {
                if object == NONE || self.is_root.contains(object) {
                    NONE
                } else {
                    object
                }
            })
            .collect();
        let mut further = self.has_extra.clone();
        for (&class, node) in self.classes.iter().zip(0..) {
            if targets[class as usize] != NONE {
                further.insert(node);
            }
        }
        (further, targets)
    }

    /// Edge number `index` of those that [`Graph::with_further_edges`] speaks of.
    pub(crate) fn further_edge(
        &self,
        node: NodeId,
        index: usize,
        class_targets: &[u32],
    ) -> Option<NodeId> {
        let class = self
            .classes
            .get(node as usize)
            .map(|&class| class_targets[class as usize])
            .filter(|&object| {
                let is_kept = |lent: &Lent| object != NONE && lent.nodes.contains(object);
                self.lent(node).is_none_or(is_kept)
            })
            .unwrap_or(NONE);
        let index = match (class, index) {
            (NONE, index) => index,
            (class, 0) => return Some(class),
            (_, index) => index - 1,
        };
        self.extra_edges(node).get(index).map(|edge| edge.1)
    }

    /// The class objects of all classes.
    pub(crate) fn class_objects(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.class_objects
            .iter()
            .copied()
            .filter(|&object| object != NONE)
    }
}
