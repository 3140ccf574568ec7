//! The agent's options: `socket=/path,stacks=32,sample=524288`.

use std::path::PathBuf;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Where the recorder listens.
    pub socket: PathBuf,
    /// Frames of a stack that are reported.
    pub stacks: usize,
    /// Mean bytes between two allocation samples; 0 is off.
    pub sample: u32,
}

const MOST_FRAMES: usize = 1024;

impl Options {
    pub fn parse(text: &str) -> Result<Options, String> {
        let mut socket = None;
        let mut options = Options {
            socket: PathBuf::new(),
            stacks: 32,
            sample: 524_288,
        };
        for option in text.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option
                .split_once('=')
                .ok_or_else(|| format!("option {option:?} has no value"))?;
            let number = || {
                value
                    .parse::<u32>()
                    .map_err(|_| format!("{value:?} is no number for {key}"))
            };
            match key {
                "socket" => socket = Some(PathBuf::from(value)),
                "stacks" => options.stacks = (number()? as usize).min(MOST_FRAMES),
                "sample" => options.sample = number()?,
                _ => return Err(format!("there is no option {key:?}")),
            }
        }
        options.socket = socket.ok_or("the option socket=PATH is missing")?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_have_defaults() {
        let all = Options::parse("socket=/run/x.sock,stacks=8,sample=0");
        let expected = Options {
            socket: "/run/x.sock".into(),
            stacks: 8,
            sample: 0,
        };
        assert_eq!(all, Ok(expected));
        let few = Options::parse("socket=/x").unwrap();
        assert_eq!((few.stacks, few.sample), (32, 524_288));
    }

    #[test]
    fn mistakes_in_options_are_named() {
        for (text, named) in [
            ("", "socket"),
            ("stacks=1", "socket"),
            ("socket=/x,stacks=many", "many"),
            ("socket=/x,samples=1", "samples"),
            ("socket=/x,sample", "sample"),
        ] {
            let mistake = Options::parse(text).unwrap_err();
            assert!(mistake.contains(named), "{text}: {mistake}");
        }
    }
}
