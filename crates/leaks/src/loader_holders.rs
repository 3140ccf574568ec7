//! What outside of a component keeps its class loader alive: all of it, because the loader stays as long as
//! one of them does.

use anthill_graph::{FrontOptions, Graph, NodeId, Paths, owner_fronts};
use anthill_heap::{BitSet, ClassId, Root};
use anthill_paths::{PathStep, ReadablePath, RootsByObject, readable_path};
use anthill_session::{Error, Session};

/// A component that more objects hold is explained by one of them.
const MOST: usize = 32;
/// Equal components that are looked at.
const SAMPLE: usize = 256;

const THREAD_LOCAL_ENTRY: &str = "java.lang.ThreadLocal$ThreadLocalMap$Entry";
const ACCESS_CONTROL: &str = "java.security.AccessControlContext";
const SHUTDOWN_HOOKS: &str = "static field java.lang.ApplicationShutdownHooks.";

/// What outside of a component its class loader is reached through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoaderHolder {
    /// A thread-local value.
    ThreadLocal {
        /// The thread, if the path leads through it.
        thread: Option<NodeId>,
        /// The value.
        value: NodeId,
    },
    /// A JDBC driver that is still registered.
    Driver(NodeId),
    /// A shutdown hook.
    ShutdownHook(NodeId),
    /// The access-control context that a thread inherited from whoever started it.
    AccessControl(NodeId),
    /// The context class loader of a thread that does something else.
    ContextLoader(NodeId),
    /// A running thread; that of a timer runs until the timer is cancelled.
    Thread {
        /// The thread.
        thread: NodeId,
        /// Whether it is a timer's.
        is_timer: bool,
    },
    /// Something else: the path, as in [`ReadablePath::short`].
    Path(String),
}

/// What keeps most of several equal components alive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonHolder {
    /// What holds one of them.
    pub example: LoaderHolder,
    /// How many are held in this way.
    pub held: u64,
    /// How many were looked at.
    pub examined: u64,
}

/// Everything outside of a component that keeps its class loader alive.
pub fn loader_holders(session: &Session, loader: NodeId) -> Result<Vec<LoaderHolder>, Error> {
    let graph = session.owners_graph()?;
    LoaderHolders::new(session, &graph, session.paths_from_owners()?).all(loader)
}

/// Where class loaders are looked for.
pub(crate) struct LoaderHolders<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    paths: &'a Paths,
    roots: RootsByObject<'a>,
}

impl<'a> LoaderHolders<'a> {
    pub(crate) fn new(session: &'a Session, graph: &'a Graph<'a>, paths: &'a Paths) -> Self {
        LoaderHolders {
            session,
            graph,
            paths,
            roots: RootsByObject::new(session),
        }
    }

    /// Everything that keeps a loader alive. The component is the loader with its classes and their objects:
    /// each of them keeps it alive.
    pub(crate) fn all(&self, loader: NodeId) -> Result<Vec<LoaderHolder>, Error> {
        let dominators = self.session.owner_dominators()?;
        let component = self.component(loader);
        let options = FrontOptions {
            most: MOST,
            share: 1.0,
        };
        let progress = self.session.progress();
        let fronts = owner_fronts(self.graph, dominators, &component, options, progress)?;
        let roots = component.iter().filter(|&node| self.graph.is_root(node));
        let roots: Vec<NodeId> = roots.take(MOST).collect();
        let outside = fronts.last().map_or(&[][..], Vec::as_slice);
        let mut holders: Vec<LoaderHolder> = Vec::new();
        for &node in outside.iter().chain(&roots) {
            let found = self.held_through(node, Some(&component));
            let found = found.map(|holder| self.as_running(holder, &component));
            let new = found.filter(|holder| !holders.contains(holder));
            holders.extend(new);
        }
        if holders.is_empty() {
            holders.extend(self.held_through(loader, None));
        }
        // A thread that ends lets go of all that it was given.
        let ends = |thread: NodeId| {
            let mut holders = holders.iter();
            holders
                .any(|one| matches!(one, LoaderHolder::Thread { thread: of, .. } if *of == thread))
        };
        let is_part = |holder: &LoaderHolder| match holder {
            LoaderHolder::AccessControl(thread) | LoaderHolder::ContextLoader(thread) => {
                ends(*thread)
            }
            LoaderHolder::ThreadLocal { thread, .. } => thread.is_some_and(ends),
            _ => false,
        };
        let kept = holders.iter().filter(|holder| !is_part(holder));
        Ok(kept.cloned().collect())
    }

    /// A thread that runs code of the component, whatever else it has of it.
    fn as_running(&self, holder: LoaderHolder, component: &BitSet) -> LoaderHolder {
        let (LoaderHolder::AccessControl(thread) | LoaderHolder::ContextLoader(thread)) = holder
        else {
            return holder;
        };
        let state = self.session.state();
        let tables = &state.tables;
        let of_thread = |root: &&Root| {
            let of = root
                .thread
                .and_then(|of| tables.threads[of as usize].object);
            of == Some(thread) && component.contains(root.object)
        };
        let has_task = |&part: &NodeId| {
            let is_holder = state.class(part).name == "java.lang.Thread$FieldHolder";
            let mut task = state.references(part).iter();
            is_holder && task.any(|&task| component.contains(task))
        };
        let runs = tables.roots.iter().any(|root| of_thread(&root))
            || state.references(thread).iter().any(has_task);
        match runs {
            true => self.running(thread),
            false => holder,
        }
    }

    fn running(&self, thread: NodeId) -> LoaderHolder {
        LoaderHolder::Thread {
            thread,
            is_timer: self.session.state().class(thread).name == "java.util.TimerThread",
        }
    }

