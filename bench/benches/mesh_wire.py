"""Rounds between processes, each of which sends an array to its neighbours and waits for theirs.

The yardstick is the least that an exchange over TCP can be: the same bytes on the same graph through non-blocking sockets
with TCP_NODELAY, run in turn with the others. Four processes, ring and complete graph; times are the median over the
processes of their median round. gRPC may take 4 times as long in plain text and 6 with mutual TLS at 51 KB and 160 KB,
MPI 1.2 times. Bytes on the wire are those of the loopback device of a network namespace made for the run, headers of TCP and IP
and acknowledgements included, over 8 bytes a number; they may be 1.02 times of it, and are measured at 51 KB and
160 KB, as headers are a larger share of 800 bytes. MPI uses shared memory between processes of one machine: no bytes.

Then the ring with N = 2 to 32 processes, and batches B = 1 to 256 of samples of 100 numbers. Last, what single precision on
the wire does to a result: 640 patches learned by a ring of four agents, twice, and the distance of the two runs' atoms and
costs; beside it the distance that a tenth of the tolerance makes, which single precision must stay below. Needs Linux; without root no
namespace is made and bytes are not counted; without OpenMPI (Debian: libopenmpi-dev openmpi-bin libclang-dev) MPI is
left out.
"""

import json
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile

import common
import numpy as np
from common import KERNEL, ROOT, Skip

ABOUT = "rounds between processes against raw TCP: gRPC, mutual TLS, MPI; plotted against N and sizes"
NAMES = ["mesh-wire"]

SIZES = [100, 6_400, 20_000]  # numbers: 800 B, 51 KB, 160 KB
REPEATS = 7
BARS = {"grpc": 4.0, "grpc-tls": 6.0, "mpi": 1.2}
WIRE_BAR = 1.02
AGENTS = [2, 4, 8, 16, 32]
BATCHES = [1, 4, 16, 64, 256]
ROWS = 100
LIMIT = 60  # seconds for one run of all processes


def has_mpi():
    return bool(shutil.which("mpirun") and shutil.which("mpicc"))


def build():
    """The bench with MPI in it, where there is one."""
    features = ["--features", "mpi"] if has_mpi() else []
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "dictmesh-bench", *features], cwd=ROOT, check=True)


