//! The sheet as an SVG file.

use super::{font, text_width, Anchor, Canvas, Disc, Frame, Item, Mark, Raster, Words};
use std::fmt::Write;
use tiny_skia::{Path, PathSegment};

/// Fonts that look like the one the PNG is drawn with, on any system.
pub const FONTS: &str = "'Noto Sans','Open Sans',system-ui,-apple-system,'Segoe UI',Roboto,\
                         'Helvetica Neue',Arial,sans-serif";

impl Canvas {
    /// The sheet as an SVG file that looks the same everywhere: letters are outlines.
    pub fn svg(&self) -> String {
        self.print_svg(false)
    }

    /// The sheet as a small SVG file: letters are in a font of the reader, every line of them in
    /// the space it was given.
    pub fn svg_with_text(&self) -> String {
        self.print_svg(true)
    }

    fn print_svg(&self, with_text: bool) -> String {
        let mut out = String::new();
        let (w, h) = (self.width, self.height);
        let fonts = match with_text {
            true => format!(" font-family=\"{FONTS}\""),
            false => String::new(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" role=\"img\"{fonts}>\n<title>{}</title>\n\
             <style>.t{{shape-rendering:crispEdges}}.s{{fill:none;stroke-linecap:round;\
             stroke-linejoin:round}}</style>\n<rect width=\"{w}\" height=\"{h}\" \
             fill=\"#fff\"/>",
            escape(&self.title)
        );
        for item in &self.items {
            match item {
                Item::Shape(path, mark) => shape(&mut out, path, mark),
                Item::Disc(disc) if with_text => circle(&mut out, disc),
                Item::Disc(disc) => {
                    if let Some(path) = disc.outline() {
                        shape(&mut out, &path, &Mark::Fill(disc.ink));
                    }
                }
                Item::Words(words) if with_text => live(&mut out, words),
                Item::Words(words) => {
                    if let Some(path) = words.outline() {
                        shape(&mut out, &path, &Mark::Fill(words.style.ink));
                    }
                }
                Item::Image(at, raster) => image(&mut out, at, raster),
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

fn circle(out: &mut String, disc: &Disc) {
    let _ = writeln!(
        out,
        "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>",
        round(disc.x),
        round(disc.y),
        round(disc.r),
        disc.ink.svg("fill")
    );
}

fn image(out: &mut String, at: &Frame, raster: &Raster) {
    let crisp = match raster.crisp_at(at.w, at.h) {
        true => " style=\"image-rendering:pixelated\"",
        false => "",
    };
    let _ = writeln!(
        out,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
         preserveAspectRatio=\"none\"{crisp} href=\"{}\"/>",
        round(at.x),
        round(at.y),
        round(at.w),
        round(at.h),
        raster.data_uri()
    );
}

fn shape(out: &mut String, path: &Path, mark: &Mark) {
    let ink = match mark {
        Mark::Fill(ink) => ink.svg("fill"),
        Mark::Tile(ink) => format!("class=\"t\" {}", ink.svg("fill")),
        Mark::Stroke(pen) => {
            let ink = pen.ink.svg("stroke");
            let dash = match pen.dash > 0.0 {
                true => format!(" stroke-dasharray=\"{}\"", pen.dash),
                false => String::new(),
            };
            format!("class=\"s\" {ink} stroke-width=\"{}\"{dash}", pen.width)
        }
    };
    let _ = writeln!(out, "<path {ink} d=\"{}\"/>", path_data(path));
}

/// Words as words.
fn live(out: &mut String, words: &Words) {
    let style = words.style;
    let anchor = match words.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if style.bold {
        " font-weight=\"700\""
    } else {
        ""
    };
    // Another font may be wider. The room was measured with ours, so the words are told to keep to
    // it, unless ours does not have their letters and knows nothing about them.
    let length = match font::has_all(style, &words.text) {
        true => format!(
            " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"",
            round(text_width(style, &words.text))
        ),
        false => String::new(),
    };
    let whole = match &words.whole {
        Some(whole) => format!("<title>{}</title>", escape(whole)),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" {}{anchor}{weight}{length}>{whole}{}</text>",
        round(words.x),
        round(words.y),
        style.size,
        style.ink.svg("fill"),
        escape(&words.text)
    );
}

/// To a hundredth of a pixel.
fn round(v: f32) -> f64 {
    (f64::from(v) * 100.0).round() / 100.0
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

/// A text as XML and HTML want it, in an element or in an attribute. Signs that neither may hold
/// are replaced.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            '\r' => out.push('\n'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::palette::TEXT;
    use super::super::plain;
    use super::*;

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

    #[test]
    fn words_stay_words_where_asked_and_escape_what_they_hold() {
        let mut canvas = Canvas::new(40, 30, "t");
        canvas.text(1.0, 2.0, Anchor::End, plain(12.0, TEXT), "x<\"&'\u{1}\u{7}");
        canvas.text(f32::NAN, 2.0, Anchor::End, plain(12.0, TEXT), "lost");
        let svg = canvas.svg_with_text();
        assert!(svg.contains(">x&lt;&quot;&amp;&#39;\u{fffd}\u{fffd}</text>"));
        assert!(!svg.contains("lost"));
        assert!(!canvas.svg().contains("<text"));
    }
}
