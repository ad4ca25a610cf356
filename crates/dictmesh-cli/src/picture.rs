//! The demo's picture: charts of the report on one sheet, and the atoms on a card for each agent.

use crate::canvas::palette::{agent, FAINT, LINE, MUTED, TEXT, WARN};
use crate::canvas::ticks::Scale;
use crate::canvas::{bold, plain, Anchor, Canvas, Frame, Pen};
use crate::demo::{DemoResult, StrategyRow};
use crate::matching::{self, Match, RECOVERED};
use crate::numbers::{bytes, thousands};
use crate::planted::SIDE;
use crate::report::{badge, pixels, Bar, Bars, Lines, MeshPlot, Shades};

const WIDTH: f32 = 1600.0;
const HEIGHT: f32 = 840.0;
/// Left edges of the columns, and the right edge of the last one.
const COLUMNS: [f32; 3] = [56.0, 480.0, 920.0];
const RIGHT: f32 = 1544.0;
/// Tops of the rows of charts.
const ROWS: [f32; 2] = [148.0, 592.0];

/// Draws a result.
pub fn draw(result: &DemoResult) -> Canvas {
    let matches = matching::greedy(&result.planted, &result.recovered);
    let (agents, atoms) = (result.informed.len(), result.recovered.cols());
    let title = format!("dictmesh demo: {agents} agents learn {atoms} atoms");
    let mut canvas = Canvas::new(WIDTH, HEIGHT, &title);
    headline(&mut canvas, result, matching::recovered(&matches));

    let mesh = MeshPlot {
        informed: result.informed.clone(),
        edges: result.edges.clone(),
        load: Vec::new(),
        load_label: String::new(),
    };
    let ends: Vec<usize> = (1..=result.costs.len()).map(|i| i * result.batch).collect();
    let costs = Lines::costs(&result.costs, &ends);
    let [left, middle, right] = COLUMNS;
    let [upper, lower] = ROWS;
    heading(&mut canvas, (left, upper), "The mesh", "");
    canvas.place(&mesh.draw(), (left, upper + 26.0), 1.0);
    heading(
        &mut canvas,
        (middle, upper),
        "Learning",
        "each mini-batch and the running mean",
    );
    canvas.place(&costs.draw(), (middle, upper + 26.0), 1.0);
    let goal = format!("to {:.0e}: {}", result.target, result.measure);
    heading(&mut canvas, (left, lower), "Strategies", &goal);
    for (x, bars) in [(left, rounds(result)), (middle, sizes(result))] {
        canvas.place(&bars.draw(), (x, lower + 30.0), 1.0);
    }
    let note = "above: planted; below: learned, with |cosine|";
    heading(&mut canvas, (right, upper), "The atoms of each agent", note);
    let frame = Frame::new(right, upper + 40.0, RIGHT - right, HEIGHT - upper - 76.0);
    cards(&mut canvas, frame, result, &matches);
    canvas
}

