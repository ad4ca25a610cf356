//! The root: one quasi-Newton method per sample, on sums over all agents.
//!
//! The root alone decides on directions, step lengths, units, restarts and ends, so that agents on
//! different processors cannot disagree.

use super::certificate::Evidence;
use super::order::{exponent_of, power, Grid, Order, Probe, Proof, Scales, POINTS};
use super::pairs::Pairs;
use super::part::{evaluated_length, proof_unit, slope_bits, Evaluated, COST_BITS};
use crate::problem::residual::Residual;
use crate::strategy::divergence::is_beyond;
use crate::strategy::infeasible::proven;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};
use rayon::prelude::*;

/// Pairs per sample where memory allows. More help only residuals without curvature.
const PAIRS: usize = 60;
/// The least number of pairs; a batch is coded in parts where memory has no room for them.
const LEAST_PAIRS: usize = 8;
/// Bytes for the pairs of all samples that are coded together.
const PAIR_MEMORY: usize = 256 << 20;
/// The range of the factor by which a unit follows the length of a step.
const FOLLOW: (f64, f64) = (0.05, 20.0);
/// The factor for a unit after entries were clipped; its inverse where none was large.
const CLIPPED: f64 = 2.0;
/// The first and the last weight of the proximal term, in units of 1/delta; each is a tenth of the
/// one before.
const WEIGHTS: (f64, f64) = (1e-2, 1e-5);
/// The gradient at which a proximal point is taken, relative to that of the proximal term.
const PROXIMAL_GRADIENT: f64 = 0.1;
/// The same relative to |x - W y|, where the step is to certify infeasibility.
const PROOF_GRADIENT: f64 = 1e-6;
/// |g| relative to the sample below which a step changes nothing.
const STILL: f64 = 1e-15;
/// |g| relative to the sample, and to nu, below which it is rounding.
const ROUNDING: f64 = 1e-12;

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

#[derive(Debug)]
struct Sample {
    /// The magnitude of the sample: |x - W y| at the first evaluation.
    size: f64,
    /// W y - x as the sums give it: -u.
    total: Vec<f64>,
    /// A bound of the norm of its error.
    error: f64,
    /// The gradient of the dual cost, and nu, at the last evaluation.
    gradient: Vec<f64>,
    nu: Vec<f64>,
    pairs: Pairs,
    /// The range of the entries of a part that the next evaluation expects.
    reach: f64,
    scales: Scales,
    /// The length of the last step.
    length: Option<f64>,
    /// The direction as it was sent.
    p: Vec<f64>,
    grid: Grid,
    slope: i32,
    certified: Certified,
    /// The proximal term weight/2 |nu - centre|^2 of a sample that may be infeasible, whose nu
    /// would grow without bound; otherwise the weight is 0.
    centre: Vec<f64>,
    weight: f64,
    /// The length of the last proximal step, and whether the next one is to certify infeasibility.
    moved: f64,
    is_suspect: bool,
    infeasible: bool,
}

impl Root {
    /// For samples with |x|_inf <= 2^e (`None`: x = 0) and their duals.
    pub fn new(
        local: &Local,
        (bits, pairs): (u32, usize),
        sizes: &[Option<i32>],
        nu: &Matrix,
    ) -> Self {
        let rows = nu.rows();
        let weight = match local.residual.can_be_infeasible() {
            true => WEIGHTS.0 / local.task.regularizer().strong_convexity(),
            false => 0.0,
        };
        let sample = |(size, nu): (&Option<i32>, &[f64])| {
            let exponent = size.unwrap_or(0);
            Sample {
                size: size.map_or(0.0, power),
                total: vec![0.0; rows],
                error: 0.0,
                gradient: Vec::new(),
                nu: nu.to_vec(),
                pairs: Pairs::new(pairs),
                reach: power(exponent),
                scales: Scales::default(),
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
        };
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
            let t = sample.step_length(local.residual, slopes);
            (t, sample.next_scales_after(t, bits))
        });
        Order::Step(each.collect())
    }
}

