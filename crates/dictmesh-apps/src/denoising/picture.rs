//! Restoration of a whole picture, grey or in colour.

use super::{from_opponent, noise_level, to_opponent, Denoised, Denoising};
use crate::progress::{Observer, Progress};
use dictmesh::{Error, Matrix, Mesh, Result, Stop};
use dictmesh_data::patches::corners;
use dictmesh_data::Image;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// The standard deviation of the noise that rounding to a picture's levels adds, for white = 255:
/// 1/sqrt(12) of a level. Restoration leaves planes with less noise as they are; their patches
/// would need nearly all atoms.
pub fn rounding_noise(bits: u8) -> f64 {
    let levels = if bits == 8 { 1.0 } else { 257.0 };
    1.0 / levels / 12.0_f64.sqrt()
}

/// A restored picture.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The planes of the picture: grey, or red, green and blue.
    pub planes: Vec<Matrix>,
    /// The standard deviation of the noise, given or estimated: of the grey plane, or of luminance
    /// and the two opponent colours.
    pub sigma: Vec<f64>,
    /// Number of planes with too little noise to restore.
    pub unchanged: usize,
    /// The worst stop reason. If it is [`Stop::Interrupted`], the planes are incomplete.
    pub stop: Stop,
    /// The mesh that restored the first plane, if one was restored.
    pub mesh: Option<Mesh>,
}

impl Denoising {
    /// Restores a picture and rounds it to the levels of its file. See
    /// [`restore_planes`](Self::restore_planes).
    pub fn restore_image(
        &self,
        image: &Image,
        atoms: Option<&Matrix>,
        observer: &mut Observer<'_>,
    ) -> Result<(Image, Restored)> {
        let floor = rounding_noise(image.bits);
        let planes = image.planes.clone();
        let restored = self.restore_planes(planes, floor, atoms, &Arc::default(), observer)?;
        let image = Image {
            planes: restored.planes.clone(),
            ..image.clone()
        };
        Ok((image.rounded(), restored))
    }

    /// Restores the planes of a picture: one as it is; three (red, green, blue) as luminance and
    /// two opponent colours, each by itself. Planes with noise below `floor` stay as they are. With
    /// `atoms`, their columns restore every plane; otherwise each plane is learned.
    ///
    /// The work ends early if the observer breaks, or soon after another thread sets `stop`.
    ///
    /// Errors: invalid settings, planes of different sizes, coding that diverges.
    pub fn restore_planes(
        &self,
        planes: Vec<Matrix>,
        floor: f64,
        atoms: Option<&Matrix>,
        stop: &Arc<AtomicBool>,
        observer: &mut Observer<'_>,
    ) -> Result<Restored> {
        let planes = match <[Matrix; 3]>::try_from(planes) {
            Ok(rgb) => to_opponent(&rgb)?.to_vec(),
            Err(grey) => grey,
        };
        let mut restored = Restored {
            planes: Vec::new(),
            sigma: Vec::new(),
            unchanged: 0,
            stop: Stop::Converged,
            mesh: None,
        };
        let count = planes.len();
        for (at, plane) in planes.into_iter().enumerate() {
            let sigma = match self.sigma {
                Some(sigma) => sigma,
                None => noise_level(&plane)?,
            };
            Error::check_not_negative("sigma", sigma)?;
            restored.sigma.push(sigma);
            if sigma < floor {
                restored.unchanged += 1;
                restored.planes.push(plane);
                continue;
            }
            let settings = Denoising {
                sigma: Some(sigma),
                ..self.clone()
            };
            let place = (at, count);
            let done = settings.restore_plane(&plane, atoms, stop, place, observer)?;
            restored.stop = restored.stop.worse(done.stop);
            match done.stop {
                Stop::Converged | Stop::RoundLimit => {}
                Stop::Interrupted => return Ok(restored),
                why => {
                    return Err(Error::Unsupported {
                        what: "denoising".into(),
                        with: "this picture".into(),
                        why: why.to_string(),
                    })
                }
            }
            restored.mesh = restored.mesh.or(Some(done.mesh));
            restored.planes.push(done.image);
        }
        restored.planes = match <[Matrix; 3]>::try_from(restored.planes) {
            Ok(planes) => from_opponent(&planes)?.to_vec(),
            Err(grey) => grey,
        };
        Ok(restored)
    }

    /// The number of patches of a picture of this size.
    ///
    /// Errors: patches below 2 x 2 or larger than the picture, and a stride outside 1 to their
    /// side.
    pub fn patch_count(&self, rows: usize, columns: usize) -> Result<usize> {
        Ok(corners((rows, columns), self.patch, self.stride)?.len())
    }

    fn restore_plane(
        &self,
        plane: &Matrix,
        atoms: Option<&Matrix>,
        stop: &Arc<AtomicBool>,
        (at, planes): (usize, usize),
        observer: &mut Observer<'_>,
    ) -> Result<Denoised> {
        let restoring = Progress::steps("restoring", at, planes);
        if let Some(atoms) = atoms {
            if observer(restoring).is_break() {
                stop.store(true, Ordering::SeqCst);
            }
            return self.run_with_unless(plane, atoms, Arc::clone(stop));
        }
        let patches = self.patch_count(plane.rows(), plane.cols())?;
        let each = self.passes.saturating_mul(patches.min(self.learned));
        self.run_unless(plane, Arc::clone(stop), |event| {
            let learned = event.samples as usize;
            let flow = observer(Progress {
                phase: "learning",
                done: at * each + learned,
                total: planes * each,
                cost: Some(event.cost),
            });
            let flow = match learned >= each && flow.is_continue() {
                true => observer(restoring),
                false => flow,
            };
            if flow.is_break() {
                stop.store(true, Ordering::SeqCst);
            }
            flow
        })
    }
}
