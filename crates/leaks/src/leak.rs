//! Whether two suspects, of different dumps, are the same leak.

/// What a leak is recognised by in every report about the program.
#[derive(Clone, Debug)]
pub struct Leak {
    /// The fingerprint of the suspect.
    pub fingerprint: String,
    /// The class or package whose objects the owners keep alive.
    pub kept: Option<String>,
    /// Where the program holds the owners.
    pub holders: Vec<String>,
}

impl Leak {
    /// A leak of which only the fingerprint is known.
    pub fn of_fingerprint(fingerprint: &str) -> Self {
        Leak {
            fingerprint: fingerprint.to_owned(),
            kept: None,
            holders: Vec::new(),
        }
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
