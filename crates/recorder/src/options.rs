//! How a recording is to be made.

use std::path::PathBuf;
use std::time::Duration;

/// When heap states are taken, as far as the overhead allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// After any collection.
    Affordable,
    Every(Duration),
    /// After collections of the whole heap.
    FullGc,
    /// After every N-th collection.
    EveryGc(u64),
}

/// Which objects can be told apart over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    None,
    /// The heads of data structures and sampled objects.
    Heads,
    All,
}

#[derive(Clone, Debug)]
pub struct RecordingOptions {
    /// The share of the program's time, from 0 to 1; from 1 on there is no limit.
    pub overhead: f64,
    pub when: When,
    pub identity: Identity,
    /// Classes whose instances are heads of data structures, in Java notation.
    pub heads: Vec<String>,
    /// Frames of the stacks of samples.
    pub stacks: u32,
    /// Whether values of primitive type are recorded.
    pub contents: bool,
    /// The trace; by default it is named after the JVM's process number.
    pub output: Option<PathBuf>,
    /// Where the JVM writes its dumps; by default in memory or beside the trace.
    pub spool: Option<PathBuf>,
}

impl RecordingOptions {
    /// The trace of the `index`-th JVM, from 0, that a command started.
    pub(crate) fn trace_of(&self, jvm: u32, index: usize) -> PathBuf {
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
            (None, _) => PathBuf::from(format!("anthill-{jvm}.trace")),
        }
    }

    /// For the agent, when it starts.
    pub(crate) fn agent_options(&self, socket: &std::path::Path) -> String {
        format!(
            "socket={},stacks={},sample={}",
            socket.display(),
            self.stacks,
            FIRST_SAMPLING
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
            ("identity", identity.to_owned()),
            ("stacks", self.stacks.to_string()),
            ("contents", self.contents.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

/// Bytes between two samples at the start of a recording.
pub(crate) const FIRST_SAMPLING: u32 = 512 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_jvm_of_a_command_gets_a_trace_of_its_own() {
        let mut options = RecordingOptions {
            overhead: 0.03,
            when: When::Affordable,
            identity: Identity::None,
            heads: Vec::new(),
            stacks: 0,
            contents: false,
            output: Some(PathBuf::from("out/app.trace")),
            spool: None,
        };
        assert_eq!(options.trace_of(7, 0), PathBuf::from("out/app.trace"));
        assert_eq!(options.trace_of(8, 1), PathBuf::from("out/app-2.trace"));
        options.output = None;
        assert_eq!(options.trace_of(8, 1), PathBuf::from("anthill-8.trace"));
    }
}
