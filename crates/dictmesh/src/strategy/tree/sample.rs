//! One sample at the root: its sums, its units and its ends.

use super::certificate::Evidence;
use super::gradient::{free_rows, gradient, is_smooth, masked};
use super::order::{exponent_of, power, Grid, Scales, Task};
use super::pairs::Pairs;
use super::reply::{Answer, Evaluated, COST_BITS};
use super::send::top;
use crate::strategy::divergence::is_beyond;
use crate::strategy::infeasible::proven;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, norm};

/// The range of the factor by which a unit follows the expected change of the gradient.
const FOLLOW: (f64, f64) = (1e-3, 20.0);
/// The factor for a unit after entries were clipped; its inverse where none was large. Entries of
/// many bits have two to spare: the factor is squared.
const CLIPPED: f64 = 2.0;
const WIDE_BITS: u32 = 8;
/// |g| relative to the sample, and to nu, below which it is rounding.
const ROUNDING: f64 = 1e-12;
/// The error of a gradient relative to it above which it is evaluated again in finer units.
const NOISE: f64 = 0.5;

/// The state of the method for one sample.
#[derive(Debug)]
pub(super) struct Sample {
    /// The magnitude of the sample: |x - W y| at the first evaluation.
    pub(super) size: f64,
    /// W y - x as the sums give it: -u.
    pub(super) total: Vec<f64>,
    /// A bound of the norm of its error.
    pub(super) error: f64,
    /// The base of the next step, and the gradient of the dual cost there.
    pub(super) nu: Vec<f64>,
    pub(super) gradient: Vec<f64>,
    pub(super) pairs: Pairs,
    /// The range of the entries of a part that the next evaluation expects.
    pub(super) reach: f64,
    pub(super) scales: Scales,
    /// The share of the next direction that is taken, below 1 after one was far too long.
    pub(super) shortened: f64,
    /// Whether entries of the last evaluation were clipped.
    pub(super) clipped: bool,
    /// Whether the error of the last total has no bound.
    pub(super) is_lost: bool,
    /// The range before nu was evaluated again at the same place, if it was.
    pub(super) held: Option<f64>,
    /// The length of the last step, and the norm of the change of the total by it.
    pub(super) length: Option<f64>,
    pub(super) change: f64,
    /// The direction as agents have it, and the share of the agents in the slope at the base.
    pub(super) p: Vec<f64>,
    pub(super) smooth: f64,
    /// The unit of the slopes, as an exponent of two.
    pub(super) slope: i32,
    pub(super) grid: Grid,
    /// The step length of the last evaluation, and the trials in succession that were too long.
    pub(super) t: f64,
    pub(super) rejected: usize,
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
            nu: nu.to_vec(),
            gradient: Vec::new(),
            pairs: Pairs::new(pairs),
            reach: power(exponent),
            scales: Scales::default(),
            shortened: 1.0,
            clipped: false,
            is_lost: false,
            held: None,
            length: None,
            change: 0.0,
            p: vec![0.0; rows],
            smooth: 0.0,
            slope: 0,
            grid: Grid::Wide,
            t: 0.0,
            rejected: 0,
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

    /// The units of an evaluation at a nu of this norm.
    pub(super) fn next_scales(&mut self, length: f64, bits: u32) -> Scales {
        let cost = self.size * length.max(f64::MIN_POSITIVE);
        self.scales = Scales {
            part: exponent_of(self.reach / top(bits)),
            // The parts of the agents may exceed their sum.
            cost: exponent_of(cost) + 2 - (COST_BITS as i32 - 1),
        };
        self.scales
    }

    /// The units of an evaluation at the step length t.
    pub(super) fn scales_at(&mut self, t: f64, bits: u32) -> Scales {
        let length = (t - self.t).abs() * norm(&self.p);
        // A quasi-Newton step is expected to take the gradient to 0, one back to undo its change.
        let expected = match self.t > 0.0 {
            true => (1.0 - t / self.t) * self.change,
            false => {
                let free = self.p.iter().map(|p| *p != 0.0).collect();
                norm(&masked(&self.gradient, &Some(free)))
            }
        };
        self.t = t;
        self.reach = self.held.take().unwrap_or(self.reach);
        if self.change > 0.0 {
            self.reach *= (expected / self.change).clamp(FOLLOW.0, FOLLOW.1);
        }
        self.length = Some(length);
        let mut end = self.nu.clone();
        axpy(t, &self.p, &mut end);
        self.next_scales(norm(&end), bits)
    }

    /// The same nu again: only the errors of the last evaluation are left to be sent.
    fn hold(&mut self, bits: u32) -> Task {
        self.held.get_or_insert(self.reach);
        if !self.clipped {
            self.reach /= top(bits);
        }
        Task::Evaluate(self.next_scales(norm(&self.nu), bits))
    }

