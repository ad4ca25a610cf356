//! From choices to a mesh.

use super::names::{self, known, topology, WEIGHTS};
use super::{Options, Result, BATCH, SEED};
use crate::commands::{say, Failure};
use crate::memory::{self, check_sizes};
use dictmesh::accel::Accels;
use dictmesh::problem::TaskSpec;
use dictmesh::strategy::Strategy;
use dictmesh::{AtomInit, Mesh, Samples, Stopping, Topology, TopologySpec, Update, WeightRule};
use dictmesh_apps::memory::Sizes;
use dictmesh_apps::tuning::QuickLearning;
use std::sync::Arc;

/// How many of `k` atoms each of `n` agents gets.
pub fn dealt(n: usize, k: usize) -> Vec<usize> {
    (0..n).map(|i| k / n + usize::from(i < k % n)).collect()
}

impl Options {
    /// The task: a preset (`fallback` if none is named), with the constants and pieces given.
    pub fn task(&self, fallback: &str) -> Result<TaskSpec> {
        self.problem.task(TaskSpec::preset(fallback).map_err(say)?)
    }

    /// N and K.
    pub fn sizes(&self) -> Result<(usize, usize)> {
        let agents = match (self.agents, &self.topology) {
            (Some(n), _) => n,
            (None, Some(text)) => match topology(text, 0)? {
                TopologySpec::Grid { rows, cols } => rows.saturating_mul(cols),
                TopologySpec::Edges { edges } => {
                    let last = edges.iter().map(|(a, b)| *a.max(b)).max();
                    last.map_or(1, |last| last.saturating_add(1))
                }
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
        self.strategy.build()
    }

    /// When the rounds of a batch end.
    pub fn stopping(&self) -> Stopping {
        self.stopping.or(Stopping::default())
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

    /// The library's refusal of an update, with the flags that change it.
    fn of_update(&self, error: dictmesh::Error) -> Failure {
        match error {
            dictmesh::Error::Unsupported { what, with, .. } => format!(
                "--update {}: {what} needs a residual with a curvature, such as squared-l2 or huber, and does not \
                 work with {with}; give --update constant:0.01 or --update schedule:1, or another --residual",
                self.update.as_deref().unwrap_or("adaptive"),
            )
            .into(),
            e => say(e),
        }
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
                .stopping
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
        let update = self.update(batch)?;
        update
            .check(task.residual())
            .map_err(|e| self.of_update(e))?;
        let mut builder = Mesh::builder(task, self.topology(n)?.0)
            .weights(self.weight_rule()?)
            .strategy(self.strategy()?)
            .stopping(self.stopping())
            .accels(self.accels()?)
            .update(update)
            .batch(batch)
            .seed(self.seed.unwrap_or(SEED));
        if let Some(informed) = self.informed()? {
            builder = builder.informed(&informed);
        }
        builder.build(rows, &sizes, start).map_err(say)
    }
}
