//! Tuning and audits: settings as JSON in, the results of `dictmesh-apps` as JSON out.

use crate::data::Data;
use crate::from_json;
use crate::mesh::{Mesh, Settings};
use crate::preparation::Preparation;
use crate::work::{attend, pool, said, Report, Tell};
use dictmesh::problem::TaskSpec;
use dictmesh::{strategy, AtomInit, Samples, Spec, Update};
use dictmesh_apps::audit::SurveySettings;
use dictmesh_apps::coding::Method;
use dictmesh_apps::novelty::ExplainOptions;
use dictmesh_apps::tuning::{GridSearch, QuickLearning, StrategyComparison};
use dictmesh_apps::{HoldoutSplit, Progress};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is tuned.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tuning {
    task: TaskSpec,
    /// Empty: those that the search tries by default.
    gammas: Vec<f64>,
    atoms: Vec<usize>,
    batch: Option<usize>,
    passes: Option<usize>,
    update: Option<Update>,
    seed: u64,
    choose: bool,
    /// The mesh on which strategies are compared; none: they are not.
    mesh: Option<Settings>,
    comparison: Comparison,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comparison {
    strategies: Vec<String>,
    given: Option<Spec>,
    goal: usize,
    rounds: usize,
    samples: usize,
}

/// Chooses gamma and the number of atoms, and compares strategies.
#[pyfunction]
#[pyo3(signature = (settings, x, threads, progress=None, prepare=None))]
pub fn tune(
    py: Python<'_>,
    settings: &str,
    x: &Bound<'_, PyAny>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    prepare: Option<PyRef<'_, Preparation>>,
) -> PyResult<String> {
    let settings: Tuning = from_json(settings)?;
    let data = Data::of(x)?;
    let x = data.view().prepared(prepare.as_deref());
    let stop = AtomicBool::new(false);
    attend(py, threads, &stop, progress, |tell| {
        let found = said(settings.run(x.all()?, &mut observer(&stop, &tell)))?;
        serde_json::to_string(&found).map_err(|e| PyValueError::new_err(e.to_string()))
    })
}

/// Passes progress on, and breaks where the call is to end.
fn observer<'a>(
    stop: &'a AtomicBool,
    tell: &'a Tell,
) -> impl FnMut(Progress) -> ControlFlow<()> + 'a {
    move |progress| {
        // The receiver may have ended already.
        let _ = tell.send(Report {
            done: progress.done,
            total: progress.total,
            cost: progress.cost.unwrap_or(f64::NAN),
        });
        match stop.load(Ordering::SeqCst) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Tuning {
    fn run(
        self,
        x: Samples,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> dictmesh::Result<serde_json::Value> {
        let split = HoldoutSplit::of(&x, self.seed)?;
        let mut learning = QuickLearning {
            task: self.task,
            batch: self.batch,
            passes: self.passes,
            update: self.update,
            seed: self.seed,
            ..QuickLearning::default()
        };
        let mut choice = None;
        let mut atoms = self.atoms.first().copied();
        if self.choose {
            let search = GridSearch {
                gammas: self.gammas,
                atoms: self.atoms,
                learning: learning.clone(),
            };
            let found = search.run(&split, observer)?;
            learning = learning.with_gamma(found.gamma);
            atoms = Some(found.atoms);
            choice = Some(found);
        }
        let mut comparison = None;
        if let Some(mut mesh) = self.mesh {
            let atoms = atoms.unwrap_or(mesh.agents);
            let learned = learning.learn(atoms, &split.training, observer)?;
            let dictionary = learned.dictionary();
            mesh.task = learning.task.clone();
            mesh.atoms = atoms;
            let mesh = mesh.build(x.rows(), AtomInit::Given(&dictionary))?;
            let given = self.comparison.given.as_ref();
            let given = given.map(strategy::build).transpose()?;
            let names = &self.comparison.strategies;
            let settings = StrategyComparison {
                strategies: StrategyComparison::candidates(names, given, None, &mesh)?,
                goal: self.comparison.goal,
                rounds: self.comparison.rounds,
            };
            let few = split.held_out.len().min(self.comparison.samples);
            let few = split.held_out.range(0..few);
            comparison = Some(settings.run(&mesh, &few, observer)?);
        }
        Ok(serde_json::json!({"choice": choice, "comparison": comparison}))
    }
}

/// Why samples have their scores, as JSON; `names` are those of the features.
#[pyfunction]
#[pyo3(signature = (mesh, x, atoms, terms, names, threads, prepare=None))]
#[allow(clippy::too_many_arguments)] // Python gives them by name
pub fn explain(
    py: Python<'_>,
    mesh: &Mesh,
    x: &Bound<'_, PyAny>,
    atoms: usize,
    terms: usize,
    names: Vec<String>,
    threads: usize,
    prepare: Option<PyRef<'_, Preparation>>,
) -> PyResult<String> {
    let data = Data::of(x)?;
    let x = data.view().prepared(prepare.as_deref());
    let mesh = &mesh.inner;
    let options = ExplainOptions {
        method: Method::Exact,
        atoms,
        terms,
    };
    let found = py.detach(|| {
        let x = x.all()?;
        let name = |row: usize| names.get(row).cloned().unwrap_or_default();
        let explain = || dictmesh_apps::novelty::explain(mesh, &x, &options, &name);
        pool(threads)?.install(|| said(explain()))
    })?;
    serde_json::to_string(&found).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// What is audited.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Auditing {
    strategy: Option<Spec>,
    rounds: usize,
    samples: usize,
    colluding: usize,
    random_start: Vec<f64>,
    seed: u64,
}

/// What neighbours recover of private atoms and samples from the messages of a mesh.
#[pyfunction]
#[pyo3(signature = (settings, mesh, x, threads, progress=None, prepare=None))]
pub fn audit(
    py: Python<'_>,
    settings: &str,
    mesh: &Mesh,
    x: &Bound<'_, PyAny>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    prepare: Option<PyRef<'_, Preparation>>,
) -> PyResult<String> {
    let settings: Auditing = from_json(settings)?;
    let survey = SurveySettings {
        rounds: settings.rounds,
        samples: settings.samples,
        colluding: settings.colluding,
        random_start: settings.random_start,
    };
    let data = Data::of(x)?;
    let x = data.view().prepared(prepare.as_deref());
    let (mesh, stop) = (&mesh.inner, AtomicBool::new(false));
    attend(py, threads, &stop, progress, |tell| {
        let given = settings.strategy.as_ref();
        let given = said(given.map(strategy::build).transpose())?;
        let candidates = said(survey.candidates(given.as_ref(), None))?;
        let split = said(HoldoutSplit::of(&x.all()?, settings.seed))?;
        let observer = &mut observer(&stop, &tell);
        let found = survey.run(
            mesh,
            &split.held_out,
            &candidates,
            given.is_none(),
            observer,
        );
        serde_json::to_string(&said(found)?).map_err(|e| PyValueError::new_err(e.to_string()))
    })
}
