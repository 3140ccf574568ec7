//! Room in the heap for a search. From release 16 on, HotSpot begins a search that shows objects without tags by stopping all threads
//! and putting the objects into the heap that compiled code had replaced by their fields (`EscapeBarrier`): it allocates on the thread
//! that searches. If there is no room, a collection must make some, and many collectors wait with it until every thread has left
//! its JNI critical section. A thread that is stopped in one never leaves: neither it nor the collection nor the search goes
//! on. So there must be room before a search begins, also for what the program allocates until it stands still.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::jni::{Handle, Jni, Member};
use crate::session::Session;

/// How long a search waits for the program's next collection.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_READINGS: Duration = Duration::from_millis(5);
/// A program that allocated next to nothing for so long is not going to collect by itself.
const IDLE_FOR: Duration = Duration::from_millis(300);

/// What the search itself may allocate: a part of the space, but not more than any search does.
const PART: u64 = 8;
const MOST: u64 = 64 << 20;
/// How long it may take until the program stands still, on a machine that is busy with dozens of threads; so long it allocates.
const UNTIL_STILL: Duration = Duration::from_millis(50);
/// So much is enough, however fast the program allocates.
const ENOUGH: u64 = 512 << 20;

const GARBAGE: i32 = 16 << 10;

/// There was room a moment ago; needed for every search that shows objects without tags.
pub(crate) struct Room(());

/// What must have room so that an allocation needs no collection that waits for threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    /// Searches allocate nothing, or collections wait for nobody.
    None,
    Heap,
    Eden,
}

impl Limit {
    fn of(collector: &str, specification: &str) -> Result<Limit, String> {
        // Old releases are called 1.8.
        let release = specification.parse().unwrap_or(0_u32);
        match collector {
            _ if release < 16 => Ok(Limit::None),
            // They pin what critical sections use.
            "Shenandoah" => Ok(Limit::None),
            "G1" if release >= 22 => Ok(Limit::None),
            "Epsilon" => Ok(Limit::None),
            "ZGC" => Ok(Limit::Heap),
            "G1" | "Parallel" | "Serial" => Ok(Limit::Eden),
            _ => Err("the heap of an unknown collector cannot be searched safely".to_owned()),
        }
    }
}

/// Waits for room.
pub(crate) struct Headroom {
    heap: Option<Heap>,
    eden: Option<Eden>,
}

/// `java.lang.Runtime`, which allocates nothing.
struct Heap {
    runtime: Handle,
    max: Member,
    total: Member,
    free: Member,
}

/// The memory pool of the JVM's management functions.
struct Eden {
    pool: Handle,
    usage: Member,
    used: Member,
    committed: Member,
}

/// Of what an allocation comes from: the heap, or eden if that is less.
#[derive(Clone, Copy, Debug)]
struct Reading {
    size: u64,
    free: u64,
    at: Instant,
    /// Collections so far that stop the program while they free memory.
    pauses: u32,
    /// In the whole heap.
    used: u64,
}

impl Reading {
    /// Bytes that were allocated in a second since the reading before; nothing if a collection came between.
    fn rate(self, before: Reading) -> Option<u64> {
        if self.pauses != before.pauses {
            return None;
        }
        let allocated = before.free.checked_sub(self.free)?;
        let seconds = (self.at - before.at).as_secs_f64().max(0.001);
        Some((allocated as f64 / seconds) as u64)
    }

    /// Whether there is room while so many bytes are allocated in a second.
    fn has_room(self, rate: u64) -> bool {
        let meanwhile = rate as f64 * UNTIL_STILL.as_secs_f64();
        let needed = (self.size / PART).min(MOST) + meanwhile as u64;
        self.free >= needed.min(ENOUGH)
    }

    /// Whether nothing was collected and next to nothing allocated.
    fn is_idle_since(self, before: Reading) -> bool {
        let allocated = before.free.checked_sub(self.free);
        let little = allocated.is_some_and(|bytes| bytes <= self.free / 16);
        little && self.pauses == before.pauses
    }

    fn too_full(self, fastest: u64) -> String {
        let (free, size) = (self.free >> 20, self.size >> 20);
        let rate = match fastest >> 20 {
            0 => String::new(),
            rate => format!(", and the program allocates up to {rate} MB in a second"),
        };
        format!(
            "the heap is too full to be searched safely: {free} of {size} MB for new objects are free{rate}"
        )
    }
}

