//! A random split of samples into some to learn from and some to judge by.

use dictmesh::random::stream;
use dictmesh::{Error, Result, Samples};
use rand::seq::SliceRandom;

/// Maximum number of samples to learn from.
pub const MOST_TRAINING: usize = 4_000;
/// Maximum number of samples held out; at most a fifth of all.
pub const MOST_HELD_OUT: usize = 500;
/// Random stream of the split ("tune" in ASCII).
const STREAM: u64 = 0x74_75_6e_65;

/// Samples to learn from and samples held out, drawn without replacement.
#[derive(Clone, Debug)]
pub struct HoldoutSplit {
    /// Number of samples in the data.
    pub total: usize,
    /// The samples to learn from.
    pub training: Samples,
    /// The samples to judge by.
    pub held_out: Samples,
}

impl HoldoutSplit {
    /// Splits samples that are in memory.
    ///
    /// Errors: fewer than 2 samples.
    pub fn of(x: &Samples, seed: u64) -> Result<Self> {
        HoldoutSplit::of_parts(x.len(), [Ok::<_, Error>(x.clone())], seed)
    }

    /// Splits `total` samples that arrive in parts. Memory: one part and the drawn samples. The
    /// split depends on `total` and `seed`, not on the parts.
    ///
    /// Errors: fewer than 2 samples, and those of the parts.
    pub fn of_parts<E: From<Error>>(
        total: usize,
        parts: impl IntoIterator<Item = std::result::Result<Samples, E>>,
        seed: u64,
    ) -> std::result::Result<Self, E> {
        if total < 2 {
            let allowed = "at least 2 are needed, one to learn from and one to judge by";
            return Err(Error::parameter("samples", total, allowed).into());
        }
        let mut order: Vec<usize> = (0..total).collect();
        order.shuffle(&mut stream(seed, STREAM));
        let (held_out, training) = order.split_at((total / 5).clamp(1, MOST_HELD_OUT));
        let training = &training[..training.len().min(MOST_TRAINING)];
        let mut drawn = [held_out, training].concat();
        drawn.sort_unstable();
        let (mut kept, mut from) = (Vec::new(), 0);
        for part in parts {
            let part = part?;
            let here = drawn.iter();
            let here = here.filter(|j| (from..from + part.len()).contains(j));
            kept.push(part.select(&here.map(|j| j - from).collect::<Vec<_>>()));
            from += part.len();
        }
        let kept = Samples::joined(&kept)?;
        let select = |chosen: &[usize]| {
            let places = chosen.iter().filter_map(|j| drawn.binary_search(j).ok());
            kept.select(&places.collect::<Vec<_>>())
        };
        Ok(HoldoutSplit {
            total,
            training: select(training),
            held_out: select(held_out),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::Matrix;

    fn numbered(count: usize) -> Samples {
        Samples::dense(Matrix::from_fn(1, count, |_, j| j as f64 + 1.0)).unwrap()
    }

    fn values(x: &Samples) -> Vec<f64> {
        x.to_dense().as_slice().to_vec()
    }

    #[test]
    fn each_sample_is_drawn_once_and_a_fifth_is_held_out() {
        let split = HoldoutSplit::of(&numbered(50), 3).unwrap();
        assert_eq!((split.training.len(), split.held_out.len()), (40, 10));
        let mut all = [values(&split.training), values(&split.held_out)].concat();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, values(&numbered(50)));
        let large = HoldoutSplit::of(&numbered(9_000), 3).unwrap();
        assert_eq!((large.training.len(), large.held_out.len()), (4_000, 500));
        assert_eq!(large.total, 9_000);
    }

    #[test]
    fn the_parts_do_not_change_the_split() {
        let x = numbered(50);
        let whole = HoldoutSplit::of(&x, 3).unwrap();
        let parts = [0..7, 7..8, 8..50].map(|r| Ok::<_, Error>(x.range(r)));
        let parted = HoldoutSplit::of_parts(50, parts, 3).unwrap();
        assert_eq!(values(&parted.training), values(&whole.training));
        assert_eq!(values(&parted.held_out), values(&whole.held_out));
        let other = HoldoutSplit::of(&x, 4).unwrap();
        assert_ne!(values(&other.held_out), values(&whole.held_out));
    }

    #[test]
    fn a_single_sample_cannot_be_split() {
        let refused = HoldoutSplit::of(&numbered(1), 0).unwrap_err().to_string();
        assert!(refused.contains("samples = 1: at least 2"), "{refused}");
    }
}
