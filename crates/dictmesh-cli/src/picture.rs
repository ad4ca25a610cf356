//! The demo's picture: the mesh, what it learned, how fast, and what it cost in messages.

mod atoms;
pub mod charts;
pub mod graph;

use crate::canvas::palette::{FAINT, MUTED, TEXT};
use crate::canvas::{bold, plain, Anchor, Canvas, Frame};
use crate::demo::DemoResult;
use crate::matching;
use crate::numbers::thousands;

/// Width of the picture in pixels.
pub const WIDTH: u32 = 1600;
/// Height of the picture in pixels.
pub const HEIGHT: u32 = 1000;

const LEFT: f32 = 56.0;
const RIGHT: f32 = 1544.0;

/// Draws a result; [`Canvas::png`] and [`Canvas::svg`] make files of it.
pub fn draw(result: &DemoResult) -> Canvas {
    let matches = matching::greedy(&result.planted, &result.recovered);
    let title = format!(
        "dictmesh demo: {} agents learn {} atoms",
        result.informed.len(),
        result.recovered.cols()
    );
    let mut canvas = Canvas::new(WIDTH, HEIGHT, &title);
    headline(&mut canvas, result, matching::recovered(&matches));
    graph::draw(&mut canvas, Frame::new(LEFT, 148.0, 560.0, 356.0), result);
    charts::curve(&mut canvas, Frame::new(LEFT, 540.0, 560.0, 188.0), result);
    charts::bars(&mut canvas, Frame::new(LEFT, 764.0, 560.0, 196.0), result);
    atoms::draw(
        &mut canvas,
        Frame::new(672.0, 148.0, RIGHT - 672.0, 812.0),
        result,
        &matches,
    );
    canvas
}

fn headline(canvas: &mut Canvas, result: &DemoResult, recovered: usize) {
    canvas.text(LEFT, 72.0, Anchor::Start, bold(36.0, TEXT), "dictmesh");
    let subtitle = format!(
        "{} agents learn a dictionary together from {} samples; no atom ever leaves its agent",
        result.informed.len(),
        thousands((result.costs.len() * result.batch) as u64),
    );
    canvas.text(LEFT, 102.0, Anchor::Start, plain(16.0, MUTED), &subtitle);

    let cost = format!("{:.3} → {:.3}", result.cost_before, result.cost_after);
    let atoms = format!("{} of {}", recovered, result.planted.cols());
    let mut x = RIGHT;
    for (number, caption) in [
        (cost, "cost of a sample, before → after"),
        (atoms, "planted atoms found again"),
    ] {
        let a = canvas.text(x, 72.0, Anchor::End, bold(30.0, TEXT), &number);
        let b = canvas.text(x, 102.0, Anchor::End, plain(15.0, MUTED), caption);
        x -= a.max(b) + 56.0;
    }
    canvas.rect(LEFT, 122.0, RIGHT - LEFT, 1.0, FAINT);
}

/// The title of a part and what it explains, on one line.
fn heading(canvas: &mut Canvas, frame: Frame, title: &str, note: &str) {
    let y = frame.y + 14.0;
    let w = canvas.text(frame.x, y, Anchor::Start, bold(17.0, TEXT), title);
    canvas.text(
        frame.x + w + 12.0,
        y,
        Anchor::Start,
        plain(13.0, MUTED),
        note,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::fake_result;
    use tiny_skia::Pixmap;

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
        let png = draw(&fake_result()).png().unwrap();
        assert!(png.len() < 600_000, "{} bytes", png.len());
        let pixmap = Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (WIDTH, HEIGHT));
        for (what, frame, least) in [
            ("title", Frame::new(LEFT, 40.0, 300.0, 70.0), 0.05),
            ("mesh", Frame::new(LEFT, 148.0, 560.0, 356.0), 0.04),
            ("curve", Frame::new(LEFT, 540.0, 560.0, 188.0), 0.04),
            ("bars", Frame::new(LEFT, 764.0, 560.0, 196.0), 0.04),
            ("atoms", Frame::new(672.0, 148.0, 872.0, 812.0), 0.4),
        ] {
            let share = inked(&pixmap, frame);
            assert!(share > least, "{what}: {share}");
        }
        // The margins stay empty.
        for frame in [
            Frame::new(0.0, 0.0, 40.0, 1000.0),
            Frame::new(1560.0, 0.0, 40.0, 1000.0),
            Frame::new(0.0, 975.0, 1600.0, 25.0),
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
        assert!(draw(&result).png().is_ok());
        result.costs.clear();
        result.strategies.clear();
        let svg = draw(&result).svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
