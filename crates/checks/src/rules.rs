//! Rules on a session's heap: what each finds, told with names and paths.

use std::cmp::Reverse;

use anthill_assertions::rules::{
    Bound, Claim, Each, Finding, Heap, Limit, Measure, Measured, Rule, SetKind, Total, Unit, check,
    figure,
};
use anthill_assertions::{Kind, Problem, Violation};
use anthill_classify::Definitions;
use anthill_graph::{Graph, NodeId, Reached};
use anthill_session::{Error, Session, check_group};
use rustc_hash::FxHashMap;

use crate::naming::NamedPaths;
use crate::sets::Resolver;

/// Different violations of a rule that are told with their paths; equal ones are one.
const MOST: usize = 100;
/// Paths to objects of which there are too many.
const SAMPLE: usize = 3;
/// Objects whose holders are looked up; of more, every so many.
const MOST_HELD: usize = 200_000;

/// What became of a rule on a heap.
#[derive(Clone, Debug, Default)]
pub struct RuleChecked {
    /// Equal ones once, those with more objects first.
    pub violations: Vec<Violation>,
    /// Violations beyond those that are told.
    pub omitted: u64,
    /// For a rule on growth: the figure whose growth is limited.
    pub figure: Option<f64>,
    /// Why it could not be checked.
    pub not_checked: Option<String>,
    /// What a person should know: names that nothing has.
    pub notes: Vec<String>,
}

/// Finds mistakes in the groups that rules name, without a heap.
pub fn check_rule_groups(rules: &[Rule], definitions: &Definitions) -> Result<(), Error> {
    let mut sets = Vec::new();
    for rule in rules {
        match &rule.claim {
            Claim::Dead(what) | Claim::Unshared(what) => sets.push(what),
            Claim::Owned { what, by } => sets.extend([what, by]),
            Claim::NotReachable {
                what,
                from,
                through,
            } => sets.extend([what, from].into_iter().chain(through)),
            Claim::PerOwner { what, owner, .. } => sets.extend([what, owner]),
            Claim::Measured(one) => sets.push(&one.of),
        }
    }
    for set in sets {
        if let SetKind::Group { text, .. } = &set.kind {
            check_group(text, definitions)?;
        }
    }
    Ok(())
}

/// Checks rules, in their order.
pub fn check_rules(
    session: &Session,
    rules: &[Rule],
    definitions: &Definitions,
) -> Result<Vec<RuleChecked>, Error> {
    if rules.is_empty() {
        return Ok(Vec::new());
    }
    let graph = session.graph();
    let dominators = &session.analysis()?.dominators;
    session
        .progress()
        .stage("checking rules", rules.len() as u64);
    let heap = Heap::new(&graph, dominators, session.progress());
    let mut checked = Vec::with_capacity(rules.len());
    let mut findings = Vec::with_capacity(rules.len());
    let mut resolver = Resolver::new(session, &graph, definitions, &heap.reachable);
    for rule in rules {
        let (one, finding) = check_rule(&heap, rule, &mut resolver)?;
        checked.push(RuleChecked {
            notes: std::mem::take(&mut resolver.notes),
            ..one
        });
        findings.push(finding);
        session.progress().advance(1);
    }
    let targets: Vec<NodeId> = findings
        .iter()
        .flat_map(|finding| targets(&graph, finding))
        .collect();
    if targets.is_empty() && !findings.iter().any(|one| !matches!(one, Finding::Holds)) {
        return Ok(checked);
    }
    let mut paths = NamedPaths::search(session, &graph, |_| true, &targets)?;
    for ((rule, finding), one) in rules.iter().zip(findings).zip(&mut checked) {
        let mut describer = Describer {
            paths: &mut paths,
            rule,
            violations: Vec::new(),
        };
        describer.tell(finding);
        one.violations = describer.violations;
        one.violations
            .sort_by_key(|violation| Reverse(violation.count));
        one.omitted = one
            .violations
            .iter()
            .skip(MOST)
            .map(|more| more.count)
            .sum();
        one.violations.truncate(MOST);
    }
    Ok(checked)
}

