//! Shallow sizes as the JVM counts them. HPROF does not state how objects are laid out, so the
//! layout is derived: HotSpot's own rules give a size for every class under every possible
//! configuration, and the distances between objects in the dump say which configuration it was.
//!
//! Knows shapes of classes and distances only: no files, no records, no heap state.

mod fields;
mod special;

use std::collections::HashMap;
use std::fmt;

use anthill_heap::FieldType;

pub use fields::FieldRules;
use fields::{Declared, Geometry, Group, PADDING, Places, align, statics_size};
use special::{Release, STACK_CHUNK, Variant};

/// What a dump tells about one class.
#[derive(Clone, Copy, Debug)]
pub struct ClassShape<'a> {
    /// In Java notation: `java.lang.String`, `byte[]`.
    pub name: &'a str,
    /// Index into the same slice. A class other than `java.lang.Object` without superclass is
    /// taken for one whose description is missing or broken.
    pub super_class: Option<u32>,
    /// Instance fields declared by this class, in the order of the dump.
    pub fields: &'a [(&'a str, FieldType)],
    pub static_fields: &'a [(&'a str, FieldType)],
    /// Over the instances of this class. Arrays have none.
    pub gaps: Gaps,
    /// From the class object to the next object.
    pub mirror_gap: Option<u64>,
}

/// Distances from the instances of a class to the next object in address order: the two
/// smallest and how often each occurred.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Gaps {
    pub instances: u64,
    pub smallest: u64,
    pub at_smallest: u64,
    pub second: u64,
    pub at_second: u64,
}

impl Gaps {
    /// Takes in the gap of one more instance.
    #[inline]
    pub fn add(&mut self, gap: u64) {
        self.instances += 1;
        if gap == self.smallest {
            self.at_smallest += 1;
        } else if gap < self.smallest || self.at_smallest == 0 {
            (self.second, self.at_second) = (self.smallest, self.at_smallest);
            (self.smallest, self.at_smallest) = (gap, 1);
        } else if gap == self.second {
            self.at_second += 1;
        } else if gap < self.second || self.at_second == 0 {
            (self.second, self.at_second) = (gap, 1);
        }
    }

    /// Joins the gaps of two parts of the instances.
    pub fn merge(&mut self, other: &Gaps) {
        let instances = self.instances + other.instances;
        for (gap, count) in [
            (other.smallest, other.at_smallest),
            (other.second, other.at_second),
        ] {
            if count > 0 {
                self.add(gap);
                if gap == self.smallest {
                    self.at_smallest += count - 1;
                } else if gap == self.second {
                    self.at_second += count - 1;
                }
            }
        }
        self.instances = instances;
    }

    /// The gap to believe. The smallest one is an upper bound of the size, unless it stands
    /// alone among many: then an address was damaged.
    fn believed(&self) -> Option<(u64, u64)> {
        let lone = self.at_smallest == 1 && self.at_second >= 8;
        let (gap, count) = match lone || self.smallest == 0 {
            true => (self.second, self.at_second),
            false => (self.smallest, self.at_smallest),
        };
        (count > 0 && gap > 0).then_some((gap, count))
    }
}

/// The smallest distance from an array of this element type and length to the next object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayGap {
    pub element: FieldType,
    pub length: u32,
    pub gap: u64,
}

/// All that is needed to derive a layout.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    pub id_size: u8,
    pub classes: &'a [ClassShape<'a>],
    pub arrays: &'a [ArrayGap],
}

/// How the header of an object names its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassPointer {
    /// As wide as a machine word.
    Full,
    /// 4 bytes in a 64-bit JVM.
    Compressed,
    /// Inside the mark word: compact object headers, JDK 24 and newer.
    InMarkWord,
    /// Not HotSpot but Android's runtime.
    Android,
}

/// The layout the JVM used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of a machine word of the JVM.
    pub word: u8,
    pub reference_size: u8,
    pub class_pointer: ClassPointer,
    /// Every object's size is a multiple of this.
    pub alignment: u32,
    pub field_rules: FieldRules,
    /// Offset of the first element of arrays with elements of up to 4 bytes.
    pub array_base: u32,
}

