//! The language of object groups: text → a group expression. Knows nothing of heaps.
//!
//! ```text
//! retained(IdCache.idCache | NameCache.nameCache) & class("*.Product") - 0xfc022d78
//! ```

use anthill_classify::{Definitions, Step};
use anthill_syntax::{Mistake, Token, TokenCursor};

/// Groups nested deeper than this are refused: evaluating them is recursive.
const DEEPEST: usize = 100;

pub(super) struct GroupExpr {
    pub kind: GroupKind,
    /// Where it begins, in bytes of the text.
    pub at: usize,
}

pub(super) enum GroupKind {
    /// A kept group, a class with wildcards or a static field: which, the heap tells.
    Name(String),
    /// The objects of the classes that fit.
    Class(String),
    /// The class objects of the classes that fit.
    ClassObjects(String),
    /// The object at an address.
    Object(u64),
    /// What a static field refers to: class and field.
    Static(String, String),
    /// The objects that fulfil a condition.
    Where(Box<Step>),
    /// All reachable objects.
    All,
    Unreachable,
    Of(Derived, Box<GroupExpr>),
    /// The objects of a node in a classification tree of a group.
    Node {
        steps: Vec<Step>,
        path: String,
        path_at: usize,
        of: Box<GroupExpr>,
    },
    /// A group that a definition has a name for.
    Defined(Box<Defined>),
    /// The first group, then others added, kept or taken away one after the other.
    Combined(Box<GroupExpr>, Vec<(Combination, GroupExpr)>),
}

/// A group that stands in a text of its own.
pub(super) struct Defined {
    pub text: String,
    pub group: GroupExpr,
}

/// What a group is made of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Derived {
    Reached,
    Retained,
    Roots,
    Referrers,
    References,
    Dominators,
}

const DERIVED: [(&str, Derived); 6] = [
    ("reached", Derived::Reached),
    ("retained", Derived::Retained),
    ("roots", Derived::Roots),
    ("referrers", Derived::Referrers),
    ("references", Derived::References),
    ("dominators", Derived::Dominators),
];

/// All functions, for messages.
const FUNCTIONS: &str = "class, class_objects, static, where, all, unreachable, reached, retained, roots, \
                         referrers, references, dominators and node";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Combination {
    Union,
    Intersection,
    Difference,
}

/// The whole text as one group.
pub(super) fn parse(text: &str, definitions: &Definitions) -> Result<GroupExpr, Mistake> {
    Reader::new(text, definitions).whole()
}

/// A defined group by its place among them; it knows those before it.
pub(super) fn parse_defined(place: usize, definitions: &Definitions) -> Result<GroupExpr, Mistake> {
    let text = &definitions.groups()[place].text;
    let reader = Reader::new(text, definitions);
    Reader {
        known: place,
        ..reader
    }
    .whole()
}

struct Reader<'a> {
    cursor: TokenCursor<'a>,
    definitions: &'a Definitions,
    /// How many of the defined groups may be used: so none leads to itself.
    known: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, definitions: &'a Definitions) -> Self {
        Reader {
            cursor: TokenCursor::of_expressions(text),
            definitions,
            known: definitions.groups().len(),
            depth: 0,
        }
    }

    fn whole(mut self) -> Result<GroupExpr, Mistake> {
        let group = self.group()?;
        self.cursor.end()?;
        Ok(group)
    }
}

