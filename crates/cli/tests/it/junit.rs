//! The JUnit extension in a project of its own: Maven builds and installs the libraries, Surefire runs the
//! tests, and its reports are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anthill_testkit::{Jdk, Maven, target};

/// What Surefire says about a test.
#[derive(Debug, Default)]
struct Case {
    /// The message of its failure, as whoever reads the report sees it.
    failure: Option<String>,
    printed: String,
}

/// Runs test classes of the project on a JVM; the cases by name.
fn surefire(jdk: &Jdk, tests: &str, options: &[&str]) -> Option<BTreeMap<String, Case>> {
    let maven = Maven::with_libraries()?;
    // Several builds may run at the same time.
    let built = target().join(format!("java/shop-{}-{tests}", jdk.feature()));
    let reports = built.join("surefire-reports");
    let _ = fs::remove_dir_all(&reports);
    let built = format!("-Dshop.target={}", built.display());
    let chosen = format!("-Dtest={tests}");
    let ignored = "-Dmaven.test.failure.ignore=true";
    let arguments = [&["test", ignored, &chosen, &built], options].concat();
    let ran = maven.run("junit-tests", jdk, &arguments);
    let cases = cases(&reports);
    assert!(
        ran.status.success() && !cases.is_empty(),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    Some(cases)
}

fn cases(reports: &Path) -> BTreeMap<String, Case> {
    let Ok(files) = fs::read_dir(reports) else {
        return BTreeMap::new();
    };
    let mut cases = BTreeMap::new();
    for file in files.flatten().map(|file| file.path()) {
        if file.extension().is_some_and(|extension| extension == "xml") {
            let xml = fs::read_to_string(file).unwrap();
            cases.extend(xml.split("<testcase ").skip(1).map(case));
        }
    }
    cases
}

/// From the text after `<testcase `.
fn case(xml: &str) -> (String, Case) {
    let attribute = |text: &str, name: &str| {
        let start = text.find(&format!("{name}=\""))? + name.len() + 2;
        let length = text[start..].find('"')?;
        Some(unescaped(&text[start..start + length]))
    };
    let failure = ["<failure", "<error"].iter().find_map(|tag| {
        let at = xml.find(tag)?;
        attribute(&xml[at..], "message").or(Some(String::new()))
    });
    let section = |tag: &str| {
        let start = xml.find(&format!("<{tag}>"))?;
        let end = xml.find(&format!("</{tag}>"))?;
        Some(&xml[start..end])
    };
    let printed = ["system-out", "system-err"]
        .iter()
        .filter_map(|tag| section(tag))
        .collect();
    let name = attribute(xml, "name").unwrap_or_default();
    (name, Case { failure, printed })
}

fn unescaped(text: &str) -> String {
    let pairs = [
        ("&#10;", "\n"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    pairs
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// What each test of `FailingTest` must name: who holds the object, and what else matters.
const FAILING: [(&str, &[&str]); 11] = [
    (
        "aClosedSessionIsInTheAudit",
        &[
            "shop.Session",
            "a closed session",
            "static AUDITED",
            "audit",
        ],
    ),
    (
        "whatTheProgramAssertedIsInTheAudit",
        &["asserted by the program", "static AUDITED", "audit"],
    ),
    (
        "aSessionSurvives",
        &[
            "shop.Session",
            "static AUDITED",
            "audit",
            "aSessionSurvives()",
        ],
    ),
    (
        "somethingSurvives",
        &["shop.Session", "static AUDITED", "audit"],
    ),
    (
        "aRegionLeavesASession",
        &["shop.Session", "static AUDITED", "audit"],
    ),
    ("thereAreTooManyStores", &["shop.Store", "static AUDITED"]),
    (
        "aSessionIsOutsideOfItsStore",
        &["shop.Session", "static shared"],
    ),
    (
        "aSessionIsShared",
        &["shop.Session", "audit", "java.util.HashMap$Node"],
    ),
    ("theAuditGrows", &["audit", "elements", "shop.Session"]),
    (
        "aListOfItsOwnGrows",
        &["shop.FailingTest$Entry", "static log"],
    ),
    ("aTestMayFailByItself", &["what the test itself says"]),
];

fn assert_fails_with(cases: &BTreeMap<String, Case>, test: &str, words: &[&str]) {
    let case = cases.iter().find(|(name, _)| name.starts_with(test));
    let (_, case) = case.unwrap_or_else(|| panic!("no test {test} in {cases:#?}"));
    let message = case.failure.as_deref();
    let message = message.unwrap_or_else(|| panic!("{test} passed"));
    for word in words {
        assert!(
            message.contains(word),
            "{test} does not name {word}:\n{message}"
        );
    }
}

fn assert_failures(cases: &BTreeMap<String, Case>) {
    assert_eq!(cases.len(), FAILING.len(), "{cases:#?}");
    for (test, words) in FAILING {
        assert_fails_with(cases, test, words);
    }
    let own = cases
        .iter()
        .find(|(name, _)| name.starts_with("aTestMayFail"));
    let own = own.and_then(|(_, case)| case.failure.as_deref()).unwrap();
    assert!(
        !own.contains("shop.Session"),
        "a failed test is not checked:\n{own}"
    );
}

fn assert_quiet(cases: &BTreeMap<String, Case>) {
    for (name, case) in cases {
        assert!(
            case.failure.is_none(),
            "{name}: {}",
            case.failure.as_deref().unwrap()
        );
        assert_eq!(case.printed, "", "{name}");
    }
}

#[test]
fn tests_fail_with_the_path_and_pass_in_silence_in_several_forks() {
    let Some(jdk) = Jdk::installed() else { return };
    let options = ["-DforkCount=2", "-DreuseForks=true"];
    let Some(mut cases) = surefire(jdk, "FailingTest,PassingTest,PlainTest", &options) else {
        return;
    };
    let failing: BTreeMap<String, Case> = FAILING
        .iter()
        .filter_map(|(test, _)| {
            let name = cases.keys().find(|name| name.starts_with(test))?.clone();
            cases.remove_entry(&name)
        })
        .collect();
    assert_failures(&failing);
    assert!(cases.len() >= 10, "{cases:#?}");
    assert_quiet(&cases);
}

#[test]
fn tests_on_other_jvms_do_the_same() {
    for jdk in Jdk::all().iter().skip(1) {
        // Newer JVMs say that an agent was loaded, unless they are told that it may be.
        let mut options = vec!["-DargLine=-XX:+EnableDynamicAgentLoading"];
        if jdk.feature() >= 17 {
            options.push("-Pjunit6");
        }
        let Some(passing) = surefire(jdk, "PassingTest", &options) else {
            return;
        };
        assert_quiet(&passing);
    }
}

#[test]
fn tests_that_run_at_the_same_time_hear_of_their_own_leaks_only() {
    let Some(jdk) = Jdk::installed() else { return };
    let Some(cases) = surefire(jdk, "ParallelTest", &[]) else {
        return;
    };
    assert_eq!(cases.len(), 16, "{cases:#?}");
    for (name, case) in &cases {
        // `atOnce(int, HeapAssertions)[4]`
        let number = name
            .rsplit_once('[')
            .and_then(|(_, rest)| rest.strip_suffix(']'));
        let number: u32 = number
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{name}"));
        let what = if name.starts_with("atOnce") {
            "at once"
        } else {
            "afterwards"
        };
        match (&case.failure, number % 2) {
            (None, 1) => {}
            (Some(message), 0) => {
                assert!(
                    message.contains(&format!("{what} {number}")),
                    "{name}: {message}"
                );
                let strangers = (1..=8).filter(|&other| other != number);
                for other in strangers
                    .flat_map(|other| [format!("at once {other}"), format!("afterwards {other}")])
                {
                    assert!(!message.contains(&other), "{name}: {message}");
                }
            }
            _ => panic!("{name}: {case:?}"),
        }
    }
}

#[test]
fn a_platform_that_is_not_in_the_jar_is_named() {
    let Some(jdk) = Jdk::installed() else { return };
    let Some(cases) = surefire(
        jdk,
        "PassingTest#theAgentIsThere",
        &["-DargLine=-Dos.arch=riscv64"],
    ) else {
        return;
    };
    assert_fails_with(
        &cases,
        "theAgentIsThere",
        &[
            "linux-riscv64",
            "dev.anthill.home",
            "java/anthill-native/README.md",
        ],
    );
}
