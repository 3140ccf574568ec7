//! Old and odd forms of the format that its description allows or that are known from the wild.

use std::io::{Seek, SeekFrom, Write};

use anthill_heap::{ClassKind, FieldType, RootOrigin, Value};

use crate::open;
use anthill_testkit::hprof::{Body, Writer};

/// java.lang.Object, a node class with fields `next` and `count`, and a root.
fn classes(writer: &mut Writer) -> (u64, u64) {
    writer.load_class(0x100, "java/lang/Object");
    writer.load_class(0x200, "p/Node");
    (writer.string("next"), writer.string("count"))
}

#[test]
fn four_and_eight_byte_ids_in_one_heap_dump_record() {
    for id_size in [4, 8] {
        for format in ["JAVA PROFILE 1.0.1", "JAVA PROFILE 1.0.2"] {
            let mut writer = Writer::new(format, id_size);
            let (next, count) = classes(&mut writer);
            let data = |next: u64, count: u32| Body::id(writer.body(), next).u4(count).0;
            let (first, second) = (data(0x1010, 7), data(0x7777, 8));
            let body = writer.body().class(0x100, 0, &[], &[]).class(
                0x200,
                0x100,
                &[],
                &[(next, 2), (count, 10)],
            );
            let body = body
                .instance(0x1000, 0x200, &first)
                .instance(0x1010, 0x200, &second)
                .u1(0xff)
                .id(0x1000);
            writer.record(0x0c, body);
            let (_folder, path) = writer.write();
            let dump = open(&path).unwrap();
            assert_eq!((dump.state.len(), dump.info.id_size as usize), (4, id_size));
            let first = dump.state.addresses.find(0x1000).unwrap();
            assert_eq!(
                dump.state.references(first),
                [dump.state.addresses.find(0x1010).unwrap()]
            );
            assert_eq!(dump.state.tables.dangling, 1, "0x7777 is not there");
            assert_eq!(
                dump.records.field(&dump.state, first, "count"),
                Some(Value::Int(7))
            );
            assert_eq!(dump.state.tables.roots[0].origin, RootOrigin::Unknown);
        }
    }
}

#[test]
fn format_1_0_writes_signature_characters() {
    let mut writer = Writer::new("JAVA PROFILE 1.0", 4);
    let (next, count) = classes(&mut writer);
    let data = writer.body().id(0x1020).u4(5).0;
    let body = writer.body().class(0x100, 0, &[], &[]).class(
        0x200,
        0x100,
        &[],
        &[(next, b'L'), (count, b'I')],
    );
    // An int[] as an object array of the type code of int.
    let body = body
        .instance(0x1000, 0x200, &data)
        .u1(0x22)
        .id(0x1020)
        .u4(0)
        .u4(2)
        .id(10)
        .u4(41)
        .u4(42);
    writer.record(0x0c, body.u1(1).id(0x1000).id(0));
    let (_folder, path) = writer.write();
    let dump = open(&path).unwrap();
    let array = dump.state.addresses.find(0x1020).unwrap();
    assert_eq!(
        dump.state.class(array).kind,
        ClassKind::Array(FieldType::Int)
    );
    assert_eq!(
        dump.records.elements(&dump.state, array, 0..9),
        [Value::Int(41), Value::Int(42)]
    );
    assert_eq!(
        dump.state
            .references(dump.state.addresses.find(0x1000).unwrap()),
        [array]
    );
}

#[test]
fn androids_own_records() {
    let mut writer = Writer::new("JAVA PROFILE 1.0.3", 4);
    classes(&mut writer);
    let [image, app] = ["image", "app"].map(|space| writer.string(space));
    let body = writer.body().u1(0xfe).u4(73).id(image);
    let body = body.class(0x100, 0, &[], &[]).u1(0xfe).u4(65).id(app);
    let body = body
        .instance(0x1000, 0x100, &[])
        .u1(0xc3)
        .id(0x1010)
        .u4(0)
        .u4(1000)
        .u1(8);
    let roots = [0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x90]
        .into_iter()
        .fold(body, |body, tag| body.u1(tag).id(0x1000));
    writer.record(0x1c, roots.u1(0x8e).id(0x1010).u4(1).u4(2));
    writer.record(0x2c, writer.body());
    let (_folder, path) = writer.write();
    let dump = open(&path).unwrap();
    let origins: Vec<RootOrigin> = dump
        .state
        .tables
        .roots
        .iter()
        .map(|root| root.origin)
        .collect();
    assert!(
        origins.contains(&RootOrigin::InternedString) && origins.contains(&RootOrigin::JniMonitor)
    );
    let array = dump.state.addresses.find(0x1010).unwrap();
    assert_eq!(dump.state.array_length(array), Some(1000));
    for (address, space) in [(0x1010, "app"), (0x100, "image"), (0x1000, "app")] {
        let object = dump.state.addresses.find(address).unwrap();
        let mut cursor = dump.records.cursor();
        assert_eq!(
            cursor.space(&dump.state, object),
            Some(space),
            "{address:#x}"
        );
    }
    assert_eq!(
        dump.records.elements(&dump.state, array, 0..10),
        [],
        "its elements were left out"
    );
}

