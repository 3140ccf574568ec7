//! The web view's side of the questions: files that stay open, HTTP requests about them, who may ask, progress, and the pages, which
//! are part of the program.

#![warn(missing_docs)]

mod compress;
mod document;
mod events;
mod guard;
mod jobs;
mod notes;
mod openapi;
mod pages;
mod prefetch;
mod progress;
mod questions;
mod reply;
mod routes;
mod single_flight;
mod sources;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::thread;

use anthill_structures::Definitions;
use tokio::net::TcpListener;

pub use openapi::description;

use crate::events::Events;
use crate::guard::Guard;
use crate::sources::Sources;

/// What is served, and where.
pub struct Options {
    /// Heap dumps and recordings.
    pub files: Vec<PathBuf>,
    /// The data structures that are looked for in them.
    pub structures: Definitions,
    /// The address of this machine that it listens at.
    pub address: IpAddr,
    /// 0 for any that is free.
    pub port: u16,
}

/// Serves until the process ends. `ready` gets the address to open, with the token that whoever
/// asks must have.
pub fn serve(options: Options, ready: impl FnOnce(&str)) -> io::Result<()> {
    let events = Events::default();
    let sources = Sources::new(options.files, options.structures, events.clone());
    let reading = sources.clone();
    thread::spawn(move || reading.read_all());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::new(options.address, options.port)).await?;
        let address = listener.local_addr()?;
        let guard = Guard::new(address)?;
        ready(&format!("http://{address}/#token={}", guard.token()));
        axum::serve(listener, routes::router(sources, events, guard)).await
    })
}
