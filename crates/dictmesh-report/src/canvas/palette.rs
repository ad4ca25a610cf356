//! The colours of all charts.

/// A colour with its opacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    /// Red, green and blue.
    pub rgb: [u8; 3],
    /// From 0 (transparent) to 1 (opaque).
    pub alpha: f32,
}

const fn ink(r: u8, g: u8, b: u8) -> Ink {
    Ink {
        rgb: [r, g, b],
        alpha: 1.0,
    }
}

/// Text.
pub const TEXT: Ink = ink(0x1f, 0x26, 0x33);
/// Secondary text.
pub const MUTED: Ink = ink(0x6b, 0x74, 0x85);
/// Axes, links between agents.
pub const LINE: Ink = ink(0xb8, 0xc0, 0xcc);
/// Grids and surfaces.
pub const FAINT: Ink = ink(0xe9, 0xec, 0xf1);
/// The colour of curves and bars.
pub const ACCENT: Ink = ink(0x2b, 0x5c, 0xa8);
/// Errors, thresholds and references.
pub const WARN: Ink = ink(0xc0, 0x47, 0x2b);
/// The background.
pub const WHITE: Ink = ink(0xff, 0xff, 0xff);

/// The colours of curves and classes, distinct for colour-blind readers too.
const SERIES: [Ink; 8] = [
    ACCENT,
    ink(0xd9, 0x7b, 0x22),
    ink(0x1a, 0x93, 0x83),
    ink(0x8d, 0x5b, 0xb8),
    ink(0xc4, 0x46, 0x84),
    ink(0x84, 0x84, 0x1c),
    ink(0x3e, 0x9b, 0xd6),
    ink(0x8a, 0x59, 0x3d),
];

/// The colour of the `i`-th curve or class; eight colours in turn.
pub fn series(i: usize) -> Ink {
    SERIES[i % SERIES.len()]
}

/// The colours on a dark background.
pub const ON_DARK: [(Ink, &str); 14] = [
    (TEXT, "#e6e9ef"),
    (MUTED, "#9ba6b8"),
    (LINE, "#505b6d"),
    (FAINT, "#262d38"),
    (WHITE, "#14181f"),
    (ACCENT, "#7badf2"),
    (WARN, "#f28a6b"),
    (SERIES[1], "#f0a254"),
    (SERIES[2], "#4cc9b7"),
    (SERIES[3], "#bb94e0"),
    (SERIES[4], "#ea82b4"),
    (SERIES[5], "#c3c352"),
    (SERIES[6], "#78c3f2"),
    (SERIES[7], "#c4977c"),
];

impl Ink {
    /// The colour in CSS and SVG.
    pub fn hex(self) -> String {
        let [r, g, b] = self.rgb;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// The same colour with an opacity.
    pub fn alpha(self, alpha: f32) -> Ink {
        Ink { alpha, ..self }
    }

    /// The attributes of SVG's `fill` or `stroke`.
    pub(super) fn svg(self, property: &str) -> String {
        let opacity = match self.alpha {
            a if a < 1.0 => format!(" {property}-opacity=\"{a}\""),
            _ => String::new(),
        };
        format!("{property}=\"{}\"{opacity}", self.hex())
    }
}

/// The colour of an agent: hues around the circle, neighbours differ in lightness too.
pub fn agent(k: usize, agents: usize) -> Ink {
    let hue = 25.0 + 360.0 * k as f64 / agents.max(1) as f64;
    let lightness = if k.is_multiple_of(2) { 0.50 } else { 0.66 };
    let [l, a, b] = polar(lightness, 0.135, hue);
    Ink {
        rgb: srgb([l, a, b]),
        alpha: 1.0,
    }
}

/// The colour of a pixel of an atom: blue at -1, near-white at 0, red at 1.
pub fn signed(value: f64) -> [u8; 3] {
    const PAPER: [f64; 3] = [0.97, 0.0, 0.003];
    let t = value.clamp(-1.0, 1.0);
    let end = if t < 0.0 {
        polar(0.40, 0.115, 255.0)
    } else {
        polar(0.47, 0.150, 33.0)
    };
    // Steeper than linear near 0, so that faint pixels are visible.
    let t = t.abs().powf(0.85);
    srgb([0, 1, 2].map(|i| PAPER[i] + t * (end[i] - PAPER[i])))
}

/// Lightness, chroma and hue in degrees to OKLab.
fn polar(l: f64, chroma: f64, hue: f64) -> [f64; 3] {
    let (sin, cos) = hue.to_radians().sin_cos();
    [l, chroma * cos, chroma * sin]
}

/// OKLab (B. Ottosson, 2020) to sRGB, clipped to its gamut.
fn srgb([l, a, b]: [f64; 3]) -> [u8; 3] {
    let l_ = (l + 0.3963377774 * a + 0.2158037573 * b).powi(3);
    let m_ = (l - 0.1055613458 * a - 0.0638541728 * b).powi(3);
    let s_ = (l - 0.0894841775 * a - 1.2914855480 * b).powi(3);
    [
        4.0767416621 * l_ - 3.3077115913 * m_ + 0.2309699292 * s_,
        -1.2684380046 * l_ + 2.6097574011 * m_ - 0.3413193965 * s_,
        -0.0041960863 * l_ - 0.7034186147 * m_ + 1.7076147010 * s_,
    ]
    .map(|v| {
        let v = v.clamp(0.0, 1.0);
        let v = if v <= 0.0031308 {
            12.92 * v
        } else {
            1.055 * v.powf(1.0 / 2.4) - 0.055
        };
        (255.0 * v).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oklab_agrees_with_known_colours() {
        assert_eq!(srgb([1.0, 0.0, 0.0]), [255, 255, 255]);
        assert_eq!(srgb([0.0, 0.0, 0.0]), [0, 0, 0]);
        // Pure red in OKLab, from the reference implementation.
        assert_eq!(srgb([0.627955, 0.224863, 0.125846]), [255, 0, 0]);
    }

    #[test]
    fn signs_and_agents_have_distinct_colours() {
        let [r, _, b] = signed(1.0);
        assert!(r > b);
        let [r, _, b] = signed(-1.0);
        assert!(b > r);
        assert!(signed(0.0).iter().all(|&v| v > 240));
        for i in 0..16 {
            for j in 0..i {
                let (a, b) = (agent(i, 16).rgb, agent(j, 16).rgb);
                let distance: i32 = (0..3)
                    .map(|c| (i32::from(a[c]) - i32::from(b[c])).abs())
                    .sum();
                assert!(distance > 25, "agents {i} and {j}: {a:?} and {b:?}");
            }
        }
    }
}
