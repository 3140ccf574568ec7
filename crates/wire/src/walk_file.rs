//! The file of a walk: every object reachable from the roots with its class and size, every reference, every root,
//! in the order the JVM came across them.
//!
//! The file is [`MAGIC`], then records, the last of them [`Record::End`]. A record is its kind (u8) and its fields
//! in order, little-endian. Each object has one record, which may come after records that name it. An object's edge to its class is not written: the object's record has the class. Classes and
//! their fields come as [`Class`](crate::Class) and [`Shape`](crate::Shape) messages.

use crate::codec::{Input, Malformed, Value, kinds};

/// What the file begins with.
pub const MAGIC: &[u8; 8] = b"ANTWALK1";

kinds! {
    /// Numbered as JVMTI numbers them.
    pub enum ReferenceKind {
        /// From a field of an instance; `index` is the field, see [`field_places`](crate::field_places).
        Field = 2,
        /// From an element of an array; `index` is its index.
        Element = 3,
        // The following come from a class object.
        /// To the loader of the class.
        ClassLoader = 4,
        /// To those who signed the class.
        Signers = 5,
        /// To the protection domain of the class.
        ProtectionDomain = 6,
        /// To an interface that the class names itself.
        Interface = 7,
        /// `index` is the field, see [`field_places`](crate::field_places).
        StaticField = 8,
        /// `index` is the index in the constant pool.
        ConstantPool = 9,
        /// To the superclass.
        Superclass = 10,
        /// A kind the JVM knows and we do not.
        Other = 11,
    }

    /// Numbered as JVMTI numbers them.
    pub enum RootKind {
        /// A global handle of native code.
        JniGlobal = 21,
        /// A class that is never unloaded.
        SystemClass = 22,
        /// An object that is locked or waited for.
        Monitor = 23,
        /// A variable of a method that runs.
        StackLocal = 24,
        /// A local handle of native code that runs.
        JniLocal = 25,
        /// A thread that runs.
        Thread = 26,
        /// A kind the JVM knows and we do not.
        Other = 27,
    }
}

/// What the JVM came across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An object, once.
    Object {
        /// What other records call it.
        id: u64,
        /// Of its class; 0 if it is not known.
        class: u64,
        /// In bytes.
        size: u64,
        /// Of an array; -1 otherwise.
        length: i32,
    },
    /// A reference between two objects.
    Reference {
        /// Where in `from` it is.
        kind: ReferenceKind,
        /// The id of the object that refers.
        from: u64,
        /// The id of the object that is referred to.
        to: u64,
        /// -1 where the kind has none.
        index: i32,
    },
    /// A reference from outside the heap.
    Root {
        /// What keeps the object alive.
        kind: RootKind,
        /// The id of the object.
        object: u64,
        /// The call whose variable or handle it is, if it is one.
        frame: Option<RootFrame>,
    },
    /// Nothing is missing before it.
    End {
        /// How many records of objects there are.
        objects: u64,
        /// How many records of references there are.
        references: u64,
        /// How many records of roots there are.
        roots: u64,
    },
}

/// Where a root on a stack is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootFrame {
    /// `Thread.getId()`.
    pub thread: u64,
    /// The id of the thread object; 0 if it was not seen before.
    pub thread_object: u64,
    /// Frames above it.
    pub depth: i32,
    /// Of a [`Method`](crate::Method), 0 if not known.
    pub method: u32,
    /// Bytecode index; -1 if not known.
    pub location: i32,
    /// Of a local variable; -1 if not known.
    pub slot: i32,
}

const OBJECT: u8 = 1;
const REFERENCE: u8 = 2;
const ROOT: u8 = 3;
const ROOT_IN_FRAME: u8 = 4;
const END: u8 = 5;

