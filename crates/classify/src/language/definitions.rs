//! Named classifiers, filters and transformers: the predefined filters and those a person wrote.
//!
//! ```text
//! # Strings that begin with a text.
//! # example: where beginning("http")
//! filter beginning(start) = text.starts_with(start)
//! ```

use std::fmt;
use std::sync::Arc;

use super::Mistake;
use super::check::{Checked, Checker};
use super::functions::SIGNATURES;
use super::lexer::Token;
use super::parser::{Expr, Parser};
use super::types::Type;
use crate::catalog::{CATALOG, Cardinality};
use crate::pattern::closest;

/// What an expression is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Classifier,
    Filter,
    Transformer,
}

impl Role {
    const ALL: [Role; 3] = [Role::Classifier, Role::Filter, Role::Transformer];

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
            Role::Filter => Some(format!("a filter must say true or false, this is {ty}")),
            Role::Transformer if ty.fits(&Type::Object) || ty.fits(&objects) => None,
            Role::Transformer => Some(format!("a transformer must lead to objects, this is {ty}")),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Debug)]
pub struct Definition {
    pub role: Role,
    /// With hyphens, as in a list of steps.
    pub name: String,
    pub parameters: Vec<String>,
    pub body: Expr,
    pub description: String,
    pub example: String,
    pub cardinality: Cardinality,
    /// What it gives, in words.
    pub returns: String,
    pub source: Arc<str>,
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

#[derive(Clone, Debug)]
pub struct Definitions {
    all: Vec<Definition>,
}

impl Default for Definitions {
    fn default() -> Self {
        let mut definitions = Definitions { all: Vec::new() };
        // A test reads them, so there is nothing to report.
        let _ = definitions.add(PREDEFINED);
        definitions
    }
}

impl Definitions {
    pub fn all(&self) -> &[Definition] {
        &self.all
    }

    /// The definition of that name; `_` may stand for `-`, which is an operator in expressions.
    pub fn find(&self, name: &str) -> Option<&Definition> {
        let name = name.replace('_', "-");
        let mut all = self.all.iter().rev();
        all.find(|definition| definition.name.replace('_', "-") == name)
    }

    pub fn names_in_expressions(&self) -> impl Iterator<Item = String> + '_ {
        self.all
            .iter()
            .map(|definition| definition.name.replace('-', "_"))
    }

    /// Adds what a text defines. A definition may use those before it.
    pub fn add(&mut self, source: &str) -> Result<(), Mistake> {
        let source: Arc<str> = source.into();
        let mut parser = Parser::new(&source);
        while !parser.at_end() {
            let definition = self.definition(&mut parser, &source)?;
            self.all.push(definition);
        }
        Ok(())
    }

    fn definition(&self, parser: &mut Parser, source: &Arc<str>) -> Result<Definition, Mistake> {
        let start = parser.span().start;
        let role = role(parser)?;
        let Some((name, name_span)) = parser.hyphenated() else {
            return Err(parser.unexpected("a name"));
        };
        self.check_name(parser, &name, name_span.start)?;
        let parameters = parameters(parser)?;
        parser.expect_symbol("=", "and an expression")?;
        let body_at = parser.span().start;
        let body = parser.expression()?;
        let comments = Comments::before(source, start);
        let mut definition = Definition {
            role,
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
        if let Some(refusal) = role.refuses(&ty) {
            return Err(parser.mistake(body_at, refusal));
        }
        definition.cardinality = cardinality(&ty);
        definition.returns = returns(&ty);
        Ok(definition)
    }

    fn check_name(&self, parser: &Parser, name: &str, at: usize) -> Result<(), Mistake> {
        let plain = name.replace('-', "_");
        let taken = CATALOG.iter().any(|entry| entry.name == name)
            || SIGNATURES.iter().any(|known| known.name == plain)
            || RESERVED.contains(&plain.as_str());
        if taken {
            return Err(parser.mistake(at, format!("`{name}` has a meaning already")));
        }
        if self.find(name).is_some() {
            return Err(parser.mistake(at, format!("`{name}` is defined twice")));
        }
        Ok(())
    }
}

/// Words that cannot be names of definitions.
const RESERVED: [&str; 7] = ["object", "path", "where", "to", "true", "false", "null"];

fn role(parser: &mut Parser) -> Result<Role, Mistake> {
    for role in Role::ALL {
        if parser.take_word(role.name()) {
            return Ok(role);
        }
    }
    let names = Role::ALL.map(Role::name);
    let meant = match parser.peek() {
        Token::Word(word) => closest(word, names.into_iter()),
        _ => None,
    };
    let wanted = "a definition, `classifier`, `filter` or `transformer`,";
    Err(parser.unexpected(wanted).suggesting(meant))
}

fn parameters(parser: &mut Parser) -> Result<Vec<String>, Mistake> {
    let mut parameters = Vec::new();
    if !parser.take_symbol("(") {
        return Ok(parameters);
    }
    loop {
        let Token::Word(name) = parser.peek().clone() else {
            return Err(parser.unexpected("the name of a parameter"));
        };
        parser.advance();
        parameters.push(name);
        if parser.take_symbol(")") {
            return Ok(parameters);
        }
        parser.expect_symbol(",", "or `)`")?;
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

fn returns(ty: &Type) -> String {
    let of = match ty {
        Type::List(element) => element,
        ty => ty,
    };
    match of {
        Type::Bool => "bool",
        Type::Number => "number",
        Type::Object => "objects",
        Type::Any | Type::Null => "value",
        Type::Text | Type::Path | Type::List(_) => "text",
    }
    .to_owned()
}
