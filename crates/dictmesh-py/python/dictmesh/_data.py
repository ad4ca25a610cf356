"""What comes in, checked in scikit-learn's words; nothing is copied that can be read where it is."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ._types import Samples

PRECISIONS = (np.dtype(np.float64), np.dtype(np.float32))


def is_text(X: Samples) -> bool:
    """Whether these are documents: a sequence, a 1-D array or a column of strings."""
    if isinstance(X, str):
        raise ValueError("X is one string: give a list of documents, [document].")
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], str)
    if getattr(X, "ndim", 0) == 1 or type(X).__name__ == "Series":
        return len(X) > 0 and isinstance(next(iter(X)), str)  # type: ignore[arg-type]
    return False


def documents(X: Any) -> list[str]:
    """Documents as a list of strings."""
    found = list(X)
    for place, document in enumerate(found):
        if not isinstance(document, str):
            raise TypeError(
                f"document {place} is {type(document).__name__}, must be str; leave it out, or give an empty string."
            )
    return [str(document) for document in found]


def is_annotated(X: Samples) -> bool:
    """Whether this is an AnnData, by its module: it need not be installed."""
    return type(X).__module__.partition(".")[0] == "anndata" and hasattr(X, "var_names")


def readable(X: Any) -> Any:
    """An array that the core can read in place, of any layout, or a copy of one that it cannot."""
    if sp.issparse(X):
        if X.indices.dtype not in (np.int32, np.int64):
            X = X.astype(X.dtype, copy=True)
            X.indices = X.indices.astype(np.int64)
            X.indptr = X.indptr.astype(np.int64)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    return X if X.flags.aligned else np.array(X)


def csr(parts: tuple[Any, Any, Any], columns: int, dtype: Any = np.float64) -> sp.csr_matrix:
    """A CSR matrix of the values, columns and row starts that the core returns."""
    values, places, starts = parts
    return sp.csr_matrix((values.astype(dtype, copy=False), places, starts), shape=(len(starts) - 1, columns))


def samples(estimator: Any, X: Samples, *, reset: bool) -> Any:
    """X as the core reads it: float32 or float64, dense in any layout or canonical CSR."""
    if is_annotated(X):
        return readable(_annotated(estimator, X, reset=reset))
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=list(PRECISIONS), order=None, ensure_min_samples=1
    )
    return readable(X)


def _annotated(estimator: Any, X: Any, *, reset: bool) -> Any:
    """The matrix of an AnnData; its names of variables are those of the features."""
    names = np.asarray([str(name) for name in X.var_names], dtype=object)
    matrix = check_array(X.X, accept_sparse="csr", dtype=list(PRECISIONS), estimator=estimator, input_name="X")
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = matrix.shape[1], names
    elif list(names) != list(getattr(estimator, "feature_names_in_", names)):
        raise ValueError("The feature names should match those that were passed during fit: var_names differ.")
    elif matrix.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {matrix.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return matrix


def new_samples(estimator: Any, X: Samples) -> Any:
    """X for an estimator that is fitted.

    One sample must not cost more to look at than to code: an array that is plainly right is passed on, and the core
    checks its entries as it reads them.
    """
    if (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in PRECISIONS
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
        and X.flags.aligned
    ):
        return X
    check_is_fitted(estimator)
    return samples(estimator, X, reset=False)


def refuse(estimator: Any, X: Samples, error: ValueError) -> NoReturn:
    """What the core refused, in scikit-learn's words if it has some for it."""
    if getattr(estimator, "_raw_kind", "numbers") == "numbers":
        samples(estimator, X, reset=False)
    raise error
