//! What can be chosen about a mesh, by flag or in a TOML file: one list for both. Flags win.

use dictmesh::atoms::{AtomPenalty, AtomSet};
use dictmesh::inference::StrategySpec;
use dictmesh::task::{RegularizerSpec, ResidualSpec, TaskSpec};
use dictmesh::{Mesh, Start, Stopping, Topology, TopologySpec, Update, WeightRule};
use serde::Deserialize;
use std::path::Path;

/// Choices about the task, the mesh and the learning; what is left out gets a default.
#[derive(Clone, Debug, Default, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Options {
    /// What to solve: sparse-svd, biclustering, nmf or nmf-huber (a row of the paper's table)
    #[arg(long, value_name = "NAME", help_heading = "The problem")]
    pub task: Option<String>,
    /// The residual f: squared-l2, huber, l1, ball or equality
    #[arg(long, value_name = "NAME", help_heading = "The problem")]
    pub residual: Option<String>,
    /// The regularizer of the codes: elastic-net, non-negative-elastic-net or boxed-elastic-net
    #[arg(long, value_name = "NAME", help_heading = "The problem")]
    pub regularizer: Option<String>,
    /// Where atoms may lie: unit-ball, non-negative-unit-ball, unit-l1-ball, non-negative-unit-l1-ball
    #[arg(long, value_name = "NAME", help_heading = "The problem")]
    pub atoms_set: Option<String>,
    /// Weight of |y|_1: more makes codes sparser
    #[arg(long, value_name = "X", help_heading = "The problem")]
    pub gamma: Option<f64>,
    /// Weight of |y|^2/2, above 0
    #[arg(long, value_name = "X", help_heading = "The problem")]
    pub delta: Option<f64>,
    /// Weight of |W|_1 on the atoms
    #[arg(long, value_name = "X", help_heading = "The problem")]
    pub beta: Option<f64>,
    /// Where the Huber residual turns from quadratic to linear
    #[arg(long, value_name = "X", help_heading = "The problem")]
    pub eta: Option<f64>,
    /// Radius of the ball residual
    #[arg(long, value_name = "X", help_heading = "The problem")]
    pub radius: Option<f64>,
    /// Lower end of boxed codes
    #[arg(
        long,
        value_name = "X",
        allow_hyphen_values = true,
        help_heading = "The problem"
    )]
    pub lo: Option<f64>,
    /// Upper end of boxed codes
    #[arg(
        long,
        value_name = "X",
        allow_hyphen_values = true,
        help_heading = "The problem"
    )]
    pub hi: Option<f64>,

    /// How many atoms in all [default: as many as agents, or 64]
    #[arg(long, value_name = "K", help_heading = "The mesh")]
    pub atoms: Option<usize>,
    /// How many agents share them [default: 1 without a topology, else 16]
    #[arg(long, value_name = "N", help_heading = "The mesh")]
    pub agents: Option<usize>,
    /// complete, ring, path, star, grid:4x5, random:0.3 or geometric:0.4
    #[arg(long, value_name = "GRAPH", help_heading = "The mesh")]
    pub topology: Option<String>,
    /// Combination weights: metropolis or uniform
    #[arg(long, value_name = "RULE", help_heading = "The mesh")]
    pub weights: Option<String>,
    /// Agents that see the samples: "all" or numbers such as 0,3
    #[arg(long, value_name = "LIST", help_heading = "The mesh")]
    pub informed: Option<String>,

    /// relaxed-admm, exact-diffusion, jacobi-admm, diffusion or consensus
    #[arg(long, value_name = "NAME", help_heading = "Inference")]
    pub strategy: Option<String>,
    /// Step of the strategy, where it has one
    #[arg(long, value_name = "X", help_heading = "Inference")]
    pub mu: Option<f64>,
    /// Penalty of relaxed-admm
    #[arg(long, value_name = "X", help_heading = "Inference")]
    pub rho: Option<f64>,
    /// Stop at this relative error of the dual, estimated [default: 1e-4]
    #[arg(long, value_name = "X", help_heading = "Inference")]
    pub tolerance: Option<f64>,
    /// Stop after this many rounds
    #[arg(long, value_name = "N", help_heading = "Inference")]
    pub rounds: Option<usize>,

    /// Samples per update [default: 256, or 1 if the strategy is not exact in one round]
    #[arg(long, value_name = "B", help_heading = "Learning")]
    pub batch: Option<usize>,
    /// How often to go through the data [default: 1]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub passes: Option<usize>,
    /// adaptive, adaptive:0.97, constant:0.01 or schedule:1
    #[arg(long, value_name = "RULE", help_heading = "Learning")]
    pub update: Option<String>,
    /// Fixes everything random [default: 0]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub seed: Option<u64>,
    /// How many threads; the result is the same [default: all cores]
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub threads: Option<usize>,
}

