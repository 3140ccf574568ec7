//! The definitions of data structures that hold: the shipped ones, the project's, and those of files.

use std::fs;
use std::path::{Path, PathBuf};

use anthill_api::Error;
use anthill_structures::Definitions;

/// Read without being asked for if it is in the working folder.
const PROJECT_FILE: &str = "anthill.structures";

pub fn definitions(files: &[PathBuf]) -> Result<Definitions, Error> {
    let mut definitions = Definitions::shipped();
    let project = Path::new(PROJECT_FILE);
    let project = project.is_file().then_some(project);
    for file in project
        .into_iter()
        .chain(files.iter().map(PathBuf::as_path))
    {
        let origin = file.display().to_string();
        let text = fs::read_to_string(file).map_err(|error| {
            let reason = format!("{origin}: {error}");
            Error::unusable(reason, "--structures needs a text file with definitions.")
        })?;
        definitions.add(&origin, &text).map_err(|mistake| {
            Error::unusable(
                mistake.show_in_file(&origin, &text),
                "docs/structures.md describes the language.",
            )
        })?;
    }
    Ok(definitions)
}
