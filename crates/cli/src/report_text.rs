//! The report on a terminal.

use std::io;

use anthill_api::report::{Answer, Owner, Pattern, Severity, Suspect};
use anthill_api::waste::{Answer as Waste, Kind};
use anthill_documents::waste;

use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{BOLD, DIM, Out};

pub fn write(document: &Answer, out: &mut Out) -> io::Result<()> {
    out.heading(&format!("Leak suspects in {}", document.file))?;
    out.line(format!(
        "{}, {} of them reachable; {}",
        counted(document.objects, "object", "objects") + " with " + &bytes(document.shallow),
        bytes(document.reachable),
        document.convention
    ))?;
    for missing in &document.missing {
        out.remark(&format!("missing: {missing}"))?;
    }
    if let Some(full) = &document.out_of_memory {
        out.blank()?;
        out.wrapped(&full.sentence, 0)?;
        for frame in &full.thread.frames {
            out.remark(&format!("  at {frame}"))?;
        }
    }
    if document.suspects.is_empty() {
        out.blank()?;
        out.line("Nothing keeps a suspicious share of the heap alive.")?;
    }
    for (number, suspect) in (1..).zip(&document.suspects) {
        out.blank()?;
        write_suspect(document, number, suspect, out)?;
    }
    if !document.patterns.is_empty() {
        out.blank()?;
        out.heading("Besides")?;
        for pattern in &document.patterns {
            write_pattern(pattern, out)?;
        }
    }
    if !document.context.is_empty() {
        out.blank()?;
        out.remark("Context (large only because of the suspects below):")?;
        for named in &document.context {
            let retained = share(named.retained, document.reachable);
            out.remark(&format!("  {} retains {retained}", named.label))?;
        }
    }
    if let Some(waste) = &document.waste {
        out.blank()?;
        write_waste(waste, waste.worth_telling(), out)?;
    }
    Ok(())
}

fn write_suspect(
    document: &Answer,
    number: usize,
    suspect: &Suspect,
    out: &mut Out,
) -> io::Result<()> {
    let severity = match suspect.severity {
        Severity::High => "HIGH",
        Severity::Medium => "MEDIUM",
    };
    let known = if suspect.known { ", known" } else { "" };
    let heading = format!("{number}. {severity}{known}");
    let heading = out.styled(BOLD, &heading);
    out.wrapped(&format!("{heading}  {}", suspect.sentence), 3)?;
    for pattern in &suspect.patterns {
        write_pattern(pattern, out)?;
    }
    if let Some(fix) = suspect.advice.fix {
        out.wrapped(&format!("   {fix}"), 3)?;
    }
    for owner in &suspect.owners {
        out.blank()?;
        write_owner(owner, out)?;
    }
    out.blank()?;
    let mut table = Table::new([
        ("shallow", Align::Right),
        ("share", Align::Right),
        ("objects", Align::Right),
        ("what it keeps alive", Align::Left),
        ("mostly held by", Align::Left),
    ]);
    for content in &suspect.contents {
        table.row([
            bytes(content.shallow),
            share(content.shallow, document.reachable),
            count(content.objects),
            content.class.clone(),
            content.through.clone().unwrap_or_default(),
        ]);
    }
    table.print(out)?;
    out.blank()?;
    out.line(format!("   Look closer: {}", suspect.advice.verify))?;
    out.remark(&format!("   fingerprint {}", suspect.fingerprint))
}

fn write_pattern(pattern: &Pattern, out: &mut Out) -> io::Result<()> {
    let name = out.styled(BOLD, pattern.name);
    let text = format!(
        "   Looks like: {name}. {} {}",
        pattern.evidence, pattern.fix
    );
    out.wrapped(&text, 3)
}

fn write_owner(owner: &Owner, out: &mut Out) -> io::Result<()> {
    out.line(format!(
        "   {} ({})",
        owner.object.label,
        bytes(owner.object.retained)
    ))?;
    out.line(format!("     held by {}", owner.held_by))?;
    out.remark(&format!("     GC root: {}", owner.root))?;
    for (index, step) in owner.path.iter().enumerate() {
        if owner.skipped > 0 && index == owner.path.len() / 2 {
            let more = counted(owner.skipped as u64, "more object", "more objects");
            out.remark(&format!("       … {more} …"))?;
        }
        let via = step
            .via
            .as_ref()
            .map_or(String::new(), |via| format!("└─ {via} → "));
        out.remark(&format!("       {via}{}", step.object.label))?;
    }
    if let Some(thread) = &owner.thread {
        let name = thread.name.as_deref().unwrap_or("without a name");
        out.remark(&format!("     thread {name}"))?;
        for frame in &thread.frames {
            out.remark(&format!("       at {frame}"))?;
        }
    }
    Ok(())
}

/// All waste in a table, and some kinds of it in detail.
pub fn write_waste<'w>(
    waste: &'w Waste,
    detailed: impl Iterator<Item = &'w Kind>,
    out: &mut Out,
) -> io::Result<()> {
    out.heading(&format!("Waste: {}", waste::sentence(waste)))?;
    out.blank()?;
    let mut table = Table::new([
        ("savable", Align::Right),
        ("share", Align::Right),
        ("objects", Align::Right),
        ("taken up", Align::Right),
        ("kind", Align::Left),
    ]);
    for kind in &waste.kinds {
        table.row([
            bytes(kind.savable),
            share(kind.savable, waste.reachable),
            count(kind.objects),
            bytes(kind.bytes),
            waste::title(kind.kind).to_owned(),
        ]);
    }
    table.print(out)?;
    for kind in detailed {
        out.blank()?;
        write_kind(kind, out)?;
    }
    Ok(())
}

fn write_kind(kind: &Kind, out: &mut Out) -> io::Result<()> {
    out.heading(&waste::headline(kind))?;
    let rule = out.styled(DIM, waste::rule(kind.kind));
    out.wrapped(&rule, 0)?;
    write_rows("what", &mut waste::what(kind), kind.omitted, out)?;
    write_rows(
        "held by",
        &mut waste::held_by(kind),
        kind.omitted_holders,
        out,
    )
}

fn write_rows(
    title: &'static str,
    rows: &mut dyn Iterator<Item = [String; 3]>,
    omitted: u64,
    out: &mut Out,
) -> io::Result<()> {
    let mut table = Table::new([
        ("savable", Align::Right),
        ("objects", Align::Right),
        (title, Align::Left),
    ]);
    for [what, savable, objects] in rows {
        table.row([savable, objects, what]);
    }
    table.print(out)?;
    match omitted {
        0 => Ok(()),
        more => out.remark(&format!("… {} more", count(more))),
    }
}
