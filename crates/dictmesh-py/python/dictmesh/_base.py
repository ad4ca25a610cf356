"""What DictionaryLearning, NMF and SparseCoder have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core, _data, _settings
from ._options import MeshOptions
from ._progress import shown, threads, warn
from ._raw import Raw
from ._types import Loss, Numbers, RandomState, Samples, TransformMethod

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

METHODS = ("exact", "mesh")


class Kept:
    """The solver that was used last, and what it is for. Copies and pickles start without one."""

    def __init__(self) -> None:
        self.atoms: np.ndarray | None = None
        self.weights: tuple[object, ...] = ()
        self.coder: _core.Coder | None = None

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


class Coding(Raw, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes samples by the atoms in components_."""

    # Parameters of the classes below, for who reads only this one.
    alpha: float
    l1_ratio: float
    gamma: float | ArrayLike | None
    delta: float | None
    loss: Loss
    eta: float
    radius: float
    positive_code: bool
    code_bounds: tuple[float | None, float | None] | None
    code_groups: int | list[int] | None
    transform_alpha: float | None
    transform_method: TransformMethod
    sparse_output: bool
    mesh: MeshOptions | None
    random_state: RandomState
    n_jobs: int | None
    verbose: int
    components_: np.ndarray
    n_features_in_: int
    _kept: Kept
    _task_text: str

    def _options(self) -> MeshOptions:
        """The options of the mesh."""
        if self.mesh is None:
            return MeshOptions()
        if not isinstance(self.mesh, MeshOptions):
            raise TypeError(f"mesh == {self.mesh!r}, must be MeshOptions, such as MeshOptions(n_agents=4), or None.")
        return self.mesh

    def _task(self, *, transform: bool, sizes: list[int] | None = None) -> dict[str, Any]:
        """What is minimised, in learning or in transform, by agents with these numbers of atoms."""
        gamma: float | list[float]
        if transform and self.transform_alpha is not None:
            gamma, delta = _settings.weights_of(self.transform_alpha, self.l1_ratio, None, None)
        else:
            gamma, delta = _settings.weights_of(self.alpha, self.l1_ratio, self.gamma, self.delta)
        return _settings.task(
            gamma=gamma,
            delta=delta,
            loss=self.loss,
            eta=self.eta,
            radius=self.radius,
            positive_code=self.positive_code,
            positive_dict=getattr(self, "positive_dict", False),
            code_bounds=getattr(self, "code_bounds", None),
            code_groups=getattr(self, "code_groups", None),
            dict_norm=getattr(self, "dict_norm", "l2"),
            beta=getattr(self, "beta", 0.0),
            sizes=sizes,
        )

    def _coder(self) -> _core.Coder:
        """The solver for the atoms and weights as they are now; made again only when they changed."""
        weights = (
            self.transform_alpha,
            self.alpha,
            self.l1_ratio,
            self.gamma,
            self.delta,
            self.loss,
            self.eta,
            self.radius,
            self.positive_code,
            getattr(self, "code_bounds", None),
            getattr(self, "code_groups", None),
        )
        kept = self._kept
        same = len(kept.weights) == len(weights) and all(a is b for a, b in zip(kept.weights, weights))
        if kept.coder is None or kept.atoms is not self.components_ or not same:
            atoms = np.ascontiguousarray(self.components_, dtype=np.float64)
            text = _settings.text(self._task(transform=True, sizes=[len(atoms)]))
            kept.coder = _core.Coder(text, atoms)
            kept.atoms, kept.weights = self.components_, weights
        return kept.coder

    def _solve(self, X: Samples) -> tuple[Any, np.ndarray]:
        """Codes and costs of samples."""
        X = self._new_samples(X)
        if self.transform_method != "exact":
            codes, costs = self._infer(X)
            return (sp.csr_matrix(codes) if self.sparse_output else codes), costs
        codes, costs = self._exactly("solve", X)
        if self.sparse_output:
            dtype = X.dtype if X.dtype in _data.PRECISIONS else np.float64
            codes = _data.csr(codes, len(self.components_), dtype)
        return codes, costs

    def _exactly(self, what: str, X: Any) -> Any:
        """What the coder answers, without how it ended, which is warned of."""
        ask: Callable[..., Any] = getattr(self._coder(), what)
        more = {"sparse": True} if what == "solve" and self.sparse_output else {}
        if self._prepare is not None:
            more["prepare"] = self._prepare  # type: ignore[assignment]
        try:
            if self.verbose:
                with shown(self.verbose, "coding") as progress:
                    *found, stop, why = ask(X, threads(self.n_jobs), progress, **more)
            else:
                *found, stop, why = ask(X, threads(self.n_jobs), **more)
        except ValueError as error:
            _data.refuse(self, X, error)
        if stop != "converged":
            warn(stop, why, "Coding")
        return found

    def _new_samples(self, X: Samples) -> Any:
        return self._next(X)

    def _infer(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def transform(self, X: Samples) -> Any:
        """Code samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Samples, float32 or float64. They are read where they are. Or raw data as in ``fit``.

        Returns
        -------
        codes : ndarray or, with ``sparse_output``, CSR matrix of shape (n_samples, n_components)
            In the precision of X.
        """
        return self._solve(X)[0]

    def inverse_transform(self, X: Numbers) -> np.ndarray:
        """Reconstruct samples from their codes: X @ components_, plus the means of ``center="feature"``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_components)

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=list(_data.PRECISIONS))
        if X.shape[1] != self.components_.shape[0]:
            raise ValueError(
                f"The codes have {X.shape[1]} components, but {type(self).__name__} has "
                f"{self.components_.shape[0]} atoms."
            )
        samples = X @ self.components_.astype(X.dtype, copy=False)
        samples = samples.toarray() if sp.issparse(samples) else np.asarray(samples)
        how = self._prepare
        means = None if how is None or getattr(self, "normalize", None) is not None else how.means
        return samples if means is None else samples + means.astype(X.dtype)

    def score(self, X: Samples, y: object = None) -> float:
        """Minus the mean objective of a sample: higher is better.

        Scores of estimators with another alpha, gamma or delta are those of another objective and cannot be compared.
        """
        if self.transform_method != "exact":
            return -float(np.mean(self._solve(X)[1]))
        (costs,) = self._exactly("costs", self._new_samples(X))
        return -float(np.mean(costs))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
