//! `anthill open`: the web view of dumps and recordings.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use anthill_classify::read_no_files;
use anthill_server::{Board, Options, serve};
use clap::Args;

use crate::failure::{Failure, say};
use crate::structures;
use crate::web::Office;

/// Look at dumps and recordings in the browser
///
/// Serves the web view on this machine and opens it. Every address has a token of this run: nobody
/// else can ask. The files are only read. It ends with Ctrl-C.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill open app.hprof
      Look at a heap dump
  anthill open app.trace
      Look at a recording: what grows, and since when?
  anthill open monday.hprof tuesday.hprof wednesday.hprof
      Several dumps of one program, compared
  anthill open app.hprof --port 7070 --no-browser
      On a server: then ssh -L 7070:127.0.0.1:7070 HOST, and open the address that was printed")]
pub struct Arguments {
    /// Heap dumps (HPROF, also gzipped) or recordings
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The port to listen on [default: any that is free]
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    pub port: u16,
    /// The address to listen on; another than a loopback address lets other machines in
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub listen: IpAddr,
    /// Only print the address
    #[arg(long)]
    pub no_browser: bool,
    /// A file that describes data structures, besides `anthill.structures` in the working folder; can be
    /// repeated; docs/structures.md has the language
    #[arg(long, value_name = "FILE")]
    pub structures: Vec<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    for file in &arguments.files {
        file.metadata().map_err(|error| {
            Failure::unusable(format!("{}: {error}", file.display()), "Check the path.")
        })?;
    }
    // Pages may ask anything about the open files, and nothing about others.
    read_no_files();
    let board = Board::default();
    let definitions = structures::definitions(&arguments.structures)?;
    let office = Office::new(arguments.files.clone(), definitions, board.clone());
    let reading = office.clone();
    thread::spawn(move || reading.read_all());
    let options = Options {
        address: arguments.listen,
        port: arguments.port,
    };
    let ready = |address: &str| {
        println!("{address}");
        if !arguments.listen.is_loopback() {
            say(
                "other machines can reach this address; whoever has it with its token can read the files",
            );
        }
        if !arguments.no_browser {
            browse(address);
        }
    };
    serve(office, board, &options, ready).map_err(|error| {
        Failure::unusable(
            format!("{}, port {}: {error}", arguments.listen, arguments.port),
            "Choose another port with --port, or leave it out.",
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
