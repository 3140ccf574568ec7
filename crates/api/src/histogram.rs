//! Objects, shallow and retained bytes by class, package or class loader.

use std::cmp::Reverse;
use std::collections::HashMap;

use anthill_heap::{ClassId, ObjectId};
use anthill_session::{Grouping, Row, Session};
use anthill_syntax::Pattern;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ClassNames, Error, Heap, HeapQuestion, Limit, Question};

/// Count objects and bytes by class, package or class loader
///
/// The numbers of objects and their shallow sizes include everything in the dump and match `jcmd
/// GC.class_histogram`, with two exceptions. With class data sharing, HotSpot's histogram also
/// counts archived java.lang.Class objects that are not in the dump. Since JDK 19, it lists the
/// arrays that fill unused parts of the heap as [Ljdk.internal.vm.FillerElement;, which a dump
/// contains as int[].
///
/// The retained size of a row is the memory that would be freed without all objects of the row. It
/// is exact. Rows can retain the same objects, so retained sizes do not add up. Percentages are
/// shares of the reachable heap.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Histogram {
    /// Group rows by
    #[serde(default)]
    pub by: By,
    /// Sort rows by
    #[serde(default)]
    pub sort: Sort,
    /// Show at most N rows; 0 for all
    #[schemars(extend("x-default-for-people" = 30))]
    pub limit: Option<Limit>,
    /// Show only rows whose name matches GLOB (`*`: any characters, `?`: one character)
    #[schemars(extend("x-value" = "GLOB"))]
    pub filter: Option<String>,
}

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
#[schemars(rename = "HistogramBy")]
pub enum By {
    #[default]
    Class,
    Package,
    Loader,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names suffice; words would go into --help")]
#[schemars(rename = "HistogramSort")]
pub enum Sort {
    #[default]
    Retained,
    Shallow,
    Objects,
    Name,
}

/// Objects, shallow and retained sizes by class, package or class loader.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistogramAnswer")]
pub struct Answer {
    /// What the rows stand for.
    pub by: By,
    /// The classes, packages or class loaders, in the order of `--sort`.
    pub rows: Vec<ClassRow>,
    /// The number of rows that `--limit` left out.
    pub omitted: usize,
    /// The objects of the rows that `--limit` left out.
    pub omitted_totals: Totals,
    /// All rows together, including those that `--limit` left out.
    pub total: Total,
    /// Bytes of the reachable heap.
    pub reachable: u64,
    /// With `--by class`: the `int[]` arrays that nothing refers to, which are fillers of the JVM or
    /// garbage; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Totals")]
    pub fillers: Option<Totals>,
}

/// A number of objects and their bytes.
#[derive(Default, Serialize, JsonSchema)]
#[schemars(rename = "HistogramTotals")]
pub struct Totals {
    /// The number of objects.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
}

/// A class, a package or a class loader.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistogramClassRow")]
pub struct ClassRow {
    /// With `--by class`: the name of the class. Classes of the same name in different class loaders
    /// are different rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub class: Option<String>,
    /// With `--by package`: the name of the package; `(unnamed package)` or `(arrays of primitives)`
    /// for classes without a package.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub package: Option<String>,
    /// With `--by class`, the class loader of the class; with `--by loader`, the class loader of the
    /// row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub loader: Option<String>,
    /// Whether another class has the same name.
    #[serde(skip)]
    pub is_ambiguous: bool,
    /// The objects of the row.
    #[serde(flatten)]
    pub counts: Counts,
    /// Bytes that would be freed if all reachable objects of the row were gone, exactly.
    pub retained: u64,
    /// The number of objects that would be freed if all reachable objects of the row were gone.
    pub retained_objects: u64,
}

impl ClassRow {
    /// What the row stands for.
    pub fn name(&self) -> &str {
        let name = self.class.as_ref().or(self.package.as_ref());
        name.or(self.loader.as_ref()).map_or("", String::as_str)
    }
}

/// All rows together.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistogramTotal")]
pub struct Total {
    /// The objects of all rows, including those that the limit left out.
    #[serde(flatten)]
    pub counts: Counts,
    /// Bytes of the reachable heap; null with `--filter`.
    pub retained: Option<u64>,
    /// The number of reachable objects; null with `--filter`.
    pub retained_objects: Option<u64>,
}

/// Objects and their bytes, and how many of them are unreachable.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HistogramCounts")]
pub struct Counts {
    /// The number of objects in the dump, including unreachable ones; with `--compat mat` only reachable ones.
    pub objects: u64,
    /// Shallow size of these objects in bytes.
    pub shallow: u64,
    /// The number of these objects that are unreachable.
    pub unreachable_objects: u64,
    /// Shallow size of the unreachable objects in bytes.
    pub unreachable_shallow: u64,
}

impl Counts {
    fn of(row: &Row) -> Self {
        Counts {
            objects: row.objects,
            shallow: row.shallow,
            unreachable_objects: row.unreachable_objects,
            unreachable_shallow: row.unreachable_shallow,
        }
    }
}

impl Question for Histogram {
    const NAME: &'static str = "histogram";
    type Answer = Answer;
}

impl HeapQuestion for Histogram {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let analysis = session.analysis()?;
        let reachable_only = session.convention().mat;
        let visible = |row: Row| if reachable_only { reachable(row) } else { row };
        let figures = analysis.rows(self.grouping()).iter().copied();
        let mut rows: Vec<(Group, Row)> = groups(session, self.by)?
            .into_iter()
            .zip(figures.map(visible))
            .filter(|(_, row)| row.objects > 0)
            .collect();
        if let Some(filter) = &self.filter {
            let pattern = Pattern::class(filter);
            if !rows.iter().any(|(group, _)| pattern.matches(&group.name)) {
                let all = rows.iter().map(|(group, _)| group.name.as_str());
                return Err(Error::NothingFound(pattern.no_match(self.by.one(), all)));
            }
            rows.retain(|(group, _)| pattern.matches(&group.name));
        }
        sort(&mut rows, self.sort);
        let together = |rows: &[(Group, Row)]| {
            let rows = rows.iter().map(|(_, row)| row);
            rows.fold(Row::default(), |sum, row| Row {
                objects: sum.objects + row.objects,
                shallow: sum.shallow + row.shallow,
                unreachable_objects: sum.unreachable_objects + row.unreachable_objects,
                unreachable_shallow: sum.unreachable_shallow + row.unreachable_shallow,
                ..sum
            })
        };
        let is_complete = self.filter.is_none();
        let total = match is_complete {
            true => visible(analysis.total()),
            false => together(&rows),
        };
        let shown = self.limit.unwrap_or_default().most().min(rows.len());
        let omitted = together(&rows[shown..]);
        let fillers = match (self.by, reachable_only) {
            (By::Class, false) => session.fillers()?.filter(|found| found.objects > 0),
            _ => None,
        };
        Ok(Answer {
            by: self.by,
            omitted: rows.len() - shown,
            omitted_totals: Totals {
                objects: omitted.objects,
                shallow: omitted.shallow,
            },
            rows: named(session, self.by, &rows[..shown]),
            total: Total {
                counts: Counts::of(&total),
                retained: is_complete.then_some(total.retained),
                retained_objects: is_complete.then_some(total.retained_objects),
            },
            reachable: analysis.total().retained,
            fillers: fillers.map(|found| Totals {
                objects: found.objects,
                shallow: found.bytes,
            }),
        })
    }
}

