"""From arguments to the plain descriptions that the library reads: the one place that maps one to the other."""

from __future__ import annotations

import difflib
import json
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_scalar

from ._types import Graph, RandomState, Strategy

LOSSES = ("squared", "huber", "l1", "ball", "equality")
ACCELS = ("single-agent", "reduction", "chunks", "neighbour-sums", "lanes")
GRAPHS = ("complete", "ring", "path", "star", "grid:ROWSxCOLUMNS", "random:P", "geometric:RADIUS")
#: The constants of each strategy.
STRATEGIES: dict[str, tuple[str, ...]] = {
    "auto": ("latency", "bandwidth"),
    "relaxed-admm": ("rho", "bits"),
    "exact-diffusion": ("mu", "bits"),
    "jacobi-admm": ("mu", "bits"),
    "diffusion": ("mu", "bits"),
    "consensus": ("mu", "bits"),
    "tree": ("bits",),
}
UPDATES = ("adaptive", "adaptive:FORGETTING", "constant:STEP", "schedule:STEP")

#: delta is at least this share of alpha: without it the dual problem does not determine the code.
LEAST_RIDGE = 1e-2


def nearest(given: object, allowed: Iterable[str]) -> str:
    """A question with the nearest of the allowed names, if one is near."""
    found = difflib.get_close_matches(str(given), list(allowed), n=1, cutoff=0.6)
    return f" Did you mean {found[0]!r}?" if found else ""


def one_of(name: str, given: object, allowed: Sequence[str]) -> None:
    """Refuses what is not on the list, in scikit-learn's words."""
    if given not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(
            f"The {name!r} parameter must be a str among {{{listed}}}. Got {given!r} instead.{nearest(given, allowed)}"
        )


def keys(name: str, given: Mapping[str, object], allowed: Sequence[str]) -> None:
    """Refuses a key that is not on the list, and names the nearest."""
    for key in given:
        if key not in allowed:
            listed = ", ".join(repr(a) for a in allowed)
            raise ValueError(f"{name} has no key {key!r}: its keys are {listed}.{nearest(key, allowed)}")


def real(given: Any, name: str, **limits: Any) -> float:
    """A finite number within limits."""
    check_scalar(given, name, numbers.Real, **limits)
    if not math.isfinite(given):
        raise ValueError(f"{name} == {given}, must be a finite number.")
    return float(given)


def whole(given: Any, name: str, **limits: Any) -> int:
    """A whole number within limits."""
    return int(check_scalar(given, name, numbers.Integral, **limits))


def weights_of(
    alpha: float, l1_ratio: float, gamma: Any, delta: float | None
) -> tuple[float | list[float], float]:
    """gamma and delta: as given, or by alpha and l1_ratio.

    gamma alone stands for the alpha of which it is the share l1_ratio.
    """
    real(alpha, "alpha", min_val=0)
    real(l1_ratio, "l1_ratio", min_val=0, max_val=1)
    largest = alpha * l1_ratio
    each: list[float] | None = None
    if gamma is None:
        gamma = largest
    elif np.ndim(gamma) == 1:
        each = [real(float(g), "gamma", min_val=0) for g in gamma]
        largest = max(each, default=0.0)
    else:
        largest = real(gamma, "gamma", min_val=0)
        if delta is None:
            if l1_ratio == 0:
                raise ValueError("gamma with l1_ratio == 0 leaves delta open: give delta > 0 as well.")
            alpha = largest / l1_ratio
    if each is not None and delta is None:
        alpha = largest / max(l1_ratio, LEAST_RIDGE)
    if delta is None:
        delta = alpha * max(1.0 - l1_ratio, LEAST_RIDGE)
        if delta <= 0:
            what = "gamma" if largest == 0 and alpha == 0 and gamma is not None else "alpha"
            raise ValueError(f"{what} == 0 leaves delta at 0, must be > 0: give alpha > 0, or delta > 0 of its own.")
    else:
        real(delta, "delta", min_val=0, include_boundaries="neither")
    return (float(gamma) if each is None else each), float(delta)


