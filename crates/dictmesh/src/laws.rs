//! Property tests ("laws") of residuals, regularizers, atom sets, strategies and speed-ups.
//!
//! The built-in pieces and those of other crates are tested by the same functions. Each function
//! draws points or meshes from a fixed stream and checks every law on them. It returns the first
//! violation.
//!
//! ```
//! use dictmesh::laws;
//! use dictmesh::problem::{atoms::UnitBall, regularizer::ElasticNet, residual::Huber};
//! laws::residual(&Huber::new(0.2)?)?;
//! laws::regularizer(&ElasticNet::new(0.1, 0.3)?, 5)?;
//! laws::atom_set(&UnitBall)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accel;
mod atom_set;
mod regularizer;
mod residual;
mod strategy;

pub use accel::{accel, accels};
pub use atom_set::atom_set;
pub use regularizer::regularizer;
pub use residual::residual;
pub use strategy::strategy;

use crate::problem::{atoms::UnitBall, AtomSet, Samples};
use crate::random::{gaussian, stream};
use dictmesh_kernels::matrix::{norm, Matrix};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The result of a check: `Err` names the law and the point that violates it.
pub type Law = std::result::Result<(), String>;

/// Number of random points of each length.
const POINTS: u64 = 60;
/// Entries at which formulas often switch branches.
const KINKS: [f64; 8] = [1.0, -1.0, 0.1, -0.1, 0.5, -0.5, 0.2, 3.0];
/// Positions from here on are at the end of the grid of [`grid_max`].
const GRID_END: f64 = 127.0;

/// `Err(words())` unless the condition holds; a comparison with NaN does not.
fn holds(condition: bool, words: impl FnOnce() -> String) -> Law {
    match condition {
        true => Ok(()),
        false => Err(words()),
    }
}

/// The result of `work`; if it panics, `Err` with `what` and the message of the panic.
fn no_panic<T>(what: &str, work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        format!("{what} panics: {}", text.unwrap_or_default())
    })
}

/// Vectors of length `len` of several magnitudes. Zeros and [`KINKS`] are included.
fn points(len: usize, seed: u64) -> Vec<Vec<f64>> {
    let scale = |i: u64| [0.05, 0.3, 1.0, 4.0][(i % 4) as usize];
    let mut all: Vec<Vec<f64>> = (0..POINTS)
        .map(|i| {
            let mut point = gaussian(len, 1, &mut stream(seed, i)).into_vec();
            point.iter_mut().for_each(|v| *v *= scale(i));
            if i % 3 == 0 {
                point.iter_mut().step_by(2).for_each(|v| *v = 0.0);
            }
            if i % 5 == 0 && len > 0 {
                let at = (i / 5) as usize;
                point[at % len] = KINKS[at % KINKS.len()];
            }
            point
        })
        .collect();
    all.extend([vec![0.0; len], vec![1.0; len], vec![-1.0; len]]);
    all
}

/// Vectors of length `len` in which one entry is NaN or infinite.
fn non_finite(len: usize) -> impl Iterator<Item = Vec<f64>> {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter();
    bad.flat_map(move |bad| {
        (0..len).map(move |at| {
            let mut point = vec![0.5; len];
            point[at] = bad;
            point
        })
    })
}

/// a + t b.
fn plus(a: &[f64], t: f64, b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + t * b).collect()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    norm(&plus(a, -1.0, b))
}

fn middle(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| 0.5 * (a + b)).collect()
}

/// A vector of length below 1 in the direction of `v`.
fn direction(v: &[f64]) -> Vec<f64> {
    let length = 1.0 + norm(v);
    v.iter().map(|v| v / length).collect()
}

/// Whether `slope` is a subgradient at t = 0 of a convex function with the given values at 0, h and
/// -h: it lies between the two difference quotients.
fn is_slope(slope: f64, [here, ahead, behind]: [f64; 3], h: f64) -> bool {
    let rounding = 1e-14 * (1.0 + here.abs()) / h;
    slope <= (ahead - here) / h + rounding && slope >= (here - behind) / h - rounding
}

/// The largest value of a concave function on a grid over [-128, 128] that is refined around the
/// best point, as (position, value). Uses values only, so it is independent of every formula.
fn grid_max(function: impl Fn(f64) -> f64) -> (f64, f64) {
    // Steps are powers of 2, so that 0 and the ends of many intervals lie on the grid.
    let (mut at, mut best) = (0.0, f64::NEG_INFINITY);
    let (mut step, mut half) = (0.125, 1024);
    for _ in 0..12 {
        let centre: f64 = at;
        for i in -half..=half {
            let x = centre + f64::from(i) * step;
            let value = function(x);
            if value > best {
                (at, best) = (x, value);
            }
        }
        (step, half) = (step / 16.0, 32);
    }
    (at, best)
}

/// The value, or the words of the error.
fn words<T>(result: crate::Result<T>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Random atoms of norm 1.
fn atoms(rows: usize, count: usize, seed: u64) -> Matrix {
    let mut w = gaussian(rows, count, &mut stream(seed, 1));
    (0..count).for_each(|q| UnitBall.normalise(w.column_mut(q)));
    w
}

/// The non-zero entries of `x`.
fn to_sparse(x: &Matrix) -> crate::Result<Samples> {
    let (mut start, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
    for column in x.columns() {
        for (i, v) in column.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            rows.push(i);
            values.push(*v);
        }
        start.push(rows.len());
    }
    Samples::sparse(x.rows(), start, rows, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_include_zeros_kinks_and_both_signs() {
        let numbers = points(5, 1).concat();
        assert!(KINKS.iter().all(|kink| numbers.contains(kink)));
        let share = |wanted: &dyn Fn(f64) -> bool| {
            numbers.iter().filter(|v| wanted(**v)).count() as f64 / numbers.len() as f64
        };
        assert!(share(&|v| v == 0.0) > 0.1);
        assert!(share(&|v| v > 0.0) > 0.3 && share(&|v| v < 0.0) > 0.3);
        assert!(share(&|v| v.abs() > 1.0) > 0.15);
    }

    #[test]
    fn the_grid_finds_a_maximum_and_a_panic_is_an_error() {
        let (at, best) = grid_max(|x| 2.0 - (x - 17.3).abs());
        assert!((at - 17.3).abs() < 1e-12 && (best - 2.0).abs() < 1e-12);
        assert!(grid_max(|x| x).0 >= GRID_END);
        assert_eq!(no_panic("it", || 1), Ok(1));
        let empty: Vec<u8> = Vec::new();
        let error = no_panic("it", || empty[0]).unwrap_err();
        assert!(error.starts_with("it panics: index"), "{error}");
    }
}