/// What a rule finds; what keeps it from being checked on this heap is part of the answer.
fn check_rule(
    heap: &Heap,
    rule: &Rule,
    sets: &mut Resolver,
) -> Result<(RuleChecked, Finding), Error> {
    let mut checked = RuleChecked::default();
    let finding = match &rule.claim {
        Claim::Measured(one) if one.growth.is_some() => figure(heap, one, sets).map(|figure| {
            checked.figure = Some(figure);
            Finding::Holds
        }),
        _ => check(heap, rule, sets),
    };
    match finding {
        Ok(finding) => Ok((checked, finding)),
        Err(error @ (Error::NotRecorded(_) | Error::NothingFound(_) | Error::Question(_))) => {
            checked.not_checked = Some(error.to_string());
            Ok((checked, Finding::Holds))
        }
        Err(error) => Err(error),
    }
}

/// The objects that paths must lead to.
fn targets(graph: &Graph, finding: &Finding) -> Vec<NodeId> {
    match finding {
        Finding::Holds => Vec::new(),
        Finding::Objects(objects) => objects.clone(),
        Finding::Shared(shared) => shared.iter().map(|one| one.0).collect(),
        Finding::Reached(objects, reached) => {
            let groups = Groups::of(graph, objects, reached);
            let examples = groups.alike.iter().map(|same| same[0]);
            let starts = examples.filter_map(|one| reached.way(one).first().copied());
            starts.collect()
        }
        Finding::Each(each) => each.iter().map(|one| one.object).collect(),
        Finding::Total(total) => sampled(total).1,
    }
}

/// The objects of a total, or every so many of them.
fn sampled(total: &Total) -> (usize, Vec<NodeId>) {
    let every = total.objects.count().div_ceil(MOST_HELD).max(1);
    (every, total.objects.iter().step_by(every).collect())
}

/// Turns the finding of a rule into violations.
struct Describer<'a, 'w> {
    paths: &'a mut NamedPaths<'w>,
    rule: &'a Rule,
    violations: Vec<Violation>,
}

impl Describer<'_, '_> {
    fn tell(&mut self, finding: Finding) {
        match (finding, &self.rule.claim) {
            (Finding::Objects(objects), Claim::Owned { what, by }) => {
                let what = format!(
                    "{} must be owned by {}, but is not reachable from there",
                    what.text, by.text
                );
                self.objects(Kind::OwnedBy, &what, &objects);
            }
            (Finding::Objects(objects), Claim::Dead(what)) => {
                let what = format!("{} must be dead, but is reachable", what.text);
                self.objects(Kind::Dead, &what, &objects);
            }
            (Finding::Shared(shared), _) => self.shared(shared),
            (
                Finding::Reached(objects, reached),
                Claim::NotReachable {
                    what,
                    from,
                    through,
                },
            ) => {
                let except = through.as_ref().map_or(String::new(), |through| {
                    format!(" except through {}", through.text)
                });
                let what = format!(
                    "{} must not be reachable from {}{except}, but is",
                    what.text, from.text
                );
                self.reached(&what, &objects, &reached);
            }
            (Finding::Each(each), Claim::PerOwner { what, limit, .. }) => {
                let what = what.text.clone();
                self.each(Kind::PerOwner, *limit, each, |figure, limit| {
                    format!("it has {figure} of {what}; must be {limit}")
                });
            }
            (Finding::Each(each), Claim::Measured(one)) => {
                let (measure, limit) = (one.measure, one.limit);
                self.each(kind(measure), limit, each, |figure, limit| {
                    format!("{} is {figure}; must be {limit}", measure.name())
                });
            }
            (Finding::Total(total), Claim::Measured(one)) => self.total(one, &total),
            _ => {}
        }
    }

    fn violation(&self, kind: Kind, what: String) -> Violation {
        Violation {
            rule: Some(self.rule.name.clone()),
            severity: self.rule.severity,
            message: self.rule.message.clone(),
            what,
            ..Violation::of(kind)
        }
    }

    /// Objects that should not be, those of the same class that are held alike once.
    fn objects(&mut self, kind: Kind, what: &str, objects: &[NodeId]) {
        for same in self.alike(objects) {
            let violation = self.of_objects(kind, what.to_owned(), &same);
            self.violations.push(Violation {
                paths: self.paths.path(same[0]).into_iter().collect(),
                ..violation
            });
        }
    }

