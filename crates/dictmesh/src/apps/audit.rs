//! What an honest but curious neighbour can recover from what it is sent anyway: the directions of an agent's
//! private atoms, and the samples themselves.
//!
//! The attacker takes part as it should, keeps every message it gets, and knows what is no secret: the graph, the
//! weights, the task and the strategy with its constants. Of the agent k it watches it sees all messages, and those
//! of k's neighbours that are its own neighbours too (or itself). From these it works out, round by round,
//!
//! ```text
//! h_k(nu) = W_k y_k(nu) - b_k,       b_k = x/|N_I| where k is informed, else 0,
//! ```
//!
//! the gradient of J_k without f*. It is exact where all of k's neighbours are seen, and in the first message of a
//! start from 0 whoever is seen. Then (`isolate.rs`): b_k is added by whoever knows x; whoever does not takes
//! differences between rounds, in which b_k cancels, or what it can have for x: diffusion's first message, or the last
//! nu. A random start r_k enters h_k with the known factor (1 - 2 alpha)^round and is taken out the same way. What is
//! left, over all samples and rounds, has the rank of the block: with one atom its direction, with several a dictionary
//! of their sums, which is learned. With the atoms, h_k gives b_k; where h_k is not known well enough for that, the last
//! nu is the best there is.
//!
//! The figures are what this attacker got, not a bound on what a better one could get.

mod isolate;
mod trace;

use crate::agent::AgentId;
use crate::error::{Error, Result};
use crate::inference::StrategySpec;
use crate::matrix::{dot, norm, Matrix};
use crate::mesh::Mesh;
use crate::samples::Samples;
use rayon::prelude::*;
use trace::{Trace, View};

/// Bytes of messages kept at most.
const ROOM: usize = 2 << 30;
/// An atom whose direction is known to this cosine counts as recovered.
pub const RECOVERED: f64 = 0.99;

/// What was sent in a run, and by whom.
#[derive(Clone, Debug)]
struct Traffic {
    /// With every constant.
    strategy: StrategySpec,
    /// What agent k sent in round n is `sent[n][k]`.
    sent: Vec<Vec<Matrix>>,
}

/// One private atom and what the attacker makes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Atom {
    /// |cosine| of the nearest direction it found with the atom.
    pub cosine: f64,
    /// Whether the atom had a coefficient in any sample and round: one that had none left no trace.
    pub fired: bool,
}

/// What one attacker recovered of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The curious neighbour.
    pub attacker: AgentId,
    /// The agent it watches.
    pub target: AgentId,
    /// The target's neighbours whose messages the attacker does not see.
    pub unseen: usize,
    /// The target's atoms.
    pub atoms: Vec<Atom>,
    /// Mean |cosine| with the samples of what it takes for them, if the target has them and the attacker does not.
    pub x: Option<f64>,
}

/// What a strategy gives away.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The strategy with every constant.
    pub strategy: StrategySpec,
    /// Rounds that were recorded.
    pub rounds: usize,
    /// For each agent with atoms and neighbours, what the neighbour that sees most of it recovers, knowing x.
    pub knowing: Vec<Recovered>,
    /// The same neighbours, not knowing x.
    pub not_knowing: Vec<Recovered>,
    /// Mean |cosine| of an agent's last nu with x: what all agents are given, whatever the strategy.
    pub nu_and_x: f64,
}

/// Runs the strategy for so many rounds from the start, and attacks what was sent.
pub fn audit(mesh: &Mesh, x: &Samples, strategy: &StrategySpec, rounds: usize) -> Result<Audit> {
    let mut mesh = mesh.clone();
    mesh.set_strategy(strategy.clone())?;
    check(&mesh, x, rounds)?;
    let traffic = record(&mesh, x, rounds)?;
    let x = x.to_dense();
    let views: Vec<View> = (0..mesh.agents())
        .filter(|k| !mesh.block(*k).is_empty())
        .filter_map(|k| View::widest(mesh.topology(), k))
        .collect();
    let attacks: Vec<[Recovered; 2]> = (views.par_iter())
        .map(|view| attack(&mesh, &traffic, view, &x))
        .collect::<Result<_>>()?;
    let last = traffic.sent.last().and_then(|sent| sent.first());
    Ok(Audit {
        nu_and_x: last.map_or(0.0, |nu| mean_cosine(nu, &x)),
        strategy: traffic.strategy,
        rounds,
        knowing: attacks.iter().map(|both| both[0].clone()).collect(),
        not_knowing: attacks.into_iter().map(|[_, both]| both).collect(),
    })
}

/// The |cosine| that a random direction among `rows` has with an atom, on average.
pub fn chance(rows: usize) -> f64 {
    (2.0 / (std::f64::consts::PI * rows.max(1) as f64))
        .sqrt()
        .min(1.0)
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

    /// Mean |cosine| with x of what those who do not know it take for it; none where nobody watches an informed agent.
    pub fn x(&self) -> Option<f64> {
        let known: Vec<f64> = self.not_knowing.iter().filter_map(|r| r.x).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    }
}

fn check(mesh: &Mesh, x: &Samples, rounds: usize) -> Result<()> {
    if !matches!(
        mesh.strategy(),
        StrategySpec::Diffusion { .. } | StrategySpec::RelaxedAdmm { .. }
    ) {
        return Err(Error::Unsupported {
            what: "an audit".into(),
            with: format!("the strategy \"{}\"", mesh.strategy().name()),
            why: "no attack on it is written; audit diffusion or relaxed-admm".into(),
        });
    }
    if mesh.agents() < 2 {
        return Err(Error::parameter(
            "agents",
            mesh.agents(),
            "one agent sends nothing to anybody; audit a mesh of 2 or more",
        ));
    }
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
        sent.push(run.sent().cloned().collect());
    }
    Ok(Traffic {
        strategy: mesh.strategy().resolve(&mesh.common())?,
        sent,
    })
}

/// One neighbour against one agent, knowing x and not.
fn attack(mesh: &Mesh, traffic: &Traffic, view: &View, x: &Matrix) -> Result<[Recovered; 2]> {
    let trace = Trace::follow(mesh, traffic, view);
    let atoms = mesh.block(view.target).atoms();
    let regularizer = mesh.task().local(view.target).regularizer();
    let fired: Vec<bool> = (atoms.columns())
        .map(|w| trace.codes(regularizer, w).iter().any(|y| *y != 0.0))
        .collect();
    let informed = mesh.is_informed(view.target);
    let both = [true, false].map(|knows_x| {
        let share = (knows_x && informed).then(|| share(mesh, x));
        let hidden = !knows_x && informed;
        let found = isolate::atoms(mesh, view, &trace, share.as_ref(), hidden)?;
        let cosine = |w: &[f64]| found.columns().map(|f| cosine(f, w)).fold(0.0, f64::max);
        Ok(Recovered {
            attacker: view.attacker,
            target: view.target,
            unseen: view.unseen.len(),
            atoms: (atoms.columns().zip(&fired))
                .map(|(w, fired)| Atom {
                    cosine: cosine(w),
                    fired: *fired,
                })
                .collect(),
            x: hidden.then(|| mean_cosine(&trace.share(regularizer, &found, view), x)),
        })
    });
    let [knowing, not_knowing] = both;
    Ok([knowing?, not_knowing?])
}

/// b = x/|N_I|.
fn share(mesh: &Mesh, x: &Matrix) -> Matrix {
    let informed = (0..mesh.agents()).filter(|k| mesh.is_informed(*k));
    let informed = informed.count() as f64;
    Matrix::from_fn(x.rows(), x.cols(), |i, j| x.get(i, j) / informed)
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
