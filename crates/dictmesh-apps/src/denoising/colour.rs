//! Orthogonal colour transform that decorrelates the planes.

use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::Matrix;

/// 1/sqrt(2), 1/sqrt(3) and 1/sqrt(6).
const S2: f64 = std::f64::consts::FRAC_1_SQRT_2;
const S3: f64 = 0.577_350_269_189_625_8;
const S6: f64 = 0.408_248_290_463_863;

/// Rows: luminance, red minus blue, and red plus blue minus twice green.
const OPPONENT: [[f64; 3]; 3] = [[S3, S3, S3], [S2, 0.0, -S2], [S6, -2.0 * S6, S6]];

/// Transforms red, green and blue to (r + g + b)/sqrt 3, (r - b)/sqrt 2 and (r - 2 g + b)/sqrt 6.
/// The RGB planes of a photograph are strongly correlated. These are not, and the two chrominance
/// planes are smooth, so each can be denoised separately. The transform is orthogonal: white noise
/// stays white with the same variance.
///
/// Errors: planes of different size.
pub fn to_opponent(rgb: &[Matrix; 3]) -> Result<[Matrix; 3]> {
    mix(rgb, |p, q| OPPONENT[p][q])
}

/// The inverse of [`to_opponent`].
pub fn from_opponent(planes: &[Matrix; 3]) -> Result<[Matrix; 3]> {
    mix(planes, |p, q| OPPONENT[q][p])
}

fn mix(planes: &[Matrix; 3], weight: impl Fn(usize, usize) -> f64) -> Result<[Matrix; 3]> {
    let (rows, cols) = (planes[0].rows(), planes[0].cols());
    for plane in planes {
        Error::check_dimension("rows of a colour plane", plane.rows(), rows)?;
        Error::check_dimension("columns of a colour plane", plane.cols(), cols)?;
    }
    let plane = |p: usize| {
        Matrix::from_fn(rows, cols, |i, j| {
            (0..3).map(|q| weight(p, q) * planes[q].get(i, j)).sum()
        })
    };
    Ok([plane(0), plane(1), plane(2)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::random::{gaussian, stream};

    #[test]
    fn there_and_back_is_the_same_and_lengths_stay() {
        let mut rng = stream(1, 0);
        let rgb = [0, 1, 2].map(|_| gaussian(4, 5, &mut rng));
        let opponent = to_opponent(&rgb).unwrap();
        let back = from_opponent(&opponent).unwrap();
        let square = |planes: &[Matrix; 3]| -> f64 {
            planes
                .iter()
                .flat_map(Matrix::as_slice)
                .map(|v| v * v)
                .sum()
        };
        assert!((square(&rgb) - square(&opponent)).abs() < 1e-12);
        for (a, b) in rgb.iter().zip(&back) {
            let apart = a
                .as_slice()
                .iter()
                .zip(b.as_slice())
                .map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-14);
        }
        // Grey has zero chrominance.
        let grey = [0, 1, 2].map(|_| rgb[0].clone());
        let [_, a, b] = to_opponent(&grey).unwrap();
        assert!(a
            .as_slice()
            .iter()
            .chain(b.as_slice())
            .all(|v| v.abs() < 1e-15));
        let [x, y, _] = rgb;
        assert!(to_opponent(&[x, y, Matrix::zeros(1, 1)]).is_err());
    }
}
