//! Objects that fields of class objects hold: `Class.classValueMap`, `Class.reflectionData` and others.
//! No dump has these fields, so nothing in it seems to hold the objects. They are found by what only
//! such a field holds, and their class by what the objects refer to.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    BitSet, ClassId, ClassKind, FieldType, HeapState, ObjectId, Root, RootOrigin, Strength,
};

/// Steps from a value to the class that it was computed for.
const STEPS: usize = 3;
/// Objects that are looked at on the way.
const NEARBY: usize = 200;
/// References that one thread looks at together.
const SHARE: usize = 1 << 16;

const REFLECTION_DATA: &str = "java.lang.Class$ReflectionData";
const CLASS_VALUE_MAP: &str = "java.lang.ClassValue$ClassValueMap";
const CLASS_VALUE: &str = "java.lang.ClassValue$Entry";
const CONSTRUCTOR: &str = "java.lang.reflect.Constructor";
const METHOD: &str = "java.lang.reflect.Method";
const MEMBERS: [&str; 3] = ["java.lang.reflect.Field", METHOD, CONSTRUCTOR];

/// A field of `java.lang.Class` that dumps leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ClassField {
    /// The values that every `ClassValue` computed for the class.
    ClassValueMap,
    /// Fields, methods and constructors that were asked for.
    ReflectionData,
    /// Annotations of the class.
    AnnotationData,
    /// What the JVM knows of an annotation interface.
    AnnotationType,
    /// The generic signature.
    GenericInfo,
    /// The constants of an enum.
    EnumConstants,
    /// The constants of an enum by name.
    EnumConstantDirectory,
}

impl ClassField {
    /// Its name in `java.lang.Class`.
    pub fn name(self) -> &'static str {
        match self {
            ClassField::ClassValueMap => "classValueMap",
            ClassField::ReflectionData => "reflectionData",
            ClassField::AnnotationData => "annotationData",
            ClassField::AnnotationType => "annotationType",
            ClassField::GenericInfo => "genericInfo",
            ClassField::EnumConstants => "enumConstants",
            ClassField::EnumConstantDirectory => "enumConstantDirectory",
        }
    }

    /// The root that stands for the field of a class that cannot be told. The class of enum constants
    /// can always be told.
    fn root(self) -> Option<RootOrigin> {
        match self {
            ClassField::ClassValueMap => Some(RootOrigin::ClassValueMap),
            ClassField::ReflectionData => Some(RootOrigin::ReflectionData),
            ClassField::AnnotationData => Some(RootOrigin::AnnotationData),
            ClassField::AnnotationType => Some(RootOrigin::AnnotationType),
            ClassField::GenericInfo => Some(RootOrigin::GenericInfo),
            ClassField::EnumConstants | ClassField::EnumConstantDirectory => None,
        }
    }

    /// The field that all objects of a class are in.
    fn of_class(name: &str) -> Option<Self> {
        match name {
            CLASS_VALUE_MAP => Some(ClassField::ClassValueMap),
            "java.lang.Class$AnnotationData" => Some(ClassField::AnnotationData),
            "sun.reflect.annotation.AnnotationType" => Some(ClassField::AnnotationType),
            "sun.reflect.generics.repository.ClassRepository" => Some(ClassField::GenericInfo),
            _ => None,
        }
    }
}

/// An object in a field of a class object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldByClass {
    /// The class whose class object has the field.
    pub class: ClassId,
    /// The field.
    pub field: ClassField,
    /// What the field refers to.
    pub object: ObjectId,
}

/// What a class means here.
#[derive(Clone, Copy)]
enum Role {
    None,
    Held(ClassField),
    /// An array of enum constants.
    Constants(ClassId),
    HashMap,
    ReflectionData,
    Member {
        is_constructor: bool,
        /// Which of the class objects it refers to is the one that declares it.
        declaring: usize,
    },
    ClassValue,
    Factory,
}

