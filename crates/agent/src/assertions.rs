//! GC assertions: the native half of `dev.anthill.internal.Agent`, of which every class loader may have a copy. It says
//! where assertions are made, passes on what the program asks, and brings back what was found; it checks nothing.

use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, RwLock};

use anthill_wire::{Asserts, CheckAsked, CheckDone, FromAgent};

use crate::environments;
use crate::gc::GcCounters;
use crate::jni::{Argument, Handle, Jni, Member, Native, Vm};
use crate::jvmti::{self, FrameInfo, Jvmti};
use crate::perf::PerfData;
use crate::session::{Session, current, locked};
use crate::{plain, regions, say};

const CLASS: &str = "Ldev/anthill/internal/Agent;";

/// What a copy of the class is told; numbers as in its Java half.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Off = 0,
    Idle = 1,
    Starting = 2,
    Connected = 3,
    Alone = 4,
}

/// A copy of the class and the methods that are called.
#[derive(Clone, Copy)]
struct Copy {
    /// From 1, never given to another one.
    number: u32,
    /// Weak, so that its class loader can go.
    class: Handle,
    changed: Member,
    count: Member,
    deliver: Member,
}

static COPIES: Mutex<Copies> = Mutex::new(Copies {
    known: Vec::new(),
    last_number: 0,
});
static VM: OnceLock<Vm> = OnceLock::new();

struct Copies {
    known: Vec<Copy>,
    last_number: u32,
}

impl Copies {
    /// Those that are still there, with local handles; the others are forgotten.
    fn living(&mut self, jni: Jni) -> Vec<(Copy, Handle)> {
        let mut living = Vec::new();
        self.known.retain(|copy| {
            let class = jni.new_local(copy.class);
            match class.is_null() {
                true => jni.delete_weak(copy.class),
                false => living.push((*copy, class)),
            }
            !class.is_null()
        });
        living
    }
}

/// Remembers the JVM for when the program asks for something.
pub(crate) fn know(vm: Vm) {
    let _ = VM.set(vm);
}

pub(crate) fn vm() -> Option<Vm> {
    VM.get().copied()
}

/// Found by the JVM under this name when a copy of the class is initialised.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn Java_dev_anthill_internal_Agent_register(jni: Jni, class: Handle) -> i64 {
    let registered = catch_unwind(AssertUnwindSafe(|| {
        let number = register(jni, class)?;
        let state = match current().filter(|session| !session.is_ending()) {
            Some(session) => {
                session.outbox.say_now(&FromAgent::Asserts(Asserts {}));
                State::Connected
            }
            None => plain::state(),
        };
        Ok::<i64, String>(i64::from(number) << 8 | state as i64)
    }));
    match registered {
        Ok(Ok(registered)) => registered,
        _ => State::Off as i64,
    }
}

/// Makes the native methods of a copy known and remembers it; its number.
fn register(jni: Jni, class: Handle) -> Result<u32, String> {
    jni.register(class, &natives())?;
    let method = |name, signature| jni.static_method(class, name, signature);
    let changed = method(c"changed", c"(ILjava/lang/String;)V")?;
    let count = method(c"count", c"(ZZ)[J")?;
    let deliver = method(c"deliver", c"(JLjava/lang/String;[Ljava/lang/String;)V")?;

    let mut copies = locked(&COPIES);
    let known = copies
        .known
        .iter()
        .find(|one| jni.is_same(one.class, class));
    if let Some(known) = known {
        return Ok(known.number);
    }
    let weak = jni.new_weak(class);
    if weak.is_null() {
        return Err("the JVM has no memory for a weak handle".to_owned());
    }
    copies.last_number += 1;
    let number = copies.last_number;
    copies.known.push(Copy {
        number,
        class: weak,
        changed,
        count,
        deliver,
    });
    Ok(number)
}

fn natives() -> [Native; 10] {
    // SAFETY: each function takes and returns what its signature says.
    unsafe {
        [
            Native::new(c"begin", c"()V", begin as *const c_void),
            Native::new(c"site", c"()I", site as *const c_void),
            Native::new(
                c"frames",
                c"(I)[Ljava/lang/String;",
                frames as *const c_void,
            ),
            Native::new(c"ask", c"(JJ)Z", ask as *const c_void),
            Native::new(c"collect", c"()V", collect as *const c_void),
            Native::new(
                c"fullCollections",
                c"()J",
                full_collections as *const c_void,
            ),
            Native::new(c"open", c"()Z", open as *const c_void),
            Native::new(c"enter", c"(J)V", enter as *const c_void),
            Native::new(c"close", c"()V", close as *const c_void),
            Native::new(
                c"survivors",
                c"(J)[Ljava/lang/Object;",
                survivors as *const c_void,
            ),
        ]
    }
}

