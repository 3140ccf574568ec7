//! A treemap as SVG: areas are bytes (squarified, Bruls, Huizing and van Wijk 2000).

use std::fmt::Write;

use anthill_api::report::Tile;

use crate::html::escaped;
use crate::words::cut;
use anthill_api::units::{bytes, share};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 460.0;
/// Tiles narrower or lower than this are not drawn.
const SMALLEST: f64 = 3.0;
const LABEL_HEIGHT: f64 = 17.0;
/// Average width of a character of a label.
const CHARACTER: f64 = 7.4;
const COLOURS: usize = 6;

#[derive(Clone, Copy)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// `total` is what the whole map stands for; what no tile has is left blank.
pub(crate) fn svg(tiles: &[Tile], total: u64) -> String {
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"Treemap of the objects with the largest retained size\">\n"
    );
    let area = Area {
        x: 0.0,
        y: 0.0,
        width: WIDTH,
        height: HEIGHT,
    };
    draw(&mut out, tiles, area, total, total, 0);
    out += "</svg>\n";
    out
}

/// Draws tiles into an area that stands for `around` bytes. The depth of a document's tiles is
/// bounded, so this may call itself.
fn draw(out: &mut String, tiles: &[Tile], area: Area, around: u64, total: u64, depth: usize) {
    for (tile, place) in tiles.iter().zip(squarified(tiles, area, around)) {
        if place.width < SMALLEST || place.height < SMALLEST {
            continue;
        }
        let text = format!(
            "{} — {} ({})",
            tile.label,
            bytes(tile.retained),
            share(tile.retained, total)
        );
        let _ = writeln!(
            out,
            "<g><title>{}</title><rect class=\"c{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            escaped(&text),
            depth % COLOURS,
            place.x,
            place.y,
            place.width,
            place.height
        );
        let characters = (place.width / CHARACTER) as usize;
        let share = share(tile.retained, total);
        let room = characters.saturating_sub(share.len() + 2);
        if place.height >= LABEL_HEIGHT && room > 4 {
            let name = cut(&tile.label, room);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{} {share}</text>",
                place.x + 4.0,
                place.y + 13.0,
                escaped(&name)
            );
        }
        out.push_str("</g>\n");
        let inner = Area {
            x: place.x + 2.0,
            y: place.y + LABEL_HEIGHT,
            width: place.width - 4.0,
            height: place.height - LABEL_HEIGHT - 2.0,
        };
        if inner.width > 4.0 * SMALLEST && inner.height > 4.0 * SMALLEST {
            draw(out, &tile.children, inner, tile.retained, total, depth + 1);
        }
    }
}

/// Where each tile goes: rows along the shorter side whose tiles are as square as can be.
fn squarified(tiles: &[Tile], area: Area, around: u64) -> Vec<Area> {
    let scale = area.width * area.height / around.max(1) as f64;
    let sizes: Vec<f64> = tiles
        .iter()
        .map(|tile| tile.retained as f64 * scale)
        .collect();
    let mut places = Vec::new();
    let mut left = area;
    let mut rest = &sizes[..];
    while !rest.is_empty() {
        let side = left.width.min(left.height).max(1e-9);
        let mut row = 1;
        while row < rest.len() && worst(&rest[..row + 1], side) <= worst(&rest[..row], side) {
            row += 1;
        }
        let thickness = rest[..row].iter().sum::<f64>() / side;
        let mut at = 0.0;
        for size in &rest[..row] {
            let length = size / thickness.max(1e-9);
            places.push(if left.width >= left.height {
                Area {
                    x: left.x,
                    y: left.y + at,
                    width: thickness,
                    height: length,
                }
            } else {
                Area {
                    x: left.x + at,
                    y: left.y,
                    width: length,
                    height: thickness,
                }
            });
            at += length;
        }
        if left.width >= left.height {
            left.x += thickness;
            left.width -= thickness;
        } else {
            left.y += thickness;
            left.height -= thickness;
        }
        rest = &rest[row..];
    }
    places
}

/// The worst ratio of the sides of tiles in a row.
fn worst(row: &[f64], side: f64) -> f64 {
    let sum: f64 = row.iter().sum();
    let ratio = |size: &f64| {
        let (a, b) = (
            side * side * size / (sum * sum),
            sum * sum / (side * side * size),
        );
        a.max(b)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_their_share_and_do_not_overlap() {
        let tiles: Vec<Tile> = [500, 250, 120, 60, 30, 20, 10]
            .map(|retained| Tile {
                label: String::new(),
                retained,
                children: Vec::new(),
            })
            .into();
        let area = Area {
            x: 0.0,
            y: 0.0,
            width: 300.0,
            height: 200.0,
        };
        let places = squarified(&tiles, area, 1000);
        for (tile, place) in tiles.iter().zip(&places) {
            let share = place.width * place.height / 60_000.0;
            assert!((share - tile.retained as f64 / 1000.0).abs() < 1e-9);
            assert!(place.x >= 0.0 && place.x + place.width <= 300.0 + 1e-6);
            assert!(place.y >= 0.0 && place.y + place.height <= 200.0 + 1e-6);
        }
        for (a, b) in (0..places.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
            let (a, b) = (places[a], places[b]);
            let apart = a.x + a.width <= b.x + 1e-6
                || b.x + b.width <= a.x + 1e-6
                || a.y + a.height <= b.y + 1e-6
                || b.y + b.height <= a.y + 1e-6;
            assert!(apart);
        }
    }
}
