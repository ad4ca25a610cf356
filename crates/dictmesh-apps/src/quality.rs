//! Image similarity.

use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::Matrix;
use serde::Serialize;

/// The peak signal-to-noise ratio in dB, 10 log10(peak^2 / mean (a - b)^2); infinite for equal
/// images. `peak` is 255 for 8-bit images.
pub fn psnr(a: &Matrix, b: &Matrix, peak: f64) -> Result<f64> {
    Error::check_dimension("rows of the second image", b.rows(), a.rows())?;
    Error::check_dimension("columns of the second image", b.cols(), a.cols())?;
    Error::check_positive("peak", peak)?;
    if a.as_slice().is_empty() {
        return Err(Error::Empty {
            what: "the image",
            need: "at least one pixel",
        });
    }
    let squares: f64 = (a.as_slice().iter().zip(b.as_slice()))
        .map(|(a, b)| (a - b) * (a - b))
        .sum();
    let mean = squares / a.as_slice().len() as f64;
    Ok(10.0 * (peak * peak / mean).log10())
}

/// The similarity of a picture to a clean one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quality {
    /// The PSNR over all planes in dB; infinite (null in JSON) for equal pictures.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub psnr: f64,
    /// The mean SSIM of the planes; `None` for pictures with a side below 7.
    pub ssim: Option<f64>,
}

impl Quality {
    /// The quality of the planes of a picture, given those of the clean one. `peak` is the value
    /// range.
    ///
    /// Errors: pictures of different sizes or numbers of planes, and those without a pixel.
    pub fn of(clean: &[Matrix], planes: &[Matrix], peak: f64) -> Result<Self> {
        Error::check_dimension("planes of the picture", planes.len(), clean.len())?;
        let join = |planes: &[Matrix]| -> Result<Matrix> {
            let mut all = Matrix::zeros(planes.first().map_or(0, Matrix::rows), 0);
            planes
                .iter()
                .try_for_each(|plane| all.append_columns(plane))?;
            Ok(all)
        };
        let is_large = |p: &Matrix| p.rows().min(p.cols()) >= SSIM_WINDOW;
        let is_large = clean.iter().all(is_large);
        let pairs = clean.iter().zip(planes).filter(|_| is_large);
        let each = pairs.map(|(a, b)| ssim(a, b, peak));
        let each = each.collect::<Result<Vec<f64>>>()?;
        Ok(Quality {
            psnr: psnr(&join(clean)?, &join(planes)?, peak)?,
            ssim: is_large.then(|| each.iter().sum::<f64>() / each.len() as f64),
        })
    }
}

/// Side of the window of [`ssim`] in pixels.
pub const SSIM_WINDOW: usize = 7;

/// The structural similarity of two grey images (Wang et al., 2004): the mean over all 7 x 7
/// windows inside the image of
///
/// ```text
/// (2 m_a m_b + c_1) (2 s_ab + c_2) / ((m_a^2 + m_b^2 + c_1) (s_a^2 + s_b^2 + c_2))
/// c_1 = (.01 peak)^2,  c_2 = (.03 peak)^2
/// ```
///
/// with window means m, sample variances and covariance s (normalised by n - 1). At most 1, and 1
/// for equal images. The constants are scikit-image's defaults. `peak` is the value range, 255 for
/// 8-bit images.
///
/// Errors: images of different size or with a side below 7, or a `peak` that is not positive.
pub fn ssim(a: &Matrix, b: &Matrix, peak: f64) -> Result<f64> {
    Error::check_dimension("rows of the second image", b.rows(), a.rows())?;
    Error::check_dimension("columns of the second image", b.cols(), a.cols())?;
    Error::check_positive("peak", peak)?;
    if a.rows() < SSIM_WINDOW || a.cols() < SSIM_WINDOW {
        return Err(Error::Empty {
            what: "the inside of the image",
            need: "at least 7 x 7 pixels for one window",
        });
    }
    let (c1, c2) = ((0.01 * peak).powi(2), (0.03 * peak).powi(2));
    let n = (SSIM_WINDOW * SSIM_WINDOW) as f64;
    let (mut sum, mut count) = (0.0, 0_usize);
    for j in 0..=a.cols() - SSIM_WINDOW {
        for i in 0..=a.rows() - SSIM_WINDOW {
            let pairs = || {
                (j..j + SSIM_WINDOW).flat_map(move |c| {
                    let a = &a.column(c)[i..i + SSIM_WINDOW];
                    a.iter().zip(&b.column(c)[i..i + SSIM_WINDOW])
                })
            };
            let (sa, sb) = pairs().fold((0.0, 0.0), |s, (a, b)| (s.0 + a, s.1 + b));
            let (ma, mb) = (sa / n, sb / n);
            let (mut va, mut vb, mut vab) = (0.0, 0.0, 0.0);
            for (a, b) in pairs() {
                let (a, b) = (a - ma, b - mb);
                va += a * a;
                vb += b * b;
                vab += a * b;
            }
            let (va, vb, vab) = (va / (n - 1.0), vb / (n - 1.0), vab / (n - 1.0));
            sum += (2.0 * ma * mb + c1) * (2.0 * vab + c2)
                / ((ma * ma + mb * mb + c1) * (va + vb + c2));
            count += 1;
        }
    }
    Ok(sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::random::{gaussian, stream};

    #[test]
    fn one_window_by_hand() {
        // a is 100; b is 110 with one pixel of 159. The means are 100 and 111. One outlier of d =
        // 49 among n = 49 gives the variance d^2 (1 - 1/n) / (n - 1) = d^2 / n = 49; the covariance
        // is 0.
        let a = Matrix::from_fn(7, 7, |_, _| 100.0);
        let b = Matrix::from_fn(7, 7, |i, j| if (i, j) == (2, 5) { 159.0 } else { 110.0 });
        let (c1, c2) = (6.5025, 58.5225);
        let expected = (2.0 * 100.0 * 111.0 + c1) / (10_000.0 + 12_321.0 + c1) * c2 / (49.0 + c2);
        assert!((ssim(&a, &b, 255.0).unwrap() - expected).abs() < 1e-12);
        // 22206.5025 / 22327.5025 * 58.5225 / 107.5225
        assert!((expected - 0.541_332).abs() < 1e-6, "{expected}");
    }

    #[test]
    fn equal_is_one_and_more_noise_is_less() {
        let a = Matrix::from_fn(20, 30, |i, j| {
            128.0 + 60.0 * (i as f64 / 3.0).sin() + j as f64
        });
        assert_eq!(ssim(&a, &a, 255.0).unwrap(), 1.0);
        let noise = gaussian(20, 30, &mut stream(1, 0));
        let noisy = |s: f64| Matrix::from_fn(20, 30, |i, j| a.get(i, j) + s * noise.get(i, j));
        let values: Vec<f64> = [1.0, 5.0, 20.0, 50.0]
            .iter()
            .map(|s| ssim(&a, &noisy(*s), 255.0).unwrap())
            .collect();
        assert!(values.windows(2).all(|w| w[0] > w[1]), "{values:?}");
        let (one, other) = (ssim(&a, &noisy(20.0), 255.0), ssim(&noisy(20.0), &a, 255.0));
        assert!((one.unwrap() - other.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn images_that_do_not_fit_are_refused() {
        let small = Matrix::zeros(6, 20);
        assert!(ssim(&small, &small, 255.0).is_err());
        let image = Matrix::zeros(8, 8);
        assert!(ssim(&image, &Matrix::zeros(8, 9), 255.0).is_err());
        assert!(ssim(&image, &image, 0.0).is_err());
    }
}