impl Layout {
    /// Bytes before the first field of an object.
    pub fn header(&self) -> u32 {
        match (self.class_pointer, self.word) {
            (ClassPointer::Full, 8) => 16,
            (ClassPointer::Compressed, 8) => 12,
            _ => 8,
        }
    }

    /// Offset of the first element of an array.
    pub fn array_base(&self, element: FieldType) -> u32 {
        match element.size(self.reference_size.into()) {
            8 => align(self.array_base, 8),
            _ => self.array_base,
        }
    }

    pub fn array_size(&self, element: FieldType, length: u32) -> u64 {
        let elements = u64::from(length) * u64::from(element.size(self.reference_size.into()));
        let end = u64::from(self.array_base(element)) + elements;
        end.next_multiple_of(self.alignment.into())
    }

    /// Size of an instance of the class [`Derived::stack_chunk`]: `base` is the instance size
    /// of the class, `stack_words` the value of the object's field `size`.
    pub fn stack_chunk_size(&self, base: u32, stack_words: u32) -> u64 {
        let word = u64::from(self.word);
        let words = u64::from(stack_words);
        let bits = words * (word / u64::from(self.reference_size));
        let bitmap = bits.div_ceil(word * 8);
        (u64::from(base) + (words + bitmap) * word).next_multiple_of(self.alignment.into())
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            rules: self.field_rules,
            header: self.header(),
            reference: self.reference_size.into(),
            word: self.word.into(),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.class_pointer == ClassPointer::Android {
            return write!(f, "Android, {}-byte alignment", self.alignment);
        }
        let rules = match self.field_rules {
            FieldRules::ReferencesFirst => "JDK 5",
            FieldRules::Grouped => "JDK 14 or older",
            FieldRules::BestFit => "JDK 15+",
        };
        if self.word == 4 {
            return write!(f, "32-bit JVM, {rules} field layout");
        }
        let references = match self.reference_size {
            4 => "compressed references",
            _ => "full references",
        };
        let header = match self.class_pointer {
            ClassPointer::Compressed => "compressed class pointers",
            ClassPointer::InMarkWord => "compact object headers",
            _ => "full class pointers",
        };
        let alignment = self.alignment;
        write!(
            f,
            "{references}, {header}, {alignment}-byte alignment, {rules} field layout"
        )
    }
}

/// Something the dump does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The class it concerns; none if it concerns all.
    pub class: Option<u32>,
    pub what: String,
}

/// The layout and the sizes that follow from it.
#[derive(Clone, Debug)]
pub struct Derived {
    pub layout: Layout,
    /// By class: bytes of an instance. 0 for arrays.
    pub instance_sizes: Vec<u32>,
    /// By class: bytes of its class object.
    pub mirror_sizes: Vec<u32>,
    /// The class whose instances differ in size, see [`Layout::stack_chunk_size`].
    pub stack_chunk: Option<u32>,
    pub assumed: Vec<Assumed>,
}

/// Finds the layout under which the sizes agree best with the gaps, and the sizes themselves.
pub fn derive(observed: &Observed) -> Derived {
    let hierarchy = Hierarchy::of(observed.classes);
    if is_android(observed.classes) {
        return android(observed, &hierarchy);
    }
    let release = Release::of(observed.classes);
    let chosen = choose_layout(observed, &hierarchy, release);
    let layout = chosen.unwrap_or_else(|| usual(observed.id_size, release));
    let mut derivation = Derivation::new(observed, &hierarchy, release, layout);
    if chosen.is_some() {
        derivation.choose_variants();
        derivation.find_contended();
        derivation.respect_gaps();
    } else {
        let what = format!("{layout}: distances between objects tell nothing");
        derivation.assume(None, what);
    }
    derivation.finish()
}

/// The superclass relation, made safe: superclasses exist and come before their subclasses.
struct Hierarchy {
    /// Class indices, superclasses first.
    order: Vec<u32>,
    supers: Vec<Option<u32>>,
}

