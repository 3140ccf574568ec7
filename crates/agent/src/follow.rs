//! Objects that are followed from state to state: sampled ones and the instances of head classes. Each has an id and a weak handle,
//! which tells where the object is without keeping it alive. Instances that are followed already carry a tag, in an environment of
//! its own, so that looking for new ones does not meet other tags.

use std::ffi::c_void;

use anthill_wire::HeadClass;

use crate::environments::{self, Purpose};
use crate::headroom::Room;
use crate::jni::{Handle, Jni, Vm};
use crate::jvmti::{self, Jvmti};
use crate::symbols::Symbols;

/// Tags in the environment of the heads: of a head class, of instances that were just found, by batch; others are ids.
const HEAD_CLASS: u64 = 1 << 61;
const NEW: u64 = 1 << 62;
/// As many instances as there are local handles for at a time, and some to spare.
const BATCH: usize = 50_000;

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

pub(crate) struct Followed {
    objects: Vec<Object>,
    limit: usize,
    heads: Vec<HeadClass>,
    tags: Option<Jvmti>,
    /// Weak handles to the head classes that were found among the loaded ones.
    classes: Vec<Handle>,
    /// Batches of instances that are tagged and not all followed yet.
    unadopted: usize,
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
            unadopted: 0,
            classes_loaded: None,
            looked_after: None,
            closed: false,
        }
    }
}

