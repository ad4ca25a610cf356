//! Pictures as patches.

use super::Result;
use crate::error::Error;
use crate::patches::corners;
use crate::picture::Image;
use dictmesh::Matrix;
use serde::{Deserialize, Serialize};

/// How pictures are cut. Patches are grey and lose their mean; one is a sample, column by column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// Side of the square patches.
    pub side: usize,
    /// Pixels from one patch to the next.
    pub stride: usize,
    /// The value of white (black is 0).
    pub white: f64,
}

impl Cut {
    /// The corners of the patches of a picture of rows x columns; `name` is for the message.
    pub fn corners(&self, size: (usize, usize), name: &str) -> Result<Vec<(usize, usize)>> {
        corners(size, self.side, self.stride).map_err(|error| Error::InFile {
            file: name.into(),
            error,
        })
    }

    /// A picture as the grey values that are cut.
    pub fn grey(&self, image: &Image) -> Matrix {
        let scale = self.white / 255.0 / image.planes.len().max(1) as f64;
        Matrix::from_fn(image.height(), image.width(), |i, j| {
            scale * image.planes.iter().map(|p| p.get(i, j)).sum::<f64>()
        })
    }
}

/// Transposes a patch of `side` x `side` from column-major (samples) to row-major (pictures).
pub fn turned(patch: &[f64], side: usize) -> Vec<f64> {
    let at = |i: usize| patch.get((i % side) * side + i / side);
    let pixels = 0..side * side;
    pixels.map(|i| at(i).copied().unwrap_or(0.0)).collect()
}

/// Parses the side of square patches: 8 or 8x8.
pub fn patch_side(text: &str) -> std::result::Result<usize, String> {
    let wrong = || "write the side of square patches in pixels, as in 8 or 8x8".to_string();
    let (a, b) = text.split_once(['x', 'X']).unwrap_or((text, text));
    let a: usize = a.trim().parse().map_err(|_| wrong())?;
    let b: usize = b.trim().parse().map_err(|_| wrong())?;
    match a == b && (2..=256).contains(&a) {
        true => Ok(a),
        false => Err("patches are square, from 2x2 to 256x256 pixels".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_read_and_atoms_turned() {
        assert_eq!(patch_side("8"), Ok(8));
        assert_eq!(patch_side("8x8"), Ok(8));
        for wrong in ["8x6", "1", "x", "8x", "-3", "1000", "99999999999999999999"] {
            assert!(patch_side(wrong).is_err(), "{wrong}");
        }
        assert_eq!(turned(&[1.0, 2.0, 3.0, 4.0], 2), [1.0, 3.0, 2.0, 4.0]);
    }

    #[test]
    fn grey_is_the_mean_of_the_planes_scaled_to_white() {
        let plane = |v: f64| Matrix::from_fn(1, 2, |_, j| v + j as f64);
        let image = Image {
            planes: vec![plane(255.0), plane(0.0), plane(0.0)],
            alpha: None,
            bits: 8,
        };
        let cut = Cut {
            side: 2,
            stride: 1,
            white: 3.0,
        };
        let grey = cut.grey(&image);
        assert!(
            (grey.get(0, 0) - 1.0).abs() < 1e-12 && (grey.get(0, 1) - 258.0 / 255.0).abs() < 1e-12
        );
    }
}
