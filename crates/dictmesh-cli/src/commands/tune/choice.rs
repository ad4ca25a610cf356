//! gamma and the number of atoms, by what they predict of samples that were not learned from.

use super::super::{given_up, say, Result};
use super::Args;
use crate::options::Options;
use crate::progress::Progress;
use dictmesh::{AtomInit, Mesh, Samples};
use dictmesh_apps::held_out::{predict, simplest, Prediction};
use std::ops::ControlFlow;

/// gamma relative to the size of a sample.
const GAMMAS: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.4];
/// More atoms than these have to be asked for.
const ATOMS: usize = 256;
/// A quick dictionary sees about so many samples, or numbers if they are long, some of them again and
/// again: with fewer, the true number of atoms is judged before they are found.
const SEEN: usize = 40_000;
const NUMBERS: usize = 40_000_000;
const PASSES: usize = 30;

/// What to choose from.
pub struct Grid {
    /// Rising.
    pub gammas: Vec<f64>,
    /// Rising.
    pub atoms: Vec<usize>,
}

/// One gamma and one number of atoms.
pub struct Cell {
    pub gamma: f64,
    pub atoms: usize,
    pub prediction: Prediction,
}

/// Every cell, the simplest first, and which was chosen.
pub struct Choice {
    pub cells: Vec<Cell>,
    pub chosen: usize,
    /// Samples learned from, and samples judged by.
    pub training: usize,
    pub held_out: usize,
}

impl Choice {
    /// The place of the lowest score.
    pub fn best(&self) -> usize {
        let scores = self.cells.iter().map(|c| c.prediction.score()).enumerate();
        scores
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |best| best.0)
    }
}

impl Choice {
    /// Where the choice lies at an end of its grid, and the flag with values beyond it: the best may lie there.
    pub fn edges(&self) -> Vec<(String, String)> {
        let chosen = &self.cells[self.chosen];
        let mut gammas: Vec<f64> = self.cells.iter().map(|c| c.gamma).collect();
        gammas.sort_by(f64::total_cmp);
        gammas.dedup();
        let mut atoms: Vec<usize> = self.cells.iter().map(|c| c.atoms).collect();
        atoms.dedup();
        let mut edges = Vec::new();
        let mut add = |what: &str, end: &str, flag: &str, values: [String; 4]| {
            edges.push((
                format!("the {end} {what} of the grid"),
                format!("{flag} {}", values.join(",")),
            ));
        };
        if let (Some(&low), Some(&high), true) = (gammas.first(), gammas.last(), gammas.len() > 1) {
            let wider = |from: f64| [0.25, 0.5, 1.0, 2.0].map(|f| two_digits(f * from).to_string());
            match chosen.gamma {
                g if g == low => add("gamma", "smallest", "--gammas", wider(low / 2.0)),
                g if g == high => add("gamma", "largest", "--gammas", wider(high * 2.0)),
                _ => {}
            }
        }
        if let (Some(&low), Some(&high), true) = (atoms.first(), atoms.last(), atoms.len() > 1) {
            let wider = |factors: [f64; 4], from: usize| {
                factors.map(|f| ((f * from as f64) as usize).max(1).to_string())
            };
            match chosen.atoms {
                k if k == low && low > 1 => {
                    add(
                        "number of atoms",
                        "smallest",
                        "--atoms-grid",
                        wider([0.25, 0.5, 0.75, 1.0], low),
                    );
                }
                k if k == high => {
                    add(
                        "number of atoms",
                        "largest",
                        "--atoms-grid",
                        wider([1.0, 1.5, 2.0, 4.0], high),
                    );
                }
                _ => {}
            }
        }
        edges
    }
}

impl Grid {
    pub fn new(args: &Args, options: &Options, x: &Samples) -> Result<Self> {
        let mut gammas = match (&args.gammas[..], options.gamma) {
            ([], Some(gamma)) => vec![gamma],
            ([], None) => {
                let size = size(options, x)?;
                GAMMAS.map(|part| two_digits(part * size)).to_vec()
            }
            (given, _) => given.to_vec(),
        };
        let mut atoms = match (&args.atoms_grid[..], options.atoms) {
            ([], Some(atoms)) => vec![atoms],
            ([], None) => {
                let most = (2 * x.rows()).min(x.len() / 4).clamp(1, ATOMS);
                [8, 4, 2, 1].map(|part| most.div_ceil(part)).to_vec()
            }
            (given, _) => given.to_vec(),
        };
        gammas.sort_by(f64::total_cmp);
        gammas.dedup();
        atoms.sort_unstable();
        atoms.dedup();
        Ok(Grid { gammas, atoms })
    }

