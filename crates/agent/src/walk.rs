//! A walk from the roots over all references that gives every object an id for good, as a tag, and writes what it meets into a
//! file. Everything stands still meanwhile, so the callback only appends to a buffer.

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Write};

use anthill_wire::walk_file::{MAGIC, Record, ReferenceKind, RootFrame, RootKind};
use anthill_wire::{Field, FromAgent, Shape, StateDone, TakeWalk, field_places};

use crate::dump::Stopwatch;
use crate::headroom::Room;
use crate::jni::{Handle, Jni, Member};
use crate::jvmti::{self, Jvmti, ReferenceInfo, StackInfo};
use crate::session::Session;
use crate::symbols::Symbols;

const BUFFER: usize = 1 << 20;
/// When more are known, all are forgotten and sent again: memory stays bounded whatever the program does.
const MOST_SHAPED: usize = 500_000;

/// Of so many classes that the JVM did not list the names are looked up.
const MOST_UNLISTED: usize = 64;

/// Waits for room for one search.
type WaitForRoom<'a> = &'a dyn Fn() -> Result<Room, String>;

/// What walks have in common.
#[derive(Default)]
pub(crate) struct Walker {
    /// Classes whose shape was sent.
    shaped: HashSet<u64>,
}

impl Walker {
    pub(crate) fn take(
        &mut self,
        session: &Session,
        tags: Jvmti,
        jni: Jni,
        order: &TakeWalk,
        room: WaitForRoom<'_>,
    ) -> StateDone {
        let stopwatch = Stopwatch::start(session);
        let collected = match order.collect {
            true => session.jvmti.force_gc(),
            false => Ok(()),
        };
        let result = collected
            .map_err(|code| format!("the heap cannot be collected: {}", jvmti::meaning(code)))
            .and_then(|()| self.walk(session, tags, jni, order, room));
        let mut done = stopwatch.done(session, order.order);
        match result {
            Ok(counts) => {
                done.gc = counts.gc;
                done.objects = counts.objects;
                done.references = counts.references;
                if counts.classless > 0 {
                    done.identities_missing = Some(format!(
                        "the classes of {} objects are not known",
                        counts.classless
                    ));
                }
            }
            Err(why) => done.failure = Some(why),
        }
        done
    }

    fn walk(
        &mut self,
        session: &Session,
        tags: Jvmti,
        jni: Jni,
        order: &TakeWalk,
        room: WaitForRoom<'_>,
    ) -> Result<Counts, String> {
        let virtual_threads = self.prepare(session, tags, jni, room)?;
        let file = File::create(&order.path).map_err(|e| format!("{}: {e}", order.path))?;
        let mut walk = Walk::new(session, file, virtual_threads);
        let room = room()?;
        walk.counts.gc = session.pauses.count();
        tags.follow_references(room, met, &mut walk)
            .map_err(|code| format!("the heap cannot be walked: {}", jvmti::meaning(code)))?;
        walk.finish().map_err(|e| format!("{}: {e}", order.path))?;
        for (&method, &number) in &walk.methods {
            session
                .symbols
                .report(session.jvmti, jni, &session.outbox, method, number);
        }
        self.send_shapes(session, tags, jni, &walk.unlisted_classes)?;
        Ok(walk.counts)
    }

    /// Sends how the classes are made that were not sent before.
    fn send_shapes(
        &mut self,
        session: &Session,
        tags: Jvmti,
        jni: Jni,
        unlisted: &HashSet<u64>,
    ) -> Result<(), String> {
        let unlisted: Vec<u64> = unlisted.iter().copied().take(MOST_UNLISTED).collect();
        jni.in_large_frame(|| {
            let mut classes = tags.loaded_classes().map_err(classes_failed)?;
            if !unlisted.is_empty() {
                classes.extend(tags.objects_with_tags(&unlisted).unwrap_or_default());
            }
            for class in classes {
                let id = tag_class(session, tags, class);
                if self.shaped.len() >= MOST_SHAPED {
                    self.shaped.clear();
                }
                if self.shaped.insert(id) {
                    let shape = jni.in_frame(|| Ok(shape(session, tags, jni, class, id)))?;
                    session.outbox.say(&FromAgent::Shape(shape));
                }
            }
            Ok(())
        })
    }

