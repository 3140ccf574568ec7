//! The things that were used last; the others are forgotten.

/// Few things, so they are looked through.
pub struct Recent<K, V> {
    most: usize,
    /// The last used one is last.
    things: Vec<(K, V)>,
}

impl<K: PartialEq, V: Clone> Recent<K, V> {
    /// Keeps at most so many things.
    pub fn new(most: usize) -> Self {
        Recent {
            most,
            things: Vec::new(),
        }
    }

    /// What is there under a key, which now counts as the last used.
    pub fn get(&mut self, key: &K) -> Option<V> {
        let place = self.things.iter().position(|thing| thing.0 == *key)?;
        let thing = self.things.remove(place);
        let value = thing.1.clone();
        self.things.push(thing);
        Some(value)
    }

    /// What is there under a key, or something new.
    pub fn get_or_put(&mut self, key: &K, new: impl FnOnce() -> V) -> V
    where
        K: Clone,
    {
        self.get(key).unwrap_or_else(|| {
            let value = new();
            self.put(key.clone(), value.clone());
            value
        })
    }

    /// Forgets what is there under a key.
    pub fn remove(&mut self, key: &K) {
        self.things.retain(|thing| thing.0 != *key);
    }

    /// Puts something under a key; if there is no room, forgets what has not been used for longest.
    pub fn put(&mut self, key: K, value: V) {
        self.things.retain(|thing| thing.0 != key);
        if self.things.len() >= self.most {
            self.things.remove(0);
        }
        self.things.push((key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut recent = Recent::new(2);
        recent.put("a", 1);
        recent.put("b", 2);
        assert_eq!(recent.get(&"a"), Some(1));
        recent.put("c", 3);
        assert_eq!(recent.get(&"b"), None);
        assert_eq!(recent.get(&"a"), Some(1));
        recent.put("c", 4);
        assert_eq!(recent.get_or_put(&"c", || 5), 4);
        recent.remove(&"c");
        assert_eq!(recent.get_or_put(&"c", || 4), 4);
        assert_eq!((recent.get(&"c"), recent.get(&"a")), (Some(4), Some(1)));
    }
}
