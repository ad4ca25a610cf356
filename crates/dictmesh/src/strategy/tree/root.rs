//! The root: one quasi-Newton method per sample, on sums over all agents.
//!
//! The root alone decides on directions, step lengths, units, restarts and ends, so that agents on
//! different processors cannot disagree.

use super::order::Task;
use super::proximal::first_weight;
use super::reply::answers;
use super::sample::Sample;
use crate::strategy::{Certified, Local};
use crate::Stop;
use dictmesh_kernels::matrix::{norm, Matrix};
use rayon::prelude::*;

/// Pairs per sample where memory allows. More help only residuals without curvature.
const PAIRS: usize = 60;
/// The least number of pairs; a batch is coded in parts where memory has no room for them.
const LEAST_PAIRS: usize = 8;
/// Bytes for the pairs of all samples that are coded together.
const PAIR_MEMORY: usize = 256 << 20;

/// How many samples are coded together, and the pairs of each, for M rows.
pub(super) fn capacity(rows: usize, samples: usize) -> (usize, usize) {
    let pair = 16 * rows.max(1);
    let window = (PAIR_MEMORY / (pair * LEAST_PAIRS)).clamp(1, samples.max(1));
    let pairs = (PAIR_MEMORY / (pair * window)).clamp(LEAST_PAIRS, PAIRS);
    (window, pairs)
}

/// The state of the root for the samples that are being coded.
#[derive(Debug)]
pub(super) struct Root {
    bits: u32,
    samples: Vec<Sample>,
}

impl Root {
    /// For samples with |x|_inf <= 2^e (`None`: x = 0) and their columns of nu.
    pub fn new(
        local: &Local,
        (bits, pairs): (u32, usize),
        sizes: &[Option<i32>],
        nu: &Matrix,
        columns: &[usize],
    ) -> Self {
        let weight = first_weight(local);
        let each = sizes.iter().zip(columns);
        let sample = |(size, j): (&_, &usize)| Sample::new(*size, nu.column(*j), pairs, weight);
        Root {
            bits,
            samples: each.map(sample).collect(),
        }
    }

    /// The first tasks of these samples.
    pub fn evaluate(&mut self) -> Vec<Task> {
        let bits = self.bits;
        let each = self.samples.iter_mut();
        let evaluate = |sample: &mut Sample| {
            let length = norm(&sample.nu);
            Task::Evaluate(sample.next_scales(length, bits))
        };
        each.map(evaluate).collect()
    }

    /// Takes the sum over all agents for these tasks, and decides on the next ones. `columns` are
    /// those of nu. `last`: this round is the last that is allowed.
    pub fn next(
        &mut self,
        local: &Local,
        (nu, columns): (&Matrix, &[usize]),
        (tasks, total): (&[Task], &[i64]),
        last: bool,
    ) -> Vec<Task> {
        let bits = self.bits;
        let Some(answers) = answers(total, tasks, nu.rows(), bits) else {
            return self.end(Stop::Diverged); // the carrier checks layouts
        };
        let each = self
            .samples
            .par_iter_mut()
            .zip(columns)
            .zip(tasks.par_iter().zip(answers));
        let next: Vec<Task> = each
            .map(|((sample, j), (task, answer))| {
                sample.next(local, nu.column(*j), (task, &answer), (bits, last))
            })
            .collect();
        let mut left = next.iter().map(|task| !matches!(task, Task::End(_)));
        self.samples.retain(|_| left.next() == Some(true));
        next
    }

    /// Ends all samples.
    fn end(&mut self, stop: Stop) -> Vec<Task> {
        let ended = |sample: Sample| Certified {
            stop,
            ..sample.certified
        };
        let all = self.samples.drain(..);
        all.map(|sample| Task::End(ended(sample))).collect()
    }
}
