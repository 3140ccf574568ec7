//! The collections of the JDK, as JDK 8 to 25 name their fields, and how the storage of each grows.

use anthill_heap::{ClassId, HeapState, ObjectId, Value};
use anthill_hprof::{Cursor, FieldPlace, Records};

/// How a collection says how many elements it has.
#[derive(Clone, Copy)]
enum Size {
    Field(&'static str),
    /// Head and tail in a ring.
    Ring(&'static str, &'static str),
    /// A base, and cells that threads add to.
    Counters(&'static str, &'static str),
}

/// How many slots elements need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// There is none: a node for each element.
    None,
    /// One slot each.
    List,
    /// One slot each, and one that is always free.
    Ring,
    /// Buckets, a power of two, three quarters of which may be used.
    Buckets,
    /// Buckets of any number.
    AnyBuckets,
    /// Keys and values in turn, a power of two, of which two thirds may be used.
    Pairs,
}

struct Known {
    class: &'static str,
    size: Size,
    storage: Storage,
    /// The field of the storage.
    field: &'static str,
}

const fn known(class: &'static str, size: Size, storage: Storage, field: &'static str) -> Known {
    Known {
        class,
        size,
        storage,
        field,
    }
}

/// Sets are not among them: theirs is the waste of the map in them.
const COLLECTIONS: [Known; 12] = [
    known(
        "java.util.HashMap",
        Size::Field("size"),
        Storage::Buckets,
        "table",
    ),
    known(
        "java.util.Hashtable",
        Size::Field("count"),
        Storage::AnyBuckets,
        "table",
    ),
    known(
        "java.util.WeakHashMap",
        Size::Field("size"),
        Storage::Buckets,
        "table",
    ),
    known(
        "java.util.IdentityHashMap",
        Size::Field("size"),
        Storage::Pairs,
        "table",
    ),
    known(
        "java.util.concurrent.ConcurrentHashMap",
        Size::Counters("baseCount", "counterCells"),
        Storage::Buckets,
        "table",
    ),
    known(
        "java.util.ArrayList",
        Size::Field("size"),
        Storage::List,
        "elementData",
    ),
    known(
        "java.util.Vector",
        Size::Field("elementCount"),
        Storage::List,
        "elementData",
    ),
    known(
        "java.util.PriorityQueue",
        Size::Field("size"),
        Storage::List,
        "queue",
    ),
    known(
        "java.util.concurrent.PriorityBlockingQueue",
        Size::Field("size"),
        Storage::List,
        "queue",
    ),
    known(
        "java.util.ArrayDeque",
        Size::Ring("head", "tail"),
        Storage::Ring,
        "elements",
    ),
    known("java.util.TreeMap", Size::Field("size"), Storage::None, ""),
    known(
        "java.util.LinkedList",
        Size::Field("size"),
        Storage::None,
        "",
    ),
];

/// Where objects of a class, a collection or a subclass of one, have what is asked here.
#[derive(Clone, Copy)]
pub struct Places {
    pub storage: Storage,
    array: Option<FieldPlace>,
    size: SizePlaces,
}

#[derive(Clone, Copy)]
enum SizePlaces {
    Field(FieldPlace),
    Ring(FieldPlace, FieldPlace),
    Counters {
        base: FieldPlace,
        cells: FieldPlace,
        /// In a cell.
        value: Option<FieldPlace>,
    },
}

impl Places {
    /// `None` if the class is no such collection or lacks the fields.
    pub fn new(records: &Records, state: &HeapState, class: ClassId) -> Option<Self> {
        let name = |class: ClassId| state.classes()[class as usize].name.as_str();
        let mut above = state.superclasses(class);
        let (declared_by, known) = above.find_map(|class| {
            let known = COLLECTIONS
                .iter()
                .find(|known| known.class == name(class))?;
            Some((class, known))
        })?;
        let place = |field: &str| {
            let mut fields = records.field_places(state, class);
            fields.find_map(|(by, known, place)| {
                (by == declared_by && known.name == field).then_some(place)
            })
        };
        if keeps_elsewhere(state, class) {
            return None;
        }
        let array = match known.storage {
            Storage::None => None,
            _ => Some(place(known.field)?),
        };
        let size = match known.size {
            Size::Field(size) => SizePlaces::Field(place(size)?),
            Size::Ring(head, tail) => SizePlaces::Ring(place(head)?, place(tail)?),
            Size::Counters(base, cells) => SizePlaces::Counters {
                base: place(base)?,
                cells: place(cells)?,
                value: counter_value(records, state),
            },
        };
        Some(Places {
            storage: known.storage,
            array,
            size,
        })
    }

