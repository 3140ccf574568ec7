//! All that a session answers, in a form that can be compared between sources. Objects are named by what they are in the
//! description of the heap, so that addresses do not matter.

use std::collections::BTreeMap;
use std::fmt::Debug;

use anthill_classify::{OVERALL, Step};
use anthill_heap::BitSet;
use anthill_leaks::{Subject, Thresholds, holder_name, report, waste};
use anthill_paths::{ReadablePath, merged_paths, path_steps, paths_to, weak_references_to};
use anthill_session::{Grouping, Session};
use anthill_testkit::heap::Item;

use anthill_testkit::brute_force::{BruteForce, nodes};

/// Answers by question.
pub(crate) type Answers = BTreeMap<String, String>;

struct Told<'a> {
    session: &'a Session,
    brute_force: &'a BruteForce<'a>,
    answers: Answers,
}

impl Told<'_> {
    fn add(&mut self, question: impl Debug, answer: impl Debug) {
        let question = format!("{question:?}");
        let before = self.answers.insert(question.clone(), format!("{answer:?}"));
        assert_eq!(before, None, "{question} was asked twice");
    }

    fn item(&self, node: u32) -> Option<Item> {
        self.brute_force.item(node as usize)
    }

    /// A text in which addresses are replaced by what is there.
    fn plain(&self, text: &str) -> String {
        let mut parts = text.split("0x");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.len()
                - part
                    .trim_start_matches(|c: char| c.is_ascii_hexdigit())
                    .len();
            let address = u64::from_str_radix(&part[..digits], 16).unwrap();
            let item = self.session.state().addresses.find(address);
            plain += &format!("{:?}{}", item.map(|node| self.item(node)), &part[digits..]);
        }
        plain
    }
}

/// What no choice between equals has a part in: the order of records and addresses changes nothing.
pub(crate) fn figures(session: &Session, brute_force: &BruteForce) -> Answers {
    let mut told = Told {
        session,
        brute_force,
        answers: Answers::new(),
    };
    told.dominance();
    told.totals();
    told.holders();
    told.threads();
    told.merged_figures();
    told.groups();
    told.structures();
    told.answers
}

/// Everything, the words included: the same for the same heap in another wrapping.
pub(crate) fn everything(session: &Session, brute_force: &BruteForce) -> Answers {
    let mut told = Told {
        session,
        brute_force,
        answers: figures(session, brute_force),
    };
    told.paths();
    told.merged_words();
    told.waste();
    told.report();
    told.classified();
    told.labels();
    told.answers
}

