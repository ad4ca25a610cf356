//! The paper's inner loop, written once: for all agents of a mesh in one process, and for one agent of a
//! network.
//!
//! [`infer`] alternates rounds and the stopping rule; [`round`] is adapt, exchange, absorb. What differs
//! between one process and a network is behind [`Rounds`] (which agents run here) and [`Carrier`] (how
//! arrays reach the others).

use super::stopping::{Flood, StoppingRule};
use crate::strategy::{AgentStrategy, Exchange, Local};
use crate::Stop;
use dictmesh_kernels::Matrix;
use rayon::prelude::*;

/// The agents that one process runs on a batch, and their link to all others.
pub trait Rounds {
    /// What can interrupt a round.
    type Error;

    /// Rounds done.
    fn rounds(&self) -> usize;

    /// At least one round, and at most until `to` are done. `keep` asks for nu before round `to`, which
    /// [`measure`](Rounds::measure) and [`proves_infeasible`](Rounds::proves_infeasible) compare with.
    fn advance(&mut self, to: usize, keep: bool) -> Result<(), Self::Error>;

    /// Whether the caller has asked for an end; iterates are then of no use.
    fn is_interrupted(&self) -> bool;

    /// The residuals that have arrived from other agents.
    fn flood(&mut self) -> &mut Flood;

    /// The largest relative change of nu in the last round over the agents that run here; `None` if it is
    /// not finite or nu has diverged.
    fn measure(&self) -> Option<f64>;

    /// How the last argmins of the agents that run here ended, the worst of them.
    fn argmin_stop(&self) -> Stop;

    /// Whether nu has diverged at the limit of rounds, as far as this process can decide it for all agents.
    fn has_diverged(&self) -> bool;

    /// Whether the drift of nu in the last round proves, for all agents, that no code meets the constraint
    /// of some sample.
    fn proves_infeasible(&mut self) -> Result<bool, Self::Error>;
}

/// Rounds until the stopping rule ends them.
pub fn infer<R: Rounds>(run: &mut R, rule: &mut StoppingRule) -> Result<Stop, R::Error> {
    loop {
        let (to, keep) = rule.next(run);
        run.advance(to, keep)?;
        if let Some(stop) = rule.after_round(run)? {
            return Ok(stop);
        }
    }
}

/// How arrays get from agent to agent.
pub trait Carrier {
    /// What can interrupt an exchange.
    type Error;

    /// Column i of `heard` becomes what the i-th of `agents` gets.
    fn carry(
        &mut self,
        exchange: Exchange,
        agents: &[Box<dyn AgentStrategy>],
        heard: &mut Matrix,
    ) -> Result<(), Self::Error>;
}

/// One round of the agents that run here. `locals` has one entry per agent; `parallel` runs them side by
/// side. Returns the last exchange.
pub fn round<C: Carrier>(
    agents: &mut [Box<dyn AgentStrategy>],
    locals: &[Local<'_>],
    carrier: &mut C,
    heard: &mut Matrix,
    parallel: bool,
) -> Result<Exchange, C::Error> {
    loop {
        // psi_k = nu_k - mu grad J_k(nu_k), an argmin, or W_k y_k(nu).
        let adapt = |(i, agent): (usize, &mut Box<dyn AgentStrategy>)| agent.adapt(&locals[i]);
        let wanted = each(agents, parallel, adapt);
        // nu_k = sum_l a_lk psi_l over the neighbours, a sum to the root, or a broadcast.
        let exchange = wanted.unwrap_or(Exchange::Broadcast); // no agent: nothing to carry
        carrier.carry(exchange, agents, heard)?;
        let heard = &*heard;
        let absorb = |(i, agent): (usize, &mut Box<dyn AgentStrategy>)| {
            agent.absorb(&locals[i], heard.column(i))
        };
        if each(agents, parallel, absorb).unwrap_or(true) {
            return Ok(exchange);
        }
    }
}

/// Calls `work` for every agent; all return the same, which is returned.
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
