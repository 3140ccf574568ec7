//! The report in English: what is suspected and why, what usually helps, and how parts of the heap are
//! called. Numbers become text here and nowhere else in the report; names come as the redaction leaves
//! them.

use anthill_graph::NodeId;
use anthill_heap::phrases::list;
use anthill_leaks::{ListenerSign, LoaderHolder, OutOfMemory, Pattern, ReportedSuspect, Subject};
use anthill_paths::{Member, ReadablePath, TreeItem, without_numbers};
use anthill_session::{frame_name, quoted};

use super::{Advice, Elements, Kept, Maker, NamedBy, Owner};
use crate::units::{bytes, count, counted, share};
use crate::{class_name, shell};

/// What a sentence about a suspect tells, as the redaction leaves it.
pub(super) struct Told<'a> {
    pub suspect: &'a ReportedSuspect,
    pub owners: &'a [Owner],
    pub kept: Option<&'a Kept>,
    pub place: Option<&'a str>,
    pub elements: Option<&'a Elements>,
    pub named_by: Option<&'a NamedBy>,
}

impl Told<'_> {
    /// The object where memory accumulates, with the field that has it.
    fn subject(&self, owner: &Owner) -> String {
        let label = &owner.object.label;
        let is_own = self
            .suspect
            .place
            .as_ref()
            .is_some_and(|place| place.is_own);
        let subject = match self.place {
            Some(place) if is_own => format!("{place} of {label}"),
            Some(place) if !owner.held_by.ends_with(place) => format!("{label} in {place}"),
            _ => label.clone(),
        };
        match self.named_by {
            Some(named) if named.object.address == owner.object.address => {
                format!("{subject} ({} {})", named.field, named.name)
            }
            Some(named) => format!("{subject} (of {} {})", named.object.class, named.name),
            None => subject,
        }
    }

    /// What it does: how much it retains, and of what.
    fn keeps(&self, much: &str) -> String {
        match self.elements {
            Some(elements) => format!(
                "keeps {} × {}{} alive and retains {much}",
                count(elements.objects),
                elements.class,
                samples(elements)
            ),
            None => format!("retains {much}"),
        }
    }
}

/// Some of many, in parentheses: keys, or the field that names them.
fn samples(elements: &Elements) -> String {
    let Some(samples) = &elements.samples else {
        return String::new();
    };
    let field = samples.field.as_ref();
    let what = field.map_or(String::new(), |field| format!("{field} "));
    let more = match elements.objects > samples.names.len() as u64 {
        true => ", …",
        false => "",
    };
    format!(" ({what}{}{more})", samples.names.join(", "))
}

/// What keeps a class loader alive from outside, with the names of objects and paths as they may be told.
pub(crate) fn loader_holder(
    holder: &LoaderHolder,
    label: impl Fn(NodeId) -> String,
    path: impl Fn(&str) -> String,
) -> String {
    match holder {
        LoaderHolder::ThreadLocal { thread, value } => {
            let of = thread.map_or(String::new(), |thread| format!(" of {}", label(thread)));
            format!("a thread-local value{of}: {}", label(*value))
        }
        LoaderHolder::Driver(driver) => {
            format!(
                "a JDBC driver that is still registered ({})",
                label(*driver)
            )
        }
        LoaderHolder::ShutdownHook(hook) => format!("a shutdown hook ({})", label(*hook)),
        LoaderHolder::AccessControl(thread) => {
            let thread = label(*thread);
            format!("the access-control context that a thread inherited ({thread})")
        }
        LoaderHolder::ContextLoader(thread) => {
            format!("the context class loader of a thread ({})", label(*thread))
        }
        LoaderHolder::Thread { thread, is_timer } => {
            let kind = if *is_timer { "timer" } else { "running" };
            format!("a {kind} thread ({})", label(*thread))
        }
        LoaderHolder::Path(of) => path(of),
    }
}

