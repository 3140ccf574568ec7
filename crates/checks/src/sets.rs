//! The sets of rules on a heap: classes, static fields, groups and data structures by name.

use anthill_assertions::rules::{Measure, Set, SetKind, Sets};
use anthill_classify::{Context, Definitions, OVERALL, Step, Tree};
use anthill_graph::{Graph, NodeId};
use anthill_heap::{BitSet, Class, ClassId, FieldType};
use anthill_session::{Error, Session};
use anthill_structures::Instance;
use anthill_syntax::{Pattern, closest, did_you_mean};

pub(super) struct Resolver<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    definitions: &'a Definitions,
    reachable: BitSet,
    by_class: ByClass,
    /// What a person should know: names that nothing has.
    pub notes: Vec<String>,
}

/// The reachable objects in the order of their classes.
struct ByClass {
    /// By class: where its objects begin; one more at the end.
    starts: Vec<usize>,
    objects: Vec<NodeId>,
}

impl ByClass {
    fn new(session: &Session, reachable: &BitSet) -> Self {
        let classes: &[u32] = &session.state().columns.classes;
        let mut starts = vec![0; session.state().classes().len() + 1];
        for object in reachable.iter() {
            starts[classes[object as usize] as usize + 1] += 1;
        }
        for class in 1..starts.len() {
            starts[class] += starts[class - 1];
        }
        let mut next = starts.clone();
        let mut objects = vec![0; starts.last().copied().unwrap_or(0)];
        for object in reachable.iter() {
            let next = &mut next[classes[object as usize] as usize];
            objects[*next] = object;
            *next += 1;
        }
        ByClass { starts, objects }
    }

    fn of(&self, class: usize) -> &[NodeId] {
        &self.objects[self.starts[class]..self.starts[class + 1]]
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        session: &'a Session,
        graph: &'a Graph<'a>,
        definitions: &'a Definitions,
        reachable: &BitSet,
    ) -> Self {
        // What stands for the boot loader is no object.
        let reachable = reachable.clone().resized(session.state().len() as usize);
        Resolver {
            session,
            graph,
            definitions,
            by_class: ByClass::new(session, &reachable),
            reachable,
            notes: Vec::new(),
        }
    }
}

impl Sets for Resolver<'_> {
    type Error = Error;

    fn objects(&mut self, set: &Set) -> Result<BitSet, Error> {
        let mut objects = match &set.kind {
            SetKind::Class { pattern, only } => self.of_class(pattern, *only),
            SetKind::Static { class, field } => self.of_static(class, field)?,
            SetKind::Group { text, .. } => self.of_group(text)?,
            SetKind::Structure(pattern) => self.of_structures(pattern)?,
        };
        if let Some(limit) = &set.elements {
            let instances = &self.session.structures()?.instances;
            for object in objects.clone().iter() {
                let elements = instance(instances, object).and_then(|one| one.elements);
                if !elements.is_some_and(|elements| limit.allows(elements as f64)) {
                    objects.remove(object);
                }
            }
        }
        match &set.condition {
            Some(condition) => self.fulfilling(&objects, condition),
            None => Ok(objects),
        }
    }

    fn of_structure(&mut self, measure: Measure, head: NodeId) -> Result<Option<f64>, Error> {
        let instances = &self.session.structures()?.instances;
        let one = instance(instances, head);
        Ok(one.and_then(|one| match measure {
            Measure::Elements => one.elements.map(|elements| elements as f64),
            Measure::Capacity => one.capacity.map(|capacity| capacity as f64),
            Measure::Fill => one.fill().map(|fill| fill * 100.0),
            _ => None,
        }))
    }
}

/// The structure with this head.
fn instance(instances: &[Instance], head: NodeId) -> Option<&Instance> {
    let found = instances.binary_search_by_key(&head, |one| one.head);
    found.ok().map(|found| &instances[found])
}

