//! Named classifiers, filters and transformers: the predefined filters and those a person wrote.
//!
//! ```text
//! # Strings that begin with a text.
//! # example: where beginning("http")
//! filter beginning(start) = text.starts_with(start)
//!
//! # How many objects it leads to within three steps.
//! classifier near { … }
//! ```

use std::fmt;
use std::sync::Arc;

use anthill_syntax::{Mistake, Token, TokenCursor};

use super::check::{Checked, Checker};
use super::functions::SIGNATURES;
use super::node::OwnFunction;
use super::parser::{Expr, Parser};
use super::script::{Block, KEYWORDS};
use super::types::Type;
use crate::catalog::{CATALOG, Cardinality};
use crate::files::Files;

/// What an expression is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Gives an object keys.
    Classifier,
    /// Keeps an object or not.
    Filter,
    /// Puts other objects in an object's place.
    Transformer,
}

impl Role {
    const ALL: [Role; 3] = [Role::Classifier, Role::Filter, Role::Transformer];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Classifier => "classifier",
            Role::Filter => "filter",
            Role::Transformer => "transformer",
        }
    }

    /// Why an expression of this type cannot have the role.
    pub fn refuses(self, ty: &Type) -> Option<String> {
        let objects = Type::list(Type::Object);
        match self {
            Role::Classifier => None,
            Role::Filter if ty.fits(&Type::Bool) => None,
            Role::Filter => Some(format!("a filter must be a condition, not {ty}")),
            Role::Transformer if ty.fits(&Type::Object) || ty.fits(&objects) => None,
            Role::Transformer => Some(format!("a transformer must yield objects, not {ty}")),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A classifier, filter or transformer that a person wrote.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What it is for.
    pub role: Role,
    /// With hyphens, as in a list of steps.
    pub name: String,
    /// The names of what it takes.
    pub parameters: Vec<String>,
    /// What it does.
    pub body: Body,
    /// What its author says about it.
    pub description: String,
    /// How its author uses it.
    pub example: String,
    /// How many keys or objects come of each object.
    pub cardinality: Cardinality,
    /// What it gives, in words.
    pub returns: String,
    /// Where it was written.
    pub source: Source,
}

/// What stands after the name of a definition.
#[derive(Clone, Debug)]
pub enum Body {
    /// `= expression`
    Expression(Expr),
    /// `{ statements }`
    Script(Block),
}

/// What a person wrote, and where.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file or option, for messages.
    pub origin: Arc<str>,
    /// All of the text that it stands in.
    pub text: Arc<str>,
}

impl Source {
    /// A text that came from `origin`.
    pub fn new(origin: &str, text: &str) -> Self {
        Source {
            origin: origin.into(),
            text: text.into(),
        }
    }
}

impl Definition {
    /// How it is written in a list of steps.
    pub fn usage(&self) -> String {
        match self.parameters.as_slice() {
            [] => self.name.clone(),
            parameters => format!("{}({})", self.name, parameters.join(", ")),
        }
    }
}

/// The filters that are always there.
const PREDEFINED: &str = include_str!("predefined.txt");

/// All that was defined, by whomever.
#[derive(Clone)]
pub struct Definitions {
    /// Which files steps may read.
    files: Files,
    all: Vec<Definition>,
    functions: Vec<Named>,
    groups: Vec<DefinedGroup>,
}

/// A name for an object group. What stands after it is of another language, and read by whoever
/// knows that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedGroup {
    /// What it is called.
    pub name: String,
    /// As it was written.
    pub text: String,
    /// What its author says about it.
    pub description: String,
    /// The file or option it was written in.
    pub origin: Arc<str>,
}

/// A function that scripts and expressions can call.
#[derive(Clone)]
struct Named {
    name: String,
    parameters: usize,
    /// Not yet there while the function itself is checked.
    function: Option<OwnFunction>,
}

impl Default for Definitions {
    fn default() -> Self {
        let mut definitions = Definitions {
            files: Files::Denied,
            all: Vec::new(),
            functions: Vec::new(),
            groups: Vec::new(),
        };
        // A test reads them, so there is nothing to report.
        let _ = definitions.add("predefined", PREDEFINED);
        definitions
    }
}

impl Definitions {
    /// The same for somebody whose steps may read files; by default they may not.
    pub fn with_files(self, files: Files) -> Self {
        Definitions { files, ..self }
    }

