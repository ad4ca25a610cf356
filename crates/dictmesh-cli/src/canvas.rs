//! A sheet of shapes, words and images that can be written as SVG and as PNG.
//!
//! In the PNG text becomes outlines of the font that is compiled in, so it looks the same on every
//! machine, with or without fonts. An SVG has outlines too ([`Canvas::svg`]), or words in the
//! reader's own font ([`Canvas::svg_with_text`]): a tenth of the size, searchable, read aloud.

mod font;
pub mod palette;
mod png;
mod raster;
mod style;
mod svg;
pub mod ticks;

use palette::Ink;
use tiny_skia::{Path, PathBuilder, Rect, Transform};

pub use font::{fit, text_width};
pub use raster::Raster;
pub use style::{bold, plain, Anchor, Frame, Pen, Type};
pub use svg::escape;

#[derive(Clone)]
enum Mark {
    Fill(Ink),
    /// Filled without anti-aliasing: neighbouring pixels of a tile must not show seams.
    Tile(Ink),
    Stroke(Pen),
}

/// A line of text; `(x, y)` is where its anchor is on the base line.
#[derive(Clone)]
struct Words {
    x: f32,
    y: f32,
    anchor: Anchor,
    style: Type,
    text: String,
    /// The whole text, where only a part of it had room.
    whole: Option<String>,
}

/// A filled disc, which SVG can say shorter than its outline.
#[derive(Clone)]
struct Disc {
    x: f32,
    y: f32,
    r: f32,
    ink: Ink,
}

impl Disc {
    fn outline(&self) -> Option<Path> {
        PathBuilder::from_circle(self.x, self.y, self.r)
    }
}

#[derive(Clone)]
enum Item {
    Shape(Path, Mark),
    Disc(Disc),
    Words(Words),
    Image(Frame, Raster),
}

/// The sheet; later items cover earlier ones.
#[derive(Clone)]
pub struct Canvas {
    width: u32,
    height: u32,
    title: String,
    items: Vec<Item>,
}

impl Canvas {
    /// An empty white sheet; the title is for those who hear the SVG instead of seeing it.
    pub fn new(width: u32, height: u32, title: &str) -> Self {
        Canvas {
            width,
            height,
            title: title.into(),
            items: Vec::new(),
        }
    }

    /// Sheets beside each other in rows at most `width` wide (if they are not wider themselves),
    /// with a margin around them all.
    pub fn flow(panels: &[Canvas], width: u32, title: &str) -> Self {
        const GAP: u32 = 24;
        const MARGIN: u32 = 16;
        let mut flow = Canvas::new(1, 1, title);
        let (mut x, mut y, mut row) = (MARGIN, MARGIN, 0);
        for panel in panels {
            if x > MARGIN && x + panel.width > MARGIN + width {
                (x, y, row) = (MARGIN, y + row + GAP, 0);
            }
            flow.items
                .extend(panel.items.iter().map(|i| i.moved(x as f32, y as f32)));
            row = row.max(panel.height);
            flow.width = flow.width.max(x + panel.width + MARGIN);
            flow.height = flow.height.max(y + row + MARGIN);
            x += panel.width + GAP;
        }
        flow
    }

    /// Width of the sheet in pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// How many pixels the sheet has.
    pub fn pixels(&self) -> f32 {
        self.width as f32 * self.height as f32
    }

    /// Gives the sheet its height, for what is known only after drawing.
    pub fn set_height(&mut self, height: f32) {
        self.height = height.ceil().max(1.0) as u32;
    }

    fn add(&mut self, builder: PathBuilder, mark: Mark) {
        // An empty path, or one with coordinates that are not finite, leaves no mark.
        if let Some(path) = builder.finish() {
            self.items.push(Item::Shape(path, mark));
        }
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f32, y: f32, w: f32, h: f32, ink: Ink) {
        if let Some(rect) = Rect::from_xywh(x, y, w, h) {
            let path = PathBuilder::from_rect(rect);
            self.items.push(Item::Shape(path, Mark::Fill(ink)));
        }
    }

    /// Squares of side `s` at the given corners, all of one colour, without seams.
    pub fn squares(&mut self, corners: &[(f32, f32)], s: f32, ink: Ink) {
        let mut builder = PathBuilder::new();
        for &(x, y) in corners {
            if let Some(rect) = Rect::from_xywh(x, y, s, s) {
                builder.push_rect(rect);
            }
        }
        self.add(builder, Mark::Tile(ink));
    }

