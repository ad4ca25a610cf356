//! The residuals, regularizers and atom sets that files, flags and peers refer to by name.

use super::atoms::{self, AtomSet};
use super::regularizer::{self, Regularizer};
use super::residual::{self, Residual};
use crate::error::Result;
use crate::spec::{Names, Spec};
use std::sync::Arc;

/// Constructors of the pieces of a task, by name. [`Registry::default`] has the built-in ones.
///
/// ```
/// use dictmesh::problem::{residual::Huber, Registry, TaskSpec};
/// use dictmesh::Spec;
///
/// let registry = Registry::default()
///     .with_residual("robust", |spec| Huber::new(spec.number("at")?.unwrap_or(0.5)));
/// let mut spec = TaskSpec::sparse_svd(0.1, 0.1);
/// spec.residual = Spec::new("robust").with("at", 0.2);
/// assert!(spec.build_with(&registry).is_ok());
/// assert!(spec.build().unwrap_err().to_string().contains("robust"));
/// # Ok::<(), dictmesh::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    residuals: Names<dyn Residual>,
    regularizers: Names<dyn Regularizer>,
    sets: Names<dyn AtomSet>,
}

impl Default for Registry {
    /// The built-in pieces.
    fn default() -> Self {
        Registry::empty()
            .with_residual("squared-l2", residual::SquaredL2::from_spec)
            .with_residual("huber", residual::Huber::from_spec)
            .with_residual("l1", residual::L1::from_spec)
            .with_residual("ball", residual::Ball::from_spec)
            .with_residual("equality", residual::Equality::from_spec)
            .with_regularizer("elastic-net", regularizer::ElasticNet::from_spec)
            .with_regularizer(
                "non-negative-elastic-net",
                regularizer::NonNegativeElasticNet::from_spec,
            )
            .with_regularizer("boxed-elastic-net", regularizer::BoxedElasticNet::from_spec)
            .with_regularizer(
                "weighted-elastic-net",
                regularizer::WeightedElasticNet::from_spec,
            )
            .with_regularizer("group-elastic-net", regularizer::GroupElasticNet::from_spec)
            .with_set("unit-ball", plain(atoms::UnitBall))
            .with_set("non-negative-unit-ball", plain(atoms::NonNegativeUnitBall))
            .with_set("unit-l1-ball", plain(atoms::UnitL1Ball))
            .with_set(
                "non-negative-unit-l1-ball",
                plain(atoms::NonNegativeUnitL1Ball),
            )
    }
}

/// The constructor of a piece without parameters.
fn plain<T: Copy + Send + Sync>(piece: T) -> impl Fn(&Spec) -> Result<T> + Send + Sync {
    move |spec| spec.allow(&[]).map(|()| piece)
}

impl Registry {
    /// The `kind` of [`Error::UnknownName`](crate::Error::UnknownName) for each type of piece.
    pub(crate) const KINDS: [&'static str; 3] = ["residual", "regularizer", "atom set"];

    /// A registry without names.
    pub fn empty() -> Self {
        let [residual, regularizer, set] = Registry::KINDS;
        Registry {
            residuals: Names::new(residual),
            regularizers: Names::new(regularizer),
            sets: Names::new(set),
        }
    }

    /// Registers a residual. An existing name is replaced.
    pub fn with_residual<R: Residual + 'static>(
        mut self,
        name: &str,
        make: impl Fn(&Spec) -> Result<R> + Send + Sync + 'static,
    ) -> Self {
        self.residuals = (self.residuals).with(name, move |spec| Ok(Arc::new(make(spec)?)));
        self
    }

    /// Registers a regularizer. An existing name is replaced.
    pub fn with_regularizer<R: Regularizer + 'static>(
        mut self,
        name: &str,
        make: impl Fn(&Spec) -> Result<R> + Send + Sync + 'static,
    ) -> Self {
        self.regularizers = (self.regularizers).with(name, move |spec| Ok(Arc::new(make(spec)?)));
        self
    }

    /// Registers an atom set. An existing name is replaced.
    pub fn with_set<S: AtomSet + 'static>(
        mut self,
        name: &str,
        make: impl Fn(&Spec) -> Result<S> + Send + Sync + 'static,
    ) -> Self {
        self.sets = (self.sets).with(name, move |spec| Ok(Arc::new(make(spec)?)));
        self
    }

    /// The residuals by name.
    pub fn residuals(&self) -> &Names<dyn Residual> {
        &self.residuals
    }

    /// The regularizers by name.
    pub fn regularizers(&self) -> &Names<dyn Regularizer> {
        &self.regularizers
    }

    /// The atom sets by name.
    pub fn sets(&self) -> &Names<dyn AtomSet> {
        &self.sets
    }
}
