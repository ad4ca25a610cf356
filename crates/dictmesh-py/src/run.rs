//! `dictmesh._core.Run`: rounds one by one. A run of the library borrows its mesh and its samples, so it lives on a
//! thread of its own that owns both, and is asked for things.

use crate::data::array;
use crate::raise;
use crate::work::{pool, LOOK};
use dictmesh::{Matrix, Mesh, Samples};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};

/// What a run can be asked for.
enum Ask {
    Rounds(usize),
    Duals,
    Codes,
}

/// And what it says.
enum Say {
    /// Rounds done, and the bytes that would have crossed links.
    Rounds(usize, u64),
    Arrays(Vec<Matrix>),
    Refused(dictmesh::Error),
}

/// The two ends of the talk with the thread.
struct Talk {
    ask: Sender<Ask>,
    told: Receiver<Say>,
}

/// A batch on its way through the rounds.
#[pyclass(module = "dictmesh._core", frozen)]
pub struct Run {
    /// None once it was interrupted.
    talk: Mutex<Option<Talk>>,
    stop: Arc<AtomicBool>,
}

impl Run {
    /// At nu = 0.
    pub fn start(py: Python<'_>, mut mesh: Mesh, x: Samples, threads: usize) -> PyResult<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        mesh.interrupt_by(Arc::clone(&stop));
        let (ask, asked) = channel();
        let (tell, told) = channel();
        let (pool, flag) = (pool(threads)?, Arc::clone(&stop));
        std::thread::spawn(move || pool.install(move || serve(&mesh, &x, &flag, &asked, &tell)));
        let talk = Mutex::new(Some(Talk { ask, told }));
        let run = Run { talk, stop };
        // Samples that do not fit are refused here.
        run.ask(py, Ask::Rounds(0))?;
        Ok(run)
    }

    /// Asks, and waits for the answer; Ctrl-C ends the run.
    fn ask(&self, py: Python<'_>, what: Ask) -> PyResult<Say> {
        let over = || PyRuntimeError::new_err("this run was interrupted; start a new one");
        py.detach(|| {
            let mut talk = self.talk.lock().map_err(|_| over())?;
            let Talk { ask, told } = talk.as_ref().ok_or_else(over)?;
            ask.send(what).map_err(|_| over())?;
            loop {
                match told.recv_timeout(LOOK) {
                    Ok(Say::Refused(e)) => return Err(raise(e)),
                    Ok(said) => return Ok(said),
                    Err(RecvTimeoutError::Disconnected) => return Err(over()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Err(e) = Python::attach(|py| py.check_signals()) {
                    self.stop.store(true, Ordering::SeqCst);
                    *talk = None;
                    return Err(e);
                }
            }
        })
    }

    fn arrays<'py>(&self, py: Python<'py>, what: Ask) -> PyResult<Bound<'py, PyList>> {
        let out = PyList::empty(py);
        if let Say::Arrays(all) = self.ask(py, what)? {
            for each in all {
                out.append(array(py, each)?)?;
            }
        }
        Ok(out)
    }
}

#[pymethods]
impl Run {
    /// Does so many rounds; how many are done, and the bytes that would have crossed links.
    fn step(&self, py: Python<'_>, rounds: usize) -> PyResult<(usize, u64)> {
        match self.ask(py, Ask::Rounds(rounds))? {
            Say::Rounds(done, bytes) => Ok((done, bytes)),
            _ => Ok((0, 0)),
        }
    }

    /// Every agent's own nu_k, one sample a row.
    fn duals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.arrays(py, Ask::Duals)
    }

    /// Every agent's own y_k, one sample a row.
    fn codes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.arrays(py, Ask::Codes)
    }
}

/// Answers until nobody asks any more.
fn serve(mesh: &Mesh, x: &Samples, stop: &AtomicBool, asked: &Receiver<Ask>, tell: &Sender<Say>) {
    let mut run = mesh.run(x);
    while let Ok(ask) = asked.recv() {
        let said = match (&mut run, ask) {
            (Err(_), _) => return refuse(run, tell),
            (Ok(run), Ask::Rounds(rounds)) => {
                for _ in 0..rounds {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    run.round();
                }
                Say::Rounds(run.rounds(), run.bytes())
            }
            (Ok(run), Ask::Duals) => Say::Arrays(run.duals().cloned().collect()),
            (Ok(run), Ask::Codes) => Say::Arrays(run.codes()),
        };
        if tell.send(said).is_err() {
            return;
        }
    }
}

/// Says why there is no run, to whoever still listens.
fn refuse(run: dictmesh::Result<dictmesh::mesh::Run<'_>>, tell: &Sender<Say>) {
    if let Err(e) = run {
        let _ = tell.send(Say::Refused(e));
    }
}
