"""Leakage of a mesh: the program's ``audit``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sklearn.utils.validation import check_is_fitted

from . import _core, _settings
from ._progress import shown, threads
from ._types import RandomState, Samples, StrategyName

__all__ = ["Audit", "AuditedAgent", "AuditedStrategy", "Recovery", "audit"]


@dataclass
class AuditedAgent:
    """What attackers recover of one agent."""

    #: The agent under attack, and the neighbours that attack it.
    target: int
    attackers: list[int]
    #: |cosine| of each atom with the nearest direction found.
    cosines: list[float]


@dataclass
class Recovery:
    """What attackers recover of the private atoms."""

    #: Mean |cosine| of the atoms that were used with the directions found; None without any.
    mean_cosine: float | None
    max_cosine: float | None
    #: Atoms with a cosine of at least 0.99, of those that were used.
    recovered: int
    atoms: int
    agents: list[AuditedAgent]


@dataclass
class AuditedStrategy:
    """The leakage of one strategy."""

    name: str
    strategy: str
    constants: dict[str, float]
    masked: bool
    #: Rounds to a relative error of 1e-3; None if more than were recorded.
    rounds_to_60_db: int | None
    #: Whether half of the atoms or more are recovered.
    broken: bool
    #: By attackers that know the samples, and by those that do not.
    x_known: Recovery
    x_unknown: Recovery
    #: Mean |cosine| between samples and their best estimate.
    x_cosine: float | None
    #: Mean |cosine| between samples and nu, which every agent receives.
    nu_cosine: float


@dataclass
class Audit:
    """The result of :func:`audit`."""

    n_agents: int
    n_links: int
    n_components: int
    n_samples: int
    rounds: int
    colluding: int
    #: Expected |cosine| of an atom with random directions.
    chance: float
    #: Expected |cosine| of a sample with one random direction.
    chance_of_x: float
    strategies: list[AuditedStrategy]
    #: Why strategies were left out.
    left_out: list[str]


def audit(
    estimator: Any,
    X: Samples,
    *,
    strategy: StrategyName | Mapping[str, object] | None = None,
    n_samples: int = 40,
    max_rounds: int = 400,
    colluding: int = 1,
    random_start: Sequence[float] = (1.0,),
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Audit:
    """Measure what curious neighbours can recover of private atoms and samples.

    A run of each strategy is recorded. Neighbours of each agent follow the protocol and store all that they receive.
    From it they compute the directions of the agent's atoms, and the samples. The program's ``dictmesh audit
    --model`` gives the same.

    Parameters
    ----------
    estimator : DictionaryLearning, NMF or NoveltyDetector
        Fitted, with more than one agent.
    X : array-like or CSR matrix of shape (n_samples, n_features), or list of str
        Samples that it has not learned from, raw as in ``fit``. A fifth of them is drawn, and of that ``n_samples``
        are used.
    strategy : str or dict, default=None
        The strategy to audit; all if None.
    n_samples : int, default=40
        Samples whose messages are recorded, at most.
    max_rounds : int, default=400
        Rounds that are recorded.
    colluding : int, default=1
        Neighbours of an agent that combine what they receive.
    random_start : list of float, default=(1.0,)
        Sizes of the random start of "relaxed-admm", each audited besides the zero start.
    random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Returns
    -------
    audit : Audit

    Examples
    --------
    >>> import numpy as np, dictmesh
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 8))
    >>> e = dictmesh.NMF(4, mesh=dictmesh.MeshOptions(2), max_iter=1, tol=0, random_state=0).fit(abs(X))
    >>> found = dictmesh.audit(e, abs(X), strategy="diffusion", n_samples=10, max_rounds=50, random_state=0)
    >>> found.n_agents, found.strategies[0].name
    (2, 'diffusion')
    """
    check_is_fitted(estimator)
    X = estimator._next(X)
    settings = {
        "strategy": None if strategy is None else _settings.strategy(strategy),
        "rounds": _settings.whole(max_rounds, "max_rounds", min_val=4),
        "samples": _settings.whole(n_samples, "n_samples", min_val=1),
        "colluding": _settings.whole(colluding, "colluding", min_val=1),
        "random_start": [_settings.real(size, "random_start", min_val=0) for size in random_start],
        "seed": _settings.seed_of(random_state),
    }
    with shown(verbose, "audit") as progress:
        text = _core.audit(
            _settings.text(settings), estimator._mesh, X, threads(n_jobs), progress, estimator._prepare
        )
    found = json.loads(text)
    return Audit(
        n_agents=found["agents"],
        n_links=found["links"],
        n_components=found["atoms"],
        n_samples=found["samples"],
        rounds=found["rounds"],
        colluding=found["colluding"],
        chance=found["chance"],
        chance_of_x=found["chance_of_x"],
        strategies=[_strategy(each) for each in found["strategies"]],
        left_out=found["left_out"],
    )


def _strategy(found: Mapping[str, Any]) -> AuditedStrategy:
    own = {name: found[name] for name in _names(AuditedStrategy) if name in found}
    return AuditedStrategy(
        **{**own, "x_known": _recovery(found["x_known"]), "x_unknown": _recovery(found["x_unknown"])}
    )


def _recovery(found: Mapping[str, Any]) -> Recovery:
    agents = [
        AuditedAgent(each["target"], each["attackers"], [atom["cosine"] for atom in each["atoms"]])
        for each in found["agents"]
    ]
    own = {name: found[name] for name in _names(Recovery)}
    return Recovery(**{**own, "agents": agents})


def _names(kind: type) -> list[str]:
    return [field.name for field in fields(kind)]