impl Histogram {
    fn grouping(&self) -> Grouping {
        match self.by {
            By::Class => Grouping::Class,
            By::Package => Grouping::Package,
            By::Loader => Grouping::Loader,
        }
    }
}

impl By {
    /// What a row stands for.
    pub fn one(self) -> &'static str {
        match self {
            By::Class => "class",
            By::Package => "package",
            By::Loader => "loader",
        }
    }
}

/// What a row is about.
struct Group {
    name: String,
    class: Option<ClassId>,
}

/// A row without what is unreachable.
fn reachable(row: Row) -> Row {
    Row {
        objects: row.objects - row.unreachable_objects,
        shallow: row.shallow - row.unreachable_shallow,
        unreachable_objects: 0,
        unreachable_shallow: 0,
        ..row
    }
}

/// All groups, in the order of the analysis.
fn groups(session: &Session, by: By) -> Result<Vec<Group>, Error> {
    let groups = session.analysis()?.groups();
    let unnumbered = |name: String| Group { name, class: None };
    Ok(match by {
        By::Class => (0..)
            .zip(session.state().classes())
            .map(|(id, class)| Group {
                name: class.name.clone(),
                class: Some(id),
            })
            .collect(),
        By::Package => groups.packages.iter().cloned().map(unnumbered).collect(),
        By::Loader => {
            let loaders = groups.loaders().iter();
            let names = loaders.map(|&loader| session.loader_name(loader));
            names.map(unnumbered).collect()
        }
    })
}

/// The rows that are shown, with the loaders of classes: their names are in the file, which need not be read for anything else.
fn named(session: &Session, by: By, rows: &[(Group, Row)]) -> Vec<ClassRow> {
    let names = ClassNames::new(session);
    let classes = session.state().classes();
    let mut loaders: HashMap<Option<ObjectId>, String> = HashMap::new();
    let mut loader = |class: ClassId| {
        let loader = classes[class as usize].loader;
        let name = loaders.entry(loader);
        name.or_insert_with(|| session.loader_name(loader)).clone()
    };
    let row = |(group, row): &(Group, Row)| {
        let name = |of: By| (by == of).then(|| group.name.clone());
        ClassRow {
            class: name(By::Class),
            package: name(By::Package),
            loader: name(By::Loader).or_else(|| Some(loader(group.class?))),
            is_ambiguous: group.class.is_some_and(|class| names.is_ambiguous(class)),
            counts: Counts::of(row),
            retained: row.retained,
            retained_objects: row.retained_objects,
        }
    };
    rows.iter().map(row).collect()
}

fn sort(rows: &mut [(Group, Row)], by: Sort) {
    // Names decide between equals, so that the order is always the same.
    rows.sort_by(|(a, _), (b, _)| (&a.name, a.class).cmp(&(&b.name, b.class)));
    let key = |row: &Row| match by {
        Sort::Retained => row.retained,
        Sort::Shallow => row.shallow,
        Sort::Objects => row.objects,
        Sort::Name => 0,
    };
    rows.sort_by_key(|(_, row)| Reverse(key(row)));
}
