//! The atoms of all agents put together: only where somebody asks for it and may read all their directories.

use super::builder::OWNER;
use super::leaving;
use super::Result;
use crate::config::MeshConfig;
use crate::words::listed;
use dictmesh::model::{BlockData, Description, Progress};
use dictmesh::{Model, WeightRule};
use serde_json::json;
use std::path::Path;

/// Those who have not left for good, rising: the atoms of whoever left are of an earlier time.
fn present(mesh: &MeshConfig, place: &Path) -> Vec<usize> {
    let stays = |k: &usize| !leaving::has_left(&place.join(&mesh.agents[*k].name).join("state"));
    (0..mesh.agents.len()).filter(stays).collect()
}

/// The blocks that these agents wrote in their directories, and the samples they have seen.
fn blocks_of(mesh: &MeshConfig, place: &Path, agents: &[usize]) -> Result<(Vec<BlockData>, u64)> {
    let mut samples = None;
    let block = |(i, k): (usize, &usize)| {
        let path = place.join(&mesh.agents[*k].name).join(MeshConfig::ATOMS);
        if !path.exists() {
            return Err(format!(
                "{}: it is not there; an agent writes its atoms when the samples have ended. Bring the files of all \
                 agents here first",
                path.display()
            ).into());
        }
        let model = Model::load(&path)?;
        let seen = model.description.progress.samples_learned;
        if *samples.get_or_insert(seen) != seen {
            return Err(format!(
                "{}: these atoms have seen {seen} samples, those of other agents {}; they are not of one run",
                path.display(),
                samples.unwrap_or(0)
            ).into());
        }
        check_owner(mesh, *k, &path, &model)?;
        let block = model.blocks.into_iter().next();
        let block = block.ok_or_else(|| format!("{}: there is no block in it", path.display()))?;
        Ok(BlockData { agent: i, ..block })
    };
    let blocks: Vec<BlockData> = agents
        .iter()
        .enumerate()
        .map(block)
        .collect::<Result<_>>()?;
    Ok((blocks, samples.unwrap_or(0)))
}

/// Whether these atoms can be those of agent k: the same task, strategy and sizes, and a seed of this mesh.
fn check_owner(mesh: &MeshConfig, k: usize, path: &Path, model: &Model) -> Result<()> {
    let (agreed, given) = (&mesh.agreed, &model.description);
    let common = agreed.task.own.get(&k).unwrap_or(&agreed.task.common);
    let atoms: usize = model.blocks.iter().map(|block| block.atoms.cols()).sum();
    let differs = [
        (
            "task",
            given.task.residual != agreed.task.residual || given.task.common != *common,
        ),
        ("strategy", given.strategy != agreed.strategy),
        ("batch", given.batch != agreed.batch),
        ("rows", given.rows != agreed.rows),
        ("seed", given.seed != mesh.seed),
        ("number of atoms", atoms != mesh.agents[k].atoms),
    ];
    let named = given.extra.get(OWNER);
    let owner = json!({ "run": mesh.run, "id": k });
    let foreign = named
        .filter(|named| **named != owner)
        .map(|_| &("agent or run", true));
    match foreign.or_else(|| differs.iter().find(|(_, differs)| *differs)) {
        None => Ok(()),
        Some((what, _)) => Err(format!(
            "{}: its {what} is not that of {} in mesh.toml; these atoms are of another run or another agent",
            path.display(),
            mesh.agents[k].name
        ).into()),
    }
}

/// What is said of agents none of whose atoms was ever used: they are as they were drawn.
fn unused(mesh: &MeshConfig, agents: &[usize], blocks: &[BlockData]) -> Option<String> {
    let fresh = |block: &BlockData| {
        !block.samples.is_empty() && block.samples.iter().all(|samples| *samples == 0)
    };
    let each = agents.iter().zip(blocks).filter(|(_, block)| fresh(block));
    let fresh: Vec<&str> = each.map(|(k, _)| &mesh.agents[*k].name[..]).collect();
    (!fresh.is_empty()).then(|| {
        format!(
            "no sample used an atom of {}: these atoms are as they were drawn",
            listed(&fresh)
        )
    })
}

/// The blocks of all agents that have not left, and the samples they have seen.
pub fn blocks(mesh: &MeshConfig, place: &Path) -> Result<(Vec<BlockData>, u64)> {
    blocks_of(mesh, place, &present(mesh, place))
}

/// One model of the whole mesh; without those who left, the others are numbered anew.
///
/// Beside it, a note on agents none of whose atoms was used.
pub fn model(mesh: &MeshConfig, place: &Path) -> Result<(Model, Option<String>)> {
    let agents = present(mesh, place);
    let (blocks, samples_learned) = blocks_of(mesh, place, &agents)?;
    let note = unused(mesh, &agents, &blocks);
    let agreed = &mesh.agreed;
    let new = |k: usize| agents.iter().position(|id| *id == k);
    let first = agents.first().ok_or("every agent of this mesh has left")?;
    let first = &mesh.agents[*first].name;
    let first = Model::load(place.join(first).join(MeshConfig::ATOMS))?;
    let mut extra = first.description.extra;
    extra.remove(OWNER);
    let informed = agents.iter().enumerate();
    let informed = informed.filter(|(_, k)| mesh.agents[**k].informed);
    let edges = mesh.edges.iter();
    let edges = edges.filter_map(|(a, b)| Some((new(*a)?, new(*b)?)));
    let mut task = agreed.task.clone();
    let own = std::mem::take(&mut task.own).into_iter();
    task.own = own.filter_map(|(k, own)| Some((new(k)?, own))).collect();
    let weights = match &agreed.weights {
        WeightRule::Given(_) if agents.len() < mesh.agents.len() => WeightRule::Metropolis,
        weights => weights.clone(),
    };
    let model = Model {
        description: Description {
            task,
            agents: agents.len(),
            edges: edges.collect(),
            weights,
            strategy: agreed.strategy.clone(),
            stopping: agreed.stopping,
            update: agreed.update,
            batch: agreed.batch,
            warm_start: false,
            accel: "all".to_string(),
            seed: mesh.seed,
            informed: informed.map(|(i, _)| i).collect(),
            rows: agreed.rows,
            feature_names: first.description.feature_names,
            progress: Progress {
                blocks_learned: 1,
                samples_learned,
                draws: 1,
                penalty: first.description.progress.penalty,
            },
            written_by: String::new(),
            // How samples are prepared, the same at every agent.
            extra,
        },
        blocks,
    };
    model.check()?;
    Ok((model, note))
}
