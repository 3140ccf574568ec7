//! A tree of steps in which immediate repetition is folded, so that a list is one branch however
//! long it is. Knows neither objects nor names: a step is how and to what.

use rustc_hash::FxHashMap;

use super::BranchClass;

/// No branch: above the first ones.
pub(super) const NONE: u32 = u32::MAX;
/// The most steps that are folded together when they repeat.
const LONGEST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// The number of a name.
    pub via: u32,
    pub class: BranchClass,
}

#[derive(Debug)]
pub(super) struct Folded {
    pub above: u32,
    pub step: Step,
    /// Steps to the same class that stay in the branch.
    pub through: Vec<u32>,
    /// How many steps, up from this one, are repeated; several if it ends several repetitions.
    pub periods: Vec<usize>,
    /// If it is a copy, how many of its last steps are: the most that may repeat inside.
    within: usize,
}

/// Branches; those above come before those below.
#[derive(Default)]
pub(super) struct Folding {
    pub branches: Vec<Folded>,
    known: FxHashMap<(u32, Step), u32>,
    /// Branches that only lead into a repetition, and the branches they repeat.
    copies: Vec<(u32, u32)>,
}

impl Folding {
    /// The branch that a step from the branch `above` leads to.
    pub(super) fn enter(&mut self, above: u32, step: Step) -> u32 {
        if let Some(above_it) = self.branches.get_mut(above as usize) {
            if above_it.step.class == step.class {
                add(&mut above_it.through, step.via);
                return above;
            }
        }
        if let Some(&branch) = self.known.get(&(above, step)) {
            return branch;
        }
        let branch = self.repeated(above, step).unwrap_or_else(|| {
            self.branches.push(Folded {
                above,
                step,
                through: Vec::new(),
                periods: Vec::new(),
                within: usize::MAX,
            });
            self.branches.len() as u32 - 1
        });
        self.known.insert((above, step), branch);
        branch
    }

    /// The branch where the path was before its last steps, if these are the same as the steps
    /// right before them.
    fn repeated(&mut self, above: u32, step: Step) -> Option<u32> {
        let recent: Vec<u32> = self.upwards(above).take(2 * LONGEST - 1).collect();
        let step_at = |back: usize| match back {
            0 => step,
            back => self.branches[recent[back - 1] as usize].step,
        };
        // The first step of all is a root's and repeats nothing.
        let usable = recent.len() + 1 - usize::from(recent.len() < 2 * LONGEST - 1);
        let period = (2..=usable / 2).find(|&period| {
            (0..period).all(|back| step_at(back) == step_at(back + period))
                && self.may_fold(&recent, period)
        })?;
        for back in 1..period {
            let (copy, original) = (recent[back - 1], recent[back + period - 1]);
            self.copies.push((copy, original));
            let copy = &mut self.branches[copy as usize];
            copy.within = copy.within.min(period - back);
        }
        let original = recent[period - 1];
        add(&mut self.branches[original as usize].periods, period);
        Some(original)
    }

    /// Whether no repetition reaches across the start of a copy: the original would not show it.
    fn may_fold(&self, recent: &[u32], period: usize) -> bool {
        let inside = |back: usize| {
            let mut periods = self.branches[recent[back - 1] as usize].periods.iter();
            periods.all(|&inner| inner <= period - back)
        };
        period <= self.branches[recent[period - 1] as usize].within && (1..period).all(inside)
    }

    /// A branch and those above it.
    pub(super) fn upwards(&self, branch: u32) -> impl Iterator<Item = u32> + '_ {
        let exists = |branch: u32| Some(branch).filter(|&branch| branch != NONE);
        std::iter::successors(exists(branch), move |&at| {
            exists(self.branches[at as usize].above)
        })
    }

    /// Marks the originals of copies with the repetition found inside the copies, and returns
    /// both, copies of copies first.
    pub(super) fn settle(&mut self) -> Vec<(u32, u32)> {
        let mut copies = std::mem::take(&mut self.copies);
        copies.sort_unstable_by(|a, b| b.cmp(a));
        copies.dedup();
        for &(copy, original) in &copies {
            for via in self.branches[copy as usize].through.clone() {
                add(&mut self.branches[original as usize].through, via);
            }
            for period in self.branches[copy as usize].periods.clone() {
                let steps = |branch| {
                    let branches = self.upwards(branch).take(period);
                    branches.map(|branch| self.branches[branch as usize].step)
                };
                if steps(copy).eq(steps(original)) {
                    add(&mut self.branches[original as usize].periods, period);
                }
            }
        }
        copies
    }
}

