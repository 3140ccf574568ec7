//! Waste: memory that holds nothing, or nothing new, and the bytes that could be saved there.
//!
//! Only reachable objects count. Values are read from the file.

mod boxes;
mod collections;
mod collisions;
mod duplicates;
mod finding;
mod holder_names;
mod holders;
mod nulls;
mod strings;

use anthill_graph::{Dominators, Graph};
use anthill_heap::{BitSet, Cancelled, Class, ClassKind, FieldType, ObjectId, Progress};
use anthill_hprof::Records;
use anthill_session::{Error, Session};
use anthill_structures::{Model, Structures};
use rayon::prelude::*;

use holders::Holders;
use strings::StringArrays;

pub use finding::{Detail, Finding, Row, WasteKind};
pub use holder_names::holder_name;
pub use holders::{Holder, HolderPlace};

/// Objects from which on it pays to share work.
const SHARE: usize = 1 << 14;

/// What is known of the heap.
pub(crate) struct WasteInput<'a> {
    /// The reachable heap.
    pub graph: &'a Graph<'a>,
    /// Who keeps what alive alone.
    pub dominators: &'a Dominators,
    /// Where values are read.
    pub records: &'a Records,
    /// The data structures of the heap, and what is said about them.
    pub structures: &'a Structures,
    /// The definitions that fit the heap.
    pub model: &'a Model<'a>,
    /// Who watches.
    pub progress: &'a dyn Progress,
    /// How many rows and holders are listed of each kind at most.
    pub most: usize,
}

/// All kinds of waste, those with most to save first, each with at most `most` rows and holders. Without
/// contents only the kinds that need none.
pub fn waste(session: &Session, most: usize) -> Result<Vec<Finding>, Error> {
    session.records().open()?;
    let analysis = session.analysis()?;
    let input = WasteInput {
        graph: &session.graph(),
        dominators: &analysis.dominators,
        records: session.records(),
        structures: session.structures()?,
        model: &session.structure_model(),
        progress: session.progress(),
        most,
    };
    Ok(find(&input)?)
}

fn find(input: &WasteInput) -> Result<Vec<Finding>, Cancelled> {
    let stage = |name: &str| {
        input.progress.stage(name, 0);
        input.progress.check()
    };
    let mut holders = Holders::new(input.graph.state, input.dominators);
    if !input.records.has_contents() {
        stage("counting boxed numbers and null fields")?;
        return Ok(vec![
            boxes::all(input, &mut holders),
            nulls::finding(input, &mut holders),
        ]);
    }
    stage("comparing strings")?;
    let string_arrays = StringArrays::new(input);
    let mut findings = vec![strings::duplicates(input, &string_arrays, &mut holders)];
    stage("comparing arrays")?;
    findings.extend(duplicates::arrays(input, &string_arrays.all, &mut holders));
    drop(string_arrays);
    stage("comparing boxed numbers")?;
    findings.push(boxes::all(input, &mut holders));
    findings.push(boxes::duplicates(input, &mut holders));
    stage("measuring collections")?;
    let collections = collections::measure(input);
    findings.extend(collections::findings(input, &collections, &mut holders));
    stage("finding collisions")?;
    findings.push(collisions::finding(input, &collections, &mut holders));
    stage("counting null fields")?;
    findings.push(nulls::finding(input, &mut holders));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.savable));
    Ok(findings)
}

impl WasteInput<'_> {
    fn is_reachable(&self, object: ObjectId) -> bool {
        self.dominators.is_reachable(object)
    }

    /// By class: whether it is wanted.
    fn classes_that(&self, wanted: impl Fn(&Class) -> bool) -> Vec<bool> {
        self.graph.state.classes().iter().map(wanted).collect()
    }

    /// The reachable objects of some classes, in parallel and within each share in ascending order.
    fn objects_of<'s>(
        &'s self,
        wanted: &'s [bool],
    ) -> impl ParallelIterator<Item = ObjectId> + use<'s> {
        let classes: &[u32] = &self.graph.state.columns.classes;
        (0..self.graph.state.len())
            .into_par_iter()
            .with_min_len(SHARE)
            .filter(|&object| wanted[classes[object as usize] as usize])
            .filter(|&object| self.is_reachable(object))
    }

    fn set(&self) -> BitSet {
        BitSet::new(self.graph.state.len() as usize)
    }
}

fn is_primitive_array(kind: ClassKind) -> bool {
    matches!(kind, ClassKind::Array(element) if element != FieldType::Object)
}
