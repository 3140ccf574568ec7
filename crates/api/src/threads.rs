//! Threads with their stacks, what each frame holds, and what they keep alive.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use anthill_graph::GroupTotals;
use anthill_heap::RootOrigin;
use anthill_session::{Analysis, Local, Session, ThreadStack, frame_name};
use anthill_syntax::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Heap, HeapQuestion, Limit, ObjectName, Question};

/// Show threads, their stacks, and the objects that local variables hold
///
/// The output is a table of all threads, followed by their stacks. Threads with the same stack are
/// shown together. An object that several stack frames hold is shown in the innermost one.
///
/// A thread keeps alive the memory that would be freed without its roots: the thread object and its
/// local variables. Objects that a static field or another thread also holds do not count.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Threads {
    /// Show only threads whose name matches GLOB (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub name: Option<String>,
    /// Show at most N threads; 0 for all
    #[serde(default)]
    pub limit: Limit,
    /// Has no effect; the memory that a thread keeps alive is always exact
    #[serde(default)]
    #[schemars(extend("x-hidden" = true))]
    pub exact: bool,
}

/// The threads of a heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadsAnswer")]
pub struct Answer {
    /// Always true. Older versions gave estimates.
    pub exact: bool,
    /// The threads, largest `kept` first.
    pub rows: Vec<ThreadRow>,
    /// The number of threads that `--limit` left out.
    pub omitted: usize,
    /// The same threads, those with the same stack together.
    #[serde(skip)]
    pub groups: Vec<ThreadGroup>,
}

/// A thread.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadsThreadRow")]
pub struct ThreadRow {
    /// The name of the thread; null if it is not known.
    pub name: Option<String>,
    /// The thread object; null if it is not in the dump.
    pub object: Option<ObjectName>,
    /// The state of the thread; null if it is not known.
    #[schemars(extend("enum" = ["NEW", "RUNNABLE", "BLOCKED", "WAITING", "TIMED_WAITING", "TERMINATED", null]))]
    pub state: Option<&'static str>,
    /// Whether the thread is a daemon; null if it is not known.
    pub daemon: Option<bool>,
    /// Objects that would be freed if only the thread's roots were gone: the thread object and its
    /// local variables.
    pub kept: Kept,
    /// The stack frames, innermost first.
    pub frames: Vec<FrameRow>,
    /// Objects that the thread holds outside of the known stack frames.
    pub other: Vec<LocalRow>,
}

/// Objects that would be freed if only the roots of the thread were gone. Objects that a static field
/// or another thread also holds do not count.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadsKept")]
pub struct Kept {
    /// The number of these objects.
    pub objects: u64,
    /// Bytes of these objects.
    pub retained: u64,
}

/// A stack frame.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadsFrameRow")]
pub struct FrameRow {
    /// The stack frame as Java prints it: method, file and line.
    pub frame: String,
    /// The objects that local variables of the frame hold.
    pub locals: Vec<LocalRow>,
}

/// An object that a thread holds.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ThreadsLocalRow")]
pub struct LocalRow {
    /// The name of the GC root's kind in the file, for example `java-frame` or `jni-local`.
    #[schemars(with = "crate::RootOrigin")]
    pub root: RootOrigin,
    /// The object that the thread holds.
    #[serde(flatten)]
    pub object: ObjectName,
}

/// Threads with the same stack.
pub struct ThreadGroup {
    /// Places among the rows, by name: worker-2 comes before worker-10.
    pub threads: Vec<usize>,
    /// What each keeps alive, added up.
    pub kept: u64,
    /// What the one keeps alive that keeps most.
    pub most_kept: u64,
    /// Distinct objects that the threads hold.
    pub locals: u64,
    /// The stack, innermost frame first.
    pub frames: Vec<SharedFrame>,
    /// What the threads hold outside of these frames.
    pub other: Vec<Held>,
}

