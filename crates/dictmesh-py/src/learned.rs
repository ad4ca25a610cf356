//! Passes over samples, and what was heard of them.

use crate::data::View;
use crate::from_json;
use crate::work::{said, History, Report, Tell};
use dictmesh::{Samples, Stop};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What learning gave, and how far it has come.
#[derive(Clone, Serialize, Deserialize)]
pub struct Learned {
    history: History,
    passes: usize,
    /// Samples of the current pass that are learned.
    learned_of_pass: usize,
    /// The first batch of the current pass.
    first_of_pass: usize,
    /// The mean cost of a sample in the pass before.
    before: Option<f64>,
    /// The last pass lowered the cost by no more than what was asked for.
    rested: bool,
    /// Over about one pass, the mean cost of a sample.
    running: f64,
    #[serde(skip, default = "converged")]
    worst: Stop,
    /// Why a checkpoint could not be written.
    #[serde(skip)]
    unsaved: Option<String>,
}

fn converged() -> Stop {
    Stop::Converged
}

impl Default for Learned {
    fn default() -> Self {
        Learned {
            history: History::default(),
            passes: 0,
            learned_of_pass: 0,
            first_of_pass: 0,
            before: None,
            rested: false,
            running: 0.0,
            worst: Stop::Converged,
            unsaved: None,
        }
    }
}

/// Where a model of the state so far goes now and then.
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    names: Option<Vec<String>>,
    extra: serde_json::Map<String, serde_json::Value>,
    last: Instant,
}

/// The entry of a checkpoint that says how far learning has come.
pub const KEY: &str = "python-fit";

impl Checkpoint {
    /// Every so many seconds, with what Python wants to find in it again as JSON.
    pub fn new(
        path: PathBuf,
        every: f64,
        names: Option<Vec<String>>,
        extra: &str,
    ) -> PyResult<Self> {
        Ok(Checkpoint {
            path,
            every: Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX),
            names,
            extra: from_json(extra)?,
            last: Instant::now(),
        })
    }

    fn is_due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    fn save(&mut self, mesh: &dictmesh::Mesh, learned: &Learned) -> Result<(), String> {
        let mut model = mesh.to_model();
        model.description.feature_names.clone_from(&self.names);
        let extra = &mut model.description.extra;
        extra.extend(self.extra.clone());
        let position = serde_json::to_value(learned).map_err(|e| e.to_string())?;
        extra.insert(KEY.into(), position);
        self.last = Instant::now();
        model.save(&self.path).map_err(|e| e.to_string())
    }
}

/// How often to go through the samples, and what else happens on the way.
pub struct Plan<'a> {
    pub passes: usize,
    pub tol: f64,
    pub stop: &'a AtomicBool,
    pub tell: &'a Tell,
    pub checkpoint: Option<Checkpoint>,
}

impl Learned {
    pub fn passes(
        &mut self,
        mesh: &mut dictmesh::Mesh,
        x: &View<'_>,
        mut plan: Plan<'_>,
    ) -> PyResult<()> {
        let done = self.go_through(mesh, x, &mut plan);
        if let (Ok(()), Some(checkpoint)) = (&done, &mut plan.checkpoint) {
            self.unsaved = checkpoint.save(mesh, self).err();
        }
        done
    }

    fn go_through(
        &mut self,
        mesh: &mut dictmesh::Mesh,
        x: &View<'_>,
        plan: &mut Plan<'_>,
    ) -> PyResult<()> {
        while self.passes < plan.passes && !self.rested {
            let mut skip = self.learned_of_pass;
            for range in x.parts(mesh.batch()) {
                if skip >= range.len() {
                    skip -= range.len();
                    continue;
                }
                let mut from = range.start + std::mem::take(&mut skip);
                while from < range.end {
                    let (ended, count) = self.block(mesh, &x.part(from..range.end)?, x, plan)?;
                    self.worst = self.worst.worse(ended);
                    self.learned_of_pass += count;
                    from += count;
                    if plan.stop.load(Ordering::SeqCst) || ended == Stop::Diverged {
                        return Ok(());
                    }
                    let Some(checkpoint) = plan.checkpoint.as_mut().filter(|c| c.is_due()) else {
                        break;
                    };
                    if from < range.end && count > 0 {
                        mesh.reopen_block();
                    }
                    self.unsaved = checkpoint.save(mesh, self).err();
                }
            }
            self.passes += 1;
            self.learned_of_pass = 0;
            let cost = self.history.mean_cost(self.first_of_pass);
            self.first_of_pass = self.history.costs.len();
            let before = self.before.replace(cost);
            self.rested = plan.tol > 0.0
                && before.is_some_and(|before| before - cost <= plan.tol * before.abs());
        }
        Ok(())
    }

    /// Learns until a checkpoint is due: how it ended, and how many samples were learned.
    fn block(
        &mut self,
        mesh: &mut dictmesh::Mesh,
        part: &Samples,
        x: &View<'_>,
        plan: &Plan<'_>,
    ) -> PyResult<(Stop, usize)> {
        let (history, running) = (&mut self.history, &mut self.running);
        let total = plan.passes * x.len();
        let before: usize = history.samples.iter().sum();
        let mut done = before;
        let ended = mesh.learn(part, |event| {
            history.hear(event);
            done += event.batch;
            let window = done.min(x.len()).max(1) as f64;
            *running += (event.cost - *running) * event.batch as f64 / window;
            // The receiver may have ended already.
            let _ = plan.tell.send(Report {
                done,
                total,
                cost: *running,
            });
            let due = plan.checkpoint.as_ref().is_some_and(Checkpoint::is_due);
            match plan.stop.load(Ordering::SeqCst) || due {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        Ok((said(ended)?, done - before))
    }

    pub fn told<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("costs", PyArray1::from_slice(py, &self.history.costs))?;
        out.set_item("samples", &self.history.samples)?;
        out.set_item("rounds", &self.history.rounds)?;
        out.set_item("movement", PyArray1::from_slice(py, &self.history.movement))?;
        out.set_item("sparsity", PyArray1::from_slice(py, &self.history.sparsity))?;
        out.set_item("unsaved", self.unsaved.clone())?;
        out.set_item("bytes", self.history.bytes)?;
        out.set_item("passes", self.passes)?;
        out.set_item("rested", self.rested)?;
        out.set_item("stop", self.worst.name())?;
        out.set_item("why", self.worst.to_string())?;
        Ok(out)
    }
}
