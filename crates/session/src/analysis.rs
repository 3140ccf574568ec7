//! The analysis every question needs: dominators, retained sizes, and for each class, package
//! and class loader how many objects it has and what they retain together.

use std::io;

use anthill_graph::{
    Amounts, DepthFirst, Dominators, Graph, GroupTotals, Membership, NodeId, UNREACHABLE,
    retained_by_groups, weakly_reachable,
};
use anthill_heap::{Cancelled, Class, Column, FieldType, HeapState, Loaders, ObjectId, Progress};
use anthill_index::{Index, IndexWriter};
use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

/// How classes are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// By class.
    Class,
    /// By package.
    Package,
    /// By class loader.
    Loader,
}

/// What is known of a group of objects.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Row {
    /// All objects, reachable or not.
    pub objects: u64,
    /// Bytes of all objects, reachable or not.
    pub shallow: u64,
    /// Of them, those that nothing keeps alive.
    pub unreachable_objects: u64,
    /// Bytes of those that nothing keeps alive.
    pub unreachable_shallow: u64,
    /// What would die with the reachable ones, themselves included.
    pub retained_objects: u64,
    /// Bytes that would die with the reachable ones.
    pub retained: u64,
}

/// What is known of a whole heap.
pub struct Analysis {
    /// Who keeps what alive alone.
    pub dominators: Dominators,
    groups: Groups,
    /// By group.
    rows: Column<Row>,
    /// Objects and bytes that only weak, phantom or finalizer references lead to.
    pub weakly_reachable: GroupTotals,
}

/// The groups of a heap: classes first, then packages, then loaders; see [`Loaders::of`] for what
/// belongs to a loader.
pub struct Groups {
    classes: usize,
    /// The names of the packages.
    pub packages: Vec<String>,
    loaders: Loaders,
    /// By label, a class or a class and another loader than the class's own: its groups, ascending.
    of_label: Vec<Vec<u32>>,
    other_labels: FxHashMap<(u32, Option<ObjectId>), u32>,
}

/// The package group of a class: arrays of primitives belong to no package.
pub fn package_group(class: &Class) -> &str {
    let element = class.name.trim_end_matches("[]");
    let primitive = element.len() < class.name.len()
        && FieldType::ALL
            .iter()
            .skip(1)
            .any(|ty| ty.keyword() == element);
    match class.package() {
        "" if primitive => "(arrays of primitives)",
        "" => "(unnamed package)",
        package => package,
    }
}

impl Groups {
    /// The groups of the classes of a heap.
    pub fn new(state: &HeapState) -> Self {
        let classes = state.classes();
        let mut packages: Vec<String> = classes
            .iter()
            .map(|class| package_group(class).to_owned())
            .collect();
        packages.sort_unstable();
        packages.dedup();
        let mut groups = Groups {
            classes: classes.len(),
            packages,
            loaders: Loaders::new(state),
            of_label: Vec::new(),
            other_labels: FxHashMap::default(),
        };
        groups.of_label = (0..)
            .zip(classes)
            .map(|(id, class)| groups.of(state, id, class.loader))
            .collect();
        let loaders: Vec<ObjectId> = groups.loaders().iter().copied().flatten().collect();
        for loader in loaders {
            let class = state.class_id(loader);
            groups.add_label(state, class, Some(loader));
        }
        for class in classes {
            if let Some(mirror) = class.mirror {
                groups.add_label(state, state.class_id(mirror), class.loader);
            }
        }
        groups
    }

    /// The loaders that rows stand for, in their order.
    pub fn loaders(&self) -> &[Option<ObjectId>] {
        self.loaders.all()
    }

    /// The groups of a class and a loader.
    fn of(&self, state: &HeapState, class: u32, loader: Option<ObjectId>) -> Vec<u32> {
        let package = package_group(&state.classes()[class as usize]);
        let package = self
            .packages
            .binary_search_by(|known| known.as_str().cmp(package))
            .unwrap_or_default();
        let loader = self.loaders().binary_search(&loader).unwrap_or_default();
        let packages = self.classes + self.packages.len();
        vec![
            class,
            (self.classes + package) as u32,
            (packages + loader) as u32,
        ]
    }

    fn add_label(&mut self, state: &HeapState, class: u32, loader: Option<ObjectId>) {
        if !self.other_labels.contains_key(&(class, loader)) {
            self.other_labels
                .insert((class, loader), self.of_label.len() as u32);
            self.of_label.push(self.of(state, class, loader));
        }
    }

    /// The label of a node: its groups are those of all nodes with this label.
    #[inline]
    fn label(&self, graph: &Graph, node: NodeId) -> Option<u32> {
        let class = graph.class(node)?;
        if self.loaders.is_special(class) {
            Some(self.special_label(graph.state, node, class))
        } else {
            Some(class)
        }
    }

    fn special_label(&self, state: &HeapState, node: NodeId, class: u32) -> u32 {
        let loader = self.loaders.of(state, node);
        self.other_labels
            .get(&(class, loader))
            .copied()
            .unwrap_or(class)
    }

