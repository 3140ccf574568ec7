//! The table "Code map" in ARCHITECTURE.md, as far as it is about crates.

use std::collections::BTreeSet;

/// A row about a crate.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The crate's folder below `crates`, which is its name in the table.
    pub name: String,
    /// The crates that it may use.
    pub uses: BTreeSet<String>,
    /// The crates that only its tests may use, besides.
    pub tests_use: BTreeSet<String>,
}

/// The rows about crates, in order. The column `may use` reads `a, b; tests: c, d`.
///
/// # Errors
///
/// What is wrong with the table.
pub fn rows(document: &str) -> Result<Vec<Row>, String> {
    let mut lines = document
        .lines()
        .skip_while(|line| line.trim() != "## Code map")
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .map(cells);
    let header = lines.next().ok_or("no table under \"## Code map\"")?;
    let column = header
        .iter()
        .position(|title| *title == "may use")
        .ok_or("the table has no column \"may use\"")?;
    let mut rows = Vec::new();
    for cells in lines.skip(1) {
        if cells.len() != header.len() {
            return Err(format!(
                "{} has {} cells instead of {}",
                cells[0],
                cells.len(),
                header.len()
            ));
        }
        if let Some(name) = cells[0].trim_matches('`').strip_prefix("crates/") {
            let (uses, tests_use) = cells[column]
                .split_once("tests:")
                .unwrap_or((cells[column], ""));
            rows.push(Row {
                name: name.to_owned(),
                uses: names(uses.trim_end_matches([' ', ';'])),
                tests_use: names(tests_use),
            });
        }
    }
    Ok(rows)
}

fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let inner = line.strip_prefix('|').unwrap_or(line);
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    inner.split('|').map(str::trim).collect()
}

fn names(list: &str) -> BTreeSet<String> {
    list.split(',')
        .map(|name| name.trim().trim_matches('`').to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(table: &str) -> String {
        format!("# A\n\n| x |\n| --- |\n\n## Code map\n\nText.\n\n{table}\n\n## B\n| y |\n")
    }

    #[test]
    fn a_row_tells_what_a_crate_and_its_tests_may_use() {
        let table = "| folder | what | may use | not |\n| --- | --- | --- | --- |\n\
                     | `crates/heap` | h | | files |\n\
                     | `crates/graph` | g | heap, hprof; tests: testkit | |\n\
                     | `java/x` | j | | |";
        let rows = rows(&document(table)).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0], row("heap", "", ""));
        assert_eq!(rows[1], row("graph", "heap,hprof", "testkit"));
    }

    #[test]
    fn tests_alone_may_use_something() {
        let table = "| folder | may use |\n| --- | --- |\n| `crates/wire` | tests: testkit |";
        assert_eq!(
            rows(&document(table)).unwrap(),
            [row("wire", "", "testkit")]
        );
    }

    #[test]
    fn a_table_that_cannot_be_read_is_an_error() {
        assert!(rows("## Code map\n").is_err());
        assert!(rows(&document("| folder |\n| --- |\n| `crates/a` |")).is_err());
        let short = document("| folder | may use |\n| --- | --- |\n| `crates/a` |");
        assert!(rows(&short).unwrap_err().contains("crates/a"));
    }

    fn row(name: &str, uses: &str, tests_use: &str) -> Row {
        Row {
            name: name.to_owned(),
            uses: names(uses),
            tests_use: names(tests_use),
        }
    }
}
