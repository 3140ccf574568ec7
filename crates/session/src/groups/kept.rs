//! Groups that a person named and keeps beside the index of a dump, so that later commands know them.

use std::fs;

use anthill_heap::BitSet;

use crate::{Error, IndexLocation, Session};

/// A group with its name.
pub struct KeptGroup {
    /// As a person calls it.
    pub name: String,
    /// How it was made, as it was written.
    pub expression: String,
    /// Its members.
    pub objects: BitSet,
}

const PREFIX: &str = "group-";

/// Whether a file beside an index has that name because it is a kept group.
pub(crate) fn is_kept_group(file: &str) -> bool {
    file.starts_with(PREFIX)
}

/// Why a name cannot be that of a group.
fn refusal(name: &str) -> Option<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 64
        && name.chars().all(word);
    (!fits).then(|| {
        format!(
            "`{name}` is not a valid group name: use up to 64 letters, digits and _, \
        starting with a letter"
        )
    })
}

impl Session {
    /// Keeps a group under a name; one of the same name is replaced.
    pub fn keep_group(&self, name: &str, expression: &str, objects: &BitSet) -> Result<(), Error> {
        if let Some(refusal) = refusal(name) {
            return Err(Error::Mistake(refusal));
        }
        let place = self.place_of_groups()?;
        let kept = place.keep(&format!("{PREFIX}{name}"), |writer| {
            writer.add("expression", expression.as_bytes())?;
            writer.add("objects", objects.words())
        });
        kept.map_err(Error::Keeping)
    }

    /// Whether there was a group of that name to forget.
    pub fn forget_group(&self, name: &str) -> Result<bool, Error> {
        let place = self.place_of_groups()?;
        if refusal(name).is_some() {
            return Ok(false);
        }
        let path = place.folder.join(format!("{PREFIX}{name}"));
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::Keeping(format!("{}: {error}", path.display()))),
        }
    }

    /// The kept groups by name, and the names of those that cannot be used: they belong to another
    /// dump that was under this path before, or are damaged.
    pub fn kept_groups(&self) -> (Vec<KeptGroup>, Vec<String>) {
        let files = self
            .open
            .index
            .as_ref()
            .map(|place| fs::read_dir(&place.folder));
        let files = files.and_then(Result::ok).into_iter().flatten().flatten();
        let mut names: Vec<String> = files
            .filter_map(|file| file.file_name().into_string().ok())
            .filter_map(|file| file.strip_prefix(PREFIX).map(str::to_owned))
            .collect();
        names.sort_unstable();
        let (mut groups, mut unusable) = (Vec::new(), Vec::new());
        for name in names {
            match self.kept_group(&name) {
                Some(group) => groups.push(group),
                None => unusable.push(name),
            }
        }
        (groups, unusable)
    }

    pub(super) fn kept_group(&self, name: &str) -> Option<KeptGroup> {
        let index = self.kept(&format!("{PREFIX}{name}"))?;
        let expression = index.column::<u8>("expression")?.to_vec();
        let words = index.column::<u64>("objects")?.to_vec();
        Some(KeptGroup {
            name: name.to_owned(),
            expression: String::from_utf8(expression).ok()?,
            objects: BitSet::from_words(self.state().len() as usize, words)?,
        })
    }

    fn place_of_groups(&self) -> Result<&IndexLocation, Error> {
        self.open.index.as_ref().ok_or_else(|| {
            Error::Keeping("groups are saved next to the index, which is turned off".to_owned())
        })
    }
}
