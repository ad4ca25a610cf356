//! The learning curve, and the bars of what each strategy needed.

use super::heading;
use crate::canvas::palette::{ACCENT, FAINT, LINE, MUTED, TEXT};
use crate::canvas::ticks::nice_step;
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::demo::{DemoResult, StrategyRow};
use crate::numbers::{bytes, thousands};

/// Cost against samples: every mini-batch faintly, their running mean on top.
pub fn curve(canvas: &mut Canvas, frame: Frame, result: &DemoResult) {
    let note = "mean cost of a sample in each mini-batch, and its running mean";
    heading(canvas, frame, "Learning", note);
    let costs: Vec<f64> = result
        .costs
        .iter()
        .copied()
        .filter(|c| c.is_finite())
        .collect();
    let plot = Frame::new(frame.x + 44.0, frame.y + 34.0, frame.w - 96.0, {
        frame.h - 34.0 - 24.0
    });
    let high = costs.iter().fold(0.0f64, |m, &c| m.max(c));
    let step = nice_step(high, 3.0);
    let top = (high / step).ceil().max(1.0) * step;
    let y_of = |c: f64| plot.bottom() - (c / top) as f32 * plot.h;
    let x_of = |i: usize| plot.x + plot.w * (i + 1) as f32 / costs.len().max(1) as f32;
    let samples = (result.costs.len() * result.batch) as f64;
    axes(canvas, plot, (top, step), samples);
    if costs.is_empty() {
        return;
    }

    let raw: Vec<_> = costs
        .iter()
        .enumerate()
        .map(|(i, &c)| (x_of(i), y_of(c)))
        .collect();
    canvas.line(&raw, Pen::new(1.0, ACCENT.alpha(0.28)));
    let mean = running_mean(&costs, costs.len() / 50);
    let smooth: Vec<_> = mean
        .iter()
        .enumerate()
        .map(|(i, &c)| (x_of(i), y_of(c)))
        .collect();
    let mut below = smooth.clone();
    below.push((x_of(costs.len() - 1), plot.bottom()));
    below.push((x_of(0), plot.bottom()));
    canvas.area(&below, ACCENT.alpha(0.07));
    canvas.line(&smooth, Pen::new(2.6, ACCENT));
    if let (Some(&(x, y)), Some(last)) = (smooth.last(), mean.last()) {
        canvas.disc(x, y, 4.0, ACCENT);
        let label = format!("{last:.3}");
        canvas.text(x + 9.0, y + 4.5, Anchor::Start, bold(13.0, ACCENT), &label);
    }
}

/// Lines at the multiples of `step` up to `top`, and the numbers of samples below them.
fn axes(canvas: &mut Canvas, plot: Frame, (top, step): (f64, f64), samples: f64) {
    for i in 0..=(top / step).round() as usize {
        let value = i as f64 * step;
        let y = (plot.bottom() - (value / top) as f32 * plot.h).round();
        let ink = if i == 0 { LINE } else { FAINT };
        canvas.rect(plot.x, y, plot.w, 1.0, ink);
        let label = trimmed(value);
        let x = plot.x - 8.0;
        canvas.text(x, y + 4.5, Anchor::End, plain(12.0, MUTED), &label);
    }
    let x_step = nice_step(samples, 4.0);
    let mut value = 0.0;
    while samples > 0.0 && value <= samples * 1.0001 {
        let x = plot.x + (value / samples) as f32 * plot.w;
        let mut label = thousands(value as u64);
        if value == 0.0 {
            label.push_str(" samples");
        }
        let y = plot.bottom() + 18.0;
        let anchor = if value == 0.0 {
            Anchor::Start
        } else {
            Anchor::Middle
        };
        canvas.text(x, y, anchor, plain(12.0, MUTED), &label);
        value += x_step;
    }
}