impl HeapState {
    /// Finds what fields of class objects hold, for a state that comes from a file without these fields.
    pub fn find_class_fields(&mut self) {
        let finder = Finder::new(self);
        let held = finder.held();
        self.tables
            .roots
            .retain(|root| !root.origin.is_class_field());
        self.tables.held_by_classes.clear();
        for (field, object, class) in held {
            let class = class.filter(|&class| self.classes()[class as usize].mirror.is_some());
            match class {
                Some(class) => self.tables.held_by_classes.push(HeldByClass {
                    class,
                    field,
                    object,
                }),
                None => self.tables.roots.extend(field.root().map(|origin| Root {
                    object,
                    origin,
                    thread: None,
                    frame: None,
                })),
            }
        }
    }
}

struct Finder<'a> {
    state: &'a HeapState,
    /// By class.
    roles: Vec<Role>,
    is_enum: Vec<bool>,
}

type Held = (ClassField, ObjectId, Option<ClassId>);

impl<'a> Finder<'a> {
    fn new(state: &'a HeapState) -> Self {
        let classes = state.classes();
        let is_enum: Vec<bool> = (0..classes.len() as ClassId)
            .map(|class| {
                classes[class as usize].super_class.is_some()
                    && state.extends(class, "java.lang.Enum")
            })
            .collect();
        let constants = |name: &str| {
            let element = name.strip_suffix("[]")?;
            // Enums of one name in several loaders cannot be told apart.
            let mut named = (0..)
                .zip(classes)
                .filter(|(_, class)| class.name == element);
            let (class, _) = named.next().filter(|_| named.next().is_none())?;
            is_enum[class as usize].then_some(class)
        };
        let enum_arrays = is_enum.contains(&true);
        let role = |class: &crate::Class| {
            let name = class.name.as_str();
            if let Some(field) = ClassField::of_class(name) {
                return Role::Held(field);
            }
            match name {
                "java.util.HashMap" => Role::HashMap,
                REFLECTION_DATA => Role::ReflectionData,
                CLASS_VALUE => Role::ClassValue,
                "sun.reflect.generics.factory.CoreReflectionFactory" => Role::Factory,
                _ if MEMBERS.contains(&name) => Role::Member {
                    is_constructor: name == CONSTRUCTOR,
                    declaring: declaring_class(class),
                },
                _ if enum_arrays && class.kind == ClassKind::Array(FieldType::Object) => {
                    constants(name).map_or(Role::None, Role::Constants)
                }
                _ => Role::None,
            }
        };
        Finder {
            state,
            roles: classes.iter().map(role).collect(),
            is_enum,
        }
    }

    fn role(&self, object: ObjectId) -> Role {
        self.roles[self.state.class_id(object) as usize]
    }

    /// All that is in such a field, with the class if it can be told.
    fn held(&self) -> Vec<Held> {
        let classes: &[u32] = &self.state.columns.classes;
        let is_candidate: Vec<bool> = self
            .roles
            .iter()
            .map(|role| matches!(role, Role::Held(_) | Role::Constants(_) | Role::HashMap))
            .collect();
        let mut held: Vec<Held> = Vec::new();
        let mut of_enums: Vec<ObjectId> = Vec::new();
        for (&class, object) in classes.iter().zip(0..) {
            if !is_candidate[class as usize] {
                continue;
            }
            match self.roles[class as usize] {
                Role::Held(field) => held.push((field, object, self.class_of(field, object))),
                _ if self.constants_in(object).is_some() => of_enums.push(object),
                _ => {}
            }
        }
        held.extend(self.reflection_data());
        let mut enums: Vec<Held> = self
            .unreferenced(&of_enums)
            .filter_map(|object| {
                let (field, class) = self.constants_in(object)?;
                Some((field, object, Some(class)))
            })
            .collect();
        // Which of several copies of its constants a class holds, and which are garbage, cannot be told.
        forget_shared(&mut enums, |_| true);
        held.extend(enums);
        // Maps that seem to belong to the same class do not tell whose they are.
        forget_shared(&mut held, |field| field == ClassField::ClassValueMap);
        held.sort_unstable_by_key(|&(field, object, _)| (object, field));
        held
    }