impl Record {
    /// Appends the record.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Record::Object {
                id,
                class,
                size,
                length,
            } => {
                out.push(OBJECT);
                id.put(out);
                class.put(out);
                size.put(out);
                length.put(out);
            }
            Record::Reference {
                kind,
                from,
                to,
                index,
            } => {
                out.push(REFERENCE);
                kind.put(out);
                from.put(out);
                to.put(out);
                index.put(out);
            }
            Record::Root {
                kind,
                object,
                frame,
            } => {
                out.push(if frame.is_some() { ROOT_IN_FRAME } else { ROOT });
                kind.put(out);
                object.put(out);
                if let Some(frame) = frame {
                    frame.put(out);
                }
            }
            Record::End {
                objects,
                references,
                roots,
            } => {
                out.push(END);
                objects.put(out);
                references.put(out);
                roots.put(out);
            }
        }
    }

    fn decode(input: &mut Input<'_>) -> Result<Record, Malformed> {
        Ok(match u8::get(input)? {
            OBJECT => Record::Object {
                id: Value::get(input)?,
                class: Value::get(input)?,
                size: Value::get(input)?,
                length: Value::get(input)?,
            },
            REFERENCE => Record::Reference {
                kind: Value::get(input)?,
                from: Value::get(input)?,
                to: Value::get(input)?,
                index: Value::get(input)?,
            },
            kind @ (ROOT | ROOT_IN_FRAME) => Record::Root {
                kind: Value::get(input)?,
                object: Value::get(input)?,
                frame: match kind {
                    ROOT => None,
                    _ => Some(RootFrame::get(input)?),
                },
            },
            END => Record::End {
                objects: Value::get(input)?,
                references: Value::get(input)?,
                roots: Value::get(input)?,
            },
            other => return input.fail(format!("{other} is no record of a walk")),
        })
    }
}

impl Value for RootFrame {
    const LEAST: usize = 32;

    fn put(&self, out: &mut Vec<u8>) {
        self.thread.put(out);
        self.thread_object.put(out);
        self.depth.put(out);
        self.method.put(out);
        self.location.put(out);
        self.slot.put(out);
    }

    fn get(input: &mut Input<'_>) -> Result<Self, Malformed> {
        Ok(RootFrame {
            thread: Value::get(input)?,
            thread_object: Value::get(input)?,
            depth: Value::get(input)?,
            method: Value::get(input)?,
            location: Value::get(input)?,
            slot: Value::get(input)?,
        })
    }
}

/// The records of a walk's file, in order. After an error or the end record there are no more.
pub struct Records<'a> {
    input: Input<'a>,
    done: bool,
}

impl<'a> Records<'a> {
    /// Fails if the bytes are no walk.
    pub fn new(file: &'a [u8]) -> Result<Records<'a>, Malformed> {
        let mut input = Input::new(file);
        if input.take(MAGIC.len())? != MAGIC {
            return Err(Malformed {
                offset: 0,
                reason: "this is no file of a walk".to_owned(),
            });
        }
        Ok(Records { input, done: false })
    }

    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.input.offset()
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Record, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let record = Record::decode(&mut self.input);
        self.done = !matches!(&record, Ok(record) if !matches!(record, Record::End { .. }));
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Vec<Record> {
        vec![
            Record::Object {
                id: 7,
                class: 3,
                size: 24,
                length: -1,
            },
            Record::Root {
                kind: RootKind::SystemClass,
                object: 7,
                frame: None,
            },
            Record::Root {
                kind: RootKind::StackLocal,
                object: 7,
                frame: Some(RootFrame {
                    thread: 1,
                    thread_object: 9,
                    depth: 2,
                    method: 4,
                    location: -1,
                    slot: 5,
                }),
            },
            Record::Reference {
                kind: ReferenceKind::Element,
                from: 7,
                to: 7,
                index: 12,
            },
            Record::End {
                objects: 1,
                references: 1,
                roots: 2,
            },
        ]
    }

    fn file() -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        for record in records() {
            record.encode(&mut file);
        }
        file
    }

    #[test]
    fn a_walk_comes_back_as_it_was_written() {
        let file = file();
        let read: Result<Vec<_>, _> = Records::new(&file).unwrap().collect();
        assert_eq!(read.unwrap(), records());
    }

    #[test]
    fn a_walk_that_is_cut_off_anywhere_ends_with_an_error() {
        let file = file();
        for end in MAGIC.len()..file.len() {
            let last = Records::new(&file[..end]).unwrap().last();
            assert!(last.is_some_and(|record| record.is_err()), "cut at {end}");
        }
        for end in 0..MAGIC.len() {
            assert!(Records::new(&file[..end]).is_err());
        }
    }
}
