//! Line search for the step or penalty that reaches a goal in the fewest rounds.

use super::{Ending, LearningCurve, Target, GOALS};
use dictmesh::mesh::Mesh;
use dictmesh::strategy;
use dictmesh::strategy::Strategy;
use dictmesh::{Error, Result};
use serde::Serialize;
use std::sync::Arc;

/// Maximum number of doublings or halvings of the default.
const RUNGS: i32 = 6;

/// One value of the constant in a search.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The constant as a multiple of its default.
    pub multiple: f64,
    /// Rounds to the goal; null if the run did not reach it.
    pub rounds: Option<usize>,
}

/// A strategy with its default constant and with the best one found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tuned {
    /// The run with the default constant.
    pub default: LearningCurve,
    /// The run with the best constant.
    pub best: LearningCurve,
    /// Every value that was run.
    pub tried: Vec<Trial>,
}

/// Runs a strategy with its default constant (rho for `relaxed-admm`, else mu), then doubles or
/// halves it while that helps, and finally tries factors of sqrt(2). A strategy without a step or
/// penalty runs once. `goal` is an index into [`GOALS`](super::GOALS). `watch` is called before
/// each round; its error ends the search.
///
/// The best constant for these samples need not be the best for others.
pub fn tune(
    target: &Target<'_>,
    mesh: &Mesh,
    strategy: &Arc<dyn Strategy>,
    goal: usize,
    rounds: usize,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<Tuned> {
    if goal >= GOALS.len() {
        let allowed = format!("must be below {}, the number of goals", GOALS.len());
        return Err(Error::parameter("goal", goal, allowed));
    }
    let default = target.curve_while(mesh, strategy, rounds, watch)?;
    let mut search = Search {
        target,
        mesh,
        goal,
        rounds,
        factor: 1.0,
        best: default.clone(),
        tried: vec![Trial {
            multiple: 1.0,
            rounds: default.both()[goal],
        }],
        watch,
        default,
    };
    for step in [2.0, 0.5] {
        let mut rungs = 0;
        while rungs < RUNGS && search.attempt(search.factor * step)? {
            rungs += 1;
        }
        if rungs > 0 {
            break;
        }
    }
    let middle = search.factor;
    for step in [f64::sqrt(2.0), f64::sqrt(0.5)] {
        search.attempt(middle * step)?;
    }
    Ok(Tuned {
        default: search.default,
        best: search.best,
        tried: search.tried,
    })
}

struct Search<'a> {
    target: &'a Target<'a>,
    mesh: &'a Mesh,
    goal: usize,
    rounds: usize,
    default: LearningCurve,
    /// The best curve so far, and its multiple of the default.
    best: LearningCurve,
    factor: f64,
    tried: Vec<Trial>,
    watch: &'a mut dyn FnMut() -> Result<()>,
}

impl Search<'_> {
    /// Runs a multiple of the default; returns whether it improves on the best so far.
    fn attempt(&mut self, factor: f64) -> Result<bool> {
        let Some(scaled) = scaled(&*self.default.strategy, factor)? else {
            return Ok(false);
        };
        let curve = self
            .target
            .curve_while(self.mesh, &scaled, self.rounds, self.watch);
        let tried = match curve {
            Ok(curve) => curve,
            // The constant overflows. Other parameter errors would have occurred in the default
            // run.
            Err(Error::Parameter { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        self.tried.push(Trial {
            multiple: factor,
            rounds: tried.both()[self.goal],
        });
        let better = tried.ending != Ending::Diverged && tried.is_better(&self.best, self.goal);
        if better {
            (self.factor, self.best) = (factor, tried);
        }
        Ok(better)
    }
}

/// The strategy with its step or penalty multiplied by `factor`; `None` if it overflows, or if the
/// strategy has neither or is not a built-in one.
fn scaled(strategy: &dyn Strategy, factor: f64) -> Result<Option<Arc<dyn Strategy>>> {
    let spec = strategy.spec();
    let name = if spec.kind() == "relaxed-admm" {
        "rho"
    } else {
        "mu"
    };
    let spec = match spec.number(name)? {
        Some(constant) => spec.with(name, factor * constant),
        None => return Ok(None),
    };
    match strategy::build(&spec) {
        Ok(scaled) => Ok(Some(scaled)),
        Err(Error::Parameter { .. } | Error::UnknownName { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
