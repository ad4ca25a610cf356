"""What comes in, checked in scikit-learn's words; nothing is copied that can be read where it is."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

PRECISIONS = (np.dtype(np.float64), np.dtype(np.float32))


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


def samples(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as the core reads it: float32 or float64, dense in any layout or canonical CSR."""
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=list(PRECISIONS), order=None, ensure_min_samples=1
    )
    return readable(X)


def new_samples(estimator: Any, X: Any) -> Any:
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


def refuse(estimator: Any, X: Any, error: ValueError) -> NoReturn:
    """What the core refused, in scikit-learn's words if it has some for it."""
    samples(estimator, X, reset=False)
    raise error
