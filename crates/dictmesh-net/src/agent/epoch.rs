//! One epoch of an agent: agree, then batch after batch until something changes.

use super::agreement::{self, Members, Record, POSITIONS};
use super::checkpoint::State;
use super::cost::Averaging;
use super::events::{Agreed, Batch, Event, Outcome};
use super::inference::{Found, Inference};
use super::opening::{self, Opened, Wish};
use super::talk::Halt;
use super::Agent;
use crate::error::Error;
use crate::exchange::{Fault, Phase, Tag};
use crate::source::Taken;
use dictmesh::agent::{AgentId, Local};
use dictmesh::inference::Combine;
use dictmesh::learning::{product, update_block};
use dictmesh::topology::lazy_column;
use dictmesh::{Matrix, Samples, Stop};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long an informed agent waits for its source before it tells the others that there is nothing yet.
const PAUSE: Duration = Duration::from_millis(50);
/// Attempts to open a batch after which rounds are numbered anew.
const TICKS: u32 = 10_000_000;

/// What an agent knows of the mesh during an epoch.
struct Mesh {
    members: Members,
    /// (l, a_lk), rising, for averages.
    weights: Vec<(AgentId, f64)>,
    /// The same as the strategy wants them.
    combination: Vec<(AgentId, f64)>,
}