/// Tells all copies, also those that were initialised before the agent came.
pub(crate) fn connected(session: &Session, jni: Jni) {
    if session.attached {
        register_loaded(session.jvmti, jni);
    }
    if tell(jni, State::Connected, None) {
        session.outbox.say_now(&FromAgent::Asserts(Asserts {}));
    }
}

/// The recording is over: without it there is nobody who checks.
pub(crate) fn disconnected(jni: Jni) {
    match plain::state() {
        // Its thread tells why.
        State::Starting => {}
        state => {
            tell(
                jni,
                state,
                Some("the recorder that checked assertions is gone"),
            );
        }
    }
}

fn register_loaded(jvmti: Jvmti, jni: Jni) {
    let registered = jni.in_large_frame(|| {
        for class in jvmti.loaded_classes().map_err(jvmti::meaning)? {
            if jvmti.class_signature(class).as_deref() == Some(CLASS) {
                // Another class of that name: it is left alone.
                let _ = register(jni, class);
            }
        }
        Ok(())
    });
    if let Err(why) = registered {
        say_failed(&why);
    }
}

/// Tells all copies what they can count on; whether there is one.
pub(crate) fn tell(jni: Jni, state: State, why: Option<&str>) -> bool {
    let mut told = false;
    each(jni, |copy, class| {
        told = true;
        changed(jni, copy, class, state, why)
    });
    told
}

/// Tells the copy of this class only.
pub(crate) fn tell_one(jni: Jni, one: Handle, state: State) {
    each(jni, |copy, class| match jni.is_same(class, one) {
        true => changed(jni, copy, class, state, None),
        false => Ok(()),
    });
}

fn changed(
    jni: Jni,
    copy: &Copy,
    class: Handle,
    state: State,
    why: Option<&str>,
) -> Result<(), String> {
    let why = match why {
        Some(why) => jni.new_text(why)?,
        None => Handle::NULL,
    };
    let arguments = [Argument::number(state as i64), Argument::object(why)];
    jni.call_static_void(class, copy.changed, &arguments)
}

/// Calls something for every copy that is still there.
fn each(jni: Jni, mut call: impl FnMut(&Copy, Handle) -> Result<(), String>) {
    let called = jni.in_frame(|| {
        // Not under the lock: Java code may register another copy meanwhile.
        let living = locked(&COPIES).living(jni);
        for (copy, class) in living {
            if let Err(why) = jni.in_frame(|| call(&copy, class)) {
                say_failed(&why);
            }
        }
        Ok(())
    });
    if let Err(why) = called {
        say_failed(&why);
    }
}

fn say_failed(why: &str) {
    say(&format!("assertions: {why}"));
}

/// How many assertions of each kind there are; `collected` if there was a collection since they were counted last, `reported` if
/// those count whose violations the program knows.
pub(crate) fn count(jni: Jni, collected: bool, reported: bool) -> [u64; 5] {
    let mut sum = [0; 5];
    each(jni, |copy, class| {
        let arguments = [Argument::flag(collected), Argument::flag(reported)];
        let counts = jni.call_static_object(class, copy.count, &arguments)?;
        let counts: [i64; 5] = jni.longs(counts);
        for (sum, count) in sum.iter_mut().zip(counts) {
            *sum += count.max(0) as u64;
        }
        Ok(())
    });
    sum
}

