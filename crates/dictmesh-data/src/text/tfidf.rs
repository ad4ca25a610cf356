//! Weights of terms: how often in the document, how rare in the past.

use dictmesh::{Error, Result, Samples};
use serde::{Deserialize, Serialize};

/// How a count c in a document becomes a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// The count itself
    #[default]
    Counts,
    /// 1 + ln(count)
    Log,
}

/// The options of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weighting {
    /// What a count becomes.
    pub counting: Counting,
    /// Whether rare terms weigh more: times `ln((2 + n) / (1 + d))` for a term in d of the n documents
    /// of the past. That is above 0 always, and next to nothing for a term that every document has.
    pub idf: bool,
    /// Whether each vector is scaled to `|x|_2 = 1` (a zero vector stays zero).
    pub unit: bool,
    /// A term counts once this many documents have it, the current one included; 0 and 1 are all.
    pub min_documents: u32,
}

impl Default for Weighting {
    fn default() -> Self {
        Weighting {
            counting: Counting::default(),
            idf: true,
            unit: true,
            min_documents: 1,
        }
    }
}

impl Weighting {
    /// The weight of `count` mentions of a term in `with` of the `of` documents of the past.
    fn weight(&self, count: f64, with: u32, of: u64) -> f64 {
        let tf = match self.counting {
            // Below 1 (a table of rates), the count itself continues the curve down to 0.
            Counting::Log if count >= 1.0 => 1.0 + count.ln(),
            _ => count,
        };
        if !self.idf {
            return tf;
        }
        tf * ((2.0 + of as f64) / (1.0 + f64::from(with))).ln()
    }
}

/// TF-IDF of matrices of counts, with the document frequencies of the past only.
///
/// The first block has no past and takes its own frequencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TfIdf {
    weighting: Weighting,
    /// In how many documents of the past each row was not zero.
    documents_with: Vec<u32>,
    /// How many documents there were.
    documents: u64,
}

impl TfIdf {
    /// For samples of `rows` rows, before the first document.
    pub fn new(rows: usize, weighting: Weighting) -> Self {
        TfIdf {
            weighting,
            documents_with: vec![0; rows],
            documents: 0,
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.documents_with.len()
    }

    /// How many documents were learned.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The options.
    pub fn weighting(&self) -> &Weighting {
        &self.weighting
    }

    /// In how many documents of the past `row` was.
    pub fn documents_with(&self, row: usize) -> u32 {
        self.documents_with[row]
    }

    /// The vectors of a block by the frequencies of the blocks before; then learns those of this
    /// block. The first block learns first.
    pub fn transform_block(&mut self, counts: &Samples) -> Result<Samples> {
        self.check(counts)?;
        if self.documents == 0 {
            self.learn(counts);
            return self.vectors(counts, 0);
        }
        let vectors = self.vectors(counts, 1)?;
        self.learn(counts);
        Ok(vectors)
    }

    /// The vectors of new documents by the frequencies of the past, learning nothing.
    pub fn transform(&self, counts: &Samples) -> Result<Samples> {
        self.check(counts)?;
        self.vectors(counts, 1)
    }

    /// The weighed vector of one document's counts. `own` is 1 if the past does not include the
    /// document, 0 if it does.
    fn weigh(&self, counts: &mut Vec<(usize, f64)>, own: u32) {
        self.weights(counts, own);
        self.scale(counts);
    }

    /// As [`weigh`](TfIdf::weigh), not yet scaled.
    pub(super) fn weights(&self, counts: &mut Vec<(usize, f64)>, own: u32) {
        let min_documents = self.weighting.min_documents;
        counts.retain(|&(row, count)| {
            count != 0.0 && self.documents_with[row].saturating_add(own) >= min_documents
        });
        for (row, count) in counts.iter_mut() {
            *count = self.weight(*count, self.documents_with[*row]);
        }
    }

    /// The weight of `count` mentions of a term that `with` documents of the past had.
    pub(super) fn weight(&self, count: f64, with: u32) -> f64 {
        self.weighting.weight(count, with, self.documents)
    }

    /// Scales to norm 1 if the options say so.
    pub(super) fn scale(&self, counts: &mut [(usize, f64)]) {
        if self.weighting.unit {
            // By the largest first, so that no square overflows.
            let largest = counts.iter().map(|c| c.1).fold(0.0, f64::max);
            let norm = counts.iter().map(|c| (c.1 / largest).powi(2)).sum::<f64>();
            for (_, weight) in counts.iter_mut() {
                *weight = *weight / largest / norm.sqrt();
            }
        }
    }

    /// One more document, with these rows.
    pub(super) fn learn_rows(&mut self, rows: impl Iterator<Item = usize>) {
        self.documents += 1;
        for row in rows {
            self.documents_with[row] = self.documents_with[row].saturating_add(1);
        }
    }

    /// A row gets a term that `with` documents of the past had.
    pub(super) fn set_documents_with(&mut self, row: usize, with: u32) {
        self.documents_with[row] = with;
    }

    /// Takes this many rows; one more than before was in no document.
    pub(super) fn resize(&mut self, rows: usize) {
        self.documents_with.resize(rows, 0);
    }

    /// As many documents were learned.
    pub(super) fn set_documents(&mut self, documents: u64) {
        self.documents = documents;
    }

    /// Learns the frequencies of documents, and weighs nothing.
    pub fn fit(&mut self, counts: &Samples) -> Result<()> {
        self.check(counts)?;
        self.learn(counts);
        Ok(())
    }

    fn learn(&mut self, counts: &Samples) {
        for j in 0..counts.len() {
            let rows = counts.entries(j).filter(|(_, count)| *count != 0.0);
            self.learn_rows(rows.map(|(row, _)| row));
        }
    }

    fn vectors(&self, counts: &Samples, own: u32) -> Result<Samples> {
        let columns = (0..counts.len()).map(|j| {
            let mut column: Vec<(usize, f64)> = counts.entries(j).collect();
            self.weigh(&mut column, own);
            column
        });
        sparse(self.rows(), columns)
    }

    fn check(&self, counts: &Samples) -> Result<()> {
        if counts.rows() != self.rows() {
            return Err(Error::Dimension {
                what: "number of terms".into(),
                given: counts.rows(),
                expected: self.rows(),
            });
        }
        for j in 0..counts.len() {
            if let Some((row, count)) = counts.entries(j).find(|(_, count)| *count < 0.0) {
                return Err(Error::Parameter {
                    name: "count",
                    given: format!("{count} at term {row} of document {j}"),
                    allowed:
                        "counts are 0 or above: give the counts themselves, or read numbers that are \
                         no counts as they are"
                            .into(),
                });
            }
        }
        Ok(())
    }
}

/// Sparse samples from columns whose rows rise.
pub(super) fn sparse(
    rows: usize,
    columns: impl Iterator<Item = Vec<(usize, f64)>>,
) -> Result<Samples> {
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for column in columns {
        row.extend(column.iter().map(|e| e.0));
        value.extend(column.iter().map(|e| e.1));
        start.push(row.len());
    }
    Samples::sparse(rows, start, row, value)
}
