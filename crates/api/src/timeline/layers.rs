//! The heap over time in layers: every state, or some of them evenly spread, split by classifiers.

use std::sync::Arc;

use anthill_classify::Step;
use anthill_graph::Convention;
use anthill_history::{History, Measure, spread};
use anthill_trace::Point;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timeline;
use crate::{Error, Series, look_at_each};

/// What makes a layer large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
#[schemars(rename = "TimelineSort")]
pub enum Sort {
    #[default]
    Bytes,
    Objects,
}

/// The heap over time, split by classifiers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineLayers")]
pub struct Layers {
    /// The steps by which the heap is split.
    pub by: String,
    /// The measure by which layers are compared.
    pub sort: Sort,
    /// Indices in `states` of the analyzed states, from 0: all by `type` and by `package`, otherwise at
    /// most `--states`, evenly spread. The numbers of the layers belong to these states.
    pub states: Vec<usize>,
    /// All objects, each counted once.
    pub total: OverTime,
    /// The layers, the largest in any state first. An object to which a classifier gives several keys
    /// is in several rows.
    pub rows: Vec<Layer>,
    /// The layers that `--top` left out, added up.
    pub others: Others,
}

/// Objects and bytes by analyzed state.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineOverTime")]
pub struct OverTime {
    /// The number of reachable objects, one number for each analyzed state.
    pub objects: Vec<u64>,
    /// Shallow size of these objects in bytes, one number for each analyzed state.
    pub bytes: Vec<u64>,
}

/// A layer over time.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineLayer")]
pub struct Layer {
    /// The keys of the classification tree from the top, joined by ` > `.
    pub key: String,
    /// The number of reachable objects that end at this key and not below, one number for each analyzed
    /// state.
    pub objects: Vec<u64>,
    /// Shallow size of these objects in bytes, one number for each analyzed state.
    pub bytes: Vec<u64>,
}

/// The layers that `--top` left out, added up.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TimelineOthers")]
pub struct Others {
    /// The number of layers left out.
    pub rows: usize,
    /// The number of reachable objects in these layers, one number for each analyzed state.
    pub objects: Vec<u64>,
    /// Shallow size of these objects in bytes, one number for each analyzed state.
    pub bytes: Vec<u64>,
}

impl Timeline {
    pub(super) fn layers(
        &self,
        series: &dyn Series,
        history: &History,
        steps: &[Step],
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Layers, Error> {
        let by = self.by.as_deref().unwrap_or_default();
        let convention = series.convention()?;
        let known = match by.trim() {
            "type" => Some(false),
            "package" => Some(true),
            _ => None,
        };
        // What is said about states of a recording is said under the usual convention.
        let known = known.filter(|_| history.trace.is_none() || convention == Convention::DEFAULT);
        let layers = match known {
            Some(by_package) => {
                let layers = anthill_history::Layers::of_history(history, by_package, wanted)?;
                Arc::new(layers)
            }
            None => {
                let (files, moments, class) = (series.files(), history.moments.len(), &self.class);
                let (own, states) = (&self.definitions, self.states.0);
                let key =
                    format!("{files:?} {moments} {class:?} {convention} {by:?} {own:?} {states}");
                let mut look = || self.look(series, history, steps, wanted);
                series.layers(&key, &mut look)?
            }
        };
        if layers.is_empty() {
            let reason = format!("no state has objects to be split by `{by}`");
            return Err(Error::NothingFound(reason));
        }
        let (rows, others) = layers.largest(self.top.most(), self.sort.into());
        Ok(Layers {
            by: by.to_owned(),
            sort: self.sort,
            states: layers.states.clone(),
            total: OverTime {
                objects: layers.totals.iter().map(|total| total.objects).collect(),
                bytes: layers.totals.iter().map(|total| total.bytes).collect(),
            },
            others: Others {
                rows: layers.len() - rows.len(),
                objects: others.objects,
                bytes: others.bytes,
            },
            rows: rows.into_iter().map(Layer::from).collect(),
        })
    }

    /// Looks into the states.
    fn look(
        &self,
        series: &dyn Series,
        history: &History,
        steps: &[Step],
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<anthill_history::Layers, Error> {
        let states = spread(self.states.most(), history.moments.len());
        let heap = |&state: &usize| match &history.trace {
            Some(trace) => (0, Some(Point::State(trace.states()[state].number))),
            None => (state, None),
        };
        let heaps: Vec<(usize, Option<Point>)> = states.iter().map(heap).collect();
        let mut layers = anthill_history::Layers::new(states);
        look_at_each(series, "splitting the states", &heaps, |place, session| {
            let group = session.objects_of(wanted, false)?;
            Ok(layers.add(place, session, &group, steps)?)
        })?;
        Ok(layers)
    }
}

impl From<anthill_history::Layer> for Layer {
    fn from(layer: anthill_history::Layer) -> Self {
        Layer {
            key: layer.key,
            objects: layer.objects,
            bytes: layer.bytes,
        }
    }
}

impl From<Sort> for Measure {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Bytes => Measure::Bytes,
            Sort::Objects => Measure::Objects,
        }
    }
}
