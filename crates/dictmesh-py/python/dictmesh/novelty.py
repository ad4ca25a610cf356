"""Novelty detection by the cost of codes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _data, _model, _settings
from ._base import Kept
from ._progress import shown, threads, warn
from ._raw import Raw
from ._types import Center, Normalize, RandomState, Samples, Strategy
from .text import TextVectorizer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Explanation", "NoveltyDetector"]

T = TypeVar("T")

@dataclass
class Explanation:
    """The reasons for a sample's score."""

    #: The cost of its code; higher is more novel.
    cost: float
    #: The atoms with the largest weights in its code: number, weight, and their heaviest features (name, weight).
    atoms: list[tuple[int, float, list[tuple[str, float]]]] = field(default_factory=list)
    #: The features with the largest weights in the residual, which no atom expresses: (name, weight).
    unexplained: list[tuple[str, float]] = field(default_factory=list)


class NoveltyDetector(Raw, OutlierMixin, BaseEstimator):
    r"""Novelty detection by the cost of coding a sample.

    A dictionary is learned from known samples. The cost of coding a sample x by it,

    .. code-block:: text

        cost(x) = min_y  f(x - sum_k y_k w_k)  +  gamma |y|_1  +  delta/2 |y|_2^2

    is high if no atom expresses it. Signs are scikit-learn's: ``score_samples`` is minus the cost, so that
    **normal is high**, ``decision_function`` is ``score_samples - offset_``, and ``predict`` returns -1 (novel) where
    it is negative and +1 (normal) elsewhere.

    For a stream, ``partial_fit`` takes one block after another. Each block is scored by the atoms learned before it
    (see ``block_scores_``). Then agents join the mesh, and the block is learned. It is not stored.

    Samples are numbers, or documents, which a :class:`TextVectorizer` turns into numbers: ``fit`` and
    ``partial_fit`` weigh a block of documents by the frequencies before it, so that new words count.

    Parameters
    ----------
    n_components : int, default=10
        Atoms at the start.
    atoms_per_agent : int, default=1
        Atoms of each agent; ``n_components`` is a multiple of it.
    agents_per_block : int, default=10
        Agents that join before a further block is learned by ``partial_fit``.
    edge_probability : float, default=0.5
        The probability with which an agent is linked to each other; 1 for a complete graph.
    gamma, delta : float, default=0.01, 0.05
        Weights of \|y\|_1 and of \|y\|^2 / 2.
    loss : {"squared", "huber"}, default="squared"
        f, as in :class:`DictionaryLearning`.
    eta : float, default=0.2
        Where the Huber loss turns linear.
    positive : bool or "auto", default="auto"
        Whether atoms and codes have no negative entries; "auto" does as the first samples do.
    center : {"sample", "feature"}, default=None
        Subtract the mean of each sample, or of each feature over the first samples.
    normalize : {"l2", "l1"} or None, default="l2"
        Scale each sample to norm 1, after centring. Not for documents, whose vectors have norm 1.
    vectorizer : TextVectorizer, default=None
        How documents become numbers; ``TextVectorizer()`` if None.
    contamination : float, default=0.05
        The share of known samples above the threshold: it sets ``offset_``.
    batch_size : int, default=10
        Samples per update.
    max_iter : int, default=3
        Passes over a block.
    strategy : str or dict, default="auto"
        As in :class:`MeshOptions`. Here "auto" is "tree" or "relaxed-admm", whichever takes less
        arithmetic: in one process, messages take no time.
    inference_tol : float, default=1e-3
        ``tol`` of :class:`MeshOptions`.
    max_rounds, random_state, n_jobs, verbose
        As in :class:`MeshOptions` and :class:`DictionaryLearning`.

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
    >>> detector = NoveltyDetector(4, random_state=0).fit(known)
    >>> detector.predict(new)
    array([-1, -1, -1, -1, -1])
    >>> why = detector.explain(new[:1])[0]
    >>> sorted(name for name, _ in why.unexplained[:2])
    ['x0', 'x1']
    """

    n_components: int
    atoms_per_agent: int
    agents_per_block: int
    edge_probability: float
    gamma: float
    delta: float
    loss: str
    eta: float
    positive: bool | str
    contamination: float
    batch_size: int
    max_iter: int
    strategy: Strategy
    inference_tol: float
    max_rounds: int
    random_state: RandomState
    n_jobs: int | None
    verbose: int
    components_: np.ndarray
    block_scores_: np.ndarray | None
    _mesh: _core.Mesh

    def __init__(
        self,
        n_components: int = 10,
        *,
        atoms_per_agent: int = 1,
        agents_per_block: int = 10,
        edge_probability: float = 0.5,
        gamma: float = 0.01,
        delta: float = 0.05,
        loss: Literal["squared", "huber"] = "squared",
        eta: float = 0.2,
        positive: bool | Literal["auto"] = "auto",
        center: Center | None = None,
        normalize: Normalize | None = "l2",
        vectorizer: TextVectorizer | None = None,
        contamination: float = 0.05,
        batch_size: int = 10,
        max_iter: int = 3,
        strategy: Strategy = "auto",
        inference_tol: float = 1e-3,
        max_rounds: int = 100_000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def fit(self, X: Samples, y: object = None) -> Self:
        """Learn the known samples.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or list of str
        y : ignored

        Returns
        -------
        self
        """
        X = self._first(X, stream=True)
        share = self._normal_share()
        self._begin(X)
        self._learn(X)
        self._set_offset(self._costs(X), share)
        return self

    def partial_fit(self, X: Samples, y: object = None) -> Self:
        """Score a block by the atoms learned before it, add agents, and learn it. The first block is only learned.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or list of str
        y : ignored

        Returns
        -------
        self
        """
        if not hasattr(self, "_mesh"):
            return self.fit(X)
        share = self._normal_share()
        count = _settings.whole(self.agents_per_block, "agents_per_block", min_val=0)
        X = self._next(X, stream=True)
        costs = self._costs(X)
        if count:
            self._mesh.grow(self._grow_settings, X, count, self._prepare)
        self._learn(X)
        self.block_scores_ = -costs
        self._set_offset(costs, share)
        return self

    def score_samples(self, X: Samples) -> np.ndarray:
        """Minus the cost of each sample: normal is high.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or list of str

        Returns
        -------
        scores : ndarray of shape (n_samples,)
        """
        return -self._costs(self._next(X))

    def decision_function(self, X: Samples) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for what is novel."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Samples) -> np.ndarray:
        """-1 for novel samples, +1 for normal ones."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def explain(
        self, X: Samples, *, n_atoms: int = 2, n_terms: int = 6, feature_names: Iterable[str] | None = None
    ) -> list[Explanation]:
        """Return for each sample the atoms that express it, and the features that no atom expresses.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        n_atoms, n_terms : int
            The most atoms and features to return.
        feature_names : list of str, default=None
            Names of the features; those of ``fit``, or x0, x1, ..., if None.

        Returns
        -------
        explanations : list of Explanation
        """
        X = self._next(X)
        names = self._feature_names(feature_names)
        atoms = _settings.whole(n_atoms, "n_atoms", min_val=0)
        terms = _settings.whole(n_terms, "n_terms", min_val=0)
        try:
            text = _core.explain(self._mesh, X, atoms, terms, names, threads(self.n_jobs), self._prepare)
        except ValueError as error:
            _data.refuse(self, X, error)
        told = []
        for found in json.loads(text):
            used = [(a["atom"], a["weight"], _terms(a["terms"])) for a in found["atoms"]]
            told.append(Explanation(found["score"], used, _terms(found["unexplained"])))
        return told

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the model in the file format of the program, whose ``score`` can use it as well."""
        check_is_fitted(self)
        scores = _core.kept_scores(self._past)
        _model.save(self, self._mesh, path, scores=scores, offset=self.offset_)

    def _restore(self, mesh: _core.Mesh, description: Mapping[str, Any]) -> None:
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
            positive = self.center is None and bool(entries.size == 0 or entries.min() >= 0)
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
        self._mesh = _core.Mesh.detector(self._grow_settings, X, self._prepare)
        self._precision, self._kept = X.dtype, Kept()
        self._past = np.empty(0)
        self.offset_ = -np.inf
        self.block_scores_ = None
        self.n_iter_ = 0
        self.cost_history_ = np.empty(0)
        self._publish()

    def _set_growth(self, task: Mapping[str, Any], seed: int) -> None:
        atoms = _settings.whole(self.n_components, "n_components", min_val=1)
        each = _settings.whole(self.atoms_per_agent, "atoms_per_agent", min_val=1)
        if atoms % each:
            raise ValueError(
                f"n_components == {atoms} is no multiple of atoms_per_agent == {each}: agents start with as many each."
            )
        self._grow_settings = _settings.text(
            {
                "task": task,
                "agents": atoms // each,
                "atoms_each": each,
                "p": _settings.real(self.edge_probability, "edge_probability", min_val=0, max_val=1),
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
                self._mesh.learn(X, passes, 0.0, threads(self.n_jobs), progress, self._prepare)
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
                return ask(kept.coder)(X, threads(self.n_jobs), progress, self._prepare)
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _terms(found: list[dict[str, Any]]) -> list[tuple[str, float]]:
    """Names of features with their weights."""
    return [(term["name"], term["weight"]) for term in found]
