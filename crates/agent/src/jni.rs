//! The few functions of the Java Native Interface the agent calls, by their slots in the JVM's table. Knows nothing
//! about what they are used for.
//!
//! Handles are opaque and only ever come from the JVM, and a [`Jni`] is only used on the thread it was given to:
//! that is what makes the calls sound.
//!
//! Without the crate `jni-sys`: to it handles, members and classes are all the same pointer, and JVMTI, which is called in
//! the same way, is not part of it.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// The version of the interface that the agent asks for.
pub(crate) const VERSION: i32 = 0x0001_0006;

/// A reference to a Java object, class, string or thread.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Handle(pub *mut c_void);

// SAFETY: a handle is an opaque word; the JVM checks on which thread a local one may be used, and only global
// and weak ones are kept beyond a call.
unsafe impl Send for Handle {}

impl Handle {
    pub const NULL: Handle = Handle(ptr::null_mut());

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The word the JVM keeps behind the handle. The lowest bits of a handle say what kind it is.
    pub fn slot_content(self) -> u64 {
        let slot = (self.0 as usize & !3) as *const u64;
        if slot.is_null() {
            return 0;
        }
        // SAFETY: in HotSpot a handle is the address of a word that lives as long as the handle; garbage
        // collectors write it while we read, so the value is only believed together with other evidence.
        unsafe { ptr::read_volatile(slot) }
    }
}

/// A method or field of a class; valid as long as the class is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Member(pub *mut c_void);

// SAFETY: an opaque word that means the same on all threads.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

/// An argument of a Java method.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Argument(u64);

impl Argument {
    pub fn object(object: Handle) -> Argument {
        Argument(object.0 as u64)
    }

    pub fn number(number: i64) -> Argument {
        Argument(number as u64)
    }

    /// The JVM reads the lowest byte.
    pub fn flag(flag: bool) -> Argument {
        Argument(u64::from(flag))
    }
}

type Table = [*const c_void; 235];

/// A native method of a class and what runs it.
#[repr(C)]
pub struct Native {
    name: *const c_char,
    signature: *const c_char,
    function: *const c_void,
}

impl Native {
    /// # Safety
    /// The function must take the interface, the class and the arguments of the signature, and return what that says.
    pub const unsafe fn new(
        name: &'static CStr,
        signature: &'static CStr,
        function: *const c_void,
    ) -> Native {
        Native {
            name: name.as_ptr(),
            signature: signature.as_ptr(),
            function,
        }
    }
}

/// The interface as given to one thread.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Jni(*mut *const Table);

