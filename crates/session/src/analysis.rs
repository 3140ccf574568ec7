//! The analysis every question needs: dominators, retained sizes, and for each class, package
//! and class loader how many objects it has and what they retain together.

use std::collections::BTreeMap;
use std::io;

use anthill_graph::{
    DepthFirst, Dominators, Graph, GroupTotals, Membership, UNREACHABLE, retained_by_groups,
    weakly_reachable,
};
use anthill_heap::{Cancelled, Column, HeapState, ObjectId, Progress};
use anthill_hprof::index::{Index, IndexWriter};
use bytemuck::{Pod, Zeroable};

/// How classes are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    Class,
    Package,
    Loader,
}

/// What is known of a group of objects.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Row {
    /// All objects, reachable or not.
    pub objects: u64,
    pub shallow: u64,
    pub unreachable_objects: u64,
    pub unreachable_shallow: u64,
    /// What would die with the reachable ones, themselves included.
    pub retained_objects: u64,
    pub retained: u64,
}

pub struct Analysis {
    pub dominators: Dominators,
    groups: Groups,
    /// By group.
    rows: Column<Row>,
    /// Objects and bytes that only weak, phantom or finalizer references lead to.
    pub weakly_reachable: GroupTotals,
}

/// The groups of a heap: classes first, then packages, then loaders.
pub struct Groups {
    classes: usize,
    pub packages: Vec<String>,
    pub loaders: Vec<Option<ObjectId>>,
    /// By class: its groups, ascending.
    of_class: Vec<Vec<u32>>,
}

impl Groups {
    pub fn new(state: &HeapState) -> Self {
        let classes = state.classes();
        let number = |keys: Vec<_>| -> BTreeMap<_, u32> { keys.into_iter().zip(0..).collect() };
        let mut packages: Vec<String> = classes
            .iter()
            .map(|class| class.package().to_owned())
            .collect();
        packages.sort_unstable();
        packages.dedup();
        let package_numbers = number(packages.clone());
        let mut loaders: Vec<Option<ObjectId>> = classes.iter().map(|class| class.loader).collect();
        loaders.sort_unstable();
        loaders.dedup();
        let first_package = classes.len() as u32;
        let first_loader = first_package + packages.len() as u32;
        let of_class = (0..)
            .zip(classes)
            .map(|(id, class)| {
                let loader = loaders.binary_search(&class.loader).unwrap_or_default() as u32;
                vec![
                    id,
                    first_package + package_numbers[class.package()],
                    first_loader + loader,
                ]
            })
            .collect();
        Groups {
            classes: classes.len(),
            packages,
            loaders,
            of_class,
        }
    }

    fn len(&self) -> usize {
        self.classes + self.packages.len() + self.loaders.len()
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
    pub fn new(graph: &Graph, progress: &dyn Progress) -> Result<Self, Cancelled> {
        let groups = Groups::new(graph.state);
        let mut search = DepthFirst::new(graph, progress)?;
        let membership = Membership {
            label: |node| graph.class(node),
            groups_of_label: &groups.of_class,
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
        index.add("dominators", &self.dominators.immediate)?;
        index.add("retained", &self.dominators.retained)?;
        index.add("rows", &self.rows)?;
        index.add(
            "weakly-reachable",
            &[self.weakly_reachable.objects, self.weakly_reachable.bytes],
        )
    }

    pub(crate) fn restore(state: &HeapState, index: &Index) -> Option<Self> {
        let dominators = Dominators {
            immediate: index.column("dominators")?,
            retained: index.column("retained")?,
        };
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

fn rows(
    graph: &Graph,
    groups: &Groups,
    dominators: &Dominators,
    retained: &[GroupTotals],
) -> Vec<Row> {
    let mut rows = vec![Row::default(); groups.len()];
    let immediate: &[u32] = &dominators.immediate;
    for (node, size) in (0..graph.len()).zip(graph.sizes()) {
        let Some(class) = graph.class(node) else {
            continue;
        };
        let unreachable = u64::from(immediate[node as usize] == UNREACHABLE);
        let row = &mut rows[class as usize];
        row.objects += 1;
        row.shallow += size;
        row.unreachable_objects += unreachable;
        row.unreachable_shallow += unreachable * size;
    }
    for (class, of_class) in groups.of_class.iter().enumerate() {
        let of = rows[class];
        for &group in of_class.iter().filter(|&&group| group as usize != class) {
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
