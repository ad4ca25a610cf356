//! What a block gave, as text, JSON and CSV.

use super::super::score::quoted;
use crate::render::Reply;
use dictmesh_apps::novelty_stream::{Outcome, TopDocument};
use dictmesh_apps::terms::term_names;
use dictmesh_report::numbers::{counted, exact, fixed};
use serde::Serialize;
use std::path::PathBuf;

/// A line of `novelty --json`: a block.
#[derive(Serialize, schemars::JsonSchema)]
pub struct BlockReply<'a> {
    /// The number of the block, from 0. Block 0 is only learned.
    block: usize,
    /// The number of documents.
    documents: usize,
    /// The threshold; null in block 0.
    threshold: Option<f64>,
    /// The documents above the threshold, by their numbers in the stream from 0.
    novel: Vec<usize>,
    /// The area under the ROC curve, with labels.
    auc: Option<f64>,
    /// Agents after the block.
    agents: usize,
    /// Atoms after the block.
    atoms: usize,
    /// The most novel documents, the most novel first.
    top: &'a [TopDocument],
}

impl Reply for BlockReply<'_> {
    const COMMAND: &'static str = "novelty-block";
}

/// The last line of `novelty --json`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct NoveltyReply {
    /// The number of documents.
    pub documents: usize,
    /// The number of blocks.
    pub blocks: usize,
    /// The mean area under the ROC curves of the blocks that have one.
    pub mean_auc: Option<f64>,
    /// The number of blocks with a ROC curve.
    pub blocks_with_auc: usize,
    /// The file of the scores.
    pub scores: Option<PathBuf>,
    /// The file of the model.
    pub model: Option<PathBuf>,
    /// The page.
    pub report: Option<PathBuf>,
}

impl Reply for NoveltyReply {
    const COMMAND: &'static str = "novelty";
}

impl NoveltyReply {
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(mean) = self.mean_auc {
            let blocks = counted(self.blocks_with_auc, "block");
            text += &format!("mean AUC {mean:.3} over {blocks}\n");
        }
        for (what, path) in [
            ("scores", &self.scores),
            ("model", &self.model),
            ("report", &self.report),
        ] {
            if let Some(path) = path {
                text += &format!("{what}: {}\n", path.display());
            }
        }
        text
    }
}

/// A block as JSON, text and CSV.
pub trait Rendered {
    /// The line of JSON.
    fn reply(&self) -> BlockReply<'_>;
    /// The lines of text.
    fn text(&self) -> String;
    /// The rows of the scores, with the names of the documents.
    fn csv(&self, names: &[String]) -> String;
}

impl Rendered for Outcome {
    fn reply(&self) -> BlockReply<'_> {
        BlockReply {
            block: self.number,
            documents: self.documents,
            threshold: self.threshold(),
            novel: self.novel().iter().map(|j| self.from + j).collect(),
            auc: self.auc(),
            agents: self.agents,
            atoms: self.atoms,
            top: &self.top,
        }
    }

    fn text(&self) -> String {
        let number = self.number;
        let atoms = counted(self.atoms, "atom");
        let mesh = format!("{atoms} at {}", counted(self.agents, "agent"));
        let documents = counted(self.documents, "document");
        if self.judged.is_none() {
            return format!("block {number}: {documents} learned; {mesh}\n");
        }
        let mut text = format!("block {number}: {documents}");
        if let Some(chi) = self.threshold() {
            let novel = self.novel().len();
            text += &format!(", {novel} called novel (score above {})", fixed(chi, 4));
        }
        if let Some(auc) = self.auc() {
            text += &format!(", AUC {auc:.3}");
        }
        text += &format!("; {mesh}\n");
        for TopDocument { name, why, .. } in &self.top {
            text += &format!("  {}  {name}\n", fixed(why.score, 4));
            if !why.unexplained.is_empty() {
                let terms = term_names(&why.unexplained);
                text += &format!("          unexplained: {terms}\n");
            }
            for atom in &why.atoms {
                let terms = term_names(&atom.terms);
                let (atom, weight) = (atom.atom, atom.weight);
                text += &format!("          uses atom {atom} with weight {weight:.2}: {terms}\n");
            }
        }
        text
    }

    fn csv(&self, names: &[String]) -> String {
        let mut text = String::new();
        for (j, score) in self.scores().iter().enumerate() {
            let novel = u8::from(self.novel().binary_search(&j).is_ok());
            text += &format!(
                "{},{},{},{},{novel}\n",
                self.number,
                self.from + j,
                quoted(&names[j]),
                exact(*score)
            );
        }
        text
    }
}
