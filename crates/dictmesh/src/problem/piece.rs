//! Conversion of values and `Arc`s into shared pieces of a task.

use super::{AtomSet, Regularizer, Residual};
use std::sync::Arc;

/// A value of a type that implements the trait `T`, or an `Arc<T>`.
pub trait IntoPiece<T: ?Sized> {
    /// Converts into a shared trait object.
    fn into_piece(self) -> Arc<T>;
}

impl<R: Residual + 'static> IntoPiece<dyn Residual> for R {
    fn into_piece(self) -> Arc<dyn Residual> {
        Arc::new(self)
    }
}

impl<R: Regularizer + 'static> IntoPiece<dyn Regularizer> for R {
    fn into_piece(self) -> Arc<dyn Regularizer> {
        Arc::new(self)
    }
}

impl<S: AtomSet + 'static> IntoPiece<dyn AtomSet> for S {
    fn into_piece(self) -> Arc<dyn AtomSet> {
        Arc::new(self)
    }
}

impl IntoPiece<dyn Residual> for Arc<dyn Residual> {
    fn into_piece(self) -> Arc<dyn Residual> {
        self
    }
}

impl IntoPiece<dyn Regularizer> for Arc<dyn Regularizer> {
    fn into_piece(self) -> Arc<dyn Regularizer> {
        self
    }
}

impl IntoPiece<dyn AtomSet> for Arc<dyn AtomSet> {
    fn into_piece(self) -> Arc<dyn AtomSet> {
        self
    }
}
