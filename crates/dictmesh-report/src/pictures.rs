//! Pictures beside each other: before and after.

use crate::canvas::palette::{LINE, MUTED, TEXT};
use crate::canvas::{at_most, bold, plain, Anchor, Canvas, Frame, Pen};
use image::DynamicImage;

/// A picture with its name and a note, for example "denoised" and "29.4 dB".
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name above it.
    pub title: String,
    /// A line under the name; may be empty.
    pub note: String,
    /// Its pixels.
    pub image: DynamicImage,
}

const WIDTH: f32 = 340.0;
/// Pixels of a side on the page at most; the files of a command have all of them.
const LARGEST: u32 = 768;

impl Picture {
    /// Draws the picture at a width of a chart.
    pub fn draw(&self) -> Canvas {
        let title = format!("{}: {}", self.title, self.note);
        let mut canvas = Canvas::new(WIDTH, 1.0, &title);
        let w = canvas.text_within(
            (0.0, 16.0),
            Anchor::Start,
            bold(14.0, TEXT),
            &self.title,
            200.0,
        );
        let at = (w + 10.0, 16.0);
        canvas.text_within(
            at,
            Anchor::Start,
            plain(13.0, MUTED),
            &self.note,
            WIDTH - at.0,
        );
        let image = at_most(self.image.clone(), LARGEST);
        let shape = image.height() as f32 / image.width().max(1) as f32;
        // A very tall picture is narrower.
        let room = WIDTH - 2.0;
        let w = (1.6 * room / shape.max(0.01)).clamp(1.0, room);
        let place = Frame::new(1.0, 27.0, w, (w * shape).max(1.0));
        canvas.image(place, &image);
        canvas.card(place.around(0.5), 0.5, None, Some(Pen::new(1.0, LINE)));
        canvas.set_height(place.bottom() + 2.0);
        canvas
    }
}