impl Maker<'_> {
    /// What is suspected, in one sentence or two.
    pub(super) fn sentence(&self, told: &Told) -> String {
        let Told {
            suspect,
            owners,
            kept,
            ..
        } = *told;
        let outside = match suspect.outside {
            0 => String::new(),
            outside => format!("{} outside of the heap and ", bytes(outside)),
        };
        let much = format!(
            "{outside}{} ({} of the reachable heap)",
            bytes(suspect.retained),
            share(suspect.retained, self.reachable)
        );
        let held = |owner: &Owner| format!("{}, held by {},", owner.object.label, owner.held_by);
        let mut sentence = match (&suspect.subject, owners) {
            (Subject::Class(class), _) => {
                let objects = self.reachable_objects(*class);
                let objects = counted(objects, "object", "objects");
                format!(
                    "{objects} of {} together retain {much}.",
                    self.class(*class)
                )
            }
            (Subject::Loader(_), [owner, ..]) => {
                let mostly = told
                    .place
                    .map_or(String::new(), |place| format!(", mostly in {place}"));
                format!("The class loader {} retains {much}{mostly}.", held(owner))
            }
            (Subject::Alike(alike), [owner]) => format!(
                "{} × {} together retain {much}. {}.",
                count(alike.len() as u64),
                self.kind_of(alike),
                self.held_alike(suspect, owner)
            ),
            (_, [owner]) => format!(
                "{}, held by {}{}, {}.",
                told.subject(owner),
                owner.held_by,
                self.also_held(suspect),
                told.keeps(&much)
            ),
            (_, owners) => {
                let classes: Vec<&str> = owners
                    .iter()
                    .map(|owner| owner.object.class.as_str())
                    .collect();
                let same = classes.windows(2).all(|pair| pair[0] == pair[1]);
                let what = match classes.first() {
                    Some(class) if same => format!("{} {class} objects", owners.len()),
                    _ => format!("{} objects", owners.len()),
                };
                let places: Vec<&str> = owners.iter().map(|owner| owner.held_by.as_str()).collect();
                format!("{what}, held by {}, together retain {much}.", list(&places))
            }
        };
        if let Some(kept) = kept {
            sentence += &match kept.covered {
                covered if covered > 99.95 => format!(
                    " Without them none of the {} would be alive.",
                    counted(
                        kept.objects,
                        &format!("object of {}", kept.class),
                        &format!("objects of {}", kept.class)
                    )
                ),
                covered => format!(
                    " They keep {covered:.1}% of the {} objects of {} alive.",
                    count(kept.objects),
                    kept.class
                ),
            };
        }
        const FAN: usize = 10;
        let accumulation = suspect.accumulation.map(|node| {
            let children = self.owners.children(Some(node));
            (node, children.len())
        });
        // In a search tree every node has a few.
        let fans_out =
            |(_, children): &(NodeId, usize)| *children >= FAN && told.elements.is_none();
        if let Some((node, children)) = accumulation.filter(fans_out) {
            sentence += &format!(
                " Memory accumulates in {}, which alone keeps {} alive.",
                self.label(node),
                counted(
                    children as u64,
                    "further object directly",
                    "further objects directly"
                )
            );
        }
        sentence
    }

    /// Who else must let go of an object before it is freed.
    fn also_held(&self, suspect: &ReportedSuspect) -> String {
        const NAMED: usize = 3;
        let mut places: Vec<String> = suspect
            .also_held_by
            .iter()
            .map(|place| self.hidden(place))
            .collect();
        if places.len() > NAMED + 1 {
            let more = places.len() - NAMED;
            places.truncate(NAMED);
            places.push(format!("{} others", count(more as u64)));
        }
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        match places[..] {
            [] => String::new(),
            _ => format!(" and also by {}", list(&places)),
        }
    }

    /// Where a heap was full, and what was to be added to.
    pub(super) fn out_of_memory(&self, found: &OutOfMemory, path: Option<&ReadablePath>) -> String {
        let name = self.thread(found.thread).name;
        let name = name.map_or("A thread".to_owned(), |name| {
            format!("Thread {}", quoted(&name, usize::MAX))
        });
        let on = found.working_on.zip(path).map(|(object, path)| {
            let held_by = self.hidden(&path.short);
            format!(
                " while it worked on {}, held by {held_by}",
                self.label(object)
            )
        });
        let frames = &self.session.state().tables.frames;
        let within = found.frame.map(|frame| {
            let frame = frame_name(&frames[frame as usize]);
            format!(" in {}", self.hidden(&frame))
        });
        format!(
            "{name} ran out of memory{}.",
            on.or(within).unwrap_or_default()
        )
    }

    /// What objects are that are alike: for class objects, the class they stand for.
    fn kind_of(&self, alike: &[NodeId]) -> String {
        let state = self.session.state();
        let Some(&first) = alike.first() else {
            return String::new();
        };
        match state.mirrored(first) {
            Some(class) => format!("class {} (one for each class loader)", self.class(class)),
            None => {
                let name = self.common_thread_name(alike);
                let name = name.map_or(String::new(), |name| format!(" {name}"));
                format!("{}{name}", self.hidden(class_name(self.session, first)))
            }
        }
    }

    /// What the names of threads have in common if they differ only in numbers: `"pool-*-thread-*"`.
    fn common_thread_name(&self, threads: &[NodeId]) -> Option<String> {
        let name = |&thread: &NodeId| {
            let is_thread = self.session.is_thread(thread) && self.redactor.is_off();
            let name = is_thread
                .then(|| self.session.label(thread).detail)
                .flatten();
            name.map(|name| without_numbers(&name))
        };
        let first = name(threads.first()?)?;
        threads
            .iter()
            .all(|thread| name(thread).as_ref() == Some(&first))
            .then_some(first)
    }

    /// How equal owners are held: all in the same way, or one of them.
    fn held_alike(&self, suspect: &ReportedSuspect, owner: &Owner) -> String {
        let Some(common) = &suspect.common else {
            return format!("One of them is held by {}", owner.held_by);
        };
        let holder = self.loader_holder(&common.example);
        match common.held == common.examined {
            true => format!("Each of them is held through {holder} or one like it"),
            false => format!(
                "{} of {} are held through {holder} or one like it",
                count(common.held),
                count(common.examined)
            ),
        }
    }

    /// How to look closer, and what usually helps.
    pub(super) fn advice(&self, suspect: &ReportedSuspect, owners: &[Owner]) -> Advice {
        let file = self.redactor.file_word(self.file);
        let verify = match (&suspect.subject, owners.first()) {
            (Subject::Class(class), _) => {
                let class = shell::word(&self.class(*class));
                format!("anthill paths {file} {class}")
            }
            (_, Some(owner)) => format!("anthill paths {file} {}", owner.object.address),
            (_, None) => format!("anthill dominators {file}"),
        };
        // What a variable of a running method refers to itself, not what that leads to.
        let is_local = |owner: &Owner| owner.thread.is_some() && owner.path.len() == 1;
        let in_thread = owners.iter().any(is_local);
        let fix = match suspect.subject {
            Subject::Owners(_) => Some(
                "An entry is only freed when all of them let go of it: remove it from each, or let \
                 all but one hold it weakly. Give caches a limit and entries an age.",
            ),
            _ if !suspect.patterns.is_empty() => None,
            _ if in_thread => Some(
                "A thread holds it while it runs. See whether the thread ends, and whether it works \
                 on more than it needs at once.",
            ),
            _ => Some(
                "Check who adds to it and who should remove entries, and whether it has a limit. \
                 Compare with a dump taken later: does it grow?",
            ),
        };
        Advice { verify, fix }
    }

    /// A known way to leak, with its name, the evidence in a sentence and the usual remedy.
    pub(super) fn pattern(&self, pattern: &Pattern) -> super::Pattern {
        let (name, fix) = name_and_fix(pattern);
        super::Pattern {
            name,
            evidence: self.evidence(pattern),
            fix,
        }
    }

    fn evidence(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::LeakedLoader {
                folder,
                state,
                holders,
            } => {
                let folder = folder.as_ref().filter(|_| self.redactor.is_off());
                let of = folder.map_or(String::new(), |folder| {
                    format!(" of {}", quoted(folder, usize::MAX))
                });
                let names = holders.iter().map(|holder| self.loader_holder(holder));
                let names: Vec<String> = names.collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let each = match holders.len() {
                    0 | 1 => "",
                    _ => " Each of them alone keeps it alive.",
                };
                let holders = list(&names);
                match state {
                    Some(state) => format!(
                        "The class loader{of} is {state}, but still held through {holders}.{each}"
                    ),
                    None => format!("The class loader{of} is held through {holders}.{each}"),
                }
            }
            Pattern::StaticCollection { path, class } => {
                format!("{} is a {}.", self.hidden(path), self.class(*class))
            }
            Pattern::ThreadLocalValue {
                values,
                examined,
                variable,
                thread,
            } => {
                let of = self.of(*thread);
                let variable = variable.and_then(|variable| self.session.label(variable).detail);
                let variable = variable.map(|field| self.hidden(&field));
                if *examined == 1 {
                    return match variable {
                        Some(field) => format!("The thread-local variable {field}{of} holds it."),
                        None => format!("A thread-local variable{of} holds it."),
                    };
                }
                let what = match variable {
                    Some(field) => format!("values of the thread-local variable {field}"),
                    None => "thread-local values".to_owned(),
                };
                let example = thread.map_or("", |_| ", for example");
                let (values, examined) = (count(*values), count(*examined));
                format!("{values} of {examined} are {what}{example}{of}.")
            }
            Pattern::ThreadPools {
                threads,
                examined,
                pools,
                class,
            } => format!(
                "{} of {} threads work for {} pools of {} that were never shut down.",
                count(*threads),
                count(*examined),
                count(*pools),
                self.class(*class)
            ),
            Pattern::Listeners(ListenerSign::Field(field)) => {
                let field = self.redactor.hide_field(field);
                format!("The path leads through `{field}`.")
            }
            Pattern::Listeners(ListenerSign::Objects { class, objects }) => format!(
                "It keeps {} objects of {} alive.",
                count(*objects),
                self.class(*class)
            ),
            Pattern::InnerClass {
                class,
                held,
                examined,
                field,
                holder,
            } => format!(
                "{} of {} examined {} are alive only through the hidden reference `{}` of {}.",
                count(*held),
                count(*examined),
                self.class(*class),
                self.redactor.hide_field(field),
                self.hidden(class_name(self.session, *holder))
            ),
            Pattern::ObsoleteReferences {
                holder,
                field,
                size,
                beyond,
            } => format!(
                "{} has `{}` = {}, but {} elements of its array beyond that still refer to objects.",
                self.label(*holder),
                self.redactor.hide_field(field),
                count(*size),
                count(*beyond)
            ),
            Pattern::WeakMapValue { reaching, examined } => format!(
                "In {} of {} examined entries, the value leads back to its own weak key.",
                count(*reaching),
                count(*examined)
            ),
            Pattern::ReferenceQueue { queue, references } => format!(
                "{} references wait in {}.",
                count(*references),
                self.label(*queue)
            ),
            Pattern::OffHeap { buffers, bytes } => format!(
                "{} direct byte buffers own {} bytes outside of the heap, which are not included in \
                 any size in this report.",
                count(*buffers),
                count(*bytes)
            ),
            Pattern::InternedStrings { unused, all, bytes } => format!(
                "{} of {} interned strings are used by nothing else; they retain {} bytes.",
                count(*unused),
                count(*all),
                count(*bytes)
            ),
        }
    }

    fn loader_holder(&self, holder: &LoaderHolder) -> String {
        loader_holder(holder, |node| self.label(node), |path| self.hidden(path))
    }

    /// ` of ` and the object, if there is one.
    fn of(&self, node: Option<NodeId>) -> String {
        node.map_or(String::new(), |node| format!(" of {}", self.label(node)))
    }

    /// A part of the dominator tree.
    pub(super) fn tile_label(&self, item: &TreeItem) -> String {
        let members = count(item.count);
        match item.member {
            Member::Heap => "reachable".to_owned(),
            Member::Object(node) => self.label(node),
            Member::Group(class) => format!("{members} × {}", self.class(class)),
            Member::Chain(Some(class)) => format!("chain of {members} {}", self.class(class)),
            Member::Chain(None) => format!("chain of {members} objects"),
        }
    }
}

