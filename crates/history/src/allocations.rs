//! Where a program allocated, as the samples of a recording tell it: a tree of calls, and how much of what was allocated is
//! still alive.

use std::cmp::Reverse;

use anthill_heap::{Frame, ObjectId};
use anthill_session::{Error, Session, stable_name};
use anthill_trace::{IdentityKind, Sample, Trace};
use rustc_hash::FxHashMap;

/// Bytes that samples stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// Sampled allocations in the window.
    pub samples: u64,
    /// Bytes that were allocated in the window.
    pub bytes: u64,
    /// The part of them that is alive at its end.
    pub survived: u64,
    /// Bytes alive at the beginning, whenever they were allocated.
    pub before: u64,
    /// Bytes alive at the end, whenever they were allocated.
    pub after: u64,
}

impl Allocated {
    fn add(&mut self, more: Allocated) {
        self.samples += more.samples;
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.survived = self.survived.saturating_add(more.survived);
        self.before = self.before.saturating_add(more.before);
        self.after = self.after.saturating_add(more.after);
    }

    /// The largest of what a reader may look at.
    pub fn most(&self) -> u64 {
        self.bytes.max(self.before).max(self.after)
    }
}

/// What a node of the tree stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// The whole program.
    #[default]
    Program,
    /// A method.
    Method {
        /// Its class.
        class: String,
        /// Its name.
        method: String,
    },
    /// Code whose stack was not recorded.
    Unknown,
    /// The objects of a class that were allocated.
    Objects(String),
}

/// Which way stacks are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the outermost call to the objects.
    CallersFirst,
    /// From the objects to the outermost call: also where deep stacks were cut off, the same site is one node.
    SitesFirst,
}

/// A call, and all that was allocated by it and by what it called.
#[derive(Debug, Default)]
pub struct CallNode {
    /// What it stands for.
    pub call: Call,
    /// Of this call and those below.
    pub sum: Allocated,
    /// The calls it made, and the objects it allocated itself; most first.
    pub children: Vec<CallNode>,
}

/// What was allocated in a window of a recording.
pub struct Allocations {
    /// All calls, the outermost first.
    pub root: CallNode,
    /// Whether the states tell which sampled objects are alive.
    pub is_followed: bool,
}

impl Allocations {
    /// What was allocated up to the state of a session, since the state of an earlier one or since the recording began. Nothing if the
    /// session is not about a recording.
    pub fn of(
        before: Option<&Session>,
        after: &Session,
        order: Order,
    ) -> Result<Option<Self>, Error> {
        let Some(recording) = after.recording() else {
            return Ok(None);
        };
        let trace = recording.trace();
        let start = before.and_then(|session| Some(session.recording()?.state().time));
        let end = recording.state().time;
        let mut calls = Calls::new(order);
        let samples = trace.timeline().samples.iter();
        for sample in samples
            .filter(|sample| sample.time <= end && start.is_none_or(|start| sample.time > start))
        {
            let sum = Allocated {
                samples: 1,
                bytes: weight(sample),
                ..Allocated::default()
            };
            calls.add_sample(trace, sample, sum);
        }
        let mut is_followed = true;
        for session in [before, Some(after)].into_iter().flatten() {
            let state = session.recording().map(|recording| recording.state());
            is_followed &= state.is_some_and(|state| state.identity != IdentityKind::None);
        }
        if let Some(before) = before {
            calls.add_alive(before, |bytes, _| Allocated {
                before: bytes,
                ..Allocated::default()
            })?;
        }
        calls.add_alive(after, |bytes, age| Allocated {
            survived: match start.is_none_or(|start| end - age.min(end) > start) {
                true => bytes,
                false => 0,
            },
            after: bytes,
            ..Allocated::default()
        })?;
        Ok(Some(Allocations {
            root: calls.tree(),
            is_followed,
        }))
    }
}

/// A sample stands for at least its own object.
fn weight(sample: &Sample) -> u64 {
    sample.weight.max(sample.size)
}

