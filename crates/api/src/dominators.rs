//! Which object keeps what alive alone, as a tree.

use anthill_paths::{Member, TreeItem, TreeOptions, dominator_tree};
use anthill_session::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ClassNames, Error, Heap, HeapQuestion, Limit, Percent, Question, class_name, hex, units,
};

/// Show the dominator tree: which object alone keeps which others alive
///
/// Everything below an item would be freed with it. Siblings of the same class are one item (`650 ×
/// HashMap$Node`), sorted by their joint retained size; siblings that retain much by themselves are
/// items of their own. A long chain of objects that each hold the next one, such as a linked list,
/// is folded into its first object, the number of objects in between, and its last object.
/// Percentages are shares of the reachable heap.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Dominators {
    /// The address of an object to start from [default: all reachable objects]
    #[schemars(extend("x-subject" = true))]
    pub object: Option<String>,
    /// Show at most N levels, up to 50
    #[serde(default = "usual_depth")]
    #[schemars(extend("x-value" = "N"))]
    pub depth: usize,
    /// Show at most N items below each item; 0 for all
    #[serde(default = "usual_limit")]
    pub limit: Limit,
    /// Hide items that retain less than this percentage of the top item's retained size
    #[serde(default = "usual_least")]
    pub least: Percent,
}

fn usual_depth() -> usize {
    4
}

fn usual_limit() -> Limit {
    Limit(10)
}

fn usual_least() -> Percent {
    Percent(1.0)
}

/// The dominator tree, or the part of it below one object.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DominatorsAnswer")]
pub struct Answer {
    /// The item at the top: the whole heap, or the object in question.
    pub tree: Item,
    /// Bytes of the reachable heap.
    #[serde(skip)]
    pub reachable: u64,
    /// What is deeper than answers are, if that deep was asked for.
    #[serde(skip)]
    pub too_deep: Option<TooDeep>,
}

/// What is below the deepest level that answers have.
pub struct TooDeep {
    /// How many levels answers have.
    pub levels: usize,
    /// Objects below it.
    pub objects: u64,
    /// The address of an object at the last level.
    pub last: Option<String>,
}

/// An item of the dominator tree: an object, several siblings of one class, a chain of objects, or the
/// whole heap.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DominatorsItem")]
pub struct Item {
    /// The class of the objects; absent for the whole heap and for a chain of several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub class: Option<String>,
    /// The address of the object; absent if the item stands for several objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub address: Option<String>,
    /// The item in words: the object, or the number of objects and their class.
    pub label: String,
    /// The number of objects that the item stands for.
    pub members: u64,
    /// The number of objects that the item retains, including its own.
    pub objects: u64,
    /// Retained size in bytes.
    pub retained: u64,
    /// True if each object of the item dominates the next one, as in a linked list; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chain: bool,
    /// The largest items right below this one.
    pub children: Vec<Item>,
    /// The children that `--limit` and `--least` left out.
    pub omitted: Omitted,
    /// The number of retained objects below the last level that is shown.
    pub deeper: u64,
}

/// Items that the limits left out.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DominatorsOmitted")]
pub struct Omitted {
    /// The number of objects that the omitted items retain.
    pub objects: u64,
    /// Bytes that the omitted items retain.
    pub retained: u64,
}

impl Question for Dominators {
    const NAME: &'static str = "dominators";
    type Answer = Answer;
}

impl HeapQuestion for Dominators {
    fn answer(&self, heap: &Heap) -> Result<Answer, Error> {
        let session = &heap.session;
        let analysis = session.analysis()?;
        let top = match &self.object {
            Some(object) => Some(heap.object(object)?),
            None => None,
        };
        let reachable = analysis.total().retained;
        let retained = top.map_or(reachable, |node| analysis.dominators.retained(node));
        let tree = Tree::new(
            session,
            &TreeOptions {
                top,
                depth: self.depth,
                limit: self.limit.most(),
                least: (retained as f64 * self.least.0 / 100.0) as u64,
            },
        )?;
        Ok(Answer {
            tree: tree.item(0),
            reachable,
            too_deep: match self.depth > TreeOptions::DEEPEST {
                true => tree.too_deep(),
                false => None,
            },
        })
    }
}

/// The largest items at the top of the tree.
pub fn largest(session: &Session, limit: usize) -> Result<Vec<Item>, Error> {
    let options = TreeOptions {
        top: None,
        depth: 1,
        limit,
        least: 0,
    };
    Ok(Tree::new(session, &options)?.item(0).children)
}

struct Tree<'a> {
    session: &'a Session,
    names: ClassNames<'a>,
    items: Vec<TreeItem>,
}

impl<'a> Tree<'a> {
    fn new(session: &'a Session, options: &TreeOptions) -> Result<Self, Error> {
        Ok(Tree {
            session,
            names: ClassNames::new(session),
            items: dominator_tree(session, options)?,
        })
    }

    fn too_deep(&self) -> Option<TooDeep> {
        let mut cut = self.items.iter().filter(|item| item.deeper > 0);
        let last = cut.next_back()?;
        Some(TooDeep {
            levels: TreeOptions::DEEPEST,
            objects: self.items.iter().map(|item| item.deeper).sum(),
            last: match last.member {
                Member::Object(node) => Some(hex(self.session.address(node))),
                _ => None,
            },
        })
    }

    /// Recursion is as deep as the tree, and that is bounded.
    fn item(&self, index: usize) -> Item {
        let session = self.session;
        let item = &self.items[index];
        let (class, address) = match item.member {
            Member::Heap => (None, None),
            Member::Object(node) => (
                Some(class_name(session, node).to_owned()),
                Some(hex(session.address(node))),
            ),
            Member::Group(class) | Member::Chain(Some(class)) => {
                let class = &session.state().classes()[class as usize];
                (Some(class.name.clone()), None)
            }
            Member::Chain(None) => (None, None),
        };
        let children = item.children.iter();
        Item {
            class,
            address,
            label: self.label(item),
            members: item.count,
            objects: item.objects,
            retained: item.retained,
            chain: matches!(item.member, Member::Chain(_)),
            children: children.map(|&child| self.item(child)).collect(),
            omitted: Omitted {
                objects: item.omitted,
                retained: item.omitted_retained,
            },
            deeper: item.deeper,
        }
    }

    fn label(&self, item: &TreeItem) -> String {
        let count = units::count(item.count);
        match item.member {
            Member::Heap => "all reachable objects".to_owned(),
            Member::Object(node) => self.session.label(node).to_string(),
            Member::Group(class) => format!("{count} × {}", self.names.unambiguous(class)),
            Member::Chain(Some(class)) => {
                format!("… {count} × {} in a chain …", self.names.unambiguous(class))
            }
            Member::Chain(None) => format!("… {count} objects in a chain …"),
        }
    }
}