/// The name of a pattern and what usually helps.
fn name_and_fix(pattern: &Pattern) -> (&'static str, &'static str) {
    match pattern {
        Pattern::LeakedLoader { .. } => (
            "leaked class loader",
            "Undo what refers to it from outside when the component stops: end its threads, \
             remove thread-local values, deregister drivers and hooks.",
        ),
        Pattern::StaticCollection { .. } => (
            "collection in a static field",
            "It lives as long as its class. If it is a cache, give it a limit or an age; if it is \
             a registry, see who should have removed the entries.",
        ),
        Pattern::ThreadLocalValue { .. } => (
            "thread-local value",
            "Pool threads do not end, and neither do their thread-local values: call remove() in a \
             finally block, or share one instance.",
        ),
        Pattern::ThreadPools { .. } => (
            "thread pools that were not shut down",
            "Shut down each pool where its owner is closed, or share one pool.",
        ),
        Pattern::Listeners(_) => (
            "listeners that were not removed",
            "Remove a listener where its owner is closed, or let the registry hold it weakly.",
        ),
        Pattern::InnerClass { .. } => (
            "hidden reference of an inner class",
            "Make the class static, or turn the lambda into one that uses no member of its outer \
             object.",
        ),
        Pattern::ObsoleteReferences { .. } => (
            "obsolete references in an array",
            "Set the slot to null when an element is removed.",
        ),
        Pattern::WeakMapValue { .. } => (
            "weak map whose values reach their keys",
            "Hold the value weakly too, or keep it in the key.",
        ),
        Pattern::ReferenceQueue { .. } => (
            "backlog in a reference queue",
            "The thread that empties the queue is blocked or too slow: look at finalizers and \
             cleaners in the thread stacks.",
        ),
        Pattern::InternedStrings { .. } => (
            "interned strings that nothing else uses",
            "Intern only what is compared often and of which there are few; what input decides has no \
             limit.",
        ),
        Pattern::OffHeap { .. } => (
            "memory outside of the heap",
            "Limit it with -XX:MaxDirectMemorySize, pool the buffers, and see who keeps them.",
        ),
    }
}