    fn of_objects(&self, kind: Kind, what: String, objects: &[NodeId]) -> Violation {
        let sizes = objects.iter().map(|&one| self.paths.graph.size(one));
        Violation {
            class: self.paths.class(objects[0]).to_owned(),
            count: objects.len() as u64,
            bytes: sizes.sum(),
            object: Some(self.paths.object(objects[0])),
            ..self.violation(kind, what)
        }
    }

    /// Objects by class and path, in the order of their first ones.
    fn alike(&mut self, objects: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut numbers: FxHashMap<(Option<u32>, Option<u32>), usize> = FxHashMap::default();
        let mut groups: Vec<Vec<NodeId>> = Vec::new();
        for &object in objects {
            let key = (self.paths.graph.class(object), self.paths.shape(object));
            let number = *numbers.entry(key).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[number].push(object);
        }
        groups
    }

    fn shared(&mut self, shared: Vec<(NodeId, Problem)>) {
        let mut numbers: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
        let mut groups: Vec<(Vec<NodeId>, Vec<NodeId>, usize)> = Vec::new();
        for (object, problem) in shared {
            let Problem::Shared { from, handles } = problem else {
                continue;
            };
            let mut shape = self.paths.shape_of_referrers(object, &from);
            shape.push(self.paths.graph.class(object).unwrap_or(u32::MAX));
            match numbers.get(&shape) {
                Some(&number) => groups[number].0.push(object),
                None => {
                    numbers.insert(shape, groups.len());
                    groups.push((vec![object], from, handles));
                }
            }
        }
        for (objects, from, handles) in groups {
            let number = from.len() + handles;
            let what = format!("it must be unshared, but {number} references lead to it");
            let violation = self.of_objects(Kind::Unshared, what, &objects);
            self.violations.push(Violation {
                limit: Some(1.0),
                found: Some(number as f64),
                referrers: self.paths.referrers(objects[0], &from, handles),
                paths: self.paths.path(objects[0]).into_iter().collect(),
                ..violation
            });
        }
    }

    /// Objects by class and the classes on the path from where they must not be reachable from.
    fn reached(&mut self, what: &str, objects: &[NodeId], reached: &Reached) {
        for same in Groups::of(self.paths.graph, objects, reached).alike {
            let rest = reached.way(same[0]);
            let violation = self.of_objects(Kind::Reachable, what.to_owned(), &same);
            self.violations.push(Violation {
                paths: self.paths.path_continued_by(&rest).into_iter().collect(),
                ..violation
            });
        }
    }

    /// Objects with a figure beyond the limit; of those that are held alike the worst is shown.
    fn each(
        &mut self,
        kind: Kind,
        limit: Limit,
        each: Vec<Each>,
        what: impl Fn(String, String) -> String,
    ) {
        let figures: FxHashMap<NodeId, f64> =
            each.iter().map(|one| (one.object, one.figure)).collect();
        let objects: Vec<NodeId> = each.iter().map(|one| one.object).collect();
        let bytes = matches!(kind, Kind::Shallow | Kind::Retained | Kind::Deep);
        for same in self.alike(&objects) {
            let figure = figures[&same[0]];
            let what = what(amount(figure, limit.unit, bytes), limit_text(limit, bytes));
            let violation = self.of_objects(kind, what, &same);
            self.violations.push(Violation {
                limit: Some(limit.amount),
                found: Some(figure),
                paths: self.paths.path(same[0]).into_iter().collect(),
                ..violation
            });
        }
    }

    fn total(&mut self, one: &Measured, total: &Total) {
        let bytes = one.measure.is_bytes();
        let what = format!(
            "{} of {}: {}; must be {}",
            one.measure.name(),
            one.of.text,
            amount(total.figure, one.limit.unit, bytes),
            limit_text(one.limit, bytes)
        );
        let (every, objects) = sampled(total);
        let mut violation = self.violation(kind(one.measure), what);
        violation.limit = Some(one.limit.amount);
        violation.found = Some(total.figure);
        violation.count = total.objects.count() as u64;
        violation.bytes = self.paths.graph.totals(&total.objects).bytes;
        if let Some(&first) = objects.first() {
            violation.class = self.paths.class(first).to_owned();
        }
        let by_shape = self.paths.by_shape(&objects);
        let samples = by_shape.iter().take(SAMPLE);
        violation.paths = samples
            .filter_map(|alike| self.paths.path(alike.1[0]))
            .collect();
        violation.holders = by_shape
            .iter()
            .take(MOST)
            .map(|(shape, held)| self.paths.holders(*shape, held))
            .collect();
        violation.sampled = (every > 1).then_some(every as u64);
        self.violations.push(violation);
    }
}

