//! The stored dumps, where they are at hand, come out of their compression as heap dumps.

use std::fs::File;
use std::io::Read;

use anthill_testkit::{corpus, skipped, unpack};

#[test]
fn stored_dumps_unpack_to_heap_dumps() {
    let Some(corpus) = corpus() else {
        skipped("stored dumps", "no shared/corpus beside the repository");
        return;
    };
    for name in ["small-g1.hprof.gz", "broken/concatenated.hprof.zst"] {
        let plain = unpack(&corpus.join(name)).unwrap();
        let mut start = [0; 12];
        File::open(&plain).unwrap().read_exact(&mut start).unwrap();
        assert_eq!(&start, b"JAVA PROFILE", "{name}");
    }
}

#[test]
fn a_stored_dump_that_is_cut_off_is_an_error() {
    let Some(corpus) = corpus() else {
        skipped("stored dumps", "no shared/corpus beside the repository");
        return;
    };
    assert!(unpack(&corpus.join("broken/gz-truncated.hprof.gz")).is_err());
}