    /// Gives all classes ids, and looks which virtual threads there are.
    fn prepare<'a>(
        &self,
        session: &'a Session,
        tags: Jvmti,
        jni: Jni,
        room: WaitForRoom<'_>,
    ) -> Result<Option<VirtualThreads<'a>>, String> {
        jni.in_large_frame(|| {
            let mut virtual_threads = None;
            for class in tags.loaded_classes().map_err(classes_failed)? {
                tag_class(session, tags, class);
                if tags.class_signature(class).as_deref() == Some(VirtualThreads::CLASS) {
                    let found = VirtualThreads::find(session, tags, jni, class, room)?;
                    virtual_threads = Some(found);
                }
            }
            Ok(virtual_threads)
        })
    }
}

/// The virtual threads that were started. HotSpot crashes when a walk comes to one that is being made (its
/// continuation is not there yet), so only those are entered of which it is known that they were complete before.
struct VirtualThreads<'a> {
    class: u64,
    /// Of the field with the state, if there is one.
    state: Option<i32>,
    started: HashSet<u64>,
    symbols: &'a Symbols,
}

impl<'a> VirtualThreads<'a> {
    const CLASS: &'static str = "Ljava/lang/VirtualThread;";
    /// What the field holds until the thread is started.
    const NEW: u64 = 0;

    fn find(
        session: &'a Session,
        tags: Jvmti,
        jni: Jni,
        class: Handle,
        room: WaitForRoom<'_>,
    ) -> Result<VirtualThreads<'a>, String> {
        let id = tag_class(session, tags, class);
        let mut shapes = HashMap::new();
        jni.in_frame(|| {
            collect_shapes(session, tags, jni, class, &mut shapes);
            Ok(())
        })?;
        let state = field_places(id, |class| shapes.get(&class)).and_then(|(first, places)| {
            let named = |place: &anthill_wire::FieldPlace| {
                place.class == id && shapes[&id].fields[place.field].name == "state"
            };
            let place = places.iter().position(named)?;
            i32::try_from(first + place).ok()
        });
        let mut threads = VirtualThreads {
            class: id,
            state,
            started: HashSet::new(),
            symbols: &session.symbols,
        };
        if !tags.is_initialized(class) {
            return Ok(threads);
        }
        tags.iterate_fields(room()?, class, virtual_thread_field, &mut threads)
            .map_err(|code| {
                format!("virtual threads cannot be listed: {}", jvmti::meaning(code))
            })?;
        Ok(threads)
    }
}

/// Called by the JVM while everything stands still.
extern "C" fn virtual_thread_field(
    _: i32,
    info: *const ReferenceInfo,
    _: i64,
    tag: *mut i64,
    value: u64,
    _: i32,
    data: *mut c_void,
) -> i32 {
    // SAFETY: `data` is the `VirtualThreads` that was given to the iteration, which nobody else uses meanwhile, and
    // the JVM passes the field's index and the place of the object's tag.
    let (threads, index, tag) = unsafe {
        let threads = &mut *data.cast::<VirtualThreads>();
        (threads, (*info).index, &mut *tag)
    };
    // The value of an int is in the lower half.
    if Some(index) == threads.state && value & 0xffff_ffff != VirtualThreads::NEW {
        if *tag == 0 {
            *tag = threads.symbols.next_id() as i64;
        }
        threads.started.insert(*tag as u64);
    }
    jvmti::VISIT_OBJECTS
}

/// The shapes of a class, its superclasses and all their interfaces.
fn collect_shapes(
    session: &Session,
    tags: Jvmti,
    jni: Jni,
    class: Handle,
    shapes: &mut HashMap<u64, Shape>,
) {
    let id = tag_class(session, tags, class);
    if shapes.contains_key(&id) {
        return;
    }
    shapes.insert(id, shape(session, tags, jni, class, id));
    let mut next = tags.interfaces(class);
    next.push(jni.superclass(class));
    for class in next.into_iter().filter(|class| !class.is_null()) {
        collect_shapes(session, tags, jni, class, shapes);
    }
}

fn classes_failed(code: jvmti::Code) -> String {
    format!("classes cannot be listed: {}", jvmti::meaning(code))
}

/// The id of a class, which is the same in both environments.
fn tag_class(session: &Session, tags: Jvmti, class: Handle) -> u64 {
    match tags.tag(class) {
        0 => {
            let id = session.symbols.class(session.jvmti, &session.outbox, class);
            // Without a tag its instances are counted as of no class.
            let _ = tags.set_tag(class, id);
            id
        }
        id => {
            // A class object met in a walk before it was listed has its id from there.
            if session.jvmti.tag(class) != id {
                let _ = session.jvmti.set_tag(class, id);
            }
            let (symbols, outbox) = (&session.symbols, &session.outbox);
            symbols.report_class(session.jvmti, outbox, class, id);
            id
        }
    }
}

