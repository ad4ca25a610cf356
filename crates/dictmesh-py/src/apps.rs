//! Biclusters, pictures, and what is novel.

use crate::data::{array, Data};
use crate::raise;
use crate::work::{attend, said, Report, Tell, LOOK};
use dictmesh::{Matrix, Stop};
use dictmesh_apps::biclustering::{check_squares, Bicluster, Biclustering, Prepare};
use dictmesh_apps::calibration::Calibration;
use dictmesh_apps::denoising::{from_opponent, noise_level, to_opponent, Coding, Denoising};
use dictmesh_apps::novelty::Threshold;
use dictmesh_apps::ssvd::SparseSvd;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;

fn prepare(name: &str) -> PyResult<Prepare> {
    match name {
        "standardise" => Ok(Prepare::Standardise),
        "centre" => Ok(Prepare::Centre),
        "none" => Ok(Prepare::Nothing),
        _ => Err(PyValueError::new_err(format!(
            "prepare = '{name}': choose one of 'standardise', 'centre' and 'none'"
        ))),
    }
}

/// A table as the library has it: one column of the array is one column of the matrix.
fn table(x: &Bound<'_, PyAny>) -> PyResult<Matrix> {
    Ok(Data::of(x)?.view().all()?.to_dense().transpose())
}

/// The cost above which a sample is novel, given the exact costs of others and the share of them that is not; none without any.
#[pyfunction]
pub fn threshold(costs: Vec<f64>, quantile: f64) -> PyResult<Option<f64>> {
    let threshold = Threshold::Quantile(quantile);
    threshold.check().map_err(raise)?;
    Ok(threshold.choose(&costs, 0.0))
}

/// The scores that a model file keeps of these, rising.
#[pyfunction]
pub fn kept_scores(scores: Vec<f64>) -> Vec<f64> {
    Calibration::new(&scores).map_or_else(Vec::new, |kept| kept.scores().to_vec())
}

/// Layers found by agents, one each.
#[pyfunction]
#[pyo3(signature = (x, layers, gamma, delta, beta, prepared, passes, restarts, seed, threads, progress=None))]
#[allow(clippy::too_many_arguments)] // Python gives them by name
pub fn bicluster<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    layers: usize,
    gamma: f64,
    delta: f64,
    beta: f64,
    prepared: &str,
    passes: usize,
    restarts: usize,
    seed: u64,
    threads: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = Biclustering {
        layers,
        gamma,
        delta,
        beta,
        prepare: prepare(prepared)?,
        passes,
        restarts,
        seed,
        ..Biclustering::default()
    };
    let x = table(x)?;
    let total = restarts.saturating_mul(passes).saturating_mul(x.cols());
    let stop = AtomicBool::new(false);
    let flag = &stop;
    let (found, updates) = attend(py, threads, &stop, progress, move |tell: Tell| {
        let (mut done, mut updates) = (0, 0);
        let found = settings.run(&x, |event| {
            done += event.batch;
            updates += 1;
            let cost = event.cost;
            let _ = tell.send(Report { done, total, cost });
            match flag.load(Ordering::SeqCst) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        Ok((said(found)?, updates))
    })?;
    let out = layers_of(py, &found.layers, found.stop)?;
    out.set_item("objective", found.objective)?;
    out.set_item("updates", updates)?;
    Ok(out)
}

/// Layers of the sparse SVD.
#[pyfunction]
pub fn sparse_svd<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    layers: usize,
    gamma: f64,
    beta: f64,
    prepared: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let settings = SparseSvd {
        layers,
        lambda: gamma,
        beta,
        ..SparseSvd::default()
    };
    let (x, prepare) = (table(x)?, prepare(prepared)?);
    let layers = leave(py, None, move |_, stop| {
        let x = prepare.apply(&x);
        check_squares(&x)?;
        settings.run_unless(&x, stop)
    })?;
    let worst = match layers.iter().all(|layer| layer.converged) {
        true => Stop::Converged,
        false => Stop::RoundLimit,
    };
    let updates: usize = layers.iter().map(|layer| layer.iterations).sum();
    let layers: Vec<Bicluster> = (layers.into_iter().enumerate())
        .map(|(agent, layer)| Bicluster {
            agent,
            w: layer.w,
            y: layer.y,
            weight: layer.s,
        })
        .collect();
    let out = layers_of(py, &layers, worst)?;
    out.set_item("objective", py.None())?;
    out.set_item("updates", updates)?;
    Ok(out)
}

fn layers_of<'py>(
    py: Python<'py>,
    layers: &[Bicluster],
    stop: Stop,
) -> PyResult<Bound<'py, PyDict>> {
    let side_by_side = |vectors: Vec<&[f64]>| {
        let rows = vectors.first().map_or(0, |v| v.len());
        said(Matrix::from_columns(rows, &vectors).map_err(Into::into)).and_then(|m| array(py, m))
    };
    let out = PyDict::new(py);
    out.set_item(
        "w",
        side_by_side(layers.iter().map(|l| &l.w[..]).collect())?,
    )?;
    out.set_item(
        "y",
        side_by_side(layers.iter().map(|l| &l.y[..]).collect())?,
    )?;
    let weights: Vec<f64> = layers.iter().map(|l| l.weight).collect();
    out.set_item("weights", weights)?;
    let rows = PyList::empty(py);
    for layer in layers {
        rows.append(layer.main_rows())?;
    }
    out.set_item("main_rows", rows)?;
    out.set_item("stop", stop.name())?;
    out.set_item("why", stop.to_string())?;
    Ok(out)
}

