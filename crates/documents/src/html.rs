//! The report as one HTML file: no script, nothing from elsewhere, fit for a phone and for paper.

use std::fmt::Write;

use anthill_api::notes::Notes;
use anthill_api::report::{Answer, Owner, Pattern, Severity, Suspect, Timeline};
use anthill_api::waste::{Answer as Waste, Kind};

use crate::{timeline, treemap, waste, words};
use anthill_api::units::{bytes, count, counted, share};

const STYLE: &str = include_str!("report.css");

/// The report as a page that needs no other file, with what a person noted.
pub fn page(document: &Answer, notes: &Notes) -> String {
    let file = escaped(&document.file);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Leak suspects in {file}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Leak suspects</h1>\n<p class=\"file\">{file}</p>\n</header>\n<main>\n"
    );
    add_headline(&mut out, document);
    add_notes(&mut out, notes);
    if let Some(timeline) = &document.timeline {
        add_timeline(&mut out, timeline);
    }
    if let Some(full) = &document.out_of_memory {
        let frames: Vec<String> = full
            .thread
            .frames
            .iter()
            .map(|frame| escaped(frame))
            .collect();
        let _ = writeln!(
            out,
            "<section>\n<h2>Out of memory</h2>\n<p>{}</p>\n<pre>{}</pre>\n</section>",
            escaped(&full.sentence),
            frames.join("\n")
        );
    }
    if document.suspects.is_empty() {
        out += "<p class=\"fine\">Nothing keeps a suspicious share of the heap alive.</p>\n";
    }
    for (number, suspect) in (1..).zip(&document.suspects) {
        add_suspect(&mut out, document, number, suspect);
    }
    if !document.patterns.is_empty() {
        out += "<section>\n<h2>Besides</h2>\n";
        for pattern in &document.patterns {
            add_pattern(&mut out, pattern);
        }
        out += "</section>\n";
    }
    add_context(&mut out, document);
    if !document.treemap.is_empty() {
        out += "<section>\n<h2>What retains the heap</h2>\n\
                <p class=\"note\">The area of a tile is the retained size of its object. Tiles inside a tile are its children in the dominator tree.</p>\n";
        out += &treemap::svg(&document.treemap, document.reachable);
        out += "</section>\n";
    }
    if let Some(waste) = &document.waste {
        add_waste(&mut out, waste);
    }
    add_classes(&mut out, document);
    let _ = write!(
        out,
        "</main>\n<footer>Anthill {}. {}. All shares are of the reachable heap; retained sizes are exact.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(&document.convention)
    );
    out
}

fn add_headline(out: &mut String, document: &Answer) {
    let figure = |name: &str, value: String| {
        format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(&value))
    };
    *out += "<dl class=\"figures\">\n";
    *out += &figure("reachable", bytes(document.reachable));
    *out += &figure("objects", count(document.objects));
    *out += &figure("unreachable", bytes(document.unreachable));
    *out += &figure("suspects", document.suspects.len().to_string());
    *out += "</dl>\n";
    for missing in &document.missing {
        let _ = writeln!(
            out,
            "<p class=\"missing\">Missing from the file: {}</p>",
            escaped(missing)
        );
    }
}

fn add_notes(out: &mut String, notes: &Notes) {
    if notes.notes.is_empty() {
        return;
    }
    *out += "<section>\n<h2>Notes</h2>\n<dl class=\"notes\">\n";
    for note in &notes.notes {
        let _ = writeln!(
            out,
            "<dt>{} <code>{}</code></dt><dd>{}</dd>",
            words::subject(note.kind),
            escaped(&note.label),
            escaped(&note.text)
        );
    }
    *out += "</dl>\n</section>\n";
}