    /// A rectangle with round corners, filled, framed or both.
    pub fn card(&mut self, at: [f32; 4], r: f32, fill: Option<Ink>, pen: Option<Pen>) {
        let [x, y, w, h] = at;
        // 0.5523 r is where the control points of a quarter circle lie.
        let c = r * (1.0 - 0.5523);
        let mut b = PathBuilder::new();
        b.move_to(x + r, y);
        b.line_to(x + w - r, y);
        b.cubic_to(x + w - c, y, x + w, y + c, x + w, y + r);
        b.line_to(x + w, y + h - r);
        b.cubic_to(x + w, y + h - c, x + w - c, y + h, x + w - r, y + h);
        b.line_to(x + r, y + h);
        b.cubic_to(x + c, y + h, x, y + h - c, x, y + h - r);
        b.line_to(x, y + r);
        b.cubic_to(x, y + c, x + c, y, x + r, y);
        b.close();
        if let Some(ink) = fill {
            self.add(b.clone(), Mark::Fill(ink));
        }
        if let Some(pen) = pen {
            self.add(b, Mark::Stroke(pen));
        }
    }

    /// A filled disc.
    pub fn disc(&mut self, x: f32, y: f32, r: f32, ink: Ink) {
        if x.is_finite() && y.is_finite() && r > 0.0 && r.is_finite() {
            self.items.push(Item::Disc(Disc { x, y, r, ink }));
        }
    }

    /// A line through the points.
    pub fn line(&mut self, points: &[(f32, f32)], pen: Pen) {
        self.lines(&[points], pen);
    }

    /// Many lines as one mark, each through its points.
    pub fn lines<P: AsRef<[(f32, f32)]>>(&mut self, lines: &[P], pen: Pen) {
        let mut builder = PathBuilder::new();
        for points in lines {
            trace(&mut builder, points.as_ref());
        }
        self.add(builder, Mark::Stroke(pen));
    }

    /// The filled area inside the points.
    pub fn area(&mut self, points: &[(f32, f32)], ink: Ink) {
        let mut builder = PathBuilder::new();
        trace(&mut builder, points);
        builder.close();
        self.add(builder, Mark::Fill(ink));
    }

    /// An image, stretched to its place; its pixels keep their edges where they are large.
    pub fn image(&mut self, at: Frame, raster: Raster) {
        if [at.x, at.y, at.w, at.h].iter().all(|v| v.is_finite()) && at.w > 0.0 && at.h > 0.0 {
            self.items.push(Item::Image(at, raster));
        }
    }

    /// A line of text; `y` is its base line. Returns its width.
    pub fn text(&mut self, x: f32, y: f32, anchor: Anchor, style: Type, text: &str) -> f32 {
        self.words(x, y, anchor, style, text, None)
    }

    /// A line of text, cut (with "…") to at most `room` pixels. Returns its width.
    pub fn text_within(
        &mut self,
        (x, y): (f32, f32),
        anchor: Anchor,
        style: Type,
        text: &str,
        room: f32,
    ) -> f32 {
        let cut = fit(style, text, room);
        let whole = (cut != text).then(|| text.into());
        self.words(x, y, anchor, style, &cut, whole)
    }

    fn words(
        &mut self,
        x: f32,
        y: f32,
        anchor: Anchor,
        style: Type,
        text: &str,
        whole: Option<String>,
    ) -> f32 {
        if x.is_finite() && y.is_finite() && !text.is_empty() {
            self.items.push(Item::Words(Words {
                x,
                y,
                anchor,
                style,
                text: text.into(),
                whole,
            }));
        }
        text_width(style, text)
    }
}

impl Item {
    fn moved(&self, dx: f32, dy: f32) -> Item {
        let mut item = self.clone();
        match &mut item {
            Item::Shape(path, _) => {
                let moved = path.clone().transform(Transform::from_translate(dx, dy));
                // A translation by whole pixels of the sheet cannot make a path infinite.
                *path = moved.unwrap_or_else(|| path.clone());
            }
            Item::Disc(disc) => (disc.x, disc.y) = (disc.x + dx, disc.y + dy),
            Item::Words(words) => (words.x, words.y) = (words.x + dx, words.y + dy),
            Item::Image(at, _) => (at.x, at.y) = (at.x + dx, at.y + dy),
        }
        item
    }
}

fn trace(builder: &mut PathBuilder, points: &[(f32, f32)]) {
    for (i, &(x, y)) in points.iter().enumerate() {
        match i {
            0 => builder.move_to(x, y),
            _ => builder.line_to(x, y),
        }
    }
}
