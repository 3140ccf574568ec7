//! What changed between dumps of the same program: classes and packages by name.

use std::collections::{BTreeMap, BTreeSet};

use anthill_session::{Error, Grouping, Row, Session, stable_name};
use serde::Serialize;

/// Reachable objects of a group, their bytes, and what they keep alive together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// How many objects.
    pub objects: u64,
    /// Their own bytes.
    pub shallow: u64,
    /// Bytes that would die with them.
    pub retained: u64,
}

/// What a heap holds, by names that are the same in every run.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The reachable heap.
    pub total: Figures,
    /// By name of the class.
    pub classes: BTreeMap<String, Figures>,
    /// By name of the package.
    pub packages: BTreeMap<String, Figures>,
}

impl Snapshot {
    /// What this heap holds.
    pub fn of(session: &Session) -> Result<Self, Error> {
        let analysis = session.analysis()?;
        let figures = |row: &Row| Figures {
            objects: row.objects - row.unreachable_objects,
            shallow: row.shallow - row.unreachable_shallow,
            retained: row.retained,
        };
        let mut snapshot = Snapshot {
            total: figures(&analysis.total()),
            ..Snapshot::default()
        };
        let rows = analysis.rows(Grouping::Class);
        for (class, row) in session.state().classes().iter().zip(rows) {
            let known = snapshot
                .classes
                .entry(stable_name(&class.name))
                .or_default();
            let more = figures(row);
            known.objects += more.objects;
            known.shallow += more.shallow;
            known.retained += more.retained;
        }
        let packages = &analysis.groups().packages;
        for (package, row) in packages.iter().zip(analysis.rows(Grouping::Package)) {
            snapshot.packages.insert(package.clone(), figures(row));
        }
        snapshot.classes.retain(|_, figures| figures.objects > 0);
        snapshot.packages.retain(|_, figures| figures.objects > 0);
        Ok(snapshot)
    }
}

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It was not there at the beginning.
    New,
    /// It is not there at the end.
    Gone,
    /// It has more at the end than at the beginning.
    Grown,
    /// It has less at the end than at the beginning.
    Shrunk,
    /// It has the same at the end as at the beginning.
    Same,
    /// Neither at the beginning nor at the end, but in between.
    Passed,
}

impl Change {
    /// From the first to the last of some amounts.
    pub fn over(amounts: &[Option<u64>]) -> Self {
        let amount = |amount: Option<&Option<u64>>| amount.copied().flatten();
        match (amount(amounts.first()), amount(amounts.last())) {
            (None, None) if amounts.iter().any(Option::is_some) => Change::Passed,
            (None, None) => Change::Same,
            (None, Some(_)) => Change::New,
            (Some(_), None) => Change::Gone,
            (Some(first), Some(last)) if last > first => Change::Grown,
            (Some(first), Some(last)) if last < first => Change::Shrunk,
            _ => Change::Same,
        }
    }
}

/// A group in each of several snapshots, where it is in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Of the group.
    pub name: String,
    /// By snapshot.
    pub figures: Vec<Option<Figures>>,
}

impl Changed {
    /// Its figures at the beginning; nothing if it was not there.
    pub fn first(&self) -> Figures {
        self.figures.first().copied().flatten().unwrap_or_default()
    }

    /// Its figures at the end; nothing if it is not there.
    pub fn last(&self) -> Figures {
        self.figures.last().copied().flatten().unwrap_or_default()
    }

    /// What became of what it retains.
    pub fn change(&self) -> Change {
        let retained = |figures: &Option<Figures>| figures.map(|figures| figures.retained);
        let amounts: Vec<Option<u64>> = self.figures.iter().map(retained).collect();
        Change::over(&amounts)
    }

    /// Whether it retains more in every snapshot than in the one before.
    pub fn grows_throughout(&self) -> bool {
        let retained = |figures: &Option<Figures>| figures.map_or(0, |figures| figures.retained);
        let mut pairs = self.figures.windows(2);
        pairs.all(|pair| retained(&pair[1]) > retained(&pair[0]))
    }
}

/// The groups of some snapshots by name, those whose retained size changed most first.
pub fn changes(of: &[&BTreeMap<String, Figures>]) -> Vec<Changed> {
    let names: BTreeSet<&String> = of.iter().flat_map(|groups| groups.keys()).collect();
    let mut changes: Vec<Changed> = names
        .into_iter()
        .map(|name| Changed {
            name: name.clone(),
            figures: of.iter().map(|groups| groups.get(name).copied()).collect(),
        })
        .collect();
    changes.sort_by_key(|changed| {
        std::cmp::Reverse(changed.last().retained.abs_diff(changed.first().retained))
    });
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_go_grow_and_shrink() {
        let groups = |groups: &[(&str, u64)]| -> BTreeMap<String, Figures> {
            let figures = |retained| Figures {
                objects: 1,
                shallow: 8,
                retained,
            };
            groups
                .iter()
                .map(|&(name, retained)| (name.to_owned(), figures(retained)))
                .collect()
        };
        let first = groups(&[("grown", 10), ("shrunk", 90), ("gone", 5), ("same", 7)]);
        let second = groups(&[("grown", 70), ("shrunk", 40), ("new", 3), ("same", 7)]);
        let found: Vec<(String, Change)> = changes(&[&first, &second])
            .iter()
            .map(|changed| (changed.name.clone(), changed.change()))
            .collect();
        let expected = [
            ("grown", Change::Grown),
            ("shrunk", Change::Shrunk),
            ("gone", Change::Gone),
            ("new", Change::New),
            ("same", Change::Same),
        ];
        assert_eq!(
            found,
            expected.map(|(name, change)| (name.to_owned(), change))
        );
    }

    #[test]
    fn what_was_there_only_in_between_came_and_went() {
        assert_eq!(Change::over(&[None, Some(5), None]), Change::Passed);
        assert_eq!(Change::over(&[None, None, Some(5)]), Change::New);
        assert_eq!(Change::over(&[Some(5), None, Some(5)]), Change::Same);
    }
}
