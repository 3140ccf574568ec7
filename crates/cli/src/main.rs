//! The program `anthill`: reads the command line, runs the command, says how it ended.

// Nobody sees a program from outside: `pub` says that other modules use it.
#![allow(unreachable_pub)]

mod asked;
mod assertions;
mod check_text;
mod cli;
mod commands;
mod definitions;
mod failure;
mod keep;
mod output;
mod progress;
mod recorded;
mod report_text;
mod source;
mod structures;
mod tree_view;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use failure::Failure;
use output::shell;

fn main() -> ExitCode {
    #[cfg(unix)]
    anthill_hprof::survive_file_signals();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match no_command(&error) {
            Some(failure) => return failure.report(),
            None => error.exit(),
        },
    };
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// A file in the place of the command, which many programs take.
fn no_command(error: &clap::Error) -> Option<Failure> {
    let file = std::env::args().nth(1)?;
    let is_file = error.kind() == ErrorKind::InvalidSubcommand && Path::new(&file).is_file();
    is_file.then(|| {
        let word = shell::file(&file);
        Failure::unusable(
            format!("{file} is a file; the command comes first"),
            format!(
                "`anthill report {word}` names what probably leaks, `anthill open {word}` shows the file in the \
                 browser; `anthill --help` lists the commands."
            ),
        )
    })
}
