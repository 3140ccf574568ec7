//! Classifiers by GC roots: which refer to an object, which reach it, which is closest, and which
//! single object above it keeps it alive. Static fields count as roots of what they refer to.

use std::collections::VecDeque;

use anthill_graph::{Components, NodeId, Paths, ROOT, UNREACHABLE};
use anthill_heap::{
    BitSet, Buffer, Cancelled, ClassKind, ObjectId, Root, RootKind, RootOrigin, Value,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Context;
use crate::catalog::{Call, What};
use crate::error::Error;
use crate::unions::{TooMany, Unions};
use crate::values::{Assignment, Classified, LabelId, PathId, Values};

/// Paths of the roots that refer to an object, by object.
type RootPaths = FxHashMap<ObjectId, Vec<PathId>>;

/// How objects are classified by roots, as a person says it after the name of the classifier.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct RootOptions {
    /// One root an object instead of all.
    first: bool,
    /// Only static fields, local variables and JNI locals.
    variables: bool,
    /// Objects without such a root are in no group instead of one of their own.
    hide: bool,
}

impl RootOptions {
    /// The options of `rooted` or `indirectly-rooted`: words separated by commas or blanks.
    pub(crate) fn of(step: &Call) -> Result<Self, String> {
        let indirectly = step.what == What::IndirectlyRooted;
        let separators = |c: char| c == ',' || c.is_whitespace();
        let words = step.argument.as_deref().unwrap_or_default();
        let mut options = RootOptions::default();
        for word in words.split(separators).filter(|word| !word.is_empty()) {
            match word {
                "variables" => options.variables = true,
                "hide" => options.hide = true,
                "all" if indirectly => options.first = false,
                "first" if indirectly => options.first = true,
                _ => {
                    let more = if indirectly { "all, first, " } else { "" };
                    return Err(format!(
                        "`{word}` is not an option of `{}`; the options are {more}variables and \
                        hide",
                        step.entry().name
                    ));
                }
            }
        }
        Ok(options)
    }

    /// The label of objects without a root.
    fn none(&self, values: &mut Values, key: &str) -> LabelId {
        if self.hide {
            values.label(Vec::new())
        } else {
            values.one(key)
        }
    }
}

/// So often it is looked for what else leads somewhere if references of any strength count; where that is not the end of it,
/// all is looked at anew.
const MOST_PASSES: usize = 6;

/// Objects with more roots than this are one group: nobody reads longer lists, and long ones are
/// what makes sets of roots expensive. Where they still are, the next smaller number is taken.
const MOST_ROOTS: [usize; 4] = [1000, 300, 100, 10];

