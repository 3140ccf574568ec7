//! Field values, array elements and string contents, read from the file when asked for.
//!
//! Recorded states have columns instead of a file ([`RecordedValues`]); whoever asks for values need
//! not know which it is.
//! Only one object in 64 has its place in the file remembered; the records between are short,
//! so the others are found by reading on from the nearest one before.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anthill_heap::{
    ClassId, ClassKind, Column, Field, FieldType, HeapState, LocatedValues, ObjectId, Quiet,
    RecordedValues, ReferenceCount, Value, ValuePosition,
};

use crate::columns::class_references;
use crate::read::Reader;
use crate::subrecord::{ClassDump, Sub, parse};
use crate::{DumpBytes, Error};

/// The tag of a primitive array without elements.
const NO_DATA: u8 = 0xc3;

/// Where the values of all objects are.
pub struct Records {
    path: PathBuf,
    id_size: u8,
    /// Of a recorded state; then there are no anchors and no file.
    recorded: Option<LocatedValues>,
    anchor_objects: Column<u32>,
    anchor_positions: Column<u64>,
    content: OnceLock<Option<DumpBytes>>,
}

/// A field of an object with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldValue<'a> {
    /// The class that declares it.
    pub class: ClassId,
    /// As its class declares it.
    pub name: &'a str,
    /// `None` if it was not recorded.
    pub value: Option<Value>,
}

/// Where the values of a field are within the record of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldPlace {
    offset: u32,
    /// How many fields of reference types are before it.
    slot: u32,
    /// What the values are.
    pub ty: FieldType,
}

/// Where the values of an object are in the file.
#[derive(Clone)]
enum ValueLocation {
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
    /// An instance, a class object and an array of references that were recorded.
    Recorded(ValuePosition),
    RecordedClass,
    RecordedObjects {
        at: ValuePosition,
        length: u32,
    },
}

impl Records {
    /// The values in the file at `path`, in which the anchors are places of some objects.
    pub fn new(
        path: &Path,
        id_size: u8,
        anchor_objects: Column<u32>,
        anchor_positions: Column<u64>,
    ) -> Self {
        Records {
            path: path.to_owned(),
            id_size,
            recorded: None,
            anchor_objects,
            anchor_positions,
            content: OnceLock::new(),
        }
    }

    /// The values of a recorded state.
    pub fn recorded(path: &Path, values: RecordedValues) -> Self {
        let id_size = values.id_size;
        Records {
            recorded: Some(LocatedValues::new(values)),
            ..Records::new(path, id_size, Column::default(), Column::default())
        }
    }

    /// What a recorded state has instead of a file.
    pub fn recorded_values(&self) -> Option<&RecordedValues> {
        self.recorded.as_ref().map(|recorded| &recorded.values)
    }

    /// Whether fields and elements of that type can be read. Dumps have all of them; of
    /// recorded states those of primitive types may not have been asked for.
    pub fn has(&self, ty: FieldType) -> bool {
        self.recorded_values().is_none_or(|values| match ty {
            FieldType::Object => values.present.is_some(),
            _ => values.contents.is_some(),
        })
    }

    /// Whether texts and values of primitive types can be read.
    pub fn has_contents(&self) -> bool {
        self.has(FieldType::Byte)
    }

    /// The objects whose places are remembered, and these places.
    pub fn anchors(&self) -> (&[u32], &[u64]) {
        (&self.anchor_objects, &self.anchor_positions)
    }

    /// Makes the file available without opening it again.
    pub(crate) fn keep(&self, content: DumpBytes) {
        let _ = self.content.set(Some(content));
    }

    /// The file that the values are in, or that the recorded state comes from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Goes on with the file that somebody else has open.
    pub fn take_over(&self, other: Records) {
        if let Some(Some(content)) = other.content.into_inner() {
            self.keep(content);
        }
    }

    /// Opens the file, unless that is done; the values of later calls need it.
    pub fn open(&self) -> Result<(), Error> {
        if self.content.get().is_none() && self.recorded.is_none() {
            self.keep(DumpBytes::open(&self.path, &Quiet)?);
        }
        Ok(())
    }