/// A tree under construction: nodes by number, the top first.
struct Calls {
    nodes: Vec<Node>,
    numbers: FxHashMap<Call, u32>,
    children: FxHashMap<(u32, u32), u32>,
    order: Order,
    /// The nodes at the end of stacks of the recording, with the class of their objects.
    ends: FxHashMap<(Option<u32>, u32), u32>,
}

/// A node without its children.
struct Node {
    call: Call,
    parent: u32,
    /// Of this node itself.
    own: Allocated,
}

impl Calls {
    fn new(order: Order) -> Self {
        Calls {
            order,
            nodes: vec![Node {
                call: Call::default(),
                parent: 0,
                own: Allocated::default(),
            }],
            numbers: FxHashMap::default(),
            children: FxHashMap::default(),
            ends: FxHashMap::default(),
        }
    }

    fn add_sample(&mut self, trace: &Trace, sample: &Sample, sum: Allocated) {
        let symbols = trace.symbols();
        let key = (sample.stack, sample.class);
        let end = match self.ends.get(&key) {
            Some(&end) => end,
            None => {
                let frames = sample.stack.and_then(|stack| symbols.stack(stack));
                let frames = frames.unwrap_or_default().iter();
                let frames: Vec<&Frame> = frames.filter_map(|&one| symbols.frame(one)).collect();
                let class = symbols.class(sample.class).unwrap_or("(name lost)");
                let end = self.end(&frames, class);
                self.ends.insert(key, end);
                end
            }
        };
        self.nodes[end as usize].own.add(sum);
    }

    /// Adds the sampled objects of a state that are alive, given the bytes that each stands for and its age.
    fn add_alive(
        &mut self,
        session: &Session,
        sum: impl Fn(u64, u64) -> Allocated,
    ) -> Result<(), Error> {
        let tables = &session.state().tables;
        if tables.weights.is_empty() {
            return Ok(());
        }
        let alive = session.objects_of(|_| true, false)?;
        let traces: FxHashMap<ObjectId, u32> = tables.allocations.iter().copied().collect();
        let ages: FxHashMap<ObjectId, u64> = tables.ages.iter().copied().collect();
        let graph = session.graph();
        let mut ends: FxHashMap<(Option<u32>, u32), u32> = FxHashMap::default();
        for &(object, weight) in &tables.weights {
            if !alive.contains(object) {
                continue;
            }
            let trace = traces.get(&object).copied();
            let class = session.state().class_id(object);
            let end = *ends.entry((trace, class)).or_insert_with(|| {
                let trace = trace.and_then(|trace| tables.traces.get(trace as usize));
                let frames = trace.map_or(&[][..], |trace| &trace.frames).iter();
                let frames = frames.filter_map(|&frame| tables.frames.get(frame as usize));
                let class = &session.state().class(object).name;
                self.end(&frames.collect::<Vec<_>>(), class)
            });
            let age = ages.get(&object).copied().unwrap_or_default();
            let bytes = weight.max(graph.size(object));
            self.nodes[end as usize].own.add(sum(bytes, age));
        }
        Ok(())
    }

    /// The node at the end of a stack, given with its innermost frame first, that allocated objects of a class.
    fn end(&mut self, frames: &[&Frame], class: &str) -> u32 {
        let objects = Call::Objects(stable_name(class));
        let mut calls: Vec<Call> = frames
            .iter()
            .map(|frame| Call::Method {
                class: stable_name(&frame.class),
                method: frame.method.clone(),
            })
            .collect();
        if calls.is_empty() {
            calls.push(Call::Unknown);
        }
        calls.insert(0, objects);
        if self.order == Order::CallersFirst {
            calls.reverse();
        }
        calls
            .into_iter()
            .fold(0, |above, call| self.below(above, call))
    }

