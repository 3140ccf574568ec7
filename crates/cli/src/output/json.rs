//! The envelope every JSON result comes in: which program and command made it, from which file,
//! under which convention, and what the file lacks.

use std::io::Write;

use anthill_heap::Missing;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Out;
use crate::source::Source;

/// Raised when a field changes its meaning or goes away; docs/output.md has the history.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Envelope<'a, T> {
    anthill: Tool<'a>,
    file: &'a str,
    convention: String,
    layout: &'a str,
    missing: &'a [Missing],
    #[serde(flatten)]
    result: T,
}

#[derive(Serialize)]
struct Tool<'a> {
    version: &'a str,
    schema: u32,
    command: &'a str,
}

fn envelope<'a, T: Serialize>(
    source: &'a Source,
    file: &'a str,
    command: &'a str,
    result: T,
) -> Envelope<'a, T> {
    Envelope {
        anthill: Tool {
            version: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA,
            command,
        },
        file,
        convention: source.session.convention().to_string(),
        layout: source.layout(),
        missing: &source.session.state().tables.missing,
        result,
    }
}

/// Prints a result; its fields stand beside those of the envelope.
pub fn print(
    out: &mut Out,
    source: &Source,
    command: &str,
    result: impl Serialize,
) -> Result<(), Failure> {
    print_as(out, source, &source.name, command, result)
}

/// Prints a result whose file is to be called otherwise.
pub fn print_as(
    out: &mut Out,
    source: &Source,
    file: &str,
    command: &str,
    result: impl Serialize,
) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut *out, &envelope(source, file, command, result))?;
    out.blank()?;
    Ok(out.flush()?)
}

/// The envelope of results about more than one heap, which have no convention and no layout.
#[derive(Serialize)]
struct BareEnvelope<'a, T> {
    anthill: Tool<'a>,
    file: &'a str,
    missing: &'a [Missing],
    #[serde(flatten)]
    result: T,
}

/// Prints a result that is not about one heap.
pub fn print_bare(
    out: &mut Out,
    file: &str,
    command: &str,
    missing: &[Missing],
    result: impl Serialize,
) -> Result<(), Failure> {
    let envelope = BareEnvelope {
        anthill: Tool {
            version: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA,
            command,
        },
        file,
        missing,
        result,
    };
    serde_json::to_writer_pretty(&mut *out, &envelope)?;
    out.blank()?;
    Ok(out.flush()?)
}

/// An envelope whose array `rows` is written piece by piece.
pub struct Rows(());

/// Begins a result that has many rows.
pub fn start_rows(out: &mut Out, source: &Source, command: &str) -> Result<Rows, Failure> {
    let envelope =
        serde_json::to_string_pretty(&envelope(source, &source.name, command, NoFields {}))?;
    let open = envelope.trim_end_matches(['}', '\n']);
    write!(out, "{open},\n  \"rows\": [")?;
    Ok(Rows(()))
}

impl Rows {
    pub fn end(self, out: &mut Out) -> Result<(), Failure> {
        out.line("\n]}")?;
        Ok(out.flush()?)
    }
}

#[derive(Serialize)]
struct NoFields {}