    fn bytes(&self) -> &[u8] {
        if let Some(recorded) = &self.recorded {
            return recorded.contents().unwrap_or_default();
        }
        let content = self
            .content
            .get_or_init(|| DumpBytes::open(&self.path, &Quiet).ok());
        content.as_ref().map_or(&[], |content| content.bytes())
    }

    fn place(&self, state: &HeapState, object: ObjectId) -> Option<ValueLocation> {
        self.cursor().place(state, object)
    }

    /// Reads on from object to object.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor {
            records: self,
            bytes: self.bytes(),
            position: 0,
            next: ObjectId::MAX,
            end: 0,
            found: None,
            found_at: 0,
            known: ValuePosition::default(),
            counted: ReferenceCount::default(),
            strings: None,
        }
    }

    /// The fields of objects of a class with the classes that declare them, in the order of the
    /// file: superclasses' fields last.
    pub fn field_places<'a>(
        &self,
        state: &'a HeapState,
        class: ClassId,
    ) -> impl Iterator<Item = (ClassId, &'a Field, FieldPlace)> + use<'a> {
        let id_size = u32::from(self.id_size);
        let (mut offset, mut slot) = (0u32, 0);
        let classes = state.superclasses(class);
        let fields = classes.flat_map(|class| {
            let declared = &state.classes()[class as usize].fields;
            declared.iter().map(move |field| (class, field))
        });
        fields.map(move |(class, field)| {
            let place = FieldPlace {
                offset,
                slot,
                ty: field.ty,
            };
            slot += u32::from(field.ty == FieldType::Object);
            offset = offset.saturating_add(field.ty.size(id_size));
            (class, field, place)
        })
    }

    /// The fields of objects of a class that are references, without the referent that the heap state
    /// keeps apart.
    pub fn reference_places<'a>(
        &self,
        state: &'a HeapState,
        class: ClassId,
    ) -> impl Iterator<Item = (&'a Field, FieldPlace)> + use<'a> {
        let classes = state.classes();
        let of = &classes[class as usize];
        let fields = self.field_places(state, class);
        let references = fields.filter(move |(declaring, field, _)| {
            let declaring = &classes[*declaring as usize];
            field.ty == FieldType::Object && !of.is_referent(declaring, field)
        });
        references.map(|(_, field, place)| (field, place))
    }

    /// Where objects of a class have the field of that name nearest to their own class.
    pub fn field_place(&self, state: &HeapState, class: ClassId, name: &str) -> Option<FieldPlace> {
        let mut fields = self.field_places(state, class);
        fields.find_map(|(_, field, place)| (field.name == name).then_some(place))
    }

    /// The instance fields of an object, superclasses' fields last, or nothing for arrays and
    /// class objects.
    pub fn fields<'a>(&self, state: &'a HeapState, object: ObjectId) -> Vec<FieldValue<'a>> {
        let mut cursor = self.cursor();
        let recorded = match cursor.place(state, object) {
            Some(ValueLocation::Instance(_)) => false,
            Some(ValueLocation::Recorded(_)) => true,
            _ => return Vec::new(),
        };
        let mut fields = Vec::new();
        for (class, field, place) in self.field_places(state, state.class_id(object)) {
            let value = cursor.field(state, object, place);
            // The record of a damaged object may end before its fields do.
            if value.is_none() && !recorded {
                break;
            }
            fields.push(FieldValue {
                class,
                name: &field.name,
                value,
            });
        }
        fields
    }

    /// The value of the field of that name nearest to the object's own class.
    pub fn field(&self, state: &HeapState, object: ObjectId, name: &str) -> Option<Value> {
        let place = self.field_place(state, state.class_id(object), name)?;
        self.cursor().field(state, object, place)
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
        let mut cursor = self.cursor();
        let length = state.array_length(object).unwrap_or(0);
        (range.start..range.end.min(length))
            .map_while(|index| cursor.element(state, object, index))
            .collect()
    }

    /// The text of a `java.lang.String`.
    pub fn string(&self, state: &HeapState, object: ObjectId) -> Option<String> {
        self.text(state, object, usize::MAX)
    }

    /// The first `most` characters of a `java.lang.String`.
    pub fn text(&self, state: &HeapState, object: ObjectId, most: usize) -> Option<String> {
        self.cursor().text(&mut self.cursor(), state, object, most)
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

    /// The name that a class loader was given.
    pub fn loader_name(&self, state: &HeapState, loader: ObjectId) -> Option<String> {
        const LONGEST: usize = 1024;
        let known = &state.tables.loader_names;
        if let Ok(index) = known.binary_search_by_key(&loader, |name| name.0) {
            return Some(known[index].1.clone());
        }
        // A subclass may have a field of that name for something else.
        let mut fields = self.field_places(state, state.class_id(loader));
        let (_, _, place) = fields.find(|(class, field, _)| {
            field.name == "name" && state.classes()[*class as usize].name == "java.lang.ClassLoader"
        })?;
        match self.cursor().field(state, loader, place)? {
            Value::Object(address) => self.text(state, state.addresses.find(address)?, LONGEST),
            _ => None,
        }
    }

    /// How `from` names its reference to `to`: a field, an index, a static field. The first of
    /// several, and `None` if there is none in the file. A referent is no such reference.
    pub fn reference_name(
        &self,
        state: &HeapState,
        from: ObjectId,
        to: ObjectId,
    ) -> Option<String> {
        let address = Value::Object(state.addresses.address(to));
        match self.place(state, from)? {
            ValueLocation::Instance(_) | ValueLocation::Recorded(_) => {
                let mut cursor = self.cursor();
                let mut places = self.reference_places(state, state.class_id(from));
                let (field, _) =
                    places.find(|(_, place)| cursor.field(state, from, *place) == Some(address))?;
                Some(field.name.clone())
            }
            ValueLocation::RecordedObjects { at, length } => {
                let mut references = state.references(from).iter();
                let index = references.position(|&reference| reference == to)?;
                let slot = self.recorded.as_ref()?.slot_of(at, length, index)?;
                Some(format!("[{slot}]"))
            }
            ValueLocation::RecordedClass => {
                let class = &state.classes()[state.mirrored(from)? as usize];
                let field = class.statics.iter().find(|field| field.value == address)?;
                Some(format!("static {}", field.name))
            }
            ValueLocation::Objects { length, .. } => {
                let index = self
                    .elements(state, from, 0..length)
                    .iter()
                    .position(|&value| value == address)?;
                Some(format!("[{index}]"))
            }
            ValueLocation::Class { start } => {
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
            ValueLocation::Primitives { .. } => None,
        }
    }
}

/// Finds objects that are asked for in ascending order by reading on, without a search for each.
pub struct Cursor<'r> {
    records: &'r Records,
    bytes: &'r [u8],
    /// Where to read on.
    position: usize,
    /// The object whose record comes next there.
    next: ObjectId,
    /// The first object that cannot be found by reading on: an anchor of its own has its place.
    end: ObjectId,
    /// The object found last.
    found: Option<(ObjectId, ValueLocation)>,
    /// Where its record begins.
    found_at: usize,
    /// Where the values of the recorded object found last are.
    known: ValuePosition,
    counted: ReferenceCount,
    /// Of the class whose text was asked for last, if it is that of strings.
    strings: Option<(ClassId, Option<StringFields>)>,
}

