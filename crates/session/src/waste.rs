//! The waste in a session's heap, with names for those who hold it.

use anthill_graph::Graph;
use anthill_leaks::{Finding, Holder, HolderPlace, WasteInput, waste};

use crate::labels::edge_kind;
use crate::{Error, Session};

impl Session {
    /// All kinds of waste, those with most to save first, each with at most so many rows and holders.
    pub fn waste(&self, most: usize) -> Result<Vec<Finding>, Error> {
        self.records().open()?;
        let analysis = self.analysis()?;
        let input = WasteInput {
            graph: &self.graph(),
            dominators: &analysis.dominators,
            records: self.records(),
            structures: self.structures()?,
            model: &self.structure_model(),
            progress: self.progress(),
            most,
        };
        Ok(waste(&input)?)
    }

    /// Where wasted objects are held: `static field Registry.all`, `com.example.Session.name`. The
    /// fields are those by which some of the holders hold them.
    pub fn holder_name(&self, graph: &Graph, holder: &Holder) -> String {
        let state = self.state();
        let class = |class: u32| state.classes()[class as usize].name.as_str();
        let mirrored = |object| state.mirrored(object).map_or("", class);
        match holder.place {
            HolderPlace::Static(object, held) => {
                let field = self.records().reference_name(state, object, held);
                let field = field.unwrap_or_default();
                let field = field.strip_prefix("static ").unwrap_or(&field);
                format!("static field {}.{field}", mirrored(object))
            }
            HolderPlace::Class(object) => format!("static fields of {}", mirrored(object)),
            HolderPlace::Objects(of, through) => {
                let mut fields: Vec<String> = holder
                    .samples
                    .iter()
                    .filter_map(|&(from, to)| {
                        let field = self.edge_name(from, to, edge_kind(graph, from, to)?);
                        Some(format!("{}.{field}", class(of)))
                    })
                    .collect();
                fields.sort_unstable();
                fields.dedup();
                match fields.is_empty() {
                    true => format!("{} through several {}", class(of), class(through)),
                    false => fields.join(", "),
                }
            }
            HolderPlace::Nobody(Some(top)) => {
                format!("{}, held by a GC root or several objects", class(top))
            }
            HolderPlace::Nobody(None) => "a GC root or several objects".to_owned(),
        }
    }
}
