//! `anthill inspect`: everything about one object group.

use std::io::Write;
use std::path::{Path, PathBuf};

use anthill_classify::{Definitions, OVERALL, Step, Tree};
use anthill_heap::BitSet;
use anthill_session::{BranchClass, Closures, GroupMetrics, MergedPaths, check_group};
use clap::Args;
use serde::Serialize;

use super::paths::{MergedView, Shown, Targets, merged};
use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::names::ClassNames;
use crate::output::table::{Align, Table};
use crate::output::units::{bytes, count, counted, share};
use crate::output::{Out, dot, json};
use crate::source::{Source, SourceArguments};
use crate::tree_view::{DEFAULT_LEAST, Node, TreeArguments, TreeView};

/// Inspect an object group: its sizes, roots, closures and the paths to it
///
/// Shows what the group has, reaches and retains; the objects that GC roots and static fields refer to
/// and from which the group is kept alive; what is in its transitive closure and in its GC closure;
/// and the merged shortest paths from the GC roots. docs/groups.md describes how groups are written.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill inspect app.hprof com.acme.Order
      Everything about the orders together
  anthill inspect app.hprof 'IdCache.idCache | NameCache.nameCache'
      What do two caches keep alive together?
  anthill inspect app.hprof 'retained(caches) & com.acme.*' --by package,type --roots-by type
      Split what is in the closures and the roots otherwise
  anthill inspect app.hprof com.acme.Order --dot orders.dot && dot -Tsvg orders.dot -o orders.svg
      Draw the ways to the orders")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// The group: a class, an address, or any other group
    #[arg(value_name = "GROUP")]
    pub group: String,
    /// How what is in the closures is split
    #[arg(long, value_name = "STEPS", default_value = "type")]
    pub by: String,
    /// How the root objects are split
    #[arg(long, value_name = "STEPS", default_value = "rooted")]
    pub roots_by: String,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    #[command(flatten)]
    pub shown: TreeArguments,
    /// Show each data structure on the paths as one step, without its internals
    #[arg(long)]
    pub collapse: bool,
    /// Write the paths to this file as a graph for Graphviz, with one node for each class
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
}

/// The steps of both kinds of trees.
struct Splits {
    definitions: Definitions,
    by: Vec<Step>,
    roots_by: Vec<Step>,
}

impl Arguments {
    fn splits(&self) -> Result<Splits, Failure> {
        let definitions = self.definitions.read()?;
        let steps = |option: &str, text: &str| {
            let steps = definitions.steps(text);
            steps.map_err(|mistake| mistaken(&mistake, option, text))
        };
        Ok(Splits {
            by: steps("--by", &self.by)?,
            roots_by: steps("--roots-by", &self.roots_by)?,
            definitions,
        })
    }

    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        Ok(check_group(&self.group, &self.splits()?.definitions)?)
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let splits = arguments.splits()?;
    let session = &source.session;
    let group = session.group(&arguments.group, &splits.definitions)?;
    if group.is_empty() {
        let message = format!(
            "the group `{}` has no objects in this dump",
            arguments.group
        );
        return Err(Failure::NothingFound(message));
    }
    let closures = session.closures(&group)?;
    let targets = Targets {
        name: arguments.group.clone(),
        nodes: group.iter().collect(),
        retained: closures.metrics.retained.bytes,
    };
    let merged = merged(source, &targets, arguments.collapse)?;
    if let Some(file) = &arguments.dot {
        write_dot(file, source, &merged, arguments)?;
    }
    let inspection = Inspection {
        arguments,
        metrics: closures.metrics,
        heap: session.analysis()?.total().retained,
        trees: Trees::new(source, &group, &closures, &splits)?,
        paths: match merged.targets {
            0 => None,
            _ => Some(MergedView::new(
                source,
                &targets,
                &merged,
                &arguments.shown_paths(),
            )?),
        },
    };
    let mut out = source.out();
    if arguments.source.json {
        json::print(&mut out, source, "inspect", inspection.json())
    } else {
        inspection.text(&mut out)?;
        Ok(out.flush()?)
    }
}

impl Arguments {
    /// Programs too get only the main ways: they branch at every step.
    fn least_of_paths(&self) -> f64 {
        self.shown.least.unwrap_or(DEFAULT_LEAST)
    }

    fn shown_paths(&self) -> Shown {
        Shown {
            limit: self
                .shown
                .limit
                .map_or(MOST_BRANCHES, super::or_all)
                .min(MOST_BRANCHES),
            least: self.least_of_paths(),
            dump: self.source.dump,
        }
    }
}

/// Branches at each step of the paths; `anthill paths` shows more.
const MOST_BRANCHES: usize = 5;

fn write_dot(
    file: &Path,
    source: &Source,
    merged: &MergedPaths,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let names = ClassNames::new(&source.session);
    let name = |class: BranchClass| match class {
        BranchClass::Instances(class) => names.unambiguous(class),
        BranchClass::ClassObject(class) => format!("class {}", names.unambiguous(class)),
        BranchClass::SystemLoader => "java.lang.ClassLoader".to_owned(),
    };
    let title = format!("Shortest paths to {}", arguments.group);
    let graph = dot::paths(&merged.graph(), &title, arguments.least_of_paths(), name);
    std::fs::write(file, graph).map_err(|error| {
        let reason = format!("{}: {error}", file.display());
        Failure::unusable(reason, "Name a file that can be written after --dot.")
    })
}

