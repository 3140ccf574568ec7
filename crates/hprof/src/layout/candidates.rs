//! The layouts a JVM can have, and the choice of the one that agrees best with the gaps.

use super::fields::FieldRules;
use super::hierarchy::{Hierarchy, all_places};
use super::special::{self, Release};
use super::{ClassPointer, ClassShape, Gaps, Layout, Observed, is_broken};

/// How well sizes agree with gaps.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Agreement {
    pub exact: i64,
    /// Sizes larger than the gap: impossible but for damage.
    pub too_large: i64,
}

impl Agreement {
    pub(super) fn note(&mut self, size: u64, gap: u64, weight: i64) {
        if size == gap {
            self.exact += weight;
        } else if size > gap {
            self.too_large += weight;
        }
    }

    pub(super) fn note_class(&mut self, size: u32, gaps: &Gaps) {
        if let Some((gap, count)) = gaps.believed() {
            let weight = match count {
                1 => 1,
                2..8 => 2,
                _ => 4,
            };
            self.note(size.into(), gap, weight);
        }
    }

    pub(super) fn score(&self) -> i64 {
        self.exact - 2 * self.too_large
    }
}

/// The layouts a JVM with this id size can have, the usual ones first.
fn candidates(id_size: u8, release: Release) -> Vec<Layout> {
    let rules = match (release.known, release.since_15) {
        (true, true) => vec![FieldRules::BestFit],
        (true, false) => vec![FieldRules::Grouped, FieldRules::ReferencesFirst],
        _ => vec![FieldRules::BestFit, FieldRules::Grouped],
    };
    let mut layouts = Vec::new();
    for field_rules in rules {
        let mut push = |word, reference_size, class_pointer, array_base| {
            layouts.push(Layout {
                word,
                reference_size,
                class_pointer,
                alignment: 8,
                field_rules,
                array_base,
            });
        };
        if id_size == 4 {
            push(4, 4, ClassPointer::Full, 12);
            continue;
        }
        push(8, 4, ClassPointer::Compressed, 16);
        if field_rules == FieldRules::BestFit {
            push(8, 8, ClassPointer::Compressed, 16);
        }
        push(8, 8, ClassPointer::Full, 24);
        push(8, 4, ClassPointer::Full, 24);
        if field_rules == FieldRules::BestFit {
            push(8, 4, ClassPointer::InMarkWord, 12);
            push(8, 8, ClassPointer::InMarkWord, 12);
            push(8, 8, ClassPointer::Full, 20);
            push(8, 4, ClassPointer::Full, 20);
        }
    }
    layouts
}

/// The layout most JVMs have; the first one to try.
pub(super) fn usual(id_size: u8, release: Release) -> Layout {
    candidates(id_size, release)[0]
}

const ALIGNMENTS: [u32; 6] = [8, 16, 32, 64, 128, 256];

/// The layout that agrees best with the gaps; none if the gaps tell nothing, as when ids are
/// not addresses.
pub(super) fn choose_layout(
    observed: &Observed,
    hierarchy: &Hierarchy,
    release: Release,
) -> Option<Layout> {
    let classes = observed.classes;
    let unsure =
        |class: &ClassShape| is_broken(class) || !special::variants(class, release).is_empty();
    let unsure = hierarchy.spread(classes.iter().map(unsure).collect());
    let usable = |class: &usize| !unsure[*class] && classes[*class].gaps.instances > 0;
    let witnesses: Vec<usize> = (0..classes.len()).filter(usable).collect();
    let mut best = (0, None);
    for mut layout in candidates(observed.id_size, release) {
        let geometry = layout.geometry();
        let places = all_places(hierarchy, &geometry, |class| {
            special::declared(&classes[class as usize], release, None, geometry.word)
        });
        let alignments = match layout.word {
            4 => &ALIGNMENTS[..1],
            _ => &ALIGNMENTS,
        };
        for &alignment in alignments {
            layout.alignment = alignment;
            let mut agreement = Agreement::default();
            for &class in &witnesses {
                let size = places[class].size(&geometry, alignment);
                agreement.note_class(size, &classes[class].gaps);
            }
            for array in observed.arrays.iter().filter(|array| array.gap > 0) {
                let size = layout.array_size(array.element, array.length);
                agreement.note(size, array.gap, 1);
            }
            if agreement.score() > best.0 {
                best = (agreement.score(), Some(layout));
            }
        }
    }
    best.1
}