impl Agent {
    /// From an agreement to whatever ends the epoch.
    pub(super) fn epoch(&mut self) -> Result<Outcome, Halt> {
        let mesh = self.agree()?;
        loop {
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Ok(Outcome::Interrupted);
            }
            match self.open(&mesh)? {
                (Opened::Batch(samples), x) => self.batch(&mesh, samples, x)?,
                (Opened::Leaves(id), _) if id == self.settings.id => {
                    self.close(&mesh);
                    return Ok(Outcome::Left);
                }
                (Opened::Leaves(id), _) => {
                    self.around.active.retain(|l| *l != id);
                    self.around.gone.push(id);
                    return Err(self.change(id));
                }
                (Opened::Change, _) => return Err(self.change(self.settings.id)),
                (Opened::Diverged, _) => {
                    self.close(&mesh);
                    return Ok(Outcome::Diverged);
                }
                (Opened::End | Opened::Pending, _) => {
                    self.around.ended = true;
                    self.checkpoints
                        .keep(self.state.clone(), &self.around, true)?;
                    return self.farewell(&mesh);
                }
            }
        }
    }

    /// Who is there, and from where all go on.
    fn agree(&mut self) -> Result<Mesh, Halt> {
        self.admit();
        self.talk.take_part(&self.around.active);
        let (id, epoch) = (self.settings.id, self.around.epoch);
        let mut positions = self.checkpoints.positions();
        positions.truncate(POSITIONS);
        let own = Record {
            id,
            informed: self.source.is_some(),
            joins: self.settings.joins && self.state.position == 0,
            degree: self.talk.degree(),
            positions,
        };
        let members = agreement::agree(&mut self.talk, epoch, own)?;
        let position = members.position(&self.settings.policy)?;
        self.go_to(position)?;
        if members.informed() == 0 {
            let members = members.ids();
            return Err(Error::Uninformed { members }.into());
        }
        (self.observer)(&Event::Agreed(Agreed {
            epoch,
            position,
            members: members.ids(),
            informed: members.informed(),
            diameter: members.diameter,
        }));
        let weights = members.weights(id, self.talk.neighbours(), &self.settings.weighting);
        let combination = match self.settings.strategy.combine() {
            Combine::Weights => weights.clone(),
            Combine::LazyWeights => lazy_column(id, &weights),
            Combine::NeighbourSum => self.talk.neighbours().iter().map(|l| (*l, 1.0)).collect(),
        };
        Ok(Mesh {
            members,
            weights,
            combination,
        })
    }

    /// Back to a sample that this agent has kept, or, where the others have come further, on to theirs with the
    /// atoms it has.
    fn go_to(&mut self, position: u64) -> Result<(), Error> {
        self.troubled = false;
        if self.checkpoints.positions().contains(&position) {
            self.state = self.checkpoints.go_back(position)?;
            return Ok(());
        }
        self.checkpoints.clear()?;
        self.state.position = position;
        self.checkpoints
            .keep(self.state.clone(), &self.around, true)
    }

    /// Waits for samples, an end, or a change, with all others.
    fn open(&mut self, mesh: &Mesh) -> Result<(Opened, Option<Samples>), Halt> {
        let mut taken = None;
        for tick in 0.. {
            if taken.is_none() {
                taken = self.take()?;
            }
            let knocking = self.talk.knocking();
            let wish = Wish {
                samples: taken
                    .as_ref()
                    .map(|x: &Option<Samples>| x.as_ref().map_or(0, Samples::len)),
                pending: self.source.is_some() && taken.is_none(),
                leaves: (self.control.leave.load(Ordering::Relaxed)).then_some(self.settings.id),
                change: tick > TICKS || knocking.iter().any(|l| !self.around.gone.contains(l)),
                troubled: self.troubled,
            };
            let (epoch, position) = (self.around.epoch, self.state.position);
            let diameter = mesh.members.diameter;
            let opened = opening::open(&mut self.talk, epoch, position, tick, diameter, &wish)?;
            if opened != Opened::Pending {
                return Ok((opened, taken.flatten()));
            }
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Err(Fault::Interrupted.into());
            }
        }
        Ok((Opened::Change, None))
    }

    /// What the source has: `None` if not enough yet, or if there is no source; `Some(None)` at its end.
    fn take(&mut self) -> Result<Option<Option<Samples>>, Error> {
        let position = self.state.position;
        let Some(source) = &mut self.source else {
            return Ok(None);
        };
        let failed = |why| Error::Source { position, why };
        let until = Instant::now() + PAUSE;
        let taken = source
            .take(position, self.settings.batch, until)
            .map_err(failed)?;
        Ok(match taken {
            Taken::Pending => None,
            Taken::End => Some(None),
            Taken::Samples(x) if x.rows() == self.settings.rows => Some(Some(x)),
            Taken::Samples(x) => {
                let rows = self.settings.rows;
                return Err(failed(format!(
                    "its samples have {} entries, but those of this run have {rows}",
                    x.rows()
                )));
            }
        })
    }

    /// One batch: inference with the neighbours, then the update alone.
    fn batch(&mut self, mesh: &Mesh, samples: usize, x: Option<Samples>) -> Result<(), Halt> {
        let (position, epoch) = (self.state.position, self.around.epoch);
        self.talk.take_bytes();
        // Inference: nu_k by exchange with the neighbours, y_k from it.
        let share = x.as_ref().map(|x| share(x, mesh.members.informed()));
        let sizes: Option<Vec<f64>> = x.map(|x| (0..x.len()).map(|j| x.norm(j)).collect());
        let local = Local {
            residual: self.task.residual(),
            task: self.task.local(self.settings.id),
            block: &self.state.block,
            agents: mesh.members.agents(),
            share: share.as_ref(),
            degree: self.talk.degree(),
            samples,
            memory: &self.memory,
            interrupt: None,
        };
        let inference = Inference {
            id: self.settings.id,
            local,
            combine: self.settings.strategy.combine(),
            weights: &mesh.combination,
            stopping: self.settings.stopping,
            diameter: mesh.members.diameter,
            sizes: sizes.as_deref(),
            epoch,
            position,
        };
        let found = inference.run(&mut *self.strategy, &mut self.talk)?;
        let nu = self.strategy.dual();
        let y = local.codes(nu);
        // The cost, on which all agree; with it whether anybody's numbers are beyond all bounds.
        let averaging = Averaging {
            id: self.settings.id,
            agents: mesh.members.agents(),
            diameter: mesh.members.diameter,
            weights: &mesh.weights,
            epoch,
            position,
        };
        let costs = self.settings.score.then(|| local.cost(nu));
        let cost = averaging.run(costs.as_deref(), found.troubled, &mut self.talk)?;
        let stop = if cost.troubled {
            found.stop.worse(Stop::Diverged)
        } else {
            found.stop
        };
        // Update: each agent alone.
        let movement = match stop {
            Stop::Converged | Stop::RoundLimit => self.update(&y),
            Stop::Diverged | Stop::Infeasible | Stop::Interrupted => 0.0,
        };
        self.troubled = stop == Stop::Diverged || !movement.is_finite();
        self.boundary(position + samples as u64)?;
        let sparsity = y.as_slice().iter().filter(|y| **y != 0.0).count() as f64 / samples as f64;
        self.codes = y;
        let Found {
            rounds, residual, ..
        } = found;
        (self.observer)(&Event::Batch(Batch {
            epoch,
            position,
            samples,
            rounds,
            stop,
            residual,
            scores: cost.scores,
            sparsity,
            movement,
            bytes: self.talk.take_bytes(),
        }));
        Ok(())
    }

    /// Learns from its own nu_k and y_k; returns how far the atoms moved.
    fn update(&mut self, y: &Matrix) -> f64 {
        let Some(update) = &self.settings.update else {
            return 0.0;
        };
        let block = self.settings.block.unwrap_or(u64::MAX).max(1);
        let s = 1 + (self.state.position / block) as usize;
        let product = product(self.strategy.dual(), y);
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

    /// A new epoch that everybody begins at this boundary.
    fn change(&self, by: AgentId) -> Halt {
        let epoch = self.around.epoch + 1;
        Halt::Fault(Fault::NewEpoch { epoch, by })
    }

    /// Stays until the neighbours have come to the end too, or were silent for long: one that died in the last rounds
    /// and returns finds somebody to end with.
    fn farewell(&mut self, mesh: &Mesh) -> Result<Outcome, Halt> {
        match self.last_round(mesh) {
            Err(Fault::NewEpoch { epoch, by }) => {
                self.around.ended = false;
                Err(Fault::NewEpoch { epoch, by }.into())
            }
            _ => Ok(Outcome::Ended),
        }
    }

    /// Stays until the neighbours have heard the last words.
    fn close(&mut self, mesh: &Mesh) {
        // Whoever does not hear them by then is told by the link going down.
        let _ = self.last_round(mesh);
    }

    fn last_round(&mut self, mesh: &Mesh) -> Result<(), Fault> {
        self.talk.own.tag = Tag {
            epoch: self.around.epoch,
            sample: self.state.position,
            phase: Phase::Closing,
            round: mesh.members.diameter as u32,
        };
        self.talk.own.scalars.clear();
        self.talk.own.dual.clear();
        self.talk
            .round_until(Some(Instant::now() + self.settings.linger))
    }
}

/// b_k = x/|N_I|.
fn share(x: &Samples, informed: usize) -> Matrix {
    let mut share = x.to_dense();
    let weight = 1.0 / informed as f64;
    share.as_mut_slice().iter_mut().for_each(|v| *v *= weight);
    share
}
