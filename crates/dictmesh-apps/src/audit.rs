//! What honest but curious neighbours can recover from what they are sent anyway: the directions of private atoms, and
//! the samples themselves.
//!
//! The attacker takes part as it should, keeps every message it gets, and knows what is no secret: the graph, the
//! weights, the task, the strategy with its constants, and how many atoms each agent has. It knows its own atoms. Several
//! may put together what they know. Two attacks are played on each agent k:
//!
//! - **Round by round** (`trace.rs`, `isolate.rs`): from the messages of k and its neighbours follows
//!   h_k = W_k y_k(nu) - b_k, with b_k = x/|N_I| where k is informed and else 0: exactly where all of k's neighbours
//!   are seen, and in the first message of a start from 0 whoever is seen. b_k is added by whoever knows x; whoever
//!   does not takes differences between rounds, in which b_k cancels, or what it can have for x: the first message of
//!   the diffusion family, or the last nu. A random start enters with the known factor (1 - 2 alpha)^round and is taken
//!   out the same way.
//! - **In the limit** (`limit.rs`): what k and the attacker have sent in all rounds differs by a sum over *all* agents of
//!   W_l y_l(nu) with factors that follow from the graph, at the nu that all end with. Neither x nor a random start is in
//!   it, and nobody has to be in sight.
//!
//! Both give equations in which only atoms are unknown, as y_l is a known function of W_l and nu; they are solved in
//! `evidence.rs` and `fit.rs`. An attacker sees how well it has solved them by the samples it put aside. Of the two
//! attacks the one that comes nearer to the atoms is counted: an audit must not be flattered by an attacker that
//! chooses badly. With the atoms, x = f*'(nu) + sum of W_l y_l.
//!
//! The figures are what these attacks got, not a bound on what a better one could get.

mod attack;
mod evidence;
mod fit;
mod isolate;
mod limit;
mod penalty;
mod trace;

use attack::{all_at_once, attack, beyond, Joint};
use dictmesh::mesh::Mesh;
use dictmesh::problem::samples::Samples;
use dictmesh::strategy::{Strategy, GOSSIP};
use dictmesh::AgentId;
use dictmesh::{Error, Result};
use dictmesh_kernels::matrix::{dot, norm, Matrix};
use rayon::prelude::*;
use std::sync::Arc;
use trace::View;

/// What messages must stay below: far more than any that mean something.
const BOUND: f64 = 1e60;
/// Bytes of messages kept at most.
const ROOM: usize = 2 << 30;
/// An atom whose direction is known to this cosine counts as recovered.
pub const RECOVERED: f64 = 0.99;

/// What was sent in a run, and by whom.
#[derive(Clone, Debug)]
struct Traffic {
    /// With every constant.
    strategy: Arc<dyn Strategy>,
    /// What agent k sent in round n is `sent[n][k]`.
    sent: Vec<Vec<Matrix>>,
}

/// One private atom and what the attacker makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// |cosine| of the nearest direction it found with the atom.
    pub cosine: f64,
    /// Whether the atom had a coefficient in any of the rounds that were looked at: one that had none left no trace.
    pub fired: bool,
}

/// What was recovered of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The curious neighbours, who put together what they get.
    pub attackers: Vec<AgentId>,
    /// The agent they watch.
    pub target: AgentId,
    /// The target's neighbours whose messages the attackers do not see.
    pub unseen: usize,
    /// The target's atoms.
    pub atoms: Vec<Atom>,
    /// The attack whose atoms these are: the one that comes nearest.
    pub by: Attack,
    /// The share that these atoms leave unexplained of what the attacker put aside: near 0, it knows that it has them.
    pub unexplained: f64,
    /// Mean |cosine| with the samples of the best estimate of them, by agents that are not informed.
    pub x: Option<f64>,
}

/// How atoms were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attack {
    /// From the gradient of one agent in every round.
    RoundByRound,
    /// From what was sent in all rounds together, all agents at once.
    Limit,
    /// Neither came to anything.
    None,
}

impl Attack {
    /// As files write it.
    pub fn name(self) -> &'static str {
        match self {
            Attack::RoundByRound => "round by round",
            Attack::Limit => "limit",
            Attack::None => "none",
        }
    }
}

