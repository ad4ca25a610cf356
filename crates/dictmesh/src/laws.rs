//! Property tests of residuals, regularizers and atom sets, for the built-in ones and those of
//! other crates.
//!
//! Each function draws points from a fixed stream and checks every law on them. It returns the
//! first violation.
//!
//! ```
//! use dictmesh::laws;
//! use dictmesh::problem::{atoms::UnitBall, regularizer::ElasticNet, residual::Huber};
//! laws::residual(&Huber::new(0.2)?)?;
//! laws::regularizer(&ElasticNet::new(0.1, 0.3)?, 5)?;
//! laws::atom_set(&UnitBall)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atom_set;
mod regularizer;
mod residual;

pub use atom_set::atom_set;
pub use regularizer::regularizer;
pub use residual::residual;

use crate::random::{gaussian, stream};
use dictmesh_kernels::matrix::norm;

/// The result of a check: `Err` names the law and the point that violates it.
pub type Law = std::result::Result<(), String>;

/// Number of random points of each length.
const POINTS: u64 = 24;

/// `Err(words())` unless the condition holds; a comparison with NaN does not.
fn holds(condition: bool, words: impl FnOnce() -> String) -> Law {
    match condition {
        true => Ok(()),
        false => Err(words()),
    }
}

/// Vectors of length `len` of several magnitudes. Zeros and ones are included, where formulas
/// switch branches.
fn points(len: usize, seed: u64) -> Vec<Vec<f64>> {
    let scale = |i: u64| [0.05, 0.3, 1.0, 4.0][(i % 4) as usize];
    let mut all: Vec<Vec<f64>> = (0..POINTS)
        .map(|i| {
            let mut point = gaussian(len, 1, &mut stream(seed, i)).into_vec();
            point.iter_mut().for_each(|v| *v *= scale(i));
            if i % 3 == 0 {
                point.iter_mut().step_by(2).for_each(|v| *v = 0.0);
            }
            point
        })
        .collect();
    all.extend([vec![0.0; len], vec![1.0; len], vec![-1.0; len]]);
    all
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

/// Whether `slope` is a subgradient at t = 0 of a convex function with the given values at 0, h and
/// -h: it lies between the two difference quotients.
fn is_slope(slope: f64, [here, ahead, behind]: [f64; 3], h: f64) -> bool {
    let rounding = 1e-14 * (1.0 + here.abs()) / h;
    slope <= (ahead - here) / h + rounding && slope >= (here - behind) / h - rounding
}
