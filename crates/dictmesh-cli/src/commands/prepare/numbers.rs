//! Numbers that are centred and scaled.

use super::super::{say, Result};
use dictmesh::{Matrix, Samples};
use serde::{Deserialize, Serialize};

/// Which mean is taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Centre {
    /// None
    #[default]
    None,
    /// Each sample's own mean over its features
    Sample,
    /// Each feature's mean over the samples
    Feature,
}

/// To which length samples are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// As they are
    #[default]
    None,
    /// |x|_2 = 1
    L2,
    /// |x|_1 = 1
    L1,
}

/// What is done to numbers, in this order: centre, then scale.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Numbers {
    /// Which mean is taken off.
    pub centre: Centre,
    /// The features' means, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<Vec<f64>>,
    /// To which length samples are scaled.
    pub norm: Norm,
}

impl Numbers {
    /// The samples, prepared.
    pub fn apply(&self, x: Samples) -> Result<Samples> {
        if self.centre == Centre::None && self.norm == Norm::None {
            return Ok(x);
        }
        if x.is_sparse() && self.centre == Centre::None {
            return self.scale_sparse(&x);
        }
        let mut dense = x.to_dense();
        for j in 0..dense.cols() {
            let column = dense.column_mut(j);
            match (self.centre, &self.means) {
                (Centre::Sample, _) => {
                    let mean = column.iter().sum::<f64>() / column.len() as f64;
                    column.iter_mut().for_each(|v| *v -= mean);
                }
                (Centre::Feature, Some(means)) if means.len() == column.len() => {
                    column.iter_mut().zip(means).for_each(|(v, m)| *v -= m);
                }
                (Centre::Feature, _) => {
                    return Err("the model's means do not fit the data's features".into())
                }
                (Centre::None, _) => {}
            }
            let size = self.size(column.iter().copied());
            column.iter_mut().for_each(|v| *v /= size);
        }
        Samples::dense(dense).map_err(say)
    }

    /// What to divide by: the norm, or 1 for a zero sample.
    fn size(&self, values: impl Iterator<Item = f64>) -> f64 {
        let size = match self.norm {
            Norm::None => 1.0,
            Norm::L2 => values.fold(0.0, f64::hypot), // no square overflows or vanishes
            Norm::L1 => values.map(f64::abs).sum(),
        };
        if size > 0.0 {
            size
        } else {
            1.0
        }
    }

    fn scale_sparse(&self, x: &Samples) -> Result<Samples> {
        let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
        for j in 0..x.len() {
            let size = self.size(x.entries(j).map(|(_, v)| v));
            for (i, v) in x.entries(j) {
                row.push(i);
                value.push(v / size);
            }
            start.push(row.len());
        }
        Samples::sparse(x.rows(), start, row, value).map_err(say)
    }
}

/// The mean of each feature over parts of a file.
pub fn feature_means(
    parts: impl Iterator<Item = Result<Samples>>,
    rows: usize,
) -> Result<Vec<f64>> {
    let mut sum = Matrix::zeros(rows, 1);
    let mut count = 0;
    for part in parts {
        let part = part?;
        for j in 0..part.len() {
            part.add_scaled(j, 1.0, sum.as_mut_slice());
        }
        count += part.len();
    }
    Ok(sum
        .into_vec()
        .iter()
        .map(|s| s / count.max(1) as f64)
        .collect())
}
