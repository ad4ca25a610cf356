//! Proximal points, for samples that may be infeasible: their nu would grow without bound.
//!
//! nu is the minimiser of the dual cost plus weight/2 |nu - centre|^2. The centre then moves there
//! and the weight shrinks, down to a limit. The steps of the centre shorten if the sample has a
//! solution. Otherwise they tend to a direction d with W'd = 0 and d'x > 0, which certifies that it
//! has none.

use super::order::Proof;
use super::reply::proof_unit;
use super::sample::Sample;
use crate::strategy::Local;
use crate::Stop;
use dictmesh_kernels::matrix::{axpy, dot, norm};

/// The first and the last weight of the proximal term, in units of 1/delta; each is a tenth of the
/// one before.
const WEIGHTS: (f64, f64) = (1e-2, 1e-5);
/// The gradient at which a proximal point is taken, relative to that of the proximal term.
const PROXIMAL_GRADIENT: f64 = 0.1;
/// The same relative to |x - W y|, where the step is to certify infeasibility.
const PROOF_GRADIENT: f64 = 1e-6;

/// The weight at the start: 0 where every sample has a solution.
pub(super) fn first_weight(local: &Local) -> f64 {
    match local.residual.can_be_infeasible() {
        true => WEIGHTS.0 / local.task.regularizer().strong_convexity(),
        false => 0.0,
    }
}

impl Sample {
    /// The gradient at nu with that of the proximal term.
    pub(super) fn proximal(&self, nu: &[f64], mut gradient: Vec<f64>) -> Vec<f64> {
        if self.weight > 0.0 {
            axpy(self.weight, nu, &mut gradient);
            axpy(-self.weight, &self.centre, &mut gradient);
        }
        gradient
    }

    /// Moves the centre of the proximal term to nu and changes its weight; the gradient and the
    /// pairs follow.
    pub(super) fn recentre(&mut self, weight: f64) {
        axpy(-self.weight, &self.nu, &mut self.gradient);
        axpy(self.weight, &self.centre, &mut self.gradient);
        self.centre.copy_from_slice(&self.nu); // where the gradient of the new term is 0
        self.pairs.bend(weight - self.weight);
        self.weight = weight;
    }

    /// Takes a proximal point once the gradient is small there. Proximal steps shorten where the
    /// sample has a solution. One that does not is solved precisely and returned as a direction for
    /// a certificate of infeasibility: W'd is then almost 0, and d'x is not.
    pub(super) fn proof(&mut self, local: &Local) -> Option<Proof> {
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

    /// The slope at t of the proximal term along p, with |p|^2 = `square`.
    pub(super) fn proximal_slope(&self, t: f64, square: f64) -> f64 {
        match self.weight > 0.0 {
            true => {
                let apart = dot(&self.nu, &self.p) - dot(&self.centre, &self.p);
                self.weight * (apart + t * square)
            }
            false => 0.0,
        }
    }
}