impl Reader<'_> {
    /// Groups joined by `|`, `+` and `-`, from left to right.
    fn group(&mut self) -> Result<GroupExpr, Mistake> {
        let at = self.cursor.span().start;
        if self.depth == DEEPEST {
            let message = format!(
                "groups may be nested at most {DEEPEST} levels deep; define \
            parts of the group"
            );
            return Err(self.cursor.mistake(at, message));
        }
        self.depth += 1;
        let operators = [
            ("|", Combination::Union),
            ("+", Combination::Union),
            ("-", Combination::Difference),
        ];
        let group = self.combined(&operators, Self::intersection);
        self.depth -= 1;
        group
    }

    /// Groups joined by `&`, which binds more strongly.
    fn intersection(&mut self) -> Result<GroupExpr, Mistake> {
        self.combined(&[("&", Combination::Intersection)], Self::single)
    }

    fn combined(
        &mut self,
        operators: &[(&str, Combination)],
        operand: fn(&mut Self) -> Result<GroupExpr, Mistake>,
    ) -> Result<GroupExpr, Mistake> {
        let at = self.cursor.span().start;
        let first = operand(self)?;
        let mut rest = Vec::new();
        loop {
            let mut operators = operators.iter();
            let Some(found) = operators.find(|operator| self.cursor.take_symbol(operator.0)) else {
                break;
            };
            rest.push((found.1, operand(self)?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            let kind = GroupKind::Combined(Box::new(first), rest);
            GroupExpr { kind, at }
        })
    }

    fn single(&mut self) -> Result<GroupExpr, Mistake> {
        let at = self.cursor.span().start;
        let kind = match self.cursor.peek().clone() {
            Token::Symbol("(") => {
                self.cursor.advance();
                let group = self.group()?;
                self.cursor.expect_symbol(")", "to close the parenthesis")?;
                return Ok(group);
            }
            Token::Int(address) => {
                self.cursor.advance();
                GroupKind::Object(address as u64)
            }
            Token::Text(pattern) => {
                self.cursor.advance();
                GroupKind::Class(pattern)
            }
            Token::Word(_) | Token::Symbol("*" | "?" | "[") => {
                let name = self.cursor.qualified_name();
                if self.cursor.take_symbol("(") {
                    self.function(name, at)?
                } else {
                    self.defined(name, at)?
                        .unwrap_or_else(|| GroupKind::Name(name.to_owned()))
                }
            }
            _ => return Err(self.cursor.unexpected("a group")),
        };
        Ok(GroupExpr { kind, at })
    }

    /// The group that a definition has this name for.
    fn defined(&self, name: &str, at: usize) -> Result<Option<GroupKind>, Mistake> {
        let mut groups = self.definitions.groups()[..self.known].iter();
        let Some(place) = groups.position(|group| group.name == name) else {
            return Ok(None);
        };
        let text = &self.definitions.groups()[place].text;
        let reader = Reader {
            known: place,
            depth: self.depth,
            ..Reader::new(text, self.definitions)
        };
        let group = reader.whole().map_err(|mistake| {
            let message = format!("column {} of the group `{name}`: {mistake}", mistake.column);
            self.cursor.mistake(at, message)
        })?;
        let text = text.clone();
        Ok(Some(GroupKind::Defined(Box::new(Defined { text, group }))))
    }

    /// What stands between the parentheses of a function, and the closing one.
    fn function(&mut self, name: &str, at: usize) -> Result<GroupKind, Mistake> {
        let derived = DERIVED.iter().find(|derived| derived.0 == name);
        let kind = match name {
            "class" => GroupKind::Class(self.text("the name of a class")?.0),
            "class_objects" => GroupKind::ClassObjects(self.text("the name of a class")?.0),
            "static" => {
                let class = self.text("the name of a class")?.0;
                self.comma("and the name of a static field")?;
                GroupKind::Static(class, self.text("the name of a static field")?.0)
            }
            "where" => GroupKind::Where(Box::new(self.definitions.condition(&mut self.cursor)?)),
            "all" => GroupKind::All,
            "unreachable" => GroupKind::Unreachable,
            "node" => self.node()?,
            _ => match derived {
                Some(&(_, derived)) => GroupKind::Of(derived, Box::new(self.group()?)),
                None => {
                    let message = format!(
                        "unknown function `{name}`; the functions are \
                    {FUNCTIONS}"
                    );
                    return Err(self.cursor.mistake(at, message));
                }
            },
        };
        self.cursor
            .expect_symbol(")", &format!("to close `{name}(`"))?;
        Ok(kind)
    }

    fn node(&mut self) -> Result<GroupKind, Mistake> {
        let (steps, steps_at) = self.text("the steps of a classification in quotes")?;
        let steps = self.definitions.steps(&steps).map_err(|mistake| {
            let message = format!("column {} of these steps: {mistake}", mistake.column);
            self.cursor.mistake(steps_at, message)
        })?;
        self.comma("and the keys of a node")?;
        let (path, path_at) = self.text("the keys of a node in quotes, joined by ` > `")?;
        let of = if self.cursor.take_symbol(",") {
            self.group()?
        } else {
            GroupExpr {
                kind: GroupKind::All,
                at: path_at,
            }
        };
        Ok(GroupKind::Node {
            steps,
            path,
            path_at,
            of: Box::new(of),
        })
    }

    fn comma(&mut self, why: &str) -> Result<(), Mistake> {
        self.cursor.expect_symbol(",", why)
    }

    /// A text in quotes or a name, with its place.
    fn text(&mut self, wanted: &str) -> Result<(String, usize), Mistake> {
        let at = self.cursor.span().start;
        if let Token::Text(text) = self.cursor.peek() {
            let text = text.clone();
            self.cursor.advance();
            return Ok((text, at));
        }
        let name = self.cursor.qualified_name();
        if name.is_empty() {
            return Err(self.cursor.unexpected(wanted));
        }
        Ok((name.to_owned(), at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expression with all parentheses.
    fn shown(group: &GroupExpr) -> String {
        match &group.kind {
            GroupKind::Name(name) => name.clone(),
            GroupKind::Class(pattern) => format!("class {pattern}"),
            GroupKind::ClassObjects(pattern) => format!("class objects {pattern}"),
            GroupKind::Object(address) => format!("{address:#x}"),
            GroupKind::Static(class, field) => format!("static {class} {field}"),
            GroupKind::Where(step) => format!("where {}", step.name()),
            GroupKind::All => "all".to_owned(),
            GroupKind::Unreachable => "unreachable".to_owned(),
            GroupKind::Of(derived, of) => format!("{derived:?}({})", shown(of)),
            GroupKind::Node {
                steps, path, of, ..
            } => format!("node {} steps {path} of {}", steps.len(), shown(of)),
            GroupKind::Defined(defined) => format!("defined {}", shown(&defined.group)),
            GroupKind::Combined(first, rest) => rest
                .iter()
                .fold(shown(first), |text, (combination, group)| {
                    format!("({text} {combination:?} {})", shown(group))
                }),
        }
    }

    #[test]
    fn groups_are_read() {
        let definitions = Definitions::default();
        for (text, meaning) in [
            ("java.util.*", "java.util.*"),
            ("java.util.HashMap$Node[]", "java.util.HashMap$Node[]"),
            ("*Cache", "*Cache"),
            ("[B", "[B"),
            ("A$$Lambda/0x01", "A$$Lambda/0x01"),
            ("'a b'", "class a b"),
            ("class_objects('*Cache')", "class objects *Cache"),
            ("0xff", "0xff"),
            ("a - b", "(a Difference b)"),
            ("a-b|c", "((a Difference b) Union c)"),
            ("a | b & c + d", "((a Union (b Intersection c)) Union d)"),
            ("(a | b) & c", "((a Union b) Intersection c)"),
            ("retained( roots(x.y) )", "Retained(Roots(x.y))"),
            (
                "class(\"a.*\") & static(A, f)",
                "(class a.* Intersection static A f)",
            ),
            (
                "where(size > 1K && (length < 3)) - all()",
                "(where size > 1K && (length < 3) Difference all)",
            ),
            ("node('type, size', 'a > b')", "node 2 steps a > b of all"),
            (
                "node('type', 'a', unreachable())",
                "node 1 steps a of unreachable",
            ),
        ] {
            let group =
                parse(text, &definitions).unwrap_or_else(|mistake| panic!("{text}: {mistake}"));
            assert_eq!(shown(&group), meaning, "{text}");
        }
    }

    #[test]
    fn mistakes_are_located() {
        let definitions = Definitions::default();
        let deep = "(".repeat(200);
        for (text, column) in [
            ("", 1),
            ("a |", 4),
            ("a b", 3),
            ("(a", 3),
            ("a)", 2),
            ("reachd(a)", 1),
            ("retained()", 10),
            ("static(A)", 9),
            ("where(size > )", 14),
            ("where(size)", 7),
            ("node('tipe', 'x')", 6),
            ("a && b", 3),
            (&deep, 101),
        ] {
            let mistake = parse(text, &definitions).err();
            assert_eq!(
                mistake.map(|mistake| mistake.column),
                Some(column),
                "{text}"
            );
        }
    }

    #[test]
    fn groups_of_definitions_are_known_by_name() {
        let mut definitions = Definitions::default();
        let text = "# What both caches hold.\ngroup caches = IdCache.ids | NameCache.names\n\
                    group lost = com.acme.Order - reached(caches)  # not held\n\
                    group own = own\n";
        definitions.add("mine", text).unwrap();
        let read = |text: &str| shown(&parse(text, &definitions).unwrap());
        let caches = "defined (IdCache.ids Union NameCache.names)";
        assert_eq!(read("caches"), caches);
        assert_eq!(
            definitions.groups()[0].description,
            "What both caches hold."
        );
        assert_eq!(
            read("retained(lost)"),
            format!("Retained(defined (com.acme.Order Difference Reached({caches})))")
        );
        assert_eq!(read("own"), "defined own", "within itself it is no group");
        for (text, place) in [
            ("group a = b\ngroup a = c", (2, 7)),
            ("group = b", (1, 7)),
            ("group a b", (1, 9)),
            ("group a =", (1, 10)),
        ] {
            let mistake = Definitions::default().add("mine", text).unwrap_err();
            assert_eq!((mistake.line, mistake.column), place, "{text}: {mistake}");
        }
    }
}
