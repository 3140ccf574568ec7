//! One row for each object.
//!
//! In the order of addresses, rows are made as they are met, so that millions take seconds and no memory.

use std::cmp::Reverse;
use std::io::Write;

use anthill_graph::{Graph, NodeId, ROOT, UNREACHABLE};
use anthill_heap::{BitSet, ClassId};
use anthill_session::{Analysis, Label, Session, check_group};
use anthill_syntax::Pattern;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{self, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};

use crate::values::Address;
use crate::{
    AnswerError, Definitions, Envelope, Error, Heap, HeapQuestion, Limit, Question,
    with_definitions,
};

/// List objects with their address, class, sizes and dominator
///
/// The dominator is the object that alone keeps this object alive: its address, or `root` if no
/// single object does. With --compat mat, the list has no unreachable objects, and MAT's stand-in
/// for the boot loader has the address 0x0.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Objects {
    /// Show only objects whose class matches GLOB (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub class: Option<String>,
    /// List only the objects of this group; see docs/groups.md
    #[schemars(extend("x-excludes" = ["class"]))]
    pub group: Option<String>,
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// Sort rows by
    #[serde(default)]
    pub sort: Sort,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-for-people" = 30))]
    pub limit: Option<Limit>,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
#[schemars(rename = "ObjectsSort")]
pub enum Sort {
    #[default]
    Address,
    Retained,
    Shallow,
}

/// The objects that were asked for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectsAnswer")]
pub struct Answer {
    /// A row for each object, in the order of `--sort`.
    pub rows: Rows,
}

/// An object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectsRow")]
pub struct Row<'a> {
    #[serde(skip)]
    node: NodeId,
    /// The place of its class among the names of classes.
    #[serde(skip)]
    pub class_id: ClassId,
    /// The address of the object.
    pub address: Address,
    /// The name of the object's class, in Java notation.
    pub class: &'a str,
    /// Shallow size of the object in bytes.
    pub shallow: u64,
    /// Bytes that would be freed with the object. An unreachable object retains itself.
    pub retained: u64,
    /// The immediate dominator; null if the object is unreachable.
    pub dominator: Option<Dominator>,
    /// Whether a GC root keeps the object alive.
    pub reachable: bool,
}

/// The address of the immediate dominator, or `root` if no single object keeps the object alive.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(with = "String")]
pub enum Dominator {
    /// No single object: `root`.
    Root,
    /// The object at this address.
    Object(Address),
}

impl Serialize for Dominator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Dominator::Root => serializer.serialize_str("root"),
            Dominator::Object(address) => address.serialize(serializer),
        }
    }
}

/// Rows that are made when they are looked at.
pub struct Rows {
    heap: Heap,
    selection: Selection,
    /// Addresses by node, if there are many rows: finding one alone takes longer.
    addresses: Vec<u64>,
    limit: usize,
    /// The selected nodes in their order; in the order of addresses there is no need for it.
    sorted: Option<Vec<NodeId>>,
}

/// Which nodes are rows.
struct Selection {
    /// By class.
    wanted: Vec<bool>,
    group: Option<BitSet>,
    reachable_only: bool,
}

/// Rows from which on all addresses are looked up at once.
const MANY: usize = 1 << 16;

impl Question for Objects {
    const NAME: &'static str = "objects";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        match &self.group {
            Some(group) => Ok(check_group(group, &definitions)?),
            None => Ok(()),
        }
    }
}

impl HeapQuestion for Objects {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let mut rows = Rows {
            heap: heap.clone(),
            selection: Selection::new(self, heap)?,
            addresses: Vec::new(),
            limit: self.limit.unwrap_or_default().most(),
            sorted: None,
        };
        if rows.limit >= MANY {
            rows.addresses = session.state().addresses.iter().collect();
        }
        let maker = rows.maker()?;
        rows.sorted = match self.sort {
            Sort::Address => None,
            Sort::Retained => {
                let dominators = &maker.analysis.dominators;
                Some(maker.largest(|node| dominators.retained(node)))
            }
            Sort::Shallow => Some(maker.largest(|node| maker.graph.size(node))),
        };
        Ok(Answer { rows })
    }

    /// A line for each row; quicker than serde, for millions of rows.
    fn write_json(answer: &Answer, heap: &Heap, out: &mut dyn Write) -> Result<(), AnswerError> {
        let envelope = Envelope::new(heap, Objects::NAME, NoFields {});
        let envelope = serde_json::to_string_pretty(&envelope)?;
        let open = envelope.trim_end_matches(['}', '\n']);
        write!(out, "{open},\n  \"rows\": [")?;
        answer.rows.write_lines(out)?;
        Ok(out.write_all(b"\n]}\n")?)
    }
}

#[derive(Serialize)]
struct NoFields {}

impl Selection {
    fn new(objects: &Objects, heap: &Heap) -> Result<Self, Error> {
        let session = &heap.session;
        let classes = session.state().classes();
        let names = || classes.iter().map(|class| class.name.as_str());
        let pattern = Pattern::class(objects.class.as_deref().unwrap_or("*"));
        let wanted: Vec<bool> = names().map(|name| pattern.matches(name)).collect();
        if !wanted.contains(&true) {
            return Err(Error::NothingFound(pattern.no_match("class", names())));
        }
        let definitions = with_definitions(&heap.definitions, &objects.definitions)?;
        let group = objects.group.as_deref();
        let group = group.map(|group| session.group(group, &definitions));
        Ok(Selection {
            wanted,
            group: group.transpose()?,
            reachable_only: session.convention().mat,
        })
    }
}

