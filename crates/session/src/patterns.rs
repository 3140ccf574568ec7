//! Known ways to leak, recognised by what they look like in the heap. A pattern is named only with
//! the evidence for it.

use anthill_graph::{Graph, NodeId, Paths};
use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, ObjectId, Root, RootOrigin, Value};
use anthill_leaks::Subject;
use rustc_hash::FxHashSet;

use crate::Session;
use crate::labels::{edge_kind, quoted};
use crate::report::Content;
use crate::ways::{PathStep, Way};

/// Objects of a class that are looked at.
const SAMPLE: usize = 256;
/// Steps that a search from a single object makes at most.
const NEARBY: usize = 2_000;
/// Elements of an array that are looked at.
const ELEMENTS: u32 = 1 << 22;
/// A queue of fewer references is no backlog.
const BACKLOG: i64 = 1_000;
/// Characters of a folder's name that are shown.
const FOLDER: usize = 200;

const THREAD_LOCAL_ENTRY: &str = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
const SHUTDOWN_HOOKS: &str = "static field java.lang.ApplicationShutdownHooks.";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// A component was stopped, but something outside still refers to its class loader.
    LeakedLoader,
    /// A static field holds a collection that has grown large.
    StaticCollection,
    /// A value of a `ThreadLocal` that lives as long as its thread.
    ThreadLocalValue,
    /// Listeners that were registered and never removed.
    Listeners,
    /// Objects kept alive by the hidden reference of an inner class or lambda.
    InnerClass,
    /// An array still refers to what its owner no longer counts.
    ObsoleteReferences,
    /// The value of a weak map's entry reaches the key, which can so never be collected.
    WeakMapValue,
    /// References wait in a queue for somebody to take them out.
    ReferenceQueue,
    /// Memory outside of the heap that buffers in it own.
    OffHeap,
    /// Strings that only the table of interned strings refers to.
    InternedStrings,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub kind: PatternKind,
    /// What was seen, in a sentence.
    pub evidence: String,
}

/// Whether a component whose loader is in this state (of Tomcat's `LifecycleState`) has ended.
pub(crate) fn is_stopped(state: &str) -> bool {
    ["STOPPING", "STOPPED", "DESTROYING", "DESTROYED", "FAILED"].contains(&state)
}

fn pattern(kind: PatternKind, evidence: String) -> Option<Pattern> {
    Some(Pattern { kind, evidence })
}

/// A suspect as its patterns see it.
pub(crate) struct Scene<'a> {
    pub session: &'a Session,
    pub graph: &'a Graph<'a>,
    pub paths: &'a Paths,
    pub subject: &'a Subject,
    pub accumulation: Option<NodeId>,
    pub ways: &'a [(NodeId, Way)],
    /// All that would die with the suspect.
    pub closure: &'a BitSet,
    pub contents: &'a [Content],
}

