//! The functions of the JVM Tool Interface the agent calls, by their slots in the JVM's table, and the types of its
//! callbacks. Numbers and layouts are those of the JVMTI specification; newer versions only append.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::headroom::Room;
use crate::jni::{Handle, Jni, Member, Vm};

/// What a function answers; 0 is success.
pub(crate) type Code = i32;

const VERSION: i32 = 0x3001_0000;
const VERSION_WITH_SAMPLING: i32 = 0x300b_0000;

pub(crate) mod capability {
    pub(crate) const TAG_OBJECTS: u32 = 0;
    pub(crate) const SOURCE_FILE_NAME: u32 = 11;
    pub(crate) const LINE_NUMBERS: u32 = 12;
    pub(crate) const GC_EVENTS: u32 = 31;
    pub(crate) const HEAP_EXHAUSTION: u32 = 39;
    pub(crate) const SAMPLED_ALLOCATIONS: u32 = 43;
    pub(crate) const VIRTUAL_THREADS: u32 = 44;
}

pub(crate) mod event {
    pub(crate) const VM_INIT: i32 = 50;
    pub(crate) const VM_DEATH: i32 = 51;
    pub(crate) const THREAD_START: i32 = 52;
    pub(crate) const THREAD_END: i32 = 53;
    pub(crate) const RESOURCE_EXHAUSTED: i32 = 80;
    pub(crate) const GC_START: i32 = 81;
    pub(crate) const GC_FINISH: i32 = 82;
    pub(crate) const SAMPLED_ALLOCATION: i32 = 86;
}

const FILTER_TAGGED: i32 = 0x4;
const FILTER_UNTAGGED: i32 = 0x8;
pub(crate) const FILTER_CLASS_UNTAGGED: i32 = 0x20;
pub(crate) const VISIT_OBJECTS: i32 = 0x100;
pub(crate) const VISIT_ABORT: i32 = 0x8000;

pub(crate) const REFERENCE_CLASS: i32 = 1;
pub(crate) const ROOT_STACK_LOCAL: i32 = 24;
pub(crate) const ROOT_JNI_LOCAL: i32 = 25;

const STATIC_MODIFIER: i32 = 0x8;
const STATUS_INITIALIZED: i32 = 0x4;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct FrameInfo {
    pub method: Member,
    pub location: i64,
}

impl FrameInfo {
    pub(crate) const EMPTY: FrameInfo = FrameInfo {
        method: Member(ptr::null_mut()),
        location: 0,
    };
}

#[derive(Clone, Copy)]
#[repr(C)]
struct LineEntry {
    start: i64,
    line: i32,
}

/// What a heap walk says about a root on a stack; of a JNI local only the first four are there.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct StackInfo {
    pub thread_tag: i64,
    pub thread_id: i64,
    pub depth: i32,
    pub method: Member,
    pub location: i64,
    pub slot: i32,
}

#[repr(C)]
pub(crate) union ReferenceInfo {
    /// Of a field, an array element or a place in the constant pool.
    pub index: i32,
    pub stack: StackInfo,
    reserved: [i64; 8],
}

pub(crate) type HeapIteration = extern "C" fn(i64, i64, *mut i64, i32, *mut c_void) -> i32;
pub(crate) type HeapReference = extern "C" fn(
    i32,
    *const ReferenceInfo,
    i64,
    i64,
    i64,
    *mut i64,
    *mut i64,
    i32,
    *mut c_void,
) -> i32;

pub(crate) type PrimitiveField =
    extern "C" fn(i32, *const ReferenceInfo, i64, *mut i64, u64, i32, *mut c_void) -> i32;

#[repr(C)]
#[derive(Default)]
struct HeapCallbacks {
    iteration: Option<HeapIteration>,
    reference: Option<HeapReference>,
    primitive_field: Option<PrimitiveField>,
    others: [usize; 13],
}

