//! Definitions linked to the classes of a heap: what each reference of a part means, decided once for
//! each pair of classes.

use anthill_heap::{BitSet, ClassId, ClassKind, FieldType, HeapState, ObjectId};
use anthill_hprof::{FieldPlace, Records};
use rustc_hash::FxHashMap;

use crate::definitions::Definitions;
use crate::element_counts::Counts;
use crate::language::{Capacity, Item, Kind, Measure, Role, Target};
use crate::names::Names;
use crate::slot_policy::SlotPolicy;

/// What a reference means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It leads out of the structure.
    Ignore,
    /// The field it comes from decides.
    Ambiguous,
    /// A leaf, with what it adds to twice the number of elements.
    Leaf(u8),
    /// A part; if it is an array, the content with this number says what is in it.
    Follow(u16),
}

/// What is in an array.
pub(crate) struct ArrayContents {
    /// By class of an element.
    pub effects: Vec<Effect>,
    /// What a slot adds to twice the capacity.
    pub slot: u64,
    /// Whether there are inner parts in it and no leaves.
    pub buckets: bool,
}

/// The contents that are always there: leaves that count, leaves that do not, slots of primitive
/// arrays, and nothing that matters.
const LEAVES: u16 = 0;
const OTHERS: u16 = 1;
const SLOTS: u16 = 2;
/// The class of the array decides.
pub(crate) const BY_CLASS: u16 = u16::MAX;

/// What objects of a class are to structures.
pub(crate) struct Plan {
    /// The number of the definition.
    pub definition: usize,
    pub kind: Kind,
    /// The table that says what its references mean.
    pub effects: usize,
    /// The same for the referent of a `java.lang.ref.Reference`.
    pub referent: Option<usize>,
    /// Reference fields in the order of references, if it matters which is which.
    pub fields: Vec<FieldRule>,
    pub counts: Counts,
    pub size: Option<SizePlace>,
    pub capacity: Option<CapacityPlace>,
}

/// A reference field.
pub(crate) struct FieldRule {
    pub table: usize,
    pub place: Option<FieldPlace>,
}

/// What references mean, by the class of the object referred to.
pub(crate) struct Table {
    pub effects: Vec<Effect>,
    /// The classes of objects that a field can refer to, if the definition says so.
    possible: Option<BitSet>,
    /// The classes that it names: probably it is this field that refers to their objects.
    expected: BitSet,
}

impl Table {
    /// Whether the definition names the field.
    pub(crate) fn is_named(&self) -> bool {
        self.possible.is_some()
    }

    pub(crate) fn is_expected(&self, class: ClassId) -> bool {
        self.expected.contains(class)
    }

    pub(crate) fn is_possible(&self, class: ClassId) -> bool {
        let possible = self.possible.as_ref();
        possible.is_none_or(|classes| classes.contains(class))
    }
}

/// The tables that are made already.
#[derive(Default)]
struct Linking {
    /// By definition, whether it names the field, and the items that are about it.
    tables: FxHashMap<(usize, bool, Vec<usize>), usize>,
    commons: FxHashMap<Vec<usize>, usize>,
    /// By definition.
    counts: FxHashMap<usize, Counts>,
}

/// How the field of a `java.lang.ref.Reference` is called.
const REFERENT: &str = "referent";

/// Where a head says how many elements it has.
#[derive(Clone, Copy)]
pub(crate) struct SizePlace {
    pub place: FieldPlace,
    pub bits: bool,
}

/// Where a head says for how many elements there is room.
#[derive(Clone, Copy)]
pub(crate) struct CapacityPlace {
    pub place: FieldPlace,
    pub measure: Measure,
    pub policy: SlotPolicy,
    /// Whether the field leads to an array that belongs to the structure.
    pub is_storage: bool,
}

/// What the definitions mean for the classes of one heap.
pub struct Model<'a> {
    pub(crate) state: &'a HeapState,
    pub(crate) records: Option<&'a Records>,
    pub(crate) definitions: &'a Definitions,
    pub(crate) plans: Vec<Plan>,
    pub(crate) tables: Vec<Table>,
    /// By class.
    pub(crate) plan_of: Vec<Option<u16>>,
    pub(crate) contents: Vec<ArrayContents>,
    /// By class of an array whose content is not said.
    pub(crate) content_of: Vec<u16>,
    pub(crate) is_head: BitSet,
    pub(crate) names: Names<'a>,
    /// By class: the number of its definition.
    pub(crate) of_class: Vec<Option<usize>>,
}