/// Brings the program what a check has found.
pub(crate) fn deliver(jni: Jni, done: &CheckDone) {
    let lines = |lines: &[String], between: &str| Some(lines.join(between));
    let mut fields: Vec<Option<String>> = Vec::new();
    for violation in &done.violations {
        let paths: Vec<String> = violation.paths.iter().map(|path| path.join("\n")).collect();
        let numbers: Vec<String> = violation.assertions.iter().map(u64::to_string).collect();
        fields.extend([
            Some(violation.kind.clone()),
            violation.message.clone(),
            Some(violation.class.clone()),
            Some(violation.bytes.to_string()),
            Some(violation.count.to_string()),
            lines(&violation.made_at, "\n"),
            lines(&paths, "\n\n"),
            Some(violation.text.clone()),
            Some(violation.json.clone()),
            lines(&numbers, ","),
            Some(violation.key.clone()),
        ]);
    }
    each(jni, |copy, class| {
        let failure = match &done.failure {
            Some(failure) => jni.new_text(failure)?,
            None => Handle::NULL,
        };
        let fields = jni.new_texts(fields.iter().map(Option::as_deref))?;
        let arguments = [
            Argument::number(done.number as i64),
            Argument::object(failure),
            Argument::object(fields),
        ];
        jni.call_static_void(class, copy.deliver, &arguments)
    });
}

// Native methods. None may panic into the JVM.

fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

extern "C" fn begin(jni: Jni, class: Handle) {
    guarded((), || plain::begin(jni, class));
}

extern "C" fn ask(_: Jni, _: Handle, number: i64, forgiven: i64) -> u8 {
    guarded(0, || {
        let Some(session) = current().filter(|session| !session.is_ending()) else {
            return 0;
        };
        session.outbox.say_now(&FromAgent::CheckAsked(CheckAsked {
            number: number as u64,
            forgiven: forgiven as u64,
        }));
        1
    })
}

extern "C" fn collect(_: Jni, _: Handle) {
    guarded((), || {
        if let Some(environment) = environment() {
            // What cannot be collected is simply still there.
            let _ = environment.force_gc();
        }
    });
}

extern "C" fn full_collections(_: Jni, _: Handle) -> i64 {
    guarded(-1, || {
        static COUNTERS: OnceLock<Option<GcCounters>> = OnceLock::new();
        let counters = COUNTERS.get_or_init(|| Some(GcCounters::new(&PerfData::find().ok()?)));
        let count = counters.as_ref().and_then(GcCounters::full);
        count.map_or(-1, |count| count as i64)
    })
}

extern "C" fn open(jni: Jni, _: Handle) -> u8 {
    guarded(0, || u8::from(regions::open(jni)))
}

extern "C" fn enter(_: Jni, _: Handle, region: i64) {
    regions::enter(region as u64);
}

extern "C" fn close(_: Jni, _: Handle) {
    guarded((), regions::close);
}

extern "C" fn survivors(jni: Jni, _: Handle, region: i64) -> Handle {
    guarded(Handle::NULL, || regions::survivors(jni, region as u64))
}

// Where assertions are made.

/// Frames of a place that are kept. Walking one costs a tenth of a microsecond, most of what an assertion costs.
const FRAMES: usize = 6;
/// With fewer than these the place is looked for further out.
const FEW_FRAMES: usize = 2;
/// Frames of the API between the native method and the first that may be the program's.
const OWN: i32 = 3;
/// How far the program's frames are looked for: near at first.
const NEAR: usize = 8;
const FAR: usize = 64;
/// More places are not told apart.
const MOST_SITES: usize = 100_000;

/// Method and place in it.
type Key = Box<[(usize, i64)]>;

#[derive(Clone, Copy)]
enum SiteLookup {
    Site(i32),
    /// So near there are too few frames of the program.
    LookFurther,
}

#[derive(Default)]
struct Sites {
    /// By the hash of a stack; of several with the same hash any but the first is looked for each time.
    places: HashMap<u64, (Key, SiteLookup)>,
    frames: Vec<Vec<String>>,
}

impl Sites {
    fn find(&self, hash: u64, stack: &[FrameInfo]) -> Option<SiteLookup> {
        let (key, place) = self.places.get(&hash)?;
        let same = key.len() == stack.len()
            && key
                .iter()
                .zip(stack)
                .all(|(&known, frame)| known == of(frame));
        same.then_some(*place)
    }
}

fn of(frame: &FrameInfo) -> (usize, i64) {
    (frame.method.0 as usize, frame.location)
}

/// Fowler, Noll and Vo's hash, by words.
fn hash(stack: &[FrameInfo]) -> u64 {
    let words = stack.iter().map(of);
    words.fold(0xcbf2_9ce4_8422_2325, |hash, (method, location)| {
        let mixed = (hash ^ method as u64).wrapping_mul(0x0100_0000_01b3);
        (mixed ^ location as u64)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(23)
    })
}

