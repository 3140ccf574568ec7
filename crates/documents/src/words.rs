//! Words that several documents have, and texts that fit into a width.

use anthill_api::check::Verdict;
use anthill_api::notes::NoteKind;
use anthill_trace::elapsed;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text, or its beginning and end around an ellipsis if it is too wide.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let half = width.saturating_sub(1) / 2;
    let head = prefix(text.chars(), width.saturating_sub(1) - half);
    let tail: String = prefix(text.chars().rev(), half).chars().rev().collect();
    format!("{head}…{tail}")
}

fn prefix(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    chars
        .take_while(|char| {
            let fits = char.width().unwrap_or(0) <= left;
            left -= char.width().unwrap_or(0).min(left);
            fits
        })
        .collect()
}

/// What a note is about.
pub(crate) fn subject(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Object => "object",
        NoteKind::Group => "group",
        NoteKind::Suspect => "suspect",
        NoteKind::View => "view",
    }
}

/// `first in …, worst in …, for 3m`; nothing if there is one state only.
pub fn duration(check: &Verdict) -> Option<String> {
    if check.states < 2 {
        return None;
    }
    let (first, worst) = (check.first.as_ref()?, check.worst.as_ref()?);
    let lasting = match check.longest {
        Some(time) if time > 0 => format!(", for up to {} in a row", elapsed(time)),
        _ => String::new(),
    };
    Some(format!(
        "in {} of {} states{lasting}; first in {}, worst in {}",
        check.violated_states, check.states, first.name, worst.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_in_the_middle_by_its_width_on_screen() {
        assert_eq!(cut("java.lang.String", 16), "java.lang.String");
        assert_eq!(cut("java.lang.String", 9), "java…ring");
        assert_eq!(cut("クラスクラス", 5), "ク…ス");
    }
}
