"""Types of arguments, for signatures and checkers alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .mesh import Topology

Floats = NDArray[np.floating]
Loss = Literal["squared", "huber", "l1", "ball", "equality"]
TransformMethod = Literal["exact", "mesh"]
Center = Literal["sample", "feature"]
Normalize = Literal["l1", "l2"]
DictNorm = Literal["l2", "l1"]
Weights = Literal["metropolis", "uniform"]
StrategyName = Literal[
    "auto", "relaxed-admm", "exact-diffusion", "jacobi-admm", "diffusion", "consensus", "tree"
]
#: A strategy by its name, or with constants: {"kind": "diffusion", "mu": 0.05}.
Strategy = Union[StrategyName, Mapping[str, object]]
RandomState = Union[int, np.random.RandomState, None]


class SparseLike(Protocol):
    """A matrix or array of scipy.sparse."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def nnz(self) -> int: ...


class FrameLike(Protocol):
    """A table of pandas or polars."""

    @property
    def columns(self) -> Iterable[str]: ...

    @property
    def shape(self) -> tuple[int, int]: ...


class AnnotatedLike(Protocol):
    """An AnnData: samples X and names of the features."""

    @property
    def X(self) -> object: ...

    @property
    def var_names(self) -> Iterable[str]: ...


class GraphLike(Protocol):
    """A networkx graph."""

    @property
    def nodes(self) -> Iterable[object]: ...

    @property
    def edges(self) -> Iterable[object]: ...


#: Samples of numbers, one a row; or pictures, for an estimator with patch_size.
Numbers = Union[ArrayLike, SparseLike, FrameLike, AnnotatedLike]
#: Documents, one a string.
Texts = Union[Sequence[str], Iterable[str]]
Samples = Union[Numbers, Texts]
#: A graph: its name, its edges, its adjacency matrix, a Topology or a networkx graph.
Graph = Union[str, "Topology", GraphLike, Iterable[tuple[int, int]], ArrayLike, SparseLike, None]
