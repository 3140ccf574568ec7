//! The description of the API (OpenAPI), made from the types of questions and answers, so that it cannot say anything else than they
//! do.

use std::iter;

use anthill_api::notes::{NoteKind, Notes};
use anthill_api::registry::{Listed, QUESTIONS, Subject};
use anthill_api::{Envelope, HeapOptions, Kind, Opt, SeriesEnvelope, options};
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::document::{DOCUMENTS, Document};
use crate::events::Event;
use crate::notes::NoteToKeep;
use crate::questions::{LATER, heap_options};
use crate::sources::SourcesAnswer;

/// What can be asked, and what comes back; of so many open files, if that is known.
pub fn description(files: Option<usize>) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.contract = Contract::Serialize;
    });
    let mut types = settings.into_generator();
    let mut paths = Map::new();
    paths.insert("/api/v1/sources".to_owned(), sources(&mut types));
    for question in QUESTIONS {
        let path = format!("/api/v1/sources/{{source}}/{}", question.name);
        let operation = operation(question, files, &mut types);
        paths.insert(path, json!({ "get": operation }));
        if question.name == Document::QUESTION {
            for document in DOCUMENTS {
                let path = format!("/api/v1/sources/{{source}}/{}", document.name);
                paths.insert(path, saving(document, question, files));
            }
        }
    }
    let path = "/api/v1/sources/{source}/notes".to_owned();
    paths.insert(path, notes(files, &mut types));
    paths.insert("/api/v1/events".to_owned(), events(&mut types));
    paths.insert("/api/v1/jobs/{job}".to_owned(), cancelling());
    let mut schemas = types.take_definitions(true);
    schemas.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Anthill",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Questions about open heap dumps and recordings. The answers are those that the commands \
                of the same names print with --json.",
        },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
        "security": [{ "token": [] }],
        "paths": paths,
    })
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "description": "Why there is no answer.",
        "properties": { "error": {
            "type": "object",
            "properties": {
                "message": { "type": "string", "description": "What is wrong." },
                "advice": { "type": ["string", "null"], "description": "What to do about it." },
            },
            "required": ["message"],
        } },
        "required": ["error"],
    })
}

fn sources(types: &mut SchemaGenerator) -> Value {
    let schema = schema_of::<SourcesAnswer>(types);
    json!({ "get": answering("List the open files and their progress", &schema) })
}

fn events(types: &mut SchemaGenerator) -> Value {
    let schema = schema_of::<Event>(types);
    json!({ "get": {
        "summary": "Follow the progress of all work and changes to the files, as server-sent events",
        "responses": guarded(json!({ "200": {
            "description": "Events; the data of each is JSON",
            "content": { "text/event-stream": { "x-item-schema": schema } },
        } })),
    } })
}

/// Notes are listed, kept and deleted; each way all of them come back.
fn notes(files: Option<usize>, types: &mut SchemaGenerator) -> Value {
    let schema = schema_of::<Notes>(types);
    let to_keep = schema_of::<NoteToKeep>(types);
    let kind = schema_of::<NoteKind>(types);
    let heap = options::<HeapOptions>();
    let heap: Vec<Value> = iter::once(source_number(files))
        .chain(heap.iter().map(parameter))
        .collect();
    let operation = |summary: &str| {
        let mut operation = answering(summary, &schema);
        operation["parameters"] = heap.clone().into();
        add_failures(&mut operation["responses"]);
        operation
    };
    let mut keep = operation("Keep a note, or replace the one about the same");
    keep["requestBody"] = json!({
        "required": true,
        "content": { "application/json": { "schema": to_keep } },
    });
    let mut delete = operation("Delete a note");
    let named = [
        json!({ "name": "kind", "in": "query", "required": true, "schema": kind }),
        json!({ "name": "about", "in": "query", "required": true, "schema": { "type": "string" } }),
    ];
    delete["parameters"] = [heap.clone(), named.to_vec()].concat().into();
    json!({ "get": operation("List the notes on a heap"), "put": keep, "delete": delete })
}

fn cancelling() -> Value {
    json!({ "delete": {
        "summary": "Cancel the request with this name (header x-anthill-job)",
        "parameters": [{ "name": "job", "in": "path", "required": true, "schema": { "type": "string" } }],
        "responses": guarded(json!({
            "204": { "description": "The request was cancelled" },
            "400": error("The address is not valid UTF-8"),
            "404": error("No request has this name"),
        })),
    } })
}

fn schema_of<T: JsonSchema>(types: &mut SchemaGenerator) -> Value {
    types.subschema_for::<T>().to_value()
}

fn answering(summary: &str, schema: &Value) -> Value {
    let content = json!({ "application/json": { "schema": schema } });
    json!({
        "summary": summary,
        "responses": guarded(json!({ "200": { "description": "The answer", "content": content } })),
    })
}

