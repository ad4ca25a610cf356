//! The penalty h of a problem: the sum of the regularizers of its blocks.

use crate::problem::regularizer::{Regularizer, ScalarPenalty};

/// h(y) = sum of h_k(y_k) over the blocks.
#[derive(Clone, Copy)]
pub(crate) struct CodePenalty<'a> {
    /// The number of atoms and the regularizer of each block, in order.
    pub blocks: &'a [(usize, &'a dyn Regularizer)],
    /// The scalar penalty of each atom; empty unless all blocks are separable.
    pub scalars: &'a [&'a dyn ScalarPenalty],
}

impl<'a> CodePenalty<'a> {
    /// Fills `scalars`, which must be empty, with the scalar penalties of the blocks. It stays
    /// empty unless all blocks are separable.
    pub fn collect_scalars(
        blocks: &[(usize, &'a dyn Regularizer)],
        scalars: &mut Vec<&'a dyn ScalarPenalty>,
    ) {
        for (n, h) in blocks {
            let before = scalars.len();
            scalars.extend((0..*n).map_while(|q| h.scalar(q)));
            if scalars.len() < before + n {
                return scalars.clear();
            }
        }
    }

    /// Each block's regularizer with its share of `y`.
    fn split<'y>(&self, y: &'y [f64]) -> impl Iterator<Item = (&'a dyn Regularizer, &'y [f64])> {
        let mut rest = y;
        self.blocks.iter().map(move |(n, h)| {
            let (own, others) = rest.split_at(*n);
            rest = others;
            (*h, own)
        })
    }

    /// h(y).
    pub fn value(&self, y: &[f64]) -> f64 {
        match self.scalars.is_empty() {
            false => (self.scalars.iter().zip(y))
                .map(|(h, y)| h.value_at(*y))
                .sum(),
            true => self.split(y).map(|(h, y)| h.value(y)).sum(),
        }
    }

    /// h*(s).
    pub fn conjugate(&self, s: &[f64]) -> f64 {
        self.split(s).map(|(h, s)| h.conjugate(s)).sum()
    }

    /// Replaces s by argmax_y s'y - h(y) - kappa/2 |y|^2.
    pub fn argmax(&self, kappa: f64, s: &mut [f64]) {
        let mut rest = s;
        for (n, h) in self.blocks {
            let (own, others) = rest.split_at_mut(*n);
            h.argmax(kappa, own);
            rest = others;
        }
    }

    /// The strong convexity of h: the smallest of all blocks.
    pub fn strong_convexity(&self) -> f64 {
        let each = self.blocks.iter().filter(|(n, _)| *n > 0);
        each.map(|(_, h)| h.strong_convexity())
            .fold(f64::INFINITY, f64::min)
    }

    /// Whether y is grad h*(s), up to `tolerance`.
    pub fn is_code(&self, s: &[f64], y: &[f64], tolerance: f64) -> bool {
        // An error of eps |s| in s moves the recovered code by eps |s| / delta.
        if !self.scalars.is_empty() {
            return self.scalars.iter().zip(s).zip(y).all(|((h, s), y)| {
                let recovered = h.coordinate_argmax(*s, 0.0);
                (recovered - y).abs() <= tolerance * (y.abs() + s.abs() / h.strong_convexity())
            });
        }
        let (mut recovered, delta) = (s.to_vec(), self.strong_convexity());
        self.argmax(0.0, &mut recovered);
        let largest = |v: &[f64]| v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let near = tolerance * (largest(y) + largest(s) / delta);
        // Entry by entry: the largest difference would drop NaN.
        (recovered.iter().zip(y)).all(|(recovered, y)| (recovered - y).abs() <= near)
    }
}

/// Sets `y` to argmin h, from which coding starts.
pub(crate) fn start_codes(h: &dyn Regularizer, y: &mut [f64]) {
    y.fill(0.0);
    h.argmax(0.0, y);
}
