//! The class table: class dumps joined with names, and what the second pass must know of them.

use anthill_heap::phrases::count;
use anthill_heap::{
    Class, ClassId, ClassKind, Field, FieldType, Missing, MissingKind, STACK_CHUNK, StaticField,
    Strength,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::read::Reader;
use crate::records::Section;
use crate::subrecord::ClassDump;
use crate::survey::InstanceLengths;

/// Classes with ids and addresses as the file states them; object numbers come later.
pub(crate) struct ClassTable {
    pub classes: Vec<Class>,
    pub raw: Vec<RawClass>,
    pub by_id: FxHashMap<u64, ClassId>,
    by_name: FxHashMap<String, ClassId>,
    missing: Vec<Missing>,
    /// Names of classes that are used but not described.
    undescribed: Vec<String>,
    nameless: u64,
}

/// What a class dump says by address.
#[derive(Clone, Default)]
pub(crate) struct RawClass {
    pub id: u64,
    pub loader: u64,
    pub signers: u64,
    pub protection_domain: u64,
}

/// How to find the references in an instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct InstanceLayout {
    /// Where the references are.
    pub references: Vec<u32>,
    /// Where `Reference.referent` is.
    pub referent: Option<u32>,
    /// Where the number of stack words of a stack chunk is.
    pub stack_words: Option<u32>,
}

impl ClassTable {
    pub(crate) fn new(bytes: &[u8], section: &Section, class_dumps: &[usize]) -> Self {
        let mut table = ClassTable {
            classes: Vec::new(),
            raw: Vec::new(),
            by_id: FxHashMap::default(),
            by_name: FxHashMap::default(),
            missing: Vec::new(),
            undescribed: Vec::new(),
            nameless: 0,
        };
        let mut supers = Vec::new();
        for &position in class_dumps {
            let mut reader = Reader::new(bytes, position + 1, section.id_size);
            let Some(dump) = ClassDump::parse(&mut reader) else {
                continue;
            };
            if dump.id != 0 && !table.by_id.contains_key(&dump.id) {
                table.add_described(bytes, section, &dump);
                supers.push(dump.super_class);
            }
        }
        for (class, id) in supers.into_iter().enumerate() {
            let super_class = table.by_id.get(&id).copied();
            if id != 0 && super_class.is_none() {
                let placeholder = table.unknown(bytes, section, id);
                table.classes[class].super_class = Some(placeholder);
            } else {
                table.classes[class].super_class = super_class;
            }
        }
        table.break_cycles();
        table.find_strengths();
        table
    }

    fn add_described(&mut self, bytes: &[u8], section: &Section, dump: &ClassDump) {
        let text = |id| {
            section
                .string(bytes, id)
                .unwrap_or_else(|| format!("(unnamed {id:#x})"))
        };
        let name = class_name(bytes, section, dump.id);
        self.nameless += u64::from(!section.class_names.contains_key(&dump.id));
        let statics = dump.statics.iter().map(|&(name, value)| StaticField {
            name: text(name),
            value,
        });
        let fields = dump.fields().map(|(name, ty)| Field {
            name: text(name),
            ty,
        });
        let mut class = new_class(name, true);
        class.statics = statics.collect();
        class.fields = fields.collect();
        let raw = RawClass {
            id: dump.id,
            loader: dump.loader,
            signers: dump.signers,
            protection_domain: dump.protection_domain,
        };
        self.add(class, raw);
    }

    fn add(&mut self, class: Class, raw: RawClass) -> ClassId {
        let id = self.classes.len() as ClassId;
        if raw.id != 0 {
            self.by_id.insert(raw.id, id);
        }
        self.by_name.entry(class.name.clone()).or_insert(id);
        self.classes.push(class);
        self.raw.push(raw);
        id
    }

