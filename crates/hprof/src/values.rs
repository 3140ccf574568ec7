//! Field values, array elements and string contents, read from the file when asked for.
//!
//! Only one object in 64 has its place in the file remembered; the records between are short,
//! so the others are found by reading on from the nearest one before.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anthill_heap::{ClassId, Column, FieldType, HeapState, ObjectId, Quiet, Value};

use crate::columns::class_references;
use crate::read::Reader;
use crate::subrecord::{ClassDump, Sub, parse};
use crate::{Content, Error};

/// The tag of a primitive array without elements.
const NO_DATA: u8 = 0xc3;

pub struct Records {
    path: PathBuf,
    id_size: u8,
    anchor_objects: Column<u32>,
    anchor_positions: Column<u64>,
    content: OnceLock<Option<Content>>,
}

/// A field of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValue<'a> {
    /// The class that declares it.
    pub class: ClassId,
    pub name: &'a str,
    pub value: Value,
}

/// Where the values of an object are in the file.
enum Place {
    Instance(Range<usize>),
    Objects {
        data: usize,
        length: u32,
    },
    Primitives {
        data: usize,
        element: FieldType,
        length: u32,
    },
    Class {
        start: usize,
    },
}

impl Records {
    pub fn new(
        path: &Path,
        id_size: u8,
        anchor_objects: Column<u32>,
        anchor_positions: Column<u64>,
    ) -> Self {
        Records {
            path: path.to_owned(),
            id_size,
            anchor_objects,
            anchor_positions,
            content: OnceLock::new(),
        }
    }

    pub fn anchors(&self) -> (&[u32], &[u64]) {
        (&self.anchor_objects, &self.anchor_positions)
    }

