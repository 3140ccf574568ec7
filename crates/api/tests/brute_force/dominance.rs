//! Reachability, dominators, retained sizes, and the totals of classes, packages and loaders.

use anthill_graph::{ROOT, UNREACHABLE};
use anthill_session::Session;

use crate::cases::{Case, Needs, on_heaps};
use anthill_testkit::brute_force::{BruteForce, one};

#[test]
fn dominators_and_retained_sizes() {
    on_heaps(
        1,
        7000,
        Needs::References,
        |session, brute_force, _: &Case| {
            let graph = session.graph();
            assert_eq!(graph.len() as usize, brute_force.node_count());
            sizes(session, brute_force);
            let dominators = &session.analysis().unwrap().dominators;
            for node in 0..brute_force.node_count() {
                let live = brute_force.live & one(node) != 0;
                let number = node as u32;
                assert_eq!(dominators.is_reachable(number), live, "node {node}");
                let retained = brute_force.bytes(brute_force.dominated(node));
                let immediate = match live {
                    false => UNREACHABLE,
                    true => {
                        // The one that all others dominate retains the least.
                        let above =
                            anthill_testkit::brute_force::nodes(brute_force.dominators(node));
                        let nearest =
                            above.min_by_key(|&above| brute_force.dominated(above).count_ones());
                        nearest.map_or(ROOT, |node| node as u32)
                    }
                };
                assert_eq!(dominators.immediate[node], immediate, "node {node}");
                if live {
                    assert_eq!(dominators.retained(number), retained, "node {node}");
                }
            }
        },
    );
}

fn sizes(session: &Session, brute_force: &BruteForce) {
    let graph = session.graph();
    for node in 0..brute_force.node_count() {
        let class = brute_force.class_name(node);
        assert_eq!(
            graph.size(node as u32),
            brute_force.size(node),
            "node {node}, {class}"
        );
    }
}
