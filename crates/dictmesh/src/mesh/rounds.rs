//! The paper's inner loop, for all agents of a mesh in one process and for one agent of a network.
//!
//! [`infer`] alternates rounds and the stopping rule; [`round`] is adapt, exchange, absorb. The
//! process and the network differ in [`Rounds`] (the local agents) and [`Carrier`] (the transport
//! of arrays).

use super::stopping::{Rounds, StoppingRule};
use crate::strategy::{AgentStrategy, Delivered, Exchange, Integers, Local, Message};
use crate::Stop;
use dictmesh_kernels::Matrix;
use rayon::prelude::*;

/// Runs rounds until the stopping rule ends them.
pub fn infer<R: Rounds>(run: &mut R, rule: &mut StoppingRule) -> Result<Stop, R::Error> {
    loop {
        let (to, keep) = rule.next(run);
        run.advance(to, keep)?;
        if let Some(stop) = rule.after_round(run)? {
            return Ok(stop);
        }
    }
}

/// Transport of arrays between agents.
pub trait Carrier {
    /// The error of a failed exchange.
    type Error;

    /// Performs the exchange with the [outgoing](AgentStrategy::outgoing) messages of the local
    /// agents.
    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        received: &mut Received,
    ) -> Result<(), Self::Error>;
}

/// The results of an exchange for the local agents.
#[derive(Debug, Default)]
pub struct Received {
    /// Column i: the combination for agent i, M x B by columns.
    pub arrays: Matrix,
    /// The sum over all agents, if the root is a local agent.
    pub total: Integers,
    /// The bytes of the root.
    pub bytes: Delivered,
}

impl Received {
    /// The result for the i-th local agent.
    fn message(&self, exchange: Exchange, i: usize, local: &Local) -> Message<'_> {
        match exchange {
            Exchange::Combine(_) => Message::Array(self.arrays.column(i)),
            Exchange::SumToRoot if local.is_root => Message::Integers(&self.total),
            Exchange::SumToRoot => Message::Nothing,
            Exchange::Broadcast => Message::Delivered(&self.bytes),
        }
    }
}

/// One round of the local agents; returns its last exchange. `locals` has one entry per agent;
/// `parallel` runs them in parallel.
pub fn round<C: Carrier>(
    agents: &mut [Box<dyn AgentStrategy>],
    locals: &[Local<'_>],
    carrier: &mut C,
    received: &mut Received,
    parallel: bool,
) -> Result<Exchange, C::Error> {
    loop {
        // psi_k = nu_k - mu grad J_k(nu_k), an argmin, or W_k y_k(nu).
        let adapt = |(i, agent): (usize, &mut Box<dyn AgentStrategy>)| agent.adapt(&locals[i]);
        let wanted = each(agents, parallel, adapt);
        // nu_k = sum_l a_lk psi_l over the neighbours, a sum to the root, or a broadcast.
        let exchange = wanted.unwrap_or(Exchange::Broadcast); // no agent: nothing to carry
        carrier.carry(exchange, agents, received)?;
        let received = &*received;
        let absorb = |(i, agent): (usize, &mut Box<dyn AgentStrategy>)| {
            agent.absorb(&locals[i], received.message(exchange, i, &locals[i]))
        };
        if each(agents, parallel, absorb).unwrap_or(true) {
            return Ok(exchange);
        }
    }
}

/// Calls `work` for every agent and returns the result, which is the same for all.
fn each<T: Send>(
    agents: &mut [Box<dyn AgentStrategy>],
    parallel: bool,
    work: impl Fn((usize, &mut Box<dyn AgentStrategy>)) -> T + Sync + Send,
) -> Option<T> {
    match parallel {
        true => (agents.par_iter_mut().enumerate())
            .map(work)
            .reduce_with(|first, _| first),
        false => agents
            .iter_mut()
            .enumerate()
            .map(work)
            .reduce(|first, _| first),
    }
}
