//! From choices to a mesh.

use super::names::{
    self, atom_set, known, residual, topology, REGULARIZERS, STRATEGIES, TASKS, WEIGHTS,
};
use super::{Options, Result, BATCH, SEED};
use crate::commands::say;
use crate::memory::{self, check_sizes};
use dictmesh::accel::Accels;
use dictmesh::problem::atoms::AtomPenalty;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::{self, Strategy};
use dictmesh::{
    AtomInit, Mesh, Samples, Spec, Stopping, Topology, TopologySpec, Update, WeightRule,
};
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::tuning::QuickLearning;
use std::sync::Arc;

/// How many of `k` atoms each of `n` agents gets.
pub fn dealt(n: usize, k: usize) -> Vec<usize> {
    (0..n).map(|i| k / n + usize::from(i < k % n)).collect()
}

/// The constant of a strategy, by its flag.
pub fn constant(strategy: &str) -> &'static str {
    match strategy {
        "relaxed-admm" => "rho",
        "tree" => "bits",
        _ => "mu",
    }
}

/// The strategy of a spec, with integers of this number of bits.
fn with_bits(spec: Spec, bits: Option<i64>) -> Result<Arc<dyn Strategy>> {
    let spec = spec.with_some("bits", bits);
    strategy::build(&spec).map_err(|e| match e {
        // Of this name there is another flag.
        dictmesh::Error::Parameter {
            name: "bits",
            given,
            allowed,
        } => format!("--bits {given}: {allowed}").into(),
        e => say(e),
    })
}

/// The strategy `auto` for links with these constants.
fn auto(latency: Option<f64>, bandwidth: Option<f64>) -> Result<Arc<dyn Strategy>> {
    let spec = Spec::new(strategy::DEFAULT)
        .with_some_number("latency", latency)
        .with_some_number("bandwidth", bandwidth);
    strategy::build(&spec).map_err(|e| match e {
        dictmesh::Error::Parameter {
            name,
            given,
            allowed,
        } => format!("--{name} {given}: {allowed}").into(),
        e => say(e),
    })
}

impl Options {
    /// The task: a preset (`fallback` if none is named), changed by whatever else is said.
    pub fn task(&self, fallback: &str) -> Result<TaskSpec> {
        let name = self.task.as_deref().unwrap_or(fallback);
        known("task", name, &TASKS)?;
        let mut task = TaskSpec::preset(name).map_err(say)?;
        if let Some(name) = &self.residual {
            task.residual = residual(name)?;
        }
        // Each constant belongs to one residual; with another it would be ignored.
        let given = [
            ("huber", "eta", "eta", self.eta),
            ("ball", "radius", "sigma", self.radius),
        ];
        for (owner, flag, constant, value) in given {
            let Some(value) = value else { continue };
            let kind = task.residual.kind();
            if kind != owner {
                return Err(format!(
                    "--{flag} belongs to --residual {owner}, but this residual is {kind}; name that residual, or leave \
                     --{flag} out"
                )
                .into());
            }
            task.residual = Spec::new(owner).with_number(constant, value);
        }
        self.change_regularizer(&mut task.common.regularizer)?;
        if let Some(name) = &self.atoms_set {
            task.common.set = atom_set(name)?;
        }
        if let Some(beta) = self.beta {
            task.common.penalty = AtomPenalty::L1 { beta };
        }
        task.build().map_err(say)?;
        Ok(task)
    }

    fn change_regularizer(&self, spec: &mut Spec) -> Result<()> {
        let preset = |name| spec.required(name).map_err(say);
        let gamma = self.gamma.map_or_else(|| preset("gamma"), Ok)?;
        let delta = self.delta.map_or_else(|| preset("delta"), Ok)?;
        let boxed = self.lo.is_some() || self.hi.is_some();
        let name = match (self.regularizer.as_deref(), spec.kind()) {
            (Some(name), _) => name,
            (None, "non-negative-elastic-net") => "non-negative-elastic-net",
            (None, _) if boxed => "boxed-elastic-net",
            (None, _) => "elastic-net",
        };
        known("regularizer", name, &REGULARIZERS)?;
        *spec = Spec::new(name)
            .with_number("gamma", gamma)
            .with_number("delta", delta);
        for (end, value) in [("lo", self.lo), ("hi", self.hi)] {
            if let Some(value) = value {
                *spec = spec.clone().with_number(end, value);
            }
        }
        if boxed && name != "boxed-elastic-net" {
            return Err(format!(
                "--lo and --hi belong to --regularizer boxed-elastic-net, but this is {name}; name that \
                 regularizer (with --lo 0 codes stay non-negative), or leave --lo and --hi out"
            ).into());
        }
        Ok(())
    }

