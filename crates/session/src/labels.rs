//! What a person needs to recognise an object, a reference or a root.

use std::fmt;

use anthill_graph::{EdgeKind, Graph, NodeId};
use anthill_heap::{ClassId, ClassKind, Frame, ObjectId, Root, RootOrigin, Strength, Value};

use crate::Session;

/// Characters of a string that are shown.
const SNIPPET: usize = 60;

const THREAD: &str = "java.lang.Thread";
const CLASS_LOADER: &str = "java.lang.ClassLoader";
const ENUM: &str = "java.lang.Enum";

/// How an object is named: `java.lang.String "text" @ 0x7f00`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The class; for a class object `class` and the class it stands for, for an array with its
    /// length.
    pub what: String,
    /// The text of a string, the name of a thread or class loader, the value in a box, the name of an enum
    /// constant, the field that holds a thread-local variable.
    pub detail: Option<String>,
    /// Where it was.
    pub address: u64,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(detail) = &self.detail {
            write!(f, " {detail}")?;
        }
        write!(f, " @ {:#x}", self.address)
    }
}

/// Text in quotes, with control characters escaped, cut to `limit` characters.
pub fn quoted(text: &str, limit: usize) -> String {
    let mut out = String::from("\"");
    let mut chars = text.chars();
    for char in chars.by_ref().take(limit) {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            char if char.is_control() => out += &format!("\\u{:04x}", u32::from(char)),
            char => out.push(char),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out.push('"');
    out
}

impl Session {
    /// How an object is named.
    pub fn label(&self, node: NodeId) -> Label {
        let address = self.address(node);
        let state = self.state();
        if node >= state.len() {
            return Label {
                what: "the system class loader".to_owned(),
                detail: None,
                address,
            };
        }
        let class = state.class(node);
        let what = match (state.mirrored(node), state.array_length(node)) {
            (Some(mirrored), _) => format!("class {}", state.classes()[mirrored as usize].name),
            (_, Some(length)) => with_length(&class.name, length),
            _ => class.name.clone(),
        };
        Label {
            what,
            detail: self.detail(node),
            address,
        }
    }

    fn detail(&self, object: ObjectId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        match state.class(object).name.as_str() {
            "java.lang.String" => Some(quoted(&records.string(state, object)?, SNIPPET)),
            "java.lang.Integer"
            | "java.lang.Long"
            | "java.lang.Short"
            | "java.lang.Byte"
            | "java.lang.Character"
            | "java.lang.Boolean"
            | "java.lang.Float"
            | "java.lang.Double"
            | "java.util.concurrent.atomic.AtomicInteger"
            | "java.util.concurrent.atomic.AtomicLong" => {
                Some(primitive(records.field(state, object, "value")?))
            }
            _ => {
                let own_name = self.own_name(object).map(|name| quoted(&name, SNIPPET));
                own_name
                    .or_else(|| self.enum_constant(object))
                    .or_else(|| self.thread_local_field(object).map(str::to_owned))
            }
        }
    }

    /// The name that a thread or a class loader was given; for a loader without one, what it loads.
    fn own_name(&self, object: ObjectId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        let mut classes = state
            .superclasses(state.class_id(object))
            .map(|class| state.classes()[class as usize].name.as_str());
        match classes.find(|&class| matches!(class, THREAD | CLASS_LOADER))? {
            THREAD => records.thread_name(state, object).or_else(|| {
                // Recorded states have names of threads also without the contents of strings.
                let mut threads = state.tables.threads.iter();
                let thread = threads.find(|thread| thread.object == Some(object))?;
                thread.name.clone()
            }),
            _ => {
                let name = records.loader_name(state, object);
                name.or_else(|| self.loader_subject(object))
            }
        }
    }

    /// A class loader as results name it: `boot`, or the label of the object.
    pub fn loader_name(&self, loader: Option<ObjectId>) -> String {
        loader.map_or("boot".to_owned(), |loader| self.label(loader).to_string())
    }

    /// The name of a constant of an enum.
    pub fn enum_constant(&self, object: ObjectId) -> Option<String> {
        let (state, records) = (self.state(), self.records());
        if !state.extends(state.class_id(object), ENUM) {
            return None;
        }
        records.string(state, records.field_object(state, object, "name")?)
    }

    /// How `from` holds `to` by an edge of that kind, as one reads it in the source: `field`,
    /// `[17]`, `static field`; other edges in words. The first of several.
    pub fn edge_name(&self, from: NodeId, to: NodeId, kind: EdgeKind) -> String {
        let name = match kind {
            EdgeKind::Reference => self.records().reference_name(self.state(), from, to),
            EdgeKind::Referent => self
                .state()
                .referent(from)
                .map(|(_, strength)| referent_name(strength).to_owned()),
            _ => None,
        };
        name.unwrap_or_else(|| kind_name(kind).to_owned())
    }

    /// How `from` holds `to`, in words; nothing if no reference that keeps alive leads there.
    pub fn reference_name(&self, graph: &Graph, from: NodeId, to: NodeId) -> Option<String> {
        edge_kind(graph, from, to).map(|kind| self.edge_name(from, to, kind))
    }

    /// A static field in words: `static field Registry.all`.
    pub fn static_field_name(&self, class: ClassId, field: &str) -> String {
        let class = &self.state().classes()[class as usize].name;
        format!("static field {class}.{field}")
    }

    /// Whether an object is a thread.
    pub fn is_thread(&self, node: NodeId) -> bool {
        let state = self.state();
        node < state.len() && state.extends(state.class_id(node), THREAD)
    }

    /// A root in words, e.g. `local variable in thread "main" at Main.run(Main.java:12)`.
    pub fn root_name(&self, root: &Root) -> String {
        let mut name = root.origin.label().to_owned();
        if let Some(thread) = self.root_thread(root) {
            name += &format!(" in thread {}", quoted(&thread, SNIPPET));
        }
        if let Some(frame) = self.root_frame(root) {
            name += &format!(" at {}", frame_name(frame));
        }
        name
    }

    /// The name of the thread a root belongs to, unless it is the thread.
    pub fn root_thread(&self, root: &Root) -> Option<String> {
        let thread = &self.state().tables.threads[root.thread? as usize];
        (root.origin != RootOrigin::ThreadObject).then(|| {
            let serial = || format!("thread {}", thread.serial);
            thread.name.clone().unwrap_or_else(serial)
        })
    }

    /// The stack frame a root belongs to.
    pub fn root_frame(&self, root: &Root) -> Option<&Frame> {
        let tables = &self.state().tables;
        let trace = tables.threads[root.thread? as usize].trace?;
        let frame = *tables.traces[trace as usize]
            .frames
            .get(root.frame? as usize)?;
        tables.frames.get(frame as usize)
    }
}

/// A stack frame as Java prints it: `Main.run(Main.java:12)`.
pub fn frame_name(frame: &Frame) -> String {
    let source = frame.source.as_deref().unwrap_or("Unknown Source");
    let place = match frame.line {
        -3 => "Native Method".to_owned(),
        line if line > 0 => format!("{source}:{line}"),
        _ => source.to_owned(),
    };
    format!("{}.{}({place})", frame.class, frame.method)
}

/// A name without the numbers that the JVM gives hidden classes in every run anew.
pub fn stable_name(name: &str) -> String {
    match name.split_once("/0x") {
        Some((class, rest)) => {
            let after = rest.trim_start_matches(|char: char| char.is_ascii_hexdigit());
            let class = class.trim_end_matches(|char: char| char.is_ascii_digit());
            format!("{}{after}", class.trim_end_matches('$'))
        }
        None => name.to_owned(),
    }
}

/// Why there is an edge; elements of an array are not searched, for there can be millions.
pub fn edge_kind(graph: &Graph, from: NodeId, to: NodeId) -> Option<EdgeKind> {
    let class = graph.class(from).filter(|_| from < graph.state.len());
    let is_array = class.is_some_and(|class| {
        matches!(
            graph.state.classes()[class as usize].kind,
            ClassKind::Array(_)
        )
    });
    if is_array {
        return Some(if graph.class_object(from) == Some(to) {
            EdgeKind::Class
        } else {
            EdgeKind::Reference
        });
    }
    graph
        .edges(from)
        .find(|edge| edge.0 == to)
        .map(|edge| edge.1)
}

fn kind_name(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Reference => "reference",
        EdgeKind::Class => "class",
        EdgeKind::Superclass => "superclass",
        EdgeKind::Loader => "class loader",
        EdgeKind::Signers => "signers",
        EdgeKind::ProtectionDomain => "protection domain",
        EdgeKind::ClassField(field) => field.name(),
        EdgeKind::Referent => "referent",
        EdgeKind::Local => "local variable",
    }
}

