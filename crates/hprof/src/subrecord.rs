//! The records inside a heap dump record: roots, classes, objects, arrays.

use anthill_heap::{FieldType, RootOrigin};

use crate::read::{Reader, field_type, id_at, u32_at};

/// One sub-record, borrowed from the bytes it was read from. Positions are absolute.
pub(crate) enum Sub {
    Root {
        object: u64,
        origin: RootOrigin,
        thread: Option<u32>,
        frame: Option<u32>,
        trace: Option<u32>,
    },
    Class {
        id: u64,
    },
    Instance {
        id: u64,
        trace: u32,
        class: u64,
        data: usize,
        len: usize,
    },
    ObjectArray {
        id: u64,
        trace: u32,
        class: u64,
        data: usize,
        length: u32,
    },
    PrimitiveArray {
        id: u64,
        trace: u32,
        element: FieldType,
        length: u32,
    },
    /// The objects after it are in the heap space of this name.
    Space {
        name: u64,
    },
}

/// Parses the sub-record at `position` and tells where the next begins. `None` if the tag is
/// unknown or the record does not end within `bytes`.
#[inline(always)]
pub(crate) fn parse<const ID: usize>(bytes: &[u8], position: usize) -> Option<(Sub, usize)> {
    let tag = *bytes.get(position)?;
    let body = position + 1;
    let left = bytes.len() - body;
    match tag {
        0x21 => {
            let head = 2 * ID + 8;
            if left < head {
                return None;
            }
            let len = u32_at(bytes, body + 2 * ID + 4) as usize;
            let data = body + head;
            if left - head < len {
                return None;
            }
            let (id, trace, class) = (
                id_at::<ID>(bytes, body),
                u32_at(bytes, body + ID),
                id_at::<ID>(bytes, body + ID + 4),
            );
            Some((
                Sub::Instance {
                    id,
                    trace,
                    class,
                    data,
                    len,
                },
                data + len,
            ))
        }
        0x22 => {
            let head = 2 * ID + 8;
            if left < head {
                return None;
            }
            let length = u32_at(bytes, body + ID + 4);
            let (id, trace, class) = (
                id_at::<ID>(bytes, body),
                u32_at(bytes, body + ID),
                id_at::<ID>(bytes, body + ID + 8),
            );
            let data = body + head;
            // Format 1.0 wrote primitive arrays as object arrays of a type code.
            let primitive = (class < 12).then(|| field_type(class as u8)).flatten();
            if let Some(element) = primitive.filter(|&element| element != FieldType::Object) {
                let end = array_end(data, left - head, length, element.size(0) as usize)?;
                return Some((
                    Sub::PrimitiveArray {
                        id,
                        trace,
                        element,
                        length,
                    },
                    end,
                ));
            }
            let end = array_end(data, left - head, length, ID)?;
            Some((
                Sub::ObjectArray {
                    id,
                    trace,
                    class,
                    data,
                    length,
                },
                end,
            ))
        }
        0x23 => {
            let head = ID + 9;
            if left < head {
                return None;
            }
            let element = field_type(bytes[body + ID + 8]).filter(|&ty| ty != FieldType::Object)?;
            let length = u32_at(bytes, body + ID + 4);
            let end = array_end(body + head, left - head, length, element.size(0) as usize)?;
            let (id, trace) = (id_at::<ID>(bytes, body), u32_at(bytes, body + ID));
            Some((
                Sub::PrimitiveArray {
                    id,
                    trace,
                    element,
                    length,
                },
                end,
            ))
        }
        _ => parse_rare(bytes, position, ID),
    }
}

#[inline(always)]
fn array_end(data: usize, left: usize, length: u32, element: usize) -> Option<usize> {
    let len = length as usize * element;
    (len <= left).then_some(data + len)
}

