//! The registry of all pieces that files, flags and peers refer to by name.

use crate::error::Result;
use crate::problem::{self, Task, TaskSpec};
use crate::spec::{Names, Spec};
use crate::strategy::{self, Strategy};
use std::sync::Arc;

/// Residuals, regularizers, atom sets and strategies by name.
///
/// [`Registry::default`] has the built-in ones; the methods `with_...` add those of another crate.
///
/// ```
/// use dictmesh::strategy::Diffusion;
/// use dictmesh::{Registry, Spec};
/// use std::sync::Arc;
///
/// let registry = Registry::default()
///     .with_strategy("slow", |_: &Spec| Ok(Arc::new(Diffusion { mu: Some(1e-3) })));
/// assert!(registry.strategy(&Spec::new("slow")).is_ok());
/// let unknown = registry.strategy(&Spec::new("fast")).unwrap_err();
/// assert!(unknown.to_string().contains("fast"));
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    /// Residuals, regularizers and atom sets.
    pub problem: problem::Registry,
    strategies: Names<dyn Strategy>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            problem: problem::Registry::default(),
            strategies: strategy::names(),
        }
    }
}

impl From<problem::Registry> for Registry {
    fn from(problem: problem::Registry) -> Self {
        Registry {
            problem,
            ..Registry::default()
        }
    }
}

impl Registry {
    /// The `kind` of [`Error::UnknownName`](crate::Error::UnknownName) for each type of piece.
    pub const KINDS: [&'static str; 4] = ["residual", "regularizer", "atom set", "strategy"];

    /// Registers a strategy. An existing name is replaced.
    pub fn with_strategy(
        mut self,
        kind: &str,
        make: impl Fn(&Spec) -> Result<Arc<dyn Strategy>> + Send + Sync + 'static,
    ) -> Self {
        self.strategies = self.strategies.with(kind, make);
        self
    }

    /// Builds the task of a spec.
    pub fn task(&self, spec: &TaskSpec) -> Result<Task> {
        spec.build_with(&self.problem)
    }

    /// Builds the strategy of a spec.
    pub fn strategy(&self, spec: &Spec) -> Result<Arc<dyn Strategy>> {
        self.strategies.build(spec)
    }
}
