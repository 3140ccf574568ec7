//! Read-only mappings of files, and what becomes of the program when a mapped file is cut off.
//!
//! A page of a mapping that its file no longer has cannot be read: the system sends SIGBUS. Nothing is
//! left to go on with then, but the user must learn which file it was. So every mapping is listed in a
//! table that the signal's handler can read: there it may neither allocate nor wait for anybody.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anthill_heap::Owner;
use memmap2::Mmap;

/// Maps a whole file for reading; `path` is what the user knows it by.
pub(crate) fn map_file(file: &File, path: &Path) -> io::Result<Owner> {
    // SAFETY: the mapping is read-only. Should another process change the file meanwhile, bytes
    // may differ between two reads; every read of them is bounds-checked and trusts no value.
    let map = unsafe { Mmap::map(file)? };
    let listed = listing::Listed::new(&map, path);
    Ok(Arc::new(Mapping {
        _listed: listed,
        map,
    }))
}

/// Dropped in this order: the table never names memory that is somebody else's.
struct Mapping {
    _listed: listing::Listed,
    map: Mmap,
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(unix)]
pub use signals::{FILE_CHANGED, survive_file_signals};

#[cfg(unix)]
mod listing {
    use std::collections::HashMap;
    use std::ffi::{CStr, CString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
    use std::sync::{LazyLock, Mutex, PoisonError};

    const SLOTS: usize = 64;

    /// Mappings that exist. Another table follows when one is full; tables stay for ever.
    struct Table {
        slots: [Slot; SLOTS],
        next: AtomicPtr<Table>,
    }

    /// One mapping; none while `start` is 0.
    struct Slot {
        start: AtomicUsize,
        end: AtomicUsize,
        /// The path as a C string, which is never freed.
        name: AtomicPtr<libc::c_char>,
    }

    static FIRST: Table = Table::new();

    impl Slot {
        const fn free() -> Self {
            Slot {
                start: AtomicUsize::new(0),
                end: AtomicUsize::new(0),
                name: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    impl Table {
        const fn new() -> Self {
            Table {
                slots: [const { Slot::free() }; SLOTS],
                next: AtomicPtr::new(ptr::null_mut()),
            }
        }

        fn next(&self) -> Option<&'static Table> {
            // SAFETY: null, or a table that was leaked.
            unsafe { self.next.load(Ordering::Acquire).as_ref() }
        }
    }

    fn tables() -> impl Iterator<Item = &'static Table> {
        std::iter::successors(Some(&FIRST), |table| table.next())
    }

    /// The names by path: each is kept once, however often its file is mapped.
    static NAMES: LazyLock<Mutex<HashMap<PathBuf, &'static CStr>>> = LazyLock::new(Mutex::default);

    fn name(names: &mut HashMap<PathBuf, &'static CStr>, path: &Path) -> &'static CStr {
        names.entry(path.to_owned()).or_insert_with(|| {
            let name = CString::new(path.as_os_str().as_bytes());
            Box::leak(name.unwrap_or_default().into_boxed_c_str())
        })
    }

    /// A mapping is in the table as long as this lives.
    pub(super) struct Listed(&'static Slot);

    impl Listed {
        pub(super) fn new(bytes: &[u8], path: &Path) -> Self {
            // Whoever holds this lock is the only one who takes slots.
            let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = free_slot();
            let name = name(&mut names, path).as_ptr().cast_mut();
            let start = bytes.as_ptr() as usize;
            slot.name.store(name, Ordering::Relaxed);
            slot.end.store(start + bytes.len(), Ordering::Relaxed);
            slot.start.store(start, Ordering::Release);
            Listed(slot)
        }
    }

    impl Drop for Listed {
        fn drop(&mut self) {
            self.0.start.store(0, Ordering::Release);
        }
    }

    fn free_slot() -> &'static Slot {
        let slots = tables().flat_map(|table| &table.slots);
        let mut free = slots.filter(|slot| slot.start.load(Ordering::Relaxed) == 0);
        free.next().unwrap_or_else(|| {
            let table: &'static Table = Box::leak(Box::new(Table::new()));
            let last = tables().last().unwrap_or(&FIRST);
            last.next
                .store(ptr::from_ref(table).cast_mut(), Ordering::Release);
            &table.slots[0]
        })
    }

    /// The file that an address is mapped from, and how long the mapping is. Only loads: it is called
    /// in a signal's handler.
    pub(super) fn file_at(address: usize) -> Option<(&'static CStr, usize)> {
        tables().flat_map(|table| &table.slots).find_map(|slot| {
            let start = slot.start.load(Ordering::Acquire);
            let end = slot.end.load(Ordering::Relaxed);
            let name = slot.name.load(Ordering::Relaxed);
            let within = start != 0 && (start..end).contains(&address);
            if !within || slot.start.load(Ordering::Acquire) != start {
                return None;
            }
            // SAFETY: the name of a listed mapping is a C string that is never freed.
            Some((unsafe { CStr::from_ptr(name) }, end - start))
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn addresses_lead_to_files_as_long_as_they_are_mapped() {
            let all: Vec<Vec<u8>> = (0..3 * SLOTS).map(|_| vec![0; 256 << 10]).collect();
            let path = |index: usize| PathBuf::from(format!("/dumps/{index}.hprof"));
            let mut listed: Vec<Option<Listed>> = (0..)
                .zip(&all)
                .map(|(index, bytes)| Some(Listed::new(bytes, &path(index))))
                .collect();
            let found = |index: usize| file_at(all[index].as_ptr() as usize + 1000);
            for index in 0..all.len() {
                let (name, length) = found(index).unwrap();
                assert_eq!(name.to_bytes(), path(index).as_os_str().as_bytes());
                assert_eq!(length, 256 << 10);
            }
            listed[70] = None;
            assert!(found(70).is_none());
            let again = Listed::new(&all[70], Path::new("/dumps/again.hprof"));
            assert_eq!(found(70).unwrap().0.to_bytes(), b"/dumps/again.hprof");
            drop((listed, again));
            assert!((0..all.len()).all(|index| found(index).is_none()));
            assert!(file_at(0).is_none());
        }
    }
}

#[cfg(not(unix))]
mod listing {
    use std::path::Path;

    pub struct Listed;

    impl Listed {
        pub fn new(_: &[u8], _: &Path) -> Self {
            Listed
        }
    }
}

#[cfg(unix)]
mod signals {
    use std::mem::MaybeUninit;
    use std::sync::OnceLock;

    use super::listing::file_at;

    /// The exit code of a program whose file was changed under it.
    pub const FILE_CHANGED: u8 = 3;

    /// What was done about SIGBUS before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// From here on a program that reads a mapped file that was cut off says so and ends with
    /// [`FILE_CHANGED`], and writing more than `ulimit -f` allows is an error like a full disk. For
    /// programs of our own only: a library in somebody else's process leaves their signals alone.
    pub fn survive_file_signals() {
        BEFORE.get_or_init(|| handled(libc::SIGBUS));
        handle(libc::SIGBUS, on_bus_error as *const () as usize);
        // A handler and not SIG_IGN, which programs that we start would inherit.
        handle(libc::SIGXFSZ, on_too_large as *const () as usize);
    }

    fn handled(signal: i32) -> libc::sigaction {
        // SAFETY: the struct is plain data for which all zeros are valid, and sigaction fills it in.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            action
        }
    }

    fn handle(signal: i32, handler: usize) {
        let mut action = handled(signal);
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        // SAFETY: the handlers have the signature that SA_SIGINFO asks for and do only what is allowed
        // in them.
        unsafe {
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }

    extern "C" fn on_too_large(_: i32, _: *mut libc::siginfo_t, _: *mut libc::c_void) {}

    extern "C" fn on_bus_error(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system gives a valid siginfo to a handler with SA_SIGINFO.
        let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
        // Somebody sent the signal: no access is tried again.
        if code <= 0 {
            // SAFETY: ends the process by the signal once the handler returns.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            return;
        }
        if let Some((name, mapped)) = file_at(address) {
            tell(name, mapped);
            // SAFETY: ends the process without running anything else.
            unsafe { libc::_exit(FILE_CHANGED.into()) }
        }
        // Not ours: whoever was to handle it does, when the access is tried again.
        // SAFETY: what is put back was there before; BEFORE is set before the handler is.
        unsafe {
            match BEFORE.get() {
                Some(before) => libc::sigaction(signal, before, std::ptr::null_mut()),
                None => libc::signal(signal, libc::SIG_DFL) as i32,
            };
        }
    }

    /// Says on standard error what happened to a file that was mapped with that length.
    fn tell(name: &std::ffi::CStr, mapped: usize) {
        // SAFETY: asks the terminal, if there is one, and changes nothing.
        if unsafe { libc::isatty(2) } == 1 {
            // Not onto the line of a progress bar.
            write(b"\n");
        }
        write(b"anthill: ");
        write(name.to_bytes());
        match length(name).filter(|&now| now < mapped as u64) {
            Some(now) => {
                write(b": the file was truncated from ");
                write_number(mapped as u64);
                write(b" to ");
                write_number(now);
                write(b" bytes while it was being read\n");
            }
            None => write(
                b": part of the file could not be read: it was modified, or its disk failed\n",
            ),
        }
        write(
            b"The output is incomplete. Wait until the file is no longer being written, then \
        try again.\n",
        );
    }

    fn write(bytes: &[u8]) {
        // SAFETY: the bytes are readable. There is nobody to tell that standard error is closed.
        let _ = unsafe { libc::write(2, bytes.as_ptr().cast(), bytes.len()) };
    }

    fn write_number(mut number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return write(&digits[first..]);
            }
        }
    }

    /// How long a file is now.
    fn length(name: &std::ffi::CStr) -> Option<u64> {
        // SAFETY: stat fills in the plain struct or fails; it may be called in handlers.
        unsafe {
            let mut stat: libc::stat = MaybeUninit::zeroed().assume_init();
            (libc::stat(name.as_ptr(), &mut stat) == 0).then_some(stat.st_size as u64)
        }
    }
}