fn add_timeline(out: &mut String, timeline: &Timeline) {
    *out += "<section>\n<h2>Over time</h2>\n";
    if let Some(growth) = &timeline.growth {
        let _ = writeln!(
            out,
            "<p>{} <code>{}</code></p>",
            escaped(&growth.sentence),
            escaped(&growth.verify)
        );
    }
    *out += &timeline::svg(timeline);
    *out += "<p class=\"note legend\"><i class=\"alive\"></i>live heap in the recorded states ";
    if !timeline.collections.is_empty() {
        *out += "<i class=\"used\"></i>used heap before and after collections ";
    }
    if timeline.leak_window.is_some() {
        *out += "<i class=\"window\"></i>window in which the heap keeps growing ";
    }
    if !timeline.marks.is_empty() {
        *out += "<i class=\"mark\"></i>marks";
    }
    *out += "</p>\n</section>\n";
}

fn add_suspect(out: &mut String, document: &Answer, number: usize, suspect: &Suspect) {
    let (severity, class) = match suspect.severity {
        Severity::High => ("HIGH", "high"),
        Severity::Medium => ("MEDIUM", "medium"),
    };
    let _ = write!(
        out,
        "<article class=\"suspect {class}\">\n<h2><span class=\"badge\">{severity}{}</span> {number}. {} <small>{}</small></h2>\n\
         <div class=\"bar\"><i style=\"width:{:.1}%\"></i></div>\n<p class=\"sentence\">{}</p>\n",
        if suspect.known { ", known" } else { "" },
        bytes(suspect.retained),
        share(suspect.retained, document.reachable),
        suspect.share.clamp(0.0, 100.0),
        escaped(&suspect.sentence)
    );
    for pattern in &suspect.patterns {
        add_pattern(out, pattern);
    }
    if let Some(fix) = suspect.advice.fix {
        let _ = writeln!(out, "<p>{}</p>", escaped(fix));
    }
    for owner in &suspect.owners {
        add_owner(out, owner, document, suspect.owners.len() <= 2);
    }
    let all = counted(suspect.retained_objects, "object", "objects");
    let _ = write!(
        out,
        "<details open>\n<summary>What it keeps alive: {all}</summary>\n<table>\n\
         <tr><th>class</th><th class=\"n\">objects</th><th class=\"n\">shallow</th><th class=\"cell\"></th><th>mostly held by</th></tr>\n"
    );
    for content in &suspect.contents {
        let _ = writeln!(
            out,
            "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"cell\">{}</td><td class=\"name\">{}</td></tr>",
            escaped(&content.class),
            count(content.objects),
            bytes(content.shallow),
            bar(content.shallow, suspect.retained),
            content.through.as_deref().map_or(String::new(), escaped)
        );
    }
    out.push_str("</table>\n</details>\n");
    let _ = write!(
        out,
        "<p class=\"note\">Look closer: <code>{}</code></p>\n\
         <p class=\"note\">Fingerprint <code>{}</code></p>\n</article>\n",
        escaped(&suspect.advice.verify),
        suspect.fingerprint
    );
}

fn add_pattern(out: &mut String, pattern: &Pattern) {
    let _ = writeln!(
        out,
        "<p class=\"pattern\"><b>Looks like: {}.</b> {} {}</p>",
        escaped(pattern.name),
        escaped(&pattern.evidence),
        escaped(pattern.fix)
    );
}

fn add_owner(out: &mut String, owner: &Owner, document: &Answer, open: bool) {
    let _ = write!(
        out,
        "<details{}>\n<summary><code>{}</code> alone retains {} ({}), held by <b>{}</b></summary>\n<ol class=\"path\">\n<li class=\"root\">GC root: {}</li>\n",
        if open { " open" } else { "" },
        escaped(&owner.object.label),
        bytes(owner.object.retained),
        share(owner.object.retained, document.reachable),
        escaped(&owner.held_by),
        escaped(&owner.root)
    );
    for (index, step) in owner.path.iter().enumerate() {
        if owner.skipped > 0 && index == owner.path.len() / 2 {
            let more = counted(owner.skipped as u64, "more object", "more objects");
            let _ = writeln!(out, "<li>… {more} …</li>");
        }
        let via = step.via.as_ref().map_or(String::new(), |via| {
            format!("<span class=\"via\">{}</span> → ", escaped(via))
        });
        let _ = writeln!(
            out,
            "<li>{via}<code>{}</code></li>",
            escaped(&step.object.label)
        );
    }
    out.push_str("</ol>\n");
    if let Some(thread) = &owner.thread {
        let name = thread.name.as_deref().unwrap_or("without a name");
        let _ = write!(out, "<p>Thread <b>{}</b></p>\n<pre>", escaped(name));
        for frame in &thread.frames {
            let _ = writeln!(out, "at {}", escaped(frame));
        }
        out.push_str("</pre>\n");
    }
    out.push_str("</details>\n");
}

