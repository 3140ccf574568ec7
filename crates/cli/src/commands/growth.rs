//! `anthill growth`: which data structures grow from state to state.

mod rows;

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_classify::Step;
use anthill_session::{Error, Session, Window, is_identity, spread};
use anthill_structures::{Earlier, Grown, Inventory, grown, growth_portion};
use anthill_trace::{Point, Trace, is_trace};
use clap::Args;
use serde::Serialize;

use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::output::units::{bytes, counted};
use crate::output::{Out, csv, json};
use crate::source::{Source, SourceArguments, limit, percent, point};
use rows::{COLUMNS, Changes, Joint, Newcomer, NewcomerKind, Outer, Site, Structure};

/// Find data structures that grow: from dump to dump, or over a recording
///
/// Of each structure that retains more at the end than at the beginning it says how much of the heap's
/// growth that is (HGP, the heap growth portion: growth of what it retains / growth of the reachable heap),
/// how many elements it has got, and what the newcomers are. Of structures inside of each other the innermost
/// is shown that makes up most of the growth. Structures that share their contents, so
/// that each alone retains little, are shown together. In a recording structures are told apart by the
/// identity of their heads, in dumps by how they are held, which is approximate.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill growth monday.hprof friday.hprof
      Which collections grew during the week?
  anthill growth 1.hprof 2.hprof 3.hprof
      With the figures of each dump
  anthill growth app.trace --from 1m --to last
      Between two points of a recording
  anthill growth app.trace --by allocation-site
      What came into them, by where it was allocated
  anthill growth app.trace --csv > growth.csv
      For a spreadsheet: retained, deep and elements at both ends
  anthill growth before.hprof after.hprof --fail-on hgp=20%
      For CI: exit code 1 if one makes up a fifth of the growth")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Later dumps
    #[arg(value_name = "LATER")]
    pub later: Vec<PathBuf>,
    /// Where in a recording to begin, as after --at [default: first]
    #[arg(long, value_name = "POINT", value_parser = point, conflicts_with = "at")]
    pub from: Option<Point>,
    /// Where in a recording to end [default: last]
    #[arg(long, value_name = "POINT", value_parser = point, conflicts_with = "at")]
    pub to: Option<Point>,
    /// How many states of a recording are looked into, evenly spread; 0 for all
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = limit, allow_negative_numbers = true)]
    pub states: usize,
    /// Leave out what is less than this part of the heap's growth, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent, allow_negative_numbers = true)]
    pub least: f64,
    /// How many structures; 0 for all
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = limit, allow_negative_numbers = true)]
    pub limit: usize,
    /// Every structure that grew, those inside of others too
    #[arg(long)]
    pub inside: bool,
    /// Also split the newcomers by these classifiers, e.g. `package, type` or `allocation-site`
    #[arg(long, value_name = "STEPS")]
    pub by: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Print CSV, one line for each structure or group of them
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// End with exit code 1 if a structure, or several together, make up at least this part of the growth
    #[arg(long, value_name = "hgp=PERCENT", value_parser = fail_on)]
    pub fail_on: Option<f64>,
}

impl Arguments {
    /// What newcomers are split by; nothing if that is not asked for.
    fn steps(&self) -> Result<Vec<Step>, Failure> {
        let Some(by) = &self.by else {
            return Ok(Vec::new());
        };
        let steps = self.definitions.read()?.steps(by);
        steps.map_err(|mistake| mistaken(&mistake, "--by", by))
    }
}

fn fail_on(text: &str) -> Result<f64, String> {
    let value = text.strip_prefix("hgp=").ok_or("it must be like hgp=20%")?;
    percent(value)
}

/// Of so many structures the deep sizes are told: each takes a walk through all that it reaches.
const MOST_DEEP: usize = 100;
/// Sizes of the heap that the heading tells.
const MOST_SIZES: usize = 8;
/// The part of a structure's growth, in percent, that makes one inside of it the one to name.
const MOST_OF_GROWTH: f64 = 80.0;
/// The part of the heap's growth, in percent, that is worth a word if no structure explains it.
const MUCH_ELSEWHERE: f64 = 20.0;

pub fn show(arguments: &Arguments) -> Result<(), Failure> {
    let steps = arguments.steps()?;
    let states = States::open(arguments)?;
    let growth = Growth::new(arguments, &steps, &states)?;
    let mut out = states.last.out();
    if arguments.source.json {
        json::print(&mut out, &states.last, "growth", &growth)?;
    } else if arguments.csv {
        growth.csv(&mut out)?;
    } else {
        growth.text(&mut out)?;
    }
    out.flush()?;
    let Some(most) = arguments.fail_on else {
        return Ok(());
    };
    let inner = growth.structures.iter().filter_map(|one| one.hgp);
    let outer = growth
        .structures
        .iter()
        .filter_map(|one| one.inside_of.as_ref()?.hgp);
    let portions = inner.chain(outer);
    let portions = portions.chain(growth.joint.iter().map(|joint| joint.hgp));
    match portions.fold(f64::NEG_INFINITY, f64::max) {
        largest if largest >= most => Err(Failure::Findings(format!(
            "{largest:.1}% of the heap's growth comes from one place, {most}% are allowed"
        ))),
        _ => Ok(()),
    }
}

