//! The direction and the length of the next step of a sample.

use super::common::direction;
use super::gradient::{free_rows, is_smooth};
use super::order::{exponent_of, power, Grid, Probe, Task, BELOW};
use super::reply::{largest_slope, slope_bits};
use super::sample::Sample;
use crate::problem::residual::Residual;
use crate::strategy::Local;
use dictmesh_kernels::matrix::{axpy, dot, norm};

/// |g| relative to the sample below which a step changes nothing.
const STILL: f64 = 1e-15;
/// A step is too long if the slope at its end exceeds this multiple of the descent at its base.
/// Shorter ones gain less than the sum that they take.
const TOO_LONG: f64 = 3.0;
/// The longest trial relative to nu: longer ones would leave rounding errors in nu.
const LONGEST: f64 = 100.0;
/// The number of pairs from which on a step is tried without slopes first: with few, it is mostly
/// too long.
const TRUSTED: usize = 3;
/// Trials in succession that were too long, after which slopes come first again.
const REJECTED: usize = 2;

impl Sample {
    /// The next direction: quasi-Newton where f* is smooth, otherwise a proximal gradient step.
    pub(super) fn direction(&mut self, local: &Local, bits: u32) -> Option<Task> {
        let residual = local.residual;
        if norm(&self.gradient) + self.error <= STILL * self.size {
            return None;
        }
        let newton = is_smooth(residual, &self.nu)
            .then(|| self.quasi_newton(residual))
            .and_then(|(target, is_bounded)| self.towards(&target, is_bounded, local));
        let probe = newton.or_else(|| {
            self.pairs.clear();
            let target = self.proximal_target(residual);
            self.towards(&target, true, local)
        })?;
        let is_long = norm(&self.p) > LONGEST * norm(&self.nu);
        self.grid = match is_long || self.pairs.is_empty() || self.shortened < 1.0 {
            true => Grid::Wide,
            false => Grid::Close,
        };
        let is_trusted = self.pairs.len() >= TRUSTED && self.rejected < REJECTED;
        Some(match is_trusted && self.grid == Grid::Close {
            true => Task::Trial(probe, self.scales_at(1.0, bits)),
            false => Task::Slopes(self.grid, probe),
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
    fn towards(&mut self, target: &[f64], is_bounded: bool, local: &Local) -> Option<Probe> {
        let residual = local.residual;
        let top = (1_i64 << (super::DIRECTION_BITS - 1)) - 1;
        let apart = |m: usize| self.shortened * (target[m] - self.nu[m]);
        let is_bounded = is_bounded && self.shortened == 1.0;
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
        let mut probe = Probe { unit, slope: 0, q };
        direction(residual, &self.nu, &probe, &mut self.p);
        self.smooth = dot(&self.total, &self.p);
        let slope = self.slope_at(residual, 0.0);
        // Not above 0, and not NaN.
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        // Slopes are within the range as long as a step is not too long.
        self.slope = exponent_of((TOO_LONG + 1.0) * slope) - slope_bits(local.agents) as i32;
        probe.slope = self.slope;
        Some(probe)
    }

    /// The slope at t of the dual cost along p, with the agents' part at the base.
    fn slope_at(&self, residual: &dyn Residual, t: f64) -> f64 {
        let smooth = self.smooth;
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

    /// The first step along a direction without a scale, from the sums of the agents' slopes.
    pub(super) fn first_step(&mut self, local: &Local, slopes: &[i64], bits: u32) -> Task {
        if slopes
            .first()
            .is_some_and(|grown| *grown >= largest_slope(local.agents))
        {
            // Beyond the range at the shortest length: the zero is much nearer to 0.
            self.shortened *= self.grid.points()[0];
            return self.proceed(local, bits);
        }
        self.shortened = 1.0;
        let t = self.zero_of_slopes(local.residual, self.grid.points(), slopes);
        if t >= BELOW[1] {
            self.rejected = 0;
        }
        Task::Step(t as f32, self.scales_at(f64::from(t as f32), bits))
    }

    /// A shorter step if a trial was too long. Decided by slopes: the part of a step that is much
    /// too long does not fit into its integers.
    pub(super) fn shorter(&mut self, local: &Local, slopes: &[i64]) -> Option<f64> {
        let (residual, last) = (local.residual, *slopes.last()?);
        let descent = 0.0 - self.slope_at(residual, 0.0);
        let slope = self.slope_at(residual, 1.0) + power(self.slope) * last as f64;
        if slope <= TOO_LONG * descent {
            self.rejected = 0;
            return None;
        }
        self.rejected += 1;
        let t = self.zero_of_slopes(residual, &BELOW, slopes);
        Some(self.t + f64::from((t - self.t) as f32))
    }

    /// The step length at which the slope is 0, from the agents' slopes at these step lengths.
    fn zero_of_slopes(&self, residual: &dyn Residual, points: &[f64], slopes: &[i64]) -> f64 {
        let unit = power(self.slope);
        let (mut before, mut below) = (0.0, self.slope_at(residual, 0.0));
        for (t, grown) in points.iter().copied().zip(slopes) {
            let slope = self.slope_at(residual, t) + unit * *grown as f64;
            if slope.is_finite() && slope < 0.0 {
                (before, below) = (t, slope);
                continue;
            }
            let share = match slope.is_finite() {
                true => -below / (slope - below),
                false => 0.5, // outside of the domain of f*
            };
            return before + share * (t - before);
        }
        before
    }
}
