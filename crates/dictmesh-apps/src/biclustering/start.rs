//! Preprocessing of X, and initial atoms drawn from its columns.

use dictmesh::problem::atoms::{AtomSet, UnitBall};
use dictmesh::problem::samples::Samples;
use dictmesh::random::{gaussian, stream};
use dictmesh_kernels::matrix::{axpy, dot, norm, Matrix};
use rand::RngExt;

/// Preprocessing of X. A sample is one column: one gene over all patients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// None.
    Nothing,
    /// The mean of each column is subtracted from it.
    Centre,
    /// Each column is centred and divided by its standard deviation. A constant column becomes
    /// zero.
    Standardise,
}

impl Prepare {
    /// The preprocessed copy of `x`.
    pub fn apply(self, x: &Matrix) -> Matrix {
        let mut out = x.clone();
        if self == Prepare::Nothing || x.rows() == 0 {
            return out;
        }
        let m = x.rows() as f64;
        for j in 0..x.cols() {
            let column = out.column_mut(j);
            let mut largest = column.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
            // Rescale by a power of two, which is exact, so that squares neither overflow nor
            // underflow. The standardised column does not depend on the unit.
            if self == Prepare::Standardise && largest > 0.0 && !(1e-100..1e100).contains(&largest)
            {
                let unit = (largest.log2() / 2.0).floor().exp2();
                column.iter_mut().for_each(|v| *v = *v / unit / unit);
                largest = largest / unit / unit;
            }
            let mean = column.iter().map(|v| v / m).sum::<f64>();
            column.iter_mut().for_each(|v| *v -= mean);
            let deviation = norm(column) / m.sqrt();
            // A constant column has a deviation at rounding level.
            if self == Prepare::Standardise {
                let scale = if deviation > 1e-14 * largest {
                    1.0 / deviation
                } else {
                    0.0
                };
                column.iter_mut().for_each(|v| *v *= scale);
            }
        }
        out
    }
}

/// Random stream of the initial columns ("bicl" in ASCII).
const START_STREAM: u64 = 0x62_69_63_6c;

/// `count` columns scaled to norm 1, each drawn with probability proportional to its squared
/// residual after projection onto the columns already drawn. An atom initialised from a noise
/// column never fires and never moves; neither does the second of two equal atoms. If no residual
/// is left, the atoms are random.
pub(super) fn spread_columns(x: &Samples, count: usize, seed: u64) -> Matrix {
    let mut rng = stream(seed, START_STREAM);
    let mut atoms = gaussian(x.rows(), count, &mut rng);
    let mut left = x.to_dense();
    let floor = 1e-20 * left.as_slice().iter().map(|v| v * v).sum::<f64>();
    for q in 0..count {
        let squares: Vec<f64> = left.columns().map(|c| dot(c, c)).collect();
        let total: f64 = squares.iter().sum();
        if total > floor {
            let mut at = rng.random::<f64>() * total;
            let chosen = squares.iter().position(|s| {
                at -= s;
                at < 0.0
            });
            let chosen = chosen.unwrap_or(squares.len() - 1);
            let w = atoms.column_mut(q);
            w.fill(0.0);
            x.add_scaled(chosen, 1.0, w);
            let away = left.column(chosen).to_vec();
            for j in 0..left.cols() {
                let part = dot(&away, left.column(j)) / dot(&away, &away);
                axpy(-part, &away, left.column_mut(j));
            }
        }
        UnitBall.normalise(atoms.column_mut(q));
    }
    atoms
}
