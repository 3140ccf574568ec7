//! One verdict for each rule and each kind of assertion of the program, over all states that were
//! looked at.

use std::collections::BTreeMap;

use anthill_assertions::rules::{Claim, Rule};
use anthill_assertions::{Kind, Severity, Violation};
use anthill_session::{ProgramChecked, RuleChecked, growth_violation};
use anthill_trace::{Violation as Told, elapsed};
use serde::Serialize;

/// A state that was looked at.
#[derive(Clone, Serialize)]
pub struct State {
    /// The file, and the point if it is a recording.
    pub name: String,
    /// Which state of a recording.
    pub number: Option<u32>,
    /// Nanoseconds since the recording's start.
    pub time: Option<u64>,
    /// Points that rules name and that are this state.
    #[serde(skip)]
    pub points: Vec<String>,
}

/// Where a rule was written.
#[derive(Clone, Serialize)]
pub struct Origin {
    pub file: Option<String>,
    pub line: usize,
}

#[derive(Serialize)]
pub struct Verdict {
    /// The rule's name, or the kind of assertion.
    pub name: String,
    /// What the rule says; none for assertions of the program.
    pub rule: Option<String>,
    pub origin: Option<Origin>,
    pub severity: Severity,
    /// The program's assertions of this kind in the last state that has any.
    pub assertions: Option<u64>,
    pub holds: bool,
    /// Why it could not be checked in any state.
    pub not_checked: Option<String>,
    /// States in which it was checked.
    pub states: usize,
    pub violated_states: usize,
    /// The first state with a violation, and the one with the worst, whose violations are listed.
    pub first: Option<State>,
    pub worst: Option<State>,
    /// Nanoseconds between the first and the last state of the longest time that it did not hold.
    pub longest: Option<u64>,
    pub violations: Vec<Violation>,
    /// Objects in violations beyond those that are listed.
    pub omitted: u64,
}

impl Verdict {
    /// How many objects are listed or left out.
    pub fn count(&self) -> u64 {
        let listed: u64 = self.violations.iter().map(|one| one.count.max(1)).sum();
        listed + self.omitted
    }

    /// `first in …, worst in …, for 3m`; nothing if there is one state only.
    pub fn duration(&self) -> Option<String> {
        if self.states < 2 {
            return None;
        }
        let (first, worst) = (self.first.as_ref()?, self.worst.as_ref()?);
        let lasting = match self.longest {
            Some(time) if time > 0 => format!(", for {} at a stretch", elapsed(time)),
            _ => String::new(),
        };
        Some(format!(
            "in {} of {} states{lasting}; first in {}, worst in {}",
            self.violated_states, self.states, first.name, worst.name
        ))
    }
}

#[derive(Serialize)]
pub struct Verdicts {
    pub checks: Vec<Verdict>,
    pub states: Vec<State>,
    /// What a person should know: names that nothing has, assertions that could not be read.
    pub notes: Vec<String>,
}

/// What one rule or kind of assertion has in one state.
#[derive(Default)]
struct Outcome {
    violations: Vec<Violation>,
    omitted: u64,
    not_checked: Option<String>,
}

/// By state.
type Outcomes = Vec<(usize, Outcome)>;

impl Outcome {
    /// How bad it is: by figures where there are any, by objects otherwise.
    fn badness(&self) -> f64 {
        let distance = |one: &Violation| match (one.found, one.limit) {
            (Some(found), Some(limit)) => (found - limit).abs(),
            _ => one.count as f64,
        };
        let worst = self.violations.iter().map(distance).fold(0.0, f64::max);
        worst + self.omitted as f64
    }
}

impl Verdicts {
    /// Puts together what was found in the states.
    pub fn new(
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
                severity: rule.severity,
                ..verdict
            });
        }
        Verdicts {
            checks,
            states,
            notes,
        }
    }

    /// Adds what a recording says about assertions that did not hold while the program ran.
    pub fn add_told(&mut self, file: &str, told: &[Told]) {
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
            violations: told.iter().map(violation).collect(),
            ..verdict
        };
        self.checks.insert(0, verdict);
    }

    /// Whether something of at least this severity does not hold.
    pub fn violated(&self, least: Severity) -> usize {
        let beyond = |one: &&Verdict| !one.holds && one.severity >= least;
        self.checks.iter().filter(beyond).count()
    }
}

const WHILE_RUNNING: &str = "assertions while the program ran";

/// A violation as it was recorded, whoever recorded it.
fn violation(told: &Told) -> Violation {
    let whole = serde_json::from_str(&told.json);
    whole.unwrap_or_else(|_| Violation {
        what: told.text.lines().next().unwrap_or_default().to_owned(),
        message: told.message.clone(),
        made_at: told.made_at.clone(),
        class: told.class.clone(),
        count: told.count,
        bytes: told.bytes,
        reported: true,
        ..Violation::of(Kind::of_assertion(&told.kind).unwrap_or(Kind::Dead))
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

pub fn assertion_name(kind: Kind) -> &'static str {
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
        violations: worst.violations,
        omitted: worst.omitted,
    }
}

fn no_state(point: &Option<String>) -> String {
    match point {
        Some(point) => format!("there is no heap state at \"{point}\""),
        None => "there is no heap state".to_owned(),
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
            "growth needs two states: name several dumps, or a recording without --at".to_owned(),
        ),
        (None, _) => not_checked(no_state(&points.from)),
        (_, None) => not_checked(no_state(&points.to)),
    }
}
