//! Leak patterns: known ways to leak or waste memory, recognised by what they look like in the heap. A
//! pattern is named only with the evidence for it, as objects, classes and numbers: sentences are not
//! written here.

use anthill_graph::{Graph, NodeId, Paths};
use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, ObjectId, Root, RootOrigin, Value};
use anthill_paths::ReadablePath;
use anthill_session::{Session, edge_kind};
use rustc_hash::FxHashSet;

use crate::loader_holders::{CommonHolder, LoaderHolder, LoaderHolders};
use crate::loaders::is_stopped;
use crate::outside::Outside;
use crate::report::ContainedClass;
use crate::suspects::{Subject, Thresholds};

/// Objects of a class that are looked at.
const SAMPLE: usize = 256;
/// Steps that a search from a single object makes at most.
const NEARBY: usize = 2_000;
/// Steps of a path that are near to its end: what is further away is about something else.
const NEAR: usize = 4;
/// Elements of an array that are looked at.
const ELEMENTS: u32 = 1 << 22;
/// A queue of fewer references is no backlog.
const BACKLOG: u64 = 1_000;

/// Threads of fewer pools are explained by what each pool is for.
const SEVERAL_POOLS: usize = 4;

const THREAD_POOL: &str = "java.util.concurrent.ThreadPoolExecutor";
const WORKER: &str = "java.util.concurrent.ThreadPoolExecutor$Worker";
const THREAD_LOCAL_ENTRY: &str = "java.lang.ThreadLocal$ThreadLocalMap$Entry";

/// A known way to leak or waste memory that something looks like, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A component was stopped, but something outside still refers to its class loader.
    LeakedLoader {
        /// The directory of the component, if the loader has it.
        folder: Option<String>,
        /// The state of the component, if the loader has it: `STOPPED`.
        state: Option<String>,
        /// Everything outside that keeps the loader alive.
        holders: Vec<LoaderHolder>,
    },
    /// A static field holds a collection that has grown large.
    StaticCollection {
        /// From the static field to the collection, as in [`ReadablePath::short`].
        path: String,
        /// The class of the collection.
        class: ClassId,
    },
    /// Values of a `ThreadLocal`, which live as long as their thread.
    ThreadLocalValue {
        /// How many of the objects are such values.
        values: u64,
        /// How many objects were looked at.
        examined: u64,
        /// The variable whose values they are, if it is one and the same.
        variable: Option<NodeId>,
        /// The thread of one of them, if it is known.
        thread: Option<NodeId>,
    },
    /// Threads of thread pools that were never shut down.
    ThreadPools {
        /// How many of the threads work for such a pool.
        threads: u64,
        /// How many threads were looked at.
        examined: u64,
        /// How many pools they work for.
        pools: u64,
        /// The class of one of the pools.
        class: ClassId,
    },
    /// Listeners that were registered and never removed.
    Listeners(ListenerSign),
    /// Objects kept alive by the hidden reference of an inner class or lambda.
    InnerClass {
        /// The class of the objects.
        class: ClassId,
        /// How many of the objects are held so.
        held: u64,
        /// How many objects were looked at.
        examined: u64,
        /// The name of the hidden reference.
        field: String,
        /// An object that has it.
        holder: NodeId,
    },
    /// An array still refers to what its owner no longer counts.
    ObsoleteReferences {
        /// The owner of the array.
        holder: NodeId,
        /// The owner's field that counts.
        field: &'static str,
        /// The number in the field.
        size: u64,
        /// How many elements beyond that are not null.
        beyond: u64,
    },
    /// The values of a weak map's entries reach the keys, which can so never be collected.
    WeakMapValue {
        /// How many of the entries are such.
        reaching: u64,
        /// How many entries were looked at.
        examined: u64,
    },
    /// References wait in a queue for somebody to take them out.
    ReferenceQueue {
        /// The queue.
        queue: NodeId,
        /// How many references wait.
        references: u64,
    },
    /// Memory outside of the heap that buffers in it own.
    OffHeap {
        /// How many buffers.
        buffers: u64,
        /// The bytes that they own.
        bytes: u64,
    },
    /// Strings that only the table of interned strings refers to.
    InternedStrings {
        /// How many strings.
        unused: u64,
        /// How many strings are interned.
        all: u64,
        /// The bytes that the unused ones retain.
        bytes: u64,
    },
}

/// What listeners were recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerSign {
    /// The path leads through a field of such a name.
    Field(String),
    /// Objects of a class of such a name are kept alive.
    Objects {
        /// The class.
        class: ClassId,
        /// How many objects.
        objects: u64,
    },
}

