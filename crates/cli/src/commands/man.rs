//! `anthill man`: manual pages, made from the same definitions as the help.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Out;

/// Print the manual page, or write the pages of all commands to a directory
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill man | man -l -
      Read the manual page
  anthill man ~/.local/share/man/man1
      Install the pages of all commands")]
pub struct Arguments {
    /// Directory to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(folder) = &arguments.folder else {
        let mut out = Out::stdout();
        clap_mangen::Man::new(Cli::command()).render(&mut out)?;
        return Ok(out.flush()?);
    };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        Failure::unusable(
            format!("{}: {error}", folder.display()),
            "Choose a writable directory.",
        )
    })
}