impl Context<'_> {
    /// The paths of all roots, or of those that are variables.
    fn root_paths(&self, values: &mut Values, variables: bool) -> RootPaths {
        let state = self.state();
        let mut paths = RootPaths::default();
        for (id, class) in (0..).zip(state.classes()) {
            let loaded = class
                .mirror
                .is_none_or(|mirror| self.dominators.is_reachable(mirror));
            let name = self.unambiguous_name(id);
            for field in class.statics.iter().filter(|_| loaded) {
                let Value::Object(address) = field.value else {
                    continue;
                };
                let Some(object) = state.addresses.find(address) else {
                    continue;
                };
                let path = values.path(["static field", &name, &field.name]);
                paths.entry(object).or_default().push(path);
            }
        }
        // MAT does not know all of them.
        let counts = |root: &&Root| self.graph.counts(root);
        for root in state.tables.roots.iter().filter(counts) {
            let variable = matches!(root.origin, RootOrigin::JavaFrame | RootOrigin::JniLocal);
            if variable || !variables {
                let path = self.root_path(values, root);
                paths.entry(root.object).or_default().push(path);
            }
        }
        paths
    }

    fn root_path(&self, values: &mut Values, root: &Root) -> PathId {
        let tables = &self.state().tables;
        let thread = root.thread.map(|thread| &tables.threads[thread as usize]);
        let name = thread.map(super::thread_name);
        let frame = thread.and_then(|thread| {
            let trace = &tables.traces[thread.trace? as usize];
            let frame = &tables.frames[*trace.frames.get(root.frame? as usize)? as usize];
            Some(format!("{}.{}", frame.class, frame.method))
        });
        let kind = match root.kind() {
            RootKind::LocalVariable => "local variable",
            _ => root.origin.label(),
        };
        let keys = [Some(kind), name.as_deref(), frame.as_deref()];
        values.path(keys.into_iter().flatten())
    }

    pub(super) fn rooted(&self, step: &Call) -> Result<Classified, Error> {
        let options = RootOptions::of(step).map_err(|reason| step.error(reason))?;
        let mut values = Values::default();
        let mut of_object = self.root_paths(&mut values, options.variables);
        let key = if options.variables {
            "not directly referenced by any variable"
        } else {
            "not directly rooted"
        };
        let none = options.none(&mut values, key);
        let state = self.state();
        let labels = (0..state.len()).map(|object| {
            of_object
                .remove(&object)
                .map_or(none, |paths| values.label(paths))
        });
        let labels = Buffer::collect(state.len() as usize, labels);
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    pub(super) fn indirectly_rooted(&self, step: &Call) -> Result<Classified, Error> {
        let options = RootOptions::of(step).map_err(|reason| step.error(reason))?;
        let ways = Ways::new(self);
        let (mut values, mut labels) = if options.first {
            self.first_roots(&ways, options.variables)
        } else {
            let edge = |node, index| ways.number(node, index);
            let components = Components::new(self.graph.len(), edge, self.progress)?;
            self.progress.stage("finding roots", 0);
            let sets = |most| self.all_roots(&ways, &components, options.variables, most);
            let found = MOST_ROOTS.into_iter().find_map(|most| sets(most).ok());
            found.ok_or_else(|| step.error(TooMany.reason()))?
        };
        let key = if options.variables {
            "not reached from any variable"
        } else {
            "reached through classes only"
        };
        let none = options.none(&mut values, key);
        let dead = options.none(&mut values, "not reachable");
        labels.truncate(self.state().len() as usize);
        let labelled = labels.iter_mut().zip(0..);
        for (label, object) in labelled.filter(|(label, _)| **label == UNKNOWN) {
            *label = if self.dominators.is_reachable(object) {
                none
            } else {
                dead
            };
        }
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    /// The roots to start from: those of objects that are alive.
    fn live_roots(&self, values: &mut Values, variables: bool) -> RootPaths {
        let mut roots = self.root_paths(values, variables);
        roots.retain(|&object, _| self.dominators.is_reachable(object));
        roots
    }

    /// By node: the first root that a search from all of them at once comes from.
    fn first_roots(&self, ways: &Ways, variables: bool) -> (Values, Buffer<LabelId>) {
        let mut values = Values::default();
        let mut labels = Buffer::filled(self.graph.len() as usize, UNKNOWN);
        let mut roots: Vec<_> = self
            .live_roots(&mut values, variables)
            .into_iter()
            .collect();
        roots.sort_unstable();
        let mut queue = VecDeque::new();
        for (object, paths) in roots {
            labels[object as usize] = values.label(vec![paths[0]]);
            queue.push_back(object);
        }
        while let Some(node) = queue.pop_front() {
            for to in ways.all(node) {
                if labels[to as usize] == UNKNOWN {
                    labels[to as usize] = labels[node as usize];
                    queue.push_back(to);
                }
            }
        }
        (values, labels)
    }

    /// By node: all roots that reach it, up to `most`.
    fn all_roots(
        &self,
        ways: &Ways,
        components: &Components,
        variables: bool,
        most: usize,
    ) -> Result<(Values, Buffer<LabelId>), TooMany> {
        let mut values = Values::default();
        let roots = self.live_roots(&mut values, variables);
        let mut sets = RootSets {
            empty: values.label(Vec::new()),
            more: values.one(&format!("reached from more than {most} roots")),
            most,
            unions: Unions::of(values),
        };
        let labels = sets.flow(components, ways, &roots)?;
        Ok((sets.unions.values, labels))
    }

    /// The objects that live GC roots or static fields refer to, and from which references lead to
    /// an object of the group: those that keep alive, or references of any strength.
    pub fn roots_reaching(&self, group: &BitSet, any_strength: bool) -> Result<BitSet, Error> {
        let ways = Ways {
            any_strength,
            ..Ways::new(self)
        };
        Ok(self.live_roots_in(&Leading::new(&ways, group)?))
    }

    /// The same for references that keep alive, and for those of any strength. The latter lead to the group
    /// from where the former do, and from a little more.
    pub fn roots_reaching_by_both(&self, group: &BitSet) -> Result<(BitSet, BitSet), Error> {
        let ways = Ways::new(self);
        let mut leading = Leading::new(&ways, group)?;
        let keeping = self.live_roots_in(&leading);
        for _ in 0..MOST_PASSES {
            self.progress.check()?;
            if !leading.add_feeble_referrers() {
                let reaching = self.live_roots_in(&leading);
                return Ok((keeping, reaching));
            }
            leading.spread();
        }
        Ok((keeping, self.roots_reaching(group, true)?))
    }

    fn live_roots_in(&self, leading: &Leading) -> BitSet {
        let mut roots = BitSet::new(self.state().len() as usize);
        let live = self.live_roots(&mut Values::default(), false);
        let live = live.keys().filter(|&&root| leading.contains(root));
        live.for_each(|&root| roots.insert(root));
        roots
    }

    /// The last static field or GC root on the shortest path to each object.
    pub(super) fn closest_root(&self) -> Result<Classified, Cancelled> {
        let mut values = Values::default();
        let of_object = self.root_paths(&mut values, false);
        let paths = Paths::search(self.graph, &[], self.progress)?;
        let none = values.one("not reachable");
        let state = self.state();
        let mut labels = Buffer::filled(self.graph.len() as usize, UNKNOWN);
        let known: &mut [LabelId] = &mut labels;
        let mut way = Vec::new();
        for object in 0..state.len() {
            let mut at = object;
            let label = loop {
                if known[at as usize] != UNKNOWN {
                    break known[at as usize];
                }
                way.push(at);
                if let Some(paths) = of_object.get(&at) {
                    break values.label(vec![paths[0]]);
                }
                match paths.before(at) {
                    Some(Some(before)) => at = before,
                    // The only root that the source does not know: MAT's stand-in for the boot loader.
                    Some(None) => break values.one("boot loader"),
                    None => break none,
                }
            };
            for passed in way.drain(..) {
                known[passed as usize] = label;
            }
        }
        labels.truncate(state.len() as usize);
        Ok(Classified {
            values,
            of: Assignment::ByObject(labels),
        })
    }

    pub(super) fn dominating_root(&self) -> Classified {
        let state = self.state();
        let immediate: &[u32] = &self.dominators.immediate;
        let mut outermost: FxHashMap<ObjectId, LabelId> = FxHashMap::default();
        let mut top = Buffer::filled(state.len() as usize, u32::MAX);
        let tops: &mut [u32] = &mut top;
        let mut way = Vec::new();
        for object in 0..state.len() {
            let mut at = object;
            let found = loop {
                if tops[at as usize] != u32::MAX {
                    break tops[at as usize];
                }
                way.push(at);
                match immediate[at as usize] {
                    ROOT => break at,
                    UNREACHABLE => break UNREACHABLE,
                    above if above >= state.len() => break at,
                    above => at = above,
                }
            };
            way.drain(..)
                .for_each(|passed| tops[passed as usize] = found);
        }
        self.by_object(|values, object| {
            let top = tops[object as usize];
            *outermost.entry(top).or_insert_with(|| match top {
                UNREACHABLE => values.one("not reachable"),
                top => values.one(&self.object_name(top)),
            })
        })
    }
}

const UNKNOWN: LabelId = LabelId::MAX;

/// Sets of roots as labels.
struct RootSets {
    unions: Unions,
    empty: LabelId,
    /// The label of objects with more roots than `most`, which swallows every other.
    more: LabelId,
    most: usize,
}

impl RootSets {
    /// Lets the roots flow along the ways, component by component. By node: the roots that reach it,
    /// [`UNKNOWN`] if there are none.
    fn flow(
        &mut self,
        components: &Components,
        ways: &Ways,
        seeds: &RootPaths,
    ) -> Result<Buffer<LabelId>, TooMany> {
        let mut reaching = Buffer::filled(components.len(), self.empty);
        let mut labels = Buffer::filled(components.len(), UNKNOWN);
        for members in components.iter().rev() {
            let component = components.of(members[0]);
            let mut set = reaching[component];
            for paths in members.iter().filter_map(|node| seeds.get(node)) {
                let roots = self.unions.values.label(paths.clone());
                set = self.union(set, roots)?;
            }
            if set == self.empty {
                continue;
            }
            for &node in members {
                labels[node as usize] = set;
                for to in ways.all(node).map(|to| components.of(to)) {
                    if to != component {
                        reaching[to] = self.union(reaching[to], set)?;
                    }
                }
            }
        }
        Ok(labels)
    }

    fn union(&mut self, a: LabelId, b: LabelId) -> Result<LabelId, TooMany> {
        if a == self.more || b == self.more {
            return Ok(self.more);
        }
        let union = self.unions.two(a, b)?;
        if self.unions.values.paths(union).len() > self.most {
            return Ok(self.more);
        }
        Ok(union)
    }
}

/// The objects from which ways lead to a group.
struct Leading<'a> {
    ways: &'a Ways<'a>,
    components: Components,
    /// By component.
    found: BitSet,
}