impl Rows {
    fn maker(&self) -> Result<Maker<'_>, Error> {
        Ok(Maker {
            rows: self,
            session: &self.heap.session,
            analysis: self.heap.session.analysis()?,
            graph: self.heap.session.graph(),
        })
    }

    /// Calls `take` with every row, in order.
    pub fn for_each<E: From<Error>>(
        &self,
        take: impl FnMut(Row) -> Result<(), E>,
    ) -> Result<(), E> {
        self.maker()?.for_each(take)
    }

    /// The names of all classes, for those who write millions of rows and prepare these.
    pub fn class_names(&self) -> impl Iterator<Item = &str> {
        let classes = self.heap.session.state().classes();
        classes.iter().map(|class| class.name.as_str())
    }

    fn write_lines(&self, out: &mut dyn Write) -> Result<(), AnswerError> {
        let quoted = |name| serde_json::Value::from(name).to_string();
        let classes: Vec<String> = self.class_names().map(quoted).collect();
        let mut line = Line::default();
        let mut separator = "\n";
        self.for_each(|row| {
            line.clear();
            line.text(separator);
            separator = ",\n";
            line.text("{\"address\":\"");
            line.address(row.address);
            line.text("\",\"class\":");
            line.text(&classes[row.class_id as usize]);
            line.text(",\"shallow\":");
            line.number(row.shallow);
            line.text(",\"retained\":");
            line.number(row.retained);
            line.text(",\"dominator\":");
            match row.dominator {
                Some(Dominator::Root) => line.text("\"root\",\"reachable\":true}"),
                Some(Dominator::Object(above)) => {
                    line.text("\"");
                    line.address(above);
                    line.text("\",\"reachable\":true}");
                }
                None => line.text("null,\"reachable\":false}"),
            }
            Ok(out.write_all(line.bytes())?)
        })
    }

    /// What a person recognises the object of a row by.
    pub fn label(&self, row: &Row) -> Label {
        self.heap.session.label(row.node)
    }

    /// How many rows the limit left out.
    pub fn omitted(&self) -> Result<u64, Error> {
        let maker = self.maker()?;
        let all = maker.selected().count();
        Ok(all.saturating_sub(self.limit) as u64)
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let maker = self.maker().map_err(ser::Error::custom)?;
        let mut list = serializer.serialize_seq(None)?;
        maker.for_each(|row| list.serialize_element(&row))?;
        list.end()
    }
}

impl JsonSchema for Rows {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Rows".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Row>::json_schema(generator)
    }
}

/// Looks up what is in rows.
struct Maker<'a> {
    rows: &'a Rows,
    session: &'a Session,
    analysis: &'a Analysis,
    graph: Graph<'a>,
}

impl<'a> Maker<'a> {
    #[inline]
    fn is_selected(&self, node: NodeId) -> bool {
        let selection = &self.rows.selection;
        let class = self.graph.class(node);
        let objects = self.session.state().len();
        let group = selection.group.as_ref();
        class.is_some_and(|class| selection.wanted[class as usize])
            && group.is_none_or(|group| node < objects && group.contains(node))
            && !(selection.reachable_only && self.dominator(node) == UNREACHABLE)
    }

    fn selected(&self) -> impl Iterator<Item = NodeId> {
        (0..self.graph.len()).filter(|&node| self.is_selected(node))
    }

    /// Calls `take` with every row, in order.
    fn for_each<E>(&self, mut take: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let take = |node| take(self.row(node));
        match &self.rows.sorted {
            Some(nodes) => nodes.iter().copied().try_for_each(take),
            None => self.selected().take(self.rows.limit).try_for_each(take),
        }
    }

    #[inline]
    fn address(&self, node: NodeId) -> Address {
        let known = self.rows.addresses.get(node as usize).copied();
        Address(known.unwrap_or_else(|| self.session.address(node)))
    }

    #[inline]
    fn dominator(&self, node: NodeId) -> u32 {
        self.analysis.dominators.immediate[node as usize]
    }

    #[inline]
    fn row(&self, node: NodeId) -> Row<'a> {
        // Only nodes with a class are rows.
        let class_id = self.graph.class(node).unwrap_or_default();
        let dominator = match self.dominator(node) {
            ROOT => Some(Dominator::Root),
            UNREACHABLE => None,
            above => Some(Dominator::Object(self.address(above))),
        };
        Row {
            node,
            class_id,
            address: self.address(node),
            class: &self.session.state().classes()[class_id as usize].name,
            shallow: self.graph.size(node),
            retained: self.analysis.dominators.retained(node),
            dominator,
            reachable: dominator.is_some(),
        }
    }

    /// The selected nodes with the largest values, largest first, as many as are asked for.
    fn largest(&self, value: impl Fn(NodeId) -> u64) -> Vec<NodeId> {
        let key = |&node: &NodeId| (Reverse(value(node)), node);
        let mut nodes: Vec<NodeId> = self.selected().collect();
        let limit = self.rows.limit;
        if limit < nodes.len() {
            nodes.select_nth_unstable_by_key(limit, key);
            nodes.truncate(limit);
        }
        nodes.sort_unstable_by_key(key);
        nodes
    }
}

/// A line that is being written: quicker than formatting, for millions of rows.
#[derive(Default)]
pub struct Line {
    bytes: Vec<u8>,
    number: itoa::Buffer,
}

impl Line {
    /// Begins the next line.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// What was written since it began.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends a number.
    pub fn number(&mut self, number: u64) {
        self.bytes
            .extend_from_slice(self.number.format(number).as_bytes());
    }

    /// Appends an address.
    pub fn address(&mut self, address: Address) {
        self.bytes.extend_from_slice(address.write(&mut [0; 18]));
    }
}
