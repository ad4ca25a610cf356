//! Strategies compared by their learning curves.

use crate::learning_curve::{tune, Constant, LearningCurve, Target, Tuned, GOALS};
use crate::progress::{report, Observer, Progress};
use dictmesh::strategy::{self, Strategy};
use dictmesh::{Error, Mesh, Result, Samples, Spec};
use serde::Serialize;
use std::sync::Arc;

/// Default number of agents in the mesh on which strategies are compared.
pub const DEFAULT_AGENTS: usize = 16;
/// Default number of samples on which strategies are compared.
pub const DEFAULT_SAMPLES: usize = 3;
/// Default maximum number of rounds of a run.
pub const DEFAULT_ROUNDS: usize = 2_000;

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct StrategyComparison {
    /// The strategies; of two that do equally well, the first is suggested.
    pub strategies: Vec<Arc<dyn Strategy>>,
    /// Index into [`GOALS`] of the SNR to reach in the fewest hops.
    pub goal: usize,
    /// Maximum number of rounds of a run, at least 1.
    pub rounds: usize,
}

impl Default for StrategyComparison {
    /// All gossip strategies, to 40 dB in at most 2000 rounds.
    fn default() -> Self {
        StrategyComparison {
            strategies: gossip()
                .filter_map(|name| strategy::named(name).ok())
                .collect(),
            goal: 1,
            rounds: DEFAULT_ROUNDS,
        }
    }
}

/// What one strategy needs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Candidate {
    /// The strategy's name.
    pub strategy: String,
    /// Its runs; null if it cannot solve this problem.
    pub tuned: Option<Tuned>,
    /// Why it cannot solve this problem.
    pub unsupported: Option<String>,
}

/// The suggested strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Suggestion {
    /// Its name.
    pub strategy: String,
    /// The constant that was searched, with its best value.
    pub constant: Option<Constant>,
    /// Bits per number in a message; null: doubles.
    pub bits: Option<f64>,
    /// Rounds to the goal; null if no strategy reached it.
    pub rounds: Option<usize>,
}

/// The strategies against the exact solution.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Number of agents.
    pub agents: usize,
    /// Number of links.
    pub links: usize,
    /// Number of atoms.
    pub atoms: usize,
    /// Number of samples.
    pub samples: usize,
    /// Maximum number of rounds of a run.
    pub round_limit: usize,
    /// The SNR to reach, in dB.
    pub goal_db: f64,
    /// Hops of one round of a strategy with sums; a round of the others is one hop.
    pub hops_per_sum: usize,
    /// What each strategy needs.
    pub strategies: Vec<Candidate>,
    /// The strategy that reaches the goal in the fewest hops, or comes nearest to it.
    pub suggested: Option<Suggestion>,
    /// Index of the goal in [`GOALS`], and of the suggested candidate.
    #[serde(skip)]
    pub goal: usize,
    /// Index of the suggested strategy in `strategies`.
    #[serde(skip)]
    pub best: Option<usize>,
}

/// The names of the gossip strategies, the default first.
fn gossip() -> impl Iterator<Item = &'static str> {
    strategy::GOSSIP.into_iter().rev()
}

impl StrategyComparison {
    /// The strategies of these names. Without names: `given` and the gossip strategies. A strategy
    /// of the same name as `given` has its constants; the others have messages of `bits` bits. If
    /// `given` chooses another strategy for the mesh, the chosen one takes its place.
    pub fn candidates(
        names: &[String],
        given: Option<Arc<dyn Strategy>>,
        bits: Option<i64>,
        mesh: &Mesh,
    ) -> Result<Vec<Arc<dyn Strategy>>> {
        let chosen = match &given {
            Some(given) => given.choose(&mesh.shared_constants())?,
            None => None,
        };
        let given = chosen.or(given);
        let is_given = |name: &str| given.as_ref().filter(|given| given.name() == name);
        let sums = strategy::NAMES.into_iter();
        let sums = sums.filter(|name| !strategy::GOSSIP.contains(name));
        let wanted = |name: &&str| match names {
            [] => is_given(name).is_some() || strategy::GOSSIP.contains(name),
            names => names.iter().any(|wanted| wanted == name),
        };
        let build = |name: &str| match is_given(name) {
            Some(given) => Ok(given.clone()),
            None => strategy::build(&Spec::new(name).with_some("bits", bits)),
        };
        gossip().chain(sums).filter(wanted).map(build).collect()
    }

