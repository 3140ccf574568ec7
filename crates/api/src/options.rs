//! Questions as lists of options with texts for values: how command lines and addresses ask them. What options there are is read off
//! the question's type.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::Error;

/// A field of a question.
#[derive(Clone, Debug)]
pub struct Opt {
    /// In kebab case.
    pub name: String,
    /// What it does.
    pub about: String,
    /// What values it takes.
    pub kind: Kind,
    /// Whether it can be given several times.
    pub many: bool,
    /// Whether several values can be written at once, with commas between them.
    pub separated: bool,
    /// Whether the question cannot be asked without it.
    pub required: bool,
    /// What it is if it is not given, as text.
    pub default: Option<String>,
    /// What it is if it is not given and a person reads the answer, who is shown less than a program.
    pub default_for_people: Option<String>,
    /// The same in words, if that is more than one value.
    pub default_in_words: Option<String>,
    /// What stands for its value: `GLOB`.
    pub value: Option<String>,
    /// Whether it is what the question is about, and needs no name on a command line.
    pub subject: bool,
    /// One letter that stands for it.
    pub letter: Option<char>,
    /// Whether it is kept for those who know it.
    pub hidden: bool,
    /// Options that cannot be given at the same time.
    pub excludes: Vec<String>,
    /// What it is if it is given without a value.
    pub if_bare: Option<String>,
    /// The option that must be given at the same time.
    pub requires: Option<String>,
    /// What a text must have in it.
    pub contains: Option<String>,
    /// The least and the most that a number may be.
    pub range: (f64, f64),
    mistake: Option<String>,
}

/// What values an option has.
#[derive(Clone, Debug)]
pub enum Kind {
    /// It is given or not.
    Flag,
    /// A whole number, not negative.
    Integer,
    /// A number, possibly with a fraction; a percent sign after it is allowed.
    Number,
    /// Any text.
    Text,
    /// One of a few names.
    Choice(Vec<Choice>),
}

/// One of the values of an option.
#[derive(Clone, Debug)]
pub struct Choice {
    /// How it is written.
    pub name: String,
    /// What it means, if the name alone does not say so.
    pub about: Option<String>,
}

/// The options of a question, in the order of its fields.
pub fn options<Q: JsonSchema>() -> Vec<Opt> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let schema = settings.into_generator().into_root_schema_for::<Q>();
    let required = schema.get("required").and_then(Value::as_array);
    let required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let fields = schema.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flatten();
    fields
        .map(|(name, field)| option(name, field, required(name)))
        .collect()
}

fn option(name: &str, field: &Value, required: bool) -> Opt {
    let many = has_type(field, "array");
    let value = match field.get("items") {
        Some(items) if many => items,
        _ => value_of(field),
    };
    let about = |of: &Value| of.get("description").and_then(Value::as_str).map(unwrapped);
    // What a field says of itself comes before what its type says.
    let extra = |key: &str| field.get(key).or(value.get(key));
    let text = |key: &str| extra(key).map(plain);
    let bound = |key: &str| extra(key).and_then(Value::as_f64);
    Opt {
        name: name.to_owned(),
        about: about(field).unwrap_or_default(),
        kind: kind(value),
        many,
        separated: extra("x-separated").is_some(),
        required,
        default: field
            .get("default")
            .filter(|value| is_said(value))
            .or(extra("x-default"))
            .map(plain),
        default_for_people: text("x-default-for-people"),
        default_in_words: text("x-default-in-words"),
        value: text("x-value"),
        subject: extra("x-subject").is_some(),
        letter: text("x-letter").and_then(|letter| letter.chars().next()),
        hidden: extra("x-hidden").is_some(),
        excludes: extra("x-excludes")
            .and_then(Value::as_array)
            .map(|names| names.iter().map(plain).collect())
            .unwrap_or_default(),
        if_bare: text("x-if-bare"),
        requires: text("x-requires"),
        contains: text("x-contains"),
        range: (
            bound("minimum").unwrap_or(f64::MIN),
            bound("maximum").unwrap_or(f64::MAX),
        ),
        mistake: text("x-mistake"),
    }
}

/// Whether a default is worth a word.
fn is_said(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false) | Value::Array(_))
}

/// A value as one writes it on a command line.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // 1, not 1.0.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or(0.0).to_string(),
        other => other.to_string(),
    }
}

/// Without the null of a value that may be missing.
fn value_of(field: &Value) -> &Value {
    let any = field.get("anyOf").and_then(Value::as_array);
    any.and_then(|any| any.iter().find(|one| !has_type(one, "null")))
        .unwrap_or(field)
}

fn has_type(schema: &Value, ty: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == ty,
        Some(Value::Array(any)) => any.iter().any(|one| one == ty),
        _ => false,
    }
}

