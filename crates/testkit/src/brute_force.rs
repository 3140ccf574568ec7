//! The reference implementation of the analyses: a heap as a plain list of edges, and answers found by taking things away and searching again.
//! Made from the description of the heap and the words of docs/, never from what is under test.

use std::collections::BTreeMap;

use crate::heap::{Addresses, Contents, Heap, Item, Object, Root, RootKind, Value};

/// A set of nodes; heaps have fewer than 128.
pub type Set = u128;

pub fn one(node: usize) -> Set {
    1 << node
}

pub fn nodes(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |&node| set & one(node) != 0)
}

pub fn count(set: Set) -> u64 {
    set.count_ones().into()
}

/// Why one node holds another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A field, an element or a static field.
    Reference,
    Class,
    Superclass,
    Loader,
    Signers,
    ProtectionDomain,
    Referent,
    Local,
}

#[derive(Clone, Debug)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub kind: Kind,
    /// As `paths` calls it.
    pub name: String,
    /// Whether it keeps alive.
    pub keeps: bool,
}

/// How strongly a reference object holds its referent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    Soft,
    Weak,
    Phantom,
    Finalizer,
}

/// A heap under a convention. Nodes are numbered by address; the stand-in of the boot loader comes last.
pub struct BruteForce<'a> {
    pub heap: &'a Heap,
    pub at: &'a Addresses,
    pub mat: bool,
    items: Vec<Item>,
    numbers: BTreeMap<Item, usize>,
    pub edges: Vec<Edge>,
    /// By node: all that it keeps alive directly.
    next: Vec<Set>,
    /// By node: what it references as data, for deep sizes.
    data: Vec<Set>,
    pub roots: Set,
    sizes: Vec<u64>,
    pub system_loader: Option<usize>,
    /// All that is reachable.
    pub live: Set,
    /// By node: what is reachable, but not without it.
    dominated: Vec<Set>,
}

impl<'a> BruteForce<'a> {
    pub fn new(heap: &'a Heap, at: &'a Addresses, mat: bool) -> Self {
        let mut items: Vec<Item> = heap.items().collect();
        items.sort_by_key(|&item| at.of(item));
        let numbers = items.iter().copied().zip(0..).collect();
        let boot = heap.classes.iter().any(|class| class.loader.is_none());
        let system_loader = (mat && boot).then_some(items.len());
        let len = items.len() + usize::from(system_loader.is_some());
        let mut brute_force = BruteForce {
            heap,
            at,
            mat,
            items,
            numbers,
            edges: Vec::new(),
            next: vec![0; len],
            data: vec![0; len],
            roots: 0,
            sizes: Vec::new(),
            system_loader,
            live: 0,
            dominated: Vec::new(),
        };
        brute_force.add_references();
        brute_force.add_classes();
        brute_force.add_roots();
        for edge in brute_force.edges.iter().filter(|edge| edge.keeps) {
            brute_force.next[edge.from] |= one(edge.to);
            if matches!(edge.kind, Kind::Reference | Kind::Referent | Kind::Local) {
                brute_force.data[edge.from] |= one(edge.to);
            }
        }
        brute_force.sizes = (0..len).map(|node| brute_force.size_of(node)).collect();
        brute_force.live = brute_force.reach(brute_force.roots, 0);
        brute_force.dominated = (0..len)
            .map(|node| brute_force.dies_with(one(node)))
            .collect();
        brute_force
    }

    pub fn node_count(&self) -> usize {
        self.next.len()
    }

    /// The number of nodes that are objects.
    pub fn objects(&self) -> usize {
        self.items.len()
    }

    pub fn item(&self, node: usize) -> Option<Item> {
        self.items.get(node).copied()
    }

    pub fn number(&self, item: Item) -> usize {
        self.numbers[&item]
    }

    /// The number of the object that is number `object` of the description.
    pub fn node(&self, object: usize) -> usize {
        self.number(Item::Object(object))
    }