/// What became of a picture: its planes, the noise in each, and the worst ending.
type Restored = (Vec<Matrix>, Vec<f64>, Stop);

/// A grey picture, or red, green and blue, without noise. `rounding` is what counts as no noise at all.
#[pyfunction]
#[pyo3(signature = (planes, sigma, gamma, delta, patch, stride, atoms, agents, passes, seed, threads, rounding, progress=None))]
#[allow(clippy::too_many_arguments)] // Python gives them by name
pub fn denoise<'py>(
    py: Python<'py>,
    planes: Vec<Bound<'py, PyAny>>,
    sigma: Option<f64>,
    gamma: Option<f64>,
    delta: f64,
    patch: usize,
    stride: usize,
    atoms: usize,
    agents: Option<usize>,
    passes: usize,
    seed: u64,
    threads: usize,
    rounding: f64,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyList>, Vec<f64>, &'static str, String)> {
    let planes = planes
        .iter()
        .map(table)
        .collect::<PyResult<Vec<Matrix>>>()?;
    let settings = Denoising {
        patch,
        stride,
        gamma,
        delta,
        sigma,
        agents: agents.unwrap_or(1),
        atoms_each: atoms / agents.unwrap_or(1).max(1),
        coding: match agents {
            Some(_) => Coding::Mesh,
            None => Coding::Exact,
        },
        passes,
        seed,
        ..Denoising::default()
    };
    let pool = crate::work::pool(threads)?;
    let (planes, sigmas, stop) = leave(py, progress, move |tell, stop| {
        pool.install(|| restore(&settings, planes, rounding, tell, stop))
    })?;
    let out = PyList::empty(py);
    for plane in planes {
        out.append(array(py, plane.transpose())?)?;
    }
    Ok((out, sigmas, stop.name(), stop.to_string()))
}

/// Grey as it is; colour as light and two opponent colours, each on its own.
fn restore(
    settings: &Denoising,
    planes: Vec<Matrix>,
    rounding: f64,
    tell: &Tell,
    stop: &Arc<AtomicBool>,
) -> dictmesh::Result<Restored> {
    let planes = match <[Matrix; 3]>::try_from(planes) {
        Ok(rgb) => to_opponent(&rgb)?.to_vec(),
        Err(grey) => grey,
    };
    let (mut out, mut sigmas, mut worst) = (Vec::new(), Vec::new(), Stop::Converged);
    let count = planes.len();
    for (p, plane) in planes.into_iter().enumerate() {
        let sigma = match settings.sigma {
            Some(sigma) => sigma,
            None => noise_level(&plane)?,
        };
        sigmas.push(sigma);
        if sigma < rounding {
            out.push(plane);
            continue;
        }
        let settings = Denoising {
            sigma: Some(sigma),
            ..settings.clone()
        };
        let done = settings.run_unless(&plane, Arc::clone(stop), |event| {
            let each = settings.passes * settings.learned;
            // Where nobody listens any more, it is stopped.
            let _ = tell.send(Report {
                done: p * each + event.samples as usize,
                total: count * each,
                cost: event.cost,
            });
            ControlFlow::Continue(())
        })?;
        worst = worst.worse(done.stop);
        if worst == Stop::Interrupted {
            break; // Nobody waits for it.
        }
        out.push(done.image);
    }
    let planes = match <[Matrix; 3]>::try_from(out) {
        Ok(planes) => from_opponent(&planes)?.to_vec(),
        Err(grey) => grey,
    };
    Ok((planes, sigmas, worst))
}

/// Does `work` on a thread of its own, which is told to stop and left alone on Ctrl-C: it cannot be stopped everywhere at
/// once, and nobody hears of its result then. What it tells is passed on.
fn leave<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Tell, &Arc<AtomicBool>) -> dictmesh::Result<T> + Send + 'static,
) -> PyResult<T> {
    let progress = progress.map(|p| p.clone().unbind());
    let (tell, told) = channel::<Report>();
    let (done, result) = channel();
    let stop = Stopping(Arc::default());
    let flag = Arc::clone(&stop.0);
    std::thread::spawn(move || {
        // A result that nobody waits for any more.
        let _ = done.send(work(&tell, &flag));
    });
    py.detach(move || loop {
        match result.recv_timeout(LOOK) {
            Ok(found) => return found.map_err(raise),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the computation broke off"))
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let last = told.try_iter().last();
        Python::attach(|py| {
            py.check_signals()?;
            match (&progress, last) {
                (Some(progress), Some(Report { done, total, cost })) => {
                    progress.call1(py, (done, total, cost)).map(drop)
                }
                _ => Ok(()),
            }
        })?;
    })
}

/// Stops the work when nobody waits for it any more.
struct Stopping(Arc<AtomicBool>);

impl Drop for Stopping {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
