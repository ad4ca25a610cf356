//! Texts in Noto Sans: their widths, cut to fit, escaped.

use super::palette::Ink;
use std::sync::LazyLock;
use ttf_parser::Face;

/// The side of a text that lies at its point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// A text style; `size` in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// In pixels.
    pub size: f32,
    /// Bold or regular.
    pub bold: bool,
    /// The colour.
    pub ink: Ink,
}

/// Regular text.
pub fn plain(size: f32, ink: Ink) -> Type {
    let bold = false;
    Type { size, bold, ink }
}

/// Bold text.
pub fn bold(size: f32, ink: Ink) -> Type {
    let bold = true;
    Type { size, bold, ink }
}

#[allow(clippy::expect_used)] // The bytes are compiled in; every test that draws reads them.
fn face(bold: bool) -> &'static Face<'static> {
    static FACES: LazyLock<[Face<'static>; 2]> = LazyLock::new(|| {
        [ttf_noto_sans::REGULAR, ttf_noto_sans::BOLD]
            .map(|bytes| Face::parse(bytes, 0).expect("the compiled-in font is a font"))
    });
    &FACES[usize::from(bold)]
}

/// The width of a text in pixels.
pub fn text_width(style: Type, text: &str) -> f32 {
    let face = face(style.bold);
    let advance = |c| {
        let glyph = face.glyph_index(c).unwrap_or_default();
        f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
    };
    let units: f32 = text.chars().map(advance).sum();
    units * style.size / f32::from(face.units_per_em())
}

/// Whether the font has every character of a text.
pub(super) fn has_all(style: Type, text: &str) -> bool {
    let face = face(style.bold);
    text.chars().all(|c| face.glyph_index(c).is_some())
}

/// The part of a text that `room` pixels hold, with "…" for the rest.
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

/// A text for XML and HTML, in an element or in an attribute. Characters that XML forbids become U+FFFD.
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
    use super::*;

    #[test]
    fn the_font_has_every_character_of_our_texts() {
        for bold in [false, true] {
            for c in "Az09 .,:|-+<>×→·−≥…∞".chars() {
                let glyph = face(bold).glyph_index(c);
                assert!(glyph.is_some_and(|g| g.0 != 0), "{c}, bold: {bold}");
            }
        }
    }

    #[test]
    fn a_text_without_room_ends_in_an_ellipsis() {
        let style = plain(12.0, TEXT);
        assert_eq!(fit(style, "short", 100.0), "short");
        let cut = fit(style, "a very long name indeed", 60.0);
        assert!(cut.ends_with('…') && text_width(style, &cut) <= 60.0);
        assert_eq!(fit(style, "long", 0.0), "…");
    }
}
