//! A heap dump by the JVM's own dumper, with the places of the followed objects.

use std::fs;

use anthill_wire::{FromAgent, Identities, StateDone, TakeDump};

use crate::clock;
use crate::follow::{Followed, Reading};
use crate::headroom::Headroom;
use crate::jni::{Argument, Handle, Jni, Member, Vm};
use crate::session::{Session, locked};

/// Pairs in one message.
const PAIRS: usize = 1 << 16;

/// The JVM's management functions, called from inside: their Java half is in the module `jdk.management`. Instances
/// are made without constructors, and no bean is registered.
pub(crate) struct Management {
    commands: Handle,
    execute: Member,
    diagnostics: Handle,
    dump: Member,
}

impl Management {
    pub(crate) fn new(jni: Jni) -> Result<Management, String> {
        jni.in_frame(|| {
            // Its static initializer loads the library with the native half.
            jni.find_class(c"com/sun/management/internal/PlatformMBeanProviderImpl")?;
            let commands = jni.find_class(c"com/sun/management/internal/DiagnosticCommandImpl")?;
            let signature = c"(Ljava/lang/String;)Ljava/lang/String;";
            let execute = jni.method(commands, c"executeDiagnosticCommand", signature)?;
            let diagnostics = jni.find_class(c"com/sun/management/internal/HotSpotDiagnostic")?;
            let dump = jni.method(diagnostics, c"dumpHeap0", c"(Ljava/lang/String;Z)V")?;
            Ok(Management {
                commands: jni.new_global(jni.alloc_object(commands)?),
                execute,
                diagnostics: jni.new_global(jni.alloc_object(diagnostics)?),
                dump,
            })
        })
    }

    /// Runs a diagnostic command; heap dumps are not among those that may be run this way.
    pub(crate) fn run(&self, jni: Jni, command: &str) -> Result<String, String> {
        jni.in_frame(|| {
            let arguments = [Argument::object(jni.new_string(command)?)];
            let answer = jni.call_object(self.commands, self.execute, &arguments)?;
            Ok(jni.text(answer))
        })
    }

    /// Writes a dump of all objects, without a collection before it.
    fn dump(&self, jni: Jni, path: &str) -> Result<(), String> {
        jni.in_frame(|| {
            let path = Argument::object(jni.new_string(path)?);
            let live_only = Argument::flag(false);
            jni.call_void(self.diagnostics, self.dump, &[path, live_only])
        })
    }

    pub(crate) fn close(self, jni: Jni) {
        jni.delete_global(self.commands);
        jni.delete_global(self.diagnostics);
    }
}

/// Where the followed objects are in a dump.
struct Places {
    /// Id and address.
    pairs: Vec<(u64, u64)>,
    /// The last collection before the dump.
    gc: u32,
    missing: Option<String>,
}

/// What taking dumps needs to know about the JVM.
pub(crate) struct Dumper {
    pub management: Result<Management, String>,
    /// Nothing if addresses cannot be had, with the reason.
    pub reading: Result<Reading, String>,
    /// What every search for head classes' instances waits for, or why there can be none.
    pub searching: Result<Headroom, String>,
}

impl Dumper {
    /// Takes a dump and reports where the followed objects are in it.
    pub(crate) fn take(&self, session: &Session, vm: Vm, jni: Jni, order: &TakeDump) -> StateDone {
        let stopwatch = Stopwatch::start(session);
        let mut missing = None;
        if order.collect {
            if let Err(code) = session.jvmti.force_gc() {
                missing = Some(format!(
                    "the garbage collection before it failed: {}",
                    crate::jvmti::meaning(code)
                ));
            }
        }
        // Taken out, so that sampled objects can be added meanwhile without waiting.
        let mut followed = std::mem::take(&mut *locked(&session.followed));
        if order.limit > 0 {
            followed.set_limit(order.limit as usize);
        }
        if order.find_heads && order.limit > 0 {
            let searching = self.searching.as_ref().map_err(Clone::clone);
            let found = searching.and_then(|headroom| {
                let loaded = session.classes_loaded();
                let room = || headroom.wait(session, jni);
                followed.find_heads(vm, jni, &session.symbols, loaded, room)
            });
            missing = found.err().or(missing);
        }
        let result = self.dump_with_addresses(session, jni, order, &mut followed);
        session.put_back(followed);

        let mut done = stopwatch.done(session, order.order);
        match result {
            Err(why) => done.failure = Some(why),
            Ok(places) => {
                done.gc = places.gc;
                done.objects = places.pairs.len() as u64;
                done.identities_missing = missing.or(places.missing);
                for part in places.pairs.chunks(PAIRS) {
                    session.outbox.say(&FromAgent::Identities(Identities {
                        order: order.order,
                        objects: part.to_vec(),
                    }));
                }
            }
        }
        done
    }

