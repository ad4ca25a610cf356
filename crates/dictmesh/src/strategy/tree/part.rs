//! The arithmetic of one agent: its part of the gradient as integers, and its slopes.

use super::order::{exponent_of, power, Probe, Proof, Scales, POINTS};
use super::send::{error_unit, send};
use crate::exact::SOLVED_ON_DEMAND;
use crate::strategy::infeasible::parts;
use crate::strategy::integers::{width_of_sum, Integers};
use crate::strategy::Local;
use dictmesh_kernels::matrix::{axpy, dot, gemm, norm, Matrix};

/// Added to exponents, so that their sums are those of non-negative numbers.
const EXPONENT_OFFSET: i64 = 1100;
/// Bits of an exponent with that offset, and a sign.
const EXPONENT_BITS: u32 = 13;
/// Bits of a flag, and a sign.
const FLAG_BITS: u32 = 2;
/// Bits of a local cost, and a sign. Half a unit in 2^33 per agent is the error of a cost.
pub(super) const COST_BITS: u32 = 34;
/// Bits of a term of a certificate of infeasibility, and a sign.
pub(super) const PROOF_BITS: u32 = 48;
/// Flags per sample: error saturated, entries clipped, entries in the upper part of the range, a
/// part that is not finite.
const FLAGS: usize = 4;
/// A dense product is as fast as the sum of the fired atoms if one in this number fires.
const DENSE: usize = 4;

/// Bits of a slope: nine, and half of those that the rounding errors of all agents take.
pub(super) fn slope_bits(agents: usize) -> u32 {
    9 + width_of_sum(0, agents).div_ceil(2)
}

/// The samples that an agent is coding, one column each.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// nu, the same at all agents.
    pub nu: Matrix,
    /// The part as the root has it.
    known: Matrix,
    /// W_k'nu.
    s: Matrix,
    /// The search directions.
    p: Matrix,
    /// W_k'p.
    d: Matrix,
    /// Scratch: codes.
    y: Vec<f64>,
}

impl Part {
    /// From these duals, with nothing known to the root.
    pub fn new(nu: Matrix) -> Self {
        Part {
            known: Matrix::zeros(nu.rows(), nu.cols()),
            nu,
            ..Part::default()
        }
    }

    /// Removes the samples that `keep` does not name.
    pub fn retain(&mut self, keep: &[bool]) {
        retain_columns(&mut self.nu, keep);
        retain_columns(&mut self.known, keep);
        retain_columns(&mut self.s, keep);
    }

    /// The exponent of |x|_inf of each sample at the agent that has it, and whether it is not 0.
    pub fn sizes(local: &Local, out: &mut Integers) {
        let largest = |j: usize| {
            let x = local.sample(j).unwrap_or_default();
            x.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
        };
        let each: Vec<f64> = (0..local.samples).map(largest).collect();
        let exponent = |size: &f64| match *size > 0.0 {
            true => i64::from(exponent_of(*size)) + EXPONENT_OFFSET,
            false => 0,
        };
        out.clear();
        let width = width_of_sum(EXPONENT_BITS, local.agents);
        out.push(width, each.iter().map(exponent));
        let width = width_of_sum(FLAG_BITS, local.agents);
        out.push(width, each.iter().map(|size| i64::from(*size > 0.0)));
    }

    /// The bound e of |x|_inf <= 2^e for each sample, from the total of [`sizes`](Part::sizes);
    /// `None` for a zero sample.
    pub fn sizes_from(total: &[i64], samples: usize) -> Vec<Option<i32>> {
        let (exponents, counts) = total.split_at(samples.min(total.len()));
        let pairs = exponents.iter().zip(counts);
        let size =
            |(sum, count): (&i64, &i64)| (*count == 1).then(|| (sum - EXPONENT_OFFSET) as i32);
        pairs.map(size).collect()
    }

    /// W_k'nu from scratch.
    pub fn refresh(&mut self, local: &Local) {
        let atoms = local.block.atoms().view();
        self.s.reshape(local.block.len(), self.nu.cols());
        gemm(
            self.s.view_mut(),
            atoms.transpose(),
            self.nu.view(),
            1.0,
            false,
        );
    }

