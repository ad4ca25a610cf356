//! The registry of all pieces that files, flags and peers refer to by name.

use crate::accel::{Accel, Accels};
use crate::error::Result;
use crate::problem::{self, Task, TaskSpec};
use crate::spec::{Names, Spec};
use crate::strategy::{self, Strategy};
use std::sync::Arc;

/// Residuals, regularizers, atom sets, strategies and speed-ups by name.
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
    accels: Accels,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            problem: problem::Registry::default(),
            strategies: strategy::names(),
            accels: Accels::all(),
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
    pub const KINDS: [&'static str; 5] = [
        "residual",
        "regularizer",
        "atom set",
        "strategy",
        "speed-up",
    ];

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

    /// Registers a speed-up by its own name. It is tried before those registered earlier.
    pub fn with_accel(mut self, accel: Arc<dyn Accel>) -> Self {
        self.accels = self.accels.without(accel.name()).with(accel);
        self
    }

    /// The speed-ups of a list as [`Accels`] prints it: `all` (the built-in ones), `none`, or names
    /// separated by commas.
    pub fn accels(&self, names: &str) -> Result<Accels> {
        self.accels.select(names)
    }
}
