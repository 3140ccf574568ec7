//! The suspects of a heap: single objects and class loaders where memory accumulates, owners that
//! keep a class alive together, and classes that nobody in particular keeps alive.

use anthill_graph::{Dominators, FrontOptions, Graph, NodeId, UNREACHABLE, gc_closure_among};
use anthill_heap::{BitSet, Cancelled, ClassId, Progress};
use anthill_session::{Error, Grouping, Session, package_group};
use anthill_structures::Structures;
use serde::Serialize;

use crate::accumulation::Large;
use crate::alike::add_alike;
use crate::loaders::add_stopped_loaders;
use crate::outside::count_outside;
use crate::owners::{Owners, owners_of};
use crate::roles::Roles;

/// Of so many classes at most the owners are looked for.
const MOST_CLASSES: usize = 6;
/// Packages that are looked at in the same way, after them.
const MOST_PACKAGES: usize = 8;

/// Shares of the reachable heap, or of what something retains, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Thresholds {
    /// What an object or class loader retains at least.
    pub object: f64,
    /// What the objects of a class retain together at least.
    pub class: f64,
    /// From here on a suspect is [`Severity::High`].
    pub high: f64,
    /// What passes on more than this to one child is not where memory accumulates.
    pub pass_through: f64,
    /// What is explained to this share by others is not a suspect itself.
    pub explained: f64,
    /// How many single objects are named at most.
    pub most: usize,
    /// How many owners are named together at most.
    pub owners: usize,
}

impl Thresholds {
    /// Those that hold unless somebody chooses others.
    pub const USUAL: Thresholds = Thresholds {
        object: 5.0,
        class: 10.0,
        high: 30.0,
        pass_through: 90.0,
        explained: 80.0,
        most: 10,
        owners: 16,
    };
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds::USUAL
    }
}

impl Thresholds {
    /// How severe it is to retain so much of the reachable heap.
    pub fn severity(&self, retained: u64, reachable: u64) -> Severity {
        if retained as f64 > reachable as f64 * self.high / 100.0 {
            Severity::High
        } else {
            Severity::Medium
        }
    }
}

/// How much of the heap a suspect retains, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Enough to look at.
    Medium,
    /// So much that the program is in danger.
    High,
}

/// Who is suspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A class loader with all that was loaded and made by it.
    Loader(NodeId),
    /// One object that keeps much alive alone.
    Object(NodeId),
    /// Objects none of which keeps alive alone what they keep alive together.
    Owners(Vec<NodeId>),
    /// All objects of a class.
    Class(ClassId),
    /// Objects that are held in the same way, each of which keeps little alive.
    Alike(Vec<NodeId>),
}

impl Subject {
    /// All that would die with it.
    pub(crate) fn closure(
        &self,
        session: &Session,
        graph: &Graph,
        dominators: &Dominators,
    ) -> BitSet {
        let reachable = dominators.reachable();
        match self {
            Subject::Loader(node) | Subject::Object(node) => dominators.dominated_by(&[*node]),
            Subject::Owners(owners) | Subject::Alike(owners) => {
                gc_closure_among(graph, reachable, owners)
            }
            Subject::Class(class) => {
                let objects: Vec<NodeId> = session.objects_of_class(*class).collect();
                gc_closure_among(graph, reachable, &objects)
            }
        }
    }
}

/// The objects that owners keep alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What they have in common.
    pub group: KeptGroup,
    /// How many.
    pub objects: u64,
    /// Bytes of them that would die with the owners, and all.
    pub covered: (u64, u64),
}

/// What objects that are kept alive have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptGroup {
    /// Their class.
    Class(ClassId),
    /// The number of their package among the packages of the analysis.
    Package(u32),
}

impl KeptGroup {
    /// The name of the class or package.
    pub fn name(self, session: &Session) -> String {
        match self {
            KeptGroup::Class(class) => session.state().classes()[class as usize].name.clone(),
            KeptGroup::Package(package) => {
                let packages = session
                    .analysis()
                    .map(|analysis| &analysis.groups().packages);
                let name = packages.ok().and_then(|names| names.get(package as usize));
                format!("package {}", name.map_or("", String::as_str))
            }
        }
    }
}

