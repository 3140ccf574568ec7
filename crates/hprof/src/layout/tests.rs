//! Sizes here are what `jcmd GC.class_histogram` of real JVMs printed for these classes
//! (11.0.13, 17.0.15, 21.0.8 and 25.0.2), or follow from an offset HotSpot documents.

use super::*;
use FieldType::{Boolean, Byte, Char, Double, Float, Int, Long, Object, Short};

type Fields = Vec<(&'static str, FieldType)>;

struct Sample {
    name: String,
    super_class: Option<u32>,
    fields: Fields,
    static_fields: Fields,
    gaps: Gaps,
    mirror_gap: Option<u64>,
}

impl Sample {
    fn shape(&self) -> ClassShape<'_> {
        ClassShape {
            name: &self.name,
            super_class: self.super_class,
            fields: &self.fields,
            static_fields: &self.static_fields,
            gaps: self.gaps,
            mirror_gap: self.mirror_gap,
        }
    }
}

/// Classes of a dump in the making, after `java.lang.Object`.
struct Dump {
    id_size: u8,
    classes: Vec<Sample>,
    arrays: Vec<ArrayGap>,
}

impl Dump {
    fn new() -> Dump {
        let mut dump = Dump {
            id_size: 8,
            classes: Vec::new(),
            arrays: Vec::new(),
        };
        dump.class("java.lang.Object", None, &[]);
        dump
    }

    /// A dump whose release is told by the marker fields of JDK 8, 15 and 19.
    fn of_release(jdk: u32) -> Dump {
        let mut dump = Dump::new();
        let mut class = vec![("annotationData", Object)];
        if jdk >= 15 {
            class.push(("classData", Object));
        }
        dump.class("java.lang.Class", Some(0), &class);
        dump
    }

