"""Rounds between processes, each of which sends an array to its neighbours and waits for theirs.

The yardstick is the least that an exchange over TCP can be: the same bytes on the same graph through non-blocking sockets
with TCP_NODELAY, run in turn with the others. Four processes, ring and complete graph; times are the median over the
processes of their median round. gRPC may take 4 times as long in plain text and 6 with mutual TLS at 51 KB and 160 KB,
MPI 1.2 times. Bytes on the wire are those of the loopback device of a network namespace made for the run, headers of TCP and IP
and acknowledgements included, over 8 bytes a number; they may be 1.02 times of it, and are measured at 51 KB and
160 KB, as headers are a larger share of 800 bytes. MPI uses shared memory between processes of one machine: no bytes.

Then the ring with N = 2 to 32 processes, and batches B = 1 to 256 of samples of 100 numbers. Needs Linux; without root no
namespace is made and bytes are not counted; without OpenMPI (Debian: libopenmpi-dev openmpi-bin libclang-dev) MPI is
left out.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import common
from common import KERNEL, ROOT, Skip

ABOUT = "rounds between processes against raw TCP: gRPC, mutual TLS, MPI; plotted against N and sizes"
NAMES = ["mesh-wire"]

SIZES = [100, 6_400, 20_000]  # numbers: 800 B, 51 KB, 160 KB
REPEATS = 3
BARS = {"grpc": 4.0, "grpc-tls": 6.0, "mpi": 1.2}
WIRE_BAR = 1.02
AGENTS = [2, 4, 8, 16, 32]
BATCHES = [1, 4, 16, 64, 256]
ROWS = 100
LIMIT = 300  # seconds for one run of all processes


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
    done = subprocess.run(
        [*(["unshare", "-n"] if root else []), "sh", "-c", script], capture_output=True, text=True, env=env, timeout=LIMIT)
    lines = done.stdout.splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    if len(found) != agents:
        raise RuntimeError(f"{engine}: {len(found)} of {agents} processes came to their end: {done.stderr.strip()[-800:]}")
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
        yield from against_raw(engines, certificates)
        yield from growing(engines, certificates)


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


def growing(engines, certificates):
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
    draw(curves, batches)


def draw(curves, batches):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5), constrained_layout=True)
    colours = {"raw": "#667085", "grpc": "#2456a6", "grpc-tls": "#d97a24", "mpi": "#1f9482"}
    styles = {8 * SIZES[0]: ":", 8 * SIZES[1]: "--", 8 * SIZES[2]: "-"}
    names = {8 * SIZES[0]: "800 B", 8 * SIZES[1]: "51 KB", 8 * SIZES[2]: "160 KB"}
    parts = [
        (axes[0][0], "rounds per second", lambda found: 1e6 / found["round_us"]),
        (axes[0][1], "CPU per round and agent (microseconds)", lambda found: found["cpu_us"]),
        (axes[1][0], "memory per agent (MB)", lambda found: found["memory_mb"]),
    ]
    for axis, label, value in parts:
        for (engine, size), points in curves.items():
            xs, ys = [n for n, _ in points], [value(found) for _, found in points]
            axis.loglog(xs, ys, styles[size], color=colours[engine], marker="o", ms=3, label=f"{engine}, {names[size]}")
        axis.set_xlabel("processes on a ring")
        axis.set_title(label, loc="left")
        axis.set_xticks(AGENTS, [str(n) for n in AGENTS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8, ncols=2)
    for engine, points in batches.items():
        axes[1][1].loglog([b for b, _ in points], [us for _, us in points], "-o", ms=3, color=colours[engine], label=engine)
    axes[1][1].set_title("microseconds per sample and round", loc="left")
    axes[1][1].set_xlabel(f"samples of {ROWS} numbers in a batch (ring of 4)")
    axes[1][1].set_xticks(BATCHES, [str(b) for b in BATCHES])
    axes[1][1].minorticks_off()
    axes[1][1].grid(alpha=0.3)
    axes[1][1].legend(fontsize=8)
    common.OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(common.OUT / "mesh-wire.png", dpi=130)
    plt.close(figure)
