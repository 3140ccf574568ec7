//! Every fuzzer for a moment, always with the same random numbers: what was found once stays mended, since
//! it is among the seeds.

use std::time::Duration;

use anthill_fuzz::{Limits, TARGETS, Target, run};

fn fuzz(name: &str) {
    let target = Target::named(name).expect("a target");
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        runs: target.seeds().len() as u64 + target.runs_in_tests,
        time: Duration::from_secs(120),
        random: 7,
    };
    let outcome = run(target, folder.path(), limits);
    assert!(
        outcome.panics.is_empty(),
        "{name}: {:#?}",
        outcome
            .panics
            .values()
            .map(|panic| &panic.0)
            .collect::<Vec<_>>()
    );
    assert!(
        outcome.runs > target.seeds().len() as u64,
        "{name} is too slow"
    );
}

#[test]
fn all_targets_are_here() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(
        names.join(" "),
        "hprof mat trace index packed classifiers groups rules structures"
    );
}

#[test]
fn dumps() {
    fuzz("hprof");
}

#[test]
fn dumps_as_eclipse_mat_sees_them() {
    fuzz("mat");
}

#[test]
fn traces() {
    fuzz("trace");
}

#[test]
fn indexes() {
    fuzz("index");
}

#[test]
fn packed_files() {
    fuzz("packed");
}

#[test]
fn classifiers() {
    fuzz("classifiers");
}

#[test]
fn groups() {
    fuzz("groups");
}

#[test]
fn rules() {
    fuzz("rules");
}

#[test]
fn structures() {
    fuzz("structures");
}
