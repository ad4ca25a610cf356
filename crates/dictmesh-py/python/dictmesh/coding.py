"""Sparse coding by a given dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from . import _data, _settings
from ._base import METHODS, Coding, Kept
from ._options import MeshOptions
from ._types import Loss, Numbers, RandomState, Samples, TransformMethod
from .decomposition import DictionaryLearning

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

__all__ = ["SparseCoder"]


class SparseCoder(Coding):
    r"""Sparse codes by a given dictionary.

    For each sample x, solves

    .. code-block:: text

        min_y  f(x - sum_k y_k w_k)  +  gamma |y|_1  +  delta/2 |y|_2^2

        gamma = alpha * l1_ratio      delta = alpha * max(1 - l1_ratio, 0.01)

    exactly, with a certified duality gap of 1e-10. Atoms are taken as they are, whatever their norm. As in
    :class:`sklearn.decomposition.SparseCoder` there is nothing to fit where a dictionary is given.

    Parameters
    ----------
    dictionary : ndarray of shape (n_components, n_features), default=None
        The atoms. None stands for the unit vectors of the features that ``fit`` sees: codes are then the samples
        themselves, drawn towards 0.
    alpha, l1_ratio, gamma, delta, loss, eta, radius, positive_code, code_bounds, code_groups, transform_alpha, \
sparse_output, random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.
    transform_method : {"exact", "mesh"}, default="exact"
        With "mesh", agents share the atoms and find the codes with each other; atoms must have at most norm 1 then.
    mesh : MeshOptions, default=None
        The agents of transform_method="mesh"; one if None.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The dictionary.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import SparseCoder
    >>> coder = SparseCoder(np.eye(3), alpha=0.5, delta=1e-9)
    >>> coder.transform(np.array([[2.0, -0.3, -1.0]])).round(6) + 0.0
    array([[ 1.5,  0. , -0.5]])
    """

    dictionary: ArrayLike | None

    def __init__(
        self,
        dictionary: ArrayLike | None = None,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 1.0,
        gamma: float | ArrayLike | None = None,
        delta: float | None = None,
        loss: Loss = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        positive_code: bool = False,
        code_bounds: tuple[float | None, float | None] | None = None,
        code_groups: int | list[int] | None = None,
        transform_alpha: float | None = None,
        transform_method: TransformMethod = "exact",
        sparse_output: bool = False,
        mesh: MeshOptions | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Samples, y: object = None) -> Self:
        """Check the number of features; nothing is learned.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        X = _data.samples(self, X, reset=True)
        self._take(np.eye(X.shape[1]) if self.dictionary is None else self.dictionary)
        if self.components_.shape[1] != X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the atoms of SparseCoder have {self.components_.shape[1]}."
            )
        return self

    def _take(self, dictionary: Any) -> None:
        _settings.one_of("transform_method", self.transform_method, METHODS)
        self._how, self._raw_kind = None, "numbers"
        dictionary = check_array(dictionary, dtype=np.float64, order="C", input_name="dictionary")
        self._task(transform=True, sizes=[len(dictionary)])
        self.components_, self._kept = dictionary, Kept()
        self.n_features_in_ = dictionary.shape[1]

    def _new_samples(self, X: Samples) -> Any:
        if "components_" not in self.__dict__:
            if self.dictionary is None:
                check_is_fitted(self)
            self._take(self.dictionary)
        return super()._new_samples(X)

    def inverse_transform(self, X: Numbers) -> np.ndarray:
        if "components_" not in self.__dict__ and self.dictionary is not None:
            self._take(self.dictionary)
        return super().inverse_transform(X)

    inverse_transform.__doc__ = Coding.inverse_transform.__doc__

    def _infer(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """By a mesh of these atoms, which learns nothing."""
        if np.linalg.norm(self.components_, axis=1).max() > 1 + 1e-9:
            raise ValueError(
                "transform_method='mesh' needs atoms with a norm of at most 1: divide the dictionary by its largest "
                "norm, or use transform_method='exact'."
            )
        names = set(DictionaryLearning().get_params(deep=False)) & set(self.get_params(deep=False))
        learner = DictionaryLearning(
            n_components=len(self.components_),
            dict_init=self.components_,
            **{name: getattr(self, name) for name in names if name != "n_components"},
        )
        learner._how, learner._raw_kind = None, "numbers"
        learner._begin(X)
        codes, costs = learner._infer(X)
        return codes * learner._signs.astype(codes.dtype), costs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = self.dictionary is None
        return tags
