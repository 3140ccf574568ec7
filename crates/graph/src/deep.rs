//! Deep sizes of many object groups at once, exactly: what each group reaches through
//! references, itself included. An object's class is not part of what it reaches: every class
//! reaches its loader, and that nearly everything.
//!
//! Strongly connected components are condensed (Tarjan 1972), then the set of groups that reach
//! a component flows along the references, from sources to sinks.

use anthill_heap::{Buffer, Cancelled, Progress};

use crate::components::Components;
use crate::graph::{Graph, NodeId};
use crate::groups::{GroupTotals, Membership};
use crate::sets::{EMPTY, SetId, Sets, Sums};

/// What each group reaches.
pub fn deep_by_groups<L: Fn(NodeId) -> Option<u32>>(
    graph: &Graph,
    membership: &Membership<L>,
    progress: &dyn Progress,
) -> Result<Vec<GroupTotals>, Cancelled> {
    let components = Components::under_references(graph, progress)?;
    progress.stage("computing deep sizes of groups", u64::from(graph.len()));
    let totals = membership.in_parts(|groups_of_label, totals| {
        progress.check()?;
        let mut sets = Sets::new(groups_of_label);
        let sums = reached(graph, &components, &membership.label, &mut sets);
        if sets.overfull() {
            return Ok(false);
        }
        sums.spread(&sets, totals);
        Ok(true)
    })?;
    progress.advance(u64::from(graph.len()));
    Ok(totals)
}

/// Lets the groups of the nodes flow along the references and adds up what each set of groups reaches.
fn reached<L: Fn(NodeId) -> Option<u32>>(
    graph: &Graph,
    components: &Components,
    label: &L,
    sets: &mut Sets,
) -> Sums {
    let mut reaching = Buffer::filled(components.len(), EMPTY);
    let reaching: &mut [SetId] = &mut reaching;
    let mut sums = Sums::default();
    let mut labels = Vec::new();
    for members in components.iter().rev() {
        labels.extend(members.iter().filter_map(|&node| label(node)));
        let set = sets.with_labels(reaching[components.of(members[0])], &mut labels);
        labels.clear();
        if sets.overfull() {
            return sums;
        }
        for &node in members {
            sums.add(set, GroupTotals::one(graph.size(node)));
            if set == EMPTY {
                continue;
            }
            for to in graph.referenced(node) {
                let target = &mut reaching[components.of(to)];
                *target = sets.union(*target, set);
                // Large components can have many large sets below them.
                if sets.overfull() {
                    return sums;
                }
            }
        }
    }
    sums
}
