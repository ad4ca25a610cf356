//! How agents find out together that no code can meet a sample's constraint: the first informed agent's drift goes
//! through the mesh, then what each adds to the inequality.

use super::inference::Inference;
use super::talk::{Halt, Talk};
use dictmesh::network::infeasible::{parts, proven};
use dictmesh::AgentId;
use dictmesh::Matrix;

impl Inference<'_> {
    /// Whether the way nu moved in the last round proves it for some sample. `exchanges` counts on.
    pub(super) fn is_infeasible(
        &self,
        nu: &Matrix,
        before: &Matrix,
        exchanges: &mut u32,
        talk: &mut Talk,
    ) -> Result<bool, Halt> {
        let (drift, sizes) = self.flood_drift(nu, before, exchanges, talk)?;
        let drift = Matrix::from_vec(nu.rows(), nu.cols(), drift).map_err(dictmesh::Error::from)?;
        let own = (0..nu.cols()).map(|j| parts(&self.local, drift.column(j), j, sizes[j]));
        let own: Vec<f64> = own.flat_map(|(seen, support)| [seen, support]).collect();
        let sums = self.flood_sums(&own, exchanges, talk)?;
        Ok((0..nu.cols()).any(|j| {
            let (seen, support) = (sums[2 * j], sums[2 * j + 1]);
            proven(
                self.local.residual,
                drift.column(j),
                sizes[j],
                seen,
                support,
            )
        }))
    }

    /// The drift of the first informed agent, and the sizes of the samples.
    fn flood_drift(
        &self,
        nu: &Matrix,
        before: &Matrix,
        exchanges: &mut u32,
        talk: &mut Talk,
    ) -> Result<(Vec<f64>, Vec<f64>), Halt> {
        let proposes = self.members.iter().find(|(_, informed)| *informed);
        let mut known = proposes.is_some_and(|(id, _)| *id == self.id);
        let apart = nu.as_slice().iter().zip(before.as_slice());
        let mut drift: Vec<f64> = apart.map(|(new, old)| new - old).collect();
        known &= drift.iter().all(|v| v.is_finite());
        let mut sizes = self
            .sizes
            .map_or_else(|| vec![0.0; nu.cols()], <[f64]>::to_vec);
        if !known {
            drift.fill(0.0);
        }
        for _ in 0..self.diameter {
            let mut scalars = vec![if known { 1.0 } else { 0.0 }];
            scalars.extend_from_slice(&sizes);
            self.exchange_proof(scalars, &drift, exchanges, talk)?;
            let heard = talk.heard().find(|(_, frame)| frame.scalars[0] == 1.0);
            if let Some((_, frame)) = heard.filter(|_| !known) {
                known = true;
                drift.copy_from_slice(&frame.dual);
                sizes.copy_from_slice(&frame.scalars[1..]);
            }
        }
        Ok((drift, sizes))
    }

    /// The sums of what all agents add, each in the order of their numbers.
    fn flood_sums(
        &self,
        own: &[f64],
        exchanges: &mut u32,
        talk: &mut Talk,
    ) -> Result<Vec<f64>, Halt> {
        let entry = 1 + own.len();
        let mut table = vec![0.0; entry * self.members.len()];
        let at = |id: AgentId| self.members.iter().position(|(member, _)| *member == id);
        if let Some(i) = at(self.id).filter(|_| own.iter().all(|v| v.is_finite())) {
            table[i * entry] = 1.0;
            table[i * entry + 1..(i + 1) * entry].copy_from_slice(own);
        }
        for _ in 0..self.diameter {
            self.exchange_proof(table.clone(), &[], exchanges, talk)?;
            for (_, frame) in talk.heard() {
                let theirs = frame.scalars.chunks_exact(entry);
                for (mine, theirs) in table.chunks_exact_mut(entry).zip(theirs) {
                    if mine[0] == 0.0 {
                        mine.copy_from_slice(theirs);
                    }
                }
            }
        }
        // An agent that could not add its part leaves the proof open.
        let mut sums = vec![0.0; own.len()];
        for entry in table.chunks_exact(entry) {
            let open = if entry[0] == 1.0 { 0.0 } else { f64::NAN };
            (sums.iter_mut().zip(&entry[1..])).for_each(|(sum, v)| *sum += v + open);
        }
        Ok(sums)
    }

    fn exchange_proof(
        &self,
        scalars: Vec<f64>,
        dual: &[f64],
        exchanges: &mut u32,
        talk: &mut Talk,
    ) -> Result<(), Halt> {
        talk.own.tag = self.tag(exchanges);
        talk.own.scalars = scalars;
        talk.own.dual.clear();
        talk.own.dual.extend_from_slice(dual);
        talk.round()?;
        Ok(())
    }
}