/// The states that are compared; those between the first and the last are closed again.
struct States {
    first: Source,
    last: Source,
    names: Vec<String>,
    inventories: Vec<Inventory>,
    /// By state: why some or all identities are missing.
    missing: Vec<Option<String>>,
    /// Those of a recording that were not looked into.
    skipped: usize,
}

/// A heap in a file: a dump, or a state of a recording.
type Place<'a> = (&'a Path, Option<Point>);

impl States {
    fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let source = &arguments.source;
        let mut places: Vec<Place> = match arguments.later.is_empty() {
            true => recorded(arguments)?,
            false if arguments.from.is_some() || arguments.to.is_some() => {
                return Err(Failure::unusable(
                    "--from and --to are points of one recording",
                    "Leave them out to compare dumps: they are compared as they are named.",
                ));
            }
            false => {
                let files = [&source.file].into_iter().chain(&arguments.later);
                files.map(|file| (file.as_path(), None)).collect()
            }
        };
        let all = places.len();
        if arguments.later.is_empty() {
            let looked_into = spread(super::or_all(arguments.states).max(2), all);
            places = looked_into
                .into_iter()
                .map(|at| places[at].clone())
                .collect();
        }
        let [begin, between @ .., end] = &places[..] else {
            return Err(Failure::unusable(
                "growth needs two states at least",
                "Name a later dump, or points of a recording that are further apart.",
            ));
        };
        let open = |place: &Place| source.open_at(place.0, place.1.clone());
        let first = open(begin)?;
        // Only states of one recording are named by points.
        let by_identity = end
            .1
            .as_ref()
            .is_some_and(|at| first.session.shares_identities(at));
        let mut inventories = Vec::new();
        let mut missing = Vec::new();
        let mut look = |session: &Session| -> Result<(), Failure> {
            inventories.push(match by_identity {
                true => session.inventory()?,
                false => session.inventory_by_path()?,
            });
            missing.push(session.identities_missing());
            Ok(())
        };
        look(&first.session)?;
        source.look_at_each("following structures", between, |_, session| look(session))?;
        let last = open(end)?;
        look(&last.session)?;
        let name = |(file, point): &Place| match point {
            Some(point) => point.to_string(),
            None => file.display().to_string(),
        };
        Ok(States {
            first,
            last,
            names: places.iter().map(name).collect(),
            inventories,
            missing,
            skipped: all - places.len(),
        })
    }
}

/// The states of a recording from the first to the last that is asked for.
fn recorded(arguments: &Arguments) -> Result<Vec<Place<'_>>, Failure> {
    let file = &arguments.source.file;
    if file.is_file() && !is_trace(file) {
        return Err(Failure::unusable(
            format!("{}: one dump does not tell what grows", file.display()),
            "Name a later dump of the same program, too.",
        ));
    }
    let trace = Trace::open(file).map_err(Error::from)?;
    let number = |point: &Option<Point>, otherwise: Point| {
        let state = trace.at(point.as_ref().unwrap_or(&otherwise));
        let unknown = |why: String| Error::Point(format!("{}: {why}", file.display()));
        state.map(|state| state.number).map_err(unknown)
    };
    let from = number(&arguments.from, Point::First)?;
    let to = number(&arguments.to, Point::Last)?;
    let numbers = trace.states().iter().map(|state| state.number);
    let between = numbers.filter(|number| (from..=to).contains(number));
    Ok(between
        .map(|number| (file.as_path(), Some(Point::State(number))))
        .collect())
}

#[derive(Serialize)]
struct Growth {
    states: Vec<State>,
    /// States of the recording between these that were not looked into.
    skipped: usize,
    /// How many bytes the reachable heap grew by.
    heap_growth: i64,
    /// The least part of it that is shown, in percent.
    least: f64,
    /// Whether some of those shown were recognised only by how they are held.
    approximate: bool,
    /// Structures of the last state that could not be told apart, or of which the beginning is not known.
    unclear: u64,
    joint: Vec<Joint>,
    structures: Vec<Structure>,
    /// Structures that are inside of those shown.
    within: usize,
    /// Bytes of the heap's growth that none of those found retains, alone or together.
    elsewhere: u64,
    omitted: usize,
}

