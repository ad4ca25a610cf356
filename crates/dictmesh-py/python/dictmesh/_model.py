"""Model files: the program's, with what Python needs to come back as the same estimator."""

from __future__ import annotations

import json
import numbers
import os
import warnings
from typing import Any

import numpy as np

from . import _core

#: Where a model file keeps what is Python's own.
KEY = "python"


def plain(value: Any) -> Any:
    """A parameter as JSON has it; what has no such form is left out."""
    if hasattr(value, "edges"):
        return [list(edge) for edge in value.edges]
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, (list, tuple, range)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, bool, dict)) else None


def save(estimator: Any, mesh: _core.Mesh, path: str | os.PathLike[str], **extra: Any) -> None:
    """Writes the file, whole or not at all."""
    names = getattr(estimator, "feature_names_in_", None)
    params = {k: plain(v) for k, v in estimator.get_params(deep=False).items() if k != "dict_init"}
    about = {"class": type(estimator).__name__, "params": params, "dtype": str(estimator.components_.dtype)}
    extra[KEY] = about
    mesh.save(os.fspath(path), None if names is None else [str(n) for n in names], json.dumps(extra))


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a model file, saved here or by the program.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        What was saved. A model of the program becomes an :class:`NMF` if its atoms and codes are non-negative, and
        a :class:`DictionaryLearning` otherwise.

    Examples
    --------
    >>> import numpy as np, tempfile, os, dictmesh
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> learned = dictmesh.DictionaryLearning(4, alpha=0.1, random_state=0, max_iter=2, tol=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as d:
    ...     learned.save(os.path.join(d, "m.model"))
    ...     again = dictmesh.load(os.path.join(d, "m.model"))
    >>> bool((again.transform(X) == learned.transform(X)).all())
    True
    """
    from . import decomposition, novelty  # they need this module first

    mesh, text = _core.Mesh.load(os.fspath(path))
    description = json.loads(text)
    about = description.get("extra", {}).get(KEY)
    classes = {c.__name__: c for c in (decomposition.DictionaryLearning, decomposition.NMF, novelty.NoveltyDetector)}
    if about is None:
        about = from_program(description, sum(mesh.sizes()))
    if about["class"] not in classes:
        raise ValueError(f"{os.fspath(path)} holds a {about['class']}, which this version does not know; use a newer one.")
    estimator = classes[about["class"]](**about["params"])
    estimator._precision = np.dtype(about["dtype"])
    estimator.n_features_in_ = mesh.features
    names = description.get("feature_names")
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator._restore(mesh, description)
    return estimator


def from_program(description: dict[str, Any], atoms: int) -> dict[str, Any]:
    """The estimator that a model of the program stands for."""
    task = description["task"]
    regularizer = task["common"]["regularizer"]
    kind = regularizer["kind"]
    if task.get("own") or kind == "boxed-elastic-net":
        raise ValueError(
            "This model has codes in a box, or agents with weights of their own, which no estimator has; use "
            "dictmesh.Mesh.load to work with it."
        )
    how = description.get("extra", {}).get("preparation", {}).get("how", {})
    if how.get("kind") not in (None, "numbers") or how.get("norm", "none") != "none" or how.get("centre", "none") != "none":
        warnings.warn(
            f"This model was learned from raw data that the program prepares ({how.get('kind')}); here, samples have "
            "to be prepared in the same way first.",
            UserWarning,
            stacklevel=3,
        )
    residual = task["residual"]
    stopping = description["stopping"]
    atoms_set = task["common"].get("set", "unit-ball")
    atoms_set = atoms_set if isinstance(atoms_set, str) else atoms_set["kind"]
    positive = (kind == "non-negative-elastic-net", atoms_set.startswith("non-negative"))
    params: dict[str, Any] = {
        "n_components": atoms,
        "gamma": regularizer["gamma"],
        "delta": regularizer["delta"],
        "loss": "squared" if residual["kind"] == "squared-l2" else residual["kind"],
        "batch_size": description["batch"],
        "n_agents": description["agents"],
        "topology": description["edges"] if description["agents"] > 1 else None,
        "strategy": {k: v for k, v in description["strategy"].items() if v is not None},
        "informed": description["informed"],
        "inference_tol": stopping.get("tolerance"),
        "max_rounds": stopping["rounds"],
        "accel": description.get("accel", "all"),
        "random_state": description["seed"],
    }
    if residual["kind"] == "huber":
        params["eta"] = residual["eta"]
    if residual["kind"] == "ball":
        params["radius"] = residual["sigma"]
    if positive == (True, True):
        return {"class": "NMF", "params": params, "dtype": "float64"}
    params["positive_code"], params["positive_dict"] = positive
    return {"class": "DictionaryLearning", "params": params, "dtype": "float64"}
