//! The language of rules: text → rules. Knows nothing of heaps; `docs/rules.md` describes it.
//!
//! ```text
//! rule one-searcher: at most 1 instances of org.apache.lucene.search.IndexSearcher
//! rule "closed sessions die": dead com.app.Session where closed = true
//! ```

mod check;

use anthill_classify::{Definitions, Step};
use anthill_syntax::{Mistake, Token, TokenCursor, closest};

use crate::Severity;

pub use check::{Each, Finding, Heap, Sets, Total, check, figure};

/// Something that must hold for a heap.
#[derive(Clone, Debug)]
pub struct Rule {
    /// As it was given, or what the rule says.
    pub name: String,
    /// What must hold.
    pub claim: Claim,
    /// How bad it is if it does not.
    pub severity: Severity,
    /// What the author says about it.
    pub message: Option<String>,
    /// What the rule says, as it was written.
    pub text: String,
    /// Where it begins, from 1.
    pub line: usize,
}

/// What a rule says.
#[derive(Clone, Debug)]
pub enum Claim {
    /// No such object is reachable.
    Dead(Set),
    /// Each has at most one reference.
    Unshared(Set),
    /// Each is reached from one of the owners.
    Owned {
        /// Those that must be owned.
        what: Set,
        /// The owners.
        by: Set,
    },
    /// None is reached from these, unless through those.
    NotReachable {
        /// Those that must not be reached.
        what: Set,
        /// Where ways begin.
        from: Set,
        /// Where ways may pass.
        through: Option<Set>,
    },
    /// Each owner has so many.
    PerOwner {
        /// Those that are counted.
        what: Set,
        /// The owners.
        owner: Set,
        /// How many each may have.
        limit: Limit,
    },
    /// A figure is within its limit.
    Measured(Measured),
}

/// A figure and its limit.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which figure.
    pub measure: Measure,
    /// Of which objects.
    pub of: Set,
    /// Of each object, not of all together.
    pub each: bool,
    /// Its limit.
    pub limit: Limit,
    /// The growth of the figure is limited, not the figure.
    pub growth: Option<Growth>,
}

/// From which point of a recording to which; the first and the last by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// The first point, as a person names it.
    pub from: Option<String>,
    /// The last point, as a person names it.
    pub to: Option<String>,
}

/// A figure of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// How many there are.
    Instances,
    /// Their own bytes.
    Shallow,
    /// Bytes that would die with them.
    Retained,
    /// Bytes of all that they reach.
    Deep,
    /// Elements of data structures.
    Elements,
    /// Elements for which data structures have room.
    Capacity,
    /// Elements as a share of the capacity.
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

    /// The word for it in rules.
    pub fn name(self) -> &'static str {
        let named = Measure::ALL.iter().find(|named| named.1 == self);
        named.map_or("", |named| named.0)
    }

    /// Whether only data structures have it.
    pub fn is_of_structures(self) -> bool {
        matches!(self, Measure::Elements | Measure::Capacity | Measure::Fill)
    }

    /// Whether it is counted in bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Measure::Shallow | Measure::Retained | Measure::Deep)
    }
}

/// Objects that a rule is about: reachable ones only.
#[derive(Clone, Debug)]
pub struct Set {
    /// How the objects are chosen.
    pub kind: SetKind,
    /// Only those for which it is true.
    pub condition: Option<Box<Step>>,
    /// Only data structures with so many elements.
    pub elements: Option<Limit>,
    /// Where it begins, in bytes of the source.
    pub at: usize,
    /// As it was written.
    pub text: String,
}

/// Ways to choose objects.
#[derive(Clone, Debug, PartialEq)]
pub enum SetKind {
    /// A class and, unless it has wildcards or `only` is said, its subclasses.
    Class {
        /// The name, perhaps with wildcards.
        pattern: String,
        /// Whether subclasses are not meant.
        only: bool,
    },
    /// What a static field refers to.
    Static {
        /// The class that declares it.
        class: String,
        /// Its name.
        field: String,
    },
    /// An object group in its own language.
    Group {
        /// As it was written.
        text: String,
        /// Where it begins, in bytes of the source.
        at: usize,
    },
    /// The heads of data structures, by class or definition.
    Structure(String),
}

/// What a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// On which side of the amount.
    pub bound: Bound,
    /// In units.
    pub amount: f64,
    /// What the amount counts.
    pub unit: Unit,
}

