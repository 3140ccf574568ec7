//! Which references keep alive, and what counts as a root.

use anthill_heap::Strength;
use anthill_heap::phrases::list;
use serde::{Deserialize, Serialize};

/// Which references keep alive besides strong ones, and whose view of the heap it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Convention {
    /// Whether referents of `SoftReference` are kept alive.
    pub soft: bool,
    /// Whether referents of `WeakReference` are kept alive.
    pub weak: bool,
    /// Whether referents of `PhantomReference` are kept alive.
    pub phantom: bool,
    /// Whether referents of `FinalReference` are kept alive.
    pub finalizer: bool,
    /// Eclipse MAT's view: a stand-in object for the boot loader, local variables held by their
    /// threads instead of being roots, signers and protection domains left out.
    pub mat: bool,
}

impl Convention {
    /// Strong and soft references keep alive.
    pub const DEFAULT: Convention = Convention {
        soft: true,
        weak: false,
        phantom: false,
        finalizer: false,
        mat: false,
    };

    /// Eclipse MAT's view, exactly: results can be compared object by object.
    pub const MAT: Convention = Convention {
        soft: true,
        weak: true,
        phantom: true,
        finalizer: true,
        mat: true,
    };

    /// Whether a referent that is held so strongly is kept alive.
    pub fn keeps(&self, strength: Strength) -> bool {
        match strength {
            Strength::Strong => true,
            Strength::Soft => self.soft,
            Strength::Weak => self.weak,
            Strength::Phantom => self.phantom,
            Strength::Finalizer => self.finalizer,
        }
    }
}

impl Default for Convention {
    fn default() -> Self {
        Convention::DEFAULT
    }
}

impl std::fmt::Display for Convention {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        if self.mat {
            return f.write_str(
                "compatible with Eclipse MAT: all references keep objects alive, \
            threads hold their local variables",
            );
        }
        let kinds = [
            ("soft", self.soft),
            ("weak", self.weak),
            ("phantom", self.phantom),
            ("finalizer", self.finalizer),
        ];
        let kept: Vec<&str> = ["strong"]
            .into_iter()
            .chain(kinds.iter().filter(|kind| kind.1).map(|kind| kind.0))
            .collect();
        let other: Vec<&str> = kinds
            .iter()
            .filter(|kind| !kind.1)
            .map(|kind| kind.0)
            .collect();
        write!(f, "{} references keep objects alive", list(&kept))?;
        if !other.is_empty() {
            write!(f, "; {} references do not", list(&other))?;
        }
        Ok(())
    }
}
