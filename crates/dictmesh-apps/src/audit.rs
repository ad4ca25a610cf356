//! Leakage audit: what honest-but-curious agents recover from the messages they receive.
//!
//! The attackers follow the protocol and record every message. They know the graph, the combination
//! weights, the task, the strategy with its constants, the number of atoms of each agent, and their
//! own atoms. Several attackers may collude. They try to recover the directions of the private
//! atoms W_k of each agent k, and the samples x, by these attacks:
//!
//! - **Round by round** (`trace.rs`, `isolate.rs`): the messages of k and its neighbours determine
//!   h_k = W_k y_k(nu) - b_k, with b_k = x/|N_I| if k is informed and 0 otherwise. h_k is exact if
//!   the attackers see all neighbours of k. From a zero start, it is also exact in the first round.
//!   Attackers that know x add b_k. The others take differences between rounds, in which b_k
//!   cancels, or estimate x from the first message (diffusion family) or the last nu. A random
//!   start decays by the known factor (1 - 2 alpha)^round and cancels in the same way.
//! - **In the limit** (`limit.rs`): sum the messages of each agent over all rounds. The sums of k
//!   and an attacker differ by a combination over *all* agents of W_l y_l(nu), at the consensus nu.
//!   Its coefficients follow from the graph. Neither x nor a random start enters, and agents whose
//!   messages are never seen are attacked too.
//!
//! - **Sums** (`sums.rs`): under the strategy `tree`, attackers have sums of the parts W_l y_l(nu).
//!   There is one over each component that remains without the attackers: of the spanning tree or,
//!   with masks, of the graph.
//!
//! All attacks yield equations in which only the atoms are unknown, since y_l is a known function
//! of W_l and nu. `evidence.rs` and `fit.rs` solve them, and held-out samples validate the fit. The
//! audit counts the attack that comes closer to the true atoms, so that an attacker's poor choice
//! cannot hide leakage. With the atoms, x = f*'(nu) + sum of W_l y_l.
//!
//! The results measure these attacks. They are no upper bound on what a stronger attack recovers.

mod attack;
mod evidence;
mod fit;
mod isolate;
mod limit;
mod penalty;
mod sums;
mod survey;
mod trace;

pub use survey::{Candidate, Recovery, StrategyAudit, Survey, SurveySettings};

use attack::{all_at_once, attack, beyond, Joint};
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::strategy::{Message, Strategy, GOSSIP};
use dictmesh::AgentId;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{dot, norm, Matrix};
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use trace::View;

/// Largest message entry (absolute value) accepted; beyond it the strategy has diverged.
const BOUND: f64 = 1e60;
/// Memory limit for the recorded messages, in bytes.
const ROOM: usize = 2 << 30;
/// The strategy with sums.
pub const SUMS: &str = "tree";
/// |cosine| from which an atom's direction counts as recovered.
pub const RECOVERED: f64 = 0.99;

/// The recorded messages of a run.
#[derive(Clone, Debug)]
struct Traffic {
    /// With all constants resolved.
    strategy: Arc<dyn Strategy>,
    /// `sent[n][k]`: the message of agent k in round n.
    sent: Vec<Vec<Matrix>>,
}

/// One private atom and how closely the attack recovers it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Atom {
    /// |cosine| between the atom and the nearest recovered direction.
    pub cosine: f64,
    /// Whether the atom has a nonzero coefficient in any inspected round. Otherwise the inspected
    /// messages do not depend on it.
    pub fired: bool,
}

/// The attack's result for one target agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recovered {
    /// The colluding neighbours.
    pub attackers: Vec<AgentId>,
    /// The agent under attack.
    pub target: AgentId,
    /// Gossip: number of the target's neighbours whose messages the attackers do not receive. Sums:
    /// number of other agents whose parts are in one sum with the target's. Directions found in the
    /// sum are attributed to the target if it is 0.
    pub unseen: usize,
    /// The target's atoms.
    pub atoms: Vec<Atom>,
    /// The attack that found these directions: of the two, the closer one.
    pub by: Attack,
    /// Fraction of the held-out energy that the recovered atoms leave unexplained. Near 0, the
    /// attackers can tell that the recovery succeeded. Infinite (null in JSON) without held-out
    /// samples.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub unexplained: f64,
    /// Mean |cosine| between the samples and the best estimate of them; `None` if the attackers
    /// know x.
    pub x: Option<f64>,
}

/// How the directions were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Attack {
    /// From one agent's gradient in each inspected round.
    RoundByRound,
    /// From the messages of all rounds together, for all agents jointly.
    Limit,
    /// From the sum over the agents of a component that remains without the attackers.
    Sums,
    /// No attack found a direction.
    None,
}

impl Attack {
    /// The name used in output files.
    pub fn name(self) -> &'static str {
        match self {
            Attack::RoundByRound => "round by round",
            Attack::Limit => "limit",
            Attack::Sums => "sums",
            Attack::None => "none",
        }
    }
}

