//! The HTTP side of the web view: routes, who may ask, progress, and the pages, which are part of
//! the program. What is asked and answered is the business of whoever implements [`Answers`].

mod answers;
mod events;
mod guard;
mod jobs;
mod pages;
mod routes;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;

pub use answers::{Answers, Question, Refusal, Reply};
pub use events::{Board, Event};
pub use jobs::Job;

/// Where the server listens.
pub struct Options {
    pub address: IpAddr,
    /// 0 for any that is free.
    pub port: u16,
}

/// Serves until the process ends. `ready` gets the address to open, with the token that whoever
/// asks must have.
pub fn serve(
    answers: Arc<dyn Answers>,
    board: Board,
    options: &Options,
    ready: impl FnOnce(&str),
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::new(options.address, options.port)).await?;
        let address = listener.local_addr()?;
        let guard = guard::Guard::new(address)?;
        ready(&format!("http://{address}/#token={}", guard.token()));
        axum::serve(listener, routes::router(answers, board, guard)).await
    })
}
