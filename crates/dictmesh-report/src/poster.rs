//! One sheet of a learned mesh: charts, and the atoms on a card for each agent.

use crate::canvas::palette::{agent, FAINT, LINE, MUTED, TEXT, WARN};
use crate::canvas::ticks::Scale;
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::numbers::{bytes, thousands};
use crate::{gallery::pixels, mesh::badge, Bar, Bars, Lines, MeshPlot, Shades};

/// The data of the sheet.
#[derive(Clone, Debug)]
pub struct Poster {
    /// For each agent whether it is informed; its length is the number of agents.
    pub informed: Vec<bool>,
    /// The links of the mesh.
    pub edges: Vec<(usize, usize)>,
    /// Samples in a mini-batch.
    pub batch: usize,
    /// Mean cost of a sample in each mini-batch.
    pub costs: Vec<f64>,
    /// Mean cost of held-out samples before learning and after it.
    pub cost: (f64, f64),
    /// Pixels along a side of an atom.
    pub side: usize,
    /// The learned atoms.
    pub atoms: Vec<PosterAtom>,
    /// The number of planted atoms.
    pub planted: usize,
    /// The accuracy that strategies reach, and what it measures.
    pub target: (f64, String),
    /// The limit of rounds of a strategy.
    pub round_limit: usize,
    /// What each strategy needs.
    pub strategies: Vec<PosterStrategy>,
}

/// A learned atom beside its planted one.
#[derive(Clone, Debug)]
pub struct PosterAtom {
    /// Its agent.
    pub agent: usize,
    /// Its entries, with the sign of the planted atom.
    pub learned: Vec<f64>,
    /// The planted atom's entries; `None` if no planted atom is left for it.
    pub planted: Option<Vec<f64>>,
    /// |cosine| between the two.
    pub cosine: f64,
    /// Whether that is enough.
    pub recovered: bool,
}

/// The rounds and bytes of one strategy.
#[derive(Clone, Debug)]
pub struct PosterStrategy {
    /// The strategy's name.
    pub name: String,
    /// Rounds until the target; `None` at the round limit.
    pub rounds: Option<usize>,
    /// Bytes sent in these rounds by all agents.
    pub bytes: u64,
}

const WIDTH: f32 = 1600.0;
const HEIGHT: f32 = 840.0;
/// Left edges of the columns, and the right edge of the last one.
const COLUMNS: [f32; 3] = [56.0, 480.0, 920.0];
const RIGHT: f32 = 1544.0;
/// Tops of the rows of charts.
const ROWS: [f32; 2] = [148.0, 592.0];

impl Poster {
    /// Draws the sheet.
    pub fn draw(&self) -> Canvas {
        let (agents, atoms) = (self.informed.len(), self.atoms.len());
        let title = format!("dictmesh demo: {agents} agents learn {atoms} atoms");
        let mut canvas = Canvas::new(WIDTH, HEIGHT, &title);
        headline(&mut canvas, self);
        charts(&mut canvas, self);
        let ([_, _, right], [upper, _]) = (COLUMNS, ROWS);
        let note = "above: planted; below: learned, with |cosine|";
        heading(&mut canvas, (right, upper), "The atoms of each agent", note);
        let frame = Frame::new(right, upper + 40.0, RIGHT - right, HEIGHT - upper - 76.0);
        cards(&mut canvas, frame, self);
        canvas
    }
}

fn charts(canvas: &mut Canvas, poster: &Poster) {
    let mesh = MeshPlot {
        informed: poster.informed.clone(),
        edges: poster.edges.clone(),
        load: Vec::new(),
        load_label: String::new(),
    };
    let ends: Vec<usize> = (1..=poster.costs.len()).map(|i| i * poster.batch).collect();
    let costs = Lines::costs(&poster.costs, &ends);
    let [left, middle, _] = COLUMNS;
    let [upper, lower] = ROWS;
    heading(canvas, (left, upper), "The mesh", "");
    canvas.place(&mesh.draw(), (left, upper + 26.0), 1.0);
    heading(
        canvas,
        (middle, upper),
        "Learning",
        "each mini-batch and the running mean",
    );
    canvas.place(&costs.draw(), (middle, upper + 26.0), 1.0);
    let goal = format!("to {:.0e}: {}", poster.target.0, poster.target.1);
    heading(canvas, (left, lower), "Strategies", &goal);
    for (x, bars) in [(left, rounds(poster)), (middle, sizes(poster))] {
        canvas.place(&bars.draw(), (x, lower + 30.0), 1.0);
    }
}

