//! The documents of the learning curve: TDT2, or made up.

use super::super::documents::read;
use crate::commands::{say, Result};
use dictmesh::random::{stream, Rng};
use dictmesh::Samples;
use dictmesh_data::text::{TfIdf, Weighting};
use rand::RngExt;
use std::path::Path;

/// Made-up documents have so many topics, terms and words.
const TOPICS: usize = 10;
const TERMS: usize = 1000;
const WORDS: usize = 150;
/// Terms that a topic has of its own; and the share of its words that come from them.
const OWN: usize = 60;
const SHARE: f64 = 0.6;
/// The stream of a seed that documents are made from ("text" in ASCII).
const TEXT_STREAM: u64 = 0x74_65_78_74;

/// Documents as samples, and where they are from.
pub struct Source {
    pub samples: Samples,
    /// For people.
    pub what: String,
    pub made_up: bool,
}

impl Source {
    /// The first documents of TDT2 in `data`, or of a stream made from the seed.
    pub fn new(data: Option<&Path>, count: usize, seed: u64) -> Result<Self> {
        let (counts, what) = match data {
            Some(dir) => {
                let counts = read(dir)?.0;
                (counts, format!("The first {count} documents of TDT2"))
            }
            None => (
                made_up(count, seed)?,
                format!(
                    "{count} made-up documents of {TOPICS} topics: a stand-in. For TDT2, the paper's data, \
                     give --data DIR"
                ),
            ),
        };
        let mut tfidf = TfIdf::new(counts.rows(), Weighting::default());
        let samples = tfidf
            .transform_block(&counts.range(0..count))
            .map_err(say)?;
        Ok(Source {
            samples,
            what,
            made_up: data.is_none(),
        })
    }
}

/// Counts of words: each document has a topic, with terms of its own beside those of all.
fn made_up(count: usize, seed: u64) -> Result<Samples> {
    let rng = &mut stream(seed, TEXT_STREAM);
    let (mut start, mut row, mut value) = (vec![0], Vec::new(), Vec::new());
    for j in 0..count {
        let mut words = vec![0_u32; TERMS];
        for _ in 0..WORDS {
            let own = rng.random::<f64>() < SHARE;
            words[match own {
                true => (j % TOPICS) * OWN + rank(OWN, rng),
                false => TOPICS * OWN + rank(TERMS - TOPICS * OWN, rng),
            }] += 1;
        }
        for (i, n) in words.into_iter().enumerate().filter(|(_, n)| *n > 0) {
            row.push(i);
            value.push(f64::from(n));
        }
        start.push(row.len());
    }
    Samples::sparse(TERMS, start, row, value).map_err(say)
}

/// A rank below `terms` with probability about 1/rank, as words have it.
fn rank(terms: usize, rng: &mut Rng) -> usize {
    let place = (terms as f64).powf(rng.random::<f64>());
    (place as usize).saturating_sub(1).min(terms - 1)
}
