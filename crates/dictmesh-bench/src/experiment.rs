//! The paper's experiment with documents from end to end: learn block 0; then score each block by what was learned
//! before, grow by ten agents, learn it. The last block is only scored.

use crate::arrays;
use anyhow::{ensure, Result};
use clap::Args;
use dictmesh::{strategy, AtomInit, Matrix, Samples};
use dictmesh_apps::novelty::Novelty;
use dictmesh_apps::AtomsFrom;
use serde_json::{json, Value};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Args)]
pub struct Experiment {
    /// Where each document begins among the entries, .npy of one row.
    start: PathBuf,
    /// The term of each entry, .npy of one row.
    terms: PathBuf,
    /// Its weight, .npy of one row.
    weights: PathBuf,
    /// Terms in all.
    #[arg(long)]
    rows: usize,
    /// Documents in a block.
    #[arg(long, default_value_t = 1000)]
    block: usize,
    /// Only so many of each block.
    #[arg(long)]
    first: Option<usize>,
    /// Blocks that are scored.
    #[arg(long, default_value_t = 8)]
    steps: usize,
    /// How often a block is learned.
    #[arg(long)]
    passes: Option<usize>,
    /// The paper's loss, constants and diffusion.
    #[arg(long)]
    paper: bool,
    /// Where the scores go, .npy, one block a row.
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Experiment {
    pub fn measure(&self) -> Result<Value> {
        let x = self.read()?;
        let taken = self.first.unwrap_or(self.block).min(self.block);
        let block = |s: usize| x.range(s * self.block..s * self.block + taken);
        ensure!(
            self.steps >= 1 && x.len() >= self.steps * self.block + taken,
            "{} documents are too few for {} steps",
            x.len(),
            self.steps
        );
        let base = match self.paper {
            true => Novelty::paper(),
            false => Novelty {
                strategy: strategy::named("relaxed-admm")?,
                ..Novelty::default()
            },
        };
        let settings = Novelty {
            passes: self.passes.unwrap_or(base.passes),
            ..base
        };
        let (mut learning, mut scoring, mut rounds) = (0.0, 0.0, 0);
        let mut scores = Matrix::zeros(taken, self.steps);
        let mut detector = settings.build(&block(0))?;
        for s in 0..=self.steps {
            let x = block(s);
            let began = Instant::now();
            if s > 0 {
                let found = detector.score(&x)?;
                scores.column_mut(s - 1).copy_from_slice(&found);
                scoring += began.elapsed().as_secs_f64();
            }
            if s == self.steps {
                break;
            }
            let began = Instant::now();
            if s > 0 {
                let start = match settings.start {
                    AtomsFrom::Random => AtomInit::Random,
                    AtomsFrom::Samples => AtomInit::Samples(&x),
                };
                detector.grow(settings.growth, start)?;
            }
            detector.learn(&x, |event| {
                rounds += event.rounds * event.batch;
                ControlFlow::Continue(())
            })?;
            learning += began.elapsed().as_secs_f64();
        }
        if let Some(out) = &self.out {
            arrays::write(out, &scores)?;
        }
        let learned = taken * self.steps * settings.passes;
        Ok(json!({
            "seconds": learning + scoring,
            "learning": learning,
            "scoring": scoring,
            "rounds": rounds as f64 / learned as f64,
            "agents": detector.mesh().agents(),
        }))
    }

    fn read(&self) -> Result<Samples> {
        let whole = |path| -> Result<Vec<usize>> {
            let numbers = arrays::read(path)?.into_vec();
            Ok(numbers.into_iter().map(|v| v as usize).collect())
        };
        Ok(Samples::sparse(
            self.rows,
            whole(&self.start)?,
            whole(&self.terms)?,
            arrays::read(&self.weights)?.into_vec(),
        )?)
    }
}