fn shape(session: &Session, tags: Jvmti, jni: Jni, class: Handle, id: u64) -> Shape {
    let superclass = jni.superclass(class);
    let loader = tags.class_loader(class);
    Shape {
        class: id,
        superclass: match superclass.is_null() {
            true => 0,
            false => tag_class(session, tags, superclass),
        },
        loader: tags_or_zero(tags, loader),
        interface: tags.is_interface(class),
        interfaces: tags
            .interfaces(class)
            .into_iter()
            .map(|interface| tag_class(session, tags, interface))
            .collect(),
        fields: tags
            .fields(class)
            .into_iter()
            .map(|field| Field {
                name: field.name,
                signature: field.signature,
                is_static: field.is_static,
            })
            .collect(),
    }
}

fn tags_or_zero(tags: Jvmti, object: Handle) -> u64 {
    match object.is_null() {
        true => 0,
        false => tags.tag(object),
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    objects: u64,
    references: u64,
    roots: u64,
    classless: u64,
    gc: u32,
}

/// The state of a walk under way.
struct Walk<'a> {
    session: &'a Session,
    file: File,
    buffer: Vec<u8>,
    seen: Seen,
    counts: Counts,
    virtual_threads: Option<VirtualThreads<'a>>,
    /// Objects whose class had no id when they were met, with their size and length: the edge to the class, which comes
    /// later, tells it.
    held: HashMap<u64, (u64, i32)>,
    /// Classes that have objects but were not among the loaded ones.
    unlisted_classes: HashSet<u64>,
    /// Methods that must still be reported.
    methods: HashMap<Member, u32>,
    failed: Option<io::Error>,
    /// The walk ended before its end.
    aborted: bool,
}

impl<'a> Walk<'a> {
    fn new(
        session: &'a Session,
        file: File,
        virtual_threads: Option<VirtualThreads<'a>>,
    ) -> Walk<'a> {
        let mut buffer = Vec::with_capacity(BUFFER + 128);
        buffer.extend_from_slice(MAGIC);
        Walk {
            session,
            file,
            buffer,
            seen: Seen::default(),
            counts: Counts::default(),
            virtual_threads,
            held: HashMap::new(),
            unlisted_classes: HashSet::new(),
            methods: HashMap::new(),
            failed: None,
            aborted: false,
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.aborted && self.failed.is_none() {
            return Err(io::Error::other("the walk was aborted"));
        }
        for (id, (size, length)) in std::mem::take(&mut self.held) {
            self.counts.classless += 1;
            self.write_object(id, 0, size, length);
        }
        self.write(&Record::End {
            objects: self.counts.objects,
            references: self.counts.references,
            roots: self.counts.roots,
        });
        self.empty();
        self.failed.take().map_or(Ok(()), Err)
    }

    fn object(&mut self, id: u64, class: u64, size: u64, length: i32) {
        if self.seen.insert(id) {
            self.counts.objects += 1;
            match class {
                0 => {
                    self.held.insert(id, (size, length));
                }
                _ => self.write_object(id, class, size, length),
            }
        }
    }

    /// The edge from an object to its class.
    fn class_edge(&mut self, object: u64, class: u64) {
        if self.held.is_empty() {
            return;
        }
        if let Some((size, length)) = self.held.remove(&object) {
            self.unlisted_classes.insert(class);
            self.write_object(object, class, size, length);
        }
    }

    fn write_object(&mut self, id: u64, class: u64, size: u64, length: i32) {
        self.write(&Record::Object {
            id,
            class,
            size,
            length,
        });
    }

    fn root(&mut self, kind: i32, object: u64, info: *const ReferenceInfo) {
        self.counts.roots += 1;
        let frame = match kind {
            jvmti::ROOT_STACK_LOCAL | jvmti::ROOT_JNI_LOCAL if !info.is_null() => {
                // SAFETY: for these kinds the JVM passes the place on the stack.
                let stack = unsafe { (*info).stack };
                Some(self.frame(&stack, kind == jvmti::ROOT_STACK_LOCAL))
            }
            _ => None,
        };
        let kind = u8::try_from(kind).ok().and_then(RootKind::from_number);
        self.write(&Record::Root {
            kind: kind.unwrap_or(RootKind::Other),
            object,
            frame,
        });
    }