impl<'a> Model<'a> {
    /// Links definitions to a heap. Values in the file, if there are any, tell fields apart where the
    /// references alone do not.
    pub fn new(
        state: &'a HeapState,
        records: Option<&'a Records>,
        definitions: &'a Definitions,
    ) -> Self {
        let names = Names::new(state);
        let classes = state.classes().len();
        let of_class = names.definitions(definitions);
        let is = |kind: Kind| {
            let mut set = BitSet::new(classes);
            for (class, definition) in (0..).zip(&of_class) {
                let definition = definition.map(|number| &definitions.all()[number].definition);
                if definition.is_some_and(|definition| definition.kind == kind) {
                    set.insert(class);
                }
            }
            set
        };
        let (mut is_head, mut is_part) = (is(Kind::Head), is(Kind::Part));
        is_head.union_with(&is(Kind::View));
        is_part.union_with(&is(Kind::Entry));
        let mut model = Model {
            state,
            records,
            definitions,
            plans: Vec::new(),
            tables: Vec::new(),
            plan_of: vec![None; classes],
            contents: fixed_contents(classes),
            content_of: Vec::new(),
            is_head,
            names,
            of_class,
        };
        model.content_of = (0..classes as ClassId)
            .map(|class| model.content_of_array(class, &is_part))
            .collect();
        let mut linking = Linking::default();
        for class in 0..classes as ClassId {
            let definition = model.of_class[class as usize];
            // More plans than a heap has classes of structures do not fit the number; the rest is not
            // described then.
            if let (Some(number), Ok(plan)) = (definition, u16::try_from(model.plans.len())) {
                let linked = model.plan(class, number, &mut linking);
                model.plans.push(linked);
                model.plan_of[class as usize] = Some(plan);
            }
        }
        model
    }

    /// What objects of a class are, by the definition of that number.
    fn plan(&mut self, class: ClassId, number: usize, linking: &mut Linking) -> Plan {
        let definition = &self.definitions.all()[number].definition;
        let rules: Vec<FieldRule> = self
            .reference_fields(class)
            .into_iter()
            .map(|(name, place)| FieldRule {
                table: self.table(number, &name, linking),
                place,
            })
            .collect();
        let referent = definition.items.iter().any(|item| item.is_about(REFERENT));
        let referent = referent.then(|| self.table(number, REFERENT, linking));
        let effects = match rules.is_empty() {
            // The source does not describe the class: the types alone tell.
            true => self.table_of(
                number,
                false,
                (0..definition.items.len()).collect(),
                linking,
            ),
            false => self.common(&rules, linking),
        };
        let ambiguous = self.tables[effects].effects.contains(&Effect::Ambiguous);
        let size = definition.size.as_ref();
        let size = size.and_then(|size| {
            let field = &size.field.as_ref()?.name;
            let place = self.records?.field_place(self.state, class, field)?;
            let bits = size.bits;
            Some(SizePlace { place, bits })
        });
        let capacity = definition.capacity.as_ref();
        let capacity = capacity.and_then(|of| self.capacity_place(class, number, of, linking));
        Plan {
            definition: number,
            kind: definition.kind,
            fields: if ambiguous { rules } else { Vec::new() },
            effects,
            referent,
            counts: *linking
                .counts
                .entry(number)
                .or_insert_with(|| self.counts(number)),
            size,
            capacity,
        }
    }

    /// The table of a field: what its definition says about it or, if that is nothing, about all fields.
    fn table(&mut self, number: usize, field: &str, linking: &mut Linking) -> usize {
        let definition = &self.definitions.all()[number].definition;
        let items = definition.items.iter().enumerate();
        let about: Vec<usize> = items
            .clone()
            .filter(|(_, item)| item.is_about(field))
            .map(|(index, _)| index)
            .collect();
        let named = !about.is_empty();
        let about = match named {
            true => about,
            false => items
                .filter(|(_, item)| item.fields.is_empty())
                .map(|(index, _)| index)
                .collect(),
        };
        self.table_of(number, named, about, linking)
    }

