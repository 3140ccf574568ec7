//! Measures the detection of data structures beside the dominator tree:
//! `cargo run --release -p anthill-session --example structures HEAP.hprof`

use std::path::Path;
use std::time::Instant;

use anthill_graph::{DepthFirst, Dominators};
use anthill_heap::Quiet;
use anthill_session::{IndexFolder, Options, Session};
use anthill_structures::Structures;

fn main() {
    let path = std::env::args().nth(1).expect("a heap dump");
    let options = Options {
        index: IndexFolder::None,
        ..Options::default()
    };
    let session = Session::open(Path::new(&path), options, Box::new(Quiet)).expect("a heap dump");
    let graph = session.graph();
    let start = Instant::now();
    let order = DepthFirst::new(&graph, &Quiet).expect("nobody cancels");
    let dominators = Dominators::new(&graph, order, &Quiet).expect("nobody cancels");
    println!(
        "dominator tree of {} objects: {:.2?}",
        session.state().len(),
        start.elapsed()
    );
    let start = Instant::now();
    let model = session.structure_model();
    println!("definitions linked: {:.2?}", start.elapsed());
    let start = Instant::now();
    let reachable = |object| dominators.is_reachable(object);
    let owns = |head, inner| dominators.chain(inner).next() == Some(head);
    let found = Structures::detect(&model, session.sizes(), reachable, owns, &Quiet);
    let found = found.expect("nobody cancels");
    let elements: u64 = found.instances.iter().filter_map(|one| one.elements).sum();
    println!(
        "{} structures with {elements} elements: {:.2?}",
        found.instances.len(),
        start.elapsed()
    );
}