/// A suspect as its patterns see it.
pub(crate) struct Scene<'a> {
    pub session: &'a Session,
    pub graph: &'a Graph<'a>,
    pub paths: &'a Paths,
    pub subject: &'a Subject,
    pub accumulation: Option<NodeId>,
    pub common: Option<&'a CommonHolder>,
    pub owner_paths: &'a [(NodeId, ReadablePath)],
    /// All that would die with the suspect.
    pub closure: &'a BitSet,
    pub contents: &'a [ContainedClass],
}

impl Scene<'_> {
    pub(crate) fn patterns(&self) -> Vec<Pattern> {
        let found = [
            self.leaked_loader(),
            self.thread_pools(),
            self.thread_locals(),
            self.obsolete_references(),
            self.inner_class(),
            self.weak_map(),
            self.listeners(),
            self.static_collection(),
        ];
        found.into_iter().flatten().collect()
    }

    fn class_name(&self, node: NodeId) -> &str {
        let state = self.session.state();
        if node < state.len() {
            &state.class(node).name
        } else {
            ""
        }
    }

    fn leaked_loader(&self) -> Option<Pattern> {
        let holders = LoaderHolders::new(self.session, self.graph, self.paths);
        let loader = match self.subject {
            Subject::Loader(loader) => *loader,
            Subject::Alike(alike) if self.common.is_some() => holders.loader_of(*alike.first()?)?,
            _ => return None,
        };
        let state = self.session.loader_state(loader);
        if state.as_deref().is_some_and(|state| !is_stopped(state)) {
            // A component that runs needs its loader.
            return None;
        }
        Some(Pattern::LeakedLoader {
            folder: self.session.application_folder(loader),
            state,
            holders: holders.all(loader).ok()?,
        })
    }

    /// Several pools whose threads are many together.
    fn thread_pools(&self) -> Option<Pattern> {
        let threads: Vec<NodeId> = match self.subject {
            Subject::Alike(threads) => threads.clone(),
            &Subject::Class(class) => {
                let values = self.session.objects_of_class(class).take(SAMPLE);
                let top = |value: NodeId| self.paths.to(value)?.first().copied();
                values.filter_map(top).collect()
            }
            _ => return None,
        };
        let state = self.session.state();
        let worker = |thread: NodeId| {
            let near = state.references(thread).iter();
            let mut near = near.flat_map(|&near| {
                std::iter::once(near).chain(state.references(near).iter().copied())
            });
            near.find(|&node| self.class_name(node) == WORKER)
        };
        let pool = |&thread: &NodeId| {
            let worker = worker(thread).filter(|_| self.session.is_thread(thread))?;
            let mut near = state.references(worker).iter().copied();
            let pool = near.find(|&node| state.extends(state.class_id(node), THREAD_POOL))?;
            self.is_running(pool).then_some(pool)
        };
        let mut pools: Vec<NodeId> = threads.iter().filter_map(pool).collect();
        let found = pools.len();
        pools.sort_unstable();
        pools.dedup();
        let class = pools.first().map(|&pool| state.class_id(pool))?;
        (found * 2 > threads.len() && pools.len() >= SEVERAL_POOLS).then_some(
            Pattern::ThreadPools {
                threads: found as u64,
                examined: threads.len() as u64,
                pools: pools.len() as u64,
                class,
            },
        )
    }

    /// Whether a pool takes tasks: its `ctl` is negative only until it is shut down.
    fn is_running(&self, pool: NodeId) -> bool {
        let (state, records) = (self.session.state(), self.session.records());
        let ctl = records.field_object(state, pool, "ctl");
        let value = ctl.and_then(|ctl| records.field(state, ctl, "value"));
        matches!(value, Some(Value::Int(ctl)) if ctl < 0)
    }

    fn thread_locals(&self) -> Option<Pattern> {
        let owners: Vec<NodeId> = match self.subject {
            &Subject::Class(class) => self.session.objects_of_class(class).take(SAMPLE).collect(),
            _ => self.owner_paths.iter().map(|&(owner, _)| owner).collect(),
        };
        let entry = |&owner: &NodeId| {
            let path = self.paths.to(owner).unwrap_or_default();
            let mut nodes = path.iter().copied();
            nodes.find(|&node| self.class_name(node) == THREAD_LOCAL_ENTRY)
        };
        let entries: Vec<NodeId> = owners.iter().filter_map(entry).collect();
        if entries.len() * 2 <= owners.len() {
            return None;
        }
        let variable = |&entry: &NodeId| Some(self.session.state().referent(entry)?.0);
        let first = entries.first().and_then(variable);
        let is_same = entries.iter().all(|entry| variable(entry) == first);
        let steps = self.owner_paths.iter().flat_map(|(_, path)| &path.steps);
        let mut nodes = steps.map(|step| step.node);
        Some(Pattern::ThreadLocalValue {
            values: entries.len() as u64,
            examined: owners.len() as u64,
            variable: first.filter(|_| is_same),
            thread: nodes.find(|&node| self.session.is_thread(node)),
        })
    }

    fn static_collection(&self) -> Option<Pattern> {
        let structures = self.session.structures().ok()?;
        if matches!(self.subject, Subject::Loader(_)) {
            return None;
        }
        let is_collection = |node: NodeId| structures.of_head(node).is_some();
        // Further away from the field it belongs to something else: to a database, a server.
        let is_near = |path: &ReadablePath| path.short.matches(" → ").count() < NEAR - 1;
        let (owner, path) = self.owner_paths.iter().find(|(owner, path)| {
            path.short.starts_with("static field") && is_near(path) && is_collection(*owner)
        })?;
        Some(Pattern::StaticCollection {
            path: path.short.clone(),
            class: self.session.state().class_id(*owner),
        })
    }

    fn listeners(&self) -> Option<Pattern> {
        let words = ["listener", "observer", "subscriber", "callback"];
        let is_one = |text: &str| {
            let text = text.to_ascii_lowercase();
            words.iter().any(|word| text.contains(word))
        };
        let field = self.owner_paths.iter().find_map(|(_, path)| {
            let steps = path.steps.iter().rev().take(NEAR);
            let mut fields = steps.filter_map(|step| step.via.as_ref());
            fields.find(|via| is_one(via))
        });
        if let Some(field) = field {
            return Some(Pattern::Listeners(ListenerSign::Field(field.clone())));
        }
        let classes = self.session.state().classes();
        let mut contents = self.contents.iter();
        let &ContainedClass { class, objects, .. } = contents
            .find(|content| content.objects > 1 && is_one(&classes[content.class as usize].name))?;
        Some(Pattern::Listeners(ListenerSign::Objects { class, objects }))
    }

    /// Whether many objects of what is kept alive are held by a hidden reference.
    fn inner_class(&self) -> Option<Pattern> {
        let state = self.session.state();
        let dominators = self.session.owner_dominators().ok()?;
        let hidden_field = |&object: &NodeId| {
            let above = dominators.chain(object).next()?;
            let is_array = above < state.len() && state.array_length(above).is_some();
            let above = Some(above).filter(|_| !is_array)?;
            let kind = edge_kind(self.graph, above, object)?;
            let name = self.session.edge_name(above, object, kind);
            // What a lambda captured besides its outer object was meant to be captured.
            let is_outer = || {
                let (lambda, outer) = (self.class_name(above), self.class_name(object));
                let of_outer = lambda.strip_prefix(outer);
                of_outer.is_some_and(|rest| rest.starts_with("$$Lambda"))
            };
            let is_hidden = name.starts_with("this$") || name.starts_with("arg$") && is_outer();
            is_hidden.then_some((above, name))
        };
        let own = self.contents.iter().filter(|content| {
            let class = &state.classes()[content.class as usize];
            content.objects > 1 && !matches!(class.kind, ClassKind::Array(_))
        });
        for &ContainedClass { class, objects, .. } in own {
            let members = self.session.objects_of_class(class);
            let members = members.filter(|&object| self.closure.contains(object));
            let every = (objects as usize / SAMPLE).max(1);
            let sample: Vec<NodeId> = members.step_by(every).take(SAMPLE).collect();
            let mut held: Vec<(NodeId, String)> = sample.iter().filter_map(hidden_field).collect();
            if held.len() * 2 > sample.len() {
                let held_so = held.len() as u64;
                let (holder, field) = held.swap_remove(0);
                return Some(Pattern::InnerClass {
                    class,
                    held: held_so,
                    examined: sample.len() as u64,
                    field,
                    holder,
                });
            }
        }
        None
    }

    /// An array whose owner counts fewer elements than it refers to.
    fn obsolete_references(&self) -> Option<Pattern> {
        let (state, records) = (self.session.state(), self.session.records());
        let dominators = self.session.owner_dominators().ok()?;
        let owners = self.owner_paths.iter().map(|&(owner, _)| owner);
        let is_array = |node: &NodeId| {
            *node < state.len() && state.class(*node).kind == ClassKind::Array(FieldType::Object)
        };
        let array = self.accumulation.into_iter().chain(owners).find(is_array)?;
        let holder = dominators
            .chain(array)
            .next()
            .filter(|&node| node < state.len())?;
        if self.class_name(holder) == "java.util.IdentityHashMap" {
            // Its size is a number of pairs.
            return None;
        }
        let counts = [
            "size",
            "count",
            "top",
            "length",
            "elementCount",
            "used",
            "n",
        ];
        let counted = |field| match records.field(state, holder, field)? {
            Value::Int(size) => Some((field, u32::try_from(size).ok()?)),
            _ => None,
        };
        let (field, size) = counts.into_iter().find_map(counted)?;
        let length = state.array_length(array)?.min(ELEMENTS);
        let beyond = records.elements(state, array, size.min(length)..length);
        let beyond = beyond
            .iter()
            .filter(|value| !matches!(value, Value::Object(0)))
            .count();
        if beyond <= size as usize {
            return None;
        }
        Some(Pattern::ObsoleteReferences {
            holder,
            field,
            size: size.into(),
            beyond: beyond as u64,
        })
    }

    fn weak_map(&self) -> Option<Pattern> {
        let (state, records) = (self.session.state(), self.session.records());
        let is_entry =
            |class: ClassId| state.classes()[class as usize].name == "java.util.WeakHashMap$Entry";
        let class = self
            .contents
            .iter()
            .map(|content| content.class)
            .find(|&class| is_entry(class))?;
        let entries = self.session.objects_of_class(class);
        let sample: Vec<ObjectId> = entries
            .filter(|&entry| self.closure.contains(entry))
            .take(SAMPLE)
            .collect();
        let reaches_key = |&&entry: &&ObjectId| {
            let key = state.referent(entry).map(|(key, _)| key);
            let value = records.field_object(state, entry, "value");
            match (key, value) {
                (Some(key), Some(value)) => self.reaches(value, key),
                _ => false,
            }
        };
        let reaching = sample.iter().filter(reaches_key).count();
        if reaching * 2 <= sample.len() {
            return None;
        }
        Some(Pattern::WeakMapValue {
            reaching: reaching as u64,
            examined: sample.len() as u64,
        })
    }

    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        let mut seen = FxHashSet::from_iter([from]);
        let mut work = vec![from];
        while let Some(node) = work.pop().filter(|_| seen.len() < NEARBY) {
            if node == to {
                return true;
            }
            work.extend(
                self.graph
                    .referenced(node)
                    .filter(|&next| seen.insert(next)),
            );
        }
        false
    }
}

