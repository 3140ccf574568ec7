//! How a recording is to be made.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::{Checking, Error, StateAnalysis};

/// When heap states are taken, as far as the overhead allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After any collection.
    Affordable,
    /// After so much time.
    Every(Duration),
    /// After collections of the whole heap.
    FullGc,
    /// After every N-th collection.
    EveryGc(u64),
}

/// Which objects can be told apart over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// None.
    None,
    /// The heads of data structures and sampled objects.
    Heads,
    /// Every object, which costs most.
    All,
}

/// How a JVM is recorded.
#[derive(Clone)]
pub struct RecordingOptions {
    /// Whether there is a trace; without it only assertions are checked.
    pub trace: bool,
    /// Who checks the assertions that the program makes.
    pub checking: Option<Checking>,
    /// What is computed about each state.
    pub analysis: StateAnalysis,
    /// The share of the program's time, from 0 to 1; from 1 on there is no limit.
    pub overhead: f64,
    /// When states are taken.
    pub when: When,
    /// Whether states are taken when the program exits and when its memory is exhausted.
    pub last_state: bool,
    /// Who can be found again.
    pub identity: Identity,
    /// Classes whose instances are heads of data structures, in Java notation.
    pub heads: Vec<String>,
    /// Frames of the stacks of samples.
    pub stacks: u32,
    /// Whether values of primitive type are recorded.
    pub contents: bool,
    /// The trace; by default it is named after the JVM's process number.
    pub output: Option<PathBuf>,
    /// Whether a file of the trace's name may be replaced.
    pub replace: bool,
    /// Where the JVM writes its dumps; by default in memory or beside the trace.
    pub spool: Option<PathBuf>,
}

impl RecordingOptions {
    /// Makes sure that the trace can be written before anything is started.
    pub(crate) fn reserve(&self) -> Result<(), Error> {
        let Some(output) = self.output.as_ref().filter(|_| self.trace) else {
            return Ok(());
        };
        if self.replace {
            // Whoever still writes it goes on with a file without a name.
            let _ = fs::remove_file(output);
        }
        match File::create_new(output) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::Exists(output.clone()))
            }
            Err(error) => Err(Error::file(output, error)),
        }
    }

    /// Removes what was reserved and not used.
    pub(crate) fn release(&self) {
        let unused = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() == 0);
        if let Some(output) = self.output.as_ref().filter(|path| unused(path)) {
            let _ = fs::remove_file(output);
        }
    }

    /// Where the `index`-th JVM, from 0, that a command started is recorded to; never a file that is
    /// there already, except the one that was reserved. It is made, so that nobody else takes it.
    pub(crate) fn trace_of(&self, jvm: u32, index: usize) -> PathBuf {
        let names = (index..).map(|index| self.name_of(jvm, index));
        let mut free = names.filter(|path| {
            let reserved = index == 0 && self.output.as_ref() == Some(path);
            let is_there = |made: io::Result<File>| {
                made.is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
            };
            reserved || self.replace || !is_there(File::create_new(path))
        });
        free.next().unwrap_or_default()
    }

    fn name_of(&self, jvm: u32, index: usize) -> PathBuf {
        match (&self.output, index) {
            (Some(path), 0) => path.clone(),
            (Some(path), index) => {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let end = path
                    .extension()
                    .map(|extension| format!(".{}", extension.to_string_lossy()))
                    .unwrap_or_default();
                path.with_file_name(format!("{stem}-{}{end}", index + 1))
            }
            (None, 0) => PathBuf::from(format!("anthill-{jvm}.trace")),
            (None, index) => PathBuf::from(format!("anthill-{jvm}-{}.trace", index + 1)),
        }
    }

    /// Whether a state is taken when the program exits. Not by a walk: it would stop threads of a JVM that is ending.
    pub(crate) fn takes_exit(&self) -> bool {
        self.trace && self.last_state && self.identity != Identity::All
    }

    /// For the agent, when it starts.
    pub(crate) fn agent_options(&self, socket: &std::path::Path) -> String {
        let last_state = match self.takes_exit() {
            true => LONGEST_EXIT.as_secs(),
            false => 0,
        };
        format!(
            "socket={},stacks={},sample={},last-state={last_state}",
            socket.display(),
            self.stacks,
            if self.trace { FIRST_SAMPLING } else { 0 }
        )
    }

    /// As the trace keeps them.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let when = match self.when {
            When::Affordable => "any collection".to_owned(),
            When::Every(time) => format!("every {time:?}"),
            When::FullGc => "full-gc".to_owned(),
            When::EveryGc(number) => format!("gc:{number}"),
        };
        let identity = match self.identity {
            Identity::None => "none",
            Identity::Heads => "heads",
            Identity::All => "all",
        };
        [
            ("overhead", format!("{}%", self.overhead * 100.0)),
            ("states", when),
            ("last state", self.last_state.to_string()),
            ("identity", identity.to_owned()),
            ("stacks", self.stacks.to_string()),
            ("contents", self.contents.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// Bytes between two samples at the start of a recording. Sparse: the first ones are the dearest, since
/// everything on their stacks has yet to be named.
pub(crate) const FIRST_SAMPLING: u32 = 2 << 20;

/// How long the end of a JVM waits for its last state at most.
const LONGEST_EXIT: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn to(output: PathBuf) -> RecordingOptions {
        RecordingOptions {
            trace: true,
            checking: None,
            analysis: StateAnalysis {
                reachable: |_| None,
                structures: |_, _| Vec::new(),
            },
            overhead: 0.03,
            when: When::Affordable,
            last_state: true,
            identity: Identity::None,
            heads: Vec::new(),
            stacks: 0,
            contents: false,
            output: Some(output),
            replace: false,
            spool: None,
        }
    }

    #[test]
    fn every_jvm_of_a_command_gets_a_trace_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let options = to(at("app.trace"));
        options.reserve().unwrap();
        assert_eq!(options.trace_of(7, 0), at("app.trace"));
        assert_eq!(options.trace_of(8, 1), at("app-2.trace"));
        fs::write(at("app-2.trace"), "of yesterday").unwrap();
        assert_eq!(options.trace_of(8, 1), at("app-3.trace"));
    }

    #[test]
    fn a_trace_that_is_there_is_not_replaced_unless_that_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = to(folder.path().join("app.trace"));
        options.reserve().unwrap();
        options.release();
        fs::write(folder.path().join("app.trace"), "a good recording").unwrap();
        let refused = options.reserve().unwrap_err().to_string();
        assert!(refused.contains("already exists"), "{refused}");
        options.replace = true;
        options.reserve().unwrap();
        let nowhere = to(folder.path().join("no/such/folder/app.trace"));
        assert!(nowhere.reserve().is_err());
    }
}
