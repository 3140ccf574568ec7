//! The JVM's own class histogram (`jcmd GC.class_histogram`).

use std::collections::BTreeMap;

/// How many instances a class has, and their bytes as the JVM counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub instances: u64,
    pub bytes: u64,
}

/// Totals by class name in Java notation: `byte[]`, `java.lang.String[]`, `int[][]`. Classes of the
/// same name are added up.
pub type Histogram = BTreeMap<String, Total>;

/// Reads the table that the JVM prints; lines that are no row of it are skipped.
pub fn parse(text: &str) -> Histogram {
    let mut histogram = Histogram::new();
    for (name, total) in text.lines().filter_map(row) {
        let sum = histogram.entry(name).or_default();
        sum.instances += total.instances;
        sum.bytes += total.bytes;
    }
    histogram
}

/// `   1:       2000202      200397416  [I (java.base@17.0.15)`
fn row(line: &str) -> Option<(String, Total)> {
    let (rank, rest) = line.trim_start().split_once(':')?;
    rank.parse::<u64>().ok()?;
    let (instances, rest) = rest.trim_start().split_once(' ')?;
    let (bytes, name) = rest.trim_start().split_once(' ')?;
    let name = name.trim();
    let name = name.split_once(" (").map_or(name, |(class, _module)| class);
    let total = Total {
        instances: instances.parse().ok()?,
        bytes: bytes.parse().ok()?,
    };
    Some((java_notation(name), total))
}

/// `[[I` is `int[][]`, `[Ljava.lang.String;` is `java.lang.String[]`.
fn java_notation(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let dimensions = name.len() - element.len();
    if dimensions == 0 {
        return name.to_owned();
    }
    let element = match element {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        class => class
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';'))
            .unwrap_or(class),
    };
    element.to_owned() + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
4711:
 num     #instances         #bytes  class name (module)
-------------------------------------------------------
   1:           202         397416  [I (java.base@17.0.15)
   2:            12            480  anthill.samples.Product
   3:             3             96  [[Ljava.lang.String; (java.base@17.0.15)
   4:             1             40  anthill.samples.Product
Total           218         398032
";

    #[test]
    fn rows_are_read_in_java_notation_and_same_names_added_up() {
        let total = |instances, bytes| Total { instances, bytes };
        let expected = [
            ("anthill.samples.Product", total(13, 520)),
            ("int[]", total(202, 397_416)),
            ("java.lang.String[][]", total(3, 96)),
        ];
        let expected: Histogram = expected.map(|(name, t)| (name.to_owned(), t)).into();
        assert_eq!(parse(PRINTED), expected);
    }
}