fn headline(canvas: &mut Canvas, poster: &Poster) {
    let left = COLUMNS[0];
    canvas.text(left, 72.0, Anchor::Start, bold(36.0, TEXT), "dictmesh");
    let subtitle = format!(
        "{} agents learn a dictionary together from {} samples; no atom ever leaves its agent",
        poster.informed.len(),
        thousands((poster.costs.len() * poster.batch) as u64),
    );
    canvas.text(left, 102.0, Anchor::Start, plain(16.0, MUTED), &subtitle);

    let cost = format!("{:.3} → {:.3}", poster.cost.0, poster.cost.1);
    let recovered = poster.atoms.iter().filter(|atom| atom.recovered).count();
    let atoms = format!("{recovered} of {}", poster.planted);
    let mut x = RIGHT;
    for (number, caption) in [
        (cost, "cost of a sample, before → after"),
        (atoms, "planted atoms recovered"),
    ] {
        let a = canvas.text(x, 72.0, Anchor::End, bold(30.0, TEXT), &number);
        let b = canvas.text(x, 102.0, Anchor::End, plain(15.0, MUTED), caption);
        x -= a.max(b) + 56.0;
    }
    canvas.rect(left, 122.0, RIGHT - left, 1.0, FAINT);
}

/// The title of a part with a note, on one line.
fn heading(canvas: &mut Canvas, (x, y): (f32, f32), title: &str, note: &str) {
    let w = canvas.text(x, y + 14.0, Anchor::Start, bold(17.0, TEXT), title);
    let at = (x + w + 12.0, y + 14.0);
    canvas.text(at.0, at.1, Anchor::Start, plain(13.0, MUTED), note);
}

fn rounds(poster: &Poster) -> Bars {
    let rounds = |row: &PosterStrategy| row.rounds.unwrap_or(poster.round_limit);
    let text = |row: &PosterStrategy| thousands(rounds(row) as u64);
    bars(poster, "rounds (log scale)", |row| rounds(row) as f64, text)
}

fn sizes(poster: &Poster) -> Bars {
    let label = "bytes sent by all agents (log scale)";
    bars(
        poster,
        label,
        |row| row.bytes as f64,
        |row| bytes(row.bytes),
    )
}

fn bars(
    poster: &Poster,
    label: &str,
    value: impl Fn(&PosterStrategy) -> f64,
    text: impl Fn(&PosterStrategy) -> String,
) -> Bars {
    let bar = |row: &PosterStrategy| Bar {
        words: match row.rounds {
            Some(_) => text(row),
            None => format!("over {}", text(row)),
        },
        reached: row.rounds.is_some(),
        ..Bar::new(&row.name, value(row).max(1.0))
    };
    Bars {
        label: label.into(),
        scale: Scale::Log,
        bars: poster.strategies.iter().map(bar).collect(),
        reference: String::new(),
    }
}

/// A card for each agent in rows of four, with its atoms.
fn cards(canvas: &mut Canvas, frame: Frame, poster: &Poster) {
    const ACROSS: usize = 4;
    const GAP: f32 = 14.0;
    let agents = poster.informed.len();
    let atoms_of = |k: usize| poster.atoms.iter().filter(move |atom| atom.agent == k);
    let most = (0..agents)
        .map(|k| atoms_of(k).count())
        .max()
        .unwrap_or(0)
        .max(1) as f32;
    let down = agents.div_ceil(ACROSS).max(1) as f32;
    let w = (frame.w - GAP * (ACROSS - 1) as f32) / ACROSS as f32;
    let h = ((frame.h - GAP * (down - 1.0)) / down).min(0.94 * w);
    // An integer number of screen pixels for each pixel of an atom.
    let side = poster.side.max(1) as f32;
    let room = ((w - 6.0 * (most + 1.0)) / most).min((h - 40.0) / 2.0);
    let tile = (room / side).floor().max(1.0) * side;
    let gap = ((w - most * tile) / (most + 1.0)).floor();
    for k in 0..agents {
        let x = frame.x + (k % ACROSS) as f32 * (w + GAP);
        let y = frame.y + (k / ACROSS) as f32 * (h + GAP);
        let (card, ink) = (Frame::new(x.round(), y.round(), w, h), agent(k, agents));
        let pen = Some(Pen::new(2.0, ink));
        canvas.card(card, 9.0, Some(ink.alpha(0.05)), pen);
        let top = card.y + ((h - 2.0 * tile - 20.0) / 2.0).floor();
        for (i, atom) in atoms_of(k).enumerate() {
            let at = (card.x + gap + i as f32 * (tile + gap), top);
            pair(canvas, at, tile, poster.side, atom);
        }
        let corner = (card.x + 7.0, card.y + 6.0);
        badge(canvas, corner, 11.0, k, agents, poster.informed[k]);
    }
}

