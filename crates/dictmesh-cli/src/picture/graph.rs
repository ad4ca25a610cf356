//! The mesh: agents and the links they talk over.

use super::heading;
use crate::canvas::palette::{agent, LINE, MUTED, WHITE};
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::demo::DemoResult;

pub fn draw(canvas: &mut Canvas, frame: Frame, result: &DemoResult) {
    let agents = result.informed.len();
    let note = format!("{} agents, {} links", agents, result.edges.len());
    heading(canvas, frame, "The mesh", &note);

    let informed = result.informed.iter().filter(|&&i| i).count();
    let mixed = informed > 0 && informed < agents;
    let inner = Frame::new(frame.x + 24.0, frame.y + 48.0, frame.w - 48.0, {
        frame.h - 48.0 - if mixed { 50.0 } else { 24.0 }
    });
    let mut degree = vec![0usize; agents];
    for &(a, b) in &result.edges {
        for k in [a, b] {
            if let Some(d) = degree.get_mut(k) {
                *d += 1;
            }
        }
    }
    let at: Vec<(f32, f32)> = layout(agents, &result.edges)
        .into_iter()
        .map(|(x, y)| (inner.x + x as f32 * inner.w, inner.y + y as f32 * inner.h))
        .collect();

    for &(a, b) in &result.edges {
        if let (Some(&a), Some(&b)) = (at.get(a), at.get(b)) {
            canvas.line(&[a, b], Pen::new(1.6, LINE));
        }
    }
    for (k, &(x, y)) in at.iter().enumerate() {
        // An agent's area grows with the messages it sends in a round: one to each neighbour.
        let r = (11.0 + 3.2 * (degree[k] as f32).sqrt()).min(24.0);
        badge(canvas, (x, y), r, k, agents, result.informed[k]);
    }
    if mixed {
        let at = (frame.x + 8.0, frame.bottom() - 10.0);
        who_sees(canvas, at, informed, agents);
    }
}

/// What full and empty discs mean; `(x, y)` is on the base line of the words.
pub fn who_sees(canvas: &mut Canvas, (mut x, y): (f32, f32), informed: usize, agents: usize) {
    for (filled, text) in [
        (true, format!("sees the samples ({informed})")),
        (
            false,
            format!("hears only its neighbours ({})", agents - informed),
        ),
    ] {
        canvas.disc(x, y - 4.5, 7.0, MUTED);
        if !filled {
            canvas.disc(x, y - 4.5, 4.8, WHITE);
        }
        let w = canvas.text(x + 14.0, y, Anchor::Start, plain(13.0, MUTED), &text);
        x += w + 48.0;
    }
}

/// An agent: its colour and number, filled if it sees the samples.
pub fn badge(
    canvas: &mut Canvas,
    (x, y): (f32, f32),
    r: f32,
    k: usize,
    agents: usize,
    informed: bool,
) {
    let colour = agent(k, agents);
    canvas.disc(x, y, r + 2.5, WHITE);
    canvas.disc(x, y, r, colour);
    let mut ink = WHITE;
    if !informed {
        canvas.disc(x, y, r - 2.6, WHITE);
        ink = colour;
    }
    let size = (r * 0.86).clamp(9.0, 16.0);
    canvas.text(
        x,
        y + size * 0.36,
        Anchor::Middle,
        bold(size, ink),
        &k.to_string(),
    );
}

/// Places in the unit square, by springs and repulsion (Fruchterman and Reingold, 1991), from a
/// circle on: the same graph is always drawn the same way.
pub fn layout(agents: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let mut at: Vec<(f64, f64)> = (0..agents)
        .map(|k| {
            // The golden angle: neighbours in number do not start as neighbours in place.
            let r = ((k as f64 + 0.5) / agents as f64).sqrt();
            let (sin, cos) = (2.399_963 * k as f64).sin_cos();
            (r * cos, r * sin)
        })
        .collect();
    let ideal = 1.6 / (agents.max(1) as f64).sqrt();
    // A round costs agents squared: large meshes get fewer, to be drawn in about a second.
    let rounds = (600 * 40_000 / (agents * agents).max(1)).clamp(20, 600) as u32;
    for round in 0..rounds {
        let heat = 0.12 * (1.0 - f64::from(round) / f64::from(rounds));
        let mut push = vec![(0.0, 0.0); agents];
        let mut apply = |a: usize, b: usize, force: &dyn Fn(f64) -> f64| {
            let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
            let d = dx.hypot(dy).max(1e-3);
            let f = force(d) / d;
            push[a].0 += dx * f;
            push[a].1 += dy * f;
            push[b].0 -= dx * f;
            push[b].1 -= dy * f;
        };
        for a in 0..agents {
            for b in 0..a {
                apply(a, b, &|d| ideal * ideal / d);
            }
        }
        for &(a, b) in edges {
            if a != b && a < agents && b < agents {
                apply(a, b, &|d| -d * d / ideal);
            }
        }
        for (p, f) in at.iter_mut().zip(push) {
            // Slightly drawn to the middle, so that parts that hang loose stay on the sheet.
            let (fx, fy) = (f.0 - 0.05 * p.0, f.1 - 0.05 * p.1);
            let length = fx.hypot(fy).max(1e-9);
            let step = length.min(heat) / length;
            p.0 += fx * step;
            p.1 += fy * step;
        }
    }
    fit(&at)
}

/// Turned so that its long side lies flat, then stretched to the unit square.
fn fit(at: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let n = at.len().max(1) as f64;
    let (mx, my) = at
        .iter()
        .fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for p in at {
        let (dx, dy) = (p.0 - mx, p.1 - my);
        xx += dx * dx;
        xy += dx * dy;
        yy += dy * dy;
    }
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    let turned: Vec<_> = at
        .iter()
        .map(|p| {
            let (dx, dy) = (p.0 - mx, p.1 - my);
            (cos * dx + sin * dy, cos * dy - sin * dx)
        })
        .collect();
    let span = |of: fn(&(f64, f64)) -> f64| {
        let low = turned.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = turned.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (low, high - low)
    };
    let (x, y) = (span(|p| p.0), span(|p| p.1));
    let place = |v: f64, (low, width): (f64, f64)| match width > 1e-9 {
        true => (v - low) / width,
        false => 0.5,
    };
    turned
        .iter()
        .map(|p| (place(p.0, x), place(p.1, y)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_have_places_of_their_own_inside_the_square() {
        let ring: Vec<_> = (0..16).map(|k| (k, (k + 1) % 16)).collect();
        for (agents, edges) in [(16, ring), (1, vec![]), (0, vec![]), (5, vec![(0, 9)])] {
            let at = layout(agents, &edges);
            assert_eq!(at.len(), agents);
            for (i, p) in at.iter().enumerate() {
                assert!((0.0..=1.0).contains(&p.0) && (0.0..=1.0).contains(&p.1));
                for q in &at[..i] {
                    assert!((p.0 - q.0).hypot(p.1 - q.1) > 0.08, "{p:?} {q:?}");
                }
            }
        }
    }
}
