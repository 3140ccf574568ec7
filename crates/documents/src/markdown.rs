//! The report in Markdown, for tickets and pull requests.

use std::fmt::Write;

use anthill_api::notes::Notes;
use anthill_api::report::{Answer, Owner, Pattern, Severity, Suspect};
use anthill_api::waste::Answer as Waste;

use crate::{waste, words};
use anthill_api::units::{bytes, count, share};

/// The report as Markdown, with what a person noted.
pub fn text(document: &Answer, notes: &Notes) -> String {
    let mut out = format!("# Leak suspects in {}\n\n", escaped(&document.file));
    let _ = writeln!(
        out,
        "{} objects with {}, {} reachable; {}.\n",
        count(document.objects),
        bytes(document.shallow),
        bytes(document.reachable),
        document.convention
    );
    for missing in &document.missing {
        let _ = writeln!(out, "> missing: {}\n", escaped(missing));
    }
    if !notes.notes.is_empty() {
        out += "## Notes\n\n";
        for note in &notes.notes {
            let subject = words::subject(note.kind);
            let lines: Vec<String> = note.text.lines().map(escaped).collect();
            let text = lines.join("  \n  ");
            let _ = writeln!(out, "- {subject} {}: {text}", code(&note.label));
        }
        out.push('\n');
    }
    if let Some(full) = &document.out_of_memory {
        let (sentence, frames) = (escaped(&full.sentence), full.thread.frames.join("\n"));
        let _ = writeln!(out, "{sentence}\n\n```\n{frames}\n```\n");
    }
    if document.suspects.is_empty() {
        out += "Nothing keeps a suspicious share of the heap alive.\n";
    }
    for (number, suspect) in (1..).zip(&document.suspects) {
        add_suspect(&mut out, document, number, suspect);
    }
    if !document.patterns.is_empty() {
        out += "## Besides\n\n";
        for pattern in &document.patterns {
            add_pattern(&mut out, pattern);
        }
    }
    if !document.context.is_empty() {
        out += "## Context\n\nThese objects are large only because of the suspects below them.\n\n";
        for named in &document.context {
            let retained = share(named.retained, document.reachable);
            let _ = writeln!(out, "- {} ({retained})", code(&named.label));
        }
        out.push('\n');
    }
    if let Some(waste) = &document.waste {
        add_waste(&mut out, waste);
    }
    out += "## Largest classes\n\n| class | objects | shallow | retained |\n| --- | ---: | ---: | ---: |\n";
    for row in &document.classes {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            code(&row.class),
            count(row.objects),
            bytes(row.shallow),
            bytes(row.retained)
        );
    }
    out
}

fn add_suspect(out: &mut String, document: &Answer, number: usize, suspect: &Suspect) {
    let severity = match suspect.severity {
        Severity::High => "HIGH",
        Severity::Medium => "MEDIUM",
    };
    let _ = writeln!(
        out,
        "## {number}. {severity}{}: {} ({})\n\n{}\n",
        if suspect.known { ", known" } else { "" },
        bytes(suspect.retained),
        share(suspect.retained, document.reachable),
        escaped(&suspect.sentence)
    );
    for pattern in &suspect.patterns {
        add_pattern(out, pattern);
    }
    if let Some(fix) = suspect.advice.fix {
        let _ = writeln!(out, "{fix}\n");
    }
    for owner in &suspect.owners {
        add_owner(out, owner);
    }
    out.push_str("| what it keeps alive | objects | shallow | mostly held by |\n| --- | ---: | ---: | --- |\n");
    for content in &suspect.contents {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            code(&content.class),
            count(content.objects),
            bytes(content.shallow),
            content.through.as_deref().map_or(String::new(), code)
        );
    }
    out.push('\n');
    let _ = writeln!(
        out,
        "Look closer: {}\n\nFingerprint: `{}`\n",
        code(&suspect.advice.verify),
        suspect.fingerprint
    );
}

fn add_pattern(out: &mut String, pattern: &Pattern) {
    let _ = writeln!(
        out,
        "Looks like: **{}**. {} {}\n",
        pattern.name,
        escaped(&pattern.evidence),
        pattern.fix
    );
}

fn add_owner(out: &mut String, owner: &Owner) {
    let _ = writeln!(
        out,
        "{} ({}), held by {}\n\n```\nGC root: {}",
        code(&owner.object.label),
        bytes(owner.object.retained),
        code(&owner.held_by),
        owner.root
    );
    for (index, step) in owner.path.iter().enumerate() {
        if owner.skipped > 0 && index == owner.path.len() / 2 {
            let _ = writeln!(out, "  … {} more …", count(owner.skipped as u64));
        }
        let via = step
            .via
            .as_ref()
            .map_or(String::new(), |via| format!("└─ {via} → "));
        let _ = writeln!(out, "  {via}{}", step.object.label);
    }
    if let Some(thread) = &owner.thread {
        let _ = writeln!(
            out,
            "thread {}",
            thread.name.as_deref().unwrap_or("without a name")
        );
        for frame in &thread.frames {
            let _ = writeln!(out, "  at {frame}");
        }
    }
    out.push_str("```\n\n");
}

fn add_waste(out: &mut String, waste: &Waste) {
    let _ = write!(
        out,
        "## Waste\n\n{}\n\n| kind | savable | share | objects | taken up |\n| --- | ---: | ---: | ---: | ---: |\n",
        waste::sentence(waste)
    );
    for kind in &waste.kinds {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            waste::title(kind.kind),
            bytes(kind.savable),
            share(kind.savable, waste.reachable),
            count(kind.objects),
            bytes(kind.bytes)
        );
    }
    out.push('\n');
    for kind in waste.worth_telling() {
        let _ = writeln!(
            out,
            "### {}\n\n{}\n",
            waste::headline(kind),
            waste::rule(kind.kind)
        );
        let mut table = |title: &str, rows: &mut dyn Iterator<Item = [String; 3]>| {
            let _ = writeln!(
                out,
                "| {title} | savable | objects |\n| --- | ---: | ---: |"
            );
            for [what, savable, objects] in rows {
                let _ = writeln!(out, "| {} | {savable} | {objects} |", code(&what));
            }
            out.push('\n');
        };
        table("what", &mut waste::what(kind));
        table("held by", &mut waste::held_by(kind));
    }
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'").replace('|', "\\|"))
}

/// Text whose special characters show as themselves.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        if "\\`*_[]<>#|".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}
