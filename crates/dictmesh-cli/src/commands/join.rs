//! `dictmesh join`: the blocks that agents or ranks wrote, put together.

use super::{check_apart, check_model_place, load_model, note, save_model, say, Result, Speech};
use crate::render::Reply;
use dictmesh::Model;
use dictmesh_net::config::MeshConfig;
use dictmesh_net::host::collect;
use dictmesh_net::words::listed;
use dictmesh_report::numbers::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The blocks that the ranks of learn --over mpi wrote (MODEL.0 MODEL.1 ...), or the directory
    /// of a mesh: its mesh.toml, and agent-k/atoms.safetensors of every agent, copied from their
    /// hosts
    #[arg(required = true, value_name = "PART")]
    pub parts: Vec<PathBuf>,
    /// The file of the model
    #[arg(short, long, value_name = "MODEL")]
    pub output: PathBuf,
    /// Replace an output file that dictmesh did not write
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    #[command(flatten)]
    pub speech: Speech,
}

/// The model that was put together.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Joined {
    /// The number of agents.
    agents: usize,
    /// The number of atoms of all agents.
    atoms: usize,
    /// The number of samples that the agents learned from.
    samples: u64,
    /// The model's file.
    model: String,
}

impl Reply for Joined {
    const COMMAND: &'static str = "join";
}

pub fn run(args: &Args) -> Result<()> {
    check_apart([&args.output], &args.parts)?;
    check_model_place(&args.output, args.force)?;
    let model = match &args.parts[..] {
        [only] if only.is_dir() => of_mesh(only, args.speech.quiet)?,
        parts => of_files(parts)?,
    };
    save_model(&model, &args.output)?;
    let joined = Joined {
        agents: model.blocks.len(),
        atoms: model.blocks.iter().map(|block| block.atoms.cols()).sum(),
        samples: model.description.progress.samples_learned,
        model: args.output.display().to_string(),
    };
    args.speech.reply(&joined, || {
        format!(
            "{} of {}, learned from {}\nmodel: {}\n",
            counted(joined.atoms, "atom"),
            counted(joined.agents, "agent"),
            counted(joined.samples as usize, "sample"),
            joined.model
        )
    })
}

/// What the agents of a mesh wrote into their directories.
fn of_mesh(directory: &Path, quiet: bool) -> Result<Model> {
    let file = directory.join("mesh.toml");
    if !file.exists() {
        return Err(format!(
            "{}: there is no mesh.toml in it; name the directory that dictmesh mesh init wrote, or the blocks that \
             ranks wrote one by one",
            directory.display()
        ).into());
    }
    let mesh = MeshConfig::load(&file).map_err(say)?;
    let (model, unused) = collect::model(&mesh, directory)?;
    note(unused.as_deref(), quiet);
    Ok(model)
}

/// What ranks wrote: each has the description of the whole mesh beside its own block.
fn of_files(parts: &[PathBuf]) -> Result<Model> {
    let shown = |path: &PathBuf| path.display().to_string();
    let mut models = Vec::new();
    for path in parts {
        if path.is_dir() {
            return Err(format!(
                "{}: this is a directory; name either the directory of one mesh and nothing else, or files",
                shown(path)
            ).into());
        }
        let model = load_model(path)?;
        if model.description.agents == 1 && parts.len() > 1 {
            return Err(format!(
                "{}: it says nothing of a mesh that its atoms are part of; atoms of agents are joined by naming the \
                 directory of their mesh, with mesh.toml in it",
                shown(path)
            ).into());
        }
        models.push(model);
    }
    let model = Model::join(models).map_err(say)?;
    let there = |k: &usize| model.blocks.iter().any(|block| block.agent == *k);
    let missing: Vec<usize> = (0..model.description.agents)
        .filter(|k| !there(k))
        .collect();
    match missing.is_empty() {
        true => Ok(model),
        false => Err(format!(
            "the mesh has {} agents, and the blocks of {} are missing; name their files too",
            model.description.agents,
            listed(&missing)
        )
        .into()),
    }
}
