//! `anthill object`: everything known about one object.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::object::{Answer, Content, ElementRow, List, Object, StandsFor};
use anthill_session::quoted;
use clap::Args;

use crate::asked::Asked;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, counted};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill object app.hprof 0x7f0012345678
      What is in this object, and who refers to it?
  anthill object app.hprof 0x7f0012345678 --limit 1000
      Show the first 1,000 elements and referrers
  anthill object app.hprof 0x7f0012345678 --json
      The same for a script")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Object>,
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let answer = arguments.asked.question(for_program)?.answer(source)?;
    let mut out = source.out();
    if for_program {
        json::print::<Object>(&mut out, source, &answer)
    } else {
        write_text(&answer, &mut out)?;
        Ok(out.flush()?)
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    out.heading(&answer.label)?;
    let reachable = if answer.reachable {
        ""
    } else {
        ", unreachable"
    };
    out.line(format!(
        "  shallow {}, retained {}{reachable}",
        bytes(answer.shallow),
        bytes(answer.retained),
    ))?;
    match &answer.stands_for {
        Some(class) => write_class(class, out)?,
        None => out.line(format!(
            "  class {}, loader {}",
            answer.class, answer.loader
        ))?,
    }
    for root in &answer.roots {
        out.line(format!("  GC root: {}", root.label))?;
    }
    if let Some(text) = &answer.text {
        out.blank()?;
        out.heading("Text")?;
        out.line(quoted(text, TEXT))?;
    }
    write_fields(answer, out)?;
    if let Some(elements) = &answer.elements {
        write_elements(elements, out)?;
    }
    write_holders(answer, out)
}

fn write_fields(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    for (title, fields) in [
        ("field", &answer.fields),
        ("static field", &answer.static_fields),
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
            let (value, retained) = cells(&field.value);
            table.row([retained, name, value]);
        }
        out.blank()?;
        table.print(out)?;
    }
    Ok(())
}

fn write_elements(elements: &List<ElementRow>, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    let mut table = value_table("index");
    for element in &elements.first {
        let (value, retained) = cells(&element.value);
        table.row([retained, format!("[{}]", element.index), value]);
    }
    table.print(out)?;
    more(elements, ["more element", "more elements"], out)
}

fn write_holders(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    if answer.dominators.first.is_empty() {
        out.heading(if answer.reachable {
            "No single object keeps it alive"
        } else {
            "Nothing keeps it alive"
        })?;
    } else {
        out.heading("Kept alive by these dominators, nearest first")?;
        let mut table = Table::new([("", Align::Right), ("", Align::Left)]);
        for object in &answer.dominators.first {
            table.row([bytes(object.retained), object.label.clone()]);
        }
        table.print(out)?;
        more(
            &answer.dominators,
            ["more dominator", "more dominators"],
            out,
        )?;
    }
    out.blank()?;
    if answer.referrers.first.is_empty() {
        out.heading("No object refers to it")?;
    } else {
        let mut table = Table::new([
            ("retained", Align::Right),
            ("referrer", Align::Left),
            ("through", Align::Left),
        ]);
        for referrer in &answer.referrers.first {
            table.row([
                bytes(referrer.object.retained),
                referrer.object.label.clone(),
                referrer.via.clone(),
            ]);
        }
        table.print(out)?;
        more(&answer.referrers, ["more referrer", "more referrers"], out)?;
    }
    Ok(())
}

fn write_class(class: &StandsFor, out: &mut Out) -> Result<(), Failure> {
    let superclass = class.superclass.as_deref().map_or_else(
        || "no superclass".to_owned(),
        |name| format!("superclass {name}"),
    );
    out.line(format!(
        "  the class object of {}: {superclass}, loader {}",
        class.class, class.loader
    ))?;
    let instances = counted(class.instances, "instance", "instances");
    Ok(out.line(match class.instances {
        0 => "  no instances".to_owned(),
        _ => format!("  {instances}, {}", bytes(class.instances_shallow)),
    })?)
}

/// As text, and what it retains.
pub fn cells(content: &Content) -> (String, String) {
    match content {
        Content::Value(value) => (value.clone(), String::new()),
        Content::Null(()) => ("null".to_owned(), String::new()),
        Content::NotRecorded(()) => ("not recorded".to_owned(), String::new()),
        Content::Object(object) => (object.label.clone(), bytes(object.retained)),
        Content::Dangling(address) => (format!("{address}, not in this dump"), String::new()),
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
    let rest = list.rest();
    if rest > 0 {
        out.remark(&format!(
            "… {}; --limit 0 shows all",
            counted(rest, one, many)
        ))?;
    }
    Ok(())
}
