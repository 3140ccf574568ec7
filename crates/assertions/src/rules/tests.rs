//! The language of rules: what is read from a text, and which mistakes are told, with their place.

use super::*;

fn rules(text: &str) -> Vec<Rule> {
    parse(text, &Definitions::default())
        .unwrap_or_else(|mistake| panic!("{}", mistake.show("rules", text)))
}

fn set(set: &Set) -> String {
    let mut text = match &set.kind {
        SetKind::Class { pattern, only } => {
            format!("{}{pattern}", if *only { "only " } else { "" })
        }
        SetKind::Static { class, field } => format!("static {class} {field}"),
        SetKind::Group { text, .. } => format!("group {text}"),
        SetKind::Structure(name) => format!("structure {name}"),
    };
    if let Some(condition) = &set.condition {
        text += &format!(" where [{}]", condition.name());
    }
    if let Some(elements) = &set.elements {
        text += &format!(" with {}", limit(elements));
    }
    text
}

fn limit(limit: &Limit) -> String {
    format!("{:?} {} {:?}", limit.bound, limit.amount, limit.unit)
}

fn shown(rule: &Rule) -> String {
    match &rule.claim {
        Claim::Dead(what) => format!("dead {}", set(what)),
        Claim::Unshared(what) => format!("unshared {}", set(what)),
        Claim::Owned { what, by } => format!("{} owned by {}", set(what), set(by)),
        Claim::NotReachable {
            what,
            from,
            through,
        } => {
            let through = through.as_ref().map_or("-".to_owned(), set);
            format!("{} from {} through {through}", set(what), set(from))
        }
        Claim::PerOwner {
            what,
            owner,
            limit: most,
        } => format!("{} {} per {}", limit(most), set(what), set(owner)),
        Claim::Measured(one) => {
            let each = if one.each { "each " } else { "" };
            let growth = one.growth.as_ref().map_or(String::new(), |growth| {
                format!(" growing from {:?} to {:?}", growth.from, growth.to)
            });
            format!(
                "{} of {each}{} {}{growth}",
                one.measure.name(),
                set(&one.of),
                limit(&one.limit)
            )
        }
    }
}

#[test]
fn rules_are_read() {
    for (text, meaning) in [
        (
            "at most 1 instances of org.apache.IndexSearcher",
            "instances of org.apache.IndexSearcher AtMost 1 Plain",
        ),
        (
            "instances of only a.B exactly 1",
            "instances of only a.B Exactly 1 Plain",
        ),
        (
            "dead com.app.Session where closed = true",
            "dead com.app.Session where [closed = true]",
        ),
        (
            "no com.app.Session where closed",
            "dead com.app.Session where [closed]",
        ),
        ("com.app.Node unshared", "unshared com.app.Node"),
        (
            "com.app.Node where depth > 1K && left != null unshared",
            "unshared com.app.Node where [depth > 1K && left != null]",
        ),
        (
            "com.app.Order owned by com.app.OrderTable",
            "com.app.Order owned by com.app.OrderTable",
        ),
        (
            "com.app.Order must be owned by group(A.b | C.d)",
            "com.app.Order owned by group A.b | C.d",
        ),
        (
            "retained of static com.app.Cache.entries at most 64 MB",
            "retained of static com.app.Cache entries AtMost 67108864 Bytes",
        ),
        (
            "deep of class com.app.* at most 1.5G",
            "deep of com.app.* AtMost 1610612736 Plain",
        ),
        (
            "retained of group caches at most 10% of heap",
            "retained of group caches AtMost 10 PercentOfHeap",
        ),
        (
            "retained of structure java.util.HashMap at most 1 MB",
            "retained of each structure java.util.HashMap AtMost 1048576 Bytes",
        ),
        (
            "retained of each com.app.User at most 20KB",
            "retained of each com.app.User AtMost 20480 Plain",
        ),
        (
            "at most 3 com.app.Connection per com.app.Pool",
            "AtMost 3 Plain com.app.Connection per com.app.Pool",
        ),
        (
            "at most 5 % of the heap in byte[]",
            "shallow of byte[] AtMost 5 PercentOfHeap",
        ),
        (
            "elements of java.util.HashMap at most 100_000",
            "elements of each java.util.HashMap AtMost 100000 Plain",
        ),
        (
            "fill of java.util.HashMap with at least 1000 elements at least 25%",
            "fill of each java.util.HashMap with AtLeast 1000 Plain AtLeast 25 Percent",
        ),
        (
            "com.app.Session not reachable from java.lang.Thread except through com.app.SessionStore",
            "com.app.Session from java.lang.Thread through com.app.SessionStore",
        ),
        (
            "com.app.Session must not be reachable from java.lang.Thread",
            "com.app.Session from java.lang.Thread through -",
        ),
        (
            "growth of retained of com.app.* at most 10 MB between mark \"a\" and last",
            "retained of com.app.* AtMost 10485760 Bytes growing from Some(\"mark:a\") to Some(\"last\")",
        ),
        (
            "growth of instances of A at most 5%",
            "instances of A AtMost 5 Percent growing from None to None",
        ),
    ] {
        let text = format!("rule: {text}");
        assert_eq!(shown(&rules(&text)[0]), meaning, "{text}");
    }
}

