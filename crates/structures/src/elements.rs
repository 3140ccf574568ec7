//! The elements of one structure, one after the other in the order that the structure itself has: the entries
//! of a map with key and value, the elements of a list, the bits of a set. Reads the values of fields, because
//! references alone do not tell a key from a value, nor which slot something is in.

use std::rc::Rc;

use anthill_heap::{
    BitSet, Cancelled, ClassId, ClassKind, FieldType, HeapState, ObjectId, Progress, Value,
};
use anthill_hprof::{Cursor, FieldPlace, Records};
use rustc_hash::FxHashMap;

use crate::language::{Definition, Item, Kind, Measure, Role};
use crate::model::{Effect, Model, is_primitive_array};

/// An element of a structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// The key of an entry.
    pub key: Option<Value>,
    /// The value of an entry; without a key, the element itself. Nothing if an entry has only a key.
    pub value: Option<Value>,
}

impl Element {
    fn single(value: Value) -> Self {
        Element {
            key: None,
            value: Some(value),
        }
    }
}

/// Tasks between two looks at whether somebody still wants the result.
const BETWEEN_LOOKS: usize = 1 << 12;

impl Model<'_> {
    /// Whether objects of a class are structures whose elements can be told, unlike the characters of a
    /// text.
    pub fn has_elements(&self, class: ClassId) -> bool {
        let Some(number) = self.of_class[class as usize].filter(|_| self.is_head.contains(class))
        else {
            return false;
        };
        let definition = &self.definitions.all()[number].definition;
        let of_elements = |item: &Item| !matches!(item.target.role, Role::Other | Role::Nothing);
        definition.items.is_empty()
            || definition.items.iter().any(of_elements)
            || definition.size.as_ref().is_some_and(|size| size.bits)
    }

    /// Tells the elements of the structure with that head. Null elements are told only of lists whose head
    /// says how many there are.
    pub fn elements(
        &self,
        records: &Records,
        head: ObjectId,
        progress: &dyn Progress,
        tell: &mut dyn FnMut(Element),
    ) -> Result<(), Cancelled> {
        let mut listing = Listing {
            model: self,
            records,
            fields: records.cursor(),
            slots: [records.cursor(), records.cursor()],
            classes: FxHashMap::default(),
            targets: FxHashMap::default(),
            met: BitSet::new(self.state.len() as usize),
            tasks: Vec::new(),
            windows: Vec::new(),
            tell,
        };
        listing.follow(head, None, Shown::All);
        let mut done = 0;
        while let Some(task) = listing.tasks.pop() {
            done += 1;
            if done % BETWEEN_LOOKS == 0 {
                progress.check()?;
            }
            listing.run(task);
        }
        Ok(())
    }
}

/// What of the entries of a part counts.
#[derive(Clone, Copy, Debug)]
enum Shown {
    All,
    Keys,
    Values,
}

/// What an array has in it, as an item of a definition says: numbers of the definition and the item.
type Content = Option<(usize, usize)>;

/// What is left to do; the last first.
enum Task {
    Follow(ObjectId, Content, Shown),
    Tell(Element, Shown),
    /// The slots of an array with elements or inner parts.
    Slots(Slots, Content, Shown),
    /// Arrays that have keys and values at the same indices.
    Columns(Columns, Shown),
    /// The elements from here on are of the window before.
    EndWindow,
}

/// Some slots of an array.
struct Slots {
    array: ObjectId,
    length: u32,
    /// From where on, around the end if need be.
    start: u32,
    /// How many are done, of how many.
    done: u32,
    most: u32,
    /// Whether empty slots are elements.
    nulls: bool,
    /// Zeros that are elements of a table in which they otherwise stand for free slots.
    zeros: u64,
}

impl Slots {
    fn all(array: ObjectId, length: u32) -> Self {
        Slots {
            array,
            length,
            start: 0,
            done: 0,
            most: length,
            nulls: false,
            zeros: 0,
        }
    }
}

