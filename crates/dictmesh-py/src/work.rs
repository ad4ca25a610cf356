//! Long calls: Python runs on while they compute, and Ctrl-C ends them.

use crate::raise;
use dictmesh::mesh::Event;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often somebody looks whether Ctrl-C was pressed, and tells how far it is.
pub const LOOK: Duration = Duration::from_millis(50);

/// How far a call has come.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub done: usize,
    pub total: usize,
    pub cost: f64,
}

/// Where a call tells how far it has come.
pub type Tell = Sender<Report>;

/// The threads of a call; each has its own, see the head of this crate.
pub fn pool(threads: usize) -> PyResult<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PyValueError::new_err(format!("n_jobs = {threads}: {e}")))
}

/// Does `work` on so many threads while this one waits, looks for Ctrl-C and calls `progress(done, total, cost)`.
/// Where either raises, `stop` is set, and what `work` returns is thrown away as soon as it does.
pub fn attend<T: Send>(
    py: Python<'_>,
    threads: usize,
    stop: &AtomicBool,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Tell) -> PyResult<T> + Send,
) -> PyResult<T> {
    stop.store(false, Ordering::SeqCst);
    let progress = progress.map(|p| p.clone().unbind());
    let (tell, told) = channel();
    let mut done = None;
    let place = &mut done;
    py.detach(move || {
        pool(threads)?.in_place_scope(|scope| {
            scope.spawn(move |_| *place = Some(work(tell)));
            wait(&told, stop, progress.as_ref())
        })
    })?;
    done.unwrap_or_else(|| Err(PyValueError::new_err("the call came to no end")))
}

/// Waits until nobody can tell anything any more.
fn wait(told: &Receiver<Report>, stop: &AtomicBool, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    let (mut last, mut looked) = (None, Instant::now());
    let mut raised = Ok(());
    loop {
        let over = match told.recv_timeout(LOOK) {
            Ok(report) => {
                last = Some(report);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => true,
        };
        if raised.is_ok() && (over || looked.elapsed() >= LOOK) {
            looked = Instant::now();
            raised = Python::attach(|py| {
                py.check_signals()?;
                match (progress, last.take()) {
                    (Some(progress), Some(Report { done, total, cost })) => {
                        progress.call1(py, (done, total, cost)).map(drop)
                    }
                    _ => Ok(()),
                }
            });
            if raised.is_err() {
                stop.store(true, Ordering::SeqCst);
            }
        }
        if over {
            return raised;
        }
    }
}

/// What was heard of the batches that were learned.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct History {
    pub costs: Vec<f64>,
    pub samples: Vec<usize>,
    pub rounds: Vec<usize>,
    pub bytes: u64,
    pub movement: Vec<f64>,
    /// Mean number of nonzero codes of a sample.
    pub sparsity: Vec<f64>,
}

impl History {
    pub fn hear(&mut self, event: &Event) {
        self.costs.push(event.cost);
        self.samples.push(event.batch);
        self.rounds.push(event.rounds);
        self.bytes += event.bytes;
        self.movement.push(event.movement);
        self.sparsity.push(event.sparsity);
    }

    /// The mean cost of a sample in the batches from this one on.
    pub fn mean_cost(&self, from: usize) -> f64 {
        let samples: usize = self.samples[from..].iter().sum();
        let batches = self.costs[from..].iter().zip(&self.samples[from..]);
        batches.map(|(cost, n)| cost * *n as f64).sum::<f64>() / samples.max(1) as f64
    }
}

/// The library's results as Python's.
pub fn said<T>(result: dictmesh::Result<T>) -> PyResult<T> {
    result.map_err(raise)
}