/// A learned atom under its planted one.
fn pair(canvas: &mut Canvas, (x, y): (f32, f32), tile: f32, side: usize, atom: &PosterAtom) {
    let below = y + tile + 4.0;
    for (y, entries) in [(y, atom.planted.as_ref()), (below, Some(&atom.learned))] {
        let at = Frame::new(x, y, tile, tile);
        if let Some(entries) = entries {
            canvas.image(at, &pixels(Shades::Signed, (side, side), entries));
        }
        canvas.card(at.around(0.5), 0.5, None, Some(Pen::new(1.0, LINE)));
    }
    let style = match atom.recovered {
        true => plain(12.0, MUTED),
        false => bold(12.0, WARN),
    };
    let (at, cosine) = (
        (x + tile / 2.0, below + tile + 14.0),
        format!("{:.3}", atom.cosine),
    );
    canvas.text(at.0, at.1, Anchor::Middle, style, &cosine);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::sample::poster;
    use resvg::tiny_skia::Pixmap;

    /// The share of a part of the picture that is not white.
    fn inked(pixmap: &Pixmap, frame: Frame) -> f64 {
        let mut count = 0;
        for y in frame.y as u32..frame.bottom() as u32 {
            for x in frame.x as u32..frame.right() as u32 {
                let p = pixmap.pixel(x, y).unwrap();
                count += usize::from((p.red(), p.green(), p.blue()) != (255, 255, 255));
            }
        }
        count as f64 / f64::from(frame.w * frame.h)
    }

    #[test]
    fn the_png_decodes_has_its_size_and_every_part_is_drawn() {
        let png = poster().draw().png(1.0).unwrap();
        assert!(png.len() < 600_000, "{} bytes", png.len());
        let pixmap = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (1600, 840));
        for (what, frame, least) in [
            ("title", Frame::new(56.0, 40.0, 300.0, 70.0), 0.05),
            ("mesh", Frame::new(56.0, 148.0, 400.0, 420.0), 0.04),
            ("curve", Frame::new(480.0, 148.0, 400.0, 300.0), 0.04),
            ("rounds", Frame::new(56.0, 592.0, 400.0, 210.0), 0.04),
            ("bytes", Frame::new(480.0, 592.0, 400.0, 210.0), 0.04),
            ("atoms", Frame::new(920.0, 180.0, 624.0, 620.0), 0.4),
        ] {
            let share = inked(&pixmap, frame);
            assert!(share > least, "{what}: {share}");
        }
        // The margins stay empty.
        for frame in [
            Frame::new(0.0, 0.0, 40.0, 840.0),
            Frame::new(1560.0, 0.0, 40.0, 840.0),
            Frame::new(0.0, 820.0, 1600.0, 20.0),
        ] {
            assert_eq!(inked(&pixmap, frame), 0.0, "{frame:?}");
        }
    }

    #[test]
    fn odd_results_are_drawn_too() {
        // Nothing learned, one agent, values that are not finite: a picture, not a panic.
        let mut result = poster();
        result.edges.clear();
        result.informed = vec![true];
        for atom in &mut result.atoms {
            (atom.agent, atom.planted, atom.cosine) = (0, None, f64::NAN);
            atom.learned.fill(0.0);
        }
        result.costs = vec![f64::NAN, f64::INFINITY];
        result.cost.1 = f64::NAN;
        result.strategies[2].rounds = Some(0);
        result.strategies[2].bytes = 0;
        assert!(result.draw().png(1.0).is_ok());
        result.costs.clear();
        result.strategies.clear();
        let svg = result.draw().svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
