//! Whether two suspects, of different dumps, are the same leak.

use serde_json::Value;

use super::document::SuspectText;

/// By what a suspect is recognised.
#[derive(Clone, Debug)]
pub struct Leak {
    fingerprint: String,
    /// What owners keep alive.
    kept: Option<String>,
    holders: Vec<String>,
}

impl Leak {
    pub fn of(suspect: &SuspectText) -> Self {
        Leak {
            fingerprint: suspect.fingerprint.clone(),
            kept: suspect.kept.as_ref().map(|kept| kept.class.clone()),
            holders: suspect.holders.clone(),
        }
    }

    pub fn of_fingerprint(fingerprint: &str) -> Self {
        Leak {
            fingerprint: fingerprint.to_owned(),
            kept: None,
            holders: Vec::new(),
        }
    }

    /// From the suspect of a report in JSON.
    pub fn of_json(suspect: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let holders = suspect["holders"].as_array();
        Some(Leak {
            fingerprint: text(&suspect["fingerprint"])?,
            kept: text(&suspect["kept"]["class"]),
            holders: holders.into_iter().flatten().filter_map(text).collect(),
        })
    }

    /// Owners of the same objects are the same leak if one of them is: others come and go.
    pub fn is(&self, other: &Leak) -> bool {
        let shares_holder = || {
            let mut holders = self.holders.iter();
            holders.any(|holder| other.holders.contains(holder))
        };
        self.fingerprint == other.fingerprint
            || self.kept.is_some() && self.kept == other.kept && shares_holder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leak(fingerprint: &str, kept: Option<&str>, holders: &[&str]) -> Leak {
        Leak {
            fingerprint: fingerprint.to_owned(),
            kept: kept.map(str::to_owned),
            holders: holders.iter().map(|&holder| holder.to_owned()).collect(),
        }
    }

    #[test]
    fn one_owner_more_is_the_same_leak() {
        let before = leak("1", Some("Product"), &["A.byId", "A.byName"]);
        assert!(before.is(&leak("2", Some("Product"), &["A.byId", "B.recent"])));
        assert!(!before.is(&leak("2", Some("Product"), &["B.recent"])));
        assert!(!before.is(&leak("2", Some("Order"), &["A.byId"])));
        assert!(before.is(&Leak::of_fingerprint("1")));
    }

    #[test]
    fn objects_that_keep_no_group_are_recognised_by_fingerprint_alone() {
        let before = leak("1", None, &["A.all"]);
        assert!(before.is(&leak("1", None, &["A.all"])));
        assert!(!before.is(&leak("2", None, &["A.all"])));
    }
}
