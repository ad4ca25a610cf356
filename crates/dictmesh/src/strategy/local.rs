//! One agent's data and local computations for a batch.

use crate::exact::coding::{start_codes, CodePenalty, Coding};
use crate::problem::block::Block;
use crate::problem::regularizer::ScalarPenalty;
use crate::problem::residual::Residual;
use crate::problem::task::LocalTask;
use crate::Stop;
use dictmesh_kernels::count;
use dictmesh_kernels::matrix::{dot, gemm, Matrix};
use dictmesh_kernels::pool::recycle;
use dictmesh_kernels::quadratic::Batching;
use dictmesh_kernels::simd::{self, dispatch, Simd, WithSimd};
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::exact::coding::ScratchPool;

/// The data of agent k for a batch of B samples.
///
/// The paper's local cost is J_k(nu) = -b_k'nu + f*(nu)/N + h*(W_k'nu), with b_k = x/|N_I| if k is
/// informed, else 0.
#[derive(Clone, Copy, Debug)]
pub struct Local<'a> {
    /// f, the same for all agents.
    pub residual: &'a dyn Residual,
    /// h_y of this agent.
    pub task: &'a LocalTask,
    /// W_k.
    pub block: &'a Block,
    /// N.
    pub agents: usize,
    /// b_k, M x B, if the agent is informed.
    pub share: Option<&'a Matrix>,
    /// Whether the agent is the root of the spanning tree.
    pub is_root: bool,
    /// The number of neighbours, without the agent itself.
    pub degree: usize,
    /// B.
    pub samples: usize,
    /// Scratch memory of the argmins.
    pub scratch: &'a ScratchPool,
    /// The caller sets it to stop the batch early.
    pub interrupt: Option<&'a AtomicBool>,
    /// How argmins solve the samples of a batch.
    pub batching: Batching,
}

impl Local<'_> {
    /// Whether the caller requested a stop; later results are discarded.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// M.
    pub fn rows(&self) -> usize {
        self.block.atoms().rows()
    }

    /// The codes y_k = argmax_y (W_k'nu)'y - h(y) of this agent's own nu, N_k x B.
    pub fn codes(&self, nu: &Matrix) -> Matrix {
        let mut y = Matrix::zeros(self.block.len(), nu.cols());
        self.codes_into(nu, &mut y);
        y
    }

    fn codes_into(&self, nu: &Matrix, y: &mut Matrix) {
        let atoms = self.block.atoms().view();
        gemm(y.view_mut(), atoms.transpose(), nu.view(), 1.0, false);
        let h = self.task.regularizer();
        let n = self.block.len().max(1);
        (y.as_mut_slice().chunks_exact_mut(n)).for_each(|s| h.argmax(0.0, s));
    }

    /// The gradient of J_k, into `out` (M x B): -b_k + f*'(nu)/N + W_k y_k(nu). Requires a
    /// quadratic f*, see [`conjugate_quadratic`](crate::problem::Residual::conjugate_quadratic).
    pub fn gradient(&self, nu: &Matrix, out: &mut Matrix, workspace: &mut Workspace) {
        let curvature = self.residual.conjugate_quadratic().unwrap_or(0.0);
        self.slope(curvature / self.agents as f64, nu, out, workspace);
    }

    /// The gradient of J_k without f*, into `out` (M x B): -b_k + W_k y_k(nu).
    pub fn gradient_without_residual(
        &self,
        nu: &Matrix,
        out: &mut Matrix,
        workspace: &mut Workspace,
    ) {
        self.slope(0.0, nu, out, workspace);
    }

    /// `out = weight nu - b_k + W_k y_k(nu)`.
    fn slope(&self, weight: f64, nu: &Matrix, out: &mut Matrix, workspace: &mut Workspace) {
        let (atoms, y) = (self.block.atoms(), &mut workspace.codes);
        let scalar = self.task.regularizer().scalar(0);
        let one = (scalar.filter(|_| atoms.cols() == 1)).map(|h| OneAtom {
            w: atoms.column(0),
            h,
            y: y.as_mut_slice(),
        });
        let many = one.is_none() && atoms.cols() > 0;
        dispatch(Slope {
            weight,
            share: self.share,
            nu,
            one,
            out,
        });
        if many {
            self.codes_into(nu, y);
            gemm(out.view_mut(), atoms.view(), y.view(), 1.0, true);
        }
    }

    /// For each sample, v = argmin_v J_k(v) + q/2 |v|^2 - c'v over the dual domain. It is
    /// warm-started from the codes in the workspace and replaces them by those of v.
    pub fn argmin(&self, q: f64, c: &Matrix, v: &mut Matrix, workspace: &mut Workspace) -> Stop {
        let blocks = [(self.block.len(), self.task.regularizer())];
        let mut scalars = std::mem::take(&mut workspace.scalars);
        CodePenalty::collect_scalars(&blocks, &mut scalars);
        let problem = Coding {
            residual: self.residual,
            h: CodePenalty {
                blocks: &blocks,
                scalars: &scalars,
            },
            atoms: self.block.atoms().into(),
            gram: self.block.gram(),
            s: 1.0 / self.agents as f64,
            q,
            interrupt: self.interrupt,
            batching: self.batching,
        };
        let (codes, scratch) = (&mut workspace.codes, self.scratch.of(self.block.version()));
        let stop = problem.solve_batch(c, self.share, codes, v, &scratch);
        workspace.scalars = recycle(scalars);
        stop
    }

    /// J_k(nu) for each sample.
    pub fn cost(&self, nu: &Matrix) -> Vec<f64> {
        let s = self.block.atoms().transpose_times(nu);
        (0..nu.cols())
            .map(|j| {
                let nu = nu.column(j);
                let x = self.share.map_or(0.0, |share| dot(share.column(j), nu));
                self.residual.conjugate(nu) / self.agents as f64
                    + self.task.regularizer().conjugate(s.column(j))
                    - x
            })
            .collect()
    }
}