    pub fn object(&self, node: usize) -> Option<&Object> {
        match self.item(node)? {
            Item::Object(object) => Some(&self.heap.objects[object]),
            Item::Class(_) => None,
        }
    }

    /// The class of a node, by its number in the description.
    pub fn class_of(&self, node: usize) -> Option<usize> {
        let named = |name: &str| {
            self.heap
                .classes
                .iter()
                .position(|class| class.name == name)
        };
        match self.item(node) {
            Some(Item::Object(object)) => Some(self.heap.objects[object].class),
            Some(Item::Class(_)) => named("java.lang.Class"),
            None => named("java.lang.ClassLoader"),
        }
    }

    pub fn class_name(&self, node: usize) -> &str {
        let class = self.class_of(node);
        class.map_or("", |class| &self.heap.classes[class].name)
    }

    /// What a reference of an object's field leads to.
    pub fn field(&self, node: usize, name: &str) -> Option<Value> {
        let object = self.object(node)?;
        let Contents::Fields(values) = &object.contents else {
            return None;
        };
        let mut fields = self.heap.fields_of(object.class).zip(values);
        fields
            .find(|(field, _)| field.0 == name)
            .map(|(_, &value)| value)
    }

    pub fn field_node(&self, node: usize, name: &str) -> Option<usize> {
        match self.field(node, name)? {
            Value::Reference(Some(item)) => Some(self.number(item)),
            _ => None,
        }
    }

    /// The text of a string, if it is one with an array.
    pub fn text(&self, node: usize) -> Option<String> {
        let array = self.field_node(node, "value")?;
        let (Value::Byte(coder), Contents::Bytes(bytes)) =
            (self.field(node, "coder")?, &self.object(array)?.contents)
        else {
            return None;
        };
        let wide = bytes.chunks_exact(2);
        let wide = wide.map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        Some(match coder {
            0 => bytes.iter().map(|&byte| char::from(byte)).collect(),
            _ => String::from_utf16_lossy(&wide.collect::<Vec<u16>>()),
        })
    }

    fn strength(&self, class: usize) -> Option<Strength> {
        let of_name = |class: usize| match self.heap.classes[class].name.as_str() {
            "java.lang.ref.SoftReference" => Some(Strength::Soft),
            "java.lang.ref.WeakReference" => Some(Strength::Weak),
            "java.lang.ref.PhantomReference" => Some(Strength::Phantom),
            "java.lang.ref.FinalReference" => Some(Strength::Finalizer),
            _ => None,
        };
        self.heap.chain(class).find_map(of_name)
    }

    /// The referent of a reference object, and how it is held.
    pub fn referent(&self, node: usize) -> Option<(usize, Strength)> {
        let strength = self.strength(self.object(node)?.class)?;
        Some((self.field_node(node, "referent")?, strength))
    }

    fn add(&mut self, from: usize, to: Option<usize>, kind: Kind, name: String, keeps: bool) {
        if let Some(to) = to {
            self.edges.push(Edge {
                from,
                to,
                kind,
                name,
                keeps,
            });
        }
    }

    fn add_references(&mut self) {
        for node in 0..self.objects() {
            let Some(Object { class, contents }) = self.object(node).cloned() else {
                continue;
            };
            match contents {
                Contents::Fields(values) => {
                    let fields = self.heap.fields_of(class).zip(values);
                    let fields: Vec<(String, Value)> = fields
                        .map(|((name, _), value)| (name.clone(), value))
                        .collect();
                    for (name, value) in fields {
                        self.add_field(node, name, value);
                    }
                }
                Contents::References(items) => {
                    for (index, item) in items.into_iter().enumerate() {
                        let to = item.map(|item| self.number(item));
                        self.add(node, to, Kind::Reference, format!("[{index}]"), true);
                    }
                }
                Contents::Bytes(_) | Contents::Ints(_) => {}
            }
        }
    }

