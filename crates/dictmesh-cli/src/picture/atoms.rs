//! What was planted and what came back, on one card for each agent.

use super::graph::badge;
use super::heading;
use crate::canvas::palette::{agent, signed, Ink, LINE, MUTED, WARN};
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::demo::DemoResult;
use crate::matching::{Match, RECOVERED};
use crate::planted::SIDE;
use std::collections::BTreeMap;

const COLUMNS: usize = 4;
const GAP: f32 = 16.0;

pub fn draw(canvas: &mut Canvas, frame: Frame, result: &DemoResult, matches: &[Match]) {
    heading(
        canvas,
        frame,
        "The atoms, each with the agent that keeps it",
        "above: planted; below: learned, with |cosine|",
    );
    scale_bar(canvas, frame);

    let agents = result.informed.len();
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); agents];
    for (atom, &owner) in result.owner.iter().enumerate() {
        if let Some(list) = held.get_mut(owner) {
            list.push(atom);
        }
    }
    let most = held.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let rows = agents.div_ceil(COLUMNS).max(1);
    let top = frame.y + 44.0;
    let w = ((frame.w - GAP * (COLUMNS - 1) as f32) / COLUMNS as f32).floor();
    let h = ((frame.bottom() - top - GAP * (rows - 1) as f32) / rows as f32).floor();
    // Whole screen pixels for every pixel of an atom, as many as the card has room for.
    let across = (w - 8.0 * (most + 1) as f32) / most as f32;
    let down = (h - 30.0 - 22.0) / 2.0;
    let pixel = (across.min(down) / SIDE as f32).floor().max(1.0);

    for (k, atoms) in held.iter().enumerate() {
        let x = frame.x + (k % COLUMNS) as f32 * (w + GAP);
        let y = top + (k / COLUMNS) as f32 * (h + GAP);
        let card = Frame::new(x.round(), y.round(), w, h);
        let colour = agent(k, agents);
        let at = [card.x, card.y, card.w, card.h];
        let pen = Some(Pen::new(2.0, colour));
        canvas.card(at, 9.0, Some(colour.alpha(0.05)), pen);
        let tile = pixel * SIDE as f32;
        let gap = ((w - most as f32 * tile) / (most + 1) as f32).floor();
        let upper = card.y + ((h - 2.0 * tile - 26.0) / 2.0).floor() + 3.0;
        for (i, &atom) in atoms.iter().enumerate() {
            let x = card.x + gap + i as f32 * (tile + gap);
            pair(canvas, (x, upper), pixel, result, matches, atom);
        }
        badge(
            canvas,
            (card.x + 8.0, card.y + 7.0),
            12.0,
            k,
            agents,
            result.informed[k],
        );
    }
}

/// A learned atom under the planted one it stands for; its sign is turned to the planted one's.
fn pair(
    canvas: &mut Canvas,
    (x, y): (f32, f32),
    pixel: f32,
    result: &DemoResult,
    matches: &[Match],
    atom: usize,
) {
    let side = pixel * SIDE as f32;
    let found = matches.iter().find(|m| m.recovered == atom);
    let sign = if found.is_some_and(|m| m.cosine < 0.0) {
        -1.0
    } else {
        1.0
    };
    if let Some(m) = found {
        tile(canvas, (x, y), pixel, result.planted.column(m.planted), 1.0);
    }
    let below = y + side + 4.0;
    tile(
        canvas,
        (x, below),
        pixel,
        result.recovered.column(atom),
        sign,
    );
    let cosine = found.map_or(0.0, |m| m.cosine.abs());
    let label = format!("{cosine:.3}");
    let style = if cosine >= RECOVERED {
        plain(12.5, MUTED)
    } else {
        bold(12.5, WARN)
    };
    canvas.text(
        x + side / 2.0,
        below + side + 15.0,
        Anchor::Middle,
        style,
        &label,
    );
}

/// An atom as a picture, scaled by its largest entry.
fn tile(canvas: &mut Canvas, (x, y): (f32, f32), pixel: f32, atom: &[f64], sign: f64) {
    let largest = atom.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let scale = if largest > 0.0 { sign / largest } else { 0.0 };
    let mut by_colour: BTreeMap<[u8; 3], Vec<(f32, f32)>> = BTreeMap::new();
    for (i, v) in atom.iter().enumerate() {
        let at = (x + pixel * (i % SIDE) as f32, y + pixel * (i / SIDE) as f32);
        // 64 shades are more than the eye tells apart, and keep the SVG small.
        let shade = (v * scale * 32.0).round() / 32.0;
        by_colour.entry(signed(shade)).or_default().push(at);
    }
    for (rgb, corners) in by_colour {
        canvas.squares(&corners, pixel, Ink { rgb, alpha: 1.0 });
    }
    let side = pixel * SIDE as f32;
    let (a, b) = (x - 0.5, y - 0.5);
    canvas.card(
        [a, b, side + 1.0, side + 1.0],
        0.5,
        None,
        Some(Pen::new(1.0, LINE)),
    );
}

/// What the colours of a pixel mean.
fn scale_bar(canvas: &mut Canvas, frame: Frame) {
    let w = 96.0;
    let y = frame.y + 5.0;
    let mut x = frame.right();
    x -= canvas.text(x, y + 10.0, Anchor::End, plain(13.0, MUTED), "+") + 6.0 + w;
    let x = x.round();
    for i in 0..48u8 {
        let rgb = signed((f64::from(i) - 23.5) / 24.0);
        let at = x + 2.0 * f32::from(i);
        let column: Vec<_> = (0..5u8).map(|r| (at, y + 2.0 * f32::from(r))).collect();
        canvas.squares(&column, 2.0, Ink { rgb, alpha: 1.0 });
    }
    canvas.text(x - 6.0, y + 10.0, Anchor::End, plain(13.0, MUTED), "−");
}