fn headline(canvas: &mut Canvas, result: &DemoResult, recovered: usize) {
    let left = COLUMNS[0];
    canvas.text(left, 72.0, Anchor::Start, bold(36.0, TEXT), "dictmesh");
    let subtitle = format!(
        "{} agents learn a dictionary together from {} samples; no atom ever leaves its agent",
        result.informed.len(),
        thousands((result.costs.len() * result.batch) as u64),
    );
    canvas.text(left, 102.0, Anchor::Start, plain(16.0, MUTED), &subtitle);

    let cost = format!("{:.3} → {:.3}", result.cost_before, result.cost_after);
    let atoms = format!("{} of {}", recovered, result.planted.cols());
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

fn rounds(result: &DemoResult) -> Bars {
    let rounds = |row: &StrategyRow| row.rounds.unwrap_or(result.round_limit);
    let text = |row: &StrategyRow| thousands(rounds(row) as u64);
    bars(result, "rounds (log scale)", |row| rounds(row) as f64, text)
}

fn sizes(result: &DemoResult) -> Bars {
    let label = "bytes sent by all agents (log scale)";
    bars(
        result,
        label,
        |row| row.bytes as f64,
        |row| bytes(row.bytes),
    )
}

fn bars(
    result: &DemoResult,
    label: &str,
    value: impl Fn(&StrategyRow) -> f64,
    text: impl Fn(&StrategyRow) -> String,
) -> Bars {
    let bar = |row: &StrategyRow| Bar {
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
        bars: result.strategies.iter().map(bar).collect(),
        reference: String::new(),
    }
}

/// A card for each agent in rows of four, with its atoms.
fn cards(canvas: &mut Canvas, frame: Frame, result: &DemoResult, matches: &[Match]) {
    const ACROSS: usize = 4;
    const GAP: f32 = 14.0;
    let agents = result.informed.len();
    let atoms_of = |k: usize| (0..result.owner.len()).filter(move |&q| result.owner[q] == k);
    let most = (0..agents)
        .map(|k| atoms_of(k).count())
        .max()
        .unwrap_or(0)
        .max(1) as f32;
    let down = agents.div_ceil(ACROSS).max(1) as f32;
    let w = (frame.w - GAP * (ACROSS - 1) as f32) / ACROSS as f32;
    let h = ((frame.h - GAP * (down - 1.0)) / down).min(0.94 * w);
    // An integer number of screen pixels for each pixel of an atom.
    let room = ((w - 6.0 * (most + 1.0)) / most).min((h - 40.0) / 2.0);
    let tile = (room / SIDE as f32).floor().max(1.0) * SIDE as f32;
    let gap = ((w - most * tile) / (most + 1.0)).floor();
    for k in 0..agents {
        let x = frame.x + (k % ACROSS) as f32 * (w + GAP);
        let y = frame.y + (k / ACROSS) as f32 * (h + GAP);
        let (card, ink) = (Frame::new(x.round(), y.round(), w, h), agent(k, agents));
        let pen = Some(Pen::new(2.0, ink));
        canvas.card(card, 9.0, Some(ink.alpha(0.05)), pen);
        let top = card.y + ((h - 2.0 * tile - 20.0) / 2.0).floor();
        for (i, q) in atoms_of(k).enumerate() {
            let at = (card.x + gap + i as f32 * (tile + gap), top);
            pair(canvas, at, tile, result, matches, q);
        }
        let corner = (card.x + 7.0, card.y + 6.0);
        badge(canvas, corner, 11.0, k, agents, result.informed[k]);
    }
}

/// A learned atom under its planted one, with the planted one's sign.
fn pair(
    canvas: &mut Canvas,
    (x, y): (f32, f32),
    tile: f32,
    result: &DemoResult,
    matches: &[Match],
    q: usize,
) {
    let found = matches.iter().find(|m| m.recovered == q);
    let cosine = found.map_or(0.0, |m| m.cosine);
    let learned: Vec<f64> = result
        .recovered
        .column(q)
        .iter()
        .map(|v| v * cosine.signum())
        .collect();
    let planted = found.map(|m| result.planted.column(m.planted));
    let below = y + tile + 4.0;
    for (y, atom) in [(y, planted), (below, Some(&learned[..]))] {
        let at = Frame::new(x, y, tile, tile);
        if let Some(atom) = atom {
            canvas.image(at, &pixels(Shades::Signed, (SIDE, SIDE), atom));
        }
        canvas.card(at.around(0.5), 0.5, None, Some(Pen::new(1.0, LINE)));
    }
    let style = match cosine.abs() >= RECOVERED {
        true => plain(12.0, MUTED),
        false => bold(12.0, WARN),
    };
    let (middle, base) = (x + tile / 2.0, below + tile + 14.0);
    canvas.text(
        middle,
        base,
        Anchor::Middle,
        style,
        &format!("{:.3}", cosine.abs()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::fake_result;
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
        let png = draw(&fake_result()).png(1.0).unwrap();
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
        let mut result = fake_result();
        result.edges.clear();
        result.informed = vec![true];
        result.owner.fill(0);
        result.costs = vec![f64::NAN, f64::INFINITY];
        result.cost_after = f64::NAN;
        result.recovered.as_mut_slice().fill(0.0);
        result.strategies[0].accuracy = f64::INFINITY;
        result.strategies[2].rounds = Some(0);
        result.strategies[2].bytes = 0;
        assert!(draw(&result).png(1.0).is_ok());
        result.costs.clear();
        result.strategies.clear();
        let svg = draw(&result).svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