impl Told<'_> {
    fn dominance(&mut self) {
        let dominators = &self.session.analysis().unwrap().dominators;
        for node in 0..self.brute_force.node_count() as u32 {
            let immediate = dominators.immediate[node as usize];
            let above = match (immediate as usize) < self.brute_force.node_count() {
                true => Ok(self.item(immediate)),
                false => Err(immediate),
            };
            let answer = (above, dominators.retained(node));
            self.add(("dominator", self.item(node)), answer);
        }
    }

    fn totals(&mut self) {
        let analysis = self.session.analysis().unwrap();
        self.add("total", analysis.total());
        let classes = self.session.state().classes();
        for (class, row) in classes.iter().zip(analysis.rows(Grouping::Class)) {
            let name = class.mirror.map(|mirror| self.item(mirror));
            if let Some(name) = name {
                self.add(("class", name), row);
            }
        }
        for loader in analysis
            .groups()
            .loaders()
            .iter()
            .zip(analysis.rows(Grouping::Loader))
        {
            let name = loader.0.map(|loader| self.item(loader));
            self.add(("loader", name), loader.1);
        }
    }

    fn holders(&mut self) {
        for object in 0..self.brute_force.objects() as u32 {
            let found = paths_to(self.session, object, usize::MAX).unwrap();
            let mut holders: Vec<(usize, Option<Item>)> = found
                .paths
                .iter()
                .map(|path| {
                    (
                        path.len(),
                        path.len().checked_sub(2).and_then(|at| self.item(path[at])),
                    )
                })
                .collect();
            holders.sort();
            self.add(("holders", self.item(object)), holders);
        }
    }

    fn threads(&mut self) {
        let tables = &self.session.state().tables;
        let stacks = self.session.thread_stacks();
        let kept = crate::threads::kept(self.session, &stacks);
        for (stack, kept) in stacks.iter().zip(kept) {
            let thread = &tables.threads[stack.thread as usize];
            let locals = |locals: &[anthill_session::Local]| {
                let local =
                    |local: &anthill_session::Local| (self.item(local.object), local.origin);
                let mut locals: Vec<_> = locals.iter().map(local).collect();
                locals.sort();
                locals
            };
            let frames = stack.frames.iter();
            let frames: Vec<_> = frames
                .map(|(frame, of)| (&tables.frames[*frame as usize].method, locals(of)))
                .collect();
            let object = thread.object.map(|object| self.item(object));
            let answer = (object, &thread.name, frames, locals(&stack.other), kept);
            self.add(("thread", thread.serial), answer);
        }
    }

    fn classes(&self) -> Vec<(usize, Vec<u32>)> {
        let of_class = |class: usize| {
            let of = |node: &usize| self.brute_force.class_of(*node) == Some(class);
            let members = (0..self.brute_force.node_count()).filter(of);
            (class, members.map(|node| node as u32).collect())
        };
        (0..self.brute_force.heap.classes.len())
            .map(of_class)
            .collect()
    }

    fn merged_figures(&mut self) {
        for (class, targets) in self.classes() {
            let merged = merged_paths(self.session, &targets).unwrap();
            let unreachable = merged.unreachable.iter().map(|&node| self.item(node));
            let mut unreachable: Vec<_> = unreachable.collect();
            unreachable.sort();
            let figures = (
                merged.targets,
                merged.held,
                merged.other_holders,
                unreachable,
            );
            self.add(("merged", class), figures);
        }
    }

    fn groups(&mut self) {
        for (class, members) in self.classes() {
            let mut group = BitSet::new(self.brute_force.objects());
            let objects = members
                .iter()
                .filter(|&&node| (node as usize) < self.brute_force.objects());
            objects.for_each(|&node| group.insert(node));
            let of = self.session.measure(&group).unwrap();
            let answer = (of.objects, of.shallow, of.deep, of.retained);
            self.add(("group", class), answer);
        }
        let dead: Vec<u32> = nodes(!self.brute_force.live)
            .filter(|&node| node < self.brute_force.objects())
            .map(|node| node as u32)
            .collect();
        let answer = weak_references_to(self.session, &dead).unwrap();
        self.add("led to", answer);
    }

    fn structures(&mut self) {
        let structures = self.session.structures().unwrap();
        for of in &structures.instances {
            let answer = (
                of.internals,
                of.bytes,
                of.slots,
                of.buckets,
                of.depth,
                of.is_part,
            );
            self.add(("structure", self.item(of.head)), answer);
        }
    }

    fn paths(&mut self) {
        let graph = self.session.graph();
        for object in 0..self.brute_force.objects() as u32 {
            let found = paths_to(self.session, object, 3).unwrap();
            let paths = found.paths.iter().map(|path| {
                let (steps, _) = path_steps(self.session, &graph, path);
                let step =
                    |step: &anthill_paths::PathStep| (step.via.clone(), self.item(step.node));
                steps.iter().map(step).collect::<Vec<_>>()
            });
            let answer = (found.omitted, paths.collect::<Vec<_>>());
            self.add(("paths", self.item(object)), answer);
        }
    }

    fn merged_words(&mut self) {
        for (class, targets) in self.classes() {
            let merged = merged_paths(self.session, &targets).unwrap();
            let answer = (merged.branches, merged.tops);
            self.add(("branches", class), answer);
        }
    }

    fn waste(&mut self) {
        let graph = self.session.graph();
        for finding in waste(self.session, usize::MAX).unwrap() {
            let rows = finding.rows.iter();
            let rows: Vec<_> = rows
                .map(|row| {
                    (
                        self.item(row.object),
                        row.objects,
                        row.savable,
                        row.detail.clone(),
                    )
                })
                .collect();
            let holders = finding.holders.iter();
            let holders: Vec<_> = holders
                .map(|of| {
                    (
                        holder_name(self.session, &graph, of),
                        of.objects,
                        of.savable,
                    )
                })
                .collect();
            let figures = (finding.objects, finding.bytes, finding.savable);
            self.add(("waste", finding.kind), (figures, rows, holders));
        }
        let structures = self.session.structures().unwrap();
        for of in &structures.instances {
            let answer = (of.elements, of.capacity, of.unused);
            self.add(("elements", self.item(of.head)), answer);
        }
    }

    fn path(&self, path: &ReadablePath) -> String {
        let steps = path.steps.iter();
        let steps: Vec<_> = steps
            .map(|step| (&step.via, self.item(step.node)))
            .collect();
        format!(
            "{} {:?} {} {steps:?}",
            path.root,
            path.thread,
            self.plain(&path.short)
        )
    }

    fn report(&mut self) {
        let report = report(self.session, &Thresholds::default()).unwrap();
        for (number, suspect) in report.suspects.iter().enumerate() {
            let subject = match &suspect.subject {
                Subject::Loader(node) | Subject::Object(node) => vec![self.item(*node)],
                Subject::Owners(owners) | Subject::Alike(owners) => {
                    owners.iter().map(|&node| self.item(node)).collect()
                }
                Subject::Class(class) => {
                    let mirror = self.session.state().classes()[*class as usize].mirror;
                    vec![mirror.and_then(|mirror| self.item(mirror))]
                }
            };
            let owner_paths = suspect.owner_paths.iter();
            let paths: Vec<String> = owner_paths.map(|(_, path)| self.path(path)).collect();
            let figures = (
                suspect.retained,
                suspect.retained_objects,
                &suspect.contents,
            );
            let answer = (
                subject,
                figures,
                paths,
                &suspect.fingerprint,
                &suspect.holders,
            );
            self.add(("suspect", number), answer);
        }
    }

    fn classified(&mut self) {
        let mut all = BitSet::new(self.brute_force.objects());
        (0..self.brute_force.objects()).for_each(|object| all.insert(object as u32));
        for by in ["closest-root", "dominating-root", "loader", "type, package"] {
            let steps = Step::parse_list(by).unwrap();
            let tree = self.session.classify(&all, &steps).unwrap();
            for (number, node) in tree.nodes().iter().enumerate().skip(OVERALL as usize) {
                let parent = node.parent.map(|parent| tree.node(parent).key.clone());
                let key = (parent.map(|key| self.plain(&key)), self.plain(&node.key));
                let answer = (key, node.objects, node.shallow, node.deep, node.retained);
                self.add((by, number), answer);
            }
        }
    }

    fn labels(&mut self) {
        for node in 0..self.brute_force.node_count() as u32 {
            let label = self.session.label(node);
            self.add(("label", self.item(node)), (label.what, label.detail));
        }
    }
}
