//! A table as a heat map, its rows and columns in the order of its biclusters.

use super::chart::{legend, tag, Key, Sign};
use crate::canvas::palette::{series, signed, Ink, LINE, MUTED, WHITE};
use crate::canvas::{colour, plain, text_width, Anchor, Canvas, Frame, Pen};
use crate::numbers::number;
use image::DynamicImage;

/// A table with its biclusters.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The description for screen readers.
    pub title: String,
    /// Rows of the table.
    pub rows: usize,
    /// Columns of the table.
    pub columns: usize,
    /// Row after row; values that are not finite are grey.
    pub values: Vec<f64>,
    /// The biclusters, framed.
    pub blocks: Vec<Block>,
    /// The plural nouns of rows and columns, for example "patients" and "genes".
    pub names: (String, String),
    /// Shown beside the rows if they fit; may be empty.
    pub row_labels: Vec<String>,
    /// The class of each row, shown as a strip of colours; may be empty.
    pub row_classes: Vec<String>,
}

/// A bicluster: some rows and some columns.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Its name in the legend.
    pub name: String,
    /// Its rows of the table, from 0.
    pub rows: Vec<usize>,
    /// Its columns, from 0.
    pub columns: Vec<usize>,
}

const WIDTH: f32 = 560.0;
/// The colour of frames and their numbers, distinct from the colours of classes.
const FRAME: Ink = Ink {
    rgb: [0x11, 0x16, 0x1f],
    alpha: 1.0,
};
/// Pixels of the map across and down at most: smaller cells are averaged.
const FINEST: (usize, usize) = (1000, 700);

impl HeatMap {
    /// Draws the table, with rows and columns sorted by bicluster.
    pub fn draw(&self) -> Canvas {
        let mut canvas = Canvas::new(WIDTH, 1.0, &self.title);
        let rows = order(self.rows, self.blocks.iter().map(|b| b.rows.as_slice()));
        let columns = order(
            self.columns,
            self.blocks.iter().map(|b| b.columns.as_slice()),
        );
        let classes = self.classes();
        let top = legend(&mut canvas, &self.keys(&classes), 6.0);
        let scale = self.scale();
        scale_bar(&mut canvas, scale, top);
        let style = plain(13.0, MUTED);
        let said = format!(
            "{} {} × {} {}",
            self.rows, self.names.0, self.columns, self.names.1
        );
        canvas.text_within(
            (0.0, top + 18.0),
            Anchor::Start,
            style,
            &said,
            WIDTH - 260.0,
        );

        let height = (self.rows as f32 * 22.0).clamp(60.0, 420.0);
        let pitch = height / self.rows.max(1) as f32;
        let size = (0.72 * pitch).min(12.0);
        let labelled = size >= 7.0 && !self.row_labels.is_empty();
        let label = plain(size, MUTED);
        let widths = self.row_labels.iter().map(|l| text_width(label, l));
        let mut left = match labelled {
            true => widths.fold(0.0, f32::max).min(150.0) + 8.0,
            false => 0.0,
        };
        let labels_end = left - 8.0;
        left += if classes.is_empty() { 0.0 } else { 16.0 };
        let plot = Frame::new(left + 1.0, top + 30.0, WIDTH - left - 2.0, height);
        for (i, &row) in rows.iter().enumerate() {
            let y = plot.y + i as f32 * pitch;
            if let (true, Some(text)) = (labelled, self.row_labels.get(row)) {
                let at = (labels_end, y + pitch / 2.0 + 0.36 * size);
                canvas.text_within(at, Anchor::End, label, text, labels_end);
            }
            let class = self.row_classes.get(row);
            if let Some(class) = class.and_then(|c| classes.iter().position(|k| *k == c)) {
                canvas.rect(plot.x - 16.0, y, 10.0, pitch, series(class));
            }
        }
        canvas.image(plot, &self.pixels(&rows, &columns, scale));
        canvas.card(plot.around(0.5), 0.5, None, Some(Pen::new(1.0, LINE)));
        self.draw_blocks(&mut canvas, plot, &rows, &columns);
        canvas.set_height(plot.bottom() + 3.0);
        canvas
    }