    /// Makes the file available without opening it again.
    pub(crate) fn keep(&self, content: Content) {
        let _ = self.content.set(Some(content));
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Goes on with the file that somebody else has open.
    pub(crate) fn take_over(&self, other: Records) {
        if let Some(Some(content)) = other.content.into_inner() {
            self.keep(content);
        }
    }

    /// Opens the file, unless that is done; the values of later calls need it.
    pub fn open(&self) -> Result<(), Error> {
        if self.content.get().is_none() {
            self.keep(Content::open(&self.path, &Quiet)?);
        }
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        let content = self
            .content
            .get_or_init(|| Content::open(&self.path, &Quiet).ok());
        content.as_ref().map_or(&[], |content| content.bytes())
    }

    fn place(&self, state: &HeapState, object: ObjectId) -> Option<Place> {
        match self.id_size {
            4 => self.place_with::<4>(state, object),
            _ => self.place_with::<8>(state, object),
        }
    }

    fn place_with<const ID: usize>(&self, state: &HeapState, object: ObjectId) -> Option<Place> {
        let anchors: &[u32] = &self.anchor_objects;
        let anchor = anchors
            .partition_point(|&anchor| anchor <= object)
            .checked_sub(1)?;
        let mut position = usize::try_from(self.anchor_positions[anchor]).ok()?;
        let mut ahead = object - anchors[anchor];
        let bytes = self.bytes();
        loop {
            let (sub, end) = parse::<ID>(bytes, position)?;
            let found = match sub {
                Sub::Instance { id, data, len, .. } => {
                    Some((id, Place::Instance(data..data + len)))
                }
                Sub::ObjectArray {
                    id, data, length, ..
                } => Some((id, Place::Objects { data, length })),
                Sub::PrimitiveArray {
                    id,
                    element,
                    length,
                    ..
                } => {
                    // Android can leave the elements out.
                    let length = if bytes[position] == NO_DATA {
                        0
                    } else {
                        length
                    };
                    let data = end - length as usize * element.size(0) as usize;
                    Some((
                        id,
                        Place::Primitives {
                            data,
                            element,
                            length,
                        },
                    ))
                }
                Sub::Class { id } => Some((
                    id,
                    Place::Class {
                        start: position + 1,
                    },
                )),
                Sub::Root { .. } | Sub::Other => None,
            };
            match found.filter(|(id, _)| *id != 0) {
                Some((id, place)) if ahead == 0 => {
                    return (id == state.addresses.address(object)).then_some(place);
                }
                Some(_) => ahead -= 1,
                None => {}
            }
            position = end;
        }
    }

    /// The instance fields of an object, superclasses' fields last, or nothing for arrays and
    /// class objects.
    pub fn fields<'a>(&self, state: &'a HeapState, object: ObjectId) -> Vec<FieldValue<'a>> {
        let Some(Place::Instance(data)) = self.place(state, object) else {
            return Vec::new();
        };
        let mut reader = Reader::new(&self.bytes()[..data.end], data.start, self.id_size.into());
        let mut fields = Vec::new();
        for class in state.superclasses(state.class_id(object)) {
            for field in &state.classes()[class as usize].fields {
                let Some(value) = reader.value(field.ty) else {
                    return fields;
                };
                fields.push(FieldValue {
                    class,
                    name: &field.name,
                    value,
                });
            }
        }
        fields
    }

    /// The value of the field of that name nearest to the object's own class.
    pub fn field(&self, state: &HeapState, object: ObjectId, name: &str) -> Option<Value> {
        self.fields(state, object)
            .into_iter()
            .find(|field| field.name == name)
            .map(|field| field.value)
    }

    /// The object a field refers to.
    pub fn field_object(
        &self,
        state: &HeapState,
        object: ObjectId,
        name: &str,
    ) -> Option<ObjectId> {
        match self.field(state, object, name)? {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        }
    }

    /// Some elements of an array.
    pub fn elements(&self, state: &HeapState, object: ObjectId, range: Range<u32>) -> Vec<Value> {
        let (data, element, length) = match self.place(state, object) {
            Some(Place::Objects { data, length }) => (data, FieldType::Object, length),
            Some(Place::Primitives {
                data,
                element,
                length,
            }) => (data, element, length),
            _ => return Vec::new(),
        };
        let size = element.size(self.id_size.into()) as usize;
        let mut reader = Reader::new(
            self.bytes(),
            data + range.start as usize * size,
            self.id_size.into(),
        );
        (range.start..range.end.min(length))
            .map_while(|_| reader.value(element))
            .collect()
    }

    /// The text of a `java.lang.String`.
    pub fn string(&self, state: &HeapState, object: ObjectId) -> Option<String> {
        self.text(state, object, usize::MAX)
    }

    /// The first `most` characters of a `java.lang.String`.
    pub fn text(&self, state: &HeapState, object: ObjectId, most: usize) -> Option<String> {
        if state.class(object).name != "java.lang.String" {
            return None;
        }
        let fields = self.fields(state, object);
        let field = |name: &str| {
            fields
                .iter()
                .find(|field| field.name == name)
                .map(|field| field.value)
        };
        let int = |name: &str| match field(name) {
            Some(Value::Int(value)) => usize::try_from(value).ok(),
            _ => None,
        };
        let Value::Object(address) = field("value")? else {
            return None;
        };
        let array = state.addresses.find(address)?;
        let Place::Primitives {
            data,
            element,
            length,
        } = self.place(state, array)?
        else {
            return None;
        };
        let size = element.size(0) as usize;
        let bytes = self.bytes().get(data..data + length as usize * size)?;
        match (element, field("coder")) {
            (FieldType::Byte, Some(Value::Byte(1))) => {
                let most = most.min(bytes.len() / 2);
                Some(utf16(&bytes[..most * 2], u16::from_le_bytes))
            }
            (FieldType::Byte, _) => {
                Some(bytes.iter().take(most).copied().map(char::from).collect())
            }
            (FieldType::Char, _) => {
                // Before JDK 7 update 6, strings could share an array.
                let start = int("offset").unwrap_or(0).min(length as usize);
                let count = int("count")
                    .unwrap_or(length as usize)
                    .min(length as usize - start)
                    .min(most);
                Some(utf16(
                    &bytes[start * 2..(start + count) * 2],
                    u16::from_be_bytes,
                ))
            }
            _ => None,
        }
    }

    /// The name of a `java.lang.Thread` object.
    pub fn thread_name(&self, state: &HeapState, thread: ObjectId) -> Option<String> {
        const LONGEST: usize = 1024;
        let name = self.field_object(state, thread, "name")?;
        self.text(state, name, LONGEST).or_else(|| {
            // JDK 8 and older keep it as char[].
            let length = state.array_length(name)?.min(LONGEST as u32);
            let units =
                self.elements(state, name, 0..length)
                    .into_iter()
                    .map(|value| match value {
                        Value::Char(unit) => unit,
                        _ => 0xfffd,
                    });
            Some(String::from_utf16_lossy(&units.collect::<Vec<_>>()))
        })
    }

    /// How `from` names its reference to `to`: a field, an index, a static field. The first of
    /// several, and `None` if there is none in the file.
    pub fn reference_name(
        &self,
        state: &HeapState,
        from: ObjectId,
        to: ObjectId,
    ) -> Option<String> {
        let address = Value::Object(state.addresses.address(to));
        match self.place(state, from)? {
            Place::Instance(_) => {
                let field = self
                    .fields(state, from)
                    .into_iter()
                    .find(|field| field.value == address)?;
                Some(field.name.to_owned())
            }
            Place::Objects { length, .. } => {
                let index = self
                    .elements(state, from, 0..length)
                    .iter()
                    .position(|&value| value == address)?;
                Some(format!("[{index}]"))
            }
            Place::Class { start } => {
                let class = &state.classes()[state.mirrored(from)? as usize];
                let field = class.statics.iter().find(|field| field.value == address);
                field
                    .map(|field| format!("static {}", field.name))
                    .or_else(|| {
                        let mut reader = Reader::new(self.bytes(), start, self.id_size.into());
                        let dump = ClassDump::parse(&mut reader)?;
                        class_references(&dump)
                            .position(|id| Value::Object(id) == address)
                            .map(|index| format!("constant pool [{index}]"))
                    })
            }
            Place::Primitives { .. } => None,
        }
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]))
        .collect();
    String::from_utf16_lossy(&units)
}
