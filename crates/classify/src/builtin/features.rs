//! Features: a file says which code belongs to which of them; an object belongs to those of its class
//! and of its allocation site (Weninger et al. 2018, section 3.3.2). `docs/classification.md` has the
//! format.

use std::ops::RangeInclusive;

use anthill_heap::Frame;
use anthill_syntax::Pattern;
use rustc_hash::FxHashMap;

use super::Context;
use crate::catalog::Call;
use crate::error::Error;
use crate::values::{Classified, LabelId, PathId, Values};

/// What a mapping file says.
#[derive(Default)]
struct Features {
    names: Vec<String>,
    ranges: Vec<CodeRange>,
}

/// A piece of code that belongs to a feature.
struct CodeRange {
    feature: usize,
    class: Pattern,
    /// The same with everything nested in it.
    nested: Pattern,
    method: Option<Pattern>,
    lines: Option<RangeInclusive<i32>>,
}

impl CodeRange {
    fn has_class(&self, name: &str) -> bool {
        self.class.matches(name) || self.nested.matches(name)
    }

    /// A part of a class says nothing about all of its objects.
    fn has_all_of(&self, class: &str) -> bool {
        self.method.is_none()
            && self.lines.is_none()
            && self.has_class(class.trim_end_matches("[]"))
    }

    fn has_frame(&self, frame: &Frame) -> bool {
        let method = self.method.as_ref();
        let lines = self.lines.as_ref();
        method.is_none_or(|method| method.matches(&frame.method))
            && lines.is_none_or(|lines| lines.contains(&frame.line))
            && self.has_class(&frame.class)
    }

    /// `class`, `class#method`, `class:lines` or `class#method:lines`.
    fn parse(text: &str, feature: usize) -> Result<Self, String> {
        let (code, lines) = match text.split_once(':') {
            Some((code, lines)) => (code.trim(), Some(parse_lines(lines.trim())?)),
            None => (text, None),
        };
        let (class, method) = match code.split_once('#') {
            Some((class, method)) => (class.trim(), Some(method.trim())),
            None => (code, None),
        };
        if class.is_empty() || method.is_some_and(str::is_empty) {
            return Err(format!("`{text}` has no class or method name"));
        }
        if code.contains(char::is_whitespace) {
            return Err(format!("`{code}` has spaces in a name"));
        }
        Ok(CodeRange {
            feature,
            class: Pattern::class(class),
            nested: Pattern::class(&format!("{class}$*")),
            method: method.map(Pattern::new),
            lines,
        })
    }
}

fn parse_lines(text: &str) -> Result<RangeInclusive<i32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse::<i32>(), last.trim().parse::<i32>()) {
        (Ok(first), Ok(last)) if first >= 1 && first <= last => Ok(first..=last),
        _ => Err(format!(
            "`{text}` is not a line or a range of lines, such as 10-25"
        )),
    }
}

impl Features {
    fn parse(text: &str) -> Result<Self, String> {
        let mut features = Features::default();
        let mut current = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split_once("//").map_or(line, |(code, _)| code).trim();
            let result = match line.strip_prefix('[') {
                _ if line.is_empty() => Ok(()),
                Some(rest) => features.header(rest).map(|feature| current = Some(feature)),
                None => match current {
                    Some(feature) => {
                        CodeRange::parse(line, feature).map(|range| features.ranges.push(range))
                    }
                    None => {
                        Err("a feature in brackets must come first, such as [Checkout]".to_owned())
                    }
                },
            };
            result.map_err(|reason| format!("line {number}: {reason}"))?;
        }
        if features.ranges.is_empty() {
            return Err("the file maps no code to any feature".to_owned());
        }
        Ok(features)
    }

    /// The number of the feature whose name stands between brackets.
    fn header(&mut self, rest: &str) -> Result<usize, String> {
        let name = rest.strip_suffix(']').map(str::trim);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err("the name of a feature stands between [ and ]".to_owned());
        };
        let known = self.names.iter().position(|known| known == name);
        Ok(known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        }))
    }

    fn paths(&self, values: &mut Values, wanted: impl Fn(&CodeRange) -> bool) -> Vec<PathId> {
        let ranges = self.ranges.iter().filter(|range| wanted(range));
        ranges
            .map(|range| values.path([self.names[range.feature].as_str()]))
            .collect()
    }
}

