//! The atoms of all agents put together: only where somebody asks for it and may read all their directories.

use super::super::{load_model, say, Result};
use dictmesh::model::{BlockData, Description, Progress};
use dictmesh::Model;
use dictmesh_net::config::MeshConfig;
use std::path::Path;

/// The blocks that the agents wrote in their directories, and the samples they have seen.
pub fn blocks(mesh: &MeshConfig, place: &Path) -> Result<(Vec<BlockData>, u64)> {
    let mut samples = None;
    let block = |(k, entry): (usize, &dictmesh_net::config::AgentEntry)| {
        let path = place.join(&entry.name).join(MeshConfig::ATOMS);
        let model = load_model(&path)?;
        let seen = model.description.progress.samples_learned;
        if *samples.get_or_insert(seen) != seen {
            return Err(format!(
                "{}: these atoms have seen {seen} samples, those of other agents {}; they are not of one run",
                path.display(),
                samples.unwrap_or(0)
            ));
        }
        let block = model.blocks.into_iter().next();
        let block = block.ok_or_else(|| format!("{}: there is no block in it", path.display()))?;
        Ok(BlockData { agent: k, ..block })
    };
    let blocks: Vec<BlockData> = mesh
        .agents
        .iter()
        .enumerate()
        .map(block)
        .collect::<Result<_>>()?;
    Ok((blocks, samples.unwrap_or(0)))
}

/// One model of the whole mesh.
pub fn model(mesh: &MeshConfig, place: &Path) -> Result<Model> {
    let (blocks, samples_learned) = blocks(mesh, place)?;
    let agreed = &mesh.agreed;
    let first = load_model(&place.join(&mesh.agents[0].name).join(MeshConfig::ATOMS))?;
    let informed = mesh
        .agents
        .iter()
        .enumerate()
        .filter(|(_, agent)| agent.informed);
    let model = Model {
        description: Description {
            task: agreed.task.clone(),
            agents: mesh.agents.len(),
            edges: mesh.edges.clone(),
            weights: agreed.weights.clone(),
            strategy: agreed.strategy.clone(),
            stopping: agreed.stopping,
            update: agreed.update,
            batch: agreed.batch,
            warm_start: false,
            reduction: true,
            seed: mesh.seed,
            informed: informed.map(|(k, _)| k).collect(),
            rows: agreed.rows,
            feature_names: first.description.feature_names,
            progress: Progress {
                blocks_learned: 1,
                samples_learned,
                draws: 1,
            },
            written_by: String::new(),
            // How samples are prepared, the same at every agent.
            extra: first.description.extra,
        },
        blocks,
    };
    model.check().map_err(say)?;
    Ok(model)
}