    /// Of a JNI local the JVM tells neither place nor slot.
    fn frame(&mut self, stack: &StackInfo, local: bool) -> RootFrame {
        RootFrame {
            thread: stack.thread_id as u64,
            thread_object: stack.thread_tag as u64,
            depth: stack.depth,
            method: self.method(stack.method),
            location: match local {
                true => i32::try_from(stack.location).unwrap_or(-1),
                false => -1,
            },
            slot: if local { stack.slot } else { -1 },
        }
    }

    fn method(&mut self, method: Member) -> u32 {
        if method.0.is_null() {
            return 0;
        }
        if let Some(&number) = self.methods.get(&method) {
            return number;
        }
        let (number, new) = self.session.symbols.method_number(method);
        if new {
            self.methods.insert(method, number);
        }
        number
    }

    fn reference(&mut self, kind: i32, from: u64, to: u64, info: *const ReferenceInfo) {
        self.counts.references += 1;
        let kind = u8::try_from(kind).ok().and_then(ReferenceKind::from_number);
        let index = match kind {
            Some(
                ReferenceKind::Field
                | ReferenceKind::Element
                | ReferenceKind::StaticField
                | ReferenceKind::ConstantPool,
            ) if !info.is_null() => {
                // SAFETY: for these kinds the JVM passes the index.
                unsafe { (*info).index }
            }
            _ => -1,
        };
        self.write(&Record::Reference {
            kind: kind.unwrap_or(ReferenceKind::Other),
            from,
            to,
            index,
        });
    }

    fn write(&mut self, record: &Record) {
        record.encode(&mut self.buffer);
        if self.buffer.len() >= BUFFER {
            self.empty();
        }
    }

    fn empty(&mut self) {
        if self.failed.is_none() {
            if let Err(e) = self.file.write_all(&self.buffer) {
                self.failed = Some(e);
            }
        }
        self.buffer.clear();
    }

    /// Whether what the object refers to is walked too.
    fn enters(&self, id: u64, class: u64) -> bool {
        match &self.virtual_threads {
            Some(threads) => threads.class != class || threads.started.contains(&id),
            None => true,
        }
    }

    fn should_end(&self) -> bool {
        self.failed.is_some() || self.session.is_ending()
    }
}

/// Called by the JVM for every reference and root while everything stands still.
extern "C" fn met(
    kind: i32,
    info: *const ReferenceInfo,
    class_tag: i64,
    _referrer_class_tag: i64,
    size: i64,
    tag: *mut i64,
    referrer_tag: *mut i64,
    length: i32,
    data: *mut c_void,
) -> i32 {
    // SAFETY: `data` is the `Walk` that was given to the walk, which nobody else uses meanwhile.
    let walk = unsafe { &mut *data.cast::<Walk>() };
    if walk.should_end() {
        walk.aborted = true;
        return jvmti::VISIT_ABORT;
    }
    // SAFETY: the JVM passes the place of the object's tag.
    let tag = unsafe { &mut *tag };
    if *tag == 0 {
        *tag = walk.session.symbols.next_id() as i64;
    }
    let id = *tag as u64;
    walk.object(id, class_tag as u64, size as u64, length);
    if referrer_tag.is_null() {
        walk.root(kind, id, info);
    } else {
        // SAFETY: the JVM passes the place of the referrer's tag, which it got when it was met.
        let from = unsafe { *referrer_tag } as u64;
        match kind {
            jvmti::REFERENCE_CLASS => walk.class_edge(from, id),
            _ => walk.reference(kind, from, id, info),
        }
    }
    match walk.enters(id, class_tag as u64) {
        true => jvmti::VISIT_OBJECTS,
        false => 0,
    }
}

/// A set of ids. Ids of dead objects lie together, so whole pages stay empty.
#[derive(Default)]
struct Seen {
    pages: Vec<Option<Box<[u64; Seen::WORDS]>>>,
}

impl Seen {
    const WORDS: usize = 512;
    const BITS: u64 = 64 * Seen::WORDS as u64;

    /// Whether it was not in the set.
    fn insert(&mut self, id: u64) -> bool {
        let page = (id / Seen::BITS) as usize;
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        let words = self.pages[page].get_or_insert_with(|| Box::new([0; Seen::WORDS]));
        let word = &mut words[(id % Seen::BITS / 64) as usize];
        let bit = 1 << (id % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::Seen;
    use std::collections::HashSet;

    #[test]
    fn ids_are_new_once() {
        let (mut seen, mut brute_force) = (Seen::default(), HashSet::new());
        let mut id = 1_u64;
        for _ in 0..200_000 {
            id = id.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let small = id >> 44;
            assert_eq!(seen.insert(small), brute_force.insert(small));
        }
    }
}