/// A frame of all threads of a group.
pub struct SharedFrame {
    /// The method, its file and its line.
    pub frame: String,
    /// What it holds and no frame further in does.
    pub held: Vec<Held>,
}

/// One object that a frame holds, or several of a class.
pub struct Held {
    /// What the file calls the root.
    pub root: RootOrigin,
    /// The name of the class.
    pub class: String,
    /// Of one object.
    pub label: Option<String>,
    /// How many objects.
    pub objects: u64,
    /// Bytes that they retain, added up.
    pub retained: u64,
}

/// Objects of one class in the same frame are together from this number on.
const GROUP_FROM: usize = 4;

impl Question for Threads {
    const NAME: &'static str = "threads";
    type Answer = Answer;
}

impl HeapQuestion for Threads {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let analysis = session.analysis()?;
        let mut stacks = session.thread_stacks();
        if let Some(wanted) = &self.name {
            stacks = named(session, stacks, wanted)?;
        }
        if stacks.is_empty() {
            let reason = "there are no threads in this dump";
            return Err(Error::NothingFound(reason.to_owned()));
        }
        let kept = session.kept_by_threads()?;
        let with_kept = |stack: ThreadStack| {
            let kept = kept[stack.thread as usize];
            (stack, kept)
        };
        let mut threads: Vec<(ThreadStack, GroupTotals)> =
            stacks.into_iter().map(with_kept).collect();
        threads.sort_by_key(|(_, kept)| Reverse(kept.bytes));
        let shown = self.limit.most().min(threads.len());
        let rows: Vec<ThreadRow> = threads[..shown]
            .iter()
            .map(|(stack, kept)| ThreadRow::new(session, analysis, stack, *kept))
            .collect();
        Ok(Answer {
            exact: true,
            omitted: threads.len() - shown,
            groups: groups(&rows),
            rows,
        })
    }
}

fn named(
    session: &Session,
    stacks: Vec<ThreadStack>,
    wanted: &str,
) -> Result<Vec<ThreadStack>, Error> {
    let pattern = Pattern::new(wanted);
    let threads = &session.state().tables.threads;
    let name = |stack: &ThreadStack| {
        let name = threads[stack.thread as usize].name.as_deref();
        name.unwrap_or_default()
    };
    let (found, others): (Vec<ThreadStack>, Vec<ThreadStack>) = stacks
        .into_iter()
        .partition(|stack| pattern.matches(name(stack)));
    if found.is_empty() {
        let message = pattern.no_match("thread", others.iter().map(name));
        return Err(Error::NothingFound(message));
    }
    Ok(found)
}

impl ThreadRow {
    fn new(session: &Session, analysis: &Analysis, stack: &ThreadStack, kept: GroupTotals) -> Self {
        let tables = &session.state().tables;
        let thread = &tables.threads[stack.thread as usize];
        let named = |node| ObjectName::new(session, analysis, node);
        let locals = |locals: &[Local]| {
            let rows = locals.iter().map(|local| LocalRow {
                root: local.origin,
                object: named(local.object),
            });
            rows.collect()
        };
        ThreadRow {
            name: thread.name.clone(),
            object: thread.object.map(named),
            state: stack.state,
            daemon: stack.daemon,
            kept: Kept {
                objects: kept.objects,
                retained: kept.bytes,
            },
            frames: stack
                .frames
                .iter()
                .map(|(frame, held)| FrameRow {
                    frame: frame_name(&tables.frames[*frame as usize]),
                    locals: locals(held),
                })
                .collect(),
            other: locals(&stack.other),
        }
    }

    /// What must be equal for threads to be shown together.
    fn alike(&self) -> impl Eq + Hash {
        let class = self.object.as_ref().map(|object| object.class.as_str());
        let frames: Vec<&str> = self.frames.iter().map(|row| row.frame.as_str()).collect();
        // Without a stack there is nothing that threads have in common.
        let own = frames.is_empty().then_some(self.name.as_deref());
        (self.state, self.daemon, class, frames, own)
    }
}

