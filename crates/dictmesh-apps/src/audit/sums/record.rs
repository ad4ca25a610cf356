//! The parts of all agents after every round of `tree`, as their messages give them.

use super::super::{share, BOUND};
use dictmesh::accel::Batching;
use dictmesh::mesh::Mesh;
use dictmesh::network::{round, Carrier, Received};
use dictmesh::strategy::tree::Broadcast;
use dictmesh::strategy::{AgentStrategy, Exchange, Local, Message, ScratchPool, Strategy};
use dictmesh::{AgentId, Error, Result};
use dictmesh_kernels::matrix::Matrix;
use std::convert::Infallible;
use std::sync::Arc;

/// The state after one round.
pub(super) struct Round {
    /// nu, the same at all agents.
    pub nu: Matrix,
    /// The part of each agent, as the differences that it has sent add up.
    pub parts: Vec<Matrix>,
}

/// Runs the strategy until all samples have ended, for at most `rounds` rounds.
pub(super) fn record(
    mesh: &Mesh,
    x: &Matrix,
    strategy: &Arc<dyn Strategy>,
    rounds: usize,
) -> Result<Vec<Round>> {
    let agents = mesh.agents();
    let informed: Vec<AgentId> = (0..agents).filter(|k| mesh.is_informed(*k)).collect();
    let (of_informed, scratch) = (share(mesh, x), ScratchPool::default());
    let tree = mesh.topology().spanning_tree();
    let local = |k: AgentId| Local {
        residual: mesh.task().residual(),
        task: mesh.task().local(k),
        block: mesh.block(k),
        agents,
        share: mesh.is_informed(k).then_some(&of_informed),
        informed: informed.len(),
        is_first_informed: informed.first() == Some(&k),
        is_root: tree.root() == k,
        degree: mesh.topology().degree(k),
        samples: x.cols(),
        scratch: &scratch,
        interrupt: None,
        batching: Batching::default(),
        tolerance: None, // more rounds show more
        rounds,
    };
    let locals: Vec<Local> = (0..agents).map(local).collect();
    let own = |k: usize| strategy.agent(dictmesh::random::stream(0, k as u64));
    let mut each: Vec<Box<dyn AgentStrategy>> = (0..agents).map(own).collect::<Result<_>>()?;
    (each.iter_mut().zip(&locals)).for_each(|(agent, local)| agent.start(local));
    let mut recorder = Recorder {
        root: tree.root(),
        active: (0..x.cols()).collect(),
        units: Vec::new(),
        parts: vec![Matrix::zeros(x.rows(), x.cols()); agents],
    };
    let (mut received, mut recorded) = (Received::default(), Vec::new());
    while recorded.len() < rounds && !recorder.active.is_empty() && each[0].verdict().is_none() {
        let Ok(_) = round(&mut each, &locals, &mut recorder, &mut received, false);
        let nu = each[0].dual().clone();
        if !nu.as_slice().iter().all(|v| v.abs() < BOUND) {
            let strategy = strategy.name();
            return Err(Error::Diverged { strategy });
        }
        let parts = recorder.parts.clone();
        recorded.push(Round { nu, parts });
    }
    Ok(recorded)
}

/// Carries sums and broadcasts, and adds up what each agent sends.
struct Recorder {
    root: AgentId,
    /// The samples that are being coded.
    active: Vec<usize>,
    /// The samples whose parts the next sum has, and their units.
    units: Vec<(usize, f64)>,
    parts: Vec<Matrix>,
}

impl Recorder {
    /// Adds the differences of a message: for each sample its M entries and an error, then other
    /// integers.
    fn add(&mut self, k: AgentId, values: &[i64], units: &[(usize, f64)]) {
        let rows = self.parts[k].rows();
        let each = values.chunks_exact(rows + 1).zip(units);
        for (differences, (j, unit)) in each {
            let part = self.parts[k].column_mut(*j).iter_mut();
            (part.zip(differences)).for_each(|(part, d)| *part += unit * *d as f64);
        }
    }

    /// Follows a broadcast of the root.
    fn follow(&mut self, bytes: &[u8]) {
        let rows = self.parts[self.root].rows();
        let each = Broadcast::read(bytes, self.active.len(), rows).unwrap_or_default();
        let units = self
            .active
            .iter()
            .zip(&each)
            .filter_map(|(j, sent)| match sent {
                Broadcast::Part(unit) => Some((*j, *unit)),
                Broadcast::End | Broadcast::Other => None,
            });
        self.units = units.collect();
        let mut each = each.into_iter();
        (self.active).retain(|_| each.next().is_some_and(|sent| sent != Broadcast::End));
    }
}

impl Carrier for Recorder {
    type Error = Infallible;

    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Received,
    ) -> std::result::Result<(), Infallible> {
        if exchange == Exchange::Broadcast {
            let to = received.bytes.rewrite();
            if let Message::Bytes(bytes) = agents[self.root].outgoing() {
                to.extend_from_slice(bytes);
            }
            self.follow(to);
            return Ok(());
        }
        received.total.clear();
        let units = std::mem::take(&mut self.units);
        for (k, agent) in agents.iter().enumerate() {
            let Message::Integers(part) = agent.outgoing() else {
                continue;
            };
            self.add(k, part.values(), &units);
            match received.total.values().is_empty() {
                true => received.total.clone_from(part),
                false => {
                    received.total.add(part);
                }
            }
        }
        Ok(())
    }
}
