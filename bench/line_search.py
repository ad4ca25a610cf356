"""Sums of M numbers that L-BFGS on the dual of a sample needs, by line search. Needs numpy only.

Squared residual, elastic net, exact sums in one place. A backtracking step evaluates cost and
gradient by one sum per trial. A step by slopes takes one such sum, and a small one for the slopes.
Prints the median over SEEDS samples, see docs/decisions/0004-sums-over-a-tree.md.
"""

from __future__ import annotations

import numpy as np

SEEDS = 8
MEMORY = 60
LIMIT = 1500
ERRORS = (1e-2, 1e-3, 1e-4, 1e-6)
# Step lengths of later directions and of the first one.
GRIDS = {
    "slopes, 8 points": ((0.1, 0.17, 0.29, 0.5, 0.84, 1.4, 2.4, 4.0), 8.0 ** np.arange(-6.0, 2.0)),
    "slopes, 24 points": (np.geomspace(0.02, 16, 24), np.geomspace(0.02, 16, 24)),
}
# M, K, atoms of a sample (0: noise), gamma, delta.
PROBLEMS = ((100, 200, 0, 0.1, 0.1), (100, 256, 20, 0.05, 0.02))


class Dual:
    """|nu|^2/2 - x'nu + |T_gamma(W'nu)|^2 / (2 delta)."""

    def __init__(self, size: tuple[int, int, int, float, float], seed: int) -> None:
        rows, atoms, planted, self.gamma, self.delta = size
        rng = np.random.default_rng(seed)
        self.w = rng.standard_normal((rows, atoms))
        self.w /= np.linalg.norm(self.w, axis=0)
        y = np.zeros(atoms)
        y[rng.choice(atoms, planted, replace=False)] = rng.random(planted) + 0.5
        x = self.w @ y if planted else rng.standard_normal(rows)
        x /= np.linalg.norm(x)
        x += 0.05 * rng.standard_normal(rows) / np.sqrt(rows)
        self.x = x / np.linalg.norm(x)

    def shrunk(self, nu: np.ndarray) -> np.ndarray:
        s = self.w.T @ nu
        return np.sign(s) * np.maximum(abs(s) - self.gamma, 0)

    def cost(self, nu: np.ndarray) -> float:
        y = self.shrunk(nu)
        return nu @ nu / 2 - self.x @ nu + y @ y / (2 * self.delta)

    def gradient(self, nu: np.ndarray) -> np.ndarray:
        return nu - self.x + self.w @ self.shrunk(nu) / self.delta


def direction(g: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """-H g by the two-loop recursion."""
    q, used = g.copy(), []
    for s, y in reversed(pairs):
        used.append(s @ q / (s @ y))
        q -= used[-1] * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), a in zip(pairs, reversed(used)):
        q += s * (a - y @ q / (s @ y))
    return -q


def backtracking(dual: Dual, nu: np.ndarray, p: np.ndarray, g: np.ndarray) -> tuple[float, int]:
    """The step length by Armijo's rule, and the number of trials."""
    t, cost, trials = 1.0, dual.cost(nu), 1
    while dual.cost(nu + t * p) > cost + 1e-4 * t * (g @ p) and t > 1e-8:
        t, trials = t / 2, trials + 1
    return t, trials


def by_slopes(dual: Dual, nu: np.ndarray, p: np.ndarray, points: np.ndarray) -> float:
    """The step length at which the slope is 0, interpolated."""
    before, below = 0.0, dual.gradient(nu) @ p
    for t in points:
        slope = dual.gradient(nu + t * p) @ p
        if slope >= 0:
            return before + (t - before) * -below / (slope - below)
        before, below = t, slope
    return before


def sums(dual: Dual, rule: str, star: np.ndarray | None = None) -> tuple[np.ndarray, list[float]]:
    """nu at the end, and the sums until each of ERRORS."""
    nu = np.zeros_like(dual.x)
    g, count, pairs = dual.gradient(nu), 1, []
    found = [np.nan] * len(ERRORS)
    while count < LIMIT and np.linalg.norm(g) > 1e-13 and np.isnan(found[-1]):
        p = direction(g, pairs)
        if rule == "backtracking":
            t, trials = backtracking(dual, nu, p, g)
        else:
            t, trials = by_slopes(dual, nu, p, GRIDS[rule][0 if pairs else 1]), 1
        count += trials
        new = nu + t * p
        h = dual.gradient(new)
        s, y = new - nu, h - g
        if s @ y > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            pairs = [*pairs, (s, y)][-MEMORY:]
        nu, g = new, h
        if star is not None:
            error = np.linalg.norm(nu - star) / np.linalg.norm(star)
            found = [count if np.isnan(n) and error < e else n for n, e in zip(found, ERRORS)]
    return nu, found


def main() -> None:
    print("median sums until the relative error of nu is below", *ERRORS)
    for size in PROBLEMS:
        rules = {rule: [] for rule in (*GRIDS, "backtracking")}
        for seed in range(SEEDS):
            dual = Dual(size, seed)
            star, _ = sums(dual, "slopes, 24 points")
            for rule, all_found in rules.items():
                all_found.append(sums(dual, rule, star)[1])
        for rule, all_found in rules.items():
            print("M = {}, K = {}:".format(*size), rule, *np.median(all_found, axis=0))


if __name__ == "__main__":
    main()
