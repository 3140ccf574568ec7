//! What deny.toml allows of packages of others, as far as Cargo alone can tell. `./x deny` checks all of it.

use std::collections::BTreeMap;

use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::workspace::Compiled;

/// The part of deny.toml that is about licences and versions.
#[derive(Deserialize)]
pub struct Allowed {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skipped>,
}

/// A version that may be there besides another one, as `name@beginning of the version`.
#[derive(Deserialize)]
struct Skipped {
    #[serde(rename = "crate")]
    package: String,
}

/// Packages whose licence is not allowed.
pub fn not_allowed(allowed: &Allowed, packages: &[Compiled]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut licensees = Vec::new();
    for licence in &allowed.licenses.allow {
        match Licensee::parse(licence) {
            Ok(licensee) => licensees.push(licensee),
            Err(error) => problems.push(format!("deny.toml: {error}")),
        }
    }
    for package in packages {
        let (name, version) = (&package.name, &package.version);
        let licence = &package.licence;
        // Older packages write `/` instead of `OR`.
        match Expression::parse_mode(licence, ParseMode::LAX) {
            Ok(expression) => {
                if !expression
                    .evaluate(|one| licensees.iter().any(|licensee| licensee.satisfies(one)))
                {
                    problems.push(format!(
                        "{name} {version}: deny.toml does not allow {licence}"
                    ));
                }
            }
            Err(error) => problems.push(format!("{name} {version}: {error}")),
        }
    }
    problems
}

/// Packages that are there in more versions than deny.toml allows.
pub fn duplicates(allowed: &Allowed, packages: &[Compiled]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !allowed.skips(package)) {
        versions
            .entry(&package.name)
            .or_default()
            .push(&package.version);
    }
    let several = versions.iter().filter(|(_, versions)| versions.len() > 1);
    several
        .map(|(name, versions)| format!("{name} is there in the versions {}", versions.join(", ")))
        .collect()
}

impl Allowed {
    fn skips(&self, package: &Compiled) -> bool {
        self.bans.skip.iter().any(|skipped| {
            let named = skipped.package.strip_prefix(&package.name);
            let version = named.and_then(|rest| rest.strip_prefix('@'));
            let rest = version.and_then(|version| package.version.strip_prefix(version));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Allowed {
        let text = "[licenses]\nallow = [\"MIT\", \"Apache-2.0 WITH LLVM-exception\"]\n\
                    [bans]\nskip = [{ crate = \"old@0.1\", reason = \"r\" }]";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn licences_are_allowed_as_expressions() {
        for licence in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "Unlicense/MIT",
            "Apache-2.0 WITH LLVM-exception AND MIT",
        ] {
            let found = not_allowed(&allowed(), &[package("a", "1.0.0", licence)]);
            assert_eq!(found, [""; 0], "{licence}");
        }
    }

    #[test]
    fn other_licences_are_found() {
        let others = [
            "GPL-3.0-only",
            "MIT AND Apache-2.0",
            "Apache-2.0",
            "my own",
            "",
        ];
        for licence in others {
            let found = not_allowed(&allowed(), &[package("a", "1.0.0", licence)]);
            assert_eq!(found.len(), 1, "{licence}");
        }
    }

    #[test]
    fn an_allowed_licence_that_does_not_exist_is_found() {
        let mut allowed = allowed();
        allowed.licenses.allow.push("my own".to_owned());
        assert_eq!(not_allowed(&allowed, &[]).len(), 1);
    }

    #[test]
    fn versions_beside_others_are_found_unless_allowed() {
        let packages = |versions: [&str; 2]| versions.map(|version| package("old", version, "MIT"));
        assert_eq!(
            duplicates(&allowed(), &packages(["0.1.3", "0.2.0"])),
            [""; 0]
        );
        assert_eq!(
            duplicates(&allowed(), &packages(["0.2.0", "0.10.0"])).len(),
            1
        );
        let expected = ["old is there in the versions 0.2.0, 0.3.0"];
        assert_eq!(
            duplicates(&allowed(), &packages(["0.2.0", "0.3.0"])),
            expected
        );
    }

    fn package(name: &str, version: &str, licence: &str) -> Compiled {
        Compiled {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.to_owned(),
        }
    }
}