/// With what everybody gets who may not ask.
fn guarded(mut responses: Value) -> Value {
    responses["401"] = error("The token is missing or from an earlier run");
    responses["403"] = error("The request comes from another site");
    responses["421"] = error("The host is not the printed one");
    responses
}

fn error(description: &str) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

fn operation(question: &Listed, files: Option<usize>, types: &mut SchemaGenerator) -> Value {
    let answer = (question.answer)(types).to_value();
    let envelope = match question.subject {
        Subject::Heap => Some(schema_of::<Envelope<()>>(types)),
        Subject::Series => Some(schema_of::<SeriesEnvelope<()>>(types)),
        Subject::Nothing => None,
    };
    let schema = match envelope {
        Some(envelope) => json!({ "allOf": [envelope, answer] }),
        None => answer,
    };
    let about = (question.about)();
    let (summary, more) = about.split_once("\n\n").unwrap_or((&about, ""));
    let mut operation = answering(summary, &schema);
    operation["operationId"] = json!(question.name);
    if !more.is_empty() {
        operation["description"] = json!(more);
    }
    operation["parameters"] = parameters(question, files).into();
    add_failures(&mut operation["responses"]);
    operation
}

/// What can go wrong with a question.
fn add_failures(responses: &mut Value) {
    responses["400"] = error("The request is not valid");
    responses["404"] = error("Nothing was found");
    responses["409"] = error("The request was cancelled");
}

/// An answer as a document.
fn saving(document: Document, question: &Listed, files: Option<usize>) -> Value {
    let (media_type, _) = document
        .media_type
        .split_once(';')
        .unwrap_or((document.media_type, ""));
    let mut responses = guarded(json!({ "200": {
        "description": "The document",
        "content": { media_type: { "schema": { "type": "string" } } },
    } }));
    add_failures(&mut responses);
    json!({ "get": {
        "summary": document.about,
        "parameters": parameters(question, files),
        "responses": responses,
    } })
}

fn number_schema(files: Option<usize>) -> Value {
    let mut number = json!({ "type": "integer", "minimum": 0 });
    if let Some(files) = files {
        number["maximum"] = json!(files.saturating_sub(1));
    }
    number
}

fn source_number(files: Option<usize>) -> Value {
    json!({
        "name": "source", "in": "path", "required": true,
        "description": "The number of the file",
        "schema": number_schema(files),
    })
}

fn parameters(question: &Listed, files: Option<usize>) -> Vec<Value> {
    let mut parameters = vec![source_number(files)];
    if question.subject == Subject::Series {
        parameters.push(json!({
            "name": LATER, "in": "query", "required": false,
            "description": "The numbers of later files",
            "schema": { "type": "array", "items": number_schema(files) },
        }));
    }
    let options = [(question.options)(), heap_options(question)].concat();
    parameters.extend(options.iter().map(parameter));
    parameters
}

fn parameter(option: &Opt) -> Value {
    let mut one = schema(option);
    if let Some(default) = option.default.as_ref().filter(|_| !option.many) {
        one["default"] = option
            .value_from(default)
            .unwrap_or_else(|_| json!(default));
    }
    let schema = match option.many {
        true => json!({ "type": "array", "items": one }),
        false => one,
    };
    json!({
        "name": option.name,
        "in": "query",
        "required": option.required,
        "description": option.about,
        "schema": schema,
    })
}

fn schema(option: &Opt) -> Value {
    let bounded = |ty: &str| {
        let (least, most) = option.range;
        let mut schema = json!({ "type": ty });
        let is_whole = ty == "integer";
        let bound = |bound: f64| match is_whole {
            true => json!(bound as u64),
            false => json!(bound),
        };
        if is_whole || least > f64::MIN {
            schema["minimum"] = bound(least.max(0.0));
        }
        if most < f64::MAX {
            schema["maximum"] = bound(most);
        }
        schema
    };
    match &option.kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Integer => bounded("integer"),
        Kind::Number => bounded("number"),
        Kind::Text => match &option.contains {
            Some(part) => json!({ "type": "string", "pattern": part }),
            None => json!({ "type": "string" }),
        },
        Kind::Choice(choices) => {
            let names: Vec<&str> = choices.iter().map(|choice| choice.name.as_str()).collect();
            json!({ "type": "string", "enum": names })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_a_name_of_its_own() {
        let api = description(None);
        let schemas = api["components"]["schemas"].as_object().unwrap();
        assert!(schemas.contains_key("HistogramAnswer"), "{schemas:?}");
        // Types of the same name would be numbered.
        let numbered = schemas
            .keys()
            .filter(|name| name.ends_with(|c: char| c.is_ascii_digit()));
        assert_eq!(numbered.collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn every_type_that_is_referred_to_is_there() {
        let api = description(None);
        let text = api.to_string();
        let referred = text.split("\"$ref\":\"#/components/schemas/").skip(1);
        for name in referred.filter_map(|rest| rest.split('"').next()) {
            assert!(api["components"]["schemas"].get(name).is_some(), "{name}");
        }
    }
}
