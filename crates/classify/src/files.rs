//! The right to read files: who hands it to the definitions decides for all steps written with them.

/// Whether steps may read files; `feature(FILE)` does. Questions that come from elsewhere than the
/// user of this process must not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// No file is read.
    #[default]
    Denied,
    /// Any file that the process can read.
    Readable,
}

impl Files {
    /// The text of a file, or why there is none.
    pub(crate) fn read(self, path: &str) -> Result<String, String> {
        match self {
            Files::Denied => Err("feature files work only on the command line".to_owned()),
            Files::Readable => std::fs::read_to_string(path).map_err(|error| error.to_string()),
        }
    }
}