    /// Whether there is nothing to choose.
    pub fn is_settled(&self) -> bool {
        self.gammas.len() * self.atoms.len() == 1
    }
}

/// The median |f'(x)|: at gamma above it, an atom like x itself would not be used.
fn size(options: &Options, x: &Samples) -> Result<f64> {
    let residual = options.task("sparse-svd")?.residual;
    let slope = match residual.kind() {
        "squared-l2" => |_: f64, v: f64| v,
        "huber" => |eta: f64, v: f64| (v / eta).clamp(-1.0, 1.0),
        _ => {
            return Err("this residual gives gamma no scale: say which to try with --gammas".into())
        }
    };
    let eta = residual.number("eta").map_err(say)?.unwrap_or(1.0);
    let norm = |j: usize| {
        x.entries(j)
            .map(|(_, v)| slope(eta, v).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let mut sizes: Vec<f64> = (0..x.len()).map(norm).filter(|size| *size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    let middle = sizes.get(sizes.len() / 2).copied();
    middle.ok_or_else(|| "every sample is zero: there is nothing to learn".into())
}

/// Rounded, as people write numbers.
fn two_digits(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Learns each cell from `training` and judges it by `held_out`.
pub fn choose(
    grid: &Grid,
    options: &Options,
    training: &Samples,
    held_out: &Samples,
    show: &mut dyn FnMut(Progress),
) -> Result<Choice> {
    let seed = options.seed.unwrap_or(0);
    let total = grid.gammas.len() * grid.atoms.len();
    let mut cells = Vec::new();
    for &atoms in &grid.atoms {
        for &gamma in grid.gammas.iter().rev() {
            let tried = Options {
                gamma: Some(gamma),
                ..options.clone()
            };
            let mesh = learn(&tried, atoms, training, &mut |_| {})?;
            cells.push(Cell {
                gamma,
                atoms,
                prediction: predict(&mesh, held_out, seed).map_err(say)?,
            });
            show(Progress {
                phase: "gamma and atoms",
                done: cells.len(),
                total,
                cost: None,
            });
        }
    }
    let predictions: Vec<Prediction> = cells.iter().map(|c| c.prediction.clone()).collect();
    let chosen = simplest(&predictions).unwrap_or(0);
    Ok(Choice {
        cells,
        chosen,
        training: training.len(),
        held_out: held_out.len(),
    })
}

/// A quick dictionary of `atoms` atoms. One agent keeps them all: whom they belong to changes what they
/// cost to learn, not what they become.
pub fn learn(
    options: &Options,
    atoms: usize,
    x: &Samples,
    show: &mut dyn FnMut(Progress),
) -> Result<Mesh> {
    let batch = options.batch.unwrap_or((x.len() / 20).clamp(1, 256));
    // What was coded by the atoms of the last pass is forgotten in this one.
    let forgetting = (-(batch as f64) / x.len() as f64).exp();
    let options = Options {
        atoms: Some(atoms),
        agents: Some(1),
        topology: None,
        informed: None,
        strategy: None,
        mu: None,
        rho: None,
        bits: None,
        latency: None,
        bandwidth: None,
        rounds: None,
        batch: Some(batch),
        update: Some(
            options
                .update
                .clone()
                .unwrap_or(format!("adaptive:{forgetting}")),
        ),
        ..options.clone()
    };
    let mut mesh = options.mesh("sparse-svd", x.rows(), AtomInit::Samples(x))?;
    let seen = SEEN.min(NUMBERS / x.rows());
    let passes = options.passes.unwrap_or((seen / x.len()).clamp(1, PASSES));
    for pass in 0..passes {
        let stop = mesh
            .learn(x, |event| {
                show(Progress {
                    phase: "learning",
                    done: event.samples as usize,
                    total: passes * x.len(),
                    cost: Some(event.cost),
                });
                ControlFlow::Continue(())
            })
            .map_err(say)?;
        if matches!(stop, dictmesh::Stop::Diverged | dictmesh::Stop::Infeasible) {
            return Err(format!(
                "learning stopped: {}",
                given_up(stop, x, &mesh.strategy().name())
            )
            .into());
        }
        // An atom that nobody needed is started anew from what was seen.
        if pass == 0 && passes > 1 {
            mesh.restart_atoms(&mesh.unused_atoms(), AtomInit::Samples(x))
                .map_err(say)?;
        }
    }
    Ok(mesh)
}
