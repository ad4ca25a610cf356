//! `dictmesh inspect`: what a model file holds.

use super::pages::line;
use super::prepare::{How, Preparation};
use super::{load_model, say, Result, Speech};
use crate::render::json::{Object, Reply};
use crate::render::text::table;
use dictmesh::problem::TaskSpec;
use dictmesh::{Spec, Update};
use dictmesh_apps::novelty::Threshold;
use dictmesh_report::numbers::counted;
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
    /// The scores to which new samples are compared; null if the model has none.
    calibration: Option<Calibration>,
    /// The names of the entries of a sample, if known.
    feature_names: Option<Vec<String>>,
    /// The program and version that wrote the file.
    written_by: String,
    /// The blocks in the file, one per agent.
    blocks: Vec<Block>,
}

/// The scores of samples that the model learned from.
#[derive(Debug, Serialize, JsonSchema)]
struct Calibration {
    /// The number of scores.
    samples: usize,
    /// The median score.
    median: f64,
    /// The score that 95 % of the samples do not exceed: the default threshold of novelty.
    quantile_95: f64,
}

impl Calibration {
    fn new(scores: &[f64]) -> Option<Self> {
        let quantile = |q| Threshold::Quantile(q).choose(scores, 0.0);
        Some(Calibration {
            samples: scores.len(),
            median: quantile(0.5)?,
            quantile_95: quantile(0.95)?,
        })
    }
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
        objective: d.task.objective(),
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
        calibration: dictmesh_apps::calibration::Calibration::of(&model)
            .and_then(|c| Calibration::new(c.scores())),
        feature_names: d.feature_names.clone(),
        written_by: d.written_by.clone(),
        blocks,
    };
    args.speech.reply(&inspection, || {
        let informed = match d.informed.len() {
            n if n == d.agents => "all of them informed".to_string(),
            n => format!("{n} of them informed"),
        };
        let calibration = match &inspection.calibration {
            Some(c) => format!(
                "{} scores, median {:.4}, 95th percentile {:.4}",
                c.samples, c.median, c.quantile_95
            ),
            None => "none: score judges by its own input".into(),
        };
        let head = format!(
            "{}\nwritten by {}\n\n{} of {} at {} with {}, {informed}\n\
             {} learned in all passes, {} per update, seed {}\n\n",
            args.model.display(),
            d.written_by,
            counted(inspection.atoms, "atom"),
            counted(d.rows, "feature"),
            counted(d.agents, "agent"),
            counted(d.edges.len(), "link"),
            counted(d.progress.samples_learned as usize, "sample"),
            d.batch,
            d.seed
        );
        let lines = [
            ("strategy", line(&d.strategy)),
            ("update", line(&d.update)),
            ("preparation", preparation.how.describe()),
            ("calibration", calibration),
            ("objective", inspection.objective.clone()),
        ];
        let lines = lines.map(|(name, value)| format!("{name:<13}{value}\n"));
        let titles = ["agent", "atoms", "unused"].map(String::from).to_vec();
        let blocks = inspection.blocks.iter();
        let blocks = blocks.map(|b| [b.agent, b.atoms, b.unused].map(|n| n.to_string()).to_vec());
        let rows: Vec<Vec<String>> = std::iter::once(titles).chain(blocks).collect();
        head + &lines.concat() + "\n" + &table(&rows)
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
