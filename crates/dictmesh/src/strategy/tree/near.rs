//! Products with the atoms, of those that can fire alone.
//!
//! An atom w has a zero code while w'nu stays strictly within an interval (lo, hi). With w'c at a
//! centre c, this holds for all nu within the distance r of c if lo < w'c - r|w| and
//! w'c + r|w| < hi. The length of all steps since c bounds that distance. Steps shorten, so that
//! after some rounds few atoms are left to be multiplied.
//! Results are those of all atoms: the others have zero codes and zero slopes.

use super::common::Path;
use crate::strategy::Local;
use dictmesh_kernels::matrix::{axpy, dot, gemm, norm, Matrix};

/// The distance that a list of atoms allows, in lengths of the step for which it is made.
const STEPS: f64 = 6.0;
/// A list of more than one in this number of atoms is slower than a product with all.
const LISTED: usize = 4;
/// Covers the rounding of the bounds, and of sums of lengths.
const SAFETY: f64 = 1.0 + 1e-6;
const ROUNDING: f64 = 1e-12;

/// The atoms of an agent whose codes have an interval of zeros each.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    lo: Vec<f64>,
    hi: Vec<f64>,
    norms: Vec<f64>,
}

impl Intervals {
    /// `None` if the regularizer is not separable or states no interval.
    pub fn new(local: &Local) -> Option<Self> {
        let (h, atoms) = (local.task.regularizer(), local.block.atoms());
        let mut intervals = Intervals::default();
        for (q, atom) in atoms.columns().enumerate() {
            let (lo, hi) = h.scalar(q)?.subgradient_at_zero()?;
            intervals.lo.push(lo);
            intervals.hi.push(hi);
            intervals.norms.push(norm(atom));
        }
        Some(intervals)
    }

    /// Whether the code of atom q at w'nu = s is 0. Not for NaN.
    pub fn is_zero(&self, q: usize, s: f64) -> bool {
        self.lo[q] <= s && s <= self.hi[q]
    }

    /// The atoms that may fire within the distance `radius` of the nu of these products.
    fn listed(&self, s: &[f64], radius: f64) -> Vec<u32> {
        let radius = SAFETY * radius;
        let is_listed = |q: &usize| {
            let reach = radius * self.norms[*q];
            !(self.lo[*q] < s[*q] - reach && s[*q] + reach < self.hi[*q])
        };
        (0..s.len()).filter(is_listed).map(|q| q as u32).collect()
    }
}

/// W_k'nu and W_k'p of one sample.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// W_k'nu and W_k'p, of the listed atoms if there is a list.
    pub s: Vec<f64>,
    pub d: Vec<f64>,
    near: Option<Near>,
}

/// The atoms that may fire within a distance of a centre.
#[derive(Debug)]
struct Near {
    atoms: Vec<u32>,
    /// The length of all steps before that centre.
    moved: f64,
    radius: f64,
}

impl Products {
    /// For `atoms` atoms at nu = 0.
    pub fn new(atoms: usize) -> Self {
        Products {
            s: vec![0.0; atoms],
            d: vec![0.0; atoms],
            near: None,
        }
    }

    /// Calls `work` for every atom that may have a code other than 0 at nu or along p.
    pub fn each(&self, mut work: impl FnMut(usize)) {
        match &self.near {
            Some(near) => near.atoms.iter().for_each(|q| work(*q as usize)),
            None => (0..self.s.len()).for_each(work),
        }
    }

    /// W_k'(nu + t p) from W_k'nu.
    pub fn step(&mut self, t: f64) {
        match &self.near {
            Some(near) => {
                let atoms = near.atoms.iter().map(|q| *q as usize);
                atoms.for_each(|q| self.s[q] += t * self.d[q]);
            }
            None => axpy(t, &self.d, &mut self.s),
        }
    }

    /// Whether the list of atoms holds from the base of this path to its base + reach p.
    fn holds(&self, path: &Path, reach: f64) -> bool {
        self.near.as_ref().is_some_and(|near| {
            // No point of the step is farther from the centre than this.
            let since = path.before - near.moved + ROUNDING * path.before;
            SAFETY * (since + reach * path.length) <= near.radius
        })
    }

