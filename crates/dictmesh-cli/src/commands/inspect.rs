//! `dictmesh inspect`: what a model file holds.

use super::pages::{line, objective};
use super::prepare::{How, Preparation};
use super::{load_model, say, Result, Speech};
use crate::numbers::counted;
use crate::render::json::{Object, Reply};
use dictmesh::problem::TaskSpec;
use dictmesh::{Spec, Update};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{json, Value};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub speech: Speech,
}

/// What a model file holds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Inspection {
    /// The problem: residual, regularizer and set of the atoms, with their constants.
    #[schemars(with = "Object")]
    task: TaskSpec,
    /// The problem as a formula.
    objective: String,
    /// The number of agents.
    agents: usize,
    /// The number of links between agents.
    links: usize,
    /// The number of entries of a sample.
    features: usize,
    /// The number of atoms of all agents.
    atoms: usize,
    /// The inference strategy, with its constants.
    #[schemars(with = "Object")]
    strategy: Spec,
    /// The rule of the dictionary update.
    #[schemars(with = "Object")]
    update: Update,
    /// Samples per update.
    batch: usize,
    /// The seed of all random numbers.
    seed: u64,
    /// The number of samples learned from, in all passes.
    samples_learned: u64,
    /// How raw data become samples: `kind`, `description`, `reading` and what belongs to the kind.
    preparation: Object,
    /// The names of the entries of a sample, if known.
    feature_names: Option<Vec<String>>,
    /// The program and version that wrote the file.
    written_by: String,
    /// The blocks in the file, one per agent.
    blocks: Vec<Block>,
}

/// The atoms of one agent.
#[derive(Debug, Serialize, JsonSchema)]
struct Block {
    /// The agent's number, from 0.
    agent: usize,
    /// The number of its atoms.
    atoms: usize,
    /// The number of its atoms that no sample has used.
    unused: usize,
}

impl Reply for Inspection {
    const COMMAND: &'static str = "inspect";
}

pub fn run(args: Args) -> Result<()> {
    let model = load_model(&args.model)?;
    let d = &model.description;
    let preparation = Preparation::of(&model).map_err(say)?;
    let blocks = model.blocks.iter().map(|b| Block {
        agent: b.agent,
        atoms: b.atoms.cols(),
        unused: b.samples.iter().filter(|s| **s == 0).count(),
    });
    let blocks: Vec<Block> = blocks.collect();
    let inspection = Inspection {
        task: d.task.clone(),
        objective: objective(&d.task),
        agents: d.agents,
        links: d.edges.len(),
        features: d.rows,
        atoms: blocks.iter().map(|b| b.atoms).sum(),
        strategy: d.strategy.clone(),
        update: d.update,
        batch: d.batch,
        seed: d.seed,
        samples_learned: d.progress.samples_learned,
        preparation: preparation_object(&preparation),
        feature_names: d.feature_names.clone(),
        written_by: d.written_by.clone(),
        blocks,
    };
    args.speech.reply(&inspection, || {
        let mut text = format!(
            "{}\nwritten by {}\n\n\
             {} of {} at {} with {}, {} of whom see the samples\n\
             {} samples seen in all passes, {} a batch, seed {}\n",
            args.model.display(),
            d.written_by,
            counted(inspection.atoms, "atom"),
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
        text += &format!("minimises   {}\n", inspection.objective);
        text += "\nagent  atoms  never used\n";
        for b in &inspection.blocks {
            text += &format!("{:>5}  {:>5}  {:>10}\n", b.agent, b.atoms, b.unused);
        }
        text
    })
}

/// The preparation without its vocabulary, which is too long to print.
fn preparation_object(preparation: &Preparation) -> Object {
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
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}