    fn class_of(&self, field: ClassField, object: ObjectId) -> Option<ClassId> {
        match field {
            ClassField::ClassValueMap => self.class_of_values(object),
            ClassField::AnnotationType => {
                let methods = |object: ObjectId| self.member(object).map(|(class, _)| class);
                self.nearest(object, STEPS + 1, methods)
            }
            ClassField::GenericInfo => {
                let mut parts = self.state.references(object).iter();
                let factory = parts.find(|&&part| matches!(self.role(part), Role::Factory))?;
                let mut declarations = self.state.references(*factory).iter();
                declarations.find_map(|&object| self.state.mirrored(object))
            }
            _ => None,
        }
    }

    /// The class that most values of a map lead to first. A value is computed for a class and usually knows it,
    /// strongly or weakly.
    fn class_of_values(&self, map: ObjectId) -> Option<ClassId> {
        let mut votes: Vec<(ClassId, usize)> = Vec::new();
        for entry in self.class_values(map) {
            let class = |object: ObjectId| self.state.mirrored(object);
            let Some(class) = self.nearest(entry, STEPS, class) else {
                continue;
            };
            match votes.iter_mut().find(|vote| vote.0 == class) {
                Some((_, votes)) => *votes += 1,
                None => votes.push((class, 1)),
            }
        }
        votes.sort_by_key(|&(_, votes)| std::cmp::Reverse(votes));
        match votes[..] {
            [(class, _)] => Some(class),
            [(class, most), (_, second), ..] if most > second => Some(class),
            _ => None,
        }
    }

    /// The entries with the values of a map: those of its table, whose weak keys may be gone.
    fn class_values(&self, map: ObjectId) -> Vec<ObjectId> {
        let mut seen = vec![map];
        let mut entries = Vec::new();
        let mut next = 0;
        while let Some(&object) = seen.get(next) {
            next += 1;
            for &part in self.state.references(object) {
                if seen.contains(&part) || entries.contains(&part) {
                    continue;
                }
                let is_weak = || {
                    let name = self.state.class(part).name.as_str();
                    name.starts_with("java.util.WeakHashMap$Entry")
                };
                match self.role(part) {
                    Role::ClassValue => entries.push(part),
                    _ if seen.len() < NEARBY && is_weak() => seen.push(part),
                    _ => {}
                }
            }
        }
        entries
    }

    /// The class that the nearest objects for which there is one agree on.
    fn nearest(
        &self,
        start: ObjectId,
        steps: usize,
        class: impl Fn(ObjectId) -> Option<ClassId>,
    ) -> Option<ClassId> {
        let mut seen = vec![start];
        let mut from = 0;
        for _ in 0..steps {
            let (to, mut found) = (seen.len(), None);
            for index in from..to {
                let object = seen[index];
                // The version of a class value is weakly held and belongs to the class value.
                let referent = match self.role(object) {
                    Role::ClassValue => None,
                    _ => self.state.referent(object).map(|(referent, _)| referent),
                };
                let references = self.state.references(object).iter().copied();
                for next in references.chain(referent) {
                    if let Some(class) = class(next) {
                        if found.is_some_and(|found| found != class) {
                            return None;
                        }
                        found = Some(class);
                    } else if seen.len() < NEARBY && !seen.contains(&next) {
                        seen.push(next);
                    }
                }
            }
            if found.is_some() {
                return found;
            }
            from = to;
        }
        None
    }