    /// A list of atoms around the base of this path, from the products with all.
    fn list(&mut self, intervals: &Intervals, path: &Path, reach: f64) {
        let radius = STEPS * reach * path.length;
        let atoms = intervals.listed(&self.s, radius);
        if LISTED * atoms.len() <= self.s.len() {
            let moved = path.before;
            self.near = Some(Near {
                atoms,
                moved,
                radius,
            });
        }
    }

    fn multiply_listed(&mut self, atoms: &Matrix, p: &[f64]) {
        if let Some(near) = &self.near {
            for q in near.atoms.iter().map(|q| *q as usize) {
                self.d[q] = dot(atoms.column(q), p);
            }
        }
    }
}

/// W_k'nu of the samples that `which` names (index, column of nu), from scratch.
pub(super) fn refresh(each: &mut [Products], local: &Local, nu: &Matrix, which: &[(usize, usize)]) {
    let columns = which.iter().map(|(_, j)| nu.column(*j));
    let products = multiply(local.block.atoms(), columns, which.len());
    for ((i, _), s) in which.iter().zip(products.columns()) {
        each[*i].s.copy_from_slice(s);
        each[*i].near = None;
    }
}

/// W_k'p of the samples that `which` names (index, column of nu, longest step in units of p), of
/// all atoms that may fire along the way. `nu` is that of the bases.
pub(super) fn along(
    each: &mut [Products],
    local: &Local,
    intervals: Option<&Intervals>,
    (nu, paths): (&Matrix, &[Path]),
    which: &[(usize, usize, f64)],
) {
    let atoms = local.block.atoms();
    let left = which.iter().copied();
    let left = left.filter(|(i, _, reach)| !each[*i].holds(&paths[*i], *reach));
    let left: Vec<_> = left.collect();
    let stale = left.iter().filter(|(i, ..)| each[*i].near.is_some());
    let stale: Vec<_> = stale.map(|(i, j, _)| (*i, *j)).collect();
    refresh(each, local, nu, &stale);
    if let Some(intervals) = intervals {
        (left.iter()).for_each(|(i, _, reach)| each[*i].list(intervals, &paths[*i], *reach));
    }
    let all = which.iter().map(|(i, ..)| *i);
    let (listed, dense): (Vec<_>, Vec<_>) = all.partition(|i| each[*i].near.is_some());
    (listed.iter()).for_each(|i| each[*i].multiply_listed(atoms, &paths[*i].p));
    let columns = dense.iter().map(|i| &paths[*i].p[..]);
    let products = multiply(atoms, columns, dense.len());
    for (i, d) in dense.iter().zip(products.columns()) {
        each[*i].d.copy_from_slice(d);
    }
}

/// W_k' times these columns.
fn multiply<'a>(atoms: &Matrix, columns: impl Iterator<Item = &'a [f64]>, count: usize) -> Matrix {
    let mut right = Matrix::zeros(atoms.rows(), count);
    let mut out = Matrix::zeros(atoms.cols(), count);
    if count == 0 {
        return out;
    }
    (0..count)
        .zip(columns)
        .for_each(|(j, from)| right.column_mut(j).copy_from_slice(from));
    gemm(
        out.view_mut(),
        atoms.view().transpose(),
        right.view(),
        1.0,
        false,
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_that_a_bound_cannot_exclude_are_listed() {
        let intervals = Intervals {
            lo: vec![-1.0, f64::NEG_INFINITY, -1.0, -1.0],
            hi: vec![1.0; 4],
            norms: vec![1.0, 1.0, 2.0, 1.0],
        };
        let s = [0.4, -9.0, 0.0, f64::NAN];
        assert_eq!(intervals.listed(&s, 0.5), [2, 3]);
        assert_eq!(intervals.listed(&s, 0.7), [0, 2, 3]);
        assert!(!intervals.is_zero(3, f64::NAN) && intervals.is_zero(1, -9.0));
    }
}
