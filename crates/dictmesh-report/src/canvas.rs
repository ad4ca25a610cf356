//! A drawing as SVG, and from that as PNG.
//!
//! The SVG has its text as text, searchable and read aloud, at the width it has in Noto Sans. The PNG is
//! drawn by `resvg` with Noto Sans compiled in, so that it is the same on every machine.

pub mod palette;
mod raster;
mod text;
pub mod ticks;

pub use raster::{at_most, colour, grey};
pub use text::{bold, escape, fit, plain, text_width, Anchor, Type};

use base64::{engine::general_purpose::STANDARD, Engine};
use image::DynamicImage;
use palette::Ink;
use raster::encode;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, fontdb};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use text::has_all;

/// Noto Sans, and fonts of other systems that look like it.
pub const FONTS: &str = "'Noto Sans','Open Sans',system-ui,-apple-system,'Segoe UI',Roboto,\
                         'Helvetica Neue',Arial,sans-serif";

/// A line style: width, colour and the length of a dash (0: solid).
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    /// In pixels.
    pub width: f32,
    /// The colour.
    pub ink: Ink,
    /// The length of a dash in pixels; 0 for a solid line.
    pub dash: f32,
}

impl Pen {
    /// A solid line.
    pub fn new(width: f32, ink: Ink) -> Self {
        let dash = 0.0;
        Pen { width, ink, dash }
    }

    /// The same line, dashed.
    pub fn dashed(self, dash: f32) -> Self {
        Pen { dash, ..self }
    }

    fn svg(self) -> String {
        let dash = match self.dash > 0.0 {
            true => format!(" stroke-dasharray=\"{}\"", self.dash),
            false => String::new(),
        };
        let (ink, width) = (self.ink.svg("stroke"), self.width);
        format!("{ink} stroke-width=\"{width}\"{dash}")
    }
}

/// A rectangle of the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The left edge in pixels.
    pub x: f32,
    /// The top edge.
    pub y: f32,
    /// The width.
    pub w: f32,
    /// The height.
    pub h: f32,
}

impl Frame {
    /// A rectangle by its left top corner and its sides.
    pub const fn new(x: f32, y: f32, w: f32, h: f32) -> Self {
        Frame { x, y, w, h }
    }
    /// The right edge.
    pub fn right(&self) -> f32 {
        self.x + self.w
    }
    /// The bottom edge.
    pub fn bottom(&self) -> f32 {
        self.y + self.h
    }
    /// The frame grown by `by` pixels on each side.
    pub fn around(&self, by: f32) -> Self {
        let grown = 2.0 * by;
        Frame::new(self.x - by, self.y - by, self.w + grown, self.h + grown)
    }
    /// The SVG attributes, if all four are finite and the sides positive.
    fn svg(&self) -> Option<String> {
        let finite = [self.x, self.y, self.w, self.h]
            .iter()
            .all(|v| v.is_finite());
        let [x, y, w, h] = [self.x, self.y, self.w, self.h].map(round);
        (finite && w > 0.0 && h > 0.0)
            .then(|| format!("x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\""))
    }
}

/// The drawing; later marks cover earlier ones. Marks with coordinates that are not finite are left out.
#[derive(Clone)]
pub struct Canvas {
    width: f32,
    height: f32,
    title: String,
    /// SVG elements.
    marks: String,
}

// Writing to a String cannot fail: the results of `writeln!` below are dropped.
impl Canvas {
    /// An empty white drawing; the title is its description for screen readers.
    pub fn new(width: f32, height: f32, title: &str) -> Self {
        Canvas {
            width: width.ceil().max(1.0),
            height: height.ceil().max(1.0),
            title: title.into(),
            marks: String::new(),
        }
    }

    /// Drawings in rows of at most `width` pixels (wider if one of them is), with a margin around them all.
    pub fn flow(panels: &[Canvas], width: f32, title: &str) -> Self {
        const GAP: f32 = 24.0;
        const MARGIN: f32 = 16.0;
        let mut flow = Canvas::new(1.0, 1.0, title);
        let (mut x, mut y, mut row) = (MARGIN, MARGIN, 0f32);
        for panel in panels {
            if x > MARGIN && x + panel.width > MARGIN + width {
                (x, y, row) = (MARGIN, y + row + GAP, 0.0);
            }
            flow.place(panel, (x, y), 1.0);
            row = row.max(panel.height);
            flow.width = flow.width.max(x + panel.width + MARGIN);
            flow.height = flow.height.max(y + row + MARGIN);
            x += panel.width + GAP;
        }
        flow
    }

    /// Draws another drawing onto this one, `scale` times as large.
    pub fn place(&mut self, panel: &Canvas, (x, y): (f32, f32), scale: f32) {
        let (x, y, marks) = (round(x), round(y), &panel.marks);
        let scale = match scale == 1.0 {
            true => String::new(),
            false => format!(" scale({scale})"),
        };
        let _ = writeln!(
            self.marks,
            "<g transform=\"translate({x} {y}){scale}\">\n{marks}</g>"
        );
    }

    /// Width in pixels.
    pub fn width(&self) -> f32 {
        self.width
    }