fn add_context(out: &mut String, document: &Answer) {
    if document.context.is_empty() {
        return;
    }
    *out += "<section>\n<h2>Context</h2>\n<p class=\"note\">These objects are large only because of the suspects below them.</p>\n<ul>\n";
    for named in &document.context {
        let _ = writeln!(
            out,
            "<li><code>{}</code> {}</li>",
            escaped(&named.label),
            share(named.retained, document.reachable)
        );
    }
    *out += "</ul>\n</section>\n";
}

fn add_classes(out: &mut String, document: &Answer) {
    *out += "<section>\n<h2>Largest classes</h2>\n<table>\n<tr><th>class</th><th class=\"n\">objects</th><th class=\"n\">shallow</th><th class=\"n\">retained</th><th class=\"cell\"></th></tr>\n";
    for row in &document.classes {
        let _ = writeln!(
            out,
            "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"cell\">{}</td></tr>",
            escaped(&row.class),
            count(row.objects),
            bytes(row.shallow),
            bytes(row.retained),
            bar(row.shallow, document.shallow)
        );
    }
    *out += "</table>\n</section>\n";
}

fn add_waste(out: &mut String, waste: &Waste) {
    let _ = write!(
        out,
        "<section>\n<h2>Waste</h2>\n<p>{}</p>\n<table>\n<tr><th>kind</th><th class=\"n\">savable</th><th class=\"n\">objects</th><th class=\"n\">taken up</th><th></th></tr>\n",
        escaped(&waste::sentence(waste))
    );
    for kind in &waste.kinds {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"cell\">{}</td></tr>",
            waste::title(kind.kind),
            bytes(kind.savable),
            count(kind.objects),
            bytes(kind.bytes),
            bar(kind.savable, waste.reachable)
        );
    }
    *out += "</table>\n";
    waste.worth_telling().for_each(|kind| add_kind(out, kind));
    *out += "</section>\n";
}

fn add_kind(out: &mut String, kind: &Kind) {
    let _ = write!(
        out,
        "<details>\n<summary>{}</summary>\n<p class=\"note\">{}</p>\n",
        escaped(&waste::headline(kind)),
        escaped(waste::rule(kind.kind))
    );
    let mut table = |title: &str, rows: &mut dyn Iterator<Item = [String; 3]>| {
        let _ = writeln!(
            out,
            "<table>\n<tr><th>{title}</th><th class=\"n\">savable</th><th class=\"n\">objects</th></tr>"
        );
        for [what, savable, objects] in rows {
            let _ = writeln!(
                out,
                "<tr><td class=\"name\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
                escaped(&what),
                savable,
                objects
            );
        }
        *out += "</table>\n";
    };
    table("what", &mut waste::what(kind));
    table("held by", &mut waste::held_by(kind));
    *out += "</details>\n";
}

fn bar(part: u64, whole: u64) -> String {
    let width = part as f64 * 100.0 / whole.max(1) as f64;
    format!(
        "<div class=\"bar\"><i style=\"width:{:.1}%\"></i></div>",
        width.clamp(0.0, 100.0)
    )
}

/// Text whose special characters show as themselves. Four characters need no crate.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            char => out.push(char),
        }
    }
    out
}