    /// The part W_k y_k(nu) of each sample as integers of `bits` bits, with its error, flags and
    /// local cost h*(W_k'nu). The first informed agent subtracts x and x'nu. `samples` are the
    /// columns of the batch.
    pub fn evaluate(
        &mut self,
        local: &Local,
        samples: &[usize],
        scales: &[Scales],
        bits: u32,
        out: &mut Integers,
    ) {
        let (rows, n, count) = (local.rows(), local.block.len(), samples.len());
        let h = local.task.regularizer();
        let mut narrow = Vec::with_capacity(count * (rows + 1));
        let mut flags = Vec::with_capacity(count * FLAGS);
        let mut costs = Vec::with_capacity(count);
        let mut part = Matrix::default();
        // In groups of few columns, so that the codes of large blocks stay small.
        for from in (0..count).step_by(SOLVED_ON_DEMAND) {
            let width = SOLVED_ON_DEMAND.min(count - from);
            self.y.clear();
            self.y
                .extend_from_slice(&self.s.as_slice()[from * n..(from + width) * n]);
            let codes = self.y.chunks_exact_mut(n.max(1));
            codes.for_each(|s| h.argmax(0.0, s));
            part.reshape(rows, width);
            multiply(local.block.atoms(), &self.y, &mut part);
            for i in 0..width {
                let (j, scales) = (from + i, scales[from + i]);
                let (column, nu) = (part.column_mut(i), self.nu.column(j));
                let y = &self.y[i * n..(i + 1) * n];
                let mut cost = dot(self.s.column(j), y) - h.value(y);
                if let Some(x) = local.sample(samples[j]) {
                    column.iter_mut().zip(&x).for_each(|(w, x)| *w -= x);
                    cost -= dot(&x, nu);
                }
                let known = self.known.column_mut(j);
                let sent = send(column, known, power(scales.part), bits, &mut narrow);
                let largest = ((1_i64 << (COST_BITS - 1)) - 1) as f64;
                let cost = (cost / power(scales.cost)).round();
                let saturated = sent.saturated || cost.abs() > largest;
                let trouble = !sent.finite || !cost.is_finite();
                costs.push(if trouble {
                    0.0
                } else {
                    cost.clamp(-largest, largest)
                } as i64);
                flags.extend([saturated, sent.clipped, sent.large, trouble].map(i64::from));
            }
        }
        out.clear();
        out.push(width_of_sum(bits, local.agents), narrow);
        out.push(width_of_sum(FLAG_BITS, local.agents), flags);
        out.push(width_of_sum(COST_BITS, local.agents), costs);
    }

    /// Takes the search directions, and gives y(s + t d)'d - y(s)'d of each sample at the step
    /// lengths of its grid. They are not negative, as h* is convex.
    pub fn slopes(&mut self, local: &Local, probes: &[Probe], out: &mut Integers) {
        let (n, rows) = (local.block.len(), local.rows());
        self.p.reshape(rows, probes.len());
        for (p, probe) in self.p.as_mut_slice().chunks_exact_mut(rows).zip(probes) {
            let unit = power(probe.unit);
            (p.iter_mut().zip(&probe.q)).for_each(|(p, q)| *p = unit * f64::from(*q));
        }
        self.d.reshape(n, probes.len());
        let atoms = local.block.atoms().view();
        gemm(
            self.d.view_mut(),
            atoms.transpose(),
            self.p.view(),
            1.0,
            false,
        );
        let h = local.task.regularizer();
        let bits = slope_bits(local.agents);
        let largest = ((1_i64 << bits) - 1) as f64;
        let mut slopes = Vec::with_capacity(probes.len() * POINTS);
        for (j, probe) in probes.iter().enumerate() {
            let (s, d, unit) = (self.s.column(j), self.d.column(j), power(probe.slope));
            let mut slope = |t: f64| {
                self.y.clear();
                self.y.extend(s.iter().zip(d).map(|(s, d)| s + t * d));
                h.argmax(0.0, &mut self.y);
                dot(&self.y, d)
            };
            let first = slope(0.0);
            let grown = |t: f64| ((slope(t) - first) / unit).round().clamp(0.0, largest);
            // NaN becomes 0; the evaluation that follows reports it.
            slopes.extend(probe.grid.points().map(grown).map(|slope| slope as i64));
        }
        out.clear();
        out.push(width_of_sum(bits + 1, local.agents), slopes);
    }

    /// nu <- nu + t p, projected onto the dual domain.
    pub fn step(&mut self, local: &Local, lengths: impl Iterator<Item = f64>) {
        let mut is_inside = true;
        for (j, t) in lengths.enumerate() {
            let nu = self.nu.column_mut(j);
            (nu.iter_mut().zip(self.p.column(j))).for_each(|(nu, p)| *nu += t * p);
            let before = nu.to_vec();
            local.residual.project_dual(nu);
            is_inside &= before == nu;
            let s = self.s.column_mut(j).iter_mut();
            s.zip(self.d.column(j)).for_each(|(s, d)| *s += t * d);
        }
        if !is_inside {
            self.refresh(local);
        }
    }

