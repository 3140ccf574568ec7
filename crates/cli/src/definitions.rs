//! Classifiers, filters, transformers and groups that a person defined.

use std::fs;
use std::path::PathBuf;

use anthill_api::{Definitions, Error};
use anthill_classify::Files;
use clap::Args;

use crate::failure::Failure;

#[derive(Args)]
pub struct DefineArguments {
    /// Read definitions of classifiers, filters, transformers and groups from FILE; can be repeated
    #[arg(long, value_name = "FILE")]
    pub define: Vec<PathBuf>,
}

impl DefineArguments {
    /// The predefined ones and those of the files. A person at a terminal may name files in them.
    pub fn read(&self) -> Result<Definitions, Failure> {
        let mut definitions = Definitions::default().with_files(Files::Readable);
        for path in &self.define {
            let text = fs::read_to_string(path).map_err(|error| {
                let reason = format!("{}: {error}", path.display());
                Failure::unusable(reason, "--define needs a text file with definitions.")
            })?;
            let origin = path.display().to_string();
            definitions
                .add(&origin, &text)
                .map_err(|mistake| Error::written(&mistake, &origin, &text))?;
        }
        Ok(definitions)
    }
}
