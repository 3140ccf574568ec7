//! The leak suspects of a session's heap.

use anthill_leaks::{Input, Suspects, Thresholds, suspects};

use crate::{Error, Grouping, Session};

impl Session {
    pub fn suspects(&self, thresholds: &Thresholds) -> Result<Suspects, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let classes: Vec<(u64, u64)> = analysis
            .rows(Grouping::Class)
            .iter()
            .map(|row| (row.objects - row.unreachable_objects, row.retained))
            .collect();
        let input = Input {
            graph: &graph,
            dominators: &analysis.dominators,
            classes: &classes,
            reachable: analysis.total().retained,
            progress: self.progress(),
        };
        Ok(suspects(&input, thresholds)?)
    }
}
