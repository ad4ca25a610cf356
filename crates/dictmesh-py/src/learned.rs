//! Passes over samples, and what was heard of them.

use crate::data::View;
use crate::work::{said, History, Report, Tell};
use dictmesh::{Samples, Stop};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// What learning gave.
pub struct Learned {
    history: History,
    passes: usize,
    /// The last pass lowered the cost by no more than what was asked for.
    rested: bool,
    worst: Stop,
}

impl Default for Learned {
    fn default() -> Self {
        Learned {
            history: History::default(),
            passes: 0,
            rested: false,
            worst: Stop::Converged,
        }
    }
}

impl Learned {
    pub fn passes(
        &mut self,
        mesh: &mut dictmesh::Mesh,
        x: &View<'_>,
        (passes, tol): (usize, f64),
        stop: &AtomicBool,
        tell: &Tell,
    ) -> PyResult<()> {
        let total = passes * x.len();
        let mut before = None;
        while self.passes < passes && !self.rested {
            let first = self.history.costs.len();
            for range in x.parts(mesh.batch()) {
                let part = x.part(range)?;
                let ended = self.block(mesh, &part, total, stop, tell)?;
                self.worst = self.worst.worse(ended);
                if stop.load(Ordering::SeqCst) || ended == Stop::Diverged {
                    return Ok(());
                }
            }
            self.passes += 1;
            let cost = self.history.mean_cost(first);
            self.rested = before.is_some_and(|before: f64| before - cost <= tol * before.abs());
            self.rested &= tol > 0.0;
            before = Some(cost);
        }
        Ok(())
    }

    fn block(
        &mut self,
        mesh: &mut dictmesh::Mesh,
        part: &Samples,
        total: usize,
        stop: &AtomicBool,
        tell: &Tell,
    ) -> PyResult<Stop> {
        let history = &mut self.history;
        let mut done: usize = history.samples.iter().sum();
        let ended = mesh.learn(part, |event| {
            history.hear(event);
            done += event.batch;
            let cost = event.cost;
            let _ = tell.send(Report { done, total, cost });
            match stop.load(Ordering::SeqCst) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        said(ended)
    }

    pub fn told<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("costs", PyArray1::from_slice(py, &self.history.costs))?;
        out.set_item("samples", &self.history.samples)?;
        out.set_item("rounds", &self.history.rounds)?;
        out.set_item("movement", PyArray1::from_slice(py, &self.history.movement))?;
        out.set_item("bytes", self.history.bytes)?;
        out.set_item("passes", self.passes)?;
        out.set_item("rested", self.rested)?;
        out.set_item("stop", self.worst.name())?;
        out.set_item("why", self.worst.to_string())?;
        Ok(out)
    }
}