    /// How many elements a collection has, and where they are.
    pub fn read(
        &self,
        [cursor, cells]: &mut [Cursor; 2],
        state: &HeapState,
        object: ObjectId,
    ) -> Option<(u64, Option<ObjectId>)> {
        let mut array_in = |place| match cursor.field(state, object, place) {
            Some(Value::Object(address)) => state.addresses.find(address),
            _ => None,
        };
        let array = self.array.and_then(&mut array_in);
        let array = array.filter(|&array| state.array_length(array).is_some());
        let elements = match self.size {
            SizePlaces::Field(size) => number(cursor.field(state, object, size))?,
            SizePlaces::Ring(head, tail) => {
                let length = array.map_or(0, |array| i64::from(state.detail(array)));
                let head = number(cursor.field(state, object, head))?;
                let tail = number(cursor.field(state, object, tail))?;
                let distance = tail - head;
                if distance < 0 {
                    distance + length
                } else {
                    distance
                }
            }
            SizePlaces::Counters {
                base,
                cells: in_cells,
                value,
            } => {
                let added = array_in(in_cells).map_or(0, |array| {
                    let cell = |&cell: &ObjectId| number(cells.field(state, cell, value?));
                    let values = state.references(array).iter().filter_map(cell);
                    values.fold(0, i64::saturating_add)
                });
                number(cursor.field(state, object, base))?.saturating_add(added)
            }
        };
        Some((u64::try_from(elements).ok()?, array))
    }
}

fn number(value: Option<Value>) -> Option<i64> {
    match value? {
        Value::Int(value) => Some(value.into()),
        Value::Long(value) => Some(value),
        _ => None,
    }
}

/// Since JDK 9 properties are a hash table by descent only: their entries are in a map of their own.
fn keeps_elsewhere(state: &HeapState, class: ClassId) -> bool {
    let mut above = state
        .superclasses(class)
        .map(|class| &state.classes()[class as usize]);
    above.any(|class| {
        class.name == "java.util.Properties" && class.fields.iter().any(|field| field.name == "map")
    })
}

fn counter_value(records: &Records, state: &HeapState) -> Option<FieldPlace> {
    const CELL: &str = "java.util.concurrent.ConcurrentHashMap$CounterCell";
    let cell = state
        .classes()
        .iter()
        .position(|class| class.name == CELL)?;
    records.field_place(state, cell as ClassId, "value")
}

impl Storage {
    /// Slots that so many elements take up.
    pub fn used(self, elements: u64) -> u64 {
        match self {
            Storage::Pairs => elements.saturating_mul(2),
            _ => elements,
        }
    }

    /// The fewest slots in which so many elements have their place.
    pub fn sensible(self, elements: u64) -> u64 {
        let buckets = elements.saturating_mul(4).div_ceil(3);
        match self {
            Storage::None => 0,
            Storage::List => elements,
            Storage::Ring => elements.saturating_add(1),
            Storage::Buckets => buckets.checked_next_power_of_two().unwrap_or(buckets),
            Storage::AnyBuckets => buckets,
            Storage::Pairs => {
                let pairs = elements.saturating_mul(3).div_ceil(2).max(4);
                let pairs = pairs.checked_next_power_of_two().unwrap_or(pairs);
                pairs.saturating_mul(2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_as_large_as_the_jdk_makes_it_for_so_many_elements() {
        // HashMap: 12 entries fit into 16 buckets, the 13th doubles them; 1 entry needs 2.
        assert_eq!(Storage::Buckets.sensible(12), 16);
        assert_eq!(Storage::Buckets.sensible(13), 32);
        assert_eq!(Storage::Buckets.sensible(1), 2);
        // IdentityHashMap: 21 pairs in 32 places, each of two slots; never below 4 places.
        assert_eq!(Storage::Pairs.sensible(21), 64);
        assert_eq!(Storage::Pairs.sensible(22), 128);
        assert_eq!(Storage::Pairs.sensible(1), 8);
        assert_eq!(Storage::Pairs.used(21), 42);
        assert_eq!(Storage::List.sensible(7), 7);
        assert_eq!(Storage::Ring.sensible(7), 8);
        assert_eq!(Storage::Buckets.sensible(u64::MAX), 1 << 63);
    }
}
