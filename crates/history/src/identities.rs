//! Who is who in a recording: the identities of the objects of a state, where they tell two states apart, and
//! why some are missing.

use anthill_session::{Error, Session};
use anthill_trace::{Identities, IdentityKind, Point, StateHeader, Trace};

/// What the recorder calls identities that it could not record.
const DROPPED: &str = "identities";

/// The identities of the session's objects.
pub(crate) fn identities(session: &Session) -> Result<Identities, Error> {
    match session.recording() {
        Some(recording) => Ok(recording.trace().identities(recording.state().number)?),
        None => Ok(Identities::None),
    }
}

/// Why objects of the state that should have an identity have none, if there are such.
pub fn identities_missing(session: &Session) -> Option<String> {
    let recording = session.recording()?;
    let (trace, state) = (recording.trace(), recording.state());
    let reason = why_missing(trace, state).map(str::to_owned);
    let has_some = |state: &StateHeader| state.identity != IdentityKind::None;
    reason.or_else(|| {
        let is_odd = !has_some(state) && trace.states().iter().any(has_some);
        is_odd.then(|| "no object was followed".to_owned())
    })
}

/// Whether an object of this state can be found by its identity in another of the recording, which need not
/// be open.
pub fn shares_identities(session: &Session, at: &Point) -> bool {
    session.recording().is_some_and(|recording| {
        let kind = recording.state().identity;
        let other = recording.trace().at(at);
        kind != IdentityKind::None && other.is_ok_and(|other| other.identity == kind)
    })
}

/// Why a state lacks identities, if the recorder said so. States are taken one after the other, so what was
/// dropped is of the last one that was begun. A walk gives every object its identity, whatever else is missing.
pub(crate) fn why_missing<'a>(trace: &'a Trace, state: &StateHeader) -> Option<&'a str> {
    if state.identity == IdentityKind::All {
        return None;
    }
    let begun = trace.states().iter().map(|state| state.time);
    let next = begun.filter(|&time| time > state.time).min();
    let mut dropped = trace.timeline().dropped.iter();
    let of_state = dropped.find(|one| {
        one.what == DROPPED && one.time >= state.time && next.is_none_or(|next| one.time < next)
    });
    of_state.map(|one| one.reason.as_str())
}

/// The last identity that was given before a state was taken, where it may have lost sight of some. They are
/// given in the order of time, so an object with a smaller one was there. Nothing where all are known.
pub(crate) fn newest(known: &Identities) -> Option<u64> {
    match known {
        Identities::Tracked(pairs) => pairs.iter().map(|pair| pair.1).max(),
        Identities::None | Identities::All => None,
    }
}
