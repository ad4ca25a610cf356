"""Rounds of a batch in learning by relaxed-admm: with its default rho, with rho following the rounds, and the best of a grid.

Median over five seeds of the median of batches 20 to 40, at a tolerance of 1e-3. Random atoms learn from samples of 20
planted unit atoms with 5 % of noise, in batches of 16 or 4 (gamma .05, delta .02, squared residual), or from the example
data of `dictmesh examples` (48 atoms, 64 rows, gamma .2, delta .1). The grid has factors 2^(s/2) of the default rho, s from
-5 to 2.
"""

import pathlib
import statistics
import tempfile

from common import dictmesh, kernel

NAMES = ["rho"]
ABOUT = "rounds of learned batches with the default rho, the one that follows the data, and the best of a grid"

SEEDS = range(1, 6)
BATCHES = range(20, 41)
GRID = [2 ** (s / 2) for s in range(-5, 3)]
# mesh, flags, samples of a batch
MESHES = [
    ("4 x 50, ring, M = 100", {"agents": 4, "atoms": 50, "rows": 100}, 16),
    ("16 x 12, ring, M = 100", {"agents": 16, "atoms": 12, "rows": 100}, 16),
    ("8 x 25, complete, M = 100", {"agents": 8, "atoms": 25, "rows": 100, "edges": 1}, 16),
    ("64 x 4, p = .2, M = 100", {"agents": 64, "atoms": 4, "rows": 100, "edges": 0.2}, 16),
    ("example data, 4 x 12, ring", {"agents": 4, "atoms": 12, "rows": 64, "gamma": 0.2, "delta": 0.1}, 16),
    ("4 x 50, ring, M = 100", {"agents": 4, "atoms": 50, "rows": 100}, 4),
    ("16 x 12, ring, M = 100", {"agents": 16, "atoms": 12, "rows": 100}, 4),
    ("8 x 25, complete, M = 100", {"agents": 8, "atoms": 25, "rows": 100, "edges": 1}, 4),
    ("64 x 4, p = .2, M = 100", {"agents": 64, "atoms": 4, "rows": 100, "edges": 0.2}, 4),
    ("example data, 4 x 12, ring", {"agents": 4, "atoms": 12, "rows": 64, "gamma": 0.2, "delta": 0.1}, 4),
]
WITHIN_BEST, WITHIN_DEFAULT = 1.15, 1.05
BAR = f"{WITHIN_BEST} of the best, {WITHIN_DEFAULT} of the default"


def rows(program, threads):
    with tempfile.TemporaryDirectory() as scratch:
        data = {seed: pathlib.Path(scratch) / str(seed) for seed in SEEDS}
        for seed, directory in data.items():
            dictmesh(program, threads, "examples", directory, "--seed", seed)
        for mesh, sizes, batch in MESHES:
            flags = [part for key, value in sizes.items() for part in (f"--{key}", value)]
            flags += ["--batch", batch, "--samples", batch * (BATCHES.stop + 1)]

            def rounds(*more):
                def of(seed):
                    given = ["--data", data[seed] / "samples.npy"] if "example" in mesh else []
                    found = kernel(threads, "penalty", {}, *flags, "--seed", seed, *given, *more)[0]["rounds"]
                    return statistics.median(found[b] for b in BATCHES)

                return statistics.median(map(of, SEEDS))

            grid = {factor: rounds("--factor", factor) for factor in GRID}
            followed, best = rounds(), min(grid, key=grid.get)
            ratios = followed / grid[best], followed / grid[1]
            yield {"bench": "rho", "mesh": mesh, "batch": batch, "default": grid[1], "follows": followed, "best": grid[best],
                   "best_factor": best, "of_best": ratios[0], "of_default": ratios[1], "bar": BAR,
                   "ok": ratios[0] <= WITHIN_BEST and ratios[1] <= WITHIN_DEFAULT}
