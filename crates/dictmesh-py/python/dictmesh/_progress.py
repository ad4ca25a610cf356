"""Progress of long calls, threads, and warnings with a remedy in them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

Progress = Callable[[int, int, float], None]


@contextmanager
def shown(verbose: int | bool, what: str) -> Iterator[Progress | None]:
    """What the core calls now and then with (done, total, cost); None where nobody wants to know."""
    if not verbose:
        yield None
        return
    bar = None
    try:
        from tqdm.auto import tqdm

        bar = tqdm(desc=what, unit=" samples")
    except ImportError:
        pass

    def tell(done: int, total: int, cost: float) -> None:
        if bar is None:
            print(f"{what}: {done} of {total} samples, cost {cost:.6g}", file=sys.stderr)
            return
        bar.total = total
        bar.set_postfix(cost=f"{cost:.6g}", refresh=False)
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()


#: More threads than this are a slip.
MOST_THREADS = 1024


def threads(n_jobs: int | None) -> int:
    """How many threads: None is one, -1 all cores, -2 all but one. No result depends on it."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning: give a number of threads, or -1 for all cores.")
    if n_jobs > MOST_THREADS:
        raise ValueError(f"n_jobs == {n_jobs}, must be <= {MOST_THREADS}; -1 is all cores.")
    if n_jobs > 0:
        return int(n_jobs)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))


REMEDIES: dict[str, str] = {
    "round-limit": "Increase max_rounds or inference_tol, increase delta, or add links to the graph.",
    "diverged": "Scale the samples, so that the squares of their entries are finite numbers.",
    "infeasible": "Increase radius, use loss='squared', or add atoms.",
}


#: The constant of a strategy that lets it diverge, if it has one.
CONSTANTS: dict[str, str] = {
    "relaxed-admm": "another rho",
    "exact-diffusion": "a smaller mu",
    "jacobi-admm": "a smaller mu",
    "diffusion": "a smaller mu",
    "consensus": "a smaller mu",
}


def remedy(stop: str, strategy: Any = None) -> str:
    """What to do where a run of this strategy, a name or a dict, ended like this."""
    kind = strategy.get("kind") if isinstance(strategy, dict) else strategy
    if stop == "diverged" and kind in CONSTANTS:
        return f"Give {kind} {CONSTANTS[kind]}, or leave it out for a good one."
    return REMEDIES[stop]


def warn(stop: str, why: str, what: str, strategy: Any = None) -> None:
    """A ConvergenceWarning if it did not end as it should."""
    if stop in REMEDIES:
        warnings.warn(f"{what} {why}. {remedy(stop, strategy)}", ConvergenceWarning, stacklevel=3)


def unrested(max_iter: int, tol: float) -> None:
    """Passes ran out before the cost came to rest."""
    warnings.warn(
        f"Maximum number of iterations {max_iter} reached before a pass lowered the cost by less than tol = {tol:g}. "
        "Increase max_iter or tol to have the cost come to rest, or set tol=0 to do max_iter passes in any case.",
        ConvergenceWarning,
        stacklevel=3,
    )