/// Those that keep most alive first.
fn groups(rows: &[ThreadRow]) -> Vec<ThreadGroup> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut numbers = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        let number = *numbers.entry(row.alike()).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    let group = |threads| ThreadGroup::new(rows, threads);
    let mut groups: Vec<ThreadGroup> = groups.into_iter().map(group).collect();
    groups.sort_by_key(|group| Reverse(group.kept));
    groups
}

impl ThreadGroup {
    fn new(rows: &[ThreadRow], mut places: Vec<usize>) -> Self {
        let threads: Vec<&ThreadRow> = places.iter().map(|&place| &rows[place]).collect();
        let kept = || threads.iter().map(|row| row.kept.retained);
        let mut seen = HashSet::new();
        let frames = threads[0].frames.iter().enumerate();
        let frames = frames
            .map(|(index, frame)| SharedFrame {
                frame: frame.frame.clone(),
                held: held(
                    threads.iter().flat_map(|row| &row.frames[index].locals),
                    &mut seen,
                ),
            })
            .collect();
        let other = held(threads.iter().flat_map(|row| &row.other), &mut seen);
        places.sort_by_key(|&place| {
            let name = rows[place].name.as_ref();
            name.map(|name| (name.len(), name.as_str()))
        });
        ThreadGroup {
            kept: kept().sum(),
            most_kept: kept().max().unwrap_or(0),
            locals: seen.len() as u64,
            frames,
            other,
            threads: places,
        }
    }
}

/// The objects that a frame holds and that were not seen before.
fn held<'a>(locals: impl Iterator<Item = &'a LocalRow>, seen: &mut HashSet<&'a str>) -> Vec<Held> {
    let mut by_class: Vec<Vec<&LocalRow>> = Vec::new();
    for local in locals.filter(|local| seen.insert(local.object.address.as_str())) {
        let same = |other: &Vec<&LocalRow>| {
            (other[0].root, &other[0].object.class) == (local.root, &local.object.class)
        };
        match by_class.iter_mut().find(|other| same(other)) {
            Some(others) => others.push(local),
            None => by_class.push(vec![local]),
        }
    }
    let one = |local: &&LocalRow| Held {
        root: local.root,
        class: local.object.class.clone(),
        label: Some(local.object.label.clone()),
        objects: 1,
        retained: local.object.retained,
    };
    let together = |locals: Vec<&LocalRow>| match locals.len() < GROUP_FROM {
        true => locals.iter().map(one).collect(),
        false => vec![Held {
            root: locals[0].root,
            class: locals[0].object.class.clone(),
            label: None,
            objects: locals.len() as u64,
            retained: locals.iter().map(|local| local.object.retained).sum(),
        }],
    };
    by_class.into_iter().flat_map(together).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str, frames: &[&str]) -> ThreadRow {
        ThreadRow {
            name: Some(name.to_owned()),
            object: None,
            state: Some("WAITING"),
            daemon: None,
            kept: Kept {
                objects: 1,
                retained: 10,
            },
            frames: frames
                .iter()
                .map(|&frame| FrameRow {
                    frame: frame.to_owned(),
                    locals: Vec::new(),
                })
                .collect(),
            other: Vec::new(),
        }
    }

    #[test]
    fn threads_with_the_same_stack_are_together() {
        let worker = ["Pool.take(Pool.java:7)", "Pool.run(Pool.java:3)"];
        let rows = [
            thread("worker-10", &worker),
            thread("main", &["Main.main(Main.java:1)"]),
            thread("worker-9", &worker),
            thread("worker-11", &worker),
            thread("no stack", &[]),
            thread("none either", &[]),
        ];
        let groups = groups(&rows);
        let threads: Vec<&[usize]> = groups.iter().map(|group| &group.threads[..]).collect();
        assert_eq!(threads, [&[2, 0, 3][..], &[1], &[4], &[5]]);
        assert_eq!(groups[0].kept, 30);
    }
}