    /// Which files steps may read.
    pub(crate) fn files(&self) -> Files {
        self.files
    }

    /// In the order in which they were added.
    pub fn all(&self) -> &[Definition] {
        &self.all
    }

    /// The definition of that name; `_` may stand for `-`, which is an operator in expressions.
    pub fn find(&self, name: &str) -> Option<&Definition> {
        let name = name.replace('_', "-");
        let mut all = self.all.iter().rev();
        all.find(|definition| definition.name.replace('_', "-") == name)
    }

    /// In the order they were defined: a group may use those before it.
    pub fn groups(&self) -> &[DefinedGroup] {
        &self.groups
    }

    /// What can stand in an expression, for suggestions.
    pub fn names_in_expressions(&self) -> impl Iterator<Item = String> + '_ {
        self.all
            .iter()
            .map(|definition| definition.name.replace('-', "_"))
    }

    /// What can be called, for suggestions.
    pub fn function_names(&self) -> impl Iterator<Item = String> + '_ {
        self.functions.iter().map(|function| function.name.clone())
    }

    /// The number of a function and how many arguments it needs.
    pub fn find_function(&self, name: &str) -> Option<(usize, usize)> {
        let index = self.functions.iter().position(|known| known.name == name)?;
        Some((index, self.functions[index].parameters))
    }

    /// All functions by number.
    pub(super) fn functions(&self) -> Vec<OwnFunction> {
        let functions = self.functions.iter();
        functions
            .filter_map(|known| known.function.clone())
            .collect()
    }

    /// Adds what a text defines; `origin` is where it comes from. A definition may use those before
    /// it, a function also itself. If there is a mistake, nothing is added.
    pub fn add(&mut self, origin: &str, text: &str) -> Result<(), Mistake> {
        let mut added = self.clone();
        let source = Source::new(origin, text);
        let mut cursor = TokenCursor::of_expressions(text);
        while !cursor.at_end() {
            added.read(&mut cursor, &source)?;
        }
        *self = added;
        Ok(())
    }

    fn read(&mut self, cursor: &mut TokenCursor, source: &Source) -> Result<(), Mistake> {
        let start = cursor.span().start;
        if cursor.take_word(GROUP) {
            let comments = Comments::before(&source.text, start);
            return self.group(cursor, source, comments.description);
        }
        let role = match cursor.take_word(FUNCTION) {
            true => None,
            false => Some(role(cursor)?),
        };
        let Some((name, name_span)) = cursor.hyphenated() else {
            return Err(cursor.unexpected("a name"));
        };
        self.check_name(cursor, &name, name_span.start)?;
        let parameters = parameters(cursor)?;
        if role.is_none() {
            return self.function(cursor, source, name.replace('-', "_"), &parameters);
        }
        let body = Parser::new(cursor).body()?;
        let comments = Comments::before(&source.text, start);
        let mut definition = Definition {
            role: role.unwrap_or(Role::Classifier),
            example: comments.example.unwrap_or_else(|| name.clone()),
            description: comments.description,
            name,
            parameters,
            body,
            cardinality: Cardinality::One,
            returns: String::new(),
            source: source.clone(),
        };
        let Checked { ty, .. } = Checker::new(source, self).definition(&definition)?;
        definition.cardinality = cardinality(&ty);
        definition.returns = returns(definition.role, &ty);
        self.all.push(definition);
        Ok(())
    }

    /// `group name = …` to the end of the line.
    fn group(
        &mut self,
        cursor: &mut TokenCursor,
        source: &Source,
        description: String,
    ) -> Result<(), Mistake> {
        let at = cursor.span().start;
        let Token::Word(name) = cursor.peek().clone() else {
            return Err(cursor.unexpected("the name of a group"));
        };
        if self.groups.iter().any(|group| group.name == name) {
            return Err(cursor.mistake(at, format!("`{name}` is defined twice")));
        }
        cursor.advance();
        cursor.expect_symbol("=", "and a group")?;
        let start = cursor.span().start;
        let rest = &source.text[start..];
        let end = start + rest.find('\n').unwrap_or(rest.len());
        if start == end {
            return Err(cursor.unexpected("a group"));
        }
        while !cursor.at_end() && cursor.span().start < end {
            cursor.advance();
        }
        self.groups.push(DefinedGroup {
            name,
            text: source.text[start..cursor.last_end()].to_owned(),
            description,
            origin: source.origin.clone(),
        });
        Ok(())
    }

    fn function(
        &mut self,
        cursor: &mut TokenCursor,
        source: &Source,
        name: String,
        parameters: &[String],
    ) -> Result<(), Mistake> {
        let body = Parser::new(cursor).body()?;
        // It can call itself.
        self.functions.push(Named {
            name,
            parameters: parameters.len(),
            function: None,
        });
        let checked = Checker::new(source, self).function(parameters, &body)?;
        if let Some(named) = self.functions.last_mut() {
            named.function = Some(OwnFunction {
                height: checked.node.height(),
                body: checked.node,
            });
        }
        Ok(())
    }

    fn check_name(&self, cursor: &TokenCursor, name: &str, at: usize) -> Result<(), Mistake> {
        let plain = name.replace('-', "_");
        let taken = CATALOG.iter().any(|entry| entry.name == name)
            || SIGNATURES.iter().any(|known| known.name == plain)
            || RESERVED.contains(&plain.as_str())
            || KEYWORDS.contains(&plain.as_str());
        if taken {
            return Err(cursor.mistake(at, format!("`{name}` already has a meaning")));
        }
        if self.find(name).is_some() || self.find_function(&plain).is_some() {
            return Err(cursor.mistake(at, format!("`{name}` is defined twice")));
        }
        Ok(())
    }
}

