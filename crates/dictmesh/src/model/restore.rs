//! From a mesh to a model and back: the one place that maps one to the other.

use super::{blocks_of, BlockData, Description, Model};
use crate::accel::Accels;
use crate::error::{Error, Result};
use crate::graph::AgentId;
use crate::graph::Topology;
use crate::mesh::learning::AtomStats;
use crate::mesh::Mesh;
use crate::problem::task::{LocalSpec, RegularizerSpec};
use crate::strategy;

impl Mesh {
    /// All that the mesh has learned and was told, as plain data. The number of threads is not part of
    /// it; feature names and extra data are the caller's to add.
    pub fn to_model(&self) -> Model {
        let mut task = self.agents_task();
        leave_infinite_ends_out(&mut task.common);
        task.own.values_mut().for_each(leave_infinite_ends_out);
        let description = Description {
            task,
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
            atoms: self.block(k).atoms().clone(),
            energy: self.atom_use(k).energy.clone(),
            samples: self.atom_use(k).samples.clone(),
        };
        Model {
            description,
            blocks: (0..self.agents()).map(block).collect(),
        }
    }

    /// The mesh of a model that has the blocks of all agents.
    ///
    /// Everything is checked as [`Model::check`] and the builder do. The mesh goes on exactly where
    /// the one that made the model stood: coding, learning, growing and restarting atoms give the
    /// same results to the last bit, on the same kind of machine. It uses all cores.
    pub fn from_model(model: &Model) -> Result<Mesh> {
        model.check()?;
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
            let used = AtomStats {
                energy: block.energy.clone(),
                samples: block.samples.clone(),
            };
            (block.atoms.clone(), used)
        });
        Mesh::builder(d.task.build()?, Topology::from_edges(d.agents, &d.edges)?)
            .weights(d.weights.clone())
            .strategy(strategy::build(&d.strategy)?)
            .stopping(d.stopping)
            .warm_start(d.warm_start)
            .accels(Accels::parse(&d.accel)?)
            .update(d.update)
            .batch(d.batch)
            .seed(d.seed)
            .informed(&d.informed)
            .restore(d.rows, blocks.collect(), d.progress)
    }
}

/// An infinite end of a box is no end; JSON can only write the latter.
fn leave_infinite_ends_out(local: &mut LocalSpec) {
    if let RegularizerSpec::BoxedElasticNet { lo, hi, .. } = &mut local.regularizer {
        *lo = lo.filter(|end| end.is_finite());
        *hi = hi.filter(|end| end.is_finite());
    }
}
