//! The states that growth is about.

use std::path::Path;

use anthill_history::{
    HeapMoment, end_of_growth, identities_missing, inventory, inventory_by_path, moments,
    shares_identities, spread,
};
use anthill_session::{Error as SessionError, Session};
use anthill_structures::Inventory;
use anthill_trace::{Point, Trace, is_trace};

use super::{Growth, State};
use crate::{Error, Heap, Series, look_at_each};

/// The states that are compared; those between the first and the last are closed again.
pub(super) struct States {
    pub first: Heap,
    pub last: Heap,
    names: Vec<String>,
    pub inventories: Vec<Inventory>,
    /// By state: why some or all identities are missing.
    missing: Vec<Option<String>>,
    /// Those of a recording that were not looked into.
    pub skipped: usize,
    /// The last state of a recording, if growth ends before it.
    pub shrunk: Option<State>,
    pub is_recording: bool,
}

/// A dump, or a state of a recording.
type StatePoint = (usize, Option<Point>);

impl States {
    pub(super) fn open(question: &Growth, series: &dyn Series) -> Result<Self, Error> {
        let files = series.files();
        let mut shrunk = None;
        let mut places: Vec<StatePoint> = match files {
            [file] => {
                let recorded = Recorded::open(question, file)?;
                shrunk = recorded.shrunk;
                recorded.places
            }
            _ if question.from.is_some() || question.to.is_some() => {
                return Err(Error::unusable(
                    "--from and --to select states of a single recording",
                    "Omit them to compare dumps in the order in which you list them.",
                ));
            }
            files => (0..files.len()).map(|file| (file, None)).collect(),
        };
        let all = places.len();
        if let [_] = files {
            let looked_into = spread(question.states.most().max(2), all);
            places = looked_into
                .into_iter()
                .map(|at| places[at].clone())
                .collect();
        }
        let [begin, between @ .., end] = &places[..] else {
            return Err(Error::unusable(
                "growth needs at least two states",
                "Add a later dump, or choose states of the recording that are further apart.",
            ));
        };
        let open = |place: &StatePoint| series.open(place.0, place.1.clone());
        let first = open(begin)?;
        // Only states of one recording are named by points.
        let by_identity = end
            .1
            .as_ref()
            .is_some_and(|at| shares_identities(&first.session, at));
        let mut inventories = Vec::new();
        let mut missing = Vec::new();
        let mut look = |session: &Session| -> Result<(), Error> {
            inventories.push(match by_identity {
                true => inventory(session)?,
                false => inventory_by_path(session)?,
            });
            missing.push(identities_missing(session));
            Ok(())
        };
        look(&first.session)?;
        look_at_each(series, "following structures", between, |_, session| {
            look(session)
        })?;
        let last = open(end)?;
        look(&last.session)?;
        let name = |(file, point): &StatePoint| match point {
            Some(point) => point.to_string(),
            None => files[*file].display().to_string(),
        };
        Ok(States {
            first,
            last,
            names: places.iter().map(name).collect(),
            inventories,
            missing,
            skipped: all - places.len(),
            is_recording: places.iter().any(|place| place.1.is_some()),
            shrunk,
        })
    }

    /// The states as answers have them.
    pub(super) fn described(&self) -> Vec<State> {
        let states = self.names.iter().zip(&self.inventories).zip(&self.missing);
        states
            .map(|((name, inventory), missing)| State {
                name: name.clone(),
                reachable: inventory.heap,
                identities_missing: missing.clone(),
            })
            .collect()
    }
}

/// The states of a recording that growth is about.
struct Recorded {
    places: Vec<StatePoint>,
    shrunk: Option<State>,
}

impl Recorded {
    /// From the first to the last that is asked for, or to where the heap was largest.
    fn open(question: &Growth, file: &Path) -> Result<Self, Error> {
        if !file.is_dir() && file.exists() && !is_trace(file) {
            return Err(Error::unusable(
                format!("{}: growth needs at least two dumps", file.display()),
                "Add a later dump of the same program.",
            ));
        }
        let trace = Trace::open(file).map_err(SessionError::from)?;
        if trace.states().len() < 2 {
            return Err(Error::too_few_states(&trace, file, "growth"));
        }
        let number = |point: &Option<String>, otherwise: Point| {
            let point = point
                .as_ref()
                .map_or(otherwise, |point| Point::parse(point));
            let state = trace.at(&point);
            let unknown = |why: String| SessionError::Point(format!("{}: {why}", file.display()));
            state.map(|state| state.number).map_err(unknown)
        };
        let from = number(&question.from, Point::First)?;
        let to = number(&question.to, Point::Last)?;
        let moments = moments(&trace).into_iter();
        let between = moments.zip(trace.states());
        let between = between.filter(|(_, state)| (from..=to).contains(&state.number));
        let (mut moments, mut numbers): (Vec<HeapMoment>, Vec<u32>) = between
            .map(|(moment, state)| (moment, state.number))
            .unzip();
        let mut shrunk = None;
        let end = end_of_growth(&moments);
        if question.to.is_none() && end + 1 < numbers.len() {
            numbers.truncate(end + 1);
            shrunk = moments.pop().map(|last| State {
                reachable: last.alive(),
                name: last.point,
                identities_missing: None,
            });
        }
        let places = numbers
            .into_iter()
            .map(|number| (0, Some(Point::State(number))));
        Ok(Recorded {
            places: places.collect(),
            shrunk,
        })
    }
}
