//! The font that is compiled in: how wide words are, and their outlines.

use super::{Anchor, Type, Words};
use std::sync::LazyLock;
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, OutlineBuilder};

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

/// Whether the font has every sign of a text.
pub(super) fn has_all(style: Type, text: &str) -> bool {
    let face = face(style.bold);
    text.chars().all(|c| face.glyph_index(c).is_some())
}

/// As much of a text as `room` pixels hold, with "…" for the rest.
pub fn fit(style: Type, text: &str, room: f32) -> String {
    if text_width(style, text) <= room {
        return text.into();
    }
    let room = room - text_width(style, "…");
    let mut cut = String::new();
    let mut width = 0.0;
    for c in text.chars() {
        width += text_width(style, c.encode_utf8(&mut [0; 4]));
        if width > room {
            break;
        }
        cut.push(c);
    }
    format!("{}…", cut.trim_end())
}

impl Words {
    /// The outlines of the letters.
    pub(super) fn outline(&self) -> Option<Path> {
        let width = text_width(self.style, &self.text);
        let start = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width / 2.0,
            Anchor::End => self.x - width,
        };
        let face = face(self.style.bold);
        let scale = self.style.size / f32::from(face.units_per_em());
        let mut outline = Outline {
            builder: PathBuilder::new(),
            x: start,
            y: self.y,
            scale,
        };
        for c in self.text.chars() {
            let glyph = face.glyph_index(c).unwrap_or_default();
            // A space has no outline, and needs none.
            let _ = face.outline_glyph(glyph, &mut outline);
            outline.x += scale * f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
        }
        outline.builder.finish()
    }
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

#[cfg(test)]
mod tests {
    use super::super::palette::TEXT;
    use super::super::plain;
    use super::*;

    #[test]
    fn the_font_has_every_sign_we_write() {
        for bold in [false, true] {
            for c in "Az09 .,:|-+<>×→·−≥…∞".chars() {
                let glyph = face(bold).glyph_index(c);
                assert!(glyph.is_some_and(|g| g.0 != 0), "{c}, bold: {bold}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_cut_and_says_so() {
        let style = plain(12.0, TEXT);
        assert_eq!(fit(style, "short", 100.0), "short");
        let cut = fit(style, "a very long name indeed", 60.0);
        assert!(cut.ends_with('…') && text_width(style, &cut) <= 60.0);
        assert_eq!(fit(style, "long", 0.0), "…");
    }
}
