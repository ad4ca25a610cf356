"""Model files: the program's, with what Python needs to come back as the same estimator."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _raw, _settings
from ._options import MeshOptions
from .text import TextVectorizer

#: Where a model file keeps what is Python's own.
KEY = "python"
#: Where a checkpoint keeps how far learning has come.
FIT = "python-fit"
#: Parameters that may change from one run to the next that resumes it.
FREE = ("max_iter", "tol", "n_jobs", "verbose", "checkpoint", "checkpoint_every", "resume", "transform_alpha",
        "transform_method", "sparse_output")
#: Parameters that a model file leaves out: where checkpoints go belongs to a run.
RUN = ("dict_init", "checkpoint", "checkpoint_every", "resume")


def plain(value: Any) -> Any:
    """A parameter as JSON has it; what has no such form is left out."""
    if isinstance(value, (MeshOptions, TextVectorizer)):
        return {name: plain(each) for name, each in value.get_params().items()}
    if hasattr(value, "edges") or hasattr(value, "nodes"):
        return _settings.edges(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, (list, tuple, range)):
        return [plain(v) for v in value]
    return value if isinstance(value, (str, bool, dict)) else None


def params_of(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator, as JSON has them."""
    return {k: plain(v) for k, v in estimator.get_params(deep=False).items() if k not in RUN}


def extra_of(estimator: Any, **extra: Any) -> str:
    """The entries of a model file that are Python's, as JSON."""
    about = {
        "class": type(estimator).__name__,
        "params": params_of(estimator),
        "dtype": str(estimator.components_.dtype),
        "raw": estimator._raw_kind,
    }
    return json.dumps({**extra, "preparation": estimator._preparation(), KEY: about})


def save(estimator: Any, mesh: _core.Mesh, path: str | os.PathLike[str], **extra: Any) -> None:
    """Writes the file, whole or not at all."""
    names = getattr(estimator, "feature_names_in_", None)
    mesh.save(os.fspath(path), None if names is None else [str(n) for n in names], extra_of(estimator, **extra))


def checkpoint_of(
    estimator: Any, path: str | os.PathLike[str], fingerprint: str
) -> tuple[_core.Mesh, str, _core.Preparation]:
    """The mesh of a checkpoint, how far it has come, and its preparation; refused if it is of another run."""
    mesh, text, how = _core.Mesh.load(os.fspath(path))
    extra = json.loads(text).get("extra", {})
    if FIT not in extra or KEY not in extra:
        raise ValueError(f"{os.fspath(path)} is a model, but no checkpoint of fit: give another checkpoint=PATH.")
    if extra.get("fingerprint") != fingerprint:
        raise ValueError(
            f"{os.fspath(path)} was begun with other samples ({extra.get('fingerprint')}; these are {fingerprint}): give "
            "the same samples in the same order, or another checkpoint=PATH."
        )
    begun, now = extra[KEY]["params"], params_of(estimator)
    other = [name for name in now if name not in FREE and begun.get(name) != now[name]]
    if extra[KEY]["class"] != type(estimator).__name__ or other:
        listed = ", ".join(f"{name} = {begun.get(name)!r}, now {now[name]!r}" for name in other)
        raise ValueError(
            f"{os.fspath(path)} was begun by {extra[KEY]['class']} with {listed or 'other settings'}: give the same, or "
            "another checkpoint=PATH."
        )
    return mesh, json.dumps(extra[FIT]), how