def sizes_of(atoms: int, agents: int) -> list[int]:
    """How many of the atoms each agent has."""
    return [atoms // agents + (1 if k < atoms % agents else 0) for k in range(agents)]


def bounds(given: Any) -> tuple[float, float] | None:
    """The ends of the box of the codes; None for an end is no bound."""
    if given is None:
        return None
    try:
        lo, hi = given
        lo, hi = -math.inf if lo is None else float(lo), math.inf if hi is None else float(hi)
    except (TypeError, ValueError):
        raise ValueError(
            f"code_bounds == {given!r}, must be a pair (lo, hi) of numbers, or of None for no bound."
        ) from None
    if not lo <= hi:
        raise ValueError(f"code_bounds == {given!r}, must have lo <= hi.")
    return lo, hi


def _parts(name: str, all_of: list[Any], sizes: list[int]) -> list[list[Any]]:
    """One number for each atom, dealt to the agents as the atoms are."""
    if len(all_of) != sum(sizes):
        raise ValueError(f"{name} has {len(all_of)} numbers, but there are {sum(sizes)} atoms: give one for each.")
    ends = np.cumsum(sizes)
    return [all_of[end - size : end] for size, end in zip(sizes, ends)]


def _groups(given: Any, sizes: list[int]) -> list[int] | list[list[int]]:
    """The size of the groups for each agent, or their sizes."""
    if isinstance(given, numbers.Integral):
        size = whole(given, "code_groups", min_val=1)
        uneven = [n for n in sizes if n % size]
        if uneven:
            raise ValueError(
                f"code_groups == {size} does not divide the {uneven[0]} atoms of an agent: a group is not split."
            )
        return [size] * len(sizes)
    each, rest = [], [whole(n, "code_groups", min_val=1) for n in given]
    for size in sizes:
        own: list[int] = []
        while sum(own) < size and rest:
            own.append(rest.pop(0))
        if sum(own) != size:
            raise ValueError(
                f"code_groups == {list(given)} splits a group over agents, or does not cover the atoms: the agents "
                f"have {sizes} atoms."
            )
        each.append(own)
    if rest:
        raise ValueError(f"code_groups == {list(given)} covers more than the {sum(sizes)} atoms.")
    return each


def task(
    *,
    gamma: float | list[float],
    delta: float,
    loss: str = "squared",
    eta: float = 0.2,
    radius: float = 0.1,
    positive_code: bool = False,
    positive_dict: bool = False,
    code_bounds: Any = None,
    code_groups: Any = None,
    dict_norm: str = "l2",
    beta: float = 0.0,
    sizes: list[int] | None = None,
) -> dict[str, Any]:
    """What is minimised, by agents with these numbers of atoms."""
    one_of("loss", loss, LOSSES)
    one_of("dict_norm", dict_norm, ("l2", "l1"))
    residual: dict[str, Any] = {"kind": "squared-l2" if loss == "squared" else loss}
    if loss == "huber":
        real(eta, "eta", min_val=0, include_boundaries="neither")
        residual["eta"] = float(eta)
    if loss == "ball":
        real(radius, "radius", min_val=0)
        residual["sigma"] = float(radius)
    ball = "unit-ball" if dict_norm == "l2" else "unit-l1-ball"
    common: dict[str, Any] = {"set": f"non-negative-{ball}" if positive_dict else ball}
    if real(beta, "beta", min_val=0) > 0:
        common["penalty"] = {"kind": "l1", "beta": float(beta)}
    nets = regularizers(gamma, delta, positive_code, bounds(code_bounds), code_groups, sizes)
    out: dict[str, Any] = {"residual": residual, "common": {**common, "regularizer": nets[0]}}
    if any(net != nets[0] for net in nets):
        out["own"] = {str(k): {**common, "regularizer": net} for k, net in enumerate(nets)}
    return out


def regularizers(
    gamma: float | list[float],
    delta: float,
    positive_code: bool,
    box: tuple[float, float] | None,
    code_groups: Any,
    sizes: list[int] | None,
) -> list[dict[str, Any]]:
    """The penalty of the codes, one for each agent."""
    chosen = [
        name
        for name, given in (("gamma for each atom", isinstance(gamma, list)), ("code_bounds", box is not None),
                            ("code_groups", code_groups is not None))
        if given
    ]
    if len(chosen) > 1:
        raise ValueError(f"{chosen[0]} and {chosen[1]} cannot be combined: no penalty has both.")
    if isinstance(gamma, list):
        parts = _parts("gamma", gamma, sizes or [len(gamma)])
        kind = {"kind": "weighted-elastic-net", "delta": delta, "non_negative": bool(positive_code)}
        return [{**kind, "gamma": part} for part in parts]
    if code_groups is not None:
        if positive_code:
            raise ValueError("code_groups and positive_code cannot be combined: no penalty has both.")
        if sizes is None:
            sizes = [int(np.sum(code_groups))]
        return [
            {"kind": "group-elastic-net", "gamma": gamma, "delta": delta, "group": own}
            for own in _groups(code_groups, sizes)
        ]
    if box is not None:
        lo, hi = (max(box[0], 0.0) if positive_code else box[0]), box[1]
        ends = {name: end for name, end in (("lo", lo), ("hi", hi)) if math.isfinite(end)}
        return [{"kind": "boxed-elastic-net", "gamma": gamma, "delta": delta, **ends}]
    kind_name = "non-negative-elastic-net" if positive_code else "elastic-net"
    return [{"kind": kind_name, "gamma": gamma, "delta": delta}]


def strategy(given: Strategy) -> dict[str, Any]:
    """A strategy by its name, or as a dict with its constants: {"kind": "diffusion", "mu": 0.05},
    {"kind": "tree", "bits": 8} or {"kind": "auto", "latency": 0.05}. Every strategy but "auto" takes
    bits, 4 to 16; without, gossip sends doubles.
    """
    if isinstance(given, Mapping):
        kind = given.get("kind")
        one_of("strategy", kind, tuple(STRATEGIES))
        keys(f"strategy {kind!r}", given, ("kind", *STRATEGIES[cast(str, kind)]))
        return {str(k): v for k, v in given.items()}
    one_of("strategy", given, tuple(STRATEGIES))
    return {"kind": given}


def accel(given: str) -> str:
    """Speed-ups by name; the core parses the list."""
    names = [] if not isinstance(given, str) else [name.strip() for name in given.split(",")]
    allowed = ("all", "none", *ACCELS)
    wrong = [name for name in names if name not in allowed]
    if not names or wrong:
        listed = ", ".join(repr(a) for a in allowed)
        raise ValueError(
            f"The 'accel' parameter must name speed-ups among {{{listed}}}. Got {given!r} instead."
            + (nearest(wrong[0], allowed) if wrong else "")
        )
    return given


def graph(given: Graph, seed: int) -> dict[str, Any] | None:
    """A graph by its name, its edges or its adjacency matrix, as a Topology or of networkx."""
    if given is None:
        return None
    if not isinstance(given, str):
        return {"kind": "edges", "edges": edges(given)}
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
        f"The 'topology' parameter must be a graph, a list of edges, an adjacency matrix or a str among {{{listed}}}. "
        f"Got {given!r} instead.{nearest(name, [g.partition(':')[0] for g in GRAPHS])}"
    )


