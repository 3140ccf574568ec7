//! Classifiers, filters, transformers and groups that a person defined.

use std::fs;
use std::path::PathBuf;

use anthill_classify::{Definitions, Mistake};
use anthill_session::check_defined_groups;
use clap::Args;

use crate::failure::Failure;

#[derive(Args)]
pub struct DefinitionArguments {
    /// A file with classifiers, filters, transformers and groups of your own; can be repeated
    #[arg(long, value_name = "FILE")]
    pub define: Vec<PathBuf>,
    /// Such definitions themselves instead of a file; can be repeated
    #[arg(long, value_name = "TEXT")]
    pub definitions: Vec<String>,
}

impl DefinitionArguments {
    pub fn is_empty(&self) -> bool {
        self.define.is_empty() && self.definitions.is_empty()
    }

    /// The predefined ones and those of the files.
    pub fn read(&self) -> Result<Definitions, Failure> {
        let mut definitions = Definitions::default();
        for path in &self.define {
            let text = fs::read_to_string(path).map_err(|error| {
                let reason = format!("{}: {error}", path.display());
                Failure::unusable(reason, "--define needs a text file with definitions.")
            })?;
            let origin = path.display().to_string();
            definitions
                .add(&origin, &text)
                .map_err(|mistake| mistaken(&mistake, &origin, &text))?;
        }
        for text in &self.definitions {
            let origin = "--definitions";
            definitions
                .add(origin, text)
                .map_err(|mistake| mistaken(&mistake, origin, text))?;
        }
        check_defined_groups(&definitions)?;
        Ok(definitions)
    }
}

/// A mistake in what was written after an option or in a file.
pub fn mistaken(mistake: &Mistake, origin: &str, text: &str) -> Failure {
    Failure::unusable(
        mistake.show(origin, text),
        "`anthill classifiers` lists what there is, docs/classification.md explains the language.",
    )
}