    /// A class that objects belong to but that no class dump describes.
    pub(crate) fn unknown(&mut self, bytes: &[u8], section: &Section, id: u64) -> ClassId {
        if let Some(&class) = self.by_id.get(&id) {
            return class;
        }
        let name = class_name(bytes, section, id);
        if let Some(&class) = self
            .by_name
            .get(&name)
            .filter(|&&class| self.raw[class as usize].id == 0)
        {
            // Made up when it was needed, before its id was known.
            self.raw[class as usize].id = id;
            self.by_id.insert(id, class);
            return class;
        }
        self.undescribed.push(name.clone());
        self.add(
            new_class(name, false),
            RawClass {
                id,
                ..RawClass::default()
            },
        )
    }

    /// What the class dumps and names lack.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        let mut missing = self.missing.clone();
        let mut note = |kind, amount: u64, what: String| {
            if amount > 0 {
                missing.push(Missing {
                    kind,
                    offset: None,
                    amount,
                    what,
                });
            }
        };
        let undescribed = self.undescribed.len() as u64;
        let shown = self
            .undescribed
            .iter()
            .take(5)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(", ");
        let more = if undescribed > 5 { ", …" } else { "" };
        let what = format!(
            "{} classes have no description, so the references and exact sizes of their \
            instances are unknown: {shown}{more}",
            count(undescribed)
        );
        note(MissingKind::UnknownClass, undescribed, what);
        note(
            MissingKind::Absent,
            self.nameless,
            format!("the file has no names for {} classes", count(self.nameless)),
        );
        missing
    }

    /// The class of that name, made up if the file does not have it.
    pub(crate) fn named(&mut self, name: &str) -> ClassId {
        match self.by_name.get(name) {
            Some(&class) => class,
            None => self.add(new_class(name.to_owned(), false), RawClass::default()),
        }
    }

    /// The class of an object array, given what its record names: some writers state the class
    /// of the elements.
    pub(crate) fn array_of(&mut self, class: ClassId) -> ClassId {
        match self.classes[class as usize].kind {
            ClassKind::Array(_) => class,
            _ => self.named(&format!("{}[]", self.classes[class as usize].name)),
        }
    }

    /// Superclass chains must end: a damaged file can say otherwise.
    fn break_cycles(&mut self) {
        let mut finished = FxHashSet::default();
        for start in 0..self.classes.len() as ClassId {
            let mut chain = FxHashSet::default();
            let mut class = start;
            while !finished.contains(&class) && chain.insert(class) {
                let Some(above) = self.classes[class as usize].super_class else {
                    break;
                };
                if chain.contains(&above) {
                    let names = [above, class].map(|id| self.classes[id as usize].name.clone());
                    self.missing.push(Missing {
                        kind: MissingKind::Repaired,
                        offset: None,
                        amount: 1,
                        what: format!(
                            "{} and {} are superclasses of each other; the second is \
                        treated as having none",
                            names[0], names[1]
                        ),
                    });
                    self.classes[class as usize].super_class = None;
                    break;
                }
                class = above;
            }
            finished.extend(chain);
        }
    }

    fn find_strengths(&mut self) {
        for class in self.superclasses_first() {
            let own = Strength::of_class(&self.classes[class as usize].name);
            let inherited =
                || self.classes[self.classes[class as usize].super_class? as usize].reference;
            self.classes[class as usize].reference = own.or_else(inherited);
        }
    }

    /// All classes, each after its superclass.
    fn superclasses_first(&self) -> Vec<ClassId> {
        let mut order = Vec::with_capacity(self.classes.len());
        let mut placed = vec![false; self.classes.len()];
        for class in 0..self.classes.len() as ClassId {
            let first = order.len();
            order.extend(
                self.chain(class)
                    .take_while(|&class| !placed[class as usize]),
            );
            order[first..].reverse();
            order[first..]
                .iter()
                .for_each(|&class| placed[class as usize] = true);
        }
        order
    }

    fn chain(&self, class: ClassId) -> impl Iterator<Item = ClassId> + '_ {
        std::iter::successors(Some(class), |&class| {
            self.classes[class as usize].super_class
        })
    }

    /// By class: bytes of field values of an instance in the file; `None` if a class of the
    /// chain is not described.
    pub(crate) fn data_lengths(&self, id_size: usize) -> Vec<Option<usize>> {
        let mut lengths: Vec<Option<usize>> = vec![None; self.classes.len()];
        for id in self.superclasses_first() {
            let class = &self.classes[id as usize];
            let own: usize = class
                .fields
                .iter()
                .map(|field| field.ty.size(id_size as u32) as usize)
                .sum();
            let inherited = class
                .super_class
                .map_or(Some(0), |above| lengths[above as usize]);
            lengths[id as usize] = inherited
                .filter(|_| class.described)
                .map(|inherited| inherited + own);
        }
        lengths
    }

    /// How instances of a class are laid out in the file.
    pub(crate) fn instance_layout(&self, class: ClassId, id_size: usize) -> InstanceLayout {
        let mut layout = InstanceLayout::default();
        let mut offset = 0;
        for id in self.chain(class) {
            let declaring = &self.classes[id as usize];
            for field in &declaring.fields {
                if field.ty == FieldType::Object {
                    if self.classes[class as usize].is_referent(declaring, field) {
                        layout.referent = Some(offset);
                    } else {
                        layout.references.push(offset);
                    }
                } else if field.ty == FieldType::Int
                    && field.name == "size"
                    && declaring.name == STACK_CHUNK
                {
                    layout.stack_words = Some(offset);
                }
                offset += field.ty.size(id_size as u32);
            }
        }
        layout
    }

    pub(crate) fn instance_lengths(&self, id_size: usize, section: &Section) -> InstanceLengths {
        let named = section.class_names.keys().map(|&id| (id, None));
        let lengths = self.data_lengths(id_size);
        let described = self
            .raw
            .iter()
            .zip(lengths)
            .map(|(raw, length)| (raw.id, length));
        named.chain(described).collect()
    }
}

