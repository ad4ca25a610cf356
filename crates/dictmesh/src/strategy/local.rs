//! One agent's data and local computations for a batch.

use super::sparse_codes::SparseCodes;
use crate::exact::coding::{start_codes, BlockScratch, CodePenalty, Coding};
use crate::exact::SOLVED_ON_DEMAND;
use crate::problem::block::Block;
use crate::problem::regularizer::ScalarPenalty;
use crate::problem::residual::Residual;
use crate::problem::task::LocalTask;
use crate::Stop;
use dictmesh_kernels::correlate::correlate_columns;
use dictmesh_kernels::count;
use dictmesh_kernels::loops::{self, Targets};
use dictmesh_kernels::matrix::{dot, gemm, Matrix};
use dictmesh_kernels::pool::recycle;
use dictmesh_kernels::quadratic::{Batching, Coordinate};
use dictmesh_kernels::simd::{self, dispatch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;
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
    /// |N_I|.
    pub informed: usize,
    /// Whether the agent is the first informed one, in the order of the agents.
    pub is_first_informed: bool,
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
    /// The relative tolerance for strategies that decide themselves; `None` runs all rounds.
    pub tolerance: Option<f64>,
    /// The limit of rounds.
    pub rounds: usize,
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

    /// x of sample j at the first informed agent, `None` at the others: in a sum over all agents,
    /// it stands for the equal shares b_k of the informed ones.
    pub fn sample(&self, j: usize) -> Option<Vec<f64>> {
        let share = self.share.filter(|_| self.is_first_informed)?.column(j);
        Some(share.iter().map(|b| b * self.informed as f64).collect())
    }

    /// The codes y_k = argmax_y (W_k'nu)'y - h(y) of this agent's own nu, N_k x B.
    pub fn codes(&self, nu: &Matrix) -> Matrix {
        let mut y = Matrix::zeros(self.block.len(), nu.cols());
        self.codes_into(nu, &mut y);
        y
    }

    fn codes_into(&self, nu: &Matrix, y: &mut Matrix) {
        correlate_columns(self.block.atoms(), nu.view(), y.view_mut());
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
        if many && workspace.sparse.is_none() {
            self.codes_into(nu, y);
            gemm(out.view_mut(), atoms.view(), y.view(), 1.0, true);
        } else if many {
            for range in parts(nu.cols(), SOLVED_ON_DEMAND) {
                let (from, width) = (range.start, range.len());
                let y = self.codes(&nu.columns_range(range));
                let out = out.view_mut().subcols_mut(from, width);
                gemm(out, atoms.view(), y.view(), 1.0, true);
            }
        }
    }

    /// For each sample, v = argmin_v J_k(v) + q/2 |v|^2 - c'v over the dual domain. It is
    /// warm-started from the codes in the workspace and replaces them by those of v.
    pub fn argmin(&self, q: f64, c: &Matrix, v: &mut Matrix, workspace: &mut Workspace) -> Stop {
        if let Some(closed_form) = self.closed_form(q, c, v, &mut workspace.codes) {
            dispatch(closed_form);
            return Stop::Converged;
        }
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
        let scratch = self.scratch.of(self.block.version());
        let stop = match &mut workspace.sparse {
            None => problem.solve_batch(c, self.share, &mut workspace.codes, v, &scratch),
            Some(codes) => self.solve_sparse(&problem, c, codes, v, &scratch),
        };
        // Not cached for a large block: each chunk has one workspace per agent.
        if workspace.sparse.is_none() {
            workspace.scalars = recycle(scalars);
        }
        stop
    }

    /// The closed form of [`argmin`](Local::argmin) for one atom and an envelope |u|^2 / (2 a), as
    /// in the paper's experiments.
    fn closed_form<'s>(
        &'s self,
        q: f64,
        c: &'s Matrix,
        v: &'s mut Matrix,
        y: &'s mut Matrix,
    ) -> Option<loops::OneAtom<'s>> {
        if self.block.len() != 1 {
            return None;
        }
        let h = self.task.regularizer().scalar(0)?;
        let a = (self.residual.envelope()?).quadratic(1.0 / self.agents as f64, q)?;
        let (inverse, w) = (1.0 / a, self.block.atoms().column(0));
        let square = (self.block.gram()).map_or_else(|| dot(w, w), |gram| gram.get(0, 0));
        Some(loops::OneAtom {
            coordinate: Coordinate::new(0, h, inverse * square),
            w,
            inverse,
            given: Targets {
                c: c.as_slice(),
                share: self.share.map(Matrix::as_slice),
            },
            y: y.as_mut_slice(),
            v: v.as_mut_slice(),
        })
        .filter(|_| a > 0.0)
    }

    /// Solves for each column of `c`, with few codes dense at the same time.
    fn solve_sparse(
        &self,
        problem: &Coding,
        c: &Matrix,
        codes: &mut SparseCodes,
        v: &mut Matrix,
        scratch: &BlockScratch,
    ) -> Stop {
        let n = self.block.len();
        let parts = v
            .as_mut_slice()
            .par_chunks_mut(c.rows().max(1) * SOLVED_ON_DEMAND);
        let solved: Vec<(Stop, SparseCodes)> = (parts.enumerate())
            .map(|(part, v)| {
                let from = part * SOLVED_ON_DEMAND;
                let columns = from..(from + SOLVED_ON_DEMAND).min(codes.len());
                let mut y = vec![0.0; n * columns.len()];
                codes.expand(columns.clone(), n, &mut y);
                let stop = problem.solve_part(c, self.share, columns, &mut y, v, scratch);
                let mut own = SparseCodes::default();
                own.append(&y, n);
                (stop, own)
            })
            .collect();
        *codes = SparseCodes::default();
        (solved.iter()).fold(Stop::Converged, |worst, (stop, own)| {
            codes.join(own);
            worst.worse(*stop)
        })
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

/// 0..total in parts of `width`. A part of one column, whose products round differently, joins the
/// part before it.
fn parts(total: usize, width: usize) -> impl Iterator<Item = Range<usize>> {
    let count = (total / width + usize::from(total % width > 1)).max(1);
    (0..count).map(move |i| match i + 1 == count {
        true => i * width..total,
        false => i * width..(i + 1) * width,
    })
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
    /// Empty if the codes are sparse.
    codes: Matrix,
    /// The codes of a block without a stored Gram matrix.
    sparse: Option<SparseCodes>,
    /// N_k.
    atoms: usize,
    /// Empty between uses.
    scalars: Vec<&'static dyn ScalarPenalty>,
}

impl Workspace {
    /// A workspace for the samples and the block of `local`, with initial codes for
    /// [`Local::argmin`].
    pub fn new(local: &Local) -> Self {
        let mut start = vec![0.0; local.block.len()];
        start_codes(local.task.regularizer(), &mut start);
        let is_large = local.block.gram().is_none() && local.block.len() > 1;
        if is_large {
            let mut codes = SparseCodes::default();
            (0..local.samples).for_each(|_| codes.append(&start, start.len()));
            return Workspace {
                sparse: Some(codes),
                atoms: start.len(),
                ..Workspace::default()
            };
        }
        Workspace {
            codes: Matrix::from_fn(local.block.len(), local.samples, |q, _| start[q]),
            atoms: start.len(),
            ..Workspace::default()
        }
    }

    /// The most recent codes, N_k x B.
    pub fn codes(&self) -> Matrix {
        let Some(sparse) = &self.sparse else {
            return self.codes.clone();
        };
        let mut codes = Matrix::zeros(self.atoms, sparse.len());
        sparse.expand(0..sparse.len(), self.atoms, codes.as_mut_slice());
        codes
    }
}
