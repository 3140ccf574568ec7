//! The agent's options: `socket=/path,stacks=32,sample=524288,last-state=10` from a recorder, `violations=/path,overhead=3%` from a person.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Where the recorder listens; none if the agent is on its own.
    pub socket: Option<PathBuf>,
    /// Frames of a stack that are reported.
    pub stacks: usize,
    /// Mean bytes between two allocation samples; 0 is off.
    pub sample: u32,
    /// How long the end of the JVM may wait for the recorder's last orders; zero is not at all.
    pub last_state: Duration,
    /// Where violations of assertions are written to, for the program that the agent starts.
    pub violations: Option<PathBuf>,
    /// The share of the program's time that checks may take, likewise.
    pub overhead: Option<String>,
}

const MOST_FRAMES: usize = 1024;
const LONGEST_LAST_STATE: Duration = Duration::from_secs(60);

impl Options {
    pub(crate) fn parse(text: &str) -> Result<Options, String> {
        let mut options = Options {
            socket: None,
            stacks: 32,
            // Whoever checks assertions only has no use for samples.
            sample: 0,
            last_state: Duration::ZERO,
            violations: None,
            overhead: None,
        };
        for option in text.split(',').filter(|option| !option.is_empty()) {
            // What a plain agent does anyway.
            if option == "assertions" {
                continue;
            }
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| format!("option {option:?} has no value"))?;
            let number = || {
                value
                    .parse::<u32>()
                    .map_err(|_| format!("{key}: {value:?} is not a number"))
            };
            match key {
                "socket" => options.socket = Some(PathBuf::from(value)),
                "violations" => options.violations = Some(PathBuf::from(value)),
                "overhead" => options.overhead = Some(value.to_owned()),
                "stacks" => options.stacks = (number()? as usize).min(MOST_FRAMES),
                "sample" => options.sample = number()?,
                "last-state" => {
                    let seconds = Duration::from_secs(number()?.into());
                    options.last_state = seconds.min(LONGEST_LAST_STATE);
                }
                _ => return Err(format!("unknown option {key:?}")),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_have_defaults() {
        let all = Options::parse("socket=/run/x.sock,stacks=8,sample=0,last-state=1000");
        let expected = Options {
            socket: Some("/run/x.sock".into()),
            stacks: 8,
            sample: 0,
            last_state: LONGEST_LAST_STATE,
            violations: None,
            overhead: None,
        };
        assert_eq!(all, Ok(expected));
        let few = Options::parse("socket=/x").unwrap();
        assert_eq!((few.stacks, few.sample), (32, 0));
    }

    #[test]
    fn without_a_recorder_the_agent_is_on_its_own() {
        for text in ["", "assertions", "violations=/tmp/v.jsonl,overhead=1%"] {
            assert_eq!(Options::parse(text).unwrap().socket, None, "{text}");
        }
    }

    #[test]
    fn mistakes_in_options_are_named() {
        for (text, named) in [
            ("socket=/x,stacks=many", "many"),
            ("socket=/x,samples=1", "samples"),
            ("socket=/x,sample", "sample"),
        ] {
            let mistake = Options::parse(text).unwrap_err();
            assert!(mistake.contains(named), "{text}: {mistake}");
        }
    }
}
