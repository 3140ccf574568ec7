//! The leak suspects of a session's heap.

use anthill_leaks::{Input, Suspects, Thresholds, suspects};

use crate::{Error, Grouping, Session, package_group};

impl Session {
    pub fn suspects(&self, thresholds: &Thresholds) -> Result<Suspects, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let rows = |grouping| -> Vec<(u64, u64)> {
            let rows = analysis.rows(grouping).iter();
            rows.map(|row| (row.objects - row.unreachable_objects, row.retained))
                .collect()
        };
        let names = &analysis.groups().packages;
        let package_of: Vec<u32> = self
            .state()
            .classes()
            .iter()
            .map(|class| {
                let package = package_group(class);
                let found = names.binary_search_by(|name| name.as_str().cmp(package));
                found.unwrap_or_default() as u32
            })
            .collect();
        let input = Input {
            graph: &graph,
            dominators: &analysis.dominators,
            classes: &rows(Grouping::Class),
            packages: &rows(Grouping::Package),
            package_of: &package_of,
            reachable: analysis.total().retained,
            progress: self.progress(),
        };
        Ok(suspects(&input, thresholds)?)
    }
}
