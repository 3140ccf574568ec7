//! Names with wildcards, and what to suggest when nothing has such a name.

use crate::similar;

/// `*` stands for any characters, dots included, `?` for one; otherwise the name itself.
pub struct Pattern {
    text: String,
    /// The same class in Java notation, if the text is in the JVM's.
    java: Option<String>,
}

impl Pattern {
    /// For names of any kind.
    pub fn new(text: &str) -> Self {
        Pattern {
            text: text.to_owned(),
            java: None,
        }
    }

    /// For names of classes: also as the JVM writes them, `java/lang/String` or `[B`.
    pub fn class(text: &str) -> Self {
        Pattern {
            java: Some(java_notation(text)).filter(|java| java != text),
            ..Pattern::new(text)
        }
    }

    /// Whether a name fits.
    pub fn matches(&self, name: &str) -> bool {
        let mut texts = [Some(&self.text), self.java.as_ref()].into_iter().flatten();
        texts.any(|text| wildcard_match(text, name))
    }

    /// The message for a pattern that nothing matches.
    pub fn no_match<'a>(&self, what: &str, names: impl Iterator<Item = &'a str>) -> String {
        let similar = self.similar(names);
        let hint = match similar.as_slice() {
            [] if self.text.contains(['*', '?']) => String::new(),
            [] => "; `*` matches any characters".to_owned(),
            names => format!("; did you mean {}?", names.join(" or ")),
        };
        format!("no {what} matches `{}`{hint}", self.text)
    }

    /// The name that was probably meant.
    pub fn nearest<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        self.similar(names).first().copied()
    }

    /// Up to three names that contain what was asked for, or differ from it by little.
    fn similar<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        let wanted = self.java.as_ref().unwrap_or(&self.text);
        similar(wanted.trim_matches(['*', '?']), names)
    }
}

/// Whether a name fits a pattern with `*` and `?`.
pub fn wildcard_match(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    // Where to go on when what follows the last star does not fit.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, in_name));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                in_name += char_len(name[in_name]);
            }
            Some(&byte) if byte == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => {
                let Some((after, from)) = star else {
                    return false;
                };
                star = Some((after, from + 1));
                (at, in_name) = (after, from + 1);
            }
        }
    }
    pattern[at..].iter().all(|&byte| byte == b'*')
}

/// `byte[][]` for `[[B`, `java.lang.String` for `java/lang/String` and `Ljava/lang/String;`; a
/// name in Java notation stays as it is.
fn java_notation(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    let object = element
        .strip_prefix('L')
        .and_then(|rest| rest.strip_suffix(';'));
    let element = match (element, object) {
        (_, Some(class)) => class,
        _ if dimensions == 0 => element,
        ("Z", _) => "boolean",
        ("B", _) => "byte",
        ("C", _) => "char",
        ("S", _) => "short",
        ("I", _) => "int",
        ("J", _) => "long",
        ("F", _) => "float",
        ("D", _) => "double",
        _ => return name.to_owned(),
    };
    element.replace('/', ".") + &"[]".repeat(dimensions)
}

fn char_len(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_any_characters_and_question_marks_one() {
        for (pattern, name, fits) in [
            ("java.util.*", "java.util.concurrent.locks.Lock", true),
            ("*Cache", "anthill.samples.IdCache", true),
            ("*Cache", "anthill.samples.IdCaches", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("?[]", "クラス[]", false),
            ("???[]", "クラス[]", true),
            ("String", "java.lang.String", false),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(name),
                fits,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn classes_may_be_written_as_the_jvm_does() {
        // As Class.getName, a JVM's histogram and its stack traces and signatures have them.
        for (jvm, java) in [
            ("java/lang/String", "java.lang.String"),
            ("Ljava/lang/String;", "java.lang.String"),
            ("[Ljava.lang.String;", "java.lang.String[]"),
            ("[[Ljava/util/HashMap$Node;", "java.util.HashMap$Node[][]"),
            ("[B", "byte[]"),
            ("[[J", "long[][]"),
            ("[Z", "boolean[]"),
            ("java/util/*", "java.util.HashMap"),
            ("[Lcom/acme/*;", "com.acme.Order[]"),
            ("java.lang.String", "java.lang.String"),
            ("A$$Lambda/0x01", "A$$Lambda/0x01"),
            ("B", "B"),
            ("Lib", "Lib"),
        ] {
            assert!(Pattern::class(jvm).matches(java), "{jvm} {java}");
        }
        assert!(!Pattern::class("B").matches("byte"));
        assert!(!Pattern::new("pool/1").matches("pool.1"));
    }

    #[test]
    fn similar_names_are_suggested() {
        let names = [
            "anthill.samples.Product",
            "java.lang.String",
            "java.util.HashMap",
        ];
        let message = |pattern| Pattern::new(pattern).no_match("class", names.into_iter());
        assert_eq!(
            message("Product"),
            "no class matches `Product`; did you mean anthill.samples.Product?"
        );
        assert_eq!(
            message("java.util.HasMap"),
            "no class matches `java.util.HasMap`; did you mean java.util.HashMap?"
        );
        assert_eq!(message("x.*.y"), "no class matches `x.*.y`");
    }
}