type Result<T> = std::result::Result<T, String>;

impl Options {
    /// Reads a TOML file with these names as keys.
    pub fn from_toml(path: &Path) -> Result<Self> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|e| format!("{shown}: {e}"))?;
        toml::from_str(&text).map_err(|e| format!("{shown}: {}", e.to_string().trim_end()))
    }

    /// These, and `other`'s where these leave something out.
    pub fn or(self, other: Options) -> Options {
        macro_rules! merge {
            ($($field:ident),*) => { Options { $($field: self.$field.or(other.$field)),* } };
        }
        merge!(
            task,
            residual,
            regularizer,
            atoms_set,
            gamma,
            delta,
            beta,
            eta,
            radius,
            lo,
            hi,
            atoms,
            agents,
            topology,
            weights,
            informed,
            strategy,
            mu,
            rho,
            tolerance,
            rounds,
            batch,
            passes,
            update,
            seed,
            threads
        )
    }

    /// The task: a preset (`fallback` if none is named), changed by whatever else is said.
    pub fn task(&self, fallback: &str) -> Result<TaskSpec> {
        let name = self.task.as_deref().unwrap_or(fallback);
        known("task", name, &TaskSpec::PRESETS)?;
        let mut task = TaskSpec::preset(name).map_err(|e| e.to_string())?;
        if let Some(name) = &self.residual {
            task.residual = residual(name)?;
        }
        match (&mut task.residual, self.eta, self.radius) {
            (ResidualSpec::Huber { eta }, Some(given), _) => *eta = given,
            (ResidualSpec::Ball { sigma }, _, Some(given)) => *sigma = given,
            (_, Some(_), _) => return Err("--eta belongs to --residual huber".into()),
            (_, _, Some(_)) => return Err("--radius belongs to --residual ball".into()),
            _ => {}
        }
        self.change_regularizer(&mut task.common.regularizer)?;
        if let Some(name) = &self.atoms_set {
            task.common.set = atom_set(name)?;
        }
        if let Some(beta) = self.beta {
            task.common.penalty = AtomPenalty::L1 { beta };
        }
        task.build().map_err(|e| e.to_string())?;
        Ok(task)
    }

    fn change_regularizer(&self, spec: &mut RegularizerSpec) -> Result<()> {
        let (gamma, delta) = match *spec {
            RegularizerSpec::ElasticNet { gamma, delta }
            | RegularizerSpec::NonNegativeElasticNet { gamma, delta }
            | RegularizerSpec::BoxedElasticNet { gamma, delta, .. } => (gamma, delta),
        };
        let gamma = self.gamma.unwrap_or(gamma);
        let delta = self.delta.unwrap_or(delta);
        let boxed = self.lo.is_some() || self.hi.is_some();
        let name = match (self.regularizer.as_deref(), &*spec) {
            (Some(name), _) => name,
            (None, _) if boxed => "boxed-elastic-net",
            (None, RegularizerSpec::NonNegativeElasticNet { .. }) => "non-negative-elastic-net",
            (None, _) => "elastic-net",
        };
        known("regularizer", name, &REGULARIZERS)?;
        *spec = match name {
            "non-negative-elastic-net" => RegularizerSpec::NonNegativeElasticNet { gamma, delta },
            "boxed-elastic-net" => RegularizerSpec::BoxedElasticNet {
                gamma,
                delta,
                lo: self.lo,
                hi: self.hi,
            },
            _ => RegularizerSpec::ElasticNet { gamma, delta },
        };
        if boxed && name != "boxed-elastic-net" {
            return Err("--lo and --hi belong to --regularizer boxed-elastic-net".into());
        }
        Ok(())
    }

    /// N and K.
    pub fn sizes(&self) -> Result<(usize, usize)> {
        let agents = match (self.agents, &self.topology) {
            (Some(0), _) => return Err("--agents 0: at least 1 is needed".into()),
            (Some(n), _) => n,
            (None, Some(_)) => 16,
            (None, None) => 1,
        };
        let atoms = self.atoms.unwrap_or(agents.max(64));
        if atoms == 0 {
            return Err("--atoms 0: at least 1 is needed".into());
        }
        Ok((agents, atoms))
    }

    /// The graph over `n` agents.
    pub fn topology(&self, n: usize) -> Result<Topology> {
        let text = self.topology.as_deref().unwrap_or("random:0.3");
        let spec = topology(text, self.seed.unwrap_or(0))?;
        match spec.build(n) {
            // Without a word on the graph, any connected one will do.
            Err(dictmesh::Error::Disconnected { .. }) if self.topology.is_none() => {
                Topology::complete(n)
            }
            built => built,
        }
        .map_err(|e| e.to_string())
    }

    /// The strategy with its constants.
    pub fn strategy(&self) -> Result<StrategySpec> {
        let name = self.strategy.as_deref().unwrap_or("relaxed-admm");
        known("strategy", name, &StrategySpec::NAMES)?;
        let mut spec = StrategySpec::from_name(name).map_err(|e| e.to_string())?;
        match &mut spec {
            StrategySpec::RelaxedAdmm { rho, .. } => {
                *rho = self.rho;
                if self.mu.is_some() {
                    return Err("--mu: relaxed-admm has no step; its penalty is --rho".into());
                }
            }
            StrategySpec::Diffusion { mu }
            | StrategySpec::Consensus { mu }
            | StrategySpec::ExactDiffusion { mu }
            | StrategySpec::JacobiAdmm { mu, .. } => {
                *mu = self.mu;
                if self.rho.is_some() {
                    return Err(format!("--rho belongs to relaxed-admm; {name} has --mu"));
                }
            }
        }
        Ok(spec)
    }

    /// When the rounds of a batch end.
    pub fn stopping(&self) -> Stopping {
        match (self.tolerance, self.rounds) {
            (None, None) => Stopping::default(),
            (None, Some(rounds)) => Stopping::rounds(rounds),
            (Some(tolerance), None) => Stopping::tolerance(tolerance),
            (tolerance, Some(rounds)) => Stopping { tolerance, rounds },
        }
    }

    /// The dictionary update for batches of this size.
    pub fn update(&self, batch: usize) -> Result<Update> {
        let Some(text) = &self.update else {
            // Forgetting per batch that forgets as many samples as .97 does with batches of 256.
            let forgetting = 0.97_f64.powf(batch as f64 / 256.0);
            return Ok(Update::Adaptive { forgetting });
        };
        let (name, number) = split(text);
        known("update", name, &["adaptive", "constant", "schedule"])?;
        let number = number.map(|n| number_in("--update", n)).transpose()?;
        Ok(match (name, number) {
            ("adaptive", forgetting) => Update::Adaptive {
                forgetting: forgetting.unwrap_or(1.0),
            },
            ("schedule", mu_w) => Update::Schedule {
                mu_w: mu_w.unwrap_or(1.0),
            },
            (_, Some(mu_w)) => Update::Constant { mu_w },
            _ => return Err("--update constant needs its step, as in constant:0.01".into()),
        })
    }

    /// The informed agents, or none for all.
    fn informed(&self) -> Result<Option<Vec<usize>>> {
        match self.informed.as_deref() {
            None | Some("all") => Ok(None),
            Some(list) => list
                .split(',')
                .map(|k| {
                    k.trim().parse().map_err(|_| {
                        format!("--informed {list}: \"{k}\" is not an agent's number; write all, or numbers such as 0,3")
                    })
                })
                .collect::<Result<_>>()
                .map(Some),
        }
    }

    /// The mesh, for samples of dimension `rows`. Atoms are dealt out evenly.
    pub fn mesh(&self, fallback: &str, rows: usize, start: Start<'_>) -> Result<Mesh> {
        let (n, k) = self.sizes()?;
        let batch = self.batch.unwrap_or(256);
        let sizes: Vec<usize> = (0..n).map(|i| k / n + usize::from(i < k % n)).collect();
        let task = self.task(fallback)?.build().map_err(|e| e.to_string())?;
        let weights = match self.weights.as_deref().unwrap_or("metropolis") {
            "metropolis" => WeightRule::Metropolis,
            "uniform" => WeightRule::Uniform,
            other => return Err(unknown("weights", other, &["metropolis", "uniform"])),
        };
        let mut builder = Mesh::builder(task, self.topology(n)?)
            .weights(weights)
            .strategy(self.strategy()?)
            .stopping(self.stopping())
            .update(self.update(batch)?)
            .batch(batch)
            .seed(self.seed.unwrap_or(0));
        if let Some(informed) = self.informed()? {
            builder = builder.informed(&informed);
        }
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        builder
            .build(rows, &sizes, start)
            .map_err(|e| e.to_string())
    }
}

