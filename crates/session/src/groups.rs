//! Object groups: any set of objects, said in a small language, measured, and kept under a name.

mod kept;
mod language;

use anthill_classify::{Context, Definitions, OVERALL, Step, Tree, TreeNodeId};
use anthill_graph::{
    Graph, GroupTotals, NodeId, cut_closure, gc_closure_among, transitive_closure,
};
use anthill_heap::{BitSet, Class, ClassId, ObjectId, Value, both};
use anthill_syntax::{Mistake, Pattern};
use std::cmp::Reverse;

use self::language::{Combination, Derived, GroupExpr, GroupKind};
use crate::{Error, Grouping, Session};

pub use kept::KeptGroup;
pub(crate) use kept::is_kept_group;

/// What a group has, reaches and retains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMetrics {
    /// How many objects.
    pub objects: u64,
    /// Their own bytes.
    pub shallow: u64,
    /// All that they reach, themselves included.
    pub deep: GroupTotals,
    /// All that would die with them, themselves included.
    pub retained: GroupTotals,
}

/// What a group reaches and what would be freed with it, itself included.
pub struct Closures {
    /// The same, counted.
    pub metrics: GroupMetrics,
    /// All that the group reaches.
    pub reached: BitSet,
    /// All that would die with the group.
    pub retained: BitSet,
}

/// Finds mistakes in a group expression, without a heap.
pub fn check_group(text: &str, definitions: &Definitions) -> Result<(), Error> {
    parse(text, definitions).map(drop)
}

/// Finds mistakes in the groups of definitions, without a heap.
pub fn check_defined_groups(definitions: &Definitions) -> Result<(), Error> {
    for (place, group) in definitions.groups().iter().enumerate() {
        language::parse_defined(place, definitions).map_err(|mistake| {
            let origin = format!("{}, group {}", group.origin, group.name);
            Error::Mistake(mistake.show(&origin, &group.text))
        })?;
    }
    Ok(())
}

fn parse(text: &str, definitions: &Definitions) -> Result<GroupExpr, Error> {
    let mistaken = |mistake: Mistake| Error::Mistake(mistake.show("group", text));
    language::parse(text, definitions).map_err(mistaken)
}

impl Session {
    /// The group that an expression describes; `docs/groups.md` has the language.
    pub fn group(&self, text: &str, definitions: &Definitions) -> Result<BitSet, Error> {
        let expression = parse(text, definitions)?;
        let graph = self.graph();
        let evaluation = Evaluation {
            session: self,
            graph: &graph,
            text,
        };
        evaluation.group(&expression)
    }

    /// What a group has, reaches and retains.
    pub fn measure(&self, group: &BitSet) -> Result<GroupMetrics, Error> {
        Ok(self.closures(group)?.metrics)
    }

    /// All that a group reaches and retains, and how much that is.
    pub fn closures(&self, group: &BitSet) -> Result<Closures, Error> {
        self.progress().stage("measuring the group", 0);
        let graph = self.graph();
        let all = self.analysis()?.dominators.reachable();
        let members: Vec<NodeId> = group.iter().collect();
        let (reached, mut retained) = both(
            || transitive_closure(&graph, &members),
            || gc_closure_among(&graph, all, &members),
        );
        // An unreachable object retains itself.
        members.iter().for_each(|&object| retained.insert(object));
        let own = graph.totals(group);
        Ok(Closures {
            metrics: GroupMetrics {
                objects: own.objects,
                shallow: own.bytes,
                deep: graph.totals(&reached),
                retained: graph.totals(&retained),
            },
            reached: self.objects_in(reached),
            retained: self.objects_in(retained),
        })
    }

    /// All objects that would be freed if every reference from one group to another were cut.
    pub fn freed_by_cutting(&self, from: &BitSet, to: &BitSet) -> Result<BitSet, Error> {
        let reachable = self.analysis()?.dominators.reachable();
        Ok(self.objects_in(cut_closure(&self.graph(), reachable, from, to)))
    }

    /// How many references lead from the objects of one group to those of another.
    pub fn references_between(&self, from: &BitSet, to: &BitSet) -> u64 {
        let graph = self.graph();
        let of = |object| {
            let inside = graph.successors(object).filter(|&node| to.contains(node));
            inside.count() as u64
        };
        from.iter().map(of).sum()
    }

    /// All objects that a group reaches through references, itself included.
    pub fn reached(&self, group: &BitSet) -> BitSet {
        let members: Vec<NodeId> = group.iter().collect();
        self.objects_in(transitive_closure(&self.graph(), &members))
    }

    /// All objects that would be freed with a group, itself included.
    pub fn retained(&self, group: &BitSet) -> Result<BitSet, Error> {
        let members: Vec<NodeId> = group.iter().collect();
        let all = self.analysis()?.dominators.reachable();
        let mut retained = self.objects_in(gc_closure_among(&self.graph(), all, &members));
        retained.union_with(group);
        Ok(retained)
    }

