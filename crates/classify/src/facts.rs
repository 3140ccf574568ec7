//! What expressions ask about many objects, computed at most once for a context.

use std::sync::OnceLock;

use anthill_heap::{ClassId, ObjectId, ObjectLists, Value};
use anthill_hprof::FieldPlace;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::builtin::Context;

/// The kind of root that a static field is.
pub(crate) const STATIC_FIELD: &str = "static field";

#[derive(Default)]
pub(crate) struct Facts {
    in_degrees: OnceLock<Vec<u32>>,
    referrers: OnceLock<ObjectLists>,
    root_kinds: OnceLock<FxHashMap<ObjectId, Vec<&'static str>>>,
    /// By class: where its objects have the name of an enum constant.
    enum_names: OnceLock<Vec<Option<FieldPlace>>>,
    /// Names that several classes have.
    ambiguous: OnceLock<FxHashSet<String>>,
}

impl Context<'_> {
    /// Whether several classes have that name.
    pub(crate) fn is_ambiguous(&self, name: &str) -> bool {
        let ambiguous = self.facts.ambiguous.get_or_init(|| {
            let mut seen = FxHashSet::default();
            let classes = self.graph.state.classes().iter();
            let again = classes.filter(|class| !seen.insert(class.name.as_str()));
            again.map(|class| class.name.clone()).collect()
        });
        ambiguous.contains(name)
    }

    /// How many references of any strength an object holds.
    pub(crate) fn out_degree(&self, object: ObjectId) -> usize {
        let state = self.graph.state;
        state.references(object).len() + usize::from(state.referent(object).is_some())
    }

    /// By object: how many references of any strength lead to it.
    pub(crate) fn in_degrees(&self) -> &[u32] {
        self.facts.in_degrees.get_or_init(|| {
            let columns = &self.graph.state.columns;
            let mut degrees = vec![0u32; self.graph.state.len() as usize];
            for &to in columns.references.iter().chain(columns.referents.iter()) {
                degrees[to as usize] = degrees[to as usize].saturating_add(1);
            }
            degrees
        })
    }

    /// The reachable objects that refer to each object, as often as they do.
    pub(crate) fn all_referrers(&self) -> &ObjectLists {
        self.facts.referrers.get_or_init(|| {
            let state = self.graph.state;
            let edges = || {
                (0..state.len())
                    .filter(|&from| self.dominators.is_reachable(from))
                    .flat_map(|from| self.graph.referenced(from).map(move |to| (to, from)))
                    .filter(|&(to, _)| to < state.len())
            };
            ObjectLists::new(state.len() as usize, edges)
        })
    }

    pub(crate) fn referrers(&self, object: ObjectId) -> &[ObjectId] {
        self.all_referrers().of(object)
    }

    /// The kinds of GC roots that refer to an object, each once; static fields are among them.
    pub(crate) fn root_kinds(&self, object: ObjectId) -> &[&'static str] {
        let kinds = self.facts.root_kinds.get_or_init(|| self.all_root_kinds());
        kinds.get(&object).map_or(&[], Vec::as_slice)
    }

    fn all_root_kinds(&self) -> FxHashMap<ObjectId, Vec<&'static str>> {
        let state = self.graph.state;
        let mut kinds: FxHashMap<ObjectId, Vec<&'static str>> = FxHashMap::default();
        let statics = state.classes().iter().flat_map(|class| &class.statics);
        let held = statics.filter_map(|field| match field.value {
            Value::Object(address) => state.addresses.find(address),
            _ => None,
        });
        let rooted = state.tables.roots.iter();
        let all = held
            .map(|object| (object, STATIC_FIELD))
            .chain(rooted.map(|root| (root.object, root.origin.label())));
        for (object, kind) in all {
            let known = kinds.entry(object).or_default();
            if !known.contains(&kind) {
                known.push(kind);
            }
        }
        kinds
    }

    /// Where objects of this class have their names, if they are enum constants.
    pub(crate) fn enum_name(&self, class: ClassId) -> Option<FieldPlace> {
        let names = self.facts.enum_names.get_or_init(|| {
            let state = self.graph.state;
            let place = |class: ClassId| {
                let mut fields = self.records.field_places(state, class);
                fields.find_map(|(declaring, field, place)| {
                    let class = &state.classes()[declaring as usize].name;
                    (class == "java.lang.Enum" && field.name == "name").then_some(place)
                })
            };
            (0..state.classes().len() as ClassId).map(place).collect()
        });
        names[class as usize]
    }
}