impl Parser<'_, '_> {
    /// What stands after a name: `= expression` or `{ statements }`.
    pub(super) fn body(&mut self) -> Result<Body, Mistake> {
        if self.cursor.take_symbol("=") {
            return self.expression().map(Body::Expression);
        }
        if self.cursor.is_symbol("{") {
            return self.block().map(Body::Script);
        }
        Err(self
            .cursor
            .unexpected("`=` and an expression, or `{` and statements"))
    }
}

/// The word that begins a function.
const FUNCTION: &str = "function";

/// The word that begins a group.
const GROUP: &str = "group";

/// Words that cannot be names of definitions.
const RESERVED: [&str; 7] = ["object", "path", "where", "to", "true", "false", "null"];

fn role(cursor: &mut TokenCursor) -> Result<Role, Mistake> {
    for role in Role::ALL {
        if cursor.take_word(role.name()) {
            return Ok(role);
        }
    }
    let names = Role::ALL.map(Role::name).into_iter();
    let names: Vec<&str> = names.chain([GROUP, FUNCTION]).collect();
    let wanted = "a definition (`classifier`, `filter`, `transformer`, `function` or `group`)";
    Err(cursor.unexpected_word(wanted, &names))
}

fn parameters(cursor: &mut TokenCursor) -> Result<Vec<String>, Mistake> {
    let mut parameters = Vec::new();
    if !cursor.take_symbol("(") {
        return Ok(parameters);
    }
    loop {
        let Token::Word(name) = cursor.peek().clone() else {
            return Err(cursor.unexpected("the name of a parameter"));
        };
        cursor.advance();
        parameters.push(name);
        if cursor.take_symbol(")") {
            return Ok(parameters);
        }
        cursor.expect_symbol(",", "or `)`")?;
    }
}

/// What the comment right before a definition says.
struct Comments {
    description: String,
    example: Option<String>,
}

