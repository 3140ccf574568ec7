//! The agent's symbols as the trace numbers them: names as Java writes them, stacks with lines.

use std::collections::HashMap;

use anthill_heap::{FieldType, Frame};
use anthill_trace::{ThreadName, TraceWriter};
use anthill_wire as wire;

/// Line numbers that are none, as in heap dumps.
const UNKNOWN_LINE: i32 = -1;
const NATIVE: i32 = -3;

/// The methods that the agent has named so far, by its numbers.
#[derive(Clone, Default)]
pub(crate) struct Methods(HashMap<u32, wire::Method>);

impl Methods {
    pub(crate) fn add(&mut self, method: wire::Method) {
        self.0.insert(method.number, method);
    }

    /// A frame in a method at a bytecode index.
    pub(crate) fn frame(&self, method: u32, location: i32) -> Frame {
        let Some(method) = self.0.get(&method) else {
            return unknown_frame();
        };
        Frame {
            class: class_name(&method.class),
            method: method.name.clone(),
            signature: method.signature.clone(),
            source: method.source.clone(),
            line: line(method, location),
        }
    }
}

pub(crate) fn unknown_frame() -> Frame {
    Frame {
        class: "(unknown)".to_owned(),
        method: "(unknown)".to_owned(),
        signature: String::new(),
        source: None,
        line: UNKNOWN_LINE,
    }
}

/// What the agent has named so far, by its numbers.
#[derive(Default)]
pub(crate) struct Names {
    classes: HashMap<u64, u32>,
    methods: Methods,
    stacks: HashMap<u32, u32>,
    threads: HashMap<u32, u32>,
}

impl Names {
    pub(crate) fn add_class(&mut self, class: &wire::Class, writer: &mut TraceWriter) {
        let number = writer.class(&class_name(&class.signature));
        self.classes.insert(class.id, number);
    }

    pub(crate) fn add_method(&mut self, method: wire::Method) {
        self.methods.add(method);
    }

    pub(crate) fn add_stack(&mut self, stack: &wire::Stack, writer: &mut TraceWriter) {
        let frames: Vec<u32> = stack
            .frames
            .iter()
            .map(|frame| writer.frame(&self.methods.frame(frame.method, frame.location)))
            .collect();
        let number = writer.stack(&frames);
        self.stacks.insert(stack.number, number);
    }

    /// The number of a thread that was added.
    pub(crate) fn add_thread(&mut self, thread: &wire::Thread, writer: &mut TraceWriter) -> u32 {
        let number = writer.thread(&ThreadName {
            id: thread.number.into(),
            name: thread.name.clone(),
        });
        self.threads.insert(thread.number, number);
        number
    }

    pub(crate) fn class(&self, id: u64) -> Option<u32> {
        self.classes.get(&id).copied()
    }

    pub(crate) fn stack(&self, number: u32) -> Option<u32> {
        self.stacks.get(&number).copied()
    }

    pub(crate) fn thread(&self, number: u32) -> Option<u32> {
        self.threads.get(&number).copied()
    }
}

/// The line of the last entry that begins at or before the location.
fn line(method: &wire::Method, location: i32) -> i32 {
    let Ok(location) = u32::try_from(location) else {
        return NATIVE;
    };
    let before = method.lines.iter().filter(|(start, _)| *start <= location);
    let nearest = before.max_by_key(|(start, _)| *start);
    nearest.map_or(UNKNOWN_LINE, |&(_, line)| line as i32)
}

/// `[Ljava/lang/String;` is `java.lang.String[]`, `[I` is `int[]`, and a hidden class has a slash
/// before its number as in heap dumps.
pub(crate) fn class_name(signature: &str) -> String {
    let plain = signature
        .strip_prefix('L')
        .and_then(|name| name.strip_suffix(';'));
    anthill_hprof::java_name(plain.unwrap_or(signature)).replace(".0x", "/0x")
}

/// The type that a signature means.
pub(crate) fn field_type(signature: &str) -> FieldType {
    match signature {
        "Z" => FieldType::Boolean,
        "C" => FieldType::Char,
        "F" => FieldType::Float,
        "D" => FieldType::Double,
        "B" => FieldType::Byte,
        "S" => FieldType::Short,
        "I" => FieldType::Int,
        "J" => FieldType::Long,
        _ => FieldType::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_become_names() {
        assert_eq!(class_name("Ljava/lang/String;"), "java.lang.String");
        assert_eq!(
            class_name("[[Ljava/util/Map$Entry;"),
            "java.util.Map$Entry[][]"
        );
        assert_eq!(class_name("[I"), "int[]");
        assert_eq!(class_name("[[Z"), "boolean[][]");
        assert_eq!(class_name("LMain$$Lambda.0x7f;"), "Main$$Lambda/0x7f");
        assert_eq!(class_name(""), "");
    }

    #[test]
    fn a_line_is_that_of_the_last_entry_before() {
        let method = wire::Method {
            number: 1,
            class: "LMain;".to_owned(),
            name: "main".to_owned(),
            signature: "()V".to_owned(),
            source: None,
            // javac writes loops with their condition last.
            lines: vec![(0, 10), (20, 12), (8, 11)],
        };
        assert_eq!(
            [0, 7, 8, 19, 20, 99].map(|at| line(&method, at)),
            [10, 10, 11, 11, 12, 12]
        );
        assert_eq!(line(&method, -1), NATIVE);
    }
}