/// The classification trees of an inspection.
struct Trees {
    /// Root objects that keep the group alive.
    keeping: Tree,
    /// Root objects from which references of any strength lead to it, if those are others.
    reaching: Option<Tree>,
    reached: Tree,
    retained: Tree,
}

impl Trees {
    fn new(
        source: &Source,
        group: &BitSet,
        closures: &Closures,
        splits: &Splits,
    ) -> Result<Self, Failure> {
        let session = &source.session;
        let (by, roots_by) = (&splits.by[..], &splits.roots_by[..]);
        let (keeping, reaching) = session.roots_of_both_kinds(group)?;
        let mut groups = vec![
            (&closures.reached, by),
            (&closures.retained, by),
            (&keeping, roots_by),
        ];
        if reaching != keeping {
            groups.push((&reaching, roots_by));
        }
        let mut trees = session.classify_all(&groups)?.into_iter();
        let mut next = || trees.next().expect("a tree of every group");
        Ok(Trees {
            reached: next(),
            retained: next(),
            keeping: next(),
            reaching: trees.next(),
        })
    }
}

struct Inspection<'a> {
    arguments: &'a Arguments,
    metrics: GroupMetrics,
    /// Bytes of the reachable heap.
    heap: u64,
    trees: Trees,
    /// Nothing if nothing of the group is reachable.
    paths: Option<MergedView>,
}

#[derive(Serialize)]
struct Json<'a> {
    group: &'a str,
    objects: u64,
    shallow: u64,
    deep: u64,
    deep_objects: u64,
    retained: u64,
    retained_objects: u64,
    /// Bytes of the reachable heap.
    heap: u64,
    by: &'a str,
    roots_by: &'a str,
    roots_keeping: Node<'a>,
    roots_reaching: Node<'a>,
    transitive_closure: Node<'a>,
    gc_closure: Node<'a>,
    paths: Option<&'a MergedView>,
}

impl Inspection<'_> {
    fn view<'a>(&'a self, tree: &'a Tree) -> TreeView<'a> {
        let shown = self.arguments.shown.shown(self.arguments.source.json);
        TreeView::new(tree, OVERALL, self.heap, shown)
    }

    fn json(&self) -> Json<'_> {
        let GroupMetrics {
            objects,
            shallow,
            deep,
            retained,
        } = self.metrics;
        let trees = &self.trees;
        Json {
            group: &self.arguments.group,
            objects,
            shallow,
            deep: deep.bytes,
            deep_objects: deep.objects,
            retained: retained.bytes,
            retained_objects: retained.objects,
            heap: self.heap,
            by: &self.arguments.by,
            roots_by: &self.arguments.roots_by,
            roots_keeping: self.view(&trees.keeping).json(),
            roots_reaching: self
                .view(trees.reaching.as_ref().unwrap_or(&trees.keeping))
                .json(),
            transitive_closure: self.view(&trees.reached).json(),
            gc_closure: self.view(&trees.retained).json(),
            paths: self.paths.as_ref(),
        }
    }

    fn text(&self, out: &mut Out) -> Result<(), Failure> {
        out.heading(&self.arguments.group)?;
        self.sizes(out)?;
        let trees = &self.trees;
        self.roots(out, &trees.keeping, ["keeps it alive", "keep it alive"])?;
        if let Some(reaching) = &trees.reaching {
            let what = [
                "leads to it by references of any strength",
                "lead to it by references of any strength",
            ];
            self.roots(out, reaching, what)?;
        }
        self.tree(out, &trees.reached, "What it reaches")?;
        self.tree(out, &trees.retained, "What would be freed with it")?;
        out.blank()?;
        out.heading("The ways to it")?;
        match &self.paths {
            Some(paths) => paths.tree(out),
            None => Ok(out.line("no GC root leads to any of these objects")?),
        }
    }

    fn sizes(&self, out: &mut Out) -> Result<(), Failure> {
        let mut table = Table::new([
            ("", Align::Left),
            ("objects", Align::Right),
            ("bytes", Align::Right),
            ("share", Align::Right),
        ]);
        let metrics = &self.metrics;
        for (name, objects, size) in [
            ("the group itself", metrics.objects, metrics.shallow),
            ("reaches (deep)", metrics.deep.objects, metrics.deep.bytes),
            ("retains", metrics.retained.objects, metrics.retained.bytes),
        ] {
            let share = share(size, self.heap);
            table.row([name.to_owned(), count(objects), bytes(size), share]);
        }
        Ok(table.print(out)?)
    }

    fn roots(&self, out: &mut Out, tree: &Tree, what: [&str; 2]) -> Result<(), Failure> {
        let [one, many] = what;
        let title = counted(
            tree.node(OVERALL).objects,
            &format!("root object {one}"),
            &format!("root objects {many}"),
        );
        self.tree(out, tree, &title)
    }

    fn tree(&self, out: &mut Out, tree: &Tree, title: &str) -> Result<(), Failure> {
        out.blank()?;
        out.heading(title)?;
        match tree.node(OVERALL).objects {
            0 => Ok(out.line("nothing")?),
            _ => Ok(self.view(tree).text(out)?),
        }
    }
}
