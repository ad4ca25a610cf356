"""Elastic-net codes of picture patches, against SPAMS's LARS.

30,000 patches of 10 x 10 pixels of scikit-image's camera picture without their means, scaled to norm 1, and 196 atoms
that SPAMS learned from them; gamma = .1, delta = .05, about 22 coefficients that are not zero. Ours are exact codes with
a certified gap. The objective is the mean over the samples of 1/2 |x - W y|^2 + gamma |y|_1 + delta/2 |y|^2, computed
here from both sides' codes.

coding-huber is the same with what is quadratic up to |u_m| = .1 and linear beyond, so that pixels may be outliers (about 7
of 100 are): 1/eta times the quadratic part above, and gamma and delta with it. SPAMS does not have it. Its peers are
skglm's working sets with Anderson acceleration, one sample after the other, and accelerated proximal gradient steps in
numpy, as many as come within 1e-6 of the objective, 64 samples at a time (which stay in the cache: a quarter faster than
all at once); the faster one counts.
"""

import time
import warnings

import numpy as np

from common import interleaved, kernel, patches

NAMES = ["coding", "coding-nonneg", "coding-huber"]
ABOUT = "codes of 30,000 patches against SPAMS, and with the Huber loss against skglm and numpy"

GAMMA, DELTA, ATOMS, REPEATS, MUST = 0.1, 0.05, 196, 5, 3.0
ETA, SKGLM_SAMPLES, HUBER_MUST = 0.1, 100, 20.0
AT_A_TIME = 64


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


def rows(program, threads, wanted):
    x = patches(30_000, 10)
    atoms = learned(x)
    for count in sorted({1, 2, threads}):
        if "coding" in wanted:
            yield compare(x, atoms, count, positive=False)
        if "coding-nonneg" in wanted:
            yield compare(x, atoms, count, positive=True)
        if "coding-huber" in wanted:
            yield compare_huber(x, atoms, count)


def by_us(name, x, atoms, threads):
    """Our codes of a bench, and their seconds."""
    scale, flags = 1.0, []
    if name == "coding-nonneg":
        flags = ["--non-negative"]
    if name == "coding-huber":
        scale, flags = ETA, ["--huber", ETA]
    found, codes = kernel(
        threads, "coding", {"samples": x, "atoms": atoms},
        "--gamma", GAMMA / scale, "--delta", DELTA / scale, *flags,
    )
    return codes, found["seconds"]


def compare(x, atoms, threads, positive):
    import spams

    columns, dictionary = np.asfortranarray(x.T), np.asfortranarray(atoms.T)
    name = "coding-nonneg" if positive else "coding"

    def ours():
        return by_us(name, x, atoms, threads)

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
        "bench": name,
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


def huber_objective(x, atoms, codes):
    u = np.abs(x - codes @ atoms)
    loss = np.where(u < ETA, u * u / (2 * ETA), u - ETA / 2)
    total = loss.sum() + GAMMA / ETA * np.abs(codes).sum() + 0.5 * DELTA / ETA * (codes * codes).sum()
    return float(total / len(x))


def gradient_steps(x, atoms, steps, good=None):
    """The codes after so many accelerated proximal gradient steps; with `good`, the number of steps to codes that
    are, in tens."""
    gamma, delta = GAMMA / ETA, DELTA / ETA
    curvature = np.linalg.norm(atoms, 2) ** 2 / ETA
    momentum = (np.sqrt(curvature + delta) - np.sqrt(delta)) / (np.sqrt(curvature + delta) + np.sqrt(delta))
    y = ahead = np.zeros((len(x), len(atoms)))
    for step in range(steps):
        if good and step % 10 == 0 and good(y):
            return step
        nu = np.clip((x - ahead @ atoms) / ETA, -1, 1)
        new = ahead + nu @ atoms.T / curvature
        new = np.sign(new) * np.maximum(np.abs(new) - gamma / curvature, 0) / (1 + delta / curvature)
        ahead, y = new + momentum * (new - y), new
    return steps if good else y


def skglm_seconds(x, atoms):
    """Seconds a sample, of a few, and their objective."""
    from skglm.datafits import Huber
    from skglm.penalties import L1_plus_L2
    from skglm.solvers import AndersonCD
    from skglm.utils.jit_compilation import compiled_clone

    # Its loss is the mean over the rows, without the 1/eta.
    columns = np.asfortranarray(atoms.T)
    l1, l2 = GAMMA / len(columns), DELTA / len(columns)
    loss, penalty = compiled_clone(Huber(ETA)), compiled_clone(L1_plus_L2(l1 + l2, l1 / (l1 + l2)))
    solver = AndersonCD(fit_intercept=False, tol=1e-6, max_iter=100, max_epochs=50_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solver.solve(columns, x[0].copy(), loss, penalty)  # compiles
        began = time.perf_counter()
        codes = np.array([solver.solve(columns, one.copy(), loss, penalty)[0] for one in x])
        return (time.perf_counter() - began) / len(x), huber_objective(x, atoms, codes)


def compare_huber(x, atoms, threads):
    import threadpoolctl

    def ours():
        return by_us("coding-huber", x, atoms, threads)

    codes, _ = ours()
    best = huber_objective(x, atoms, codes)
    near = lambda codes: huber_objective(x, atoms, codes) <= best * (1 + 1e-6)
    steps = gradient_steps(x, atoms, 2_000, good=near)

    def theirs():
        with threadpoolctl.threadpool_limits(threads):
            began = time.perf_counter()
            parts = [gradient_steps(x[i : i + AT_A_TIME], atoms, steps) for i in range(0, len(x), AT_A_TIME)]
            return np.concatenate(parts), time.perf_counter() - began

    (_, our_s), (peer_codes, peer_s) = interleaved(REPEATS, ours, theirs)
    peer, peer_objective = f"numpy, {steps} steps", huber_objective(x, atoms, peer_codes)
    some = x[:SKGLM_SAMPLES]
    skglm_s, skglm_objective = skglm_seconds(some, atoms)
    # skglm keeps to one thread; samples could be shared out among more.
    skglm_s *= len(x) / threads
    if skglm_s < peer_s:
        peer, peer_s, peer_objective = "skglm", skglm_s, skglm_objective
        best = huber_objective(some, atoms, codes[: len(some)])
    return {
        "bench": "coding-huber",
        "threads": threads,
        "ours_s": our_s,
        "peer": peer,
        "peer_s": peer_s,
        "ratio": peer_s / our_s,
        "bar": HUBER_MUST,
        "ours_objective": best,
        "peer_objective": peer_objective,
        "ok": bool(best <= peer_objective * (1 + 1e-6) and peer_s >= HUBER_MUST * our_s),
    }