#[test]
fn several_dumps_in_one_file() {
    let mut writer = Writer::new("JAVA PROFILE 1.0.1", 8);
    classes(&mut writer);
    for last in [2u64, 3, 4] {
        let mut body = writer.body().class(0x100, 0, &[], &[]).u1(5).id(0x100);
        for object in 0..last {
            body = body.instance(0x1000 + object * 16, 0x100, &[]);
        }
        writer.record(0x0c, body);
    }
    let (_folder, path) = writer.write();
    let sizes = [None, Some(1), Some(2)].map(|dump| {
        anthill_hprof::Dump::open(&path, dump, &anthill_heap::Quiet)
            .unwrap()
            .state
            .len()
    });
    assert_eq!(sizes, [5, 3, 4]);
}

#[test]
fn a_length_that_wrapped_at_4_gib() {
    let mut writer = Writer::new("JAVA PROFILE 1.0.1", 8);
    classes(&mut writer);
    let start = writer.body().class(0x100, 0, &[], &[]).u1(5).id(0x100).0;
    let array_head = |id: u64, length: u32| writer.body().u1(0x23).id(id).u4(0).u4(length).u1(8).0;
    let (lengths, last) = (
        [0x7fff_fff0u32, 0x7fff_fff0, 0x1000_0000],
        writer.body().instance(0x2000, 0x100, &[]).0,
    );
    let arrays: u64 = lengths
        .iter()
        .map(|&length| u64::from(length) + array_head(0, 0).len() as u64)
        .sum();
    let total = start.len() as u64 + arrays + last.len() as u64;
    assert!(total > 1 << 32);
    let arrays = lengths.map(|length| {
        (
            array_head(0x10_0000_0000 + u64::from(length), length),
            length,
        )
    });
    writer.record_of_length(0x0c, total as u32, &start);
    // The elements are holes in the file.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.hprof");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&writer.bytes).unwrap();
    for (index, (mut head, length)) in arrays.into_iter().enumerate() {
        head[8] = index as u8;
        file.write_all(&head).unwrap();
        file.seek(SeekFrom::Current(length.into())).unwrap();
    }
    file.write_all(&last).unwrap();
    drop(file);
    let dump = open(&path).unwrap();
    assert_eq!(dump.state.len(), 5, "{:?}", dump.state.tables.missing);
    assert!(
        dump.state.addresses.find(0x2000).is_some(),
        "the object behind 4 GiB of arrays"
    );
    let bytes = (0..5)
        .filter_map(|object| dump.state.array_length(object))
        .map(u64::from)
        .sum::<u64>();
    assert_eq!(
        bytes,
        lengths.iter().map(|&length| u64::from(length)).sum::<u64>()
    );
}

#[test]
fn ids_that_are_no_addresses() {
    // Ids may be any numbers: odd, consecutive, or all over the place.
    for step in [1u64, 3, 0x0123_4567_89ab] {
        let mut writer = Writer::new("JAVA PROFILE 1.0.2", 8);
        let (next, _) = classes(&mut writer);
        let mut body =
            writer
                .body()
                .class(0x100, 0, &[], &[])
                .class(0x200, 0x100, &[], &[(next, 2)]);
        let id = |object: u64| 0x1001 + object * step;
        for object in (0..500).rev() {
            body = body.instance(id(object), 0x200, &id(object + 1).to_be_bytes());
        }
        writer.record(0x1c, body.u1(1).id(id(0)).id(0));
        writer.record(0x2c, writer.body());
        let (_folder, path) = writer.write();
        let state = open(&path).unwrap().state;
        assert_eq!(
            (state.len(), state.tables.dangling),
            (502, 1),
            "step {step:#x}"
        );
        for object in 0..499 {
            let (from, to) = (
                state.addresses.find(id(object)).unwrap(),
                state.addresses.find(id(object + 1)).unwrap(),
            );
            assert_eq!(state.references(from), [to]);
        }
    }
}

#[test]
fn arrays_that_name_the_class_of_their_elements() {
    let mut writer = Writer::new("JAVA PROFILE 1.0.1", 4);
    classes(&mut writer);
    let body = writer
        .body()
        .class(0x100, 0, &[], &[])
        .objects(0x1000, 0x100, &[0x1000, 0, 0x100]);
    writer.record(0x0c, body.u1(5).id(0x100));
    let (_folder, path) = writer.write();
    let dump = open(&path).unwrap();
    let array = dump.state.addresses.find(0x1000).unwrap();
    assert_eq!(dump.state.class(array).name, "java.lang.Object[]");
    let class = dump.state.addresses.find(0x100).unwrap();
    assert_eq!(dump.state.references(array), [array, class]);
    assert_eq!(
        dump.records
            .reference_name(&dump.state, array, class)
            .as_deref(),
        Some("[2]")
    );
}
