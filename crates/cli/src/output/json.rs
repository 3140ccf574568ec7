//! Answers as JSON, each in its envelope.

use std::io::Write;

use anthill_api::registry::write_series_json;
use anthill_api::{Basis, Heap, HeapQuestion, Series, SeriesQuestion};

use crate::failure::Failure;
use crate::output::Out;

/// Prints an answer about a heap.
pub fn print<Q: HeapQuestion>(
    out: &mut Out,
    heap: &Heap,
    answer: &Q::Answer,
) -> Result<(), Failure> {
    Q::write_json(answer, heap, out)?;
    Ok(out.flush()?)
}

/// Prints an answer about several heaps.
pub fn print_series<Q: SeriesQuestion>(
    out: &mut Out,
    answer: &Q::Answer,
    basis: &Basis,
    series: &dyn Series,
) -> Result<(), Failure> {
    write_series_json::<Q>(answer, basis, series, out)?;
    Ok(out.flush()?)
}