    fn class(
        &mut self,
        name: &str,
        super_class: Option<u32>,
        fields: &[(&'static str, FieldType)],
    ) -> u32 {
        self.classes.push(Sample {
            name: name.into(),
            super_class,
            fields: fields.to_vec(),
            static_fields: Vec::new(),
            gaps: Gaps::default(),
            mirror_gap: None,
        });
        self.classes.len() as u32 - 1
    }

    /// A chain of classes written as `"JI|L"`: a long and an int, below it a reference.
    fn chain(&mut self, chain: &str) -> u32 {
        let mut class = 0;
        for level in chain.split('|') {
            let fields: Fields = level
                .chars()
                .map(|code| ("field", field_type(code)))
                .collect();
            class = self.class("Sample", Some(class), &fields);
        }
        class
    }

    fn gap(&mut self, class: u32, gap: u64, times: usize) {
        for _ in 0..times {
            self.classes[class as usize].gaps.add(gap);
        }
    }

    fn derive(&self) -> Derived {
        let classes: Vec<ClassShape> = self.classes.iter().map(Sample::shape).collect();
        derive(&Observed {
            id_size: self.id_size,
            classes: &classes,
            arrays: &self.arrays,
        })
    }
}

fn field_type(code: char) -> FieldType {
    match code {
        'B' => Byte,
        'Z' => Boolean,
        'S' => Short,
        'C' => Char,
        'I' => Int,
        'F' => Float,
        'J' => Long,
        'D' => Double,
        _ => Object,
    }
}

/// What the JVMs were started with, and the first release with their field rules.
const JVMS: [(u32, &str); 9] = [
    (
        8,
        "compressed references, compressed class pointers, 8-byte alignment, JDK 14 or older field layout",
    ),
    (
        8,
        "full references, full class pointers, 8-byte alignment, JDK 14 or older field layout",
    ),
    (
        8,
        "compressed references, full class pointers, 8-byte alignment, JDK 14 or older field layout",
    ),
    (
        15,
        "compressed references, compressed class pointers, 8-byte alignment, JDK 15+ field layout",
    ),
    (
        15,
        "full references, compressed class pointers, 8-byte alignment, JDK 15+ field layout",
    ),
    (
        15,
        "compressed references, full class pointers, 8-byte alignment, JDK 15+ field layout",
    ),
    (
        15,
        "compressed references, compressed class pointers, 16-byte alignment, JDK 15+ field layout",
    ),
    (
        15,
        "compressed references, compact object headers, 8-byte alignment, JDK 15+ field layout",
    ),
    (
        15,
        "full references, compact object headers, 8-byte alignment, JDK 15+ field layout",
    ),
];

/// Classes and the bytes of an instance under each of [`JVMS`].
const SAMPLES: [(&str, [u64; 9]); 24] = [
    (
        "JJLC|Z|SDJZZS|ISCZFL|CLILLC|LLSJ|L",
        [128, 176, 136, 120, 152, 120, 128, 112, 144],
    ),
    (
        "JJLC|Z|SDJZZS|ISCZFL|CLILLC|LLSJ",
        [128, 168, 128, 112, 144, 120, 112, 112, 136],
    ),
    (
        "CSJLZL|ZLZIJC||BLISFJ|BSF|LZZFCF|||Z|LZB",
        [120, 160, 120, 112, 136, 112, 112, 104, 128],
    ),
    ("DLZL||LLSC", [48, 72, 48, 48, 64, 48, 48, 40, 56]),
    ("DLBLLS|LJS", [56, 80, 56, 56, 72, 56, 64, 48, 64]),
    ("LBLLLJ|JZ|FS", [64, 88, 64, 56, 72, 56, 64, 48, 64]),
    ("DLBLLS|DLJBBL", [64, 96, 72, 64, 88, 72, 64, 64, 80]),
    ("||LDZZID||LLDLCL", [72, 96, 72, 64, 88, 72, 64, 64, 80]),
    ("BFLJIL|LZFJ|LDZJZJ", [96, 120, 96, 88, 104, 88, 96, 80, 96]),
    ("JLB|C|B|LDBBZS|DCFB", [72, 96, 80, 64, 72, 64, 64, 56, 64]),
    (
        "CDSLLB|S|F|BLJDFZ|FLC",
        [88, 112, 88, 80, 96, 80, 80, 72, 88],
    ),
    (
        "IJLIDZ|JBD|FLCL|CSFLLD",
        [104, 136, 112, 96, 120, 104, 96, 96, 112],
    ),
    (
        "SJB||Z|SLL||L|FIF|Z|IZL",
        [72, 112, 80, 64, 80, 64, 64, 56, 72],
    ),
    (
        "SJB|Z|JBCZCD|BIIC||Z|ZZIL",
        [80, 104, 88, 72, 72, 72, 80, 64, 72],
    ),
    (
        "FJCF|CFI|IJDS|SL|LBJJDZ|Z",
        [112, 144, 120, 104, 112, 104, 112, 96, 104],
    ),
    (
        "I|J||SFZF|JCCILB|LB||CZ|SIFLBC",
        [96, 128, 104, 88, 96, 88, 96, 80, 96],
    ),
    (
        "FJCF|CFI|IJDS|SL|LBJJDZ|Z|DLBBJC|||CBS",
        [144, 184, 152, 128, 144, 136, 128, 128, 136],
    ),
    ("FLLL", [32, 48, 32, 32, 40, 32, 32, 24, 40]),
    ("JLB|C", [32, 48, 40, 32, 32, 32, 32, 24, 32]),
    ("Z|Z|IJ", [32, 48, 40, 32, 32, 32, 32, 24, 24]),
    ("JJLC|Z", [40, 56, 48, 40, 40, 40, 48, 32, 40]),
    ("LBLLLJ", [40, 64, 48, 40, 56, 48, 48, 40, 56]),
    ("DLBLLS", [40, 56, 40, 40, 48, 40, 48, 32, 48]),
    ("BLB|ZZ", [24, 40, 32, 24, 24, 24, 32, 16, 24]),
];

/// The samples as a dump of one of the JVMs, every fourth class without instances.
fn samples(jvm: usize) -> (Dump, Vec<u32>) {
    let mut dump = Dump::of_release(JVMS[jvm].0);
    let mut classes = Vec::new();
    for (at, (chain, sizes)) in SAMPLES.iter().enumerate() {
        let class = dump.chain(chain);
        if at % 4 != 3 {
            dump.gap(class, sizes[jvm] + 64, 3);
            dump.gap(class, sizes[jvm], 2);
        }
        classes.push(class);
    }
    (dump, classes)
}

#[test]
fn gaps_tell_the_layout_and_the_rules_give_every_size() {
    for (jvm, (_, layout)) in JVMS.iter().enumerate() {
        let (dump, classes) = samples(jvm);
        let derived = dump.derive();
        assert_eq!(derived.layout.to_string(), *layout);
        for (&class, (chain, sizes)) in classes.iter().zip(SAMPLES) {
            let size = u64::from(derived.instance_sizes[class as usize]);
            assert_eq!(size, sizes[jvm], "{chain} with {layout}");
        }
    }
}

#[test]
fn damaged_addresses_do_not_change_the_layout() {
    let (mut dump, classes) = samples(3);
    for &class in &classes[..4] {
        dump.gap(class, 8, 1);
        dump.gap(class, 1 << 40, 1);
    }
    let size = SAMPLES[0].1[3];
    dump.gap(classes[0], size, 20);
    let derived = dump.derive();
    assert_eq!(derived.layout.to_string(), JVMS[3].1);
    assert_eq!(u64::from(derived.instance_sizes[classes[0] as usize]), size);
}

#[test]
fn array_bases_follow_the_header_and_the_release() {
    let size = |array_base, class_pointer, reference_size, element, length| {
        let layout = Layout {
            word: 8,
            reference_size,
            class_pointer,
            alignment: 8,
            field_rules: FieldRules::BestFit,
            array_base,
        };
        layout.array_size(element, length)
    };
    use ClassPointer::{Compressed, Full, InMarkWord};
    // Up to JDK 22 elements start at a word, since JDK-8139457 right after the length.
    assert_eq!(size(16, Compressed, 4, Byte, 0), 16);
    assert_eq!(size(16, Compressed, 4, Object, 3), 32);
    assert_eq!(size(24, Full, 8, Byte, 1), 32);
    assert_eq!(size(20, Full, 8, Byte, 4), 24);
    assert_eq!(size(20, Full, 8, Byte, 5), 32);
    assert_eq!(size(20, Full, 8, Object, 1), 32);
    assert_eq!(size(20, Full, 4, Object, 1), 24);
    assert_eq!(size(12, InMarkWord, 4, Byte, 4), 16);
    assert_eq!(size(12, InMarkWord, 4, Long, 1), 24);
    assert_eq!(size(16, Compressed, 4, Long, u32::MAX), 8 * ((1 << 32) + 1));
}

#[test]
fn array_gaps_tell_old_and_new_bases_apart() {
    for (base, gap) in [(24, 32), (20, 24)] {
        let mut dump = with_witnesses(Dump::of_release(15), 5);
        dump.arrays.push(ArrayGap {
            element: Byte,
            length: 4,
            gap,
        });
        assert_eq!(dump.derive().layout.array_base(Byte), base);
    }
}

/// Adds classes that make the layout certain.
fn with_witnesses(mut dump: Dump, jvm: usize) -> Dump {
    for (chain, sizes) in SAMPLES {
        let class = dump.chain(chain);
        dump.gap(class, sizes[jvm], 1);
    }
    dump
}

fn size_of(derived: &Derived, class: u32) -> u32 {
    derived.instance_sizes[class as usize]
}

#[test]
fn a_thread_has_contended_and_injected_fields() {
    let references = |count: usize, mut fields: Fields| {
        fields.extend(std::iter::repeat_n(("reference", Object), count));
        fields
    };
    let random = [
        ("threadLocalRandomSecondarySeed", Int),
        ("threadLocalRandomProbe", Int),
        ("threadLocalRandomSeed", Long),
    ];
    let base = [("tid", Long), ("eetop", Long)];
    let old = [
        ("stackSize", Long),
        ("threadStatus", Int),
        ("priority", Int),
        ("daemon", Boolean),
        ("stillborn", Boolean),
    ];
    let jdk11 = references(11, [&random[..], &base, &old].concat());
    let jdk17 = [&jdk11[..], &[("interrupted", Boolean)]].concat();
    let jdk25 = [
        &random[..],
        &base,
        &[("interrupted", Boolean), ("holder", Object)],
    ]
    .concat();
    let jdk21 = references(13, jdk25.clone());
    let jdk25 = references(12, jdk25);
    let cases = [
        (8, 0, jdk11, 368),
        (15, 3, jdk17, 368),
        (15, 3, jdk21, 120),
        (15, 3, jdk25, 112),
    ];
    for (release, jvm, fields, size) in cases {
        let mut dump = Dump::of_release(release);
        let thread = dump.class("java.lang.Thread", Some(0), &fields);
        let derived = with_witnesses(dump, jvm).derive();
        assert_eq!(size_of(&derived, thread), size);
    }
}

#[test]
fn contended_classes_of_the_jdk_are_padded() {
    let queue = [
        ("waiting", Int),
        ("demand", Long),
        ("ctl", Int),
        ("maxCapacity", Int),
        ("tail", Int),
        ("head", Int),
        ("timeout", Long),
    ];
    let mut queue = queue.to_vec();
    queue.splice(2..2, std::iter::repeat_n(("reference", Object), 8));
    // The dumps of these releases list fields in reverse, as the order in String shows.
    let string = [("hash", Int), ("coder", Byte), ("value", Object)];
    for (release, jvm, cell_size, queue_size) in [(8, 0, 280, 600), (15, 3, 280, 472)] {
        let mut dump = Dump::of_release(release);
        dump.class("java.lang.String", Some(0), &string);
        let cell = "java.util.concurrent.atomic.Striped64$Cell";
        let cell = dump.class(cell, Some(0), &[("value", Long)]);
        let name = "java.util.concurrent.SubmissionPublisher$BufferedSubscription";
        let queue = dump.class(name, Some(0), &queue);
        let derived = with_witnesses(dump, jvm).derive();
        assert_eq!(size_of(&derived, cell), cell_size);
        assert_eq!(size_of(&derived, queue), queue_size);
    }
}

#[test]
fn contended_classes_of_the_program_are_found_by_their_gaps() {
    // On 11.0.13 and 17.0.15: a contended class, one without fields below it, one field below.
    for (release, jvm, sizes) in [(8, 0, [280, 288, 288, 288]), (15, 3, [280, 288, 416, 416])] {
        let mut dump = Dump::of_release(release);
        let whole = dump.class("Whole", Some(0), &[("v", Long)]);
        let below = dump.class("Below", Some(whole), &[("z", Int)]);
        let plain = dump.class("Plain", Some(below), &[]);
        let last = dump.class("Last", Some(plain), &[("b", Byte)]);
        dump.gap(whole, sizes[0].into(), 5);
        let derived = with_witnesses(dump, jvm).derive();
        let found = [whole, below, plain, last].map(|class| size_of(&derived, class));
        assert_eq!(found, sizes);
    }
}

#[test]
fn two_contended_fields_keep_the_order_of_the_class_file() {
    // 17.0.15 without compressed class pointers: a contended long, a contended int, a reference.
    let mut dump = Dump::of_release(15);
    dump.class(
        "java.lang.String",
        Some(0),
        &[("hash", Int), ("value", Object)],
    );
    let two = dump.class("Two", Some(0), &[("o", Object), ("y", Int), ("x", Long)]);
    dump.gap(two, 424, 5);
    assert_eq!(size_of(&with_witnesses(dump, 5).derive(), two), 424);
}

#[test]
fn a_lone_gap_among_garbage_pads_nothing() {
    let mut dump = Dump::of_release(15);
    let lone = dump.class("Lone", Some(0), &[("v", Long)]);
    dump.gap(lone, 280, 1);
    let derived = with_witnesses(dump, 3).derive();
    assert_eq!(size_of(&derived, lone), 24);
    assert_eq!(derived.assumed.len(), 1 + mirror_note(&derived));
    assert_eq!(
        derived.assumed.last().map(|note| note.class),
        Some(Some(lone))
    );
}

/// The base size of class objects is on the list as long as no class object has a gap.
fn mirror_note(derived: &Derived) -> usize {
    let notes = derived.assumed.iter();
    notes
        .filter(|note| note.what.contains("by release"))
        .count()
}

#[test]
fn class_objects_hold_their_static_fields() {
    // `java.util.TreeMap` on 17.0.15: 136 bytes, 112 of them those of any class object.
    let mut dump = Dump::of_release(15);
    dump.classes[1]
        .fields
        .extend(vec![("reference", Object); 12]);
    dump.classes[1].fields.push(("classRedefinedCount", Int));
    let map = dump.class("java.util.TreeMap", Some(0), &[]);
    dump.classes[map as usize].static_fields = vec![
        ("serialVersionUID", Long),
        ("BLACK", Boolean),
        ("RED", Boolean),
        ("UNBOUNDED", Object),
        ("<resolved_references>", Object),
    ];
    dump.classes[map as usize].mirror_gap = Some(136);
    let derived = with_witnesses(dump, 3).derive();
    assert_eq!(derived.mirror_sizes[map as usize], 136);
    assert_eq!(derived.mirror_sizes[0], 112);
    assert_eq!(derived.assumed, []);
}

#[test]
fn stack_chunks_add_the_stack_and_a_bitmap() {
    let layout = |reference_size| Layout {
        word: 8,
        reference_size,
        class_pointer: ClassPointer::Compressed,
        alignment: 8,
        field_rules: FieldRules::BestFit,
        array_base: 16,
    };
    // One bit for every place of a reference: two in a word if references are compressed.
    assert_eq!(layout(4).stack_chunk_size(56, 32), 56 + 32 * 8 + 8);
    assert_eq!(layout(4).stack_chunk_size(56, 33), 56 + 33 * 8 + 16);
    assert_eq!(layout(8).stack_chunk_size(64, 64), 64 + 64 * 8 + 8);
    assert_eq!(layout(8).stack_chunk_size(64, 0), 64);
}

#[test]
fn a_32_bit_jvm_has_headers_of_8_bytes() {
    let mut dump = Dump::of_release(8);
    dump.id_size = 4;
    let string = [
        ("hash", Int),
        ("count", Int),
        ("offset", Int),
        ("value", Object),
    ];
    let string = dump.class("java.lang.String", Some(0), &string);
    let entry = dump.class(
        "java.util.Hashtable$Entry",
        Some(0),
        &[
            ("next", Object),
            ("value", Object),
            ("key", Object),
            ("hash", Int),
        ],
    );
    dump.gap(string, 24, 5);
    dump.gap(entry, 24, 5);
    let derived = dump.derive();
    assert_eq!(
        derived.layout.to_string(),
        "32-bit JVM, JDK 14 or older field layout"
    );
    assert_eq!(derived.layout.array_size(Char, 2), 16);
    assert_eq!(derived.layout.array_size(Long, 1), 24);
    assert_eq!(size_of(&derived, string), 24);
}

#[test]
fn unknown_fields_leave_the_gap() {
    let mut dump = Dump::of_release(15);
    let lost = dump.class("Lost", None, &[]);
    dump.gap(lost, 32, 2000);
    let derived = with_witnesses(dump, 3).derive();
    assert_eq!(size_of(&derived, lost), 32);
    assert!(derived.assumed.iter().any(|note| note.class == Some(lost)));
}

#[test]
fn ids_that_are_no_addresses_leave_the_usual_layout() {
    let (mut dump, classes) = samples(3);
    for sample in &mut dump.classes {
        let instances = sample.gaps.instances;
        sample.gaps = Gaps::default();
        (0..instances).for_each(|_| sample.gaps.add(1));
    }
    let derived = dump.derive();
    assert_eq!(derived.layout.to_string(), JVMS[3].1);
    assert_eq!(u64::from(size_of(&derived, classes[0])), SAMPLES[0].1[3]);
    assert_eq!(derived.assumed.len(), 1);
}

#[test]
fn android_objects_are_headers_and_fields() {
    let mut dump = Dump::new();
    dump.id_size = 4;
    dump.classes[0].fields = vec![("shadow$_klass_", Object), ("shadow$_monitor_", Int)];
    let class = dump.class(
        "Sample",
        Some(0),
        &[("a", Object), ("b", Long), ("c", Byte)],
    );
    let derived = dump.derive();
    assert_eq!(size_of(&derived, class), 24);
    assert_eq!(derived.layout.array_size(Byte, 4), 16);
    assert_eq!(derived.assumed.len(), 1);
}

#[test]
fn odd_input_is_survived() {
    let derived = derive(&Observed {
        id_size: 0,
        classes: &[],
        arrays: &[],
    });
    assert_eq!(derived.instance_sizes, []);

    let mut dump = Dump::of_release(15);
    let fields: Fields = vec![("field", Long); 65_535];
    let first = dump.class("First", Some(3), &fields);
    dump.class("Second", Some(first), &fields);
    dump.class("Own", Some(4), &[]);
    dump.class("Lost", Some(u32::MAX), &[]);
    let mut deep = 0;
    for _ in 0..500 {
        deep = dump.class("Deep", Some(deep), &fields[..300]);
    }
    dump.class("java.lang.Thread", Some(first), &fields);
    for class in 0..dump.classes.len() as u32 {
        dump.gap(class, u64::from(class) << (class % 64), 3);
        dump.classes[class as usize].mirror_gap = Some(u64::from(class));
    }
    for id_size in [0, 4, 8, 255] {
        dump.id_size = id_size;
        assert_eq!(dump.derive().instance_sizes.len(), dump.classes.len());
    }
}

#[test]
fn gaps_keep_the_two_smallest() {
    let mut gaps = Gaps::default();
    for gap in [40, 24, 24, 32, 24, 32, 48, 24] {
        gaps.add(gap);
    }
    let expected = Gaps {
        instances: 8,
        smallest: 24,
        at_smallest: 4,
        second: 32,
        at_second: 2,
    };
    assert_eq!(gaps, expected);
}

#[test]
fn a_lone_gap_where_all_others_are_tight_pads() {
    let mut dump = Dump::of_release(15);
    let lone = dump.class("Lone", Some(0), &[("v", Long)]);
    dump.gap(lone, 280, 1);
    for _ in 0..3 {
        dump = with_witnesses(dump, 3);
    }
    let derived = dump.derive();
    assert_eq!(size_of(&derived, lone), 280);
    assert!(derived.assumed.iter().any(|note| note.class == Some(lone)));
}
