//! Terms of text with their weights: what an atom or a sample is about.

use crate::novelty::Term;
use dictmesh::Matrix;

/// Terms with weights, the heaviest first.
pub type Terms = Vec<(String, f64)>;

/// The largest entries above 0, the largest first.
fn heaviest(values: &[f64], count: usize) -> Vec<(usize, f64)> {
    let positive = values.iter().copied().enumerate().filter(|v| v.1 > 0.0);
    let mut order: Vec<(usize, f64)> = positive.collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    order.truncate(count);
    order
}

/// The heaviest entries with their names.
fn top_terms(values: &[f64], count: usize, term: &dyn Fn(usize) -> String) -> Terms {
    let rows = heaviest(values, count).into_iter();
    rows.map(|(row, weight)| (term(row), weight)).collect()
}

/// The top terms of every atom.
pub fn atom_terms(w: &Matrix, count: usize, term: &dyn Fn(usize) -> String) -> Vec<Terms> {
    let atoms = w.columns();
    atoms.map(|atom| top_terms(atom, count, term)).collect()
}

/// The names of terms; "-" precedes a term of which the atoms express more than the sample has.
pub fn term_names(terms: &[Term]) -> String {
    let name = |term: &Term| match term.weight < 0.0 {
        true => format!("-{}", term.name),
        false => term.name.clone(),
    };
    terms.iter().map(name).collect::<Vec<_>>().join(", ")
}
