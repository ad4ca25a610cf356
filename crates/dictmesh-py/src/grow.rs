//! What a mesh that detects novelty needs beside learning: its start, and agents that join between blocks.

use crate::data::View;
use crate::from_json;
use crate::work::said;
use dictmesh::problem::TaskSpec;
use dictmesh::{strategy, Spec};
use dictmesh::{AtomInit, Mesh, Stopping};
use dictmesh_apps::novelty::{Growth, Join, Novelty, NoveltyDetector};
use pyo3::prelude::*;
use serde::Deserialize;

/// What is chosen for a detector, as JSON; the rest is as the library has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    task: TaskSpec,
    agents: usize,
    atoms_each: usize,
    /// The probability that an agent is joined to another; 1 joins everybody.
    p: f64,
    strategy: Spec,
    stopping: Stopping,
    batch: usize,
    seed: u64,
}

impl Settings {
    fn novelty(&self) -> dictmesh::Result<Novelty> {
        Ok(Novelty {
            task: self.task.clone(),
            agents: self.agents,
            atoms_each: self.atoms_each,
            join: match self.p {
                1.0 => Join::Everybody,
                p => Join::Random { p },
            },
            strategy: strategy::build(&self.strategy)?,
            stopping: self.stopping,
            batch: self.batch,
            seed: self.seed,
            ..Novelty::default()
        })
    }
}

/// The mesh of a detector, whose atoms start from these samples.
pub fn start(settings: &str, x: &View<'_>) -> PyResult<Mesh> {
    let settings: Settings = from_json(settings)?;
    let built = said(said(settings.novelty())?.build(&x.all()?))?;
    Ok(built.into_mesh())
}

/// The mesh with `count` more agents, whose atoms start from these samples.
pub fn grown(mesh: Mesh, settings: &str, x: &View<'_>, count: usize) -> PyResult<Mesh> {
    let settings: Settings = from_json(settings)?;
    let growth = Growth::Agents {
        count,
        atoms_each: settings.atoms_each,
    };
    let mut detector = said(NoveltyDetector::around(mesh, said(settings.novelty())?))?;
    said(detector.grow(growth, AtomInit::Samples(&x.all()?)))?;
    Ok(detector.into_mesh())
}
