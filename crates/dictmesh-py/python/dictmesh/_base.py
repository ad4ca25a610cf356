"""What DictionaryLearning, NMF and SparseCoder have in common."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core, _data, _model, _settings
from ._progress import shown, threads, unrested, warn

METHODS = ("exact", "mesh")


class Kept:
    """The solver that was used last, and what it is for. Copies and pickles start without one."""

    def __init__(self) -> None:
        self.atoms: np.ndarray | None = None
        self.weights: tuple[Any, ...] = ()
        self.coder: _core.Coder | None = None

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()


class Coding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Codes samples by the atoms in components_."""

    # Parameters of the classes below, for who reads only this one.
    alpha: float
    l1_ratio: float
    gamma: float | None
    delta: float | None
    loss: str
    eta: float
    radius: float
    positive_code: bool
    transform_alpha: float | None
    transform_method: str
    n_agents: int
    topology: Any
    strategy: Any
    informed: Any
    inference_tol: float
    max_rounds: int
    accel: str
    random_state: Any
    n_jobs: int | None
    verbose: int
    components_: np.ndarray
    n_features_in_: int
    _kept: Kept

    def _keep(self, given: dict[str, Any]) -> None:
        """The arguments of __init__ as they are: all that scikit-learn lets it do with them."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def _task(self, *, transform: bool) -> dict[str, Any]:
        """What is minimised, in learning or in transform."""
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
        )
        kept = self._kept
        if kept.coder is None or kept.atoms is not self.components_ or kept.weights != weights:
            atoms = np.ascontiguousarray(self.components_, dtype=np.float64)
            kept.coder = _core.Coder(_settings.text(self._task(transform=True)), atoms)
            kept.atoms, kept.weights = self.components_, weights
        return kept.coder

    def _solve(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes and costs of samples."""
        X = self._new_samples(X)
        if self.transform_method != "exact":
            return self._infer(X)
        codes, costs = self._exactly(self._coder().solve, X)
        return codes, costs

    def _exactly(self, ask: Callable[..., Any], X: Any) -> Any:
        """What the coder answers, without how it ended, which is warned of."""
        try:
            if self.verbose:
                with shown(self.verbose, "coding") as progress:
                    *found, stop, why = ask(X, threads(self.n_jobs), progress)
            else:
                *found, stop, why = ask(X, threads(self.n_jobs))
        except ValueError as error:
            _data.refuse(self, X, error)
        if stop != "converged":
            warn(stop, why, "Coding")
        return found

    def _new_samples(self, X: Any) -> Any:
        return _data.new_samples(self, X)

    def _infer(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def transform(self, X: Any) -> np.ndarray:
        """Code samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Samples, float32 or float64. They are read where they are.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            In the precision of X.
        """
        return self._solve(X)[0]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Put samples together from their codes: X @ components_.

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
        return samples.toarray() if sp.issparse(samples) else np.asarray(samples)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean objective of a sample: the higher, the better X is expressed.

        Scores of estimators with another alpha, gamma or delta are those of another objective and cannot be compared.
        """
        if self.transform_method != "exact":
            return -float(np.mean(self._solve(X)[1]))
        (costs,) = self._exactly(self._coder().costs, self._new_samples(X))
        return -float(np.mean(costs))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Learning(Coding):
    """Learns atoms with a mesh."""

    n_components: int | None
    positive_dict: bool
    batch_size: int
    max_iter: int
    tol: float
    dict_init: Any
    dict_step: float | None
    _mesh: _core.Mesh

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the atoms.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Samples, in the order in which they are learned: shuffle rows that are sorted.
        y : ignored

        Returns
        -------
        self
        """
        X = self._samples(X, reset=True)
        passes = _settings.whole(self.max_iter, "max_iter", min_val=1)
        tol = _settings.real(self.tol, "tol", min_val=0)
        self._begin(X)
        heard = self._learn(X, passes, tol)
        if tol > 0 and passes > 1 and not heard["rested"] and heard["stop"] != "diverged":
            unrested(passes, tol)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Learn from more samples, in one pass over them; the first call starts the atoms from them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        first = not hasattr(self, "_mesh")
        X = self._samples(X, reset=first)
        if first:
            self._begin(X)
        self._learn(X, 1, 0.0)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Learn the atoms from X, then code X by them."""
        self.fit(X, **fit_params)
        return self.transform(X)

    def _samples(self, X: Any, *, reset: bool) -> Any:
        return _data.samples(self, X, reset=reset)

    def _begin(self, X: Any) -> None:
        """The mesh before it has learned anything."""
        _settings.one_of("transform_method", self.transform_method, METHODS)
        threads(self.n_jobs)
        seed = _settings.seed_of(self.random_state)
        atoms = self._given_atoms(X)
        self._mesh = _core.Mesh.start(_settings.text(self._mesh_settings(X.shape[1], seed)), X, atoms)
        self._precision, self._kept = X.dtype, Kept()
        self.n_iter_ = 0
        self.n_steps_ = 0
        self.cost_history_ = np.empty(0)
        self._publish()

    def _mesh_settings(self, features: int, seed: int) -> dict[str, Any]:
        count = features if self.n_components is None else self.n_components
        count = _settings.whole(count, "n_components", min_val=1)
        agents = _settings.whole(self.n_agents, "n_agents", min_val=1)
        batch = _settings.whole(self.batch_size, "batch_size", min_val=1)
        informed = self.informed
        if informed is not None and not isinstance(informed, str):
            informed = [int(k) for k in informed]
        elif informed == "all":
            informed = None
        return {
            "task": self._task(transform=False),
            "agents": agents,
            "atoms": count,
            "topology": _settings.graph(self.topology, seed),
            "weights": "metropolis",
            "strategy": _settings.strategy(self.strategy),
            "accel": _settings.accel(self.accel),
            "stopping": _settings.stopping(self.inference_tol, self.max_rounds),
            "update": _settings.update(self.dict_step, batch),
            "batch": batch,
            "seed": seed,
            "informed": informed,
            "random_start": isinstance(self.dict_init, str) and self.dict_init == "random",
        }

    def _given_atoms(self, X: Any) -> np.ndarray | None:
        if self.dict_init is None:
            return None
        if isinstance(self.dict_init, str):
            _settings.one_of("dict_init", self.dict_init, ("random",))
            return None
        atoms: np.ndarray = check_array(self.dict_init, dtype=np.float64, order="C", input_name="dict_init")
        wanted = (X.shape[1] if self.n_components is None else self.n_components, X.shape[1])
        if atoms.shape != wanted:
            raise ValueError(
                f"Array with wrong shape passed to {type(self).__name__} (input dict_init). Expected {wanted}, "
                f"but got {atoms.shape}: (n_components, n_features)."
            )
        return atoms

    def _learn(self, X: Any, passes: int, tol: float) -> dict[str, Any]:
        if self.loss not in ("squared", "huber") and self.dict_step is None:
            raise ValueError(
                f"loss == {self.loss!r} has no curvature to take a step from: give dict_step, a constant one, such as 0.01."
            )
        try:
            with shown(self.verbose, "learning") as progress:
                self._mesh.learn(X, passes, tol, threads(self.n_jobs), progress)
        finally:
            # After Ctrl-C, too: all whole batches count, and the estimator can be used or go on.
            heard = self._mesh.heard()
            self.n_iter_ += heard["passes"]
            self.n_steps_ += len(heard["costs"])
            self.cost_history_ = np.concatenate([self.cost_history_, heard["costs"]])
            self._publish()
        warn(heard["stop"], heard["why"], "Learning", self.strategy)
        return heard

    def _publish(self) -> None:
        """What is learned so far, as attributes."""
        atoms = self._mesh.dictionary()
        self._signs = np.ones(len(atoms))
        if not (self.positive_code or self.positive_dict):
            largest = np.take_along_axis(atoms, np.abs(atoms).argmax(axis=1)[:, None], axis=1)
            self._signs = np.where(largest[:, 0] < 0, -1.0, 1.0)
        self.components_ = (atoms * self._signs[:, None]).astype(self._precision, copy=False)
        ends = np.cumsum(self._mesh.sizes())
        self.agents_ = np.split(np.arange(len(atoms)), ends[:-1])

    def _infer(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes as the agents find them with each other."""
        _settings.one_of("transform_method", self.transform_method, METHODS)
        if self.transform_alpha is not None:
            raise ValueError("transform_alpha belongs to transform_method='exact': the agents code as they have learned.")
        with shown(self.verbose, "coding") as progress:
            found = self._mesh.infer(X, threads(self.n_jobs), False, progress)
        warn(found["stop"], found["why"], "Inference", self.strategy)
        return (found["codes"] * self._signs).astype(X.dtype, copy=False), found["costs"]

    def _restore(self, mesh: _core.Mesh, description: dict[str, Any]) -> None:
        """Takes over what a model file holds."""
        self._mesh, self._kept = mesh, Kept()
        self.n_iter_ = description["progress"]["blocks_learned"]
        self.n_steps_ = math.ceil(mesh.samples_learned / self.batch_size)
        self.cost_history_ = np.empty(0)
        self._publish()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model in the file format of the program `dictmesh`, which can use it as well."""
        check_is_fitted(self)
        _model.save(self, self._mesh, path)
