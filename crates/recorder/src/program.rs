//! Starting the program that is to be recorded, with the agent in its JVM.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::Error;

const LIBRARY: &str = "libanthill_agent.so";
/// Every JVM takes options from here, whoever starts it.
const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// The agent's library: beside this program, or where packages put libraries.
pub(crate) fn agent_library() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(|source| Error::file(Path::new("anthill"), source))?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [
        folder.join(LIBRARY),
        folder.join("../lib/anthill").join(LIBRARY),
    ];
    let found = places.iter().find(|place| place.is_file());
    match found {
        Some(place) => place
            .canonicalize()
            .map_err(|source| Error::file(place, source)),
        None => Err(Error::NoAgent(places[0].clone())),
    }
}

/// Starts a command with the agent in it: as an option if it is `java` itself, else through the
/// environment, so that scripts and build tools work too.
pub(crate) fn start(command: &[OsString], library: &Path, options: &str) -> Result<Child, Error> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(Error::Refused("no command to run".to_owned()));
    };
    let agent = format!("-agentpath:{}={options}", library.display());
    let mut child = Command::new(program);
    if is_java(program) {
        child.arg(agent);
    } else {
        child.env(TOOL_OPTIONS, tool_options(&agent));
    }
    child
        .args(arguments)
        .spawn()
        .map_err(|source| Error::Program {
            program: program.to_string_lossy().into_owned(),
            source,
        })
}

/// Closes what this process got from a JVM that started it: the program's files and connections are none of its business, and
/// would stay open as long as this process lives.
pub(crate) fn close_inherited() {
    const STANDARD: i32 = 2;
    let Ok(open) = fs::read_dir("/proc/self/fd") else {
        return;
    };
    let numbers = open.flatten().map(|entry| entry.file_name());
    let inherited: Vec<i32> = numbers
        .filter_map(|name| name.to_str()?.parse().ok())
        .filter(|number| *number > STANDARD)
        .collect();
    for number in inherited {
        // The descriptor of the folder that was just read is closed already.
        if fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok() {
            // SAFETY: called before this process opened anything itself, so nobody here owns the descriptor.
            unsafe { rustix::io::close(number) };
        }
    }
}

fn is_java(program: &OsStr) -> bool {
    Path::new(program)
        .file_name()
        .is_some_and(|name| name == "java")
}

/// The options that are there already, and ours; quoted, because blanks separate options.
fn tool_options(agent: &str) -> OsString {
    let mut options = env::var_os(TOOL_OPTIONS).unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    if agent.contains(' ') {
        options.push(format!("\"{agent}\""));
    } else {
        options.push(agent);
    }
    options
}
