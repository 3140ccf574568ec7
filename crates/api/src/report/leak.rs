//! The suspects of answers as leaks that can be compared.

use anthill_leaks::Leak;
use serde_json::Value;

use super::Suspect;

impl From<&Suspect> for Leak {
    fn from(suspect: &Suspect) -> Self {
        Leak {
            fingerprint: suspect.fingerprint.clone(),
            kept: suspect.kept.as_ref().map(|kept| kept.class.clone()),
            holders: suspect.holders.clone(),
        }
    }
}

/// The leak that the suspect of a report in JSON is.
pub fn leak_of_json(suspect: &Value) -> Option<Leak> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let holders = suspect["holders"].as_array();
    Some(Leak {
        fingerprint: text(&suspect["fingerprint"])?,
        kept: text(&suspect["kept"]["class"]),
        holders: holders.into_iter().flatten().filter_map(text).collect(),
    })
}