macro_rules! functions {
    ($($slot:literal $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(fn $name(self, $($argument: $type),*) $(-> $result)? {
            type Function = unsafe extern "C" fn(Jni, $($type),*) $(-> $result)?;
            // SAFETY: the slot holds a function of this type by the JNI specification, and the table is the JVM's.
            unsafe {
                let function: Function = std::mem::transmute((**self.0)[$slot]);
                function(self, $($argument),*)
            }
        })*
    };
}

impl Jni {
    /// # Safety
    /// The pointer must be the JVM's interface for the calling thread.
    pub unsafe fn from_raw(environment: *mut c_void) -> Jni {
        Jni(environment.cast())
    }

    /// HotSpot refuses frames for more.
    const MOST_LOCALS: i32 = 65_536;

    functions! {
        6 find_class_raw(name: *const c_char) -> Handle;
        10 superclass_raw(class: Handle) -> Handle;
        11 is_assignable_raw(from: Handle, to: Handle) -> u8;
        15 exception_occurred() -> Handle;
        17 exception_clear();
        19 push_frame_raw(capacity: i32) -> i32;
        20 pop_frame_raw(result: Handle) -> Handle;
        21 new_global_raw(object: Handle) -> Handle;
        22 delete_global_raw(object: Handle);
        23 delete_local_raw(object: Handle);
        24 is_same_raw(one: Handle, other: Handle) -> u8;
        25 new_local_raw(object: Handle) -> Handle;
        27 alloc_object_raw(class: Handle) -> Handle;
        30 new_object_raw(class: Handle, method: Member, arguments: *const Argument) -> Handle;
        31 object_class_raw(object: Handle) -> Handle;
        33 method_raw(class: Handle, name: *const c_char, signature: *const c_char) -> Member;
        36 call_object_raw(object: Handle, method: Member, arguments: *const Argument) -> Handle;
        54 call_long_raw(object: Handle, method: Member, arguments: *const Argument) -> i64;
        63 call_void_raw(object: Handle, method: Member, arguments: *const Argument);
        94 field_raw(class: Handle, name: *const c_char, signature: *const c_char) -> Member;
        95 object_field_raw(object: Handle, field: Member) -> Handle;
        101 long_field_raw(object: Handle, field: Member) -> i64;
        113 static_method_raw(class: Handle, name: *const c_char, signature: *const c_char) -> Member;
        116 call_static_object_raw(class: Handle, method: Member, arguments: *const Argument) -> Handle;
        143 call_static_void_raw(class: Handle, method: Member, arguments: *const Argument);
        163 new_text_raw(characters: *const u16, length: i32) -> Handle;
        167 new_string_raw(text: *const c_char) -> Handle;
        169 string_characters(string: Handle, is_copy: *mut u8) -> *const c_char;
        170 release_characters(string: Handle, characters: *const c_char);
        171 array_length_raw(array: Handle) -> i32;
        172 new_array_raw(length: i32, class: Handle, initial: Handle) -> Handle;
        173 element_raw(array: Handle, index: i32) -> Handle;
        174 set_element_raw(array: Handle, index: i32, element: Handle);
        176 new_bytes_raw(length: i32) -> Handle;
        204 longs_raw(array: Handle, start: i32, length: i32, into: *mut i64);
        215 register_raw(class: Handle, natives: *const Native, count: i32) -> i32;
        226 new_weak_raw(object: Handle) -> Handle;
        227 delete_weak_raw(weak: Handle);
    }

    pub fn find_class(self, name: &CStr) -> Result<Handle, String> {
        let class = self.find_class_raw(name.as_ptr());
        self.checked(class, || format!("class {}", name.to_string_lossy()))
    }

    pub fn superclass(self, class: Handle) -> Handle {
        self.superclass_raw(class)
    }

    pub fn is_assignable(self, from: Handle, to: Handle) -> bool {
        self.is_assignable_raw(from, to) != 0
    }

    pub fn delete_local(self, object: Handle) {
        self.delete_local_raw(object);
    }

    /// A local handle to the same object; null if a weak handle's object is gone.
    pub fn new_local(self, object: Handle) -> Handle {
        self.new_local_raw(object)
    }

    pub fn new_global(self, object: Handle) -> Handle {
        self.new_global_raw(object)
    }

    pub fn delete_global(self, object: Handle) {
        self.delete_global_raw(object);
    }

    /// Null if there is no memory.
    pub fn new_weak(self, object: Handle) -> Handle {
        let weak = self.new_weak_raw(object);
        if weak.is_null() {
            self.exception_clear();
        }
        weak
    }

    pub fn delete_weak(self, weak: Handle) {
        self.delete_weak_raw(weak);
    }

    /// An instance whose constructor was not run.
    pub fn alloc_object(self, class: Handle) -> Result<Handle, String> {
        let object = self.alloc_object_raw(class);
        self.checked(object, || "an instance".to_owned())
    }

    pub fn new_object(
        self,
        class: Handle,
        constructor: Member,
        arguments: &[Argument],
    ) -> Result<Handle, String> {
        let object = self.new_object_raw(class, constructor, arguments.as_ptr());
        self.checked(object, || "an instance".to_owned())
    }

    pub fn object_class(self, object: Handle) -> Handle {
        self.object_class_raw(object)
    }

    pub fn method(self, class: Handle, name: &CStr, signature: &CStr) -> Result<Member, String> {
        let method = self.method_raw(class, name.as_ptr(), signature.as_ptr());
        self.checked_member(method, name)
    }

    pub fn static_method(
        self,
        class: Handle,
        name: &CStr,
        signature: &CStr,
    ) -> Result<Member, String> {
        let method = self.static_method_raw(class, name.as_ptr(), signature.as_ptr());
        self.checked_member(method, name)
    }

    pub fn field(self, class: Handle, name: &CStr, signature: &CStr) -> Result<Member, String> {
        let field = self.field_raw(class, name.as_ptr(), signature.as_ptr());
        self.checked_member(field, name)
    }

    /// The text in a field; empty if there is none.
    pub fn text_field(self, object: Handle, field: Member) -> String {
        let string = self.object_field_raw(object, field);
        let text = self.text(string);
        if !string.is_null() {
            self.delete_local(string);
        }
        text
    }

    pub fn long_field(self, object: Handle, field: Member) -> i64 {
        self.long_field_raw(object, field)
    }

    /// What the method returned, which may be null.
    pub fn call_object(
        self,
        object: Handle,
        method: Member,
        arguments: &[Argument],
    ) -> Result<Handle, String> {
        let result = self.call_object_raw(object, method, arguments.as_ptr());
        self.thrown().map_or(Ok(result), Err)
    }

    pub fn call_void(
        self,
        object: Handle,
        method: Member,
        arguments: &[Argument],
    ) -> Result<(), String> {
        self.call_void_raw(object, method, arguments.as_ptr());
        self.thrown().map_or(Ok(()), Err)
    }

    pub fn call_static_object(
        self,
        class: Handle,
        method: Member,
        arguments: &[Argument],
    ) -> Result<Handle, String> {
        let result = self.call_static_object_raw(class, method, arguments.as_ptr());
        self.thrown().map_or(Ok(result), Err)
    }

    pub fn call_long(
        self,
        object: Handle,
        method: Member,
        arguments: &[Argument],
    ) -> Result<i64, String> {
        let result = self.call_long_raw(object, method, arguments.as_ptr());
        self.thrown().map_or(Ok(result), Err)
    }

    pub fn call_static_void(
        self,
        class: Handle,
        method: Member,
        arguments: &[Argument],
    ) -> Result<(), String> {
        self.call_static_void_raw(class, method, arguments.as_ptr());
        self.thrown().map_or(Ok(()), Err)
    }

    /// Whether the object of a weak handle is gone.
    pub fn is_gone(self, weak: Handle) -> bool {
        self.is_same(weak, Handle::NULL)
    }

    pub fn is_same(self, one: Handle, other: Handle) -> bool {
        self.is_same_raw(one, other) != 0
    }

    /// Says which functions run the native methods of a class.
    pub fn register(self, class: Handle, natives: &[Native]) -> Result<(), String> {
        let count = i32::try_from(natives.len()).unwrap_or(0);
        let code = self.register_raw(class, natives.as_ptr(), count);
        match self.thrown() {
            Some(why) => Err(why),
            None if code != 0 => Err(format!("the JVM refused native methods with {code}")),
            None => Ok(()),
        }
    }

    /// A string of any characters.
    pub fn new_text(self, text: &str) -> Result<Handle, String> {
        let characters: Vec<u16> = text.encode_utf16().collect();
        let length = i32::try_from(characters.len()).map_err(|_| "a text is too long")?;
        let string = self.new_text_raw(characters.as_ptr(), length);
        self.checked(string, || "a string".to_owned())
    }

    /// A `byte[]`, or null if there is no memory.
    pub fn new_bytes(self, length: i32) -> Handle {
        let array = self.new_bytes_raw(length);
        if array.is_null() {
            self.exception_clear();
        }
        array
    }

    /// An array of strings; none becomes null.
    pub fn new_texts<'a>(
        self,
        texts: impl ExactSizeIterator<Item = Option<&'a str>>,
    ) -> Result<Handle, String> {
        let class = self.find_class(c"java/lang/String")?;
        let array = self.new_array(class, texts.len())?;
        for (index, text) in texts.enumerate() {
            if let Some(text) = text {
                let text = self.new_text(text)?;
                self.set_element(array, index, text);
                self.delete_local(text);
            }
        }
        Ok(array)
    }

    /// An array of objects of a class, all null.
    pub fn new_array(self, class: Handle, length: usize) -> Result<Handle, String> {
        let length = i32::try_from(length).map_err(|_| "an array is too long")?;
        let array = self.new_array_raw(length, class, Handle::NULL);
        self.checked(array, || "an array".to_owned())
    }

    /// The element must be of the array's class, the index within it.
    pub fn set_element(self, array: Handle, index: usize, element: Handle) {
        self.set_element_raw(array, i32::try_from(index).unwrap_or(-1), element);
    }

    /// Local handles to the elements of an array of objects.
    pub fn elements(self, array: Handle) -> Vec<Handle> {
        let length = match array.is_null() {
            true => 0,
            false => self.array_length_raw(array),
        };
        (0..length).map(|i| self.element_raw(array, i)).collect()
    }

    /// The numbers of a `long[]`, as many as fit.
    pub fn longs<const N: usize>(self, array: Handle) -> [i64; N] {
        let mut longs = [0; N];
        if !array.is_null() {
            let length = self.array_length_raw(array).min(N as i32);
            self.longs_raw(array, 0, length, longs.as_mut_ptr());
        }
        longs
    }

    pub fn new_string(self, text: &str) -> Result<Handle, String> {
        let text = CString::new(text).map_err(|_| "a text with a zero character".to_owned())?;
        let string = self.new_string_raw(text.as_ptr());
        self.checked(string, || "a string".to_owned())
    }

    pub fn text(self, string: Handle) -> String {
        if string.is_null() {
            return String::new();
        }
        let characters = self.string_characters(string, ptr::null_mut());
        if characters.is_null() {
            self.exception_clear();
            return String::new();
        }
        // SAFETY: the JVM returns a text that ends with a zero byte and stays until it is released.
        let text = unsafe { CStr::from_ptr(characters) }
            .to_string_lossy()
            .into_owned();
        self.release_characters(string, characters);
        text
    }

    /// Runs `work`, which makes some dozens of local handles at most, and then frees them.
    pub fn in_frame<T>(self, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.in_frame_of(64, work)
    }

    /// The same for `work` that gets lists of handles from the JVM.
    pub fn in_large_frame<T>(self, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.in_frame_of(Jni::MOST_LOCALS, work)
    }

    /// The same for `work` one of whose handles is wanted afterwards.
    pub fn handle_from_frame(
        self,
        work: impl FnOnce() -> Result<Handle, String>,
    ) -> Result<Handle, String> {
        self.push_frame(Jni::MOST_LOCALS)?;
        let result = work();
        let handle = self.pop_frame_raw(*result.as_ref().unwrap_or(&Handle::NULL));
        result.map(|_| handle)
    }

    fn in_frame_of<T>(
        self,
        handles: i32,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        self.push_frame(handles)?;
        let result = work();
        self.pop_frame_raw(Handle::NULL);
        result
    }

    fn push_frame(self, handles: i32) -> Result<(), String> {
        if self.push_frame_raw(handles) == 0 {
            return Ok(());
        }
        self.exception_clear();
        Err("the JVM is out of memory for local handles".to_owned())
    }

    fn checked(self, object: Handle, what: impl FnOnce() -> String) -> Result<Handle, String> {
        match self.thrown() {
            Some(why) => Err(format!("the JVM has not {}: {why}", what())),
            None if object.is_null() => Err(format!("the JVM has not {}", what())),
            None => Ok(object),
        }
    }

    fn checked_member(self, member: Member, name: &CStr) -> Result<Member, String> {
        match self.thrown() {
            None if !member.0.is_null() => Ok(member),
            _ => Err(format!("the JVM has no {}", name.to_string_lossy())),
        }
    }

    /// The pending exception in words, which is then no longer pending.
    fn thrown(self) -> Option<String> {
        let exception = self.exception_occurred();
        if exception.is_null() {
            return None;
        }
        self.exception_clear();
        let described = || {
            let class = self.object_class(exception);
            let to_string = self.method_raw(
                class,
                c"toString".as_ptr(),
                c"()Ljava/lang/String;".as_ptr(),
            );
            let string = match to_string.0.is_null() {
                true => Handle::NULL,
                false => self.call_object_raw(exception, to_string, ptr::null()),
            };
            self.exception_clear();
            let text = self.text(string);
            self.delete_local(string);
            self.delete_local(class);
            text
        };
        let text = described();
        self.delete_local(exception);
        Some(text)
    }
}

