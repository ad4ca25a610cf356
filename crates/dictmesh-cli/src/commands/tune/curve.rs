//! Strategies against the exact solution, round by round.

use super::super::{say, Result};
use super::words::four_digits;
use super::Args;
use crate::options::{with_bits, Options};
use crate::progress::Progress;
use dictmesh::strategy;
use dictmesh::strategy::Strategy;
use dictmesh::{Error, Mesh, Samples, Spec};
use dictmesh_apps::learning_curve::{tune, LearningCurve, Target, Tuned, GOALS};

/// Rounds a strategy gets, if nothing else is said.
const ROUNDS: usize = 2_000;

/// What each strategy did.
pub struct Curves {
    pub strategies: Vec<(String, std::result::Result<Tuned, String>)>,
    /// The place of the suggested one, if any ran.
    pub suggested: Option<usize>,
    pub agents: usize,
    pub links: usize,
    pub atoms: usize,
    pub samples: usize,
    pub rounds: usize,
    /// A place in [`GOALS`].
    pub goal: usize,
    /// Hops of a round of a strategy with sums; a round of the others is one hop.
    pub hops_of_sums: usize,
}

/// Tunes each strategy on a few samples.
pub fn compare(
    args: &Args,
    options: &Options,
    mesh: &Mesh,
    x: &Samples,
    show: &mut dyn FnMut(Progress),
) -> Result<Curves> {
    let goal = GOALS
        .iter()
        .position(|goal| goal.to_string() == args.goal)
        .unwrap_or(1);
    let rounds = options.rounds.unwrap_or(ROUNDS).max(1);
    let target = Target::new(mesh, x).map_err(say)?;
    let mut curves = Curves {
        strategies: Vec::new(),
        suggested: None,
        agents: mesh.agents(),
        links: mesh.topology().edges().len(),
        atoms: mesh.atoms(),
        samples: x.len(),
        rounds,
        goal,
        hops_of_sums: strategy::tree::PASSES * mesh.topology().spanning_tree().depth(),
    };
    // The default first: of two that do equally well it is the one to take. Those with sums run if
    // they are named: their rounds are others.
    let given = match &options.strategy {
        Some(_) => Some(options.strategy()?),
        None => None,
    };
    // auto stands for the strategy that it chooses.
    let chosen = match &given {
        Some(given) => given.choose(&mesh.shared_constants()).map_err(say)?,
        None => None,
    };
    let named = chosen.or(given);
    let is_wanted = |name: &&str| match (&args.strategies[..], &named) {
        ([], Some(named)) if named.name() == *name => true,
        ([], _) => strategy::GOSSIP.contains(name),
        (wanted, _) => wanted.iter().any(|wanted| wanted == name),
    };
    let gossip = strategy::GOSSIP.into_iter().rev();
    let sums = strategy::NAMES
        .into_iter()
        .filter(|name| !strategy::GOSSIP.contains(name));
    let names: Vec<String> = gossip
        .chain(sums)
        .filter(is_wanted)
        .map(String::from)
        .collect();
    for (done, name) in names.iter().enumerate() {
        show(Progress {
            phase: "strategies",
            done,
            total: names.len(),
            cost: None,
        });
        let spec = match named.as_ref().filter(|named| named.name() == *name) {
            Some(named) => named.clone(),
            None => with_bits(Spec::new(name), options.bits)?,
        };
        let tuned = match tune(&target, mesh, &spec, goal, rounds, &mut || Ok(())) {
            Ok(tuned) => Ok(tuned),
            Err(error @ Error::Unsupported { .. }) => Err(error.to_string()),
            Err(error) => return Err(say(error)),
        };
        curves.strategies.push((name.clone(), tuned));
    }
    curves.suggested = curves.best();
    Ok(curves)
}

impl Curves {
    fn best(&self) -> Option<usize> {
        let mut best: Option<(usize, &Tuned)> = None;
        for (i, (_, tuned)) in self.strategies.iter().enumerate() {
            let Ok(tuned) = tuned else { continue };
            if best.is_none_or(|(_, best)| self.is_better(&tuned.best, &best.best)) {
                best = Some((i, tuned));
            }
        }
        best.map(|best| best.0)
    }

    /// Whether a run has fewer hops to the goal, or without any comes nearer to it.
    fn is_better(&self, one: &LearningCurve, other: &LearningCurve) -> bool {
        let hops = |curve: &LearningCurve| {
            let rounds = curve.both()[self.goal]?;
            Some(match curve.strategy.decides() {
                true => rounds * self.hops_of_sums,
                false => rounds,
            })
        };
        match (hops(one), hops(other)) {
            (Some(one), Some(other)) => one < other,
            _ => one.is_better(other, self.goal),
        }
    }

    /// Whether one of them has sums.
    pub fn has_sums(&self) -> bool {
        let mut ran = self.strategies.iter().flat_map(|(_, tuned)| tuned);
        ran.any(|tuned| tuned.best.strategy.decides())
    }

    /// The suggested strategy's name and run.
    pub fn suggestion(&self) -> Option<(&str, &Tuned)> {
        let (name, tuned) = &self.strategies[self.suggested?];
        Some((name, tuned.as_ref().ok()?))
    }

    /// The suggestion as flags of `learn`.
    pub fn flags(&self) -> Vec<String> {
        let Some((name, tuned)) = self.suggestion() else {
            return Vec::new();
        };
        let (constant, value) = constant(&*tuned.best.strategy);
        let mut flags = vec![
            "--strategy".into(),
            name.into(),
            format!("--{constant}"),
            four_digits(value),
        ];
        let bits = tuned.best.strategy.spec().number("bits").ok().flatten();
        if let Some(bits) = bits.filter(|_| constant != "bits") {
            flags.extend(["--bits".into(), bits.to_string()]);
        }
        flags
    }
}

/// The constant that was tuned, by its flag.
pub fn constant(strategy: &dyn Strategy) -> (&'static str, f64) {
    let spec = strategy.spec();
    let name = crate::options::constant(spec.kind());
    let value = spec.number(name).ok().flatten();
    (name, value.unwrap_or(f64::NAN))
}