/// Adds to a short list what is not in it.
fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step by a letter for the class and a digit for how.
    fn steps(word: &str) -> Vec<Step> {
        let bytes = word.as_bytes().chunks(2);
        bytes
            .map(|pair| Step {
                via: pair[1].into(),
                class: BranchClass::Instances(pair[0].into()),
            })
            .collect()
    }

    fn walk(folding: &mut Folding, word: &[Step]) -> u32 {
        word.iter().fold(NONE, |at, &step| folding.enter(at, step))
    }

    /// The branches down to one: their steps, with `*` for runs and the period of repetition.
    fn shown(folding: &Folding, branch: u32) -> String {
        let mut branches: Vec<u32> = folding.upwards(branch).collect();
        branches.reverse();
        let text = |branch: u32| {
            let folded = &folding.branches[branch as usize];
            let BranchClass::Instances(class) = folded.step.class else {
                return "-".to_owned();
            };
            let class = char::from(class as u8);
            let via = char::from(folded.step.via as u8);
            let run = if folded.through.is_empty() { "" } else { "*" };
            let periods = folded.periods.iter();
            let periods: String = periods.map(|period| format!("({period})")).collect();
            format!("{class}{via}{run}{periods}")
        };
        branches.into_iter().map(text).collect()
    }

    fn folded(word: &str) -> String {
        let mut folding = Folding::default();
        let end = walk(&mut folding, &steps(word));
        folding.settle();
        shown(&folding, end)
    }

    #[test]
    fn only_immediate_repetition_is_folded() {
        for (word, expected) in [
            // A list, and a tree of one class.
            ("R0N0N1N1N1V0", "R0N0*V0"),
            ("R0E0E1E2E1V0", "R0E0*V0"),
            // Two lists of the same shape, one behind the other, with something between.
            ("R0L0A0C0L0A0W0", "R0L0A0C0L0A0W0"),
            ("R0M0T0N0V0M0T0N0W0", "R0M0T0N0V0M0T0N0W0"),
            // A map of maps, and a map of maps of maps of maps.
            ("R0M0T0N0M1T0N0W0", "R0M0T0N0M1T0N0W0"),
            ("R0M0T0N0M1T0N0M1T0N0W0", "R0M0T0N0M1(3)T0N0W0"),
            // Two classes in turn.
            ("R0S0P0S1P0S1P0S1", "R0S0P0S1(2)"),
            ("R0S0P0S1P0S1P0", "R0S0P0S1(2)P0"),
            // The first step of a path is another one even if it is called the same.
            ("A0B0A0B0", "A0B0A0B0"),
        ] {
            assert_eq!(folded(word), expected, "{word}");
        }
    }

    /// Whether the steps of a word lead down to a branch, by the marks on the way alone.
    fn leads_to(folding: &Folding, word: &[Step], branch: u32) -> bool {
        let mut chain: Vec<&Folded> = folding
            .upwards(branch)
            .map(|branch| &folding.branches[branch as usize])
            .collect();
        chain.reverse();
        let mut at = vec![false; chain.len()];
        for (position, step) in word.iter().enumerate() {
            let mut next = vec![false; chain.len()];
            if position == 0 {
                next[0] = chain[0].step == *step;
            }
            for from in (0..chain.len()).filter(|&from| at[from]) {
                let here = chain[from];
                next[from] |= here.step.class == step.class && here.through.contains(&step.via);
                let back = here.periods.iter().map(|period| from + 1 - period);
                for to in back.chain([from + 1]) {
                    if chain.get(to).is_some_and(|to| to.step == *step) {
                        next[to] = true;
                    }
                }
            }
            at = next;
        }
        at[chain.len() - 1]
    }

    /// Whether a step, or some steps in a row, come twice in a row.
    fn repeats(word: &[Step]) -> bool {
        (1..=LONGEST).any(|period| {
            let mut twice = word.windows(2 * period);
            twice.any(|twice| match period {
                1 => twice[0].class == twice[1].class,
                _ => twice[..period] == twice[period..],
            })
        })
    }

    #[test]
    fn random_paths_lead_where_the_tree_says() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut below = |limit: u32| random.u32(..limit);
        let (mut straight, mut all) = (0, 0);
        for round in 0..20000 {
            let classes = 2 + round % 5;
            let mut folding = Folding::default();
            let mut ends = Vec::new();
            for _ in 0..4 {
                let length = 1 + below(40);
                let mut word = vec![Step {
                    via: 0,
                    class: BranchClass::SystemLoader,
                }];
                word.extend((0..length).map(|_| Step {
                    via: b'0' as u32 + below(2),
                    class: BranchClass::Instances(b'A' as u32 + below(classes)),
                }));
                ends.push((walk(&mut folding, &word), word));
            }
            folding.settle();
            for (end, word) in ends {
                let to = shown(&folding, end);
                assert!(leads_to(&folding, &word, end), "{word:?} to {to}");
                all += 1;
                if !repeats(&word[1..]) {
                    straight += 1;
                    assert_eq!(folding.upwards(end).count(), word.len());
                }
            }
        }
        assert!(straight > 1000 && straight < all, "{straight} of {all}");
    }
}