/// Where strings have their fields.
#[derive(Clone, Copy)]
struct StringFields {
    value: FieldPlace,
    coder: Option<FieldPlace>,
    offset: Option<FieldPlace>,
    count: Option<FieldPlace>,
}

impl StringFields {
    fn find(records: &Records, state: &HeapState, class: ClassId) -> Option<Self> {
        if state.classes()[class as usize].name != "java.lang.String" {
            return None;
        }
        let place = |name| records.field_place(state, class, name);
        Some(StringFields {
            value: place("value")?,
            coder: place("coder"),
            offset: place("offset"),
            count: place("count"),
        })
    }
}

impl Cursor<'_> {
    fn place(&mut self, state: &HeapState, object: ObjectId) -> Option<ValueLocation> {
        match &self.found {
            Some((found, place)) if *found == object => Some(place.clone()),
            _ if object >= state.len() => None,
            _ => {
                self.found = None;
                let place = match (&self.records.recorded, self.records.id_size) {
                    (Some(recorded), _) => self.recorded_place(recorded, state, object),
                    (None, 4) => self.seek::<4>(state, object),
                    (None, _) => self.seek::<8>(state, object),
                }?;
                self.found = Some((object, place.clone()));
                Some(place)
            }
        }
    }

    fn recorded_place(
        &mut self,
        recorded: &LocatedValues,
        state: &HeapState,
        object: ObjectId,
    ) -> Option<ValueLocation> {
        if state.mirrored(object).is_some() {
            return Some(ValueLocation::RecordedClass);
        }
        let at = recorded.position(state, object, self.known);
        self.known = at;
        let length = state.detail(object);
        match state.class(object).kind {
            ClassKind::Array(FieldType::Object) => {
                Some(ValueLocation::RecordedObjects { at, length })
            }
            ClassKind::Array(element) => {
                recorded.contents()?;
                Some(ValueLocation::Primitives {
                    data: usize::try_from(at.bytes).ok()?,
                    element,
                    length,
                })
            }
            _ => Some(ValueLocation::Recorded(at)),
        }
    }

    /// The name of the heap space an object is in.
    pub fn space<'s>(&mut self, state: &'s HeapState, object: ObjectId) -> Option<&'s str> {
        self.place(state, object)?;
        let spaces = &state.tables.spaces;
        let after = spaces.partition_point(|&(start, _)| start <= self.found_at as u64);
        after.checked_sub(1).map(|space| spaces[space].1.as_str())
    }

    fn seek<const ID: usize>(
        &mut self,
        state: &HeapState,
        object: ObjectId,
    ) -> Option<ValueLocation> {
        if object < self.next || object >= self.end {
            self.jump(object)?;
        }
        loop {
            let (sub, end) = parse::<ID>(self.bytes, self.position)?;
            let found = location_of(self.bytes, self.position, sub, end);
            self.found_at = self.position;
            self.position = end;
            let Some((id, place)) = found.filter(|(id, _)| *id != 0) else {
                continue;
            };
            self.next += 1;
            if self.next > object {
                return (state.addresses.find(id) == Some(object)).then_some(place);
            }
        }
    }

    /// Goes to the nearest place that is remembered.
    fn jump(&mut self, object: ObjectId) -> Option<()> {
        let anchors: &[u32] = &self.records.anchor_objects;
        let after = anchors.partition_point(|&anchor| anchor <= object);
        let anchor = after.checked_sub(1)?;
        self.position = usize::try_from(self.records.anchor_positions[anchor]).ok()?;
        self.next = anchors[anchor];
        self.end = anchors.get(after).copied().unwrap_or(ObjectId::MAX);
        Some(())
    }

    /// The value of a field of an object of the class the place is for.
    pub fn field(
        &mut self,
        state: &HeapState,
        object: ObjectId,
        field: FieldPlace,
    ) -> Option<Value> {
        let id_size = self.records.id_size;
        match self.place(state, object)? {
            ValueLocation::Instance(data) => {
                let position = data.start.checked_add(field.offset as usize)?;
                Reader::new(&self.bytes[..data.end], position, id_size.into()).value(field.ty)
            }
            ValueLocation::Recorded(at) => {
                let recorded = self.records.recorded.as_ref()?;
                if field.ty == FieldType::Object {
                    return recorded.reference(state, at, field.slot);
                }
                let before = field.offset - field.slot * u32::from(id_size);
                let position = usize::try_from(at.bytes + u64::from(before)).ok()?;
                Reader::new(recorded.contents()?, position, 0).value(field.ty)
            }
            _ => None,
        }
    }
}

