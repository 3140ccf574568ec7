//! Questions of pages as command lines: what the terminal's users can ask, pages can, with the
//! same words. Only files are out of their reach, except those that are open.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use anthill_server::Question;
use clap::{Arg, ArgAction, CommandFactory, Parser};

use super::office::{Office, Request};
use crate::cli::{Cli, Command};
use crate::commands::{check, classifiers, diff, growth, timeline};
use crate::desk::Desk;
use crate::failure::Failure;

/// What an answer for a page always is, or never.
const FIXED: [&str; 5] = ["json", "csv", "no_progress", "no_index", "help"];

/// Whether pages may set it.
pub fn is_askable(argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    !FIXED.contains(&id)
        && (!is_path(argument) || is_other_source(argument))
        && id != "save"
        && id != "forget"
}

fn is_path(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// Further files of a command are given by the numbers of sources.
pub fn is_other_source(argument: &Arg) -> bool {
    argument.get_id() == "later"
}

/// How pages call an argument.
pub fn name(argument: &Arg) -> String {
    match argument.get_long() {
        Some(long) => long.to_owned(),
        None => argument.get_id().as_str().to_owned(),
    }
}

/// The commands that answer in JSON.
pub fn commands() -> Vec<clap::Command> {
    let cli = Cli::command();
    let answering = cli.get_subcommands().filter(|command| has(command, "json"));
    answering.cloned().collect()
}

fn has(command: &clap::Command, argument: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|other| other.get_id() == argument)
}

pub fn answer(office: &Office, question: &Question, request: &Arc<Request>) -> Result<(), Failure> {
    let words = words(office, question)?;
    let cli = Cli::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let reason = text.strip_prefix("error: ").unwrap_or(&text);
        let reason = reason.split("\n\nUsage:").next().unwrap_or(reason).trim();
        Failure::unusable(reason, "/api/v1/openapi.json lists what can be asked.")
    })?;
    let desk = Desk::Web(request.clone());
    let answered = match cli.command {
        Command::OnDump(mut command) => {
            command.check()?;
            command.source_mut().desk = desk;
            let source = command.source().open()?;
            command.show(&source)
        }
        Command::Check(mut arguments) => {
            arguments.source.desk = desk;
            check::run(&arguments)
        }
        Command::Diff(mut arguments) => {
            arguments.source.desk = desk;
            diff::run(&arguments)
        }
        Command::Growth(mut arguments) => {
            arguments.source.desk = desk;
            growth::show(&arguments)
        }
        Command::Timeline(mut arguments) => {
            arguments.source.desk = desk;
            timeline::run(&arguments)
        }
        Command::Classifiers(mut arguments) => {
            arguments.desk = desk;
            classifiers::run(&arguments)
        }
        _ => Err(unknown(&question.command)),
    };
    match answered {
        // The answer is complete; that it is a finding is for exit codes.
        Err(Failure::Findings(_)) => Ok(()),
        answered => answered,
    }
}

fn unknown(command: &str) -> Failure {
    Failure::unusable(
        format!("`{command}` is no question about a file"),
        "/api/v1/openapi.json lists what can be asked.",
    )
}

/// The command line of a question.
fn words(office: &Office, question: &Question) -> Result<Vec<OsString>, Failure> {
    let commands = commands();
    let command = commands
        .iter()
        .find(|command| command.get_name() == question.command)
        .ok_or_else(|| unknown(&question.command))?;
    let file = |number: &str| {
        let file = number.parse().ok().and_then(|number| office.file(number));
        file.ok_or_else(|| Failure::NothingFound(format!("there is no source {number}")))
    };
    let mut words: Vec<OsString> =
        vec!["anthill".into(), command.get_name().into(), "--json".into()];
    let mut places = vec![OsString::from("--")];
    if has(command, "file") {
        places.push(file(&question.source.to_string())?.into());
    }
    for (key, value) in &question.options {
        let argument = command
            .get_arguments()
            .find(|argument| is_askable(argument) && name(argument) == *key)
            .ok_or_else(|| {
                Failure::unusable(
                    format!("`{}` has no option `{key}` here", question.command),
                    "/api/v1/openapi.json lists what can be asked.",
                )
            })?;
        if is_other_source(argument) {
            places.push(file(value)?.into());
        } else if argument.is_positional() {
            places.push(value.into());
        } else if matches!(argument.get_action(), ArgAction::SetTrue) {
            if value != "false" {
                words.push(format!("--{key}").into());
            }
        } else {
            words.push(format!("--{key}={value}").into());
        }
    }
    words.append(&mut places);
    Ok(words)
}
