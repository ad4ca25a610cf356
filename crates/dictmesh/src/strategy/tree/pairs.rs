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
        (self.pairs.iter_mut()).for_each(|pair| axpy(change, &pair.s, &mut pair.y));
        (self.pairs).retain(|Pair { s, y }| has_curvature(dot(s, y), s, y));
    }

    /// Adds a pair if its curvature is positive beyond rounding; drops the oldest for it.
    pub fn push(&mut self, s: Vec<f64>, y: Vec<f64>) {
        if !has_curvature(dot(&s, &y), &s, &y) {
            return;
        }
        if self.pairs.len() >= self.capacity {
            self.pairs.pop_front();
        }
        self.pairs.push_back(Pair { s, y });
    }

    /// -H g by the two-loop recursion, in the rows that `free` names; the other rows are 0.
    /// H is an approximate inverse Hessian on the free rows; the identity without pairs.
    pub fn direction(&self, g: &[f64], free: Option<&[bool]>) -> Vec<f64> {
        let kept = |v: &[f64]| match free {
            Some(free) => v
                .iter()
                .zip(free)
                .map(|(v, f)| if *f { *v } else { 0.0 })
                .collect(),
            None => v.to_vec(),
        };
        let mut q: Vec<f64> = kept(g);
        // s, y, s'y and the coefficient of the first loop, the newest first.
        let mut used: Vec<(Vec<f64>, Vec<f64>, f64, f64)> = Vec::new();
        for Pair { s, y } in self.pairs.iter().rev() {
            let (s, y) = (kept(s), kept(y));
            let sy = dot(&s, &y);
            if !has_curvature(sy, &s, &y) {
                continue; // its curvature is in the rows that are not free
            }
            let a = dot(&s, &q) / sy;
            axpy(-a, &y, &mut q);
            used.push((s, y, sy, a));
        }
        if let Some((_, y, sy, _)) = used.first() {
            let scale = FLATTER * sy / dot(y, y);
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for (s, y, sy, a) in used.iter().rev() {
            axpy(a - dot(y, &q) / sy, s, &mut q);
        }
        q.iter_mut().for_each(|q| *q = -*q);
        q
    }
}

fn has_curvature(sy: f64, s: &[f64], y: &[f64]) -> bool {
    sy > CURVATURE * norm(s) * norm(y) && sy.is_normal()
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