    /// N and K.
    pub fn sizes(&self) -> Result<(usize, usize)> {
        let agents = match (self.agents, &self.topology) {
            (Some(n), _) => n,
            (None, Some(text)) => match topology(text, 0)? {
                TopologySpec::Grid { rows, cols } => rows.saturating_mul(cols),
                _ => 16,
            },
            (None, None) => 1,
        };
        let atoms = self.atoms.unwrap_or(agents.max(64));
        check_sizes(agents, atoms)?;
        Ok((agents, atoms))
    }

    /// The graph over `n` agents, and the seed of its draw if it is random by probability.
    pub fn topology(&self, n: usize) -> Result<(Topology, Option<u64>)> {
        let seed = self.seed.unwrap_or(SEED);
        let Some(text) = &self.topology else {
            return Topology::unspecified(n, seed).map_err(say);
        };
        let built = match topology(text, seed)? {
            TopologySpec::Random { p, seed } => {
                Topology::random_connected(n, p, seed).map(|(graph, seed)| (graph, Some(seed)))
            }
            spec => spec.build(n).map(|graph| (graph, None)),
        };
        built.map_err(|e| match e {
            dictmesh::Error::Dimension { given, .. } => format!(
                "--topology {text} has {given} agents, but --agents says {n}; leave --agents out, or choose \
                 another graph"
            )
            .into(),
            e => say(e),
        })
    }

    /// The strategy with its constants.
    pub fn strategy(&self) -> Result<Arc<dyn Strategy>> {
        // A constant of one strategy alone names it.
        let implied = match (self.rho, self.bits) {
            (Some(_), _) => "relaxed-admm",
            (None, Some(_)) => "tree",
            (None, None) => strategy::DEFAULT,
        };
        let name = self.strategy.as_deref().unwrap_or(implied);
        known("strategy", name, &STRATEGIES)?;
        if name == strategy::DEFAULT {
            return self.auto();
        }
        let own = constant(name);
        let links = [("latency", self.latency), ("bandwidth", self.bandwidth)];
        if let Some((flag, _)) = links.iter().find(|(_, value)| value.is_some()) {
            return Err(format!("--{flag} belongs to --strategy auto; {name} has --{own}").into());
        }
        let given = [("mu", self.mu), ("rho", self.rho)];
        if let Some((flag, _)) = given.iter().find(|(flag, v)| v.is_some() && *flag != own) {
            return Err(match (*flag, name) {
                ("mu", "relaxed-admm") => {
                    "--mu: relaxed-admm has no step; its penalty is --rho".to_string()
                }
                ("mu", _) => {
                    format!("--mu: {name} finds the length of its steps itself; it has --{own}")
                }
                _ => format!("--rho belongs to relaxed-admm; {name} has --{own}"),
            }
            .into());
        }
        let spec = given.into_iter().fold(Spec::new(name), |spec, (flag, v)| {
            spec.with_some_number(flag, v)
        });
        with_bits(spec, self.bits)
    }