def agents_of(given: Graph) -> int:
    """The number of agents of a graph that says it."""
    if hasattr(given, "n_agents"):
        return int(getattr(given, "n_agents"))
    if hasattr(given, "nodes"):
        return len(list(getattr(given, "nodes")))
    if sp.issparse(given) or (np.ndim(given) == 2 and np.shape(given)[0] == np.shape(given)[1]):  # type: ignore[arg-type]
        return int(np.shape(given)[0])  # type: ignore[arg-type]
    raise ValueError("A name or a list of edges does not say how many agents there are: give n_agents.")


def edges(given: Any) -> list[list[int]]:
    """The edges of a given graph, as pairs of agents."""
    if hasattr(given, "nodes") and hasattr(given, "edges"):
        # networkx: agents are its nodes in their order, whatever they are called.
        number = {node: k for k, node in enumerate(given.nodes)}
        pairs = [(number[a], number[b]) for a, b, *_ in given.edges]
    elif hasattr(given, "edges"):
        pairs = list(given.edges)
    elif sp.issparse(given) or (np.ndim(given) == 2 and np.shape(given)[0] == np.shape(given)[1] != 2):
        matrix = sp.coo_array(given)
        if (abs(matrix - matrix.T)).nnz:
            raise ValueError("The adjacency matrix of a topology must be symmetric: links have no direction.")
        pairs = [(i, j) for i, j in zip(matrix.row, matrix.col)]
    else:
        pairs = [tuple(pair) for pair in given]
    return sorted([int(i), int(j)] for i, j in {(min(p), max(p)) for p in pairs} if i != j)


def stopping(tol: float | None, rounds: int) -> dict[str, Any]:
    """When the rounds of a batch end."""
    whole(rounds, "max_rounds", min_val=1)
    if tol is not None:
        real(tol, "tol", min_val=0, include_boundaries="neither")
    return {"tolerance": None if tol is None else float(tol), "rounds": int(rounds)}


def update(given: str, batch: int) -> dict[str, Any]:
    """The rule of the dictionary update, as the program's --update."""
    name, colon, number = str(given).partition(":")
    try:
        step = float(number) if colon else None
    except ValueError:
        step = math.nan
    if name == "adaptive" and step is None:
        # Forgets as many samples as .97 a batch of 256 does, as the program.
        return {"kind": "adaptive", "forgetting": max(0.97 ** (batch / 256.0), 1e-9)}
    if name == "adaptive" and step is not None and 0 < step <= 1:
        return {"kind": "adaptive", "forgetting": step}
    if name in ("constant", "schedule") and step is not None and 0 < step < math.inf:
        return {"kind": name, "mu_w": step}
    listed = ", ".join(repr(u) for u in UPDATES)
    raise ValueError(
        f"The 'update' parameter must be a str among {{{listed}}}, with FORGETTING in (0, 1] and STEP > 0. Got "
        f"{given!r} instead.{'' if name in ('adaptive', 'constant', 'schedule') else nearest(name, ('adaptive', 'constant', 'schedule'))}"
    )


def update_name(rule: Mapping[str, Any], batch: int) -> str:
    """The reverse of :func:`update`."""
    if rule == update("adaptive", batch):
        return "adaptive"
    return f"{rule['kind']}:{rule.get('mu_w', rule.get('forgetting'))!r}"


def seed_of(random_state: RandomState) -> int:
    """A seed: a whole number as it is, so that the program's --seed is the same."""
    if isinstance(random_state, numbers.Integral):
        return whole(random_state, "random_state", min_val=0)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def text(settings: Mapping[str, Any]) -> str:
    """As the library reads it."""
    return json.dumps(settings)
