"""Progress of long calls, threads, and warnings with a remedy in them."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning

from ._types import Strategy

Progress = Callable[[int, int, float], None]

#: Seconds between two lines of progress.
EVERY = 3.0


@contextmanager
def shown(verbose: int | bool, what: str) -> Iterator[Progress | None]:
    """What the core calls now and then with (done, total, mean cost); None where no progress is shown."""
    if not verbose:
        yield None
        return
    bar = None
    try:
        from tqdm.auto import tqdm

        bar = tqdm(desc=what, unit=" samples", mininterval=0.5)
    except ImportError:
        pass
    lines = Lines(what)

    def tell(done: int, total: int, cost: float) -> None:
        if bar is None:
            lines.tell(done, total, cost)
            return
        bar.total = total
        bar.set_postfix(cost=f"{cost:.6g}", refresh=False)
        bar.update(done - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
        else:
            lines.close()


class Lines:
    """Progress as a line of text every few seconds, and one at the end."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.begun = self.shown = time.monotonic()
        self.first: int | None = None
        self.last: tuple[int, int, float] | None = None

    def tell(self, done: int, total: int, cost: float) -> None:
        """Notes how far it is, and prints it if the last line was some seconds ago."""
        if self.first is None:
            self.first, self.begun = done, time.monotonic()
        self.last = (done, total, cost)
        if time.monotonic() - self.shown >= EVERY:
            self._print()

    def close(self) -> None:
        """Prints the last state."""
        if self.last is not None:
            self._print()

    def _print(self) -> None:
        if self.last is None or self.first is None:
            return
        done, total, cost = self.last
        now, since = time.monotonic(), done - self.first
        self.shown, self.last = now, None
        left = ""
        if 0 < since and done < total:
            left = f", {duration((now - self.begun) * (total - done) / since)} left"
        print(f"{self.what}: {done} of {total} samples, mean cost {cost:.6g}{left}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A duration in two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


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
    "round-limit": (
        "Increase max_rounds or the tolerance, increase delta, add links to the graph, or take strategy='tree', which "
        "ends at a certified gap; transform_method='exact' needs no rounds."
    ),
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


def remedy(stop: str, strategy: Strategy | None = None) -> str:
    """What to do where a run of this strategy, a name or a dict, ended like this."""
    kind = str(strategy.get("kind")) if isinstance(strategy, Mapping) else strategy
    if stop == "diverged" and kind in CONSTANTS:
        return f"Give {kind} {CONSTANTS[kind]}, or leave it out for a good one."
    return REMEDIES[stop]


def warn(stop: str, why: str, what: str, strategy: Strategy | None = None) -> None:
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
