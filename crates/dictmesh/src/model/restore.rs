//! Conversion between a mesh and a model.

use super::{blocks_of, BlockData, Description, Model};
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::Topology;
use crate::mesh::AtomStats;
use crate::mesh::Mesh;
use crate::registry::Registry;

impl Mesh {
    /// The state and all options of the mesh as plain data, except the number of threads. The
    /// caller adds feature names and extra data.
    pub fn to_model(&self) -> Model {
        let description = Description {
            task: self.agents_task(),
            agents: self.agents(),
            edges: self.topology().edges(),
            weights: self.weight_rule().clone(),
            strategy: self.strategy().spec(),
            stopping: self.stopping(),
            update: self.update_rule(),
            batch: self.batch(),
            warm_start: self.warm_start(),
            accel: self.accels().to_string(),
            seed: self.seed(),
            informed: self.informed(),
            rows: self.rows(),
            feature_names: None,
            progress: self.progress(),
            written_by: Model::WRITTEN_BY.to_string(),
            extra: serde_json::Map::new(),
        };
        let block = |k: AgentId| BlockData {
            agent: k,
            atoms: self.block(k).shared_atoms(),
            energy: self.atom_stats(k).energy.clone(),
            samples: self.atom_stats(k).samples.clone(),
        };
        Model {
            description,
            blocks: (0..self.agents()).map(block).collect(),
        }
    }

    /// Restores a mesh from a model with the blocks of all agents.
    ///
    /// Coding, learning, growing and restarting atoms give results bit-identical to those of the
    /// original mesh, on the same kind of machine. It uses all cores.
    ///
    /// # Errors
    ///
    /// Those of [`Model::check`] and the builder, or if a block is missing.
    pub fn from_model(model: &Model) -> Result<Mesh> {
        Mesh::from_model_with(model, &Registry::default())
    }

    /// As [`from_model`](Mesh::from_model), with the pieces of `registry`.
    pub fn from_model_with(model: &Model, registry: &Registry) -> Result<Mesh> {
        model.check_with(registry)?;
        let d = &model.description;
        if model.blocks.len() != d.agents {
            let mut present = model.blocks.iter().map(|block| block.agent).peekable();
            let missing: Vec<AgentId> = (0..d.agents)
                .filter(|k| present.next_if_eq(k).is_none())
                .collect();
            let are = if missing.len() == 1 { "is" } else { "are" };
            return Err(Error::Unsupported {
                what: format!(
                    "a model that holds {} of {} blocks",
                    model.blocks.len(),
                    d.agents
                ),
                with: format!("a mesh of all {} agents", d.agents),
                why: format!(
                    "{} {are} missing; load the files of those agents too, and put all together \
                     with Model::join",
                    blocks_of(&missing)
                ),
            });
        }
        let blocks = model.blocks.iter().map(|block| {
            let stats = AtomStats {
                energy: block.energy.clone(),
                samples: block.samples.clone(),
            };
            (block.atoms.clone(), stats)
        });
        let task = registry.task(&d.task)?;
        Mesh::builder(task, Topology::from_edges(d.agents, &d.edges)?)
            .weights(d.weights.clone())
            .strategy(registry.strategy(&d.strategy)?)
            .stopping(d.stopping)
            .warm_start(d.warm_start)
            .accels(registry.accels(&d.accel)?)
            .update(d.update)
            .batch(d.batch)
            .seed(d.seed)
            .informed(&d.informed)
            .restore(d.rows, blocks.collect(), d.progress)
    }
}
