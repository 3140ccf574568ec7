//! Which known name was probably meant by one that is unknown.

use strsim::osa_distance;

/// The name that was probably meant: it differs by little, or one begins with the other.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let close = names.into_iter().filter_map(|name| {
        let distance = osa_distance(&word, &name.to_lowercase());
        let near = distance * 3 <= name.len();
        let begins = word.len() > 2 && (name.starts_with(&word) || word.starts_with(name));
        (near || begins).then_some((distance, name))
    });
    close.min().map(|(_, name)| name)
}

/// Up to three qualified names that contain the wanted one, or whose last part differs from it by
/// little; the best first.
pub fn similar<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let last = |name: &str| {
        let simple = name.rsplit(['.', '$']).next().unwrap_or(name);
        simple.to_lowercase()
    };
    let mut ranked: Vec<(usize, usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let simple = last(name);
            let rank = if simple == wanted {
                0
            } else if lower.contains(&wanted) && !wanted.is_empty() {
                1
            } else {
                let distance = osa_distance(&simple, &last(&wanted));
                if distance * 4 > simple.len() {
                    return None;
                }
                1 + distance
            };
            Some((rank, name.len(), name))
        })
        .collect();
    ranked.sort_unstable();
    ranked.dedup();
    ranked.into_iter().map(|(.., name)| name).take(3).collect()
}

/// The end of a message that suggests a name; empty without one.
pub fn did_you_mean(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested() {
        let step = |word| closest(word, ["length", "package", "type"]);
        assert_eq!(
            step("tpye"),
            Some("type"),
            "swapped letters are one mistake"
        );
        assert_eq!(step("lenght"), Some("length"));
        assert_eq!(step("tpey"), None);
        assert_eq!(
            did_you_mean(step("pack")),
            "; did you mean `package`?",
            "a beginning is enough"
        );
        assert_eq!(did_you_mean(None), "");
    }

    #[test]
    fn similar_names_are_ranked() {
        let names = ["a.Order", "a.OrderLine", "b.Odrer", "b.Invoice"];
        // Its own name, names that contain it, names with swapped letters.
        assert_eq!(
            similar("order", names),
            ["a.Order", "a.OrderLine", "b.Odrer"]
        );
        assert_eq!(similar("x.Ordre", names), ["a.Order"]);
        assert!(similar("nothing", names).is_empty());
    }
}
