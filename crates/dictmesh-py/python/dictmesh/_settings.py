"""From arguments to the plain descriptions that the library reads: the one place that maps one to the other."""

from __future__ import annotations

import json
import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_scalar

LOSSES = ("squared", "huber", "l1", "ball", "equality")
STRATEGIES = ("auto", "relaxed-admm", "exact-diffusion", "jacobi-admm", "diffusion", "consensus", "tree")
ACCELS = ("single-agent", "reduction", "chunks", "neighbour-sums", "lanes")
GRAPHS = ("complete", "ring", "path", "star", "grid:ROWSxCOLUMNS", "random:P", "geometric:RADIUS")

#: delta is at least this share of alpha: without it the dual problem does not determine the code.
LEAST_RIDGE = 1e-2


def one_of(name: str, given: object, allowed: tuple[str, ...]) -> None:
    """Refuses what is not on the list, in scikit-learn's words."""
    if given not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(f"The {name!r} parameter must be a str among {{{listed}}}. Got {given!r} instead.")


def real(given: Any, name: str, **limits: Any) -> float:
    """A finite number within limits."""
    check_scalar(given, name, numbers.Real, **limits)
    if not math.isfinite(given):
        raise ValueError(f"{name} == {given}, must be a finite number.")
    return float(given)


def whole(given: Any, name: str, **limits: Any) -> int:
    """A whole number within limits."""
    return int(check_scalar(given, name, numbers.Integral, **limits))


def weights_of(alpha: float, l1_ratio: float, gamma: float | None, delta: float | None) -> tuple[float, float]:
    """gamma and delta: as given, or by alpha and l1_ratio."""
    real(alpha, "alpha", min_val=0)
    real(l1_ratio, "l1_ratio", min_val=0, max_val=1)
    if gamma is None:
        gamma = alpha * l1_ratio
    else:
        real(gamma, "gamma", min_val=0)
    if delta is None:
        delta = alpha * max(1.0 - l1_ratio, LEAST_RIDGE)
        if delta <= 0:
            raise ValueError("alpha == 0 leaves delta at 0, must be > 0: give alpha > 0, or delta > 0 of its own.")
    else:
        real(delta, "delta", min_val=0, include_boundaries="neither")
    return float(gamma), float(delta)


def task(
    *,
    gamma: float,
    delta: float,
    loss: str = "squared",
    eta: float = 0.2,
    radius: float = 0.1,
    positive_code: bool = False,
    positive_dict: bool = False,
) -> dict[str, Any]:
    """What is minimised."""
    one_of("loss", loss, LOSSES)
    residual: dict[str, Any] = {"kind": "squared-l2" if loss == "squared" else loss}
    if loss == "huber":
        real(eta, "eta", min_val=0, include_boundaries="neither")
        residual["eta"] = float(eta)
    if loss == "ball":
        real(radius, "radius", min_val=0)
        residual["sigma"] = float(radius)
    kind = "non-negative-elastic-net" if positive_code else "elastic-net"
    return {
        "residual": residual,
        "common": {
            "regularizer": {"kind": kind, "gamma": gamma, "delta": delta},
            "set": "non-negative-unit-ball" if positive_dict else "unit-ball",
        },
    }


def strategy(given: str | dict[str, Any]) -> dict[str, Any]:
    """A strategy by its name, or as a dict with its constants: {"kind": "diffusion", "mu": 0.05},
    {"kind": "tree", "bits": 8} or {"kind": "auto", "latency": 0.05}. Every strategy but "auto" takes
    bits, 4 to 16; without, gossip sends doubles.
    """
    if isinstance(given, dict):
        one_of("strategy", given.get("kind"), STRATEGIES)
        return dict(given)
    one_of("strategy", given, STRATEGIES)
    return {"kind": given}


def accel(given: str) -> str:
    """The speed-ups: "all", "none" or names separated by commas."""
    names = [given] if given in ("all", "none") else [name.strip() for name in str(given).split(",")]
    if not isinstance(given, str) or not set(names) <= {"all", "none", *ACCELS}:
        listed = ", ".join(repr(a) for a in ("all", "none", *ACCELS))
        raise ValueError(f"The 'accel' parameter must name speed-ups among {{{listed}}}. Got {given!r} instead.")
    return given


def graph(given: Any, seed: int) -> dict[str, Any] | None:
    """A graph by its name, by its edges, or as a Topology."""
    if given is None:
        return None
    if hasattr(given, "edges"):
        given = given.edges
    if not isinstance(given, str):
        return {"kind": "edges", "edges": [[int(i), int(j)] for i, j in given]}
    name, _, argument = given.partition(":")
    if name in ("complete", "ring", "path", "star") and not argument:
        return {"kind": name}
    try:
        if name == "grid":
            rows, cols = argument.split("x")
            return {"kind": "grid", "rows": int(rows), "cols": int(cols)}
        if name == "random":
            return {"kind": "random", "p": float(argument), "seed": seed}
        if name == "geometric":
            return {"kind": "random-geometric", "radius": float(argument), "seed": seed}
    except ValueError:
        pass
    listed = ", ".join(repr(g) for g in GRAPHS)
    raise ValueError(
        f"The 'topology' parameter must be a Topology, a list of edges or a str among {{{listed}}}. Got {given!r} instead."
    )


def stopping(tol: float | None, rounds: int) -> dict[str, Any]:
    """When the rounds of a batch end."""
    whole(rounds, "max_rounds", min_val=1)
    if tol is not None:
        real(tol, "inference_tol", min_val=0, include_boundaries="neither")
    return {"tolerance": None if tol is None else float(tol), "rounds": int(rounds)}


def update(step: float | None, batch: int) -> dict[str, Any]:
    """The dictionary update: a constant step, or each atom's own."""
    if step is None:
        # Forgets as many samples as .97 a batch of 256 does, as the program.
        return {"kind": "adaptive", "forgetting": max(0.97 ** (batch / 256.0), 1e-9)}
    real(step, "dict_step", min_val=0, include_boundaries="neither")
    return {"kind": "constant", "mu_w": float(step)}


def seed_of(random_state: Any) -> int:
    """A seed: a whole number as it is, so that the program's --seed is the same."""
    if isinstance(random_state, numbers.Integral):
        return whole(random_state, "random_state", min_val=0)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def text(settings: dict[str, Any]) -> str:
    """As the library reads it."""
    return json.dumps(settings)
