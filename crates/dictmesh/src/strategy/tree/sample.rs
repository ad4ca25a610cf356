//! One sample at the root: its sums, its units and its ends.

use super::certificate::Evidence;
use super::gradient::{free_rows, gradient, is_smooth, masked};
use super::order::{exponent_of, power, Grid, Probe, Scales};
use super::pairs::Pairs;
use super::part::{Evaluated, COST_BITS};
use super::send::top;
use crate::strategy::divergence::is_beyond;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, norm};

/// The range of the factor by which a unit follows the length of a step.
const FOLLOW: (f64, f64) = (0.05, 20.0);
/// The factor for a unit after entries were clipped; its inverse where none was large.
const CLIPPED: f64 = 2.0;
/// |g| relative to the sample, and to nu, below which it is rounding.
const ROUNDING: f64 = 1e-12;

/// The state of the method for one sample.
#[derive(Debug)]
pub(super) struct Sample {
    /// The magnitude of the sample: |x - W y| at the first evaluation.
    pub(super) size: f64,
    /// W y - x as the sums give it: -u.
    pub(super) total: Vec<f64>,
    /// A bound of the norm of its error.
    pub(super) error: f64,
    /// The gradient of the dual cost, and nu, at the last evaluation.
    pub(super) gradient: Vec<f64>,
    pub(super) nu: Vec<f64>,
    pub(super) pairs: Pairs,
    /// The range of the entries of a part that the next evaluation expects.
    pub(super) reach: f64,
    pub(super) scales: Scales,
    /// The share of the next direction that is taken, below 1 after one was far too long.
    pub(super) shortened: f64,
    /// Whether entries of the last evaluation were clipped.
    pub(super) clipped: bool,
    /// The range before nu was evaluated again at the same place, if it was.
    pub(super) held: Option<f64>,
    /// The length of the last step.
    pub(super) length: Option<f64>,
    /// The direction as it was sent.
    pub(super) p: Vec<f64>,
    pub(super) grid: Grid,
    pub(super) slope: i32,
    pub(super) certified: Certified,
    /// The proximal term weight/2 |nu - centre|^2 of a sample that may be infeasible, whose nu
    /// would grow without bound; otherwise the weight is 0.
    pub(super) centre: Vec<f64>,
    pub(super) weight: f64,
    /// The length of the last proximal step, and whether the next one is to certify infeasibility.
    pub(super) moved: f64,
    pub(super) is_suspect: bool,
    pub(super) infeasible: bool,
}

impl Sample {
    /// For a sample with |x|_inf <= 2^e (`None`: x = 0), from the dual `nu`.
    pub(super) fn new(size: Option<i32>, nu: &[f64], pairs: usize, weight: f64) -> Self {
        let (rows, exponent) = (nu.len(), size.unwrap_or(0));
        Sample {
            size: size.map_or(0.0, power),
            total: vec![0.0; rows],
            error: 0.0,
            gradient: Vec::new(),
            nu: nu.to_vec(),
            pairs: Pairs::new(pairs),
            reach: power(exponent),
            scales: Scales::default(),
            shortened: 1.0,
            clipped: false,
            held: None,
            length: None,
            p: vec![0.0; rows],
            grid: Grid::Wide,
            slope: 0,
            certified: Certified {
                cost: 0.0,
                gap: f64::INFINITY,
                violation: 0.0,
                stop: Stop::RoundLimit,
            },
            centre: nu.to_vec(),
            weight,
            moved: f64::INFINITY,
            is_suspect: false,
            infeasible: false,
        }
    }

    /// The units of the next evaluation.
    pub(super) fn next_scales(&mut self, bits: u32) -> Scales {
        let cost = self.size * norm(&self.nu).max(f64::MIN_POSITIVE);
        self.scales = Scales {
            part: exponent_of(self.reach / top(bits)),
            // The parts of the agents may exceed their sum.
            cost: exponent_of(cost) + 2 - (COST_BITS as i32 - 1),
        };
        self.scales
    }

