//! A sheet of filled and stroked paths that can be written as SVG and as PNG.
//!
//! Text becomes outlines of the font that is compiled in, so both files look the same on every
//! machine, with or without fonts.

use super::palette::Ink;
use std::fmt::Write;
use std::sync::LazyLock;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, PathSegment, Pixmap, Rect,
    Stroke, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A way to write: size in pixels, weight and colour.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    pub size: f32,
    pub bold: bool,
    pub ink: Ink,
}

/// A way to draw lines: width and colour.
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    pub width: f32,
    pub ink: Ink,
}

impl Pen {
    /// An unbroken line.
    pub fn new(width: f32, ink: Ink) -> Self {
        Pen { width, ink }
    }
}

enum Mark {
    Fill(Ink),
    /// Filled without anti-aliasing: neighbouring pixels of a tile must not show seams.
    Tile(Ink),
    Stroke(Pen),
}

/// The sheet; later marks cover earlier ones.
pub struct Canvas {
    width: u32,
    height: u32,
    title: String,
    marks: Vec<(Path, Mark)>,
}

impl Canvas {
    /// An empty white sheet; the title is for those who hear the SVG instead of seeing it.
    pub fn new(width: u32, height: u32, title: &str) -> Self {
        Canvas {
            width,
            height,
            title: title.into(),
            marks: Vec::new(),
        }
    }

    fn add(&mut self, builder: PathBuilder, mark: Mark) {
        // An empty path, or one with coordinates that are not finite, leaves no mark.
        if let Some(path) = builder.finish() {
            self.marks.push((path, mark));
        }
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f32, y: f32, w: f32, h: f32, ink: Ink) {
        if let Some(rect) = Rect::from_xywh(x, y, w, h) {
            self.marks
                .push((PathBuilder::from_rect(rect), Mark::Fill(ink)));
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
        let mut builder = PathBuilder::new();
        builder.push_circle(x, y, r);
        self.add(builder, Mark::Fill(ink));
    }

    /// A line through the points.
    pub fn line(&mut self, points: &[(f32, f32)], pen: Pen) {
        self.add(trace(points), Mark::Stroke(pen));
    }

    /// The filled area inside the points.
    pub fn area(&mut self, points: &[(f32, f32)], ink: Ink) {
        let mut builder = trace(points);
        builder.close();
        self.add(builder, Mark::Fill(ink));
    }

    /// A line of text; `y` is its base line. Returns its width.
    pub fn text(&mut self, x: f32, y: f32, anchor: Anchor, style: Type, text: &str) -> f32 {
        let width = text_width(style, text);
        let start = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let face = face(style.bold);
        let scale = style.size / f32::from(face.units_per_em());
        let mut outline = Outline {
            builder: PathBuilder::new(),
            x: start,
            y,
            scale,
        };
        for c in text.chars() {
            let glyph = face.glyph_index(c).unwrap_or_default();
            // A space has no outline, and needs none.
            let _ = face.outline_glyph(glyph, &mut outline);
            outline.x += scale * f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
        }
        self.add(outline.builder, Mark::Fill(style.ink));
        width
    }

    /// The sheet as an SVG file.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        let (w, h) = (self.width, self.height);
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\">\n<title>{}</title>\n\
             <style>.t{{shape-rendering:crispEdges}}.s{{fill:none;stroke-linecap:round;\
             stroke-linejoin:round}}</style>\n<rect width=\"{w}\" height=\"{h}\" \
             fill=\"#fff\"/>",
            escape(&self.title)
        );
        for (path, mark) in &self.marks {
            let ink = match mark {
                Mark::Fill(ink) => ink.svg("fill"),
                Mark::Tile(ink) => format!("class=\"t\" {}", ink.svg("fill")),
                Mark::Stroke(pen) => {
                    let ink = pen.ink.svg("stroke");
                    format!("class=\"s\" {ink} stroke-width=\"{}\"", pen.width)
                }
            };
            let _ = writeln!(out, "<path {ink} d=\"{}\"/>", path_data(path));
        }
        out.push_str("</svg>\n");
        out
    }

    /// The sheet as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        let mut pixmap = Pixmap::new(self.width, self.height)
            .ok_or_else(|| format!("a picture of {} x {} pixels", self.width, self.height))?;
        pixmap.fill(Color::WHITE);
        for (path, mark) in &self.marks {
            let mut paint = Paint::default();
            let at = Transform::identity();
            match mark {
                Mark::Fill(ink) | Mark::Tile(ink) => {
                    paint.set_color(ink.color());
                    paint.anti_alias = matches!(mark, Mark::Fill(_));
                    pixmap.fill_path(path, &paint, FillRule::Winding, at, None);
                }
                Mark::Stroke(pen) => {
                    paint.set_color(pen.ink.color());
                    paint.anti_alias = true;
                    let stroke = Stroke {
                        width: pen.width,
                        line_cap: LineCap::Round,
                        line_join: LineJoin::Round,
                        ..Stroke::default()
                    };
                    pixmap.stroke_path(path, &paint, &stroke, at, None);
                }
            }
        }
        pixmap.encode_png().map_err(|e| e.to_string())
    }
}