fn new_class(name: String, described: bool) -> Class {
    let kind = ClassKind::of_class(&name);
    Class {
        described,
        ..Class::new(name, kind)
    }
}

fn class_name(bytes: &[u8], section: &Section, id: u64) -> String {
    let name = section
        .class_names
        .get(&id)
        .and_then(|&name| section.string(bytes, name));
    name.map_or_else(
        || format!("(unknown class {id:#x})"),
        |name| java_name(&name),
    )
}

/// `java/lang/String` → `java.lang.String`, `[[I` → `int[][]`.
pub fn java_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    let primitive = match element {
        "Z" => "boolean",
        "C" => "char",
        "F" => "float",
        "D" => "double",
        "B" => "byte",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        _ => "",
    };
    let base = if dimensions > 0 && !primitive.is_empty() {
        primitive.to_owned()
    } else {
        let plain = element
            .strip_prefix('L')
            .and_then(|name| name.strip_suffix(';'))
            .filter(|_| dimensions > 0);
        // The JVM shows the address of a hidden class after a slash.
        plain
            .unwrap_or(element)
            .replace('/', ".")
            .replace("+0x", "/0x")
    };
    base + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::java_name;

    #[test]
    fn names_are_shown_as_in_java() {
        for (internal, java) in [
            ("java/lang/String", "java.lang.String"),
            ("[[I", "int[][]"),
            ("[Ljava/util/Map$Entry;", "java.util.Map$Entry[]"),
            ("[Ljava.lang.String;", "java.lang.String[]"),
            ("I", "I"),
            ("byte[]", "byte[]"),
            (
                "Main$$Lambda$1+0x0000000800c03000",
                "Main$$Lambda$1/0x0000000800c03000",
            ),
        ] {
            assert_eq!(java_name(internal), java);
        }
    }
}
