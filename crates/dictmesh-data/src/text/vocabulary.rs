//! Which term is which row.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// How terms get rows. It fixes the dimension of the samples once and for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Vocabulary {
    /// Each new term gets the next row, until `max` have one; later ones are left out. `max` rows,
    /// those without a term zero.
    Growing {
        /// The number of rows.
        max: usize,
    },
    /// The row of a term is its hash; terms that collide share it, without signs, so
    /// that counts stay counts. `2^bits` rows.
    Hashing {
        /// From 1 to 26.
        bits: u32,
    },
}

/// Rows cost memory in every atom and dual vector.
const MOST_ROWS: usize = 1 << 26;
/// Terms that wait for a row, per row: beyond that the rarest are forgotten.
const WAITING_PER_ROW: usize = 8;

impl Vocabulary {
    /// The dimension of the samples.
    pub fn rows(&self) -> usize {
        match *self {
            Vocabulary::Growing { max } => max,
            Vocabulary::Hashing { bits } => 1 << bits.min(63),
        }
    }

    /// `Ok` if a mesh can have that many rows.
    pub fn check(&self) -> dictmesh::Result<()> {
        let (name, given, allowed) = match *self {
            Vocabulary::Growing { max } if max == 0 || max > MOST_ROWS => (
                "max",
                max.to_string(),
                format!("a vocabulary has from 1 to {MOST_ROWS} terms"),
            ),
            Vocabulary::Hashing { bits } if bits == 0 || 1_usize << bits.min(63) > MOST_ROWS => (
                "bits",
                bits.to_string(),
                "feature hashing takes from 1 to 26 bits (2^bits rows)".into(),
            ),
            _ => return Ok(()),
        };
        Err(dictmesh::Error::Parameter {
            name,
            given,
            allowed,
        })
    }
}

/// The row of a term under feature hashing: FNV-1a with 64 bits over its UTF-8 bytes (offset
/// 0xcbf29ce484222325, prime 0x100000001b3), the upper half folded onto the lower by xor, and of
/// that the lowest `bits` bits. The same on every machine and in every version.
pub fn hash_row(term: &str, bits: u32) -> usize {
    let hash = term.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    ((hash ^ (hash >> 32)) & ((1_u64 << bits.min(32)) - 1)) as usize
}

/// The terms that have a row, and those of a growing vocabulary that wait for one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Terms {
    pub(super) kind: Vocabulary,
    /// With a growing vocabulary, the term of each row so far; with hashing, the first term seen in
    /// each row (to name it for people).
    pub(super) by_row: BTreeMap<usize, String>,
    /// The row of each term of a growing vocabulary.
    row_of: HashMap<String, usize>,
    /// In how many documents a term without a row was.
    pub(super) waiting: HashMap<String, u32>,
}

impl Terms {
    pub(super) fn new(kind: Vocabulary) -> Self {
        Terms {
            kind,
            by_row: BTreeMap::new(),
            row_of: HashMap::new(),
            waiting: HashMap::new(),
        }
    }

    /// From what was saved; `None` if it does not fit together.
    pub(super) fn from_parts(
        kind: Vocabulary,
        by_row: BTreeMap<usize, String>,
        waiting: HashMap<String, u32>,
    ) -> Option<Self> {
        let mut row_of = HashMap::new();
        let in_range = by_row.keys().all(|&row| row < kind.rows());
        let mut fits = in_range;
        match kind {
            Vocabulary::Growing { .. } => {
                // Rows are given out one after the other, and a term has one.
                fits &= by_row.keys().copied().eq(0..by_row.len());
                for (&row, term) in &by_row {
                    fits &= row_of.insert(term.clone(), row).is_none();
                }
                fits &= waiting.keys().all(|term| !row_of.contains_key(term));
            }
            Vocabulary::Hashing { bits } => {
                fits &= by_row.iter().all(|(&row, t)| hash_row(t, bits) == row);
                fits &= waiting.is_empty();
            }
        }
        fits.then_some(Terms {
            kind,
            by_row,
            row_of,
            waiting,
        })
    }

    /// The row of a term, if it has one.
    pub(super) fn row(&self, term: &str) -> Option<usize> {
        match self.kind {
            Vocabulary::Growing { .. } => self.row_of.get(term).copied(),
            Vocabulary::Hashing { bits } => Some(hash_row(term, bits)),
        }
    }

    /// Whether a growing vocabulary has no row left.
    pub(super) fn full(&self) -> bool {
        matches!(self.kind, Vocabulary::Growing { max } if self.by_row.len() >= max)
    }

    /// Gives a term without a row the next one, if enough documents had it (`own` more than those
    /// of the past). Returns the row and the number of documents of the past.
    pub(super) fn admit(&mut self, term: &str, own: u32, least: u32) -> Option<(usize, u32)> {
        let before = self.waiting.get(term).copied().unwrap_or(0);
        if self.full() || before.saturating_add(own) < least {
            return None;
        }
        self.waiting.remove(term);
        let row = self.by_row.len();
        self.by_row.insert(row, term.to_string());
        self.row_of.insert(term.to_string(), row);
        if self.full() {
            self.waiting = HashMap::new();
        }
        Some((row, before))
    }

    /// Gives rows to the waiting terms of a growing vocabulary, those in the most documents first (of as
    /// many, by the alphabet), if at least `least` had them, and lets it grow no more: it gets one row
    /// more than terms. Returns in how many documents the term of each row was.
    pub(super) fn settle(&mut self, least: u32) -> Vec<u32> {
        let Vocabulary::Growing { max } = self.kind else {
            return Vec::new();
        };
        let waiting = std::mem::take(&mut self.waiting).into_iter();
        let mut terms: Vec<(String, u32)> = waiting.filter(|t| t.1 >= least).collect();
        terms.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        terms.truncate(max);
        self.kind = Vocabulary::Growing {
            max: terms.len() + 1,
        };
        let numbered = || terms.iter().map(|t| t.0.clone()).enumerate();
        self.by_row = numbered().collect();
        self.row_of = numbered().map(|(row, term)| (term, row)).collect();
        terms.into_iter().map(|t| t.1).collect()
    }

    /// The first row of a growing vocabulary without a term, if there is one.
    pub(super) fn free_row(&self) -> Option<usize> {
        match self.kind {
            Vocabulary::Growing { max } => Some(self.by_row.len()).filter(|row| *row < max),
            Vocabulary::Hashing { .. } => None,
        }
    }

    /// One more document had this term, which has no row.
    pub(super) fn wait(&mut self, term: &str) {
        if self.full() {
            return;
        }
        match self.waiting.get_mut(term) {
            Some(with) => *with = with.saturating_add(1),
            None => {
                self.waiting.insert(term.to_string(), 1);
            }
        }
    }

    /// Forgets the rarest of the waiting terms if there are very many.
    pub(super) fn forget_rare(&mut self) {
        let most = self
            .kind
            .rows()
            .saturating_mul(WAITING_PER_ROW)
            .max(1 << 16);
        let mut least = 1;
        while self.waiting.len() > most {
            self.waiting.retain(|_, with| *with > least);
            least += 1;
        }
    }
}
