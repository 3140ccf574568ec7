//! A heap that was dumped because it was full: which thread found no memory, and what it was working on.

use anthill_graph::NodeId;
use anthill_session::{Error, Session, ThreadStack, is_platform_name};

/// The thread that found no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Index into [`anthill_heap::Tables::threads`].
    pub thread: u32,
    /// The innermost method of the program: index into [`anthill_heap::Tables::frames`].
    pub frame: Option<u32>,
    /// The data structure that the innermost methods were working on, if something else holds it.
    pub working_on: Option<NodeId>,
}

/// Finds the thread that was making an `OutOfMemoryError` when the dump was taken.
pub(crate) fn out_of_memory(session: &Session) -> Result<Option<OutOfMemory>, Error> {
    let frames = &session.state().tables.frames;
    let throws = |(frame, _): &(u32, _)| {
        let frame = &frames[*frame as usize];
        frame.class == "java.lang.OutOfMemoryError" && frame.method == "<init>"
    };
    let stacks = session.thread_stacks();
    let Some(stack) = stacks.iter().find(|stack| stack.frames.iter().any(throws)) else {
        return Ok(None);
    };
    let is_own = |frame: &u32| !is_platform_name(&frames[*frame as usize].class);
    Ok(Some(OutOfMemory {
        thread: stack.thread,
        frame: stack.frames.iter().map(|&(frame, _)| frame).find(is_own),
        working_on: working_on(session, stack)?,
    }))
}

fn working_on(session: &Session, stack: &ThreadStack) -> Result<Option<NodeId>, Error> {
    let structures = session.structures()?;
    let borrowed = &session.borrowed()?.locals;
    let locals = stack.frames.iter().flat_map(|(_, locals)| locals);
    let mut objects = locals.map(|local| local.object);
    Ok(objects.find(|object| borrowed.contains(object) && structures.of_head(*object).is_some()))
}