    /// As [`next_scales`](Sample::next_scales), after a step of length t.
    pub(super) fn next_scales_after(&mut self, t: f32, bits: u32) -> Scales {
        let length = f64::from(t) * norm(&self.p);
        if length == 0.0 {
            // The same nu again: only the errors of the last evaluation are left to be sent.
            self.held.get_or_insert(self.reach);
            if !self.clipped {
                self.reach /= top(bits);
            }
            return self.next_scales(bits);
        }
        self.reach = self.held.take().unwrap_or(self.reach);
        if let Some(last) = self.length.filter(|last| *last > 0.0) {
            self.reach *= (length / last).clamp(FOLLOW.0, FOLLOW.1);
        }
        self.length = Some(length);
        axpy(t.into(), &self.p, &mut self.nu); // for the unit of the cost
        let scales = self.next_scales(bits);
        axpy(-f64::from(t), &self.p, &mut self.nu);
        scales
    }

    /// Takes the sum of an evaluation at `nu`.
    pub(super) fn evaluated(&mut self, local: &Local, nu: &[f64], sum: &Evaluated) {
        let residual = local.residual;
        let unit = power(self.scales.part);
        for (total, difference) in self.total.iter_mut().zip(sum.differences) {
            *total += unit * *difference as f64;
        }
        let length = norm(&self.total);
        if self.gradient.is_empty() {
            self.size = self.size.max(length);
        }
        // Rounding of the agents' own sums and of those here.
        self.error = sum.error + f64::EPSILON * self.size.max(length);
        self.clipped = sum.clipped;
        if sum.clipped {
            self.reach *= CLIPPED;
        } else if !sum.large && self.held.is_none() {
            self.reach /= CLIPPED;
        }
        let gradient = self.proximal(nu, gradient(residual, nu, &self.total));
        if !self.gradient.is_empty() {
            let s: Vec<f64> = nu
                .iter()
                .zip(&self.nu)
                .map(|(new, old)| new - old)
                .collect();
            let y: Vec<f64> = (gradient.iter().zip(&self.gradient))
                .map(|(new, old)| new - old)
                .collect();
            self.pairs.push(s, y);
        }
        self.gradient = gradient;
        self.nu.copy_from_slice(nu);
        let u: Vec<f64> = self.total.iter().map(|total| 0.0 - total).collect();
        // Of the problem itself, which has no proximal term where this is used.
        let free = free_rows(residual, nu, &self.gradient);
        let distance = is_smooth(residual, nu).then(|| norm(&masked(&self.gradient, &free)));
        self.certified = Evidence {
            residual,
            nu,
            u: &u,
            error: self.error,
            gradient: distance,
            cost: 0.0 - (residual.conjugate(nu) + sum.cost),
            size: self.size,
        }
        .certify(local.tolerance);
        let delta = local.task.regularizer().strong_convexity();
        if !(self.size * self.size).is_finite() {
            self.certified.cost = f64::NEG_INFINITY; // overflows, as the cost of other strategies
            self.certified.stop = Stop::Diverged;
        }
        if sum.trouble || is_beyond(nu, self.size, delta) {
            self.certified.stop = Stop::Diverged;
        }
    }

    /// The result of the sample if it ends, otherwise its next direction.
    pub(super) fn next(&mut self, local: &Local, last: bool) -> (Option<Certified>, Option<Probe>) {
        if self.infeasible {
            self.certified.stop = Stop::Infeasible;
        }
        // Without a tolerance, all rounds run as far as they change anything.
        let met = self.certified.stop == Stop::Converged;
        if last || self.certified.stop != Stop::RoundLimit {
            let stop = match met && local.tolerance.is_none() {
                true => Stop::RoundLimit,
                false => self.certified.stop,
            };
            return (
                Some(Certified {
                    stop,
                    ..self.certified
                }),
                None,
            );
        }
        if let Some(probe) = self.direction(local) {
            return (None, Some(probe));
        }
        // No direction of descent is left: either the rest is rounding, or the gradient is smaller
        // than the error that is left at the agents.
        if self.error > ROUNDING * self.size {
            return (None, Some(self.hold()));
        }
        let stop = match local.tolerance.is_some() && self.is_rounding() {
            true => Stop::Converged,
            false => Stop::RoundLimit,
        };
        let certified = Certified {
            stop,
            ..self.certified
        };
        (Some(certified), None)
    }

    /// Whether the gradient is not distinguishable from 0.
    pub(super) fn is_rounding(&self) -> bool {
        norm(&self.gradient) + self.error <= ROUNDING * self.size
    }
}
