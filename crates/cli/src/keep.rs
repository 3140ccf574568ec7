//! Which references keep alive, as `--keep` takes it.

use anthill_api::Strength;
use anthill_api::paths::LedTo;
use anthill_graph::Convention;

/// The value of `--keep` for a convention and further kinds of references.
pub fn kept(convention: Convention, more: &[Strength]) -> String {
    let kinds = [
        (Strength::Soft, convention.soft),
        (Strength::Weak, convention.weak),
        (Strength::Phantom, convention.phantom),
        (Strength::Finalizer, convention.finalizer),
    ];
    let kept: Vec<&str> = kinds
        .into_iter()
        .filter(|(kind, is_kept)| *is_kept || more.contains(kind))
        .map(|(kind, _)| kind.name())
        .collect();
    match kept[..] {
        [] => "none".to_owned(),
        _ => kept.join(","),
    }
}

/// The value of `--keep` for a convention and what leads to objects besides.
pub fn all_kept(convention: Convention, led_to: &[LedTo]) -> String {
    let more = led_to.iter().flat_map(|led_to| &led_to.kinds).copied();
    kept(convention, &more.collect::<Vec<_>>())
}
