//! Memory outside of the heap: direct byte buffers own it, and whoever keeps the buffers alive keeps it. Sizes
//! of the heap do not count it; the ranking of suspects does.

use anthill_graph::{FrontOptions, NodeId};
use anthill_heap::{BitSet, ClassId, Value};
use anthill_session::{Error, Session};
use rustc_hash::FxHashMap;

use crate::owners::owners_of;
use crate::roles::Roles;
use crate::suspects::{Kept, KeptGroup, Subject, Suspect, Thresholds};

/// Of the buffers, those that own this part of the memory, in percent, are looked for: a program has a few
/// small ones everywhere.
const MOST: u64 = 95;
/// A suspect that keeps this part of the memory, in percent, says who keeps it.
const SAYS_ALL: u64 = 50;

/// The reachable buffers that own memory.
#[derive(Default)]
pub(crate) struct Outside {
    /// Their class, if there are any.
    class: Option<ClassId>,
    /// Each with the bytes it owns.
    pub buffers: Vec<(NodeId, u64)>,
    /// All bytes.
    pub bytes: u64,
}

impl Outside {
    pub(crate) fn new(session: &Session) -> Result<Self, Error> {
        let (state, records) = (session.state(), session.records());
        let dominators = &session.analysis()?.dominators;
        let is_buffer =
            |&class: &ClassId| state.classes()[class as usize].name == "java.nio.DirectByteBuffer";
        let Some(class) = (0..state.classes().len() as ClassId).find(is_buffer) else {
            return Ok(Outside::default());
        };
        let roles = Roles::new(state, session.owner_dominators()?);
        // Buffers at one address are views of the same memory.
        let mut owning: FxHashMap<i64, (NodeId, u64)> = FxHashMap::default();
        for buffer in session.objects_of_class(class) {
            let field = |name| records.field(state, buffer, name);
            let refers = |name| records.field_object(state, buffer, name).is_some();
            // A view refers to the buffer it shows, a mapped file is not memory of the process.
            if !dominators.is_reachable(buffer) || refers("att") || refers("fd") {
                continue;
            }
            // Netty frees its buffers without a cleaner; the JVM maps its own files in the same way.
            if !refers("cleaner") && roles.is_held_by_jvm(buffer) {
                continue;
            }
            let (Some(Value::Long(address)), Some(Value::Int(capacity))) =
                (field("address"), field("capacity"))
            else {
                continue;
            };
            let bytes = u64::try_from(capacity).unwrap_or_default();
            let known = owning.entry(address).or_insert((buffer, bytes));
            if known.1 < bytes {
                *known = (buffer, bytes);
            }
        }
        let mut buffers: Vec<(NodeId, u64)> = owning
            .into_values()
            .filter(|&(_, bytes)| bytes > 0)
            .collect();
        buffers.sort_unstable();
        Ok(Outside {
            class: Some(class),
            bytes: buffers.iter().map(|(_, bytes)| bytes).sum(),
            buffers,
        })
    }

    /// Whether it is worth a word beside so many bytes of heap.
    pub(crate) fn is_large(&self, reachable: u64, thresholds: &Thresholds) -> bool {
        let all = (reachable + self.bytes) as f64;
        self.bytes > 0 && self.bytes as f64 >= all * thresholds.object / 100.0
    }

    fn within(&self, objects: &BitSet) -> u64 {
        let buffers = self.buffers.iter();
        let within = buffers.filter(|(buffer, _)| objects.contains(*buffer));
        within.map(|(_, bytes)| bytes).sum()
    }

    /// The largest buffers, which own nearly all of it.
    fn largest(&self, nodes: usize) -> BitSet {
        let mut by_size = self.buffers.clone();
        by_size.sort_by_key(|&(buffer, bytes)| (std::cmp::Reverse(bytes), buffer));
        let mut group = BitSet::new(nodes);
        let mut bytes = 0;
        for (buffer, owned) in by_size {
            if bytes * 100 >= self.bytes * MOST {
                break;
            }
            group.insert(buffer);
            bytes += owned;
        }
        group
    }
}

/// Counts memory outside of the heap for the suspects that keep it, and adds whoever keeps it if none of them does.
pub(crate) fn count_outside(
    session: &Session,
    suspects: &mut Vec<Suspect>,
    thresholds: &Thresholds,
) -> Result<(), Error> {
    let outside = Outside::new(session)?;
    let reachable = session.analysis()?.total().retained;
    let Some(class) = outside.class else {
        return Ok(());
    };
    if !outside.is_large(reachable, thresholds) {
        return Ok(());
    }
    let graph = session.owners_graph()?;
    let dominators = session.owner_dominators()?;
    let closure = |subject: &Subject| subject.closure(session, &graph, dominators);
    let severity =
        |retained: u64, own: u64| thresholds.severity(retained + own, reachable + outside.bytes);
    for suspect in suspects.iter_mut() {
        suspect.outside = outside.within(&closure(&suspect.subject));
        suspect.severity = severity(suspect.retained, suspect.outside);
    }
    let explained = suspects.iter().map(|suspect| suspect.outside).max();
    if explained.unwrap_or_default() * 100 >= outside.bytes * SAYS_ALL {
        return Ok(());
    }
    let roles = Roles::new(session.state(), dominators).with_structures(session.structures()?);
    let options = FrontOptions {
        most: thresholds.owners,
        ..FrontOptions::default()
    };
    let group = outside.largest(graph.len() as usize);
    let owners = owners_of(
        &graph,
        dominators,
        &roles,
        &group,
        options,
        session.progress(),
    )?;
    let (subject, retained, kept) = match owners {
        Some(owners) if !owners.owners.iter().any(|&owner| roles.is_frame(owner)) => (
            match owners.owners[..] {
                [owner] => Subject::Object(owner),
                _ => Subject::Owners(owners.owners.clone()),
            },
            owners.retained.bytes,
            Some(Kept {
                group: KeptGroup::Class(class),
                objects: group.count() as u64,
                covered: owners.covered,
            }),
        ),
        _ => {
            let class = Subject::Class(class);
            let retained = graph.totals(&closure(&class)).bytes;
            (class, retained, None)
        }
    };
    let own = outside.within(&closure(&subject));
    if !suspects.iter().any(|suspect| suspect.subject == subject) {
        suspects.push(Suspect {
            severity: severity(retained, own),
            outside: own,
            subject,
            retained,
            accumulation: None,
            kept,
        });
    }
    Ok(())
}