impl<'a> Leading<'a> {
    fn new(ways: &'a Ways<'a>, group: &BitSet) -> Result<Self, Cancelled> {
        let context = ways.context;
        let edge = |node, index| ways.number(node, index);
        let components = Components::new(context.graph.len(), edge, context.progress)?;
        context.progress.stage("finding roots", 0);
        let mut found = BitSet::new(components.len());
        group
            .iter()
            .for_each(|object| found.insert(components.of(object) as u32));
        let mut leading = Leading {
            ways,
            components,
            found,
        };
        leading.spread();
        Ok(leading)
    }

    fn contains(&self, node: NodeId) -> bool {
        self.found.contains(self.components.of(node) as u32)
    }

    /// Adds all from which ways lead to what is there. Where ways lead to comes first, so once is enough.
    fn spread(&mut self) {
        for members in self.components.iter() {
            let component = self.components.of(members[0]) as u32;
            if self.found.contains(component) {
                continue;
            }
            let leads = |&node: &NodeId| self.ways.all(node).any(|to| self.contains(to));
            if members.iter().any(leads) {
                self.found.insert(component);
            }
        }
    }

    /// Adds objects that refer to what is there by references that do not keep alive; whether there are any.
    fn add_feeble_referrers(&mut self) -> bool {
        let columns = &self.ways.context.state().columns;
        let (from, to): (&[u32], &[u32]) = (&columns.referrers_by_referent, &columns.referents);
        let new: Vec<NodeId> = from
            .iter()
            .zip(to)
            .filter(|&(&from, &to)| self.contains(to) && !self.contains(from))
            .map(|(&from, _)| from)
            .collect();
        for &node in &new {
            self.found.insert(self.components.of(node) as u32);
        }
        !new.is_empty()
    }
}

