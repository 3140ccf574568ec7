//! `anthill object`: everything known about one object.

use std::io::Write;

use anthill_heap::{ObjectId, StaticField, Value};
use anthill_hprof::FieldValue;
use anthill_session::{Analysis, Grouping, RootsByObject, primitive, quoted};
use clap::Args;
use serde::Serialize;

use crate::commands::paths::RootName;
use crate::failure::Failure;
use crate::names::ObjectName;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, counted, hex};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments, limit};

/// Show one object: its fields or elements, who refers to it, who keeps it alive
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill object app.hprof 0x7f0012345678
      What is in this object, and who refers to it?
  anthill object app.hprof 0x7f0012345678 --limit 1000
      The first 1,000 elements and referrers
  anthill object app.hprof 0x7f0012345678 --json
      The same for a script")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The address of the object: 0x… or decimal
    #[arg(value_name = "OBJECT")]
    pub object: String,
    /// How many elements, referrers and dominators; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let object = source.object(&arguments.object)?;
    let details = Details::new(source, object, super::or_all(arguments.limit))?;
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "object", &details)
    } else {
        details.text(&mut out)?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct Details {
    class: String,
    address: String,
    label: String,
    /// Of the class.
    loader: String,
    /// Of a class object.
    #[serde(skip_serializing_if = "Option::is_none")]
    stands_for: Option<StandsFor>,
    shallow: u64,
    retained: u64,
    reachable: bool,
    /// The whole text of a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    roots: Vec<RootName>,
    /// Nearest first.
    dominators: List<ObjectName>,
    fields: Vec<FieldRow>,
    static_fields: Vec<FieldRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elements: Option<List<ElementRow>>,
    referrers: List<ReferrerRow>,
}

/// The class that a class object stands for.
#[derive(Serialize)]
struct StandsFor {
    class: String,
    loader: String,
    superclass: Option<String>,
    /// Objects of this class itself, and their bytes.
    instances: u64,
    instances_shallow: u64,
}

impl StandsFor {
    fn new(source: &Source, analysis: &Analysis, object: ObjectId) -> Option<Self> {
        let session = &source.session;
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

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let superclass = self.superclass.as_deref().map_or_else(
            || "no superclass".to_owned(),
            |name| format!("superclass {name}"),
        );
        out.line(format!(
            "  the class object of {}: {superclass}, loader {}",
            self.class, self.loader
        ))?;
        let instances = counted(self.instances, "instance", "instances");
        Ok(out.line(match self.instances {
            0 => "  no instances".to_owned(),
            _ => format!("  {instances}, {}", bytes(self.instances_shallow)),
        })?)
    }
}

/// The first few of something.
#[derive(Serialize)]
struct List<T> {
    total: u64,
    first: Vec<T>,
}

#[derive(Serialize)]
struct FieldRow {
    name: String,
    /// The class that declares it.
    declared_by: String,
    #[serde(skip)]
    shadowed: bool,
    #[serde(flatten)]
    value: Content,
}

#[derive(Serialize)]
struct ElementRow {
    index: u32,
    #[serde(flatten)]
    value: Content,
}

#[derive(Serialize)]
struct ReferrerRow {
    via: String,
    #[serde(flatten)]
    object: ObjectName,
}

/// A value: of a primitive type in Java notation, or the object that is referred to.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    Value(String),
    Null(()),
    Object(ObjectName),
    /// A reference to an object that is not in the dump.
    Dangling(String),
    /// A recording left the value out.
    NotRecorded(()),
}

