//! The heap over time in layers: every state, or some of them evenly spread, split by classifiers.

use std::path::Path;
use std::sync::Arc;

use anthill_classify::Step;
use anthill_graph::Convention;
use anthill_session::{History, Layer, Layers, Measure, spread};
use anthill_trace::Point;
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::commands::or_all;
use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::output::Out;
use crate::output::units::{bytes, count, counted};
use crate::source::{SourceArguments, limit};

#[derive(Args)]
pub struct LayerArguments {
    /// Split the heap by these classifiers, e.g. `closest-root` or `package, type`, instead of by type
    #[arg(long, value_name = "STEPS")]
    pub by: Option<String>,
    /// With --by: how many layers; all others are one; 0 for all
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = limit, requires = "by", allow_negative_numbers = true)]
    pub top: usize,
    /// With --by: what makes a layer large
    #[arg(long, value_name = "MEASURE", default_value = "bytes", requires = "by")]
    pub sort: Sort,
    /// With --by: how many states are looked into, evenly spread; 0 for all. By type and by package all are
    /// known without a look
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = limit, requires = "by", allow_negative_numbers = true)]
    pub states: usize,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    Bytes,
    Objects,
}

/// The layers that are shown.
#[derive(Serialize)]
pub struct Shown {
    pub by: String,
    sort: Sort,
    /// Places of the states that were looked into.
    pub states: Vec<usize>,
    /// By state, each object once.
    total: Series,
    pub rows: Vec<Layer>,
    pub others: Others,
}

#[derive(Serialize)]
struct Series {
    objects: Vec<u64>,
    bytes: Vec<u64>,
}

/// The layers that are not shown, added up.
#[derive(Serialize)]
pub struct Others {
    pub rows: usize,
    pub objects: Vec<u64>,
    pub bytes: Vec<u64>,
}

/// What the layers are of.
pub struct Subject<'a> {
    pub history: &'a History,
    /// The recording, or the dumps.
    pub files: &'a [&'a Path],
    /// Only objects of these classes.
    pub class: Option<&'a str>,
}

impl LayerArguments {
    /// The steps of --by, if it is asked for.
    pub fn steps(&self) -> Result<Option<Vec<Step>>, Failure> {
        let Some(by) = &self.by else {
            return Ok(None);
        };
        let steps = self.definitions.read()?.steps(by);
        let steps = steps.map_err(|mistake| mistaken(&mistake, "--by", by))?;
        Ok(Some(steps))
    }

    pub fn shown(
        &self,
        source: &SourceArguments,
        subject: &Subject,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<Shown>, Failure> {
        let (Some(by), Some(steps)) = (&self.by, self.steps()?) else {
            return Ok(None);
        };
        let convention = source.convention()?;
        let known = match by.trim() {
            "type" => Some(false),
            "package" => Some(true),
            _ => None,
        };
        // What is said about states of a recording is said under the usual convention.
        let known =
            known.filter(|_| subject.history.trace.is_none() || convention == Convention::DEFAULT);
        let layers = match known {
            Some(by_package) => Arc::new(Layers::of_history(subject.history, by_package, &wanted)?),
            None => {
                let Subject {
                    history,
                    files,
                    class,
                } = subject;
                let moments = history.moments.len();
                let own = &self.definitions.definitions;
                let states = self.states;
                let key =
                    format!("{files:?} {moments} {class:?} {convention} {by:?} {own:?} {states}");
                source
                    .desk
                    .layers(&key, || self.look(source, subject, &steps, &wanted))?
            }
        };
        if layers.is_empty() {
            let reason = format!("no state has objects to be split by `{by}`");
            return Err(Failure::NothingFound(reason));
        }
        let (rows, others) = layers.largest(or_all(self.top), self.sort.into());
        Ok(Some(Shown {
            by: by.clone(),
            sort: self.sort,
            states: layers.states.clone(),
            total: Series {
                objects: layers.totals.iter().map(|total| total.objects).collect(),
                bytes: layers.totals.iter().map(|total| total.bytes).collect(),
            },
            others: Others {
                rows: layers.len() - rows.len(),
                objects: others.objects,
                bytes: others.bytes,
            },
            rows,
        }))
    }

    /// Looks into the states.
    fn look(
        &self,
        source: &SourceArguments,
        subject: &Subject,
        steps: &[Step],
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Layers, Failure> {
        let states = spread(or_all(self.states), subject.history.moments.len());
        let heap = |&state: &usize| match &subject.history.trace {
            Some(trace) => {
                let number = trace.states()[state].number;
                (subject.files[0], Some(Point::State(number)))
            }
            None => (subject.files[state], None),
        };
        let heaps: Vec<(&Path, Option<Point>)> = states.iter().map(heap).collect();
        let mut layers = Layers::new(states);
        source.look_at_each("splitting the states", &heaps, |place, session| {
            let group = session.objects_of(&wanted, false)?;
            Ok(layers.add(place, session, &group, steps)?)
        })?;
        Ok(layers)
    }
}

impl Shown {
    /// A table; `states` are all that there are.
    pub fn print(&self, states: usize, out: &mut Out) -> Result<(), Failure> {
        let of = |objects, bytes| match self.sort {
            Sort::Bytes => bytes,
            Sort::Objects => objects,
        };
        let rows = self.rows.iter();
        let rows = rows.map(|row| (row.key.clone(), of(&row.objects[..], &row.bytes[..])));
        let others = &self.others;
        let rest = (others.rows > 0).then(|| {
            let name = counted(others.rows as u64, "other", "others");
            (name, of(&others.objects[..], &others.bytes[..]))
        });
        let show: fn(u64) -> String = match self.sort {
            Sort::Bytes => bytes,
            Sort::Objects => count,
        };
        super::over_time("layer", rows.chain(rest), show).print(out)?;
        if self.states.len() < states {
            let looked = count(self.states.len() as u64);
            let all = count(states as u64);
            out.remark(&format!(
                "split at {looked} of {all} states; --states 0 looks into all"
            ))?;
        }
        Ok(())
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