impl Hierarchy {
    fn of(classes: &[ClassShape]) -> Hierarchy {
        let count = classes.len();
        let mut supers: Vec<Option<u32>> = classes
            .iter()
            .map(|class| class.super_class.filter(|&s| (s as usize) < count))
            .collect();
        let mut order = Vec::with_capacity(count);
        let mut placed = vec![false; count];
        let mut path = Vec::new();
        let mut on_path = vec![false; count];
        for start in 0..count as u32 {
            let mut class = start;
            loop {
                if placed[class as usize] {
                    break;
                }
                path.push(class);
                on_path[class as usize] = true;
                match supers[class as usize] {
                    Some(above) if on_path[above as usize] => {
                        supers[class as usize] = None;
                        break;
                    }
                    Some(above) => class = above,
                    None => break,
                }
            }
            for class in path.drain(..).rev() {
                on_path[class as usize] = false;
                placed[class as usize] = true;
                order.push(class);
            }
        }
        Hierarchy { order, supers }
    }

    /// For every class whether it or a superclass is marked.
    fn spread(&self, mut marked: Vec<bool>) -> Vec<bool> {
        for &class in &self.order {
            if let Some(above) = self.supers[class as usize] {
                marked[class as usize] |= marked[above as usize];
            }
        }
        marked
    }
}

fn is_array(class: &ClassShape) -> bool {
    class.name.ends_with(']')
}

/// The superclass is missing although the class must have one.
fn is_broken(class: &ClassShape) -> bool {
    class.super_class.is_none() && class.name != "java.lang.Object" && !is_array(class)
}

/// How well sizes agree with gaps.
#[derive(Clone, Copy, Default, Debug)]
struct Agreement {
    exact: i64,
    /// Sizes larger than the gap: impossible but for damage.
    too_large: i64,
}

impl Agreement {
    fn note(&mut self, size: u64, gap: u64, weight: i64) {
        if size == gap {
            self.exact += weight;
        } else if size > gap {
            self.too_large += weight;
        }
    }

    fn note_class(&mut self, size: u32, gaps: &Gaps) {
        if let Some((gap, count)) = gaps.believed() {
            let weight = match count {
                1 => 1,
                2..8 => 2,
                _ => 4,
            };
            self.note(size.into(), gap, weight);
        }
    }

    fn score(&self) -> i64 {
        self.exact - 2 * self.too_large
    }
}

/// More classes than any JVM adds something to.
const MOST_CHOICES: usize = 64;

struct Derivation<'a> {
    observed: &'a Observed<'a>,
    hierarchy: &'a Hierarchy,
    release: Release,
    layout: Layout,
    /// By class, what the JVM adds to it.
    variants: HashMap<u32, Variant>,
    /// Classes found to be contended, with their fields.
    contended: HashMap<u32, Declared>,
    sizes: Vec<u32>,
    assumed: Vec<Assumed>,
}

