//! Where a command is at work: at a terminal, where it opens its file and prints, or for the web
//! view, where files are open already and the answer goes to whoever asked.

use std::sync::Arc;

use crate::output::Out;
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
}