impl Context<'_> {
    pub(super) fn feature(&self, step: &Call) -> Result<Classified, Error> {
        let file = step.argument.as_deref().unwrap_or_default();
        let in_file = |reason: String| step.error(format!("{file}: {reason}"));
        let text = step.files.read(file).map_err(in_file)?;
        let features = Features::parse(&text).map_err(in_file)?;
        let traces = self.allocation_traces();
        let state = self.state();
        let mut known: FxHashMap<(u32, Option<u32>), LabelId> = FxHashMap::default();
        Ok(self.by_object(|values, object| {
            let key = (state.class_id(object), traces.get(&object).copied());
            *known.entry(key).or_insert_with(|| {
                let class = &state.classes()[key.0 as usize].name;
                let mut paths = features.paths(values, |range| range.has_all_of(class));
                // Of library code nobody knows whose it is: the innermost frame of a feature counts.
                let mut frames = key.1.into_iter().flat_map(|trace| self.frames(trace));
                let site = frames.find_map(|frame| {
                    let paths = features.paths(values, |range| range.has_frame(frame));
                    (!paths.is_empty()).then_some(paths)
                });
                paths.extend(site.into_iter().flatten());
                if paths.is_empty() {
                    values.one("(no feature)")
                } else {
                    values.label(paths)
                }
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use anthill_heap::{HeapBuilder, StackTrace, Thread};

    use super::*;
    use crate::brute_force::{said, with_context};
    use crate::steps::Step;

    const MAPPING: &str = "\
// comment
[Checkout]
shop.Cart
shop.pay.*
[Pricing]
shop.Price#of     // one method
shop.Cart:10-20
[Checkout]
shop.Price:5
";

    #[test]
    fn objects_belong_to_the_features_of_their_class_and_allocation_site() {
        let mut heap = HeapBuilder::new();
        heap.object("cart", "shop.Cart", 16);
        heap.object("line", "shop.Cart$Line[]", 16);
        heap.object("card", "shop.pay.card.Card", 16);
        heap.object("price", "shop.Price", 16);
        heap.object("text", "java.lang.String", 24);
        heap.object("other", "java.lang.String", 24);
        heap.object("plain", "java.lang.String", 24);
        let mut state = heap.build();
        let frame = |class: &str, method: &str, line| Frame {
            class: class.to_owned(),
            method: method.to_owned(),
            signature: String::new(),
            source: None,
            line,
        };
        state.tables.frames = vec![
            frame("java.lang.String", "valueOf", 3),
            frame("shop.Cart", "add", 12),
            frame("shop.pay.Gate", "open", 1),
            frame("shop.Price", "of", 5),
        ];
        let trace = |thread_serial, frames: &[u32]| StackTrace {
            serial: 0,
            thread_serial,
            frames: frames.to_vec(),
        };
        state.tables.traces = vec![trace(7, &[0, 1, 2]), trace(8, &[3]), trace(0, &[])];
        let allocated = |name, trace| (heap.id(name), trace);
        state.tables.allocations = vec![
            allocated("text", 0),
            allocated("other", 1),
            allocated("plain", 2),
        ];
        state.tables.threads = vec![Thread {
            serial: 7,
            object: None,
            name: Some("till".to_owned()),
            trace: None,
        }];

        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(MAPPING.as_bytes()).unwrap();
        let path = file.path().to_str().unwrap();
        with_context(&state, |context| {
            let expect = |steps: &str, name: &str, keys: &[&str]| {
                let said = &said(context, steps)[heap.id(name) as usize];
                let texts: Vec<String> = said.iter().map(|keys| keys.join(" > ")).collect();
                assert_eq!(texts, keys, "{steps} of {name}");
            };
            let feature = format!("feature({path})");
            expect(&feature, "cart", &["Checkout"]);
            expect(&feature, "line", &["Checkout"]);
            expect(&feature, "card", &["Checkout"]);
            expect(&feature, "price", &["(no feature)"]);
            expect(&feature, "text", &["Checkout", "Pricing"]);
            expect(&feature, "other", &["Checkout", "Pricing"]);
            expect(&feature, "plain", &["(no feature)"]);
            expect("allocating-thread", "text", &["till"]);
            expect("allocating-thread", "other", &["thread 8"]);
            expect("allocating-thread", "plain", &["(not recorded)"]);
            expect("allocating-thread", "cart", &["(not recorded)"]);
            let denied = context.levels(&Step::parse_list(&feature).unwrap()).err();
            let reason = denied.unwrap().to_string();
            assert!(reason.contains("only on the command line"), "{reason}");
            let site = "java.lang.String.valueOf:3 > shop.Cart.add:12 > shop.pay.Gate.open:1";
            expect("allocation-site", "text", &[site]);
        });
    }

    #[test]
    fn mistakes_in_a_mapping_name_the_line() {
        for (text, reason) in [
            ("shop.Cart", "line 1: a feature in brackets must come first"),
            ("[A]\n#m", "line 2: `#m` has no class or method name"),
            ("[A]\nx.Y#", "line 2: `x.Y#` has no class"),
            ("[A]\n\nx.Y:20-10", "line 3: `20-10` is not a line"),
            ("[A]\nx.Y:0", "line 2: `0` is not a line"),
            ("[A]\nx Y", "line 2: `x Y` has spaces"),
            ("[A", "line 1: the name of a feature"),
            ("[]", "line 1: the name of a feature"),
            ("[A]\n", "the file maps no code"),
        ] {
            let error = Features::parse(text).err().unwrap();
            assert!(error.starts_with(reason), "{text:?}: {error}");
        }
    }
}
