"""The mesh itself, to inspect its rounds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from . import _core, _data, _settings
from ._options import MeshOptions
from ._progress import threads
from ._types import DictNorm, Graph, Loss, Numbers, RandomState, Strategy, Weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Self

__all__ = ["Exact", "Inference", "Mesh", "Run", "Topology"]


class Topology:
    """Which agents are linked: an undirected, connected graph over agents.

    Parameters
    ----------
    graph : str, list of (i, j), adjacency matrix or networkx graph
        "complete", "ring", "path", "star", "grid:4x5", "random:0.3" or "geometric:0.4", or a given graph. The nodes of
        a networkx graph are agents in their order.
    n_agents : int, default=None
        May be left out for an adjacency matrix or a networkx graph.
    random_state : int, RandomState instance or None, default=None
        For random graphs. "random:p" is drawn from this seed on until it is 2-connected, or
        connected where a 2-connected graph is unlikely. A geometric graph is drawn once, and
        refused if it is not connected.

    Examples
    --------
    >>> from dictmesh import Topology
    >>> ring = Topology("ring", 6)
    >>> ring.diameter, ring.edges[:2]
    (3, [(0, 1), (0, 5)])
    >>> ring.weights().sum(axis=0).round(12)
    array([1., 1., 1., 1., 1., 1.])
    """

    def __init__(self, graph: Graph, n_agents: int | None = None, random_state: RandomState = None) -> None:
        spec = _settings.graph(graph, _settings.seed_of(random_state))
        if spec is None:
            raise ValueError("A Topology needs a graph: a name such as 'ring', or a list of edges.")
        if n_agents is None:
            n_agents = _settings.agents_of(graph)
        self._core = _core.Topology(_settings.text(spec), int(n_agents))

    @property
    def n_agents(self) -> int:
        """N."""
        return self._core.agents

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The pairs (i, j), i < j."""
        return self._core.edges

    @property
    def diameter(self) -> int:
        """The largest number of hops between two agents."""
        return self._core.diameter

    @property
    def connectivity(self) -> float:
        """The second smallest eigenvalue of the Laplacian: the larger, the better it mixes."""
        return self._core.laplacian()[0]

    def weights(self, rule: Weights = "metropolis") -> np.ndarray:
        """The combination matrix A, with a_lk in row l and column k, by "metropolis" or "uniform"."""
        _settings.one_of("rule", rule, ("metropolis", "uniform"))
        return self._core.weights(json.dumps(rule))

    def __repr__(self) -> str:
        return f"Topology({self.n_agents} agents, {len(self.edges)} edges)"

    def __reduce__(self) -> tuple[type[Topology], tuple[list[tuple[int, int]], int]]:
        return Topology, (self.edges, self.n_agents)


@dataclass
class Inference:
    """What the agents found for a batch."""

    #: (n_samples, n_components), the agents' codes side by side.
    codes: np.ndarray
    #: (n_agents, n_samples, n_features), every agent's own nu_k.
    duals: np.ndarray
    #: (n_samples,), what each sample costs.
    costs: np.ndarray
    #: Rounds done.
    rounds: int
    #: Bytes that would have crossed links.
    bytes: int
    #: The largest distance of an agent's nu_k from the mean of all, relative to the latter.
    disagreement: float
    #: "converged", "round-limit", "diverged" or "infeasible".
    stop: str
    #: (n_samples,), the dual cost of each sample, a lower bound of its cost up to rounding.
    #: Computed from the agents' sums by strategy="tree", otherwise None.
    certified_costs: np.ndarray | None = None
    #: (n_samples,), an upper bound of the duality gap of each sample, or None. Relative to
    #: ``abs(certified_costs)`` it is at most tol**2 where the sample converged (ball and
    #: equality: tol).
    certified_gaps: np.ndarray | None = None
    #: (n_samples,), an upper bound of the distance of x - W y from the set that loss="ball" or
    #: "equality" allows, 0 for other losses, or None.
    certified_violations: np.ndarray | None = None


