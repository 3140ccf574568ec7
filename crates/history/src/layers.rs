//! The heap in layers over time: what a classification says about each of several states, laid
//! side by side. A layer is all that ends in one node of the trees, by the keys of the node.

use anthill_classify::{OVERALL, Step, Tree, TreeNodeId};
use anthill_heap::{BitSet, package_of};
use anthill_session::{Error, Session};
use anthill_trace::Totals;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::History;

/// Nobody sees more layers, and each takes memory for every state.
const MOST_LAYERS: usize = 1 << 16;

/// Joins the keys of a layer, as in the names of nodes.
const JOINT: &str = " > ";

/// Layers of some states of a history.
pub struct Layers {
    /// Places of the states in the history, ascending.
    pub states: Vec<usize>,
    /// By state: each object once.
    pub totals: Vec<Totals>,
    /// By keys; each has a value for every state.
    by_key: FxHashMap<String, Vec<Totals>>,
}

/// A layer over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// The keys from the top, joined by ` > `.
    pub key: String,
    /// By state.
    pub objects: Vec<u64>,
    /// By state.
    pub bytes: Vec<u64>,
}

/// What makes a layer large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Shallow sizes.
    Bytes,
    /// How many objects.
    Objects,
}

impl Measure {
    fn of(self, totals: &Totals) -> u64 {
        match self {
            Measure::Bytes => totals.bytes,
            Measure::Objects => totals.objects,
        }
    }
}

impl Layers {
    /// Of states that are added one after the other.
    pub fn new(states: Vec<usize>) -> Self {
        Layers {
            totals: vec![Totals::default(); states.len()],
            states,
            by_key: FxHashMap::default(),
        }
    }

    /// By type, or with `by_package` by package, of the classes that `wanted` accepts by name: a
    /// history has that of every state.
    pub fn of_history(
        history: &History,
        by_package: bool,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Self, Error> {
        let mut layers = Layers::new((0..history.moments.len()).collect());
        for one in history.types(usize::MAX, wanted) {
            let key = match by_package {
                true => package_key(&one.name),
                false => one.name,
            };
            for (place, (&objects, &bytes)) in one.objects.iter().zip(&one.bytes).enumerate() {
                let totals = Totals { objects, bytes };
                layers.totals[place] += totals;
                layers.add_to(&key, place, totals)?;
            }
        }
        Ok(layers)
    }

    /// Adds the objects of a group, split by steps, as the state at a place of [`Self::states`].
    pub fn add(
        &mut self,
        place: usize,
        session: &Session,
        group: &BitSet,
        steps: &[Step],
    ) -> Result<(), Error> {
        let tree = session.count(group, steps)?;
        let overall = tree.node(OVERALL);
        self.totals[place] = Totals {
            objects: overall.objects,
            bytes: overall.shallow,
        };
        for (id, node) in (0..).zip(tree.nodes()) {
            if node.own.objects > 0 {
                let totals = Totals {
                    objects: node.own.objects,
                    bytes: node.own.bytes,
                };
                self.add_to(&path(&tree, id), place, totals)?;
            }
        }
        Ok(())
    }

    fn add_to(&mut self, key: &str, place: usize, totals: Totals) -> Result<(), Error> {
        if let Some(series) = self.by_key.get_mut(key) {
            series[place] += totals;
            return Ok(());
        }
        if self.by_key.len() == MOST_LAYERS {
            return Err(Error::Question(format!(
                "the steps split the heap into more than {MOST_LAYERS} layers; choose coarser \
                steps, or fewer objects with `where`"
            )));
        }
        let mut series = vec![Totals::default(); self.states.len()];
        series[place] = totals;
        self.by_key.insert(key.to_owned(), series);
        Ok(())
    }

    /// How many layers there are.
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there is no layer.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The layers that are largest at any state, and all others added up. An object that is in
    /// several layers counts in each.
    pub fn largest(&self, most: usize, measure: Measure) -> (Vec<Layer>, Layer) {
        let peak = |series: &[Totals]| series.iter().map(|totals| measure.of(totals)).max();
        let mut all: Vec<(&String, &Vec<Totals>)> = self.by_key.iter().collect();
        all.sort_by(|a, b| peak(b.1).cmp(&peak(a.1)).then(a.0.cmp(b.0)));
        let others = all.split_off(most.min(all.len()));
        let mut sums = vec![Totals::default(); self.states.len()];
        for (_, series) in others {
            let pairs = sums.iter_mut().zip(series);
            pairs.for_each(|(sum, &totals)| *sum += totals);
        }
        let largest = all.into_iter().map(|(key, series)| layer(key, series));
        (largest.collect(), layer("", &sums))
    }
}

fn layer(key: &str, series: &[Totals]) -> Layer {
    Layer {
        key: key.to_owned(),
        objects: series.iter().map(|totals| totals.objects).collect(),
        bytes: series.iter().map(|totals| totals.bytes).collect(),
    }
}

fn path(tree: &Tree, id: TreeNodeId) -> String {
    let below = |id: &TreeNodeId| tree.node(*id).parent;
    let nodes = std::iter::successors(Some(id), below);
    let mut keys: Vec<&str> = nodes
        .take_while(|&id| id != OVERALL)
        .map(|id| tree.node(id).key.as_str())
        .collect();
    keys.reverse();
    keys.join(JOINT)
}

/// What the classifier `package` says.
fn package_key(class: &str) -> String {
    match package_of(class) {
        "" => "(no package)".to_owned(),
        package => package.replace('.', JOINT),
    }
}

/// So many places of `0..of`, or all: the first, the last, and others evenly between.
pub fn spread(most: usize, of: usize) -> Vec<usize> {
    if of <= most {
        return (0..of).collect();
    }
    match most {
        0 => Vec::new(),
        1 => vec![of - 1],
        most => (0..most)
            .map(|place| place * (of - 1) / (most - 1))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_spread_from_the_first_to_the_last() {
        assert_eq!(spread(5, 3), [0, 1, 2]);
        assert_eq!(spread(3, 9), [0, 4, 8]);
        assert_eq!(spread(1, 9), [8]);
        let many = spread(60, 301);
        assert_eq!((many.len(), many[0], many[59]), (60, 0, 300));
        assert!(many.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn the_largest_at_any_state_are_layers_and_the_rest_is_one() {
        let mut layers = Layers::new(vec![0, 4]);
        let totals = |objects, bytes| Totals { objects, bytes };
        for (key, place, amount) in [
            ("early", 0, totals(1, 900)),
            ("late", 1, totals(2, 800)),
            ("many", 1, totals(70, 70)),
            ("few", 0, totals(3, 30)),
            ("few", 1, totals(3, 30)),
        ] {
            layers.add_to(key, place, amount).unwrap();
        }
        let named = |found: &[Layer]| -> Vec<String> {
            found.iter().map(|layer| layer.key.clone()).collect()
        };
        let (largest, others) = layers.largest(2, Measure::Bytes);
        assert_eq!(named(&largest), ["early", "late"]);
        assert_eq!(
            (largest[0].bytes[..].to_vec(), others.bytes),
            (vec![900, 0], vec![30, 100])
        );
        assert_eq!(others.objects, [3, 73]);
        let (largest, _) = layers.largest(1, Measure::Objects);
        assert_eq!(named(&largest), ["many"]);
    }
}
