//! An atom of a text model: its terms with the largest weights.

use crate::canvas::palette::{ACCENT, MUTED, TEXT, WARN};
use crate::canvas::{bold, plain, Anchor, Canvas};
use crate::numbers::number;

/// The terms of one atom, as a narrow panel.
#[derive(Clone, Debug)]
pub struct TopTerms {
    /// The name of the atom, for example "atom 17".
    pub title: String,
    /// A note, for example the coefficient of a document.
    pub note: String,
    /// Terms with their weights, the heaviest first.
    pub terms: Vec<(String, f64)>,
}

const WIDTH: f32 = 240.0;
const PITCH: f32 = 21.0;

impl TopTerms {
    /// Draws a bar for each term.
    pub fn draw(&self) -> Canvas {
        let said: Vec<&str> = self.terms.iter().map(|t| t.0.as_str()).collect();
        let title = format!("{}: {}", self.title, said.join(", "));
        let mut canvas = Canvas::new(WIDTH, 1.0, &title);
        let w = canvas.text_within(
            (0.0, 16.0),
            Anchor::Start,
            bold(14.0, TEXT),
            &self.title,
            150.0,
        );
        let at = (w + 10.0, 16.0);
        canvas.text_within(
            at,
            Anchor::Start,
            plain(12.0, MUTED),
            &self.note,
            WIDTH - at.0,
        );
        let weights = self.terms.iter().map(|t| t.1.abs());
        let largest = weights.filter(|w| w.is_finite()).fold(0.0, f64::max);
        for (i, (term, weight)) in self.terms.iter().enumerate() {
            let y = 26.0 + i as f32 * PITCH;
            canvas.text_within(
                (0.0, y + 14.5),
                Anchor::Start,
                plain(13.0, TEXT),
                term,
                126.0,
            );
            let share = weight.abs() / largest;
            let w = 64.0 * if share.is_finite() { share as f32 } else { 0.0 };
            // Negative weights have another colour.
            let ink = if *weight < 0.0 { WARN } else { ACCENT };
            canvas.rect(136.0, y + 4.5, w.max(1.0), 11.0, ink);
            let at = (142.0 + w, y + 14.0);
            canvas.text(
                at.0,
                at.1,
                Anchor::Start,
                plain(11.0, MUTED),
                &number(*weight),
            );
        }
        canvas.set_height(26.0 + PITCH * self.terms.len() as f32 + 4.0);
        canvas
    }
}