const REGULARIZERS: [&str; 3] = [
    "elastic-net",
    "non-negative-elastic-net",
    "boxed-elastic-net",
];
const RESIDUALS: [&str; 5] = ["squared-l2", "huber", "l1", "ball", "equality"];
const SETS: [&str; 4] = [
    "unit-ball",
    "non-negative-unit-ball",
    "unit-l1-ball",
    "non-negative-unit-l1-ball",
];
const GRAPHS: [&str; 7] = [
    "complete",
    "ring",
    "path",
    "star",
    "grid",
    "random",
    "geometric",
];

fn residual(name: &str) -> Result<ResidualSpec> {
    known("residual", name, &RESIDUALS)?;
    Ok(match name {
        "huber" => ResidualSpec::Huber { eta: 0.2 },
        "l1" => ResidualSpec::L1,
        "ball" => ResidualSpec::Ball { sigma: 0.1 },
        "equality" => ResidualSpec::Equality,
        _ => ResidualSpec::SquaredL2,
    })
}

fn atom_set(name: &str) -> Result<AtomSet> {
    known("atoms-set", name, &SETS)?;
    Ok(match name {
        "non-negative-unit-ball" => AtomSet::NonNegativeUnitBall,
        "unit-l1-ball" => AtomSet::UnitL1Ball,
        "non-negative-unit-l1-ball" => AtomSet::NonNegativeUnitL1Ball,
        _ => AtomSet::UnitBall,
    })
}