    /// The soft references to what was asked for by reflection. A class that was asked again after the
    /// JVM cleared its reference has another one.
    fn reflection_data(&self) -> impl Iterator<Item = Held> + '_ {
        let columns = &self.state.columns;
        let pairs = columns
            .referrers_by_referent
            .iter()
            .zip(columns.referents.iter());
        pairs.filter_map(|(&reference, &data)| {
            let is_soft = self.state.class(reference).reference == Some(Strength::Soft);
            let is_data = matches!(self.role(data), Role::ReflectionData);
            (is_soft && is_data).then(|| {
                let class = self.class_of_members(data);
                (ClassField::ReflectionData, reference, class)
            })
        })
    }

    /// Fields, methods and constructors of a class; public ones of its superclasses may be among them.
    fn class_of_members(&self, data: ObjectId) -> Option<ClassId> {
        let state = self.state;
        let arrays = state.references(data).iter();
        let members = arrays.flat_map(|&array| state.references(array));
        let mut below: Option<ClassId> = None;
        for (class, is_constructor) in members.filter_map(|&member| self.member(member)) {
            if is_constructor {
                return Some(class);
            }
            below = Some(match below {
                Some(known) if state.superclasses(known).any(|above| above == class) => known,
                Some(known) if state.superclasses(class).any(|above| above == known) => class,
                // An interface beside a class.
                Some(known) if self.is_interface(class) && !self.is_interface(known) => known,
                Some(known) if self.is_interface(known) && !self.is_interface(class) => class,
                Some(_) => return None,
                None => class,
            });
        }
        below
    }

    fn is_interface(&self, class: ClassId) -> bool {
        let class = &self.state.classes()[class as usize];
        class.super_class.is_none() && class.name != "java.lang.Object"
    }

    /// The class that a field, method or constructor is declared in, and whether it is a constructor.
    fn member(&self, object: ObjectId) -> Option<(ClassId, bool)> {
        let Role::Member {
            is_constructor,
            declaring,
        } = self.role(object)
        else {
            return None;
        };
        let references = self.state.references(object).iter();
        let mut classes =
            references.filter(|&&object| self.state.class(object).kind == ClassKind::Mirror);
        Some((
            self.state.mirrored(*classes.nth(declaring)?)?,
            is_constructor,
        ))
    }

    /// The enum of whose constants an array or a map is made, if it is of nothing else.
    fn constants_in(&self, object: ObjectId) -> Option<(ClassField, ClassId)> {
        let state = self.state;
        if let Role::Constants(class) = self.role(object) {
            let elements = state.references(object);
            let is_whole = !elements.is_empty() && elements.len() == self.constants_of(class);
            let mut sorted = elements.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            return (is_whole && sorted.len() == elements.len())
                .then_some((ClassField::EnumConstants, class));
        }
        // A map of constants by their names, as they have them.
        let table = *state.references(object).first()?;
        let mut nodes: Vec<ObjectId> = state.references(table).to_vec();
        let (mut of, mut entries, mut next) = (None, 0, 0);
        while let Some(&node) = nodes.get(next) {
            next += 1;
            let constant = state.references(node).iter().copied().find(|&value| {
                self.is_enum[state.class_id(value) as usize]
                    && state
                        .references(value)
                        .iter()
                        .any(|part| state.references(node).contains(part))
            })?;
            let class = self.enum_of(constant)?;
            if *of.get_or_insert(class) != class || next > NEARBY * NEARBY {
                return None;
            }
            entries += 1;
            let chained = state.references(node).iter();
            nodes.extend(chained.filter(|&&next| state.class_id(next) == state.class_id(node)));
        }
        let class = of.filter(|&class| entries == self.constants_of(class))?;
        Some((ClassField::EnumConstantDirectory, class))
    }

    /// The enum that a constant is of; constants with a body have classes of their own.
    fn enum_of(&self, constant: ObjectId) -> Option<ClassId> {
        let mut classes = self.state.superclasses(self.state.class_id(constant));
        classes.find(|&class| {
            let above = self.state.classes()[class as usize].super_class;
            above.is_some_and(|above| self.state.classes()[above as usize].name == "java.lang.Enum")
        })
    }

    /// How many constants an enum has: its class object refers to each in a static field.
    fn constants_of(&self, class: ClassId) -> usize {
        let state = self.state;
        let mirror = state.classes()[class as usize].mirror;
        let fields = mirror.map_or(&[][..], |mirror| state.references(mirror));
        let mut constants: Vec<ObjectId> = fields
            .iter()
            .copied()
            .filter(|&value| self.is_enum[state.class_id(value) as usize])
            .filter(|&value| self.enum_of(value) == Some(class))
            .collect();
        constants.sort_unstable();
        constants.dedup();
        constants.len()
    }

    /// Those of some objects to which nothing refers.
    fn unreferenced(&self, objects: &[ObjectId]) -> impl Iterator<Item = ObjectId> {
        let mut wanted = BitSet::new(self.state.len() as usize);
        objects.iter().for_each(|&object| wanted.insert(object));
        let columns = &self.state.columns;
        let targets = [&columns.references, &columns.referents];
        for targets in targets.into_iter().filter(|_| !objects.is_empty()) {
            let referenced: Vec<ObjectId> = targets
                .par_chunks(SHARE)
                .flat_map_iter(|targets| targets.iter().filter(|&&to| wanted.contains(to)))
                .copied()
                .collect();
            referenced.iter().for_each(|&object| wanted.remove(object));
        }
        objects
            .iter()
            .copied()
            .filter(move |&object| wanted.contains(object))
    }
}

