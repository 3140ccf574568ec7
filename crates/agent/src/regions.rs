//! What threads allocate in regions. While a region is open, the JVM tells about every allocation; those of a thread in a
//! region get the region's number as their tag, in an environment of its own, so that a collection leaves the survivors.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::assertions::vm;
use crate::clock;
use crate::environments::{self, Purpose};
use crate::jni::{Handle, Jni, Vm};
use crate::jvmti::{self, Code, Jvmti, event};
use crate::session::{Slot, locked};

/// Not for events: whoever has the lock may wait in the JVM for a pause to end.
static ALLOCATIONS: Mutex<Allocations> = Mutex::new(Allocations {
    environment: None,
    sampling: 0,
    open: 0,
    term: 1,
});
/// Whether a region is open, for events.
static OPEN: AtomicBool = AtomicBool::new(false);
/// Changes when the last region was closed.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Which allocations the JVM tells about.
struct Allocations {
    /// The environment that may ask for them; only one can.
    environment: Option<Jvmti>,
    /// What the recording wants: the mean number of bytes between two samples, 0 is off, 1 is every object.
    sampling: u32,
    /// Regions that are open.
    open: u32,
    /// The number of the environment: regions of a former one are closed.
    term: u32,
}

impl Allocations {
    /// Has all allocations told while a region is open, otherwise what the recording wants. A thread keeps to the former interval
    /// until its next sample.
    fn apply(&self) -> Result<(), Code> {
        let Some(jvmti) = self.environment else {
            return Ok(());
        };
        let every_object = 1;
        let wanted = match self.open {
            0 => self.sampling,
            _ => every_object,
        };
        let interval = match wanted {
            0 => return jvmti.enable(event::SAMPLED_ALLOCATION, false),
            // The JVM takes every object at 0.
            1 => 0,
            bytes => i32::try_from(bytes).unwrap_or(i32::MAX),
        };
        jvmti.set_sampling_interval(interval)?;
        jvmti.enable(event::SAMPLED_ALLOCATION, true)
    }

    fn open(&mut self) -> bool {
        if self.environment.is_none() {
            return false;
        }
        self.open += 1;
        OPEN.store(true, Ordering::Relaxed);
        let applied = self.apply();
        if applied.is_err() {
            self.close(1);
        }
        applied.is_ok()
    }

    fn close(&mut self, regions: u32) {
        let were_open = self.open > 0;
        self.open -= regions;
        if were_open && self.open == 0 {
            OPEN.store(false, Ordering::Relaxed);
            EPOCH.fetch_add(1, Ordering::Relaxed);
            // What fails here failed when the region was opened.
            let _ = self.apply();
        }
    }

    /// Ends whatever is asked for; regions that are open are closed.
    fn end(&mut self) {
        self.close(self.open);
        self.end_samples();
        self.term += 1;
        self.environment = None;
    }

    fn end_samples(&mut self) {
        self.sampling = 0;
        // What fails here failed when it was turned on.
        let _ = self.apply();
    }
}