    /// The number of pixels.
    pub fn pixels(&self) -> f32 {
        self.width * self.height
    }

    /// Sets the height, where it is known only after drawing.
    pub fn set_height(&mut self, height: f32) {
        self.height = height.ceil().max(1.0);
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f32, y: f32, w: f32, h: f32, ink: Ink) {
        self.card(Frame::new(x, y, w, h), 0.0, Some(ink), None);
    }

    /// A rectangle with corners of radius `r`, filled, framed or both.
    pub fn card(&mut self, at: Frame, r: f32, fill: Option<Ink>, pen: Option<Pen>) {
        let Some(at) = at.svg() else { return };
        let fill = fill.map_or("fill=\"none\"".into(), |ink| ink.svg("fill"));
        let pen = pen.map_or(String::new(), |pen| format!(" {}", pen.svg()));
        let corners = match r > 0.0 {
            true => format!(" rx=\"{}\"", round(r)),
            false => String::new(),
        };
        let _ = writeln!(self.marks, "<rect {at}{corners} {fill}{pen}/>");
    }

    /// A filled disc.
    pub fn disc(&mut self, x: f32, y: f32, r: f32, ink: Ink) {
        if [x, y, r].iter().all(|v| v.is_finite()) && r > 0.0 {
            let ([x, y, r], ink) = ([x, y, r].map(round), ink.svg("fill"));
            let _ = writeln!(
                self.marks,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {ink}/>"
            );
        }
    }

    /// A line through the points.
    pub fn line(&mut self, points: &[(f32, f32)], pen: Pen) {
        self.lines(&[points], pen);
    }

    /// Many lines as one mark, each through its points.
    pub fn lines<P: AsRef<[(f32, f32)]>>(&mut self, lines: &[P], pen: Pen) {
        if let Some(d) = path_data(lines) {
            let _ = writeln!(self.marks, "<path class=\"s\" {} d=\"{d}\"/>", pen.svg());
        }
    }

    /// The filled area inside the points.
    pub fn area(&mut self, points: &[(f32, f32)], ink: Ink) {
        if let Some(d) = path_data(&[points]) {
            let _ = writeln!(self.marks, "<path {} d=\"{d}z\"/>", ink.svg("fill"));
        }
    }

    /// An image, stretched to its frame; large pixels keep their edges.
    pub fn image(&mut self, at: Frame, image: &DynamicImage) {
        let (Some(place), Some(png)) = (at.svg(), encode(image)) else {
            return;
        };
        let is_coarse = at.w >= 2.0 * image.width() as f32 || at.h >= 2.0 * image.height() as f32;
        let coarse = match is_coarse {
            true => " style=\"image-rendering:pixelated\"",
            false => "",
        };
        let _ = writeln!(
            self.marks,
            "<image {place} preserveAspectRatio=\"none\"{coarse} href=\"data:image/png;base64,{}\"/>",
            STANDARD.encode(png)
        );
    }

    /// A line of text; `y` is its base line. Returns its width.
    pub fn text(&mut self, x: f32, y: f32, anchor: Anchor, style: Type, text: &str) -> f32 {
        self.text_within((x, y), anchor, style, text, f32::INFINITY)
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
        let width = text_width(style, &cut);
        if !x.is_finite() || !y.is_finite() || cut.is_empty() {
            return width;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold {
            " font-weight=\"700\""
        } else {
            ""
        };
        // Another font may be wider. Where Noto Sans has the letters, its width is kept.
        let length = match has_all(style, &cut) {
            true => format!(
                " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
                round(width)
            ),
            false => String::new(),
        };
        // The pointer shows the whole text of a cut one.
        let whole = match cut == text {
            true => String::new(),
            false => format!("<title>{}</title>", escape(text)),
        };
        let (x, y, size, ink) = (round(x), round(y), style.size, style.ink.svg("fill"));
        let _ = writeln!(
            self.marks,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" {ink}{anchor}{weight}{length}>{whole}{}</text>",
            escape(&cut)
        );
        width
    }

    /// The drawing as an SVG file.
    pub fn svg(&self) -> String {
        let (w, h, title, marks) = (self.width, self.height, escape(&self.title), &self.marks);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\" font-family=\"{FONTS}\">\n<title>{title}</title>\n\
             <style>.s{{fill:none;stroke-linecap:round;stroke-linejoin:round}}</style>\n\
             <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#fff\"/>\n{marks}</svg>\n"
        )
    }

    /// The drawing as a PNG file with `scale` times as many pixels in each direction.
    pub fn png(&self, scale: f32) -> Result<Vec<u8>, String> {
        static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
            let mut fonts = fontdb::Database::new();
            for font in [ttf_noto_sans::REGULAR, ttf_noto_sans::BOLD] {
                fonts.load_font_data(font.to_vec());
            }
            Arc::new(fonts)
        });
        let options = usvg::Options {
            fontdb: Arc::clone(&FONTS),
            ..usvg::Options::default()
        };
        let tree = usvg::Tree::from_str(&self.svg(), &options).map_err(|e| e.to_string())?;
        let [width, height] = [self.width, self.height].map(|v| (v * scale).round() as u32);
        let mut pixmap = Pixmap::new(width, height)
            .ok_or_else(|| format!("cannot draw a picture of {width} x {height} pixels"))?;
        resvg::render(
            &tree,
            Transform::from_scale(scale, scale),
            &mut pixmap.as_mut(),
        );
        pixmap.encode_png().map_err(|e| e.to_string())
    }
}

