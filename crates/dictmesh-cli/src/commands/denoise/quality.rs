//! How near a picture is to the clean one.

use super::super::{say, Result};
use dictmesh::Matrix;
use dictmesh_apps::denoising::psnr;
use dictmesh_apps::quality::{ssim, SSIM_WINDOW};
use dictmesh_data::Image;
use serde_json::json;

/// White in every picture, whatever its depth.
pub const PEAK: f64 = 255.0;

/// How near a picture is to the clean one.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    pub psnr: f64,
    /// `None` if the picture is too small for it.
    pub ssim: Option<f64>,
}

/// PSNR over all planes, and the mean SSIM of the planes if they are large enough for it.
pub fn quality(clean: &Image, image: &Image) -> Result<Quality> {
    let side_by_side = |image: &Image| -> Result<Matrix> {
        let mut all = Matrix::zeros(image.height(), 0);
        for plane in &image.planes {
            all.append_columns(plane)
                .map_err(|e| say(dictmesh::Error::from(e)))?;
        }
        Ok(all)
    };
    let large = clean.height().min(clean.width()) >= SSIM_WINDOW;
    let pairs = clean.planes.iter().zip(&image.planes);
    let each: Vec<f64> = pairs
        .filter(|_| large)
        .map(|(a, b)| ssim(a, b, PEAK).map_err(say))
        .collect::<Result<_>>()?;
    Ok(Quality {
        psnr: psnr(&side_by_side(clean)?, &side_by_side(image)?, PEAK).map_err(say)?,
        ssim: large.then(|| each.iter().sum::<f64>() / each.len() as f64),
    })
}

impl Quality {
    pub fn words(&self) -> String {
        let ssim = self
            .ssim
            .map_or(String::new(), |s| format!(", SSIM {s:.4}"));
        format!("{:.2} dB{ssim}", self.psnr)
    }

    pub fn json(&self) -> serde_json::Value {
        // Equal pictures have an infinite PSNR, which JSON does not know: null.
        json!({"psnr": self.psnr, "ssim": self.ssim})
    }
}
