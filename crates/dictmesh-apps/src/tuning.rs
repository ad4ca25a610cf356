//! Tuning: gamma and the number of atoms by held-out prediction, the strategy and its constant by
//! learning curves.
//!
//! First, a [`GridSearch`] learns a dictionary for each gamma and number of atoms, and judges it by
//! the entries it predicts of held-out samples (see [`held_out`](crate::held_out)). Then a
//! [`StrategyComparison`] runs each strategy against the exact solution of a few samples, round by
//! round, and searches its step or penalty (see [`learning_curve`](crate::learning_curve)).
//!
//! ```
//! use dictmesh::{Matrix, Samples};
//! use dictmesh_apps::tuning::GridSearch;
//! use dictmesh_apps::HoldoutSplit;
//! use std::ops::ControlFlow;
//!
//! let x = Matrix::from_fn(4, 60, |i, j| if i == j % 4 { 1.0 } else { 0.1 });
//! let split = HoldoutSplit::of(&Samples::dense(x)?, 0)?;
//! let search = GridSearch { atoms: vec![2, 4], ..GridSearch::default() };
//! let choice = search.run(&split, &mut |_| ControlFlow::Continue(()))?;
//! println!("{} atoms, gamma {}", choice.atoms, choice.gamma);
//! # Ok::<(), dictmesh::Error>(())
//! ```

mod comparison;
mod grid;
mod quick;

pub use comparison::{
    Candidate, Comparison, StrategyComparison, Suggestion, DEFAULT_AGENTS, DEFAULT_ROUNDS,
    DEFAULT_SAMPLES,
};
pub use grid::{Cell, Choice, Edge, Grid, GridSearch, LEAST_SAMPLES};
pub use quick::QuickLearning;
