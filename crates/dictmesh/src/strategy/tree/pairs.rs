//! L-BFGS: a quasi-Newton direction from the last steps and changes of the gradient.

use dictmesh_kernels::matrix::{axpy, dot, norm};
use std::collections::VecDeque;

/// A pair counts if s'y exceeds this share of |s||y|; otherwise rounding dominates its curvature.
const CURVATURE: f64 = 1e-10;
/// H without pairs, relative to its estimate by the newest pair. The estimate is that of the
/// directions of large curvature; those that no pair has yet are mostly of smaller curvature.
const FLATTER: f64 = 2.0;

/// The pairs (s, y): steps of nu with the changes of the gradient over them, the newest last.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pairs: VecDeque<Pair>,
    capacity: usize,
}

#[derive(Debug)]
struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    /// s'y, beyond rounding.
    sy: f64,
}

impl Pair {
    /// `None` if its curvature is not positive beyond rounding.
    fn new(s: Vec<f64>, y: Vec<f64>) -> Option<Self> {
        let sy = dot(&s, &y);
        let has_curvature = sy > CURVATURE * norm(&s) * norm(&y) && sy.is_normal();
        has_curvature.then_some(Pair { s, y, sy })
    }

    /// The pair in these rows.
    fn within(&self, free: &[bool]) -> Option<Self> {
        Pair::new(within(&self.s, free), within(&self.y, free))
    }
}

/// v in the rows that `free` names; 0 in the others.
fn within(v: &[f64], free: &[bool]) -> Vec<f64> {
    let kept = |(v, free): (&f64, &bool)| if *free { *v } else { 0.0 };
    v.iter().zip(free).map(kept).collect()
}

impl Pairs {
    /// No pairs yet, and at most `capacity`.
    pub fn new(capacity: usize) -> Self {
        Pairs {
            pairs: VecDeque::new(),
            capacity,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Follows a change of the curvature by `change` in all directions.
    pub fn bend(&mut self, change: f64) {
        let bent = |Pair { s, mut y, .. }: Pair| {
            axpy(change, &s, &mut y);
            Pair::new(s, y)
        };
        self.pairs = self.pairs.drain(..).filter_map(bent).collect();
    }

    /// Adds a pair if its curvature is positive beyond rounding; drops the oldest for it.
    pub fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        let Some(pair) = Pair::new(s, y) else {
            return;
        };
        if self.pairs.len() >= self.capacity {
            self.pairs.pop_front();
        }
        self.pairs.push_back(pair);
    }

    /// -H g by the two-loop recursion, in the rows that `free` names; the other rows are 0.
    /// H is an approximate inverse Hessian on the free rows; the identity without pairs.
    pub fn direction(&self, g: &[f64], free: Option<&[bool]>) -> Vec<f64> {
        let Some(free) = free else {
            return two_loops(self.pairs.iter().rev(), g.to_vec());
        };
        // Without those whose curvature is in the rows that are not free.
        let pairs = self.pairs.iter().rev();
        let pairs: Vec<Pair> = pairs.filter_map(|pair| pair.within(free)).collect();
        two_loops(pairs.iter(), within(g, free))
    }
}

/// -H q, with the pairs from the newest.
fn two_loops<'a>(
    pairs: impl DoubleEndedIterator<Item = &'a Pair> + Clone,
    mut q: Vec<f64>,
) -> Vec<f64> {
    let first = |Pair { s, y, sy }: &Pair| {
        let a = dot(s, &q) / sy;
        axpy(-a, y, &mut q);
        a
    };
    let coefficients: Vec<f64> = pairs.clone().map(first).collect();
    if let Some(Pair { y, sy, .. }) = pairs.clone().next() {
        let scale = FLATTER * sy / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for (Pair { s, y, sy }, a) in pairs.rev().zip(coefficients.iter().rev()) {
        axpy(a - dot(y, &q) / sy, s, &mut q);
    }
    q.iter_mut().for_each(|q| *q = -*q);
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With as many pairs as dimensions, conjugate steps give the Newton direction of a quadratic.
    #[test]
    fn a_quadratic_is_solved_by_its_own_pairs() {
        let curvatures = [1.0, 4.0, 30.0];
        let gradient = |x: &[f64]| -> Vec<f64> {
            x.iter()
                .zip(&curvatures)
                .map(|(x, c)| c * (x - 1.0))
                .collect()
        };
        let (mut x, mut pairs) = (vec![0.0; 3], Pairs::new(3));
        for _ in 0..3 {
            let g = gradient(&x);
            let p = pairs.direction(&g, None);
            let curvature: f64 = p.iter().zip(&curvatures).map(|(p, c)| c * p * p).sum();
            let t = -dot(&g, &p) / curvature;
            let s: Vec<f64> = p.iter().map(|p| t * p).collect();
            axpy(1.0, &s, &mut x);
            let y: Vec<f64> = gradient(&x)
                .iter()
                .zip(&g)
                .map(|(new, old)| new - old)
                .collect();
            pairs.push(s, y);
        }
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12), "{x:?}");
    }

    #[test]
    fn pairs_follow_a_change_of_the_curvature() {
        let mut pairs = Pairs::new(2);
        pairs.push(vec![1.0, 0.0], vec![3.0, 0.0]);
        pairs.bend(-1.0);
        assert_eq!(pairs.direction(&[1.0, 0.0], None), [-0.5, 0.0]);
        pairs.bend(-2.0);
        assert!(pairs.is_empty());
    }

    #[test]
    fn rows_that_are_not_free_stay_and_flat_pairs_are_left_out() {
        let mut pairs = Pairs::new(2);
        pairs.push(vec![1.0, 0.0], vec![-1.0, 0.0]);
        pairs.push(vec![0.0, 0.0], vec![0.0, 0.0]);
        assert!(pairs.is_empty());
        pairs.push(vec![1.0, 1.0], vec![2.0, 4.0]);
        let p = pairs.direction(&[1.0, 1.0], Some(&[true, false]));
        assert_eq!(p, [-0.5, 0.0]);
    }
}