def load(path: str | os.PathLike[str]) -> Any:
    """Load an estimator from a model file, saved here or by the program.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        What was saved. A model of the program becomes an :class:`NMF` if its atoms and codes are non-negative, and
        a :class:`DictionaryLearning` otherwise. It takes the raw data that the model was learned from: numbers,
        documents or pictures.

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

    mesh, text, how = _core.Mesh.load(os.fspath(path))
    description = json.loads(text)
    about = description.get("extra", {}).get(KEY)
    classes = {c.__name__: c for c in (decomposition.DictionaryLearning, decomposition.NMF, novelty.NoveltyDetector)}
    if about is None:
        about = from_program(description, mesh.sizes())
        more = _raw.params_of(how)
        if about["class"] == "NMF" and not set(more) <= {"normalize", "vectorizer"}:
            about["class"] = "DictionaryLearning"
            more.update(positive_code=True, positive_dict=True)
        about["params"].update(more)
    if about["class"] not in classes:
        raise ValueError(f"{os.fspath(path)} holds a {about['class']}, which this version does not know; use a newer one.")
    params = dict(about["params"])
    if isinstance(params.get("mesh"), dict):
        params["mesh"] = MeshOptions(**params["mesh"])
    if isinstance(params.get("vectorizer"), dict):
        params["vectorizer"] = TextVectorizer(**params["vectorizer"])
    estimator = classes[about["class"]](**params)
    estimator._precision = np.dtype(about["dtype"])
    estimator._take_how(how)
    estimator.n_features_in_ = mesh.features
    names = description.get("feature_names")
    if names is not None and estimator._raw_kind == "numbers":
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator._restore(mesh, description)
    return estimator


def from_program(description: Mapping[str, Any], sizes: list[int]) -> dict[str, Any]:
    """The estimator that a model of the program stands for."""
    task, common = description["task"], description["task"]["common"]
    nets = [task.get("own", {}).get(str(k), common)["regularizer"] for k in range(len(sizes))]
    kind = nets[0]["kind"]
    if any(net["kind"] != kind for net in nets) or (task.get("own") and kind != "weighted-elastic-net"):
        raise ValueError(
            "This model has agents with penalties of their own kind, which no estimator has; use dictmesh.Mesh.load "
            "to work with it."
        )
    residual, stopping = task["residual"], description["stopping"]
    atoms_set = common.get("set", "unit-ball")
    atoms_set = atoms_set if isinstance(atoms_set, str) else atoms_set["kind"]
    positive_code = kind == "non-negative-elastic-net" or bool(nets[0].get("non_negative", False))
    positive_dict = atoms_set.startswith("non-negative")
    gamma = [g for net in nets for g in net["gamma"]] if kind == "weighted-elastic-net" else nets[0]["gamma"]
    informed = description["informed"]
    mesh = MeshOptions(
        n_agents=description["agents"],
        topology=description["edges"] if description["agents"] > 1 else None,
        weights="uniform" if description.get("weights") == "uniform" else "metropolis",
        strategy={k: v for k, v in description["strategy"].items() if v is not None},
        informed="all" if informed is None or len(informed) == description["agents"] else informed,
        tol=stopping.get("tolerance"),
        max_rounds=stopping["rounds"],
        accel=description.get("accel", "all"),
    )
    params: dict[str, Any] = {
        "n_components": sum(sizes),
        "gamma": gamma,
        "delta": nets[0]["delta"],
        "loss": "squared" if residual["kind"] == "squared-l2" else residual["kind"],
        "dict_norm": "l1" if atoms_set.endswith("unit-l1-ball") else "l2",
        "beta": common.get("penalty", {}).get("beta", 0.0),
        "batch_size": description["batch"],
        "update": _settings.update_name(description["update"], description["batch"]),
        "mesh": mesh,
        "random_state": description["seed"],
    }
    if residual["kind"] == "huber":
        params["eta"] = residual["eta"]
    if residual["kind"] == "ball":
        params["radius"] = residual["sigma"]
    if kind == "boxed-elastic-net":
        params["code_bounds"] = (nets[0].get("lo"), nets[0].get("hi"))
    if kind == "group-elastic-net":
        params["code_groups"] = nets[0]["group"]
    if (positive_code, positive_dict) == (True, True) and kind == "non-negative-elastic-net":
        return {"class": "NMF", "params": params, "dtype": "float64"}
    params["positive_code"], params["positive_dict"] = positive_code, positive_dict
    return {"class": "DictionaryLearning", "params": params, "dtype": "float64"}
