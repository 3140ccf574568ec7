//! Data structures over time: what a state does not tell is not taken for nothing.

use anthill_heap::{HeapBuilder, RecordedValues};
use anthill_history::History;
use anthill_trace::{
    Dropped, Event, Facts, FollowedStructure, Identities, Moment, StateKind, StateToWrite,
    TraceWriter,
};

const SECOND: u64 = 1_000_000_000;

/// Bytes of the structures 1 and 2 in one state, as far as they are there.
type Bytes = [Option<u64>; 2];

/// By structure: how it changed over states, in some of which identities were lost.
fn changes(states: &[(Bytes, Identities, bool)]) -> Vec<(u64, i64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    let mut writer = TraceWriter::create(&path, &Facts::default()).unwrap();
    let mut heap = HeapBuilder::new();
    heap.object("list", "java.util.ArrayList", 24);
    heap.root("list");
    let heap = heap.build();
    for ((bytes, identities, lost), number) in states.iter().zip(1..) {
        let moment = Moment {
            gc: Some(number),
            time: number * SECOND,
            timestamp: number,
            kind: StateKind::Dump,
            mark: None,
            pause: 0,
            source_bytes: None,
        };
        let mut to_write = StateToWrite::from_state(&heap, moment, RecordedValues::default());
        to_write.identities = identities.clone();
        let followed = (1..).zip(bytes).filter_map(|(identity, bytes)| {
            Some(FollowedStructure {
                identity,
                class: 0,
                elements: None,
                bytes: (*bytes)?,
            })
        });
        to_write.structures = followed.collect();
        writer.state(&to_write).unwrap();
        if *lost {
            let dropped = Dropped {
                time: number * SECOND + SECOND / 2,
                what: "identities".to_owned(),
                amount: 1,
                reason: "3 objects moved".to_owned(),
            };
            writer.add(Event::Dropped(dropped)).unwrap();
        }
    }
    writer.finish().unwrap();
    let found = History::of_trace(&path).unwrap().structures(10);
    let changes = found.iter().map(|one| (one.identity, one.change()));
    changes.collect()
}

#[test]
fn a_structure_is_not_born_where_a_state_lost_its_identity() {
    let tracked = || Identities::Tracked(vec![(0, 1)]);
    let whole = |bytes| (bytes, tracked(), false);
    let [first, second] = [[Some(100), None], [Some(100), Some(40)]];
    // All is known: the second is new.
    assert_eq!(changes(&[whole(first), whole(second)]), [(2, 40)]);
    let partial = (first, tracked(), true);
    assert_eq!(changes(&[partial, whole(second)]), []);
    let none = ([None, None], Identities::None, false);
    let third = [Some(130), Some(40)];
    assert_eq!(
        changes(&[none.clone(), whole(second), whole(third)]),
        [(1, 30)]
    );
    assert_eq!(changes(&[whole(second), whole(third), none]), [(1, 30)]);
}