    fn add_field(&mut self, node: usize, name: String, value: Value) {
        let Value::Reference(Some(item)) = value else {
            return;
        };
        let to = Some(self.number(item));
        let strength = self.object(node).and_then(|of| self.strength(of.class));
        match strength.filter(|_| name == "referent") {
            Some(strength) => {
                let word = format!("{strength:?}").to_lowercase();
                let keeps = self.mat || strength == Strength::Soft;
                let name = format!("referent ({word})");
                self.add(node, to, Kind::Referent, name, keeps);
            }
            None => self.add(node, to, Kind::Reference, name, true),
        }
    }

    fn add_classes(&mut self) {
        for node in 0..self.node_count() {
            let class = self.class_of(node);
            let mirror = class.map(|class| self.number(Item::Class(class)));
            self.add(node, mirror, Kind::Class, "class".to_owned(), true);
        }
        for (number, class) in self.heap.classes.iter().enumerate() {
            let node = self.number(Item::Class(number));
            for (name, value) in &class.statics {
                if let Value::Reference(Some(item)) = *value {
                    let to = Some(self.number(item));
                    self.add(node, to, Kind::Reference, format!("static {name}"), true);
                }
            }
            let object = |object: Option<usize>| object.map(|object| self.node(object));
            let above = class
                .super_class
                .map(|class| self.number(Item::Class(class)));
            let loader = object(class.loader).or(self.system_loader);
            let (signers, domain) = (object(class.signers), object(class.protection_domain));
            self.add(node, above, Kind::Superclass, "superclass".to_owned(), true);
            self.add(node, loader, Kind::Loader, "class loader".to_owned(), true);
            if !self.mat {
                self.add(node, signers, Kind::Signers, "signers".to_owned(), true);
                let name = "protection domain".to_owned();
                self.add(node, domain, Kind::ProtectionDomain, name, true);
            }
        }
    }

    /// The node of a thread.
    pub fn thread(&self, thread: usize) -> usize {
        let of_thread = |root: &&Root| root.kind == RootKind::Thread { thread };
        let root = self.heap.roots.iter().find(of_thread);
        self.number(root.expect("every thread has a root").item)
    }

    fn add_roots(&mut self) {
        for root in &self.heap.roots {
            let to = self.number(root.item);
            match thread_of(root.kind) {
                Some(thread) if self.mat && !is_thread(root.kind) => {
                    let (from, name) = (self.thread(thread), "local variable".to_owned());
                    self.add(from, Some(to), Kind::Local, name, true);
                }
                _ => self.roots |= one(to),
            }
        }
        self.roots |= self.assumed_roots();
        if let Some(loader) = self.system_loader {
            self.roots |= one(loader);
        }
    }

    /// Without a system class among the roots, the classes of the boot loader are taken for them; without any root all
    /// classes are, except in MAT's view.
    pub fn assumed_roots(&self) -> Set {
        let mut roots = self.heap.roots.iter();
        if roots.any(|root| root.kind == RootKind::StickyClass) {
            return 0;
        }
        let all = self.heap.roots.is_empty() && !self.mat;
        let classes = (0..self.heap.classes.len())
            .filter(|&class| all || self.heap.classes[class].loader.is_none());
        classes.fold(0, |set, class| set | one(self.number(Item::Class(class))))
    }

    fn size_of(&self, node: usize) -> u64 {
        if !self.mat {
            let item = self.item(node);
            return item.map_or(0, |item| self.heap.size(item));
        }
        let (header, align) = (12, |bytes: u64, to: u64| bytes.next_multiple_of(to));
        let field = |ty| match ty {
            crate::heap::Type::Boolean | crate::heap::Type::Byte => 1,
            _ => 4,
        };
        let instance = |class: usize| {
            let mut chain: Vec<usize> = self.heap.chain(class).collect();
            chain.reverse();
            let end = chain.into_iter().fold(header, |size, class| {
                let fields = self.heap.classes[class].fields.iter();
                align(size + fields.map(|of| field(of.1)).sum::<u64>(), 4)
            });
            align(end, 8)
        };
        match self.item(node) {
            None => self.class_of(node).map_or(0, instance),
            Some(Item::Class(class)) => {
                let statics = self.heap.classes[class].statics.iter();
                align(statics.map(|of| field(of.1.ty())).sum(), 8)
            }
            Some(item @ Item::Object(object)) => {
                let Object { class, contents } = &self.heap.objects[object];
                match contents {
                    Contents::Fields(_) => instance(*class),
                    _ => self.heap.size(item),
                }
            }
        }
    }

