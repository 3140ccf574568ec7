//! Programs with GC assertions on real JVMs: the cases of Aftandilian and Guyer (2009), and programs in Kotlin and
//! Scala. What they get wrong is found with its path; what is repaired is silent.

use anthill_testkit::{Jdk, Sample};
use serde_json::Value;

/// A program that goes wrong.
struct Case {
    program: &'static str,
    arguments: &'static [&'static str],
    kind: &'static str,
    class: &'static str,
    /// The program's word for how many objects are wrong.
    truth: &'static str,
    /// What the path says.
    path: &'static [&'static str],
}

const fn case(
    program: &'static str,
    arguments: &'static [&'static str],
    kind: &'static str,
    class: &'static str,
    truth: &'static str,
    path: &'static [&'static str],
) -> Case {
    Case {
        program,
        arguments,
        kind,
        class,
        truth,
        path,
    }
}

const CASES: [Case; 11] = [
    case(
        "AssertedOrders",
        &["customer"],
        "dead",
        "anthill.samples.AssertedOrders$Order",
        "kept",
        &["static company", "customers", "lastOrder"],
    ),
    case(
        "AssertedOrders",
        &["table"],
        "dead",
        "anthill.samples.AssertedOrders$Order",
        "kept",
        &["static company", "orderTable"],
    ),
    case(
        "AssertedOrders",
        &["owned"],
        "owned-by",
        "anthill.samples.AssertedOrders$Order",
        "kept",
        &["static company", "lastOrder"],
    ),
    case(
        "AssertedOrders",
        &["company"],
        "dead",
        "anthill.samples.AssertedOrders$Company",
        "kept",
        &["thread \"main\"", "AssertedOrders.replaceCompany"],
    ),
    case(
        "AssertedSwap",
        &[],
        "dead",
        "anthill.samples.AssertedSwap$SObject",
        "kept",
        &["static array", "rep", "this$0"],
    ),
    case(
        "AssertedSearchers",
        &[],
        "instances",
        "org.apache.lucene.search.IndexSearcher",
        "searchers",
        &["pool-1-thread-", "searcher →"],
    ),
    case(
        "AssertedSingleton",
        &[],
        "instances",
        "anthill.samples.AssertedSingleton$Settings",
        "instances",
        &["static ONLY", "static received"],
    ),
    case(
        "AssertedTree",
        &[],
        "unshared",
        "anthill.samples.AssertedTree$Node",
        "shared",
        &["static root", "right", "(left)"],
    ),
    case(
        "AssertedCache",
        &[],
        "owned-by",
        "anthill.samples.AssertedCache$Element",
        "stray",
        &["static CACHE", "table"],
    ),
    case(
        "KotlinSessions",
        &[],
        "dead",
        "anthill.samples.KotlinSessions$Session",
        "kept",
        &["static listeners", "arg$1"],
    ),
    case(
        "ScalaSessions",
        &[],
        "dead",
        "anthill.samples.ScalaSessions$Session",
        "kept",
        &["listeners"],
    ),
];

/// What the program was told about its assertions, and the program.
fn violations(jdk: &Jdk, program: &str, arguments: &[&str]) -> Option<(Sample, Vec<Value>)> {
    let sample = Sample::start_asserted(jdk, program, arguments)?;
    assert_eq!(sample.truth()["active"], "true", "{}", sample.log());
    let violations: Vec<Value> = sample
        .log()
        .lines()
        .filter_map(|line| line.strip_prefix("VIOLATION "))
        .map(|json| serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}")))
        .collect();
    assert_eq!(violations.len() as u64, sample.count("violations"));
    Some((sample, violations))
}

fn assert_found(jdk: &Jdk, case: &Case) -> bool {
    let Some((sample, violations)) = violations(jdk, case.program, case.arguments) else {
        return false;
    };
    let name = format!("{} {:?}", case.program, case.arguments);
    let log = sample.log();
    for violation in &violations {
        assert_eq!(violation["kind"], case.kind, "{name}: {log}");
        assert_eq!(violation["class"], case.class, "{name}: {log}");
    }
    let objects: u64 = match case.kind {
        "instances" => violations[0]["found"]
            .as_f64()
            .map_or(0, |found| found as u64),
        _ => violations
            .iter()
            .map(|one| one["count"].as_u64().unwrap())
            .sum(),
    };
    assert_eq!(objects, sample.count(case.truth), "{name}: {log}");
    for word in case.path {
        assert!(log.contains(word), "{name} does not name {word}: {log}");
    }
    true
}

fn assert_silent(jdk: &Jdk, case: &Case) {
    let arguments = [case.arguments, &["fixed"]].concat();
    let Some((sample, violations)) = violations(jdk, case.program, &arguments) else {
        return;
    };
    assert!(
        violations.is_empty(),
        "{} {arguments:?}: {}",
        case.program,
        sample.log()
    );
}

#[test]
fn what_programs_get_wrong_is_found_with_its_path_and_what_is_repaired_is_silent() {
    let Some(jdk) = Jdk::installed() else { return };
    for case in &CASES {
        if !assert_found(jdk, case) {
            return;
        }
        assert_silent(jdk, case);
    }
}

#[test]
fn the_same_is_found_on_the_oldest_and_the_newest_jvm() {
    let jdks = Jdk::all();
    let Some(oldest) = jdks.iter().min_by_key(|jdk| jdk.feature()) else {
        return;
    };
    let newest = jdks
        .iter()
        .max_by_key(|jdk| jdk.feature())
        .unwrap_or(oldest);
    for jdk in [oldest, newest] {
        for case in [&CASES[3], &CASES[4], &CASES[9]] {
            if !assert_found(jdk, case) {
                return;
            }
            assert_silent(jdk, case);
        }
    }
}