/// The leakage of a strategy.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The strategy with all constants resolved.
    pub strategy: Arc<dyn Strategy>,
    /// Number of recorded rounds.
    pub rounds: usize,
    /// For each agent with atoms and neighbours: the result of the neighbours that see most of its
    /// traffic, given x.
    pub knowing: Vec<Recovered>,
    /// The same neighbours without x.
    pub not_knowing: Vec<Recovered>,
    /// |cosine| for the atoms of agents whose messages the attackers never receive, without x.
    /// Covers each group of attackers that misses a neighbour of its target.
    pub beyond: Vec<f64>,
    /// Mean |cosine| between x and the last message of agent 0. This leaks to neighbours under
    /// every strategy.
    pub nu_and_x: f64,
}

/// Runs the strategy for `rounds` rounds from its start and attacks the recorded messages.
/// `colluding` neighbours attack each agent. The sums of `tree` are attacked as they are without
/// masks; see [`audit_masked`].
///
/// Errors: a strategy that these attacks do not cover, `colluding` = 0, fewer than 2 agents or
/// 4 rounds, an unsupported regularizer, too many messages to record, divergence.
pub fn audit(
    mesh: &Mesh,
    x: &Samples,
    strategy: &Arc<dyn Strategy>,
    rounds: usize,
    colluding: usize,
) -> Result<Audit> {
    let mesh = prepared(mesh, x, strategy, rounds, colluding)?;
    if strategy.name() == SUMS {
        return sums::audit(&mesh, x, rounds, colluding, false);
    }
    let traffic = record(&mesh, x, rounds)?;
    let x = x.to_dense();
    let views: Vec<View> = (0..mesh.agents())
        .filter(|k| !mesh.block(*k).is_empty())
        .filter_map(|k| View::widest(mesh.topology(), k, colluding))
        .collect();
    let mut joint: Vec<(View, [Option<Joint>; 2])> = Vec::new();
    for view in views.iter().filter(|view| !view.unseen.is_empty()) {
        let same = |(other, _): &(View, _)| other.attackers == view.attackers;
        if !joint.iter().any(same) {
            joint.push((view.clone(), [None, None]));
        }
    }
    let each = joint.par_iter_mut().with_max_len(1);
    each.try_for_each(|(view, fits)| {
        *fits = all_at_once(&mesh, &traffic, view, &x)?;
        Ok::<_, Error>(())
    })?;
    let attacks: Vec<[Recovered; 2]> = (views.par_iter().with_max_len(1))
        .map(|view| {
            let same = |(other, _): &&(View, _)| other.attackers == view.attackers;
            let fits = joint.iter().find(same).map(|(_, fits)| fits);
            attack(&mesh, &traffic, view, &x, fits)
        })
        .collect::<Result<_>>()?;
    let last = traffic.sent.last().and_then(|sent| sent.first());
    Ok(Audit {
        nu_and_x: last.map_or(0.0, |nu| mean_cosine(nu, &x)),
        strategy: traffic.strategy,
        rounds,
        knowing: attacks.iter().map(|both| both[0].clone()).collect(),
        not_knowing: attacks.into_iter().map(|[_, both]| both).collect(),
        beyond: beyond(&mesh, &joint),
    })
}

/// As [`audit`] for the strategy `tree`, with masks between all neighbours.
///
/// Errors: as `audit`, and any other strategy.
pub fn audit_masked(
    mesh: &Mesh,
    x: &Samples,
    strategy: &Arc<dyn Strategy>,
    rounds: usize,
    colluding: usize,
) -> Result<Audit> {
    let name = strategy.name();
    if name != SUMS {
        return Err(Error::Unsupported {
            what: "an audit of masks".to_string(),
            with: format!("the strategy \"{name}\""),
            why: format!("masks hide the parts of sums; use {SUMS}"),
        });
    }
    let mesh = prepared(mesh, x, strategy, rounds, colluding)?;
    sums::audit(&mesh, x, rounds, colluding, true)
}

/// The mesh with this strategy, if the audit covers it.
fn prepared(
    mesh: &Mesh,
    x: &Samples,
    strategy: &Arc<dyn Strategy>,
    rounds: usize,
    colluding: usize,
) -> Result<Mesh> {
    let name = strategy.name();
    if name != SUMS && !GOSSIP.contains(&name.as_str()) {
        return Err(Error::Unsupported {
            what: "audit".to_string(),
            with: format!("the strategy \"{name}\""),
            why: format!(
                "no attack reads its messages; use one of {}, {SUMS}",
                GOSSIP.join(", ")
            ),
        });
    }
    let mut mesh = mesh.clone();
    mesh.set_strategy(strategy.clone())?;
    check(&mesh, x, rounds, colluding)?;
    Ok(mesh)
}

