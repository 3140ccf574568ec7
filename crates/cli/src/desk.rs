//! Where a command is at work: at a terminal, where it opens its file and prints, or for the web
//! view, where files are open already and the answer goes to whoever asked.

use std::sync::Arc;

use anthill_heap::Progress;
use anthill_session::Layers;

use crate::failure::Failure;
use crate::output::Out;
use crate::progress::{Bar, Part};
use crate::web::Request;

#[derive(Clone, Default)]
pub enum Desk {
    #[default]
    Terminal,
    Web(Arc<Request>),
}

impl Desk {
    pub fn out(&self) -> Out {
        match self {
            Desk::Terminal => Out::stdout(),
            Desk::Web(request) => Out::to(request.reply()),
        }
    }

    /// Progress of work on several heaps; at a terminal a bar if it is wanted.
    pub fn progress(&self, bar: bool) -> Watch {
        match self {
            Desk::Terminal => {
                let bar = Bar::new(bar);
                Watch {
                    progress: Arc::new(bar.clone()),
                    bar: Some(bar),
                }
            }
            Desk::Web(request) => Watch {
                progress: request.progress(),
                bar: None,
            },
        }
    }

    /// Layers over time: those that were kept under this key, or new ones.
    pub fn layers(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<Layers, Failure>,
    ) -> Result<Arc<Layers>, Failure> {
        match self {
            Desk::Terminal => Ok(Arc::new(make()?)),
            Desk::Web(request) => request.layers(key, make),
        }
    }
}

/// The progress of work on several heaps.
pub struct Watch {
    pub progress: Arc<dyn Progress + Send + Sync>,
    bar: Option<Bar>,
}

impl Watch {
    /// What one of these heaps is opened with.
    pub fn part(&self) -> Box<Part> {
        Box::new(Part(self.progress.clone()))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.clear();
        }
    }
}
