//! How strongly an object is held, whatever convention the sizes follow.

use anthill_graph::{EdgeKind, NodeId};
use anthill_heap::{ObjectId, Strength};

use super::Context;
use crate::values::Classified;

/// From strong to feeble (java.lang.ref): an object counts where it is first reached. An object
/// waits for its finalizer before phantom references to it are told.
const ORDER: [Strength; 5] = [
    Strength::Strong,
    Strength::Soft,
    Strength::Weak,
    Strength::Finalizer,
    Strength::Phantom,
];
const NAMES: [&str; 6] = [
    "strong",
    "soft",
    "weak",
    "finalizer",
    "phantom",
    "unreachable",
];

fn rank(strength: Strength) -> u8 {
    ORDER
        .iter()
        .zip(0..)
        .find(|(known, _)| **known == strength)
        .map_or(0, |(_, rank)| rank)
}

impl Context<'_> {
    pub(super) fn strength(&self) -> Classified {
        let ranks = self.ranks();
        self.by_number(
            |object| i64::from(ranks[object as usize]),
            |rank| NAMES[rank as usize].to_owned(),
        )
    }

    /// By node: the index into [`NAMES`].
    fn ranks(&self) -> Vec<u8> {
        let unreached = ORDER.len() as u8;
        let mut ranks = vec![unreached; self.graph.len() as usize];
        // By rank: where to go on when nothing stronger leads anywhere new.
        let mut waiting: [Vec<NodeId>; ORDER.len()] = Default::default();
        waiting[0] = self.graph.roots().to_vec();
        for level in 0..ORDER.len() {
            while let Some(node) = waiting[level].pop() {
                if ranks[node as usize] != unreached {
                    continue;
                }
                ranks[node as usize] = level as u8;
                if let Some((referent, strength)) = self.referent(node) {
                    waiting[level.max(rank(strength).into())].push(referent);
                }
                let strong = self
                    .graph
                    .edges(node)
                    .filter(|edge| edge.1 != EdgeKind::Referent);
                waiting[level].extend(
                    strong
                        .map(|edge| edge.0)
                        .filter(|&to| ranks[to as usize] == unreached),
                );
            }
        }
        ranks
    }

    fn referent(&self, node: NodeId) -> Option<(ObjectId, Strength)> {
        let state = self.state();
        (node < state.len()).then(|| state.referent(node)).flatten()
    }
}
