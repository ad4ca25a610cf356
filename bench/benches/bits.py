"""Kilobytes for one sample by the number of bits of `tree`, to tolerances from 1e-2 to 1e-8.

The meshes and samples of mesh-cost. Bytes are those on all links, with units, slopes and scalars in both directions, without
frames. The bar is that of the default: 8 bits take at most 15 % more than the fewest bytes.
"""

from benches.mesh_cost import MESHES, SAMPLES
from benches.mesh_cost import bits as strategy
from common import kernel

NAMES = ["bits"]
ABOUT = "bytes of codes by sums for 4 to 16 bits, to five tolerances"

BITS = [4, 6, 8, 10, 12, 16]
DEFAULT, MOST = 8, 1.15
TOLERANCES = [1e-2, 1e-3, 1e-4, 1e-6, 1e-8]
WANTED = ("4 x 50", "16 x 256", "64 x 4,")


def rows(program, threads):
    for mesh, sizes, *_ in MESHES:
        if not mesh.startswith(WANTED):
            continue
        flags = [part for key, value in sizes.items() for part in (f"--{key}", value)]
        for tolerance in TOLERANCES:
            each = {}
            for count in BITS:
                cost, _ = kernel(threads, "cost", {}, *flags, "--samples", SAMPLES, "--strategy", strategy(count), "--tolerance", tolerance)
                each[count] = cost["bytes_per_sample"] / 1e3
            ratio = each[DEFAULT] / min(each.values())
            yield {"bench": "bits", "mesh": mesh, "tolerance": f"{tolerance:.0e}", **{f"{count} bits": kb for count, kb in each.items()},
                   "of the fewest": ratio, "bar": MOST, "ok": ratio <= MOST}
