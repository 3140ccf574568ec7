//! `threads`: stacks, locals, and what each thread keeps alive.

use anthill_session::{Local, Session, ThreadStack};
use anthill_testkit::heap::{Root, RootKind, Value};

use crate::cases::{Needs, on_heaps};
use anthill_testkit::brute_force::{BruteForce, count, is_thread, thread_of};

#[test]
fn threads_hold_what_their_roots_say() {
    on_heaps(3, 7000, Needs::Contents, |session, brute_force, _| {
        let stacks = session.thread_stacks();
        assert_eq!(stacks.len(), brute_force.heap.threads.len());
        let kept = kept(session, &stacks);
        for (stack, kept) in stacks.iter().zip(kept) {
            // Serial numbers begin with 1.
            let known = &session.state().tables.threads[stack.thread as usize];
            let thread = known.serial as usize - 1;
            let name = brute_force.field_node(brute_force.thread(thread), "name");
            assert_eq!(known.name, name.and_then(|name| brute_force.text(name)));
            locals(session, brute_force, stack, thread);
            state(brute_force, stack, thread);
            let dead = brute_force.kept_by_thread(thread);
            let expected = (count(dead), brute_force.bytes(dead));
            assert_eq!(kept, expected, "thread {thread}");
        }
    });
}

/// Objects and bytes that each thread keeps alive.
pub(crate) fn kept(session: &Session, stacks: &[ThreadStack]) -> Vec<(u64, u64)> {
    let all = session.kept_by_threads().unwrap();
    let of = |stack: &ThreadStack| &all[stack.thread as usize];
    let kept = stacks.iter().map(of);
    kept.map(|kept| (kept.objects, kept.bytes)).collect()
}

fn locals(session: &Session, brute_force: &BruteForce, stack: &ThreadStack, thread: usize) {
    let frames = &brute_force.heap.threads[thread].frames;
    let tables = &session.state().tables;
    assert_eq!(stack.frames.len(), frames.len());
    let mut expected: Vec<Vec<(u32, String)>> = vec![Vec::new(); frames.len() + 1];
    for root in &brute_force.heap.roots {
        if thread_of(root.kind) == Some(thread) && !is_thread(root.kind) {
            let frame = frame_of(root).filter(|&frame| frame < frames.len());
            let local = (
                brute_force.number(root.item) as u32,
                origin(root.kind).to_owned(),
            );
            expected[frame.unwrap_or(frames.len())].push(local);
        }
    }
    let known = |locals: &[Local]| -> Vec<(u32, String)> {
        let locals = locals.iter();
        locals
            .map(|local| (local.object, local.origin.label().to_owned()))
            .collect()
    };
    for (place, expected) in expected.iter_mut().enumerate() {
        let mut found = match stack.frames.get(place) {
            Some((_, locals)) => known(locals),
            None => known(&stack.other),
        };
        found.sort();
        expected.sort();
        expected.dedup();
        assert_eq!(&found, expected, "thread {thread}, frame {place}");
    }
    for ((number, _), frame) in stack.frames.iter().zip(frames) {
        let known = &tables.frames[*number as usize];
        let class = &brute_force.heap.classes[frame.class].name;
        assert_eq!((&known.class, &known.method), (class, &frame.method));
        assert_eq!(known.line, frame.line);
    }
}

fn frame_of(root: &Root) -> Option<usize> {
    match root.kind {
        RootKind::JniLocal { frame, .. } | RootKind::Local { frame, .. } => {
            frame.map(|frame| frame as usize)
        }
        _ => None,
    }
}

/// What the root is called.
pub(crate) fn origin(kind: RootKind) -> &'static str {
    match kind {
        RootKind::Unknown => "unknown",
        RootKind::JniGlobal => "JNI global",
        RootKind::JniLocal { .. } => "JNI local",
        RootKind::Local { .. } => "local variable",
        RootKind::NativeStack { .. } => "native stack",
        RootKind::StickyClass => "system class",
        RootKind::ThreadBlock { .. } => "thread block",
        RootKind::Monitor => "monitor",
        RootKind::Thread { .. } => "thread",
    }
}

/// As `java.lang.Thread.State` and `isDaemon` say it; the numbers are JVMTI's.
fn state(brute_force: &BruteForce, stack: &ThreadStack, thread: usize) {
    let thread = brute_force.thread(thread);
    let expected = match brute_force.field(thread, "threadStatus") {
        Some(Value::Int(0)) => "NEW",
        Some(Value::Int(0x401)) => "BLOCKED",
        Some(Value::Int(0x191)) => "WAITING",
        _ => "RUNNABLE",
    };
    assert_eq!(stack.state, Some(expected));
    let daemon = matches!(
        brute_force.field(thread, "daemon"),
        Some(Value::Boolean(true))
    );
    assert_eq!(stack.daemon, Some(daemon));
}
