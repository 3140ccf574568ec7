//! Graphs for Graphviz.

use std::fmt::Write;

use anthill_paths::{PathGraph, PathNode};

use super::units::{count, counted};

/// The graph in the DOT language, without edges that lead to less than `least` percent of the targets
/// and what only those lead to. `names` has the classes of the nodes.
pub fn paths(graph: &PathGraph, title: &str, least: f64, names: &[String]) -> String {
    let enough = least / 100.0 * graph.targets as f64;
    let edges: Vec<_> = graph
        .edges
        .iter()
        .filter(|edge| edge.targets as f64 >= enough)
        .collect();
    let mut dot = String::from("digraph paths {\n  rankdir=LR;\n");
    let mut line = |text: &str| {
        dot.push_str("  ");
        dot.push_str(text);
        dot.push('\n');
    };
    line("node [shape=box, fontname=\"Helvetica\"];");
    line("edge [fontname=\"Helvetica\", fontsize=10];");
    line(&format!("label={};", quoted(title)));
    for (number, (node, name)) in graph.nodes.iter().zip(names).enumerate() {
        let used = |end: usize| end == number;
        if edges
            .iter()
            .any(|edge| used(edge.to) || edge.from.is_some_and(used))
        {
            line(&format!("n{number} [{}];", attributes(node, name)));
        }
    }
    for (number, edge) in edges.iter().enumerate() {
        let label = quoted(&format!("{} ({})", edge.via, count(edge.targets)));
        match edge.from {
            Some(from) => line(&format!("n{from} -> n{} [label={label}];", edge.to)),
            None => {
                let root = quoted(&format!("GC root: {}", edge.via));
                line(&format!("r{number} [label={root}, shape=ellipse];"));
                let label = quoted(&count(edge.targets));
                line(&format!("r{number} -> n{} [label={label}];", edge.to));
            }
        }
    }
    if edges.len() < graph.edges.len() {
        let left_out = (graph.edges.len() - edges.len()) as u64;
        let left_out = counted(left_out, "edge leads", "edges lead");
        line(&format!(
            "// {left_out} to less than {least} % of the objects"
        ));
    }
    dot.push_str("}\n");
    dot
}

fn attributes(node: &PathNode, class: &str) -> String {
    let mut label = format!("{class}\n{}", counted(node.objects, "object", "objects"));
    if node.targets > 0 {
        let _ = write!(label, "\n{} of the group", count(node.targets));
    }
    let style = match node.targets {
        0 => "",
        _ => ", style=filled, fillcolor=\"#ffe0a0\"",
    };
    format!("label={}{style}", quoted(&label))
}

/// A text as DOT has it.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control() => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use anthill_paths::{BranchClass, PathEdge};

    use super::*;

    #[test]
    fn nodes_edges_and_what_is_left_out() {
        let class = BranchClass::Instances;
        let node = |number, objects, targets| PathNode {
            class: class(number),
            objects,
            targets,
        };
        let edge = |from, to, via: &str, targets| PathEdge {
            from,
            to,
            via: via.to_owned(),
            targets,
        };
        let graph = PathGraph {
            nodes: vec![node(1, 1, 0), node(2, 1000, 1000), node(3, 2, 0)],
            edges: vec![
                edge(None, 0, "static \"a\\b\"", 1000),
                edge(Some(0), 1, "table", 1000),
                edge(Some(2), 1, "x", 1),
            ],
            targets: 1000,
        };
        let names = [1, 2, 3].map(|number| format!("Instances({number})"));
        let dot = paths(&graph, "a\nb", 1.0, &names);
        assert_eq!(
            dot,
            r##"digraph paths {
  rankdir=LR;
  node [shape=box, fontname="Helvetica"];
  edge [fontname="Helvetica", fontsize=10];
  label="a\nb";
  n0 [label="Instances(1)\n1 object"];
  n1 [label="Instances(2)\n1,000 objects\n1,000 of the group", style=filled, fillcolor="#ffe0a0"];
  r0 [label="GC root: static \"a\\b\"", shape=ellipse];
  r0 -> n0 [label="1,000"];
  n0 -> n1 [label="table (1,000)"];
  // 1 edge leads to less than 1 % of the objects
}
"##
        );
    }
}
