"""How work, memory and time grow with N, M, K, edges, B and the number of samples, each doubled four times.

Work is counted multiply-adds, memory the most bytes in use at one time, both by `dictmesh-count`, a build of the
library that counts; time is that of the build everybody uses, and is plotted only. Exponents are slopes of a straight
line through the five points on logarithmic axes, and must not be above theory by more than .1.

Theory: a round of relaxed-admm costs M B for each weight that is not 0 (for each pair of agents, where the graph is
dense enough to be done as one product) and 2 M K B for the codes, so 1 in M, K, B and edges; in N it is 1 on a graph
of constant degree and 2 on a complete one. The code of one sample costs M K for its correlations and support x K for
each look at the other atoms, so 1 in M and in K; W'W, M K^2, is formed once, when atoms change, and is not part of it
(one sample's work is the difference of twice as many samples and as many, over their number). The samples have a
planted support of 4, whatever the sizes. Learning by a fixed number of rounds is 1 in the samples. Setting up a mesh
takes the eigenvalues of its graph, N^3.

The state, 8 bytes a number, is what has to be kept: the atoms; in rounds also the samples, and nu, s, t and what
arrives (M x B each) and the codes at every agent; in coding W'W, and the samples with their codes and duals; in
learning the samples, and one batch's nu, s, t, what arrives and codes in K + 1 rows; in a set-up an N x N matrix and
its eigenvalue problem. Memory must stay below 1.3 of it. The buffers of matrix products, 4 MB a thread whatever
the sizes, are not counted; what coding itself computes in is. That is a constant of about 1.5 MB a thread and half of
W'W, so the ratio depends on where a job begins: at 128 rows and 64 atoms it is 1.58 for 1,024 samples, 1.30 for
2,048 and 1.09 for 8,192. `dictmesh learn` reads a file in parts: its memory (resident, of the whole process) must
not grow with the file.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import common
from common import KERNEL, ROOT, threads_of

ABOUT = "exponents of counted work and of memory, plotted"

DOUBLINGS, REPEATS, SLACK, MOST = 4, 3, 0.1, 1.3
COUNTER = ROOT / "target" / "release" / "dictmesh-count"

ROUND = {"agents": 32, "degree": 4, "rows": 64, "samples": 32, "rounds": 10}
CODING = {"rows": 128, "atoms": 128, "samples": 4096}

# job, what is doubled, its flag, where it begins, the other sizes, exponents of work and memory by theory
JOBS = [
    ("rounds, degree 4", "N", "agents", 64, ROUND, 1, 1),
    ("rounds, all are neighbours", "N", "agents", 16, {**ROUND, "degree": "all", "rows": 128}, 2, 1),
    ("rounds", "M", "rows", 32, ROUND, 1, 1),
    ("rounds", "K of each agent", "atoms", 2, {**ROUND, "agents": 16, "degree": 2, "rows": 256}, 1, 1),
    ("rounds", "edges", "degree", 2, {**ROUND, "agents": 256}, 1, 1),
    ("rounds", "B", "samples", 8, ROUND, 1, 1),
    ("coding", "M", "rows", 64, CODING, 1, 1),
    ("coding one sample", "K", "atoms", 64, {**CODING, "samples": 2048}, 1, 2),
    ("coding", "samples", "samples", 2048, CODING, 1, 1),
    ("learning", "samples", "samples", 1024, {"agents": 8, "degree": 2, "atoms": 4, "rows": 256}, 1, 1),
    ("set-up, degree 4", "N", "agents", 64, {"degree": 4, "rows": 16, "samples": 1}, 3, 2),
]
# A part of a file that is in memory at a time has 2^23 numbers; these are bytes, so that the files stay small.
STREAM_ROWS, STREAM_FROM = 4096, 2500


def rows(program, threads):
    build = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "dictmesh-bench"]
    subprocess.run([*build, "--features", "count-work", "--bin", "dictmesh-count"], check=True, cwd=ROOT)
    panels = []
    for job in JOBS:
        panels.append(scaled(*job))
        yield row(panels[-1])
    panels.append(streamed(program))
    yield row(panels[-1])
    draw(panels, common.OUT / "scale")


def scaled(job, parameter, flag, begin, sizes, theory, memory_theory):
    """One parameter doubled, everything else fixed."""
    xs = [begin << i for i in range(DOUBLINGS + 1)]
    points = [point(job, {**sizes, flag: x}) for x in xs]
    if parameter == "edges":
        xs = [sizes["agents"] * x // 2 for x in xs]
    return {
        "job": job,
        "parameter": parameter,
        "xs": xs,
        "work": [p["work"] for p in points],
        "memory": [p["peak"] for p in points],
        "state": [p["state"] for p in points],
        "time": [p["seconds"] for p in points],
        "theory": theory,
        "memory_theory": memory_theory,
    }


def point(job, sizes):
    counted, seconds = measured(job, sizes)
    if job == "coding one sample":
        twice, twice_seconds = measured(job, {**sizes, "samples": 2 * sizes["samples"]})
        counted["work"] = (twice["work"] - counted["work"]) / sizes["samples"]
        seconds = (twice_seconds - seconds) / sizes["samples"]
    return {**counted, "seconds": seconds}


def measured(job, sizes):
    """What the counting build says, and the seconds of the other."""
    sizes = {**sizes, "degree": sizes["agents"] - 1} if sizes.get("degree") == "all" else sizes
    flags = [str(part) for name, value in sizes.items() for part in (f"--{name}", value)]
    name = job.split(",")[0].split()[0].replace("set-up", "setup")
    counted = run([COUNTER, name, *flags])
    # The least of a few: others may use the machine too.
    return counted, min(run([KERNEL, "scale", name, *flags])["seconds"] for _ in range(REPEATS))


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=threads_of(1))
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return json.loads(done.stdout)


# A child's largest resident size begins with that of its parent, so the parent must be a small one.
RESIDENT = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def streamed(program):
    """`dictmesh learn` of files that are longer and longer."""
    xs = [STREAM_FROM << i for i in range(DOUBLINGS + 1)]
    memory, seconds = [], []
    with tempfile.TemporaryDirectory() as scratch:
        samples, model = pathlib.Path(scratch) / "samples.npy", pathlib.Path(scratch) / "model"
        for x in xs:
            np.save(samples, np.random.default_rng(0).integers(0, 256, (x, STREAM_ROWS), dtype=np.uint8))
            learn = [program, "learn", samples, "-o", model, "--atoms", 4, "--gamma", 1, "--batch", 256, "--quiet"]
            began = time.perf_counter()
            memory.append(1024 * run([sys.executable, "-c", RESIDENT, *learn]))
            seconds.append(time.perf_counter() - began)
    return {
        "job": "dictmesh learn",
        "parameter": "samples in the file",
        "xs": xs,
        "work": None,
        "memory": memory,
        "state": None,
        "time": seconds,
        "theory": None,
        "memory_theory": 0,
    }


def exponent(panel, what):
    if panel[what] is None:
        return None
    return float(np.polyfit(np.log(panel["xs"]), np.log(panel[what]), 1)[0])


def row(panel):
    work, memory = exponent(panel, "work"), exponent(panel, "memory")
    over = panel["state"] and max(m / s for m, s in zip(panel["memory"], panel["state"]))
    ok = memory <= panel["memory_theory"] + SLACK
    ok = ok and (work is None or work <= panel["theory"] + SLACK) and (over is None or over <= MOST)
    return {
        "bench": "scale",
        "job": panel["job"],
        "parameter": panel["parameter"],
        "theory": panel["theory"],
        "work_exponent": work,
        "memory_theory": panel["memory_theory"],
        "memory_exponent": memory,
        "time_exponent": exponent(panel, "time"),
        "memory_over_state": over,
        "bar": f"theory + {SLACK}, {MOST} of the state",
        "ok": bool(ok),
    }

LINES = [
    ("work", "multiply-adds", "#2b6cb0", "o"),
    ("memory", "peak memory", "#2f855a", "s"),
    ("time", "time", "#c05621", "^"),
]


def draw(panels, folder):
    """A small panel for each parameter: everything relative to where it began, over the lines of theory."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10, "svg.fonttype": "none"})
    across = 4
    down = -(-len(panels) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(3.4 * across, 3.0 * down), layout="constrained")
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels):
        draw_panel(axis, panel)
    handles = [pyplot.Line2D([], [], color=c, marker=m, label=label) for _, label, c, m in LINES]
    handles.append(pyplot.Line2D([], [], color="#7aa7d9", linestyle="--", label="multiply-adds by theory"))
    handles.append(pyplot.Line2D([], [], color="#74b894", linestyle=":", label="memory by theory"))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=11)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix in ["png", "svg"]:
        figure.savefig(folder / f"scale.{suffix}", dpi=150)
    pyplot.close(figure)


