//! Waste in words: a section of the report, and a command of its own.

use anthill_api::WasteKind;
use anthill_api::waste::{Answer, Example, Figures, Kind};
use anthill_session::quoted;

use anthill_api::units::{bytes, count, counted, share};

/// Fields that are named of a class.
const FIELDS: usize = 4;
/// Characters of a string that people see.
const TEXT: usize = 60;

/// How much there is in all.
pub fn sentence(waste: &Answer) -> String {
    let rest = match waste.contents {
        true => "",
        false => {
            " Duplicates and collections are not included, because the recording has no contents."
        }
    };
    format!(
        "{} of the reachable {} could be saved ({}).{rest}",
        bytes(waste.savable),
        bytes(waste.reachable),
        share(waste.savable, waste.reachable)
    )
}

/// What a kind is called.
pub fn title(kind: WasteKind) -> &'static str {
    match kind {
        WasteKind::DuplicateStrings => "duplicate strings",
        WasteKind::DuplicateArrays => "duplicate arrays",
        WasteKind::ZeroArrays => "zero-filled arrays",
        WasteKind::DuplicateBoxes => "duplicate boxes",
        WasteKind::BoxedNumbers => "boxed numbers",
        WasteKind::EmptyCollections => "empty collections",
        WasteKind::UnusedCollections => "unused collections",
        WasteKind::SparseCollections => "sparse collections",
        WasteKind::SparseArrays => "sparse arrays",
        WasteKind::HashCollisions => "hash collisions",
        WasteKind::NullFields => "null fields",
    }
}

/// What is counted, and how.
pub fn rule(kind: WasteKind) -> &'static str {
    match kind {
        WasteKind::DuplicateStrings => {
            "Strings with equal contents, except the first of each, with their arrays."
        }
        WasteKind::DuplicateArrays => {
            "Primitive arrays with equal elements, not all zero, except the first of each and the arrays of strings."
        }
        WasteKind::ZeroArrays => {
            "Primitive arrays with only zeros, for information: most are buffers, which cannot be shared."
        }
        WasteKind::DuplicateBoxes => "Boxes of the same class and value, except the first of each.",
        WasteKind::BoxedNumbers => {
            "All boxed numbers, for information: primitive fields and arrays need none."
        }
        WasteKind::EmptyCollections => {
            "Collections without elements that have an array: the array."
        }
        WasteKind::UnusedCollections => {
            "Collections without elements and without an array, for information."
        }
        WasteKind::SparseCollections => {
            "Collections with at least 16 slots, less than a quarter of them used: the space beyond \
             what their elements need."
        }
        WasteKind::SparseArrays => {
            "Arrays of at least 16 references outside of collections, more than three quarters of \
             them null: the null references."
        }
        WasteKind::HashCollisions => {
            "Maps with at least 64 entries and more than two per used bucket: they cost time, not bytes."
        }
        WasteKind::NullFields => {
            "Classes with at least 100 objects and at least 75% of their reference fields null: the \
             bytes of these fields."
        }
    }
}

/// The rows: what it is, savable bytes, objects.
pub fn what(kind: &Kind) -> impl Iterator<Item = [String; 3]> {
    let rows = kind.rows.iter();
    rows.map(|row| cells(kind, example(row), row.savable, row.objects))
}

/// The holders: where it is held, savable bytes, objects.
pub fn held_by(kind: &Kind) -> impl Iterator<Item = [String; 3]> {
    let holders = kind.holders.iter();
    holders.map(|held| cells(kind, held.holder.clone(), held.savable, held.objects))
}

fn cells(kind: &Kind, what: String, savable: u64, objects: u64) -> [String; 3] {
    let savable = match kind.savable {
        // What is only for information.
        0 => String::new(),
        _ => bytes(savable),
    };
    [what, savable, count(objects)]
}

/// Title, number and bytes.
pub fn headline(kind: &Kind) -> String {
    let (one, many) = match kind.kind {
        WasteKind::HashCollisions => ("map", "maps"),
        WasteKind::EmptyCollections
        | WasteKind::UnusedCollections
        | WasteKind::SparseCollections => ("collection", "collections"),
        _ => ("object", "objects"),
    };
    let mut title = title(kind.kind).to_owned();
    title[..1].make_ascii_uppercase();
    let much = match kind.savable {
        0 => format!("{} in total", bytes(kind.bytes)),
        savable => format!("{} could be saved", bytes(savable)),
    };
    format!("{title}: {}, {much}", counted(kind.objects, one, many))
}

/// What it is, and what more there is to say.
pub fn example(row: &Example) -> String {
    let name = match &row.text {
        Some(text) if row.class == "java.lang.String" => quoted(text, TEXT),
        Some(text) => format!("{} {text}", row.class),
        None => row.class.clone(),
    };
    let instance = format!("e.g. {}", row.address);
    match &row.figures {
        Figures::None {} if row.text.is_some() => name,
        Figures::None {} => format!("{name}, {instance}"),
        Figures::Fill { used, slots } => format!(
            "{name}, {instance} uses {} of {} slots",
            count(*used),
            count((*slots).into())
        ),
        Figures::Buckets {
            entries,
            buckets,
            longest,
        } => format!(
            "{name} {}: {} in {}, {} in the fullest",
            row.address,
            counted(*entries, "entry", "entries"),
            counted(*buckets, "bucket", "buckets"),
            count(*longest)
        ),
        Figures::Nulls { nulls } => {
            let fields: Vec<String> = nulls
                .iter()
                .take(FIELDS)
                .map(|null| format!("{} {}", null.field, share(null.objects, row.objects)))
                .collect();
            let more = if nulls.len() > FIELDS { ", …" } else { "" };
            format!("{name}: null in {}{more}", fields.join(", "))
        }
    }
}
