//! Growth of data structures from state to state: what grew, and which structures grow together because they
//! share their contents. Variables of running methods that only borrow objects own nothing here: a list that is being copied or
//! iterated retains as much as before.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anthill_graph::{FrontOptions, gc_closure_among};
use anthill_heap::{BitSet, ObjectId};
use anthill_leaks::fronts_of;
use anthill_paths::{owner_paths, without_numbers};
use anthill_session::{Error, Session, stable_name};
use anthill_structures::{
    Grown, Holder, Inside, Inventory, Met, Observed, Shared, Walker, growth_portion,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Figures;
use crate::identities::{identities, newest};

/// Structures that keep their contents alive only together.
#[derive(Clone, Debug, PartialEq)]
pub struct JointGrowth {
    /// Keys of the structures, those that retain most alone first.
    pub owners: Vec<String>,
    /// What they retain together at the beginning and at the end.
    pub retained: (u64, u64),
    /// The share of the heap's growth, in percent.
    pub portion: f64,
}

/// A structure that makes up most of the growth of the structures around it.
pub struct InnermostGrowth {
    /// How it grew.
    pub grown: Grown,
    /// The outermost one around it that grew.
    pub inside_of: Option<Grown>,
}

impl InnermostGrowth {
    /// One that no other structure that grew is around.
    pub fn alone(grown: Grown) -> Self {
        InnermostGrowth {
            grown,
            inside_of: None,
        }
    }

    /// How many structures are named with it.
    pub fn structures(&self) -> usize {
        1 + usize::from(self.inside_of.is_some())
    }
}

/// The part of a structure's growth, in percent, that makes one inside of it the one to name.
const MOST_OF_GROWTH: f64 = 80.0;

/// So many structures that are held in the same way are named together.
const MANY_ALIKE: usize = 4;

/// What keys begin with that are identities; no way to hold something begins so.
const IDENTITY: char = '#';

/// Whether a key of an inventory is an identity, not only the way by which a structure is held.
pub fn is_identity(key: &str) -> bool {
    key.starts_with(IDENTITY)
}

/// Whether a way to hold something leads to one place: a key of which only the class is known does not.
fn is_one_place(name: &str) -> bool {
    let mut keys = name.split("→ [").skip(1);
    keys.all(|key| {
        key.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
    })
}

/// How many structures are looked at for joint growth, those with most new elements first.
const MOST_TRIED: usize = 8;

/// Owners that together keep less than this part of the heap's growth, in percent, say nothing.
const LEAST_PORTION: f64 = 1.0;

/// The least part, in percent, of what structures grew by together that none of them retains alone.
const LEAST_SHARED: u64 = 20;

/// The part of shared contents, in percent, that owners must keep alive together. The rest may be held by
/// whatever is at work at this moment, too.
const LEAST_COVERED: u128 = 95;

/// In how many structures of a recording, the largest, it is looked for what took the place of another.
const MOST_HELD: usize = 10_000;

/// A structure with what it is called from state to state.
struct Keyed {
    number: u32,
    key: String,
    identity: Option<u64>,
}

/// Leaves out structures that are held in the same way but for numbers, such as the thread-local values of the
/// threads of a pool: together they are one place that grows.
pub fn without_alike(session: &Session, found: Vec<Grown>) -> Result<Vec<Grown>, Error> {
    let heads = found.iter().map(|one| session.head(one.last().number));
    let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
    let names = structure_names(session, &heads)?;
    let names: Vec<String> = names.iter().map(|name| without_numbers(name)).collect();
    let mut alike: FxHashMap<&str, usize> = FxHashMap::default();
    for name in &names {
        *alike.entry(name).or_default() += 1;
    }
    let is_alone = |(_, name): &(Grown, &String)| alike[name.as_str()] < MANY_ALIKE;
    let alone = found.into_iter().zip(&names).filter(is_alone);
    Ok(alone.map(|(one, _)| one).collect())
}

/// Of structures inside of each other the innermost that makes up most of the outermost one's growth.
pub fn innermost_growth(
    session: &Session,
    found: Vec<Grown>,
) -> Result<Vec<InnermostGrowth>, Error> {
    let dominators = session.owner_dominators()?;
    let heads = found.iter().map(|one| session.head(one.last().number));
    let heads: Vec<u32> = heads.collect::<Result<_, _>>()?;
    let by_head: FxHashMap<u32, usize> = heads.iter().copied().zip(0..).collect();
    let above = |head: u32| {
        dominators
            .chain(head)
            .filter_map(|above| by_head.get(&above).copied())
    };
    // By structure: the innermost known so far, with how many are around it.
    let mut innermost: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
    for (number, &head) in heads.iter().enumerate() {
        let (around, outermost) = (above(head).count(), above(head).last().unwrap_or(number));
        let best = innermost.entry(outermost).or_insert((0, outermost));
        let (part, whole) = (found[number].change(), found[outermost].change());
        if around > best.0 && part as f64 * 100.0 >= whole as f64 * MOST_OF_GROWTH {
            *best = (around, number);
        }
    }
    let mut named: Vec<InnermostGrowth> = innermost
        .into_iter()
        .map(|(outermost, (_, inner))| InnermostGrowth {
            grown: found[inner].clone(),
            inside_of: (inner != outermost).then(|| found[outermost].clone()),
        })
        .collect();
    named.sort_by(|a, b| {
        let (a, b) = (&a.grown, &b.grown);
        (b.change(), &a.key).cmp(&(a.change(), &b.key))
    });
    Ok(named)
}

/// What there is of structures: in a recording by the identities of their heads, those without one and in
/// dumps by owner path. Parts and views of others and class loaders, which retain all that belongs to their
/// classes, are left out.
pub fn inventory(session: &Session) -> Result<Inventory, Error> {
    let known = identities(session)?;
    let structures = session.structures()?;
    // Wrappers have no identity, but what they were made for.
    let wrapped = |number: u32| {
        let mut inside = structures.inside(number).iter();
        let part = inside.find(|(_, _, how)| *how == Inside::Part)?;
        let head = structures.instances[part.1 as usize].head;
        known.of(session.state(), head)
    };
    let mut keyed: Vec<Keyed> = Vec::new();
    let mut others: Vec<(u32, ObjectId)> = Vec::new();
    for (number, head) in comparable_structures(session)? {
        let identity = known.of(session.state(), head).or_else(|| wrapped(number));
        match identity {
            Some(identity) => keyed.push(Keyed {
                number,
                key: format!("{IDENTITY}{identity}"),
                identity: Some(identity),
            }),
            None => others.push((number, head)),
        }
    }
    let held = held(session, &keyed)?;
    keyed.extend(keyed_by_path(session, &others)?);
    let inventory = inventory_of(session, keyed)?;
    Ok(inventory.with_identities(newest(&known), held.into_iter()))
}

/// The same by owner path alone, to compare with a state that has no identities.
pub fn inventory_by_path(session: &Session) -> Result<Inventory, Error> {
    inventory_of(
        session,
        keyed_by_path(session, &comparable_structures(session)?)?,
    )
}

fn keyed_by_path(session: &Session, structures: &[(u32, ObjectId)]) -> Result<Vec<Keyed>, Error> {
    let heads: Vec<ObjectId> = structures.iter().map(|one| one.1).collect();
    let names = structure_names(session, &heads)?.into_iter();
    let keyed = structures.iter().zip(names).map(|(one, key)| Keyed {
        number: one.0,
        key,
        identity: None,
    });
    Ok(keyed.collect())
}

fn inventory_of(session: &Session, keyed: Vec<Keyed>) -> Result<Inventory, Error> {
    let dominators = session.owner_dominators()?;
    let structures = session.structures()?;
    let observed = keyed.into_iter().map(|keyed| {
        let one = &structures.instances[keyed.number as usize];
        let observed = Observed {
            number: keyed.number,
            identity: keyed.identity,
            elements: one.elements,
            retained: dominators.retained(one.head),
            bytes: one.bytes,
        };
        (keyed.key, observed)
    });
    let heap = session.analysis()?.total().retained;
    Ok(Inventory::new(heap, observed))
}

/// How the largest of structures are held, by key.
fn held(session: &Session, keyed: &[Keyed]) -> Result<Vec<(String, Holder)>, Error> {
    let dominators = session.owner_dominators()?;
    let heads = keyed
        .iter()
        .map(|one| Ok((session.head(one.number)?, &one.key)));
    let mut largest: Vec<(ObjectId, &String)> = heads.collect::<Result<_, Error>>()?;
    largest.sort_by_key(|&(head, _)| (Reverse(dominators.retained(head)), head));
    largest.truncate(MOST_HELD);
    let heads: Vec<ObjectId> = largest.iter().map(|one| one.0).collect();
    let paths = structure_names(session, &heads)?.into_iter();
    let holders = paths.map(|path| Holder {
        is_one_place: is_one_place(&path),
        path,
    });
    let keys = largest.into_iter().map(|one| one.1.clone());
    Ok(keys.zip(holders).collect())
}

/// What structures have, by how they are held: their elements as objects, heads and internals as shallow.
/// Those that cannot be told apart are left out.
pub fn structures_by_name(session: &Session) -> Result<BTreeMap<String, Figures>, Error> {
    let figures = |one: Observed| Figures {
        objects: one.elements.unwrap_or(0),
        shallow: one.bytes,
        retained: one.retained,
    };
    let structures = inventory_by_path(session)?.structures.into_iter();
    Ok(structures.map(|(name, one)| (name, figures(one))).collect())
}

/// How structures are called where they are compared: how they are held, and their class.
pub fn structure_names(session: &Session, heads: &[ObjectId]) -> Result<Vec<String>, Error> {
    let paths = owner_paths(session, heads)?.into_iter();
    let named = paths.zip(heads).map(|(path, &head)| {
        let class = stable_name(&session.state().class(head).name);
        format!("{path} ({class})")
    });
    Ok(named.collect())
}

/// How the structures with these identities are called in a state of their recording, which may no longer
/// have some of them.
pub fn names_by_identity(
    session: &Session,
    wanted: &[u64],
) -> Result<FxHashMap<u64, String>, Error> {
    let wanted: FxHashSet<u64> = wanted.iter().copied().collect();
    let known = identities(session)?;
    let heads = session.structures()?.instances.iter().map(|one| one.head);
    let identified = heads.filter_map(|head| {
        let identity = known.of(session.state(), head)?;
        wanted.contains(&identity).then_some((identity, head))
    });
    let (identities, heads): (Vec<u64>, Vec<ObjectId>) = identified.unzip();
    let names = structure_names(session, &heads)?;
    Ok(identities.into_iter().zip(names).collect())
}

/// The structures that are compared, with number and head: no parts, views or class loaders.
pub(crate) fn comparable_structures(session: &Session) -> Result<Vec<(u32, ObjectId)>, Error> {
    let state = session.state();
    let is_loader: Vec<bool> = (0..state.classes().len() as u32)
        .map(|class| state.extends(class, "java.lang.ClassLoader"))
        .collect();
    let instances = (0..).zip(&session.structures()?.instances);
    Ok(instances
        .filter(|(_, one)| {
            !one.is_part && !one.is_view && !is_loader[state.class_id(one.head) as usize]
        })
        .map(|(number, one)| (number, one.head))
        .collect())
}

/// Structures of this state that grew together since an earlier one: they share so much of their
/// contents that each alone retains less of it.
pub fn joint_growth(
    session: &Session,
    inventories: (&Inventory, &Inventory),
    first: &Session,
) -> Result<Vec<JointGrowth>, Error> {
    let (before, after) = inventories;
    let mut candidates: Vec<(&String, i64)> = after
        .structures
        .iter()
        .filter_map(|(key, last)| {
            let earlier = before.earlier(key, after).figures()?.elements?;
            let more = last.elements? as i64 - earlier as i64;
            (more > 0).then_some((key, more))
        })
        .collect();
    candidates.sort_by_key(|&(key, more)| (Reverse(more), key));
    let keys: FxHashMap<u32, &String> = after
        .structures
        .iter()
        .map(|(key, one)| (one.number, key))
        .collect();
    let heap_growth = after.heap.saturating_sub(before.heap);
    let mut found: Vec<JointGrowth> = Vec::new();
    for (key, _) in candidates.into_iter().take(MOST_TRIED) {
        if found.iter().any(|joint| joint.owners.contains(key)) {
            continue;
        }
        let number = after.structures[key].number;
        let is_known = |number| keys.contains_key(&number);
        if let Some(owners) = joint_owners(session, number, heap_growth, &is_known)? {
            let owners = owners.iter().map(|owner| keys[owner].clone()).collect();
            found.extend(grown_together(session, owners, inventories, first)?);
        }
    }
    found.sort_by(|a, b| b.portion.total_cmp(&a.portion));
    Ok(found)
}

/// What structures grew by together, unless what each retains alone says it all, or of one of them the
/// beginning is not known.
fn grown_together(
    session: &Session,
    owners: Vec<String>,
    (before, after): (&Inventory, &Inventory),
    first: &Session,
) -> Result<Option<JointGrowth>, Error> {
    let alone = owners.iter().map(|key| {
        let earlier = before.earlier(key, after).figures()?.retained;
        Some(after.structures[key].retained.saturating_sub(earlier))
    });
    let Some(alone) = alone.sum::<Option<u64>>() else {
        return Ok(None);
    };
    let retained = retained_together(session, &owners, (before, after), first)?;
    let change = retained.1.saturating_sub(retained.0);
    let shared = change.saturating_sub(alone);
    let portion = |bytes| growth_portion(bytes, before.heap, after.heap);
    let is_enough = portion(shared).is_some_and(|portion| portion >= LEAST_PORTION)
        && u128::from(shared) * 100 >= u128::from(change) * u128::from(LEAST_SHARED);
    Ok(portion(change)
        .filter(|_| is_enough)
        .map(|portion| JointGrowth {
            owners,
            retained,
            portion,
        }))
}

/// The structures, of those that are known, that together keep alive what one of them has as leaves but
/// does not retain alone.
fn joint_owners(
    session: &Session,
    number: u32,
    heap_growth: u64,
    is_known: &dyn Fn(u32) -> bool,
) -> Result<Option<Vec<u32>>, Error> {
    let dominators = session.owner_dominators()?;
    let graph = session.owners_graph()?;
    let own = dominators.dominated_by(&[session.head(number)?]);
    let leaves = leaves_of(session, number)?;
    let mut group = BitSet::new(session.state().len() as usize);
    let mut bytes = 0;
    for leaf in leaves.iter() {
        if dominators.is_reachable(leaf) && !own.contains(leaf) {
            group.insert(leaf);
            bytes += dominators.retained(leaf);
        }
    }
    if bytes.saturating_mul(100) < heap_growth {
        return Ok(None);
    }
    let options = FrontOptions::default();
    let fronts = fronts_of(&graph, dominators, &group, options, session.progress())?;
    for front in fronts.iter().filter(|front| front.owners.len() > 1) {
        let mut owners = known_owners(session, &front.owners, is_known)?;
        let found = owners.len() > 1 && owners.contains(&number);
        if !found || !cover(session, &owners, &group)? {
            continue;
        }
        // Without those that hold only a few of what is shared; the smallest are the last.
        for at in (0..owners.len()).rev().filter(|_| front.owners.len() > 2) {
            let mut fewer = owners.clone();
            if fewer.len() > 2 && fewer.remove(at) != number && cover(session, &fewer, &group)? {
                owners = fewer;
            }
        }
        return Ok(Some(owners));
    }
    Ok(None)
}

/// The structures of a front that are known; of a part the one that it is a part of.
fn known_owners(
    session: &Session,
    front: &[ObjectId],
    is_known: &dyn Fn(u32) -> bool,
) -> Result<Vec<u32>, Error> {
    let dominators = session.owner_dominators()?;
    let structures = session.structures()?;
    let mut owners: Vec<u32> = Vec::new();
    for &owner in front {
        let mut above = std::iter::once(owner).chain(dominators.chain(owner));
        let mut number = above.next().and_then(|head| structures.of_head(head));
        while number.is_some_and(|number| structures.instances[number as usize].is_part) {
            number = above.find_map(|head| structures.of_head(head));
        }
        let number = number.filter(|&number| is_known(number));
        owners.extend(number.filter(|number| !owners.contains(number)));
    }
    Ok(owners)
}

/// Whether structures together keep almost all of a group alive.
fn cover(session: &Session, owners: &[u32], group: &BitSet) -> Result<bool, Error> {
    let heads = owners.iter().map(|&owner| session.head(owner));
    let heads: Vec<ObjectId> = heads.collect::<Result<_, _>>()?;
    let graph = session.owners_graph()?;
    let dominators = session.owner_dominators()?;
    let closure = gc_closure_among(&graph, dominators.reachable(), &heads);
    let bytes = |leaf: ObjectId| u128::from(dominators.retained(leaf));
    let covered = group.iter().filter(|&leaf| closure.contains(leaf));
    let covered: u128 = covered.map(bytes).sum();
    let all: u128 = group.iter().map(bytes).sum();
    Ok(covered * 100 >= all * LEAST_COVERED)
}

/// The leaves of a structure and of its parts.
pub(crate) fn leaves_of(session: &Session, number: u32) -> Result<BitSet, Error> {
    let structures = session.structures()?;
    let model = session.structure_model();
    let mut walker = Walker::new(&model);
    let mut leaves = BitSet::new(session.state().len() as usize);
    let mut waiting = vec![number];
    let mut seen = BitSet::new(structures.instances.len());
    while let Some(number) = waiting.pop() {
        if !seen.add(number) {
            continue;
        }
        let tell = |met| match met {
            Met::Leaf { object, .. } => leaves.insert(object),
            Met::Part(part) => waiting.extend(structures.of_head(part)),
            Met::Internal { .. } | Met::Array(_) => {}
        };
        let head = structures.instances[number as usize].head;
        walker.walk(head, tell, || Shared::Follow);
    }
    Ok(leaves)
}

/// What structures of this state, by their keys, keep alive together: what there was of them in an
/// earlier state, and they themselves in this one.
pub fn retained_together(
    session: &Session,
    keys: &[String],
    (before, after): (&Inventory, &Inventory),
    first: &Session,
) -> Result<(u64, u64), Error> {
    let earlier = keys.iter().map(|key| before.earlier(key, after));
    let earlier = earlier.filter_map(|one| one.observed());
    let earlier: Vec<u32> = earlier.map(|one| one.number).collect();
    let now = keys.iter().filter_map(|key| after.structures.get(key));
    let now: Vec<u32> = now.map(|one| one.number).collect();
    Ok((
        closure_bytes(first, &earlier)?,
        closure_bytes(session, &now)?,
    ))
}

fn closure_bytes(session: &Session, numbers: &[u32]) -> Result<u64, Error> {
    if numbers.is_empty() {
        return Ok(0);
    }
    let heads = numbers.iter().map(|&number| session.head(number));
    let heads: Vec<ObjectId> = heads.collect::<Result<_, _>>()?;
    let graph = session.owners_graph()?;
    let reachable = session.owner_dominators()?.reachable();
    let closure = gc_closure_among(&graph, reachable, &heads);
    Ok(graph.totals(&closure).bytes)
}
