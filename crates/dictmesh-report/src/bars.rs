//! Horizontal bars with names and values.

use super::chart::WIDTH;
use crate::canvas::palette::{ACCENT, FAINT, LINE, MUTED, TEXT, WARN};
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::{bold, plain, text_width, Anchor, Canvas, Frame, Pen};
use crate::numbers::number;

/// Horizontal bars over one axis.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The quantity and its unit, shown above the bars.
    pub label: String,
    /// The scale of the axis.
    pub scale: Scale,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// The source of the references, for example "the paper".
    pub reference: String,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The text at its left.
    pub name: String,
    /// Its length.
    pub value: f64,
    /// The text beside it; empty: the value.
    pub words: String,
    /// `false` for a value that was not reached: the bar is hatched.
    pub reached: bool,
    /// A value to compare with, marked by a line.
    pub reference: Option<f64>,
}

impl Bar {
    /// A bar whose value was reached, without a reference.
    pub fn new(name: &str, value: f64) -> Self {
        Bar {
            name: name.into(),
            value,
            words: String::new(),
            reached: true,
            reference: None,
        }
    }

    /// The text beside it.
    fn shown(&self) -> String {
        match self.words.is_empty() {
            true => number(self.value),
            false => self.words.clone(),
        }
    }
}

/// The number of bars drawn at most.
const MOST: usize = 60;
const PITCH: f32 = 28.0;
const THICK: f32 = 16.0;

/// The area of the bars.
struct Plot {
    frame: Frame,
    axis: Axis,
    /// The start of the bars, as a share of the width.
    zero: f32,
}

impl Bars {
    /// Draws at most 60 bars.
    pub fn draw(&self) -> Canvas {
        let bars = &self.bars[..self.bars.len().min(MOST)];
        let mut canvas = Canvas::new(WIDTH, 1.0, &self.label);
        let names = bars.iter().map(|b| text_width(plain(13.0, TEXT), &b.name));
        let left = names.fold(0.0, f32::max).min(0.4 * WIDTH) + 12.0;
        let widest = bars
            .iter()
            .map(|b| text_width(bold(12.5, TEXT), &b.shown()));
        let right = widest.fold(0.0, f32::max).min(0.3 * WIDTH) + 10.0;
        let note = plain(12.5, MUTED);
        canvas.text_within((left, 16.0), Anchor::Start, note, &self.label, WIDTH - left);
        let axis = self.axis(bars);
        let plot = Plot {
            frame: Frame::new(left, 26.0, WIDTH - left - right, PITCH * bars.len() as f32),
            zero: match self.scale {
                Scale::Linear => axis.at(0.0).unwrap_or(0.0),
                Scale::Log => 0.0,
            },
            axis,
        };
        plot.lines(&mut canvas);
        for (i, bar) in bars.iter().enumerate() {
            plot.bar(&mut canvas, bar, i);
        }
        let bottom = self.legend(&mut canvas, &plot.frame, bars);
        canvas.set_height(bottom);
        canvas
    }

    fn axis(&self, bars: &[Bar]) -> Axis {
        let references = bars.iter().filter_map(|b| b.reference);
        let values = bars.iter().map(|b| b.value).chain(references);
        match self.scale {
            // Bars have length: they start at 0, on a log scale below the smallest.
            Scale::Linear => Axis::new(self.scale, Ends::Tight, values.chain([0.0])),
            Scale::Log => {
                let least = values.clone().filter(|v| *v > 0.0);
                let least = least.fold(f64::INFINITY, f64::min) / 3.0;
                Axis::new(self.scale, Ends::Tight, values.chain([least]))
            }
        }
    }

    /// Names the references and the number of bars left out; returns its lower end.
    fn legend(&self, canvas: &mut Canvas, plot: &Frame, bars: &[Bar]) -> f32 {
        let note = plain(12.5, MUTED);
        let mut bottom = plot.bottom() + 6.0;
        if bars.iter().any(|b| b.reference.is_some()) && !self.reference.is_empty() {
            canvas.rect(plot.x, bottom + 2.0, 2.5, 14.0, WARN);
            let at = (plot.x + 9.0, bottom + 14.0);
            canvas.text_within(at, Anchor::Start, note, &self.reference, WIDTH - at.0);
            bottom += 22.0;
        }
        if bars.len() < self.bars.len() {
            let said = format!("the first {} of {}", bars.len(), self.bars.len());
            canvas.text(plot.x, bottom + 14.0, Anchor::Start, note, &said);
            bottom += 22.0;
        }
        bottom
    }
}

impl Plot {
    fn lines(&self, canvas: &mut Canvas) {
        let plot = &self.frame;
        for (at, _) in self.axis.ticks(4) {
            let x = (plot.x + at * plot.w).round();
            canvas.rect(x, plot.y, 1.0, plot.h, FAINT);
        }
        let x = (plot.x + self.zero * plot.w).round();
        canvas.rect(x, plot.y, 1.0, plot.h, LINE);
    }

    /// The `i`-th bar with its name and value.
    fn bar(&self, canvas: &mut Canvas, bar: &Bar, i: usize) {
        let (plot, words) = (&self.frame, bar.shown());
        let y = plot.y + i as f32 * PITCH + (PITCH - THICK) / 2.0;
        let base = y + THICK / 2.0 + 4.5;
        let room = plot.x - 12.0;
        canvas.text_within(
            (room, base),
            Anchor::End,
            plain(13.0, TEXT),
            &bar.name,
            room,
        );
        let end = self.axis.at(bar.value).unwrap_or(self.zero);
        let (from, to) = (self.zero.min(end), self.zero.max(end));
        let width = ((to - from) * plot.w).max(2.0);
        let at = Frame::new(plot.x + from * plot.w, y, width, THICK);
        match bar.reached {
            true => canvas.rect(at.x, at.y, at.w, at.h, ACCENT),
            false => hatched(canvas, at),
        }
        let mut x = at.right();
        if let Some(reference) = bar.reference.and_then(|r| self.axis.at(r)) {
            let mark = plot.x + reference * plot.w;
            canvas.rect(mark - 1.25, y - 4.0, 2.5, THICK + 8.0, WARN);
            // The value does not cover the mark.
            if mark >= x - 2.0 && mark < x + 10.0 + text_width(bold(12.5, TEXT), &words) {
                x = mark;
            }
        }
        let style = match bar.reached {
            true => bold(12.5, TEXT),
            false => plain(12.5, MUTED),
        };
        let room = WIDTH - x - 7.0;
        canvas.text_within((x + 7.0, base), Anchor::Start, style, &words, room);
    }
}

/// A bar of a value that was not reached.
fn hatched(canvas: &mut Canvas, at: Frame) {
    canvas.rect(at.x, at.y, at.w, at.h, FAINT);
    let mut start = -at.h;
    while start < at.w {
        // The part inside the bar of the diagonal from (start, bottom).
        let (from, to) = (start.max(0.0), (start + at.h).min(at.w));
        let y = |x: f32| at.bottom() - (x - start);
        let line = [(at.x + from, y(from)), (at.x + to, y(to))];
        canvas.line(&line, Pen::new(1.2, LINE));
        start += 7.0;
    }
}
