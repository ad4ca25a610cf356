//! Progress of a long computation, and the answer whether to continue.

use std::ops::ControlFlow;

/// The state of a computation that takes a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// The phase in a few words, such as "learning".
    pub phase: &'static str,
    /// Number of steps of this phase that are complete.
    pub done: usize,
    /// Number of steps of this phase.
    pub total: usize,
    /// Mean cost per sample of the last batch, while learning.
    pub cost: Option<f64>,
}

impl Progress {
    /// Progress without a cost.
    pub fn steps(phase: &'static str, done: usize, total: usize) -> Self {
        Progress {
            phase,
            done,
            total,
            cost: None,
        }
    }
}

/// Receives the progress. If it breaks, the computation ends with
/// [`Error::Interrupted`](dictmesh::Error::Interrupted).
pub type Observer<'a> = dyn FnMut(Progress) -> ControlFlow<()> + 'a;

/// An observer for callers that show no progress: it never breaks.
pub fn silent(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Reports to the observer; an error if it breaks.
pub(crate) fn report(observer: &mut Observer<'_>, progress: Progress) -> dictmesh::Result<()> {
    match observer(progress) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(dictmesh::Error::Interrupted),
    }
}
