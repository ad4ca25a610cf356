//! Warm starts: a run that begins with the final iterates of an earlier one.

use super::run::Run;
use super::Mesh;
use crate::accel::Accels;
use crate::error::{Error, Result};
use crate::problem::samples::Samples;
use crate::spec::Spec;
use crate::strategy::AgentStrategy;

/// The iterates of a run, with the strategy and sizes they are valid for.
#[derive(Debug)]
pub(super) struct State {
    strategy: Spec,
    rows: usize,
    pub samples: usize,
    sizes: Vec<usize>,
    agents: Vec<Box<dyn AgentStrategy>>,
}

impl State {
    fn shape(mesh: &Mesh, rows: usize, samples: usize) -> Result<Self> {
        Ok(State {
            strategy: mesh.strategy.resolve(&mesh.shared_constants())?.spec(),
            rows,
            samples,
            sizes: mesh.agents.iter().map(|a| a.block.len()).collect(),
            agents: Vec::new(),
        })
    }
}

impl<'m> Run<'m> {
    /// A run from the final iterates of an earlier one. Its strategy, number of samples, dimension
    /// and block sizes must be the same.
    pub(super) fn start_warm(mesh: &'m Mesh, x: &'m Samples, state: State) -> Result<Self> {
        let now = State::shape(mesh, x.rows(), x.len())?;
        let differs = |what: &str, given: String, expected: String| {
            Err(Error::Unsupported {
                what: format!("a run with {what} {given}"),
                with: format!("{what} {expected}"),
                why: "its state does not fit; start a new run".to_string(),
            })
        };
        let shape = |s: &State| (s.rows, s.samples);
        if state.strategy != now.strategy {
            return differs(
                "the strategy",
                state.strategy.to_string(),
                now.strategy.to_string(),
            );
        }
        if shape(&state) != shape(&now) {
            let say = |(rows, samples)| format!("{rows} x {samples}");
            return differs("batches of", say(shape(&state)), say(shape(&now)));
        }
        if state.sizes != now.sizes {
            let say = |sizes: &[usize]| format!("{sizes:?}");
            return differs("blocks of", say(&state.sizes), say(&now.sizes));
        }
        Run::new(mesh, x, &Accels::none(), Some(state.agents))
    }

    /// The state for a warm start.
    pub(super) fn into_state(self) -> Result<State> {
        let mut state = State::shape(self.mesh, self.x.rows(), self.x.len())?;
        state.agents = self
            .chunks
            .into_iter()
            .flat_map(|chunk| chunk.agents)
            .collect();
        Ok(state)
    }
}
