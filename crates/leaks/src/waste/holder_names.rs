//! Names for the places where wasted objects are held.

use anthill_graph::Graph;
use anthill_session::Session;

use super::{Holder, HolderPlace};

/// Where wasted objects are held: `static field Registry.all`, `com.example.Session.name`. The
/// fields are those by which some of the holders hold them.
pub fn holder_name(session: &Session, graph: &Graph, holder: &Holder) -> String {
    let state = session.state();
    let class = |class: u32| state.classes()[class as usize].name.as_str();
    let mirrored = |object| state.mirrored(object).map_or("", class);
    match holder.place {
        HolderPlace::Static(object, held) => {
            let field = session.records().reference_name(state, object, held);
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
                    let field = session.reference_name(graph, from, to)?;
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