/// To a hundredth of a pixel.
fn round(v: f32) -> f64 {
    (f64::from(v) * 100.0).round() / 100.0
}

/// Lines as SVG path data, if all points are finite. Steps are relative, a third of the size of absolute
/// places; they are counted in hundredths of a pixel, so that rounding does not add up.
fn path_data<P: AsRef<[(f32, f32)]>>(lines: &[P]) -> Option<String> {
    let hundredths = |v: f32| (v * 100.0).round().clamp(-1e9, 1e9) as i64;
    let mut d = String::new();
    let mut last = (0, 0);
    for line in lines {
        for (i, &(x, y)) in line.as_ref().iter().enumerate() {
            if !x.is_finite() || !y.is_finite() {
                return None;
            }
            let at = (hundredths(x), hundredths(y));
            let [dx, dy] = [at.0 - last.0, at.1 - last.1].map(|v| v as f64 / 100.0);
            let _ = match i {
                0 => write!(d, "m{dx} {dy}"),
                _ if at.1 == last.1 => write!(d, "h{dx}"),
                _ if at.0 == last.0 => write!(d, "v{dy}"),
                _ => write!(d, "l{dx} {dy}"),
            };
            last = at;
        }
    }
    (!d.is_empty()).then_some(d)
}

#[cfg(test)]
mod tests {
    use super::palette::{ACCENT, TEXT};
    use super::*;

    #[test]
    fn svg_has_what_was_drawn_and_nothing_that_is_not_finite() {
        let mut canvas = Canvas::new(40.0, 30.0, "a < b");
        canvas.rect(1.0, 2.0, 10.0, 5.5, TEXT);
        canvas.rect(1.0, 2.0, f32::NAN, 5.5, TEXT);
        canvas.line(
            &[(1.0, 2.0), (3.0, 2.0), (3.0, 4.5), (2.0, 4.0)],
            Pen::new(1.0, TEXT),
        );
        canvas.line(&[(1.0, 2.0), (f32::NAN, 2.0)], Pen::new(1.0, TEXT));
        canvas.line(&[(f32::MAX, f32::MIN), (-1e30, 1e30)], Pen::new(1.0, TEXT));
        canvas.disc(1.0, f32::INFINITY, 2.0, TEXT);
        canvas.text(1.0, 2.0, Anchor::End, plain(12.0, TEXT), "x<\"&'\u{1}\u{7}");
        canvas.text(f32::NAN, 2.0, Anchor::End, plain(12.0, TEXT), "lost");
        let svg = canvas.svg();
        assert!(svg.contains("<title>a &lt; b</title>"));
        assert!(
            svg.contains("<rect x=\"1\" y=\"2\" width=\"10\" height=\"5.5\""),
            "{svg}"
        );
        assert!(svg.contains("d=\"m1 2h2v2.5l-1 -0.5\""), "{svg}");
        assert!(svg.contains(">x&lt;&quot;&amp;&#39;\u{fffd}\u{fffd}</text>"));
        assert!(!svg.contains("NaN") && !svg.contains("lost") && !svg.contains("inf"));
        assert!(canvas.png(1.0).is_ok());
    }

    #[test]
    fn the_png_has_text_shapes_and_pixels() {
        let mut canvas = Canvas::new(60.0, 40.0, "t");
        canvas.rect(0.0, 0.0, 10.0, 10.0, ACCENT);
        canvas.text(12.0, 18.0, Anchor::Start, bold(16.0, TEXT), "MW");
        let pixels = colour(2, 1, vec![255, 0, 0, 0, 255]);
        canvas.image(Frame::new(0.0, 20.0, 40.0, 20.0), &pixels);
        let pixmap = Pixmap::decode_png(&canvas.png(2.0).unwrap()).unwrap();
        assert_eq!((pixmap.width(), pixmap.height()), (120, 80));
        let rgb = |x, y| {
            let p = pixmap.pixel(x, y).unwrap();
            [p.red(), p.green(), p.blue()]
        };
        assert_eq!(rgb(8, 8), ACCENT.rgb);
        assert_eq!(rgb(118, 2), [255; 3]);
        // Pixels keep their edges, and missing bytes are 0.
        assert_eq!((rgb(38, 60), rgb(42, 60)), ([255, 0, 0], [0, 255, 0]));
        let dark = (24..90).flat_map(|x| (10..38).map(move |y| rgb(x, y)[0]));
        assert!(dark.filter(|v| *v < 100).count() > 200, "no text");
        // An image without pixels shows nothing.
        canvas.image(Frame::new(0.0, 20.0, 40.0, 20.0), &grey(0, 3, vec![]));
        assert_eq!(canvas.svg().matches("<image").count(), 1);
        assert_eq!(at_most(grey(400, 100, vec![7; 40_000]), 100).height(), 25);
    }
}
