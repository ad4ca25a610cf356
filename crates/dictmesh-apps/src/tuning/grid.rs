//! gamma and the number of atoms, by held-out prediction.

use super::QuickLearning;
use crate::held_out::{predict, simplest, Prediction};
use crate::holdout_split::HoldoutSplit;
use crate::progress::{report, Observer, Progress};
use dictmesh::problem::TaskSpec;
use dictmesh::{Error, Result, Samples};
use serde::Serialize;

/// Default values of gamma, relative to the median |f'(x)|.
const GAMMAS: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.4];
/// Maximum number of atoms in a default grid.
const MOST_ATOMS: usize = 256;
/// Minimum number of samples for a choice.
pub const LEAST_SAMPLES: usize = 10;

/// Settings of the search.
#[derive(Clone, Debug, Default)]
pub struct GridSearch {
    /// The gammas to try; empty: .02, .05, .1, .2 and .4 of the median |f'(x)|. At a gamma above
    /// |f'(x)|, an atom with the direction of x is not used.
    pub gammas: Vec<f64>,
    /// The numbers of atoms to try; empty: an eighth, a quarter, a half and all of twice the number
    /// of features (at most a quarter of the samples, and 256).
    pub atoms: Vec<usize>,
    /// How the dictionaries are learned; the grid replaces gamma in its task.
    pub learning: QuickLearning,
}

/// The values to choose from, each in ascending order without repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Values of gamma.
    pub gammas: Vec<f64>,
    /// Numbers of atoms.
    pub atoms: Vec<usize>,
}

impl Grid {
    /// Whether there is nothing to choose.
    pub fn is_settled(&self) -> bool {
        self.gammas.len() * self.atoms.len() == 1
    }
}

/// One gamma and one number of atoms.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// gamma.
    pub gamma: f64,
    /// The number of atoms.
    pub atoms: usize,
    /// Relative squared error on the hidden entries: 0 is perfect, 1 is as good as predicting 0.
    pub score: f64,
    /// The standard error of the score.
    pub standard_error: f64,
    /// Mean number of nonzero coefficients per sample.
    pub nonzeros: f64,
    /// Relative squared error on the visible entries: the fit, not a prediction.
    pub residual: f64,
}

/// The end of the grid at which the choice lies, with values beyond it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Edge {
    /// "gamma" or "atoms".
    pub parameter: &'static str,
    /// "smallest" or "largest".
    pub end: &'static str,
    /// Values to try next, in ascending order.
    pub try_next: Vec<f64>,
}

/// The choice of gamma and the number of atoms.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The chosen gamma.
    pub gamma: f64,
    /// The chosen number of atoms.
    pub atoms: usize,
    /// Index of the chosen cell: the simplest within one standard error of the lowest score.
    pub chosen: usize,
    /// Index of the cell with the lowest score.
    pub lowest: usize,
    /// All cells, from the simplest: ascending in atoms, then descending in gamma.
    pub cells: Vec<Cell>,
    /// The ends of the grid at which the choice lies. A better choice may lie beyond.
    pub edges: Vec<Edge>,
    /// Number of samples learned from.
    pub training_samples: usize,
    /// Number of held-out samples.
    pub held_out_samples: usize,
}

impl GridSearch {
    /// The grid for these training samples.
    ///
    /// Errors: zero samples, or a residual that gives gamma no scale, if gammas are not given.
    pub fn grid(&self, training: &Samples) -> Result<Grid> {
        let mut gammas = self.gammas.clone();
        if gammas.is_empty() {
            let size = median_slope(&self.learning.task, training)?;
            gammas.extend(GAMMAS.map(|part| two_digits(part * size)));
        }
        let mut atoms = self.atoms.clone();
        if atoms.is_empty() {
            let most = (2 * training.rows()).min(training.len() / 4);
            let most = most.clamp(1, MOST_ATOMS);
            atoms.extend([8, 4, 2, 1].map(|part| most.div_ceil(part)));
        }
        gammas.sort_by(f64::total_cmp);
        gammas.dedup();
        atoms.sort_unstable();
        atoms.dedup();
        Ok(Grid { gammas, atoms })
    }

