//! The program `anthill`: reads the command line, runs the command, says how it ended.

mod assertions;
mod check;
mod cli;
mod commands;
mod definitions;
mod desk;
mod failure;
mod names;
mod output;
mod progress;
mod report;
mod source;
mod structures;
mod tree_view;
mod web;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
