//! The outcome of a run: a value, not an error.

use std::fmt;

/// Why an iteration stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The tolerance was met.
    Converged,
    /// The limit of rounds was reached before the tolerance (or no tolerance was set).
    RoundLimit,
    /// The iterates grow without bound: the step is too large.
    Diverged,
    /// For some sample, no code satisfies the constraint of the residual (`ball` or `equality`).
    Infeasible,
    /// The caller requested a stop, see [`Mesh::interrupt_by`](crate::Mesh::interrupt_by).
    Interrupted,
}

impl Stop {
    /// The machine-readable name.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Converged => "converged",
            Stop::RoundLimit => "round-limit",
            Stop::Diverged => "diverged",
            Stop::Infeasible => "infeasible",
            Stop::Interrupted => "interrupted",
        }
    }

    /// The worse of two outcomes, to combine those of a batch.
    pub fn worse(self, other: Stop) -> Stop {
        let rank = |stop| match stop {
            Stop::Converged => 0,
            Stop::RoundLimit => 1,
            Stop::Infeasible => 2,
            Stop::Diverged => 3,
            Stop::Interrupted => 4,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Converged => "converged to the tolerance",
            Stop::RoundLimit => "stopped at the limit of rounds",
            Stop::Diverged => "diverged: the iterates grow without bound",
            Stop::Infeasible => {
                "infeasible: no code can meet the residual's constraint; relax it (a larger sigma, \
                 or the squared-l2 residual) or add atoms"
            }
            Stop::Interrupted => "interrupted before it finished",
        })
    }
}