/// The callbacks of events, numbered from [`event::VM_INIT`].
#[repr(C)]
#[derive(Default)]
pub(crate) struct EventCallbacks {
    pub vm_init: Option<extern "C" fn(Jvmti, Jni, Handle)>,
    pub vm_death: Option<extern "C" fn(Jvmti, Jni)>,
    pub thread_start: Option<extern "C" fn(Jvmti, Jni, Handle)>,
    pub thread_end: Option<extern "C" fn(Jvmti, Jni, Handle)>,
    pub from_54_to_79: [usize; 26],
    pub resource_exhausted: Option<extern "C" fn(Jvmti, Jni, i32, *const c_void, *const c_char)>,
    pub gc_start: Option<extern "C" fn(Jvmti)>,
    pub gc_finish: Option<extern "C" fn(Jvmti)>,
    pub from_83_to_85: [usize; 3],
    pub sampled_allocation: Option<extern "C" fn(Jvmti, Jni, Handle, Handle, Handle, i64)>,
}

pub(crate) type AgentFunction = extern "C" fn(Jvmti, Jni, *mut c_void);

pub(crate) struct FieldInfo {
    pub name: String,
    pub signature: String,
    pub is_static: bool,
}

pub(crate) struct MethodInfo {
    pub class: String,
    pub name: String,
    pub signature: String,
    pub source: Option<String>,
    pub lines: Vec<(u32, u32)>,
}

type Table = [*const c_void; 156];

/// One environment: its own tags, events and capabilities. There is no way to dispose of one (see [`crate::environments`]), nor
/// to reach the words that JVMTI keeps for other threads: HotSpot frees those without a lock when the thread ends.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Jvmti(*mut *const Table);

// SAFETY: by its specification an environment may be used from every thread.
unsafe impl Send for Jvmti {}
// SAFETY: as above.
unsafe impl Sync for Jvmti {}

/// Slots are numbered from 1, as in the specification.
macro_rules! functions {
    ($($slot:literal $name:ident($($argument:ident: $type:ty),*);)*) => {
        $(fn $name(self, $($argument: $type),*) -> Code {
            type Function = unsafe extern "C" fn(Jvmti, $($type),*) -> Code;
            // SAFETY: the slot holds a function of this type by the JVMTI specification, and the table is the JVM's.
            unsafe {
                let function: Function = std::mem::transmute((**self.0)[$slot - 1]);
                function(self, $($argument),*)
            }
        })*
    };
}

impl Jvmti {
    functions! {
        4 all_threads_raw(count: &mut i32, threads: &mut *mut Handle);
        12 run_agent_thread_raw(thread: Handle, function: AgentFunction, argument: *mut c_void, priority: i32);
        47 deallocate_raw(memory: *mut c_void);
        48 class_signature_raw(class: Handle, signature: &mut *mut c_char, generic: *mut *mut c_char);
        49 class_status_raw(class: Handle, status: &mut i32);
        50 source_file_raw(class: Handle, name: &mut *mut c_char);
        53 class_fields_raw(class: Handle, count: &mut i32, fields: &mut *mut Member);
        54 interfaces_raw(class: Handle, count: &mut i32, interfaces: &mut *mut Handle);
        55 is_interface_raw(class: Handle, answer: &mut u8);
        57 class_loader_raw(class: Handle, loader: &mut Handle);
        60 field_name_raw(class: Handle, field: Member, name: &mut *mut c_char, signature: &mut *mut c_char, generic: *mut *mut c_char);
        62 field_modifiers_raw(class: Handle, field: Member, modifiers: &mut i32);
        64 method_name_raw(method: Member, name: &mut *mut c_char, signature: &mut *mut c_char, generic: *mut *mut c_char);
        65 declaring_class_raw(method: Member, class: &mut Handle);
        70 line_table_raw(method: Member, count: &mut i32, lines: &mut *mut LineEntry);
        78 loaded_classes_raw(count: &mut i32, classes: &mut *mut Handle);
        104 stack_trace_raw(thread: Handle, start: i32, limit: i32, frames: *mut FrameInfo, count: &mut i32);
        106 tag_raw(object: Handle, tag: &mut i64);
        107 set_tag_raw(object: Handle, tag: i64);
        108 force_gc_raw();
        114 objects_with_tags_raw(tags: i32, wanted: *const i64, count: &mut i32, objects: &mut *mut Handle, tags_out: *mut *mut i64);
        115 follow_references_raw(filter: i32, class: Handle, from: Handle, callbacks: &HeapCallbacks, data: *mut c_void);
        116 iterate_raw(filter: i32, class: Handle, callbacks: &HeapCallbacks, data: *mut c_void);
        122 set_event_callbacks_raw(callbacks: &EventCallbacks, size: i32);
        131 system_property_raw(name: *const c_char, value: &mut *mut c_char);
        142 add_capabilities_raw(capabilities: &Capabilities);
        143 relinquish_capabilities_raw(capabilities: &Capabilities);
        156 set_sampling_interval_raw(bytes: i32);
    }