impl<'a> Derivation<'a> {
    fn new(
        observed: &'a Observed<'a>,
        hierarchy: &'a Hierarchy,
        release: Release,
        layout: Layout,
    ) -> Derivation<'a> {
        let mut derivation = Derivation {
            observed,
            hierarchy,
            release,
            layout,
            variants: HashMap::new(),
            contended: HashMap::new(),
            sizes: Vec::new(),
            assumed: Vec::new(),
        };
        for (class, variants) in derivation.choices() {
            derivation.variants.insert(class, variants[0].clone());
        }
        derivation.sizes = derivation.all_sizes();
        derivation
    }

    /// The classes to which the JVM adds something and what that may be, superclasses first.
    fn choices(&self) -> Vec<(u32, Vec<Variant>)> {
        let variants = |&class: &u32| {
            let variants = special::variants(&self.observed.classes[class as usize], self.release);
            (!variants.is_empty()).then_some((class, variants))
        };
        self.hierarchy.order.iter().filter_map(variants).collect()
    }

    fn assume(&mut self, class: Option<u32>, what: impl Into<String>) {
        let what = what.into();
        self.assumed.push(Assumed { class, what });
    }

    fn geometry(&self) -> Geometry {
        self.layout.geometry()
    }

    fn declared(&self, class: u32) -> Declared {
        if let Some(declared) = self.contended.get(&class) {
            return declared.clone();
        }
        let shape = &self.observed.classes[class as usize];
        let variant = self.variants.get(&class);
        special::declared(shape, self.release, variant, self.layout.word.into())
    }

    fn all_sizes(&self) -> Vec<u32> {
        let geometry = self.geometry();
        let places = all_places(self.hierarchy, &geometry, |class| self.declared(class));
        let alignment = self.layout.alignment;
        places
            .iter()
            .map(|places| places.size(&geometry, alignment))
            .collect()
    }

    /// The class and its subclasses.
    fn subtree(&self, class: u32) -> Vec<u32> {
        let mut inside = vec![false; self.observed.classes.len()];
        inside[class as usize] = true;
        let inside = self.hierarchy.spread(inside);
        let members = self.hierarchy.order.iter().copied();
        members.filter(|&class| inside[class as usize]).collect()
    }

    /// Sizes of the classes in `subtree`, which lists superclasses first.
    fn sizes_of(&self, subtree: &[u32]) -> Vec<u32> {
        let geometry = self.geometry();
        let mut known: HashMap<u32, Places> = HashMap::new();
        let mut sizes = Vec::with_capacity(subtree.len());
        for &class in subtree {
            let mut path = vec![class];
            while let Some(above) = self.hierarchy.supers[path[path.len() - 1] as usize] {
                if known.contains_key(&above) {
                    break;
                }
                path.push(above);
            }
            for &class in path.iter().rev() {
                let above = self.hierarchy.supers[class as usize].and_then(|s| known.get(&s));
                let empty = Places::empty(&geometry);
                let places = above
                    .unwrap_or(&empty)
                    .extended(&geometry, &self.declared(class));
                known.insert(class, places);
            }
            sizes.push(known[&class].size(&geometry, self.layout.alignment));
        }
        sizes
    }

    fn agreement_of(&self, subtree: &[u32]) -> Agreement {
        let mut agreement = Agreement::default();
        for (&class, size) in subtree.iter().zip(self.sizes_of(subtree)) {
            agreement.note_class(size, &self.observed.classes[class as usize].gaps);
        }
        agreement
    }

    /// Finds what the JVM adds to classes where releases differ.
    fn choose_variants(&mut self) {
        for (class, variants) in self.choices().into_iter().take(MOST_CHOICES) {
            let subtree = self.subtree(class);
            let is_mirror = self.observed.classes[class as usize].name == "java.lang.Class";
            let mut tried = Vec::new();
            for variant in variants {
                self.variants.insert(class, variant.clone());
                let mut agreement = self.agreement_of(&subtree);
                let sizes = self.sizes_of(&subtree);
                if is_mirror {
                    let statics = variant.statics_in_mirror;
                    for (shape, size) in self
                        .observed
                        .classes
                        .iter()
                        .zip(self.mirrors(sizes[0], statics))
                    {
                        if let Some(gap) = shape.mirror_gap {
                            agreement.note(size.into(), gap, 1);
                        }
                    }
                }
                tried.push((agreement, variant, sizes));
            }
            let Some(best) = (0..tried.len()).rev().max_by_key(|&i| tried[i].0.score()) else {
                continue;
            };
            self.variants.insert(class, tried[best].1.clone());
            self.note_unconfirmed(class, &subtree, best, &tried);
        }
        self.sizes = self.all_sizes();
    }

    /// Puts classes on the list whose size depends on a choice that no gap confirms.
    fn note_unconfirmed(
        &mut self,
        class: u32,
        subtree: &[u32],
        best: usize,
        tried: &[(Agreement, Variant, Vec<u32>)],
    ) {
        let (agreement, _, sizes) = &tried[best];
        if agreement.exact > 0 {
            return;
        }
        let is_mirror = self.observed.classes[class as usize].name == "java.lang.Class";
        let matters = is_mirror
            || subtree.iter().enumerate().any(|(at, &member)| {
                let used = self.observed.classes[member as usize].gaps.instances > 0;
                used && tried.iter().any(|(.., other)| other[at] != sizes[at])
            });
        if matters {
            self.assume(
                Some(class),
                "fields that the JVM adds to this class, by release",
            );
        }
    }

    /// Sizes of the class objects, given the instance size of `java.lang.Class`.
    fn mirrors(&self, base: u32, statics: bool) -> Vec<u32> {
        let geometry = self.geometry();
        let own = |shape: &ClassShape| {
            let real = |&&(name, _): &&(&str, FieldType)| statics && !name.starts_with('<');
            let fields = shape.static_fields.iter().filter(real);
            statics_size(&geometry, fields.map(|&(_, ty)| ty))
        };
        let sizes = self.observed.classes.iter();
        sizes
            .map(|shape| align(base + own(shape), self.layout.alignment))
            .collect()
    }

    /// Finds classes of the program that are `@Contended`: their instances lie at a distance
    /// that the rules give for contended fields and not otherwise. A lone instance proves this
    /// only where no garbage lies between objects.
    fn find_contended(&mut self) {
        let dense = self.is_dense();
        for &class in &self.hierarchy.order {
            let shape = &self.observed.classes[class as usize];
            let Some((gap, count)) = shape.gaps.believed() else {
                continue;
            };
            let paddings = u64::from(PADDING + 8) * (shape.fields.len() as u64 + 3);
            let plain = u64::from(self.sizes[class as usize]);
            if gap < plain + u64::from(PADDING)
                || gap > plain + paddings + u64::from(self.layout.alignment)
                || is_array(shape)
                || is_broken(shape)
                || self.variants.contains_key(&class)
            {
                continue;
            }
            let Some(fields) = self.contended_fields(class, gap) else {
                continue;
            };
            if count >= 2 && count * 2 >= shape.gaps.instances {
                self.contended.insert(class, fields);
            } else if shape.gaps.instances == 1 && dense {
                self.contended.insert(class, fields);
                self.assume(Some(class), "contended, as its only instance lies");
            } else if shape.gaps.instances == 1 {
                let what = "not contended, although its only instance lies as if it were";
                self.assume(Some(class), what);
            }
        }
        if !self.contended.is_empty() {
            self.sizes = self.all_sizes();
        }
    }

    /// Whether objects follow one another closely, judged by classes with a single instance.
    fn is_dense(&self) -> bool {
        let (mut exact, mut all) = (0, 0);
        for (shape, &size) in self.observed.classes.iter().zip(&self.sizes) {
            let padded = shape.gaps.smallest >= u64::from(size + PADDING);
            if shape.gaps.instances == 1 && !padded {
                all += 1;
                exact += u64::from(shape.gaps.smallest == u64::from(size));
            }
        }
        all >= 50 && exact * 100 >= all * 99
    }

    /// A choice of contended fields under which the instances have exactly this size; none if
    /// they have it anyway.
    fn contended_fields(&self, class: u32, size: u64) -> Option<Declared> {
        let geometry = self.geometry();
        let mut path = vec![class];
        while let Some(above) = self.hierarchy.supers[path[path.len() - 1] as usize] {
            path.push(above);
        }
        let mut above = Places::empty(&geometry);
        for &class in path[1..].iter().rev() {
            above = above.extended(&geometry, &self.declared(class));
        }
        let fits = |fields: &Declared| {
            let places = above.extended(&geometry, fields);
            u64::from(places.size(&geometry, self.layout.alignment)) == size
        };
        let plain = self.declared(class);
        match fits(&plain) {
            true => None,
            false => contended_choices(plain).find(fits),
        }
    }

    /// An object ends before the next one begins, whatever the rules say; and where fields are
    /// unknown, nothing else tells the size.
    fn respect_gaps(&mut self) {
        let classes = self.observed.classes;
        for (class, shape) in classes.iter().enumerate() {
            let gap = shape.gaps.believed().map(|(gap, _)| gap);
            let Some(gap) = gap.and_then(|gap| u32::try_from(gap).ok()) else {
                continue;
            };
            let size = self.sizes[class];
            let possible = gap >= self.layout.header() && gap % self.layout.alignment == 0;
            let what = match (is_broken(shape), size > gap) {
                (true, _) => "superclass unknown, size taken from the distance to the next object",
                (_, true) => "fields need more, size taken from the distance to the next object",
                _ => continue,
            };
            if possible {
                self.sizes[class] = gap;
                self.assume(Some(class as u32), what);
            }
        }
    }

    fn finish(mut self) -> Derived {
        let classes = self.observed.classes;
        let position = |name| classes.iter().position(|shape| shape.name == name);
        let mirror_sizes = match position("java.lang.Class") {
            Some(class) => {
                let variant = self.variants.get(&(class as u32));
                let statics = variant.is_none_or(|variant| variant.statics_in_mirror);
                self.mirrors(self.sizes[class], statics)
            }
            None => {
                let what = "java.lang.Class is missing, class objects count their static fields";
                self.assume(None, what);
                self.mirrors(self.layout.header(), true)
            }
        };
        for (size, shape) in self.sizes.iter_mut().zip(classes) {
            if is_array(shape) {
                *size = 0;
            }
        }
        Derived {
            layout: self.layout,
            instance_sizes: self.sizes,
            mirror_sizes,
            stack_chunk: position(STACK_CHUNK).map(|class| class as u32),
            assumed: self.assumed,
        }
    }
}