    /// Frames first, then their numbers on top.
    fn draw_blocks(&self, canvas: &mut Canvas, plot: Frame, rows: &[usize], columns: &[usize]) {
        let framed = self.blocks.iter().map(|block| {
            let down = spans(rows, &block.rows);
            let across = spans(columns, &block.columns);
            frames(canvas, plot, &down, &across)
        });
        let corners: Vec<Option<(f32, f32)>> = framed.collect();
        for (i, at) in tag_places(&corners, plot).into_iter().enumerate() {
            if let Some(at) = at {
                tag(canvas, at, i + 1, FRAME);
            }
        }
    }

    fn classes(&self) -> Vec<&String> {
        let mut classes: Vec<_> = self.row_classes.iter().collect();
        classes.sort();
        classes.dedup();
        classes
    }

    fn keys(&self, classes: &[&String]) -> Vec<Key> {
        let block = |(i, b): (usize, &Block)| Key {
            name: format!("{} ({} × {})", b.name, b.rows.len(), b.columns.len()),
            sign: Sign::Tag(i + 1),
            ink: FRAME,
        };
        let class = |(i, name): (usize, &&String)| Key {
            name: (*name).clone(),
            sign: Sign::Box,
            ink: series(i),
        };
        let blocks = self.blocks.iter().enumerate().map(block);
        blocks
            .chain(classes.iter().enumerate().map(class))
            .collect()
    }

    /// The magnitude with full colour: the 98th percentile.
    fn scale(&self) -> f64 {
        let finite = self.values.iter().map(|v| v.abs());
        let mut sizes: Vec<f64> = finite.filter(|v| v.is_finite()).collect();
        sizes.sort_by(f64::total_cmp);
        let most = sizes.get(sizes.len().saturating_sub(1) * 98 / 100);
        match (most, sizes.last()) {
            (Some(&most), _) if most > 0.0 => most,
            (_, Some(&largest)) if largest > 0.0 => largest,
            _ => 1.0,
        }
    }

    fn pixels(&self, rows: &[usize], columns: &[usize], scale: f64) -> DynamicImage {
        let (w, h) = (columns.len().min(FINEST.0), rows.len().min(FINEST.1));
        let part = |all: usize, parts: usize, i: usize| i * all / parts..(i + 1) * all / parts;
        let mut data = Vec::with_capacity(3 * w * h);
        for y in 0..h {
            for x in 0..w {
                let (mut sum, mut count) = (0.0, 0usize);
                for &row in &rows[part(rows.len(), h, y)] {
                    for &column in &columns[part(columns.len(), w, x)] {
                        let v = self.values.get(row * self.columns + column);
                        if let Some(v) = v.filter(|v| v.is_finite()) {
                            (sum, count) = (sum + v, count + 1);
                        }
                    }
                }
                data.extend(match count {
                    0 => LINE.rgb,
                    // 64 shades look continuous and keep the file small.
                    n => signed((sum / n as f64 / scale * 32.0).round() / 32.0),
                });
            }
        }
        colour(w, h, data)
    }
}

/// The numbers 0..n: members of the first block, then the remaining ones of the second, and so on, then the others.
fn order<'a>(n: usize, blocks: impl Iterator<Item = &'a [usize]>) -> Vec<usize> {
    let mut placed = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for &i in blocks.flatten() {
        if i < n && !std::mem::replace(&mut placed[i], true) {
            order.push(i);
        }
    }
    order.extend((0..n).filter(|&i| !placed[i]));
    order
}

/// The intervals of a block's members in an order, as shares of its length.
fn spans(order: &[usize], members: &[usize]) -> Vec<(f32, f32)> {
    let mut inside = vec![false; order.len()];
    for &i in members {
        if let Some(place) = inside.get_mut(i) {
            *place = true;
        }
    }
    let n = order.len() as f32;
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (i, _) in order.iter().enumerate().filter(|(_, &k)| inside[k]) {
        match spans.last_mut() {
            Some(last) if last.1 == i => last.1 += 1,
            _ => spans.push((i, i + 1)),
        }
    }
    spans
        .into_iter()
        .map(|(from, to)| (from as f32 / n, to as f32 / n))
        .collect()
}