/// Rounds and bytes of each strategy, both on a logarithmic scale.
pub fn bars(canvas: &mut Canvas, frame: Frame, result: &DemoResult) {
    heading(
        canvas,
        frame,
        "Strategies",
        &format!("to {:.0e}: {}", result.target, result.measure),
    );
    let rows = &result.strategies;
    let left = frame.x + 124.0;
    let gap = 20.0;
    let w = (frame.right() - left - gap) / 2.0;
    let top = frame.y + 52.0;
    let pitch = (frame.bottom() - top) / rows.len().max(1) as f32;
    let pitch = pitch.min(30.0);

    let rounds = |r: &StrategyRow| r.rounds.unwrap_or(result.round_limit) as f64;
    let sizes = |r: &StrategyRow| r.bytes as f64;
    let said_rounds = |r: &StrategyRow| match r.rounds {
        Some(n) => thousands(n as u64),
        None => format!("over {}", thousands(result.round_limit as u64)),
    };
    let said_bytes = |r: &StrategyRow| match r.rounds {
        Some(_) => bytes(r.bytes),
        None => format!("over {}", bytes(r.bytes)),
    };
    for (i, row) in rows.iter().enumerate() {
        let y = top + (i as f32 + 0.5) * pitch;
        canvas.text(
            left - 12.0,
            y + 4.5,
            Anchor::End,
            plain(13.5, TEXT),
            &row.name,
        );
    }
    let charts: [(&str, Measure, Words); 2] = [
        ("rounds (log scale)", &rounds, &said_rounds),
        ("bytes sent by all agents (log scale)", &sizes, &said_bytes),
    ];
    for (c, (title, measure, words)) in charts.into_iter().enumerate() {
        let x = left + c as f32 * (w + gap);
        canvas.text(x, top - 8.0, Anchor::Start, plain(12.5, MUTED), title);
        let area = Frame::new(x, top, w, pitch * rows.len() as f32);
        bar_chart(canvas, area, pitch, rows, measure, words);
    }
}

type Measure<'a> = &'a dyn Fn(&StrategyRow) -> f64;
type Words<'a> = &'a dyn Fn(&StrategyRow) -> String;

fn bar_chart(
    canvas: &mut Canvas,
    area: Frame,
    pitch: f32,
    rows: &[StrategyRow],
    measure: Measure<'_>,
    words: Words<'_>,
) {
    let logs: Vec<f64> = rows.iter().map(|r| measure(r).max(1.0).log10()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // From the power of ten below the smallest; a bar has at least a little length.
    let low = (low - 0.35).floor().max(0.0);
    let room = area.w - 82.0;
    let unit = f64::from(room) / (high - low).max(0.5);
    let mut power = low;
    while power <= high {
        let x = (area.x + ((power - low) * unit) as f32).round();
        let ink = if power == low { LINE } else { FAINT };
        canvas.rect(x, area.y, 1.0, area.h, ink);
        power += 1.0;
    }
    let thick = (pitch * 0.56).round();
    for (i, (row, log)) in rows.iter().zip(&logs).enumerate() {
        let y = (area.y + (i as f32 + 0.5) * pitch - thick / 2.0).round();
        let w = (((log - low) * unit) as f32).max(3.0);
        let at = Frame::new(area.x, y, w, thick);
        let reached = row.rounds.is_some();
        if reached {
            canvas.rect(at.x, at.y, at.w, at.h, ACCENT);
        } else {
            hatched(canvas, at);
        }
        let style = if reached {
            bold(12.5, TEXT)
        } else {
            plain(12.5, MUTED)
        };
        let y = y + thick / 2.0 + 4.5;
        canvas.text(at.right() + 7.0, y, Anchor::Start, style, &words(row));
    }
}

/// A bar that says: not reached.
pub fn hatched(canvas: &mut Canvas, at: Frame) {
    canvas.rect(at.x, at.y, at.w, at.h, FAINT);
    let mut start = -at.h;
    while start < at.w {
        // The part inside the bar of the line from (start, bottom) up and to the right.
        let (from, to) = (start.max(0.0), (start + at.h).min(at.w));
        let y = |x: f32| at.bottom() - (x - start);
        let line = [(at.x + from, y(from)), (at.x + to, y(to))];
        canvas.line(&line, Pen::new(1.2, LINE));
        start += 7.0;
    }
}

/// The mean of the `2 half + 1` entries around every entry, fewer at the ends.
pub fn running_mean(values: &[f64], half: usize) -> Vec<f64> {
    (0..values.len())
        .map(|i| {
            let end = (i + half + 1).min(values.len());
            let part = &values[i.saturating_sub(half)..end];
            part.iter().sum::<f64>() / part.len() as f64
        })
        .collect()
}

/// At most three decimals, without zeros at the end.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_mean_looks_both_ways() {
        let mean = running_mean(&[4.0, 2.0, 0.0, 1.0], 1);
        assert_eq!(mean, [3.0, 2.0, 1.0, 0.5]);
        assert_eq!(running_mean(&[4.0, 2.0], 0), [4.0, 2.0]);
        assert_eq!(trimmed(0.5), "0.5");
        assert_eq!(trimmed(2.0), "2");
        assert_eq!(trimmed(0.0), "0");
    }
}