/// Ways in which a class can be contended: as a whole, one or two of its fields, all of them.
fn contended_choices(plain: Declared) -> impl Iterator<Item = Declared> {
    let count = plain.slots.len();
    let whole = Declared {
        padded: true,
        ..plain.clone()
    };
    let with = move |group: Group, chosen: &dyn Fn(usize) -> bool| {
        let mut fields = plain.clone();
        for (at, slot) in fields.slots.iter_mut().enumerate() {
            if chosen(at) {
                slot.group = group;
            }
        }
        fields
    };
    let few = count.min(8);
    let one = with.clone();
    let two = with.clone();
    let shared = with.clone();
    let same = with.clone();
    std::iter::once(whole)
        .chain((0..few).map(move |i| one(Group::Alone, &|at| at == i)))
        .chain((0..few).flat_map(move |i| {
            let two = two.clone();
            (0..i).map(move |j| two(Group::Alone, &|at| at == i || at == j))
        }))
        .chain((0..few).flat_map(move |i| {
            let shared = shared.clone();
            (0..i).map(move |j| shared(Group::Shared(0), &|at| at == i || at == j))
        }))
        .chain(std::iter::once_with(move || {
            same(Group::Shared(0), &|_| true)
        }))
        .chain(std::iter::once_with(move || with(Group::Alone, &|_| true)))
}

