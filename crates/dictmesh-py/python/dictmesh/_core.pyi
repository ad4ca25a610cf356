# What the compiled core offers. It checks little: the modules around it do.
from collections.abc import Callable
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["__version__", "Coder", "Mesh", "Run", "Topology", "bicluster", "sparse_svd", "denoise"]

__version__: str

_Progress = Callable[[int, int, float], None] | None
_Floats = NDArray[np.float64]

@final
class Coder:
    def __new__(cls, task: str, atoms: Any) -> Coder: ...
    def solve(
        self, x: Any, threads: int, progress: _Progress = None, normalised: bool = False
    ) -> tuple[NDArray[Any], _Floats, str, str]: ...
    def costs(
        self, x: Any, threads: int, progress: _Progress = None, normalised: bool = False
    ) -> tuple[_Floats, str, str]: ...
    def duals(self, x: Any) -> _Floats: ...

@final
class Mesh:
    features: int
    samples_learned: int
    @staticmethod
    def start(settings: str, x: Any, atoms: Any = None) -> Mesh: ...
    @staticmethod
    def detector(settings: str, x: Any, normalised: bool) -> Mesh: ...
    @staticmethod
    def load(path: str) -> tuple[Mesh, str]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Mesh: ...
    def learn(
        self,
        x: Any,
        passes: int,
        tol: float,
        threads: int,
        progress: _Progress = None,
        normalised: bool = False,
    ) -> None: ...
    def heard(self) -> dict[str, Any]: ...
    def infer(self, x: Any, threads: int, duals: bool = True, progress: _Progress = None) -> dict[str, Any]: ...
    def run(self, x: Any, threads: int) -> Run: ...
    def grow(self, settings: str, x: Any, count: int, normalised: bool) -> None: ...
    def dictionary(self) -> _Floats: ...
    def sizes(self) -> list[int]: ...
    def atom_samples(self) -> list[int]: ...
    def edges(self) -> list[tuple[int, int]]: ...
    def informed(self) -> list[int]: ...
    def warnings(self) -> list[str]: ...
    def set_strategy(self, strategy: str, stopping: str) -> None: ...
    def save(self, path: str, names: list[str] | None, extra: str) -> None: ...
    def to_bytes(self) -> bytes: ...

@final
class Run:
    def step(self, rounds: int) -> tuple[int, int]: ...
    def duals(self) -> list[_Floats]: ...
    def codes(self) -> list[_Floats]: ...

@final
class Topology:
    agents: int
    edges: list[tuple[int, int]]
    diameter: int
    def __new__(cls, spec: str, agents: int) -> Topology: ...
    def weights(self, rule: str) -> _Floats: ...
    def laplacian(self) -> tuple[float, float]: ...

def bicluster(
    x: Any,
    layers: int,
    gamma: float,
    delta: float,
    beta: float,
    prepared: str,
    passes: int,
    restarts: int,
    seed: int,
    threads: int,
    progress: _Progress = None,
) -> dict[str, Any]: ...
def sparse_svd(x: Any, layers: int, gamma: float, beta: float, prepared: str) -> dict[str, Any]: ...
def denoise(
    planes: list[_Floats],
    sigma: float | None,
    gamma: float | None,
    delta: float,
    patch: int,
    stride: int,
    atoms: int,
    agents: int | None,
    passes: int,
    seed: int,
    threads: int,
    rounding: float,
    progress: _Progress = None,
) -> tuple[list[_Floats], list[float], str, str]: ...