fn referent_name(strength: Strength) -> &'static str {
    match strength {
        Strength::Strong => "referent",
        Strength::Soft => "referent (soft)",
        Strength::Weak => "referent (weak)",
        Strength::Phantom => "referent (phantom)",
        Strength::Finalizer => "referent (finalizer)",
    }
}

/// `int[][]` with 20 elements is `int[20][]`.
fn with_length(name: &str, length: u32) -> String {
    let element = name.trim_end_matches("[]");
    let further = name[element.len()..].get(2..).unwrap_or("");
    format!("{element}[{length}]{further}")
}

/// A value that is no reference, as Java prints it.
pub fn primitive(value: Value) -> String {
    match value {
        Value::Object(address) => format!("{address:#x}"),
        Value::Boolean(value) => value.to_string(),
        Value::Char(unit) => {
            let text = String::from_utf16_lossy(&[unit]);
            format!("'{}'", quoted(&text, 1).trim_matches('"'))
        }
        Value::Float(value) => float(value.into(), value.to_string(), format!("{value:e}")),
        Value::Double(value) => float(value, value.to_string(), format!("{value:e}")),
        Value::Byte(value) => value.to_string(),
        Value::Short(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Long(value) => value.to_string(),
        Value::NotRecorded(_) => "(not recorded)".to_owned(),
    }
}

/// `1.0`, `NaN`, `Infinity`, `1.0E10`: plain from a thousandth to ten million, as Java does.
fn float(value: f64, plain: String, scientific: String) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let with_point = |digits: &str| {
        if digits.contains('.') {
            digits.to_owned()
        } else {
            format!("{digits}.0")
        }
    };
    match scientific.split_once('e') {
        Some((digits, exponent)) if value != 0.0 && !(1e-3..1e7).contains(&value.abs()) => {
            format!("{}E{exponent}", with_point(digits))
        }
        _ => with_point(&plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_java() {
        // As System.out.println prints them.
        for (value, shown) in [
            (Value::Float(-0.0), "-0.0"),
            (Value::Float(3.5), "3.5"),
            (Value::Double(f64::NAN), "NaN"),
            (Value::Double(f64::NEG_INFINITY), "-Infinity"),
            (Value::Double(1e10), "1.0E10"),
            (Value::Double(1.5e-7), "1.5E-7"),
            (Value::Double(9_999_999.0), "9999999.0"),
            (Value::Float(f32::MAX), "3.4028235E38"),
            (Value::Double(f64::MIN_POSITIVE), "2.2250738585072014E-308"),
            (Value::Char(0x20ac), "'€'"),
            (Value::Char(10), "'\\n'"),
        ] {
            assert_eq!(primitive(value), shown);
        }
    }

    #[test]
    fn text_is_escaped_and_cut() {
        assert_eq!(quoted("a\"b\n\u{1}", 10), "\"a\\\"b\\n\\u0001\"");
        assert_eq!(quoted("abcdef", 3), "\"abc…\"");
    }

    #[test]
    fn hidden_classes_have_one_name_in_every_run() {
        for (name, stable) in [
            ("a.Main$$Lambda$14/0x00007f621d000400", "a.Main$$Lambda"),
            ("a.Main$$Lambda/0x00007f621d000400[]", "a.Main$$Lambda[]"),
            ("a.Main$1", "a.Main$1"),
        ] {
            assert_eq!(stable_name(name), stable);
        }
    }

    #[test]
    fn an_array_shows_its_length_in_the_first_brackets() {
        assert_eq!(with_length("int[][]", 20), "int[20][]");
        assert_eq!(with_length("byte[]", 0), "byte[0]");
    }
}
