"""What benches share: the program, the data, the clock."""

import json
import os
import pathlib
import statistics
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "dictmesh"


class Skip(Exception):
    """A bench that cannot run here; the text says why."""


def data(*names):
    """The directory of the real data, if it has these files."""
    given = os.environ.get("DICTMESH_DATA")
    directory = pathlib.Path(given) if given else ROOT.parent / "shared" / "data"
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        raise Skip(f"no {' and '.join(missing)} in {directory} (set DICTMESH_DATA)")
    return directory


def threads_of(threads):
    """The environment in which every library keeps to so many threads."""
    names = ["RAYON", "OMP", "OPENBLAS", "MKL"]
    return {**os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in names}}


def dictmesh(program, threads, *args):
    """The JSON that the program prints, and its wall-clock seconds."""
    command = [str(program), *map(str, args), "--json", "--quiet"]
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, env=threads_of(threads))
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout), seconds


def interleaved(repeats, *sides):
    """Runs the sides in turn, so that a busy machine is busy for all of them; (last result, median
    seconds) of each. A side returns its result and its seconds."""
    seconds, results = [[] for _ in sides], [None] * len(sides)
    for _ in range(repeats):
        for i, side in enumerate(sides):
            results[i], taken = side()
            seconds[i].append(taken)
    return [(result, statistics.median(times)) for result, times in zip(results, seconds)]
