//! Objects that are followed from state to state: sampled ones and the instances of head classes. Each has an id and a weak handle,
//! which tells where the object is without keeping it alive. Instances that are followed already carry a tag, in an environment of
//! its own, so that looking for new ones does not meet other tags.

use std::ffi::c_void;

use anthill_wire::HeadClass;

use crate::jni::{Handle, Jni, Vm};
use crate::jvmti::{self, Code, Jvmti, capability};
use crate::symbols::Symbols;

/// Tags in the environment of the heads: of a head class, of an instance that was just found; others are ids.
const HEAD_CLASS: u64 = 1 << 61;
const NEW: u64 = 1 << 62;

/// Sampled objects that are followed before the recorder has said how many may be.
const FIRST_LIMIT: usize = 100_000;

/// With so few head classes it is quicker to go through the heap once for each (5 ns for each object of the heap) than
/// once for all and look up tags (25 ns, and up to 400 ns where many objects have one).
const FEW_CLASSES: usize = 6;
const FEW_CLASSES_OF_MANY_OBJECTS: usize = 40;
const MANY_OBJECTS: usize = 100_000;

#[derive(Clone, Copy)]
struct Object {
    id: u64,
    weak: Handle,
    head: bool,
}

pub struct Followed {
    objects: Vec<Object>,
    limit: usize,
    heads: Vec<HeadClass>,
    tags: Option<Jvmti>,
    /// Weak handles to the head classes that were found among the loaded ones.
    classes: Vec<Handle>,
    /// How many classes had been loaded when they were last looked through.
    classes_loaded: Option<u64>,
    /// The last collection when dead objects were looked for: there are no more of them before the next one.
    looked_after: Option<u32>,
    closed: bool,
}

impl Default for Followed {
    fn default() -> Followed {
        Followed {
            objects: Vec::new(),
            limit: FIRST_LIMIT,
            heads: Vec::new(),
            tags: None,
            classes: Vec::new(),
            classes_loaded: None,
            looked_after: None,
            closed: false,
        }
    }
}

impl Followed {
    pub fn count(&self) -> usize {
        self.objects.len()
    }

    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Follows a sampled object; its id, or 0 if there are too many already.
    pub fn add_sampled(&mut self, jni: Jni, symbols: &Symbols, object: Handle) -> u64 {
        if self.closed || self.objects.len() >= self.limit {
            return 0;
        }
        let weak = jni.new_weak(object);
        if weak.is_null() {
            return 0;
        }
        let id = symbols.next_id();
        self.objects.push(Object {
            id,
            weak,
            head: false,
        });
        id
    }

    /// Whether dead objects should make room, said once after each collection.
    pub fn needs_room(&mut self, collections: u32) -> bool {
        let needs = self.objects.len() >= self.limit && self.looked_after != Some(collections);
        if needs {
            self.looked_after = Some(collections);
        }
        needs
    }

    /// Replaces the head classes; instances of the former ones are forgotten.
    pub fn set_heads(&mut self, jni: Jni, heads: Vec<HeadClass>) {
        self.forget_heads(jni);
        self.heads = heads;
    }

    /// Looks for instances of head classes that are not followed yet. `classes_loaded` says cheaply whether
    /// classes must be looked through again.
    pub fn find_heads(
        &mut self,
        vm: Vm,
        jni: Jni,
        symbols: &Symbols,
        classes_loaded: Option<u64>,
    ) -> Result<(), String> {
        if self.heads.is_empty() {
            return Ok(());
        }
        let tags = self.head_tags(vm)?;
        if classes_loaded.is_none() || classes_loaded != self.classes_loaded {
            self.find_classes(tags, jni)?;
            self.classes_loaded = classes_loaded;
        }
        let mut finding = Finding {
            left: self.limit.saturating_sub(self.objects.len()),
            over: false,
        };
        self.tag_new(tags, jni, &mut finding)
            .map_err(|code| format!("the heap cannot be searched: {}", jvmti::meaning(code)))?;
        self.adopt(tags, jni, symbols)
            .map_err(|code| format!("tagged objects cannot be had: {}", jvmti::meaning(code)))?;
        match finding.over {
            true => Err(format!(
                "more than {} objects would have to be followed",
                self.limit
            )),
            false => Ok(()),
        }
    }

