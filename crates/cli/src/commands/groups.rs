//! `anthill groups`: the object groups that are kept for a dump.

use std::io::Write;

use anthill_api::HeapQuestion;
use anthill_api::groups::{Answer, Groups, forget};
use clap::Args;

use crate::asked::Asked;
use crate::definitions::DefineArguments;
use crate::failure::{Failure, say};
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, share};
use crate::output::{Out, json};
use crate::source::{Source, SourceArguments};

#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill groups app.hprof
      Which groups are saved for this dump?
  anthill groups app.hprof --save caches 'IdCache.idCache | NameCache.nameCache'
      Save the objects that two static fields refer to under one name
  anthill groups app.hprof --save lost 'com.acme.Order - reached(caches)'
      Save the orders that the caches do not reach
  anthill inspect app.hprof 'retained(caches)'
      Use a saved group
  anthill groups app.hprof --forget lost
  anthill groups app.hprof --define mine.txt
      How large are the groups of a definition file in this dump?")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The group to save
    #[arg(value_name = "GROUP", requires = "save")]
    pub group: Option<String>,
    /// Save the group as NAME: letters, digits and _
    #[arg(long, value_name = "NAME", requires = "group")]
    pub save: Option<String>,
    /// Delete the saved group NAME
    #[arg(long, value_name = "NAME", conflicts_with_all = ["group", "save"])]
    pub forget: Option<String>,
    #[command(flatten)]
    pub asked: Asked<Groups>,
    #[command(flatten)]
    pub define: DefineArguments,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        let definitions = self.define.read()?;
        self.asked.check(&definitions)?;
        if let Some(group) = &self.group {
            let question = self.asked.question(true)?;
            question.check_group(group, &definitions)?;
        }
        Ok(())
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let for_program = arguments.source.json;
    let heap = source.with_definitions(arguments.define.read()?);
    let question = arguments.asked.question(for_program)?;
    if let (Some(name), Some(group)) = (&arguments.save, &arguments.group) {
        question.keep(&heap, name, group)?;
    }
    if let Some(name) = &arguments.forget {
        forget(&heap, name)?;
    }
    let answer = question.answer(&heap)?;
    for name in &answer.unusable {
        say(&format!(
            "ignoring saved group `{name}`: it belongs to another dump or is damaged"
        ));
    }
    let mut out = source.out();
    if for_program {
        json::print::<Groups>(&mut out, source, &answer)
    } else {
        write_text(&answer, &mut out)?;
        Ok(out.flush()?)
    }
}

fn write_text(answer: &Answer, out: &mut Out) -> Result<(), Failure> {
    if answer.groups.is_empty() {
        out.line("no groups are saved for this dump; --save NAME GROUP saves one")?;
        return Ok(());
    }
    let mut table = Table::new([
        ("name", Align::Left),
        ("objects", Align::Right),
        ("shallow", Align::Right),
        ("deep", Align::Right),
        ("retained", Align::Right),
        ("share", Align::Right),
        ("group", Align::Left),
    ]);
    for row in &answer.groups {
        table.row([
            row.name.clone(),
            count(row.objects),
            bytes(row.shallow),
            bytes(row.deep),
            bytes(row.retained),
            share(row.retained, answer.reachable),
            row.expression.clone(),
        ]);
    }
    Ok(table.print(out)?)
}
