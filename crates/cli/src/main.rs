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

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    #[cfg(unix)]
    anthill_hprof::survive_file_signals();
    let cli = cli::Cli::parse();
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