#[test]
fn a_file_has_many_rules_with_names_severities_and_messages() {
    let text = "# What must hold.\n\
        rule one-searcher: at most 1 instances of a.Searcher\n\
          severity warning message \"open one\"\n\
        \n\
        rule \"sessions die\":\n  dead a.Session # closed ones\n    where closed = true\n\
        rule: a.*\n  unshared\n";
    let rules = rules(text);
    let names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(names, ["one-searcher", "sessions die", "a.* unshared"]);
    assert_eq!(
        rules.iter().map(|rule| rule.line).collect::<Vec<_>>(),
        [2, 5, 8]
    );
    assert_eq!(rules[0].severity, Severity::Warning);
    assert_eq!(rules[0].message.as_deref(), Some("open one"));
    assert_eq!(rules[1].severity, Severity::Error);
    assert_eq!(rules[1].text, "dead a.Session where closed = true");
}

#[test]
fn mistakes_are_located_and_explained() {
    for (text, column, suggestion) in [
        ("rul: dead A", 1, Some("rule")),
        ("rule dead A", 11, None),
        ("rule:", 6, None),
        ("rule: at mots 3 A", 10, Some("most")),
        ("rule: at most A", 15, None),
        ("rule: at most 3 instances A", 27, None),
        ("rule: retained of A at most 10 xb", 32, None),
        ("rule: fill of A at least 3", 26, None),
        ("rule: instances of A at most 3 MB", 30, None),
        ("rule: A unshard", 9, Some("unshared")),
        ("rule: A owned from B", 15, None),
        ("rule: A not reachable form B", 23, Some("from")),
        ("rule: dead A where size > ", 27, None),
        ("rule: dead A where size + 1", 20, None),
        ("rule: dead A wher closed", 14, Some("where")),
        ("rule: retained of static entries at most 1", 26, None),
        ("rule: dead group(A | B", 17, None),
        ("rule: growth of A at most 3", 17, None),
        ("rule: growth of retained of each A at most 3", 34, None),
        ("rule: dead A severity eror", 23, Some("error")),
        ("rule: dead A rule: dead A", 14, None),
        ("rule: retaind of A at most 1", 15, Some("retained")),
        ("rule: dead A where closed = ", 29, None),
        ("rule: dead §", 12, None),
    ] {
        let mistake = parse(text, &Definitions::default()).err();
        let mistake = mistake.unwrap_or_else(|| panic!("{text} is fine"));
        assert_eq!(mistake.column, column, "{text}: {mistake}");
        assert_eq!(
            mistake.suggestion.as_deref(),
            suggestion,
            "{text}: {mistake}"
        );
    }
}