    /// How more than half of some class objects are held that stand for the same class in several loaders: by the
    /// kind of holder, and by its class. Nothing if there is no name for it.
    pub(crate) fn common(&self, classes: &[NodeId]) -> Option<CommonHolder> {
        let sample = classes.iter().take(SAMPLE);
        let holders = sample.map(|&class| {
            self.loader_of(class)
                .and_then(|_| self.held_through(class, None))
        });
        let holders: Vec<LoaderHolder> = holders.collect::<Option<_>>()?;
        let alike = |one: &LoaderHolder| {
            let same = holders
                .iter()
                .filter(|other| self.kind(other) == self.kind(one));
            same.count()
        };
        let example = holders.iter().max_by_key(|one| alike(one))?;
        let held = alike(example);
        let has_name = !matches!(example, LoaderHolder::Path(_));
        (has_name && held * 2 > holders.len()).then(|| CommonHolder {
            example: example.clone(),
            held: held as u64,
            examined: holders.len() as u64,
        })
    }

    /// The loader of the class that a class object stands for.
    pub(crate) fn loader_of(&self, class: NodeId) -> Option<NodeId> {
        let state = self.session.state();
        let class = (class < state.len()).then(|| state.mirrored(class));
        state.classes()[class.flatten()? as usize].loader
    }

    fn kind(&self, holder: &LoaderHolder) -> (u8, Option<ClassId>) {
        let (kind, node) = match holder {
            LoaderHolder::ThreadLocal { value, .. } => (0, *value),
            LoaderHolder::Driver(driver) => (1, *driver),
            LoaderHolder::ShutdownHook(hook) => (2, *hook),
            LoaderHolder::AccessControl(thread) => (3, *thread),
            LoaderHolder::ContextLoader(thread) => (4, *thread),
            LoaderHolder::Thread { thread, .. } => (5, *thread),
            LoaderHolder::Path(_) => return (6, None),
        };
        // The same class of another loader is another class.
        let class = (kind > 2).then(|| self.session.state().class_id(node));
        (kind, class)
    }

    fn component(&self, loader: NodeId) -> BitSet {
        let state = self.session.state();
        let classes = state.classes().iter();
        let is_own: Vec<bool> = classes.map(|class| class.loader == Some(loader)).collect();
        let mut component = BitSet::new(self.graph.len() as usize);
        component.insert(loader);
        for (&class, object) in state.columns.classes.iter().zip(0..) {
            if is_own[class as usize] {
                component.insert(object);
            }
        }
        let own_classes = state.classes().iter().zip(is_own);
        let own_classes = own_classes.filter(|(_, is_own)| *is_own);
        own_classes.for_each(|(class, _)| {
            class
                .mirror
                .iter()
                .for_each(|&mirror| component.insert(mirror));
        });
        component
    }

    /// What the way to a node, and from there into the component, leads through.
    fn held_through(&self, node: NodeId, component: Option<&BitSet>) -> Option<LoaderHolder> {
        let mut path = self.paths.to(node)?;
        if let Some(component) = component.filter(|component| !component.contains(node)) {
            let members = self.graph.successors(node);
            let members = members.filter(|&to| component.contains(to));
            // What a thread runs says more than what it was given when it was started.
            let given = |to: NodeId| {
                let name = self.session.reference_name(self.graph, node, to);
                name.as_deref() == Some("contextClassLoader")
            };
            path.extend(members.min_by_key(|&to| (given(to), to)));
        }
        let path = readable_path(self.session, self.graph, &self.roots, &path);
        let holder = self.outside_holder(&path);
        Some(holder.unwrap_or(LoaderHolder::Path(path.short)))
    }

    /// What kind of thing outside of a component its loader is reached through, if there is a name
    /// for it. A shortest path leaves no class of the component by a static field, since every class
    /// leads to the loader directly: a static field on the path is one of somebody else.
    fn outside_holder(&self, path: &ReadablePath) -> Option<LoaderHolder> {
        let state = self.session.state();
        let is_of = |step: &PathStep, class: &str| {
            step.node < state.len() && state.class(step.node).name == class
        };
        let position = |class: &str| path.steps.iter().position(|step| is_of(step, class));
        let held_by = |at: usize| path.steps.get(at + 1).map(|step| step.node);
        let is_thread = |step: &&PathStep| self.session.is_thread(step.node);
        if let Some(at) = position(THREAD_LOCAL_ENTRY) {
            let thread = path.steps[..at].iter().rfind(is_thread);
            return Some(LoaderHolder::ThreadLocal {
                thread: thread.map(|step| step.node),
                value: held_by(at)?,
            });
        }
        if let Some(at) = position("java.sql.DriverInfo") {
            return held_by(at).map(LoaderHolder::Driver);
        }
        if path.short.starts_with(SHUTDOWN_HOOKS) {
            let hook = path.steps.iter().rfind(is_thread)?;
            return Some(LoaderHolder::ShutdownHook(hook.node));
        }
        if path.short.starts_with("static field") {
            return None;
        }
        if let Some(at) = position(ACCESS_CONTROL) {
            let thread = path.steps[..at].iter().rfind(is_thread)?;
            return Some(LoaderHolder::AccessControl(thread.node));
        }
        let thread = path.steps.first().filter(is_thread)?;
        let given = path.steps.get(1).and_then(|step| step.via.as_deref());
        Some(match given {
            Some("contextClassLoader") => LoaderHolder::ContextLoader(thread.node),
            _ => self.running(thread.node),
        })
    }
}