    /// What would be freed if all objects of these classes were gone, exactly. `objects` are
    /// all of them.
    pub fn retained_by(&self, classes: &[ClassId], objects: &[NodeId]) -> Result<u64, Error> {
        if let [class] = classes {
            return Ok(self.analysis()?.rows(Grouping::Class)[*class as usize].retained);
        }
        self.progress().stage("adding up retained sizes", 0);
        let graph = self.graph();
        let all = self.analysis()?.dominators.reachable();
        Ok(graph.totals(&gc_closure_among(&graph, all, objects)).bytes)
    }

    /// The objects that GC roots and static fields refer to and from which references lead to the
    /// group: those that keep alive, or references of any strength.
    pub fn roots_of(&self, group: &BitSet, any_strength: bool) -> Result<BitSet, Error> {
        let analysis = self.analysis()?;
        let graph = self.graph();
        let context = Context::new(
            &graph,
            &analysis.dominators,
            self.records(),
            self.progress(),
        );
        Ok(context.roots_reaching(group, any_strength)?)
    }

    /// The same for references that keep alive, and for those of any strength.
    pub fn roots_of_both_kinds(&self, group: &BitSet) -> Result<(BitSet, BitSet), Error> {
        let dominators = &self.analysis()?.dominators;
        let graph = self.graph();
        let context = Context::new(&graph, dominators, self.records(), self.progress());
        Ok(context.roots_reaching_by_both(group)?)
    }

    /// MAT's stand-in for the boot loader is no object.
    fn objects_in(&self, nodes: BitSet) -> BitSet {
        nodes.resized(self.state().len() as usize)
    }
}

/// A group expression on a heap.
struct Evaluation<'a> {
    session: &'a Session,
    graph: &'a Graph<'a>,
    text: &'a str,
}

