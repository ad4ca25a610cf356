//! What a person sees of denoising.

use super::super::Result;
use super::{Args, Quality, Restored};
use crate::numbers::counted;
use dictmesh::{Mesh, Stop};
use dictmesh_data::Image;
use serde_json::json;
use std::path::PathBuf;

/// The deviation of the noise that rounding to whole values makes: below it there is no noise to take out, but
/// every patch would need nearly all atoms, which takes very long.
pub fn rounding(image: &Image) -> f64 {
    let steps = if image.bits == 8 { 1.0 } else { 257.0 };
    1.0 / steps / 12.0_f64.sqrt()
}

pub fn sigma_words(sigma: &[f64]) -> String {
    let each: Vec<String> = sigma.iter().map(|s| format!("{s:.2}")).collect();
    match (&each[..], sigma.windows(2).all(|w| w[0] == w[1])) {
        ([first, ..], true) => first.clone(),
        _ => format!("{} (light and two opponent colours)", each.join(", ")),
    }
}

pub fn tell(
    args: &Args,
    noisy: &Image,
    restored: &Restored,
    measured: Option<&(Quality, Quality)>,
    page: Option<PathBuf>,
) -> Result<()> {
    let output = args.output.display().to_string();
    let page = page.map(|page| page.display().to_string());
    let atoms = restored.mesh.as_ref().map_or(0, Mesh::atoms);
    let agents = restored.mesh.as_ref().map_or(0, Mesh::agents);
    args.speech.tell(
        json!({
            "output": output, "width": noisy.width(), "height": noisy.height(),
            "planes": noisy.planes.len(), "sigma": restored.sigma, "atoms": atoms, "agents": agents,
            "before": measured.map(|m| m.0.json()), "after": measured.map(|m| m.1.json()),
            "stop": restored.stop.to_string(), "report": page,
        }),
        || {
            let how = if args.sigma.is_some() {
                "given"
            } else {
                "estimated"
            };
            let mut text = format!(
                "{} x {} pixels, noise of sigma {} ({how})\n",
                noisy.width(),
                noisy.height(),
                sigma_words(&restored.sigma)
            );
            text += &match agents {
                0 => "there is no noise to take out: the picture stays as it is\n".to_string(),
                1 => format!("{}\n", counted(atoms, "atom")),
                n => format!("{} at {n} agents\n", counted(atoms, "atom")),
            };
            let floor = rounding(noisy);
            let left = restored.sigma.iter().filter(|s| **s < floor).count();
            if left > 0 && args.sigma != Some(0.0) {
                text += &format!(
                    "{left} of {} planes stayed as they were: their noise is below {floor:.2}, what rounding to {} bits \
                     makes\n",
                    restored.sigma.len(),
                    noisy.bits
                );
            }
            if restored.stop != Stop::Converged {
                text += &format!("the inference ended early: {}\n", restored.stop);
            }
            if let Some((before, after)) = measured {
                text += &format!("noisy:    {}\n", before.words());
                text += &format!("denoised: {}\n", after.words());
            }
            text += &format!("picture: {output}\n");
            if let Some(page) = &page {
                text += &format!("report: {page}\n");
            }
            text
        },
    )
}
