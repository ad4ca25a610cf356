"""One round of 80 agents for a document of TDT2, against numpy's dense round.

TF-IDF of the 19,677 terms in at least five documents, agents of one atom each (means of ten documents), random graph with
p = .5, relaxed-admm with our default rho on both sides. numpy holds all agents' vectors in one 80 x 19,677 array: the sum over the
neighbours is one product with the adjacency matrix, float64 on OpenBLAS. For Huber it takes Newton steps for all agents
at once. Both do the same rounds: "apart" is the largest difference in any agent's nu after 20 of them.

"setup_s" is what ours needs before the first round when the atoms are new (W'W, its factor); "ratio_whole" has it spread
over the rounds that a document needs to 1e-3.
"""

import time

import numpy as np

import tdt2
from common import interleaved, kernel

NAMES = ["mesh-documents"]
ABOUT = "one round of 80 agents for a TDT2 document against numpy"

AGENTS, P, ROUNDS, REPEATS, MUST = 80, 0.5, 20, 5, 50.0


CASES = [("squared", tdt2.SQUARED), ("huber", tdt2.HUBER)]


def arrays():
    """A document, the atoms and the graph."""
    x = tdt2.documents()
    rng = np.random.default_rng(0)
    w, adjacency = tdt2.atoms(x, AGENTS, rng), tdt2.graph(AGENTS, P, rng)
    return {"samples": x[[4321]].toarray(), "atoms": w, "adjacency": adjacency}


def by_us(given, constants, threads, more=500):
    """What was found with the duals, and the seconds of a round, the mean of `more`."""
    flags = [part for key, value in constants.items() for part in (f"--{key}", value)]
    found, duals = kernel(threads, "documents", given, *flags, "--rounds", ROUNDS, "--more", more)
    return (found, duals), found["seconds"]


def rows(program, threads):
    given = arrays()
    for name, constants in CASES:
        for count in sorted({1, 2, threads}):
            yield compare(name, constants, given, count)


def compare(name, constants, given, threads):
    document, w, adjacency = given.values()

    def ours():
        return by_us(given, constants, threads)

    rho = ours()[0][0]["strategy"]["rho"]

    def theirs():
        import threadpoolctl

        with threadpoolctl.threadpool_limits(threads):
            mesh = tdt2.RelaxedAdmm(document[0], w, adjacency, rho, **constants)
            began = time.perf_counter()
            for _ in range(ROUNDS):
                mesh.round()
            return mesh.nu, (time.perf_counter() - began) / ROUNDS

    ((found, duals), our_s), (nu, peer_s) = interleaved(REPEATS, ours, theirs)
    apart = float(np.abs(duals - nu).max())
    rounds = found["rounds_to_1e-3"]
    whole = our_s + found["first_setup"] / rounds
    return {
        "bench": "mesh-documents", "case": name, "threads": threads, "ours_s": our_s, "peer": "numpy", "peer_s": peer_s,
        "ratio": peer_s / our_s, "bar": MUST, "apart": apart, "setup_s": found["first_setup"],
        "setup_again_s": found["setup"], "rounds": rounds, "ratio_whole": peer_s / whole,
        "ok": bool(peer_s >= MUST * our_s and apart < 1e-9),
    }