    /// Learns a dictionary for each cell of the grid and judges it by the held-out samples.
    ///
    /// Errors: fewer than 10 samples, those of [`grid`](Self::grid) and of
    /// [`QuickLearning::learn`].
    pub fn run(&self, split: &HoldoutSplit, observer: &mut Observer<'_>) -> Result<Choice> {
        if split.total < LEAST_SAMPLES {
            return Err(Error::parameter(
                "samples",
                split.total,
                format!(
                    "choosing gamma and atoms needs at least {LEAST_SAMPLES}; give both instead"
                ),
            ));
        }
        let grid = self.grid(&split.training)?;
        let total = grid.gammas.len() * grid.atoms.len();
        let (mut cells, mut predictions): (Vec<Cell>, Vec<Prediction>) = (Vec::new(), Vec::new());
        for &atoms in &grid.atoms {
            for &gamma in grid.gammas.iter().rev() {
                let done = cells.len();
                let learning = self.learning.with_gamma(gamma);
                let mesh = learning.learn(atoms, &split.training, &mut |_| {
                    observer(Progress::steps("gamma and atoms", done, total))
                })?;
                let prediction = predict(&mesh, &split.held_out, learning.seed)?;
                cells.push(Cell {
                    gamma,
                    atoms,
                    score: prediction.score(),
                    standard_error: prediction.standard_error(),
                    nonzeros: prediction.sparsity,
                    residual: prediction.residual,
                });
                predictions.push(prediction);
                report(
                    observer,
                    Progress::steps("gamma and atoms", done + 1, total),
                )?;
            }
        }
        let chosen = simplest(&predictions).unwrap_or(0);
        let scores = cells.iter().map(|cell| cell.score).enumerate();
        let lowest = scores
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |low| low.0);
        let (gamma, atoms) = (cells[chosen].gamma, cells[chosen].atoms);
        Ok(Choice {
            gamma,
            atoms,
            chosen,
            lowest,
            cells,
            edges: edges(&grid, gamma, atoms),
            training_samples: split.training.len(),
            held_out_samples: split.held_out.len(),
        })
    }
}

