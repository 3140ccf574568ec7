//! `anthill open`: the web view of dumps and recordings.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anthill_server::{Options, serve};
use clap::Args;

use crate::failure::{Failure, say, tell};
use crate::source::heap_file;
use crate::structures;

/// Open dumps and recordings in the browser
///
/// The command serves the web view on this machine and opens it in the browser. The address
/// contains a secret token, so only you can use it. Anthill only reads the files. Press Ctrl-C to
/// stop.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill open app.hprof
      Open a heap dump
  anthill open app.trace
      Open a recording: what grows, and since when?
  anthill open monday.hprof tuesday.hprof wednesday.hprof
      Compare several dumps of one program
  anthill open app.hprof --port 7070 --no-browser
      On a server: then run ssh -L 7070:127.0.0.1:7070 HOST and open the printed address")]
pub struct Arguments {
    /// Heap dumps (HPROF, plain or compressed with gzip or zstd) or recordings; - for standard
    /// input
    #[arg(required = true, value_name = "FILE", value_parser = heap_file())]
    pub files: Vec<PathBuf>,
    /// Listen on this port [default: any free port]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
    /// Listen on this address; any address other than a loopback address lets other machines
    /// connect
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,
    /// Print the address without opening a browser
    #[arg(long)]
    pub no_browser: bool,
    /// Read descriptions of data structures from FILE, in addition to `anthill.structures` in the
    /// working directory; can be repeated; see docs/structures.md
    #[arg(long, value_name = "FILE")]
    pub structures: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    for file in &arguments.files {
        file.metadata().map_err(|error| {
            Failure::unusable(format!("{}: {error}", file.display()), "Check the path.")
        })?;
    }
    let options = Options {
        files: arguments.files.clone(),
        structures: structures::definitions(&arguments.structures)?,
        address: arguments.listen,
        port: arguments.port,
    };
    let ready = |address: &str| {
        println!("{address}");
        tell("ready; press Ctrl-C to stop");
        if !arguments.listen.is_loopback() {
            say(
                "other machines can reach this address; anyone who has it with its token can read the files",
            );
        }
        if !arguments.no_browser {
            browse(address);
        }
    };
    serve(options, ready).map_err(|error| {
        Failure::unusable(
            format!("{}, port {}: {error}", arguments.listen, arguments.port),
            "Choose another port with --port, or omit it.",
        )
    })
}

/// Opens the address as the desktop does; the address was printed for where there is none.
fn browse(address: &str) {
    let opener = Command::new("xdg-open")
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut opener) = opener {
        thread::spawn(move || opener.wait());
    }
}
