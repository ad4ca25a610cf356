//! Bars beside each other, each with its name and its number.

use super::chart::WIDTH;
use crate::canvas::numbers::number;
use crate::canvas::palette::{ACCENT, FAINT, LINE, MUTED, TEXT, WARN};
use crate::canvas::ticks::{Axis, Ends, Scale};
use crate::canvas::{bold, plain, text_width, Anchor, Canvas, Frame};
use crate::picture::charts::hatched;

/// Horizontal bars over one axis.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What is measured, with its unit; stands above the bars.
    pub label: String,
    pub scale: Scale,
    pub bars: Vec<Bar>,
    /// What the references are, for example "the paper".
    pub reference: String,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    pub name: String,
    pub value: f64,
    /// What stands beside it; empty: the value.
    pub words: String,
    /// `false` for a value that was not reached: the bar is hatched.
    pub reached: bool,
    /// A value to compare with, marked by a line.
    pub reference: Option<f64>,
}

impl Bar {
    pub fn new(name: &str, value: f64) -> Self {
        Bar {
            name: name.into(),
            value,
            words: String::new(),
            reached: true,
            reference: None,
        }
    }
}

/// More bars than these are not compared by eye.
const MOST: usize = 60;
const PITCH: f32 = 28.0;
const THICK: f32 = 16.0;

impl Bars {
    pub fn draw(&self) -> Canvas {
        let bars = &self.bars[..self.bars.len().min(MOST)];
        let mut canvas = Canvas::new(WIDTH as u32, 1, &self.label);
        let style = plain(13.0, TEXT);
        let names = bars.iter().map(|b| text_width(style, &b.name));
        let left = names.fold(0.0, f32::max).min(0.4 * WIDTH) + 12.0;
        let words: Vec<String> = bars
            .iter()
            .map(|b| match b.words.is_empty() {
                true => number(b.value),
                false => b.words.clone(),
            })
            .collect();
        let widest = words.iter().map(|w| text_width(bold(12.5, TEXT), w));
        let right = widest.fold(0.0, f32::max).min(0.3 * WIDTH) + 10.0;
        let note = plain(12.5, MUTED);
        canvas.text_within((left, 16.0), Anchor::Start, note, &self.label, WIDTH - left);
        let height = PITCH * bars.len() as f32;
        let plot = Frame::new(left, 26.0, WIDTH - left - right, height);

        let references = bars.iter().filter_map(|b| b.reference);
        let values = bars.iter().map(|b| b.value).chain(references);
        let axis = match self.scale {
            // Bars have length: they start at 0, on a log scale below the smallest.
            Scale::Linear => Axis::new(self.scale, Ends::Tight, values.chain([0.0])),
            Scale::Log => {
                let least = values.clone().filter(|v| *v > 0.0);
                let least = least.fold(f64::INFINITY, f64::min) / 3.0;
                Axis::new(self.scale, Ends::Tight, values.chain([least]))
            }
        };
        for (at, _) in axis.ticks(4) {
            let x = (plot.x + at * plot.w).round();
            canvas.rect(x, plot.y, 1.0, plot.h, FAINT);
        }
        let zero = match self.scale {
            Scale::Linear => axis.at(0.0).unwrap_or(0.0),
            Scale::Log => 0.0,
        };
        canvas.rect((plot.x + zero * plot.w).round(), plot.y, 1.0, plot.h, LINE);
        for (i, (bar, words)) in bars.iter().zip(&words).enumerate() {
            let y = plot.y + i as f32 * PITCH + (PITCH - THICK) / 2.0;
            let base = y + THICK / 2.0 + 4.5;
            canvas.text_within(
                (left - 12.0, base),
                Anchor::End,
                style,
                &bar.name,
                left - 12.0,
            );
            let end = axis.at(bar.value).unwrap_or(zero);
            let (from, to) = (zero.min(end), zero.max(end));
            let at = Frame::new(
                plot.x + from * plot.w,
                y,
                ((to - from) * plot.w).max(2.0),
                THICK,
            );
            match bar.reached {
                true => canvas.rect(at.x, at.y, at.w, at.h, ACCENT),
                false => hatched(&mut canvas, at),
            }
            let mut x = at.right();
            if let Some(reference) = bar.reference.and_then(|r| axis.at(r)) {
                let mark = plot.x + reference * plot.w;
                canvas.rect(mark - 1.25, y - 4.0, 2.5, THICK + 8.0, WARN);
                // The number keeps clear of the mark.
                if mark >= x - 2.0 && mark < x + 10.0 + text_width(bold(12.5, TEXT), words) {
                    x = mark;
                }
            }
            let style = match bar.reached {
                true => bold(12.5, TEXT),
                false => plain(12.5, MUTED),
            };
            let room = WIDTH - x - 7.0;
            canvas.text_within((x + 7.0, base), Anchor::Start, style, words, room);
        }
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
        canvas.set_height(bottom);
        canvas
    }
}
