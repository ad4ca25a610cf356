//! Which samples of a labelled stream are truly novel, and the ROC curve of a block.

use crate::roc::{roc, Roc};
use dictmesh::Result;
use std::collections::HashSet;

/// The labels of the blocks so far. A sample is truly novel if no block before has its label.
///
/// ```
/// use dictmesh_apps::novelty::KnownLabels;
/// let mut known = KnownLabels::default();
/// assert_eq!(known.next_block(&["a", "b"]), [true, true]);
/// // "c" is novel in the whole block that brings it.
/// assert_eq!(known.next_block(&["c", "a", "c"]), [true, false, true]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct KnownLabels {
    known: HashSet<String>,
}

impl KnownLabels {
    /// Whether each sample of the next block is novel; its labels are known from now on.
    pub fn next_block<L: AsRef<str>>(&mut self, labels: &[L]) -> Vec<bool> {
        let novel = |label: &L| !self.known.contains(label.as_ref());
        let novel = labels.iter().map(novel).collect();
        let labels = labels.iter().map(|label| label.as_ref().to_string());
        self.known.extend(labels);
        novel
    }
}

/// Whether a block after the first has both novel samples and known ones, so that it has a ROC curve.
pub fn have_curve(labels: &[String], first: usize, block: usize) -> bool {
    let mut known = KnownLabels::default();
    let (head, rest) = labels.split_at(first.min(labels.len()));
    known.next_block(head);
    let both = |novel: &[bool]| novel.contains(&true) && novel.contains(&false);
    let mut blocks = rest.chunks(block.max(1));
    blocks.any(|labels| both(&known.next_block(labels)))
}

/// The ROC curve of a block; `None` without scores, and if all samples are novel or none is.
///
/// Errors: a NaN score.
pub fn block_roc(scores: &[f64], novel: &[bool]) -> Result<Option<Roc>> {
    match novel.contains(&true) && novel.contains(&false) && !scores.is_empty() {
        true => roc(scores, novel).map(Some),
        false => Ok(None),
    }
}