/// Where memory accumulates, and how much.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Who keeps it alive.
    pub subject: Subject,
    /// Bytes that would die with the subject.
    pub retained: u64,
    /// Bytes outside of the heap that would be freed with the subject, where they are many.
    pub outside: u64,
    /// How bad that is.
    pub severity: Severity,
    /// The object below which memory fans out.
    pub accumulation: Option<NodeId>,
    /// Of which class or package the objects are that were found to be kept.
    pub kept: Option<Kept>,
}

/// All suspects of a heap.
pub struct Suspects {
    /// The most severe first, and of these certain leaks (class loaders of stopped components), then those that keep most.
    pub suspects: Vec<Suspect>,
    /// Objects that retain much because the suspects are below them, outermost first.
    pub context: Vec<NodeId>,
}

/// What is known of the heap.
struct Input<'a> {
    /// The reachable heap.
    graph: &'a Graph<'a>,
    /// Who keeps what alive alone.
    dominators: &'a Dominators,
    /// By class: its reachable objects and what they retain together.
    classes: &'a [(u64, u64)],
    /// By package: the same.
    packages: &'a [(u64, u64)],
    /// By class: its package.
    package_of: &'a [u32],
    /// Bytes of the reachable heap.
    reachable: u64,
    /// What is part of what, where that is known.
    structures: Option<&'a Structures>,
    /// Who watches.
    progress: &'a dyn Progress,
}

/// Finds the suspects of a heap, without explaining them.
pub fn suspects(session: &Session, thresholds: &Thresholds) -> Result<Suspects, Error> {
    let analysis = session.analysis()?;
    let graph = session.owners_graph()?;
    let rows = |grouping| -> Vec<(u64, u64)> {
        let rows = analysis.rows(grouping).iter();
        rows.map(|row| (row.objects - row.unreachable_objects, row.retained))
            .collect()
    };
    let names = &analysis.groups().packages;
    let package_of: Vec<u32> = session
        .state()
        .classes()
        .iter()
        .map(|class| {
            let package = package_group(class);
            let found = names.binary_search_by(|name| name.as_str().cmp(package));
            found.unwrap_or_default() as u32
        })
        .collect();
    let input = Input {
        graph: &graph,
        dominators: session.owner_dominators()?,
        classes: &rows(Grouping::Class),
        packages: &rows(Grouping::Package),
        package_of: &package_of,
        reachable: analysis.total().retained,
        structures: Some(session.structures()?),
        progress: session.progress(),
    };
    let mut found = find(&input, thresholds)?;
    add_alike(session, &mut found.suspects, thresholds)?;
    drop_everywhere(session, &mut found.suspects)?;
    count_outside(session, &mut found.suspects, thresholds)?;
    let certain = add_stopped_loaders(session, &mut found.suspects, thresholds)?;
    // The sort is stable: what retains as much keeps its order.
    found.suspects.sort_by_key(|suspect| {
        let is_certain =
            matches!(suspect.subject, Subject::Loader(loader) if certain.contains(&loader));
        std::cmp::Reverse((
            suspect.severity,
            is_certain,
            suspect.retained + suspect.outside,
        ))
    });
    Ok(found)
}

/// That there are many strings names no culprit, if there is one.
fn drop_everywhere(session: &Session, suspects: &mut Vec<Suspect>) -> Result<(), Error> {
    let roles = Roles::new(session.state(), session.owner_dominators()?);
    let names_culprit = |suspect: &Suspect| match suspect.subject {
        Subject::Class(class) => !roles.is_platform_class(class),
        _ => true,
    };
    if suspects.iter().any(names_culprit) {
        suspects.retain(names_culprit);
    }
    Ok(())
}

fn find(input: &Input, thresholds: &Thresholds) -> Result<Suspects, Cancelled> {
    input
        .progress
        .stage("finding suspects", u64::from(input.graph.len()));
    let least = input.share(thresholds.object);
    let roles = Roles::new(input.graph.state, input.dominators);
    let finder = Finder {
        input,
        thresholds,
        roles: match input.structures {
            Some(structures) => roles.with_structures(structures),
            None => roles,
        },
        large: Large::new(input.graph.state, input.dominators, least.max(1)),
        least,
    };
    let places = finder.places();
    input.progress.check()?;
    finder.judge(places)
}

impl Input<'_> {
    fn share(&self, percent: f64) -> u64 {
        (self.reachable as f64 * percent / 100.0) as u64
    }
}