fn sites() -> &'static RwLock<Sites> {
    static SITES: OnceLock<RwLock<Sites>> = OnceLock::new();
    SITES.get_or_init(RwLock::default)
}

fn environment() -> Option<Jvmti> {
    static ENVIRONMENT: OnceLock<Option<Jvmti>> = OnceLock::new();
    *ENVIRONMENT.get_or_init(|| environments::sites(vm()?).ok())
}

extern "C" fn site(jni: Jni, _: Handle) -> i32 {
    guarded(0, || {
        let Some(jvmti) = environment() else { return 0 };
        let mut near = [FrameInfo::EMPTY; NEAR];
        let count = jvmti.stack_from(Handle::NULL, OWN, &mut near);
        match place(jvmti, jni, &near[..count], count == NEAR) {
            SiteLookup::Site(site) => site,
            SiteLookup::LookFurther => {
                let mut far = vec![FrameInfo::EMPTY; FAR];
                let count = jvmti.stack_from(Handle::NULL, OWN, &mut far);
                match place(jvmti, jni, &far[..count], false) {
                    SiteLookup::Site(site) => site,
                    SiteLookup::LookFurther => 0,
                }
            }
        }
    })
}

fn place(jvmti: Jvmti, jni: Jni, stack: &[FrameInfo], may_look_further: bool) -> SiteLookup {
    let hash = hash(stack);
    let sites = sites();
    let known = sites.read().map(|sites| sites.find(hash, stack));
    if let Ok(Some(place)) = known {
        return place;
    }
    // The methods are on the stack of this thread, so their classes are there.
    let program = stack
        .iter()
        .filter_map(|frame| words(jvmti, jni, frame))
        .take(FRAMES);
    let program: Vec<String> = program.collect();
    let Ok(mut sites) = sites.write() else {
        return SiteLookup::Site(0);
    };
    if sites.frames.is_empty() {
        // Site 0 is the unknown place.
        sites.frames.push(Vec::new());
    }
    let place = if program.len() < FEW_FRAMES && may_look_further {
        SiteLookup::LookFurther
    } else if sites.frames.len() < MOST_SITES {
        sites.frames.push(program);
        SiteLookup::Site(sites.frames.len() as i32 - 1)
    } else {
        SiteLookup::Site(0)
    };
    if sites.places.len() < 2 * MOST_SITES {
        let key = stack.iter().map(of).collect();
        sites.places.entry(hash).or_insert((key, place));
    }
    place
}

/// Packages that are not the program's: the API, the JDK, and what runs tests, which is around every one of them.
const FOREIGN: [&str; 6] = [
    "dev.anthill.",
    "java.",
    "jdk.",
    "sun.",
    "org.junit.",
    "org.apache.maven.surefire.",
];

/// A frame of the program such as `com.app.Main.run(Main.java:12)`; nothing for others.
fn words(jvmti: Jvmti, jni: Jni, frame: &FrameInfo) -> Option<String> {
    let method = jvmti.method(jni, frame.method)?;
    let class = method.class.strip_prefix('L')?.strip_suffix(';')?;
    let class = class.replace('/', ".");
    if FOREIGN.iter().any(|package| class.starts_with(package)) || class.contains("$$Lambda") {
        return None;
    }
    let before = method
        .lines
        .iter()
        .filter(|(start, _)| i64::from(*start) <= frame.location);
    let line = before.max_by_key(|(start, _)| *start);
    let place = match (&method.source, line) {
        (Some(source), Some((_, line))) => format!("{source}:{line}"),
        (Some(source), None) => source.clone(),
        (None, _) => "Unknown Source".to_owned(),
    };
    Some(format!("{class}.{}({place})", method.name))
}

extern "C" fn frames(jni: Jni, _: Handle, site: i32) -> Handle {
    guarded(Handle::NULL, || {
        let frames = sites().read().ok().and_then(|sites| {
            let site = usize::try_from(site).ok()?;
            sites.frames.get(site).cloned()
        });
        let frames = frames.unwrap_or_default();
        let frames = frames.iter().map(|frame| Some(frame.as_str()));
        jni.new_texts(frames).unwrap_or(Handle::NULL)
    })
}