    /// The strategy that chooses another one.
    fn auto(&self) -> Result<Arc<dyn Strategy>> {
        let constants = [
            ("mu", self.mu.is_some()),
            ("rho", self.rho.is_some()),
            ("bits", self.bits.is_some()),
        ];
        if let Some((flag, _)) = constants.iter().find(|(_, given)| *given) {
            let owner = match *flag {
                "mu" => "diffusion, consensus, jacobi-admm or exact-diffusion",
                "rho" => "relaxed-admm",
                _ => "tree or relaxed-admm",
            };
            return Err(format!(
                "--{flag}: auto chooses a strategy with its own constants; name the one it is for: \
                 --strategy {owner}"
            )
            .into());
        }
        auto(self.latency, self.bandwidth)
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

    /// The speed-ups.
    pub fn accels(&self) -> Result<Accels> {
        match self.accel.as_deref() {
            None => Ok(Accels::all()),
            Some(names) => Accels::parse(names).map_err(|e| format!("--accel {names}: {e}").into()),
        }
    }

    /// The dictionary update for batches of this size.
    pub fn update(&self, batch: usize) -> Result<Update> {
        let Some(text) = &self.update else {
            // Per batch, as much as .97 forgets in batches of the default size.
            // A batch so large that it forgets all before it is no mistake.
            let forgetting = 0.97_f64.powf(batch as f64 / BATCH as f64).max(1e-9);
            return Ok(Update::Adaptive { forgetting });
        };
        names::update(text)
    }

    /// The rule of the combination weights.
    pub fn weight_rule(&self) -> Result<WeightRule> {
        let weights = self.weights.as_deref().unwrap_or(WEIGHTS[0]);
        known("weights", weights, &WEIGHTS)?;
        Ok(match weights {
            "uniform" => WeightRule::Uniform,
            _ => WeightRule::Metropolis,
        })
    }

    /// The informed agents, or none for all.
    pub fn informed(&self) -> Result<Option<Vec<usize>>> {
        match self.informed.as_deref() {
            None | Some("all") => Ok(None),
            Some(list) => list
                .split(',')
                .map(|k| {
                    k.trim().parse().map_err(|_| {
                        let why = format!("\"{k}\" is not an agent's number");
                        format!("--informed {list}: {why}; write all, or numbers such as 0,3")
                            .into()
                    })
                })
                .collect::<Result<_>>()
                .map(Some),
        }
    }

    /// How `tune` and `audit` learn a dictionary in one place; gamma is that of the task.
    pub fn quick_learning(&self, fallback: &str) -> Result<QuickLearning> {
        let update = self.update.as_deref().map(names::update).transpose()?;
        Ok(QuickLearning {
            task: self.task(fallback)?,
            batch: self.batch,
            passes: self.passes,
            update,
            stopping: self
                .tolerance
                .map_or(Stopping::default(), Stopping::tolerance),
            accels: self.accels()?,
            seed: self.seed.unwrap_or(0),
            ..QuickLearning::default()
        })
    }

    /// Refuses a dictionary of `atoms` atoms that one agent cannot learn in this process.
    pub fn check_memory(&self, fallback: &str, atoms: usize, x: &Samples) -> Result<()> {
        check_sizes(1, atoms)?;
        let task = self.task(fallback)?.build().map_err(say)?;
        let sizes = Sizes {
            rows: x.rows(),
            atoms,
            agents: 1,
            batch: self.batch.unwrap_or(256).min(x.len()),
            data: 0,
            rotates: task.residual().is_rotation_invariant(),
        };
        memory::check(&sizes, &format!("--atoms {atoms}"))
    }

    /// The mesh, for samples of dimension `rows`. Atoms are dealt out evenly.
    pub fn mesh(&self, fallback: &str, rows: usize, start: AtomInit<'_>) -> Result<Mesh> {
        let (n, k) = self.sizes()?;
        let batch = self.batch.unwrap_or(BATCH);
        let task = self.task(fallback)?.build().map_err(say)?;
        let needed = Sizes {
            rows,
            atoms: k,
            agents: n,
            // A batch has no more samples than there are.
            batch: match start {
                AtomInit::Samples(x) => batch.min(x.len()),
                _ => batch.min(BATCH),
            },
            data: 0,
            rotates: task.residual().is_rotation_invariant(),
        };
        memory::check(&needed, &format!("--atoms {k} --agents {n}"))?;
        let sizes = dealt(n, k);
        let mut builder = Mesh::builder(task, self.topology(n)?.0)
            .weights(self.weight_rule()?)
            .strategy(self.strategy()?)
            .stopping(self.stopping())
            .accels(self.accels()?)
            .update(self.update(batch)?)
            .batch(batch)
            .seed(self.seed.unwrap_or(SEED));
        if let Some(informed) = self.informed()? {
            builder = builder.informed(&informed);
        }
        builder.build(rows, &sizes, start).map_err(say)
    }
}