/// Arrays with keys and values.
struct Columns {
    keys: Option<ObjectId>,
    values: Option<ObjectId>,
    length: u32,
    /// How many entries there are, if the structure says so.
    size: Option<u64>,
    /// Whether there is a key at every index, used or not.
    slots_are_named: bool,
}

/// The arrays of one object by what they have in them.
#[derive(Default)]
struct Arrays {
    keys: Option<ObjectId>,
    values: Option<ObjectId>,
    elements: Option<ObjectId>,
    /// All that could be in the structure, if it has that: the names of its slots.
    universe: Option<ObjectId>,
}

/// What an array is to the elements.
#[derive(PartialEq)]
enum Column {
    Keys,
    Values,
    Elements,
    /// Nothing that is an element.
    Other,
    /// No column: there are inner parts in it, or keys and values in turn.
    None,
}

/// What a reference in an array is.
enum InArray {
    Nothing,
    Leaf(Role),
    Follow(Content),
}

/// A part of a list.
struct Window {
    skip: u64,
    left: u64,
}

/// The reference fields of a class.
struct ClassFields {
    definition: usize,
    kind: Kind,
    fields: Vec<ItemsOfField>,
}

/// The items that can be about a field, with the place of the field in the item if it is named there.
struct ItemsOfField {
    place: FieldPlace,
    items: Vec<(usize, Option<usize>)>,
}

/// What a field leads to.
struct Found {
    /// Where it comes in the order of elements.
    order: (usize, usize),
    item: usize,
    /// Nothing if keys and values take turns and this one is null.
    object: Option<ObjectId>,
}

/// Classes that the targets of a definition's items mean, and those of their contents.
type Meant = Vec<(BitSet, Vec<BitSet>)>;

struct Listing<'m, 't> {
    model: &'m Model<'m>,
    records: &'m Records,
    fields: Cursor<'m>,
    /// For keys and values.
    slots: [Cursor<'m>; 2],
    classes: FxHashMap<ClassId, Option<Rc<ClassFields>>>,
    targets: FxHashMap<usize, Rc<Meant>>,
    met: BitSet,
    tasks: Vec<Task>,
    windows: Vec<Window>,
    tell: &'t mut dyn FnMut(Element),
}

impl<'m> Listing<'m, '_> {
    fn run(&mut self, task: Task) {
        match task {
            Task::Follow(object, content, shown) => self.follow(object, content, shown),
            Task::Tell(element, shown) => self.element(element, shown),
            Task::Slots(slots, content, shown) => self.slots(slots, content, shown),
            Task::Columns(columns, shown) => self.columns(&columns, shown),
            Task::EndWindow => drop(self.windows.pop()),
        }
    }

    fn element(&mut self, element: Element, shown: Shown) {
        for window in self.windows.iter_mut().rev() {
            if window.skip > 0 {
                window.skip -= 1;
                return;
            }
            if window.left == 0 {
                return;
            }
            window.left -= 1;
        }
        let single = match shown {
            Shown::All => None,
            Shown::Keys => element.key,
            Shown::Values => element.value,
        };
        (self.tell)(single.map_or(element, Element::single));
    }

    fn follow(&mut self, object: ObjectId, content: Content, shown: Shown) {
        if !self.met.add(object) {
            return;
        }
        let Some(class) = self.class(object) else {
            if let Some(length) = self.model.state.array_length(object) {
                let slots = Slots::all(object, length);
                self.tasks.push(Task::Slots(slots, content, shown));
            }
            return;
        };
        let definition = self.definition(class.definition);
        let found = self.found(object, &class);
        match class.kind {
            Kind::Entry => self.entry(definition, &found, shown),
            _ => self.part(object, &class, &found, shown),
        }
    }