/// The virtual machine itself.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Vm(*mut *const [*const c_void; 8]);

// SAFETY: the invocation interface may be used from every thread.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

/// How a thread becomes one of the JVM's.
#[repr(C)]
struct AttachArguments {
    version: i32,
    name: *const c_char,
    /// Null for the main group.
    group: Handle,
}

impl Vm {
    /// Runs `work` on the calling thread as one of the JVM's that does not keep it alive; nothing if the JVM does not take
    /// the thread.
    pub fn with_this_thread<T>(self, name: &CStr, work: impl FnOnce(Jni) -> T) -> Option<T> {
        type Attach = unsafe extern "C" fn(Vm, *mut *mut c_void, *const AttachArguments) -> i32;
        let arguments = AttachArguments {
            version: VERSION,
            name: name.as_ptr(),
            group: Handle::NULL,
        };
        let mut environment = ptr::null_mut();
        // SAFETY: slot 7 of the invocation interface is AttachCurrentThreadAsDaemon by the JNI specification.
        let result = unsafe {
            let function: Attach = std::mem::transmute((**self.0)[7]);
            function(self, &mut environment, &arguments)
        };
        if result != 0 || environment.is_null() {
            return None;
        }
        let _attached = Attached(self);
        // SAFETY: the JVM just gave this interface to this thread.
        Some(work(unsafe { Jni::from_raw(environment) }))
    }

    /// The interface of this version for the calling thread; null if there is none.
    pub fn environment(self, version: i32) -> *mut c_void {
        type GetEnv = unsafe extern "C" fn(Vm, *mut *mut c_void, i32) -> i32;
        let mut environment = ptr::null_mut();
        // SAFETY: slot 6 of the invocation interface is GetEnv by the JNI specification.
        let result = unsafe {
            let function: GetEnv = std::mem::transmute((**self.0)[6]);
            function(self, &mut environment, version)
        };
        if result == 0 {
            environment
        } else {
            ptr::null_mut()
        }
    }
}

/// A thread that is the JVM's until this is dropped.
struct Attached(Vm);

impl Drop for Attached {
    fn drop(&mut self) {
        type Detach = unsafe extern "C" fn(Vm) -> i32;
        // SAFETY: slot 5 of the invocation interface is DetachCurrentThread by the JNI specification; the thread runs no
        // Java code any more.
        unsafe {
            let function: Detach = std::mem::transmute((**self.0.0)[5]);
            function(self.0);
        }
    }
}
