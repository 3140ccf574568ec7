//! Lists of objects by object, all in two columns.

use rayon::prelude::*;

use crate::{Buffer, ObjectId};

/// Owners from which on it pays to share work.
const SMALLEST_SHARE: usize = 1 << 16;

/// A list of objects for each object.
pub struct ObjectLists {
    /// By owner: where its list ends and that of the next begins.
    ends: Buffer<u64>,
    members: Buffer<ObjectId>,
}

/// Some owners, the number of the first, and the members of their lists.
struct Share<'a> {
    first: usize,
    ends: &'a mut [u64],
    members: &'a mut [ObjectId],
}

impl ObjectLists {
    /// From pairs of owner and member. Every thread goes through all of them twice and takes those of
    /// its own owners: what is near each other in memory is written by the same thread.
    pub fn new<I: Iterator<Item = (ObjectId, ObjectId)>>(
        objects: usize,
        pairs: impl Fn() -> I + Sync,
    ) -> Self {
        let share = objects
            .div_ceil(rayon::current_num_threads())
            .max(SMALLEST_SHARE);
        let mut ends = Buffer::zeroed(objects);
        ends.par_chunks_mut(share)
            .enumerate()
            .for_each(|(index, counts)| {
                let first = index * share;
                for (owner, _) in pairs() {
                    if let Some(count) = counts.get_mut((owner as usize).wrapping_sub(first)) {
                        *count += 1;
                    }
                }
            });
        // Until a list is filled, where it begins.
        let mut total = 0;
        for start in ends.iter_mut() {
            total += std::mem::replace(start, total);
        }
        let mut members = Buffer::zeroed(total as usize);
        let shares = shares(&mut ends, &mut members, share);
        shares.into_par_iter().for_each(|share| share.fill(pairs()));
        ObjectLists { ends, members }
    }

    /// The list of an object.
    pub fn of(&self, object: ObjectId) -> &[ObjectId] {
        let start = match object {
            0 => 0,
            object => self.ends[object as usize - 1] as usize,
        };
        &self.members[start..self.ends[object as usize] as usize]
    }
}

fn shares<'a>(
    mut ends: &'a mut [u64],
    mut members: &'a mut [ObjectId],
    share: usize,
) -> Vec<Share<'a>> {
    let mut shares = Vec::new();
    let mut first = 0;
    while !ends.is_empty() {
        let (own, later) = ends.split_at_mut(share.min(ends.len()));
        let own_members = match later.first() {
            Some(&next) => (next - own[0]) as usize,
            None => members.len(),
        };
        let (own_members, later_members) = members.split_at_mut(own_members);
        shares.push(Share {
            first,
            ends: own,
            members: own_members,
        });
        first += share;
        (ends, members) = (later, later_members);
    }
    shares
}

impl Share<'_> {
    fn fill(self, pairs: impl Iterator<Item = (ObjectId, ObjectId)>) {
        let start = self.ends[0];
        for (owner, member) in pairs {
            let owner = (owner as usize).wrapping_sub(self.first);
            if let Some(end) = self.ends.get_mut(owner) {
                self.members[(*end - start) as usize] = member;
                *end += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_in_the_list_of_its_owner_in_order() {
        for objects in [1, 7, 3 * SMALLEST_SHARE + 5] {
            let count = 2 * objects as u64;
            let owner = |member: u64| (member * 7919 % objects as u64) as ObjectId;
            let pairs = || (0..count).map(|member| (owner(member), member as ObjectId));
            let lists = ObjectLists::new(objects, pairs);
            let mut expected = vec![Vec::new(); objects];
            pairs().for_each(|(owner, member)| expected[owner as usize].push(member));
            for (object, expected) in (0..).zip(&expected) {
                assert_eq!(lists.of(object), expected);
            }
        }
        assert!(ObjectLists::new(0, std::iter::empty).members.is_empty());
    }
}
