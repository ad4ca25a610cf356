//! The direction and the length of the next step of a sample.

use super::gradient::{free_rows, is_smooth};
use super::order::{exponent_of, power, Grid, Probe};
use super::part::slope_bits;
use super::sample::Sample;
use crate::problem::residual::Residual;
use crate::strategy::Local;
use dictmesh_kernels::matrix::{axpy, dot, norm};

/// |g| relative to the sample below which a step changes nothing.
const STILL: f64 = 1e-15;

impl Sample {
    /// The next direction: quasi-Newton where f* is smooth, otherwise a proximal gradient step.
    pub(super) fn direction(&mut self, local: &Local) -> Option<Probe> {
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
    pub(super) fn quasi_newton(&self, residual: &dyn Residual) -> (Vec<f64>, bool) {
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
    pub(super) fn proximal_target(&self, residual: &dyn Residual) -> Vec<f64> {
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
    pub(super) fn towards(
        &mut self,
        residual: &dyn Residual,
        target: &[f64],
        is_bounded: bool,
        local: &Local,
    ) -> Option<Probe> {
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
    pub(super) fn slope_at(&self, residual: &dyn Residual, t: f64) -> f64 {
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

    /// No direction: the same nu is evaluated again, in finer units.
    pub(super) fn hold(&mut self) -> Probe {
        self.p.fill(0.0);
        (self.grid, self.slope) = (Grid::Near, 0);
        Probe {
            grid: self.grid,
            unit: 0,
            slope: 0,
            q: vec![0; self.p.len()],
        }
    }

    /// The step length at which the slope is 0, from the sums of the agents' slopes.
    pub(super) fn step_length(&mut self, local: &Local, slopes: &[i64]) -> f32 {
        let largest = (1_i64 << slope_bits(local.agents)) - 1;
        if slopes.first().is_some_and(|grown| *grown >= largest) {
            // Beyond the range at the shortest length: the zero is much nearer to 0.
            self.shortened *= self.grid.points()[0];
            return 0.0;
        }
        self.shortened = 1.0;
        self.zero_of_slopes(local.residual, slopes)
    }

    fn zero_of_slopes(&self, residual: &dyn Residual, slopes: &[i64]) -> f32 {
        if self.p.iter().all(|p| *p == 0.0) {
            return 0.0; // the same nu again
        }
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
