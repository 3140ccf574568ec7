//! `anthill completions`: what a shell needs to complete our command lines.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Out;

/// Print a completion script for a shell
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill completions bash > ~/.local/share/bash-completion/completions/anthill
      Completion for bash
  anthill completions zsh > \"${fpath[1]}/_anthill\"
      Completion for zsh")]
pub struct Arguments {
    /// The shell
    pub shell: Shell,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Generated into memory first: clap_complete panics when it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "anthill", &mut script);
    let mut out = Out::stdout();
    out.write_all(&script)?;
    Ok(out.flush()?)
}
