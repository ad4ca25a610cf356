//! One batch at one agent: inference with the neighbours, then the update alone.

use super::checkpoint::State;
use super::cost::{Averaging, Cost};
use super::epoch::Mesh;
use super::events::{Batch, Event};
use super::inference::{Found, Inference};
use super::opening::Trouble;
use super::talk::Halt;
use super::Agent;
use crate::error::Error;
use dictmesh::network::has_diverged;
use dictmesh::network::{product_of_fired, update_block};
use dictmesh::strategy::Local;
use dictmesh::AgentId;
use dictmesh::{Matrix, Samples, Stop};

impl Agent {
    /// Codes `samples` samples, of which this agent sees `x` if it is informed, and learns from them.
    pub(super) fn batch(
        &mut self,
        mesh: &Mesh,
        samples: usize,
        x: Option<Samples>,
    ) -> Result<(), Halt> {
        let (position, epoch) = (self.state.position, self.around.epoch);
        self.talk.take_bytes();
        // Inference: nu_k by exchange with the neighbours, y_k from it; and the cost, on which all agree.
        let (found, cost, y) = self.infer(mesh, samples, x)?;
        let stop = match cost.troubled {
            true => found.stop.worse(Stop::Diverged),
            false => found.stop,
        };
        // As in one process: batches that change no atom do not count.
        if self.adapts(mesh) && matches!(stop, Stop::Converged | Stop::RoundLimit) {
            let converged = stop == Stop::Converged;
            (self.state.penalty).after_batch(converged.then_some(found.rounds));
        }
        // Update: each agent alone.
        let movement = match stop {
            Stop::Converged | Stop::RoundLimit => self.update(&y),
            Stop::Diverged | Stop::Infeasible | Stop::Interrupted => 0.0,
        };
        self.trouble = match stop == Stop::Diverged || !movement.is_finite() {
            true if cost.own || !movement.is_finite() => Some(Trouble::Of(self.settings.id)),
            true => Some(Trouble::Heard),
            false => None,
        };
        self.boundary(position + samples as u64)?;
        let fired = y.as_slice().iter().filter(|y| **y != 0.0).count();
        self.codes = y;
        (self.observer)(&Event::Batch(Batch {
            epoch,
            position,
            samples,
            rounds: found.rounds,
            stop,
            residual: found.residual,
            scores: cost.scores,
            sparsity: fired as f64 / samples as f64,
            movement,
            bytes: self.talk.take_bytes(),
        }));
        Ok(())
    }

    fn infer(
        &mut self,
        mesh: &Mesh,
        samples: usize,
        x: Option<Samples>,
    ) -> Result<(Found, Cost, Matrix), Halt> {
        let (id, position, epoch) = (self.settings.id, self.state.position, self.around.epoch);
        let (agents, diameter) = (mesh.members.agents(), mesh.members.diameter);
        let adapts = self.adapts(mesh);
        let share = x.as_ref().map(|x| share(x, mesh.members.informed()));
        let sizes: Option<Vec<f64>> = x.map(|x| (0..x.len()).map(|j| x.norm(j)).collect());
        let each = mesh.members.records.values();
        let members: Vec<(AgentId, bool)> = each.map(|r| (r.id, r.informed)).collect();
        let local = Local {
            residual: self.task.residual(),
            task: self.task.local(id),
            block: &self.state.block,
            agents,
            share: share.as_ref(),
            informed: mesh.members.informed(),
            is_first_informed: members
                .iter()
                .find(|(_, informed)| *informed)
                .map(|(k, _)| *k)
                == Some(id),
            is_root: mesh.members.tree.parent.is_none(),
            degree: self.talk.degree(),
            samples,
            scratch: &self.scratch,
            interrupt: None,
            batching: self.settings.accels.batching(),
            tolerance: self.settings.stopping.tolerance,
            rounds: self.settings.stopping.rounds,
        };
        let inference = Inference {
            id,
            local,
            senders: &mesh.rules,
            tree: &mesh.members.tree,
            masks: mesh.members.masks.as_ref(),
            method: &*self.method,
            sums: mesh.sums,
            single: agents == 1 && self.method.solves_alone(),
            stopping: self.settings.stopping,
            diameter,
            sizes: sizes.as_deref(),
            members: &members,
            epoch,
            position,
        };
        if adapts {
            (self.strategy).scale_penalty(&local, self.state.penalty.scale());
        }
        let found = inference.run(&mut self.strategy, &mut self.talk)?;
        let nu = self.strategy.dual();
        let y = (self.strategy.codes()).unwrap_or_else(|| local.codes(nu));
        let averaging = Averaging {
            id,
            agents,
            diameter,
            weights: &mesh.weights,
            epoch,
            position,
        };
        let mut cost = match self.method.decides() {
            true => self.certified_cost(),
            false => {
                let costs = self.settings.score.then(|| local.cost(nu));
                averaging.run(costs.as_deref(), found.troubled, &mut self.talk)?
            }
        };
        let delta = local.task.regularizer().strong_convexity();
        cost.own |= is_beyond_bounds(nu, sizes.as_deref(), delta);
        if found.stop == Stop::Infeasible {
            cost.scores.clear(); // what no code can meet has no cost
        }
        Ok((found, cost, y))
    }