impl Followed {
    pub(crate) fn count(&self) -> usize {
        self.objects.len()
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Follows a sampled object; its id, or 0 if there are too many already.
    pub(crate) fn add_sampled(&mut self, jni: Jni, symbols: &Symbols, object: Handle) -> u64 {
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
    pub(crate) fn needs_room(&mut self, collections: u32) -> bool {
        let needs = self.objects.len() >= self.limit && self.looked_after != Some(collections);
        if needs {
            self.looked_after = Some(collections);
        }
        needs
    }

    /// Replaces the head classes; instances of the former ones are forgotten.
    pub(crate) fn set_heads(&mut self, jni: Jni, heads: Vec<HeadClass>) {
        self.forget_heads(jni);
        self.heads = heads;
    }

    /// Looks for instances of head classes that are not followed yet. `classes_loaded` says cheaply whether
    /// classes must be looked through again, `room` waits for room for one search.
    pub(crate) fn find_heads(
        &mut self,
        vm: Vm,
        jni: Jni,
        symbols: &Symbols,
        classes_loaded: Option<u64>,
        room: impl Fn() -> Result<Room, String>,
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
            found: 0,
            most: self.limit.saturating_sub(self.objects.len()),
            over: false,
        };
        let searched = self.tag_new(tags, jni, room, &mut finding);
        self.unadopted = self.unadopted.max(finding.found.div_ceil(BATCH));
        searched?;
        for batch in 0..self.unadopted {
            self.adopt(tags, jni, symbols, NEW | batch as u64)
                .map_err(|why| format!("cannot get tagged objects: {why}"))?;
        }
        self.unadopted = 0;
        match finding.over {
            true => Err(format!(
                "more than {} objects would have to be followed",
                self.limit
            )),
            false => Ok(()),
        }
    }

    /// Forgets the objects that died.
    pub(crate) fn forget_dead(&mut self, jni: Jni, addresses: &[u64]) {
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
    pub(crate) fn addresses(&self, jni: Jni, reading: Reading) -> Vec<u64> {
        let objects = self.objects.iter();
        objects.map(|o| reading.address(jni, o.weak)).collect()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.objects.iter().map(|object| object.id)
    }

    /// Frees everything; nothing is followed from now on.
    pub(crate) fn close(&mut self, jni: Jni) {
        self.closed = true;
        self.forget_heads(jni);
        for object in self.objects.drain(..) {
            jni.delete_weak(object.weak);
        }
    }

    /// Takes over the objects that were added elsewhere.
    pub(crate) fn join(&mut self, other: Followed) {
        self.objects.extend(other.objects);
    }

    /// Takes the tags of the heads and their classes back, and their handles.
    fn forget_heads(&mut self, jni: Jni) {
        let Some(tags) = self.tags.take() else {
            return;
        };
        let forget = |weak| {
            let object = jni.new_local(weak);
            if !object.is_null() {
                // It has none if the JVM had no memory for it.
                let _ = tags.set_tag(object, 0);
                jni.delete_local(object);
            }
            jni.delete_weak(weak);
        };
        self.objects.retain(|object| {
            if object.head {
                forget(object.weak);
            }
            !object.head
        });
        self.classes.drain(..).for_each(forget);
        if std::mem::take(&mut self.unadopted) > 0 {
            // They mean nothing, and go with their objects at the latest.
            let _ = environments::clear_tags(tags);
        }
        self.classes_loaded = None;
    }

    fn head_tags(&mut self, vm: Vm) -> Result<Jvmti, String> {
        if let Some(tags) = self.tags {
            return Ok(tags);
        }
        let tags = environments::tags(vm, Purpose::Heads)?;
        self.tags = Some(tags);
        Ok(tags)
    }

    /// Tags the loaded classes that are head classes.
    fn find_classes(&mut self, tags: Jvmti, jni: Jni) -> Result<(), String> {
        self.forget_unloaded(jni);
        jni.in_large_frame(|| {
            let loaded = tags
                .loaded_classes()
                .map_err(|code| format!("classes cannot be listed: {}", jvmti::meaning(code)))?;
            let named = self.named(tags, &loaded);
            for class in loaded {
                let is_head = named.iter().any(|&(head, subclasses)| {
                    class == head || subclasses && jni.is_assignable(class, head)
                });
                let instances = is_head && !tags.is_interface(class) && tags.tag(class) == 0;
                if instances {
                    let weak = tagged_weak(tags, jni, class, HEAD_CLASS);
                    self.classes.extend(weak);
                }
            }
            Ok(())
        })
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
    fn tag_new(
        &self,
        tags: Jvmti,
        jni: Jni,
        room: impl Fn() -> Result<Room, String>,
        finding: &mut Finding,
    ) -> Result<(), String> {
        let failed = |code| format!("the heap cannot be searched: {}", jvmti::meaning(code));
        let few = match self.objects.len() {
            0..MANY_OBJECTS => FEW_CLASSES,
            _ => FEW_CLASSES_OF_MANY_OBJECTS,
        };
        if self.classes.len() > few {
            let (filter, any) = (jvmti::FILTER_CLASS_UNTAGGED, Handle::NULL);
            let searched = tags.iterate_untagged(room()?, filter, any, found, finding);
            return searched.map_err(failed);
        }
        for &weak in &self.classes {
            let class = jni.new_local(weak);
            if !class.is_null() {
                let searched = room().and_then(|room| {
                    let searched = tags.iterate_untagged(room, 0, class, found, finding);
                    searched.map_err(failed)
                });
                jni.delete_local(class);
                searched?;
            }
        }
        Ok(())
    }

    /// Gives the instances of a batch ids and handles.
    fn adopt(
        &mut self,
        tags: Jvmti,
        jni: Jni,
        symbols: &Symbols,
        batch: u64,
    ) -> Result<(), String> {
        jni.in_large_frame(|| {
            for object in tags.objects_with_tags(&[batch]).map_err(jvmti::meaning)? {
                let id = symbols.next_id();
                let weak = tagged_weak(tags, jni, object, id);
                self.objects.extend(weak.map(|weak| Object {
                    id,
                    weak,
                    head: true,
                }));
            }
            Ok(())
        })
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
    found: usize,
    most: usize,
    over: bool,
}

/// Called by the JVM while everything stands still.
extern "C" fn found(_: i64, _: i64, tag: *mut i64, _: i32, data: *mut c_void) -> i32 {
    // SAFETY: `data` is the `Finding` that was given to the iteration, which nobody else uses meanwhile.
    let finding = unsafe { &mut *data.cast::<Finding>() };
    if finding.found == finding.most {
        finding.over = true;
        return jvmti::VISIT_ABORT;
    }
    let batch = (finding.found / BATCH) as u64;
    finding.found += 1;
    // SAFETY: the JVM passes the place of the object's tag.
    unsafe { *tag = (NEW | batch) as i64 };
    jvmti::VISIT_OBJECTS
}

/// Whether the heap can be searched and walked while the program runs, or why not.
pub(crate) fn searching(collector: &str, specification: &str) -> Result<(), &'static str> {
    // Before release 16 tags are kept by addresses. Where objects move beside the program, a search tags the place that an
    // object is about to leave, which then belongs to another object or to none: the next collection or search crashes on it.
    let by_handles = specification
        .parse()
        .is_ok_and(|release: u32| release >= 16);
    let stands_still = Reading::of(collector) == Some(Reading::Direct);
    match by_handles || stands_still {
        true => Ok(()),
        false => Err("the heap of this collector cannot be searched safely in this release"),
    }
}

/// How the address of an object, which is its id in a dump, is read from a weak handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// The word behind the handle is the address. Reading it leaves the collector alone.
    Direct,
    /// Objects move while the program runs: the JVM must be asked, and its local handle holds the address.
    Asked,
}

impl Reading {
    pub(crate) fn of(collector: &str) -> Option<Reading> {
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
pub(crate) fn handles_hold_addresses(jni: Jni, object: Handle) -> bool {
    let weak = jni.new_weak(object);
    let local = jni.new_local(object);
    // A collection may come between the two reads, but not each time.
    let equal = (0..100).any(|_| weak.slot_content() == local.slot_content());
    jni.delete_local(local);
    jni.delete_weak(weak);
    equal
}
