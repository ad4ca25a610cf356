"""Two threads against one: codes, learning and rounds of a dense mesh, as in the benches of these names."""

import numpy as np

from benches import coding, learning, rounds
from common import interleaved, kernel, patches

ABOUT = "two threads against one on coding, learning and mesh-dense"

REPEATS, MUST = 15, 1.7
# All samples are coded and learned so often, so that a job takes two seconds of one thread: a CPU that was idle may
# be slow to come back.
TIMES = 5


def jobs():
    """Name -> what `dictmesh-bench` is called with."""
    x = patches(30_000, 10)
    atoms = coding.learned(x)
    start = x[np.random.default_rng(1).choice(len(x), learning.ATOMS, replace=False)]
    constants = ["--gamma", coding.GAMMA, "--delta", coding.DELTA]
    name, agents, atoms_each, p, count, _ = rounds.CASES[0]
    yield "coding", ("coding", {"samples": x, "atoms": atoms}, *constants, "--repeats", TIMES)
    yield "learning", (
        "learning", {"samples": x, "atoms": start}, *constants, "--batch", learning.BATCH,
        "--forgetting", learning.FORGETTING, "--every", len(x), "--passes", TIMES,
    )
    yield name, (
        "rounds", {}, "--agents", agents, "--atoms", atoms_each, "--rows", rounds.ROWS, "--samples", rounds.SAMPLES,
        "--p", p, "--rounds", count,
    )


def rows(program, threads):
    for name, (part, *rest) in jobs():

        def with_threads(count):
            def run():
                seconds = kernel(count, part, *rest)[0]["seconds"]
                return None, seconds[-1] if isinstance(seconds, list) else seconds

            return run

        (_, two), (_, one) = interleaved(REPEATS, with_threads(2), with_threads(1))
        yield {
            "bench": "threads", "job": name, "ours_s": two, "peer": "one thread", "peer_s": one, "ratio": one / two,
            "bar": MUST, "ok": bool(one >= MUST * two),
        }
