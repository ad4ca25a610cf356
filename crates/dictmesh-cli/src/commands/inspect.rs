//! `dictmesh inspect`: what a model file holds.

use super::{say, Preparation, Result, Speech};
use dictmesh::Model;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub speech: Speech,
}

pub fn run(args: Args) -> Result<()> {
    let model = Model::load(&args.model).map_err(say)?;
    let d = &model.description;
    let documents = ["vectoriser", "tfidf"]
        .iter()
        .any(|k| d.extra.contains_key(*k));
    let preparation = match documents {
        true => Preparation::default(),
        false => Preparation::of(&model)?,
    };
    let atoms: usize = model.blocks.iter().map(|b| b.atoms.cols()).sum();
    let blocks: Vec<_> = (model.blocks.iter())
        .map(|b| {
            let unused = b.samples.iter().filter(|s| **s == 0).count();
            json!({"agent": b.agent, "atoms": b.atoms.cols(), "unused": unused})
        })
        .collect();
    let json = json!({
        "task": d.task, "agents": d.agents, "links": d.edges.len(), "features": d.rows, "atoms": atoms,
        "strategy": d.strategy, "update": d.update, "batch": d.batch, "seed": d.seed,
        "samples_learned": d.progress.samples_learned, "preparation": preparation,
        "written_by": d.written_by, "blocks": blocks,
    });
    args.speech.tell(json, || {
        let mut text = format!(
            "{}\nwritten by {}\n\n\
             {atoms} atoms of {} features at {} agents with {} links, {} of whom see the samples\n\
             learned from {} samples, {} a batch, seed {}\n",
            args.model.display(),
            d.written_by,
            d.rows,
            d.agents,
            d.edges.len(),
            d.informed.len(),
            d.progress.samples_learned,
            d.batch,
            d.seed
        );
        text += &format!("\ntask        {}\n", line(&d.task));
        text += &format!("strategy    {}\n", line(&d.strategy));
        text += &format!("update      {}\n", line(&d.update));
        text += &match documents {
            true => "preparation of documents, by the vectoriser in the file\n".to_string(),
            false => format!(
                "preparation {:?}, norm {:?}\n",
                preparation.centre, preparation.norm
            ),
        };
        text += "\nagent  atoms  never used\n";
        for b in &model.blocks {
            let unused = b.samples.iter().filter(|s| **s == 0).count();
            text += &format!("{:>5}  {:>5}  {unused:>10}\n", b.agent, b.atoms.cols());
        }
        text
    })
}

/// A description on one line.
fn line(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_default()
        .replace('"', "")
}