impl Comments {
    fn before(source: &str, offset: usize) -> Comments {
        let lines = source[..offset].lines().rev();
        let comments = lines.map_while(|line| line.trim().strip_prefix('#'));
        let mut comments: Vec<&str> = comments.map(str::trim).collect();
        comments.reverse();
        let example = |line: &str| {
            line.strip_prefix("example:")
                .map(str::trim)
                .map(str::to_owned)
        };
        Comments {
            example: comments.iter().find_map(|line| example(line)),
            description: comments
                .iter()
                .filter(|line| example(line).is_none())
                .copied()
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

fn cardinality(ty: &Type) -> Cardinality {
    match ty {
        Type::List(_) => Cardinality::Many,
        Type::Path => Cardinality::Hierarchy,
        _ => Cardinality::One,
    }
}

fn returns(role: Role, ty: &Type) -> String {
    let of = match ty {
        Type::List(element) => element,
        ty => ty,
    };
    match of {
        _ if role == Role::Transformer => "objects",
        _ if role == Role::Filter => "bool",
        Type::Bool => "bool",
        Type::Number => "number",
        Type::Object => "object",
        Type::Any | Type::Null => "value",
        Type::Text | Type::Path | Type::List(_) => "text",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;

    fn mistake(text: &str) -> Mistake {
        Definitions::default().add("test", text).unwrap_err()
    }

    #[test]
    fn definitions_have_descriptions_examples_and_cardinalities() {
        let mut definitions = Definitions::default();
        let before = definitions.all().len();
        assert!(before > 10, "the predefined filters have no mistake");
        let text = "# About something else.\n\n\
                    # Where it is,\n# in two parts.\n# example: place\n\
                    classifier place = path(package, simple_name)\n\
                    transformer near(least) = references.filter(r => r.size > least)\n\
                    classifier sizes { let all = []; for r in references { all += r.size } all }";
        definitions.add("test", text).unwrap();
        let [place, near, sizes] = &definitions.all()[before..] else {
            panic!("three definitions");
        };
        assert_eq!(place.description, "Where it is, in two parts.");
        assert_eq!(
            (place.example.as_str(), place.cardinality),
            ("place", Cardinality::Hierarchy)
        );
        assert_eq!(
            (near.usage().as_str(), near.returns.as_str()),
            ("near(least)", "objects")
        );
        assert_eq!(
            (sizes.cardinality, sizes.example.as_str()),
            (Cardinality::Many, "sizes")
        );
    }

    #[test]
    fn mistakes_in_definitions_are_located() {
        for (text, line, column, suggestion) in [
            ("filter x = size", 1, 12, None),
            ("filter x { return size }", 1, 19, None),
            ("transformer x = size", 1, 17, None),
            ("classifier type = size", 1, 12, None),
            ("classifier in_degree = size", 1, 12, None),
            ("classifier at-least = size", 1, 12, None),
            ("clasifier x = size", 1, 1, Some("classifier")),
            ("classifier x(a) = a +\n b", 2, 2, None),
            ("classifier x\nsize", 2, 1, None),
            ("classifier x = y\nclassifier y = x", 1, 16, None),
            ("classifier x { n = 3; }", 1, 16, None),
            ("classifier x { let n = 3; n = 'a'; }", 1, 31, None),
            (
                "classifier x { for r in references { r = null } }",
                1,
                38,
                None,
            ),
            ("classifier x { break }", 1, 16, None),
            ("classifier x { for r in size { } }", 1, 25, None),
            ("function f(a) = a\nclassifier x = f()", 2, 16, None),
            ("function if(a) = a", 1, 10, None),
        ] {
            let mistake = mistake(text);
            let found = (mistake.line, mistake.column, mistake.suggestion.as_deref());
            assert_eq!(found, (line, column, suggestion), "{text}: {mistake}");
        }
    }

    #[test]
    fn definitions_cannot_make_expressions_of_any_size() {
        let doubled: String = (1..45)
            .map(|n| format!("classifier d{n} = d{} + d{}\n", n - 1, n - 1))
            .collect();
        let text = format!("classifier d0 = size\n{doubled}");
        assert!(mistake(&text).message.contains("too large"));
        let nested = format!("{}x{}", "-(".repeat(80), ")".repeat(80));
        let deeper: String = (1..10)
            .map(|n| {
                format!(
                    "classifier e{n} = {}\n",
                    nested.replace('x', &format!("e{}", n - 1))
                )
            })
            .collect();
        let text = format!("classifier e0 = size\n{deeper}");
        assert!(mistake(&text).message.contains("too large"));
    }

    #[test]
    fn the_examples_that_are_shipped_have_no_mistake() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/classifiers");
        let mut read = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let mut definitions = Definitions::default();
            let added = definitions.add("example", &text);
            added.unwrap_or_else(|mistake| panic!("{}", mistake.show("example", &text)));
            for definition in definitions.all() {
                assert!(!definition.description.is_empty(), "{}", definition.name);
                let steps = definitions.steps(&definition.example);
                assert!(steps.is_ok(), "{}: {:?}", definition.name, steps.err());
            }
            read += 1;
        }
        assert!(read > 2);
        assert!(
            Step::parse_list("role").is_err(),
            "they are there only if asked for"
        );
    }
}
