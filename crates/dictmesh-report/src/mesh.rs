//! The mesh as a graph: its links, its informed agents and the load of each agent.

use super::chart::WIDTH;
use super::layout::layout;
use crate::canvas::palette::{agent, Ink, LINE, MUTED, WHITE};
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::numbers::{counted, number};

/// A mesh of agents.
#[derive(Clone, Debug)]
pub struct MeshPlot {
    /// For each agent whether it is informed; its length is the number of agents.
    pub informed: Vec<bool>,
    /// Pairs of neighbours.
    pub edges: Vec<(usize, usize)>,
    /// The load of each agent, shown by its area; empty: its number of links.
    pub load: Vec<f64>,
    /// What the load counts, for example "atoms".
    pub load_label: String,
}

/// The number of links drawn at most: more are a grey area and a large file.
const LINKS: usize = 2000;

impl MeshPlot {
    /// Draws the graph, agents that are not informed as rings.
    pub fn draw(&self) -> Canvas {
        let agents = self.informed.len();
        let informed = self.informed.iter().filter(|&&i| i).count();
        let sees = format!("{informed} of them are informed");
        let (who, links) = (counted(agents, "agent"), counted(self.edges.len(), "link"));
        let title = format!("{who}, {links}; {sees}");
        let mut canvas = Canvas::new(WIDTH, 400.0, &title);
        let (load, label) = self.load();
        let note = self.note(&load, &label);
        canvas.text_within((0.0, 16.0), Anchor::Start, plain(12.5, MUTED), &note, WIDTH);

        // Numbers are drawn where few agents leave room for them.
        let most = (22.0 * (16.0 / agents.max(1) as f32).sqrt()).clamp(3.0, 22.0);
        let inner = Frame::new(26.0, 52.0, WIDTH - 52.0, 292.0);
        let at: Vec<(f32, f32)> = layout(agents, &self.edges)
            .into_iter()
            .map(|(x, y)| (inner.x + x as f32 * inner.w, inner.y + y as f32 * inner.h))
            .collect();
        let ends = |&(a, b): &(usize, usize)| Some([*at.get(a)?, *at.get(b)?]);
        let stride = self.edges.len().div_ceil(LINKS).max(1);
        let links: Vec<_> = self.edges.iter().step_by(stride).filter_map(ends).collect();
        let crowd = (120.0 / links.len().max(1) as f32).clamp(0.3, 1.0);
        canvas.lines(&links, Pen::new(0.6 + crowd, LINE.alpha(crowd.max(0.45))));

        let largest = load.iter().copied().fold(0.0, f64::max);
        for (k, &point) in at.iter().enumerate() {
            let share = load.get(k).map_or(0.0, |l| l / largest);
            let share = if share.is_finite() { share as f32 } else { 0.0 };
            let r = most * share.clamp(0.16, 1.0).sqrt();
            match most > 9.0 {
                true => badge(&mut canvas, point, r.max(9.0), k, agents, self.informed[k]),
                false => dot(&mut canvas, point, r, agent(k, agents), self.informed[k]),
            }
        }
        let mut bottom = inner.bottom() + 28.0;
        if informed > 0 && informed < agents {
            informed_legend(&mut canvas, (8.0, bottom + 14.0), informed, agents);
            bottom += 24.0;
        }
        canvas.set_height(bottom);
        canvas
    }

    fn load(&self) -> (Vec<f64>, String) {
        if !self.load.is_empty() {
            let clean = |v: &f64| if v.is_finite() { v.max(0.0) } else { 0.0 };
            return (
                self.load.iter().map(clean).collect(),
                self.load_label.clone(),
            );
        }
        let mut degree = vec![0.0; self.informed.len()];
        for k in self.edges.iter().flat_map(|&(a, b)| [a, b]) {
            if let Some(d) = degree.get_mut(k) {
                *d += 1.0;
            }
        }
        (degree, "links".into())
    }

    fn note(&self, load: &[f64], label: &str) -> String {
        let mut note = format!(
            "{}, {}",
            counted(self.informed.len(), "agent"),
            counted(self.edges.len(), "link")
        );
        if self.edges.len() > LINKS {
            let stride = self.edges.len().div_ceil(LINKS);
            note.push_str(&format!(" (one in {stride} drawn)"));
        }
        let low = load.iter().copied().fold(f64::INFINITY, f64::min);
        let high = load.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low < high {
            note.push_str(&format!(
                "; area: {label}, {} to {}",
                number(low),
                number(high)
            ));
        } else if low == high {
            note.push_str(&format!("; {label}: {} each", number(low)));
        }
        note
    }
}

/// An agent without its number, filled if it is informed.
fn dot(canvas: &mut Canvas, (x, y): (f32, f32), r: f32, ink: Ink, informed: bool) {
    canvas.disc(x, y, r + 1.0, WHITE);
    canvas.disc(x, y, r, ink);
    if !informed {
        canvas.disc(x, y, 0.6 * r, WHITE);
    }
}

/// The legend of full and empty discs; `(x, y)` is on its base line.
fn informed_legend(canvas: &mut Canvas, (mut x, y): (f32, f32), informed: usize, agents: usize) {
    for (filled, text) in [
        (true, format!("informed: gets the samples ({informed})")),
        (false, format!("others ({})", agents - informed)),
    ] {
        canvas.disc(x, y - 4.5, 7.0, MUTED);
        if !filled {
            canvas.disc(x, y - 4.5, 4.8, WHITE);
        }
        let w = canvas.text(x + 14.0, y, Anchor::Start, plain(13.0, MUTED), &text);
        x += w + 48.0;
    }
}

/// An agent: its colour and number, filled if it is informed.
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
