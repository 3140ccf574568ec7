//! The language of rules: text → rules. Knows nothing of heaps; `docs/rules.md` describes it.
//!
//! ```text
//! rule one-searcher: at most 1 instances of org.apache.lucene.search.IndexSearcher
//! rule "closed sessions die": dead com.app.Session where closed = true
//! ```

mod check;

use anthill_classify::{Definitions, Mistake, Parser, Step, Token, closest};

use crate::Severity;

pub use check::{Each, Finding, Heap, Sets, Total, check, figure};

/// Something that must hold for a heap.
#[derive(Clone, Debug)]
pub struct Rule {
    /// As it was given, or what the rule says.
    pub name: String,
    pub claim: Claim,
    pub severity: Severity,
    pub message: Option<String>,
    /// What the rule says, as it was written.
    pub text: String,
    /// Where it begins, from 1.
    pub line: usize,
}

#[derive(Clone, Debug)]
pub enum Claim {
    /// No such object is reachable.
    Dead(Set),
    /// Each has at most one reference.
    Unshared(Set),
    /// Each is reached from one of the owners.
    Owned {
        what: Set,
        by: Set,
    },
    /// None is reached from these, unless through those.
    NotReachable {
        what: Set,
        from: Set,
        through: Option<Set>,
    },
    /// Each owner has so many.
    PerOwner {
        what: Set,
        owner: Set,
        limit: Limit,
    },
    Measured(Measured),
}

/// A figure and its limit.
#[derive(Clone, Debug)]
pub struct Measured {
    pub measure: Measure,
    pub of: Set,
    /// Of each object, not of all together.
    pub each: bool,
    pub limit: Limit,
    /// The growth of the figure is limited, not the figure.
    pub growth: Option<Growth>,
}

/// From which point of a recording to which; the first and the last by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    pub from: Option<String>,
    pub to: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Instances,
    Shallow,
    Retained,
    Deep,
    Elements,
    Capacity,
    Fill,
}

impl Measure {
    const ALL: [(&'static str, Measure); 7] = [
        ("instances", Measure::Instances),
        ("shallow", Measure::Shallow),
        ("retained", Measure::Retained),
        ("deep", Measure::Deep),
        ("elements", Measure::Elements),
        ("capacity", Measure::Capacity),
        ("fill", Measure::Fill),
    ];

    pub fn name(self) -> &'static str {
        let named = Measure::ALL.iter().find(|named| named.1 == self);
        named.map_or("", |named| named.0)
    }

    /// Whether only data structures have it.
    pub fn is_of_structures(self) -> bool {
        matches!(self, Measure::Elements | Measure::Capacity | Measure::Fill)
    }

    pub fn is_bytes(self) -> bool {
        matches!(self, Measure::Shallow | Measure::Retained | Measure::Deep)
    }
}

/// Objects that a rule is about: reachable ones only.
#[derive(Clone, Debug)]
pub struct Set {
    pub kind: SetKind,
    pub condition: Option<Box<Step>>,
    /// Only data structures with so many elements.
    pub elements: Option<Limit>,
    /// Where it begins, in bytes of the source.
    pub at: usize,
    /// As it was written.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetKind {
    /// A class and, unless it has wildcards or `only` is said, its subclasses.
    Class { pattern: String, only: bool },
    /// What a static field refers to.
    Static { class: String, field: String },
    /// An object group in its own language.
    Group { text: String, at: usize },
    /// The heads of data structures, by class or definition.
    Structure(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub bound: Bound,
    pub amount: f64,
    pub unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    AtMost,
    AtLeast,
    Exactly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Plain,
    Bytes,
    Percent,
    PercentOfHeap,
}

impl Limit {
    /// Whether a figure is within the limit; shares are in percent.
    pub fn allows(&self, figure: f64) -> bool {
        match self.bound {
            Bound::AtMost => figure <= self.amount,
            Bound::AtLeast => figure >= self.amount,
            Bound::Exactly => figure == self.amount,
        }
    }
}

/// All rules of a file or an option.
pub fn parse(text: &str, definitions: &Definitions) -> Result<Vec<Rule>, Mistake> {
    let mut reader = Reader {
        parser: Parser::new(text),
        definitions,
    };
    let mut rules: Vec<Rule> = Vec::new();
    while !reader.parser.at_end() {
        let at = reader.parser.span().start;
        let rule = reader.rule()?;
        if rules.iter().any(|known| known.name == rule.name) {
            let message = format!("there are two rules `{}`; give one another name", rule.name);
            return Err(reader.parser.mistake(at, message));
        }
        rules.push(rule);
    }
    Ok(rules)
}

struct Reader<'a> {
    parser: Parser<'a>,
    definitions: &'a Definitions,
}

