"""What a call from Python costs over the library's own time: `transform` of one sample.

Each sample is coded by itself, by `SparseCoder.transform` and by `Mesh::exact_codes` in a program without Python; the
medians are subtracted. `in_core_us` is the call without the checks and wrappers of scikit-learn.
"""

import time

import numpy as np

from common import Skip, interleaved, kernel

NAMES = ["python-call"]
ABOUT = "microseconds that transform of one sample from Python takes over the library alone"

CALLS, REPEATS, MOST_US = 2_000, 5, 50.0
SIZES = [(20, 10), (100, 196), (784, 64)]
GAMMA, DELTA = 0.3, 0.05


def rows(program, threads):
    try:
        import dictmesh
    except ImportError as e:
        raise Skip(f"the Python package is not installed ({e}): pip install .")
    rng = np.random.default_rng(0)
    for features, atoms in SIZES:
        w = rng.normal(size=(atoms, features))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        x = rng.normal(size=(CALLS, features)) / np.sqrt(features) * 2
        coder = dictmesh.SparseCoder(w, gamma=GAMMA, delta=DELTA).fit(x)
        core = coder._coder()

        def timed(call, x):
            taken = []
            for one in np.split(x, len(x)):
                began = time.perf_counter()
                call(one)
                taken.append(time.perf_counter() - began)
            return None, float(np.median(taken))

        def alone():
            found, _ = kernel(1, "coding", {"samples": x, "atoms": w}, "--gamma", GAMMA, "--delta", DELTA, "--singly")
            return None, found["seconds"]

        single = x.astype(np.float32)
        (_, whole), (_, inner), (_, narrow), (_, own) = interleaved(
            REPEATS,
            lambda: timed(coder.transform, x),
            lambda: timed(lambda one: core.solve(one, 1), x),
            lambda: timed(coder.transform, single),
            alone,
        )
        over = 1e6 * (max(whole, narrow) - own)
        yield {
            "bench": "python-call",
            "features": features,
            "atoms": atoms,
            "transform_us": 1e6 * whole,
            "float32_us": 1e6 * narrow,
            "in_core_us": 1e6 * inner,
            "library_us": 1e6 * own,
            "over_us": over,
            "bar": f"< {MOST_US:.0f}",
            "ok": bool(over < MOST_US),
        }
