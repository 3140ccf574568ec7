//! Unions of labels. A heap has few distinct ones, so they are remembered; where that is not so,
//! they are refused before they eat the memory.

use rustc_hash::FxHashMap;

use crate::values::{LabelId, Values};

/// More paths than this in all labels together are refused.
const MOST_PATHS: usize = 1 << 25;

/// Up to this many labels are united two by two, so that intermediate results can be remembered.
const FEW: usize = 4;

/// There are too many distinct labels.
pub(crate) struct TooMany;

impl TooMany {
    pub(crate) fn reason(&self) -> String {
        format!(
            "the objects lead to too many different keys, more than {} in total; split them by \
            something coarser, such as type",
            MOST_PATHS >> 20 << 20
        )
    }
}

pub(crate) struct Unions {
    pub values: Values,
    known: FxHashMap<(LabelId, LabelId), LabelId>,
    most_paths: usize,
}

impl Unions {
    pub(crate) fn of(values: Values) -> Self {
        Unions {
            values,
            known: FxHashMap::default(),
            most_paths: MOST_PATHS,
        }
    }

    pub(crate) fn two(&mut self, a: LabelId, b: LabelId) -> Result<LabelId, TooMany> {
        if a == b {
            return Ok(a);
        }
        let pair = (a.min(b), a.max(b));
        if let Some(&union) = self.known.get(&pair) {
            return Ok(union);
        }
        let union = self.values.union(a, b);
        self.known.insert(pair, union);
        self.check(union)
    }

    /// The union of any labels, which are sorted on the way; `None` if there are none.
    pub(crate) fn all(&mut self, labels: &mut Vec<LabelId>) -> Result<Option<LabelId>, TooMany> {
        if labels.len() > 1 {
            labels.sort_unstable();
            labels.dedup();
        }
        let Some((&first, rest)) = labels.split_first() else {
            return Ok(None);
        };
        if rest.len() < FEW {
            let union = rest
                .iter()
                .try_fold(first, |union, &label| self.two(union, label));
            return union.map(Some);
        }
        let paths = labels.iter().flat_map(|&label| self.values.paths(label));
        let paths = paths.copied().collect();
        let union = self.values.label(paths);
        self.check(union).map(Some)
    }

    fn check(&self, label: LabelId) -> Result<LabelId, TooMany> {
        if self.values.total_paths() > self.most_paths {
            return Err(TooMany);
        }
        Ok(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_have_every_path_once_until_there_are_too_many() {
        let mut values = Values::default();
        let singles: Vec<LabelId> = (0..100).map(|n| values.one(&n.to_string())).collect();
        let mut unions = Unions::of(values);
        let few = unions
            .all(&mut singles[..3].to_vec())
            .ok()
            .flatten()
            .unwrap();
        let many = unions
            .all(&mut singles[..50].to_vec())
            .ok()
            .flatten()
            .unwrap();
        assert_eq!(unions.values.paths(few).len(), 3);
        assert_eq!(unions.values.paths(many).len(), 50);
        assert_eq!(unions.two(few, many).ok(), Some(many));
        assert_eq!(unions.all(&mut Vec::new()).ok(), Some(None));
        unions.most_paths = unions.values.total_paths() + 1;
        assert!(unions.two(many, few).is_ok(), "nothing new");
        assert!(unions.two(many, singles[99]).is_err());
        assert!(unions.all(&mut singles[50..90].to_vec()).is_err());
    }
}