/// The places of the numbers of blocks at the corners of their frames, moved sideways where they would overlap.
fn tag_places(corners: &[Option<(f32, f32)>], plot: Frame) -> Vec<Option<(f32, f32)>> {
    let mut placed: Vec<Option<(f32, f32)>> = Vec::new();
    for corner in corners {
        placed.push(corner.map(|(x, y)| {
            // The number of a narrow frame stays on the sheet.
            let y = (y + 12.0).min(plot.bottom() - 10.0);
            let mut x = (x + 13.0).min(plot.right() - 11.0);
            let taken = |x: f32| {
                let near = |p: &(f32, f32)| (p.0 - x).abs() < 20.0 && (p.1 - y).abs() < 18.0;
                placed.iter().flatten().any(near)
            };
            while taken(x) && x + 31.0 <= plot.right() {
                x += 20.0;
            }
            while taken(x) && x - 31.0 >= plot.x {
                x -= 20.0;
            }
            (x, y)
        }));
    }
    placed
}

/// Frames around all parts of a block, with a light edge against dark cells; returns the corner of the largest.
fn frames(
    canvas: &mut Canvas,
    plot: Frame,
    down: &[(f32, f32)],
    across: &[(f32, f32)],
) -> Option<(f32, f32)> {
    let mut outlines = Vec::new();
    for d in down {
        for a in across {
            // Parts smaller than the frame's line are left out.
            let (x, w) = (plot.x + a.0 * plot.w, (a.1 - a.0) * plot.w);
            let (y, h) = (plot.y + d.0 * plot.h, (d.1 - d.0) * plot.h);
            if w >= 3.0 && h >= 3.0 {
                let (r, b) = (x + w, y + h);
                outlines.push([(x, y), (r, y), (r, b), (x, b), (x, y)]);
            }
        }
    }
    canvas.lines(&outlines, Pen::new(4.0, WHITE.alpha(0.8)));
    canvas.lines(&outlines, Pen::new(2.0, FRAME));
    let area = |o: &[(f32, f32); 5]| (o[2].0 - o[0].0) * (o[2].1 - o[0].1);
    let largest = outlines.iter().max_by(|a, b| area(a).total_cmp(&area(b)));
    largest.map(|outline| outline[0])
}

/// The scale of colours, at the right.
fn scale_bar(canvas: &mut Canvas, scale: f64, top: f32) {
    let style = plain(12.5, MUTED);
    let (y, w) = (top + 8.0, 96.0);
    let mut x = WIDTH - 1.0;
    x -= canvas.text(x, y + 10.0, Anchor::End, style, &number(scale)) + 6.0 + w;
    let shades = (0..48u8).flat_map(|i| signed((f64::from(i) - 23.5) / 24.0));
    let shades = colour(48, 1, shades.collect());
    canvas.image(Frame::new(x, y, w, 11.0), &shades);
    canvas.text(x - 6.0, y + 10.0, Anchor::End, style, &number(-scale));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number covered another one.
    #[test]
    fn numbers_of_blocks_stand_beside_each_other() {
        let plot = Frame::new(0.0, 0.0, 100.0, 100.0);
        let corners = [Some((0.0, 0.0)), Some((2.0, 1.0)), None, Some((95.0, 95.0))];
        let places: Vec<_> = tag_places(&corners, plot).into_iter().flatten().collect();
        assert_eq!(places.len(), 3);
        for (i, a) in places.iter().enumerate() {
            assert!(a.0 >= 9.0 && a.0 <= 91.0 && a.1 <= 92.0, "{a:?}");
            for b in &places[..i] {
                assert!((a.0 - b.0).abs() >= 18.0 || (a.1 - b.1).abs() >= 16.0);
            }
        }
    }

    #[test]
    fn blocks_come_first_and_every_row_comes_once() {
        let blocks: [&[usize]; 3] = [&[4, 2], &[2, 0, 9], &[]];
        let order = order(6, blocks.into_iter());
        assert_eq!(order, [4, 2, 0, 1, 3, 5]);
        let third = 1.0 / 3.0;
        assert_eq!(spans(&order, blocks[0]), [(0.0, third)]);
        assert_eq!(spans(&order, &[4, 0, 77]), [(0.0, 1.0 / 6.0), (third, 0.5)]);
        assert!(spans(&[], &[1]).is_empty());
    }
}