/// Expected |cosine| between an atom and the nearest of `directions` random directions in `rows`
/// dimensions: the baseline of a guess.
pub fn chance(rows: usize, directions: usize) -> f64 {
    const TRIES: usize = 200;
    let mut random = dictmesh::random::stream(0, 0);
    let nearest = (0..TRIES).map(|_| {
        // By symmetry, the first unit vector stands for any atom.
        let guesses = dictmesh::random::gaussian(rows.max(1), directions, &mut random);
        let cosines = guesses.columns().map(|g| g[0].abs() / norm(g));
        cosines.fold(0.0, f64::max)
    });
    nearest.sum::<f64>() / TRIES as f64
}

impl Audit {
    /// |cosine| of all atoms that fired, for attackers with or without x.
    pub fn cosines(&self, knows_x: bool) -> Vec<f64> {
        let recovered = match knows_x {
            true => &self.knowing,
            false => &self.not_knowing,
        };
        let atoms = recovered.iter().flat_map(|r| &r.atoms);
        atoms.filter(|a| a.fired).map(|a| a.cosine).collect()
    }

    /// Number of atoms whose direction is recovered and attributed to their agent by attackers
    /// without x. Gossip attributes by the coefficients of the graph, which are not checked here.
    pub fn attributed(&self) -> usize {
        let alone = self.not_knowing.iter().filter(|r| r.unseen == 0);
        let atoms = alone.flat_map(|r| &r.atoms).filter(|a| a.fired);
        atoms.filter(|a| a.cosine >= RECOVERED).count()
    }

    /// Mean |cosine| between x and its best estimate by attackers without x; `None` if no agent was
    /// attacked.
    pub fn x(&self) -> Option<f64> {
        let known: Vec<f64> = self.not_knowing.iter().filter_map(|r| r.x).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

fn check(mesh: &Mesh, x: &Samples, rounds: usize, colluding: usize) -> Result<()> {
    if colluding == 0 {
        return Err(Error::parameter(
            "colluding",
            colluding,
            "at least one neighbour attacks; give 1 or more",
        ));
    }
    if mesh.agents() < 2 {
        return Err(Error::parameter(
            "agents",
            mesh.agents(),
            "a single agent sends no messages; audit a mesh of 2 or more agents",
        ));
    }
    penalty::check(mesh)?;
    if rounds < 4 {
        return Err(Error::parameter(
            "rounds",
            rounds,
            "an audit needs 4 or more",
        ));
    }
    let numbers = [mesh.rows(), x.len(), mesh.agents(), 8]
        .iter()
        .try_fold(rounds, |all, n| all.checked_mul(*n));
    if numbers.is_none_or(|bytes| bytes > ROOM) {
        return Err(Error::parameter(
            "rounds",
            rounds,
            format!(
                "{} agents send {} samples of {} rows in each: above the limit of {} GB; take \
                 fewer rounds or samples",
                mesh.agents(),
                x.len(),
                mesh.rows(),
                ROOM >> 30
            ),
        ));
    }
    Ok(())
}

fn record(mesh: &Mesh, x: &Samples, rounds: usize) -> Result<Traffic> {
    let mut run = mesh.run(x)?;
    let mut sent = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        run.round();
        let array = |sent: Message| Matrix::from_vec(x.rows(), x.len(), sent.array().to_vec());
        let messages: Vec<Matrix> = run
            .sent()
            .map(array)
            .collect::<std::result::Result<_, _>>()?;
        let sound = |m: &Matrix| m.as_slice().iter().all(|v| v.abs() < BOUND);
        if !messages.iter().all(sound) {
            let strategy = mesh.strategy().name();
            return Err(Error::Diverged { strategy });
        }
        sent.push(messages);
    }
    Ok(Traffic {
        strategy: mesh.strategy().resolve(&mesh.shared_constants())?,
        sent,
    })
}

/// b = x/|N_I|.
fn share(mesh: &Mesh, x: &Matrix) -> Matrix {
    let informed = (0..mesh.agents()).filter(|k| mesh.is_informed(*k));
    let informed = informed.count() as f64;
    Matrix::from_fn(x.rows(), x.cols(), |i, j| x.get(i, j) / informed)
}

/// |cosine| between the atom and the nearest direction found.
fn nearest(found: &Matrix, w: &[f64]) -> f64 {
    found.columns().map(|f| cosine(f, w)).fold(0.0, f64::max)
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let sizes = norm(a) * norm(b);
    match sizes > 0.0 {
        true => (dot(a, b).abs() / sizes).min(1.0),
        false => 0.0,
    }
}

/// The mean over the nonzero samples.
fn mean_cosine(found: &Matrix, x: &Matrix) -> f64 {
    let pairs = found.columns().zip(x.columns());
    let cosines: Vec<f64> = (pairs.filter(|(_, x)| norm(x) > 0.0))
        .map(|(found, x)| cosine(found, x))
        .collect();
    cosines.iter().sum::<f64>() / cosines.len().max(1) as f64
}
