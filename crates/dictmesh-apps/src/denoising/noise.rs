//! Noise level estimation.

use super::Patches;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{gemm, symmetric_eigenvalues, Matrix};

/// Patches per product in the covariance.
const AT_A_TIME: usize = 4096;

/// Estimates the standard deviation of white noise in an image: the smaller of two estimates that
/// image content can only increase.
///
/// - The median absolute second difference along both axes, |[1 -2 1]' [1 -2 1] * x|, divided by
///   4.047. (Noise of deviation 1 has this median.) It is robust to slopes and edges, but not to
///   fine texture.
/// - The smallest eigenvalues of the patches' covariance. Texture occupies few dimensions, noise
///   all of them. The largest set of smallest eigenvalues whose mean does not exceed their median
///   is averaged.
///
/// The estimate is accurate unless the image itself resembles noise. Clipping at black and white
/// biases it downwards.
///
/// Errors: an image smaller than 3 x 3, or entries that are not finite.
pub fn noise_level(image: &Matrix) -> Result<f64> {
    if image.rows() < 3 || image.cols() < 3 {
        return Err(Error::Empty {
            what: "the inside of the image",
            need: "at least 3 x 3 pixels to estimate the noise; or give sigma",
        });
    }
    Error::check_finite("image", image)?;
    let by_differences = by_differences(image);
    Ok(match by_covariance(image)? {
        Some(level) => level.min(by_differences),
        None => by_differences,
    })
}

fn by_differences(image: &Matrix) -> f64 {
    let mut differences = Vec::with_capacity((image.rows() - 2) * (image.cols() - 2));
    for j in 1..image.cols() - 1 {
        let (left, own, right) = (image.column(j - 1), image.column(j), image.column(j + 1));
        let across = |i: usize| left[i] - 2.0 * own[i] + right[i];
        for i in 1..image.rows() - 1 {
            differences.push((across(i - 1) - 2.0 * across(i) + across(i + 1)).abs());
        }
    }
    let middle = differences.len() / 2;
    let (_, median, _) = differences.select_nth_unstable_by(middle, f64::total_cmp);
    // The squared weights sum to 36, and the median of a standard Gaussian's absolute value is
    // .6745.
    *median / (6.0 * 0.674_489_75)
}

/// `None` if there are too few patches for a reliable covariance.
fn by_covariance(image: &Matrix) -> Result<Option<f64>> {
    let side = match image.rows().min(image.cols()) {
        0..16 => return Ok(None),
        16..64 => 4,
        _ => 6,
    };
    let patches = Patches::cut(image, side, 1)?;
    let (x, means) = (patches.samples(), patches.means());
    let (d, count) = (side * side, x.len() as f64);
    let overall = means.iter().sum::<f64>() / count;
    let mut covariance = Matrix::zeros(d, d);
    for from in (0..x.len()).step_by(AT_A_TIME) {
        let range = from..(from + AT_A_TIME).min(x.len());
        let mut part = x.range(range.clone()).to_dense();
        for (j, mean) in means[range].iter().enumerate() {
            let v = part.column_mut(j);
            v.iter_mut().for_each(|v| *v += mean - overall);
        }
        let view = part.view();
        gemm(
            covariance.view_mut(),
            view,
            view.transpose(),
            1.0 / count,
            true,
        );
    }
    Ok(symmetric_eigenvalues(&covariance).map(|rising| {
        let of_noise = (1..=d).rev().find(|n| mean(&rising[..*n]) <= rising[n / 2]);
        mean(&rising[..of_noise.unwrap_or(1)]).max(0.0).sqrt()
    }))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
