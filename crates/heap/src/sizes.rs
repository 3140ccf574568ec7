//! Shallow sizes from classes and details.

use serde::{Deserialize, Serialize};

use crate::{Class, ClassId, ClassKind, FieldType};

/// How arrays are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayLayout {
    /// Offset of the first element, by [`FieldType`].
    pub bases: [u32; 9],
    /// Bytes of an element that is a reference.
    pub reference_size: u32,
    /// Every object's size is a multiple of this, a power of two.
    pub alignment: u32,
}

impl ArrayLayout {
    /// The bytes of an array.
    pub fn size(&self, element: FieldType, length: u32) -> u64 {
        let end = u64::from(self.bases[element as usize])
            + u64::from(length) * u64::from(element.size(self.reference_size));
        end.next_multiple_of(u64::from(self.alignment))
    }
}

/// One way to count bytes: the JVM's own, or another analyzer's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// By class: bytes of an instance. Unused for arrays.
    pub instances: Vec<u32>,
    /// By class: bytes of its class object.
    pub mirrors: Vec<u32>,
    /// How arrays are laid out.
    pub arrays: ArrayLayout,
}

impl Sizes {
    /// The sizes of all objects.
    pub fn sizer<'a>(&'a self, classes: &[Class]) -> Sizer<'a> {
        self.with_rule_for_variable(classes, |_| Rule {
            base: 0,
            mask: u32::MAX,
            factor: 8,
            align: 1,
        })
    }

    /// The sizes of all objects for an analyzer that counts every instance of a class alike, also
    /// those of classes whose instances differ.
    pub fn uniform_sizer<'a>(&'a self, classes: &[Class]) -> Sizer<'a> {
        self.with_rule_for_variable(classes, Rule::fixed)
    }

    /// `variable` makes the rule for [`ClassKind::Variable`] of the size of the class.
    fn with_rule_for_variable<'a>(
        &'a self,
        classes: &[Class],
        variable: impl Fn(u32) -> Rule,
    ) -> Sizer<'a> {
        let rule = |(class, &size): (&Class, &u32)| match class.kind {
            ClassKind::Instance => Rule::fixed(size),
            ClassKind::Variable => variable(size),
            ClassKind::Array(element) => Rule {
                base: self.arrays.bases[element as usize],
                mask: u32::MAX,
                factor: element.size(self.arrays.reference_size),
                align: self.arrays.alignment,
            },
            ClassKind::Mirror => Rule {
                base: size,
                mask: 0,
                factor: 0,
                align: MIRROR,
            },
        };
        Sizer {
            rules: classes.iter().zip(&self.instances).map(rule).collect(),
            mirrors: &self.mirrors,
        }
    }
}

/// JVMs align objects to at most 256 bytes.
const LARGEST_SHIFT: u32 = 8;

/// In place of an alignment: class objects, whose sizes are in a table of their own. Those of
/// primitive types are not in it and have the base.
const MIRROR: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Rule {
    base: u32,
    mask: u32,
    factor: u32,
    align: u32,
}

impl Rule {
    fn fixed(size: u32) -> Self {
        Rule {
            base: size,
            mask: 0,
            factor: 0,
            align: 1,
        }
    }
}

/// [`Sizes`] made ready to be asked for every object.
pub struct Sizer<'a> {
    rules: Vec<Rule>,
    mirrors: &'a [u32],
}

impl Sizer<'_> {
    /// Every size is a multiple of two to the power of this.
    pub fn shift(&self) -> u32 {
        let of_rule = |rule: &Rule| match (rule.mask, rule.align) {
            (0, _) => rule.base,
            (_, 1) => rule.factor,
            (_, align) => align,
        };
        let sizes = self
            .rules
            .iter()
            .map(of_rule)
            .chain(self.mirrors.iter().copied());
        let bits = sizes.fold(1 << LARGEST_SHIFT, |bits, size| bits | size);
        bits.trailing_zeros()
    }

    /// The bytes of an object of this class and detail.
    #[inline]
    pub fn size(&self, class: ClassId, detail: u32) -> u64 {
        let rule = self.rules[class as usize];
        if rule.align == MIRROR {
            return self
                .mirrors
                .get(detail as usize)
                .copied()
                .unwrap_or(rule.base)
                .into();
        }
        let align = u64::from(rule.align);
        let end = u64::from(rule.base) + u64::from(detail & rule.mask) * u64::from(rule.factor);
        (end + align - 1) & !(align - 1)
    }
}
