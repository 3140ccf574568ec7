//! What a person's own definitions say that does not fit the heap. A definition may be for another version
//! of a library, so nothing of it is a mistake for sure.

use anthill_heap::{ClassId, FieldType};
use anthill_syntax::{Mistake, Pattern, closest};

use crate::definitions::Placed;
use crate::element_counts::Counts;
use crate::language::{Definition, FieldName, Kind};
use crate::model::{Model, is_primitive_array};

/// Something in a file of definitions that the heap does not have, or that says too little.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The name of the file.
    pub origin: String,
    /// All that the file says.
    pub text: String,
    /// What does not fit, and where.
    pub mistake: Mistake,
}

impl Model<'_> {
    /// Types and fields in files of definitions that the heap does not have, with the nearest that there
    /// are, and definitions that do not tell how many elements there are; by file, in the order of the text.
    pub fn warnings(&self) -> Vec<Warning> {
        let own = (0..).zip(self.definitions.all());
        let own = own.filter(|(_, placed)| !placed.origin.shipped);
        let mut warnings = Vec::new();
        for (number, placed) in own {
            let mut found = self.unknown_types(placed);
            found.extend(self.unknown_fields(number, placed));
            found.extend(self.untold_elements(number, placed));
            found.sort_by_key(|mistake| (mistake.line, mistake.column));
            warnings.extend(found.into_iter().map(|mistake| Warning {
                origin: placed.origin.name.to_string(),
                text: placed.origin.text.to_string(),
                mistake,
            }));
        }
        warnings
    }

    fn unknown_types(&self, placed: &Placed) -> Vec<Mistake> {
        let definition = &placed.definition;
        let targets = definition
            .items
            .iter()
            .flat_map(|item| item.content.iter().chain([&item.target]))
            .map(|target| (&target.name, target.place));
        let names = [(&definition.name, definition.place)]
            .into_iter()
            .chain(targets);
        let unknown = names.filter(|(name, _)| {
            let is_known = !self.names.of(name).is_empty() || is_primitive_array(name);
            !name.contains(['*', '?']) && !is_known
        });
        unknown
            .map(|(name, place)| {
                let message = format!("the heap has no class `{name}`");
                let known = self.state.classes().iter().map(|class| class.name.as_str());
                Mistake::at(&placed.origin.text, place, message)
                    .suggesting(Pattern::new(name).nearest(known))
            })
            .collect()
    }

    /// Fields that none of the classes has that a definition is for.
    fn unknown_fields(&self, number: usize, placed: &Placed) -> Vec<Mistake> {
        let definition = &placed.definition;
        let classes = (0..self.of_class.len() as ClassId)
            .filter(|&class| self.of_class[class as usize] == Some(number));
        let fields: Vec<(&str, FieldType)> = classes
            .flat_map(|class| self.state.superclasses(class))
            .flat_map(|class| &self.state.classes()[class as usize].fields)
            .map(|field| (field.name.as_str(), field.ty))
            .collect();
        // No class at all, or a source that does not describe fields.
        if fields.is_empty() {
            return Vec::new();
        }
        let mut mistakes = Vec::new();
        let references: Vec<&str> = fields
            .iter()
            .filter(|(_, ty)| *ty == FieldType::Object)
            .map(|(name, _)| *name)
            .collect();
        let followed = definition.items.iter().flat_map(|item| &item.fields);
        for field in followed.filter(|field| !references.contains(&field.name.as_str())) {
            let is_number = fields.iter().any(|(name, _)| *name == field.name);
            mistakes.push(unknown_field(placed, field, is_number, &references));
        }
        let all: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        let size = definition
            .size
            .iter()
            .filter_map(|size| size.field.as_ref());
        let read = size
            .chain(definition.capacity.iter().map(|capacity| &capacity.field))
            .chain(&definition.start);
        for field in read.filter(|field| !all.contains(&field.name.as_str())) {
            mistakes.push(unknown_field(placed, field, false, &all));
        }
        mistakes
    }

    /// A structure of which nobody can tell how many elements it has is hardly what was meant.
    fn untold_elements(&self, number: usize, placed: &Placed) -> Option<Mistake> {
        let Definition {
            kind, name, place, ..
        } = &placed.definition;
        let untold = *kind == Kind::Head && self.counts(number) == Counts::Nothing;
        untold.then(|| {
            let message = format!(
                "`{name}` leads only to internals, so its elements cannot be counted; mark \
                leaves with (TYPE), or internals that are elements with `entry`"
            );
            Mistake::at(&placed.origin.text, *place, message)
        })
    }
}

fn unknown_field(placed: &Placed, field: &FieldName, is_number: bool, known: &[&str]) -> Mistake {
    let (of, name) = (&placed.definition.name, &field.name);
    let message = match is_number {
        true => format!("the field `{name}` of `{of}` does not refer to objects"),
        false => format!("`{of}` has no field `{name}`"),
    };
    Mistake::at(&placed.origin.text, field.place, message)
        .suggesting(closest(name, known.iter().copied()))
}
