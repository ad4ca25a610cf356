//! The samples with the highest scores, with their names and the words that the model does not know.

use dictmesh::problem::samples::Samples;
use dictmesh_data::preparation::{How, Raw};
use dictmesh_data::{Content, Record};

/// A sample with a high score.
#[derive(Clone, Debug)]
pub struct Top {
    /// Its number, from 0.
    pub number: usize,
    /// Its score.
    pub score: f64,
    /// The sample itself.
    pub sample: Samples,
    /// Its name, once it is found.
    pub name: String,
    /// The words of it that the model does not know, once they are found.
    pub unknown: Vec<String>,
}

/// The samples with the highest scores so far, descending.
///
/// ```
/// use dictmesh::{Matrix, Samples};
/// use dictmesh_apps::highest::Highest;
///
/// let sample = || Samples::dense(Matrix::zeros(2, 1)).unwrap();
/// let mut highest = Highest::new(2);
/// for (number, score) in [0.3, 0.1, 0.7].into_iter().enumerate() {
///     highest.consider(number, score, sample);
/// }
/// let numbers: Vec<usize> = highest.iter().map(|top| top.number).collect();
/// assert_eq!(numbers, [2, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct Highest {
    kept: Vec<Top>,
    most: usize,
}

impl Highest {
    /// None yet; at most this many are kept.
    pub fn new(most: usize) -> Self {
        Highest {
            kept: Vec::new(),
            most,
        }
    }

    /// The samples, the highest score first.
    pub fn iter(&self) -> impl Iterator<Item = &Top> {
        self.kept.iter()
    }

    /// Keeps a sample if its score is among the highest so far; returns whether it is.
    pub fn consider(
        &mut self,
        number: usize,
        score: f64,
        sample: impl FnOnce() -> Samples,
    ) -> bool {
        let place = self.kept.partition_point(|kept| kept.score >= score);
        if place >= self.most {
            return false;
        }
        let found = Top {
            number,
            score,
            sample: sample(),
            name: String::new(),
            unknown: Vec::new(),
        };
        self.kept.insert(place, found);
        self.kept.truncate(self.most);
        true
    }

    /// Sets the names of the highest scores from the data.
    pub fn name_all(&mut self, raw: &Raw, how: &How) {
        let end = self.kept.iter().map(|top| top.number + 1).max();
        let names: Vec<String> = raw.names(how).take(end.unwrap_or(0)).collect();
        for top in &mut self.kept {
            top.name = names.get(top.number).cloned().unwrap_or_default();
        }
        let (Raw::Documents(documents), How::Text { vectoriser }) = (raw, how) else {
            return;
        };
        let numbers: Vec<usize> = self.kept.iter().map(|top| top.number).collect();
        // Without their texts, the page shows the row that unknown words share.
        let texts = documents.select(&numbers).unwrap_or_default();
        for (top, text) in self.kept.iter_mut().zip(&texts) {
            top.unknown = vectoriser.unknown(text);
        }
    }

    /// Sets the name of one of the highest scores from its record.
    pub fn name_one(&mut self, number: usize, record: &Record, how: &How) {
        let Some(top) = self.kept.iter_mut().find(|top| top.number == number) else {
            return;
        };
        top.name = record.name.clone();
        if let (Content::Text(text), How::Text { vectoriser }) = (&record.content, how) {
            top.unknown = vectoriser.unknown(text);
        }
    }
}
