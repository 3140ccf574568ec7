//! The lines of trees.

/// What comes before the label of an item, given for each level whether it is the last of its
/// siblings there.
pub fn indent(last: &[bool]) -> String {
    let Some((own, above)) = last.split_last() else {
        return String::new();
    };
    let above = above.iter().map(|&last| if last { "   " } else { "│  " });
    above.chain([if *own { "└─ " } else { "├─ " }]).collect()
}

#[cfg(test)]
mod tests {
    use super::indent;

    #[test]
    fn lines_lead_to_siblings_below() {
        assert_eq!(indent(&[]), "");
        assert_eq!(indent(&[false]), "├─ ");
        assert_eq!(indent(&[false, true]), "│  └─ ");
        assert_eq!(indent(&[true, false]), "   ├─ ");
    }
}
