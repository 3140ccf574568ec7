//! One verdict for each rule and each kind of assertion of the program, over all states that were
//! looked at.

use std::collections::BTreeMap;

use anthill_assertions::rules::{Claim, Rule};
use anthill_assertions::{Kind, Violation as Found};
use anthill_checks::{ProgramChecked, RuleChecked, growth_violation};
use anthill_trace::{Violation as Told, elapsed};
use schemars::JsonSchema;
use serde::Serialize;

use super::violation::{Severity, Violation};

/// A state that was checked.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "CheckState")]
pub struct State {
    /// The file; for a recording, also the number and time of the state.
    pub name: String,
    /// The number of the state in the recording; null for a dump.
    pub number: Option<u32>,
    /// Nanoseconds since the start of the recording; null for a dump.
    pub time: Option<u64>,
    /// Points that rules name and that are this state.
    #[serde(skip)]
    pub points: Vec<String>,
}

/// Where a rule was written.
#[derive(Clone, Serialize, JsonSchema)]
#[schemars(rename = "CheckOrigin")]
pub struct Origin {
    /// The file with the rule; null for a rule given with `--rule`.
    pub file: Option<String>,
    /// The line of the rule in its text, from 1.
    pub line: usize,
}

/// The result of checking one rule, or all assertions of one kind.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckVerdict")]
pub struct Verdict {
    /// The name of the rule; for assertions, the kind such as `assertDead`, or for those that a recording
    /// reports, `assertions while the program ran`.
    pub name: String,
    /// The text of the rule; null for assertions.
    pub rule: Option<String>,
    /// The place where the rule was written; null for assertions.
    pub origin: Option<Origin>,
    /// The severity of the rule; `error` for assertions.
    pub severity: Severity,
    /// The number of assertions whose objects are still there, in the last state that has any; null for
    /// rules.
    pub assertions: Option<u64>,
    /// Whether no state has a violation; also true if no state could be checked, see `not_checked`.
    pub holds: bool,
    /// Why no state could be checked; null if one could.
    pub not_checked: Option<String>,
    /// The number of states that were checked.
    pub states: usize,
    /// The number of states with a violation.
    pub violated_states: usize,
    /// The first state with a violation; null if there is none.
    pub first: Option<State>,
    /// The state with the worst violation, whose violations are listed; null if there is none.
    pub worst: Option<State>,
    /// Nanoseconds from the first to the last state of the longest series of states with a violation;
    /// null if there is none.
    pub longest: Option<u64>,
    /// The violations in the worst state, or those recorded while the program ran. One entry stands for
    /// all violations that are alike.
    pub violations: Vec<Violation>,
    /// The number of objects in violations beyond those listed: at most 100 for a rule and 1000 for
    /// assertions are listed.
    pub omitted: u64,
}

impl Verdict {
    /// How many objects are listed or left out.
    pub fn count(&self) -> u64 {
        let listed: u64 = self.violations.iter().map(|one| one.count.max(1)).sum();
        listed + self.omitted
    }
}

/// The results of checking rules and assertions.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "CheckAnswer")]
pub struct Answer {
    /// The results: first the program's assertions by kind, then the rules in their order.
    pub checks: Vec<Verdict>,
    /// The states that were checked.
    pub states: Vec<State>,
    /// Warnings about names that nothing in the heap has and about assertions that could not be read.
    pub notes: Vec<String>,
}

/// What one rule or kind of assertion has in one state.
#[derive(Default)]
struct Outcome {
    violations: Vec<Found>,
    omitted: u64,
    not_checked: Option<String>,
}

/// By state.
type Outcomes = Vec<(usize, Outcome)>;

impl Outcome {
    /// How bad it is: by figures where there are any, by objects otherwise.
    fn badness(&self) -> f64 {
        let distance = |one: &Found| match (one.found, one.limit) {
            (Some(found), Some(limit)) => (found - limit).abs(),
            _ => one.count as f64,
        };
        let worst = self.violations.iter().map(distance).fold(0.0, f64::max);
        worst + self.omitted as f64
    }
}