/// An object below which memory fans out.
struct AccumulationPoint {
    at: NodeId,
    /// A class loader that passes it all on to the object.
    loader: Option<NodeId>,
    /// Whether what it retains is retained by places below it.
    explained: bool,
}

/// What suspects explain already.
struct Covered<'a> {
    graph: &'a Graph<'a>,
    objects: BitSet,
    bytes: u64,
}

impl<'a> Covered<'a> {
    fn new(graph: &'a Graph<'a>, objects: BitSet) -> Self {
        let bytes = graph.totals(&objects).bytes;
        Covered {
            graph,
            objects,
            bytes,
        }
    }

    fn add(&mut self, objects: &BitSet) {
        self.objects.union_with(objects);
        self.bytes = self.graph.totals(&self.objects).bytes;
    }
}

struct Finder<'a> {
    input: &'a Input<'a>,
    thresholds: &'a Thresholds,
    roles: Roles<'a>,
    large: Large<'a>,
    least: u64,
}

impl Finder<'_> {
    /// Where memory accumulates, those above before those below.
    fn places(&self) -> Vec<AccumulationPoint> {
        let pass_through = self.thresholds.pass_through / 100.0;
        let mut starts: Vec<NodeId> = self.large.tops.iter().rev().copied().collect();
        let mut places = Vec::new();
        while let Some(start) = starts.pop() {
            let found = self.large.below(start, pass_through);
            let below = match found.way.last() {
                Some(&last) if last == found.at => self.outside_of_structure(last),
                _ => Vec::new(),
            };
            let retained_below: u64 = below.iter().map(|&node| self.retained(node)).sum();
            let accumulates = !self.roles.is_context(found.at) && self.are_alike(&below);
            places.push(AccumulationPoint {
                at: found.at,
                loader: found
                    .way
                    .iter()
                    .copied()
                    .rfind(|&node| self.roles.is_loader(node) && !self.roles.is_own_loader(node)),
                explained: !accumulates && self.explains(retained_below, found.at),
            });
            if !accumulates {
                starts.extend(below.iter().rev());
            }
        }
        places
    }

    /// Whether most of what these objects retain is retained by several of one class: then what holds
    /// them is the place where memory accumulates.
    fn are_alike(&self, nodes: &[NodeId]) -> bool {
        let state = self.input.graph.state;
        let class = |node: NodeId| (node < state.len()).then(|| state.class_id(node));
        let retained =
            |nodes: &[NodeId]| -> u64 { nodes.iter().map(|&node| self.retained(node)).sum() };
        nodes.iter().any(|&one| {
            let same: Vec<NodeId> = nodes
                .iter()
                .copied()
                .filter(|&other| class(other) == class(one))
                .collect();
            same.len() > 1 && retained(&same) * 2 > retained(nodes)
        })
    }

    /// The nearest large objects below a node that do not belong to the structure it is part of, such
    /// as a search tree, whose nodes are all large near its top.
    fn outside_of_structure(&self, node: NodeId) -> Vec<NodeId> {
        let state = self.input.graph.state;
        let class = |node: NodeId| (node < state.len()).then(|| state.class_id(node));
        let structure = self.roles.recognisable(node);
        let is_part = |child: NodeId| {
            class(child) == class(node)
                || structure != child && self.roles.recognisable(child) == structure
        };
        let mut outside = Vec::new();
        let mut work = self.large.children(node);
        while let Some(child) = work.pop() {
            if is_part(child) {
                work.extend(self.large.children(child));
            } else {
                outside.push(child);
            }
        }
        outside.sort_by_key(|&child| std::cmp::Reverse(self.retained(child)));
        outside
    }

    fn retained(&self, node: NodeId) -> u64 {
        self.input.dominators.retained(node)
    }

    fn explains(&self, bytes: u64, node: NodeId) -> bool {
        bytes as f64 >= self.thresholds.explained / 100.0 * self.retained(node) as f64
    }

    fn judge(&self, mut places: Vec<AccumulationPoint>) -> Result<Suspects, Cancelled> {
        let single: Vec<NodeId> = places
            .iter()
            .filter(|place| !place.explained && !self.roles.is_context(place.at))
            .map(|place| place.at)
            .collect();
        let dominated = self.input.dominators.dominated_by(&single);
        let mut covered = Covered::new(self.input.graph, dominated);
        let mut suspects = Vec::new();
        let mut of_owners = BitSet::new(self.input.graph.len() as usize);
        let mut without_owners = Vec::new();
        for class in self.large_classes().into_iter().take(MOST_CLASSES) {
            let (objects, retained) = self.input.classes[class as usize];
            let Some(group) = self.group_beyond(&covered, retained, |of| of == class) else {
                continue;
            };
            let Some(owners) = self.owners_of(&group)? else {
                without_owners.push((class, group));
                continue;
            };
            places.retain(|place| !owners.closure.contains(place.at));
            covered.add(&owners.closure);
            of_owners.union_with(&owners.closure);
            suspects.push(self.of_owners(KeptGroup::Class(class), objects, owners));
        }
        // That there are many strings says less than who keeps a package of the program alive.
        let (everywhere, own): (Vec<_>, Vec<_>) = without_owners
            .into_iter()
            .partition(|(class, _)| self.roles.is_platform_class(*class));
        let of_classes = |classes: Vec<(ClassId, BitSet)>, covered: &mut Covered| {
            let mut suspects = Vec::new();
            for (class, group) in classes {
                let retained = self.input.classes[class as usize].1;
                if self.keeps_more_than(covered, retained, &group)
                    && !self.is_mostly_within(&covered.objects, class, &group)
                {
                    let closure = self.closure(&group);
                    covered.add(&closure);
                    suspects.push(self.of_class(class, self.input.graph.totals(&closure).bytes));
                }
            }
            suspects
        };
        suspects.extend(of_classes(own, &mut covered));
        for package in self.large_packages().into_iter().take(MOST_PACKAGES) {
            let (objects, retained) = self.input.packages[package as usize];
            let within = |class: ClassId| self.input.package_of[class as usize] == package;
            let Some(group) = self.group_beyond(&covered, retained, within) else {
                continue;
            };
            if let Some(owners) = self.owners_of(&group)? {
                places.retain(|place| !owners.closure.contains(place.at));
                covered.add(&owners.closure);
                of_owners.union_with(&owners.closure);
                suspects.push(self.of_owners(KeptGroup::Package(package), objects, owners));
            }
        }
        suspects.extend(of_classes(everywhere, &mut covered));
        self.explain(&mut places, &of_owners);
        let (context, single): (Vec<AccumulationPoint>, Vec<AccumulationPoint>) = places
            .into_iter()
            .partition(|place| place.explained || self.is_own(place.at));
        let mut single: Vec<Suspect> = single.iter().map(|place| self.of_place(place)).collect();
        single.sort_by_key(|suspect| std::cmp::Reverse(suspect.retained));
        let mut named = Vec::new();
        single.retain(|suspect| {
            let new = !named.contains(&suspect.subject);
            named.push(suspect.subject.clone());
            new
        });
        single.truncate(self.thresholds.most);
        suspects.extend(single);
        self.acquit(&mut suspects);
        // That there are many strings names no culprit.
        let is_everywhere = |suspect: &Suspect| match suspect.subject {
            Subject::Class(class) => self.roles.is_platform_class(class),
            _ => false,
        };
        suspects
            .sort_by_key(|suspect| (is_everywhere(suspect), std::cmp::Reverse(suspect.retained)));
        Ok(Suspects {
            suspects,
            context: context.iter().map(|place| place.at).collect(),
        })
    }

    /// Drops what the JVM keeps for itself.
    fn acquit(&self, suspects: &mut Vec<Suspect>) {
        suspects.retain(|suspect| match &suspect.subject {
            Subject::Object(node) => {
                !self.roles.is_held_by_jvm(*node) || !self.has_only_jvm_objects(*node)
            }
            Subject::Class(class) => !self.roles.is_jvm_class(*class),
            Subject::Loader(_) | Subject::Owners(_) | Subject::Alike(_) => true,
        });
    }

    fn has_only_jvm_objects(&self, node: NodeId) -> bool {
        let state = self.input.graph.state;
        let within = self.input.dominators.dominated_by(&[node]);
        let mut objects = within.iter().filter(|&node| node < state.len());
        objects.all(|node| self.roles.is_platform_class(state.class_id(node)))
    }

    /// What the program's own loader holds everything with.
    fn is_own(&self, node: NodeId) -> bool {
        let mut around = std::iter::once(node).chain(self.input.dominators.chain(node));
        self.roles.is_context(node)
            && around
                .find(|&node| self.roles.is_loader(node))
                .is_some_and(|loader| self.roles.is_own_loader(loader))
    }

    /// Marks the places that retain much because of the places below them and of what owners retain
    /// together. An owner that keeps alive what a place dominates is below the place itself.
    fn explain(&self, places: &mut [AccumulationPoint], of_owners: &BitSet) {
        let dominators = self.input.dominators;
        let counts = |place: &AccumulationPoint| place.explained || !self.is_own(place.at);
        let known: Vec<NodeId> = places
            .iter()
            .filter(|place| counts(place))
            .map(|place| place.at)
            .collect();
        let by_owners = self.input.graph.totals(of_owners).bytes;
        for place in places.iter_mut().filter(|place| !place.explained) {
            let is_below = |&node: &NodeId| dominators.chain(node).any(|above| above == place.at);
            let below: Vec<NodeId> = known.iter().copied().filter(is_below).collect();
            let at_most: u64 = below.iter().map(|&node| self.retained(node)).sum();
            if !self.explains(at_most + by_owners, place.at) {
                continue;
            }
            let mut explained = dominators.dominated_by(&[place.at]);
            let mut by = dominators.dominated_by(&below);
            by.union_with(of_owners);
            explained.intersect_with(&by);
            place.explained = self.explains(self.input.graph.totals(&explained).bytes, place.at);
        }
    }

    fn severity(&self, retained: u64) -> Severity {
        self.thresholds.severity(retained, self.input.reachable)
    }

    fn of_place(&self, place: &AccumulationPoint) -> Suspect {
        let (node, subject) = match place.loader {
            Some(loader) => (loader, Subject::Loader(loader)),
            None => {
                let named = self.roles.recognisable(place.at);
                (named, Subject::Object(named))
            }
        };
        let retained = self.retained(node);
        Suspect {
            subject,
            retained,
            severity: self.severity(retained),
            outside: 0,
            accumulation: (place.at != node).then_some(place.at),
            kept: None,
        }
    }

    /// Classes whose objects retain much together: the program's own first, then those that
    /// retain most.
    fn large_classes(&self) -> Vec<ClassId> {
        let least = self.input.share(self.thresholds.class);
        let retained = |class: ClassId| self.input.classes[class as usize].1;
        let mut classes: Vec<ClassId> = (0..self.input.classes.len() as ClassId)
            .filter(|&class| self.input.classes[class as usize].0 > 1 && retained(class) > least)
            .filter(|&class| !self.roles.is_frame_class(class))
            .collect();
        classes.sort_by_key(|&class| {
            let platform = self.roles.is_platform_class(class);
            (platform, std::cmp::Reverse(retained(class)))
        });
        classes
    }

    /// Packages of the program whose objects retain much together, those that retain most first.
    fn large_packages(&self) -> Vec<u32> {
        let least = self.input.share(self.thresholds.class);
        let mut own = vec![false; self.input.packages.len()];
        let classes = self.input.graph.state.classes().iter();
        for ((class, of), &package) in (0..).zip(classes).zip(self.input.package_of) {
            own[package as usize] |=
                !of.package().is_empty() && !self.roles.is_platform_class(class);
        }
        let retained = |package: u32| self.input.packages[package as usize].1;
        let mut packages: Vec<u32> = (0..own.len() as u32)
            .filter(|&package| own[package as usize] && retained(package) > least)
            .collect();
        packages.sort_by_key(|&package| std::cmp::Reverse(retained(package)));
        packages
    }

    /// The reachable objects of some classes.
    fn objects_that(&self, wanted: impl Fn(ClassId) -> bool) -> BitSet {
        let state = self.input.graph.state;
        let immediate: &[NodeId] = &self.input.dominators.immediate;
        let mut group = BitSet::new(self.input.graph.len() as usize);
        let objects = state.columns.classes.iter().zip(immediate);
        for ((&of, &above), object) in objects.zip(0..) {
            if wanted(of) && above != UNREACHABLE {
                group.insert(object);
            }
        }
        group
    }

    /// The objects of some classes, which retain so much, if they retain much besides what is covered already.
    fn group_beyond(
        &self,
        covered: &Covered,
        retained: u64,
        wanted: impl Fn(ClassId) -> bool,
    ) -> Option<BitSet> {
        let plain = self.plainly_keeps_more_than(covered, retained);
        if plain == Some(false) {
            return None;
        }
        let group = self.objects_that(wanted);
        let keeps_more = plain.is_some() || self.keeps_more_than(covered, retained, &group);
        keeps_more.then_some(group)
    }

    /// What a group that retains so much must retain besides what is covered already.
    fn least_beyond(&self, retained: u64) -> u64 {
        let unexplained = 1.0 - self.thresholds.explained / 100.0;
        let least = self.input.share(self.thresholds.class);
        least.max((unexplained * retained as f64) as u64)
    }

    /// Whether a group does, if that can be told without looking at its objects.
    fn plainly_keeps_more_than(&self, covered: &Covered, retained: u64) -> Option<bool> {
        let least = self.least_beyond(retained);
        if retained.saturating_sub(covered.bytes) > least {
            return Some(true);
        }
        (self.input.reachable.saturating_sub(covered.bytes) <= least).then_some(false)
    }

    /// Whether a group that retains so much retains much besides what is covered already.
    fn keeps_more_than(&self, covered: &Covered, retained: u64, group: &BitSet) -> bool {
        let plain = self.plainly_keeps_more_than(covered, retained);
        plain.unwrap_or_else(|| {
            let mut further = self.closure(group);
            further.subtract(&covered.objects);
            self.input.graph.totals(&further).bytes > self.least_beyond(retained)
        })
    }

    /// Whether a class of the JVM retains most within what is covered already: the arrays of the
    /// program's lists say nothing that the lists do not.
    fn is_mostly_within(&self, covered: &BitSet, class: ClassId, group: &BitSet) -> bool {
        if !self.roles.is_platform_class(class) {
            return false;
        }
        let bytes = |set: &BitSet| self.input.graph.totals(set).bytes;
        let closure = self.closure(group);
        let mut within = closure.clone();
        within.intersect_with(covered);
        bytes(&within) * 2 > bytes(&closure)
    }

    fn closure(&self, group: &BitSet) -> BitSet {
        let members: Vec<NodeId> = group.iter().collect();
        let reachable = self.input.dominators.reachable();
        gc_closure_among(self.input.graph, reachable, &members)
    }

    /// The owners of a group, if a few objects keep most of it alive.
    fn owners_of(&self, group: &BitSet) -> Result<Option<Owners>, Cancelled> {
        let Input {
            graph,
            dominators,
            progress,
            ..
        } = *self.input;
        let options = FrontOptions {
            most: self.thresholds.owners,
            ..FrontOptions::default()
        };
        let owners = owners_of(graph, dominators, &self.roles, group, options, progress)?;
        Ok(owners.filter(|owners| {
            let (covered, all) = owners.covered;
            let context = owners
                .owners
                .iter()
                .any(|&owner| self.roles.is_frame(owner));
            !context && covered * 2 > all && owners.retained.bytes >= self.least
        }))
    }

    fn of_owners(&self, group: KeptGroup, objects: u64, owners: Owners) -> Suspect {
        let retained = owners.retained.bytes;
        Suspect {
            subject: match owners.owners[..] {
                [owner] => Subject::Object(owner),
                _ => Subject::Owners(owners.owners),
            },
            retained,
            severity: self.severity(retained),
            outside: 0,
            accumulation: None,
            kept: Some(Kept {
                group,
                objects,
                covered: owners.covered,
            }),
        }
    }

    fn of_class(&self, class: ClassId, retained: u64) -> Suspect {
        Suspect {
            subject: Subject::Class(class),
            retained,
            severity: self.severity(retained),
            outside: 0,
            accumulation: None,
            kept: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use anthill_graph::{Convention, DepthFirst, Dominators, Graph};
    use anthill_heap::{HeapBuilder, Quiet};

    use super::*;

    fn found_in(heap: HeapBuilder) -> Suspects {
        let state = heap.build();
        let sizes = state.tables.sizes.clone().unwrap();
        let graph = Graph::new(&state, &sizes, Convention::DEFAULT);
        let search = DepthFirst::new(&graph, &Quiet).unwrap();
        let dominators = Dominators::new(&graph, search, &Quiet).unwrap();
        let mut names: Vec<&str> = state
            .classes()
            .iter()
            .map(|class| class.package())
            .collect();
        names.sort_unstable();
        names.dedup();
        let package = |class: &anthill_heap::Class| names.binary_search(&class.package());
        let package_of: Vec<u32> = state
            .classes()
            .iter()
            .map(|class| package(class).unwrap() as u32)
            .collect();
        let row = |is_member: &dyn Fn(ClassId) -> bool| {
            let objects = 0..state.len();
            let members: Vec<NodeId> = objects
                .filter(|&object| is_member(state.class_id(object)))
                .collect();
            let closure = gc_closure_among(&graph, dominators.reachable(), &members);
            (members.len() as u64, graph.totals(&closure).bytes)
        };
        let classes = 0..state.classes().len() as ClassId;
        let input = Input {
            graph: &graph,
            dominators: &dominators,
            classes: &classes
                .map(|class| row(&|of| of == class))
                .collect::<Vec<_>>(),
            packages: &(0..names.len() as u32)
                .map(|package| row(&|of| package_of[of as usize] == package))
                .collect::<Vec<_>>(),
            package_of: &package_of,
            reachable: row(&|_| true).1,
            structures: None,
            progress: &Quiet,
        };
        find(&input, &Thresholds::default()).unwrap()
    }

    /// The suspects of a heap in which two registries hold objects of so many classes of one package.
    fn suspects_of(classes: u32, bytes: u32) -> Vec<Suspect> {
        let mut heap = HeapBuilder::new();
        heap.object("left", "shop.Left", 16);
        heap.object("right", "shop.Right", 16);
        for class in 0..classes {
            for object in 0..2 {
                let name = format!("o{class}-{object}");
                heap.object(&name, &format!("shop.model.Class{class}"), bytes);
                heap.edges(&format!("left -> {name}, right -> {name}"));
            }
        }
        heap.root("left");
        heap.root("right");
        found_in(heap).suspects
    }

    /// A thread that holds two caches of the same products and a list of other things.
    fn thread_with_caches() -> HeapBuilder {
        let mut heap = HeapBuilder::new();
        heap.object("main", "java.lang.Thread", 16);
        for (owner, class) in [("left", "shop.Left"), ("right", "shop.Right")] {
            heap.object(owner, class, 16);
        }
        heap.object("list", "shop.List", 16);
        heap.edges("main -> left, main -> right, main -> list");
        for number in 0..100 {
            let (product, thing) = (format!("product{number}"), format!("thing{number}"));
            heap.object(&product, "shop.Product", 60);
            heap.edges(&format!("left -> {product}, right -> {product}"));
            heap.object(&thing, "shop.Thing", 40);
            heap.edges(&format!("list -> {thing}"));
        }
        heap.root("main");
        heap
    }

    #[test]
    fn what_several_suspects_explain_together_is_context() {
        let found = found_in(thread_with_caches());
        let subjects: Vec<&Subject> = found.suspects.iter().map(|one| &one.subject).collect();
        let (owners, list) = (Subject::Owners(vec![1, 2]), Subject::Object(3));
        assert_eq!(subjects, [&owners, &list]);
        assert_eq!(found.context, [0]);
    }

    #[test]
    fn what_suspects_explain_in_part_stays_a_suspect() {
        let mut heap = thread_with_caches();
        // Too small each to be named, a third of all together.
        for number in 0..50 {
            heap.object(&format!("rest{number}"), &format!("rest.Of{number}"), 100);
            heap.edges(&format!("main -> rest{number}"));
        }
        let found = found_in(heap);
        assert_eq!(found.suspects[0].subject, Subject::Object(0));
        assert!(found.context.is_empty());
    }

    #[test]
    fn a_package_is_named_where_no_class_of_it_is_large() {
        let kept = |suspects: &[Suspect]| -> Vec<KeptGroup> {
            let kept = suspects.iter().filter_map(|suspect| suspect.kept);
            kept.map(|kept| kept.group).collect()
        };
        // Each of 30 classes has a thirtieth.
        let many = suspects_of(30, 1000);
        let packages = ["shop", "shop.model"];
        let model = packages.binary_search(&"shop.model").unwrap() as u32;
        assert_eq!(kept(&many), [KeptGroup::Package(model)]);
        assert_eq!(many[0].subject, Subject::Owners(vec![0, 1]));
        // One class says all that its package could say.
        let one = suspects_of(1, 1000);
        let is_package = |group: &KeptGroup| matches!(group, KeptGroup::Package(_));
        assert!(!kept(&one).iter().any(is_package), "{one:?}");
    }
}
