//! Verdicts as SARIF 2.1.0, for code scanning: what is wrong stands where the assertion or the rule was
//! written.

use std::io::Write;

use anthill_api::AnswerError;
use anthill_api::check::{Answer, Severity, Verdict, Violation};
use anthill_api::registry::write_json;
use serde_json::{Value, json};

/// Writes the verdicts on these files.
pub fn sarif(verdicts: &Answer, files: &[String], out: &mut dyn Write) -> Result<(), AnswerError> {
    let rules: Vec<Value> = verdicts.checks.iter().map(rule).collect();
    let checks = verdicts.checks.iter().enumerate();
    let results: Vec<Value> = checks
        .flat_map(|(index, check)| {
            let violations = check.violations.iter();
            violations.map(move |violation| result(index, check, violation))
        })
        .collect();
    let artifacts: Vec<Value> = files
        .iter()
        .map(|file| json!({ "location": { "uri": uri(file) } }))
        .collect();
    let not_checked: Vec<Value> = verdicts
        .checks
        .iter()
        .filter_map(|check| Some((check, check.not_checked.as_ref()?)))
        .map(|(check, why)| {
            json!({
                "level": "warning",
                "message": { "text": format!("{} was not checked: {why}", check.name) }
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Anthill",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules
            }},
            "artifacts": artifacts,
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": not_checked
            }],
            "columnKind": "unicodeCodePoints",
            "results": results
        }]
    });
    write_json(&log, out)?;
    Ok(out.flush()?)
}

fn rule(check: &Verdict) -> Value {
    let text = check.rule.as_ref().unwrap_or(&check.name);
    json!({
        "id": check.name,
        "shortDescription": { "text": text },
        "defaultConfiguration": { "level": level(check.severity) }
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn result(index: usize, check: &Verdict, violation: &Violation) -> Value {
    let mut result = json!({
        "ruleId": check.name,
        "ruleIndex": index,
        "level": level(check.severity),
        "message": { "text": violation.told.to_string().trim_end() },
        "occurrenceCount": violation.count.max(1)
    });
    let mut location = json!({});
    if let Some((file, line)) = place(check, violation) {
        location["physicalLocation"] = json!({
            "artifactLocation": { "uri": uri(&file) },
            "region": { "startLine": line.max(1) }
        });
    }
    if !violation.class.is_empty() {
        location["logicalLocations"] = json!([{
            "fullyQualifiedName": violation.class,
            "kind": "type"
        }]);
    }
    if location
        .as_object()
        .is_some_and(|fields| !fields.is_empty())
    {
        result["locations"] = json!([location]);
    }
    result
}

/// The file and line where the assertion was made, or the rule is.
fn place(check: &Verdict, violation: &Violation) -> Option<(String, usize)> {
    match &check.origin {
        Some(origin) => Some((origin.file.clone()?, origin.line)),
        None => source_line(violation.made_at.first()?),
    }
}

/// `com/app/Main.java` and 12 of `com.app.Main.run(Main.java:12)`.
fn source_line(frame: &str) -> Option<(String, usize)> {
    let (method, place) = frame.strip_suffix(')')?.rsplit_once('(')?;
    let (file, line) = place.rsplit_once(':')?;
    let class = method.rsplit_once('.')?.0;
    let folder = class
        .rsplit_once('.')
        .map(|(package, _)| package.replace('.', "/"));
    let file = match folder {
        Some(folder) => format!("{folder}/{file}"),
        None => file.to_owned(),
    };
    Some((file, line.parse().ok()?))
}

/// A path as a relative or absolute URI.
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out += "file://";
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte.into());
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_tell_their_source() {
        let place = source_line("com.app.Main$Inner.run(Main.java:12)");
        assert_eq!(place, Some(("com/app/Main.java".to_owned(), 12)));
        assert_eq!(
            source_line("Main.run(Main.java:3)"),
            Some(("Main.java".to_owned(), 3))
        );
        assert_eq!(source_line("Main.run(Native Method)"), None);
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("/tmp/a b.hprof"), "file:///tmp/a%20b.hprof");
        assert_eq!(uri("heap.rules"), "heap.rules");
    }
}
