//! Atoms as small pictures.

use crate::canvas::palette::{agent, signed, FAINT, LINE, MUTED};
use crate::canvas::{at_most, colour, grey, plain, Anchor, Canvas, Frame, Pen};
use crate::numbers::thousands;
use image::DynamicImage;

/// Atoms that are pictures of the same size.
#[derive(Clone, Debug)]
pub struct Gallery {
    /// The description for screen readers.
    pub title: String,
    /// Rows of an atom's pixels.
    pub height: usize,
    /// Columns of an atom's pixels.
    pub width: usize,
    /// The colours of entries.
    pub shades: Shades,
    /// Row after row.
    pub atoms: Vec<Vec<f64>>,
    /// The text under each atom; may be empty.
    pub labels: Vec<String>,
    /// The agent of each atom, whose colour frames it, and the number of agents; may be empty.
    pub owners: (Vec<usize>, usize),
}

/// The colours of an atom's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shades {
    /// Blue below zero, near-white at zero, red above; scaled by the atom's largest entry.
    Signed,
    /// From black at the atom's smallest entry to white at its largest.
    Grey,
}

/// The number of atoms drawn at most.
const MOST: usize = 400;

impl Gallery {
    /// Draws at most 400 atoms.
    pub fn draw(&self) -> Canvas {
        let count = self.atoms.len().min(MOST);
        let sheet = if count > 100 { 640.0 } else { 480.0 };
        let label = if self.labels.iter().any(|l| !l.is_empty()) {
            18.0
        } else {
            0.0
        };
        let columns = ((count as f32).sqrt() * 1.25).ceil().clamp(1.0, 24.0);
        let gap = if columns > 14.0 { 4.0 } else { 8.0 };
        let (w, h) = (self.width.max(1) as f32, self.height.max(1) as f32);
        // An integer number of screen pixels for each pixel of an atom, where there is room.
        let room = ((sheet - 4.0 - gap * (columns - 1.0)) / columns).min(96.0);
        let pixel = match room / w {
            p if p >= 1.0 => p.floor(),
            p => p,
        };
        let (tile_w, tile_h) = (pixel * w, pixel * h);
        // The rest of the width is between the tiles.
        let left = (sheet - 4.0 - columns * tile_w) / (columns - 1.0).max(1.0);
        let gap = left.floor().clamp(2.0, 14.0);
        let mut canvas = Canvas::new(sheet, 1.0, &self.title);
        let rows = (count as f32 / columns).ceil();
        for (i, atom) in self.atoms.iter().take(count).enumerate() {
            let (row, column) = (i / columns as usize, i % columns as usize);
            let x = 2.0 + column as f32 * (tile_w + gap);
            let y = 2.0 + row as f32 * (tile_h + gap + label);
            let at = Frame::new(x, y, tile_w, tile_h);
            canvas.image(at, &pixels(self.shades, (self.width, self.height), atom));
            let owner = self.owners.0.get(i).map(|&k| agent(k, self.owners.1));
            let pen = match owner {
                Some(ink) => Pen::new(2.0, ink),
                None => Pen::new(1.0, LINE),
            };
            canvas.card(at.around(0.5), 0.5, None, Some(pen));
            if let Some(text) = self.labels.get(i) {
                let middle = (at.x + tile_w / 2.0, at.bottom() + 14.0);
                let style = plain(11.5, MUTED);
                canvas.text_within(middle, Anchor::Middle, style, text, tile_w + gap - 4.0);
            }
        }
        if count == 0 {
            canvas.rect(0.0, 0.0, sheet, 1.0, FAINT);
        }
        let mut bottom = 4.0 + rows * (tile_h + gap + label);
        if count < self.atoms.len() {
            let said = format!(
                "the first {count} of {}",
                thousands(self.atoms.len() as u64)
            );
            bottom += 14.0;
            canvas.text(2.0, bottom, Anchor::Start, plain(12.5, MUTED), &said);
            bottom += 6.0;
        }
        canvas.set_height(bottom);
        canvas
    }
}

/// An atom of `w` x `h` entries as an image.
pub fn pixels(shades: Shades, (w, h): (usize, usize), atom: &[f64]) -> DynamicImage {
    let pixels = w * h;
    let at = |i: usize| atom.get(i).copied().filter(|v| v.is_finite());
    let finite = || atom.iter().copied().filter(|v| v.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    let high = finite().fold(f64::NEG_INFINITY, f64::max);
    let largest = low.abs().max(high.abs());
    let byte = |v: Option<f64>| match v {
        Some(v) if high > low => (255.0 * (v - low) / (high - low)).round() as u8,
        Some(_) => 128,
        None => 0,
    };
    let image = match shades {
        Shades::Grey => grey(w, h, (0..pixels).map(|i| byte(at(i))).collect()),
        Shades::Signed => {
            let rgb = |i| match at(i) {
                Some(v) if largest > 0.0 => signed(v / largest),
                Some(_) => signed(0.0),
                None => LINE.rgb,
            };
            colour(w, h, (0..pixels).flat_map(rgb).collect())
        }
    };
    at_most(image, 256)
}