fn topology(text: &str, seed: u64) -> Result<TopologySpec> {
    let (name, argument) = split(text);
    known("topology", name, &GRAPHS)?;
    let number = |what: &str| {
        let given = argument.ok_or_else(|| {
            format!("--topology {name} needs {what} behind a colon, as in {name}:0.3")
        })?;
        number_in("--topology", given)
    };
    Ok(match name {
        "complete" => TopologySpec::Complete,
        "ring" => TopologySpec::Ring,
        "path" => TopologySpec::Path,
        "star" => TopologySpec::Star,
        "grid" => {
            let wrong =
                || format!("--topology {text}: write a grid as grid:ROWSxCOLUMNS, as in grid:4x5");
            let (rows, cols) = argument.and_then(|a| a.split_once('x')).ok_or_else(wrong)?;
            TopologySpec::Grid {
                rows: rows.parse().map_err(|_| wrong())?,
                cols: cols.parse().map_err(|_| wrong())?,
            }
        }
        "geometric" => TopologySpec::RandomGeometric {
            radius: number("its radius")?,
            seed,
        },
        _ => TopologySpec::ErdosRenyi {
            p: number("its probability of an edge")?,
            seed,
        },
    })
}

/// "name:argument" in two.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    }
}

fn number_in(flag: &str, text: &str) -> Result<f64> {
    text.parse()
        .map_err(|_| format!("{flag}: \"{text}\" is not a number"))
}

fn known(kind: &str, given: &str, names: &[&str]) -> Result<()> {
    if names.contains(&given) {
        return Ok(());
    }
    Err(unknown(kind, given, names))
}

/// An unknown name, with the nearest one that is known.
fn unknown(kind: &str, given: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(name, given), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.5);
    let hint = nearest.map_or(String::new(), |(_, name)| {
        format!(" (did you mean {name}?)")
    });
    format!(
        "--{kind} {given}: not known{hint}; choose one of {}",
        names.join(", ")
    )
}