    /// A new environment; nothing if the JVM offers none.
    pub(crate) fn new(vm: Vm) -> Option<Jvmti> {
        [VERSION_WITH_SAMPLING, VERSION]
            .into_iter()
            .map(|version| vm.environment(version))
            .find(|environment| !environment.is_null())
            .map(|environment| Jvmti(environment.cast()))
    }

    pub(crate) fn add_capability(self, bit: u32) -> Result<(), Code> {
        checked(self.add_capabilities_raw(&only(bit)))
    }

    pub(crate) fn relinquish_capability(self, bit: u32) -> Result<(), Code> {
        checked(self.relinquish_capabilities_raw(&only(bit)))
    }

    pub(crate) fn set_callbacks(self, callbacks: &EventCallbacks) -> Result<(), Code> {
        checked(self.set_event_callbacks_raw(callbacks, size_of::<EventCallbacks>() as i32))
    }

    pub(crate) fn enable(self, event: i32, on: bool) -> Result<(), Code> {
        type Function = unsafe extern "C" fn(Jvmti, i32, i32, Handle, ...) -> Code;
        // SAFETY: slot 2 is SetEventNotificationMode by the JVMTI specification, which takes further arguments only
        // in future versions.
        checked(unsafe {
            let function: Function = std::mem::transmute((**self.0)[1]);
            function(self, i32::from(on), event, Handle::NULL)
        })
    }

    pub(crate) fn set_sampling_interval(self, bytes: i32) -> Result<(), Code> {
        checked(self.set_sampling_interval_raw(bytes))
    }

    /// Runs the function on a new thread of the JVM that does not keep it alive.
    pub(crate) fn run_agent_thread(
        self,
        thread: Handle,
        function: AgentFunction,
        argument: *mut c_void,
    ) -> Result<(), Code> {
        const NORMAL_PRIORITY: i32 = 5;
        checked(self.run_agent_thread_raw(thread, function, argument, NORMAL_PRIORITY))
    }

    pub(crate) fn force_gc(self) -> Result<(), Code> {
        checked(self.force_gc_raw())
    }

    pub(crate) fn system_property(self, name: &CStr) -> Option<String> {
        let mut value = ptr::null_mut();
        let code = self.system_property_raw(name.as_ptr(), &mut value);
        checked(code).ok()?;
        Some(self.taken_text(value))
    }

    /// Local handles to all live threads of the platform.
    pub(crate) fn all_threads(self) -> Vec<Handle> {
        let (mut count, mut threads) = (0, ptr::null_mut());
        let code = self.all_threads_raw(&mut count, &mut threads);
        self.taken_handles(code, count, threads)
    }

    /// Fills the frames from the innermost on and returns how many there are.
    pub(crate) fn stack(self, thread: Handle, frames: &mut [FrameInfo]) -> usize {
        self.stack_from(thread, 0, frames)
    }

    /// The same without the innermost frames; the null handle is the calling thread.
    pub(crate) fn stack_from(self, thread: Handle, start: i32, frames: &mut [FrameInfo]) -> usize {
        let mut count = 0;
        let limit = i32::try_from(frames.len()).unwrap_or(i32::MAX);
        match self.stack_trace_raw(thread, start, limit, frames.as_mut_ptr(), &mut count) {
            0 => usize::try_from(count).unwrap_or(0).min(frames.len()),
            _ => 0,
        }
    }

    /// 0 if the object has none.
    pub(crate) fn tag(self, object: Handle) -> u64 {
        let mut tag = 0;
        match self.tag_raw(object, &mut tag) {
            0 => tag as u64,
            _ => 0,
        }
    }

    pub(crate) fn set_tag(self, object: Handle, tag: u64) -> Result<(), Code> {
        checked(self.set_tag_raw(object, tag as i64))
    }

