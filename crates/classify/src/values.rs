//! What classifiers say about objects: each object gets a label, a label is a set of paths, a path
//! is a list of keys. One key is a one-to-one classifier, several paths a one-to-many one, a
//! longer path a one-to-hierarchy one (Weninger et al. 2018, "User-defined classification and
//! multi-level grouping of objects", section 3.3).

use std::sync::Arc;

use anthill_heap::Buffer;
use rustc_hash::FxHashMap;

/// The number of a key.
pub type KeyId = u32;
/// The number of a sequence of keys, for classifiers with several levels.
pub type PathId = u32;
/// The number of a set of paths: all that a classifier says of an object.
pub type LabelId = u32;

/// Keys of a path beyond this are left out.
const LONGEST_PATH: usize = 64;

/// The path without keys, which every path begins with.
pub const NO_PATH: PathId = 0;

/// Keys, paths and labels, equal ones once.
pub struct Values {
    keys: Vec<String>,
    key_numbers: FxHashMap<String, KeyId>,
    /// A path is another path and one more key.
    paths: Vec<(PathId, KeyId)>,
    path_numbers: FxHashMap<(PathId, KeyId), PathId>,
    labels: Vec<Arc<[PathId]>>,
    label_numbers: FxHashMap<Arc<[PathId]>, LabelId>,
    /// Paths of all labels together.
    total_paths: usize,
}

impl Default for Values {
    fn default() -> Self {
        Values {
            keys: Vec::new(),
            key_numbers: FxHashMap::default(),
            paths: vec![(NO_PATH, KeyId::MAX)],
            path_numbers: FxHashMap::default(),
            labels: Vec::new(),
            label_numbers: FxHashMap::default(),
            total_paths: 0,
        }
    }
}

impl Values {
    /// The number of a key, new if need be.
    pub fn key(&mut self, key: &str) -> KeyId {
        if let Some(&number) = self.key_numbers.get(key) {
            return number;
        }
        let number = self.keys.len() as KeyId;
        self.keys.push(key.to_owned());
        self.key_numbers.insert(key.to_owned(), number);
        number
    }

    /// The key with this number.
    pub fn key_text(&self, key: KeyId) -> &str {
        &self.keys[key as usize]
    }

    /// A path with one more key.
    pub fn extend(&mut self, path: PathId, key: KeyId) -> PathId {
        let paths = &mut self.paths;
        *self.path_numbers.entry((path, key)).or_insert_with(|| {
            paths.push((path, key));
            paths.len() as PathId - 1
        })
    }

    /// The path of these keys, as far as a person can follow.
    pub fn path<'k>(&mut self, keys: impl IntoIterator<Item = &'k str>) -> PathId {
        keys.into_iter()
            .take(LONGEST_PATH)
            .fold(NO_PATH, |path, key| {
                let key = self.key(key);
                self.extend(path, key)
            })
    }

    /// The keys of a path, first to last.
    pub fn keys_of(&self, mut path: PathId) -> Vec<KeyId> {
        let mut keys = Vec::new();
        while path != NO_PATH {
            let (before, key) = self.paths[path as usize];
            keys.push(key);
            path = before;
        }
        keys.reverse();
        keys
    }

    /// The label of a set of paths. The empty set is a label too: the object is in no group.
    pub fn label(&mut self, mut paths: Vec<PathId>) -> LabelId {
        paths.sort_unstable();
        paths.dedup();
        self.label_of_sorted(&paths)
    }

    fn label_of_sorted(&mut self, paths: &[PathId]) -> LabelId {
        if let Some(&number) = self.label_numbers.get(paths) {
            return number;
        }
        let number = self.labels.len() as LabelId;
        let paths: Arc<[PathId]> = paths.into();
        self.total_paths += paths.len();
        self.labels.push(paths.clone());
        self.label_numbers.insert(paths, number);
        number
    }

    /// The label with the paths of both.
    pub fn union(&mut self, a: LabelId, b: LabelId) -> LabelId {
        let (a, b) = if self.paths(a).len() < self.paths(b).len() {
            (b, a)
        } else {
            (a, b)
        };
        let large = self.paths(a);
        let is_new = |path: &&PathId| large.binary_search(path).is_err();
        let new: Vec<PathId> = self.paths(b).iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return a;
        }
        let paths = [large, &new].concat();
        self.label(paths)
    }

    /// The label with the same paths as one of other values.
    pub(crate) fn adopt(&mut self, other: &Values, label: LabelId) -> LabelId {
        let keys = |path| {
            other
                .keys_of(path)
                .into_iter()
                .map(|key| other.key_text(key))
        };
        let paths = other.paths(label).iter();
        let paths = paths.map(|&path| self.path(keys(path))).collect();
        self.label(paths)
    }

    /// Distinct paths: each becomes a node, or several.
    pub(crate) fn distinct_paths(&self) -> usize {
        self.paths.len() - 1
    }

    /// Paths of all labels together.
    pub(crate) fn total_paths(&self) -> usize {
        self.total_paths
    }

    /// The label of one key.
    pub fn one(&mut self, key: &str) -> LabelId {
        let path = self.path([key]);
        self.label(vec![path])
    }

    /// The paths that a label stands for.
    pub fn paths(&self, label: LabelId) -> &[PathId] {
        &self.labels[label as usize]
    }

    /// How many labels there are.
    pub fn labels(&self) -> usize {
        self.labels.len()
    }
}

/// Which label each object has.
pub enum Assignment {
    /// It depends on the class only.
    ByClass(Vec<LabelId>),
    /// The label of each object.
    ByObject(Buffer<LabelId>),
    /// Every object has the same label, whose keys are the parts of [`crate::parts`] in their
    /// order: each stands for a part of the object's bytes.
    Parts(LabelId),
}

/// What one classifier says about all objects of a heap.
pub struct Classified {
    /// What the labels mean.
    pub values: Values,
    /// Who has which.
    pub of: Assignment,
}

impl Classified {
    /// The label of an object of this class.
    pub fn label(&self, object: u32, class: u32) -> LabelId {
        match &self.of {
            Assignment::ByClass(labels) => labels[class as usize],
            Assignment::ByObject(labels) => labels[object as usize],
            Assignment::Parts(label) => *label,
        }
    }
}
