//! From the bytes of a dump to a heap state: survey, classes, columns, sizes.

use std::path::Path;

use anthill_heap::phrases::count;
use anthill_heap::{
    AddressMap, ArrayLayout, ClassId, ClassKind, FieldType, HeapColumns, HeapState, Missing,
    MissingKind, ObjectId, Progress, Root, RootOrigin, Sizes, StackTrace, Tables, Thread,
};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::classes::ClassTable;
use crate::columns::{self, Loaded, Sources};
use crate::layout::{self, ArrayGap, ClassShape, Derived, Gaps, Observed};
use crate::records::Section;
use crate::survey::{RawRoot, Survey, survey};

/// Gaps after arrays up to this length are looked at.
const ARRAY_LENGTHS: usize = 64;

/// A heap state and where in the file its objects are.
pub(crate) struct LoadedDump {
    pub state: HeapState,
    pub anchors: (Vec<ObjectId>, Vec<u64>),
}

/// Loads one dump of a section.
pub(crate) fn load(
    path: &Path,
    bytes: &[u8],
    section: &Section,
    dump: usize,
    progress: &dyn Progress,
) -> Result<LoadedDump, Error> {
    match section.id_size {
        4 => load_with::<4>(path, bytes, section, dump, progress),
        _ => load_with::<8>(path, bytes, section, dump, progress),
    }
}

fn load_with<const ID: usize>(
    path: &Path,
    bytes: &[u8],
    section: &Section,
    dump: usize,
    progress: &dyn Progress,
) -> Result<LoadedDump, Error> {
    let segments = &section.dumps[dump].segments;
    let total: usize = segments.iter().map(|segment| segment.len()).sum();
    progress.stage("reading objects", total as u64);
    let survey = survey::<ID>(bytes, segments, progress, |class_dumps| {
        ClassTable::new(bytes, section, class_dumps).instance_lengths(ID, section)
    })?;
    let Survey {
        spans,
        addresses,
        class_dumps,
        roots,
        mut spaces,
        without_address,
        missing,
    } = survey;
    let (map, duplicates) = AddressMap::new(&addresses).ok_or_else(|| {
        Error::unusable(
            path,
            0,
            "more than 4.29 billion objects: too many to number",
        )
    })?;
    drop(addresses);
    if map.is_empty() {
        let start = segments
            .first()
            .map_or(section.start, |segment| segment.start);
        return Err(Error::unusable(
            path,
            start as u64,
            "no object could be read: the heap dump is empty or damaged from its start",
        ));
    }
    let mut table = ClassTable::new(bytes, section, &class_dumps);
    let with_frames = section
        .traces
        .iter()
        .enumerate()
        .filter(|(_, trace)| !trace.frames.is_empty());
    let traces: FxHashMap<u32, u32> = with_frames
        .map(|(index, trace)| (trace.serial, index as u32))
        .collect();
    progress.stage("reading references", total as u64);
    let sources = Sources {
        path,
        bytes,
        section,
        spans: &spans,
        addresses: &map,
        duplicates: duplicates > 0,
        traces: &traces,
    };
    let loaded = columns::load::<ID>(&sources, &mut table, progress)?;
    let mut tables = Tables {
        missing: section.missing.clone(),
        ..Tables::default()
    };
    // The record that a truncated file ends in is not a second loss.
    let is_end = |missing: &Missing| {
        missing
            .offset
            .is_some_and(|offset| offset + missing.amount == bytes.len() as u64)
    };
    let truncated = tables
        .missing
        .iter()
        .any(|missing| missing.kind == MissingKind::Truncated);
    tables.missing.extend(
        missing
            .into_iter()
            .filter(|missing| !(truncated && is_end(missing))),
    );
    bad_objects(&mut tables.missing, without_address, duplicates);
    summarise_many(&mut tables.missing);
    tables.missing.extend(table.missing());
    add_stacks(&mut tables, bytes, section);
    // Damaged segments were read last.
    spaces.sort_unstable();
    tables.spaces = spaces
        .into_iter()
        .filter_map(|(position, name)| Some((position as u64, section.string(bytes, name)?)))
        .collect();
    let lost_roots = add_roots(&mut tables, section, &roots, &map);
    tables.dangling = loaded.dangling + lost_roots;
    if tables.dangling > 0 && !tables.missing.is_empty() {
        // Whole dumps have some too: HotSpot leaves out archived class objects.
        tables.missing.push(Missing {
            kind: MissingKind::DanglingReferences,
            offset: None,
            amount: tables.dangling,
            what: match tables.dangling {
                1 => "1 reference leads to an object that is not in the file".to_owned(),
                many => format!(
                    "{} references lead to objects that are not in the file",
                    count(many)
                ),
            },
        });
    }
    let Loaded {
        columns,
        anchors,
        allocations,
        undescribed,
        ..
    } = loaded;
    tables.allocations = allocations
        .into_iter()
        .filter_map(|(object, serial)| Some((object, *traces.get(&serial)?)))
        .collect();
    link_classes(&mut table, &map);
    let derived = derive_sizes(ID, &table, &map, &columns);
    let columns = settle_sizes(
        &mut tables,
        &table,
        derived,
        columns,
        &undescribed,
        ID as u32,
    );
    tables.classes = table.classes;
    assume_roots(&mut tables);
    let mut state = HeapState {
        tables,
        columns,
        addresses: map,
    };
    state.find_class_fields();
    Ok(LoadedDump { state, anchors })
}