impl Headroom {
    pub(crate) fn new(jni: Jni, collector: &str, specification: &str) -> Result<Headroom, String> {
        let limit = Limit::of(collector, specification)?;
        let heap = match limit {
            Limit::None => None,
            Limit::Heap | Limit::Eden => Some(jni.in_frame(|| Heap::find(jni))?),
        };
        let eden = match limit {
            Limit::None | Limit::Heap => None,
            Limit::Eden => Some(jni.in_large_frame(|| Eden::find(jni))?),
        };
        Ok(Headroom { heap, eden })
    }

    /// Returns when there is room; an error if there is none in time.
    pub(crate) fn wait(&self, session: &Session, jni: Jni) -> Result<Room, String> {
        let start = Instant::now();
        let mut before: Option<Reading> = None;
        let mut idle: Option<Reading> = None;
        // The most that was seen: programs allocate by fits and starts.
        let mut fastest = 0;
        loop {
            let Some(now) = self.read(session, jni, before)? else {
                return Ok(Room(()));
            };
            // A program that waited for a collection until now allocated nothing, which does not count.
            let rate = before.and_then(|before| now.rate(before));
            fastest = fastest.max(rate.unwrap_or(0));
            if now.free >= ENOUGH || rate.is_some() && now.has_room(fastest) {
                return Ok(Room(()));
            }
            if session.is_ending() {
                return Err("the recording ends".to_owned());
            }
            if start.elapsed() > PATIENCE {
                return Err(now.too_full(fastest));
            }
            before = Some(now);
            let since = *idle.get_or_insert(now);
            if !now.is_idle_since(since) {
                idle = Some(now);
            } else if since.at.elapsed() > IDLE_FOR && self.eden.is_some() {
                self.fill_eden(session, jni, now)?;
                (before, idle) = (None, None);
            }
            sleep(BETWEEN_READINGS);
        }
    }

    pub(crate) fn close(self, jni: Jni) {
        if let Some(heap) = self.heap {
            jni.delete_global(heap.runtime);
        }
        if let Some(eden) = self.eden {
            jni.delete_global(eden.pool);
        }
    }

    /// Nothing if there is always room. The size of eden is asked for only after a collection, because the answer is an object.
    fn read(
        &self,
        session: &Session,
        jni: Jni,
        before: Option<Reading>,
    ) -> Result<Option<Reading>, String> {
        let Some(heap) = &self.heap else {
            return Ok(None);
        };
        let pauses = match self.eden {
            None => 0,
            Some(_) => session.pauses.count(),
        };
        let (max, used) = heap.read(jni)?;
        let left = max.saturating_sub(used);
        let before = before.filter(|before| before.pauses == pauses && before.used <= used);
        let (size, free) = match (&self.eden, before) {
            (None, _) => (max, left),
            (Some(_), Some(before)) => {
                let allocated = used - before.used;
                (before.size, before.free.saturating_sub(allocated))
            }
            (Some(eden), None) => eden.read(jni)?,
        };
        Ok(Some(Reading {
            size,
            free: free.min(left),
            at: Instant::now(),
            pauses,
            used,
        }))
    }

    /// Makes a program collect that is idle and has hardly any room left, as it would if it went on.
    fn fill_eden(&self, session: &Session, jni: Jni, full: Reading) -> Result<(), String> {
        // What is not free may be: the JVM counts whole regions.
        let most = full.free + full.size / PART;
        for _ in 0..=most / GARBAGE as u64 {
            let array = jni.new_bytes(GARBAGE);
            if array.is_null() {
                return Err(full.too_full(0));
            }
            jni.delete_local(array);
            if session.pauses.count() != full.pauses {
                break;
            }
        }
        Ok(())
    }
}

impl Heap {
    fn find(jni: Jni) -> Result<Heap, String> {
        let class = jni.find_class(c"java/lang/Runtime")?;
        let get = jni.static_method(class, c"getRuntime", c"()Ljava/lang/Runtime;")?;
        let method = |name| jni.method(class, name, c"()J");
        Ok(Heap {
            max: method(c"maxMemory")?,
            total: method(c"totalMemory")?,
            free: method(c"freeMemory")?,
            runtime: jni.new_global(jni.call_static_object(class, get, &[])?),
        })
    }

    /// The most it can have, and how much of it is used.
    fn read(&self, jni: Jni) -> Result<(u64, u64), String> {
        let bytes = |method| Ok::<u64, String>(jni.call_long(self.runtime, method, &[])? as u64);
        let used = bytes(self.total)?.saturating_sub(bytes(self.free)?);
        Ok((bytes(self.max)?, used))
    }
}

