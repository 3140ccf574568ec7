//! How a structure uses the slots of its array: how many its elements take up, and how many it needs.

/// How elements use the slots of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotPolicy {
    /// The part of its places that may be used before it grows.
    pub most: (u64, u64),
    /// Keys and values in turn: two slots are a place.
    pub pairs: bool,
    /// Whether the number of places is a power of two.
    pub powers: bool,
    /// It never has fewer places.
    pub fewest: u64,
    /// Places that are always free.
    pub free: u64,
}

impl Default for SlotPolicy {
    /// One slot each.
    fn default() -> Self {
        SlotPolicy {
            most: (1, 1),
            pairs: false,
            powers: false,
            fewest: 0,
            free: 0,
        }
    }
}

impl SlotPolicy {
    /// Slots that so many elements take up.
    pub fn used(&self, elements: u64) -> u64 {
        elements.saturating_mul(self.slots_of_a_place())
    }

    /// The fewest slots in which so many elements have their place.
    pub fn needed(&self, elements: u64) -> u64 {
        let (part, whole) = self.most;
        let places = elements.saturating_mul(whole).div_ceil(part);
        let places = places.saturating_add(self.free).max(self.fewest);
        let places = match self.powers {
            true => places.checked_next_power_of_two().unwrap_or(places),
            false => places,
        };
        places.saturating_mul(self.slots_of_a_place())
    }

    fn slots_of_a_place(&self) -> u64 {
        if self.pairs { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use crate::Definitions;

    use super::*;

    fn policy(class: &str) -> SlotPolicy {
        let definitions = Definitions::shipped();
        let number = definitions.find(class).unwrap();
        let definition = &definitions.all()[number].definition;
        definition.capacity.as_ref().unwrap().policy
    }

    #[test]
    fn arrays_are_as_large_as_the_jdk_makes_them_for_so_many_elements() {
        // 12 entries fit into 16 buckets, the 13th doubles them; 1 entry needs 2.
        let buckets = policy("java.util.HashMap");
        assert_eq!(buckets.needed(12), 16);
        assert_eq!(buckets.needed(13), 32);
        assert_eq!(buckets.needed(1), 2);
        assert_eq!(buckets.needed(u64::MAX), 1 << 63);
        // 21 pairs in 32 places, each of two slots; never below 4 places.
        let pairs = policy("java.util.IdentityHashMap");
        assert_eq!(pairs.needed(21), 64);
        assert_eq!(pairs.needed(22), 128);
        assert_eq!(pairs.needed(1), 8);
        assert_eq!(pairs.used(21), 42);
        assert_eq!(policy("java.util.ArrayList").needed(7), 7);
        assert_eq!(policy("java.util.ArrayDeque").needed(7), 8);
    }
}
