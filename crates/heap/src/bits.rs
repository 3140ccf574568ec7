//! A set of objects as one bit per object number.

/// A set over the numbers `0..len`. A number beyond them is no member and does not become one: a
/// set of objects can be asked about any node of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    len: usize,
}

impl BitSet {
    /// An empty set over the numbers `0..len`.
    pub fn new(len: usize) -> Self {
        BitSet {
            words: vec![0; len.div_ceil(64)],
            len,
        }
    }

    /// The set over `0..len` that has these [`BitSet::words`]; `None` if they are another set's.
    pub fn from_words(len: usize, words: Vec<u64>) -> Option<Self> {
        let set = BitSet { words, len };
        let unused = set.words.last().map_or(0, |last| match len % 64 {
            0 => 0,
            used => last >> used,
        });
        (set.words.len() == len.div_ceil(64) && unused == 0).then_some(set)
    }

    /// The members as bits.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The same members over the numbers `0..len`, as far as they are among them.
    pub fn resized(mut self, len: usize) -> Self {
        self.words.resize(len.div_ceil(64), 0);
        if let (Some(last), used @ 1..) = (self.words.last_mut(), len % 64) {
            *last &= (1 << used) - 1;
        }
        self.len = len;
        self
    }

    /// The number of possible members, not of members.
    pub fn capacity(&self) -> usize {
        self.len
    }

    /// Whether the number is a member; numbers beyond the capacity are not.
    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        match self.words.get(number as usize / 64) {
            Some(word) => word >> (number % 64) & 1 != 0,
            None => false,
        }
    }

    /// Makes the number a member, unless it is beyond the capacity.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        if (number as usize) < self.len {
            self.words[number as usize / 64] |= 1 << (number % 64);
        }
    }

    /// Inserts and tells whether the number was new.
    #[inline]
    pub fn add(&mut self, number: u32) -> bool {
        if number as usize >= self.len {
            return false;
        }
        let word = &mut self.words[number as usize / 64];
        let bit = 1 << (number % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Makes the number no member.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word &= !(1 << (number % 64));
        }
    }

    /// The number of members.
    pub fn count(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Adds the members of another set of the same capacity.
    pub fn union_with(&mut self, other: &BitSet) {
        self.combine(other, |a, b| a | b);
    }

    /// Drops what is not a member of another set of the same capacity.
    pub fn intersect_with(&mut self, other: &BitSet) {
        self.combine(other, |a, b| a & b);
    }

    /// Drops the members of another set of the same capacity.
    pub fn subtract(&mut self, other: &BitSet) {
        self.combine(other, |a, b| a & !b);
    }

    fn combine(&mut self, other: &BitSet, op: impl Fn(u64, u64) -> u64) {
        assert_eq!(self.len, other.len, "sets over different heaps");
        for (word, &with) in self.words.iter_mut().zip(&other.words) {
            *word = op(*word, with);
        }
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors((word != 0).then_some(word), |rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| index as u32 * 64 + rest.trailing_zeros())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_back_in_order() {
        let mut set = BitSet::new(200);
        for number in [199, 0, 63, 64, 128, 64] {
            set.insert(number);
        }
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 128, 199]);
        assert_eq!(set.count(), 5);
        assert!(!set.add(64) && set.add(65));
        set.remove(0);
        assert!(!set.contains(0));
    }

    #[test]
    fn numbers_beyond_the_set_are_no_members() {
        // The last word of the first set is full, that of the second is not.
        for len in [64, 65] {
            let mut set = BitSet::new(len);
            let beyond = len as u32;
            set.insert(beyond);
            assert!(!set.add(beyond) && !set.contains(beyond));
            set.remove(beyond);
            assert_eq!(set, BitSet::new(len));
        }
    }

    #[test]
    fn words_make_the_same_set_again() {
        let mut set = BitSet::new(70);
        assert!(set.is_empty());
        set.insert(3);
        set.insert(69);
        let words = set.words().to_vec();
        assert_eq!(BitSet::from_words(70, words.clone()), Some(set.clone()));
        assert_eq!(
            BitSet::from_words(69, words.clone()),
            None,
            "69 is no member"
        );
        assert_eq!(BitSet::from_words(129, words), None);
        assert_eq!(set.clone().resized(69).iter().collect::<Vec<_>>(), [3]);
        assert_eq!(set.clone().resized(200).resized(70), set);
    }

    #[test]
    fn sets_combine_like_sets() {
        let of = |numbers: &[u32]| {
            let mut set = BitSet::new(100);
            numbers.iter().for_each(|&n| set.insert(n));
            set
        };
        let (a, b) = (of(&[1, 2, 70]), of(&[2, 70, 99]));
        let mut union = a.clone();
        union.union_with(&b);
        let mut both = a.clone();
        both.intersect_with(&b);
        let mut only = a.clone();
        only.subtract(&b);
        assert_eq!(
            (union, both, only),
            (of(&[1, 2, 70, 99]), of(&[2, 70]), of(&[1]))
        );
    }
}
