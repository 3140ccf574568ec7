//! A progress bar on standard error: only on a terminal, and only when the work takes a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anthill_heap::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_millis(500);

/// Clones show the same bar.
#[derive(Clone)]
pub struct Bar(Arc<Shared>);

struct Shared {
    bar: ProgressBar,
    started: Instant,
    wanted: bool,
    shown: AtomicBool,
}

impl Bar {
    /// Indicatif itself draws nothing when standard error is no terminal.
    pub fn new(wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Bar(Arc::new(Shared {
            bar,
            started: Instant::now(),
            wanted,
            shown: AtomicBool::new(false),
        }))
    }

    /// Takes the bar away, so that results can be printed.
    pub fn clear(&self) {
        self.0.bar.finish_and_clear();
    }

    fn show_when_due(&self) {
        let Shared {
            bar,
            started,
            wanted,
            shown,
        } = &*self.0;
        if *wanted && started.elapsed() > PATIENCE && !shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Progress for Bar {
    fn stage(&self, name: &str, total: u64) {
        let bar = &self.0.bar;
        let template = if total == 0 {
            "{spinner} {msg}"
        } else {
            "{msg:32} {bar:40} {percent:>3}%"
        };
        let style = ProgressStyle::with_template(template);
        bar.set_message(name.to_owned());
        bar.reset();
        bar.set_length(total);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.show_when_due();
    }

    fn advance(&self, done: u64) {
        self.show_when_due();
        self.0.bar.inc(done);
    }
}
