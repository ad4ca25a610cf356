"""Elastic-net codes of picture patches, against SPAMS's LARS.

30,000 patches of 10 x 10 pixels of scikit-image's camera picture without their means, scaled to norm 1, and 196 atoms
that SPAMS learned from them; gamma = .1, delta = .05, about 22 coefficients that are not zero. Ours are exact codes with
a certified gap. The objective is the mean over the samples of 1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2, computed
here from both sides' codes.
"""

import numpy as np

from common import interleaved, kernel, patches

ABOUT = "elastic-net codes of 30,000 patches against SPAMS"

GAMMA, DELTA, ATOMS, REPEATS, MUST = 0.1, 0.05, 196, 5, 3.0


def objective(x, atoms, codes):
    residual = x - codes @ atoms
    squares = lambda a: np.einsum("ij,ij->", a, a)
    total = 0.5 * squares(residual) + GAMMA * np.abs(codes).sum() + 0.5 * DELTA * squares(codes)
    return float(total / len(x))


def learned(x):
    import spams

    columns = np.asfortranarray(x.T)
    atoms = spams.trainDL(
        columns, K=ATOMS, lambda1=GAMMA, lambda2=DELTA, iter=1000, batchsize=256, mode=2, numThreads=1, verbose=False
    )
    return np.ascontiguousarray(atoms.T)


def rows(program, threads):
    x = patches(30_000, 10)
    atoms = learned(x)
    for count in sorted({1, 2, threads}):
        for positive in [False, True]:
            yield compare(x, atoms, count, positive)


def compare(x, atoms, threads, positive):
    import time

    import spams

    columns, dictionary = np.asfortranarray(x.T), np.asfortranarray(atoms.T)
    sign = ["--non-negative"] if positive else []

    def ours():
        found, codes = kernel(
            threads, "coding", {"samples": x, "atoms": atoms}, "--gamma", GAMMA, "--delta", DELTA, *sign
        )
        return codes, found["seconds"]

    def theirs():
        began = time.perf_counter()
        codes = spams.lasso(
            columns, dictionary, lambda1=GAMMA, lambda2=DELTA, mode=2, pos=positive, numThreads=threads
        )
        seconds = time.perf_counter() - began
        return codes.toarray().T, seconds

    (our_codes, our_s), (peer_codes, peer_s) = interleaved(REPEATS, ours, theirs)
    ours_objective, peer_objective = objective(x, atoms, our_codes), objective(x, atoms, peer_codes)
    same = abs(ours_objective - peer_objective) <= 1e-6 * peer_objective
    return {
        "bench": "coding-nonneg" if positive else "coding",
        "threads": threads,
        "ours_s": our_s,
        "peer": "SPAMS lasso",
        "peer_s": peer_s,
        "ratio": peer_s / our_s,
        "bar": MUST,
        "ours_objective": ours_objective,
        "peer_objective": peer_objective,
        "ok": bool(same and peer_s >= MUST * our_s),
    }
