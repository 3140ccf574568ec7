//! What `anthill growth` shows of structures, alone or together, as text and CSV.

use anthill_api::growth::{Changes, Joint, Place, Structure};

use crate::failure::Failure;
use crate::output::Out;
use crate::output::units::{bytes, count, counted};

/// Classes of newcomers that are shown, and kinds of them if they are asked for.
const MOST_CLASSES: usize = 3;
const MOST_KINDS: usize = 10;

/// The columns of CSV.
pub const COLUMNS: [&str; 14] = [
    "hgp",
    "growth",
    "relative",
    "retained_before",
    "retained",
    "deep_before",
    "deep",
    "elements_before",
    "elements",
    "new_share",
    "born",
    "approximate",
    "structures",
    "name",
];

/// A cell that may have nothing in it.
fn cell(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A number in percent, as a cell.
fn percent_cell(percent: Option<f64>) -> String {
    cell(percent.map(|percent| format!("{percent:.2}")))
}

/// As a line of CSV.
pub fn joint_cells(joint: &Joint) -> [String; 14] {
    let none = String::new;
    [
        percent_cell(Some(joint.hgp)),
        joint.growth.to_string(),
        percent_cell(joint.relative),
        joint.retained_before.to_string(),
        joint.retained.to_string(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        joint.owners.len().to_string(),
        joint.owners.join(" + "),
    ]
}

/// As a line of CSV.
pub fn place_cells(place: &Place) -> [String; 14] {
    let none = String::new;
    let elements = place.elements.as_ref();
    [
        percent_cell(Some(place.hgp)),
        place.growth.to_string(),
        none(),
        place.retained_before.to_string(),
        place.retained.to_string(),
        none(),
        none(),
        cell(elements.map(|elements| elements.before)),
        cell(elements.map(|elements| elements.after)),
        none(),
        (place.retained_before == 0).to_string(),
        true.to_string(),
        place.owners.to_string(),
        place.name.clone(),
    ]
}

/// Objects that belong to no known structure, in words.
pub fn place(place: &Place, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    out.heading(&format!(
        "HGP {:.1}%: {} more ({} → {})",
        place.hgp,
        bytes(place.growth),
        bytes(place.retained_before),
        bytes(place.retained),
    ))?;
    out.line(match place.owners {
        1 => format!("  {}", place.name),
        owners => format!("  {} × {}", count(owners), place.name),
    })?;
    if let Some(elements) = &place.elements {
        let about = match &elements.about {
            Some(about) if *about != elements.class => format!(", each with {about}"),
            _ => String::new(),
        };
        out.line(format!(
            "  objects: {} → {} {}{about}",
            count(elements.before),
            count(elements.after),
            elements.class,
        ))?;
    }
    Ok(())
}

/// Several structures, in words.
pub fn joint(joint: &Joint, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    out.heading(&format!(
        "HGP {:.1}%: {} together retain {} more{} ({} → {})",
        joint.hgp,
        counted(joint.owners.len() as u64, "structure", "structures"),
        bytes(joint.growth.unsigned_abs()),
        in_percent(joint.relative),
        bytes(joint.retained_before),
        bytes(joint.retained),
    ))?;
    for owner in &joint.owners {
        out.line(format!("  {owner}"))?;
    }
    Ok(())
}

/// A relative change as text after an absolute one.
fn in_percent(relative: Option<f64>) -> String {
    relative.map_or(String::new(), |percent| format!(", {percent:+.0}%"))
}

/// As a line of CSV.
pub fn structure_cells(one: &Structure) -> [String; 14] {
    let Changes {
        retained,
        deep,
        elements,
    } = &one.change;
    [
        percent_cell(one.hgp),
        one.growth.to_string(),
        percent_cell(retained.relative),
        cell(retained.before),
        cell(retained.after),
        cell(deep.and_then(|deep| deep.before)),
        cell(deep.and_then(|deep| deep.after)),
        cell(elements.before),
        cell(elements.after),
        percent_cell(one.new_share),
        one.born.to_string(),
        one.approximate.to_string(),
        "1".to_owned(),
        one.name.clone(),
    ]
}

/// A structure, in words.
pub fn structure(one: &Structure, out: &mut Out) -> Result<(), Failure> {
    out.blank()?;
    let portion = one
        .hgp
        .map_or(String::new(), |hgp| format!("HGP {hgp:.1}%: "));
    let curve: Vec<String> = one
        .retained
        .iter()
        .map(|retained| retained.map_or("–".to_owned(), bytes))
        .collect();
    out.heading(&format!(
        "{portion}{} more{} ({})",
        bytes(one.growth),
        in_percent(one.change.retained.relative),
        curve.join(" → ")
    ))?;
    let since = match (one.born, one.replaces) {
        (true, _) => ", new",
        (_, true) => ", replaces an earlier one",
        _ => "",
    };
    out.line(format!("  {}{since}", one.name))?;
    if let Some(outer) = &one.inside_of {
        out.line(format!(
            "  in {}, which retains {} more",
            outer.name,
            bytes(outer.growth)
        ))?;
    }
    let elements: Vec<String> = one
        .elements
        .iter()
        .map(|elements| elements.map_or("–".to_owned(), count))
        .collect();
    if one.new_elements.is_some() {
        let share = match one.new_share {
            Some(share) if share > 0.0 => format!(", {share:.0}% of them new"),
            _ => String::new(),
        };
        out.line(format!("  elements: {}{share}", elements.join(" → ")))?;
    }
    if let Some(deep) = one.change.deep {
        let size = |size: Option<u64>| size.map_or("–".to_owned(), bytes);
        let (before, after) = (size(deep.before), size(deep.after));
        let change = in_percent(deep.relative);
        out.line(format!("  deep size: {before} → {after}{change}"))?;
    }
    newcomers(one, out)?;
    let sites = one.allocation_sites.iter().take(MOST_CLASSES);
    let sites: Vec<String> = sites
        .map(|of| format!("{} ({})", of.site, counted(of.objects, "sample", "samples")))
        .collect();
    if !sites.is_empty() {
        out.line(format!("  allocated at {}", sites.join(", ")))?;
    }
    Ok(())
}

/// Objects that were told apart from those there before, then differences of what there is; of what was
/// asked for after --by more, each in a line of its own.
fn newcomers(one: &Structure, out: &mut Out) -> Result<(), Failure> {
    for (by_identity, words) in [
        (true, "newcomers, by identity"),
        (false, "newcomers, by number"),
    ] {
        let of_kind = one.newcomers.iter();
        let of_kind = of_kind.filter(|of| of.by_identity == by_identity && of.bytes > 0);
        let shown: Vec<String> = of_kind
            .take(MOST_CLASSES)
            .map(|of| came(of.objects, of.bytes, by_identity, &of.class))
            .collect();
        if !shown.is_empty() {
            out.line(format!("  {words}: {}", shown.join(", ")))?;
        }
    }
    let kinds = one.newcomers_by.iter().flatten();
    for of in kinds.filter(|of| of.bytes > 0).take(MOST_KINDS) {
        let kind = came(of.objects, of.bytes, of.by_identity, &of.keys.join(" › "));
        out.line(format!("    {kind}"))?;
    }
    Ok(())
}

/// Newcomers of a kind in words; a difference has a sign.
fn came(objects: i64, size: i64, by_identity: bool, kind: &str) -> String {
    let sign = match (by_identity, objects < 0) {
        (true, _) => "",
        (_, true) => "−",
        _ => "+",
    };
    let number = count(objects.unsigned_abs());
    format!("{sign}{number} {kind} ({})", bytes(size.unsigned_abs()))
}
