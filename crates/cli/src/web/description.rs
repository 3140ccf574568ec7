//! The description of the API (OpenAPI), made from the commands' own definitions, so that it
//! cannot say anything else than they do.

use clap::{Arg, ArgAction, Command};
use serde_json::{Map, Value, json};

use super::question::{commands, is_askable, is_other_source, name};

pub fn openapi() -> Value {
    let mut paths = Map::new();
    for command in commands() {
        let path = format!("/api/v1/sources/{{source}}/{}", command.get_name());
        paths.insert(path, json!({ "get": operation(&command) }));
    }
    paths.insert(
        "/api/v1/sources".to_owned(),
        json!({ "get": plain("The open files and how far they are") }),
    );
    paths.insert(
        "/api/v1/events".to_owned(),
        json!({ "get": {
            "summary": "Progress of all work, and changes of the sources, as server-sent events",
            "responses": { "200": { "description": "Events", "content": { "text/event-stream": {} } } },
        } }),
    );
    paths.insert(
        "/api/v1/jobs/{job}".to_owned(),
        json!({ "delete": {
            "summary": "Cancels the work that was asked for under this name (header x-anthill-job)",
            "parameters": [{ "name": "job", "in": "path", "required": true, "schema": { "type": "string" } }],
            "responses": { "204": { "description": "It is cancelled" }, "404": error("There is no such work") },
        } }),
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Anthill",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Questions about open heap dumps and recordings. Answers are what the commands \
                of the same names print with --json; docs/output.md describes them.",
        },
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Error": {
                "type": "object",
                "properties": { "error": {
                    "type": "object",
                    "properties": { "message": { "type": "string" }, "advice": { "type": ["string", "null"] } },
                    "required": ["message"],
                } },
                "required": ["error"],
            } },
        },
        "security": [{ "token": [] }],
        "paths": paths,
    })
}

fn plain(summary: &str) -> Value {
    json!({
        "summary": summary,
        "responses": { "200": { "description": "The answer", "content": { "application/json": {} } } },
    })
}

fn error(description: &str) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

fn operation(command: &Command) -> Value {
    let source = json!({
        "name": "source", "in": "path", "required": true,
        "description": "The number of the file", "schema": { "type": "integer" },
    });
    let asked = command
        .get_arguments()
        .filter(|argument| is_askable(argument));
    let parameters: Vec<Value> = [source].into_iter().chain(asked.map(parameter)).collect();
    let text = |text: Option<&clap::builder::StyledStr>| text.map(ToString::to_string);
    let mut operation = plain(&text(command.get_about()).unwrap_or_default());
    operation["operationId"] = json!(command.get_name());
    operation["description"] = json!(text(command.get_long_about()));
    operation["parameters"] = json!(parameters);
    operation["responses"]["400"] = error("The question cannot be understood");
    operation["responses"]["404"] = error("Nothing was found");
    operation["responses"]["409"] = error("It was cancelled");
    operation
}

fn parameter(argument: &Arg) -> Value {
    let many = matches!(argument.get_action(), ArgAction::Append);
    let one = schema(argument);
    let schema = match many {
        true => json!({ "type": "array", "items": one }),
        false => one,
    };
    json!({
        "name": name(argument),
        "in": "query",
        "required": argument.is_required_set(),
        "description": argument.get_help().map(ToString::to_string),
        "schema": schema,
    })
}

fn schema(argument: &Arg) -> Value {
    if matches!(argument.get_action(), ArgAction::SetTrue) {
        return json!({ "type": "boolean" });
    }
    if is_other_source(argument) {
        return json!({ "type": "integer", "description": "The number of another file" });
    }
    let values = argument.get_possible_values();
    let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
    match names[..] {
        [] => json!({ "type": "string" }),
        _ => json!({ "type": "string", "enum": names }),
    }
}
