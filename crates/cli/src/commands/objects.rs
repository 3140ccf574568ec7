//! `anthill objects`: one row per object, for spreadsheets, scripts and comparing.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::objects::{Dominator, Line, Objects, Rows};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::Failure;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, counted};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill objects app.hprof --class com.acme.Session --sort retained
      Which sessions are the largest?
  anthill objects app.hprof --class '*[]' --sort shallow --limit 10
      Show the ten largest arrays
  anthill objects app.hprof --csv > objects.csv
      List every object, for a script
  anthill objects app.hprof --group 'retained(IdCache.idCache) & byte[]' --sort shallow
      Show the largest byte arrays that this cache keeps alive")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    #[command(flatten)]
    pub asked: Asked<Objects>,
    #[command(flatten)]
    pub define: DefineArguments,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        self.asked.check(&self.define.read()?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json || arguments.csv;
    let heap = source.with_definitions(arguments.define.read()?);
    let answer = arguments.asked.question(for_program)?.answer(&heap)?;
    let mut out = source.out();
    if arguments.source.json {
        json::print::<Objects>(&mut out, source, &answer)
    } else if arguments.csv {
        write_csv(&answer.rows, &mut out)
    } else {
        write_text(&answer.rows, &mut out)
    }
}

fn write_csv(rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    let columns = [
        "address",
        "class",
        "shallow",
        "retained",
        "dominator",
        "reachable",
    ];
    csv::line(out, &columns)?;
    let escaped = |name| csv::escaped(name).into_owned();
    let classes: Vec<String> = rows.class_names().map(escaped).collect();
    let mut line = Line::default();
    rows.for_each(|row| {
        line.clear();
        line.address(row.address);
        line.text(",");
        line.text(&classes[row.class_id as usize]);
        line.text(",");
        line.number(row.shallow);
        line.text(",");
        line.number(row.retained);
        line.text(",");
        match row.dominator {
            Some(Dominator::Root) => line.text("root,true\n"),
            Some(Dominator::Object(above)) => {
                line.address(above);
                line.text(",true\n");
            }
            None => line.text(",false\n"),
        }
        Ok::<_, Failure>(out.write_all(line.bytes())?)
    })?;
    Ok(out.flush()?)
}

fn write_text(rows: &Rows, out: &mut Out) -> Result<(), Failure> {
    let mut table = Table::new([
        ("address", Align::Left),
        ("shallow", Align::Right),
        ("retained", Align::Right),
        ("dominator", Align::Left),
        ("object", Align::Left),
    ]);
    rows.for_each(|row| {
        let label = rows.label(&row);
        let object = [Some(label.what), label.detail].into_iter().flatten();
        table.row([
            row.address.to_string(),
            bytes(row.shallow),
            bytes(row.retained),
            match row.dominator {
                Some(Dominator::Root) => "root".to_owned(),
                Some(Dominator::Object(above)) => above.to_string(),
                None => "unreachable".to_owned(),
            },
            object.collect::<Vec<_>>().join(" "),
        ]);
        Ok::<_, Failure>(())
    })?;
    table.print(out)?;
    let omitted = rows.omitted()?;
    if omitted > 0 {
        out.remark(&format!(
            "… {}; --limit 0 shows all",
            counted(omitted, "more object", "more objects")
        ))?;
    }
    Ok(out.flush()?)
}