@dataclass
class Exact:
    """The solution of a batch in one place."""

    #: (n_samples, n_components).
    codes: np.ndarray
    #: (n_samples, n_features), nu.
    duals: np.ndarray
    #: (n_samples,), the dual cost of each sample, a lower bound of the optimum.
    costs: np.ndarray
    #: (n_samples,), the duality gap of each sample.
    gaps: np.ndarray
    #: "converged" if every gap is within 1e-10 of its cost.
    stop: str


class Run:
    """A batch that is stepped round by round, from nu = 0. Made by :meth:`Mesh.run`.

    Iterating does one round after the other, without end; with strategy="tree", which decides
    itself, until the tolerance is certified or ``max_rounds`` are done.
    """

    def __init__(self, core: _core.Run) -> None:
        self._core = core
        self.rounds = 0
        #: Bytes that would have crossed links so far.
        self.bytes = 0

    def step(self, rounds: int = 1) -> Run:
        """Make this number of rounds, or fewer if strategy="tree" ends the batch."""
        self.rounds, self.bytes = self._core.step(int(rounds))
        return self

    @property
    def duals(self) -> np.ndarray:
        """Every agent's own nu_k now, (n_agents, n_samples, n_features)."""
        return np.stack(self._core.duals())

    @property
    def codes(self) -> list[np.ndarray]:
        """Every agent's own code y_k now, recovered from its nu_k: (n_samples, its atoms) each."""
        return self._core.codes()

    def __iter__(self) -> Iterator[Run]:
        while True:
            before = self.rounds
            if self.step().rounds == before:
                return
            yield self