impl Evaluation<'_> {
    fn group(&self, expression: &GroupExpr) -> Result<BitSet, Error> {
        self.session.progress().check()?;
        match &expression.kind {
            GroupKind::Name(name) => self.named(name, expression.at),
            GroupKind::Class(pattern) => {
                let found = self.of_classes(pattern)?;
                found.ok_or_else(|| self.no_class(pattern, expression.at))
            }
            GroupKind::ClassObjects(pattern) => self.class_objects(pattern, expression.at),
            GroupKind::Object(address) => {
                let object = self.session.state().addresses.find(*address);
                let object = object.ok_or_else(|| {
                    let message = format!("no object at {address:#x} in this dump");
                    self.nothing(expression.at, message)
                })?;
                Ok(self.collect([object]))
            }
            GroupKind::Static(class, field) => self.static_field(class, field, expression.at),
            GroupKind::Where(condition) => {
                let all = self.session.objects_of(|_| true, false)?;
                Ok(self
                    .tree(&all, std::slice::from_ref(condition))?
                    .objects(self.session.state(), OVERALL))
            }
            GroupKind::All => self.session.objects_of(|_| true, false),
            GroupKind::Unreachable => {
                let mut objects = self.session.objects_of(|_| true, true)?;
                objects.subtract(&self.session.objects_of(|_| true, false)?);
                Ok(objects)
            }
            GroupKind::Of(derived, of) => self.derived(*derived, &self.group(of)?),
            GroupKind::Node {
                steps,
                path,
                path_at,
                of,
            } => self.node(&self.group(of)?, steps, path, *path_at),
            GroupKind::Defined(defined) => {
                let text = &defined.text;
                Evaluation { text, ..*self }.group(&defined.group)
            }
            GroupKind::Combined(first, rest) => {
                let mut group = self.group(first)?;
                for (combination, other) in rest {
                    let other = self.group(other)?;
                    match combination {
                        Combination::Union => group.union_with(&other),
                        Combination::Intersection => group.intersect_with(&other),
                        Combination::Difference => group.subtract(&other),
                    }
                }
                Ok(group)
            }
        }
    }

    fn derived(&self, derived: Derived, group: &BitSet) -> Result<BitSet, Error> {
        Ok(match derived {
            Derived::Reached => self.session.reached(group),
            Derived::Retained => self.session.retained(group)?,
            Derived::Roots => self.session.roots_of(group, false)?,
            Derived::References => self.collect(
                group
                    .iter()
                    .flat_map(|object| self.graph.referenced(object)),
            ),
            Derived::Referrers => {
                let dominators = &self.session.analysis()?.dominators;
                let refers = |from: &ObjectId| {
                    let mut references = self.graph.referenced(*from);
                    dominators.is_reachable(*from) && references.any(|to| group.contains(to))
                };
                self.collect((0..self.session.state().len()).filter(refers))
            }
            Derived::Dominators => {
                let immediate: &[NodeId] = &self.session.analysis()?.dominators.immediate;
                self.collect(group.iter().map(|object| immediate[object as usize]))
            }
        })
    }

    /// These nodes, as far as they are objects.
    fn collect(&self, nodes: impl IntoIterator<Item = NodeId>) -> BitSet {
        let mut group = BitSet::new(self.session.state().len() as usize);
        nodes.into_iter().for_each(|node| group.insert(node));
        group
    }

    fn named(&self, name: &str, at: usize) -> Result<BitSet, Error> {
        if let Some(kept) = self.session.kept_group(name) {
            return Ok(kept.objects);
        }
        if let Some(objects) = self.of_classes(name)? {
            return Ok(objects);
        }
        match name.rsplit_once('.') {
            Some((class, field)) if self.classes_called(class).next().is_some() => {
                self.static_field(class, field, at)
            }
            _ if self.session.kept_groups().1.iter().any(|kept| kept == name) => {
                let message =
                    format!("the saved group `{name}` belongs to another dump or is damaged");
                Err(self.nothing(at, message))
            }
            _ => Err(self.no_class(name, at)),
        }
    }

    /// The reachable objects of classes that fit; `None` if no class does.
    fn of_classes(&self, pattern: &str) -> Result<Option<BitSet>, Error> {
        let pattern = Pattern::class(pattern);
        let mut classes = self.session.state().classes().iter();
        if !classes.any(|class| pattern.matches(&class.name)) {
            return Ok(None);
        }
        let objects = self
            .session
            .objects_of(|name| pattern.matches(name), false)?;
        Ok(Some(objects))
    }

    fn class_objects(&self, pattern: &str, at: usize) -> Result<BitSet, Error> {
        let state = self.session.state();
        let fits = Pattern::class(pattern);
        let stands_for = |&object: &ObjectId| {
            let class = state.mirrored(object);
            class.is_some_and(|class| fits.matches(&state.classes()[class as usize].name))
        };
        let group = self.collect((0..state.len()).filter(stands_for));
        match group.is_empty() {
            true => Err(self.no_class(pattern, at)),
            false => Ok(group),
        }
    }

    fn no_class(&self, pattern: &str, at: usize) -> Error {
        let classes = self.session.state().classes().iter();
        let message =
            Pattern::class(pattern).no_match("class", classes.map(|class| class.name.as_str()));
        self.nothing(at, message)
    }

    /// The classes of that name, with or without their package.
    fn classes_called(&self, name: &str) -> impl Iterator<Item = &Class> {
        let simple = move |class: &Class| {
            let before = class.name.strip_suffix(name);
            before.is_some_and(|before| before.is_empty() || before.ends_with(['.', '$']))
        };
        let classes = self.session.state().classes().iter();
        classes.filter(move |class| simple(class))
    }

    fn static_field(&self, class: &str, field: &str, at: usize) -> Result<BitSet, Error> {
        let mut values = Vec::new();
        let mut fields = Vec::new();
        for class in self.classes_called(class) {
            for known in &class.statics {
                if known.name == field {
                    values.push(known.value);
                } else {
                    fields.push(known.name.as_str());
                }
            }
        }
        if values.is_empty() {
            let message = if self.classes_called(class).next().is_none() {
                return Err(self.no_class(class, at));
            } else if fields.is_empty() {
                format!("{class} has no static fields")
            } else {
                fields.truncate(20);
                format!(
                    "{class} has no static field `{field}`; it has {}",
                    fields.join(", ")
                )
            };
            return Err(self.nothing(at, message));
        }
        let objects = values.iter().filter_map(|value| match value {
            Value::Object(address) => self.session.state().addresses.find(*address),
            _ => None,
        });
        Ok(self.collect(objects))
    }

    fn tree(&self, group: &BitSet, steps: &[Step]) -> Result<Tree, Error> {
        let analysis = self.session.analysis()?;
        let context = Context::new(
            self.graph,
            &analysis.dominators,
            self.session.records(),
            self.session.progress(),
        )
        .with_members(self.session.members_for(steps)?);
        Ok(Tree::new(
            self.graph,
            group,
            &context.levels_of(steps, group)?,
        ))
    }

    fn node(&self, group: &BitSet, steps: &[Step], path: &str, at: usize) -> Result<BitSet, Error> {
        let tree = self.tree(group, steps)?;
        let node = tree
            .find(path)
            .map_err(|(last, rest)| self.nothing(at, no_node(&tree, last, rest)))?;
        Ok(tree.objects(self.session.state(), node))
    }

    fn nothing(&self, at: usize, message: impl Into<String>) -> Error {
        let mistake = Mistake::at(self.text, at, message);
        Error::NothingFound(mistake.show("group", self.text))
    }
}

/// What to say when a tree has no node for the rest of a path: the largest there are.
pub fn no_node(tree: &Tree, last: TreeNodeId, rest: &str) -> String {
    const SHOWN: usize = 5;
    let node = tree.node(last);
    let mut children: Vec<_> = node
        .children
        .iter()
        .map(|&child| tree.node(child))
        .collect();
    children.sort_by_key(|child| (Reverse(child.shallow), &child.key));
    let keys: Vec<&str> = children.iter().map(|child| child.key.as_str()).collect();
    let below = match last {
        OVERALL => "at the top".to_owned(),
        _ => format!("below `{}`", node.key),
    };
    match keys[..] {
        [] => format!("no `{rest}` {below}: there is nothing"),
        _ if keys.len() <= SHOWN => {
            format!("no `{rest}` {below}, only {}", keys.join(", "))
        }
        _ => format!(
            "no `{rest}` {below}; the largest of {} there are {}",
            keys.len(),
            keys[..SHOWN].join(", ")
        ),
    }
}
