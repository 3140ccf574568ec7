//! What a report hides on demand: what was read from strings, or also the names that are the
//! program's own, which become numbers: equal names equal ones.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use anthill_leaks::Roles;
use anthill_session::{Analysis, Session};

use crate::shell;

/// What is hidden.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Redaction {
    /// Nothing is hidden.
    None,
    /// The contents of strings are hidden.
    Contents,
    /// The contents of strings and the program's own names are hidden.
    Names,
}

/// Hides names and contents.
pub struct Redactor {
    /// What is hidden.
    pub level: Redaction,
    /// Classes, without brackets, and fields of the program, with what stands for them.
    classes: HashMap<String, String>,
    fields: HashMap<String, String>,
}

impl Redactor {
    /// Numbers the program's own classes and fields if names are to be hidden.
    pub fn new(level: Redaction, session: &Session, analysis: &Analysis) -> Self {
        let (mut classes, mut fields) = (BTreeSet::new(), BTreeSet::new());
        if level == Redaction::Names {
            let roles = Roles::new(session.state(), &analysis.dominators);
            for (class, id) in session.state().classes().iter().zip(0..) {
                if !roles.is_platform_class(id) {
                    classes.insert(class.name.trim_end_matches("[]").to_owned());
                    fields.extend(class.fields.iter().map(|field| field.name.clone()));
                    fields.extend(class.statics.iter().map(|field| field.name.clone()));
                }
            }
        }
        Redactor {
            level,
            classes: numbered(classes, "class"),
            fields: numbered(fields, "field"),
        }
    }

    /// Hides nothing.
    pub fn none() -> Self {
        Redactor {
            level: Redaction::None,
            classes: HashMap::new(),
            fields: HashMap::new(),
        }
    }

    /// Whether nothing is hidden.
    pub fn is_off(&self) -> bool {
        self.level == Redaction::None
    }

    /// A file without its folders, or not at all.
    pub fn file(&self, path: &str) -> String {
        match self.level {
            Redaction::None => path.to_owned(),
            Redaction::Contents => {
                let name = Path::new(path).file_name();
                name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
            }
            Redaction::Names => "the dump".to_owned(),
        }
    }

    /// The file as a word of a command line.
    pub fn file_word(&self, path: &str) -> String {
        match self.level {
            Redaction::Names => "DUMP".to_owned(),
            _ => shell::file(&self.file(path)),
        }
    }

    /// Hides what there is to hide in a name or a sentence. Fields are names after a class and a dot,
    /// after an arrow, or between backticks.
    pub fn hide(&self, text: &str) -> String {
        match self.level {
            Redaction::None => text.to_owned(),
            Redaction::Contents => without_quoted(text),
            Redaction::Names => self.without_names(&without_quoted(text)),
        }
    }

    /// Hides the name of a field, `static` before it or not.
    pub fn hide_field(&self, text: &str) -> String {
        match text.strip_prefix("static ") {
            Some(field) => format!("static {}", self.field(field)),
            None => self.field(text),
        }
    }

    fn field(&self, name: &str) -> String {
        self.fields
            .get(name)
            .cloned()
            .unwrap_or_else(|| self.hide(name))
    }

    fn without_names(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let end = rest.find(|char: char| !is_part(char)).unwrap_or(rest.len());
            if end == 0 {
                out.push(char);
                rest = &rest[char.len_utf8()..];
                continue;
            }
            let word = rest[..end].trim_end_matches('.');
            let is_field = out.ends_with("→ ") || out.ends_with('`') || out.ends_with("static ");
            rest = &rest[word.len()..];
            match self.class(word) {
                Some(hidden) => {
                    out += &hidden;
                    // The source file of a stack frame tells the class.
                    if let (true, Some(close)) = (rest.starts_with('('), rest.find(')')) {
                        out += "(…)";
                        rest = &rest[close + 1..];
                    }
                }
                None if is_field => out += &self.field(word),
                None => out += word,
            }
            if word.is_empty() {
                out += &rest[..1];
                rest = &rest[1..];
            }
        }
        out
    }

    /// A class of the program, perhaps with members after it.
    fn class(&self, word: &str) -> Option<String> {
        let ends = word.match_indices('.').map(|(dot, _)| dot);
        let mut ends: Vec<usize> = ends.chain([word.len()]).collect();
        ends.reverse();
        let end = ends
            .into_iter()
            .find(|&end| self.classes.contains_key(&word[..end]))?;
        let mut hidden = self.classes[&word[..end]].clone();
        for member in word[end..].split('.').skip(1) {
            hidden.push('.');
            hidden += self.fields.get(member).map_or("member", String::as_str);
        }
        Some(hidden)
    }
}

fn numbered(names: BTreeSet<String>, kind: &str) -> HashMap<String, String> {
    let numbers = names.into_iter().zip(1..);
    numbers
        .map(|(name, number)| (name, format!("{kind}-{number}")))
        .collect()
}

fn is_part(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '$' | '.' | '/')
}

/// `thread "main" → x` becomes `thread → x`.
fn without_quoted(text: &str) -> String {
    let mut left = String::new();
    let (mut within, mut escaped) = (false, false);
    for char in text.chars() {
        if char == '"' && !escaped {
            if !within && left.ends_with(' ') {
                left.pop();
            }
            within = !within;
        } else if !within {
            left.push(char);
        }
        escaped = within && char == '\\' && !escaped;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(level: Redaction) -> Redactor {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Redactor {
            level,
            classes: numbered(
                set(&["com.acme.Order", "com.acme.Order$Item", "Main"]),
                "class",
            ),
            fields: numbered(set(&["items", "last"]), "field"),
        }
    }

    #[test]
    fn what_is_quoted_is_left_out() {
        let said = "held by thread \"a \\\" b\" (com.acme.Order @ 0x10, a java.util.List).";
        assert_eq!(redactor(Redaction::None).hide(said), said);
        let contents = "held by thread (com.acme.Order @ 0x10, a java.util.List).";
        assert_eq!(redactor(Redaction::Contents).hide(said), contents);
        assert_eq!(
            redactor(Redaction::Contents).file("/home/me/a.hprof"),
            "a.hprof"
        );
    }

    #[test]
    fn names_become_numbers_wherever_they_stand() {
        let names = redactor(Redaction::Names);
        for (said, hidden) in [
            ("com.acme.Order", "class-2"),
            ("com.acme.Order$Item[20].", "class-3[20]."),
            (
                "static field Main.last → items → [3]",
                "static field class-1.field-2 → field-1 → [3]",
            ),
            (
                "com.acme.Order.main(Order.java:29), then",
                "class-2.member(…), then",
            ),
            (
                "`items` of java.util.List.items",
                "`field-1` of java.util.List.items",
            ),
            (
                "class Main @ 0x10 in java.lang.Thread",
                "class class-1 @ 0x10 in java.lang.Thread",
            ),
            ("… 5 more...", "… 5 more..."),
        ] {
            assert_eq!(names.hide(said), hidden, "{said}");
        }
        assert_eq!(names.hide_field("static last"), "static field-2");
        assert_eq!(names.hide_field("[17]"), "[17]");
    }
}
