"""Bytes, hops and seconds of a batch of 32 samples, coded by gossip and by sums, at one error of nu.

Random unit atoms, samples of 20 atoms with 5 % of noise, gamma .05, delta .02, squared residual. Both sides run in one
process until every agent's nu is within 1e-3 of the exact one, relative to it, for all samples. Gossip (relaxed-admm with
its default rho) stops in the first round in which it is, of every fifth: a stopping rule would need more. The tree stops
by its certificate, with the largest tolerance that meets the error. Bytes are those on all links for one sample, with
units, slopes and scalars in both directions, without frames. Hops are messages one after the other.

The plot has bytes for one sample against N from 4 to 4,000 (one atom each, M = 100, about 20 neighbours), and the limit
of 2 (N - 1) messages of M numbers of eight bytes. With DICTMESH_LONG=1 the two largest meshes are compared with gossip
too, which takes an hour.
"""

import os

import common
from common import kernel

NAMES = ["mesh-cost"]
ABOUT = "bytes, hops and seconds of codes by sums against gossip, at one error"

SAMPLES = 32
# mesh, flags, whether gossip takes minutes, bars: bytes, hops, seconds
MESHES = [
    ("4 x 50, ring, M = 100", {"agents": 4, "atoms": 50, "rows": 100}, False, 10, None, None),
    ("16 x 256, p = .3, M = 256", {"agents": 16, "atoms": 256, "rows": 256, "edges": 0.3}, False, 60, 1.75, None),
    ("16 x 512, p = .3, M = 512", {"agents": 16, "atoms": 512, "rows": 512, "edges": 0.3}, False, None, 1.75, None),
    ("64 x 4, p = .2, M = 100", {"agents": 64, "atoms": 4, "rows": 100, "edges": 0.2}, False, 120, 1.75, None),
    ("64 x 256, p = .2, M = 512", {"agents": 64, "atoms": 256, "rows": 512, "edges": 0.2}, True, 300, 1.75, 20),
    ("2,000 x 1, p = .01, M = 100", {"agents": 2000, "atoms": 1, "rows": 100, "edges": 0.01}, True, 2000, None, None),
]
GROWTH = [4, 16, 64, 250, 1000, 4000]
ROWS, NEIGHBOURS = 100, 20


def cost(threads, sizes, strategy):
    flags = [part for key, value in sizes.items() for part in (f"--{key}", value)]
    return kernel(threads, "cost", {}, *flags, "--samples", SAMPLES, "--strategy", strategy)[0]


def bits(count):
    return '{"kind": "tree", "bits": %d}' % count


def rows(program, threads):
    for mesh, sizes, is_long, *bars in MESHES:
        is_left_out = is_long and os.environ.get("DICTMESH_LONG") != "1"
        gossip = None if is_left_out else cost(threads, sizes, "relaxed-admm")
        for count in (16, 8):
            yield compare(mesh, gossip, cost(threads, sizes, bits(count)), count, bars if count == 8 else [None] * 3)
    draw(threads)


def compare(mesh, gossip, tree, count, bars):
    row = {"bench": "mesh-cost", "mesh": mesh, "bits": count, "rounds": tree["rounds"], "depth": tree["depth"],
           "kilobytes": tree["bytes_per_sample"] / 1e3, "seconds": tree["seconds"]}
    if gossip is None:
        return row
    fewer = gossip["bytes_per_sample"] / tree["bytes_per_sample"]
    hops, faster = tree["hops"] / gossip["hops"], gossip["seconds"] / tree["seconds"]
    row |= {"gossip_rounds": gossip["rounds"], "gossip_kilobytes": gossip["bytes_per_sample"] / 1e3,
            "bytes_ratio": fewer, "hops_ratio": hops, "seconds_ratio": faster}
    met = [bar is None or ok for bar, ok in zip(bars, [fewer >= (bars[0] or 0), hops <= (bars[1] or 0), faster >= (bars[2] or 0)])]
    if any(bar is not None for bar in bars):
        row |= {"bar": ", ".join(f"{name} {bar}" for name, bar in zip(("bytes", "hops", "seconds"), bars) if bar), "ok": all(met)}
    return row


def draw(threads):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def sizes(n):
        edges = {"edges": min(1.0, NEIGHBOURS / (n - 1))} if n > NEIGHBOURS else {}
        return {"agents": n, "atoms": 1, "rows": ROWS, **edges}

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for count, colour in ((16, "#9467bd"), (8, "#1f77b4")):
        each = [cost(threads, sizes(n), bits(count))["bytes_per_sample"] for n in GROWTH]
        axis.plot(GROWTH, each, "-o", color=colour, label=f"tree, {count} bits")
    few = [n for n in GROWTH if n <= 250]
    each = [cost(threads, sizes(n), "relaxed-admm")["bytes_per_sample"] for n in few]
    axis.plot(few, each, "-o", color="#d62728", label="relaxed-admm")
    axis.plot(GROWTH, [2 * (n - 1) * 8 * ROWS for n in GROWTH], "--", color="#7f7f7f", label="2 (N - 1) messages of M numbers")
    axis.set(xscale="log", yscale="log", xlabel="agents N, one atom each", ylabel="bytes on all links for one sample")
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    common.OUT.mkdir(exist_ok=True)
    figure.savefig(common.OUT / "mesh-cost.png", dpi=110)
