//! Input and arguments that cannot be used, and dumps that are damaged.

use std::io::Read;

use anthill_testkit::{DumpOptions, Jdk, Sample};

use crate::program::{Ran, json, print, run, scratch};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/multi-cache.hprof.gz");

#[test]
fn what_is_no_dump_is_named_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("noise");
    std::fs::write(&file, "no dump at all, just text").unwrap();
    let path = file.to_str().unwrap();
    let ran = run(&["summary", path]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(
        ran.err
            .starts_with(&format!("anthill: {path}: at offset 0: ")),
        "{}",
        ran.err
    );
    assert_eq!(ran.err.lines().count(), 2);

    let ran = run(&["histogram", "/no/such/file"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.starts_with("anthill: /no/such/file: "),
        "{}",
        ran.err
    );
}

#[test]
fn a_truncated_dump_is_analysed_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cut.hprof");
    let mut whole = Vec::new();
    let packed = std::fs::File::open(DEMO).unwrap();
    flate2::read::MultiGzDecoder::new(packed)
        .read_to_end(&mut whole)
        .unwrap();
    std::fs::write(&file, &whole[..whole.len() * 2 / 3]).unwrap();
    let path = file.to_str().unwrap();
    let ran = run(&["histogram", path, "--limit", "3"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains(&format!(
            "missing from this file; `anthill summary {path}` lists"
        )),
        "{}",
        ran.err
    );
    let summary = run(&["summary", path]);
    assert_eq!(summary.err, "");
    // Whoever reads the numbers must know first.
    let place = |text: &str| summary.out.find(text).expect(text);
    assert!(place("Missing or different in this file") < place("in the dump"));
    let Ran { out, .. } = run(&["summary", path, "--json"]);
    let result: serde_json::Value = serde_json::from_str(&out).unwrap();
    let missing = result["missing"].as_array().unwrap();
    assert!(
        missing.iter().any(|missing| missing["kind"] == "truncated"),
        "{missing:?}"
    );
}

#[test]
fn an_index_that_cannot_be_kept_is_not_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().to_str().unwrap();
    let summary = run(&["summary", DEMO, "--index", kept]).out;
    assert!(summary.contains("  index kept in "), "{summary}");
    let summary = run(&["summary", DEMO, "--index", kept]).out;
    assert!(summary.contains("  opened from the index in "), "{summary}");
    let Ran { code, out, err } = run(&["summary", DEMO, "--index", "/dev/null/nowhere"]);
    assert_eq!(code, 0);
    assert!(
        out.contains("  cannot write the index to /dev/null/"),
        "{out}"
    );
    assert!(err.contains("cannot write the index"), "{err}");
}

#[test]
fn arguments_that_make_no_sense_are_bad_usage() {
    for arguments in [
        vec!["histogram"],
        vec!["histogram", DEMO, "--csv", "--json"],
        vec!["histogram", DEMO, "--keep", "none,soft"],
        vec!["histogram", DEMO, "--keep", "weak", "--compat", "mat"],
        vec!["object", DEMO, "here", "--no-index"],
        vec!["summary", DEMO, "--dump", "7", "--no-index"],
        vec!["dominators", DEMO, "--least", "nan"],
        vec!["dominators", DEMO, "--least", "200"],
        vec!["dominators", DEMO, "--least", "-1"],
        vec!["histogram", DEMO, "--limit", "-1"],
        vec!["frobnicate", DEMO],
    ] {
        let ran = run(&arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn the_advice_fits_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.hprof");
    std::fs::write(&empty, "").unwrap();
    let class = "anthill.samples.Product";
    let objects = format!("`anthill objects {DEMO} --class {class} --sort retained`");
    let report = format!("`anthill report {DEMO}` names what probably leaks");
    for (arguments, message, advice) in [
        (
            vec!["summary", DEMO, "--dump", "2", "--no-index"],
            "there is no dump number 2 in the file: it contains 1",
            "or omit it to use the last one",
        ),
        (vec![DEMO], "is a file; the command comes first", &report),
        (
            vec!["summary", folder.path().to_str().unwrap()],
            "is a directory",
            "Give the heap dump in it.",
        ),
        (
            vec!["summary", empty.to_str().unwrap()],
            "the file is empty\n",
            "Check that the file was copied completely",
        ),
        (
            vec!["object", DEMO, class, "--no-index"],
            "is a class, not the address of an object",
            &objects,
        ),
        (
            vec!["dominators", DEMO, class, "--no-index"],
            "is a class, not the address of an object",
            &objects,
        ),
        (
            vec!["threads", DEMO, "--limit", "-1"],
            "invalid value '-1' for '--limit <N>'",
            "it must be a whole number; 0 shows all",
        ),
    ] {
        let Ran { code, out, err } = run(&arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}");
        assert!(err.contains(message) && err.contains(advice), "{err}");
    }
}

#[test]
fn what_is_not_there_is_exit_code_1_with_a_suggestion() {
    for (arguments, message) in [
        (
            ["paths", DEMO, "Product", "--no-index"],
            "no class matches `Product`; did you mean anthill.samples.Product?",
        ),
        (
            ["object", DEMO, "0x123", "--no-index"],
            "no object at 0x123 in this dump",
        ),
        (
            ["threads", DEMO, "--name=mein", "--no-index"],
            "no thread matches `mein`; did you mean main?",
        ),
    ] {
        let ran = run(&arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.err.contains(message), "{}", ran.err);
    }
}

#[test]
fn addresses_may_be_decimal() {
    let objects = json(&["objects", DEMO, "--no-index", "--limit", "1"]);
    let hex = objects["rows"][0]["address"].as_str().unwrap();
    let decimal = u64::from_str_radix(&hex[2..], 16).unwrap().to_string();
    let object = json(&["object", DEMO, &decimal, "--no-index"]);
    assert_eq!(object["address"], hex);
}

#[test]
fn the_summary_names_the_jvm_and_what_it_runs() {
    for jdk in Jdk::all() {
        let sample = Sample::start(jdk, "MultiCache", &["50"], &[]);
        let path = scratch(&format!("properties-{}.hprof", jdk.feature()));
        sample.dump(&path, DumpOptions::default());
        let path = path.to_str().unwrap();
        let summary = json(&["summary", path, "--no-index", "--brief"]);
        let jvm = &summary["jvm"];
        let version = jvm["version"].as_str().unwrap();
        assert!(version.starts_with(jdk.version()), "{version}");
        assert_eq!(jvm["command"], "anthill.samples.MultiCache 50");
        let here = std::env::current_dir().unwrap();
        let properties = &summary["system_properties"];
        assert_eq!(properties["user.dir"], here.to_str().unwrap());
        let shown = print(&["summary", path, "--no-index", "--brief"]);
        assert!(
            shown.contains("\n  running \"anthill.samples.MultiCache 50\"\n"),
            "{shown}"
        );
    }
}