    /// Whether the penalty of the strategy follows the rounds of the batches, as in one process.
    fn adapts(&self, mesh: &Mesh) -> bool {
        let has_tolerance = self.settings.stopping.tolerance.is_some();
        let learns = self.settings.update.is_some();
        self.method.adapts() && has_tolerance && learns && mesh.members.agents() > 1
    }

    /// The costs that the strategy computed for all agents; they need no averaging.
    fn certified_cost(&self) -> Cost {
        let certified = self.strategy.certified().unwrap_or_default();
        let wanted = certified.iter().filter(|_| self.settings.score);
        Cost {
            scores: wanted.map(|sample| sample.cost).collect(),
            troubled: false,
            own: false,
        }
    }

    /// Learns from its own nu_k and y_k; returns how far the atoms moved.
    fn update(&mut self, y: &Matrix) -> f64 {
        let Some(update) = &self.settings.update else {
            return 0.0;
        };
        let block = self.settings.block.unwrap_or(u64::MAX).max(1);
        let s = 1 + (self.state.position / block) as usize;
        let product = product_of_fired(self.strategy.dual(), y);
        let task = self.task.local(self.settings.id);
        let State { block, used, .. } = &mut self.state;
        update_block(
            update,
            s,
            self.task.residual(),
            task,
            product,
            y,
            block,
            used,
        )
    }

    /// Keeps the boundary after a batch.
    fn boundary(&mut self, position: u64) -> Result<(), Error> {
        self.state.position = position;
        self.unwritten += 1;
        let write = self.unwritten >= self.settings.checkpoint_every;
        if write {
            self.unwritten = 0;
        }
        self.checkpoints
            .keep(self.state.clone(), &self.around, write)?;
        if let Some(source) = &mut self.source {
            source.forget(self.checkpoints.oldest());
        }
        Ok(())
    }
}

/// Whether an agent can say of its own dual vectors that they ran away: if it knows |x|, or cannot even square them.
fn is_beyond_bounds(nu: &Matrix, sizes: Option<&[f64]>, delta: f64) -> bool {
    let squares = |v: &f64| (v * v).is_finite();
    !nu.as_slice().iter().all(squares) || sizes.is_some_and(|sizes| has_diverged(nu, sizes, delta))
}

/// b_k = x/|N_I|.
fn share(x: &Samples, informed: usize) -> Matrix {
    let mut share = x.to_dense();
    let weight = 1.0 / informed as f64;
    share.as_mut_slice().iter_mut().for_each(|v| *v *= weight);
    share
}

/// `Ok` if the squares of all samples are finite: otherwise the dual vectors of all agents
/// overflow, and the run cannot name the agent whose samples are the cause.
pub(super) fn check_squares(x: &Samples, position: u64) -> Result<(), String> {
    let overflows = |j: &usize| !x.norm(*j).powi(2).is_finite();
    let Some(j) = (0..x.len()).find(overflows) else {
        return Ok(());
    };
    let largest = x
        .entries(j)
        .fold(0.0, |most: f64, (_, v)| most.max(v.abs()));
    Err(format!(
        "sample {} has entries as large as {largest:.0e}, whose squares overflow; scale the samples",
        position + j as u64
    ))
}