/// A class has one object in a field: where several seem to belong to the same field of the same class, the class
/// of none is known.
fn forget_shared(held: &mut [Held], of: impl Fn(ClassField) -> bool) {
    let mut claims: Vec<(ClassField, ClassId)> = held
        .iter()
        .filter_map(|&(field, _, class)| Some((field, class?)))
        .collect();
    claims.sort_unstable();
    for (field, _, class) in held.iter_mut().filter(|held| of(held.0)) {
        let is_shared = |class: &ClassId| {
            let first = claims.partition_point(|claim| *claim < (*field, *class));
            claims.get(first + 1) == Some(&(*field, *class))
        };
        *class = class.filter(|class| !is_shared(class));
    }
}

/// Where a member has the class that declares it among the class objects it refers to; its type is the only
/// other one of its own fields. JVMs list fields in either order.
fn declaring_class(member: &crate::Class) -> usize {
    let mut fields = member.fields.iter().map(|field| field.name.as_str());
    let first = fields.find(|field| ["clazz", "type", "returnType"].contains(field));
    usize::from(first != Some("clazz"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, HeapBuilder};

    /// A heap with class objects of these classes, named like them.
    fn heap_of(classes: &[&str]) -> HeapBuilder {
        let mut heap = HeapBuilder::new();
        for class in classes {
            heap.class(class, 16);
            heap.class_object(class, class);
        }
        heap
    }

    /// A map whose values refer to these objects.
    fn map(heap: &mut HeapBuilder, name: &str, values: &[&str]) {
        heap.object(name, CLASS_VALUE_MAP, 48);
        heap.array(&format!("{name}-table"), "java.util.WeakHashMap$Entry[]", 8);
        heap.edges(&format!("{name} -> {name}-table"));
        for (number, value) in values.iter().enumerate() {
            let [weak, entry, object] =
                ["weak", "entry", "value"].map(|part| format!("{name}-{part}{number}"));
            heap.object(&weak, "java.util.WeakHashMap$Entry", 40);
            heap.object(&entry, CLASS_VALUE, 40);
            heap.object(&object, "Value", 16);
            heap.edges(&format!(
                "{name}-table -> {weak}, {weak} -> {entry}, {entry} -> {object}"
            ));
            heap.edges(&format!("{object} -> {value}"));
        }
    }

    /// What was found in fields of classes, as `class.field object`, and what only the JVM holds.
    fn found(
        heap: &HeapBuilder,
        describe: impl Fn(&mut HeapState),
    ) -> (Vec<String>, Vec<ObjectId>) {
        let mut state = heap.build();
        describe(&mut state);
        state.find_class_fields();
        let held = state.tables.held_by_classes.iter().map(|held| {
            let class = &state.classes()[held.class as usize].name;
            format!("{class}.{} {}", held.field.name(), held.object)
        });
        let roots = state.tables.roots.iter();
        let roots = roots.filter(|root| root.origin.is_class_field());
        (held.collect(), roots.map(|root| root.object).collect())
    }

    #[test]
    fn a_map_belongs_to_the_class_that_most_of_its_values_know() {
        let mut heap = heap_of(&["A", "B", "C"]);
        heap.object("weakly", "Wrapper", 16);
        heap.edges("weakly -> A");
        map(&mut heap, "of-a", &["A", "weakly", "B"]);
        map(&mut heap, "undecided", &["B", "C"]);
        let (held, roots) = found(&heap, |_| ());
        assert_eq!(held, [format!("A.classValueMap {}", heap.id("of-a"))]);
        assert_eq!(roots, [heap.id("undecided")]);
    }

    #[test]
    fn some_values_of_a_large_map_are_enough() {
        let mut heap = heap_of(&["A"]);
        map(&mut heap, "large", &["A"; 3 * NEARBY]);
        let (held, _) = found(&heap, |_| ());
        assert_eq!(held, [format!("A.classValueMap {}", heap.id("large"))]);
    }

    #[test]
    fn maps_that_seem_to_belong_to_one_class_belong_to_none() {
        let mut heap = heap_of(&["A"]);
        map(&mut heap, "first", &["A"]);
        map(&mut heap, "second", &["A"]);
        let (held, roots) = found(&heap, |_| ());
        assert!(held.is_empty(), "{held:?}");
        assert_eq!(roots, [heap.id("first"), heap.id("second")]);
    }

    /// Fields, methods and constructors name their class beside their type, in either order.
    #[test]
    fn reflection_data_belongs_to_the_class_that_declares_the_members() {
        for clazz_first in [true, false] {
            let mut heap = heap_of(&["Base", "Derived", "Result"]);
            heap.object("data", REFLECTION_DATA, 56);
            heap.reference("soft", Strength::Soft, "data");
            heap.array("methods", "java.lang.reflect.Method[]", 2);
            heap.objects("inherited own", METHOD, 88);
            heap.edges("data -> methods, methods -> inherited own");
            match clazz_first {
                true => heap.edges("inherited -> Base Result, own -> Derived Result"),
                false => heap.edges("inherited -> Result Base, own -> Result Derived"),
            }
            let (held, roots) = found(&heap, |state| {
                let class = |name: &str| {
                    let mut names = state.classes().iter().map(|class| class.name.as_str());
                    names.position(|of| of == name).unwrap()
                };
                let (base, derived, method) = (class("Base"), class("Derived"), class(METHOD));
                let classes = &mut state.tables.classes;
                classes[derived].super_class = Some(base as ClassId);
                let mut names = ["clazz", "returnType"];
                if !clazz_first {
                    names.reverse();
                }
                classes[method].fields = names
                    .map(|name| Field {
                        name: name.to_owned(),
                        ty: FieldType::Object,
                    })
                    .to_vec();
            });
            assert_eq!(
                held,
                [format!("Derived.reflectionData {}", heap.id("soft"))]
            );
            assert!(roots.is_empty(), "{roots:?}");
        }
    }

    #[test]
    fn annotations_do_not_tell_their_class() {
        let mut heap = heap_of(&["Annotation"]);
        heap.object("data", "java.lang.Class$AnnotationData", 24);
        heap.edges("data -> Annotation");
        let (held, roots) = found(&heap, |_| ());
        assert!(held.is_empty(), "{held:?}");
        assert_eq!(roots, [heap.id("data")]);
    }

    #[test]
    fn all_constants_of_an_enum_that_nothing_refers_to_are_its_own() {
        let mut heap = heap_of(&["java.lang.Enum", "Color"]);
        heap.objects("red green", "Color", 24);
        heap.edges("Color -> red green");
        heap.array("constants", "Color[]", 2);
        heap.array("some", "Color[]", 2);
        heap.array("used", "Color[]", 2);
        heap.object("user", "User", 16);
        heap.edges("constants -> red green, some -> red, used -> red green, user -> used");
        let (held, roots) = found(&heap, |state| {
            let mut classes = state.tables.classes.iter_mut();
            let color = classes.find(|class| class.name == "Color").unwrap();
            color.super_class = Some(0);
        });
        assert_eq!(
            held,
            [format!("Color.enumConstants {}", heap.id("constants"))]
        );
        assert!(roots.is_empty(), "{roots:?}");
    }
}
