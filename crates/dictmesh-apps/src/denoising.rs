//! Denoising of a grey image by a dictionary learned from the noisy image itself.
//!
//! The image is cut into overlapping patches x whose means are removed. The mesh learns a
//! dictionary of the patches with the cost 1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2. A patch
//! is restored as
//!
//! ```text
//! z = x - nu,    scaled by  max(0, x'z - sigma^2) / |z|^2,    plus its mean
//! ```
//!
//! This needs the dual vector only: no agent reveals its atoms or its codes. The weight gamma keeps
//! noise out of the code, but also shrinks z. The scale restores the component of x along z, less
//! the sigma^2 that noise contributes to it. Each pixel is the mean of all patches that cover it.
//! In a mesh every agent has its own nu_k; restoration uses that of the first informed agent, which
//! has x.

mod colour;
mod noise;
mod picture;

pub use crate::quality::psnr;
pub use colour::{from_opponent, to_opponent};
pub use dictmesh_data::patches::Patches;
pub use noise::noise_level;
pub use picture::{rounding_noise, Restored};

use super::{default_strategy, in_one_process, AtomsFrom};
use dictmesh::graph::TopologySpec;
use dictmesh::mesh::{AtomInit, Update};
use dictmesh::mesh::{Event, Mesh, MeshBuilder, Stopping};
use dictmesh::problem::Task;
use dictmesh::random::stream;
use dictmesh::strategy::Strategy;
use dictmesh::Stop;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{dot, Matrix};
use rand::seq::SliceRandom;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Default gamma in units of the noise's standard deviation sigma. For a unit atom, noise gives w'x
/// the standard deviation sigma, so gamma / sigma determines how much noise is coded.
pub const GAMMA_PER_SIGMA: f64 = 2.5;

/// Learning uses this fraction of gamma, so that rare structures still fire an atom.
const LEARNING_SHARE: f64 = 0.8;

/// Patches restored per batch. Smaller for a mesh, where every agent holds vectors for each patch.
const MESH_AT_A_TIME: usize = 32;
const EXACT_AT_A_TIME: usize = 1024;

/// Random stream that shuffles the patches ("patch" in ASCII).
const SHUFFLE_STREAM: u64 = 0x70_61_74_63_68;

/// How the patches are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// By the agents of the mesh.
    Mesh,
    /// By an exact solver with all atoms: the fast path on a single machine. The mesh then has one
    /// agent with all atoms, initialised like those of the many. The result is the same up to the
    /// mesh's tolerance.
    Exact,
}

/// Settings.
#[derive(Clone, Debug)]
pub struct Denoising {
    /// Side of the square patches in pixels, at least 2; M is its square.
    pub patch: usize,
    /// Distance between neighbouring patches in pixels, from 1 to `patch`.
    pub stride: usize,
    /// The standard deviation of the noise; `None` estimates it by [`noise_level`].
    pub sigma: Option<f64>,
    /// The weight of |y|_1 in restoration, in the units of the image; `None` is [`GAMMA_PER_SIGMA`]
    /// times sigma. Learning uses 0.8 of it.
    pub gamma: Option<f64>,
    /// The weight of |y|^2 / 2, above 0.
    pub delta: f64,
    /// Number N of agents, at least 1.
    pub agents: usize,
    /// Atoms per agent, at least 1.
    pub atoms_each: usize,
    /// The graph; unused with [`Coding::Exact`].
    pub topology: TopologySpec,
    /// How the patches are coded.
    pub coding: Coding,
    /// The inference strategy of the mesh.
    pub strategy: Arc<dyn Strategy>,
    /// Stopping rule of the inference.
    pub stopping: Stopping,
    /// The dictionary update.
    pub update: Update,
    /// Patches per update, at least 1.
    pub batch: usize,
    /// Number of passes over the patches, each in a new order; 0 keeps the initial atoms.
    pub passes: usize,
    /// Maximum number of patches per pass, drawn at random.
    pub learned: usize,
    /// Initial atoms.
    pub start: AtomsFrom,
    /// Seed of all random draws.
    pub seed: u64,
}