fn kind(value: &Value) -> Kind {
    let named = |choice: &Value| Choice {
        name: choice.get("const").map_or_else(|| plain(choice), plain),
        about: choice.get("description").map(plain),
    };
    let choices = value.get("oneOf").or(value.get("enum"));
    match choices.and_then(Value::as_array) {
        Some(choices) => {
            // A choice without a description shares one entry with others.
            let all = choices.iter().flat_map(|choice| {
                let several = choice.get("enum").and_then(Value::as_array);
                several.cloned().unwrap_or_else(|| vec![choice.clone()])
            });
            let all = all.filter(|choice| !choice.is_null());
            Kind::Choice(all.map(|choice| named(&choice)).collect())
        }
        None if has_type(value, "boolean") => Kind::Flag,
        None if has_type(value, "integer") => Kind::Integer,
        None if has_type(value, "number") => Kind::Number,
        None => Kind::Text,
    }
}

impl Opt {
    fn allows(&self, number: f64) -> bool {
        let (least, most) = self.range;
        (least..=most).contains(&number)
    }

    /// A value of this option that was written as text.
    pub fn value_from(&self, text: &str) -> Result<Value, String> {
        let mistake = || match (&self.mistake, &self.kind) {
            (Some(mistake), _) => mistake.clone(),
            (None, Kind::Integer) => "it must be a whole number".to_owned(),
            (None, _) => "it must be a number".to_owned(),
        };
        match &self.kind {
            Kind::Text => match self.contains.as_ref() {
                Some(part) if !text.contains(part.as_str()) => Err(mistake()),
                _ => Ok(text.into()),
            },
            Kind::Flag => match text {
                "" | "true" => Ok(true.into()),
                "false" => Ok(false.into()),
                _ => Err("it must be `true` or `false`".to_owned()),
            },
            Kind::Integer => {
                let number: Option<u64> = text.parse().ok();
                let number = number.filter(|&number| self.allows(number as f64));
                number.map(Value::from).ok_or_else(mistake)
            }
            Kind::Number => {
                let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).parse().ok();
                let number = number.filter(|&number| self.allows(number));
                let number = number.and_then(Number::from_f64);
                number.map(Value::from).ok_or_else(mistake)
            }
            Kind::Choice(choices) => match choices.iter().any(|choice| choice.name == text) {
                true => Ok(text.into()),
                false => {
                    let names: Vec<&str> = choices.iter().map(|c| c.name.as_str()).collect();
                    Err(format!("it must be one of {}", names.join(", ")))
                }
            },
        }
    }
}

/// The question that these options ask.
pub fn read<'a, Q: JsonSchema + DeserializeOwned>(
    given: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Q, Error> {
    let options = options::<Q>();
    let mut fields = Map::new();
    for (name, text) in given {
        let option = options.iter().find(|option| option.name == name);
        let option = option.ok_or_else(|| Error::no_option(name))?;
        let texts = match option.separated {
            true => text.split(',').collect(),
            false => vec![text],
        };
        for text in texts {
            let value = option
                .value_from(text)
                .map_err(|mistake| Error::mistake(format!("`{name}` is `{text}`: {mistake}")))?;
            let known = fields.get_mut(name);
            match (option.many, known) {
                (true, Some(Value::Array(values))) => values.push(value),
                (true, _) => drop(fields.insert(name.to_owned(), vec![value].into())),
                (false, None) => drop(fields.insert(name.to_owned(), value)),
                (false, Some(_)) => {
                    return Err(Error::mistake(format!("`{name}` is given more than once")));
                }
            }
        }
    }
    check_together(&options, |name| fields.contains_key(name))?;
    serde_json::from_value(fields.into()).map_err(|error| Error::mistake(error.to_string()))
}

/// Whether the options that were given can be given at the same time.
pub fn check_together(options: &[Opt], is_given: impl Fn(&str) -> bool) -> Result<(), Error> {
    for option in options.iter().filter(|option| is_given(&option.name)) {
        let name = &option.name;
        if let Some(other) = option.requires.as_ref().filter(|other| !is_given(other)) {
            return Err(Error::mistake(format!("`{name}` needs `{other}`")));
        }
        if let Some(other) = option.excludes.iter().find(|other| is_given(other)) {
            return Err(Error::mistake(format!(
                "`{name}` cannot be used with `{other}`"
            )));
        }
    }
    Ok(())
}

/// What a question is for: a line, then more about it.
pub fn about<Q: JsonSchema>() -> String {
    let schema = schemars::schema_for!(Q);
    let about = schema.get("description").and_then(Value::as_str);
    about.map_or_else(String::new, unwrapped)
}

/// Paragraphs without the ends of lines that they have in the source.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n");
    let paragraphs: Vec<String> = paragraphs.map(|lines| lines.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}