    /// The table of some items of a definition.
    fn table_of(
        &mut self,
        number: usize,
        named: bool,
        about: Vec<usize>,
        linking: &mut Linking,
    ) -> usize {
        let definition = &self.definitions.all()[number].definition;
        if let Some(&known) = linking.tables.get(&(number, named, about.clone())) {
            return known;
        }
        let sized = definition.size.is_some();
        let about_items = about.iter().map(|&index| &definition.items[index]);
        let linked: Vec<(BitSet, Effect)> = about_items
            .clone()
            .map(|item| {
                let effect = self.effect(item, sized);
                (self.names.meant(&item.target), effect)
            })
            .collect();
        let effects = self.first_that_fits(&linked, Effect::Ignore);
        let possible = named.then(|| {
            let mut possible = BitSet::new(effects.len());
            linked.iter().for_each(|(set, _)| possible.union_with(set));
            possible
        });
        let mut expected = BitSet::new(effects.len());
        for (item, (set, _)) in about_items.zip(&linked) {
            if named && item.target.name != "*" {
                expected.union_with(set);
            }
        }
        self.tables.push(Table {
            effects,
            possible,
            expected,
        });
        let table = self.tables.len() - 1;
        linking.tables.insert((number, named, about), table);
        table
    }

    /// By class: the effect of the first set it is in.
    fn first_that_fits(&self, sets: &[(BitSet, Effect)], otherwise: Effect) -> Vec<Effect> {
        let classes = 0..self.state.classes().len() as ClassId;
        classes
            .map(|class| {
                let found = sets.iter().find(|(set, _)| set.contains(class));
                found.map_or(otherwise, |(_, effect)| *effect)
            })
            .collect()
    }

    /// What references mean, where all fields say the same.
    fn common(&mut self, rules: &[FieldRule], linking: &mut Linking) -> usize {
        let mut of: Vec<usize> = rules.iter().map(|rule| rule.table).collect();
        of.sort_unstable();
        of.dedup();
        if let Some(&known) = linking.commons.get(&of) {
            return known;
        }
        let one = |class: usize| {
            let tables = of.iter().map(|&table| &self.tables[table]);
            let mut effects = tables
                .filter(|table| table.is_possible(class as ClassId))
                .map(|table| table.effects[class]);
            let Some(first) = effects.next() else {
                return Effect::Ignore;
            };
            match effects.all(|effect| effect == first) {
                true => first,
                false => Effect::Ambiguous,
            }
        };
        let effects = (0..self.state.classes().len()).map(one).collect();
        self.tables.push(Table {
            effects,
            possible: None,
            expected: BitSet::new(0),
        });
        let table = self.tables.len() - 1;
        linking.commons.insert(of, table);
        table
    }

    /// The reference fields of a class in the order in which its objects' references are.
    fn reference_fields(&self, class: ClassId) -> Vec<(String, Option<FieldPlace>)> {
        let own = |declaring: ClassId, name: &str| {
            let declaring = self.state.classes()[declaring as usize].name.as_str();
            !(name == REFERENT && declaring == "java.lang.ref.Reference")
        };
        match self.records {
            Some(records) => records
                .field_places(self.state, class)
                .filter(|(by, field, _)| field.ty == FieldType::Object && own(*by, &field.name))
                .map(|(_, field, place)| (field.name.clone(), Some(place)))
                .collect(),
            None => self
                .state
                .superclasses(class)
                .flat_map(|class| {
                    let fields = self.state.classes()[class as usize].fields.iter();
                    fields.map(move |field| (class, field))
                })
                .filter(|(by, field)| field.ty == FieldType::Object && own(*by, &field.name))
                .map(|(_, field)| (field.name.clone(), None))
                .collect(),
        }
    }

    fn capacity_place(
        &mut self,
        class: ClassId,
        number: usize,
        of: &Capacity,
        linking: &mut Linking,
    ) -> Option<CapacityPlace> {
        let name = &of.field.name;
        let place = self.records?.field_place(self.state, class, name)?;
        let table = self.table(number, name, linking);
        let effects = self.tables[table].effects.iter();
        let mut classes = effects.zip(self.state.classes());
        let is_storage = of.measure != Measure::Bits
            && classes.any(|(effect, class)| {
                matches!(effect, Effect::Follow(_)) && matches!(class.kind, ClassKind::Array(_))
            });
        Some(CapacityPlace {
            place,
            measure: of.measure,
            policy: of.policy,
            is_storage,
        })
    }

    fn effect(&mut self, item: &Item, sized: bool) -> Effect {
        let target = &item.target;
        if target.role == Role::Nothing {
            return Effect::Ignore;
        }
        if target.leaf {
            return Effect::Leaf(target.role.halves() as u8);
        }
        if !item.content.is_empty() {
            return Effect::Follow(self.content(&item.content));
        }
        Effect::Follow(match target.role {
            Role::Element if is_primitive_array(&target.name) && sized => SLOTS,
            Role::Element => BY_CLASS,
            _ => OTHERS,
        })
    }

