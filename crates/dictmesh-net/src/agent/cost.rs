//! How agents come to agree on the cost of each sample: plain averaging, g <- A'g from g_k(0) = -J_k.
//!
//! No agent knows how fast the graph mixes. So each measures how far it is from its neighbours, the largest such
//! number is flooded, and all stop in the same round when it is small.

use super::talk::{Halt, Talk};
use crate::exchange::{Phase, Tag};
use dictmesh::network::combine;
use dictmesh::AgentId;

/// The distance between neighbours to stop at, relative to the largest number either had.
const AGREED: f64 = 1e-12;
/// Rounds at most: a graph that mixes so slowly that they are not enough has its score to fewer digits.
const MOST: u32 = 1_000_000;

/// What the agents agreed on.
pub(super) struct Cost {
    /// N g of each sample; empty if nobody asked.
    pub scores: Vec<f64>,
    /// Whether somebody's numbers are beyond all bounds.
    pub troubled: bool,
    /// Whether this agent's own are.
    pub own: bool,
}

/// Where the averaging takes place.
pub(super) struct Averaging<'a> {
    pub id: AgentId,
    pub agents: usize,
    pub diameter: usize,
    pub weights: &'a [(AgentId, f64)],
    pub epoch: u32,
    pub position: u64,
}

impl Averaging<'_> {
    /// From J_k of each sample, if scores are wanted, and whether this agent has seen trouble.
    pub fn run(
        &self,
        costs: Option<&[f64]>,
        troubled: bool,
        talk: &mut Talk,
    ) -> Result<Cost, Halt> {
        let finite = costs
            .unwrap_or_default()
            .iter()
            .all(|cost| cost.is_finite());
        let mut g: Vec<f64> = (costs.unwrap_or_default().iter())
            .map(|cost| if finite { -cost } else { 0.0 })
            .collect();
        let mut size: Vec<f64> = g.iter().map(|g| g.abs()).collect();
        let mut flag = if troubled || !finite { 1.0_f64 } else { 0.0 };
        let (mut spread, mut measured) = (0.0_f64, None);
        let mut round = 0;
        // Without scores there are only the flags to be flooded.
        let wanted = costs.is_some();
        while self.diameter > 0 && round < if wanted { MOST } else { self.diameter as u32 } {
            self.exchange(round, flag, spread, &g, talk)?;
            round += 1;
            let mut apart = 0.0_f64;
            for (_, frame) in talk.heard() {
                flag = flag.max(frame.scalars[0]);
                spread = spread.max(frame.scalars[1]);
                for ((theirs, own), size) in frame.scalars[2..].iter().zip(&g).zip(&size) {
                    let (far, size) = ((theirs - own).abs(), size.max(theirs.abs()));
                    apart = apart.max(if far > 0.0 { far / size } else { 0.0 });
                }
            }
            let mut new = vec![0.0; g.len()];
            combine(
                talk.weighted(self.id, self.weights, &g, |_, frame| &frame.scalars[2..]),
                &mut new,
            );
            g = new;
            (size.iter_mut().zip(&g)).for_each(|(size, g)| *size = size.max(g.abs()));
            if round % self.diameter as u32 == 0 && wanted {
                if measured.is_some() && spread <= AGREED {
                    break;
                }
                (spread, measured) = (apart, Some(round));
            }
        }
        Ok(Cost {
            scores: g.iter().map(|g| self.agents as f64 * g).collect(),
            troubled: flag > 0.0,
            own: !finite,
        })
    }

    fn exchange(
        &self,
        round: u32,
        flag: f64,
        spread: f64,
        g: &[f64],
        talk: &mut Talk,
    ) -> Result<(), Halt> {
        talk.own.tag = Tag {
            epoch: self.epoch,
            sample: self.position,
            phase: Phase::Cost,
            round,
        };
        talk.own.dual.clear();
        talk.own.scalars.clear();
        talk.own.scalars.extend([flag, spread]);
        talk.own.scalars.extend_from_slice(g);
        talk.round()?;
        Ok(())
    }
}
