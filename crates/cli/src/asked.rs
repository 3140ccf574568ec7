//! Questions as arguments of commands: which options there are, and what they say, comes from the question's own type.

use std::marker::PhantomData;

use anthill_api::{Choice, Definitions, Error as ApiError, Kind, Opt, Question, options, read};
use clap::builder::{PossibleValue, PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::failure::Failure;

/// What was asked for on the command line, as texts.
pub struct Asked<Q> {
    given: Vec<(String, String)>,
    question: PhantomData<Q>,
}

impl<Q: Question> Asked<Q> {
    /// The question; a person is shown less than a program if nothing else is asked for.
    pub fn question(&self, for_program: bool) -> Result<Q, Failure> {
        let given = self
            .given
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let is_given = |option: &Opt| self.given.iter().any(|(name, _)| *name == option.name);
        let defaults: Vec<(String, String)> = options::<Q>()
            .into_iter()
            .filter(|option| !for_program && !is_given(option))
            .filter_map(|option| Some((option.name, option.default_for_people?)))
            .collect();
        let defaults = defaults
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        Ok(read(given.chain(defaults))?)
    }

    /// Finds mistakes before a large heap is opened.
    pub fn check(&self, definitions: &Definitions) -> Result<(), Failure> {
        Ok(self.question(true)?.check(definitions)?)
    }
}

impl<Q: JsonSchema + DeserializeOwned> Asked<Q> {
    /// What was asked for, without regard to who reads the answer.
    pub fn read(&self) -> Result<Q, ApiError> {
        let given = self.given.iter();
        read(given.map(|(name, text)| (name.as_str(), text.as_str())))
    }
}

impl<Q: JsonSchema> FromArgMatches for Asked<Q> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut given = Vec::new();
        for option in options::<Q>() {
            if let Kind::Flag = option.kind {
                if matches.get_flag(&option.name) {
                    given.push((option.name, String::new()));
                }
            } else if matches.value_source(&option.name)
                == Some(clap::parser::ValueSource::CommandLine)
            {
                let texts = matches.get_raw(&option.name).into_iter().flatten();
                let texts = texts.map(|text| text.to_string_lossy().into_owned());
                given.extend(texts.map(|text| (option.name.clone(), text)));
            }
        }
        Ok(Asked {
            given,
            question: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Asked::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<Q: Question> Args for Asked<Q> {
    fn augment_args(command: Command) -> Command {
        let about = anthill_api::about::<Q>();
        let command = match about.split_once("\n\n") {
            Some((short, _)) => command.about(short.to_owned()).long_about(about),
            None => command.about(about),
        };
        arguments::<Q>().fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn argument(option: &Opt) -> Arg {
    let argument = Arg::new(option.name.clone())
        .help(help(option))
        .hide(option.hidden)
        .required(option.required)
        .conflicts_with_all(&option.excludes);
    let argument = match (option.subject, option.letter) {
        (true, _) => argument,
        (false, Some(letter)) => argument.long(option.name.clone()).short(letter),
        (false, None) => argument.long(option.name.clone()),
    };
    let argument = match &option.requires {
        Some(other) => argument.requires(other),
        None => argument,
    };
    if let Kind::Flag = option.kind {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = match &option.default {
        // Where people have a default of their own, only programs get the general one.
        Some(default) if option.default_for_people.is_none() => {
            argument.default_value(default.clone())
        }
        _ => argument,
    };
    let value = option.value.clone();
    let argument = argument.value_name(value.unwrap_or_else(|| option.name.to_uppercase()));
    let many = if option.many {
        ArgAction::Append
    } else {
        ArgAction::Set
    };
    let argument = match option.separated {
        true => argument.value_delimiter(','),
        false => argument,
    };
    let argument = match &option.if_bare {
        Some(value) => argument
            .num_args(0..=1)
            .default_missing_value(value.clone()),
        None => argument,
    };
    let is_number = matches!(option.kind, Kind::Integer | Kind::Number);
    argument
        .action(many)
        .allow_negative_numbers(is_number)
        .value_parser(parser(option))
}

/// The arguments that a question has.
pub fn arguments<Q: JsonSchema>() -> impl Iterator<Item = Arg> {
    options::<Q>().into_iter().map(|option| argument(&option))
}

/// What a value must look like; what it means is found out by the question.
fn parser(option: &Opt) -> ValueParser {
    match &option.kind {
        Kind::Choice(choices) => {
            let named = |choice: &Choice| {
                let value = PossibleValue::new(choice.name.clone());
                match &choice.about {
                    Some(about) => value.help(about.clone()),
                    None => value,
                }
            };
            let all: Vec<PossibleValue> = choices.iter().map(named).collect();
            PossibleValuesParser::new(all).into()
        }
        Kind::Integer | Kind::Number | Kind::Flag | Kind::Text => {
            let option = option.clone();
            ValueParser::new(move |text: &str| option.value_from(text).map(|_| text.to_owned()))
        }
    }
}

fn help(option: &Opt) -> String {
    let about = &option.about;
    let for_people = option.default_for_people.as_ref();
    match (
        option.default_in_words.as_ref().or(for_people),
        &option.default,
    ) {
        (Some(people), None) => format!("{about} [default: {people}; all with --json and --csv]"),
        (Some(people), Some(programs)) => {
            format!("{about} [default: {people}; {programs} with --json and --csv]")
        }
        (None, _) => about.clone(),
    }
}
