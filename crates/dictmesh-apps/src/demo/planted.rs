//! The demo's data: a planted dictionary of 48 small pictures, and a stream of samples that mix a few of them.
//!
//! Atoms are 8 x 8 pixels (M = 64), of zero mean and unit norm, and no two are closer than
//! `|cosine| <= COHERENCE`, so that a learner can tell them apart. A sample is
//! `x = W y + sigma n` with 3 or 4 entries of `y` that are not zero, magnitudes uniform on
//! [0.6, 1.6], signs at random, and `n` standard normal.

use dictmesh::random::{gaussian, stream, Rng};
use dictmesh::Matrix;
use rand::seq::SliceRandom;
use rand::RngExt;
use std::f64::consts::PI;

/// Pixels along a side of an atom.
pub const SIDE: usize = 8;
/// Entries of an atom, the paper's M.
pub const PIXELS: usize = SIDE * SIDE;
/// The number of planted atoms.
pub const ATOMS: usize = 48;
/// The largest |cosine| between two planted atoms.
pub const COHERENCE: f64 = 0.55;
/// The standard deviation of the noise on every pixel; a sample's signal has a norm of about 2.
pub const NOISE: f64 = 0.02;

const GLYPHS: usize = 23;
const BLOBS: usize = 6;

/// Letters that are always planted: the name dictmesh.
const LETTERS: [[u8; SIDE]; 8] = [
    [0xF8, 0xCC, 0xC6, 0xC6, 0xC6, 0xC6, 0xCC, 0xF8], // D
    [0x0C, 0x0C, 0x00, 0x3C, 0x0C, 0x0C, 0x0C, 0x3F], // i
    [0x3E, 0x60, 0xC0, 0xC0, 0xC0, 0xC0, 0x60, 0x3E], // C
    [0xFF, 0xFF, 0x18, 0x18, 0x18, 0x18, 0x18, 0x18], // T
    [0xC3, 0xE7, 0xFF, 0xDB, 0xC3, 0xC3, 0xC3, 0xC3], // M
    [0xFE, 0x80, 0x80, 0xFC, 0x80, 0x80, 0x80, 0xFE], // E
    [0x3E, 0x60, 0x60, 0x3C, 0x06, 0x06, 0x06, 0x7C], // S
    [0x66, 0x66, 0x66, 0x7E, 0x7E, 0x66, 0x66, 0x66], // H
];

/// Signs; each seed takes some of them.
const SIGNS: [[u8; SIDE]; 19] = [
    [0x00, 0x66, 0xFF, 0xFF, 0xFF, 0x7E, 0x3C, 0x18], // heart
    [0x00, 0x66, 0x66, 0x00, 0x81, 0xC3, 0x7E, 0x3C], // smile
    [0x24, 0x7E, 0xDB, 0xFF, 0xFF, 0xA5, 0x24, 0x66], // invader
    [0x3C, 0x7E, 0xDB, 0xDB, 0xFF, 0xFF, 0xFF, 0xDB], // ghost
    [0x0F, 0x0F, 0x09, 0x08, 0x08, 0x78, 0xF8, 0x70], // note
    [0x1C, 0x38, 0x70, 0x70, 0x70, 0x78, 0x3F, 0x1E], // moon
    [0x18, 0x3C, 0x7E, 0xFF, 0x66, 0x66, 0x66, 0x66], // house
    [0x1E, 0x3C, 0x78, 0xFE, 0x1C, 0x38, 0x60, 0xC0], // bolt
    [0x10, 0x10, 0x7C, 0x38, 0x38, 0x6C, 0x44, 0x00], // star
    [0xC3, 0x66, 0x3C, 0x18, 0x18, 0x3C, 0x66, 0xC3], // cross
    [0x18, 0x3C, 0x66, 0xC3, 0xC3, 0x66, 0x3C, 0x18], // diamond
    [0x00, 0x18, 0x18, 0x7E, 0x7E, 0x18, 0x18, 0x00], // plus
    [0x3C, 0x7E, 0xE7, 0xC3, 0xC3, 0xE7, 0x7E, 0x3C], // ring
    [0xCC, 0xCC, 0x33, 0x33, 0xCC, 0xCC, 0x33, 0x33], // chessboard
    [0x03, 0x03, 0x0F, 0x0C, 0x3C, 0x30, 0xF0, 0xC0], // stairs
    [0xFF, 0xFF, 0x0C, 0x18, 0x30, 0x60, 0xFF, 0xFF], // Z
    [0x00, 0x3C, 0x66, 0xDB, 0xDB, 0x66, 0x3C, 0x00], // eye
    [0x08, 0x0C, 0xFE, 0xFF, 0xFE, 0x0C, 0x08, 0x00], // arrow
    [0xC3, 0xC3, 0xC3, 0xC3, 0xC3, 0xC3, 0x7E, 0x3C], // cup
];

