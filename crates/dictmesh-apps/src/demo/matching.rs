//! Matching of recovered atoms with planted ones.

use dictmesh::Matrix;

/// A planted atom is recovered from this |cosine| on.
pub const RECOVERED: f64 = 0.95;

/// A planted atom and its recovered atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// Column of the planted dictionary.
    pub planted: usize,
    /// Column of the recovered dictionary.
    pub recovered: usize,
    /// Cosine of the angle between the two.
    pub cosine: f64,
}

/// Pairs planted with recovered atoms greedily by |cosine|, best pair first. Each atom is used once, so that there
/// are `min(planted, recovered)` pairs. A zero atom has cosine 0 with all others.
pub fn greedy(planted: &Matrix, recovered: &Matrix) -> Vec<Match> {
    let norms = |w: &Matrix| -> Vec<f64> {
        let norm = |c: &[f64]| c.iter().map(|v| v * v).sum::<f64>().sqrt();
        w.columns().map(norm).collect()
    };
    let (p_norms, r_norms) = (norms(planted), norms(recovered));
    let products = planted.transpose_times(recovered);

    let mut pairs = Vec::with_capacity(planted.cols() * recovered.cols());
    for r in 0..recovered.cols() {
        for p in 0..planted.cols() {
            let cosine = products.get(p, r) / (p_norms[p] * r_norms[r]);
            pairs.push(Match {
                planted: p,
                recovered: r,
                cosine: if cosine.is_finite() { cosine } else { 0.0 },
            });
        }
    }
    // A stable sort: ties are in order of the atoms.
    pairs.sort_by(|a, b| b.cosine.abs().total_cmp(&a.cosine.abs()));

    let mut free_p = vec![true; planted.cols()];
    let mut free_r = vec![true; recovered.cols()];
    pairs.retain(|pair| {
        let take = free_p[pair.planted] && free_r[pair.recovered];
        if take {
            free_p[pair.planted] = false;
            free_r[pair.recovered] = false;
        }
        take
    });
    pairs
}

impl Match {
    /// Whether the planted atom is recovered.
    pub fn is_recovered(&self) -> bool {
        self.cosine.abs() >= RECOVERED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::random::{gaussian, stream};

    #[test]
    fn a_permuted_scaled_and_flipped_dictionary_is_found_again() {
        let planted = gaussian(64, 10, &mut stream(1, 0));
        let order = [3, 1, 4, 0, 5, 9, 2, 6, 8, 7];
        let copy = Matrix::from_fn(64, 10, |i, k| {
            let scale = if k % 2 == 0 { -0.5 } else { 2.0 };
            scale * planted.get(i, order[k])
        });
        let matches = greedy(&planted, &copy);
        assert_eq!(matches.len(), 10);
        for m in &matches {
            assert_eq!(order[m.recovered], m.planted);
            let sign = if m.recovered % 2 == 0 { -1.0 } else { 1.0 };
            assert!((m.cosine - sign).abs() < 1e-12);
        }
        assert!(matches.iter().all(Match::is_recovered));
    }

    #[test]
    fn each_atom_is_used_once_best_pairs_first_and_zero_atoms_match_nothing() {
        let planted = gaussian(8, 5, &mut stream(2, 0));
        let mut other = gaussian(8, 3, &mut stream(3, 0));
        other.column_mut(1).fill(0.0);
        let matches = greedy(&planted, &other);
        assert_eq!(matches.len(), 3);
        let mut used: Vec<_> = matches.iter().map(|m| m.recovered).collect();
        used.sort_unstable();
        assert_eq!(used, [0, 1, 2]);
        assert!(matches
            .windows(2)
            .all(|w| w[0].cosine.abs() >= w[1].cosine.abs()));
        assert_eq!(matches[2].recovered, 1);
        assert_eq!(matches[2].cosine, 0.0);
    }
}