    fn len(&self) -> usize {
        self.classes + self.packages.len() + self.loaders().len()
    }

    fn range(&self, grouping: Grouping) -> std::ops::Range<usize> {
        let packages = self.classes + self.packages.len();
        match grouping {
            Grouping::Class => 0..self.classes,
            Grouping::Package => self.classes..packages,
            Grouping::Loader => packages..self.len(),
        }
    }
}

impl Analysis {
    /// Analyses a heap from its roots on.
    pub fn new(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let groups = Groups::new(graph.state);
        let mut search = DepthFirst::new(graph, progress)?;
        let membership = Membership {
            label: |node| groups.label(graph, node),
            groups_of_label: &groups.of_label,
            groups: groups.len(),
        };
        let retained = retained_by_groups(graph, &mut search, &membership, progress)?;
        let dominators = Dominators::new(graph, search, progress)?;
        let rows = rows(graph, &groups, &dominators, &retained);
        let weakly_reachable = weakly_reachable(graph, &dominators);
        Ok(Analysis {
            dominators,
            groups,
            rows: rows.into(),
            weakly_reachable,
        })
    }

    /// The groups that rows are about.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// The groups of a grouping: by class in the order of the class table, by package and by
    /// loader in the order of [`Groups`].
    pub fn rows(&self, grouping: Grouping) -> &[Row] {
        &self.rows[self.groups.range(grouping)]
    }

    /// All objects together. What they retain is what is reachable.
    pub fn total(&self) -> Row {
        self.rows(Grouping::Class)
            .iter()
            .fold(Row::default(), |total, row| Row {
                objects: total.objects + row.objects,
                shallow: total.shallow + row.shallow,
                unreachable_objects: total.unreachable_objects + row.unreachable_objects,
                unreachable_shallow: total.unreachable_shallow + row.unreachable_shallow,
                retained_objects: total.retained_objects + row.objects - row.unreachable_objects,
                retained: total.retained + row.shallow - row.unreachable_shallow,
            })
    }

    pub(crate) fn save(&self, index: &mut IndexWriter) -> io::Result<()> {
        save_dominators(&self.dominators, index)?;
        index.add("rows", &self.rows)?;
        index.add(
            "weakly-reachable",
            &[self.weakly_reachable.objects, self.weakly_reachable.bytes],
        )
    }

    pub(crate) fn restore(state: &HeapState, index: &Index) -> Option<Self> {
        let dominators = restore_dominators(index)?;
        let groups = Groups::new(state);
        let rows: Column<Row> = index.column("rows")?;
        let [objects, bytes] = index.column::<u64>("weakly-reachable")?[..]
            .try_into()
            .ok()?;
        let fits = rows.len() == groups.len() && dominators.immediate.len() >= state.len() as usize;
        fits.then_some(Analysis {
            dominators,
            groups,
            rows,
            weakly_reachable: GroupTotals { objects, bytes },
        })
    }
}

pub(crate) fn save_dominators(dominators: &Dominators, index: &mut IndexWriter) -> io::Result<()> {
    index.add("dominators", &dominators.immediate)?;
    let retained = &dominators.retained;
    index.add("retained-shift", &[retained.shift])?;
    index.add("retained", &retained.narrow)?;
    index.add("retained-wide", &retained.wide)
}

pub(crate) fn restore_dominators(index: &Index) -> Option<Dominators> {
    let dominators = Dominators {
        immediate: index.column("dominators")?,
        retained: Amounts {
            shift: *index.column::<u32>("retained-shift")?.first()?,
            narrow: index.column("retained")?,
            wide: index.column("retained-wide")?,
        },
    };
    (dominators.retained.nodes() == dominators.immediate.len()).then_some(dominators)
}

fn rows(
    graph: &Graph,
    groups: &Groups,
    dominators: &Dominators,
    retained: &[GroupTotals],
) -> Vec<Row> {
    let mut of_label = vec![Row::default(); groups.of_label.len()];
    let immediate: &[u32] = &dominators.immediate;
    for (node, size) in (0..graph.len()).zip(graph.sizes()) {
        let Some(label) = groups.label(graph, node) else {
            continue;
        };
        let unreachable = u64::from(immediate[node as usize] == UNREACHABLE);
        let row = &mut of_label[label as usize];
        row.objects += 1;
        row.shallow += size;
        row.unreachable_objects += unreachable;
        row.unreachable_shallow += unreachable * size;
    }
    let mut rows = vec![Row::default(); groups.len()];
    for (of, groups) in of_label.iter().zip(&groups.of_label) {
        for &group in groups {
            let row = &mut rows[group as usize];
            row.objects += of.objects;
            row.shallow += of.shallow;
            row.unreachable_objects += of.unreachable_objects;
            row.unreachable_shallow += of.unreachable_shallow;
        }
    }
    for (row, totals) in rows.iter_mut().zip(retained) {
        row.retained_objects = totals.objects;
        row.retained = totals.bytes;
    }
    rows
}