impl Answer {
    /// Puts together what was found in the states.
    pub(super) fn new(
        rules: &[(Rule, Origin)],
        found: Vec<(State, ProgramChecked, Vec<RuleChecked>)>,
    ) -> Self {
        let mut states = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        let mut of_program: BTreeMap<Kind, (u64, Outcomes)> = BTreeMap::new();
        let mut of_rules: Vec<Outcomes> = rules.iter().map(|_| Vec::new()).collect();
        let mut figures: Vec<Vec<(usize, f64)>> = rules.iter().map(|_| Vec::new()).collect();
        for (index, (state, program, checked)) in found.into_iter().enumerate() {
            note_unread(&mut notes, &program, &state);
            split_program(&mut of_program, index, program);
            for (rule, one) in checked.into_iter().enumerate() {
                let name = &rules[rule].0.name;
                notes.extend(one.notes.iter().map(|note| format!("{name}: {note}")));
                figures[rule].extend(one.figure.map(|figure| (index, figure)));
                of_rules[rule].push((
                    index,
                    Outcome {
                        violations: one.violations,
                        omitted: one.omitted,
                        not_checked: one.not_checked,
                    },
                ));
            }
            states.push(state);
        }
        notes.sort();
        notes.dedup();
        let mut checks = Vec::new();
        for (kind, (assertions, outcomes)) in of_program {
            let verdict = verdict(assertion_name(kind), outcomes, &states);
            checks.push(Verdict {
                assertions: Some(assertions),
                ..verdict
            });
        }
        let of_rules = of_rules.into_iter().zip(figures);
        for ((rule, origin), (mut outcomes, figures)) in rules.iter().zip(of_rules) {
            if let Claim::Measured(one) = &rule.claim {
                if one.growth.is_some() {
                    outcomes = growth(rule, &figures, &states, outcomes);
                }
            }
            let verdict = verdict(&rule.name, outcomes, &states);
            checks.push(Verdict {
                rule: Some(rule.text.clone()),
                origin: Some(origin.clone()),
                severity: rule.severity.into(),
                ..verdict
            });
        }
        Answer {
            checks,
            states,
            notes,
        }
    }

    /// Adds what a recording says about assertions that did not hold while the program ran.
    pub(super) fn add_told(&mut self, file: &str, told: &[Told]) {
        let Some(first) = told.first() else {
            return;
        };
        let name = match self.checks.iter().any(|check| check.name == WHILE_RUNNING) {
            true => format!("{WHILE_RUNNING}: {file}"),
            false => WHILE_RUNNING.to_owned(),
        };
        let verdict = verdict(&name, Vec::new(), &[]);
        let told_at = State {
            name: format!("{file} at {}", elapsed(first.time)),
            number: None,
            time: Some(first.time),
            points: Vec::new(),
        };
        let verdict = Verdict {
            holds: false,
            first: Some(told_at),
            violations: told.iter().map(violation).map(Violation::from).collect(),
            ..verdict
        };
        self.checks.insert(0, verdict);
    }

    /// How many checks of at least this severity do not hold.
    pub fn violated(&self, least: Severity) -> usize {
        let beyond = |one: &&Verdict| !one.holds && one.severity >= least;
        self.checks.iter().filter(beyond).count()
    }
}

const WHILE_RUNNING: &str = "assertions while the program ran";

/// A violation as it was recorded, whoever recorded it.
fn violation(told: &Told) -> Found {
    let whole = serde_json::from_str(&told.json);
    whole.unwrap_or_else(|_| Found {
        what: told.text.lines().next().unwrap_or_default().to_owned(),
        message: told.message.clone(),
        made_at: told.made_at.clone(),
        class: told.class.clone(),
        count: told.count,
        bytes: told.bytes,
        reported: true,
        ..Found::of(Kind::of_assertion(&told.kind).unwrap_or(Kind::Dead))
    })
}

fn note_unread(notes: &mut Vec<String>, program: &ProgramChecked, state: &State) {
    if program.unread > 0 {
        notes.push(format!(
            "{}: {} assertions of the program could not be read, since their contents were not recorded",
            state.name, program.unread
        ));
    }
}

/// The violations of the program's assertions by kind.
fn split_program(all: &mut BTreeMap<Kind, (u64, Outcomes)>, state: usize, program: ProgramChecked) {
    for (&kind, &assertions) in &program.assertions {
        let of_kind = all.entry(kind).or_default();
        of_kind.0 = assertions;
        of_kind.1.push((state, Outcome::default()));
    }
    let mut omitted = program.omitted;
    for violation in program.violations {
        let of_kind = all.entry(violation.kind).or_default();
        if let Some((_, outcome)) = of_kind.1.last_mut() {
            outcome.violations.push(violation);
            // Those left out are told where there are most.
            outcome.omitted += std::mem::take(&mut omitted);
        }
    }
}