/// How wide a text will be.
pub fn text_width(style: Type, text: &str) -> f32 {
    let face = face(style.bold);
    let advance = |c| {
        let glyph = face.glyph_index(c).unwrap_or_default();
        f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
    };
    let units: f32 = text.chars().map(advance).sum();
    units * style.size / f32::from(face.units_per_em())
}

#[allow(clippy::expect_used)] // The bytes are compiled in; every test that draws reads them.
fn face(bold: bool) -> &'static Face<'static> {
    static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
        [ttf_noto_sans::REGULAR, ttf_noto_sans::BOLD]
            .map(|bytes| Face::parse(bytes, 0).expect("the compiled-in font is a font"))
    });
    &FACES[usize::from(bold)]
}

fn trace(points: &[(f32, f32)]) -> PathBuilder {
    let mut builder = PathBuilder::new();
    for (i, &(x, y)) in points.iter().enumerate() {
        match i {
            0 => builder.move_to(x, y),
            _ => builder.line_to(x, y),
        }
    }
    builder
}

/// Glyphs, scaled and moved to where they belong; fonts count y upwards.
struct Outline {
    builder: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, self.y - self.scale * y)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.builder.close();
    }
}

/// A path in SVG's words, to a hundredth of a pixel. Steps relative to the last point are a third
/// of the size of absolute ones; they are counted in hundredths, so rounding does not add up.
fn path_data(path: &Path) -> String {
    let mut d = String::new();
    let (mut last, mut first) = ((0, 0), (0, 0));
    for segment in path.segments() {
        let (letter, points) = match segment {
            PathSegment::MoveTo(p) => ('m', vec![p]),
            PathSegment::LineTo(p) => ('l', vec![p]),
            PathSegment::QuadTo(a, p) => ('q', vec![a, p]),
            PathSegment::CubicTo(a, b, p) => ('c', vec![a, b, p]),
            PathSegment::Close => ('z', vec![]),
        };
        let hundredths = |v: f32| (v * 100.0).round() as i64;
        let points: Vec<_> = points
            .iter()
            .map(|p| (hundredths(p.x), hundredths(p.y)))
            .collect();
        let from = last;
        let step = |p: &(i64, i64)| ((p.0 - from.0) as f64 / 100.0, (p.1 - from.1) as f64 / 100.0);
        // Writing to a String cannot fail.
        let _ = match (letter, points.as_slice()) {
            ('l', [p]) if p.1 == from.1 => write!(d, "h{}", step(p).0),
            ('l', [p]) if p.0 == from.0 => write!(d, "v{}", step(p).1),
            _ => {
                let steps: Vec<_> = points
                    .iter()
                    .map(|p| format!("{} {}", step(p).0, step(p).1))
                    .collect();
                write!(d, "{letter}{}", steps.join(" "))
            }
        };
        last = points.last().copied().unwrap_or(first);
        if letter == 'm' {
            first = last;
        }
    }
    d
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::palette::TEXT;
    use super::*;

    #[test]
    fn the_font_has_every_sign_we_write() {
        for bold in [false, true] {
            for c in "Az09 .,:|-+<>×→·−≥".chars() {
                let glyph = face(bold).glyph_index(c);
                assert!(glyph.is_some_and(|g| g.0 != 0), "{c}, bold: {bold}");
            }
        }
    }

    #[test]
    fn svg_says_what_was_drawn() {
        let mut canvas = Canvas::new(40, 30, "a < b");
        canvas.rect(1.0, 2.0, 10.0, 5.5, TEXT);
        canvas.rect(1.0, 2.0, f32::NAN, 5.5, TEXT);
        let svg = canvas.svg();
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(svg.contains("d=\"m1 2h10v5.5h-10z\""), "{svg}");
        assert!(!svg.contains("NaN"));
    }
}