    /// Forgets the objects that died.
    pub fn forget_dead(&mut self, jni: Jni, addresses: &[u64]) {
        let mut address = addresses.iter();
        self.objects.retain(|object| {
            let alive = address.next() != Some(&0);
            if !alive {
                jni.delete_weak(object.weak);
            }
            alive
        });
    }

    /// Where the objects are now, 0 for those that died, in the order of [`Followed::ids`].
    pub fn addresses(&self, jni: Jni, reading: Reading) -> Vec<u64> {
        let objects = self.objects.iter();
        objects.map(|o| reading.address(jni, o.weak)).collect()
    }

    pub fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.objects.iter().map(|object| object.id)
    }

    /// Frees everything; nothing is followed from now on.
    pub fn close(&mut self, jni: Jni) {
        self.closed = true;
        self.forget_heads(jni);
        for object in self.objects.drain(..) {
            jni.delete_weak(object.weak);
        }
    }

    /// Takes over the objects that were added elsewhere.
    pub fn join(&mut self, other: Followed) {
        self.objects.extend(other.objects);
    }

    fn forget_heads(&mut self, jni: Jni) {
        self.objects.retain(|object| {
            if object.head {
                jni.delete_weak(object.weak);
            }
            !object.head
        });
        for class in self.classes.drain(..) {
            jni.delete_weak(class);
        }
        if let Some(tags) = self.tags.take() {
            tags.dispose();
        }
        self.classes_loaded = None;
    }

    fn head_tags(&mut self, vm: Vm) -> Result<Jvmti, String> {
        if let Some(tags) = self.tags {
            return Ok(tags);
        }
        let tags = tagging(vm)?;
        self.tags = Some(tags);
        Ok(tags)
    }

    /// Tags the loaded classes that are head classes.
    fn find_classes(&mut self, tags: Jvmti, jni: Jni) -> Result<(), String> {
        let loaded = tags
            .loaded_classes()
            .map_err(|code| format!("classes cannot be listed: {}", jvmti::meaning(code)))?;
        self.forget_unloaded(jni);
        let named = self.named(tags, &loaded);
        for &class in &loaded {
            let is_head = named.iter().any(|&(head, subclasses)| {
                class == head || subclasses && jni.is_assignable(class, head)
            });
            let instances = is_head && !tags.is_interface(class) && tags.tag(class) == 0;
            if instances {
                self.classes
                    .extend(tagged_weak(tags, jni, class, HEAD_CLASS));
            }
        }
        for class in loaded {
            jni.delete_local(class);
        }
        Ok(())
    }

    fn forget_unloaded(&mut self, jni: Jni) {
        self.classes.retain(|&class| {
            let gone = jni.is_gone(class);
            if gone {
                jni.delete_weak(class);
            }
            !gone
        });
    }

    /// The loaded classes that are named as head classes, and whether their subclasses count.
    fn named(&self, tags: Jvmti, loaded: &[Handle]) -> Vec<(Handle, bool)> {
        let mut named = Vec::new();
        for &class in loaded {
            let Some(signature) = tags.class_signature(class) else {
                continue;
            };
            let Some(name) = signature
                .strip_prefix('L')
                .and_then(|rest| rest.strip_suffix(';'))
            else {
                continue;
            };
            if let Some(head) = self.heads.iter().find(|head| head.name == name) {
                named.push((class, head.subclasses));
            }
        }
        named
    }

    /// Tags the instances that are not followed yet.
    fn tag_new(&self, tags: Jvmti, jni: Jni, finding: &mut Finding) -> Result<(), Code> {
        let few = match self.objects.len() {
            0..MANY_OBJECTS => FEW_CLASSES,
            _ => FEW_CLASSES_OF_MANY_OBJECTS,
        };
        if self.classes.len() > few {
            let filter = jvmti::FILTER_TAGGED | jvmti::FILTER_CLASS_UNTAGGED;
            return tags.iterate(filter, Handle::NULL, found, finding);
        }
        for &weak in &self.classes {
            let class = jni.new_local(weak);
            if !class.is_null() {
                let searched = tags.iterate(jvmti::FILTER_TAGGED, class, found, finding);
                jni.delete_local(class);
                searched?;
            }
        }
        Ok(())
    }

    /// Gives the tagged instances ids and handles.
    fn adopt(&mut self, tags: Jvmti, jni: Jni, symbols: &Symbols) -> Result<(), Code> {
        for object in tags.objects_with_tags(&[NEW])? {
            let id = symbols.next_id();
            let weak = tagged_weak(tags, jni, object, id);
            self.objects.extend(weak.map(|weak| Object {
                id,
                weak,
                head: true,
            }));
            jni.delete_local(object);
        }
        Ok(())
    }
}

