//! Where the agents of a mesh are drawn.

/// Positions in the unit square by springs and repulsion (Fruchterman and Reingold, 1991). They depend on the
/// graph alone.
pub fn layout(agents: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    let mut at: Vec<(f64, f64)> = (0..agents)
        .map(|k| {
            // The golden angle: consecutive agents do not start beside each other.
            let r = ((k as f64 + 0.5) / agents as f64).sqrt();
            let (sin, cos) = (2.399_963 * k as f64).sin_cos();
            (r * cos, r * sin)
        })
        .collect();
    let ideal = 1.6 / (agents.max(1) as f64).sqrt();
    // A round takes time in proportion to agents squared: large meshes get fewer of them.
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
            // A weak pull to the middle keeps disconnected parts together.
            let (fx, fy) = (f.0 - 0.05 * p.0, f.1 - 0.05 * p.1);
            let length = fx.hypot(fy).max(1e-9);
            let step = length.min(heat) / length;
            p.0 += fx * step;
            p.1 += fy * step;
        }
    }
    fit(&at)
}

/// Rotated so that its long axis is horizontal, then stretched to the unit square.
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
    fn agents_are_apart_and_inside_the_square() {
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
