//! Classification trees as people and spreadsheets see them.

use std::io;

use anthill_api::tree::Node;

use crate::output::table::{Align, Table};
use crate::output::tree::indent;
use crate::output::units::{bytes, count, share};
use crate::output::{Out, csv};

const TITLE: &str = "classification tree";

/// Draws a tree; shares are of the bytes of the reachable heap.
pub fn write_text(top: &Node, reachable: u64, out: &mut Out) -> io::Result<()> {
    let mut table = Table::new([
        ("objects", Align::Right),
        ("shallow", Align::Right),
        ("deep", Align::Right),
        ("retained", Align::Right),
        ("share", Align::Right),
        (TITLE, Align::Left),
    ]);
    add(top, reachable, &mut Vec::new(), &mut table);
    table.print(out)
}

fn add(node: &Node, reachable: u64, last: &mut Vec<bool>, table: &mut Table<6>) {
    let closures = node.closures.as_ref();
    let retained = closures.map(|closures| closures.retained);
    let cell = |text: Option<String>| text.unwrap_or_default();
    table.row([
        count(node.objects),
        bytes(node.shallow),
        cell(closures.map(|closures| bytes(closures.deep))),
        cell(retained.map(bytes)),
        cell(retained.map(|retained| share(retained, reachable))),
        format!("{}{}", indent(last), title(node)),
    ]);
    for (index, child) in node.children.iter().enumerate() {
        last.push(index + 1 == node.children.len() && node.omitted == 0);
        add(child, reachable, last, table);
        last.pop();
    }
    if node.omitted > 0 {
        last.push(true);
        let hint = match node.is_deepest {
            true => "--depth 0 shows further levels",
            false => "--least 0 --limit 0 shows all",
        };
        let mut cells: [String; 6] = Default::default();
        cells[5] = format!("{}… {} more; {hint}", indent(last), node.omitted);
        table.row(cells);
        last.pop();
    }
}

/// The key, and what the node's sampled objects stand for.
fn title(node: &Node) -> String {
    let key = &node.key;
    match node.estimated.filter(|&estimated| estimated > 0) {
        Some(estimated) => format!("{key} (samples stand for {})", bytes(estimated)),
        None => key.clone(),
    }
}

/// Writes a line for each node; `above` has the keys of the nodes above the top.
pub fn write_csv(top: &Node, above: &[String], out: &mut Out) -> io::Result<()> {
    let columns = [
        "path",
        "objects",
        "shallow",
        "deep",
        "deep_objects",
        "retained",
        "retained_objects",
    ];
    csv::line(out, &columns)?;
    let mut path: Vec<&str> = above.iter().map(String::as_str).collect();
    write_lines(top, &mut path, out)
}

fn write_lines<'a>(node: &'a Node, path: &mut Vec<&'a str>, out: &mut Out) -> io::Result<()> {
    path.push(&node.key);
    let closures = node.closures.as_ref();
    let numbers = [
        Some(node.objects),
        Some(node.shallow),
        closures.map(|closures| closures.deep),
        closures.map(|closures| closures.deep_objects),
        closures.map(|closures| closures.retained),
        closures.map(|closures| closures.retained_objects),
    ];
    let numbers = numbers.map(|number| number.map_or_else(String::new, |n| n.to_string()));
    let keys = path.join(" > ");
    let cells: Vec<&str> = [keys.as_str()]
        .into_iter()
        .chain(numbers.iter().map(String::as_str))
        .collect();
    csv::line(out, &cells)?;
    for child in &node.children {
        write_lines(child, path, out)?;
    }
    path.pop();
    Ok(())
}