/// A file with damage everywhere has more of it than anybody reads.
fn summarise_many(missing: &mut Vec<Missing>) {
    const SHOWN: usize = 100;
    if missing.len() > SHOWN {
        let rest = missing.split_off(SHOWN);
        missing.push(Missing {
            kind: MissingKind::Unreadable,
            offset: rest[0].offset,
            amount: rest.iter().map(|missing| missing.amount).sum(),
            what: format!(
                "{} more damaged places after this one",
                count(rest.len() as u64)
            ),
        });
    }
}

fn bad_objects(missing: &mut Vec<Missing>, without_address: u64, duplicates: u64) {
    let mut note = |amount: u64, what: String| {
        if amount > 0 {
            missing.push(Missing {
                kind: MissingKind::BadObjects,
                offset: None,
                amount,
                what,
            });
        }
    };
    note(
        without_address,
        format!(
            "{} objects have the address 0 and were skipped",
            count(without_address)
        ),
    );
    note(
        duplicates,
        format!(
            "{} objects are in the file more than once; the first record of each is used",
            count(duplicates)
        ),
    );
}

fn add_stacks(tables: &mut Tables, bytes: &[u8], section: &Section) {
    let numbers: FxHashMap<u64, u32> = section
        .frames
        .iter()
        .zip(0..)
        .map(|(frame, number)| (frame.id, number))
        .collect();
    tables.frames = section
        .frames
        .iter()
        .map(|raw| section.frame(bytes, raw))
        .collect();
    tables.traces = section
        .traces
        .iter()
        .map(|raw| StackTrace {
            serial: raw.serial,
            thread_serial: raw.thread,
            frames: raw
                .frames
                .iter()
                .filter_map(|id| numbers.get(id).copied())
                .collect(),
        })
        .collect();
    tables.threads = section
        .threads
        .iter()
        .map(|raw| Thread {
            serial: raw.serial,
            object: None,
            name: section.string(bytes, raw.name),
            trace: None,
        })
        .collect();
}

/// Fills in roots and the threads they tell of. Returns how many roots lead nowhere.
fn add_roots(tables: &mut Tables, section: &Section, roots: &[RawRoot], map: &AddressMap) -> u64 {
    let traces: FxHashMap<u32, u32> = tables
        .traces
        .iter()
        .zip(0..)
        .map(|(trace, index)| (trace.serial, index))
        .collect();
    let mut threads: FxHashMap<u32, u32> = tables
        .threads
        .iter()
        .zip(0..)
        .map(|(thread, index)| (thread.serial, index))
        .collect();
    for raw in &section.threads {
        tables.threads[threads[&raw.serial] as usize].object = map.find(raw.object);
    }
    for root in roots
        .iter()
        .filter(|root| root.origin == RootOrigin::ThreadObject)
    {
        let Some(serial) = root.thread else { continue };
        let index = *threads.entry(serial).or_insert_with(|| {
            tables.threads.push(Thread {
                serial,
                object: None,
                name: None,
                trace: None,
            });
            tables.threads.len() as u32 - 1
        });
        let thread = &mut tables.threads[index as usize];
        thread.object = map.find(root.object).or(thread.object);
        thread.trace = root.trace.and_then(|serial| traces.get(&serial).copied());
    }
    let mut lost = 0;
    for raw in roots {
        match map.find(raw.object) {
            Some(object) => {
                let thread = raw.thread.and_then(|serial| threads.get(&serial).copied());
                tables.roots.push(Root {
                    object,
                    origin: raw.origin,
                    thread,
                    frame: raw.frame,
                });
            }
            None => lost += u64::from(raw.object != 0),
        }
    }
    lost
}

fn link_classes(table: &mut ClassTable, map: &AddressMap) {
    for (class, raw) in table.classes.iter_mut().zip(&table.raw) {
        class.mirror = map.find(raw.id).filter(|_| class.described);
        class.loader = map.find(raw.loader);
        class.signers = map.find(raw.signers);
        class.protection_domain = map.find(raw.protection_domain);
    }
}

