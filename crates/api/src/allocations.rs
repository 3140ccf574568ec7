//! Where a program allocates, and how much of it stays alive.

use anthill_history::{Allocated, Allocations as Found, Call, CallNode, Order};
use anthill_trace::{Point, is_trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Basis, Error, Limit, Percent, Question, Series, SeriesQuestion};

/// Show where a recorded program allocates, as a tree of calls
///
/// The tree comes from the sampled allocations of a recording: outermost calls first, the allocated
/// classes at the end. Each node shows how many bytes were allocated by it and by the calls below
/// it, and how many of these are still alive. With --from, the allocations since an earlier state
/// count, and the tree also compares what was alive in both states. All bytes are estimates: each
/// sample stands for the allocations around it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Allocations {
    /// Count only allocations after this state of the recording, as for --at [default: the start of
    /// the recording]
    #[schemars(extend("x-value" = "POINT"))]
    pub from: Option<String>,
    /// The state in which objects are still alive, as for --at [default: last]
    #[schemars(extend("x-value" = "POINT", "x-excludes" = ["at"]))]
    pub to: Option<String>,
    /// Start with the allocated classes and the calls that allocated them, and end with the outermost
    /// calls
    #[serde(default)]
    pub sites: bool,
    /// Hide calls below this percentage of the largest figure of the whole tree
    #[serde(default = "usual_least")]
    #[schemars(extend("x-default-for-people" = 2))]
    pub least: Percent,
    /// Show at most N nodes below each node; 0 for all
    #[serde(default)]
    pub limit: Limit,
}

fn usual_least() -> Percent {
    Percent(0.1)
}

/// The sampled allocations of a recording as a tree of calls.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AllocationsAnswer")]
pub struct Answer {
    /// The state after which allocations count; null if all count.
    pub from: Option<State>,
    /// The state that shows which objects are still alive.
    pub to: State,
    /// Whether the states show which sampled objects are alive; if not, `survived`, `before` and
    /// `after` are 0 everywhere.
    pub followed: bool,
    /// The whole program, with the calls below it.
    pub tree: Node,
}

/// A state of the recording.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AllocationsState")]
pub struct State {
    /// The name of the state, as `--at` takes it.
    pub point: String,
    /// Nanoseconds since the start of the recording.
    pub time_ns: u64,
}

/// What a node of the tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AllocationsKind")]
pub enum NodeKind {
    /// The whole program.
    Program,
    /// A method.
    Method,
    /// Code whose stack was not recorded.
    Unknown,
    /// The allocated objects of a class.
    Objects,
}

/// A call with everything that was allocated by it and by the calls below it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AllocationsNode")]
pub struct Node {
    /// What the node stands for.
    pub kind: NodeKind,
    /// The class of the method or of the objects; null otherwise.
    pub class: Option<String>,
    /// The method; null otherwise.
    pub method: Option<String>,
    /// The number of sampled allocations.
    pub samples: u64,
    /// Allocated bytes.
    pub allocated: u64,
    /// The allocated bytes that are still alive in the state `to`.
    pub survived: u64,
    /// Bytes alive in the state `from`, whenever they were allocated; 0 without `--from`.
    pub before: u64,
    /// Bytes alive in the state `to`, whenever they were allocated.
    pub after: u64,
    /// The calls and objects below, largest first; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
    /// The number of children that `--least` or `--limit` left out; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Question for Allocations {
    const NAME: &'static str = "allocations";
    type Answer = Answer;
}

impl SeriesQuestion for Allocations {
    fn answer(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let file = &series.files()[0];
        if !is_trace(file) {
            return Err(Error::unusable(
                format!(
                    "{}: is a heap dump, which has no allocations",
                    file.display()
                ),
                "Record the program with `anthill record` or `anthill attach`.",
            ));
        }
        let point = |text: &Option<String>| text.as_deref().map(Point::parse);
        let to = point(&self.to).or_else(|| series.at());
        let after = series.open(0, Some(to.unwrap_or(Point::Last)))?;
        let from = point(&self.from).map(|from| series.open(0, Some(from)));
        let before = from.transpose()?;
        let state = |heap: &crate::Heap| {
            let recording = heap.session.recording();
            recording.map(|recording| State {
                point: format!("#{}", recording.state().number),
                time_ns: recording.state().time,
            })
        };
        let from = before.as_ref().and_then(state);
        let order = match self.sites {
            true => Order::SitesFirst,
            false => Order::CallersFirst,
        };
        let earlier = before.as_ref().map(|heap| &*heap.session);
        let found = Found::of(earlier, &after.session, order)?;
        let (Some(found), Some(to)) = (found, state(&after)) else {
            return Err(Error::NothingFound(format!(
                "{}: no recorded state",
                file.display()
            )));
        };
        if from.as_ref().is_some_and(|from| from.time_ns > to.time_ns) {
            return Err(Error::unusable(
                "--from is later than --to",
                "Give the earlier state first.",
            ));
        }
        if found.root.sum == Allocated::default() {
            return Err(Error::NothingFound(
                "the recording has no allocation samples in this window".to_owned(),
            ));
        }
        let least = self.least.0 / 100.0 * found.root.sum.most() as f64;
        let answer = Answer {
            from,
            to,
            followed: found.is_followed,
            tree: Node::new(found.root, least, self.limit.most()),
        };
        Ok((answer, Basis::Heap(after)))
    }
}

impl Node {
    fn new(node: CallNode, least: f64, most: usize) -> Self {
        let (kind, class, method) = match node.call {
            Call::Program => (NodeKind::Program, None, None),
            Call::Unknown => (NodeKind::Unknown, None, None),
            Call::Method { class, method } => (NodeKind::Method, Some(class), Some(method)),
            Call::Objects(class) => (NodeKind::Objects, Some(class), None),
        };
        let all = node.children.len();
        let children = node.children.into_iter();
        let children: Vec<Node> = children
            .filter(|child| child.sum.most() as f64 >= least)
            .take(most)
            .map(|child| Node::new(child, least, most))
            .collect();
        Node {
            kind,
            class,
            method,
            samples: node.sum.samples,
            allocated: node.sum.bytes,
            survived: node.sum.survived,
            before: node.sum.before,
            after: node.sum.after,
            omitted: all - children.len(),
            children,
        }
    }
}