#[derive(Serialize)]
struct State {
    name: String,
    reachable: u64,
    /// Why some or all objects have no identity that should have one; null if there are none.
    identities_missing: Option<String>,
}

impl Growth {
    fn new(arguments: &Arguments, steps: &[Step], states: &States) -> Result<Self, Failure> {
        let (first, last) = (&states.first.session, &states.last.session);
        let inventories = &states.inventories;
        let (before, after) = (&inventories[0], &inventories[inventories.len() - 1]);
        let portion = |one: &Grown| growth_portion(one.change(), before.heap, after.heap);
        let enough = |one: &Grown| portion(one).is_none_or(|portion| portion >= arguments.least);
        let found: Vec<Grown> = grown(inventories).into_iter().filter(enough).collect();
        let mut joint = last.joint_growth((before, after), first)?;
        joint.retain(|joint| joint.portion >= arguments.least);
        let owners = joint.iter().flat_map(|joint| &joint.owners);
        let explained: Vec<String> = found
            .iter()
            .map(|one| &one.key)
            .chain(owners)
            .cloned()
            .collect();
        let (earlier, now) = last.retained_together(&explained, (before, after), first)?;
        let heap_growth = after.heap as i64 - before.heap as i64;
        let elsewhere = (heap_growth - (now as i64 - earlier as i64)).max(0) as u64;
        let all = found.len();
        let mut found = match arguments.inside {
            true => found.into_iter().map(Found::alone).collect(),
            false => telling(last, found)?,
        };
        let said: usize = found.iter().map(Found::structures).sum();
        let within = all - said;
        let shown = super::or_all(arguments.limit).min(found.len());
        let omitted = found.len() - shown;
        found.truncate(shown);
        let names_of = |of: &mut dyn Iterator<Item = &Grown>| {
            let heads = of.map(|one| last.head(one.last().number));
            let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
            Ok::<_, Failure>(last.structure_names(&heads)?.into_iter())
        };
        let names = names_of(&mut found.iter().map(|one| &one.grown))?;
        let mut outer_names = names_of(&mut found.iter().filter_map(|one| one.inside_of.as_ref()))?;
        let window = Window::new(first, last)?;
        let is_sure = |key: &String| {
            let earlier = before.earlier(key, after);
            is_identity(key) && matches!(earlier, Earlier::Same(_) | Earlier::Absent)
        };
        let with_deep = found.len() <= MOST_DEEP;
        let structures = found.iter().zip(names).map(|(found, name)| {
            let one = &found.grown;
            let newcomers = window.newcomers(one)?.into_iter();
            let sites = window.allocation_sites(one)?.into_iter();
            Ok(Structure {
                name,
                approximate: !is_sure(&one.key),
                born: one.is_born(),
                replaces: one.replaces,
                inside_of: found.inside_of.as_ref().map(|outer| Outer {
                    name: outer_names.next().unwrap_or_default(),
                    growth: outer.change(),
                    hgp: portion(outer),
                }),
                growth: one.change(),
                hgp: portion(one),
                change: Changes::new(one, &window, with_deep)?,
                new_elements: one.new_elements(),
                new_share: window.new_share(one)?,
                retained: one.curve.iter().map(|one| Some((*one)?.retained)).collect(),
                elements: one.curve.iter().map(|one| (*one)?.elements).collect(),
                never_shrinks: one.never_shrinks(),
                newcomers: newcomers.map(Newcomer::from).collect(),
                newcomers_by: match steps {
                    [] => None,
                    steps => {
                        let kinds = window.newcomers_by(one, steps)?.into_iter();
                        Some(kinds.map(NewcomerKind::from).collect())
                    }
                },
                allocation_sites: sites
                    .map(|(site, objects)| Site { site, objects })
                    .collect(),
            })
        });
        let structures: Vec<Structure> = structures.collect::<Result<_, Failure>>()?;
        let mut owners = joint.iter().flat_map(|joint| &joint.owners);
        let approximate = owners.any(|key| !is_sure(key))
            || structures.iter().any(|structure| structure.approximate);
        let joint = joint
            .into_iter()
            .map(|joint| Joint::new(joint, last, after));
        Ok(Growth {
            states: states
                .names
                .iter()
                .zip(inventories)
                .zip(&states.missing)
                .map(|((name, inventory), missing)| State {
                    name: name.clone(),
                    reachable: inventory.heap,
                    identities_missing: missing.clone(),
                })
                .collect(),
            skipped: states.skipped,
            heap_growth,
            least: arguments.least,
            approximate,
            unclear: before.not_comparable(after),
            joint: joint.collect::<Result<_, Failure>>()?,
            structures,
            within,
            elsewhere,
            omitted,
        })
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        let sizes: Vec<String> = spread(MOST_SIZES, self.states.len())
            .into_iter()
            .map(|place| bytes(self.states[place].reachable))
            .collect();
        out.heading(&format!(
            "The reachable heap {}: {}",
            match self.heap_growth {
                0 => "has not changed".to_owned(),
                grown if grown > 0 => format!("grew by {}", bytes(grown as u64)),
                shrunk => format!("shrank by {}", bytes(shrunk.unsigned_abs())),
            },
            sizes.join(" → ")
        ))?;
        if self.skipped > 0 {
            let between = counted(self.skipped as u64, "state", "states");
            out.remark(&format!(
                "{between} between were not looked into; --states 0 takes all"
            ))?;
        }
        self.missing_identities(out)?;
        if self.approximate {
            out.remark(
                "Structures are recognised by how they are held: approximate where that changes.",
            )?;
        }
        if self.joint.is_empty() && self.structures.is_empty() {
            out.line("No data structure grew.")?;
        }
        // What says most comes first, alone or together.
        let mut joint = self.joint.iter().peekable();
        for one in &self.structures {
            while let Some(together) = joint.next_if(|joint| joint.hgp >= one.hgp.unwrap_or(0.0)) {
                together.text(out)?;
            }
            one.text(out)?;
        }
        joint.try_for_each(|together| together.text(out))?;
        let elsewhere = self.elsewhere as f64 / self.heap_growth.max(1) as f64 * 100.0;
        if self.within > 0 || self.omitted > 0 || elsewhere >= MUCH_ELSEWHERE {
            out.blank()?;
        }
        if self.within > 0 {
            let inside = counted(
                self.within as u64,
                "more that grew is",
                "more that grew are",
            );
            out.remark(&format!("{inside} inside of these; --inside shows them"))?;
        }
        if elsewhere >= MUCH_ELSEWHERE {
            out.remark(&format!(
                "{elsewhere:.0}% of the growth ({}) is in no structure that grew by {}% of it: `anthill diff` shows of which classes it is",
                bytes(self.elsewhere),
                self.least,
            ))?;
        }
        Ok(out.omitted(self.omitted)?)
    }

