//! Where the heap grew, whatever holds the objects: the owner trees of two states are compared from the roots
//! down to where the number of objects grew.

use anthill_graph::NodeId;
use anthill_leaks::{Roles, main_part};
use anthill_paths::{OwnerTree, owner_paths, without_numbers};
use anthill_session::{Error, Session, stable_name};

use crate::structure_names;

/// Groups that retain less than this part of the heap's growth are not compared.
const SMALLEST: u64 = 200;
/// A group that grew by less than this part of the heap's growth says nothing, in percent.
const LEAST_PORTION: u64 = 5;
/// The part of a group's growth, in percent, that a group below it must have to be looked into.
const LEAST_PART: u64 = 20;

/// A place that keeps more alive than before.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownPlace {
    /// How the objects are held that keep more alive.
    pub name: String,
    /// How many they are: equal owners are one place.
    pub owners: u64,
    /// One of them.
    pub example: NodeId,
    /// The class of the objects that became more, and how many there were and are.
    pub elements: Option<GrownElements>,
    /// Bytes that it kept alive at the beginning and at the end.
    pub retained: (u64, u64),
}

/// Objects of which there are more than before.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownElements {
    /// Their class.
    pub class: String,
    /// The last class of the program's own, or of a library, that they lead to: what a listener's
    /// registration is about.
    pub about: Option<String>,
    /// How many there were, and are.
    pub count: (u64, u64),
}

/// The places where the heap grew since an earlier state, most growth first.
pub fn grown_places(first: &Session, last: &Session) -> Result<Vec<GrownPlace>, Error> {
    let heap = |session: &Session| Ok::<_, Error>(session.analysis()?.total().retained);
    let growth = heap(last)?.saturating_sub(heap(first)?);
    let smallest = (growth / SMALLEST).max(1);
    let comparison = Comparison {
        last,
        before: OwnerTree::new(first, smallest)?,
        after: OwnerTree::new(last, smallest)?,
        least: (growth * LEAST_PORTION / 100).max(1),
        roles: Roles::new(last.state(), last.owner_dominators()?),
    };
    let mut found = Vec::new();
    if growth > 0 {
        comparison.look_into(Some(0), 0, &mut found)?;
    }
    found.sort_by_key(|place| std::cmp::Reverse(place.growth()));
    Ok(found)
}

impl GrownPlace {
    /// Bytes that it keeps alive more than before.
    pub fn growth(&self) -> u64 {
        self.retained.1.saturating_sub(self.retained.0)
    }
}

struct Comparison<'a> {
    last: &'a Session,
    before: OwnerTree,
    after: OwnerTree,
    least: u64,
    roles: Roles<'a>,
}

/// A group below another one that grew.
struct Below {
    before: Option<usize>,
    after: usize,
    growth: u64,
}

impl Comparison<'_> {
    /// Names what grew in a group, or the group itself if nothing below it did.
    fn look_into(
        &self,
        before: Option<usize>,
        after: usize,
        found: &mut Vec<GrownPlace>,
    ) -> Result<(), Error> {
        let growth = self.growth(before, after);
        let below = self.below(before, after, growth);
        if below.is_empty() && after != 0 {
            found.extend(self.place(before, after, None)?);
            return Ok(());
        }
        for one in below {
            let (was, is) = (
                self.members(one.before),
                self.after.groups[one.after].members,
            );
            if is < 2 || is == was {
                self.look_into(one.before, one.after, found)?;
            } else if after == 0 {
                found.extend(self.place(one.before, one.after, Some(&one))?);
            } else {
                found.extend(self.place(before, after, Some(&one))?);
            }
        }
        Ok(())
    }

    fn members(&self, before: Option<usize>) -> u64 {
        before.map_or(0, |group| self.before.groups[group].members)
    }

    fn growth(&self, before: Option<usize>, after: usize) -> u64 {
        let earlier = before.map_or(0, |group| self.before.groups[group].retained);
        self.after.groups[after].retained.saturating_sub(earlier)
    }

    fn below(&self, before: Option<usize>, after: usize, growth: u64) -> Vec<Below> {
        let least = self.least.max(growth / 100 * LEAST_PART);
        let children = self.after.groups[after].children.iter();
        let below = children.map(|&child| {
            let name = &self.after.groups[child].name;
            let earlier = before.and_then(|group| self.before.child(group, name));
            Below {
                before: earlier,
                after: child,
                growth: self.growth(earlier, child),
            }
        });
        let mut below: Vec<Below> = below.filter(|one| one.growth >= least).collect();
        below.sort_by_key(|one| std::cmp::Reverse(one.growth));
        below
    }

    /// The last class that is not the JVM's own on the way from a group to what retains most below it.
    fn about(&self, group: usize) -> Option<String> {
        let groups = &self.after.groups;
        let first = |group: usize| groups[group].children.first().copied();
        let way = std::iter::successors(first(group), |&group| first(group));
        let own = way.filter_map(|group| groups[group].class);
        let own = own.filter(|&class| !self.roles.is_platform_class(class));
        let class = own.last()?;
        Some(stable_name(
            &self.last.state().classes()[class as usize].name,
        ))
    }

    /// How one of the class objects is held that stand for the same class in several class loaders.
    fn name_of_class(&self, object: NodeId) -> Result<Option<String>, Error> {
        let state = self.last.state();
        let class = (object < state.len()).then(|| state.mirrored(object));
        let before = self.last.paths_from_owners()?.before(object).flatten();
        let (Some(class), Some(before)) = (class.flatten(), before) else {
            return Ok(None);
        };
        let class = stable_name(&state.classes()[class as usize].name);
        let held = owner_paths(self.last, &[before])?.pop();
        Ok(held.map(|held| format!("{held} → class {class}")))
    }

    fn place(
        &self,
        before: Option<usize>,
        after: usize,
        elements: Option<&Below>,
    ) -> Result<Option<GrownPlace>, Error> {
        let group = &self.after.groups[after];
        let Some(example) = group.example else {
            return Ok(None);
        };
        let name = match group.members {
            1 => structure_names(self.last, &[example])?.pop(),
            // A thread says little: what it holds most with says more.
            _ if self.last.is_thread(example) => {
                structure_names(self.last, &[main_part(self.last, example)?])?.pop()
            }
            _ => match self.name_of_class(example)? {
                Some(name) => Some(name),
                None => structure_names(self.last, &[example])?.pop(),
            },
        };
        let name = name.unwrap_or_default();
        let elements = elements.and_then(|one| {
            let group = &self.after.groups[one.after];
            let class = &self.last.state().classes()[group.class? as usize].name;
            Some(GrownElements {
                class: stable_name(class),
                about: self.about(one.after),
                count: (self.members(one.before), group.members),
            })
        });
        Ok(Some(GrownPlace {
            name: match group.members {
                1 => name,
                _ => without_numbers(&name),
            },
            owners: group.members,
            example,
            elements,
            retained: (
                before.map_or(0, |group| self.before.groups[group].retained),
                group.retained,
            ),
        }))
    }
}