/// Patterns that no suspect is needed for.
pub(crate) fn heap_patterns(session: &Session, thresholds: &Thresholds) -> Vec<Pattern> {
    let found = [
        reference_queues(session),
        off_heap(session, thresholds),
        interned_strings(session),
    ];
    found.into_iter().flatten().collect()
}

fn reference_queues(session: &Session) -> Option<Pattern> {
    let (state, records) = (session.state(), session.records());
    let dominators = &session.analysis().ok()?.dominators;
    let extends_queue = |&class: &ClassId| state.extends(class, "java.lang.ref.ReferenceQueue");
    let classes = (0..state.classes().len() as ClassId).filter(extends_queue);
    let queues = classes.flat_map(|class| session.objects_of_class(class));
    let length = |queue: NodeId| match records.field(state, queue, "queueLength") {
        Some(Value::Long(length)) if dominators.is_reachable(queue) => {
            (u64::try_from(length).unwrap_or_default(), queue)
        }
        _ => (0, queue),
    };
    let (references, queue) = queues.map(length).max()?;
    (references >= BACKLOG).then_some(Pattern::ReferenceQueue { queue, references })
}

/// Only sources whose roots tell which strings are interned: Android's and old ones.
fn interned_strings(session: &Session) -> Option<Pattern> {
    let state = session.state();
    let analysis = session.analysis().ok()?;
    let mut only_interned = BitSet::new(state.len() as usize);
    let is_interned = |root: &&Root| root.origin == RootOrigin::InternedString;
    let roots = &state.tables.roots;
    let interned = roots.iter().filter(is_interned);
    interned.for_each(|root| only_interned.insert(root.object));
    let all = only_interned.count() as u64;
    let others = roots.iter().filter(|root| !is_interned(root));
    others.for_each(|root| only_interned.remove(root.object));
    if only_interned.is_empty() {
        return None;
    }
    let holders = (0..state.len()).filter(|&from| analysis.dominators.is_reachable(from));
    for from in holders {
        let held = state.references(from).iter();
        held.for_each(|&to| only_interned.remove(to));
    }
    let retained = |string: ObjectId| analysis.dominators.retained(string);
    let bytes: u64 = only_interned.iter().map(retained).sum();
    if bytes.saturating_mul(100) < analysis.total().retained || bytes == 0 {
        return None;
    }
    Some(Pattern::InternedStrings {
        unused: only_interned.count() as u64,
        all,
        bytes,
    })
}

/// Few bytes are not worth a word: every program has some.
fn off_heap(session: &Session, thresholds: &Thresholds) -> Option<Pattern> {
    let outside = Outside::new(session).ok()?;
    let reachable = session.analysis().ok()?.total().retained;
    let is_large = outside.is_large(reachable, thresholds);
    is_large.then_some(Pattern::OffHeap {
        buffers: outside.buffers.len() as u64,
        bytes: outside.bytes,
    })
}