    /// The terms of a certificate of infeasibility, rounded to the safe side.
    pub fn prove(local: &Local, samples: &[usize], proofs: &[Option<Proof>], out: &mut Integers) {
        let largest = ((1_i64 << (PROOF_BITS - 1)) - 1) as f64;
        let mut terms = Vec::new();
        for (j, proof) in samples.iter().zip(proofs) {
            if let Some(proof) = proof {
                let (seen, support) = parts(local, &proof.direction, *j, proof.size);
                let unit = power(proof.unit);
                let seen = (seen / unit).floor().clamp(-largest, largest);
                // A support beyond the range proves nothing.
                let support = (support / unit).ceil().clamp(-largest, largest);
                terms.extend([seen as i64, support as i64]);
            }
        }
        out.clear();
        out.push(width_of_sum(PROOF_BITS, local.agents), terms);
    }
}

/// `out = W y` by the non-zero codes alone where they are few.
fn multiply(atoms: &Matrix, y: &[f64], out: &mut Matrix) {
    let (n, width) = (atoms.cols(), out.cols());
    let fired = y.iter().filter(|y| **y != 0.0).count();
    if DENSE * fired >= y.len() && n > 0 {
        let y = faer::MatRef::from_column_major_slice(y, n, width);
        return gemm(out.view_mut(), atoms.view(), y, 1.0, false);
    }
    out.as_mut_slice().fill(0.0);
    for (j, y) in y.chunks_exact(n.max(1)).enumerate() {
        let fired = y.iter().enumerate().filter(|(_, y)| **y != 0.0);
        fired.for_each(|(q, y)| axpy(*y, atoms.column(q), out.column_mut(j)));
    }
}

/// The sum over all agents of an evaluation, for one sample.
#[derive(Debug)]
pub(super) struct Evaluated<'a> {
    /// The sum of the differences in units of the entries.
    pub differences: &'a [i64],
    /// A bound of the norm of the error that remains in the sum of the parts.
    pub error: f64,
    pub clipped: bool,
    pub large: bool,
    /// Whether the part of some agent is not finite.
    pub trouble: bool,
    /// The sum of the local costs without f*.
    pub cost: f64,
}

impl<'a> Evaluated<'a> {
    /// Sample j of `count` from the total of [`Part::evaluate`].
    pub fn new(
        total: &'a [i64],
        (j, count): (usize, usize),
        rows: usize,
        scales: Scales,
        bits: u32,
    ) -> Self {
        let (narrow, rest) = total.split_at(count * (rows + 1));
        let (flags, costs) = rest.split_at(count * FLAGS);
        let own = &narrow[j * (rows + 1)..(j + 1) * (rows + 1)];
        let flags: [bool; FLAGS] = std::array::from_fn(|i| flags[j * FLAGS + i] != 0);
        let [saturated, clipped, large, trouble] = flags;
        let error = own[rows] as f64 * power(error_unit(rows, bits)) * power(scales.part);
        Evaluated {
            differences: &own[..rows],
            error: if saturated { f64::INFINITY } else { error },
            clipped,
            large,
            trouble,
            cost: costs[j] as f64 * power(scales.cost),
        }
    }
}

/// The number of integers in a total of [`Part::evaluate`] for `count` samples.
pub(super) fn evaluated_length(rows: usize, count: usize) -> usize {
    count * (rows + 1 + FLAGS + 1)
}

/// The unit of a proof: sums of terms of this magnitude stay within the range.
pub(super) fn proof_unit(size: f64, direction: &[f64], agents: usize) -> i32 {
    let bound = size * norm(direction);
    exponent_of(bound) - (PROOF_BITS as i32 - 8) + width_of_sum(0, agents) as i32
}

fn retain_columns(matrix: &mut Matrix, keep: &[bool]) {
    let rows = matrix.rows();
    let mut to = 0;
    for from in (0..matrix.cols()).filter(|j| keep.get(*j) == Some(&true)) {
        let data = matrix.as_mut_slice();
        data.copy_within(from * rows..(from + 1) * rows, to * rows);
        to += 1;
    }
    matrix.reshape(rows, to);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_removed_in_order() {
        let mut matrix = Matrix::from_fn(2, 4, |i, j| (10 * j + i) as f64);
        retain_columns(&mut matrix, &[false, true, false, true]);
        assert_eq!(matrix.as_slice(), [10.0, 11.0, 30.0, 31.0]);
    }
}
