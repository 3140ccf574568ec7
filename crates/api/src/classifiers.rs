//! What objects can be split by.

use anthill_classify::{CATALOG, Definition, Entry, SIGNATURES, Signature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mirrored::mirrored;
use crate::{Definitions, Error, Question, StandaloneQuestion, with_definitions};

/// List the classifiers, filters and transformers for `anthill classify` and other commands
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Classifiers {
    /// Define your own classifiers, filters, transformers and groups; can be repeated
    #[serde(default)]
    #[schemars(extend("x-value" = "TEXT"))]
    pub definitions: Vec<String>,
    /// List the properties and functions of expressions instead
    #[serde(default)]
    pub functions: bool,
}

/// The classifiers, filters and transformers, or the functions of expressions. No file is involved, so
/// that there is no envelope.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "ClassifiersAnswer")]
pub enum Answer {
    /// The classifiers, filters, transformers and groups.
    Classifiers(Vec<Classifier>),
    /// The properties and functions of expressions, with `--functions`.
    Functions(Vec<Function>),
}

mirrored! {
    /// The kinds of steps.
    #[schemars(rename = "ClassifiersKind")]
    Kind = anthill_classify::Role {
        /// Gives an object keys.
        Classifier,
        /// Keeps or drops an object.
        Filter,
        /// Replaces an object by others.
        Transformer,
    }
}

mirrored! {
    /// How many keys an object gets.
    #[schemars(rename = "ClassifiersCardinality")]
    Cardinality = anthill_classify::Cardinality {
        /// One key.
        #[serde(rename = "one-to-one")]
        One,
        /// Any number of keys.
        #[serde(rename = "one-to-many")]
        Many,
        /// A list of keys, each within the one before.
        #[serde(rename = "one-to-hierarchy")]
        Hierarchy,
    }
}

/// A classifier, filter or transformer.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClassifiersClassifier")]
pub struct Classifier {
    /// The name in `--by` and other lists of steps.
    pub name: String,
    /// The kind of the step.
    pub kind: Kind,
    /// How many keys an object gets.
    pub cardinality: Cardinality,
    /// The type of the keys.
    pub returns: String,
    /// The argument in parentheses after the name; null if there is none.
    pub argument: Option<String>,
    /// Whether the argument can be left out.
    pub argument_optional: bool,
    /// A description in one sentence.
    pub description: String,
    /// An example of its use.
    pub example: String,
}

/// A property or function of expressions.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ClassifiersFunction")]
pub struct Function {
    /// The type of the values that have the property or function.
    pub of: &'static str,
    /// How the property or function is written.
    pub usage: String,
    /// The type of the result.
    pub returns: &'static str,
    /// A description in one sentence.
    pub description: &'static str,
}

impl Question for Classifiers {
    const NAME: &'static str = "classifiers";
    type Answer = Answer;

    fn check(&self, definitions: &Definitions) -> Result<(), Error> {
        with_definitions(definitions, &self.definitions).map(drop)
    }
}

impl StandaloneQuestion for Classifiers {
    fn answer(&self, definitions: &Definitions) -> Result<Answer, Error> {
        let definitions = with_definitions(definitions, &self.definitions)?;
        if self.functions {
            let functions = SIGNATURES.iter().map(Function::from);
            return Ok(Answer::Functions(functions.collect()));
        }
        let defined = definitions.all().iter().map(Classifier::from);
        let all = CATALOG.iter().map(Classifier::from).chain(defined);
        Ok(Answer::Classifiers(all.collect()))
    }
}

impl From<&Entry> for Classifier {
    fn from(entry: &Entry) -> Self {
        Classifier {
            name: entry.name.to_owned(),
            kind: match entry.transformer {
                true => Kind::Transformer,
                false => Kind::Classifier,
            },
            cardinality: entry.cardinality.into(),
            returns: entry.returns.to_owned(),
            argument: entry.argument.map(str::to_owned),
            argument_optional: entry.optional,
            description: entry.description.to_owned(),
            example: entry.example.to_owned(),
        }
    }
}

impl From<&Definition> for Classifier {
    fn from(definition: &Definition) -> Self {
        let parameters = &definition.parameters;
        Classifier {
            name: definition.name.clone(),
            kind: definition.role.into(),
            cardinality: definition.cardinality.into(),
            returns: definition.returns.clone(),
            argument: (!parameters.is_empty()).then(|| parameters.join(", ")),
            argument_optional: false,
            description: definition.description.clone(),
            example: definition.example.clone(),
        }
    }
}

impl From<&Signature> for Function {
    fn from(signature: &Signature) -> Self {
        Function {
            of: signature.of.name(),
            usage: signature.usage(),
            returns: signature.gives.name(),
            description: signature.description,
        }
    }
}
