//! Places on the sheet, and ways to write and to draw.

use super::palette::Ink;

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

pub fn plain(size: f32, ink: Ink) -> Type {
    Type {
        size,
        bold: false,
        ink,
    }
}

pub fn bold(size: f32, ink: Ink) -> Type {
    Type {
        size,
        bold: true,
        ink,
    }
}

/// A way to draw lines: width, colour, and the length of a dash (0: unbroken).
#[derive(Clone, Copy, Debug)]
pub struct Pen {
    pub width: f32,
    pub ink: Ink,
    pub dash: f32,
}

impl Pen {
    /// An unbroken line.
    pub fn new(width: f32, ink: Ink) -> Self {
        Pen {
            width,
            ink,
            dash: 0.0,
        }
    }

    /// The same pen, lifted after every `dash` pixels.
    pub fn dashed(self, dash: f32) -> Self {
        Pen { dash, ..self }
    }
}

/// A part of the sheet.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub x: f32,
    pub y: f32,
    pub w: f32,
    pub h: f32,
}

impl Frame {
    pub const fn new(x: f32, y: f32, w: f32, h: f32) -> Self {
        Frame { x, y, w, h }
    }
    pub fn right(&self) -> f32 {
        self.x + self.w
    }
    pub fn bottom(&self) -> f32 {
        self.y + self.h
    }
}