impl Sample {
    /// The units of the next evaluation.
    fn next_scales(&mut self, bits: u32) -> Scales {
        let top = ((1_i64 << (bits - 1)) - 1) as f64;
        let cost = self.size * norm(&self.nu).max(f64::MIN_POSITIVE);
        self.scales = Scales {
            part: exponent_of(self.reach / top),
            // The parts of the agents may exceed their sum.
            cost: exponent_of(cost) + 2 - (COST_BITS as i32 - 1),
        };
        self.scales
    }

    /// As [`next_scales`](Sample::next_scales), after a step of length t.
    fn next_scales_after(&mut self, t: f32, bits: u32) -> Scales {
        let length = f64::from(t) * norm(&self.p);
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
    fn evaluated(&mut self, local: &Local, nu: &[f64], sum: &Evaluated) {
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
        if sum.clipped {
            self.reach *= CLIPPED;
        } else if !sum.large {
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
        if sum.trouble || is_beyond(nu, self.size, delta) {
            self.certified.stop = Stop::Diverged;
        }
    }

    /// The gradient at nu with that of the proximal term.
    fn proximal(&self, nu: &[f64], mut gradient: Vec<f64>) -> Vec<f64> {
        if self.weight > 0.0 {
            axpy(self.weight, nu, &mut gradient);
            axpy(-self.weight, &self.centre, &mut gradient);
        }
        gradient
    }

    /// Moves the centre of the proximal term to nu and changes its weight; the gradient follows.
    fn recentre(&mut self, weight: f64) {
        axpy(-self.weight, &self.nu, &mut self.gradient);
        axpy(self.weight, &self.centre, &mut self.gradient);
        self.centre.copy_from_slice(&self.nu); // where the gradient of the new term is 0
        self.weight = weight;
    }

    /// Takes a proximal point once the gradient is small there. Proximal steps shorten where the
    /// sample has a solution. One that does not is solved precisely and returned as a direction for
    /// a certificate of infeasibility: W'd is then almost 0, and d'x is not.
    fn proof(&mut self, local: &Local) -> Option<Proof> {
        if self.certified.stop != Stop::RoundLimit {
            return None;
        }
        let direction: Vec<f64> = (self.nu.iter().zip(&self.centre))
            .map(|(new, old)| new - old)
            .collect();
        let moved = norm(&direction);
        let allowed = match self.is_suspect {
            true => PROOF_GRADIENT * norm(&self.total),
            false => PROXIMAL_GRADIENT * self.weight * moved,
        };
        if norm(&self.gradient) + self.error > allowed {
            return None;
        }
        if !self.is_suspect && moved >= self.moved {
            self.is_suspect = true;
            return None;
        }
        let is_suspect = std::mem::take(&mut self.is_suspect);
        self.moved = moved;
        let least = WEIGHTS.1 / local.task.regularizer().strong_convexity();
        self.recentre((0.1 * self.weight).max(least));
        if !is_suspect {
            return None;
        }
        let unit = proof_unit(self.size, &direction, local.agents);
        let size = self.size;
        (norm(&direction) > 0.0).then_some(Proof {
            size,
            unit,
            direction,
        })
    }

    /// The result of the sample if it ends, otherwise its next direction.
    fn next(&mut self, local: &Local, last: bool) -> (Option<Certified>, Option<Probe>) {
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
        match self.direction(local) {
            Some(probe) => (None, Some(probe)),
            // No direction of descent is left. If the gradient is rounding, the sample is solved.
            None => {
                let is_solved = local.tolerance.is_some() && self.is_rounding();
                let stop = match is_solved {
                    true => Stop::Converged,
                    false => Stop::RoundLimit,
                };
                let certified = Certified {
                    stop,
                    ..self.certified
                };
                (Some(certified), None)
            }
        }
    }

    /// Whether the gradient is not distinguishable from 0.
    fn is_rounding(&self) -> bool {
        norm(&self.gradient) + self.error <= ROUNDING * self.size
    }

    /// The next direction: quasi-Newton where f* is smooth, otherwise a proximal gradient step.
    fn direction(&mut self, local: &Local) -> Option<Probe> {
        let residual = local.residual;
        if norm(&self.gradient) + self.error <= STILL * self.size {
            return None;
        }
        let newton = is_smooth(residual, &self.nu)
            .then(|| self.quasi_newton(residual))
            .and_then(|(target, is_bounded)| self.towards(residual, &target, is_bounded, local));
        newton.or_else(|| {
            self.pairs.clear();
            let target = self.proximal_target(residual);
            self.towards(residual, &target, true, local)
        })
    }

    /// The projection of nu - H g onto the dual domain, and whether it changed a row.
    fn quasi_newton(&self, residual: &dyn Residual) -> (Vec<f64>, bool) {
        let free = free_rows(residual, &self.nu, &self.gradient);
        let mut target = self.pairs.direction(&self.gradient, free.as_deref());
        axpy(1.0, &self.nu, &mut target);
        let inside = target.clone();
        residual.project_dual(&mut target);
        let is_bounded = inside != target;
        (target, is_bounded)
    }

    /// The proximal gradient step with the length of the last one: a descent direction for every
    /// residual.
    fn proximal_target(&self, residual: &dyn Residual) -> Vec<f64> {
        let slope = norm(&self.total).max(f64::MIN_POSITIVE);
        let tau = match self.length {
            Some(length) if length > 0.0 => length / slope,
            _ => 1.0,
        };
        let mut target = self.nu.clone();
        axpy(-tau, &self.total, &mut target);
        residual.conjugate_prox(tau, &mut target);
        target
    }

    /// The direction to `target` as integers; `None` if it does not descend.
    fn towards(
        &mut self,
        residual: &dyn Residual,
        target: &[f64],
        is_bounded: bool,
        local: &Local,
    ) -> Option<Probe> {
        let top = (1_i64 << (super::DIRECTION_BITS - 1)) - 1;
        let apart = |m: usize| target[m] - self.nu[m];
        let most = (0..target.len()).fold(0.0, |most: f64, m| most.max(apart(m).abs()));
        if !(most > 0.0 && most.is_finite()) {
            return None;
        }
        let unit = exponent_of(most / top as f64);
        let (scale, mut beyond) = (power(unit), target.to_vec());
        // A row that ends at its bound must reach it, so its entry is rounded away from 0; the
        // projection of the step takes back the excess.
        if is_bounded {
            (beyond.iter_mut().zip(&self.nu)).for_each(|(to, nu)| *to += *to - nu);
            residual.project_dual(&mut beyond);
        }
        let entry = |m: usize| {
            let exact = apart(m) / scale;
            let is_bound = is_bounded && exact != 0.0 && beyond[m] == target[m];
            let rounded = match is_bound {
                true => exact.abs().ceil().copysign(exact),
                false => exact.round_ties_even(),
            };
            rounded.clamp(-top as f64, top as f64) as i32
        };
        let q: Vec<i32> = (0..target.len()).map(entry).collect();
        (self.p.iter_mut().zip(&q)).for_each(|(p, q)| *p = scale * f64::from(*q));
        let slope = self.slope_at(residual, 0.0);
        // Not above 0, and not NaN.
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        self.grid = match (is_bounded, self.pairs.is_empty()) {
            (_, true) => Grid::Wide,
            (true, false) => Grid::Bounded,
            (false, false) => Grid::Near,
        };
        // Slopes up to twice that at 0 are within the range; beyond its zero none is needed.
        self.slope = exponent_of(slope) + 1 - slope_bits(local.agents) as i32;
        Some(Probe {
            grid: self.grid,
            unit,
            slope: self.slope,
            q,
        })
    }

    /// The slope at t of the dual cost along p, with the agents' part at t = 0.
    fn slope_at(&self, residual: &dyn Residual, t: f64) -> f64 {
        let smooth = dot(&self.total, &self.p);
        if let Some(c) = residual.conjugate_quadratic() {
            let square = dot(&self.p, &self.p);
            let own = c * (dot(&self.nu, &self.p) + t * square);
            return smooth + own + self.proximal_slope(t, square);
        }
        // f* along p by a one-sided difference: f* may have no gradient at nu.
        let at = |t: f64| {
            let mut nu = self.nu.clone();
            axpy(t, &self.p, &mut nu);
            residual.conjugate(&nu)
        };
        let mut point = self.nu.clone();
        axpy(t, &self.p, &mut point);
        let mut u = vec![0.0; point.len()];
        residual.recover(&point, &mut u);
        let slope = dot(&u, &self.p);
        let smooth = smooth + self.proximal_slope(t, dot(&self.p, &self.p));
        if slope.is_finite() {
            return smooth + slope;
        }
        let step = 1e-6;
        smooth + (at(t + step) - at(t)) / step
    }

    /// The slope at t of the proximal term along p, with |p|^2 = `square`.
    fn proximal_slope(&self, t: f64, square: f64) -> f64 {
        match self.weight > 0.0 {
            true => {
                let apart = dot(&self.nu, &self.p) - dot(&self.centre, &self.p);
                self.weight * (apart + t * square)
            }
            false => 0.0,
        }
    }

    /// The step length at which the slope is 0, from the sums of the agents' slopes.
    fn step_length(&self, residual: &dyn Residual, slopes: &[i64]) -> f32 {
        let unit = power(self.slope);
        let (mut before, mut below) = (0.0, self.slope_at(residual, 0.0));
        for (t, grown) in self.grid.points().into_iter().zip(slopes) {
            let slope = self.slope_at(residual, t) + unit * *grown as f64;
            if slope.is_finite() && slope < 0.0 {
                (before, below) = (t, slope);
                continue;
            }
            let share = match slope.is_finite() {
                true => -below / (slope - below),
                false => 0.5, // outside of the domain of f*
            };
            return (before + share * (t - before)) as f32;
        }
        before as f32
    }
}

/// The gradient of the dual cost: f*'(nu) plus the sum over the agents. Where f* has none, the
/// residual of a proximal gradient step.
fn gradient(residual: &dyn Residual, nu: &[f64], total: &[f64]) -> Vec<f64> {
    if let Some(c) = residual.conjugate_quadratic() {
        return nu
            .iter()
            .zip(total)
            .map(|(nu, total)| c * nu + total)
            .collect();
    }
    let mut u = vec![0.0; nu.len()];
    residual.recover(nu, &mut u);
    if u.iter().all(|u| u.is_finite()) {
        axpy(1.0, total, &mut u);
        return u;
    }
    let mut moved = nu.to_vec();
    axpy(-1.0, total, &mut moved);
    residual.conjugate_prox(1.0, &mut moved);
    nu.iter().zip(moved).map(|(nu, moved)| nu - moved).collect()
}

/// Whether f* has a gradient at nu, on its domain.
fn is_smooth(residual: &dyn Residual, nu: &[f64]) -> bool {
    if residual.conjugate_quadratic().is_some() {
        return true;
    }
    let mut u = vec![0.0; nu.len()];
    residual.recover(nu, &mut u);
    u.iter().all(|u| u.is_finite())
}

/// The rows in which nu can move along -g within the dual domain; `None` for all.
fn free_rows(residual: &dyn Residual, nu: &[f64], g: &[f64]) -> Option<Vec<bool>> {
    let length = norm(g);
    if length == 0.0 {
        return None;
    }
    let mut moved = nu.to_vec();
    axpy(-norm(nu).max(1e-3) / length, g, &mut moved);
    let outside = moved.clone();
    residual.project_dual(&mut moved);
    if moved == outside {
        return None;
    }
    let free = |((moved, nu), g): ((&f64, &f64), &f64)| *moved != *nu || *g == 0.0;
    Some(moved.iter().zip(nu).zip(g).map(free).collect())
}

/// The entries in the free rows.
fn masked(g: &[f64], free: &Option<Vec<bool>>) -> Vec<f64> {
    match free {
        None => g.to_vec(),
        Some(free) => g
            .iter()
            .zip(free)
            .map(|(g, f)| if *f { *g } else { 0.0 })
            .collect(),
    }
}
