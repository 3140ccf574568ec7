//! Lists of objects by object, all in two columns.

use anthill_heap::{Buffer, ObjectId};

/// A list of objects for each object.
pub(crate) struct Lists {
    /// Where each list begins.
    starts: Buffer<u64>,
    members: Buffer<ObjectId>,
}

impl Lists {
    /// From pairs of owner and member, which are asked for twice.
    pub fn new<I: Iterator<Item = (ObjectId, ObjectId)>>(
        objects: usize,
        pairs: impl Fn() -> I,
    ) -> Self {
        let mut starts = Buffer::filled(objects + 1, 0u64);
        for (owner, _) in pairs() {
            starts[owner as usize + 1] += 1;
        }
        for object in 0..objects {
            starts[object + 1] += starts[object];
        }
        let mut members = Buffer::zeroed(starts[objects] as usize);
        let mut next = Buffer::copy_of(&starts[..objects]);
        for (owner, member) in pairs() {
            let place = &mut next[owner as usize];
            members[*place as usize] = member;
            *place += 1;
        }
        Lists { starts, members }
    }

    pub fn of(&self, object: ObjectId) -> &[ObjectId] {
        let (start, end) = (
            self.starts[object as usize] as usize,
            self.starts[object as usize + 1] as usize,
        );
        &self.members[start..end]
    }
}