    fn definition(&self, number: usize) -> &'m Definition {
        &self.model.definitions.all()[number].definition
    }

    fn class(&mut self, object: ObjectId) -> Option<Rc<ClassFields>> {
        let class = self.model.state.class_id(object);
        if let Some(known) = self.classes.get(&class) {
            return known.clone();
        }
        let fields = self.model.of_class[class as usize].map(|number| {
            let definition = self.definition(number);
            let places = self.records.field_places(self.model.state, class);
            let references = places.filter(|(_, field, _)| field.ty == FieldType::Object);
            let fields = references.map(|(_, field, place)| ItemsOfField {
                place,
                items: items_of(definition, &field.name),
            });
            Rc::new(ClassFields {
                definition: number,
                kind: definition.kind,
                fields: fields.collect(),
            })
        });
        self.classes.insert(class, fields.clone());
        fields
    }

    fn meant(&mut self, definition: usize) -> Rc<Meant> {
        let names = &self.model.names;
        let items = &self.model.definitions.all()[definition].definition.items;
        let known = self.targets.entry(definition).or_insert_with(|| {
            let of = |item: &Item| {
                let content = item.content.iter().map(|target| names.meant(target));
                (names.meant(&item.target), content.collect())
            };
            Rc::new(items.iter().map(of).collect())
        });
        known.clone()
    }

    /// What the fields of an object lead to in the order of elements, except for what does not belong to the
    /// structure.
    fn found(&mut self, object: ObjectId, class: &ClassFields) -> Vec<Found> {
        let state = self.model.state;
        let meant = self.meant(class.definition);
        let items = &self.definition(class.definition).items;
        let mut found = Vec::with_capacity(class.fields.len());
        for (at, field) in class.fields.iter().enumerate() {
            let value = self.fields.field(state, object, field.place);
            let to = self.object(value);
            let fits = |item: usize| match to {
                Some(to) => meant[item].0.contains(state.class_id(to)),
                None => items[item].target.leaf && items[item].target.role == Role::Pair,
            };
            let mut fitting = field.items.iter().filter(|(item, _)| fits(*item));
            let Some(&(item, named_at)) = fitting.next() else {
                continue;
            };
            let target = &items[item].target;
            if target.role != Role::Nothing {
                let order = match named_at {
                    Some(named_at) => (item, named_at),
                    None if target.leaf => (item, at),
                    None => (usize::MAX, at),
                };
                found.push(Found {
                    order,
                    item,
                    object: to,
                });
            }
        }
        found.sort_by_key(|one| one.order);
        found
    }

    /// The object that a value refers to.
    fn object(&self, value: Option<Value>) -> Option<ObjectId> {
        match value? {
            Value::Object(address) => self.model.state.addresses.find(address),
            _ => None,
        }
    }

    fn reference(&self, object: ObjectId) -> Value {
        Value::Object(self.model.state.addresses.address(object))
    }

    /// An entry is one element. What is before its key in the definition comes before it.
    fn entry(&mut self, definition: &Definition, found: &[Found], shown: Shown) {
        let mut element = Element {
            key: None,
            value: None,
        };
        let mut place = None;
        let mut onward = Vec::new();
        for one in found {
            let Some(object) = one.object else { continue };
            let item = &definition.items[one.item];
            if item.target.leaf {
                let reference = self.reference(object);
                let side = match item.keys {
                    true => &mut element.key,
                    false => &mut element.value,
                };
                side.get_or_insert(reference);
                place.get_or_insert(one.order);
            } else if let Some(inner) = self.leaf_inside(object) {
                element.value = element.value.or(inner);
            } else {
                onward.push((one.order, object));
            }
        }
        let own_place = place.unwrap_or_default();
        let before = onward.partition_point(|(order, _)| *order < own_place);
        let follow = |&(_, object): &(_, ObjectId)| Task::Follow(object, None, shown);
        self.tasks.extend(onward[before..].iter().rev().map(follow));
        self.tasks.push(Task::Tell(element, shown));
        self.tasks.extend(onward[..before].iter().rev().map(follow));
    }

    /// The value of an entry that is in an object of its own; nothing if the object is not of that kind.
    fn leaf_inside(&mut self, object: ObjectId) -> Option<Option<Value>> {
        let class = self.class(object)?;
        let items = &self.definition(class.definition).items;
        if class.kind != Kind::Part || !items.iter().all(|item| item.target.leaf) {
            return None;
        }
        let leaf = self.found(object, &class).first()?.object;
        Some(leaf.map(|leaf| self.reference(leaf)))
    }

    fn part(&mut self, object: ObjectId, class: &ClassFields, found: &[Found], shown: Shown) {
        let definition = self.definition(class.definition);
        let size = self.model.reported_size(&mut self.fields, object);
        let start = definition.start.as_ref();
        let start = start.and_then(|field| self.number(object, &field.name));
        let bits = definition.size.as_ref().filter(|size| size.bits);
        if let Some(field) = bits.and_then(|size| size.field.as_ref()) {
            let universe = self.universe(object);
            return self.bits(object, &field.name, universe, shown);
        }
        let mut found = found.iter().collect::<Vec<_>>();
        let is_window = class.kind == Kind::View && size.is_some();
        if is_window {
            self.windows.push(Window {
                skip: start.unwrap_or(0),
                left: size.unwrap_or(0),
            });
            self.tasks.push(Task::EndWindow);
            // The list itself, not a part of it between the two.
            found.truncate(1);
        }
        let mut tasks = Vec::new();
        let mut arrays = Arrays::default();
        let is_list = |one: &&&Found| {
            let item = &definition.items[one.item];
            let array = one.object.filter(|_| !item.target.leaf);
            array.is_some_and(|array| self.column(item, array) == Column::Elements)
        };
        let lists = found.iter().filter(is_list).count();
        let mut key = None;
        // The first of a pair: nothing, or what it is.
        let mut first: Option<Option<Value>> = None;
        for one in found {
            let item = &definition.items[one.item];
            let role = item.target.role;
            let value = one.object.map(|object| self.reference(object));
            match one.object {
                _ if role == Role::Pair && item.target.leaf => match first.take() {
                    None => first = Some(value),
                    Some(None) => {}
                    Some(key) => tasks.push(Task::Tell(Element { key, value }, shown)),
                },
                Some(_) if item.target.leaf => {
                    let element = match role {
                        Role::Key => {
                            key = value;
                            continue;
                        }
                        Role::Value if key.is_some() => Element {
                            key: key.take(),
                            value,
                        },
                        Role::Element => Element { key: None, value },
                        _ => continue,
                    };
                    tasks.push(Task::Tell(element, shown));
                }
                None => {}
                Some(to) => match self.column(item, to) {
                    Column::Keys => arrays.keys = Some(to),
                    Column::Values => arrays.values = Some(to),
                    Column::Elements if lists == 1 => arrays.elements = Some(to),
                    Column::Other => {}
                    Column::None | Column::Elements => {
                        let shown = match role {
                            Role::Key => Shown::Keys,
                            Role::Value => Shown::Values,
                            _ => shown,
                        };
                        let content = Some((class.definition, one.item));
                        let content = content.filter(|_| !item.content.is_empty());
                        tasks.push(Task::Follow(to, content, shown));
                    }
                },
            }
        }
        let key = key.or(first.flatten());
        if key.is_some() {
            tasks.push(Task::Tell(Element { key, value: None }, shown));
        }
        arrays.universe = self.universe(object);
        tasks.extend(self.of_arrays(arrays, size, start.unwrap_or(0), shown));
        self.tasks.extend(tasks.into_iter().rev());
    }

    /// What the elements of a structure's own arrays are told by.
    fn of_arrays(
        &mut self,
        mut arrays: Arrays,
        size: Option<u64>,
        start: u64,
        shown: Shown,
    ) -> Vec<Task> {
        let state = self.model.state;
        let slots_are_named = arrays.universe.is_some() && arrays.keys.is_none();
        arrays.keys = arrays.keys.or(arrays.universe);
        // Next to keys, elements are values; next to values, they are keys.
        if arrays.elements.is_some() && arrays.keys.is_some() != arrays.values.is_some() {
            let side = match arrays.keys {
                Some(_) => &mut arrays.values,
                None => &mut arrays.keys,
            };
            *side = arrays.elements.take();
        }
        let mut tasks = Vec::new();
        if arrays.keys.is_some() || arrays.values.is_some() {
            let columns = [arrays.keys, arrays.values];
            let lengths = columns.iter().flatten();
            let lengths = lengths.filter_map(|&array| state.array_length(array));
            tasks.push(Task::Columns(
                Columns {
                    keys: arrays.keys,
                    values: arrays.values,
                    length: lengths.min().unwrap_or(0),
                    size,
                    slots_are_named,
                },
                shown,
            ));
        }
        if let Some(array) = arrays.elements {
            let length = state.array_length(array).unwrap_or(0);
            let slots = Slots {
                start: (start % u64::from(length.max(1))) as u32,
                ..Slots::all(array, length)
            };
            let slots = self.as_list(slots, size);
            tasks.push(Task::Slots(slots, None, shown));
        }
        tasks
    }

    /// The slots of a list, empty ones included, if everything in an array is where a list of that size
    /// would have it; otherwise those of a table.
    fn as_list(&mut self, mut slots: Slots, size: Option<u64>) -> Slots {
        let Some(size) = size else { return slots };
        let (mut first, mut beyond) = (0u64, 0u64);
        for done in 0..slots.length {
            if self
                .slot(&slots, done)
                .is_some_and(|value| !is_nothing(value))
            {
                *(if u64::from(done) < size {
                    &mut first
                } else {
                    &mut beyond
                }) += 1;
            }
        }
        if beyond == 0 && size <= u64::from(slots.length) {
            slots.nulls = true;
            slots.most = size as u32;
        } else {
            slots.zeros = size.saturating_sub(first + beyond);
        }
        slots
    }

    fn slot(&mut self, slots: &Slots, done: u32) -> Option<Value> {
        let index = (u64::from(slots.start) + u64::from(done)) % u64::from(slots.length.max(1));
        self.slots[0].element(self.model.state, slots.array, index as u32)
    }

    fn slots(&mut self, mut slots: Slots, content: Content, shown: Shown) {
        while slots.done < slots.most {
            let value = self.slot(&slots, slots.done);
            let even = slots.done % 2 == 0;
            slots.done += 1;
            let Some(value) = value else { continue };
            let to = match value {
                Value::Object(0) => None,
                Value::Object(_) => self.object(Some(value)),
                _ if slots.nulls || !is_nothing(value) => {
                    self.element(Element::single(value), shown);
                    continue;
                }
                _ => continue,
            };
            let Some(to) = to else {
                if slots.nulls {
                    self.element(Element::single(value), shown);
                }
                continue;
            };
            match self.in_array(slots.array, to, content) {
                InArray::Nothing => {}
                InArray::Leaf(Role::Pair) if even => {
                    let after = self.slot(&slots, slots.done);
                    let after = after.filter(|&after| !is_nothing(after));
                    let element = Element {
                        key: Some(value),
                        value: after,
                    };
                    slots.done += 1;
                    self.element(element, shown);
                }
                InArray::Leaf(Role::Element | Role::Key) => {
                    self.element(Element::single(value), shown);
                }
                InArray::Leaf(_) => {}
                InArray::Follow(inner) => {
                    self.tasks.push(Task::Slots(slots, content, shown));
                    self.tasks.push(Task::Follow(to, inner, shown));
                    return;
                }
            }
        }
        if let Some(zero) = zero_of(self.model.state, slots.array) {
            for _ in 0..slots.zeros {
                self.element(Element::single(zero), shown);
            }
        }
    }

    fn columns(&mut self, columns: &Columns, shown: Shown) {
        let state = self.model.state;
        let holds_objects =
            |array: Option<ObjectId>| array.is_some_and(|array| holds_objects(state, array));
        let by_values = columns.slots_are_named
            || !holds_objects(columns.keys) && holds_objects(columns.values);
        let mut left = columns.size;
        for at in 0..columns.length {
            let [key, value] = self.pair_at(columns, at);
            let decides = match columns.keys {
                Some(_) if !by_values => key,
                _ => value,
            };
            if decides.is_some_and(|value| !is_nothing(value)) {
                left = left.map(|left| left.saturating_sub(1));
                self.pair([key, value], shown);
            }
        }
        // Where a key of zero stands for a free slot, the entry of that key is in the last.
        if left == Some(1) && !by_values && !holds_objects(columns.keys) && columns.length > 0 {
            let pair = self.pair_at(columns, columns.length - 1);
            self.pair(pair, shown);
        }
    }

    fn pair_at(&mut self, columns: &Columns, at: u32) -> [Option<Value>; 2] {
        let state = self.model.state;
        let [keys, values] = &mut self.slots;
        [
            columns.keys.and_then(|of| keys.element(state, of, at)),
            columns.values.and_then(|of| values.element(state, of, at)),
        ]
    }

    fn pair(&mut self, [key, value]: [Option<Value>; 2], shown: Shown) {
        let value = value.filter(|&value| value != Value::Object(0));
        self.element(Element { key, value }, shown);
    }

    /// The indices of the bits that are set, or what stands at them in an array of all that there could be.
    fn bits(&mut self, object: ObjectId, field: &str, universe: Option<ObjectId>, shown: Shown) {
        let state = self.model.state;
        let Some(place) = self
            .records
            .field_place(state, state.class_id(object), field)
        else {
            return;
        };
        let words = match self.fields.field(state, object, place) {
            Some(Value::Object(address)) => {
                let array = state.addresses.find(address);
                let length = array.and_then(|array| state.array_length(array));
                array.map_or(Vec::new(), |array| {
                    self.records.elements(state, array, 0..length.unwrap_or(0))
                })
            }
            value => Vec::from_iter(value),
        };
        for (at, word) in (0..).zip(words) {
            let (width, word) = match word {
                Value::Long(word) => (64, word as u64),
                Value::Int(word) => (32, u64::from(word as u32)),
                _ => return,
            };
            for bit in (0..width).filter(|bit| word >> bit & 1 == 1) {
                let index = at * width + bit;
                let named =
                    universe.and_then(|all| self.slots[0].element(state, all, index as u32));
                let number = i32::try_from(index).map_or(Value::Long(index), Value::Int);
                self.element(Element::single(named.unwrap_or(number)), shown);
            }
        }
    }

    /// The array of all that could be in a structure: its slots have names.
    fn universe(&mut self, object: ObjectId) -> Option<ObjectId> {
        let of = self.model.plan_at(object)?.capacity?;
        if of.is_storage || of.measure == Measure::Bits {
            return None;
        }
        let value = self.fields.field(self.model.state, object, of.place);
        let array = self.object(value)?;
        holds_objects(self.model.state, array).then_some(array)
    }

    fn number(&mut self, object: ObjectId, field: &str) -> Option<u64> {
        let state = self.model.state;
        let place = self
            .records
            .field_place(state, state.class_id(object), field)?;
        match self.fields.field(state, object, place)? {
            Value::Int(value) => u64::try_from(value).ok(),
            Value::Long(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// What the slots of a structure's own array have in them.
    fn column(&self, item: &Item, array: ObjectId) -> Column {
        let has = |role| {
            let mut content = item.content.iter();
            content.any(|target| target.leaf && target.role == role)
        };
        let by_class = || {
            let content = self.model.content_of[self.model.state.class_id(array) as usize];
            self.model.contents[content as usize].effects.iter()
        };
        match item.target.role {
            _ if self.model.state.array_length(array).is_none() => Column::None,
            _ if has(Role::Key) => Column::Keys,
            _ if has(Role::Value) => Column::Values,
            _ if !item.content.is_empty() => Column::None,
            Role::Key => Column::Keys,
            Role::Value => Column::Values,
            Role::Other | Role::Nothing => Column::Other,
            _ if is_primitive_array(&self.model.state.class(array).name) => Column::Elements,
            _ if by_class().all(|effect| matches!(effect, Effect::Leaf(_))) => Column::Elements,
            _ => Column::None,
        }
    }

    fn in_array(&mut self, array: ObjectId, to: ObjectId, content: Content) -> InArray {
        let class = self.model.state.class_id(to);
        let Some((definition, item)) = content else {
            let of = self.model.content_of[self.model.state.class_id(array) as usize];
            return match self.model.contents[of as usize].effects[class as usize] {
                Effect::Leaf(_) => InArray::Leaf(Role::Element),
                Effect::Follow(_) => InArray::Follow(None),
                Effect::Ignore | Effect::Ambiguous => InArray::Nothing,
            };
        };
        let meant = self.meant(definition);
        let targets = self.definition(definition).items[item].content.iter();
        let mut fitting = targets
            .zip(&meant[item].1)
            .filter(|(_, set)| set.contains(class));
        match fitting.next().map(|(target, _)| target) {
            None => InArray::Nothing,
            Some(target) if target.role == Role::Nothing => InArray::Nothing,
            Some(target) if target.leaf => InArray::Leaf(target.role),
            // Arrays in an array have the same in them.
            Some(target) if target.name.ends_with("[]") => InArray::Follow(content),
            Some(_) => InArray::Follow(None),
        }
    }
}

/// What a free slot of an array has in it.
fn zero_of(state: &HeapState, array: ObjectId) -> Option<Value> {
    let ClassKind::Array(element) = state.class(array).kind else {
        return None;
    };
    Some(match element {
        FieldType::Object => Value::Object(0),
        FieldType::Boolean => Value::Boolean(false),
        FieldType::Char => Value::Char(0),
        FieldType::Float => Value::Float(0.0),
        FieldType::Double => Value::Double(0.0),
        FieldType::Byte => Value::Byte(0),
        FieldType::Short => Value::Short(0),
        FieldType::Int => Value::Int(0),
        FieldType::Long => Value::Long(0),
    })
}

/// Whether an array has objects in it.
fn holds_objects(state: &HeapState, array: ObjectId) -> bool {
    zero_of(state, array) == Some(Value::Object(0))
}

/// Whether a slot with this value may be free.
fn is_nothing(value: Value) -> bool {
    match value {
        Value::Object(address) => address == 0,
        Value::Boolean(value) => !value,
        Value::Char(unit) => unit == 0,
        Value::Float(value) => value.to_bits() == 0,
        Value::Double(value) => value.to_bits() == 0,
        Value::Byte(value) => value == 0,
        Value::Short(value) => value == 0,
        Value::Int(value) => value == 0,
        Value::Long(value) => value == 0,
        Value::NotRecorded(_) => true,
    }
}

/// The items that can be about a field: those that name it, otherwise those that name none.
fn items_of(definition: &Definition, field: &str) -> Vec<(usize, Option<usize>)> {
    let named = |(number, item): (usize, &Item)| {
        let at = item.fields.iter().position(|named| named.name == field)?;
        Some((number, Some(at)))
    };
    let all = || definition.items.iter().enumerate();
    let about: Vec<(usize, Option<usize>)> = all().filter_map(named).collect();
    match about.is_empty() {
        false => about,
        true => all()
            .filter(|(_, item)| item.fields.is_empty())
            .map(|(number, _)| (number, None))
            .collect(),
    }
}
