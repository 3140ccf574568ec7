//! From the layout to the sizes: what the JVM added to some classes, which classes of the program
//! are contended, and what is left to assume.

use std::collections::HashMap;

use anthill_heap::FieldType;

use super::candidates::Agreement;
use super::fields::{Declared, Geometry, Group, PADDING, Places, align, statics_size};
use super::hierarchy::{Hierarchy, all_places};
use super::special::{self, Release, STACK_CHUNK, Variant};
use super::{Assumed, ClassShape, Derived, Layout, Observed, is_array, is_broken};

/// More classes than any JVM adds something to.
const MOST_CHOICES: usize = 64;

pub(super) struct Derivation<'a> {
    observed: &'a Observed<'a>,
    hierarchy: &'a Hierarchy,
    release: Release,
    layout: Layout,
    /// By class, what the JVM adds to it.
    variants: HashMap<u32, Variant>,
    sizes: Vec<u32>,
    assumed: Vec<Assumed>,
}

impl<'a> Derivation<'a> {
    pub(super) fn new(
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

    pub(super) fn assume(&mut self, class: Option<u32>, what: impl Into<String>) {
        let what = what.into();
        self.assumed.push(Assumed { class, what });
    }

    fn geometry(&self) -> Geometry {
        self.layout.geometry()
    }

    fn declared(&self, class: u32) -> Declared {
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
    pub(super) fn choose_variants(&mut self) {
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
    pub(super) fn find_contended(&mut self) {
        let geometry = self.layout.geometry();
        let dense = self.is_dense();
        let empty = Places::empty(&geometry);
        let mut places = vec![empty.clone(); self.observed.classes.len()];
        for &class in &self.hierarchy.order {
            let above = self.hierarchy.supers[class as usize];
            let above = above.map_or(&empty, |above| &places[above as usize]);
            let plain = self.declared(class);
            let size = |fields: &Declared| {
                let places = above.extended(&geometry, fields);
                places.size(&geometry, self.layout.alignment)
            };
            let wanted = self.contended_size(class, size(&plain));
            let choices = wanted.map(|wanted| {
                let mut choices = contended_choices(&plain);
                choices.find(|fields| size(fields) == wanted)
            });
            let mut fields = plain;
            if let Some(padded) = choices.flatten() {
                let gaps = &self.observed.classes[class as usize].gaps;
                match (gaps.instances, dense) {
                    (1, true) => self.assume(
                        Some(class),
                        "contended, judging by the place of \
                    its only instance",
                    ),
                    (1, false) => {
                        let what = "not contended, although its only instance is placed as if it \
                        were";
                        self.assume(Some(class), what);
                    }
                    _ => {}
                }
                if dense || gaps.instances > 1 {
                    fields = padded;
                }
            }
            let extended = above.extended(&geometry, &fields);
            self.sizes[class as usize] = extended.size(&geometry, self.layout.alignment);
            places[class as usize] = extended;
        }
    }

    /// The size the instances of a class would have if it was contended: the gap most of them
    /// agree on, when it exceeds the plain size by what paddings can add.
    fn contended_size(&self, class: u32, plain: u32) -> Option<u32> {
        let shape = &self.observed.classes[class as usize];
        let (gap, count) = shape.gaps.believed()?;
        let gap = u32::try_from(gap).ok()?;
        let most = (PADDING + 8).saturating_mul(shape.fields.len() as u32 + 3);
        let added = gap.checked_sub(plain)?;
        let possible = added >= PADDING && added <= most.saturating_add(self.layout.alignment);
        let agreed = match count {
            1 => shape.gaps.instances == 1,
            _ => count * 2 >= shape.gaps.instances,
        };
        let plain_class = !is_array(shape) && !is_broken(shape);
        let known = self.variants.contains_key(&class);
        (possible && agreed && plain_class && !known).then_some(gap)
    }

    /// Whether objects follow one another closely, judged by classes with a single instance.
    /// A few of them may be contended.
    fn is_dense(&self) -> bool {
        let (mut all, mut loose, mut far) = (0, 0, 0);
        for (shape, &size) in self.observed.classes.iter().zip(&self.sizes) {
            if shape.gaps.instances == 1 {
                let rest = shape.gaps.smallest.saturating_sub(size.into());
                all += 1;
                loose += u64::from((1..u64::from(PADDING)).contains(&rest));
                far += u64::from(rest >= u64::from(PADDING));
            }
        }
        all >= 50 && loose * 100 <= all && far * 10 <= all
    }

    /// An object ends before the next one begins, whatever the rules say; and where fields are
    /// unknown, nothing else tells the size.
    pub(super) fn respect_gaps(&mut self) {
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

    pub(super) fn finish(mut self) -> Derived {
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
fn contended_choices(plain: &Declared) -> impl Iterator<Item = Declared> {
    let count = plain.slots.len();
    let few = count.min(8);
    let with = |group: Group, chosen: &dyn Fn(usize) -> bool| {
        let mut fields = plain.clone();
        for (at, slot) in fields.slots.iter_mut().enumerate() {
            if chosen(at) {
                slot.group = group;
            }
        }
        fields
    };
    let pairs = move || (0..few).flat_map(|first| (0..first).map(move |second| (first, second)));
    let whole = Declared {
        padded: true,
        ..plain.clone()
    };
    let one = move |field| with(Group::Alone, &|at| at == field);
    let pair = move |group| move |(first, second)| with(group, &|at| at == first || at == second);
    let all = move |group| with(group, &|_| true);
    std::iter::once(whole)
        .chain((0..few).map(one))
        .chain(pairs().map(pair(Group::Alone)))
        .chain(pairs().map(pair(Group::Shared(0))))
        .chain([Group::Shared(0), Group::Alone].into_iter().map(all))
}
