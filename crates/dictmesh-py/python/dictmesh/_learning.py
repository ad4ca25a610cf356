"""What DictionaryLearning and NMF have in common: learning with a mesh, checkpoints and model files."""

from __future__ import annotations

import json
import math
import os
import pathlib
import warnings
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted

from . import _core, _model, _settings
from ._base import METHODS, Coding, Kept
from ._callbacks import CallbackSupport, managed, task
from ._progress import shown, threads, unrested, warn
from ._types import DictNorm, Samples

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self


class Checkpoint(NamedTuple):
    """Where a model of the state so far goes, and how often."""

    path: str
    every: float
    names: list[str] | None
    extra: str


class Learning(CallbackSupport, Coding):
    """Learns atoms with a mesh."""

    n_components: int | None
    positive_dict: bool
    dict_norm: DictNorm
    beta: float
    batch_size: int
    max_iter: int
    tol: float
    update: str
    dict_init: Any
    checkpoint: str | os.PathLike[str] | None
    checkpoint_every: float
    resume: bool
    _mesh: _core.Mesh

    @managed
    def fit(self, X: Samples, y: object = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Samples, in the order in which they are learned: shuffle rows that are sorted. Or a list of documents;
            or, with ``patch_size``, a picture or a list of pictures.
        y : ignored

        Returns
        -------
        self
        """
        passes = _settings.whole(self.max_iter, "max_iter", min_val=1)
        tol = _settings.real(self.tol, "tol", min_val=0)
        X = self._first_samples(X)
        state = self._resumed(X)
        if state is None:
            self._begin(X)
        context = self._init_callback_context(max_subtasks=passes)
        with task(context, self, X=X):
            heard = self._learn(X, passes, tol, state=state, context=context)
        if tol > 0 and passes > 1 and not heard["rested"] and heard["stop"] not in ("diverged", "interrupted"):
            unrested(passes, tol)
        return self

    def partial_fit(self, X: Samples, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more samples in one pass. The first call draws the atoms from them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Or raw data as in ``fit``. The preparation (means, words) is that of the first call.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            The weight of each sample in its batch. ``fit`` has none, as a weight there differs from a repetition:
            the first atoms are drawn among the samples.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_mesh")
        X = self._first_samples(X) if first else self._new_samples(X)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if first:
            self._begin(X)
        self._learn(X, 1, 0.0, weights=weights)
        return self

    def fit_transform(self, X: Samples, y: object = None, **fit_params: object) -> Any:
        """Learn the atoms from X, then code X by them."""
        self.fit(X, **fit_params)
        return self.transform(X)

    def _first_samples(self, X: Samples) -> Any:
        X = self._first(X)
        if self._raw_kind == "patches":
            # Neighbouring patches overlap: a batch of them would bias the atoms.
            order = np.random.default_rng(self._seed()).permutation(len(X))
            X = np.ascontiguousarray(X[order])
        return X

    def _seed(self) -> int:
        """The seed of this fit; drawn once for it."""
        self._drawn_seed = _settings.seed_of(self.random_state)
        return self._drawn_seed

    def _begin(self, X: Any) -> None:
        """The mesh before it has learned anything."""
        _settings.one_of("transform_method", self.transform_method, METHODS)
        threads(self.n_jobs)
        seed = self.__dict__.pop("_drawn_seed", None)
        seed = _settings.seed_of(self.random_state) if seed is None else seed
        atoms = self._given_atoms(X)
        settings = self._mesh_settings(X.shape[1], seed)
        if self._raw_kind == "numbers" and self._how is not None and self._how.kind == "counts":
            raise ValueError("counts are prepared by models of the program only")
        self._mesh = _core.Mesh.start(_settings.text(settings), X, atoms, self._prepare)
        self._precision, self._kept = X.dtype, Kept()
        self.n_iter_ = 0
        self.n_steps_ = 0
        self.cost_history_ = np.empty(0)
        self._publish()

    def _mesh_settings(self, features: int, seed: int) -> dict[str, Any]:
        count = features if self.n_components is None else self.n_components
        count = _settings.whole(count, "n_components", min_val=1)
        batch = _settings.whole(self.batch_size, "batch_size", min_val=1)
        options = self._options()._core_settings(seed)
        sizes = _settings.sizes_of(count, int(str(options["agents"])))
        return {
            **options,
            "task": self._task(transform=False, sizes=sizes),
            "atoms": count,
            "update": _settings.update(self.update, batch),
            "batch": batch,
            "seed": seed,
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

    def _learn(
        self,
        X: Any,
        passes: int,
        tol: float,
        *,
        weights: np.ndarray | None = None,
        state: str | None = None,
        context: Any = None,
    ) -> Mapping[str, Any]:
        if self.loss not in ("squared", "huber") and str(self.update).startswith("adaptive"):
            raise ValueError(
                f"loss == {self.loss!r} has no curvature to take a step from: give update='constant:0.01', or another "
                "constant step."
            )
        done = 0 if state is None else min(int(json.loads(state)["passes"]), passes - 1)
        start = (0, 0) if state is not None else (self.n_iter_, self.n_steps_)
        history = self.cost_history_ if state is None else np.empty(0)
        checkpoint = self._checkpoint(X) if context is not None else None
        observed = context is not None and bool(getattr(self, "_skl_callbacks", None))
        try:
            with shown(self.verbose, "learning") as progress:
                for upto in range(done + 1, passes + 1) if observed else (passes,):
                    with task(context.subcontext(task_name="pass") if observed else None, self, X=X) as ended:
                        self._mesh.learn(
                            X, upto, tol, threads(self.n_jobs), progress, self._prepare, weights, checkpoint, state
                        )
                        heard = self._mesh.heard()
                        if observed:
                            state = self._mesh.position()
                    if heard["rested"] or heard["stop"] == "diverged" or ended.asked_to_stop:
                        break
        finally:
            # After Ctrl-C, too: all whole batches count, and the estimator can be used or go on.
            heard = self._mesh.heard()
            self.n_iter_ = start[0] + heard["passes"]
            self.n_steps_ = start[1] + len(heard["costs"])
            self.cost_history_ = np.concatenate([history, heard["costs"]])
            self._publish()
        if heard["unsaved"]:
            warnings.warn(f"No checkpoint: {heard['unsaved']}", UserWarning, stacklevel=3)
        warn(heard["stop"], heard["why"], "Learning", self._options().strategy)
        self._warn_of_zeros(X, heard)
        return heard

    def _warn_of_zeros(self, X: Any, heard: Mapping[str, Any]) -> None:
        """A warning if all codes of the last pass were zero: then nothing is learned."""
        last = math.ceil(X.shape[0] / self.batch_size)
        if len(heard["sparsity"]) == 0 or heard["stop"] != "converged" or np.any(heard["sparsity"][-last:] > 0):
            return
        most = ""
        if self._prepare is None and self.loss == "squared":
            few = X[:1000]
            most = f" below {float(abs(few @ self.components_.T).max()):.3g}, the largest |w'x|"
        warnings.warn(
            f"All codes are 0, so that no atom was learned: the penalty is too large for these samples. Decrease alpha "
            f"(or gamma){most}, or scale the samples up.",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _checkpoint(self, X: Any) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        every = _settings.real(self.checkpoint_every, "checkpoint_every", min_val=0)
        names = getattr(self, "feature_names_in_", None)
        extra = _model.extra_of(self, fingerprint=fingerprint(X))
        names = None if names is None else [str(name) for name in names]
        return Checkpoint(os.fspath(self.checkpoint), every, names, extra)

    def _resumed(self, X: Any) -> str | None:
        """Takes over the mesh of a checkpoint; how far it has come, or None where there is nothing to resume."""
        if not self.resume:
            return None
        if self.checkpoint is None:
            raise ValueError("resume=True needs the path of a checkpoint: give checkpoint=PATH as well.")
        if not pathlib.Path(self.checkpoint).exists():
            return None
        mesh, state, how = _model.checkpoint_of(self, self.checkpoint, fingerprint(X))
        self._mesh, self._how = mesh, how
        if self._how is not None:
            self._take_how(self._how)
        self._precision, self._kept = X.dtype, Kept()
        self.n_iter_, self.n_steps_, self.cost_history_ = 0, 0, np.empty(0)
        self._publish()
        return state

    def _publish(self) -> None:
        """What is learned so far, as attributes."""
        atoms = self._mesh.dictionary()
        self._signs = np.ones(len(atoms))
        if not (self.positive_code or self.positive_dict or getattr(self, "code_bounds", None) is not None):
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
            found = self._mesh.infer(X, threads(self.n_jobs), False, progress, self._prepare)
        warn(found["stop"], found["why"], "Inference", self._options().strategy)
        return (found["codes"] * self._signs).astype(X.dtype, copy=False), found["costs"]

    def _restore(self, mesh: _core.Mesh, description: Mapping[str, Any]) -> None:
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


def fingerprint(X: Any) -> str:
    """A checksum of samples, as eight hexadecimal digits, with their shape."""
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (np.ascontiguousarray(X),)
    total = 0
    for part in parts:
        total = zlib.crc32(np.ascontiguousarray(part).data.cast("B"), total)
    return f"{total:08x}-{X.shape[0]}x{X.shape[1]}"