impl Scene<'_> {
    pub fn patterns(&self) -> Vec<Pattern> {
        let found = [
            self.leaked_loader(),
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
        let &Subject::Loader(loader) = self.subject else {
            return None;
        };
        let state = self.session.loader_state(loader);
        if state.as_deref().is_some_and(|state| !is_stopped(state)) {
            // A component that runs needs its loader.
            return None;
        }
        let (_, way) = self.ways.first()?;
        let holder = self.outside_holder(way);
        let holder = holder.unwrap_or_else(|| way.short.clone());
        let folder = self.session.application_folder(loader);
        let of = folder.map_or(String::new(), |folder| {
            format!(" of {}", quoted(&folder, FOLDER))
        });
        let evidence = match state {
            Some(state) => format!("The loader{of} is {state}, but still held through {holder}."),
            None => format!("The loader{of} is held through {holder}."),
        };
        pattern(PatternKind::LeakedLoader, evidence)
    }

    /// What kind of thing outside of a component its loader is reached through, if there is a word
    /// for it. A shortest path leaves no class of the component by a static field, since every class
    /// leads to the loader directly: a static field on the path is one of somebody else.
    fn outside_holder(&self, way: &Way) -> Option<String> {
        let label = |node: NodeId| self.session.label(node).to_string();
        let position = |class: &str| {
            let mut steps = way.steps.iter();
            steps.position(|step| self.class_name(step.node) == class)
        };
        let held_by = |at: usize| way.steps.get(at + 1).map(|step| label(step.node));
        let is_thread = |step: &&PathStep| self.session.is_thread(step.node);
        if let Some(at) = position(THREAD_LOCAL_ENTRY) {
            let thread = way.steps[..at].iter().rfind(is_thread);
            let of = thread.map_or(String::new(), |thread| {
                format!(" of {}", label(thread.node))
            });
            return Some(format!("a thread-local value{of}: {}", held_by(at)?));
        }
        if let Some(at) = position("java.sql.DriverInfo") {
            let driver = held_by(at)?;
            return Some(format!("a JDBC driver that is still registered ({driver})"));
        }
        if way.short.starts_with(SHUTDOWN_HOOKS) {
            let hook = way.steps.iter().rfind(is_thread)?;
            return Some(format!("a shutdown hook ({})", label(hook.node)));
        }
        if way.short.starts_with("static field") {
            return None;
        }
        let thread = way.steps.first().filter(is_thread);
        thread.map(|step| format!("a running thread ({})", label(step.node)))
    }

    fn thread_locals(&self) -> Option<Pattern> {
        let owners: Vec<NodeId> = match self.subject {
            &Subject::Class(class) => self.session.objects_of_class(class).take(SAMPLE).collect(),
            _ => self.ways.iter().map(|&(owner, _)| owner).collect(),
        };
        let through_entry = |&owner: &NodeId| {
            let path = self.paths.to(owner).unwrap_or_default();
            path.iter()
                .any(|&node| self.class_name(node) == THREAD_LOCAL_ENTRY)
        };
        let held = owners.iter().filter(|owner| through_entry(owner)).count();
        let thread = self.ways.iter().flat_map(|(_, way)| &way.steps);
        let thread = thread
            .map(|step| step.node)
            .find(|&node| self.session.is_thread(node));
        let thread = thread.map_or(String::new(), |thread| {
            format!(" of {}", self.session.label(thread))
        });
        if held * 2 <= owners.len() {
            return None;
        }
        let evidence = match owners.len() {
            1 => format!("It is held by a thread-local value{thread}."),
            all => format!("{held} of {all} are thread-local values, for example{thread}."),
        };
        pattern(PatternKind::ThreadLocalValue, evidence)
    }

    fn static_collection(&self) -> Option<Pattern> {
        let (owner, way) = self.ways.iter().find(|(owner, way)| {
            way.short.starts_with("static field") && self.is_collection(*owner)
        })?;
        let evidence = format!("{} is a {}.", way.short, self.class_name(*owner));
        pattern(PatternKind::StaticCollection, evidence)
    }

    fn is_collection(&self, node: NodeId) -> bool {
        let state = self.session.state();
        let roots = [
            "java.util.AbstractCollection",
            "java.util.AbstractMap",
            "java.util.Dictionary",
        ];
        node < state.len()
            && roots
                .iter()
                .any(|root| state.extends(state.class_id(node), root))
    }

    fn listeners(&self) -> Option<Pattern> {
        let words = ["listener", "observer", "subscriber", "callback"];
        let is_one = |text: &str| {
            let text = text.to_ascii_lowercase();
            words.iter().any(|word| text.contains(word))
        };
        let field = self.ways.iter().find_map(|(_, way)| {
            let mut steps = way.steps.iter().filter_map(|step| step.via.as_ref());
            steps.find(|via| is_one(via))
        });
        if let Some(field) = field {
            return pattern(
                PatternKind::Listeners,
                format!("The path leads through `{field}`."),
            );
        }
        let state = self.session.state();
        let class = self.contents.iter().find(|content| {
            content.objects > 1 && is_one(&state.classes()[content.class as usize].name)
        });
        let Content { class, objects, .. } = class?;
        let name = &state.classes()[*class as usize].name;
        pattern(
            PatternKind::Listeners,
            format!("It keeps {objects} objects of {name} alive."),
        )
    }

    /// Whether many objects of what is kept alive are held by a hidden reference.
    fn inner_class(&self) -> Option<Pattern> {
        let state = self.session.state();
        let dominators = &self.session.analysis().ok()?.dominators;
        let hidden_field = |&object: &NodeId| {
            let above = dominators.chain(object).next()?;
            let is_array = above < state.len() && state.array_length(above).is_some();
            let above = Some(above).filter(|_| !is_array)?;
            let kind = edge_kind(self.graph, above, object)?;
            let name = self.session.edge_name(above, object, kind);
            (name.starts_with("this$") || name.starts_with("arg$")).then_some((above, name))
        };
        let own = self.contents.iter().filter(|content| {
            let class = &state.classes()[content.class as usize];
            content.objects > 1 && !matches!(class.kind, ClassKind::Array(_))
        });
        for &Content { class, objects, .. } in own {
            let members = self.session.objects_of_class(class);
            let members = members.filter(|&object| self.closure.contains(object));
            let every = (objects as usize / SAMPLE).max(1);
            let sample: Vec<NodeId> = members.step_by(every).take(SAMPLE).collect();
            let held: Vec<(NodeId, String)> = sample.iter().filter_map(hidden_field).collect();
            if held.len() * 2 > sample.len() {
                let name = &state.classes()[class as usize].name;
                let (holder, field) = &held[0];
                let evidence = format!(
                    "{} of {} {name} that were looked at are only alive through the hidden reference `{field}` of {}.",
                    held.len(),
                    sample.len(),
                    self.class_name(*holder)
                );
                return pattern(PatternKind::InnerClass, evidence);
            }
        }
        None
    }

    /// An array whose owner counts fewer elements than it refers to.
    fn obsolete_references(&self) -> Option<Pattern> {
        let (state, records) = (self.session.state(), self.session.records());
        let dominators = &self.session.analysis().ok()?.dominators;
        let owners = self.ways.iter().map(|&(owner, _)| owner);
        let is_array = |node: &NodeId| {
            *node < state.len() && state.class(*node).kind == ClassKind::Array(FieldType::Object)
        };
        let array = self.accumulation.into_iter().chain(owners).find(is_array)?;
        let holder = dominators
            .chain(array)
            .next()
            .filter(|&node| node < state.len())?;
        let counts = [
            "size",
            "count",
            "top",
            "length",
            "elementCount",
            "used",
            "n",
        ];
        let size = counts
            .iter()
            .find_map(|name| match records.field(state, holder, name)? {
                Value::Int(size) => Some((*name, u32::try_from(size).ok()?)),
                _ => None,
            });
        let (name, size) = size?;
        let length = state.array_length(array)?.min(ELEMENTS);
        let beyond = records.elements(state, array, size.min(length)..length);
        let beyond = beyond
            .iter()
            .filter(|value| !matches!(value, Value::Object(0)))
            .count();
        if beyond <= size as usize {
            return None;
        }
        let evidence = format!(
            "{} has `{name}` {size}, but {beyond} elements of its array beyond that still refer to objects.",
            self.session.label(holder)
        );
        pattern(PatternKind::ObsoleteReferences, evidence)
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
        let evidence = format!(
            "In {reaching} of {} entries that were looked at the value leads back to its own weak key.",
            sample.len()
        );
        pattern(PatternKind::WeakMapValue, evidence)
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

impl Session {
    pub(crate) fn objects_of_class(&self, class: ClassId) -> impl Iterator<Item = NodeId> + '_ {
        let classes: &[ClassId] = &self.state().columns.classes;
        let of_class = (0..).zip(classes).filter(move |&(_, &of)| of == class);
        of_class.map(|(object, _)| object)
    }

    pub(crate) fn is_thread(&self, node: NodeId) -> bool {
        let state = self.state();
        node < state.len() && state.extends(state.class_id(node), "java.lang.Thread")
    }

    /// The state that a web application's class loader says it is in.
    pub(crate) fn loader_state(&self, loader: NodeId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        if loader >= state.len() {
            return None;
        }
        let value = records.field_object(state, loader, "state")?;
        let name = records.field_object(state, value, "name")?;
        records.text(state, name, 40).or_else(|| {
            // Without texts: a constant is in the static field of its name.
            let constant = Value::Object(state.addresses.address(value));
            let mut fields = state.class(value).statics.iter();
            let field = fields.find(|field| field.value == constant)?;
            Some(field.name.clone())
        })
    }

    /// The folder that a class loader of Tomcat loads from: which web application it is of.
    fn application_folder(&self, loader: NodeId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        let list = records.field_object(state, loader, "localRepositories")?;
        let array = records.field_object(state, list, "elementData")?;
        let Some(&Value::Object(address)) = records.elements(state, array, 0..1).first() else {
            return None;
        };
        let url = state.addresses.find(address)?;
        let path = records.field_object(state, url, "path")?;
        let path = records.text(state, path, FOLDER)?;
        let (folder, _) = path.split_once("/WEB-INF/")?;
        Some(folder.to_owned())
    }

    /// Patterns that no suspect is needed for.
    pub(crate) fn heap_patterns(&self) -> Vec<Pattern> {
        let found = [
            self.reference_queues(),
            self.off_heap(),
            self.interned_strings(),
        ];
        found.into_iter().flatten().collect()
    }

    fn reference_queues(&self) -> Option<Pattern> {
        let (state, records) = (self.state(), self.records());
        let dominators = &self.analysis().ok()?.dominators;
        let extends_queue = |&class: &ClassId| state.extends(class, "java.lang.ref.ReferenceQueue");
        let classes = (0..state.classes().len() as ClassId).filter(extends_queue);
        let queues = classes.flat_map(|class| self.objects_of_class(class));
        let length = |queue: NodeId| match records.field(state, queue, "queueLength") {
            Some(Value::Long(length)) if dominators.is_reachable(queue) => (length, queue),
            _ => (0, queue),
        };
        let (length, queue) = queues.map(length).max()?;
        if length < BACKLOG {
            return None;
        }
        let evidence = format!("{length} references wait in {}.", self.label(queue));
        pattern(PatternKind::ReferenceQueue, evidence)
    }

    /// Only sources whose roots tell which strings are interned: Android's and old ones.
    fn interned_strings(&self) -> Option<Pattern> {
        let state = self.state();
        let analysis = self.analysis().ok()?;
        let mut only_interned = BitSet::new(state.len() as usize);
        let is_interned = |root: &&Root| root.origin == RootOrigin::InternedString;
        let roots = &state.tables.roots;
        let interned = roots.iter().filter(is_interned);
        interned.for_each(|root| only_interned.insert(root.object));
        let all = only_interned.count();
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
        let evidence = format!(
            "{} of {all} interned strings are used by nothing else; they retain {bytes} bytes.",
            only_interned.count()
        );
        pattern(PatternKind::InternedStrings, evidence)
    }

    /// Buffers with a cleaner own their memory; the others are views of them.
    fn off_heap(&self) -> Option<Pattern> {
        let (state, records) = (self.state(), self.records());
        let dominators = &self.analysis().ok()?.dominators;
        let is_buffer =
            |&class: &ClassId| state.classes()[class as usize].name == "java.nio.DirectByteBuffer";
        let class = (0..state.classes().len() as ClassId).find(is_buffer)?;
        let (mut buffers, mut bytes) = (0u64, 0u64);
        for buffer in self
            .objects_of_class(class)
            .filter(|&object| dominators.is_reachable(object))
        {
            let owns = records.field_object(state, buffer, "cleaner").is_some();
            if let (true, Some(Value::Int(capacity))) =
                (owns, records.field(state, buffer, "capacity"))
            {
                buffers += 1;
                bytes += u64::try_from(capacity).unwrap_or_default();
            }
        }
        if buffers == 0 {
            return None;
        }
        let evidence = format!(
            "{buffers} direct byte buffers own {bytes} bytes outside of the heap, which no size in this report includes."
        );
        pattern(PatternKind::OffHeap, evidence)
    }
}