impl Resolver<'_> {
    /// The reachable objects of classes that fit, and of their subclasses if that is meant.
    fn of_class(&mut self, pattern: &str, only: bool) -> BitSet {
        let fits = self.classes(pattern, only);
        let mut objects = BitSet::new(self.reachable.capacity());
        for (class, _) in fits.iter().enumerate().filter(|class| *class.1) {
            let of_class = self.by_class.of(class).iter();
            of_class.for_each(|&object| objects.insert(object));
        }
        objects
    }

    /// By class: whether it is meant. A name without wildcards means subclasses too.
    fn classes(&mut self, pattern: &str, only: bool) -> Vec<bool> {
        let state = self.session.state();
        let wildcards = pattern.contains(['*', '?']);
        let matcher = Pattern::class(pattern);
        let own: Vec<bool> = state
            .classes()
            .iter()
            .map(|class| matcher.matches(&class.name))
            .collect();
        if !own.contains(&true) {
            let names = state.classes().iter().map(|class| class.name.as_str());
            self.note(matcher.no_match("class", names));
        }
        if only || wildcards {
            return own;
        }
        let extends = |class: ClassId| state.superclasses(class).any(|one| own[one as usize]);
        (0..own.len() as ClassId).map(extends).collect()
    }

    fn of_static(&mut self, class: &str, field: &str) -> Result<BitSet, Error> {
        let state = self.session.state();
        let called = |known: &&Class| {
            let before = known.name.strip_suffix(class);
            before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '$']))
        };
        if !state.classes().iter().any(|known| called(&known)) {
            let names = state.classes().iter().map(|class| class.name.as_str());
            self.note(Pattern::class(class).no_match("class", names));
            return Ok(BitSet::new(state.len() as usize));
        }
        let text = format!("static({class:?}, {field:?})");
        self.of_group(&text)
    }

    fn of_group(&self, text: &str) -> Result<BitSet, Error> {
        let mut objects = self.session.group(text, self.definitions)?;
        objects.intersect_with(&self.reachable);
        Ok(objects)
    }

    /// The heads of structures, by the class of the head or the name of the definition.
    fn of_structures(&mut self, pattern: &str) -> Result<BitSet, Error> {
        let matcher = Pattern::class(pattern);
        let session = self.session;
        let instances = &session.structures()?.instances;
        let by_definition = |one: &Instance| matcher.matches(session.structure_type(one));
        let known = instances.iter().any(by_definition);
        let fits = match known {
            true => Vec::new(),
            false => self.classes(pattern, false),
        };
        let mut objects = BitSet::new(session.state().len() as usize);
        for one in instances {
            let class = session.state().class_id(one.head) as usize;
            if by_definition(one) || fits.get(class).is_some_and(|&fits| fits) {
                objects.insert(one.head);
            }
        }
        Ok(objects)
    }

    fn fulfilling(&mut self, objects: &BitSet, condition: &Step) -> Result<BitSet, Error> {
        self.check_fields(condition)?;
        let analysis = self.session.analysis()?;
        self.session.records().open()?;
        let steps = std::slice::from_ref(condition);
        let context = Context::new(
            self.graph,
            &analysis.dominators,
            self.session.records(),
            self.session.progress(),
        )
        .with_members(self.session.members_for(steps)?);
        let tree = Tree::new(self.graph, objects, &context.levels_of(steps, objects)?);
        Ok(tree.objects(self.session.state(), OVERALL))
    }

    /// A field that no class has is a mistake; one whose values are not there cannot be asked for.
    fn check_fields(&mut self, condition: &Step) -> Result<(), Error> {
        let session = self.session;
        for name in condition.fields() {
            let all = session.state().classes().iter();
            let mut fields = all.clone().flat_map(|class| &class.fields);
            let types: Vec<FieldType> = fields
                .by_ref()
                .filter(|field| field.name == name)
                .map(|field| field.ty)
                .collect();
            if types.is_empty() {
                let names = all.flat_map(|class| &class.fields);
                let meant = closest(name, names.map(|field| field.name.as_str()));
                let meant = did_you_mean(meant);
                self.note(format!("no class has a field `{name}`{meant}"));
            } else if !types.iter().any(|&ty| session.records().has(ty)) {
                return Err(Error::NotRecorded("the values of fields"));
            }
        }
        Ok(())
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
