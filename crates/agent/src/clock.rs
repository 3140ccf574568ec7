//! Clocks of the machine, in nanoseconds.

/// The clock all processes of the machine share; it never jumps.
pub(crate) fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Since 1970.
pub(crate) fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Since the machine started.
pub(crate) fn since_boot() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// CPU time of the whole process.
pub(crate) fn process_cpu() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a timespec of ours; these clocks always exist.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