/// A planted dictionary and its endless stream of samples, both determined by the seed.
pub struct Planted {
    dictionary: Matrix,
    rng: Rng,
}

impl Planted {
    /// The dictionary and the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Planted {
            dictionary: dictionary(&mut stream(seed, 0x504c_414e)),
            rng: stream(seed, 0x5341_4d50),
        }
    }

    /// The planted atoms, 64 x 48.
    pub fn dictionary(&self) -> &Matrix {
        &self.dictionary
    }

    /// The next `count` samples of the stream, 64 x `count`.
    pub fn next_batch(&mut self, count: usize) -> Matrix {
        let mut x = gaussian(PIXELS, count, &mut self.rng);
        for j in 0..count {
            let x = x.column_mut(j);
            x.iter_mut().for_each(|v| *v *= NOISE);
            let active = self.rng.random_range(3..=4);
            for k in distinct(active, self.dictionary.cols(), &mut self.rng) {
                let size: f64 = self.rng.random_range(0.6..1.6);
                let y = if self.rng.random() { size } else { -size };
                for (x, w) in x.iter_mut().zip(self.dictionary.column(k)) {
                    *x += y * w;
                }
            }
        }
        x
    }
}

/// `count` different numbers below `bound`.
fn distinct(count: usize, bound: usize, rng: &mut Rng) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count.min(bound) {
        let k = rng.random_range(0..bound);
        if !chosen.contains(&k) {
            chosen.push(k);
        }
    }
    chosen
}

/// Letters and signs, then blobs, then Gabor edges, each kind in random order, each taken if it is
/// far enough from all atoms taken before.
fn dictionary(rng: &mut Rng) -> Matrix {
    let mut signs: Vec<_> = SIGNS.iter().map(bitmap).collect();
    signs.shuffle(rng);
    let mut gabors = gabors();
    gabors.shuffle(rng);
    let mut blobs = blobs();
    blobs.shuffle(rng);

    let mut atoms: Vec<Vec<f64>> = LETTERS.iter().map(bitmap).collect();
    take(&mut atoms, signs, GLYPHS);
    // Blobs are few, so that they come before the many edges.
    take(&mut atoms, blobs, GLYPHS + BLOBS);
    take(&mut atoms, gabors, ATOMS);
    while atoms.len() < ATOMS {
        let noise = gaussian(PIXELS, 1, rng);
        take(&mut atoms, vec![unit(noise.column(0).to_vec())], ATOMS);
    }
    atoms.shuffle(rng);
    Matrix::from_fn(PIXELS, ATOMS, |i, k| atoms[k][i])
}

fn take(atoms: &mut Vec<Vec<f64>>, candidates: Vec<Vec<f64>>, until: usize) {
    for candidate in candidates {
        let far = |atom: &Vec<f64>| dot(atom, &candidate).abs() <= COHERENCE;
        if atoms.len() < until && atoms.iter().all(far) {
            atoms.push(candidate);
        }
    }
}

fn bitmap(rows: &[u8; SIDE]) -> Vec<f64> {
    unit(
        rows.iter()
            .flat_map(|row| (0..SIDE).map(move |c| f64::from(row >> (SIDE - 1 - c) & 1)))
            .collect(),
    )
}