class Mesh:
    """Agents on a graph, each with atoms of its own, that code samples together.

    Parameters
    ----------
    dictionary : array-like of shape (n_components, n_features)
        All atoms. Agents get equal shares of them, in order. An atom longer than 1 is scaled to norm 1.
    topology : Topology
        The graph. Its agents share the atoms evenly.
    gamma : float or array-like of shape (n_components,), default=0.1
    delta : float, default=0.1
    loss, eta, radius, positive_code, positive_dict, code_bounds, code_groups, dict_norm, random_state, n_jobs
        As in :class:`DictionaryLearning`.
    weights, strategy, informed, tol, max_rounds, accel
        As in :class:`MeshOptions`.

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import Mesh, Topology
    >>> rng = np.random.default_rng(0)
    >>> W = rng.normal(size=(12, 20))
    >>> W /= np.linalg.norm(W, axis=1, keepdims=True)
    >>> x = rng.normal(size=(1, 20))
    >>> mesh = Mesh(W, Topology("random:0.5", 6), informed=[0])
    >>> nu = mesh.exact_duals(x)
    >>> run = mesh.run(x)
    >>> errors = [np.abs(run.step(50).duals - nu).max() for _ in range(4)]
    >>> bool(errors[3] < 1e-3 * errors[0])
    True
    """

    def __init__(
        self,
        dictionary: ArrayLike,
        topology: Topology,
        *,
        gamma: float | ArrayLike = 0.1,
        delta: float = 0.1,
        loss: Loss = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        positive_code: bool = False,
        positive_dict: bool = False,
        code_bounds: tuple[float | None, float | None] | None = None,
        code_groups: int | list[int] | None = None,
        dict_norm: DictNorm = "l2",
        weights: Weights = "metropolis",
        strategy: Strategy = "auto",
        informed: Iterable[int] | Literal["all"] = "all",
        tol: float | None = 1e-4,
        max_rounds: int = 100_000,
        accel: str = "all",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        atoms = check_array(dictionary, dtype=np.float64, order="C", input_name="dictionary")
        options = MeshOptions(topology.n_agents, topology, weights, strategy, informed, tol, max_rounds, accel)
        weight, delta = _settings.weights_of(1.0, 1.0, gamma, delta)
        task = _settings.task(
            gamma=weight,
            delta=delta,
            loss=loss,
            eta=eta,
            radius=radius,
            positive_code=positive_code,
            positive_dict=positive_dict,
            code_bounds=code_bounds,
            code_groups=code_groups,
            dict_norm=dict_norm,
            sizes=_settings.sizes_of(len(atoms), topology.n_agents),
        )
        settings = {
            **options._core_settings(0),
            "task": task,
            "atoms": len(atoms),
            "update": _settings.update("adaptive", 1),
            "batch": 1,
            "seed": _settings.seed_of(random_state),
            "random_start": False,
        }
        self._take(_core.Mesh.start(_settings.text(settings), atoms[:1], atoms), n_jobs)

    def _take(self, core: _core.Mesh, n_jobs: int | None) -> None:
        self._core = core
        self.n_jobs = n_jobs

    @classmethod
    def load(cls, path: str | os.PathLike[str], n_jobs: int | None = None) -> Self:
        """The mesh in a model file. It takes samples that are already prepared as the model prepares them."""
        mesh = cls.__new__(cls)
        core, _, _ = _core.Mesh.load(os.fspath(path))
        mesh._take(core, n_jobs)
        return mesh

    @classmethod
    def of(cls, estimator: Any, n_jobs: int | None = None) -> Self:
        """A copy of the mesh of an estimator that was fitted."""
        check_is_fitted(estimator)
        mesh = cls.__new__(cls)
        core = _core.Mesh.from_bytes(estimator._mesh.to_bytes())
        mesh._take(core, n_jobs)
        return mesh

    @property
    def dictionary(self) -> np.ndarray:
        """All atoms, (n_components, n_features)."""
        return self._core.dictionary()

    @property
    def agents(self) -> list[np.ndarray]:
        """Which atoms each agent has."""
        sizes = self._core.sizes()
        return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])

    @property
    def informed(self) -> list[int]:
        """The agents that receive the samples."""
        return self._core.informed()

    @property
    def topology(self) -> Topology:
        """The graph."""
        return Topology(self._core.edges(), len(self._core.sizes()))

    @property
    def warnings(self) -> list[str]:
        """Warnings, such as steps above their bounds."""
        return self._core.warnings()

    def set_strategy(self, strategy: Strategy, tol: float | None = 1e-4, max_rounds: int = 100_000) -> Self:
        """Set the strategy, and when its rounds end."""
        how = _settings.text(_settings.strategy(strategy))
        self._core.set_strategy(how, _settings.text(_settings.stopping(tol, max_rounds)))
        return self

    def infer(self, X: Numbers) -> Inference:
        """Code samples: rounds until the stopping rule ends them.

        With strategy="tree" the result has a certificate for each sample:

        >>> import numpy as np
        >>> from dictmesh import Mesh, Topology
        >>> rng = np.random.default_rng(0)
        >>> mesh = Mesh(np.eye(6), Topology("ring", 3), strategy={"kind": "tree", "bits": 8})
        >>> found = mesh.infer(rng.normal(size=(4, 6)))
        >>> bool(np.all(found.certified_gaps <= 1e-8 * abs(found.certified_costs)))
        True
        """
        found = self._core.infer(self._samples(X), threads(self.n_jobs))
        found.pop("why")
        found["duals"] = np.stack(found["duals"])
        return Inference(**found)

    def run(self, X: Numbers) -> Run:
        """A run from nu = 0 that can be stepped round by round."""
        return Run(self._core.run(self._samples(X), threads(self.n_jobs)))

    def exact(self, X: Numbers) -> Exact:
        """Solve in one place over all atoms: codes and duals with a certified duality gap.

        >>> import numpy as np
        >>> from dictmesh import Mesh, Topology
        >>> mesh = Mesh(np.eye(3), Topology("path", 3), gamma=0.5, delta=1.0)
        >>> mesh.exact([[2.5, -0.2, 0.0]]).codes.round(6) + 0.0
        array([[1., 0., 0.]])
        """
        found = self._core.exact(self._samples(X), threads(self.n_jobs))
        found.pop("why")
        return Exact(**found)

    def exact_duals(self, X: Numbers) -> np.ndarray:
        """nu of each sample, solved in one place over all atoms, (n_samples, n_features)."""
        return self.exact(X).duals

    def _samples(self, X: Numbers) -> Any:
        return _data.readable(check_array(X, accept_sparse="csr", dtype=list(_data.PRECISIONS)))
