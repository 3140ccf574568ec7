//! The superclass relation, made safe for walking.

use super::ClassShape;
use super::fields::{Declared, Geometry, Places};

/// The superclass relation, made safe: superclasses exist and come before their subclasses.
pub(super) struct Hierarchy {
    /// Class indices, superclasses first.
    pub order: Vec<u32>,
    pub supers: Vec<Option<u32>>,
}

impl Hierarchy {
    pub(super) fn of(classes: &[ClassShape]) -> Hierarchy {
        let count = classes.len();
        let mut supers: Vec<Option<u32>> = classes
            .iter()
            .map(|class| class.super_class.filter(|&s| (s as usize) < count))
            .collect();
        let mut order = Vec::with_capacity(count);
        let mut placed = vec![false; count];
        let mut path = Vec::new();
        let mut on_path = vec![false; count];
        for start in 0..count as u32 {
            let mut class = start;
            loop {
                if placed[class as usize] {
                    break;
                }
                path.push(class);
                on_path[class as usize] = true;
                match supers[class as usize] {
                    Some(above) if on_path[above as usize] => {
                        supers[class as usize] = None;
                        break;
                    }
                    Some(above) => class = above,
                    None => break,
                }
            }
            for class in path.drain(..).rev() {
                on_path[class as usize] = false;
                placed[class as usize] = true;
                order.push(class);
            }
        }
        Hierarchy { order, supers }
    }

    /// For every class whether it or a superclass is marked.
    pub(super) fn spread(&self, mut marked: Vec<bool>) -> Vec<bool> {
        for &class in &self.order {
            if let Some(above) = self.supers[class as usize] {
                marked[class as usize] |= marked[above as usize];
            }
        }
        marked
    }
}

/// The places of the fields of every class.
pub(super) fn all_places(
    hierarchy: &Hierarchy,
    geometry: &Geometry,
    declared: impl Fn(u32) -> Declared,
) -> Vec<Places> {
    let empty = Places::empty(geometry);
    let mut places = vec![empty.clone(); hierarchy.order.len()];
    for &class in &hierarchy.order {
        let above = hierarchy.supers[class as usize];
        let above = above.map_or(&empty, |above| &places[above as usize]);
        places[class as usize] = above.extended(geometry, &declared(class));
    }
    places
}