    /// Takes the answer of all agents to a task and decides on the next one. `nu` is that of the
    /// agents. `last`: this round is the last that is allowed.
    pub(super) fn next(
        &mut self,
        local: &Local,
        nu: &[f64],
        (task, answer): (&Task, &Answer),
        (bits, last): (u32, bool),
    ) -> Task {
        if let Some(sum) = &answer.part {
            return self.evaluated(local, nu, sum, answer.slopes, (bits, last));
        }
        if let (Task::Prove(proof), [seen, support]) = (task, answer.terms) {
            let unit = power(proof.unit);
            let (seen, support) = (*seen as f64 * unit, *support as f64 * unit);
            let (residual, direction) = (local.residual, &proof.direction);
            self.infeasible = proven(residual, direction, proof.size, seen, support);
        }
        match last || self.infeasible {
            true => self.end(local),
            false if answer.slopes.is_empty() => self.proceed(local, bits),
            false => self.first_step(local, answer.slopes, bits),
        }
    }

    /// Takes the sum of an evaluation at `nu`.
    fn evaluated(
        &mut self,
        local: &Local,
        nu: &[f64],
        sum: &Evaluated,
        slopes: &[i64],
        (bits, last): (u32, bool),
    ) -> Task {
        self.add(sum, bits);
        let gradient = self.proximal(nu, gradient(local.residual, nu, &self.total));
        self.certify(local, nu, &gradient, sum);
        if last || self.certified.stop != Stop::RoundLimit {
            return self.end(local);
        }
        if let Some(t) = self.shorter(local, slopes) {
            let shift = t - self.t;
            return Task::Step(shift as f32, self.scales_at(t, bits));
        }
        self.accept(nu, gradient);
        if local.residual.can_be_infeasible() {
            if let Some(proof) = self.proof(local) {
                return Task::Prove(proof);
            }
        }
        self.proceed(local, bits)
    }

    /// Adds the differences to the total; the unit of the next ones follows.
    fn add(&mut self, sum: &Evaluated, bits: u32) {
        let unit = power(self.scales.part);
        let square = |d: &i64| (*d as f64) * (*d as f64);
        let change = unit * sum.differences.iter().map(square).sum::<f64>().sqrt();
        if self.held.is_none() {
            self.change = change;
        }
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
            self.reach *= match bits >= WIDE_BITS {
                true => CLIPPED * CLIPPED,
                false => CLIPPED,
            };
        } else if !sum.large && self.held.is_none() {
            self.reach /= CLIPPED;
        }
    }

    fn certify(&mut self, local: &Local, nu: &[f64], gradient: &[f64], sum: &Evaluated) {
        let residual = local.residual;
        let u: Vec<f64> = self.total.iter().map(|total| 0.0 - total).collect();
        // Of the problem itself, which has no proximal term where this is used.
        let free = free_rows(residual, nu, gradient);
        let distance = is_smooth(residual, nu).then(|| norm(&masked(gradient, &free)));
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

    /// nu becomes the base of the next step.
    fn accept(&mut self, nu: &[f64], gradient: Vec<f64>) {
        if !self.gradient.is_empty() {
            let apart =
                |new: &[f64], old: &[f64]| new.iter().zip(old).map(|(a, b)| a - b).collect();
            let pair = (apart(nu, &self.nu), apart(&gradient, &self.gradient));
            self.pairs.push(pair.0, pair.1);
        }
        self.gradient = gradient;
        self.nu.copy_from_slice(nu);
        self.t = 0.0;
    }

    /// The next step of a sample that has not ended.
    pub(super) fn proceed(&mut self, local: &Local, bits: u32) -> Task {
        if self.is_noise(local) {
            return self.hold(bits);
        }
        if let Some(task) = self.direction(local, bits) {
            return task;
        }
        // No direction of descent is left: either the rest is rounding, or the gradient is smaller
        // than the error that is left at the agents.
        if self.error > ROUNDING * self.size {
            return self.hold(bits);
        }
        if self.is_rounding() {
            self.certified.stop = Stop::Converged;
        }
        self.end(local)
    }

    /// Whether the error of the gradient is too large for a direction. One that has no bound is
    /// mostly that of few entries, and the next evaluation sends them; it is accepted once where f*
    /// is curved.
    fn is_noise(&mut self, local: &Local) -> bool {
        let was_lost = std::mem::replace(&mut self.is_lost, !self.error.is_finite());
        if self.is_lost {
            return was_lost || local.residual.conjugate_curvature() == 0.0;
        }
        // The errors of the agents are independent of each other: they rarely add up to their
        // bound.
        let agents = (local.agents as f64).sqrt();
        self.error > (NOISE * agents * norm(&self.gradient)).max(ROUNDING * self.size)
    }

    /// The result of the sample.
    fn end(&mut self, local: &Local) -> Task {
        if self.infeasible {
            self.certified.stop = Stop::Infeasible;
        }
        // Without a tolerance, all rounds run as far as they change anything.
        if self.certified.stop == Stop::Converged && local.tolerance.is_none() {
            self.certified.stop = Stop::RoundLimit;
        }
        Task::End(self.certified)
    }

    /// Whether the gradient is not distinguishable from 0.
    fn is_rounding(&self) -> bool {
        norm(&self.gradient) + self.error <= ROUNDING * self.size
    }
}