    pub fn size(&self, node: usize) -> u64 {
        self.sizes[node]
    }

    pub fn bytes(&self, set: Set) -> u64 {
        nodes(set).map(|node| self.sizes[node]).sum()
    }

    /// What can be reached from some nodes without passing others.
    pub fn reach(&self, from: Set, without: Set) -> Set {
        closure(&self.next, from & !without, without)
    }

    /// What is freed if the roots of a thread are gone, its object and its locals. In MAT's view the locals of the others, which
    /// are edges there, are roots here: they stay whoever holds the object of the thread.
    pub fn kept_by_thread(&self, thread: usize) -> Set {
        let others = self.heap.roots.iter();
        let others = others.filter(|root| thread_of(root.kind) != Some(thread));
        let mut roots: Set = others.fold(0, |set, root| set | one(self.number(root.item)));
        roots |= self.assumed_roots() | self.system_loader.map_or(0, one);
        let mut next = vec![0; self.node_count()];
        let edges = self.edges.iter().filter(|edge| edge.keeps);
        for edge in edges.filter(|edge| edge.kind != Kind::Local) {
            next[edge.from] |= one(edge.to);
        }
        self.live & !closure(&next, roots, 0)
    }

    /// What references between objects lead to, the nodes themselves included.
    pub fn deep(&self, from: Set) -> Set {
        closure(&self.data, from, 0)
    }