def rounds_for(agents, numbers):
    """Enough for a median, in a second or so."""
    return max(60, min(2_000, 40_000_000 // (agents * (numbers + 2_000))))


def command(engine, graph, agents, numbers, certificates):
    wire = [str(KERNEL), "wire", "--engine", engine, "--graph", graph, "--agents", str(agents), "--numbers", str(numbers),
            "--rounds", str(rounds_for(agents, numbers)), "--certificates", str(certificates)]
    if engine == "mpi":
        return "mpirun -q --oversubscribe -np {} {}".format(agents, " ".join(wire))
    each = [f"{' '.join(wire)} --own {own} &" for own in range(agents)]
    return " ".join(each) + " wait"


def run(engine, graph, agents, numbers, certificates):
    """The rows that all processes print, and the bytes that crossed the loopback device, if they can be counted."""
    script = command(engine, graph, agents, numbers, certificates)
    root = os.geteuid() == 0 and shutil.which("unshare") and shutil.which("ip") and engine != "mpi"
    if root:
        script = f"ip link set lo up; {script}; grep lo: /proc/net/dev"
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    started = subprocess.Popen(
        [*(["unshare", "-n"] if root else []), "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=env, start_new_session=True)
    try:
        told, troubles = started.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        # All of them: one that waits for a neighbour that failed would hold the pipes open.
        os.killpg(started.pid, signal.SIGKILL)
        told, troubles = started.communicate()
    lines = told.splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    if len(found) != agents:
        raise RuntimeError(f"{engine}: {len(found)} of {agents} processes came to their end: {troubles.strip()[-800:]}")
    counted = [line.split() for line in lines if "lo:" in line]
    return found, int(counted[0][1]) if counted else None


def measure(engine, graph, agents, numbers, certificates):
    found, crossed = run(engine, graph, agents, numbers, certificates)
    rounds = rounds_for(agents, numbers)
    all_rounds = rounds + max(rounds // 10, 5) + 1  # and those to warm up, and the last one
    links = agents * (agents - 1) if graph == "complete" else (2 if agents == 2 else 2 * agents)
    payload = 8 * numbers * links * all_rounds
    middle = lambda key: statistics.median(row[key] for row in found)
    return {
        "round_us": middle("median_us"), "cpu_us": middle("cpu_us"), "memory_mb": middle("memory") / 1e6,
        "wire_over_payload": crossed / payload if crossed else None,
    }


def rows(program, threads):
    if not pathlib.Path("/proc/self/status").exists():
        raise Skip("needs Linux")
    build()
    engines = ["raw", "grpc", "grpc-tls", "grpc-float32"] + (["mpi"] if has_mpi() else [])
    with tempfile.TemporaryDirectory() as certificates:
        made = [str(KERNEL), "certificates", certificates, "--agents", str(max(AGENTS))]
        subprocess.run(made, check=True, capture_output=True)
        ratios = {}
        for row in against_raw(engines, certificates):
            ratios[row["engine"], row["graph"], row["bytes"]] = row["over_raw"]
            yield row
        yield from growing(engines, certificates, ratios)
    yield precision(program)


def against_raw(engines, certificates):
    for graph in ["ring", "complete"]:
        for numbers in SIZES:
            runs = {engine: [] for engine in engines}
            for _ in range(REPEATS):
                for engine in engines:
                    runs[engine].append(measure(engine, graph, 4, numbers, certificates))
            for engine in engines:
                times = [row["round_us"] for row in runs[engine]]
                ratios = [row["round_us"] / raw["round_us"] for row, raw in zip(runs[engine], runs["raw"])]
                wires = [row["wire_over_payload"] for row in runs[engine]]
                wire = statistics.median(wires) if all(wires) else None
                ratio, bar = statistics.median(ratios), BARS.get(engine)
                row = {
                    "bench": "mesh-wire", "graph": graph, "bytes": 8 * numbers, "engine": engine,
                    "round_us": statistics.median(times), "over_raw": ratio, "bar": bar if numbers > 100 else None,
                    "cpu_us": statistics.median(r["cpu_us"] for r in runs[engine]), "wire_over_payload": wire,
                }
                if bar and numbers > 100:
                    row["ok"] = ratio <= bar and (wire is None or wire <= WIRE_BAR)
                yield row


def learned(program, place, data, port, tolerance, *more):
    """What a ring of four agents, each a process, learns: the result that launch prints, and the atoms."""
    init = [program, "mesh", "init", place, "--data", data, "--agents", 4, "--atoms", 16, "--topology", "ring", "--batch", 16,
            "--tolerance", tolerance, "--seed", 3, "--port", port, "--quiet", *more]
    subprocess.run(list(map(str, init)), check=True, capture_output=True)
    model = place.with_suffix(".model")
    told, _ = common.dictmesh(program, 1, "launch", place / "mesh.toml", "--collect", model)
    return told, atoms_of(model)


def atoms_of(model):
    """All agents' atoms, from a model in the format of safetensors."""
    whole = model.read_bytes()
    begin = 8 + struct.unpack("<Q", whole[:8])[0]
    tensors = json.loads(whole[8:begin])
    blocks = [tensor["data_offsets"] for name, tensor in sorted(tensors.items()) if name.endswith(".atoms")]
    return np.concatenate([np.frombuffer(whole[begin + first:begin + last]) for first, last in blocks])


def precision(program):
    """How far single precision on the wire leads away from the result with double precision."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        np.save(scratch / "x.npy", common.patches(640, 10))
        run = lambda name, port, tolerance, *more: learned(
            program, scratch / name, scratch / "x.npy", port, tolerance, *more)
        double, atoms = run("double", 7800, 1e-4)
        single, near = run("single", 7810, 1e-4, "--float32")
        _, finer = run("finer", 7820, 1e-5)
    apart = lambda other: float(np.linalg.norm(other - atoms) / np.linalg.norm(atoms))
    cost = abs(single["cost_last"] / double["cost_last"] - 1)
    return {
        "bench": "mesh-wire", "engine": "grpc-float32", "samples": double["samples"], "rounds": single["rounds"],
        "rounds_double": double["rounds"], "atoms_apart": apart(near), "cost_apart": cost,
        "atoms_apart_tolerance": apart(finer), "ok": apart(near) < apart(finer),
    }


def growing(engines, certificates, ratios):
    """Against N and the size of the arrays, with a picture; then what batches bring."""
    curves = {}
    for engine in [engine for engine in engines if engine != "grpc-float32"]:
        for numbers in SIZES:
            for agents in AGENTS:
                found = measure(engine, "ring", agents, numbers, certificates)
                curves.setdefault((engine, 8 * numbers), []).append((agents, found))
                yield {
                    "bench": "mesh-wire", "graph": "ring", "agents": agents, "bytes": 8 * numbers, "engine": engine,
                    "rounds_per_s": 1e6 / found["round_us"], "cpu_us": found["cpu_us"], "memory_mb": found["memory_mb"],
                }
    batches = {}
    for engine in [engine for engine in engines if engine != "grpc-float32"]:
        for batch in BATCHES:
            found = measure(engine, "ring", 4, ROWS * batch, certificates)
            batches.setdefault(engine, []).append((batch, found["round_us"] / batch))
            yield {
                "bench": "mesh-wire", "graph": "ring", "agents": 4, "rows": ROWS, "batch": batch, "engine": engine,
                "us_per_sample_round": found["round_us"] / batch,
            }
        each = [us for _, us in batches[engine]]
        yield {
            "bench": "mesh-wire", "engine": engine, "batch": f"1 to {BATCHES[-1]}", "falls_by": each[0] / each[-1],
            "ok": each[0] > each[-1],
        }
    draw(curves, batches, ratios)


COLOURS = {"raw": "#667085", "grpc": "#2456a6", "grpc-tls": "#d97a24", "grpc-float32": "#7aa2dd", "mpi": "#1f9482"}
LABELS = {"raw": "raw TCP", "grpc": "gRPC", "grpc-tls": "gRPC, mutual TLS", "grpc-float32": "gRPC, float32", "mpi": "MPI"}
SIZE_NAMES = dict(zip([8 * n for n in SIZES], ["800 B", "51 KB", "160 KB"]))


def draw(curves, batches, ratios):
    """Three measures against N, a column for each size; then what batches bring, and the ratios with their bars."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25})
    figure = plt.figure(figsize=(12, 14), constrained_layout=True)
    above, below = figure.subfigures(2, 1, height_ratios=[3, 1.25])
    draw_growth(above.subplots(3, 3, sharex=True, sharey="row"), curves)
    left, right = below.subplots(1, 2)
    draw_batches(left, batches)
    draw_ratios(right, ratios)
    lines = [plt.Line2D([], [], color=COLOURS[engine], marker="o", ms=4) for engine in batches]
    figure.legend(lines, [LABELS[engine] for engine in batches], loc="outside upper center", ncols=len(lines), frameon=False)
    common.OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(common.OUT / "mesh-wire.png", dpi=110)
    plt.close(figure)


def plain_ticks(axis, ticks):
    """Numbers as people write them, and no marks between powers of ten."""
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.yaxis.set_major_formatter(lambda y, _: f"{y:,.0f}" if y >= 1 else f"{y:g}")


def draw_growth(axes, curves):
    measures = [
        ("rounds a second", lambda found: 1e6 / found["round_us"]),
        ("CPU a round and agent, microseconds", lambda found: found["cpu_us"]),
        ("memory of an agent, MB", lambda found: found["memory_mb"]),
    ]
    for row, (label, value) in zip(axes, measures):
        row[0].set_ylabel(label)
        for axis, size in zip(row, SIZE_NAMES):
            for engine in [engine for engine, of in curves if of == size]:
                points = curves[engine, size]
                axis.plot([n for n, _ in points], [value(found) for _, found in points], "-o", ms=4, color=COLOURS[engine])
            axis.set_xscale("log")
            axis.set_yscale("linear" if "memory" in label else "log")
            plain_ticks(axis, AGENTS)
    most = max(found["memory_mb"] for points in curves.values() for _, found in points)
    axes[2][0].set_ylim(0, 1.1 * most)
    for axis, name in zip(axes[0], SIZE_NAMES.values()):
        axis.set_title(f"{name} to each neighbour", loc="left", fontsize=11)
    for axis in axes[2]:
        axis.set_xlabel(f"processes on a ring, {os.cpu_count()} cores")


def draw_batches(axis, batches):
    for engine, points in batches.items():
        axis.loglog([b for b, _ in points], [us for _, us in points], "-o", ms=4, color=COLOURS[engine])
    axis.set_title("microseconds a sample and round", loc="left", fontsize=11)
    axis.set_xlabel(f"samples of {ROWS} numbers in a batch (ring of 4)")
    plain_ticks(axis, BATCHES)


def draw_ratios(axis, ratios):
    """A row for each graph and size that has a bar, a dot for each engine; small lines are the bars."""
    places = [(graph, size) for graph in ["ring", "complete"] for size in list(SIZE_NAMES)[1:]]
    for y, (graph, size) in enumerate(places):
        for engine, bar in BARS.items():
            if (engine, graph, size) in ratios:
                axis.plot(ratios[engine, graph, size], y, "o", ms=7, color=COLOURS[engine])
                axis.plot([bar, bar], [y - 0.3, y + 0.3], color=COLOURS[engine], lw=2, alpha=0.6)
    axis.set_yticks(range(len(places)), [f"{graph}, {SIZE_NAMES[size]}" for graph, size in places])
    axis.invert_yaxis()
    axis.set_xlim(left=0)
    axis.set_title("a round over that of raw TCP (4 processes); lines are the bars", loc="left", fontsize=11)
