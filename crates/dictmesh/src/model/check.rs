//! Validation of a model.

use super::{BlockData, Description, Model};
use crate::error::{Error, Result};
use crate::graph::{Topology, Weights};
use crate::mesh::informed_flags;
use crate::problem::Task;
use crate::registry::Registry;
use crate::strategy::Strategy;

/// Tolerance for atoms outside their set; covers atoms rounded to single precision.
const OUTSIDE: f64 = 1e-6;
/// Upper limit of counters: a larger one indicates damage and could overflow.
const MOST: u64 = 1 << 53;

impl Model {
    /// `Ok` if a mesh could have this model.
    ///
    /// The options must be valid and compatible. Every block must have the sizes of the
    /// description, with finite atoms in the agent's set (within 1e-6). Some blocks may be missing,
    /// but not all. Whether the update fits the residual is checked when a mesh learns.
    ///
    /// # Errors
    ///
    /// Also for a piece that is not built in; see [`check_with`](Model::check_with).
    pub fn check(&self) -> Result<()> {
        self.check_with(&Registry::default())
    }

    /// As [`check`](Model::check), with the pieces of `registry`.
    pub fn check_with(&self, registry: &Registry) -> Result<()> {
        let task = registry.task(&self.description.task)?;
        let strategy = registry.strategy(&self.description.strategy)?;
        registry.accels(&self.description.accel)?;
        self.check_parts(Some(&task), Some(&*strategy))
    }

    /// As [`check`](Model::check), before writing. Pieces of other crates are skipped, since they
    /// are not registered here; the mesh that has them and the program that loads the file check
    /// them.
    pub(super) fn check_to_write(&self) -> Result<()> {
        let registry = Registry::default();
        let task = known(registry.task(&self.description.task))?;
        let strategy = known(registry.strategy(&self.description.strategy))?;
        known(registry.accels(&self.description.accel))?;
        self.check_parts(task.as_ref(), strategy.as_deref())
    }

    fn check_parts(&self, task: Option<&Task>, strategy: Option<&dyn Strategy>) -> Result<()> {
        check_description(&self.description, task, strategy)?;
        if self.blocks.is_empty() {
            return Err(Error::Empty {
                what: "the list of blocks",
                need: "a model holds the block of at least one agent",
            });
        }
        for pair in self.blocks.windows(2) {
            if pair[0].agent >= pair[1].agent {
                return Err(Error::parameter(
                    "blocks",
                    format!("agent {} after agent {}", pair[1].agent, pair[0].agent),
                    "blocks must be in the order of their agents, each once",
                ));
            }
        }
        self.blocks
            .iter()
            .try_for_each(|block| check_block(block, &self.description, task))
    }
}

/// `None` for a piece that is not built in; other errors are returned.
fn known<T>(piece: Result<T>) -> Result<Option<T>> {
    match piece {
        Ok(piece) => Ok(Some(piece)),
        Err(Error::UnknownName { kind, .. }) if Registry::KINDS.contains(&kind) => Ok(None),
        Err(error) => Err(error),
    }
}

fn check_description(
    d: &Description,
    task: Option<&Task>,
    strategy: Option<&dyn Strategy>,
) -> Result<()> {
    // Before any allocation proportional to `agents`, which may be damaged.
    if d.edges.len().saturating_add(1) < d.agents {
        return Err(Error::parameter(
            "agents",
            d.agents,
            format!(
                "a graph of {} agents needs more than {} edges",
                d.agents,
                d.edges.len()
            ),
        ));
    }
    let topology = Topology::from_edges(d.agents, &d.edges)?;
    let weights = Weights::new(&topology, &d.weights)?;
    if let (Some(task), Some(strategy)) = (task, strategy) {
        strategy.check(task.residual(), weights.is_symmetric())?;
    }
    d.stopping.check()?;
    d.update.check_constants()?;
    if d.rows == 0 || d.batch == 0 {
        let name = if d.rows == 0 { "rows" } else { "batch" };
        return Err(Error::parameter(name, 0, "must be 1 or more"));
    }
    informed_flags(d.agents, Some(&d.informed))?;
    if let Some(names) = &d.feature_names {
        Error::check_dimension("number of feature names (one per row)", names.len(), d.rows)?;
    }
    check_count("blocks_learned", d.progress.blocks_learned as u64)?;
    check_count("samples_learned", d.progress.samples_learned)?;
    check_count("draws", d.progress.draws)?;
    d.progress.penalty.check()
}

fn check_block(block: &BlockData, d: &Description, task: Option<&Task>) -> Result<()> {
    let (k, size) = (block.agent, block.atoms.cols());
    if k >= d.agents {
        return Err(Error::parameter(
            "agent",
            k,
            format!(
                "there is a block for it, but agents are numbered from 0 to {}",
                d.agents - 1
            ),
        ));
    }
    Error::check_dimension(
        format!("rows of agent {k}'s atoms"),
        block.atoms.rows(),
        d.rows,
    )?;
    for (what, given) in [
        ("energies", block.energy.len()),
        ("sample counts", block.samples.len()),
    ] {
        Error::check_dimension(
            format!("number of {what} of agent {k}'s atoms"),
            given,
            size,
        )?;
    }
    let local = task.map(|task| task.local(k));
    if let Some(local) = local {
        local.regularizer().check_atoms(size)?;
    }
    let outside = |w: &[f64]| local.filter(|local| !local.set().contains(w, OUTSIDE));
    for (q, w) in block.atoms.columns().enumerate() {
        if let Some(i) = w.iter().position(|v| !v.is_finite()) {
            return Err(Error::parameter(
                "atoms",
                w[i],
                format!("row {i} of atom {q} of agent {k} must be a finite number"),
            ));
        }
        if let Some(local) = outside(w) {
            let set = local.spec().set;
            return Err(Error::parameter(
                "atoms",
                format!("atom {q} of agent {k}"),
                format!("lies outside its set ({set}); project it first"),
            ));
        }
    }
    // An infinite energy is valid: the atom's step is 0.
    if let Some(q) = block.energy.iter().position(|s| s.is_nan() || *s < 0.0) {
        return Err(Error::parameter(
            "energy",
            block.energy[q],
            format!("of atom {q} of agent {k}: a sum of squares is 0 or above"),
        ));
    }
    (block.samples.iter()).try_for_each(|count| check_count("samples", *count))
}

fn check_count(name: &'static str, count: u64) -> Result<()> {
    if count <= MOST {
        return Ok(());
    }
    Err(Error::parameter(name, count, "must be at most 2^53"))
}
