//! `dictmesh._core.Mesh`: a mesh that learns and infers.

mod inferred;
mod settings;

use crate::data::{array, Data};
use crate::learned::{Checkpoint, Learned, Plan};
use crate::preparation::Preparation;
use crate::run::Run;
use crate::work::{attend, pool, said, Report};
use crate::{from_json, grow, raise};
use dictmesh::exact::Certificate;
use dictmesh::{strategy, AtomInit, Model, Spec};
use inferred::inferred;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
pub use settings::Settings;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Samples that all agents hold vectors for at a time.
const AT_A_TIME: usize = 256;

/// A mesh of agents. The classes of the package are built on it; see `dictmesh.Mesh`.
#[pyclass(module = "dictmesh._core")]
pub struct Mesh {
    pub inner: dictmesh::Mesh,
    /// Set while a call is to end.
    stop: Arc<AtomicBool>,
    heard: Learned,
}

impl Mesh {
    pub fn around(mut inner: dictmesh::Mesh) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        inner.interrupt_by(Arc::clone(&stop));
        let heard = Learned::default();
        Mesh { inner, stop, heard }
    }
}

#[pymethods]
impl Mesh {
    /// A mesh whose atoms start from the first of these samples, or are given, one a row.
    #[staticmethod]
    #[pyo3(signature = (settings, x, atoms=None, prepare=None))]
    fn start(
        py: Python<'_>,
        settings: &str,
        x: &Bound<'_, PyAny>,
        atoms: Option<&Bound<'_, PyAny>>,
        prepare: Option<PyRef<'_, Preparation>>,
    ) -> PyResult<Self> {
        let settings: Settings = from_json(settings)?;
        let (x, atoms) = (Data::of(x)?, atoms.map(Data::of).transpose()?);
        let atoms = atoms.as_ref().map(Data::view);
        let x = x.view().prepared(prepare.as_deref());
        let mesh = py.detach(|| {
            let given = atoms.map(|a| a.all()).transpose()?;
            let given = given.map(|a| a.to_dense());
            let first = x.parts(settings.batch).next().unwrap_or(0..0);
            let first = x.part(first)?;
            let start = match (&given, settings.random_start) {
                (Some(atoms), _) => AtomInit::Given(atoms),
                (None, true) => AtomInit::Random,
                (None, false) => AtomInit::Samples(&first),
            };
            said(settings.build(x.features(), start))
        });
        Ok(Mesh::around(mesh?))
    }

    /// Goes through the samples `passes` times, or until a pass lowered the mean cost of a sample by no more than
    /// `tol` of it. What was heard is kept, whether or not it came to its end.
    ///
    /// `checkpoint` is the path of a model file, the seconds from one to the next, names of features and more
    /// entries as JSON. With `resume`, the state of a checkpoint as JSON, learning continues there.
    #[pyo3(signature = (x, passes, tol, threads, progress=None, prepare=None, weights=None, checkpoint=None, resume=None))]
    #[allow(clippy::too_many_arguments)] // Python gives them by name
    fn learn(
        &mut self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        passes: usize,
        tol: f64,
        threads: usize,
        progress: Option<&Bound<'_, PyAny>>,
        prepare: Option<PyRef<'_, Preparation>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        checkpoint: Option<(PathBuf, f64, Option<Vec<String>>, String)>,
        resume: Option<&str>,
    ) -> PyResult<()> {
        let data = Data::of(x)?;
        let x = data.view().prepared(prepare.as_deref());
        let x = x.weighted(weights.as_ref().map(|w| w.as_array()));
        let checkpoint = checkpoint
            .map(|(path, every, names, extra)| Checkpoint::new(path, every, names, &extra));
        let checkpoint = checkpoint.transpose()?;
        let (mesh, stop) = (&mut self.inner, Arc::clone(&self.stop));
        self.heard = resume.map(from_json).transpose()?.unwrap_or_default();
        let heard = &mut self.heard;
        attend(py, threads, &self.stop, progress, move |tell| {
            let plan = Plan {
                passes,
                tol,
                stop: &stop,
                tell: &tell,
                checkpoint,
            };
            heard.passes(mesh, &x, plan)
        })
    }

    /// How far learning has come, as JSON.
    fn position(&self) -> PyResult<String> {
        serde_json::to_string(&self.heard).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// What was heard of the last learning.
    fn heard<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.heard.told(py)
    }

