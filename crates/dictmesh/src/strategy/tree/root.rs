//! The root: one quasi-Newton method per sample, on sums over all agents.
//!
//! The root alone decides on directions, step lengths, units, restarts and ends, so that agents on
//! different processors cannot disagree.

use super::order::{power, Order, Probe, Proof, POINTS};
use super::part::{evaluated_length, Evaluated};
use super::proximal::first_weight;
use super::sample::Sample;
use crate::strategy::infeasible::proven;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::Matrix;
use rayon::prelude::*;

/// Pairs per sample where memory allows. More help only residuals without curvature.
const PAIRS: usize = 60;
/// The least number of pairs; a batch is coded in parts where memory has no room for them.
const LEAST_PAIRS: usize = 8;
/// Bytes for the pairs of all samples that are coded together.
const PAIR_MEMORY: usize = 256 << 20;

/// How many samples are coded together, and the pairs of each, for M rows.
pub(super) fn capacity(rows: usize, samples: usize) -> (usize, usize) {
    let pair = 16 * rows.max(1);
    let window = (PAIR_MEMORY / (pair * LEAST_PAIRS)).clamp(1, samples.max(1));
    let pairs = (PAIR_MEMORY / (pair * window)).clamp(LEAST_PAIRS, PAIRS);
    (window, pairs)
}

/// The state of the root for the samples that are being coded.
#[derive(Debug)]
pub(super) struct Root {
    bits: u32,
    samples: Vec<Sample>,
    /// Rounds of these samples.
    rounds: usize,
}

impl Root {
    /// For samples with |x|_inf <= 2^e (`None`: x = 0) and their duals.
    pub fn new(
        local: &Local,
        (bits, pairs): (u32, usize),
        sizes: &[Option<i32>],
        nu: &Matrix,
    ) -> Self {
        let weight = first_weight(local);
        let sample = |(size, nu): (&Option<i32>, &[f64])| Sample::new(*size, nu, pairs, weight);
        Root {
            bits,
            samples: sizes.iter().zip(nu.columns()).map(sample).collect(),
            rounds: 0,
        }
    }

    /// The first order for these samples.
    pub fn evaluate(&mut self) -> Order {
        let bits = self.bits;
        let each = self.samples.iter_mut();
        Order::Evaluate(each.map(|sample| sample.next_scales(bits)).collect())
    }

    /// Takes the sum of an evaluation at `nu`. `last`: this round is the last that is allowed.
    pub fn evaluated(&mut self, local: &Local, nu: &Matrix, total: &[i64], last: bool) -> Order {
        self.rounds += 1;
        let (bits, count, rows) = (self.bits, self.samples.len(), nu.rows());
        if total.len() != evaluated_length(rows, count) {
            return self.end(Stop::Diverged); // the carrier checks layouts
        }
        let each = self.samples.par_iter_mut().enumerate();
        each.for_each(|(j, sample)| {
            let sum = Evaluated::new(total, (j, count), rows, sample.scales, bits);
            sample.evaluated(local, nu.column(j), &sum);
        });
        if local.residual.can_be_infeasible() {
            let proofs: Vec<_> = self.samples.iter_mut().map(|s| s.proof(local)).collect();
            if proofs.iter().any(Option::is_some) {
                return Order::Prove(proofs);
            }
        }
        self.next(local, last)
    }

    /// Takes the terms of the certificates of infeasibility.
    pub fn tried(
        &mut self,
        local: &Local,
        proofs: &[Option<Proof>],
        total: &[i64],
        last: bool,
    ) -> Order {
        let mut terms = total.chunks_exact(2);
        for (sample, proof) in self.samples.iter_mut().zip(proofs) {
            if let (Some(proof), Some([seen, support])) =
                (proof, proof.as_ref().and_then(|_| terms.next()))
            {
                let unit = power(proof.unit);
                let (seen, support) = (*seen as f64 * unit, *support as f64 * unit);
                let direction = &proof.direction;
                sample.infeasible = proven(local.residual, direction, proof.size, seen, support);
            }
        }
        self.next(local, last)
    }

    /// Ends samples, and gives the others a direction.
    fn next(&mut self, local: &Local, last: bool) -> Order {
        let each = self.samples.par_iter_mut();
        let each: Vec<(Option<Certified>, Option<Probe>)> =
            each.map(|sample| sample.next(local, last)).collect();
        let (ended, probes): (Vec<_>, Vec<_>) = each.into_iter().unzip();
        let mut left = ended.iter().map(Option::is_none);
        self.samples.retain(|_| left.next() == Some(true));
        Order::Next {
            ended,
            probes: probes.into_iter().flatten().collect(),
        }
    }

    /// Ends all samples.
    fn end(&mut self, stop: Stop) -> Order {
        let ended = self.samples.drain(..).map(|sample| {
            Some(Certified {
                stop,
                ..sample.certified
            })
        });
        Order::Next {
            ended: ended.collect(),
            probes: Vec::new(),
        }
    }

    /// Takes the sum of the slopes, and decides on the lengths of the steps.
    pub fn stepped(&mut self, local: &Local, total: &[i64]) -> Order {
        let bits = self.bits;
        let slopes = total.chunks_exact(POINTS);
        let each = self.samples.par_iter_mut().zip(slopes.collect::<Vec<_>>());
        let each = each.map(|(sample, slopes)| {
            let t = sample.step_length(local, slopes);
            (t, sample.next_scales_after(t, bits))
        });
        Order::Step(each.collect())
    }
}