    /// Runs each strategy on `x`, with its default constant and with multiples of it.
    ///
    /// Errors: invalid settings, and samples without a certified exact solution or with zero codes.
    /// A strategy that does not support the problem is no error.
    pub fn run(&self, mesh: &Mesh, x: &Samples, observer: &mut Observer<'_>) -> Result<Comparison> {
        if self.rounds == 0 {
            return Err(Error::parameter("rounds", 0, "must be at least 1"));
        }
        let target = Target::new(mesh, x)?;
        let mut found = Comparison {
            agents: mesh.agents(),
            links: mesh.topology().edges().len(),
            atoms: mesh.atoms(),
            samples: x.len(),
            round_limit: self.rounds,
            goal_db: *GOALS.get(self.goal).unwrap_or(&f64::NAN),
            hops_per_sum: strategy::tree::PASSES * mesh.topology().spanning_tree().depth(),
            strategies: Vec::new(),
            suggested: None,
            goal: self.goal,
            best: None,
        };
        let total = self.strategies.len();
        for (done, candidate) in self.strategies.iter().enumerate() {
            let mut watch = || report(observer, Progress::steps("strategies", done, total));
            let tuned = tune(&target, mesh, candidate, self.goal, self.rounds, &mut watch);
            let (tuned, unsupported) = match tuned {
                Ok(tuned) => (Some(tuned), None),
                Err(error @ Error::Unsupported { .. }) => (None, Some(error.to_string())),
                Err(error) => return Err(error),
            };
            found.strategies.push(Candidate {
                strategy: candidate.name(),
                tuned,
                unsupported,
            });
        }
        found.suggest();
        Ok(found)
    }
}

impl Comparison {
    fn suggest(&mut self) {
        let mut best: Option<(usize, &Tuned)> = None;
        for (i, candidate) in self.strategies.iter().enumerate() {
            let Some(tuned) = &candidate.tuned else {
                continue;
            };
            if best.is_none_or(|(_, best)| self.is_better(&tuned.best, &best.best)) {
                best = Some((i, tuned));
            }
        }
        let suggested = best.map(|(i, tuned)| Suggestion {
            strategy: self.strategies[i].strategy.clone(),
            constant: tuned.best.constant.clone(),
            bits: tuned.best.strategy.spec().number("bits").ok().flatten(),
            rounds: tuned.best.both()[self.goal],
        });
        self.best = best.map(|best| best.0);
        self.suggested = suggested;
    }

    /// Whether a run reaches the goal in fewer hops, or comes nearer to it if neither does.
    fn is_better(&self, one: &LearningCurve, other: &LearningCurve) -> bool {
        let hops = |curve: &LearningCurve| {
            let rounds = curve.both()[self.goal]?;
            Some(match curve.strategy.decides() {
                true => rounds * self.hops_per_sum,
                false => rounds,
            })
        };
        match (hops(one), hops(other)) {
            (Some(one), Some(other)) => one < other,
            _ => one.is_better(other, self.goal),
        }
    }

    /// Whether one of the strategies has sums.
    pub fn has_sums(&self) -> bool {
        let mut ran = self.strategies.iter().filter_map(|c| c.tuned.as_ref());
        ran.any(|tuned| tuned.best.strategy.decides())
    }