    /// What is missing at both ends, which everything is compared with.
    fn missing_identities(&self, out: &mut Out) -> Result<(), Failure> {
        for state in self.states.first().into_iter().chain(self.states.last()) {
            if let Some(reason) = &state.identities_missing {
                out.remark(&format!(
                    "Identities are missing in {}: {reason}.",
                    state.name
                ))?;
            }
        }
        Ok(())
    }

    fn csv(&self, out: &mut Out) -> Result<(), Failure> {
        csv::line(out, &COLUMNS)?;
        for joint in &self.joint {
            csv::line(out, &joint.cells().each_ref().map(String::as_str))?;
        }
        for one in &self.structures {
            csv::line(out, &one.cells().each_ref().map(String::as_str))?;
        }
        Ok(())
    }
}

/// A structure that is shown.
struct Found {
    grown: Grown,
    /// The outermost one around it.
    inside_of: Option<Grown>,
}

impl Found {
    fn alone(grown: Grown) -> Self {
        Found {
            grown,
            inside_of: None,
        }
    }

    fn structures(&self) -> usize {
        1 + usize::from(self.inside_of.is_some())
    }
}

/// Of structures inside of each other the innermost that makes up most of the outermost one's growth.
fn telling(session: &Session, found: Vec<Grown>) -> Result<Vec<Found>, Failure> {
    let dominators = &session.analysis()?.dominators;
    let heads = found.iter().map(|one| session.head(one.last().number));
    let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
    let by_head: HashMap<u32, usize> = heads.iter().copied().zip(0..).collect();
    let above = |head: u32| {
        dominators
            .chain(head)
            .filter_map(|above| by_head.get(&above).copied())
    };
    // By structure: the innermost known so far, with how many are around it.
    let mut innermost: HashMap<usize, (usize, usize)> = HashMap::new();
    for (number, &head) in heads.iter().enumerate() {
        let (around, outermost) = (above(head).count(), above(head).last().unwrap_or(number));
        let best = innermost.entry(outermost).or_insert((0, outermost));
        let (part, whole) = (found[number].change(), found[outermost].change());
        if around > best.0 && part as f64 * 100.0 >= whole as f64 * MOST_OF_GROWTH {
            *best = (around, number);
        }
    }
    let mut telling: Vec<Found> = innermost
        .into_iter()
        .map(|(outermost, (_, inner))| Found {
            grown: found[inner].clone(),
            inside_of: (inner != outermost).then(|| found[outermost].clone()),
        })
        .collect();
    telling.sort_by(|a, b| {
        let (a, b) = (&a.grown, &b.grown);
        (b.change(), &a.key).cmp(&(a.change(), &b.key))
    });
    Ok(telling)
}
