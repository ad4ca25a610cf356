//! Numbers that are centred and scaled.

use super::Result;
use dictmesh::{Matrix, Samples};
use serde::{Deserialize, Serialize};

/// Which mean is taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
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
        let centred = match self.centre {
            Centre::None => x,
            _ => self.centred(&x)?,
        };
        Ok(match self.norm {
            Norm::None => centred,
            Norm::L2 => centred.normalised(dictmesh::Norm::L2),
            Norm::L1 => centred.normalised(dictmesh::Norm::L1),
        })
    }

    fn centred(&self, x: &Samples) -> Result<Samples> {
        let mut dense = x.to_dense();
        for j in 0..dense.cols() {
            let column = dense.column_mut(j);
            match (self.centre, &self.means) {
                (Centre::Sample, _) => {
                    let mean = column.iter().sum::<f64>() / column.len() as f64;
                    check_mean(mean)?;
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
        }
        Ok(Samples::dense(dense)?)
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
    let sum = sum.into_vec();
    sum.iter().try_for_each(|s| check_mean(*s))?;
    Ok(sum.iter().map(|s| s / count.max(1) as f64).collect())
}

/// Refuses a mean of finite numbers whose sum is beyond all numbers.
fn check_mean(mean: f64) -> Result<()> {
    match mean.is_finite() {
        true => Ok(()),
        false => Err(
            "the data are so large that the sum for their mean is beyond what a number can hold \
             (1.8e308); divide them by a constant first"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths above all numbers had made zeros of samples, and means above them numbers that are none.
    #[test]
    fn the_largest_numbers_are_scaled_and_where_they_have_no_mean_refused() {
        let samples = |value: f64| Samples::dense(Matrix::from_fn(9, 2, |_, _| value)).unwrap();
        let numbers = |centre, norm| Numbers {
            centre,
            means: None,
            norm,
        };
        for value in [1.7e308, 1.0, 1e-300] {
            for (norm, expected) in [(Norm::L2, 1.0 / 3.0), (Norm::L1, 1.0 / 9.0)] {
                let scaled = numbers(Centre::None, norm).apply(samples(value)).unwrap();
                let mut entries = scaled.entries(1);
                assert!(entries.all(|(_, v)| (v - expected).abs() < 1e-15));
            }
        }
        let why = numbers(Centre::Sample, Norm::L2).apply(samples(1.7e308));
        assert!(format!("{:?}", why.unwrap_err()).contains("so large"));
        let means = |value| feature_means(std::iter::once(Ok(samples(value))), 9);
        assert!(means(1.7e308).is_err() && means(1e300).is_ok());
    }
}