fn derive_sizes(
    id_size: usize,
    table: &ClassTable,
    map: &AddressMap,
    columns: &HeapColumns,
) -> Derived {
    let count = table.classes.len();
    let mut gaps = vec![Gaps::default(); count];
    let mut mirror_gaps = vec![None; count];
    let mut array_gaps = [[u64::MAX; ARRAY_LENGTHS]; 9];
    let elements: Vec<Option<FieldType>> = table
        .classes
        .iter()
        .map(|class| match class.kind {
            ClassKind::Array(element) => Some(element),
            _ => None,
        })
        .collect();
    let is_mirror: Vec<bool> = table
        .classes
        .iter()
        .map(|class| class.kind == ClassKind::Mirror)
        .collect();
    let (classes, details): (&[u32], &[u32]) = (&columns.classes, &columns.details);
    let next = map.iter().skip(1);
    for ((address, next), (&class, &detail)) in
        map.iter().zip(next).zip(classes.iter().zip(details))
    {
        let gap = next - address;
        if let Some(element) = elements[class as usize] {
            if let Some(smallest) = array_gaps[element as usize].get_mut(detail as usize) {
                *smallest = gap.min(*smallest);
            }
        } else if is_mirror[class as usize] {
            if let Some(mirror_gap) = mirror_gaps.get_mut(detail as usize) {
                *mirror_gap = Some(gap);
            }
        } else {
            gaps[class as usize].add(gap);
        }
    }
    let fields: Vec<Vec<(&str, FieldType)>> = table
        .classes
        .iter()
        .map(|class| {
            class
                .fields
                .iter()
                .map(|f| (f.name.as_str(), f.ty))
                .collect()
        })
        .collect();
    let statics: Vec<Vec<(&str, FieldType)>> = table
        .classes
        .iter()
        .map(|class| {
            class
                .statics
                .iter()
                .map(|f| (f.name.as_str(), f.value.field_type()))
                .collect()
        })
        .collect();
    let shapes: Vec<ClassShape> = (0..count)
        .map(|class| ClassShape {
            name: &table.classes[class].name,
            super_class: table.classes[class].super_class,
            fields: &fields[class],
            static_fields: &statics[class],
            gaps: gaps[class],
            mirror_gap: mirror_gaps[class],
        })
        .collect();
    let arrays: Vec<ArrayGap> = FieldType::ALL
        .into_iter()
        .flat_map(|element| (0..ARRAY_LENGTHS).map(move |length| (element, length)))
        .map(|(element, length)| ArrayGap {
            element,
            length: length as u32,
            gap: array_gaps[element as usize][length],
        })
        .filter(|array| array.gap < u64::MAX)
        .collect();
    layout::derive(&Observed {
        id_size: id_size as u8,
        classes: &shapes,
        arrays: &arrays,
    })
}

fn settle_sizes(
    tables: &mut Tables,
    table: &ClassTable,
    derived: Derived,
    mut columns: HeapColumns,
    undescribed: &FxHashMap<ClassId, u32>,
    id_size: u32,
) -> HeapColumns {
    let layout = derived.layout;
    let mut instances = derived.instance_sizes;
    for (&class, &len) in undescribed {
        // References may be narrower in the JVM than in the file, so half of it is the least.
        let least = layout.header().saturating_add(len / 2);
        if instances[class as usize] >= least {
            continue;
        }
        let size = layout
            .header()
            .saturating_add(len)
            .checked_next_multiple_of(layout.alignment)
            .unwrap_or(u32::MAX);
        instances[class as usize] = size;
        let what = format!(
            "{size} bytes per instance, from the {len} bytes of fields with {id_size}-byte \
            references"
        );
        tables
            .assumed
            .push((table.classes[class as usize].name.clone(), what));
    }
    for (class, base) in derived
        .stack_chunk
        .into_iter()
        .map(|class| (class, instances[class as usize]))
    {
        let classes: &[u32] = &columns.classes;
        let details = columns.details.iter().zip(classes).map(|(&detail, &of)| {
            if of == class {
                (layout.stack_chunk_size(base, detail) / 8) as u32
            } else {
                detail
            }
        });
        columns.details = details.collect::<Vec<_>>().into();
    }
    tables
        .assumed
        .extend(derived.assumed.into_iter().map(|assumed| {
            let class = assumed.class.map_or_else(
                || "(all classes)".to_owned(),
                |class| table.classes[class as usize].name.clone(),
            );
            (class, assumed.what)
        }));
    tables.layout = layout.to_string();
    tables.sizes = Some(Sizes {
        instances,
        mirrors: derived.mirror_sizes,
        arrays: ArrayLayout {
            bases: FieldType::ALL.map(|element| layout.array_base(element)),
            reference_size: layout.reference_size.into(),
            alignment: layout.alignment,
        },
    });
    columns
}

/// Without any root, e.g. in a file cut off before them, all class objects are taken for roots;
/// without a single system class among them, those of the boot loader are.
fn assume_roots(tables: &mut Tables) {
    let none = tables.roots.is_empty();
    if none {
        tables.missing.push(Missing {
            kind: MissingKind::Absent,
            offset: None,
            amount: 0,
            what: "the file has no GC roots: objects that classes keep alive count as reachable, \
            objects that only threads keep alive do not"
                .to_owned(),
        });
    }
    if tables
        .roots
        .iter()
        .all(|root| root.origin != RootOrigin::StickyClass)
    {
        let assumed = tables
            .classes
            .iter()
            .filter(|class| none || class.loader.is_none());
        let roots = assumed.filter_map(|class| class.mirror);
        let roots = roots.map(|object| Root {
            object,
            origin: RootOrigin::Assumed,
            thread: None,
            frame: None,
        });
        tables.roots.extend(roots.collect::<Vec<_>>());
    }
}
