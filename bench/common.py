"""What benches share: the program, the data, the clock."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "target" / "release" / "dictmesh"
KERNEL = ROOT / "target" / "release" / "dictmesh-bench"
OUT = ROOT / "out"  # where pictures go


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


def in_turn(repeats, *sides):
    """Runs the sides in turn, so that a busy machine is busy for all of them; (last result, list of
    seconds) of each. A side returns its result and its seconds."""
    seconds, results = [[] for _ in sides], [None] * len(sides)
    for _ in range(repeats):
        for i, side in enumerate(sides):
            time.sleep(0.3)  # threads of the side before spin for a while in search of more work
            results[i], taken = side()
            seconds[i].append(taken)
    return list(zip(results, seconds))


def interleaved(repeats, *sides):
    """As `in_turn`, with the median of each side's seconds."""
    return [(result, statistics.median(times)) for result, times in in_turn(repeats, *sides)]


def kernel(threads, part, arrays, *args):
    """What `dictmesh-bench PART` prints, and the array it wrote, if it was given any: the library alone, without
    reading and writing files."""
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for name, array in arrays.items():
            paths.append(pathlib.Path(scratch) / f"{name}.npy")
            np.save(paths[-1], np.ascontiguousarray(array))
        out = pathlib.Path(scratch) / "out.npy"
        command = [KERNEL, part, *paths, *args, "--threads", threads, *(["--out", out] if arrays else [])]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=threads_of(threads))
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return json.loads(done.stdout), np.load(out) if arrays else None


def patches(count, side):
    """Patches of scikit-image's camera picture without their means, scaled to norm 1, one a row."""
    import skimage

    picture = skimage.data.camera().astype(np.float64)
    all_patches = np.lib.stride_tricks.sliding_window_view(picture, (side, side)).reshape(-1, side * side)
    drawn = all_patches[np.random.default_rng(0).permutation(len(all_patches))]
    drawn = drawn - drawn.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(drawn, axis=1)
    flat = norms < 1e-6
    return (drawn[~flat] / norms[~flat, None])[:count]


def first_at(goal, looks, objective):
    """The first of the looks whose objective is at most the goal, and that objective; None and the last objective
    where none is. Every look is judged by itself: nothing is taken to fall from look to look."""
    reached = None
    for i, look in enumerate(looks):
        reached = objective(look)
        if reached <= goal:
            return i, reached
    return None, reached
