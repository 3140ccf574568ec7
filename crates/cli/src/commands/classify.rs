//! `anthill classify`: splits objects level by level, with exact sizes on every node.

use std::io::Write;

use anthill_classify::{Definitions, OVERALL, Step, Tree, TreeNodeId};
use anthill_heap::BitSet;
use anthill_session::{Session, check_group, no_node};
use clap::Args;
use serde::Serialize;

use crate::definitions::{DefinitionArguments, mistaken};
use crate::failure::Failure;
use crate::output::json;
use crate::output::units::{count, share};
use crate::source::{Source, SourceArguments};
use crate::tree_view::{Node, TreeArguments, TreeView};

/// Split objects by any list of classifiers
///
/// Every node has its objects, their shallow bytes, their deep bytes (all that they reach through
/// references) and their retained bytes (all that would be freed with them), each exact for the
/// group as a whole: what several objects keep alive together is counted. `anthill classifiers`
/// lists what objects can be split by.
#[derive(Args)]
#[command(after_help = "\
Examples:
  anthill classify app.hprof --by package,type
      Which packages, and which types in them, keep most alive?
  anthill classify app.hprof --class com.acme.Session --by type,pointed-from,type,pointed-from,type
      Which types hold the sessions, and which hold those?
  anthill classify app.hprof --split 'java.util.HashMap => closest-root'
      By type, and only the maps by the static fields and threads that lead to them
  anthill classify app.hprof --class java.util.HashMap --by closest-root
      Which static fields and threads lead to the maps?
  anthill classify app.hprof --where 'type == \"byte[]\" && length > 1M' --by pointed-from,type
      Which types hold the large byte arrays?
  anthill classify app.hprof --class com.acme.Order --by 'field(\"state\"), bucket(retained)'
      How many orders are in which state, and how much do single ones retain?
  anthill classify app.hprof --group 'retained(IdCache.idCache)' --by package,type
      What does this cache keep alive?
  anthill classify app.hprof --by package,type --sort objects --csv
      How many objects of which types are there? For a spreadsheet
  anthill classify app.hprof --node 'java.util.HashMap' --save maps
      Keep a row of the tree as a group for later commands")]
pub struct Arguments {
    #[command(flatten)]
    pub source: SourceArguments,
    /// Classifiers, filters and transformers, separated by commas: names, `where CONDITION`, `to
    /// OBJECTS`, or any expression to split by
    #[arg(long, value_name = "STEPS", default_value = "type")]
    pub by: String,
    /// Only objects for which this expression is true
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    #[command(flatten)]
    pub definitions: DefinitionArguments,
    /// Only objects of these classes; * and ? are wildcards
    #[arg(long, value_name = "GLOB")]
    pub class: Option<String>,
    /// Unreachable objects too
    #[arg(long)]
    pub unreachable: bool,
    /// Only the objects of this group; docs/groups.md has the language
    #[arg(long, value_name = "GROUP", conflicts_with_all = ["class", "unreachable"])]
    pub group: Option<String>,
    /// Split one node further: its keys joined by ` > `, then ` => ` and steps; can be repeated
    #[arg(long, value_name = "KEYS => STEPS", value_parser = split)]
    pub split: Vec<Split>,
    /// Show only the node with these keys, joined by ` > `, and what is below it
    #[arg(long, value_name = "KEYS")]
    pub node: Option<String>,
    /// Keep the objects of the tree, or of its --node, as a group of this name
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    #[command(flatten)]
    pub shown: TreeArguments,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
}

impl Arguments {
    /// Finds mistakes that can be told without the dump.
    pub fn check(&self) -> Result<(), Failure> {
        let definitions = self.definitions.read()?;
        self.steps(&definitions)?;
        if let Some(group) = &self.group {
            check_group(group, &definitions)?;
        }
        Ok(())
    }

    /// The steps, the condition on the objects first.
    fn steps(&self, definitions: &Definitions) -> Result<Vec<Step>, Failure> {
        let mut steps = Vec::new();
        if let Some(condition) = &self.condition {
            let filter = definitions.filter(condition);
            steps.push(filter.map_err(|mistake| mistaken(&mistake, "--where", condition))?);
        }
        let by = definitions.steps(&self.by);
        steps.extend(by.map_err(|mistake| mistaken(&mistake, "--by", &self.by))?);
        Ok(steps)
    }

    /// Whether objects are split by what only some of them are known for.
    fn asks_for_allocation(&self) -> bool {
        let names = ["allocation-site", "allocating-thread", "age"];
        let mut words = self
            .by
            .split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
        words.any(|word| names.contains(&word))
    }

    /// What the tree is made from.
    fn key(&self) -> String {
        let Arguments {
            by,
            condition,
            class,
            unreachable,
            group,
            split,
            definitions,
            ..
        } = self;
        let own = &definitions.definitions;
        format!("{by:?} {condition:?} {class:?} {unreachable} {group:?} {split:?} {own:?}")
    }

    fn objects(&self, source: &Source, definitions: &Definitions) -> Result<BitSet, Failure> {
        match &self.group {
            Some(group) => Ok(source.session.group(group, definitions)?),
            None => source.objects_of(self.class.as_deref(), self.unreachable),
        }
    }

