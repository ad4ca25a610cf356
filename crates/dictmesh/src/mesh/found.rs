//! The results of a run: duals, codes and costs of a batch.

use super::chunk::SampleChunk;
use super::inference_result::{disagreement, Inference};
use super::run::{demote_if_nonfinite, side_by_side, sum_costs, Run};
use super::stopping::max_or_nan;
use crate::accel::{lift_all, Term};
use crate::Stop;
use dictmesh_kernels::Matrix;
use rayon::prelude::*;
use std::borrow::Cow;

impl Run<'_> {
    /// The current result of the agents; `stop` is the outcome to record.
    pub fn found(&self, stop: Stop) -> Inference {
        Inference {
            duals: self.lifted(),
            ..self.found_without_duals(stop)
        }
    }

    /// As [`found`](Run::found), at the end of the run. Other iterates are freed first: results of
    /// a large mesh would not fit beside them.
    pub(super) fn into_found(mut self, stop: Stop) -> Inference {
        self.chunks.iter_mut().for_each(SampleChunk::keep_duals);
        let found = self.found_without_duals(stop);
        let is_reduced = self.chunks.iter().any(|chunk| chunk.reduced.is_some());
        let duals = match is_reduced {
            true => self.lifted(),
            false => (0..self.mesh.agents.len())
                .map(|k| {
                    let each = self.chunks.iter_mut().map(|chunk| chunk.take_dual(k));
                    side_by_side(each.collect::<Vec<_>>().iter())
                })
                .collect(),
        };
        Inference { duals, ..found }
    }

    /// As [`into_found`](Run::into_found), without duals.
    pub(super) fn into_found_without_duals(mut self, stop: Stop) -> Inference {
        self.chunks.iter_mut().for_each(SampleChunk::keep_duals);
        self.found_without_duals(stop)
    }

    /// Every agent's nu_k in all rows.
    fn lifted(&self) -> Vec<Matrix> {
        let agents = self.mesh.agents.len();
        let each = self.chunks.par_iter().map(|chunk| {
            let Some(reduced) = &chunk.reduced else {
                return chunk.duals().map(Cow::Borrowed).collect();
            };
            let samples = chunk.samples.len();
            let nus = chunk
                .duals()
                .flat_map(|nu| (0..samples).map(move |j| (nu, j)));
            let terms = nus.enumerate().map(|(column, (nu, at))| Term {
                column,
                scale: 1.0,
                sample: chunk.samples.start + at,
                lift: reduced.lift(at, nu.column(at)),
            });
            let terms: Vec<Term> = terms.collect();
            let all = lift_all(&self.mesh.blocks(), self.x, terms.len(), &terms);
            let ranges = (0..agents).map(|k| k * samples..(k + 1) * samples);
            ranges
                .map(|range| Cow::Owned(all.columns_range(range)))
                .collect()
        });
        let each: Vec<Vec<Cow<Matrix>>> = each.collect();
        (0..agents)
            .into_par_iter()
            .map(|k| side_by_side(each.iter().map(|duals| &*duals[k])))
            .collect()
    }

    /// As [`found`](Run::found), without duals.
    pub(super) fn found_without_duals(&self, stop: Stop) -> Inference {
        let local_costs = self.local_costs();
        let costs = sum_costs(&local_costs);
        let disagreements = self.chunks.par_iter().map(|chunk| {
            let duals: Vec<&Matrix> = chunk.duals().collect();
            disagreement(&duals)
        });
        Inference {
            disagreement: disagreements.reduce(|| 0.0, max_or_nan),
            duals: Vec::new(),
            codes: self.codes(),
            weights: self.x.weights().map(<[f64]>::to_vec),
            stop: demote_if_nonfinite(stop, &local_costs),
            local_costs,
            costs,
            rounds: self.rounds(),
            hops: self.hops(),
            bytes: self.bytes(),
            infeasible: self.infeasible(),
            certified: self.certified(),
        }
    }
}