/// Objects by their classes and the classes on the paths to them.
struct Groups {
    alike: Vec<Vec<NodeId>>,
}

impl Groups {
    /// Paths have most of their steps in common, so each step is looked at once.
    fn of(graph: &Graph, objects: &[NodeId], reached: &Reached) -> Self {
        let mut shape_of: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut shapes: FxHashMap<(u32, Option<u32>), u32> = FxHashMap::default();
        let mut class_of: Vec<Option<u32>> = vec![None];
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        let mut alike: Vec<Vec<NodeId>> = Vec::new();
        let mut pending = Vec::new();
        for &object in objects {
            let mut at = Some(object);
            let mut shape = 0;
            while let Some(node) = at {
                if let Some(&known) = shape_of.get(&node) {
                    shape = known;
                    break;
                }
                pending.push(node);
                at = reached.before(node).flatten();
            }
            while let Some(node) = pending.pop() {
                let class = graph.class(node);
                // A list is one step however long it is.
                if shape == 0 || class_of[shape as usize] != class {
                    shape = *shapes.entry((shape, class)).or_insert_with(|| {
                        class_of.push(class);
                        class_of.len() as u32 - 1
                    });
                }
                shape_of.insert(node, shape);
            }
            let number = *numbers.entry(shape).or_insert_with(|| {
                alike.push(Vec::new());
                alike.len() - 1
            });
            alike[number].push(object);
        }
        Groups { alike }
    }
}

/// The violation of a rule on growth, if the figure grew by more than is allowed.
pub fn growth_violation(rule: &Rule, from: f64, to: f64, between: &str) -> Option<Violation> {
    let Claim::Measured(one) = &rule.claim else {
        return None;
    };
    let relative = one.limit.unit == Unit::Percent;
    let grown = match relative {
        true if from > 0.0 => (to - from) * 100.0 / from,
        true if to > 0.0 => f64::INFINITY,
        true => 0.0,
        false => to - from,
    };
    if one.limit.allows(grown) {
        return None;
    }
    let bytes = one.measure.is_bytes();
    let unit = if relative {
        Unit::Plain
    } else {
        one.limit.unit
    };
    let what = format!(
        "{} of {} grew from {} to {} {between}; growth must be {}",
        one.measure.name(),
        one.of.text,
        amount(from, unit, bytes),
        amount(to, unit, bytes),
        limit_text(one.limit, bytes)
    );
    Some(Violation {
        rule: Some(rule.name.clone()),
        severity: rule.severity,
        message: rule.message.clone(),
        what,
        limit: Some(one.limit.amount),
        found: grown.is_finite().then_some(grown),
        ..Violation::of(Kind::Growth)
    })
}

fn kind(measure: Measure) -> Kind {
    match measure {
        Measure::Instances => Kind::Instances,
        Measure::Shallow => Kind::Shallow,
        Measure::Retained => Kind::Retained,
        Measure::Deep => Kind::Deep,
        Measure::Elements => Kind::Elements,
        Measure::Capacity => Kind::Capacity,
        Measure::Fill => Kind::Fill,
    }
}

fn limit_text(limit: Limit, bytes: bool) -> String {
    let bound = match limit.bound {
        Bound::AtMost => "at most",
        Bound::AtLeast => "at least",
        Bound::Exactly => "exactly",
    };
    format!("{bound} {}", amount(limit.amount, limit.unit, bytes))
}

/// A figure with its unit: `64.0 MB`, `12.5%`, `3`.
fn amount(figure: f64, unit: Unit, bytes: bool) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    match unit {
        Unit::Percent => format!("{figure:.1}%"),
        Unit::PercentOfHeap => format!("{figure:.1}% of the heap"),
        Unit::Plain | Unit::Bytes if bytes => {
            let mut value = figure;
            let mut unit = "bytes";
            for next in UNITS {
                if value.abs() < 1024.0 {
                    break;
                }
                value /= 1024.0;
                unit = next;
            }
            match unit {
                "bytes" => format!("{value} bytes"),
                unit => format!("{value:.1} {unit}"),
            }
        }
        _ => figure.to_string(),
    }
}
