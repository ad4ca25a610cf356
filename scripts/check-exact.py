"""Reads what `exact` found (JSON lines, from the example exact_witness), solves the same problems
with cvxpy and compares. Prints a row for each residual x regularizer; exits 1 on any mismatch.

The tolerances: the optimal value to 1e-6 (relative), the codes, which are unique because delta > 0,
to 1e-4 (relative to the largest). The cost at the codes found is computed here as well.
"""

import json
import math
import sys
import warnings
from collections import OrderedDict

import cvxpy as cp
import numpy as np

VALUE, CODES = 1e-6, 1e-4
TIGHT = dict(tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=500)


def regularizers(problem):
    """(columns of one agent, its regularizer) in the order of the atoms."""
    own, at = problem["task"].get("own", {}), 0
    for k, size in enumerate(problem["sizes"]):
        local = own.get(str(k), problem["task"]["common"])
        yield slice(at, at + size), local["regularizer"]
        at += size


def box(regularizer):
    """The domain of h."""
    if regularizer["kind"] == "non-negative-elastic-net":
        return 0.0, math.inf
    lo, hi = regularizer.get("lo"), regularizer.get("hi")
    return (-math.inf if lo is None else lo), (math.inf if hi is None else hi)


def solve(problem):
    """The problem as cvxpy sees it: (status, optimal value, y)."""
    w, x = np.array(problem["w"]).T, np.array(problem["x"])
    residual = problem["task"]["residual"]
    y = cp.Variable(w.shape[1])
    u = x - w @ y
    constraints, cost = [], 0
    if residual["kind"] == "squared-l2":
        cost += 0.5 * cp.sum_squares(u)
    elif residual["kind"] == "huber":
        cost += cp.sum(cp.huber(u, residual["eta"])) / (2 * residual["eta"])
    elif residual["kind"] == "l1":
        cost += cp.norm1(u)
    elif residual["kind"] == "ball":
        constraints.append(cp.norm(u) <= residual["sigma"])
    elif residual["kind"] == "equality":
        constraints.append(u == 0)
    else:
        raise ValueError(f"unknown residual {residual}")
    for part, h in regularizers(problem):
        if part.start == part.stop:
            continue
        cost += h["gamma"] * cp.norm1(y[part]) + h["delta"] / 2 * cp.sum_squares(y[part])
        lo, hi = box(h)
        if lo > -math.inf:
            constraints.append(y[part] >= lo)
        if hi < math.inf:
            constraints.append(y[part] <= hi)
    program = cp.Problem(cp.Minimize(cost), constraints)
    with warnings.catch_warnings():
        # That the tight tolerances were not quite met; whether it matters is compared below.
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, **TIGHT)
    return program.status, program.value, y.value


def primal(problem, y):
    """(the cost at y, by how far y breaks a constraint), in plain numpy."""
    u = np.array(problem["x"]) - np.array(problem["w"]).T @ y
    residual, size = problem["task"]["residual"], np.abs(u)
    cost = miss = 0.0
    if residual["kind"] == "squared-l2":
        cost = 0.5 * u @ u
    elif residual["kind"] == "huber":
        eta = residual["eta"]
        cost = np.where(size < eta, u * u / (2 * eta), size - eta / 2).sum()
    elif residual["kind"] == "l1":
        cost = size.sum()
    elif residual["kind"] == "ball":
        miss = max(np.linalg.norm(u) - residual["sigma"], 0.0)
    else:
        miss = np.linalg.norm(u)
    for part, h in regularizers(problem):
        cost += h["gamma"] * np.abs(y[part]).sum() + h["delta"] / 2 * y[part] @ y[part]
        lo, hi = box(h)
        miss = max(miss, *(lo - y[part]), *(y[part] - hi), 0.0)
    return cost, miss


def compare(problem):
    """(error of the value, error of the codes, None or what is wrong)."""
    status, value, codes = solve(problem)
    if problem["stop"] == "Infeasible" or status.startswith("infeasible"):
        if problem["stop"] == "Infeasible" and status.startswith("infeasible"):
            return 0.0, 0.0, None
        return math.nan, math.nan, f"exact says {problem['stop']}, cvxpy {status}"
    if problem["stop"] != "Converged" or codes is None:
        return math.nan, math.nan, f"exact says {problem['stop']}, cvxpy {status}"
    y = np.array(problem["y"])
    cost, miss = primal(problem, y)
    scale = max(abs(value), 1e-9)
    off = max(abs(problem["cost"] - value), abs(cost - value)) / scale
    apart = np.abs(y - codes).max() / max(np.abs(codes).max(), 1e-9)
    if not off <= VALUE:
        return off, apart, f"cost {problem['cost']} (at y: {cost}), cvxpy has {value}"
    if not apart <= CODES:
        return off, apart, f"codes differ by {apart:.1e}"
    if not miss <= 1e-8:
        return off, apart, f"y breaks a constraint by {miss:.1e}"
    if not problem["gap"] <= 1e-8 * scale:
        return off, apart, f"the certificate has a gap of {problem['gap']:.1e}"
    return off, apart, None


def main():
    table, failures = OrderedDict(), []
    for line in sys.stdin:
        problem = json.loads(line)
        off, apart, wrong = compare(problem)
        key = (problem["task"]["residual"]["kind"], problem["regularizer"])
        row = table.setdefault(key, [0, 0, 0.0, 0.0])
        row[0] += 1
        row[1] += problem["stop"] == "Infeasible"
        row[2], row[3] = max(row[2], off), max(row[3], apart)
        if wrong:
            failures.append(f"{problem['name']}: {wrong}")
    print(f"{'residual':<12}{'regularizer':<24}{'problems':>9}{'infeasible':>12}{'value':>10}{'codes':>10}")
    for (residual, regularizer), (count, infeasible, off, apart) in table.items():
        print(f"{residual:<12}{regularizer:<24}{count:>9}{infeasible:>12}{off:>10.1e}{apart:>10.1e}")
    for failure in failures:
        print(f"MISMATCH {failure}", file=sys.stderr)
    total = sum(row[0] for row in table.values())
    if total == 0:
        sys.exit("check-exact: no problems came in")
    print(f"{total - len(failures)} of {total} problems agree with cvxpy {cp.__version__} (Clarabel)")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
