//! Common parts of charts: axes, legend, markers, and the mapping of points to pixels.

use crate::canvas::palette::{series, Ink, FAINT, LINE, MUTED, TEXT, WARN, WHITE};
use crate::canvas::ticks::Axis;
use crate::canvas::{bold, fit, plain, text_width, Anchor, Canvas, Frame, Pen};
use std::f32::consts::TAU;

/// Width of a chart in pixels: a page has two beside each other, and a phone shows its text legibly.
pub const WIDTH: f32 = 400.0;

/// A legend entry.
pub struct Key {
    pub name: String,
    pub sign: Sign,
    pub ink: Ink,
}

/// The mark of a legend entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sign {
    /// A line, with the length of its dashes.
    Line(f32),
    /// The marker of the i-th class.
    Marker(usize),
    Box,
    /// A ring around a point.
    Ring,
    /// A number in the plot.
    Tag(usize),
}

/// A sheet with two axes.
pub struct Chart {
    pub canvas: Canvas,
    pub plot: Frame,
    pub x: Axis,
    pub y: Axis,
}

/// The texts around a chart.
pub struct Labels<'a> {
    /// The description for screen readers.
    pub title: &'a str,
    pub x: &'a str,
    pub y: &'a str,
    pub legend: &'a [Key],
}

impl Chart {
    /// Draws the legend, the grid and the axes; the plot itself is `height` pixels high.
    pub fn new(labels: &Labels<'_>, x: Axis, y: Axis, height: f32) -> Self {
        let mut canvas = Canvas::new(WIDTH, 1.0, labels.title);
        let mut top = legend(&mut canvas, labels.legend, 6.0);
        if !labels.y.is_empty() {
            let style = plain(12.5, MUTED);
            canvas.text_within((0.0, top + 14.0), Anchor::Start, style, labels.y, WIDTH);
            top += 18.0;
        }
        top += 10.0;

        let style = plain(12.0, MUTED);
        let down = y.ticks(5);
        let widest = down
            .iter()
            .map(|t| text_width(style, &t.1))
            .fold(0.0, f32::max);
        let left = (widest + 10.0).clamp(24.0, 120.0);
        let plot = Frame::new(left, top, WIDTH - left - 14.0, height);
        for (at, label) in down {
            let y = (plot.bottom() - at * plot.h).round();
            canvas.rect(plot.x, y, plot.w, 1.0, if at == 0.0 { LINE } else { FAINT });
            canvas.text(plot.x - 8.0, y + 4.5, Anchor::End, style, &label);
        }
        canvas.rect(plot.x, plot.bottom().round(), plot.w, 1.0, LINE);
        let y_ticks = plot.bottom() + 18.0;
        let mut free = 0.0;
        for (at, label) in x.ticks(5) {
            let x = plot.x + at * plot.w;
            canvas.rect(x.round(), plot.bottom().round(), 1.0, 5.0, LINE);
            let half = text_width(style, &label) / 2.0;
            // Labels stay inside of the sheet; one that would touch the one before is left out.
            let x = x.clamp(half, (WIDTH - half).max(half));
            if x - half >= free {
                canvas.text(x, y_ticks, Anchor::Middle, style, &label);
                free = x + half + 8.0;
            }
        }
        let mut bottom = y_ticks + 6.0;
        if !labels.x.is_empty() {
            bottom += 16.0;
            let at = (plot.right(), bottom - 2.0);
            let style = plain(12.5, MUTED);
            canvas.text_within(at, Anchor::End, style, labels.x, plot.w);
            bottom += 4.0;
        }
        canvas.set_height(bottom);
        Chart { canvas, plot, x, y }
    }

    /// The pixel of a point, if its axes have both values.
    pub fn place(&self, (x, y): (f64, f64)) -> Option<(f32, f32)> {
        let (x, y) = (self.x.at(x)?, self.y.at(y)?);
        Some((
            self.plot.x + x * self.plot.w,
            self.plot.bottom() - y * self.plot.h,
        ))
    }

