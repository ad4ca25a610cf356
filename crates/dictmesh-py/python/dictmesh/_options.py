"""Options of the agents and their links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from . import _settings
from ._types import Graph, Strategy, Weights

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MeshOptions"]


@dataclass
class MeshOptions:
    """The agents that share the atoms, their graph, and their strategy.

    Parameters
    ----------
    n_agents : int, default=1
        Agents that share the atoms evenly. Each knows its own only.
    topology : str, Topology, networkx graph, list of (i, j) or adjacency matrix, default=None
        Which agents are linked: "complete", "ring", "path", "star", "grid:4x5", "random:0.3",
        "geometric:0.4", or a given graph. If None, a 2-connected "random:0.3", or "complete" for
        few agents.
    weights : {"metropolis", "uniform"}, default="metropolis"
        The rule of the combination matrix.
    strategy : str or dict, default="auto"
        How agents find the dual vectors: "relaxed-admm", "exact-diffusion", "jacobi-admm",
        "diffusion" or "consensus" by exchanges between neighbours, or "tree" by sums of small
        integers to the root of a spanning tree, with a certified gap for each sample. "auto" is
        "tree" or "relaxed-admm", whichever is predicted to take less time on a network: by sizes,
        graph, latency (seconds of a hop) and bandwidth (bytes per second), never by measured time.
        With constants: ``{"kind": "auto", "latency": 0.05, "bandwidth": 1e6}``,
        ``{"kind": "diffusion", "mu": 0.05}`` or ``{"kind": "tree", "bits": 8}`` (4 to 16 bits).
        Gossip sends doubles, or with "bits" differences of few bits.
    informed : list of int or "all", default="all"
        The agents that receive the samples.
    tol : float or None, default=1e-4
        Rounds end at this relative error of the dual vectors, estimated; with "tree" at a certified
        relative gap of its square. None does all ``max_rounds``.
    max_rounds : int, default=100000
        Rounds for one batch, at most.
    accel : str, default="all"
        Speed-ups: "all", "none", or names separated by commas ("single-agent", "reduction",
        "chunks", "neighbour-sums", "lanes"). Codes are bit-identical without "reduction". With it
        they agree within 1e-9, or within the certified gaps of "tree".

    Examples
    --------
    >>> from dictmesh import MeshOptions, DictionaryLearning
    >>> ring = MeshOptions(n_agents=4, topology="ring", tol=1e-6)
    >>> DictionaryLearning(8, mesh=ring).get_params()["mesh__n_agents"]
    4
    """

    n_agents: int = 1
    topology: Graph = None
    weights: Weights = "metropolis"
    strategy: Strategy = "auto"
    informed: Iterable[int] | Literal["all"] = "all"
    tol: float | None = 1e-4
    max_rounds: int = 100_000
    accel: str = "all"

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The options by name, as scikit-learn's ``clone`` and searches want them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: object) -> Self:
        """Set options by name."""
        names = tuple(field.name for field in fields(self))
        for name, value in params.items():
            _settings.one_of("MeshOptions", name, names)
            setattr(self, name, value)
        return self

    def _core_settings(self, seed: int) -> dict[str, object]:
        """As the core reads them."""
        informed = None if isinstance(self.informed, str) else [int(k) for k in self.informed]
        if informed is None:
            _settings.one_of("informed", self.informed, ("all",))
        _settings.one_of("weights", self.weights, ("metropolis", "uniform"))
        return {
            "agents": _settings.whole(self.n_agents, "n_agents", min_val=1),
            "topology": _settings.graph(self.topology, seed),
            "weights": self.weights,
            "strategy": _settings.strategy(self.strategy),
            "accel": _settings.accel(self.accel),
            "stopping": _settings.stopping(self.tol, self.max_rounds),
            "informed": informed,
        }
