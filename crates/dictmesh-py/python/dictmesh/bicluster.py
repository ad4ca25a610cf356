"""Sparse biclustering: groups of rows that go together over groups of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, BiclusterMixin
from sklearn.utils.validation import validate_data

from . import _core, _settings
from ._progress import shown, threads, warn
from ._types import Numbers, RandomState

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SparseBiclustering"]

#: gamma and beta where none are given.
USUAL = {"diffusion": (2.0, 0.03), "ssvd": (0.5, 0.01)}
#: How the core calls what is done to columns.
PREPARE = {"standard": "standardise", "center": "centre"}


class SparseBiclustering(BiclusterMixin, BaseEstimator):
    r"""Sparse biclustering by layers X = sum_k w_k y_k', with w_k sparse over rows and y_k over columns.

    ``method="diffusion"`` has one agent learn each layer from one column x_t of X after the other,

    .. code-block:: text

        min_W  mean_t [ min_y 1/2 |x_t - W y|^2 + gamma |y|_1 + delta/2 |y|^2 ]  +  beta |W|_1     with |w_k|_2 <= 1

    and ``method="ssvd"`` is the sparse SVD of the whole table in one place, with thresholds gamma on columns and beta
    on rows. A row is in a bicluster if it has at least an even share of its layer, w_m^2 >= \|w_k\|^2 / n_rows; a column
    is if y_k has an entry for it. Layers are in descending order of weight, and the largest entry of each w_k is
    positive.

    Parameters
    ----------
    n_clusters : int, default=5
        Layers, and agents. If the table has fewer biclusters, some are empty.
    method : {"diffusion", "ssvd"}, default="diffusion"
    gamma : float, default=None
        More leaves fewer columns in a bicluster; 2 for "diffusion" and 0.5 for "ssvd" if None.
    delta : float, default=0.1
        Weight of \|y\|^2 / 2; not for "ssvd".
    beta : float, default=None
        More leaves fewer rows in a bicluster; 0.03 for "diffusion" and 0.01 for "ssvd" if None.
    normalize : {"standard", "center"} or None, default="standard"
        Each column is first brought to mean 0 and variance 1, to mean 0, or left as it is.
    max_iter : int, default=10
        Passes over the columns at most; not for "ssvd".
    n_init : int, default=3
        Starts, of which the one with the lowest objective is kept; not for "ssvd".
    random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Attributes
    ----------
    rows_ : ndarray of bool of shape (n_clusters, n_rows)
    columns_ : ndarray of bool of shape (n_clusters, n_columns)
    biclusters_ : tuple
        Both.
    row_loadings_ : ndarray of shape (n_clusters, n_rows)
        w_k.
    column_loadings_ : ndarray of shape (n_clusters, n_columns)
        y_k.
    weights_ : ndarray of shape (n_clusters,)
        \|y_k\|, falling; the singular values with "ssvd".
    objective_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import SparseBiclustering
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 200))
    >>> X[:10, :40] += 3
    >>> X[20:30, 40:90] += 3
    >>> found = SparseBiclustering(2, random_state=0).fit(X)
    >>> sorted(found.get_shape(i)[0] for i in range(2))
    [10, 10]
    """

    def __init__(
        self,
        n_clusters: int = 5,
        *,
        method: Literal["diffusion", "ssvd"] = "diffusion",
        gamma: float | None = None,
        delta: float = 0.1,
        beta: float | None = None,
        normalize: Literal["standard", "center"] | None = "standard",
        max_iter: int = 10,
        n_init: int = 3,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.gamma = gamma
        self.delta = delta
        self.beta = beta
        self.normalize = normalize
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Numbers, y: object = None) -> Self:
        """Find biclusters.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        _settings.one_of("method", self.method, ("diffusion", "ssvd"))
        if self.normalize is not None:
            _settings.one_of("normalize", self.normalize, tuple(PREPARE))
        prepare = "none" if self.normalize is None else PREPARE[self.normalize]
        layers = _settings.whole(self.n_clusters, "n_clusters", min_val=1)
        usual = USUAL[self.method]
        gamma = float(usual[0] if self.gamma is None else self.gamma)
        beta = float(usual[1] if self.beta is None else self.beta)
        if self.method == "ssvd":
            found = _core.sparse_svd(X, layers, gamma, beta, prepare)
        else:
            found = self._diffusion(X, layers, gamma, beta, prepare)
        warn(found["stop"], found["why"], "Biclustering")
        self.row_loadings_ = found["w"]
        self.column_loadings_ = found["y"]
        self.weights_ = np.asarray(found["weights"])
        self.objective_ = found["objective"]
        self.rows_ = np.zeros((layers, X.shape[0]), dtype=bool)
        for k, rows in enumerate(found["main_rows"]):
            self.rows_[k, rows] = True
        self.columns_ = self.column_loadings_ != 0
        return self

    def _diffusion(self, X: np.ndarray, layers: int, gamma: float, beta: float, prepare: str) -> dict[str, Any]:
        with shown(self.verbose, "biclustering") as progress:
            return _core.bicluster(
                X,
                layers,
                gamma,
                float(self.delta),
                beta,
                prepare,
                _settings.whole(self.max_iter, "max_iter", min_val=1),
                _settings.whole(self.n_init, "n_init", min_val=1),
                _settings.seed_of(self.random_state),
                threads(self.n_jobs),
                progress,
            )
