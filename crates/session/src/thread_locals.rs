//! What thread-local variables are called: they have no name of their own, but a field that holds them.

use anthill_heap::{BitSet, ObjectId};
use rustc_hash::FxHashMap;

use crate::Session;

const THREAD_LOCAL: &str = "java.lang.ThreadLocal";

impl Session {
    /// The field that holds a `java.lang.ThreadLocal`, with its class: a static one if there is any. Nothing for
    /// other objects.
    pub(crate) fn thread_local_field(&self, object: ObjectId) -> Option<&str> {
        let state = self.state();
        if !state.extends(state.class_id(object), THREAD_LOCAL) {
            return None;
        }
        let fields = &self.open.thread_local_fields;
        let fields = fields.get_or_init(|| self.thread_local_fields());
        fields.get(&object).map(String::as_str)
    }

    fn thread_local_fields(&self) -> FxHashMap<ObjectId, String> {
        let state = self.state();
        let classes = 0..state.classes().len() as u32;
        let is_one: Vec<bool> = classes
            .map(|class| state.extends(class, THREAD_LOCAL))
            .collect();
        let mut variables = BitSet::new(state.len() as usize);
        let objects = 0..state.len();
        objects
            .clone()
            .filter(|&object| is_one[state.class_id(object) as usize])
            .for_each(|object| variables.insert(object));
        // By variable: who holds it.
        let mut holders: FxHashMap<ObjectId, ObjectId> = FxHashMap::default();
        for from in objects.filter(|&from| state.array_length(from).is_none()) {
            let references = state.references(from).iter();
            for &to in references.filter(|&&to| variables.contains(to)) {
                let holder = holders.entry(to).or_insert(from);
                if state.mirrored(*holder).is_none() && state.mirrored(from).is_some() {
                    *holder = from;
                }
            }
        }
        let named = holders.into_iter().filter_map(|(variable, from)| {
            let name = self.records().reference_name(state, from, variable)?;
            let class = state.mirrored(from).unwrap_or_else(|| state.class_id(from));
            let field = name.strip_prefix("static ").unwrap_or(&name);
            let class = &state.classes()[class as usize].name;
            Some((variable, format!("{class}.{field}")))
        });
        named.collect()
    }
}
