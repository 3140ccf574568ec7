//! What was born, died and survived between two states of a recording.

use anthill_classify::Step;
use anthill_history::{EvolvedNode, History, evolution};
use anthill_syntax::Pattern;
use anthill_trace::{IdentityKind, Point, Totals};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Diff};
use crate::heap::steps;
use crate::mirrored::mirrored;
use crate::{Basis, Error, Heap, Series, with_definitions};

/// What objects are split by, unless the user wants otherwise.
const BY: &str = "type";

mirrored! {
    /// Which objects of a recording have an identity.
    #[schemars(rename = "DiffIdentity")]
    Identity = anthill_trace::IdentityKind {
        /// No object.
        None,
        /// The tracked objects.
        Tracked,
        /// Every object.
        All,
    }
}

/// The comparison of two states of a recording.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffEvolved")]
pub struct Evolved {
    /// The earlier and the later state.
    pub states: [State; 2],
    /// The steps by which the tree splits the objects.
    pub by: String,
    /// Which objects have an identity.
    pub identity: Identity,
    /// The number of objects in each state.
    pub objects: [u64; 2],
    /// The number of objects with an identity in each state.
    pub told_apart: [u64; 2],
    /// All compared objects, split by the steps of `by`; nodes with the most turnover come first.
    pub tree: Node,
}

/// One of the two compared states.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffState")]
pub struct State {
    /// The number of the state.
    pub state: u32,
    /// Nanoseconds since the start of the recording.
    pub time_ns: u64,
    /// The number of the garbage collection after which the state was recorded; null if there was none.
    pub gc: Option<u64>,
    /// The mark for which the state was recorded; null if there was none.
    pub mark: Option<String>,
    /// Why objects that should have an identity have none, for example because they moved during the
    /// dump; null if no identity is missing.
    pub identities_missing: Option<String>,
}

/// Objects with the same key.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffNode")]
pub struct Node {
    /// The key that distinguishes the node from its siblings.
    pub key: String,
    /// The objects in the earlier state.
    pub before: Amount,
    /// The objects in the later state.
    pub after: Amount,
    /// Only where objects were told apart.
    #[serde(flatten)]
    pub fates: Option<Fates>,
    /// The nodes below, most turnover first; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
    /// The number of children that `--limit` left out; absent if there are none.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Bytes that were born or died; where objects were not told apart, those that are more or less.
    #[serde(skip)]
    pub turnover: u64,
    /// Bytes more, or less.
    #[serde(skip)]
    pub change: i64,
}

/// What became of the objects that were told apart.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DiffFates")]
pub struct Fates {
    /// Objects with an identity that are only in the later state; absent if no object has an identity.
    pub born: Amount,
    /// Objects with an identity that are only in the earlier state; absent if no object has an
    /// identity.
    pub died: Amount,
    /// Objects with an identity that are in both states, counted where they are in the later one;
    /// absent if no object has an identity.
    pub survived: Amount,
}

/// A number of objects and their bytes.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[schemars(rename = "DiffAmount")]
pub struct Amount {
    /// The number of objects.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub bytes: u64,
}

impl From<Totals> for Amount {
    fn from(totals: Totals) -> Self {
        Amount {
            objects: totals.objects,
            bytes: totals.bytes,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Diff {
    pub(super) fn evolved(&self, series: &dyn Series) -> Result<(Answer, Basis), Error> {
        let steps = self.steps(series)?;
        let [from, to] = self.points(series)?;
        let before = series.open(0, Some(from))?;
        let after = series.open(0, Some(to))?;
        let pattern = self.class.as_deref().map(Pattern::class);
        let wanted = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
        let sessions = [&*before.session, &*after.session];
        let evolution = evolution(sessions, &steps, wanted, self.unreachable)?;
        if evolution.objects == [0, 0] {
            return Err(Error::NothingFound(
                "neither state has matching objects".to_owned(),
            ));
        }
        let has_fates = evolution.identity != IdentityKind::None;
        let most = self.limit.unwrap_or_default().most();
        let [missing_before, missing_after] = evolution.missing;
        let evolved = Evolved {
            states: [
                State::new(&before, missing_before),
                State::new(&after, missing_after),
            ],
            by: self.by.as_deref().unwrap_or(BY).to_owned(),
            identity: evolution.identity.into(),
            objects: evolution.objects,
            told_apart: evolution.told_apart,
            tree: Node::new(evolution.root, has_fates, most),
        };
        Ok((Answer::Recording(evolved), Basis::Heap(after)))
    }

    fn steps(&self, series: &dyn Series) -> Result<Vec<Step>, Error> {
        let by = self.by.as_deref().unwrap_or(BY);
        // As for dumps.
        let by = if by == "class" { BY } else { by };
        steps(
            &with_definitions(series.definitions(), &self.definitions)?,
            "--by",
            by,
        )
    }

    /// The two points: by default the window in which the heap grows, or the whole recording.
    fn points(&self, series: &dyn Series) -> Result<[Point; 2], Error> {
        let given = |point: &Option<String>| point.as_deref().map(Point::parse);
        let from = match given(&self.from) {
            Some(from) => from,
            None => {
                let file = &series.files()[0];
                let history = History::of_trace(file)?;
                let trace = history.trace.as_ref();
                if let Some(trace) = trace.filter(|trace| trace.states().len() < 2) {
                    return Err(Error::too_few_states(trace, file, "a comparison"));
                }
                let window = history.window;
                let window = window.map(|window| Point::parse(&history.moments[window.from].point));
                window.unwrap_or(Point::First)
            }
        };
        Ok([from, given(&self.to).unwrap_or(Point::Last)])
    }
}

impl State {
    fn new(heap: &Heap, identities_missing: Option<String>) -> Self {
        let recording = heap.session.recording();
        let state = recording.map(|recording| recording.state());
        State {
            state: state.map_or(0, |state| state.number),
            time_ns: state.map_or(0, |state| state.time),
            gc: state.and_then(|state| state.gc),
            mark: state.and_then(|state| state.mark.clone()),
            identities_missing,
        }
    }
}

impl Node {
    fn new(node: EvolvedNode, has_fates: bool, most: usize) -> Self {
        let shown = node.children.len().min(most);
        Node {
            turnover: node.turnover(),
            change: node.change(),
            omitted: node.children.len() - shown,
            key: node.key,
            before: node.before.into(),
            after: node.after.into(),
            fates: has_fates.then_some(Fates {
                born: node.born.into(),
                died: node.died.into(),
                survived: node.survived.into(),
            }),
            children: node
                .children
                .into_iter()
                .take(shown)
                .map(|child| Node::new(child, has_fates, most))
                .collect(),
        }
    }
}