    /// Local handles to all objects with one of the tags: a pass over all tags there are.
    pub(crate) fn objects_with_tags(self, tags: &[u64]) -> Result<Vec<Handle>, Code> {
        let (mut count, mut objects) = (0, ptr::null_mut());
        let code = self.objects_with_tags_raw(
            i32::try_from(tags.len()).unwrap_or(i32::MAX),
            tags.as_ptr().cast(),
            &mut count,
            &mut objects,
            ptr::null_mut(),
        );
        checked(code)?;
        Ok(self.taken_handles(code, count, objects))
    }

    /// Visits all objects with tags, dead ones too.
    pub(crate) fn iterate_tagged<T>(
        self,
        callback: HeapIteration,
        data: &mut T,
    ) -> Result<(), Code> {
        self.iterate_filtered(FILTER_UNTAGGED, Handle::NULL, callback, data)
    }

    /// Visits all objects without tags, of a class or all that the further filter leaves, dead ones too.
    pub(crate) fn iterate_untagged<T>(
        self,
        _room: Room,
        filter: i32,
        class: Handle,
        callback: HeapIteration,
        data: &mut T,
    ) -> Result<(), Code> {
        self.iterate_filtered(FILTER_TAGGED | filter, class, callback, data)
    }

    fn iterate_filtered<T>(
        self,
        filter: i32,
        class: Handle,
        callback: HeapIteration,
        data: &mut T,
    ) -> Result<(), Code> {
        let callbacks = HeapCallbacks {
            iteration: Some(callback),
            ..HeapCallbacks::default()
        };
        checked(self.iterate_raw(filter, class, &callbacks, ptr::from_mut(data).cast()))
    }

    /// Visits the fields of all instances of a class that are neither objects nor arrays.
    pub(crate) fn iterate_fields<T>(
        self,
        _room: Room,
        class: Handle,
        callback: PrimitiveField,
        data: &mut T,
    ) -> Result<(), Code> {
        let callbacks = HeapCallbacks {
            primitive_field: Some(callback),
            ..HeapCallbacks::default()
        };
        checked(self.iterate_raw(0, class, &callbacks, ptr::from_mut(data).cast()))
    }

    /// Visits all references and roots.
    pub(crate) fn follow_references<T>(
        self,
        _room: Room,
        callback: HeapReference,
        data: &mut T,
    ) -> Result<(), Code> {
        let callbacks = HeapCallbacks {
            reference: Some(callback),
            ..HeapCallbacks::default()
        };
        let data = ptr::from_mut(data).cast();
        checked(self.follow_references_raw(0, Handle::NULL, Handle::NULL, &callbacks, data))
    }

    /// Local handles to all loaded classes, arrays included.
    pub(crate) fn loaded_classes(self) -> Result<Vec<Handle>, Code> {
        let (mut count, mut classes) = (0, ptr::null_mut());
        let code = self.loaded_classes_raw(&mut count, &mut classes);
        checked(code)?;
        Ok(self.taken_handles(code, count, classes))
    }

    pub(crate) fn class_signature(self, class: Handle) -> Option<String> {
        let mut signature = ptr::null_mut();
        let code = self.class_signature_raw(class, &mut signature, ptr::null_mut());
        checked(code).ok()?;
        Some(self.taken_text(signature))
    }

    /// Whether there can be instances of the class.
    pub(crate) fn is_initialized(self, class: Handle) -> bool {
        let mut status = 0;
        self.class_status_raw(class, &mut status) == 0 && status & STATUS_INITIALIZED != 0
    }

    pub(crate) fn is_interface(self, class: Handle) -> bool {
        let mut answer = 0;
        self.is_interface_raw(class, &mut answer) == 0 && answer != 0
    }

    /// A local handle; null for the boot loader.
    pub(crate) fn class_loader(self, class: Handle) -> Handle {
        let mut loader = Handle::NULL;
        match self.class_loader_raw(class, &mut loader) {
            0 => loader,
            _ => Handle::NULL,
        }
    }

    /// Local handles to the interfaces the class names itself; none if it is not prepared yet.
    pub(crate) fn interfaces(self, class: Handle) -> Vec<Handle> {
        let (mut count, mut interfaces) = (0, ptr::null_mut());
        let code = self.interfaces_raw(class, &mut count, &mut interfaces);
        self.taken_handles(code, count, interfaces)
    }

