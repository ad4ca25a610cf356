//! How strong the noise in an image is.

use super::Patches;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{gemm, symmetric_eigenvalues, Matrix};

/// Patches multiplied at a time.
const AT_A_TIME: usize = 4096;

/// An estimate of the standard deviation of white noise in an image: the smaller of two that pictures can
/// mislead upwards only.
///
/// One is the median of the second differences along both axes, |[1 -2 1]' [1 -2 1] * x|, over the 4.047
/// it has for noise of deviation 1: slopes and edges leave it alone, fine texture does not. The other is the
/// smallest eigenvalues of the patches' covariance: texture, however fine, fills few of its dimensions, and
/// noise all. As many of the smallest are taken as have their mean at their median.
///
/// Not much of an error is left where the picture is not itself like noise; values cut off at black and white
/// make it too small.
pub fn noise_level(image: &Matrix) -> Result<f64> {
    if image.rows() < 3 || image.cols() < 3 {
        return Err(Error::Empty {
            what: "the inside of the image",
            need: "at least 3 x 3 pixels to tell noise from picture; or give sigma",
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
    // The weights' squares sum to 36, and half of a Gaussian lies within .6745 of its deviation.
    *median / (6.0 * 0.674_489_75)
}

/// `None` where there are too few patches for the eigenvalues to mean anything.
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