fn all_places(
    hierarchy: &Hierarchy,
    geometry: &Geometry,
    declared: impl Fn(u32) -> Declared,
) -> Vec<Places> {
    let empty = Places::empty(geometry);
    let mut places = vec![empty.clone(); hierarchy.order.len()];
    for &class in &hierarchy.order {
        let above = hierarchy.supers[class as usize];
        let above = above.map_or(&empty, |above| &places[above as usize]);
        places[class as usize] = above.extended(geometry, &declared(class));
    }
    places
}

/// The layouts a JVM with this id size can have, the usual ones first.
fn candidates(id_size: u8, release: Release) -> Vec<Layout> {
    let rules = match (release.known, release.since_15) {
        (true, true) => vec![FieldRules::BestFit],
        (true, false) => vec![FieldRules::Grouped, FieldRules::ReferencesFirst],
        _ => vec![FieldRules::BestFit, FieldRules::Grouped],
    };
    let mut layouts = Vec::new();
    for field_rules in rules {
        let mut push = |word, reference_size, class_pointer, array_base| {
            layouts.push(Layout {
                word,
                reference_size,
                class_pointer,
                alignment: 8,
                field_rules,
                array_base,
            });
        };
        if id_size == 4 {
            push(4, 4, ClassPointer::Full, 12);
            continue;
        }
        push(8, 4, ClassPointer::Compressed, 16);
        if field_rules == FieldRules::BestFit {
            push(8, 8, ClassPointer::Compressed, 16);
        }
        push(8, 8, ClassPointer::Full, 24);
        push(8, 4, ClassPointer::Full, 24);
        if field_rules == FieldRules::BestFit {
            push(8, 4, ClassPointer::InMarkWord, 12);
            push(8, 8, ClassPointer::InMarkWord, 12);
            push(8, 8, ClassPointer::Full, 20);
            push(8, 4, ClassPointer::Full, 20);
        }
    }
    layouts
}

