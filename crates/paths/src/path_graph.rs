//! Merged paths as a graph: one node for each class on the paths, one edge for each field between two
//! classes, so that paths that meet again are seen to meet (Weninger et al. 2018, section 3.4.2).

use rustc_hash::FxHashMap;

use crate::merged_paths::{BranchClass, MergedPaths};

/// All objects of a class that are on merged paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNode {
    /// Their class.
    pub class: BranchClass,
    /// How many.
    pub objects: u64,
    /// Targets among them.
    pub targets: u64,
}

/// How objects of one node hold those of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEdge {
    /// The node it leads from; `None` if it is a root.
    pub from: Option<usize>,
    /// The node it leads to.
    pub to: usize,
    /// The field, `[…]`, or the root in words.
    pub via: String,
    /// Targets whose path goes this way.
    pub targets: u64,
}

/// Merged paths with each class once.
pub struct PathGraph {
    /// Edges name them by index.
    pub nodes: Vec<PathNode>,
    /// Those that lead to more targets first.
    pub edges: Vec<PathEdge>,
    /// Targets with a path.
    pub targets: u64,
}

impl MergedPaths {
    /// The same paths with each class once.
    pub fn graph(&self) -> PathGraph {
        let mut nodes: Vec<PathNode> = Vec::new();
        let mut numbers: FxHashMap<BranchClass, usize> = FxHashMap::default();
        let node_of: Vec<usize> = self
            .branches
            .iter()
            .map(|branch| {
                let number = *numbers.entry(branch.class).or_insert_with(|| {
                    nodes.push(PathNode {
                        class: branch.class,
                        objects: 0,
                        targets: 0,
                    });
                    nodes.len() - 1
                });
                nodes[number].objects += branch.merged;
                nodes[number].targets += branch.here;
                number
            })
            .collect();
        let mut edges: FxHashMap<(Option<usize>, usize, &str), u64> = FxHashMap::default();
        for &top in &self.tops {
            let branch = &self.branches[top];
            *edges.entry((None, node_of[top], &branch.via)).or_default() += branch.targets;
        }
        for (from, branch) in self.branches.iter().enumerate() {
            for &child in &branch.children {
                let below = &self.branches[child];
                let edge = (Some(node_of[from]), node_of[child], below.via.as_str());
                *edges.entry(edge).or_default() += below.targets;
            }
            for via in &branch.through {
                let edge = (Some(node_of[from]), node_of[from], via.as_str());
                *edges.entry(edge).or_default() += branch.targets;
            }
        }
        let mut edges: Vec<PathEdge> = edges
            .into_iter()
            .map(|((from, to, via), targets)| PathEdge {
                from,
                to,
                via: via.to_owned(),
                targets,
            })
            .collect();
        edges.sort_by(|a, b| {
            let key = |edge: &PathEdge| (std::cmp::Reverse(edge.targets), edge.from, edge.to);
            key(a).cmp(&key(b)).then_with(|| a.via.cmp(&b.via))
        });
        PathGraph {
            nodes,
            edges,
            targets: self.targets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merged_paths::Branch;

    #[test]
    fn branches_of_a_class_become_one_node() {
        let branch = |via: &str, class, merged, here, targets, children: &[usize]| Branch {
            via: via.to_owned(),
            class: BranchClass::Instances(class),
            merged,
            through: Vec::new(),
            periods: Vec::new(),
            here,
            targets,
            held: 0,
            children: children.to_vec(),
            example: 0,
        };
        // Two maps of the same class from two roots, each with items of its own below.
        let mut branches = vec![
            branch("static a", 1, 1, 0, 5, &[1]),
            branch("table", 2, 1, 5, 5, &[]),
            branch("static b", 1, 1, 0, 2, &[3]),
            branch("table", 2, 1, 2, 2, &[]),
        ];
        branches[3].through = vec!["next".to_owned()];
        let merged = MergedPaths {
            branches,
            tops: vec![0, 2],
            targets: 7,
            held: 0,
            other_holders: 0,
            unreachable: Vec::new(),
        };
        let graph = merged.graph();
        let node = |class, objects, targets| PathNode {
            class: BranchClass::Instances(class),
            objects,
            targets,
        };
        assert_eq!(graph.nodes, [node(1, 2, 0), node(2, 2, 7)]);
        let edge = |from, to, via: &str, targets| PathEdge {
            from,
            to,
            via: via.to_owned(),
            targets,
        };
        assert_eq!(
            graph.edges,
            [
                edge(Some(0), 1, "table", 7),
                edge(None, 0, "static a", 5),
                edge(None, 0, "static b", 2),
                edge(Some(1), 1, "next", 2),
            ]
        );
    }
}
