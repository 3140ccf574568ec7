//! `anthill-fuzz [TARGET ...] [--seconds N] [--random N] [--findings DIR]`: fuzzes targets one after the
//! other, all of them by default. `anthill-fuzz --replay TARGET FILE ...` runs a target on files. `./x fuzz`
//! builds it with the compiler's coverage counters and runs it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anthill_fuzz::{Limits, TARGETS, Target, replay, run};

struct Arguments {
    targets: Vec<&'static Target>,
    seconds: u64,
    random: u64,
    findings: PathBuf,
    replay: Vec<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        targets: Vec::new(),
        seconds: 60,
        random: 1,
        findings: PathBuf::from("target/fuzz"),
        replay: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    let mut is_replay = false;
    while let Some(word) = words.next() {
        let mut number = || {
            let number = words.next().and_then(|number| number.parse().ok());
            number.ok_or_else(|| format!("{word} takes a number"))
        };
        match word.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--random" => arguments.random = number()?,
            "--findings" => {
                arguments.findings = words.next().ok_or("--findings takes a folder")?.into();
            }
            "--replay" => is_replay = true,
            _ if is_replay && !arguments.targets.is_empty() => arguments.replay.push(word.into()),
            name => {
                let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
                let target = Target::named(name);
                let unknown = || format!("no target `{name}`; there are {}", known.join(", "));
                arguments.targets.push(target.ok_or_else(unknown)?);
            }
        }
    }
    if arguments.targets.is_empty() {
        arguments.targets = TARGETS.iter().collect();
    }
    Ok(arguments)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("anthill-fuzz: {why}");
            return ExitCode::from(2);
        }
    };
    let scratch = in_memory().expect("a temporary folder");
    let current = scratch.path().join("current");
    eprintln!(
        "should this process die, {} is what it died of",
        current.display()
    );
    let found = if arguments.replay.is_empty() {
        fuzz(&arguments, scratch.path())
    } else {
        replay_all(&arguments, scratch.path())
    };
    ExitCode::from(u8::from(found > 0))
}

/// A folder for the files of runs: in memory, where there is such a place.
fn in_memory() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())
}

fn fuzz(arguments: &Arguments, scratch: &Path) -> usize {
    let mut found = 0;
    for target in &arguments.targets {
        let limits = Limits {
            runs: u64::MAX,
            time: Duration::from_secs(arguments.seconds),
            random: arguments.random,
        };
        let outcome = run(target, scratch, limits);
        let panics = outcome.keep(target, &arguments.findings);
        println!(
            "{:12} {:>10} runs, {} edges, {} panics",
            target.name,
            outcome.runs,
            outcome.edges,
            panics.len()
        );
        for (path, what) in &panics {
            println!("  {}: {what}", path.display());
        }
        found += panics.len();
    }
    found
}

fn replay_all(arguments: &Arguments, scratch: &Path) -> usize {
    let mut found = 0;
    for path in &arguments.replay {
        let bytes = std::fs::read(path).expect("the file can be read");
        if let Some((_, what)) = replay(arguments.targets[0], scratch, &bytes) {
            println!("{}: {what}", path.display());
            found += 1;
        }
    }
    found
}