/// The median |f'(x)| over the nonzero samples.
fn median_slope(task: &TaskSpec, x: &Samples) -> Result<f64> {
    let residual = &task.residual;
    let slope = match residual.kind() {
        "squared-l2" => |_: f64, v: f64| v,
        "huber" => |eta: f64, v: f64| (v / eta).clamp(-1.0, 1.0),
        kind => {
            return Err(Error::Unsupported {
                what: "the default grid of gamma".into(),
                with: format!("the residual \"{kind}\""),
                why: "it gives gamma no scale; give the gammas to try".into(),
            })
        }
    };
    let eta = residual.number("eta")?.unwrap_or(1.0);
    let norm = |j: usize| {
        let squares = x.entries(j).map(|(_, v)| slope(eta, v).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let mut sizes: Vec<f64> = (0..x.len()).map(norm).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes
        .get(sizes.len() / 2)
        .copied()
        .ok_or_else(|| Error::Unsupported {
            what: "the default grid of gamma".into(),
            with: "these samples".into(),
            why: "every sample is zero".into(),
        })
}

/// Rounded to two significant digits.
fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

fn edges(grid: &Grid, gamma: f64, atoms: usize) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut add = |parameter, end, try_next: [f64; 4]| {
        edges.push(Edge {
            parameter,
            end,
            try_next: try_next.to_vec(),
        });
    };
    if let [low, .., high] = grid.gammas[..] {
        let around = |from: f64| [0.25, 0.5, 1.0, 2.0].map(|f| two_digits(f * from));
        match gamma {
            g if g == low => add("gamma", "smallest", around(low / 2.0)),
            g if g == high => add("gamma", "largest", around(high * 2.0)),
            _ => {}
        }
    }
    if let [low, .., high] = grid.atoms[..] {
        let scaled =
            |factors: [f64; 4], from: usize| factors.map(|f| (f * from as f64).floor().max(1.0));
        match atoms {
            k if k == low && low > 1 => {
                add("atoms", "smallest", scaled([0.25, 0.5, 0.75, 1.0], low))
            }
            k if k == high => add("atoms", "largest", scaled([1.0, 1.5, 2.0, 4.0], high)),
            _ => {}
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use dictmesh::random::{gaussian, stream};
    use dictmesh::Matrix;
    use std::ops::ControlFlow;

    /// 300 samples of two of six random atoms of norm about 1, with noise of deviation .05.
    fn planted() -> HoldoutSplit {
        let rng = &mut stream(1, 0);
        let (w, noise) = (gaussian(24, 6, rng), gaussian(24, 300, rng));
        let x = Matrix::from_fn(24, 300, |i, j| {
            let (a, b) = (j % 6, (j + 1 + j / 6 % 5) % 6);
            (2.0 * w.get(i, a) - 1.5 * w.get(i, b)) / 24.0_f64.sqrt() + 0.05 * noise.get(i, j)
        });
        HoldoutSplit::of(&Samples::dense(x).unwrap(), 0).unwrap()
    }

    #[test]
    fn fewer_atoms_than_planted_are_not_chosen() {
        let search = GridSearch {
            gammas: vec![0.05, 0.3, 3.0],
            atoms: vec![12, 3, 6],
            ..GridSearch::default()
        };
        let mut last = 0;
        let choice = search
            .run(&planted(), &mut |progress| {
                assert!(progress.done >= last && progress.total == 9);
                last = progress.done;
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(last, 9);
        // Six, or twelve, which learn the six from so few samples more surely.
        assert!(choice.atoms >= 6, "{choice:#?}");
        let (chosen, lowest) = (&choice.cells[choice.chosen], &choice.cells[choice.lowest]);
        assert!(chosen.score <= lowest.score + lowest.standard_error);
        assert!(
            chosen.score < 0.1 && choice.cells[0].score > 0.2,
            "{choice:#?}"
        );
        assert_eq!(
            (choice.training_samples, choice.held_out_samples),
            (240, 60)
        );
    }

    #[test]
    fn the_default_grid_follows_the_samples() {
        let x = Samples::dense(Matrix::from_fn(
            3,
            40,
            |i, _| if i == 0 { 2.0 } else { 0.0 },
        ));
        let x = x.unwrap();
        let grid = GridSearch::default().grid(&x).unwrap();
        assert_eq!(grid.gammas, [0.04, 0.1, 0.2, 0.4, 0.8]);
        assert_eq!(grid.atoms, [1, 2, 3, 6]);
        // Huber's slope is at most 1 an entry.
        let mut search = GridSearch::default();
        search.learning.task = TaskSpec::nmf_huber(0.1, 0.1, 0.5);
        assert_eq!(search.grid(&x).unwrap().gammas[4], 0.4);
        let zero = Samples::dense(Matrix::zeros(3, 40)).unwrap();
        let refused = search.grid(&zero).unwrap_err().to_string();
        assert!(refused.contains("every sample is zero"), "{refused}");
    }

    #[test]
    fn a_choice_at_an_end_names_values_beyond_it() {
        let grid = Grid {
            gammas: vec![0.1, 0.2],
            atoms: vec![1, 2],
        };
        let found = edges(&grid, 0.1, 2);
        assert_eq!((found[0].parameter, found[0].end), ("gamma", "smallest"));
        assert_eq!(found[0].try_next, [0.013, 0.025, 0.05, 0.1]);
        assert_eq!((found[1].parameter, found[1].end), ("atoms", "largest"));
        assert_eq!(found[1].try_next, [2.0, 3.0, 4.0, 8.0]);
        assert_eq!(edges(&grid, 0.2, 1)[0].end, "largest");
        assert_eq!(edges(&grid, 0.2, 1).len(), 1, "fewer than one atom");
    }

    #[test]
    fn a_break_ends_the_search() {
        let mut calls = 0;
        let ended = GridSearch::default().run(&planted(), &mut |_| {
            calls += 1;
            ControlFlow::Break(())
        });
        assert!(matches!(ended, Err(Error::Interrupted)));
        assert_eq!(calls, 1);
    }

    #[test]
    fn invalid_settings_are_named() {
        let mut search = GridSearch::default();
        search.learning.passes = Some(0);
        let refused = search.run(&planted(), &mut |_| ControlFlow::Continue(()));
        let refused = refused.unwrap_err().to_string();
        assert_eq!(refused, "passes = 0: must be at least 1");
    }
}