/// What a strategy gives away.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The strategy with every constant.
    pub strategy: Arc<dyn Strategy>,
    /// Rounds that were recorded.
    pub rounds: usize,
    /// For each agent with atoms and neighbours, what the neighbour that sees most of it recovers, knowing x; or as many
    /// of its neighbours as work together.
    pub knowing: Vec<Recovered>,
    /// The same neighbours, not knowing x.
    pub not_knowing: Vec<Recovered>,
    /// |cosine| with atoms of agents that are no neighbours of the attackers, and of which they never get a message: for
    /// every group of attackers that does not see all of an agent's neighbours, not knowing x.
    pub beyond: Vec<f64>,
    /// Mean |cosine| of an agent's last message with x: what its neighbours are given, whatever the strategy.
    pub nu_and_x: f64,
}

/// Runs the strategy for `rounds` rounds from the start, and attacks what was sent. Each agent is attacked by
/// `colluding` of its neighbours.
pub fn audit(
    mesh: &Mesh,
    x: &Samples,
    strategy: &Arc<dyn Strategy>,
    rounds: usize,
    colluding: usize,
) -> Result<Audit> {
    let name = strategy.name();
    if !GOSSIP.contains(&name.as_str()) {
        return Err(Error::Unsupported {
            what: "audit".to_string(),
            with: format!("the strategy \"{name}\""),
            why: format!(
                "its attacks read messages between neighbours; use one of {}",
                GOSSIP.join(", ")
            ),
        });
    }
    let mut mesh = mesh.clone();
    mesh.set_strategy(strategy.clone())?;
    check(&mesh, x, rounds, colluding)?;
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

/// The |cosine| that the nearest of `directions` random directions of `rows` rows has with an atom, on average.
pub fn chance(rows: usize, directions: usize) -> f64 {
    const TRIES: usize = 200;
    let mut random = dictmesh::random::stream(0, 0);
    let nearest = (0..TRIES).map(|_| {
        // The atom may as well be the first unit vector.
        let guesses = dictmesh::random::gaussian(rows.max(1), directions, &mut random);
        let cosines = guesses.columns().map(|g| g[0].abs() / norm(g));
        cosines.fold(0.0, f64::max)
    });
    nearest.sum::<f64>() / TRIES as f64
}

impl Audit {
    /// The atoms of all agents that fired, recovered by those who know x, or do not.
    pub fn cosines(&self, knows_x: bool) -> Vec<f64> {
        let recovered = match knows_x {
            true => &self.knowing,
            false => &self.not_knowing,
        };
        let atoms = recovered.iter().flat_map(|r| &r.atoms);
        atoms.filter(|a| a.fired).map(|a| a.cosine).collect()
    }

    /// Mean |cosine| with x of the best that those who do not know it have for it; `None` where no agent is watched.
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
            "one agent sends nothing to anybody; audit a mesh of 2 or more",
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
                "{} agents send {} samples of {} rows in each: more than the {} GB that are kept; take fewer rounds \
                 or samples",
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
        let messages: Vec<Matrix> = run.sent().cloned().collect();
        let sound = |m: &Matrix| m.as_slice().iter().all(|v| v.abs() < BOUND);
        if !messages.iter().all(sound) {
            let strategy = mesh.strategy().name();
            return Err(Error::Diverged { strategy });
        }
        sent.push(messages);
    }
    Ok(Traffic {
        strategy: mesh.strategy().resolve(&mesh.common())?,
        sent,
    })
}

/// b = x/|N_I|.
fn share(mesh: &Mesh, x: &Matrix) -> Matrix {
    let informed = (0..mesh.agents()).filter(|k| mesh.is_informed(*k));
    let informed = informed.count() as f64;
    Matrix::from_fn(x.rows(), x.cols(), |i, j| x.get(i, j) / informed)
}

/// |cosine| of the nearest of the directions found with an atom.
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

/// The mean over the samples that are not 0.
fn mean_cosine(found: &Matrix, x: &Matrix) -> f64 {
    let pairs = found.columns().zip(x.columns());
    let cosines: Vec<f64> = (pairs.filter(|(_, x)| norm(x) > 0.0))
        .map(|(found, x)| cosine(found, x))
        .collect();
    cosines.iter().sum::<f64>() / cosines.len().max(1) as f64
}