/// The layout most JVMs have; the first one to try.
fn usual(id_size: u8, release: Release) -> Layout {
    candidates(id_size, release)[0]
}

const ALIGNMENTS: [u32; 6] = [8, 16, 32, 64, 128, 256];

/// The layout that agrees best with the gaps; none if the gaps tell nothing, as when ids are
/// not addresses.
fn choose_layout(observed: &Observed, hierarchy: &Hierarchy, release: Release) -> Option<Layout> {
    let classes = observed.classes;
    let unsure =
        |class: &ClassShape| is_broken(class) || !special::variants(class, release).is_empty();
    let unsure = hierarchy.spread(classes.iter().map(unsure).collect());
    let usable = |class: &usize| !unsure[*class] && classes[*class].gaps.instances > 0;
    let witnesses: Vec<usize> = (0..classes.len()).filter(usable).collect();
    let mut best = (0, None);
    for mut layout in candidates(observed.id_size, release) {
        let geometry = layout.geometry();
        let places = all_places(hierarchy, &geometry, |class| {
            special::declared(&classes[class as usize], release, None, geometry.word)
        });
        let alignments = match layout.word {
            4 => &ALIGNMENTS[..1],
            _ => &ALIGNMENTS,
        };
        for &alignment in alignments {
            layout.alignment = alignment;
            let mut agreement = Agreement::default();
            for &class in &witnesses {
                let size = places[class].size(&geometry, alignment);
                agreement.note_class(size, &classes[class].gaps);
            }
            for array in observed.arrays.iter().filter(|array| array.gap > 0) {
                let size = layout.array_size(array.element, array.length);
                agreement.note(size, array.gap, 1);
            }
            if agreement.score() > best.0 {
                best = (agreement.score(), Some(layout));
            }
        }
    }
    best.1
}

fn is_android(classes: &[ClassShape]) -> bool {
    classes.iter().any(|class| {
        class.name.starts_with("dalvik.")
            || class.name == "java.lang.Object" && !class.fields.is_empty()
    })
}

/// Android's runtime: a header of 8 bytes, which newer releases declare as fields of
/// `java.lang.Object`, then all fields without holes.
fn android(observed: &Observed, hierarchy: &Hierarchy) -> Derived {
    let classes = observed.classes;
    let layout = Layout {
        word: 4,
        reference_size: 4,
        class_pointer: ClassPointer::Android,
        alignment: 8,
        field_rules: FieldRules::BestFit,
        array_base: 12,
    };
    let sum = |fields: &[(&str, FieldType)]| -> u32 {
        let sizes = fields.iter().map(|(_, ty)| ty.size(4));
        sizes.fold(0, u32::saturating_add)
    };
    let mut ends = vec![0u32; classes.len()];
    for &class in &hierarchy.order {
        let shape = &classes[class as usize];
        let above = hierarchy.supers[class as usize];
        let start = above.map_or(0, |above| ends[above as usize]);
        let end = start.saturating_add(sum(shape.fields));
        ends[class as usize] = end.max(layout.header());
    }
    let round = |size: u32| align(size, layout.alignment);
    let class_object = classes.iter().position(|c| c.name == "java.lang.Class");
    let base = class_object.map_or(layout.header(), |class| ends[class]);
    let size = |(class, &end): (&ClassShape, &u32)| if is_array(class) { 0 } else { round(end) };
    Derived {
        layout,
        instance_sizes: classes.iter().zip(&ends).map(size).collect(),
        mirror_sizes: classes
            .iter()
            .map(|class| round(base.saturating_add(sum(class.static_fields))))
            .collect(),
        stack_chunk: None,
        assumed: vec![Assumed {
            class: None,
            what: "Android: sizes are a header of 8 bytes and the sum of the fields".into(),
        }],
    }
}