fn assertion_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Dead => "assertDead",
        Kind::AllDead => "assertAllDead",
        Kind::Instances => "assertInstances",
        Kind::Unshared => "assertUnshared",
        Kind::OwnedBy => "assertOwnedBy",
        other => other.name(),
    }
}

fn verdict(name: &str, outcomes: Outcomes, states: &[State]) -> Verdict {
    let checked: Vec<&(usize, Outcome)> = outcomes
        .iter()
        .filter(|one| one.1.not_checked.is_none())
        .collect();
    let violated = |one: &(usize, Outcome)| !one.1.violations.is_empty();
    let mut longest: Option<u64> = None;
    for stretch in checked.chunk_by(|a, b| violated(a) == violated(b)) {
        let times = (
            states[stretch[0].0].time,
            states[stretch[stretch.len() - 1].0].time,
        );
        if let (true, (Some(from), Some(to))) = (violated(stretch[0]), times) {
            longest = longest.max(Some(to.saturating_sub(from)));
        }
    }
    let number = checked.len();
    let violated_states = checked.iter().filter(|one| violated(one)).count();
    let first = checked.iter().find(|one| violated(one)).map(|one| one.0);
    let not_checked = match number {
        0 => outcomes.iter().find_map(|one| one.1.not_checked.clone()),
        _ => None,
    };
    let worst = outcomes.into_iter().filter(violated).reduce(|worst, one| {
        match one.1.badness() > worst.1.badness() {
            true => one,
            false => worst,
        }
    });
    let state = |index: usize| states[index].clone();
    let worst_state = worst.as_ref().map(|worst| state(worst.0));
    let worst = worst.map(|worst| worst.1).unwrap_or_default();
    Verdict {
        name: name.to_owned(),
        rule: None,
        origin: None,
        severity: Severity::Error,
        assertions: None,
        holds: violated_states == 0,
        not_checked,
        states: number,
        violated_states,
        first: first.map(state),
        worst: worst_state,
        longest,
        violations: worst.violations.into_iter().map(Violation::from).collect(),
        omitted: worst.omitted,
    }
}

fn no_state(point: &Option<String>) -> String {
    match point {
        Some(point) => format!("no heap state at \"{point}\""),
        None => "no heap state".to_owned(),
    }
}

/// The outcome of a rule on growth: one, in the state where the figure is compared.
fn growth(rule: &Rule, figures: &[(usize, f64)], states: &[State], outcomes: Outcomes) -> Outcomes {
    let Claim::Measured(one) = &rule.claim else {
        return outcomes;
    };
    let points = one.growth.clone().unwrap_or_default();
    let at = |point: &Option<String>, otherwise: Option<&(usize, f64)>| match point.as_deref() {
        None => otherwise.copied(),
        Some("first") => figures.first().copied(),
        Some("last") => figures.last().copied(),
        Some(point) => {
            let is_point = |one: &&(usize, f64)| states[one.0].points.iter().any(|of| of == point);
            figures.iter().find(is_point).copied()
        }
    };
    let (from, to) = (
        at(&points.from, figures.first()),
        at(&points.to, figures.last()),
    );
    let not_checked = |why: String| {
        let outcome = Outcome {
            not_checked: Some(why),
            ..Outcome::default()
        };
        vec![(0, outcome)]
    };
    match (from, to) {
        (Some(from), Some(to)) if from.0 < to.0 => {
            let between = format!("from {} to {}", states[from.0].name, states[to.0].name);
            let violations = growth_violation(rule, from.1, to.1, &between);
            let outcome = Outcome {
                violations: violations.into_iter().collect(),
                ..Outcome::default()
            };
            vec![(to.0, outcome)]
        }
        _ if outcomes.iter().any(|one| one.1.not_checked.is_some()) => outcomes,
        (Some(_), Some(_)) => not_checked(
            "growth needs two states: give several dumps, or a recording without --at".to_owned(),
        ),
        (None, _) => not_checked(no_state(&points.from)),
        (_, None) => not_checked(no_state(&points.to)),
    }
}
