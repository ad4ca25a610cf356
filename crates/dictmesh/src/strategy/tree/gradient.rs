//! The gradient of the dual cost of a sample, and the rows in which nu can move.

use crate::problem::residual::Residual;
use dictmesh_kernels::matrix::{axpy, norm};

/// The gradient of the dual cost: f*'(nu) plus the sum over the agents. Where f* has none, the
/// residual of a proximal gradient step.
pub(super) fn gradient(residual: &dyn Residual, nu: &[f64], total: &[f64]) -> Vec<f64> {
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
pub(super) fn is_smooth(residual: &dyn Residual, nu: &[f64]) -> bool {
    if residual.conjugate_quadratic().is_some() {
        return true;
    }
    let mut u = vec![0.0; nu.len()];
    residual.recover(nu, &mut u);
    u.iter().all(|u| u.is_finite())
}

/// The rows in which nu can move along -g within the dual domain; `None` for all.
pub(super) fn free_rows(residual: &dyn Residual, nu: &[f64], g: &[f64]) -> Option<Vec<bool>> {
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
pub(super) fn masked(g: &[f64], free: &Option<Vec<bool>>) -> Vec<f64> {
    match free {
        None => g.to_vec(),
        Some(free) => g
            .iter()
            .zip(free)
            .map(|(g, f)| if *f { *g } else { 0.0 })
            .collect(),
    }
}
