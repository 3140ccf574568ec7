//! Records the state of a heap dump and loads it again: what each costs, and how large it is.
//!
//!     cargo run --release -p anthill-trace --example measure -- app.hprof app.trace [--contents]

use std::path::Path;
use std::time::Instant;

use anthill_heap::Quiet;
use anthill_hprof::Dump;
use anthill_trace::{Facts, Moment, StateKind, StateToWrite, Trace, TraceWriter};

/// CPU seconds that the process has used so far.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / 100.0
}

fn measured<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (wall, before) = (Instant::now(), cpu());
    let result = work();
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu() - before);
    println!("{what:28} {wall:6.2} s, CPU {cpu:6.2} s");
    result
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dump, trace, rest @ ..] = &arguments[..] else {
        eprintln!("measure DUMP TRACE [--contents]");
        std::process::exit(2);
    };
    let contents = rest.iter().any(|argument| argument == "--contents");
    let (source, path) = (Path::new(dump), Path::new(trace));
    let dump = measured("opening the dump", || {
        Dump::open(source, None, &Quiet).expect("a heap dump")
    });
    let bytes = dump.info.bytes;
    let moment = Moment {
        gc: None,
        time: 0,
        timestamp: dump.info.timestamp,
        kind: StateKind::Dump,
        mark: None,
        pause: 0,
        source_bytes: Some(bytes),
    };
    let to_write = measured("collecting values", || {
        StateToWrite::from_dump(&dump, moment, contents)
    });
    measured("writing the state", || {
        let mut writer = TraceWriter::create(path, &Facts::default()).expect("a new trace");
        writer.state(&to_write).expect("a state");
        writer.finish().expect("a whole trace");
    });
    drop(to_write);
    drop(dump);
    let opened = measured("opening the trace", || Trace::open(path).expect("a trace"));
    let recorded = measured("loading the state", || opened.load(1).expect("a state"));
    println!("{} objects, {bytes} bytes of HPROF", recorded.state().len());
    let mut total = 0;
    for (column, raw, stored) in opened.columns(1) {
        println!("  {column:16} {raw:12} -> {stored:12}");
        total += stored;
    }
    println!(
        "  in all {total}: 1/{:.1} of the dump",
        bytes as f64 / total as f64
    );
}