/// Gabor functions: waves under a Gaussian window.
fn gabors() -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for turn in 0..8 {
        let (sin, cos) = (PI * f64::from(turn) / 8.0).sin_cos();
        for wavelength in [3.8, 5.4, 8.0] {
            for phase in [0.0, PI / 2.0] {
                for (cx, cy) in [(3.5, 3.5), (2.2, 2.2), (4.8, 2.2), (2.2, 4.8), (4.8, 4.8)] {
                    let sigma = if (cx, cy) == (3.5, 3.5) { 2.3 } else { 1.5 };
                    all.push(image(|x, y| {
                        let (dx, dy) = (x - cx, y - cy);
                        let wave = 2.0 * PI * (dx * cos + dy * sin) / wavelength + phase;
                        wave.cos() * (-(dx * dx + dy * dy) / (2.0 * sigma * sigma)).exp()
                    }));
                }
            }
        }
    }
    all
}

/// Bright spots, each with a darker surround.
fn blobs() -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for cy in [0.9, 2.6, 4.4, 6.1] {
        for cx in [0.9, 2.6, 4.4, 6.1] {
            all.push(image(|x, y| {
                let r = (x - cx).powi(2) + (y - cy).powi(2);
                (-r / 1.7).exp() - 0.35 * (-r / 7.0).exp()
            }));
        }
    }
    all
}

fn image(value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    unit(
        (0..PIXELS)
            .map(|i| value((i % SIDE) as f64, (i / SIDE) as f64))
            .collect(),
    )
}

/// Without its mean, of norm 1.
fn unit(mut v: Vec<f64>) -> Vec<f64> {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    v.iter_mut().for_each(|x| *x -= mean);
    let norm = dot(&v, &v).sqrt();
    v.iter_mut().for_each(|x| *x /= norm);
    v
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atoms_are_unit_vectors_far_from_each_other() {
        for seed in 0..50 {
            let planted = Planted::new(seed);
            let w = planted.dictionary();
            assert_eq!((w.rows(), w.cols()), (PIXELS, ATOMS));
            let gram = w.transpose_times(w);
            for i in 0..ATOMS {
                assert!((gram.get(i, i) - 1.0).abs() < 1e-12);
                for j in 0..i {
                    let cosine = gram.get(i, j).abs();
                    assert!(cosine <= COHERENCE, "seed {seed}: {i}, {j}: {cosine}");
                }
            }
        }
    }

    #[test]
    fn every_kind_finds_its_places() {
        // The letters are in every dictionary, and no place is left to the noise of last resort.
        for seed in 0..50 {
            let planted = Planted::new(seed);
            let has = |atom: &[f64]| planted.dictionary().columns().any(|w| dot(w, atom) > 0.999);
            for letter in &LETTERS {
                assert!(has(&bitmap(letter)));
            }
            let known: Vec<_> = gabors()
                .into_iter()
                .chain(blobs())
                .chain(LETTERS.iter().chain(&SIGNS).map(bitmap))
                .collect();
            for w in planted.dictionary().columns() {
                assert!(known.iter().any(|k| dot(k, w) > 0.999), "seed {seed}");
            }
            let blobs = blobs().iter().filter(|b| has(b)).count();
            assert!(blobs >= BLOBS, "seed {seed}: {blobs} blobs");
        }
    }

    #[test]
    fn the_seed_fixes_dictionary_and_stream_whatever_the_batches() {
        let (mut a, mut b) = (Planted::new(7), Planted::new(7));
        assert_eq!(a.dictionary(), b.dictionary());
        assert_eq!(a.next_batch(5), b.next_batch(5));
        assert_ne!(a.next_batch(5), Planted::new(8).next_batch(5));
    }

    #[test]
    fn samples_are_a_few_atoms_and_a_little_noise() {
        let mut planted = Planted::new(3);
        let x = planted.next_batch(400);
        let mean = x.columns().map(|x| dot(x, x)).sum::<f64>() / 400.0;
        // 3.5 atoms of mean square size 1.293, and 64 pixels of noise.
        assert!((mean - 4.55).abs() < 0.6, "{mean}");
    }
}
