//! Whatever is done to a real dump, opening it ends, in a heap state or in an error.

use std::fs;

use anthill_testkit::{DumpOptions, Jdk, Sample, skipped};

use crate::open;

#[test]
fn no_damage_makes_opening_fail_badly() {
    let Some(jdk) = Jdk::installed() else {
        return skipped("damage", "no JDK was found");
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heap.hprof");
    let sample = Sample::start(
        jdk,
        "BuggyStack",
        &["100"],
        &["-Xmx32m", "-XX:+UseSerialGC"],
    );
    sample.dump(&path, DumpOptions::default());
    drop(sample);
    let good = fs::read(&path).unwrap();
    let whole = open(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut below = |limit: usize| random.usize(..limit);
    let mut opened = 0;
    for round in 0..150 {
        let mut bad = good.clone();
        for _ in 0..=below(4) {
            if bad.len() < 10_000 {
                break;
            }
            let start = below(bad.len() - 5_000);
            match below(5) {
                0 => bad.truncate(start + 1000),
                1 => bad[start] ^= 1 << below(8),
                2 => bad[start..start + 4].copy_from_slice(&[0xff; 4]),
                3 => bad[start..start + 4096].fill(0),
                _ => drop(bad.drain(start..start + 1 + below(300))),
            }
        }
        fs::write(&path, &bad).unwrap();
        match open(&path) {
            Ok(dump) => {
                opened += 1;
                assert!(dump.state.len() <= whole.state.len() + 50, "round {round}");
                for object in (0..dump.state.len()).step_by(501) {
                    let _ = dump.records.fields(&dump.state, object);
                    let _ = dump.records.string(&dump.state, object);
                }
            }
            // Cut off before the heap begins, or a broken header.
            Err(error) => assert!(
                error.to_string().contains("at offset"),
                "round {round}: {error}"
            ),
        }
    }
    assert!(opened > 75, "only {opened} could be opened");
}