impl<'r> Cursor<'r> {
    /// The fields of an instance or the elements of an array as they are in the file; `None` for
    /// class objects, where the file leaves the elements out, and of recorded states for all but
    /// arrays of primitive types.
    pub fn raw(&mut self, state: &HeapState, object: ObjectId) -> Option<&'r [u8]> {
        let data = match self.place(state, object)? {
            ValueLocation::Instance(data) => data,
            place => {
                let (data, element, length) = place.array()?;
                if state.array_length(object) != Some(length) {
                    return None;
                }
                let size = element.size(self.records.id_size.into()) as usize;
                data..data.checked_add(length as usize * size)?
            }
        };
        self.bytes.get(data)
    }
}

impl Cursor<'_> {
    /// The first `most` characters of a `java.lang.String`, whose array `arrays` looks for.
    pub fn text(
        &mut self,
        arrays: &mut Cursor,
        state: &HeapState,
        object: ObjectId,
        most: usize,
    ) -> Option<String> {
        let class = state.class_id(object);
        let fields = match self.strings {
            Some((known, fields)) if known == class => fields,
            _ => {
                let fields = StringFields::find(self.records, state, class);
                self.strings = Some((class, fields));
                fields
            }
        }?;
        let Value::Object(address) = self.field(state, object, fields.value)? else {
            return None;
        };
        let array = state.addresses.find(address)?;
        let ValueLocation::Primitives {
            data,
            element,
            length,
        } = arrays.place(state, array)?
        else {
            return None;
        };
        let size = element.size(0) as usize;
        let bytes = self.bytes.get(data..data + length as usize * size)?;
        match element {
            FieldType::Byte => {
                let coder = fields
                    .coder
                    .and_then(|coder| self.field(state, object, coder));
                if coder == Some(Value::Byte(1)) {
                    let most = most.min(bytes.len() / 2);
                    Some(utf16(&bytes[..most * 2], u16::from_le_bytes))
                } else {
                    Some(bytes.iter().take(most).copied().map(char::from).collect())
                }
            }
            FieldType::Char => {
                // Before JDK 7 update 6, strings could share an array.
                let mut int = |place: Option<FieldPlace>| match self.field(state, object, place?)? {
                    Value::Int(value) => usize::try_from(value).ok(),
                    _ => None,
                };
                let length = length as usize;
                let start = int(fields.offset).unwrap_or(0).min(length);
                let count = int(fields.count)
                    .unwrap_or(length)
                    .min(length - start)
                    .min(most);
                Some(utf16(
                    &bytes[start * 2..(start + count) * 2],
                    u16::from_be_bytes,
                ))
            }
            _ => None,
        }
    }

    /// An element of an array.
    pub fn element(&mut self, state: &HeapState, object: ObjectId, index: u32) -> Option<Value> {
        let place = self.place(state, object)?;
        if let ValueLocation::RecordedObjects { at, length } = place {
            let recorded = self.records.recorded.as_ref()?;
            return (index < length)
                .then(|| recorded.element(state, at, index, &mut self.counted))
                .flatten();
        }
        let (data, element, length) = place.array()?;
        if index >= length {
            return None;
        }
        let id_size = self.records.id_size.into();
        let position = data + index as usize * element.size(id_size) as usize;
        Reader::new(self.bytes, position, id_size as usize).value(element)
    }
}

impl ValueLocation {
    /// Where the elements of an array begin, what and how many they are.
    fn array(&self) -> Option<(usize, FieldType, u32)> {
        match *self {
            ValueLocation::Objects { data, length } => Some((data, FieldType::Object, length)),
            ValueLocation::Primitives {
                data,
                element,
                length,
            } => Some((data, element, length)),
            _ => None,
        }
    }
}

/// The object a record is about, and where its values are.
fn location_of(
    bytes: &[u8],
    position: usize,
    sub: Sub,
    end: usize,
) -> Option<(u64, ValueLocation)> {
    match sub {
        Sub::Instance { id, data, len, .. } => {
            Some((id, ValueLocation::Instance(data..data + len)))
        }
        Sub::ObjectArray {
            id, data, length, ..
        } => Some((id, ValueLocation::Objects { data, length })),
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
            let place = ValueLocation::Primitives {
                data,
                element,
                length,
            };
            Some((id, place))
        }
        Sub::Class { id } => {
            let start = position + 1;
            Some((id, ValueLocation::Class { start }))
        }
        Sub::Root { .. } | Sub::Space { .. } => None,
    }
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| unit([pair[0], pair[1]]))
        .collect();
    String::from_utf16_lossy(&units)
}
