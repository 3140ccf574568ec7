//! Labels of scalar values, which are numbers, texts and booleans: one key each, remembered, so that equal values cost a look-up.

use rustc_hash::FxHashMap;

use crate::values::{LabelId, Values};

/// Characters of a key beyond these are left out.
const LONGEST_KEY: usize = 1000;

#[derive(Default)]
pub(crate) struct ScalarLabels {
    pub values: Values,
    numbers: FxHashMap<i64, LabelId>,
    texts: FxHashMap<String, LabelId>,
    truths: [Option<LabelId>; 2],
}

impl ScalarLabels {
    pub(crate) fn number(&mut self, number: i64) -> LabelId {
        let values = &mut self.values;
        let known = self.numbers.entry(number);
        *known.or_insert_with(|| values.one(&number.to_string()))
    }

    pub(crate) fn truth(&mut self, truth: bool) -> LabelId {
        let known = &mut self.truths[usize::from(truth)];
        *known.get_or_insert_with(|| self.values.one(&truth.to_string()))
    }

    pub(crate) fn text(&mut self, text: &str) -> LabelId {
        let key = key(text);
        if let Some(&label) = self.texts.get(key) {
            return label;
        }
        let label = self.values.one(key);
        self.texts.insert(key.to_owned(), label);
        label
    }
}

/// What is shown of a text.
pub(crate) fn key(text: &str) -> &str {
    if text.is_empty() {
        return "(empty)";
    }
    if text.len() <= LONGEST_KEY {
        return text;
    }
    match text.char_indices().nth(LONGEST_KEY) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_label_and_long_texts_are_cut() {
        let mut labels = ScalarLabels::default();
        let seven = labels.number(7);
        assert_eq!(labels.number(7), seven);
        assert_eq!(labels.text("7"), seven, "a key is its text");
        assert_ne!(labels.truth(true), labels.truth(false));
        assert_eq!(labels.text("true"), labels.truth(true));
        let long = "ß".repeat(LONGEST_KEY + 5);
        assert_eq!(key(&long).chars().count(), LONGEST_KEY);
        assert_eq!(key(""), "(empty)");
    }
}