    fn dump_with_addresses(
        &self,
        session: &Session,
        jni: Jni,
        order: &TakeDump,
        followed: &mut Followed,
    ) -> Result<Places, String> {
        let reading = self.reading.as_ref();
        let addresses = |followed: &Followed| match reading {
            Ok(&reading) if order.limit > 0 => followed.addresses(jni, reading),
            _ => Vec::new(),
        };
        let gc = session.pauses.count();
        let before = addresses(followed);
        self.dump(jni, order)?;
        let after = addresses(followed);
        let collections = session.pauses.count() - gc;

        let pairs = unmoved(followed, &before, &after, collections);
        let lost = before.iter().filter(|&&address| address != 0).count() - pairs.len();
        let why = match reading {
            Err(why) if order.limit > 0 => Some(why.clone()),
            Ok(_) if lost > 0 => Some(format!(
                "{lost} objects moved or died between the dump and the reading of their addresses"
            )),
            _ => None,
        };
        if !after.is_empty() {
            followed.forget_dead(jni, &after);
        }
        Ok(Places {
            pairs,
            gc,
            missing: why,
        })
    }

    /// Forgets the followed objects that died.
    pub(crate) fn forget_dead(&self, session: &Session, jni: Jni) {
        let Ok(reading) = self.reading else { return };
        let mut followed = std::mem::take(&mut *locked(&session.followed));
        let addresses = followed.addresses(jni, reading);
        followed.forget_dead(jni, &addresses);
        session.put_back(followed);
    }

    fn dump(&self, jni: Jni, order: &TakeDump) -> Result<(), String> {
        let management = self.management.as_ref().map_err(Clone::clone)?;
        // The JVM refuses to overwrite; whatever else is wrong with the path it says itself.
        let _ = fs::remove_file(&order.path);
        management
            .dump(jni, &order.path)
            .map_err(|why| format!("the JVM wrote no dump to {}: {why}", order.path))
    }
}

/// The objects that were at the same place before and after the dump, so that they were there in it. After two collections
/// an object can be back where it was, so then none is believed.
fn unmoved(
    followed: &Followed,
    before: &[u64],
    after: &[u64],
    collections: u32,
) -> Vec<(u64, u64)> {
    if collections > 1 {
        return Vec::new();
    }
    let places = before.iter().zip(after);
    followed
        .ids()
        .zip(places)
        .filter(|&(_, (before, after))| before == after && *before != 0)
        .map(|(id, (&before, _))| (id, before))
        .collect()
}

/// Measures how long an order took and the program stood still for it.
pub(crate) struct Stopwatch {
    start_ns: u64,
    stopped: Option<u64>,
}

impl Stopwatch {
    pub(crate) fn start(session: &Session) -> Stopwatch {
        Stopwatch {
            start_ns: clock::now(),
            stopped: session.stopped_ns(),
        }
    }

    pub(crate) fn done(&self, session: &Session, order: u32) -> StateDone {
        let end_ns = clock::now();
        let stopped = self
            .stopped
            .and_then(|before| Some(session.stopped_ns()?.saturating_sub(before)))
            // The JVM may count a pause only a moment after it is over.
            .filter(|&stopped| stopped > 0)
            // So one that was over or had begun before counts here as well.
            .map(|stopped| stopped.min(end_ns - self.start_ns));
        StateDone {
            order,
            failure: None,
            identities_missing: None,
            start_ns: self.start_ns,
            end_ns,
            pause_ns: stopped.unwrap_or(end_ns - self.start_ns),
            pause_measured: stopped.is_some(),
            gc: session.pauses.count(),
            objects: 0,
            references: 0,
        }
    }
}
