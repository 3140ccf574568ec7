//! Everything known about one object.

use anthill_heap::{ObjectId, StaticField, Value};
use anthill_hprof::FieldValue;
use anthill_paths::RootsByObject;
use anthill_session::{Analysis, Grouping, Session, primitive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Heap, HeapQuestion, Limit, ObjectName, Question, RootName, hex};

/// Show one object: its fields or elements, its referrers, and the objects that keep it alive
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Object {
    /// The address of the object: 0x… or decimal
    #[schemars(extend("x-subject" = true))]
    pub object: String,
    /// Show at most N elements, referrers and dominators; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
}

fn usual_limit() -> Limit {
    Limit(20)
}

/// An object with its contents and everything that refers to it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectAnswer")]
pub struct Answer {
    /// The name of the object's class, in Java notation.
    pub class: String,
    /// The address of the object: `0x…`.
    pub address: String,
    /// The object as people see it: class, array length, contents of a string, name of a thread or
    /// class loader, value in a box, address.
    pub label: String,
    /// The class loader of the object's class.
    pub loader: String,
    /// For a class object: the class that it stands for; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "StandsFor")]
    pub stands_for: Option<StandsFor>,
    /// Shallow size of the object in bytes.
    pub shallow: u64,
    /// Bytes that would be freed with the object.
    pub retained: u64,
    /// Whether a GC root keeps the object alive.
    pub reachable: bool,
    /// For a data structure: the name of the definition that describes it; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub structure: Option<String>,
    /// For a string: all of its contents; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub text: Option<String>,
    /// The GC roots that hold the object directly.
    pub roots: Vec<RootName>,
    /// The objects that each keep this one alive alone, nearest first.
    pub dominators: List<ObjectName>,
    /// The fields of the object, including those of superclasses.
    pub fields: Vec<FieldRow>,
    /// For a class object: the static fields of the class; otherwise empty.
    pub static_fields: Vec<FieldRow>,
    /// For an array: its elements; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "List<ElementRow>")]
    pub elements: Option<List<ElementRow>>,
    /// The objects that refer to this one.
    pub referrers: List<ReferrerRow>,
}

/// The class that a class object stands for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectStandsFor")]
pub struct StandsFor {
    /// The name of the class.
    pub class: String,
    /// The class loader that defined the class.
    pub loader: String,
    /// The name of the superclass; null if there is none.
    pub superclass: Option<String>,
    /// The number of objects of the class itself, without subclasses.
    pub instances: u64,
    /// Shallow size of these objects in bytes.
    pub instances_shallow: u64,
}

/// The first entries of a list, and how many there are.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ListOf{T}")]
pub struct List<T> {
    /// The number of all entries.
    pub total: u64,
    /// The first entries, at most as many as `--limit` allows.
    pub first: Vec<T>,
}

impl<T> List<T> {
    /// How many are left out.
    pub fn rest(&self) -> u64 {
        self.total - self.first.len() as u64
    }
}

/// A field with its value.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectFieldRow")]
pub struct FieldRow {
    /// The name of the field.
    pub name: String,
    /// The class that declares the field.
    pub declared_by: String,
    /// Whether the object has another field of this name.
    #[serde(skip)]
    pub shadowed: bool,
    /// The value of the field.
    #[serde(flatten)]
    pub value: Content,
}

/// An element of an array with its value.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectElementRow")]
pub struct ElementRow {
    /// The index of the element, from 0.
    pub index: u32,
    /// The value of the element.
    #[serde(flatten)]
    pub value: Content,
}

/// An object that refers to the object in question.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ObjectReferrerRow")]
pub struct ReferrerRow {
    /// The field or array index that holds the reference.
    pub via: String,
    /// The object that refers to this one.
    #[serde(flatten)]
    pub object: ObjectName,
}

/// A value.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ObjectContent")]
pub enum Content {
    /// A primitive value as Java prints it, characters in quotes.
    Value(String),
    /// The reference is null.
    Null(()),
    /// The object to which the reference leads.
    Object(ObjectName),
    /// The address of an object that is not in the dump.
    Dangling(String),
    /// The recording does not have the value.
    NotRecorded(()),
}

impl Question for Object {
    const NAME: &'static str = "object";
    type Answer = Answer;
}

