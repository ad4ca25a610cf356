//! Denoising by as many agents as the paper names: N = 196, one atom each.

use crate::denoising::{Coding, Denoising};
use crate::progress::Observer;
use crate::quality::Quality;
use crate::synthetic::with_noise;
use dictmesh::{Error, Matrix, Mesh, Result, Stop, Stopping, TopologySpec};
use dictmesh_data::Image;
use serde::Serialize;
use std::sync::Arc;

/// Passes over the patches: what 196 agents compute in about a minute, as the stride and the rounds
/// of [`DenoisingExperiment`].
const PASSES: usize = 1;
/// Patches per update; each agent holds vectors for all of them.
const BATCH: usize = 32;
/// Probability of a link between two agents: about 20 neighbours each of 196. Fewer agents have at
/// least about 6, or the graph would be disconnected.
const LINKS: f64 = 0.1;
const LEAST_NEIGHBOURS: f64 = 6.0;
/// White.
const PEAK: f64 = 255.0;

/// The experiment on a clean grey picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DenoisingExperiment {
    /// Standard deviation of the noise to add, above 0; white is 255.
    pub sigma: f64,
    /// Number of agents.
    pub agents: usize,
    /// Side of the patches. N = 196 is about twice the pixels of 10 x 10.
    pub patch: usize,
    /// Distance between patches.
    pub stride: usize,
    /// Rounds of each inference.
    pub rounds: usize,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for DenoisingExperiment {
    fn default() -> Self {
        DenoisingExperiment {
            sigma: 25.0,
            agents: 196,
            patch: 10,
            stride: 2,
            rounds: 200,
            seed: 0,
        }
    }
}

/// The pictures of the experiment.
#[derive(Clone, Debug)]
pub struct Pictures {
    /// With noise.
    pub noisy: Image,
    /// Denoised by the mesh.
    pub by_mesh: Image,
    /// Denoised by one agent with all atoms.
    pub by_one: Image,
    /// The mesh with its atoms.
    pub mesh: Mesh,
}

/// The result.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DenoisingResult {
    /// Number of rows of pixels.
    pub height: usize,
    /// Number of columns of pixels.
    pub width: usize,
    /// Standard deviation of the noise.
    pub sigma: f64,
    /// Number of agents.
    pub agents: usize,
    /// Side of the patches in pixels.
    pub patch: usize,
    /// The noisy picture.
    pub noisy: Quality,
    /// The picture denoised by the mesh.
    pub mesh: Quality,
    /// The picture denoised by one agent with all atoms.
    pub centralized: Quality,
    /// The pictures and the mesh.
    #[serde(skip)]
    pub pictures: Option<Pictures>,
}

impl DenoisingExperiment {
    /// Adds noise to a picture of one plane and removes it, by the mesh and by one agent with all
    /// atoms.
    ///
    /// Errors: a picture in colour or smaller than a patch, invalid settings, coding that diverges.
    pub fn run(&self, clean: &Image, observer: &mut Observer<'_>) -> Result<DenoisingResult> {
        Error::check_positive("sigma", self.sigma)?;
        Error::check_dimension("planes of the picture", clean.planes.len(), 1)?;
        let noisy = with_noise(clean, self.sigma, self.seed);
        let quality = |image: &Image| Quality::of(&clean.planes, &image.planes, PEAK);
        let (by_mesh, mesh) = self.denoise(&noisy, Coding::Mesh, observer)?;
        let (by_one, _) = self.denoise(&noisy, Coding::Exact, observer)?;
        Ok(DenoisingResult {
            height: clean.height(),
            width: clean.width(),
            sigma: self.sigma,
            agents: self.agents,
            patch: self.patch,
            noisy: quality(&noisy)?,
            mesh: quality(&by_mesh)?,
            centralized: quality(&by_one)?,
            pictures: Some(Pictures {
                noisy,
                by_mesh,
                by_one,
                mesh,
            }),
        })
    }

    fn denoise(
        &self,
        noisy: &Image,
        coding: Coding,
        observer: &mut Observer<'_>,
    ) -> Result<(Image, Mesh)> {
        let settings = Denoising {
            patch: self.patch,
            stride: self.stride,
            passes: PASSES,
            batch: BATCH,
            stopping: Stopping::rounds(self.rounds),
            sigma: Some(self.sigma),
            agents: self.agents,
            atoms_each: 1,
            topology: TopologySpec::Random {
                p: LINKS.max(LEAST_NEIGHBOURS / self.agents as f64).min(1.0),
                seed: self.seed,
            },
            coding,
            seed: self.seed,
            ..Denoising::default()
        };
        let planes = noisy.planes.clone();
        let restored = settings.restore_planes(planes, 0.0, None, &Arc::default(), observer)?;
        match (restored.stop, restored.mesh) {
            (Stop::Interrupted, _) | (_, None) => Err(Error::Interrupted),
            (_, Some(mesh)) => {
                let planes = restored.planes;
                let image = Image {
                    planes,
                    ..noisy.clone()
                };
                Ok((image.rounded(), mesh))
            }
        }
    }
}

/// The largest square from the middle of a picture, of at most `side` pixels, in grey.
pub fn grey_square(image: &Image, side: usize) -> Image {
    let side = side.min(image.height()).min(image.width());
    let (top, left) = ((image.height() - side) / 2, (image.width() - side) / 2);
    let planes = &image.planes;
    let plane = Matrix::from_fn(side, side, |i, j| {
        let sum: f64 = planes.iter().map(|p| p.get(top + i, left + j)).sum();
        sum / planes.len() as f64
    });
    Image {
        planes: vec![plane],
        alpha: None,
        bits: 8,
    }
    .rounded()
}
