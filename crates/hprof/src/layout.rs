//! Shallow sizes as the JVM counts them. HPROF does not state how objects are laid out, so the
//! layout is derived: HotSpot's own rules give a size for every class under every possible
//! configuration, and the distances between objects in the dump say which configuration it was.
//!
//! Knows shapes of classes and distances only: no files, no records, no heap state.

mod android;
mod candidates;
mod derivation;
mod fields;
mod hierarchy;
mod special;
#[cfg(test)]
mod tests;

use std::fmt;

use anthill_heap::FieldType;

use android::{android, is_android};
use candidates::{choose_layout, usual};
use derivation::Derivation;
pub use fields::FieldRules;
use fields::{Geometry, align};
use hierarchy::Hierarchy;
use special::Release;

/// What a dump tells about one class.
#[derive(Clone, Copy, Debug)]
pub struct ClassShape<'a> {
    /// In Java notation: `java.lang.String`, `byte[]`.
    pub name: &'a str,
    /// Index into the same slice. A class other than `java.lang.Object` without superclass is
    /// taken for one whose description is missing or broken.
    pub super_class: Option<u32>,
    /// Instance fields declared by this class, in the order of the dump.
    pub fields: &'a [(&'a str, FieldType)],
    /// Static fields declared by this class, in the order of the dump.
    pub static_fields: &'a [(&'a str, FieldType)],
    /// Over the instances of this class. Arrays have none.
    pub gaps: Gaps,
    /// From the class object to the next object.
    pub mirror_gap: Option<u64>,
}

/// Distances from the instances of a class to the next object in address order: the two
/// smallest and how often each occurred.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// How many instances were looked at.
    pub instances: u64,
    /// The smallest distance, in bytes.
    pub smallest: u64,
    /// How many instances had the smallest distance.
    pub at_smallest: u64,
    /// The second smallest distance, in bytes.
    pub second: u64,
    /// How many instances had the second smallest distance.
    pub at_second: u64,
}

impl Gaps {
    /// Takes in the gap of one more instance.
    #[inline]
    pub fn add(&mut self, gap: u64) {
        self.instances += 1;
        if gap == self.smallest {
            self.at_smallest += 1;
        } else if gap < self.smallest || self.at_smallest == 0 {
            (self.second, self.at_second) = (self.smallest, self.at_smallest);
            (self.smallest, self.at_smallest) = (gap, 1);
        } else if gap == self.second {
            self.at_second += 1;
        } else if gap < self.second || self.at_second == 0 {
            (self.second, self.at_second) = (gap, 1);
        }
    }

    /// The gap to believe. The smallest one is an upper bound of the size, unless it stands
    /// alone among many: then an address was damaged.
    fn believed(&self) -> Option<(u64, u64)> {
        let lone = self.at_smallest == 1 && self.at_second >= 8;
        let (gap, count) = match lone || self.smallest == 0 {
            true => (self.second, self.at_second),
            false => (self.smallest, self.at_smallest),
        };
        (count > 0 && gap > 0).then_some((gap, count))
    }
}

/// The smallest distance from an array of this element type and length to the next object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayGap {
    /// What the array is of.
    pub element: FieldType,
    /// How many elements it has.
    pub length: u32,
    /// The distance in bytes.
    pub gap: u64,
}

/// All that is needed to derive a layout.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Bytes of an id in the dump.
    pub id_size: u8,
    /// All classes of the dump.
    pub classes: &'a [ClassShape<'a>],
    /// Arrays, each type and length once.
    pub arrays: &'a [ArrayGap],
}

/// How the header of an object names its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClassPointer {
    /// As wide as a machine word.
    Full,
    /// 4 bytes in a 64-bit JVM.
    Compressed,
    /// Inside the mark word: compact object headers, JDK 24 and newer.
    InMarkWord,
    /// Not HotSpot but Android's runtime.
    Android,
}

/// The layout the JVM used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes of a machine word of the JVM.
    pub word: u8,
    /// Bytes of a reference in a field.
    pub reference_size: u8,
    /// How headers name classes.
    pub class_pointer: ClassPointer,
    /// Every object's size is a multiple of this.
    pub alignment: u32,
    /// The rules by which fields are ordered and padded.
    pub field_rules: FieldRules,
    /// Offset of the first element of arrays with elements of up to 4 bytes.
    pub array_base: u32,
}