#[inline(never)]
fn parse_rare(bytes: &[u8], position: usize, id_size: usize) -> Option<(Sub, usize)> {
    let tag = bytes[position];
    let mut reader = Reader::new(bytes, position + 1, id_size);
    let mut root = |origin, extra: fn(&mut Reader, &mut Details) -> Option<()>| {
        let object = reader.id()?;
        let mut details = Details::default();
        extra(&mut reader, &mut details)?;
        let Details {
            thread,
            frame,
            trace,
        } = details;
        Some(Sub::Root {
            object,
            origin,
            thread,
            frame,
            trace,
        })
    };
    let nothing = |_: &mut Reader, _: &mut Details| Some(());
    let sub = match tag {
        0xff => root(RootOrigin::Unknown, nothing)?,
        0x01 => root(RootOrigin::JniGlobal, |reader, _| reader.id().map(drop))?,
        0x02 => root(RootOrigin::JniLocal, Details::thread_and_frame)?,
        0x03 => root(RootOrigin::JavaFrame, Details::thread_and_frame)?,
        0x04 => root(RootOrigin::NativeStack, Details::thread)?,
        0x05 => root(RootOrigin::StickyClass, nothing)?,
        0x06 => root(RootOrigin::ThreadBlock, Details::thread)?,
        0x07 => root(RootOrigin::MonitorUsed, nothing)?,
        0x08 => root(RootOrigin::ThreadObject, |reader, details| {
            details.thread = Some(reader.u4()?);
            details.trace = Some(reader.u4()?);
            Some(())
        })?,
        0x89 => root(RootOrigin::InternedString, nothing)?,
        0x8a => root(RootOrigin::Finalizing, nothing)?,
        0x8b => root(RootOrigin::Debugger, nothing)?,
        0x8c => root(RootOrigin::ReferenceCleanup, nothing)?,
        0x8d => root(RootOrigin::VmInternal, nothing)?,
        0x8e => root(RootOrigin::JniMonitor, Details::thread_and_frame)?,
        0x90 => root(RootOrigin::Unreachable, nothing)?,
        0x20 => {
            let class = ClassDump::parse(&mut reader)?;
            Sub::Class { id: class.id }
        }
        0xfe => {
            reader.u4()?;
            Sub::Space { name: reader.id()? }
        }
        0xc3 => {
            let (id, trace, length) = (reader.id()?, reader.u4()?, reader.u4()?);
            let element = field_type(reader.u1()?).filter(|&ty| ty != FieldType::Object)?;
            Sub::PrimitiveArray {
                id,
                trace,
                element,
                length,
            }
        }
        _ => return None,
    };
    Some((sub, reader.position))
}

#[derive(Default)]
struct Details {
    thread: Option<u32>,
    frame: Option<u32>,
    trace: Option<u32>,
}

impl Details {
    fn thread(reader: &mut Reader, details: &mut Details) -> Option<()> {
        details.thread = Some(reader.u4()?);
        Some(())
    }

    fn thread_and_frame(reader: &mut Reader, details: &mut Details) -> Option<()> {
        Details::thread(reader, details)?;
        details.frame = Some(reader.u4()?).filter(|&frame| frame != u32::MAX);
        Some(())
    }
}

/// A class dump with names still as string ids.
pub(crate) struct ClassDump<'a> {
    pub id: u64,
    pub super_class: u64,
    pub loader: u64,
    pub signers: u64,
    pub protection_domain: u64,
    /// References in the constant pool.
    pub constants: Vec<u64>,
    pub statics: Vec<(u64, anthill_heap::Value)>,
    /// Name id and type code of each instance field, as bytes.
    fields: &'a [u8],
    id_size: usize,
}

impl<'a> ClassDump<'a> {
    /// The body of a class dump, after its tag.
    pub(crate) fn parse(reader: &mut Reader<'a>) -> Option<Self> {
        let id = reader.id()?;
        reader.u4()?;
        let (super_class, loader, signers, protection_domain) =
            (reader.id()?, reader.id()?, reader.id()?, reader.id()?);
        reader.skip(2 * reader.id_size + 4)?;
        let mut constants = Vec::new();
        for _ in 0..reader.u2()? {
            reader.u2()?;
            let ty = field_type(reader.u1()?)?;
            if let anthill_heap::Value::Object(object) = reader.value(ty)? {
                constants.push(object);
            }
        }
        let mut statics = Vec::new();
        for _ in 0..reader.u2()? {
            let name = reader.id()?;
            let ty = field_type(reader.u1()?)?;
            statics.push((name, reader.value(ty)?));
        }
        let fields = usize::from(reader.u2()?) * (reader.id_size + 1);
        let fields = reader.take(fields)?;
        let id_size = reader.id_size;
        Some(ClassDump {
            id,
            super_class,
            loader,
            signers,
            protection_domain,
            constants,
            statics,
            fields,
            id_size,
        })
    }

    /// Name ids and types of the instance fields; a field of unknown type ends the list.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (u64, FieldType)> + '_ {
        let mut reader = Reader::new(self.fields, 0, self.id_size);
        std::iter::from_fn(move || Some((reader.id()?, field_type(reader.u1()?)?)))
    }
}
