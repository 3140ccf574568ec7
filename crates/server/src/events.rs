//! What happens meanwhile, for all pages that listen: progress, and sources that are open now.

use std::convert::Infallible;

use axum::response::sse::{self, KeepAlive, Sse};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::{Stream, StreamExt};

/// Events that a page may be behind before it loses some.
const BACKLOG: usize = 256;

/// What pages are told without asking.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event {
    /// Work goes on.
    Progress {
        /// The number of the file it is about.
        source: usize,
        /// The names of the jobs that wait for it.
        jobs: Vec<String>,
        /// What is being done.
        phase: String,
        /// From 0 to 1; nothing if it cannot be told.
        share: Option<f64>,
    },
    /// Something about the sources changed: ask for them again.
    Sources,
}

/// Where events are published.
#[derive(Clone)]
pub(crate) struct Events(broadcast::Sender<Event>);

impl Default for Events {
    fn default() -> Self {
        Events(broadcast::channel(BACKLOG).0)
    }
}

impl Events {
    /// Tells all pages.
    pub(crate) fn publish(&self, event: Event) {
        // It is fine if nobody listens.
        let _ = self.0.send(event);
    }

    pub(crate) fn stream(&self) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>> + use<>> {
        let events = BroadcastStream::new(self.0.subscribe());
        // Whoever was too slow gets the newest again.
        let events = events.filter_map(Result::ok);
        let events = events.map(|event| {
            let text = serde_json::to_string(&event).unwrap_or_default();
            Ok(sse::Event::default().data(text))
        });
        Sse::new(events).keep_alive(KeepAlive::default())
    }
}