impl HeapQuestion for Object {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let object = heap.object(&self.object)?;
        let limit = self.limit.most();
        let (state, records) = (session.state(), session.records());
        records.open()?;
        let analysis = session.analysis()?;
        let graph = session.graph();
        let named = |node| ObjectName::new(session, analysis, node);
        let class = state.class(object);
        let chain: Vec<u32> = analysis.dominators.chain(object).collect();
        let referrers = session.referrers(&graph, object);
        Ok(Answer {
            class: class.name.clone(),
            address: hex(session.address(object)),
            label: session.label(object).to_string(),
            loader: session.loader_name(class.loader),
            stands_for: StandsFor::new(session, analysis, object),
            shallow: graph.size(object),
            retained: analysis.dominators.retained(object),
            reachable: analysis.dominators.is_reachable(object),
            structure: session.structure_of(object),
            text: records.string(state, object),
            roots: RootsByObject::new(session)
                .of(object)
                .iter()
                .map(|root| RootName::new(session, root))
                .collect(),
            dominators: List {
                total: chain.len() as u64,
                first: chain.iter().take(limit).map(|&node| named(node)).collect(),
            },
            fields: fields(session, analysis, object),
            static_fields: static_fields(session, analysis, object),
            elements: elements(session, analysis, object, limit),
            referrers: List {
                total: referrers.len() as u64,
                first: referrers
                    .iter()
                    .take(limit)
                    .map(|referrer| ReferrerRow {
                        via: session.edge_name(referrer.from, object, referrer.kind),
                        object: named(referrer.from),
                    })
                    .collect(),
            },
        })
    }
}

impl StandsFor {
    fn new(session: &Session, analysis: &Analysis, object: ObjectId) -> Option<Self> {
        let classes = session.state().classes();
        let id = session.state().mirrored(object)?;
        let class = &classes[id as usize];
        let instances = &analysis.rows(Grouping::Class)[id as usize];
        Some(StandsFor {
            class: class.name.clone(),
            loader: session.loader_name(class.loader),
            superclass: class
                .super_class
                .map(|superclass| classes[superclass as usize].name.clone()),
            instances: instances.objects,
            instances_shallow: instances.shallow,
        })
    }
}

impl Content {
    pub(crate) fn new(session: &Session, analysis: &Analysis, value: Value) -> Self {
        match value {
            Value::Object(0) => Content::Null(()),
            Value::NotRecorded(_) => Content::NotRecorded(()),
            Value::Object(address) => match session.state().addresses.find(address) {
                Some(object) => Content::Object(ObjectName::new(session, analysis, object)),
                None => Content::Dangling(hex(address)),
            },
            value => Content::Value(primitive(value)),
        }
    }
}

fn fields(session: &Session, analysis: &Analysis, object: ObjectId) -> Vec<FieldRow> {
    let state = session.state();
    let fields = session.records().fields(state, object);
    let shadowed = |name: &str| fields.iter().filter(|field| field.name == name).count() > 1;
    let row = |field: &FieldValue| FieldRow {
        name: field.name.to_owned(),
        declared_by: state.classes()[field.class as usize].name.clone(),
        shadowed: shadowed(field.name),
        value: match field.value {
            Some(value) => Content::new(session, analysis, value),
            None => Content::NotRecorded(()),
        },
    };
    fields.iter().map(row).collect()
}

fn static_fields(session: &Session, analysis: &Analysis, object: ObjectId) -> Vec<FieldRow> {
    let state = session.state();
    let Some(class) = state.mirrored(object) else {
        return Vec::new();
    };
    let class = &state.classes()[class as usize];
    let row = |field: &StaticField| FieldRow {
        name: field.name.clone(),
        declared_by: class.name.clone(),
        shadowed: false,
        value: Content::new(session, analysis, field.value),
    };
    class.statics.iter().map(row).collect()
}

fn elements(
    session: &Session,
    analysis: &Analysis,
    object: ObjectId,
    limit: usize,
) -> Option<List<ElementRow>> {
    let state = session.state();
    let length = state.array_length(object)?;
    let first = length.min(u32::try_from(limit).unwrap_or(u32::MAX));
    let records = session.records();
    let values = records.elements(state, object, 0..first);
    let missing = (values.is_empty() && !records.has_contents()).then_some(first);
    let not_recorded = (0..missing.unwrap_or(0)).map(|_| Content::NotRecorded(()));
    let values = values
        .into_iter()
        .map(|value| Content::new(session, analysis, value))
        .chain(not_recorded);
    let row = |(index, value)| ElementRow { index, value };
    Some(List {
        total: length.into(),
        first: (0..).zip(values).map(row).collect(),
    })
}
