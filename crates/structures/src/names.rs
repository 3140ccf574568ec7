//! The classes of a heap by name: which a definition is for, and which a pointed type stands for.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, HeapState};
use anthill_syntax::Pattern;
use rustc_hash::FxHashMap;

use crate::definitions::Definitions;
use crate::language::Target;

/// The classes of a heap by name.
pub(crate) struct Names<'a> {
    state: &'a HeapState,
    by_name: FxHashMap<&'a str, Vec<ClassId>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(state: &'a HeapState) -> Self {
        let mut by_name: FxHashMap<&str, Vec<ClassId>> = FxHashMap::default();
        for (class, number) in state.classes().iter().zip(0..) {
            by_name.entry(&class.name).or_default().push(number);
        }
        Names { state, by_name }
    }

    pub(crate) fn of(&self, name: &str) -> &[ClassId] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// By class: the definition of the class itself or of the nearest superclass that has one.
    pub(crate) fn definitions(&self, definitions: &Definitions) -> Vec<Option<usize>> {
        let mut wild: Vec<(usize, Pattern)> = definitions
            .all()
            .iter()
            .enumerate()
            .filter(|(_, placed)| placed.definition.name.contains(['*', '?']))
            .map(|(number, placed)| (number, Pattern::new(&placed.definition.name)))
            .collect();
        // The longest says most.
        wild.sort_by_key(|(number, _)| {
            std::cmp::Reverse(definitions.all()[*number].definition.name.len())
        });
        let own = |class: &anthill_heap::Class| {
            let exact = definitions.find(&class.name);
            exact.or_else(|| {
                let fitting = wild
                    .iter()
                    .find(|(_, pattern)| pattern.matches(&class.name));
                fitting.map(|(number, _)| *number)
            })
        };
        let own: Vec<Option<usize>> = self.state.classes().iter().map(own).collect();
        let classes = 0..own.len() as ClassId;
        classes
            .map(|class| {
                let mut above = self.state.superclasses(class);
                above.find_map(|class| own[class as usize])
            })
            .collect()
    }

    pub(crate) fn arrays(&self) -> BitSet {
        let mut arrays = BitSet::new(self.state.classes().len());
        for (class, number) in self.state.classes().iter().zip(0..) {
            if matches!(class.kind, ClassKind::Array(_)) {
                arrays.insert(number);
            }
        }
        arrays
    }

    pub(crate) fn meant(&self, target: &Target) -> BitSet {
        match target.only {
            true => self.named(&target.name),
            false => self.matching(&target.name),
        }
    }

    /// The classes of that name.
    fn named(&self, name: &str) -> BitSet {
        let classes = self.state.classes();
        let mut named = BitSet::new(classes.len());
        if name.contains(['*', '?']) {
            let pattern = Pattern::new(name);
            for (class, number) in classes.iter().zip(0..) {
                if pattern.matches(&class.name) {
                    named.insert(number);
                }
            }
        } else {
            self.of(name).iter().for_each(|&class| named.insert(class));
        }
        named
    }

    /// The classes that a pointed type stands for: those of that name, their subclasses, and arrays of
    /// such.
    pub(crate) fn matching(&self, name: &str) -> BitSet {
        let classes = self.state.classes();
        let own = self.named(name);
        let mut all = BitSet::new(classes.len());
        for class in 0..classes.len() as ClassId {
            if self
                .state
                .superclasses(class)
                .any(|above| own.contains(above))
            {
                all.insert(class);
            }
        }
        if let Some(element) = name.strip_suffix("[]") {
            self.add_arrays(element, &mut all);
        }
        all
    }

    /// Adds the arrays whose elements a type stands for: in Java they are subtypes too.
    fn add_arrays(&self, element: &str, all: &mut BitSet) {
        let elements = self.matching(element);
        for (class, number) in self.state.classes().iter().zip(0..) {
            let ClassKind::Array(FieldType::Object) = class.kind else {
                continue;
            };
            let of = class.name.strip_suffix("[]").unwrap_or_default();
            let fits = element == "java.lang.Object"
                || self.of(of).iter().any(|&class| elements.contains(class));
            if fits {
                all.insert(number);
            }
        }
    }
}
