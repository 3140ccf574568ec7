//! Which heap of a file is meant and how its numbers are read: what can be asked for with every question.

use anthill_graph::Convention;
use anthill_session::{IndexFolder, Options};
use anthill_trace::Point;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Error;

/// Which heap of a file is meant, and what keeps objects alive.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct HeapOptions {
    /// Open this state of a recording: gc:N, #N, a time such as 2m30s or 14:05:30 (UTC), the text
    /// of a mark, first or last [default: last]
    #[schemars(extend("x-value" = "POINT"))]
    pub at: Option<String>,
    /// Count like another analyzer, to compare results
    #[schemars(extend("x-value" = "TOOL", "x-excludes" = ["keep"]))]
    pub compat: Option<Compat>,
    /// Choose which references besides strong ones keep objects alive
    #[serde(default = "only_soft")]
    #[schemars(extend("x-value" = "KINDS", "x-separated" = true, "x-default" = "soft"))]
    pub keep: Vec<Keep>,
    /// Open the N-th dump of a file that contains several [default: the last]
    #[schemars(extend("x-value" = "N"))]
    pub dump: Option<usize>,
}

/// An analyzer whose way of counting is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// Eclipse MAT: its sizes; all references keep objects alive; no unreachable objects
    Mat,
}

/// References that can keep objects alive besides strong ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
pub enum Keep {
    Soft,
    Weak,
    Phantom,
    Finalizer,
    /// Strong references only
    None,
}

fn only_soft() -> Vec<Keep> {
    vec![Keep::Soft]
}

impl Default for HeapOptions {
    fn default() -> Self {
        HeapOptions {
            at: None,
            compat: None,
            keep: only_soft(),
            dump: None,
        }
    }
}

impl HeapOptions {
    /// The state of a recording, if one was named; any text names one.
    pub fn point(&self) -> Option<Point> {
        self.at.as_deref().map(Point::parse)
    }

    /// What keeps objects alive.
    pub fn convention(&self) -> Result<Convention, Error> {
        if self.compat == Some(Compat::Mat) {
            return Ok(Convention::MAT);
        }
        let kept = |kind| self.keep.contains(&kind);
        if kept(Keep::None) && self.keep.len() > 1 {
            return Err(Error::unusable(
                "--keep: `none` cannot be combined with other kinds",
                "Use --keep none, or list the kinds, e.g. --keep soft,weak.",
            ));
        }
        Ok(Convention {
            soft: kept(Keep::Soft),
            weak: kept(Keep::Weak),
            phantom: kept(Keep::Phantom),
            finalizer: kept(Keep::Finalizer),
            mat: false,
        })
    }

    /// How to open the heap, or another state of the same recording.
    pub fn open_at(&self, at: Option<Point>, index: IndexFolder) -> Result<Options, Error> {
        Ok(Options {
            dump: self.dump,
            at,
            convention: self.convention()?,
            index,
        })
    }
}