    /// The same heap without the local variables that own nothing: they refer to what is reachable without all of them. Of
    /// those that lead to each other the last one stays that no later one leads to. What is reachable without soft
    /// references is not held by these, nor by what they alone hold.
    pub fn owned(&self) -> BruteForce<'a> {
        let passes = |kind: RootKind| {
            use RootKind::{JniLocal, Local, Monitor, NativeStack, ThreadBlock};
            matches!(
                kind,
                JniLocal { .. } | Local { .. } | NativeStack { .. } | ThreadBlock { .. } | Monitor
            )
        };
        let lasting = self.heap.roots.iter().filter(|root| !passes(root.kind));
        let lasting = lasting.fold(0, |set, root| set | one(self.number(root.item)));
        let lasting =
            self.roots & (lasting | self.assumed_roots() | self.system_loader.map_or(0, one));
        let mut locals: Vec<Set> = Vec::new();
        for root in &self.heap.roots {
            let local = one(self.number(root.item)) & self.roots & !lasting;
            if local != 0 && !locals.contains(&local) {
                locals.push(local);
            }
        }
        let unreached = |from: Set, locals: &mut dyn Iterator<Item = Set>| -> Vec<Set> {
            let mut owners = from;
            locals
                .filter(|&local| {
                    let is_new = self.reach(owners, 0) & local == 0;
                    owners |= if is_new { local } else { 0 };
                    is_new
                })
                .collect()
        };
        let first = unreached(lasting, &mut locals.into_iter());
        let owners = unreached(lasting, &mut first.into_iter().rev());
        let mut owned = BruteForce::new(self.heap, self.at, self.mat);
        owned.roots = owners.into_iter().fold(lasting, |set, local| set | local);
        let is_soft = |edge: &Edge| edge.name == "referent (soft)" && !self.mat;
        let next = |keeps: &dyn Fn(&Edge) -> bool| {
            let mut next = vec![0; self.next.len()];
            for edge in self.edges.iter().filter(|edge| edge.keeps && keeps(edge)) {
                next[edge.from] |= one(edge.to);
            }
            next
        };
        let strongly = closure(&next(&|edge| !is_soft(edge)), owned.roots, 0);
        let is_held = |node: usize| self.mat || strongly & one(node) != 0;
        let is_owner = |edge: &Edge| !is_held(edge.to) || is_held(edge.from) && !is_soft(edge);
        owned.next = next(&is_owner);
        owned.edges.retain(is_owner);
        owned
    }

    /// What is reachable, but not without these nodes.
    pub fn dies_with(&self, group: Set) -> Set {
        self.live & !self.reach(self.roots, group)
    }

    /// What a group retains: all that dies with it; an unreachable object retains itself.
    pub fn retained(&self, group: Set) -> Set {
        self.dies_with(group) | group & !self.live
    }

    /// What is freed if all references from some nodes to others are cut.
    pub fn freed_by_cutting(&self, from: Set, to: Set) -> Set {
        let mut next = self.next.clone();
        nodes(from).for_each(|node| next[node] &= !to);
        self.live & !closure(&next, self.roots, 0)
    }

    /// What dies with one node.
    pub fn dominated(&self, node: usize) -> Set {
        self.dominated[node]
    }

    pub fn next(&self, node: usize) -> Set {
        self.next[node]
    }

    /// All that hold a node by an edge that keeps alive.
    pub fn holders(&self, node: usize) -> Set {
        let edges = self.edges.iter();
        let edges = edges.filter(|edge| edge.keeps && edge.to == node);
        edges.fold(0, |set, edge| set | one(edge.from))
    }

    /// Holders that a root leads to without passing the node.
    pub fn live_holders(&self, node: usize) -> Set {
        self.holders(node) & self.reach(self.roots, one(node))
    }

    /// The names of the edges by which one node keeps another alive.
    pub fn names(&self, from: usize, to: usize) -> Vec<&str> {
        let edges = self.edges.iter();
        let edges = edges.filter(|edge| edge.from == from && edge.to == to && edge.keeps);
        edges.map(|edge| edge.name.as_str()).collect()
    }

    /// By node: how many steps a shortest path from the roots has that does not pass some nodes, the root included.
    pub fn distances(&self, without: Set) -> Vec<Option<usize>> {
        let mut distances = vec![None; self.node_count()];
        let mut level = self.roots & !without;
        let mut seen = level;
        let mut distance = 1;
        while level != 0 {
            nodes(level).for_each(|node| distances[node] = Some(distance));
            let next = nodes(level).fold(0, |set, node| set | self.next[node]);
            level = next & !seen & !without;
            seen |= level;
            distance += 1;
        }
        distances
    }

    /// The nodes that each keep a node alive alone, itself not included.
    pub fn dominators(&self, node: usize) -> Set {
        let others = nodes(self.live & !one(node));
        let dominating = others.filter(|&above| self.dominated[above] & one(node) != 0);
        dominating.fold(0, |set, above| set | one(above))
    }
}

fn closure(next: &[Set], from: Set, without: Set) -> Set {
    let (mut seen, mut work) = (from, from);
    while work != 0 {
        let node = work.trailing_zeros() as usize;
        work &= work - 1;
        let new = next[node] & !seen & !without;
        seen |= new;
        work |= new;
    }
    seen
}

/// The thread that a root belongs to.
pub fn thread_of(kind: RootKind) -> Option<usize> {
    match kind {
        RootKind::JniLocal { thread, .. }
        | RootKind::Local { thread, .. }
        | RootKind::NativeStack { thread }
        | RootKind::ThreadBlock { thread }
        | RootKind::Thread { thread } => Some(thread),
        RootKind::Unknown | RootKind::JniGlobal | RootKind::StickyClass | RootKind::Monitor => None,
    }
}

pub fn is_thread(kind: RootKind) -> bool {
    matches!(kind, RootKind::Thread { .. })
}