    /// The run of the suggested strategy.
    pub fn suggested_run(&self) -> Option<&LearningCurve> {
        let tuned = self.strategies[self.best?].tuned.as_ref()?;
        Some(&tuned.best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::problem::Task;
    use dictmesh::random::{gaussian, stream};
    use dictmesh::{AtomInit, Topology};
    use std::ops::ControlFlow;

    fn problem(task: Task) -> (Mesh, Samples) {
        let rng = &mut stream(0, 1000);
        let w = gaussian(20, 12, rng);
        // Near the span of the atoms, so that a code meets every constraint.
        let (y, noise) = (gaussian(12, 2, rng), gaussian(20, 2, rng));
        let mut x = w.times(&y);
        let entries = x.as_mut_slice().iter_mut().zip(noise.as_slice());
        entries.for_each(|(x, noise)| *x += 0.01 * noise);
        let x = Samples::dense(x).unwrap();
        let mesh = Mesh::builder(task, Topology::ring(4).unwrap());
        (mesh.build(20, &[3; 4], AtomInit::Given(&w)).unwrap(), x)
    }

    fn run(settings: &StrategyComparison, mesh: &Mesh, x: &Samples) -> Comparison {
        let found = settings.run(mesh, x, &mut |_| ControlFlow::Continue(()));
        found.unwrap()
    }

    #[test]
    fn the_suggestion_has_the_fewest_hops() {
        let (mesh, x) = problem(Task::sparse_svd(0.1, 0.1).unwrap());
        let found = run(&StrategyComparison::default(), &mesh, &x);
        assert_eq!(found.strategies.len(), strategy::GOSSIP.len());
        assert_eq!((found.agents, found.links, found.goal_db), (4, 4, 40.0));
        let suggested = found.suggested.clone().unwrap();
        let fewest = found.strategies.iter();
        let fewest = fewest
            .filter_map(|c| c.tuned.as_ref()?.best.both()[1])
            .min();
        assert_eq!(suggested.rounds, fewest);
        assert!(suggested.rounds.is_some() && suggested.constant.is_some());
        assert_eq!(found.suggested_run().unwrap().both()[1], fewest);
    }

    #[test]
    fn a_strategy_that_does_not_fit_is_named_with_the_reason() {
        let task = dictmesh::problem::TaskSpec {
            residual: Spec::new("ball").with("sigma", 0.1),
            ..dictmesh::problem::TaskSpec::sparse_svd(0.1, 0.1)
        };
        let (mut mesh, x) = problem(Task::sparse_svd(0.1, 0.1).unwrap());
        let built = Mesh::builder(task.build().unwrap(), mesh.topology().clone())
            .strategy(strategy::named("relaxed-admm").unwrap());
        mesh = built
            .build(20, &[3; 4], AtomInit::Given(&mesh.dictionary()))
            .unwrap();
        let names = ["diffusion".to_string(), "relaxed-admm".to_string()];
        let settings = StrategyComparison {
            strategies: StrategyComparison::candidates(&names, None, None, &mesh).unwrap(),
            rounds: 200,
            ..StrategyComparison::default()
        };
        let found = run(&settings, &mesh, &x);
        let diffusion = found.strategies.iter().find(|c| c.strategy == "diffusion");
        let why = diffusion.unwrap().unsupported.as_ref().unwrap();
        assert!(why.contains("ball"), "{why}");
        assert_eq!(found.suggested.unwrap().strategy, "relaxed-admm");
    }

    #[test]
    fn a_given_strategy_keeps_its_constants() {
        let (mesh, _) = problem(Task::sparse_svd(0.1, 0.1).unwrap());
        let given = strategy::build(&Spec::new("tree").with("bits", 5)).unwrap();
        let all = StrategyComparison::candidates(&[], Some(given), None, &mesh).unwrap();
        assert_eq!(all.len(), strategy::GOSSIP.len() + 1);
        assert_eq!(
            all.last().unwrap().spec().number("bits").unwrap(),
            Some(5.0)
        );
        let names = ["diffusion".to_string()];
        let few = StrategyComparison::candidates(&names, None, Some(6), &mesh).unwrap();
        assert_eq!(few.len(), 1);
        assert_eq!(few[0].spec().number("bits").unwrap(), Some(6.0));
    }
}