/// The atom of an agent with a single one, and the destination of its codes.
struct OneAtom<'a> {
    w: &'a [f64],
    h: &'a dyn ScalarPenalty,
    y: &'a mut [f64],
}

/// `out = weight nu - b`, plus w y(nu) for a single atom, in one pass.
struct Slope<'a> {
    weight: f64,
    share: Option<&'a Matrix>,
    nu: &'a Matrix,
    one: Option<OneAtom<'a>>,
    out: &'a mut Matrix,
}

impl WithSimd for Slope<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let weight = self.weight;
        count(self.share.map_or(0, |share| share.as_slice().len()));
        match self.one {
            None => {
                let out = self.out.as_mut_slice().iter_mut().zip(self.nu.as_slice());
                match self.share {
                    Some(b) => out
                        .zip(b.as_slice())
                        .for_each(|((out, nu), b)| *out = weight * nu - b),
                    None => out.for_each(|(out, nu)| *out = weight * nu),
                }
            }
            Some(OneAtom { w, h, y }) => {
                for (j, y) in y.iter_mut().enumerate() {
                    let nu = self.nu.column(j);
                    *y = h.coordinate_argmax(simd::dot(simd, w, nu), 0.0);
                    count(w.len());
                    let out = self.out.column_mut(j).iter_mut().zip(nu).zip(w);
                    match self.share {
                        Some(b) => out
                            .zip(b.column(j))
                            .for_each(|(((out, nu), w), b)| *out = weight * nu - b + *y * w),
                        None => out.for_each(|((out, nu), w)| *out = weight * nu + *y * w),
                    }
                }
            }
        }
    }
}

/// The codes of agent k and buffers that are reused in every round, so that rounds do not allocate.
#[derive(Debug, Default)]
pub struct Workspace {
    codes: Matrix,
    /// Empty between uses.
    scalars: Vec<&'static dyn ScalarPenalty>,
}

impl Workspace {
    /// A workspace for the samples and the block of `local`, with initial codes for
    /// [`Local::argmin`].
    pub fn new(local: &Local) -> Self {
        let mut start = vec![0.0; local.block.len()];
        start_codes(local.task.regularizer(), &mut start);
        Workspace {
            codes: Matrix::from_fn(local.block.len(), local.samples, |q, _| start[q]),
            scalars: Vec::new(),
        }
    }

    /// The most recent codes, N_k x B.
    pub fn codes(&self) -> &Matrix {
        &self.codes
    }
}