    /// Codes samples over the mesh: a dict with the codes, every agent's own dual vectors, costs and rounds.
    #[pyo3(signature = (x, threads, duals=true, progress=None, prepare=None))]
    fn infer<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
        duals: bool,
        progress: Option<&Bound<'py, PyAny>>,
        prepare: Option<PyRef<'py, Preparation>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = Data::of(x)?;
        let x = data.view().prepared(prepare.as_deref());
        let (mesh, stop) = (&self.inner, &*self.stop);
        let found = attend(py, threads, stop, progress, move |tell| {
            let mut all = Vec::new();
            for from in (0..x.len()).step_by(AT_A_TIME) {
                let part = x.part(from..(from + AT_A_TIME).min(x.len()))?;
                let mut found = said(mesh.infer(&part))?;
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                if !duals {
                    found.duals.clear();
                }
                let done = from + part.len();
                let cost = found.mean_cost();
                all.push(found);
                let total = x.len();
                // Nobody listens where nobody wants to know.
                let _ = tell.send(Report { done, total, cost });
            }
            Ok(all)
        })?;
        inferred(py, found, &self.inner)
    }

    /// The solution in one place: the dense codes, the duals, the costs, the duality gaps, and how it ended.
    fn exact<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let data = Data::of(x)?;
        let (x, mesh) = (data.view(), &self.inner);
        let found = py.detach(|| pool(threads)?.install(|| said(mesh.exact(&x.all()?))))?;
        let each = |number: fn(&Certificate) -> f64| {
            PyArray1::from_vec(py, found.certificates.iter().map(number).collect())
        };
        let out = PyDict::new(py);
        let stop = found.stop();
        out.set_item("costs", each(|c| c.dual))?;
        out.set_item("gaps", each(|c| c.gap))?;
        out.set_item("stop", stop.name())?;
        out.set_item("why", stop.to_string())?;
        out.set_item("codes", array(py, found.codes)?)?;
        out.set_item("duals", array(py, found.duals)?)?;
        Ok(out)
    }

    /// A run over these samples, to be stepped round by round.
    fn run(&self, py: Python<'_>, x: &Bound<'_, PyAny>, threads: usize) -> PyResult<Run> {
        let samples = Data::of(x)?.view().all()?;
        Run::start(py, self.inner.clone(), samples, threads)
    }

    /// The mesh of a detector of novelty, whose atoms start from these samples.
    #[staticmethod]
    #[pyo3(signature = (settings, x, prepare=None))]
    fn detector(
        py: Python<'_>,
        settings: &str,
        x: &Bound<'_, PyAny>,
        prepare: Option<PyRef<'_, Preparation>>,
    ) -> PyResult<Self> {
        let data = Data::of(x)?;
        let x = data.view().prepared(prepare.as_deref());
        Ok(Mesh::around(py.detach(|| grow::start(settings, &x))?))
    }

    /// Lets `count` agents join, with atoms that start from these samples.
    #[pyo3(signature = (settings, x, count, prepare=None))]
    fn grow(
        &mut self,
        py: Python<'_>,
        settings: &str,
        x: &Bound<'_, PyAny>,
        count: usize,
        prepare: Option<PyRef<'_, Preparation>>,
    ) -> PyResult<()> {
        let data = Data::of(x)?;
        let x = data.view().prepared(prepare.as_deref());
        let mesh = self.inner.clone();
        self.inner = py.detach(|| grow::grown(mesh, settings, &x, count))?;
        Ok(())
    }

    /// All atoms, one a row.
    fn dictionary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(array(py, self.inner.dictionary())?.into_any())
    }

    /// How many atoms each agent has.
    fn sizes(&self) -> Vec<usize> {
        let agents = 0..self.inner.agents();
        agents.map(|k| self.inner.block(k).len()).collect()
    }

    /// In how many samples each atom took part.
    fn atom_samples(&self) -> Vec<u64> {
        let agents = 0..self.inner.agents();
        agents
            .flat_map(|k| self.inner.atom_stats(k).samples.clone())
            .collect()
    }

    /// Who talks to whom.
    fn edges(&self) -> Vec<(usize, usize)> {
        self.inner.topology().edges()
    }

    /// The agents that see the samples.
    fn informed(&self) -> Vec<usize> {
        let agents = 0..self.inner.agents();
        agents.filter(|k| self.inner.is_informed(*k)).collect()
    }

    /// M.
    #[getter]
    fn features(&self) -> usize {
        self.inner.rows()
    }

    /// How many samples were learned.
    #[getter]
    fn samples_learned(&self) -> u64 {
        self.inner.progress().samples_learned
    }

    /// What works, but maybe not as meant.
    fn warnings(&self) -> Vec<String> {
        let all = self.inner.warnings();
        all.iter().map(ToString::to_string).collect()
    }

    /// Another strategy and other rules for the end of rounds, as JSON.
    fn set_strategy(&mut self, strategy: &str, stopping: &str) -> PyResult<()> {
        let (strategy, stopping) = (from_json::<Spec>(strategy)?, from_json(stopping)?);
        let strategy = said(strategy::build(&strategy))?;
        said(self.inner.set_strategy(strategy))?;
        said(self.inner.set_stopping(stopping))
    }

    /// Saves the model, with names of the features and what Python wants to find in it again.
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        names: Option<Vec<String>>,
        extra: &str,
    ) -> PyResult<()> {
        let model = self.model(names, extra)?;
        said(py.detach(|| model.save(path)))
    }

    /// The model in a file: the mesh, and its description as JSON.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<(Self, String, Preparation)> {
        py.detach(|| {
            let model = said(Model::load(path))?;
            let (mesh, description) = Mesh::of(&model)?;
            Ok((mesh, description, Preparation::of(&model)?))
        })
    }

    /// The bytes of the file that `save` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.model(None, "{}")?.to_bytes().map_err(raise)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The mesh in the bytes of a file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let model = Model::from_bytes(bytes).map_err(raise)?;
        Ok(Mesh::of(&model)?.0)
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<Mesh>().getattr("from_bytes")?;
        Ok((make, (self.to_bytes(py)?,)))
    }
}

impl Mesh {
    fn model(&self, names: Option<Vec<String>>, extra: &str) -> PyResult<Model> {
        let mut model = self.inner.to_model();
        model.description.feature_names = names;
        model.description.extra = from_json(extra)?;
        Ok(model)
    }

    fn of(model: &Model) -> PyResult<(Self, String)> {
        let mesh = Mesh::around(dictmesh::Mesh::from_model(model).map_err(raise)?);
        let description = serde_json::to_string(&model.description)
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok((mesh, description))
    }
}