/// References between objects, except from class objects to what their static fields refer to: those
/// fields are roots of their own.
struct Ways<'a> {
    context: &'a Context<'a>,
    /// By class: whether its objects are class objects.
    mirrors: Vec<bool>,
    /// References of class objects that are no static fields, where there are any.
    others: FxHashMap<ObjectId, Vec<ObjectId>>,
    /// Referents that are not kept alive too.
    any_strength: bool,
}

impl<'a> Ways<'a> {
    fn new(context: &'a Context<'a>) -> Self {
        let state = context.state();
        let kinds = state.classes().iter().map(|class| class.kind);
        let mut others = FxHashMap::default();
        for class in state.classes() {
            let Some(mirror) = class.mirror else { continue };
            let statics: FxHashSet<ObjectId> = class
                .statics
                .iter()
                .filter_map(|field| match field.value {
                    Value::Object(address) => state.addresses.find(address),
                    _ => None,
                })
                .collect();
            let references = state.references(mirror).iter().copied();
            let rest: Vec<ObjectId> = references.filter(|to| !statics.contains(to)).collect();
            if !rest.is_empty() {
                others.insert(mirror, rest);
            }
        }
        Ways {
            context,
            mirrors: kinds.map(|kind| kind == ClassKind::Mirror).collect(),
            others,
            any_strength: false,
        }
    }

    fn references(&self, node: NodeId) -> &[ObjectId] {
        let graph = self.context.graph;
        let mirror = graph
            .class(node)
            .is_some_and(|class| self.mirrors[class as usize]);
        if mirror {
            self.others.get(&node).map_or(&[], Vec::as_slice)
        } else {
            graph.references(node)
        }
    }

    fn all(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.references(node)
            .iter()
            .copied()
            .chain(self.further(node))
    }

    fn further(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let graph = self.context.graph;
        let feeble = (self.any_strength && node < graph.state.len())
            .then(|| graph.state.referent(node))
            .flatten()
            .filter(|&(_, strength)| !graph.convention.keeps(strength));
        let extra = graph.extra_references(node);
        extra.chain(feeble.map(|(referent, _)| referent))
    }

    /// Number `index` of [`Ways::all`].
    #[inline]
    fn number(&self, node: NodeId, index: usize) -> Option<NodeId> {
        let references = self.references(node);
        match references.get(index) {
            Some(&to) => Some(to),
            None => self.further(node).nth(index - references.len()),
        }
    }
}
