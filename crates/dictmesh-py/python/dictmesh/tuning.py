"""Choice of settings: the program's ``tune``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _core, _settings
from ._options import MeshOptions
from ._progress import shown, threads
from ._types import Loss, RandomState, Samples, StrategyName
from .decomposition import DictionaryLearning
from .text import TextVectorizer

__all__ = ["StrategyComparison", "StrategyNeeds", "TuneCell", "Tuning", "tune"]

#: Decibels of the signal-to-noise ratio that can be asked for.
GOALS = (20, 40, 60)
#: Agents on which strategies are compared.
AGENTS = 16


@dataclass
class TuneCell:
    """One gamma and one number of atoms, judged by held-out samples."""

    #: Weight of |y|_1.
    gamma: float
    #: Number of atoms.
    n_components: int
    #: Relative squared error on hidden entries: 0 is perfect, 1 is as good as predicting 0.
    error: float
    #: Standard error of ``error``.
    standard_error: float
    #: Mean number of nonzero coefficients of a sample.
    nonzeros: float
    #: Relative squared error on the visible entries.
    residual: float


@dataclass
class StrategyNeeds:
    """The rounds that one strategy needs to the goal."""

    #: Its name.
    strategy: str
    #: The constant that was searched, with its best value; empty if it has none.
    constant: dict[str, float]
    #: Rounds to the goal; None if it was not reached.
    rounds: int | None
    #: Why the strategy cannot solve this problem; None if it can.
    unsupported: str | None


@dataclass
class StrategyComparison:
    """Strategies against the exact solution of a few samples."""

    n_agents: int
    n_links: int
    n_components: int
    n_samples: int
    #: The signal-to-noise ratio to reach, in dB.
    goal: float
    strategies: list[StrategyNeeds]
    #: The strategy that reaches the goal in the fewest hops, as :class:`MeshOptions` takes it.
    suggested: dict[str, Any] | None


@dataclass
class Tuning:
    """The result of :func:`tune`."""

    #: The chosen gamma.
    gamma: float
    #: The chosen number of atoms.
    n_components: int
    #: All that was tried, the simplest first.
    cells: list[TuneCell]
    #: Ends of the grid at which the choice lies, with values to try next.
    edges: list[dict[str, Any]]
    #: The strategies; None if they were not compared.
    comparison: StrategyComparison | None


def tune(
    X: Samples,
    *,
    gammas: Sequence[float] | None = None,
    n_components: Sequence[int] | None = None,
    delta: float = 0.1,
    loss: Loss = "squared",
    eta: float = 0.2,
    radius: float = 0.1,
    positive: bool = False,
    compare: bool = True,
    mesh: MeshOptions | None = None,
    strategies: Sequence[StrategyName] | None = None,
    goal: Literal[20, 40, 60] = 40,
    n_samples: int = 3,
    max_rounds: int = 2000,
    batch_size: int | None = None,
    max_iter: int | None = None,
    vectorizer: TextVectorizer | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Tuning:
    r"""Choose gamma and the number of atoms for samples, and the strategy for a mesh.

    Dictionaries are learned from most of the samples. Each is judged by how well it predicts hidden entries of the
    others: the choice is the simplest within one standard error of the best. Then each strategy is run, round by
    round, against the exact solution of a few samples. The program's ``dictmesh tune`` gives the same.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features), or list of str
        At least 10 samples.
    gammas : list of float, default=None
        Weights of \|y\|_1 to try; 0.02 to 0.4 of the size of a sample if None.
    n_components : list of int, default=None
        Numbers of atoms to try; up to twice the number of features if None.
    delta, loss, eta, radius
        As in :class:`DictionaryLearning`.
    positive : bool, default=False
        No negative entries in atoms and codes, as in :class:`NMF`.
    compare : bool, default=True
        Whether strategies are compared.
    mesh : MeshOptions, default=None
        The mesh for the comparison; 16 agents if None.
    strategies : list of str, default=None
        The strategies to compare; those that gossip if None.
    goal : {20, 40, 60}, default=40
        The signal-to-noise ratio against the exact solution that a strategy must reach, in dB.
    n_samples : int, default=3
        Samples on which strategies are compared.
    max_rounds : int, default=2000
        Rounds of each run, at most.
    batch_size, max_iter : int, default=None
        The batch and the passes of learning; by the number of samples if None.
    vectorizer, random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Returns
    -------
    tuning : Tuning

    Examples
    --------
    >>> import numpy as np, dictmesh
    >>> rng = np.random.default_rng(0)
    >>> X = (rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.5)) @ np.eye(12)[:4] * 3
    >>> found = dictmesh.tune(X, n_components=[2, 4, 8], compare=False, random_state=0)
    >>> found.n_components
    4
    """
    options = MeshOptions(n_agents=AGENTS) if mesh is None else mesh
    seed = _settings.seed_of(random_state)
    if goal not in GOALS:
        raise ValueError(f"goal == {goal!r}, must be one of {GOALS}: decibels of the signal-to-noise ratio.")
    if strategies is not None:
        for name in strategies:
            _settings.one_of("strategies", name, tuple(_settings.STRATEGIES))
    learner = DictionaryLearning(
        gamma=0.1, delta=delta, loss=loss, eta=eta, radius=radius, positive_code=positive, positive_dict=positive,
        vectorizer=vectorizer,
    )
    X = learner._first(X)
    atoms = [] if n_components is None else [_settings.whole(n, "n_components", min_val=1) for n in n_components]
    values = [] if gammas is None else [_settings.real(g, "gammas", min_val=0) for g in gammas]
    core = options._core_settings(seed)
    given = core["strategy"] if options.strategy != "auto" else None
    task = learner._task(transform=False)
    settings = {
        "task": task,
        "gammas": values,
        "atoms": atoms,
        "batch": None if batch_size is None else _settings.whole(batch_size, "batch_size", min_val=1),
        "passes": None if max_iter is None else _settings.whole(max_iter, "max_iter", min_val=1),
        "update": None,
        "seed": seed,
        "choose": True,
        "mesh": {
            **core,
            "strategy": {"kind": "auto"},
            "task": task,
            "atoms": 1,
            "update": _settings.update("adaptive", 256),
            "batch": 256,
            "seed": seed,
            "random_start": False,
        }
        if compare
        else None,
        "comparison": {
            "strategies": list(strategies or []),
            "given": given,
            "goal": GOALS.index(goal),
            "rounds": _settings.whole(max_rounds, "max_rounds", min_val=1),
            "samples": _settings.whole(n_samples, "n_samples", min_val=1),
        },
    }
    with shown(verbose, "tuning") as progress:
        found = json.loads(_core.tune(_settings.text(settings), X, threads(n_jobs), progress, learner._prepare))
    choice, comparison = found["choice"], found["comparison"]
    return Tuning(
        gamma=choice["gamma"],
        n_components=choice["atoms"],
        cells=[
            TuneCell(c["gamma"], c["atoms"], c["score"], c["standard_error"], c["nonzeros"], c["residual"])
            for c in choice["cells"]
        ],
        edges=choice["edges"],
        comparison=None if comparison is None else _comparison(comparison),
    )


def _comparison(found: Mapping[str, Any]) -> StrategyComparison:
    goal = GOALS.index(round(found["goal_db"]))
    needs = []
    for each in found["strategies"]:
        best = None if each["tuned"] is None else each["tuned"]["best"]
        constant = None if best is None else best.get("constant")
        rounds = None
        if best is not None and None not in (best["rounds_nu"][goal], best["rounds_y"][goal]):
            rounds = max(best["rounds_nu"][goal], best["rounds_y"][goal])
        needs.append(
            StrategyNeeds(
                each["strategy"],
                {} if constant is None else {constant["name"]: constant["value"]},
                rounds,
                each["unsupported"],
            )
        )
    suggested = found["suggested"]
    if suggested is not None:
        constant = suggested["constant"]
        more = {} if constant is None else {constant["name"]: constant["value"]}
        if suggested["bits"] is not None:
            more["bits"] = int(suggested["bits"])
        more = {name: int(value) if name == "bits" else value for name, value in more.items()}
        suggested = {"kind": suggested["strategy"], **more}
    return StrategyComparison(
        found["agents"], found["links"], found["atoms"], found["samples"], found["goal_db"], needs, suggested
    )