    /// The number of a content that is said.
    fn content(&mut self, targets: &[Target]) -> u16 {
        let number = u16::try_from(self.contents.len()).unwrap_or(BY_CLASS);
        let sets: Vec<(BitSet, Effect)> = targets
            .iter()
            .map(|target| {
                let effect = match target.leaf {
                    _ if target.role == Role::Nothing => Effect::Ignore,
                    true => Effect::Leaf(target.role.halves() as u8),
                    // Arrays in an array have the same in them.
                    false if target.name.ends_with("[]") => Effect::Follow(number),
                    false => Effect::Follow(BY_CLASS),
                };
                (self.names.meant(target), effect)
            })
            .collect();
        let effects = self.first_that_fits(&sets, Effect::Ignore);
        // Slots that may have either are counted as the leaves are.
        let leaves = targets.iter().filter(|target| target.leaf);
        let slot = leaves.map(|target| target.role.halves()).max();
        self.add_content(ArrayContents {
            effects,
            slot: slot.unwrap_or(2),
            buckets: slot.is_none(),
        })
    }

    fn add_content(&mut self, content: ArrayContents) -> u16 {
        match u16::try_from(self.contents.len()) {
            Ok(number) if number != BY_CLASS => {
                self.contents.push(content);
                number
            }
            _ => LEAVES,
        }
    }

    /// Arrays of described parts have parts in them, arrays of arrays have arrays, all others leaves.
    fn content_of_array(&mut self, class: ClassId, is_part: &BitSet) -> u16 {
        let class = &self.state.classes()[class as usize];
        let ClassKind::Array(element) = class.kind else {
            return OTHERS;
        };
        if element != FieldType::Object {
            return OTHERS;
        }
        let element = class.name.strip_suffix("[]").unwrap_or(&class.name);
        let of_parts = self
            .names
            .of(element)
            .iter()
            .any(|&of| is_part.contains(of));
        let of_arrays = element.ends_with("[]");
        if !of_parts && !of_arrays {
            return LEAVES;
        }
        let inside = match of_parts {
            true => self.names.matching(element),
            false => self.names.arrays(),
        };
        let effects = self.first_that_fits(&[(inside, Effect::Follow(BY_CLASS))], Effect::Leaf(2));
        self.add_content(ArrayContents {
            effects,
            slot: if of_parts { 2 } else { 0 },
            buckets: of_parts,
        })
    }

    pub(crate) fn plan_at(&self, object: ObjectId) -> Option<&Plan> {
        let plan = self.plan_of[self.state.class_id(object) as usize]?;
        Some(&self.plans[plan as usize])
    }

    /// Whether an object is an inner part of which each is one element.
    pub fn is_entry(&self, object: ObjectId) -> bool {
        let plan = self.plan_of[self.state.class_id(object) as usize];
        plan.is_some_and(|plan| self.plans[plan as usize].kind == Kind::Entry)
    }

    /// The fields in which entries of a class have their keys.
    pub fn key_fields(&self, class: ClassId) -> impl Iterator<Item = &str> {
        let definition = self.of_class[class as usize];
        let definition = definition.map(|number| &self.definitions.all()[number].definition);
        let items = definition
            .into_iter()
            .flat_map(|definition| &definition.items);
        let keys = items.filter(|item| item.keys).flat_map(|item| &item.fields);
        keys.map(|field| field.name.as_str())
    }

    /// The name of the definition of a class.
    pub fn definition_of(&self, class: ClassId) -> Option<&str> {
        self.of_class[class as usize].map(|number| self.name(number))
    }

    /// The name of a definition.
    pub fn name(&self, definition: usize) -> &str {
        &self.definitions.all()[definition].definition.name
    }
}

fn fixed_contents(classes: usize) -> Vec<ArrayContents> {
    let content = |effect, slot| ArrayContents {
        effects: vec![effect; classes],
        slot,
        buckets: false,
    };
    vec![
        content(Effect::Leaf(2), 2),
        content(Effect::Leaf(0), 0),
        content(Effect::Ignore, 2),
    ]
}

pub(crate) fn is_primitive_array(name: &str) -> bool {
    let element = name.strip_suffix("[]");
    element.is_some_and(|element| {
        let mut primitives = FieldType::ALL.iter().skip(1);
        primitives.any(|ty| ty.keyword() == element)
    })
}