def draw_panel(axis, panel):
    xs = np.array(panel["xs"], dtype=float)
    for theory, colour, dashes in [("theory", "#7aa7d9", "--"), ("memory_theory", "#74b894", ":")]:
        if panel[theory] is not None:
            axis.plot(xs, (xs / xs[0]) ** panel[theory], color=colour, linestyle=dashes, linewidth=1.4, zorder=1)
    said = []
    for what, _, colour, marker in LINES:
        if panel[what] is None:
            continue
        ys = np.array(panel[what], dtype=float)
        axis.plot(xs, ys / ys[0], color=colour, marker=marker, markersize=4.5, linewidth=1.6)
        said.append((f"{exponent(panel, what):.2f}", colour))
    for i, (text, colour) in enumerate(said):
        axis.text(0.05 + 0.17 * i, 0.9, text, color=colour, transform=axis.transAxes, fontweight="bold")
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    top = max(2.0, axis.get_ylim()[1])
    axis.set_ylim(0.7, top * 2)  # room for the exponents
    axis.set_xticks(xs, [f"{x:,.0f}" for x in xs], fontsize=8)
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}×" if y >= 1 else "")
    axis.minorticks_off()
    axis.set_title(panel["job"])
    axis.set_xlabel(panel["parameter"])
    axis.grid(color="#e5e5e5", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