/// A weak handle to an object that gets the tag; neither if the JVM has no memory for both.
fn tagged_weak(tags: Jvmti, jni: Jni, object: Handle, tag: u64) -> Option<Handle> {
    let weak = jni.new_weak(object);
    if weak.is_null() {
        return None;
    }
    if tags.set_tag(object, tag).is_err() {
        jni.delete_weak(weak);
        return None;
    }
    Some(weak)
}

struct Finding {
    left: usize,
    over: bool,
}

/// Called by the JVM while everything stands still.
extern "C" fn found(_: i64, _: i64, tag: *mut i64, _: i32, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the `Finding` that was given to the iteration, which nobody else uses meanwhile.
    let finding = unsafe { &mut *data.cast::<Finding>() };
    if finding.left == 0 {
        finding.over = true;
        return jvmti::VISIT_ABORT;
    }
    finding.left -= 1;
    // SAFETY: the JVM passes the place of the object's tag.
    unsafe { *tag = NEW as i64 };
    jvmti::VISIT_OBJECTS
}

/// An environment with nothing but tags.
pub fn tagging(vm: Vm) -> Result<Jvmti, String> {
    let tags = Jvmti::new(vm).ok_or("the JVM offers no further JVMTI environment")?;
    match tags.add_capability(capability::TAG_OBJECTS) {
        Ok(()) => Ok(tags),
        Err(code) => {
            tags.dispose();
            Err(format!(
                "objects cannot be tagged: {}",
                jvmti::meaning(code)
            ))
        }
    }
}

/// Whether objects of head classes can be looked for in the heap, or why not.
pub fn searching(collector: &str, specification: &str) -> Result<(), &'static str> {
    match (collector, specification) {
        // Between the pauses of a collection it tags the place that an object is about to leave, which then belongs to
        // another object or to none: a later search of the heap crashes on it.
        ("Shenandoah", "11") => {
            Err("Shenandoah of this release cannot be searched while it collects")
        }
        _ => Ok(()),
    }
}

/// How the address of an object, which is its id in a dump, is read from a weak handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// The word behind the handle is the address. Reading it leaves the collector alone.
    Direct,
    /// Objects move while the program runs: the JVM must be asked, and its local handle holds the address.
    Asked,
}

impl Reading {
    pub fn of(collector: &str) -> Option<Reading> {
        match collector {
            "G1" | "Parallel" | "Serial" | "Epsilon" => Some(Reading::Direct),
            "ZGC" | "Shenandoah" => Some(Reading::Asked),
            _ => None,
        }
    }

    fn address(self, jni: Jni, weak: Handle) -> u64 {
        if self == Reading::Direct {
            return weak.slot_content();
        }
        let local = jni.new_local(weak);
        let content = local.slot_content();
        if !local.is_null() {
            jni.delete_local(local);
        }
        content
    }
}

/// Whether handles of this JVM are what [`Reading::Direct`] takes them for: a weak and a local handle to the same
/// object must hold the same word.
pub fn handles_hold_addresses(jni: Jni, object: Handle) -> bool {
    let weak = jni.new_weak(object);
    let local = jni.new_local(object);
    // A collection may come between the two reads, but not each time.
    let equal = (0..100).any(|_| weak.slot_content() == local.slot_content());
    jni.delete_local(local);
    jni.delete_weak(weak);
    equal
}