    /// Writes "nothing to show" if there is no point to draw.
    pub fn tell_if_empty(&mut self, mut points: impl Iterator<Item = (f64, f64)>) {
        if points.all(|p| self.place(p).is_none()) {
            let (x, y) = (
                self.plot.x + self.plot.w / 2.0,
                self.plot.y + self.plot.h / 2.0,
            );
            let style = plain(13.0, MUTED);
            self.canvas
                .text(x, y, Anchor::Middle, style, "nothing to show");
        }
    }

    /// A dashed line across the plot at a value of the vertical axis.
    pub fn level(&mut self, value: f64, ink: Ink) {
        if let Some(y) = self.height_of(value) {
            let ends = [(self.plot.x, y), (self.plot.right(), y)];
            self.canvas.line(&ends, Pen::new(1.2, ink).dashed(4.0));
        }
    }

    /// The label of a level, on a card that covers the curves: to be drawn after them.
    pub fn level_label(&mut self, value: f64, label: &str, ink: Ink) {
        let Some(y) = self.height_of(value) else {
            return;
        };
        let style = plain(12.0, ink);
        let label = fit(style, label, self.plot.w);
        let (w, right) = (text_width(style, &label), self.plot.right() - 2.0);
        let card = Frame::new(right - w - 3.0, y - 16.0, w + 5.0, 15.0);
        self.canvas.card(card, 3.0, Some(WHITE.alpha(0.85)), None);
        self.canvas.text(right, y - 4.0, Anchor::End, style, &label);
    }

    fn height_of(&self, value: f64) -> Option<f32> {
        let at = self.y.at(value).filter(|v| (0.0..=1.0).contains(v))?;
        Some(self.plot.bottom() - at * self.plot.h)
    }

    /// A dashed line up the plot at a value of the horizontal axis, with its label.
    pub fn cut(&mut self, value: f64, label: &str, ink: Ink) {
        let Some(at) = self.x.at(value).filter(|v| (0.0..=1.0).contains(v)) else {
            return;
        };
        let x = self.plot.x + at * self.plot.w;
        let ends = [(x, self.plot.y), (x, self.plot.bottom())];
        self.canvas.line(&ends, Pen::new(1.4, ink).dashed(4.0));
        // The label is above the plot, on the side with more room.
        let style = plain(12.0, ink);
        let y = self.plot.y - 4.0;
        let (place, anchor, room) = match at < 0.5 {
            true => ((x + 6.0, y), Anchor::Start, self.plot.right() - x - 6.0),
            false => ((x - 6.0, y), Anchor::End, x - 6.0 - self.plot.x),
        };
        self.canvas.text_within(place, anchor, style, label, room);
    }
}

/// Draws the entries in rows from `top` on; returns their lower end.
pub fn legend(canvas: &mut Canvas, keys: &[Key], top: f32) -> f32 {
    if keys.is_empty() {
        return top;
    }
    let width = canvas.width();
    let style = plain(12.5, TEXT);
    let (mut x, mut y) = (0.0, top + 10.0);
    for key in keys {
        let room = width - 30.0;
        let name = fit(style, &key.name, room);
        let w = text_width(style, &name);
        if x > 0.0 && x + 26.0 + w > width {
            (x, y) = (0.0, y + 20.0);
        }
        match key.sign {
            Sign::Line(dash) => canvas.line(
                &[(x + 2.0, y - 4.5), (x + 20.0, y - 4.5)],
                Pen::new(2.6, key.ink).dashed(dash),
            ),
            Sign::Marker(i) => marker(canvas, i, (x + 12.0, y - 4.5), 5.0, key.ink),
            Sign::Box => canvas.rect(x + 6.0, y - 10.0, 12.0, 11.0, key.ink),
            Sign::Tag(n) => tag(canvas, (x + 12.0, y - 4.5), n, key.ink),
            Sign::Ring => ring(canvas, (x + 12.0, y - 4.5), 6.0),
        }
        canvas.text_within((x + 26.0, y), Anchor::Start, style, &key.name, room);
        x += 26.0 + w + 20.0;
    }
    y + 8.0
}