impl Layout {
    /// Bytes before the first field of an object.
    pub fn header(&self) -> u32 {
        match (self.class_pointer, self.word) {
            (ClassPointer::Full, 8) => 16,
            (ClassPointer::Compressed, 8) => 12,
            _ => 8,
        }
    }

    /// Offset of the first element of an array.
    pub fn array_base(&self, element: FieldType) -> u32 {
        match element.size(self.reference_size.into()) {
            8 => align(self.array_base, 8),
            _ => self.array_base,
        }
    }

    /// The bytes of an array.
    pub fn array_size(&self, element: FieldType, length: u32) -> u64 {
        let elements = u64::from(length) * u64::from(element.size(self.reference_size.into()));
        let end = u64::from(self.array_base(element)) + elements;
        end.next_multiple_of(self.alignment.into())
    }

    /// Size of an instance of the class [`Derived::stack_chunk`]: `base` is the instance size
    /// of the class, `stack_words` the value of the object's field `size`.
    pub fn stack_chunk_size(&self, base: u32, stack_words: u32) -> u64 {
        let word = u64::from(self.word);
        let words = u64::from(stack_words);
        let bits = words * (word / u64::from(self.reference_size));
        let bitmap = bits.div_ceil(word * 8);
        (u64::from(base) + (words + bitmap) * word).next_multiple_of(self.alignment.into())
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            rules: self.field_rules,
            header: self.header(),
            reference: self.reference_size.into(),
            word: self.word.into(),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.class_pointer == ClassPointer::Android {
            return write!(f, "Android, {}-byte alignment", self.alignment);
        }
        let rules = match self.field_rules {
            FieldRules::ReferencesFirst => "JDK 5",
            FieldRules::Grouped => "JDK 14 or older",
            FieldRules::BestFit => "JDK 15+",
        };
        if self.word == 4 {
            return write!(f, "32-bit JVM, {rules} field layout");
        }
        let references = match self.reference_size {
            4 => "compressed references",
            _ => "full references",
        };
        let header = match self.class_pointer {
            ClassPointer::Compressed => "compressed class pointers",
            ClassPointer::InMarkWord => "compact object headers",
            _ => "full class pointers",
        };
        let alignment = self.alignment;
        write!(
            f,
            "{references}, {header}, {alignment}-byte alignment, {rules} field layout"
        )
    }
}

/// Something the dump does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The class it concerns; none if it concerns all.
    pub class: Option<u32>,
    /// What was assumed, in words.
    pub what: String,
}

/// The layout and the sizes that follow from it.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The layout that fits best.
    pub layout: Layout,
    /// By class: bytes of an instance. 0 for arrays.
    pub instance_sizes: Vec<u32>,
    /// By class: bytes of its class object.
    pub mirror_sizes: Vec<u32>,
    /// The class whose instances differ in size, see [`Layout::stack_chunk_size`].
    pub stack_chunk: Option<u32>,
    /// Whatever the gaps could not decide.
    pub assumed: Vec<Assumed>,
}

/// Finds the layout under which the sizes agree best with the gaps, and the sizes themselves.
pub fn derive(observed: &Observed) -> Derived {
    let hierarchy = Hierarchy::of(observed.classes);
    if is_android(observed.classes) {
        return android(observed, &hierarchy);
    }
    let release = Release::of(observed.classes);
    let chosen = choose_layout(observed, &hierarchy, release);
    let layout = chosen.unwrap_or_else(|| usual(observed.id_size, release));
    let mut derivation = Derivation::new(observed, &hierarchy, release, layout);
    if chosen.is_some() {
        derivation.choose_variants();
        derivation.find_contended();
        derivation.respect_gaps();
    } else {
        let what = format!("{layout}: the addresses do not determine the layout");
        derivation.assume(None, what);
    }
    derivation.finish()
}

fn is_array(class: &ClassShape) -> bool {
    class.name.ends_with(']')
}

/// The superclass is missing although the class must have one.
fn is_broken(class: &ClassShape) -> bool {
    class.super_class.is_none() && class.name != "java.lang.Object" && !is_array(class)
}