    /// Declared by the class itself; none if it is not prepared yet.
    pub(crate) fn fields(self, class: Handle) -> Vec<FieldInfo> {
        let (mut count, mut fields) = (0, ptr::null_mut());
        let code = self.class_fields_raw(class, &mut count, &mut fields);
        let fields: Vec<Member> = self.taken_list(code, count, fields);
        fields
            .into_iter()
            .map(|field| self.field(class, field))
            .collect()
    }

    fn field(self, class: Handle, field: Member) -> FieldInfo {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        self.field_name_raw(class, field, &mut name, &mut signature, ptr::null_mut());
        let mut modifiers = 0;
        self.field_modifiers_raw(class, field, &mut modifiers);
        FieldInfo {
            name: self.taken_text(name),
            signature: self.taken_text(signature),
            is_static: modifiers & STATIC_MODIFIER != 0,
        }
    }

    /// Nothing if the method's class is gone.
    pub(crate) fn method(self, jni: Jni, method: Member) -> Option<MethodInfo> {
        let (mut name, mut signature) = (ptr::null_mut(), ptr::null_mut());
        let code = self.method_name_raw(method, &mut name, &mut signature, ptr::null_mut());
        checked(code).ok()?;
        let (name, signature) = (self.taken_text(name), self.taken_text(signature));

        let mut class = Handle::NULL;
        checked(self.declaring_class_raw(method, &mut class)).ok()?;
        let mut source = ptr::null_mut();
        let source_code = self.source_file_raw(class, &mut source);
        let info = MethodInfo {
            class: self.class_signature(class).unwrap_or_default(),
            name,
            signature,
            source: (source_code == 0).then(|| self.taken_text(source)),
            lines: self.lines(method),
        };
        jni.delete_local(class);
        Some(info)
    }

    fn lines(self, method: Member) -> Vec<(u32, u32)> {
        let (mut count, mut lines) = (0, ptr::null_mut());
        let code = self.line_table_raw(method, &mut count, &mut lines);
        let lines: Vec<LineEntry> = self.taken_list(code, count, lines);
        let pair = |entry: LineEntry| (entry.start as u32, entry.line as u32);
        lines.into_iter().map(pair).collect()
    }

    /// Copies a text the JVM allocated for us, and frees it.
    fn taken_text(self, text: *mut c_char) -> String {
        if text.is_null() {
            return String::new();
        }
        // SAFETY: the JVM returns texts that end with a zero byte and leaves freeing them to us.
        let copy = unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned();
        self.deallocate_raw(text.cast());
        copy
    }

    /// Copies a list the JVM allocated for us, and frees it; empty if the call failed.
    fn taken_list<T: Copy>(self, code: Code, count: i32, list: *mut T) -> Vec<T> {
        if code != 0 || list.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or(0);
        // SAFETY: after success the JVM has put `count` elements there and leaves freeing them to us.
        let copy = unsafe { std::slice::from_raw_parts(list, count) }.to_vec();
        self.deallocate_raw(list.cast());
        copy
    }

    /// The same for handles, without null ones: a class for whose object there was no memory is listed all the same, and JNI
    /// does not look before it follows a handle.
    fn taken_handles(self, code: Code, count: i32, list: *mut Handle) -> Vec<Handle> {
        let mut handles = self.taken_list(code, count, list);
        handles.retain(|handle| !handle.is_null());
        handles
    }
}

/// One bit for each capability.
type Capabilities = [u8; 16];

fn only(bit: u32) -> Capabilities {
    let mut capabilities = [0; 16];
    capabilities[bit as usize / 8] = 1 << (bit % 8);
    capabilities
}

fn checked(code: Code) -> Result<(), Code> {
    match code {
        0 => Ok(()),
        code => Err(code),
    }
}

/// What a code means to a person.
pub(crate) fn meaning(code: Code) -> String {
    let words = match code {
        15 => "the thread is not alive",
        98 => "not available in this JVM, or in use by another agent",
        99 => "the capability is missing",
        110 => "the JVM is out of memory",
        112 => "the JVM is starting or ending",
        116 => "the environment no longer exists",
        _ => return format!("JVMTI error {code}"),
    };
    format!("{words} (JVMTI error {code})")
}