/// The marker of a class: classes differ in form and in colour.
pub fn marker(canvas: &mut Canvas, class: usize, (x, y): (f32, f32), r: f32, ink: Ink) {
    match class % 4 {
        0 => canvas.disc(x, y, r, ink),
        1 => {
            let r = r * 0.9;
            canvas.rect(x - r, y - r, 2.0 * r, 2.0 * r, ink);
        }
        2 => {
            let r = r * 1.25;
            let corners = [(x, y - r), (x + r * 0.87, y + r / 2.0)];
            canvas.area(&[corners[0], corners[1], (x - r * 0.87, y + r / 2.0)], ink);
        }
        _ => {
            let r = r * 1.3;
            canvas.area(&[(x, y - r), (x + r, y), (x, y + r), (x - r, y)], ink);
        }
    }
}

/// A number on a card.
pub fn tag(canvas: &mut Canvas, (x, y): (f32, f32), n: usize, ink: Ink) {
    canvas.card(
        Frame::new(x - 9.0, y - 8.0, 18.0, 16.0),
        4.0,
        Some(ink),
        None,
    );
    let style = bold(12.0, WHITE);
    canvas.text(x, y + 4.3, Anchor::Middle, style, &n.to_string());
}

/// The colour of the i-th curve; curves that repeat a colour are dashed.
pub fn curve_pen(i: usize) -> Pen {
    let pen = Pen::new(2.4, series(i));
    match i / 8 {
        0 => pen,
        turn => pen.dashed(9.0 / turn as f32),
    }
}

/// The parts of a curve between missing points, thinned to what is visible.
pub fn runs(points: impl Iterator<Item = Option<(f32, f32)>>) -> Vec<Vec<(f32, f32)>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(p), Some(run)) => run.push(p),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs.iter().map(|run| thinned(run)).collect()
}

/// The first, lowest, highest and last point of each column of pixels.
fn thinned(points: &[(f32, f32)]) -> Vec<(f32, f32)> {
    let rightwards = points.windows(2).all(|w| w[0].0 <= w[1].0);
    if points.len() < 1000 || !rightwards {
        return points.to_vec();
    }
    let mut out = Vec::new();
    for column in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let by_height = |i: &usize, j: &usize| column[*i].1.total_cmp(&column[*j].1);
        let mut keep = vec![0, column.len() - 1];
        keep.extend((0..column.len()).min_by(by_height));
        keep.extend((0..column.len()).max_by(by_height));
        keep.sort_unstable();
        keep.dedup();
        out.extend(keep.into_iter().map(|i| column[i]));
    }
    out
}

/// A circle around a point.
pub fn ring(canvas: &mut Canvas, (x, y): (f32, f32), r: f32) {
    let circle: Vec<_> = (0..=24u8)
        .map(|i| (TAU * f32::from(i) / 24.0).sin_cos())
        .map(|(sin, cos)| (x + r * cos, y + r * sin))
        .collect();
    canvas.line(&circle, Pen::new(1.8, WARN));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_break_where_a_value_is_missing_and_keep_their_peaks() {
        let some = |x: f32| Some((x, 0.0));
        let parts = runs([some(0.0), some(1.0), None, None, some(3.0)].into_iter());
        assert_eq!(parts.len(), 2);
        assert!(runs(std::iter::empty()).is_empty());

        let many = (0..100_000u32).map(|i| {
            let y = if i == 54_321 { 99.0 } else { (i % 7) as f32 };
            Some((i as f32 / 250.0, y))
        });
        let thin = &runs(many)[0];
        assert!(thin.len() < 2000 && thin.iter().any(|p| p.1 == 99.0));
    }
}