impl Eden {
    fn find(jni: Jni) -> Result<Eden, String> {
        // Its static initializer loads the library with the native half.
        jni.find_class(c"sun/management/ManagementFactoryHelper")?;
        let memory = jni.find_class(c"sun/management/MemoryImpl")?;
        let signature = c"()[Ljava/lang/management/MemoryPoolMXBean;";
        let pools = jni.static_method(memory, c"getMemoryPools", signature)?;
        let pools = jni.call_static_object(memory, pools, &[])?;
        let class = jni.find_class(c"sun/management/MemoryPoolImpl")?;
        let name = jni.method(class, c"getName", c"()Ljava/lang/String;")?;
        let usage = jni.find_class(c"java/lang/management/MemoryUsage")?;
        let signature = c"()Ljava/lang/management/MemoryUsage;";
        for pool in jni.elements(pools) {
            if jni.text(jni.call_object(pool, name, &[])?).contains("Eden") {
                return Ok(Eden {
                    usage: jni.method(class, c"getUsage0", signature)?,
                    used: jni.field(usage, c"used", c"J")?,
                    committed: jni.field(usage, c"committed", c"J")?,
                    pool: jni.new_global(pool),
                });
            }
        }
        Err("the JVM does not report how full its heap is".to_owned())
    }

    /// Its size, and how much of it is free.
    fn read(&self, jni: Jni) -> Result<(u64, u64), String> {
        let usage = jni.call_object(self.pool, self.usage, &[]);
        // There was no memory for it.
        let usage = usage.map_err(|_| "the heap is too full to be searched safely")?;
        let size = jni.long_field(usage, self.committed) as u64;
        let used = jni.long_field(usage, self.used) as u64;
        jni.delete_local(usage);
        Ok((size, size.saturating_sub(used)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    const MB: u64 = 1 << 20;
    static START: OnceLock<Instant> = OnceLock::new();

    fn reading(free: u64, after_ms: u64) -> Reading {
        Reading {
            size: 128 * MB,
            free: free * MB,
            at: *START.get_or_init(Instant::now) + Duration::from_millis(after_ms),
            pauses: 0,
            used: 0,
        }
    }

    #[test]
    fn a_program_that_allocates_faster_needs_more_room() {
        // An eighth without, and 50 MB more with 1 MB in a millisecond.
        assert!(reading(16, 0).has_room(0) && !reading(15, 0).has_room(0));
        let rate = reading(66, 10).rate(reading(76, 0)).unwrap();
        assert_eq!(rate, 1000 * MB);
        assert!(reading(66, 0).has_room(rate) && !reading(65, 0).has_room(rate));
        assert!(!reading(128, 0).has_room(5000 * MB));
        // Never more than 512 MB, whatever the heap.
        let large = |free: u64| Reading {
            size: 10_000 * MB,
            ..reading(free, 0)
        };
        assert!(large(512).has_room(20_000 * MB) && !large(511).has_room(20_000 * MB));
        assert!(large(64).has_room(0) && !large(63).has_room(0));
    }

    #[test]
    fn nothing_is_known_about_a_time_with_a_collection() {
        let after = Reading {
            pauses: 1,
            ..reading(70, 5)
        };
        assert_eq!(after.rate(reading(80, 0)), None);
        assert_eq!(reading(90, 5).rate(reading(80, 0)), None);
    }

    #[test]
    fn a_program_that_collects_is_not_idle() {
        assert!(reading(10, 100).is_idle_since(reading(10, 0)));
        assert!(!reading(8, 100).is_idle_since(reading(10, 0)));
        assert!(!reading(20, 100).is_idle_since(reading(10, 0)));
        let after = Reading {
            pauses: 1,
            ..reading(10, 100)
        };
        assert!(!after.is_idle_since(reading(10, 0)));
    }

    #[test]
    fn collectors_that_wait_for_critical_sections_are_known() {
        let limit = |collector, release| Limit::of(collector, release).ok();
        assert_eq!(limit("G1", "11"), Some(Limit::None));
        assert_eq!(limit("G1", "17"), Some(Limit::Eden));
        assert_eq!(limit("G1", "25"), Some(Limit::None));
        assert_eq!(limit("Serial", "25"), Some(Limit::Eden));
        assert_eq!(limit("ZGC", "21"), Some(Limit::Heap));
        assert_eq!(limit("Shenandoah", "21"), Some(Limit::None));
        assert_eq!(limit("", "21"), None);
    }
}