/// Words a rule can begin with, besides a set.
const BEGINNINGS: [&str; 13] = [
    "at",
    "exactly",
    "dead",
    "no",
    "growth",
    "instances",
    "shallow",
    "retained",
    "deep",
    "elements",
    "capacity",
    "fill",
    "each",
];

/// Words that can follow a set.
const AFTER_SET: [&str; 10] = [
    "unshared", "owned", "not", "must", "at", "exactly", "where", "per", "with", "is",
];

impl Reader<'_> {
    fn rule(&mut self) -> Result<Rule, Mistake> {
        let start = self.parser.span().start;
        if !self.parser.take_word("rule") {
            let meant = self.nearest(&["rule"]);
            return Err(self.parser.unexpected("`rule`").suggesting(meant));
        }
        let name = match self.parser.peek().clone() {
            Token::Text(text) => {
                self.parser.advance();
                Some(text)
            }
            _ => self.parser.hyphenated().map(|(name, _)| name),
        };
        self.parser
            .expect_symbol(":", "after the name of the rule")?;
        let from = self.parser.span().start;
        let claim = self.claim()?;
        let text = self.written(from);
        let mut rule = Rule {
            name: name.unwrap_or_else(|| text.clone()),
            claim,
            severity: Severity::Error,
            message: None,
            text,
            line: self.parser.source()[..start].matches('\n').count() + 1,
        };
        self.options(&mut rule)?;
        Ok(rule)
    }

    /// What was written since a place, in one line.
    fn written(&self, from: usize) -> String {
        let text = &self.parser.source()[from..self.parser.last_end()];
        let lines = text.lines().map(|line| match line.split_once('#') {
            Some((before, _)) if !line.contains(['"', '\'']) => before,
            _ => line,
        });
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }

    fn options(&mut self, rule: &mut Rule) -> Result<(), Mistake> {
        loop {
            if self.parser.take_word("severity") {
                rule.severity = self.severity()?;
            } else if self.parser.take_word("message") {
                let Token::Text(text) = self.parser.peek().clone() else {
                    return Err(self.parser.unexpected("a text in quotes"));
                };
                self.parser.advance();
                rule.message = Some(text);
            } else if self.parser.at_end() || self.is_word("rule") {
                return Ok(());
            } else {
                let words = [
                    "rule", "severity", "message", "where", "between", "per", "except",
                ];
                let meant = self.nearest(&words);
                let wanted = "`severity`, `message`, the next `rule` or the end";
                return Err(self.parser.unexpected(wanted).suggesting(meant));
            }
        }
    }

    fn severity(&mut self) -> Result<Severity, Mistake> {
        let all = [
            ("error", Severity::Error),
            ("warning", Severity::Warning),
            ("note", Severity::Note),
        ];
        let mut all_words = all.iter();
        match all_words.find(|one| self.parser.take_word(one.0)) {
            Some(found) => Ok(found.1),
            None => {
                let meant = self.nearest(&all.map(|one| one.0));
                let wanted = "`error`, `warning` or `note`";
                Err(self.parser.unexpected(wanted).suggesting(meant))
            }
        }
    }

    fn claim(&mut self) -> Result<Claim, Mistake> {
        if self.is_word("at") || self.is_word("exactly") {
            return self.limited_first();
        }
        if self.parser.take_word("dead") || self.parser.take_word("no") {
            return Ok(Claim::Dead(self.set()?));
        }
        if self.parser.take_word("growth") {
            self.expect("of")?;
            let measure = self.measure()?.ok_or_else(|| {
                let names = Measure::ALL.map(|named| named.0);
                let meant = self.nearest(&names);
                let wanted = "what grows, such as `retained of`,";
                self.parser.unexpected(wanted).suggesting(meant)
            })?;
            return self.measured(measure, true);
        }
        if let Some(measure) = self.measure()? {
            return self.measured(measure, false);
        }
        self.set_first()
    }

    /// `MEASURE of`, if that comes next.
    fn measure(&mut self) -> Result<Option<Measure>, Mistake> {
        let position = self.parser.position();
        let found = Measure::ALL
            .iter()
            .find(|named| self.parser.take_word(named.0));
        match found {
            Some(&(_, measure)) if self.parser.take_word("of") => Ok(Some(measure)),
            Some(_) => {
                self.parser.back_to(position);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// After `MEASURE of`: what is measured, and its limit.
    fn measured(&mut self, measure: Measure, growth: bool) -> Result<Claim, Mistake> {
        let each = self.parser.take_word("each");
        let of = self.set()?;
        let each = each
            || measure.is_of_structures()
            || matches!(of.kind, SetKind::Structure(_)) && measure != Measure::Instances;
        let limit = self.limit(Some(measure))?;
        if growth && each {
            let message = "the growth of single objects cannot be followed: leave out `each`";
            return Err(self.parser.mistake(of.at, message));
        }
        Ok(Claim::Measured(Measured {
            measure,
            of,
            each,
            limit,
            growth: match growth {
                true => Some(self.points()?),
                false => None,
            },
        }))
    }

    /// `at most 3 instances of SET`, `at most 3 SET per SET`, `at most 5 % of heap in SET`.
    fn limited_first(&mut self) -> Result<Claim, Mistake> {
        let limit = self.limit(None)?;
        if limit.unit == Unit::PercentOfHeap || limit.unit == Unit::Bytes {
            self.expect("in")?;
            return Ok(Claim::Measured(Measured {
                measure: Measure::Shallow,
                of: self.set()?,
                each: false,
                limit,
                growth: None,
            }));
        }
        if limit.unit == Unit::Percent {
            return Err(self.parser.unexpected("`of heap in` and what takes it"));
        }
        if self.parser.take_word("instances") || self.parser.take_word("instance") {
            self.expect("of")?;
        }
        let what = self.set()?;
        if self.parser.take_word("per") {
            let owner = self.set()?;
            return Ok(Claim::PerOwner { what, owner, limit });
        }
        Ok(Claim::Measured(Measured {
            measure: Measure::Instances,
            of: what,
            each: false,
            limit,
            growth: None,
        }))
    }

    /// `SET unshared`, `SET owned by SET`, `SET not reachable from SET except through SET`.
    fn set_first(&mut self) -> Result<Claim, Mistake> {
        let what = self.set()?;
        let _ = self.parser.take_word("must") || self.parser.take_word("is");
        let negated = self.parser.take_word("not");
        let _ = self.parser.take_word("be");
        if negated {
            self.expect("reachable")?;
            self.expect("from")?;
            let from = self.set()?;
            let through = match self.parser.take_word("except") {
                true => {
                    self.expect("through")?;
                    Some(self.set()?)
                }
                false => None,
            };
            return Ok(Claim::NotReachable {
                what,
                from,
                through,
            });
        }
        if self.parser.take_word("unshared") {
            return Ok(Claim::Unshared(what));
        }
        if self.parser.take_word("owned") {
            self.expect("by")?;
            let by = self.set()?;
            return Ok(Claim::Owned { what, by });
        }
        if self.parser.take_word("dead") {
            return Ok(Claim::Dead(what));
        }
        let words: Vec<&str> = AFTER_SET.into_iter().chain(["dead"]).collect();
        let meant = self.nearest(&words);
        let meant = meant.or_else(|| closest(&what.text, BEGINNINGS.into_iter()));
        let wanted = "`unshared`, `owned by`, `not reachable from` or `dead`";
        Err(self.parser.unexpected(wanted).suggesting(meant))
    }

    fn set(&mut self) -> Result<Set, Mistake> {
        let at = self.parser.span().start;
        let kind = self.set_kind()?;
        let mut set = Set {
            kind,
            condition: None,
            elements: None,
            at,
            text: String::new(),
        };
        loop {
            if set.condition.is_none() && self.parser.take_word("where") {
                let condition = self.definitions.plain_condition(&mut self.parser)?;
                set.condition = Some(Box::new(condition));
            } else if set.elements.is_none() && self.parser.take_word("with") {
                set.elements = Some(self.limit(None)?);
                self.expect("elements")?;
            } else {
                break;
            }
        }
        set.text = self.written(at);
        Ok(set)
    }

    fn set_kind(&mut self) -> Result<SetKind, Mistake> {
        if self.parser.take_word("static") {
            return self.static_field();
        }
        if self.parser.take_word("group") {
            return self.group();
        }
        if self.parser.take_word("structure") {
            return Ok(SetKind::Structure(
                self.name("the type of a data structure")?,
            ));
        }
        if self.parser.take_word("instances") {
            self.expect("of")?;
        }
        let only = self.parser.take_word("only");
        let _ = self.parser.take_word("class");
        Ok(SetKind::Class {
            pattern: self.name("the name of a class")?,
            only,
        })
    }

    fn static_field(&mut self) -> Result<SetKind, Mistake> {
        let at = self.parser.span().start;
        let name = self.name("a class and its static field, such as com.app.Cache.entries,")?;
        match name.rsplit_once('.') {
            Some((class, field)) if !class.is_empty() && !field.is_empty() => Ok(SetKind::Static {
                class: class.to_owned(),
                field: field.to_owned(),
            }),
            _ => {
                let message =
                    format!("`{name}` names no field: write the class, a dot and the field");
                Err(self.parser.mistake(at, message))
            }
        }
    }

    /// A kept group by name, or any group in parentheses.
    fn group(&mut self) -> Result<SetKind, Mistake> {
        if !self.parser.is_symbol("(") {
            let at = self.parser.span().start;
            let text = self.name("the name of a kept group, or a group in parentheses,")?;
            return Ok(SetKind::Group { text, at });
        }
        let open = self.parser.span();
        self.parser.advance();
        let mut depth = 1;
        loop {
            let end = self.parser.span().start;
            match self.parser.advance() {
                Token::End => {
                    let message = "this parenthesis is not closed";
                    return Err(self.parser.mistake(open.start, message));
                }
                Token::Symbol("(") => depth += 1,
                Token::Symbol(")") => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(SetKind::Group {
                    text: self.parser.source()[open.end..end].to_owned(),
                    at: open.end,
                });
            }
        }
    }

    /// A name with dots, wildcards and brackets, up to the next blank, or a text in quotes.
    fn name(&mut self, wanted: &str) -> Result<String, Mistake> {
        if let Token::Text(text) = self.parser.peek().clone() {
            self.parser.advance();
            return Ok(text);
        }
        let start = self.parser.span().start;
        let mut end = start;
        while self.parser.span().start == end {
            match self.parser.peek() {
                Token::Word(_) | Token::Int(_) => {}
                Token::Symbol("." | "*" | "?" | "[" | "]" | "/") => {}
                _ => break,
            }
            self.parser.advance();
            end = self.parser.last_end();
        }
        let name = &self.parser.source()[start..end];
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(self.parser.unexpected(wanted));
        }
        Ok(name.to_owned())
    }

    /// `at most 64 MB`, `at least 25 %`, `exactly 1`.
    fn limit(&mut self, of: Option<Measure>) -> Result<Limit, Mistake> {
        let bound = if self.parser.take_word("exactly") {
            Bound::Exactly
        } else if self.parser.take_word("at") {
            if self.parser.take_word("most") {
                Bound::AtMost
            } else if self.parser.take_word("least") {
                Bound::AtLeast
            } else {
                let meant = self.nearest(&["most", "least"]);
                return Err(self
                    .parser
                    .unexpected("`most` or `least`")
                    .suggesting(meant));
            }
        } else {
            let meant = self.nearest(&["at", "exactly", "where"]);
            let wanted = "`at most`, `at least` or `exactly`";
            return Err(self.parser.unexpected(wanted).suggesting(meant));
        };
        let at = self.parser.span().start;
        let amount = match *self.parser.peek() {
            Token::Int(number) => number as f64,
            Token::Float(number) => number,
            _ => return Err(self.parser.unexpected("a number")),
        };
        self.parser.advance();
        let (factor, unit) = self.unit()?;
        let limit = Limit {
            bound,
            amount: amount * factor,
            unit,
        };
        match of.and_then(|measure| refusal(measure, unit)) {
            Some(message) => Err(self.parser.mistake(at, message)),
            None => Ok(limit),
        }
    }

    fn unit(&mut self) -> Result<(f64, Unit), Mistake> {
        if self.parser.take_symbol("%") {
            if self.parser.take_word("of") {
                let _ = self.parser.take_word("the");
                self.expect("heap")?;
                return Ok((1.0, Unit::PercentOfHeap));
            }
            return Ok((1.0, Unit::Percent));
        }
        let units: [(&str, f64); 12] = [
            ("bytes", 1.0),
            ("byte", 1.0),
            ("b", 1.0),
            ("k", 1024.0),
            ("kb", 1024.0),
            ("kib", 1024.0),
            ("m", 1_048_576.0),
            ("mb", 1_048_576.0),
            ("mib", 1_048_576.0),
            ("g", 1_073_741_824.0),
            ("gb", 1_073_741_824.0),
            ("gib", 1_073_741_824.0),
        ];
        let found = match self.parser.peek() {
            Token::Word(word) => units.iter().find(|unit| unit.0.eq_ignore_ascii_case(word)),
            _ => None,
        };
        Ok(match found {
            Some(&(_, factor)) => {
                self.parser.advance();
                (factor, Unit::Bytes)
            }
            None => (1.0, Unit::Plain),
        })
    }

    /// `between first and mark "released"`; nothing else is needed.
    fn points(&mut self) -> Result<Growth, Mistake> {
        if !self.parser.take_word("between") {
            return Ok(Growth::default());
        }
        let from = Some(self.point()?);
        self.expect("and")?;
        let to = Some(self.point()?);
        Ok(Growth { from, to })
    }

    fn point(&mut self) -> Result<String, Mistake> {
        let mark = self.parser.take_word("mark");
        match self.parser.peek().clone() {
            Token::Text(text) => {
                self.parser.advance();
                Ok(if mark { format!("mark:{text}") } else { text })
            }
            Token::Word(word) if !mark && matches!(word.as_str(), "first" | "last") => {
                self.parser.advance();
                Ok(word)
            }
            _ => Err(self
                .parser
                .unexpected("`first`, `last` or a point in quotes, such as mark \"released\",")),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.parser.peek(), Token::Word(found) if found == word)
    }

    fn expect(&mut self, word: &str) -> Result<(), Mistake> {
        if self.parser.take_word(word) {
            return Ok(());
        }
        let meant = self.nearest(&[word]);
        Err(self
            .parser
            .unexpected(&format!("`{word}`"))
            .suggesting(meant))
    }

    /// The word that was probably meant by the next one.
    fn nearest<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        match self.parser.peek() {
            Token::Word(word) => closest(word, words.iter().copied()),
            _ => None,
        }
    }
}

/// Why a measure cannot be compared with an amount in this unit.
fn refusal(measure: Measure, unit: Unit) -> Option<String> {
    let name = measure.name();
    match (measure, unit) {
        (Measure::Fill, Unit::Percent) => None,
        (Measure::Fill, _) => Some("`fill` is a share: write it in percent".to_owned()),
        (Measure::Elements | Measure::Capacity, Unit::Plain) => None,
        (Measure::Elements | Measure::Capacity, _) => {
            Some(format!("`{name}` is a number without a unit"))
        }
        (Measure::Instances, Unit::Bytes) => {
            Some("`instances` is a number; `shallow` is their bytes".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;