    /// The node of a call that another one makes.
    fn below(&mut self, above: u32, call: Call) -> u32 {
        let known = self.numbers.len() as u32;
        let number = *self.numbers.entry(call.clone()).or_insert(known);
        let next = self.nodes.len() as u32;
        let node = *self.children.entry((above, number)).or_insert(next);
        if node == next {
            self.nodes.push(Node {
                call,
                parent: above,
                own: Allocated::default(),
            });
        }
        node
    }

    /// The tree with the sums of all calls. What a node is below has a smaller number.
    fn tree(self) -> CallNode {
        let mut made: Vec<CallNode> = Vec::with_capacity(self.nodes.len());
        let mut parents = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            parents.push(node.parent);
            made.push(CallNode {
                call: node.call,
                sum: node.own,
                children: Vec::new(),
            });
        }
        while made.len() > 1 {
            let (Some(mut node), Some(parent)) = (made.pop(), parents.pop()) else {
                break;
            };
            node.sort();
            let above = &mut made[parent as usize];
            above.sum.add(node.sum);
            above.children.push(node);
        }
        let mut root = made.pop().unwrap_or_default();
        root.sort();
        root
    }
}

impl CallNode {
    fn sort(&mut self) {
        let most = |node: &CallNode| (Reverse(node.sum.most()), Reverse(node.sum.samples));
        self.children
            .sort_by(|a, b| (most(a), &a.call).cmp(&(most(b), &b.call)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(class: &str, method: &str, line: i32) -> Frame {
        Frame {
            class: class.to_owned(),
            method: method.to_owned(),
            signature: "()V".to_owned(),
            source: None,
            line,
        }
    }

    fn allocated(bytes: u64) -> Allocated {
        Allocated {
            samples: 1,
            bytes,
            ..Allocated::default()
        }
    }

    /// The tree as lines: depth, call, bytes.
    fn lines(node: &CallNode, depth: usize, out: &mut Vec<String>) {
        let name = match &node.call {
            Call::Program => "program".to_owned(),
            Call::Method { class, method } => format!("{class}.{method}"),
            Call::Unknown => "?".to_owned(),
            Call::Objects(class) => class.clone(),
        };
        out.push(format!("{}{name} {}", " ".repeat(depth), node.sum.bytes));
        for child in &node.children {
            lines(child, depth + 1, out);
        }
    }

    #[test]
    fn calls_are_merged_from_the_outermost_on_whatever_their_lines() {
        let main = frame("app.Main", "main", 3);
        let [load, again] = [frame("app.Shop", "load", 7), frame("app.Shop", "load", 9)];
        let save = frame("app.Shop", "save", 20);
        let stacks: [(&[&Frame], &str, u64); 5] = [
            (&[&load, &main], "byte[]", 10),
            (&[&again, &main], "byte[]", 30),
            (&[&again, &main], "app.Product", 5),
            (&[&save, &main], "byte[]", 100),
            (&[], "int[]", 1),
        ];
        let read = |order: Order| {
            let mut calls = Calls::new(order);
            for (frames, class, bytes) in stacks {
                let end = calls.end(frames, class);
                calls.nodes[end as usize].own.add(allocated(bytes));
            }
            let tree = calls.tree();
            assert_eq!(tree.sum.samples, 5);
            let mut found = Vec::new();
            lines(&tree, 0, &mut found);
            found
        };
        assert_eq!(
            read(Order::SitesFirst),
            [
                "program 146",
                " byte[] 140",
                "  app.Shop.save 100",
                "   app.Main.main 100",
                "  app.Shop.load 40",
                "   app.Main.main 40",
                " app.Product 5",
                "  app.Shop.load 5",
                "   app.Main.main 5",
                " int[] 1",
                "  ? 1",
            ]
        );
        assert_eq!(
            read(Order::CallersFirst),
            [
                "program 146",
                " app.Main.main 145",
                "  app.Shop.save 100",
                "   byte[] 100",
                "  app.Shop.load 45",
                "   byte[] 40",
                "   app.Product 5",
                " ? 1",
                "  int[] 1",
            ]
        );
    }
}