    fn tree(
        &self,
        session: &Session,
        group: &BitSet,
        steps: &[Step],
        definitions: &Definitions,
    ) -> Result<Tree, Failure> {
        let mut tree = session.classify(group, steps)?;
        if tree.node(OVERALL).objects == 0 {
            return Err(Failure::NothingFound(self.nothing()));
        }
        for split in &self.split {
            let steps = split.steps(definitions)?;
            let node = find(&tree, &split.node)?;
            if !tree.can_be_split(node) {
                return Err(Failure::unusable(
                    format!("--split: `{}` is split already", split.node),
                    "Name a node with nothing below it, or put the steps into --by.",
                ));
            }
            session.split(&mut tree, node, &steps)?;
        }
        Ok(tree)
    }

    fn nothing(&self) -> String {
        let nothing = match (&self.condition, &self.group) {
            (Some(condition), _) => format!("no object fulfils `{condition}`"),
            (None, Some(group)) => format!("the group `{group}` has no objects here"),
            (None, None) => "there are no such objects".to_owned(),
        };
        match self.group.is_none() && !self.unreachable {
            true => {
                format!("{nothing}; unreachable objects are left out, --unreachable takes them too")
            }
            false => nothing,
        }
    }

    /// The group that --save keeps, in the language of groups.
    fn expression(&self) -> String {
        let mut objects = match (&self.group, &self.class) {
            (Some(group), _) => format!("({group})"),
            (None, Some(class)) => format!("class({class:?})"),
            (None, None) => "all()".to_owned(),
        };
        if let Some(condition) = &self.condition {
            objects += &format!(" & where({condition})");
        }
        match &self.node {
            Some(node) => format!("node({:?}, {node:?}, {objects})", self.by),
            None => objects,
        }
    }
}

pub fn show(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let definitions = arguments.definitions.read()?;
    let steps = arguments.steps(&definitions)?;
    let session = &source.session;
    let tree = source.tree(&arguments.key(), || {
        let group = arguments.objects(source, &definitions)?;
        arguments.tree(session, &group, &steps, &definitions)
    })?;
    let top = find(&tree, arguments.node.as_deref().unwrap_or_default())?;
    if let Some(name) = &arguments.save {
        let objects = tree.objects(session.state(), top);
        session.keep_group(name, &arguments.expression(), &objects)?;
    }
    let weights = &session.state().tables.weights;
    let estimates = (arguments.asks_for_allocation() && !weights.is_empty())
        .then(|| tree.sums(session.state(), weights));
    let heap = session.analysis()?.total().retained;
    let for_program = arguments.source.json || arguments.csv;
    let mut view = TreeView::new(&tree, top, heap, arguments.shown.shown(for_program));
    view.estimates = estimates;
    let known = match arguments.asks_for_allocation() {
        true => {
            let group = arguments.objects(source, &definitions)?;
            Some(AllocationKnown::new(session, &group))
        }
        false => None,
    };
    let mut out = source.out();
    if arguments.source.json {
        let result = Classification {
            allocation_known: known,
            group: arguments.group.as_deref(),
            condition: arguments.condition.as_deref(),
            by: &arguments.by,
            node: arguments.node.as_deref(),
            tree: view.json(),
        };
        return json::print(&mut out, source, "classify", &result);
    }
    if arguments.csv {
        view.csv(&mut out)?;
    } else {
        view.text(&mut out)?;
        if let Some(known) = known {
            out.blank()?;
            out.line(known.sentence())?;
        }
    }
    Ok(out.flush()?)
}

fn find(tree: &Tree, path: &str) -> Result<TreeNodeId, Failure> {
    tree.find(path)
        .map_err(|(last, rest)| Failure::NothingFound(no_node(tree, last, rest)))
}

/// A node that is split on its own, and by which steps.
#[derive(Clone, Debug)]
pub struct Split {
    node: String,
    steps: String,
}

fn split(text: &str) -> Result<Split, String> {
    match text.split_once(" => ") {
        Some((node, steps)) => Ok(Split {
            node: node.trim().to_owned(),
            steps: steps.to_owned(),
        }),
        None => Err("it needs ` => ` between the keys and the steps, as in \
                     'java.util.HashMap => pointed-from, type'"
            .to_owned()),
    }
}

impl Split {
    fn steps(&self, definitions: &Definitions) -> Result<Vec<Step>, Failure> {
        let steps = definitions.steps(&self.steps);
        steps.map_err(|mistake| mistaken(&mistake, "--split", &self.steps))
    }
}

/// Of how many of the objects it is known where they were allocated.
#[derive(Serialize)]
struct AllocationKnown {
    objects: u64,
    of: u64,
}

impl AllocationKnown {
    fn new(session: &Session, group: &BitSet) -> Self {
        let tables = &session.state().tables;
        let allocations = tables.allocations.iter().map(|known| known.0);
        let ages = tables.ages.iter().map(|known| known.0);
        let mut known = BitSet::new(group.capacity());
        for object in allocations.chain(ages) {
            if group.contains(object) {
                known.insert(object);
            }
        }
        AllocationKnown {
            objects: known.count() as u64,
            of: group.count() as u64,
        }
    }

    fn sentence(&self) -> String {
        format!(
            "Where an object comes from is known of {} of {} objects ({}): those that were sampled. Each \
             stands for the bytes that were allocated since the sample before.",
            count(self.objects),
            count(self.of),
            share(self.objects, self.of)
        )
    }
}

#[derive(Serialize)]
struct Classification<'a> {
    group: Option<&'a str>,
    #[serde(rename = "where")]
    condition: Option<&'a str>,
    by: &'a str,
    node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocation_known: Option<AllocationKnown>,
    tree: Node<'a>,
}