/// Which side of an amount is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The amount and less.
    AtMost,
    /// The amount and more.
    AtLeast,
    /// The amount only.
    Exactly,
}

/// What an amount counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whatever the figure counts.
    Plain,
    /// Bytes, from a text such as `10 MB`.
    Bytes,
    /// Hundredths of what there is room for, or of the figure before.
    Percent,
    /// Hundredths of the reachable heap.
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
        cursor: TokenCursor::of_expressions(text),
        definitions,
    };
    let mut rules: Vec<Rule> = Vec::new();
    while !reader.cursor.at_end() {
        let at = reader.cursor.span().start;
        let rule = reader.rule()?;
        if rules.iter().any(|known| known.name == rule.name) {
            let message = format!("duplicate rule `{}`; rename one of them", rule.name);
            return Err(reader.cursor.mistake(at, message));
        }
        rules.push(rule);
    }
    Ok(rules)
}

struct Reader<'a> {
    cursor: TokenCursor<'a>,
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
        let start = self.cursor.span().start;
        if !self.cursor.take_word("rule") {
            return Err(self.cursor.unexpected_word("`rule`", &["rule"]));
        }
        let name = match self.cursor.peek().clone() {
            Token::Text(text) => {
                self.cursor.advance();
                Some(text)
            }
            _ => self.cursor.hyphenated().map(|(name, _)| name),
        };
        self.cursor
            .expect_symbol(":", "after the name of the rule")?;
        let from = self.cursor.span().start;
        let claim = self.claim()?;
        let text = self.written(from);
        let mut rule = Rule {
            name: name.unwrap_or_else(|| text.clone()),
            claim,
            severity: Severity::Error,
            message: None,
            text,
            line: self.cursor.source()[..start].matches('\n').count() + 1,
        };
        self.options(&mut rule)?;
        Ok(rule)
    }

    /// What was written since a place, in one line.
    fn written(&self, from: usize) -> String {
        let text = &self.cursor.source()[from..self.cursor.last_end()];
        let lines = text.lines().map(|line| match line.split_once('#') {
            Some((before, _)) if !line.contains(['"', '\'']) => before,
            _ => line,
        });
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        words.join(" ")
    }

    fn options(&mut self, rule: &mut Rule) -> Result<(), Mistake> {
        loop {
            if self.cursor.take_word("severity") {
                rule.severity = self.severity()?;
            } else if self.cursor.take_word("message") {
                let Token::Text(text) = self.cursor.peek().clone() else {
                    return Err(self.cursor.unexpected("a text in quotes"));
                };
                self.cursor.advance();
                rule.message = Some(text);
            } else if self.cursor.at_end() || self.cursor.is_word("rule") {
                return Ok(());
            } else {
                let words = [
                    "rule", "severity", "message", "where", "between", "per", "except",
                ];
                let wanted = "`severity`, `message`, the next `rule` or the end";
                return Err(self.cursor.unexpected_word(wanted, &words));
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
        match all_words.find(|one| self.cursor.take_word(one.0)) {
            Some(found) => Ok(found.1),
            None => {
                let wanted = "`error`, `warning` or `note`";
                Err(self.cursor.unexpected_word(wanted, &all.map(|one| one.0)))
            }
        }
    }

    fn claim(&mut self) -> Result<Claim, Mistake> {
        if self.cursor.is_word("at") || self.cursor.is_word("exactly") {
            return self.limited_first();
        }
        if self.cursor.take_word("dead") || self.cursor.take_word("no") {
            return Ok(Claim::Dead(self.set()?));
        }
        if self.cursor.take_word("growth") {
            self.cursor.expect_word("of", "")?;
            let measure = self.measure()?.ok_or_else(|| {
                let names = Measure::ALL.map(|named| named.0);
                let wanted = "a measure, such as `retained of`";
                self.cursor.unexpected_word(wanted, &names)
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
        let position = self.cursor.position();
        let found = Measure::ALL
            .iter()
            .find(|named| self.cursor.take_word(named.0));
        match found {
            Some(&(_, measure)) if self.cursor.take_word("of") => Ok(Some(measure)),
            Some(_) => {
                self.cursor.back_to(position);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// After `MEASURE of`: what is measured, and its limit.
    fn measured(&mut self, measure: Measure, growth: bool) -> Result<Claim, Mistake> {
        let each = self.cursor.take_word("each");
        let of = self.set()?;
        let each = each
            || measure.is_of_structures()
            || matches!(of.kind, SetKind::Structure(_)) && measure != Measure::Instances;
        let limit = self.limit(Some(measure))?;
        if growth && each {
            let message = "the growth of single objects cannot be checked; remove `each`";
            return Err(self.cursor.mistake(of.at, message));
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
            self.cursor.expect_word("in", "")?;
            return Ok(Claim::Measured(Measured {
                measure: Measure::Shallow,
                of: self.set()?,
                each: false,
                limit,
                growth: None,
            }));
        }
        if limit.unit == Unit::Percent {
            return Err(self.cursor.unexpected("`of heap in` and a set"));
        }
        if self.cursor.take_word("instances") || self.cursor.take_word("instance") {
            self.cursor.expect_word("of", "")?;
        }
        let what = self.set()?;
        if self.cursor.take_word("per") {
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
        let _ = self.cursor.take_word("must") || self.cursor.take_word("is");
        let negated = self.cursor.take_word("not");
        let _ = self.cursor.take_word("be");
        if negated {
            self.cursor.expect_word("reachable", "")?;
            self.cursor.expect_word("from", "")?;
            let from = self.set()?;
            let through = match self.cursor.take_word("except") {
                true => {
                    self.cursor.expect_word("through", "")?;
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
        if self.cursor.take_word("unshared") {
            return Ok(Claim::Unshared(what));
        }
        if self.cursor.take_word("owned") {
            self.cursor.expect_word("by", "")?;
            let by = self.set()?;
            return Ok(Claim::Owned { what, by });
        }
        if self.cursor.take_word("dead") {
            return Ok(Claim::Dead(what));
        }
        let words: Vec<&str> = AFTER_SET.into_iter().chain(["dead"]).collect();
        let meant = self.cursor.closest(&words);
        let meant = meant.or_else(|| closest(&what.text, BEGINNINGS));
        let wanted = "`unshared`, `owned by`, `not reachable from` or `dead`";
        Err(self.cursor.unexpected(wanted).suggesting(meant))
    }

    fn set(&mut self) -> Result<Set, Mistake> {
        let at = self.cursor.span().start;
        let kind = self.set_kind()?;
        let mut set = Set {
            kind,
            condition: None,
            elements: None,
            at,
            text: String::new(),
        };
        loop {
            if set.condition.is_none() && self.cursor.take_word("where") {
                let condition = self.definitions.embedded_condition(&mut self.cursor)?;
                set.condition = Some(Box::new(condition));
            } else if set.elements.is_none() && self.cursor.take_word("with") {
                set.elements = Some(self.limit(None)?);
                self.cursor.expect_word("elements", "")?;
            } else {
                break;
            }
        }
        set.text = self.written(at);
        Ok(set)
    }

    fn set_kind(&mut self) -> Result<SetKind, Mistake> {
        if self.cursor.take_word("static") {
            return self.static_field();
        }
        if self.cursor.take_word("group") {
            return self.group();
        }
        if self.cursor.take_word("structure") {
            return Ok(SetKind::Structure(
                self.name("the type of a data structure")?,
            ));
        }
        if self.cursor.take_word("instances") {
            self.cursor.expect_word("of", "")?;
        }
        let only = self.cursor.take_word("only");
        let _ = self.cursor.take_word("class");
        Ok(SetKind::Class {
            pattern: self.name("the name of a class")?,
            only,
        })
    }

    fn static_field(&mut self) -> Result<SetKind, Mistake> {
        let at = self.cursor.span().start;
        let name = self.name("a class and its static field, such as com.app.Cache.entries")?;
        match name.rsplit_once('.') {
            Some((class, field)) if !class.is_empty() && !field.is_empty() => Ok(SetKind::Static {
                class: class.to_owned(),
                field: field.to_owned(),
            }),
            _ => {
                let message = format!("`{name}` is not a static field; write CLASS.FIELD");
                Err(self.cursor.mistake(at, message))
            }
        }
    }

    /// A kept group by name, or any group in parentheses.
    fn group(&mut self) -> Result<SetKind, Mistake> {
        if !self.cursor.is_symbol("(") {
            let at = self.cursor.span().start;
            let text = self.name("the name of a saved group, or a group in parentheses")?;
            return Ok(SetKind::Group { text, at });
        }
        let (inner, _) = self.cursor.parenthesized()?;
        Ok(SetKind::Group {
            at: inner.start,
            text: self.cursor.source()[inner].to_owned(),
        })
    }

    /// A name with dots, wildcards and brackets, up to the next blank, or a text in quotes.
    fn name(&mut self, wanted: &str) -> Result<String, Mistake> {
        if let Token::Text(text) = self.cursor.peek().clone() {
            self.cursor.advance();
            return Ok(text);
        }
        let start = self.cursor.position();
        let name = self.cursor.qualified_name();
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.cursor.back_to(start);
            return Err(self.cursor.unexpected(wanted));
        }
        Ok(name.to_owned())
    }

    /// `at most 64 MB`, `at least 25 %`, `exactly 1`.
    fn limit(&mut self, of: Option<Measure>) -> Result<Limit, Mistake> {
        let bound = if self.cursor.take_word("exactly") {
            Bound::Exactly
        } else if self.cursor.take_word("at") {
            if self.cursor.take_word("most") {
                Bound::AtMost
            } else if self.cursor.take_word("least") {
                Bound::AtLeast
            } else {
                let words = ["most", "least"];
                return Err(self.cursor.unexpected_word("`most` or `least`", &words));
            }
        } else {
            let wanted = "`at most`, `at least` or `exactly`";
            return Err(self
                .cursor
                .unexpected_word(wanted, &["at", "exactly", "where"]));
        };
        let at = self.cursor.span().start;
        let amount = match *self.cursor.peek() {
            Token::Int(number) => number as f64,
            Token::Float(number) => number,
            _ => return Err(self.cursor.unexpected("a number")),
        };
        self.cursor.advance();
        let (factor, unit) = self.unit()?;
        let limit = Limit {
            bound,
            amount: amount * factor,
            unit,
        };
        match of.and_then(|measure| refusal(measure, unit)) {
            Some(message) => Err(self.cursor.mistake(at, message)),
            None => Ok(limit),
        }
    }

    fn unit(&mut self) -> Result<(f64, Unit), Mistake> {
        if self.cursor.take_symbol("%") {
            if self.cursor.take_word("of") {
                let _ = self.cursor.take_word("the");
                self.cursor.expect_word("heap", "")?;
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
        let found = match self.cursor.peek() {
            Token::Word(word) => units.iter().find(|unit| unit.0.eq_ignore_ascii_case(word)),
            _ => None,
        };
        Ok(match found {
            Some(&(_, factor)) => {
                self.cursor.advance();
                (factor, Unit::Bytes)
            }
            None => (1.0, Unit::Plain),
        })
    }

    /// `between first and mark "released"`; nothing else is needed.
    fn points(&mut self) -> Result<Growth, Mistake> {
        if !self.cursor.take_word("between") {
            return Ok(Growth::default());
        }
        let from = Some(self.point()?);
        self.cursor.expect_word("and", "")?;
        let to = Some(self.point()?);
        Ok(Growth { from, to })
    }

    fn point(&mut self) -> Result<String, Mistake> {
        let mark = self.cursor.take_word("mark");
        match self.cursor.peek().clone() {
            Token::Text(text) => {
                self.cursor.advance();
                Ok(if mark { format!("mark:{text}") } else { text })
            }
            Token::Word(word) if !mark && matches!(word.as_str(), "first" | "last") => {
                self.cursor.advance();
                Ok(word)
            }
            _ => Err(self
                .cursor
                .unexpected("`first`, `last` or a point in quotes, such as mark \"released\"")),
        }
    }
}

/// Why a measure cannot be compared with an amount in this unit.
fn refusal(measure: Measure, unit: Unit) -> Option<String> {
    let name = measure.name();
    match (measure, unit) {
        (Measure::Fill, Unit::Percent) => None,
        (Measure::Fill, _) => Some("`fill` is a share; write it as a percentage".to_owned()),
        (Measure::Elements | Measure::Capacity, Unit::Plain) => None,
        (Measure::Elements | Measure::Capacity, _) => {
            Some(format!("`{name}` takes a number without a unit"))
        }
        (Measure::Instances, Unit::Bytes) => {
            Some("`instances` takes a number; use `shallow` for bytes".to_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod brute_force;
#[cfg(test)]
mod tests;
