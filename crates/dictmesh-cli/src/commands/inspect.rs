//! `dictmesh inspect`: what a model file holds.

use super::pages::{line, objective};
use super::prepare::{How, Preparation};
use super::{load_model, say, Result, Speech};
use crate::picture::counted;
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
    let model = load_model(&args.model)?;
    let d = &model.description;
    let preparation = Preparation::of(&model).map_err(say)?;
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
        "samples_learned": d.progress.samples_learned, "objective": objective(&d.task),
        "preparation": preparation_json(&preparation), "feature_names": d.feature_names,
        "written_by": d.written_by, "blocks": blocks,
    });
    args.speech.tell(json, || {
        let mut text = format!(
            "{}\nwritten by {}\n\n\
             {} of {} at {} with {}, {} of whom see the samples\n\
             {} samples seen in all passes, {} a batch, seed {}\n",
            args.model.display(),
            d.written_by,
            counted(atoms, "atom"),
            counted(d.rows, "feature"),
            counted(d.agents, "agent"),
            counted(d.edges.len(), "link"),
            d.informed.len(),
            d.progress.samples_learned,
            d.batch,
            d.seed
        );
        text += &format!("\nstrategy    {}\n", line(&d.strategy));
        text += &format!("update      {}\n", line(&d.update));
        text += &format!("samples     {}\n", preparation.how.describe());
        text += &format!("minimises   {}\n", objective(&d.task));
        text += "\nagent  atoms  never used\n";
        for b in &model.blocks {
            let unused = b.samples.iter().filter(|s| **s == 0).count();
            text += &format!("{:>5}  {:>5}  {unused:>10}\n", b.agent, b.atoms.cols());
        }
        text
    })
}

/// The preparation in a few words and numbers: a vocabulary is too long to print.
fn preparation_json(preparation: &Preparation) -> serde_json::Value {
    let mut value = match &preparation.how {
        How::Numbers(numbers) => {
            json!({"kind": "numbers", "centre": numbers.centre, "norm": numbers.norm})
        }
        How::Counts { tfidf } => {
            json!({"kind": "counts", "terms": tfidf.rows(), "documents": tfidf.documents()})
        }
        How::Text { vectoriser } => json!({
            "kind": "text", "vocabulary": vectoriser.vocabulary(),
            "terms": vectoriser.terms().count(), "documents": vectoriser.documents(),
        }),
        How::Patches(cut) => json!({"kind": "patches", "cut": cut}),
    };
    value["reading"] = json!(preparation.reading);
    value["description"] = json!(preparation.how.describe());
    value
}