thread_local! {
    static REGION: Cell<u64> = const { Cell::new(0) };
    /// How many regions this thread has opened, and in which term.
    static OPENED: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    /// Whether an allocation of this thread was told.
    static SEEN: Cell<bool> = const { Cell::new(false) };
    static THREADS_EPOCH: Cell<u32> = const { Cell::new(0) };
    /// Bytes that this thread still allocates before one of them is a sample, while all are told.
    static UNTIL_SAMPLE: Cell<f64> = const { Cell::new(0.0) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
}

/// Classes whose objects the JVM makes for itself when code is first run.
const MADE_BY_JVM: [&str; 4] = [
    "Ljava/lang/Class;",
    "Ljava/lang/invoke/",
    "Ljdk/internal/",
    "Lsun/",
];

/// Allocations can be asked for in this environment from now on.
pub(crate) fn offer(jvmti: Jvmti) {
    locked(&ALLOCATIONS).environment = Some(jvmti);
}

/// The recording ends; regions go on without it.
pub(crate) fn keep(jvmti: Jvmti) {
    let mut allocations = locked(&ALLOCATIONS);
    if allocations.environment == Some(jvmti) {
        allocations.end_samples();
    }
}

/// The recording ends, and regions that are open with it.
pub(crate) fn withdraw(jvmti: Jvmti) {
    let mut allocations = locked(&ALLOCATIONS);
    if allocations.environment == Some(jvmti) {
        allocations.end();
    }
}

/// Says what the recording wants: the mean number of bytes between two samples.
pub(crate) fn sample(bytes: u32) -> Result<(), Code> {
    let mut allocations = locked(&ALLOCATIONS);
    allocations.sampling = bytes;
    allocations.apply()
}

/// Without anybody who records, which the slot stands for, regions ask for allocations themselves.
pub(crate) fn keep_own(vm: Vm, _: &Slot) {
    let mut allocations = locked(&ALLOCATIONS);
    if allocations.environment.is_none() {
        // Without it regions cannot be seen, which is said when one is opened.
        allocations.environment = environments::recording(vm).ok().map(|made| made.0);
    }
}

fn tags() -> Option<Jvmti> {
    static TAGS: OnceLock<Option<Jvmti>> = OnceLock::new();
    *TAGS.get_or_init(|| environments::tags(vm()?, Purpose::Regions).ok())
}

/// Whether a region is open, so that all allocations are told.
pub(crate) fn are_open() -> bool {
    OPEN.load(Ordering::Relaxed)
}

/// Opens a region; false, and none is open, if allocations of this thread are not told.
pub(crate) fn open(jni: Jni) -> bool {
    if tags().is_none() || !count_opened() {
        return false;
    }
    // Not under the lock: it allocates.
    let sees = sees_all(jni);
    if !sees {
        close();
    }
    sees
}

fn count_opened() -> bool {
    let mut allocations = locked(&ALLOCATIONS);
    let opened = allocations.open();
    if opened {
        let (term, count) = OPENED.get();
        let before = if term == allocations.term { count } else { 0 };
        OPENED.set((allocations.term, before + 1));
    }
    opened
}

/// What a thread got to allocate from before is used up without being told, and the former interval goes on until the next
/// sample: allocates until small objects in a row were told.
fn sees_all(jni: Jni) -> bool {
    const SMALL: i32 = 1 << 10;
    const LARGE: i32 = 1 << 20;
    const MOST_SMALL: u32 = 32 << 10;
    const MOST: u32 = MOST_SMALL + 512;
    let told = |bytes| {
        SEEN.set(false);
        let array = jni.new_bytes(bytes);
        jni.delete_local(array);
        SEEN.get()
    };
    (0..MOST).any(|tried| {
        // A large object counts for the interval; only small ones come from what the thread has.
        let first = told(if tried < MOST_SMALL { SMALL } else { LARGE });
        first && told(SMALL) && told(SMALL)
    })
}

pub(crate) fn enter(region: u64) {
    REGION.set(region);
}

/// Closes a region of this thread, unless that went with its environment; after the last one allocations are sampled as before.
pub(crate) fn close() {
    REGION.set(0);
    let mut allocations = locked(&ALLOCATIONS);
    let (term, count) = OPENED.get();
    if term == allocations.term && count > 0 {
        OPENED.set((term, count - 1));
        allocations.close(1);
    }
}

/// Called for every allocation that is told.
pub(crate) fn note(object: Handle) {
    SEEN.set(true);
    let region = REGION.get();
    if region != 0 {
        if let Some(tags) = tags() {
            // Without memory for a tag the object is forgotten.
            let _ = tags.set_tag(object, region);
        }
    }
}

/// Whether an allocation is a sample of the recording. While all are told, those are chosen here as the JVM would choose
/// them: after a number of bytes that is distributed exponentially.
pub(crate) fn is_sample(size: u64, interval: u32) -> bool {
    let epoch = EPOCH.load(Ordering::Relaxed);
    // The first one after the last region was told only because of it.
    let all_told = are_open() || THREADS_EPOCH.replace(epoch) != epoch;
    if !all_told || interval <= 1 {
        return true;
    }
    let mut left = UNTIL_SAMPLE.get();
    if left <= 0.0 {
        left = exponential(interval);
    }
    left -= size as f64;
    UNTIL_SAMPLE.set(left);
    left <= 0.0
}

fn exponential(mean: u32) -> f64 {
    let mut random = RANDOM.get();
    if random == 0 {
        random = clock::now() ^ (&raw const random as u64) << 16 | 1;
    }
    // Marsaglia's xorshift.
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    RANDOM.set(random);
    let uniform = ((random >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -uniform.ln() * f64::from(mean)
}

/// An array of what was allocated in a region and is still there; their tags are taken away.
pub(crate) fn survivors(jni: Jni, region: u64) -> Handle {
    let array = jni.handle_from_frame(|| {
        let tags = tags().ok_or("cannot tag the objects of regions")?;
        let mut found = tags.objects_with_tags(&[region]).map_err(jvmti::meaning)?;
        found.retain(|&object| {
            let _ = tags.set_tag(object, 0);
            is_theirs(tags, jni, object)
        });
        let class = jni.find_class(c"java/lang/Object")?;
        let array = jni.new_array(class, found.len())?;
        for (index, object) in found.into_iter().enumerate() {
            jni.set_element(array, index, object);
        }
        Ok(array)
    });
    array.unwrap_or(Handle::NULL)
}

/// Whether the program made it, rather than the JVM for itself.
fn is_theirs(tags: Jvmti, jni: Jni, object: Handle) -> bool {
    let class = jni.object_class(object);
    let signature = tags.class_signature(class).unwrap_or_default();
    jni.delete_local(class);
    let name = signature.trim_start_matches('[');
    !MADE_BY_JVM.iter().any(|made| name.starts_with(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_samples_stand_for_all_bytes() {
        OPEN.store(true, Ordering::Relaxed);
        let interval = 10_000;
        let mut chosen = 0;
        for i in 0..1_000_000 {
            chosen += u32::from(is_sample(16 + i % 5 * 8, interval));
        }
        OPEN.store(false, Ordering::Relaxed);
        // 32 MB in all: 3,200 samples, give or take 57.
        assert!((2_900..3_500).contains(&chosen), "{chosen}");
    }
}
