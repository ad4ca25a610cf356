"""Novelty detection: what a learned dictionary expresses badly is new."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _data, _model, _settings
from ._base import Kept
from ._progress import shown, threads, warn

__all__ = ["Explanation", "NoveltyDetector"]

T = TypeVar("T")

#: Scores that a model file keeps at most, as the program's.
KEPT_SCORES = 1000


@dataclass
class Explanation:
    """Why a sample scores what it scores."""

    #: What coding it costs; higher is more novel.
    cost: float
    #: The atoms it lit up most: number, weight in its code, and their heaviest features (name, weight).
    atoms: list[tuple[int, float, list[tuple[str, float]]]] = field(default_factory=list)
    #: The features that weigh most in what no atom expresses: (name, weight).
    unexplained: list[tuple[str, float]] = field(default_factory=list)


class NoveltyDetector(OutlierMixin, BaseEstimator):
    r"""Novelty detection by the cost of coding a sample.

    A dictionary is learned from what is known. What coding a sample x by it costs,

    .. code-block:: text

        cost(x) = min_y  f(x - sum_k y_k w_k)  +  gamma |y|_1  +  delta/2 |y|_2^2

    is high where no atom expresses it. Signs are scikit-learn's: ``score_samples`` is minus the cost, so that
    **normal is high**, ``decision_function`` is ``score_samples - offset_``, and ``predict`` says -1 (novel) where it
    is negative and +1 (normal) elsewhere.

    For a stream, ``partial_fit`` takes one block after the other. Each is scored by what was learned before it (see
    ``block_scores_``); then agents join the mesh, and the block is learned. After that it is forgotten.

    Parameters
    ----------
    n_agents : int, default=10
        Agents at the start.
    atoms_per_agent : int, default=1
        Atoms of each agent.
    grow : int, default=10
        Agents that join before a further block is learned by ``partial_fit``.
    join : float, default=0.5
        The probability with which an agent is joined to each other; 1 for a complete graph.
    gamma, delta : float, default=0.01, 0.05
        Weights of \|y\|_1 and of \|y\|^2 / 2.
    loss : {"squared", "huber"}, default="squared"
        f, as in :class:`DictionaryLearning`.
    eta : float, default=0.2
        Where the Huber loss turns linear.
    positive : bool or "auto", default="auto"
        Whether atoms and codes have no negative entries; "auto" does as the first samples do.
    normalize : bool, default=True
        Scale every sample to norm 1 first.
    contamination : float, default=0.05
        The share of known samples that is called novel: ``offset_`` is set by it.
    batch_size : int, default=10
        Samples per update.
    max_iter : int, default=3
        Passes over a block.
    strategy : str or dict, default="relaxed-admm"
        As in :class:`DictionaryLearning`. In one process, "relaxed-admm" takes the least arithmetic.
    inference_tol, max_rounds, random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Attributes
    ----------
    offset_ : float
        Minus the cost above which a sample is novel: that which ``1 - contamination`` of the samples of ``fit`` do not
        exceed, or of the last block of ``partial_fit``, before it was learned. A block with more novel samples than
        that lowers it for the next one. (A billionth more, so that rounding decides nothing.)
    block_scores_ : ndarray or None
        ``score_samples`` of the last block of ``partial_fit``, before it was learned; None for the first block.
    components_ : ndarray of shape (n_components, n_features)
    agents_ : list of ndarray
    n_iter_ : int
        Passes over the last block.
    cost_history_ : ndarray
        Mean cost of a sample in each batch, before the batch was learned.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import NoveltyDetector
    >>> rng = np.random.default_rng(0)
    >>> known = rng.random((200, 3)) @ rng.random((3, 30))
    >>> new = rng.random((5, 2)) @ np.eye(30)[:2]
    >>> detector = NoveltyDetector(n_agents=4, random_state=0).fit(known)
    >>> detector.predict(new)
    array([-1, -1, -1, -1, -1])
    >>> why = detector.explain(new[:1])[0]
    >>> sorted(name for name, _ in why.unexplained[:2])
    ['x0', 'x1']
    """

    components_: np.ndarray
    block_scores_: np.ndarray | None
    _mesh: _core.Mesh

    def __init__(
        self,
        n_agents: int = 10,
        *,
        atoms_per_agent: int = 1,
        grow: int = 10,
        join: float = 0.5,
        gamma: float = 0.01,
        delta: float = 0.05,
        loss: str = "squared",
        eta: float = 0.2,
        positive: bool | str = "auto",
        normalize: bool = True,
        contamination: float = 0.05,
        batch_size: int = 10,
        max_iter: int = 3,
        strategy: Any = "relaxed-admm",
        inference_tol: float = 1e-3,
        max_rounds: int = 100_000,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_agents = n_agents
        self.atoms_per_agent = atoms_per_agent
        self.grow = grow
        self.join = join
        self.gamma = gamma
        self.delta = delta
        self.loss = loss
        self.eta = eta
        self.positive = positive
        self.normalize = normalize
        self.contamination = contamination
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.strategy = strategy
        self.inference_tol = inference_tol
        self.max_rounds = max_rounds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> NoveltyDetector:
        """Learn what is known.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        X = _data.samples(self, X, reset=True)
        share = self._normal_share()
        self._begin(X)
        self._learn(X)
        self._set_offset(self._costs(X), share)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> NoveltyDetector:
        """Score a block by what was learned before it, let agents join, and learn it; the first is only learned.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "_mesh"):
            return self.fit(X)
        X = _data.samples(self, X, reset=False)
        share = self._normal_share()
        count = _settings.whole(self.grow, "grow", min_val=0)
        costs = self._costs(X)
        if count:
            self._mesh.grow(self._grow_settings, X, count, self.normalize)
        self._learn(X)
        self.block_scores_ = -costs
        self._set_offset(costs, share)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Minus what coding each sample costs: normal is high.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return -self._costs(_data.new_samples(self, X))

    def decision_function(self, X: Any) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for what is novel."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """-1 for novel samples, +1 for normal ones."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(
        self, X: Any, *, n_atoms: int = 2, n_terms: int = 6, feature_names: Any = None
    ) -> list[Explanation]:
        """Tell for each sample which atoms express it, and which features none does.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        n_atoms, n_terms : int
            How many to tell of at most.
        feature_names : list of str, default=None
            Names of the features; those of ``fit``, or x0, x1, ..., if None.

        Returns
        -------
        explanations : list of Explanation
        """
        X = _data.new_samples(self, X)
        names = self._names(feature_names)
        codes, costs, stop, why = self._exactly(lambda coder: coder.solve, X)
        warn(stop, why, "Coding")
        atoms = np.asarray(self.components_, dtype=np.float64)

        def heaviest(weights: np.ndarray, count: int) -> list[int]:
            order = np.argsort(-np.abs(weights), kind="stable")[:count]
            return [int(i) for i in order if weights[i] != 0]

        def terms(weights: np.ndarray) -> list[tuple[str, float]]:
            return [(names[i], float(weights[i])) for i in heaviest(weights, n_terms)]

        told = []
        for i, (code, cost) in enumerate(zip(codes, costs)):
            x = X[[i]].toarray()[0] if sp.issparse(X) else np.asarray(X[i])
            x = x.astype(np.float64)
            length = np.linalg.norm(x)
            if self.normalize and length > 0:
                x = x / length
            lit = [(k, float(code[k]), terms(atoms[k])) for k in heaviest(code, n_atoms)]
            told.append(Explanation(float(cost), lit, terms(x - code @ atoms)))
        return told

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model in the file format of the program, whose ``score`` can use it as well."""
        check_is_fitted(self)
        norm = "l2" if self.normalize else "none"
        how = {"kind": "numbers", "centre": "none", "norm": norm}
        kept = sorted(self._past[-KEPT_SCORES:].tolist())
        _model.save(self, self._mesh, path, preparation={"how": how}, scores=kept, offset=self.offset_)

    def _restore(self, mesh: _core.Mesh, description: dict[str, Any]) -> None:
        """Takes over what a model file holds."""
        extra = description["extra"]
        self._mesh, self._kept = mesh, Kept()
        self._task_text = _settings.text(description["task"])
        self._set_growth(description["task"], description["seed"])
        self._past = np.asarray(extra["scores"])
        self.offset_ = float(extra["offset"])
        self.block_scores_ = None
        self.n_iter_ = self.max_iter
        self.cost_history_ = np.empty(0)
        self._publish()

    def _normal_share(self) -> float:
        """The share of samples that is called normal."""
        return 1 - _settings.real(self.contamination, "contamination", min_val=0, max_val=0.5)

    def _begin(self, X: Any) -> None:
        threads(self.n_jobs)
        _settings.one_of("loss", self.loss, ("squared", "huber"))
        gamma, delta = _settings.weights_of(1.0, 1.0, self.gamma, self.delta)
        positive = self.positive
        if positive == "auto":
            entries = X.data if sp.issparse(X) else X
            positive = bool(entries.size == 0 or entries.min() >= 0)
        task = _settings.task(
            gamma=gamma,
            delta=delta,
            loss=self.loss,
            eta=self.eta,
            positive_code=bool(positive),
            positive_dict=bool(positive),
        )
        self._task_text = _settings.text(task)
        self._set_growth(task, _settings.seed_of(self.random_state))
        self._mesh = _core.Mesh.detector(self._grow_settings, X, self.normalize)
        self._precision, self._kept = X.dtype, Kept()
        self._past = np.empty(0)
        self.offset_ = -np.inf
        self.block_scores_ = None
        self.n_iter_ = 0
        self.cost_history_ = np.empty(0)
        self._publish()

    def _set_growth(self, task: dict[str, Any], seed: int) -> None:
        self._grow_settings = _settings.text(
            {
                "task": task,
                "agents": _settings.whole(self.n_agents, "n_agents", min_val=1),
                "atoms_each": _settings.whole(self.atoms_per_agent, "atoms_per_agent", min_val=1),
                "p": _settings.real(self.join, "join", min_val=0, max_val=1),
                "strategy": _settings.strategy(self.strategy),
                "stopping": _settings.stopping(self.inference_tol, self.max_rounds),
                "batch": _settings.whole(self.batch_size, "batch_size", min_val=1),
                "seed": seed,
            }
        )

    def _learn(self, X: Any) -> None:
        passes = _settings.whole(self.max_iter, "max_iter", min_val=1)
        try:
            with shown(self.verbose, "learning") as progress:
                self._mesh.learn(X, passes, 0.0, threads(self.n_jobs), progress, self.normalize)
        finally:
            # After Ctrl-C, too.
            heard = self._mesh.heard()
            self.n_iter_ = heard["passes"]
            self.cost_history_ = np.concatenate([self.cost_history_, heard["costs"]])
            self._publish()
        warn(heard["stop"], heard["why"], "Learning", self.strategy)

    def _publish(self) -> None:
        self.components_ = self._mesh.dictionary().astype(self._precision, copy=False)
        ends = np.cumsum(self._mesh.sizes())
        self.agents_ = np.split(np.arange(len(self.components_)), ends[:-1])

    def _exactly(self, ask: Callable[[_core.Coder], Callable[..., T]], X: Any) -> T:
        """What the coder answers."""
        kept = self._kept
        if kept.coder is None or kept.atoms is not self.components_:
            kept.coder = _core.Coder(self._task_text, np.ascontiguousarray(self.components_, dtype=np.float64))
            kept.atoms = self.components_
        try:
            with shown(self.verbose, "scoring") as progress:
                return ask(kept.coder)(X, threads(self.n_jobs), progress, self.normalize)
        except ValueError as error:
            _data.refuse(self, X, error)

    def _costs(self, X: Any) -> np.ndarray:
        costs, stop, why = self._exactly(lambda coder: coder.costs, X)
        warn(stop, why, "Coding")
        return costs

    def _set_offset(self, costs: np.ndarray, share: float) -> None:
        """The smallest cost that the wanted share of these does not exceed, and a hair more: one of them has just that
        cost, and scored among others it may differ by rounding."""
        self._past = costs
        chosen = _core.threshold(costs.tolist(), share)
        self.offset_ = -np.inf if chosen is None else -chosen

    def _names(self, given: Any) -> list[str]:
        if given is None:
            given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{i}" for i in range(self.n_features_in_)]
        names = [str(name) for name in given]
        if len(names) != self.n_features_in_:
            raise ValueError(f"feature_names has {len(names)} names, but there are {self.n_features_in_} features.")
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