impl Default for Denoising {
    /// Patches of 8 x 8, 128 atoms, coded on a single machine, two passes. The paper's size is
    /// `patch: 10, agents: 196` with one atom each.
    fn default() -> Self {
        Denoising {
            patch: 8,
            stride: 1,
            sigma: None,
            gamma: None,
            delta: 0.01,
            agents: 128,
            atoms_each: 1,
            topology: TopologySpec::Complete,
            coding: Coding::Exact,
            strategy: default_strategy(),
            stopping: Stopping::tolerance(1e-3),
            update: Update::Adaptive { forgetting: 0.985 },
            batch: 256,
            passes: 2,
            learned: 20_000,
            start: AtomsFrom::Samples,
            seed: 0,
        }
    }
}

/// A restored image.
#[derive(Clone, Debug)]
pub struct Denoised {
    /// The restored image.
    pub image: Matrix,
    /// The standard deviation of the noise, given or estimated.
    pub sigma: f64,
    /// The weight of |y|_1 used in restoration.
    pub gamma: f64,
    /// The worst stop reason of any inference.
    pub stop: Stop,
    /// The mesh that restored the patches, with the learned or given atoms.
    pub mesh: Mesh,
}

impl Denoising {
    /// Learns the patches of `image` and restores it. The observer receives the learning events. If
    /// it breaks, the image is restored with the current atoms.
    pub fn run(
        &self,
        image: &Matrix,
        observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Denoised> {
        self.run_unless(image, Arc::default(), observer)
    }

    /// Like [`run`](Denoising::run), but stops soon after another thread sets `stop`, while
    /// learning or restoring. The result then has [`Stop::Interrupted`] and an empty image.
    pub fn run_unless(
        &self,
        image: &Matrix,
        stop: Arc<AtomicBool>,
        observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Denoised> {
        let patches = Patches::cut(image, self.patch, self.stride)?;
        let (sigma, gamma) = self.weights(image)?;
        let mut mesh = self.mesh(&patches, LEARNING_SHARE * gamma)?;
        mesh.interrupt_by(Arc::clone(&stop));
        let learned = self.learn(&mut mesh, &patches, observer)?;
        // The same atoms and their statistics with the larger gamma.
        let blocks = (0..mesh.agents()).map(|k| {
            let atoms = mesh.block(k).atoms().clone();
            (atoms, mesh.atom_stats(k).clone())
        });
        let (rows, progress) = (mesh.rows(), mesh.progress());
        let mut mesh = (self.builder(gamma)?).restore(rows, blocks.collect(), progress)?;
        mesh.interrupt_by(stop);
        let (image, stop) = self.restore(&mesh, &patches, sigma)?;
        Ok(Denoised {
            image,
            sigma,
            gamma,
            stop: learned.worse(stop),
            mesh,
        })
    }

    /// Restores `image` with the columns of `atoms`, without learning.
    pub fn run_with(&self, image: &Matrix, atoms: &Matrix) -> Result<Denoised> {
        self.run_with_unless(image, atoms, Arc::default())
    }

    /// Like [`run_with`](Denoising::run_with), but stops soon after another thread sets `stop`, as
    /// [`run_unless`](Denoising::run_unless) does.
    pub fn run_with_unless(
        &self,
        image: &Matrix,
        atoms: &Matrix,
        stop: Arc<AtomicBool>,
    ) -> Result<Denoised> {
        let patches = Patches::cut(image, self.patch, self.stride)?;
        let (sigma, gamma) = self.weights(image)?;
        let mut mesh = self.build(gamma, AtomInit::Given(atoms))?;
        mesh.interrupt_by(stop);
        let (image, stop) = self.restore(&mesh, &patches, sigma)?;
        Ok(Denoised {
            image,
            sigma,
            gamma,
            stop,
            mesh,
        })
    }

    /// sigma and gamma: given, or estimated from the image.
    fn weights(&self, image: &Matrix) -> Result<(f64, f64)> {
        let sigma = match self.sigma {
            Some(sigma) => sigma,
            None => noise_level(image)?,
        };
        Error::check_not_negative("sigma", sigma)?;
        Ok((sigma, self.gamma.unwrap_or(GAMMA_PER_SIGMA * sigma)))
    }

    /// The mesh with its initial atoms.
    pub fn mesh(&self, patches: &Patches, gamma: f64) -> Result<Mesh> {
        self.build(gamma, self.start.start(patches.samples()))
    }

    fn build(&self, gamma: f64, start: AtomInit<'_>) -> Result<Mesh> {
        let overflows =
            || Error::parameter("atoms_each", self.atoms_each, "times agents overflows");
        let all = self
            .atoms_each
            .checked_mul(self.agents)
            .ok_or_else(overflows)?;
        let builder = self.builder(gamma)?; // checks the number of agents
        let sizes = match self.coding {
            Coding::Mesh => vec![self.atoms_each; self.agents],
            Coding::Exact => vec![all],
        };
        builder.build(self.patch * self.patch, &sizes, start)
    }

    fn builder(&self, gamma: f64) -> Result<MeshBuilder> {
        let task = Task::sparse_svd(gamma, self.delta)?;
        let builder = match self.coding {
            Coding::Mesh => Mesh::builder(task, self.topology.build(self.agents)?)
                .strategy(in_one_process(&self.strategy))
                .stopping(self.stopping),
            // A single agent solves each sample exactly in one round. The tolerance lets it end
            // with `Converged`; a fixed number of rounds always ends with `RoundLimit`.
            Coding::Exact => Mesh::builder(task, TopologySpec::Complete.build(1)?)
                .strategy(default_strategy())
                .stopping(Stopping::default()),
        };
        Ok(builder
            .update(self.update)
            .batch(self.batch)
            .seed(self.seed))
    }

    /// Learns the patches and returns the worst stop reason of the inference. `mesh` may be built
    /// elsewhere.
    pub fn learn(
        &self,
        mesh: &mut Mesh,
        patches: &Patches,
        mut observer: impl FnMut(&Event) -> ControlFlow<()>,
    ) -> Result<Stop> {
        let (mut worst, mut left) = (Stop::Converged, false);
        let mut order: Vec<usize> = (0..patches.samples().len()).collect();
        // Neighbouring patches are similar; in image order they would bias each update.
        let mut rng = stream(self.seed, SHUFFLE_STREAM);
        for _ in 0..self.passes {
            order.shuffle(&mut rng);
            let drawn = &order[..order.len().min(self.learned)];
            let stop = mesh.learn(&patches.samples().select(drawn), |event| {
                let flow = observer(event);
                left |= flow.is_break();
                flow
            })?;
            worst = worst.worse(stop);
            if left || matches!(stop, Stop::Diverged | Stop::Interrupted) {
                break;
            }
        }
        Ok(worst)
    }

    /// The image restored with the atoms and gamma of `mesh`, for noise of standard deviation
    /// `sigma`, and the worst stop reason of the inference. The image is empty if `mesh` was
    /// interrupted.
    pub fn restore(&self, mesh: &Mesh, patches: &Patches, sigma: f64) -> Result<(Matrix, Stop)> {
        let x = patches.samples();
        let mut restored = Matrix::zeros(x.rows(), 0);
        let mut worst = Stop::Converged;
        let informed = (0..mesh.agents()).find(|k| mesh.is_informed(*k));
        let at_a_time = match self.coding {
            Coding::Mesh => MESH_AT_A_TIME,
            Coding::Exact => EXACT_AT_A_TIME,
        };
        for from in (0..x.len()).step_by(at_a_time) {
            let part = x.range(from..(from + at_a_time).min(x.len()));
            let (mut nu, stop) = match self.coding {
                Coding::Mesh => {
                    let mut inference = mesh.infer(&part)?;
                    let nu = inference.duals.swap_remove(informed.unwrap_or(0));
                    (nu, inference.stop)
                }
                Coding::Exact => mesh.exact_duals(&part)?,
            };
            if mesh.is_interrupted() {
                return Ok((Matrix::zeros(0, 0), Stop::Interrupted));
            }
            worst = worst.worse(stop);
            for j in 0..part.len() {
                let z = nu.column_mut(j);
                z.iter_mut().for_each(|nu| *nu = -*nu);
                part.add_scaled(j, 1.0, z);
                rescale(z, part.dot(j, z), sigma);
            }
            restored.append_columns(&nu)?;
        }
        Ok((patches.assemble(&restored)?, worst))
    }
}

/// Scales z by s = max(0, x'z - sigma^2) / |z|^2, given x'z. Over s >= 0 it minimises |x - s z|^2 +
/// 2 sigma^2 s - M sigma^2: Stein's unbiased risk estimate with z as one degree of freedom.
fn rescale(z: &mut [f64], xz: f64, sigma: f64) {
    let square = dot(z, z);
    if square > 0.0 {
        let scale = (xz - sigma * sigma).max(0.0) / square;
        z.iter_mut().for_each(|z| *z *= scale);
    }
}