impl Content {
    fn new(source: &Source, analysis: &Analysis, value: Value) -> Self {
        let session = &source.session;
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

    /// As text, and what it retains.
    fn cells(&self) -> (String, String) {
        match self {
            Content::Value(value) => (value.clone(), String::new()),
            Content::Null(()) => ("null".to_owned(), String::new()),
            Content::NotRecorded(()) => ("not recorded".to_owned(), String::new()),
            Content::Object(object) => (object.label.clone(), bytes(object.retained)),
            Content::Dangling(address) => (format!("{address}, not in this dump"), String::new()),
        }
    }
}

impl Details {
    fn new(source: &Source, object: ObjectId, limit: usize) -> Result<Self, Failure> {
        let session = &source.session;
        let (state, records) = (session.state(), session.records());
        records.open()?;
        let analysis = session.analysis()?;
        let graph = session.graph();
        let named = |node| ObjectName::new(session, analysis, node);
        let class = state.class(object);
        let chain: Vec<u32> = analysis.dominators.chain(object).collect();
        let referrers = session.referrers(&graph, object);
        Ok(Details {
            class: class.name.clone(),
            address: hex(session.address(object)),
            label: session.label(object).to_string(),
            loader: session.loader_name(class.loader),
            stands_for: StandsFor::new(source, analysis, object),
            shallow: graph.size(object),
            retained: analysis.dominators.retained(object),
            reachable: analysis.dominators.is_reachable(object),
            text: records.string(state, object),
            roots: RootsByObject::new(session)
                .of(object)
                .iter()
                .map(|root| RootName::new(source, root))
                .collect(),
            dominators: List {
                total: chain.len() as u64,
                first: chain.iter().take(limit).map(|&node| named(node)).collect(),
            },
            fields: fields(source, analysis, object),
            static_fields: static_fields(source, analysis, object),
            elements: elements(source, analysis, object, limit),
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

fn fields(source: &Source, analysis: &Analysis, object: ObjectId) -> Vec<FieldRow> {
    let state = source.session.state();
    let fields = source.session.records().fields(state, object);
    let shadowed = |name: &str| fields.iter().filter(|field| field.name == name).count() > 1;
    let row = |field: &FieldValue| FieldRow {
        name: field.name.to_owned(),
        declared_by: state.classes()[field.class as usize].name.clone(),
        shadowed: shadowed(field.name),
        value: match field.value {
            Some(value) => Content::new(source, analysis, value),
            None => Content::NotRecorded(()),
        },
    };
    fields.iter().map(row).collect()
}

fn static_fields(source: &Source, analysis: &Analysis, object: ObjectId) -> Vec<FieldRow> {
    let state = source.session.state();
    let Some(class) = state.mirrored(object) else {
        return Vec::new();
    };
    let class = &state.classes()[class as usize];
    let row = |field: &StaticField| FieldRow {
        name: field.name.clone(),
        declared_by: class.name.clone(),
        shadowed: false,
        value: Content::new(source, analysis, field.value),
    };
    class.statics.iter().map(row).collect()
}

fn elements(
    source: &Source,
    analysis: &Analysis,
    object: ObjectId,
    limit: usize,
) -> Option<List<ElementRow>> {
    let state = source.session.state();
    let length = state.array_length(object)?;
    let first = length.min(u32::try_from(limit).unwrap_or(u32::MAX));
    let records = source.session.records();
    let values = records.elements(state, object, 0..first);
    let missing = (values.is_empty() && !records.has_contents()).then_some(first);
    let not_recorded = (0..missing.unwrap_or(0)).map(|_| Content::NotRecorded(()));
    let values = values
        .into_iter()
        .map(|value| Content::new(source, analysis, value))
        .chain(not_recorded);
    let row = |(index, value)| ElementRow { index, value };
    Some(List {
        total: length.into(),
        first: (0..).zip(values).map(row).collect(),
    })
}

impl Details {
    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.heading(&self.label)?;
        let reachable = if self.reachable { "" } else { ", unreachable" };
        out.line(format!(
            "  shallow {}, retained {}{reachable}",
            bytes(self.shallow),
            bytes(self.retained),
        ))?;
        match &self.stands_for {
            Some(class) => class.text(out)?,
            None => out.line(format!("  class {}, loader {}", self.class, self.loader))?,
        }
        for root in &self.roots {
            out.line(format!("  GC root: {}", root.label))?;
        }
        if let Some(text) = &self.text {
            out.blank()?;
            out.heading("Text")?;
            out.line(quoted(text, TEXT))?;
        }
        self.fields_text(out)?;
        if let Some(elements) = &self.elements {
            self.elements_text(elements, out)?;
        }
        self.holders_text(out)
    }

    fn fields_text(&self, out: &mut Out) -> Result<(), Failure> {
        for (title, fields) in [
            ("field", &self.fields),
            ("static field", &self.static_fields),
        ] {
            if fields.is_empty() {
                continue;
            }
            let mut table = value_table(title);
            for field in fields {
                let name = if field.shadowed {
                    format!("{} (of {})", field.name, field.declared_by)
                } else {
                    field.name.clone()
                };
                let (value, retained) = field.value.cells();
                table.row([retained, name, value]);
            }
            out.blank()?;
            table.print(out)?;
        }
        Ok(())
    }

    fn elements_text(&self, elements: &List<ElementRow>, out: &mut Out) -> Result<(), Failure> {
        out.blank()?;
        let mut table = value_table("index");
        for element in &elements.first {
            let (value, retained) = element.value.cells();
            table.row([retained, format!("[{}]", element.index), value]);
        }
        table.print(out)?;
        more(elements, ["more element", "more elements"], out)
    }

    fn holders_text(&self, out: &mut Out) -> Result<(), Failure> {
        out.blank()?;
        if self.dominators.first.is_empty() {
            out.heading(if self.reachable {
                "No single object keeps it alive"
            } else {
                "Nothing keeps it alive"
            })?;
        } else {
            out.heading("Kept alive by these dominators, nearest first")?;
            let mut table = Table::new([("", Align::Right), ("", Align::Left)]);
            for object in &self.dominators.first {
                table.row([bytes(object.retained), object.label.clone()]);
            }
            table.print(out)?;
            more(&self.dominators, ["more dominator", "more dominators"], out)?;
        }
        out.blank()?;
        if self.referrers.first.is_empty() {
            out.heading("No object refers to it")?;
        } else {
            let mut table = Table::new([
                ("retained", Align::Right),
                ("referrer", Align::Left),
                ("through", Align::Left),
            ]);
            for referrer in &self.referrers.first {
                table.row([
                    bytes(referrer.object.retained),
                    referrer.object.label.clone(),
                    referrer.via.clone(),
                ]);
            }
            table.print(out)?;
            more(&self.referrers, ["more referrer", "more referrers"], out)?;
        }
        Ok(())
    }
}

/// Characters of a text that are shown.
const TEXT: usize = 2_000;

fn value_table(name: &'static str) -> Table<3> {
    Table::new([
        ("retained", Align::Right),
        (name, Align::Left),
        ("value", Align::Left),
    ])
}

/// Says how much of a list is not shown.
fn more<T>(list: &List<T>, [one, many]: [&str; 2], out: &mut Out) -> Result<(), Failure> {
    let rest = list.total - list.first.len() as u64;
    if rest > 0 {
        out.remark(&format!(
            "… {}; --limit 0 shows all",
            counted(rest, one, many)
        ))?;
    }
    Ok(())
}
