"""The same data, seed and settings give the same from Python and from the program."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import planted

import dictmesh
from dictmesh import NMF, DictionaryLearning, MeshOptions, NoveltyDetector, SparseBiclustering, denoise_image


def run(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def parts_of(path):
    """The header and the tensors of a model file, less what each side adds for itself."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    description = json.loads(header.pop("__metadata__")["description"])
    description.pop("extra", None)
    return header, description, raw[8 + length :]


MESH = ["--agents", "4", "--topology", "ring", "--informed", "0,2"]
CASES = {
    "one agent": (DictionaryLearning, {}, []),
    "a mesh": (DictionaryLearning, {"mesh": MeshOptions(4, "ring", informed=[0, 2])}, MESH),
    "a random graph": (DictionaryLearning, {"mesh": MeshOptions(5)}, ["--agents", "5"]),
    "diffusion": (
        DictionaryLearning,
        {"mesh": MeshOptions(3, "complete", strategy={"kind": "diffusion", "mu": 0.05}, tol=None, max_rounds=50)},
        ["--agents", "3", "--topology", "complete", "--strategy", "diffusion", "--mu", "0.05", "--rounds", "50"],
    ),
    "a given graph": (
        DictionaryLearning,
        {"mesh": MeshOptions(4, [(0, 1), (1, 2), (2, 3), (3, 1)])},
        ["--topology", "edges:0-1,1-2,2-3,3-1"],
    ),
    "strategy tree": (
        DictionaryLearning,
        {"mesh": MeshOptions(4, "ring", strategy={"kind": "tree", "bits": 6})},
        ["--agents", "4", "--topology", "ring", "--strategy", "tree", "--bits", "6"],
    ),
    "strategy auto": (
        DictionaryLearning,
        {"mesh": MeshOptions(6, "path", strategy={"kind": "auto", "latency": 0.5, "bandwidth": 1e9})},
        ["--agents", "6", "--topology", "path", "--strategy", "auto", "--latency", "0.5", "--bandwidth", "1e9"],
    ),
    "gossip with few bits": (
        DictionaryLearning,
        {"mesh": MeshOptions(4, "ring", strategy={"kind": "relaxed-admm", "bits": 6})},
        ["--agents", "4", "--topology", "ring", "--strategy", "relaxed-admm", "--bits", "6"],
    ),
    "huber": (DictionaryLearning, {"loss": "huber", "eta": 0.3}, ["--residual", "huber", "--eta", "0.3"]),
    "nmf": (NMF, {}, ["--task", "nmf"]),
    "a constant step": (DictionaryLearning, {"update": "constant:0.1"}, ["--update", "constant:0.1"]),
    "a schedule": (DictionaryLearning, {"update": "schedule:1"}, ["--update", "schedule:1"]),
    "sparse atoms": (DictionaryLearning, {"beta": 0.02}, ["--beta", "0.02"]),
    "the l1 ball": (DictionaryLearning, {"dict_norm": "l1"}, ["--atoms-set", "unit-l1-ball"]),
    "a box": (
        DictionaryLearning,
        {"code_bounds": (-0.5, 2.0)},
        ["--regularizer", "boxed-elastic-net", "--lo", "-0.5", "--hi", "2"],
    ),
    "centred and scaled": (DictionaryLearning, {"center": "feature", "normalize": "l2"}, ["--centre", "feature", "--norm", "l2"]),
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_model(case, sparse, program, rng, tmp_path):
    kind, given, flags = CASES[case]
    X, _ = planted(rng, positive=kind is NMF)
    if sparse:
        X = sp.csr_matrix(np.where(abs(X) > 0.3, X, 0))
        sp.save_npz(tmp_path / "x.npz", X)
    else:
        np.save(tmp_path / "x.npy", X)
    data = tmp_path / ("x.npz" if sparse else "x.npy")
    run(program, "learn", data, "-o", tmp_path / "theirs", "--atoms", 10, "--gamma", 0.2, "--delta", 0.1,
        "--batch", 64, "--passes", 3, "--seed", 7, "--quiet", *flags)
    ours = kind(10, gamma=0.2, delta=0.1, batch_size=64, max_iter=3, tol=0, random_state=7, **given).fit(X)
    ours.save(tmp_path / "ours")
    assert parts_of(tmp_path / "ours") == parts_of(tmp_path / "theirs")

    # And each reads the other's file.
    theirs = dictmesh.load(tmp_path / "theirs")
    assert type(theirs) is kind
    np.testing.assert_array_equal(theirs.transform(X), ours.transform(X))
    told = run(program, "score", tmp_path / "ours", data, "--quiet").splitlines()
    scores = [float(line.split(",")[1]) for line in told[1:]]
    assert -np.mean(scores) == pytest.approx(ours.score(X), rel=1e-9)


def test_learning_ends_with_the_same_pass(program, rng, tmp_path):
    X, _ = planted(rng)
    np.save(tmp_path / "x.npy", X)
    ours = DictionaryLearning(10, gamma=0.2, delta=0.1, batch_size=64, max_iter=40, tol=0.02, random_state=7).fit(X)
    assert 1 < ours.n_iter_ < 40
    run(program, "learn", tmp_path / "x.npy", "-o", tmp_path / "theirs", "--atoms", 10, "--gamma", 0.2, "--delta", 0.1,
        "--batch", 64, "--passes", 40, "--min-gain", 0.02, "--seed", 7, "--quiet")
    ours.save(tmp_path / "ours")
    assert parts_of(tmp_path / "ours") == parts_of(tmp_path / "theirs")


def test_the_same_codes_after_a_few_rounds(program, rng, tmp_path):
    X, _ = planted(rng, samples=20)
    np.save(tmp_path / "x.npy", X)
    mesh = MeshOptions(4, "ring", strategy={"kind": "diffusion", "mu": 0.05})
    e = DictionaryLearning(8, gamma=0.2, delta=0.1, mesh=mesh, max_iter=1, tol=0, random_state=0).fit(X)
    e.save(tmp_path / "m")
    steps = dictmesh.Mesh.of(e).run(X)
    for rounds in (1, 6):
        steps.step(rounds if rounds == 1 else 5)
        out = tmp_path / "codes.npz"
        run(program, "infer", tmp_path / "m", tmp_path / "x.npy", "-o", out, "--rounds", rounds, "--quiet")
        np.testing.assert_allclose(sp.load_npz(out).toarray(), np.hstack(steps.codes), rtol=0, atol=1e-12)


def test_a_detector_in_the_programs_hands(program, rng, tmp_path):
    X, _ = planted(rng, positive=True)
    new = np.vstack([X[:20], np.eye(20)[:5]])
    detector = NoveltyDetector(5, contamination=0.1, random_state=0).fit(X)
    detector.save(tmp_path / "m")
    np.save(tmp_path / "new.npy", new)
    told = run(program, "score", tmp_path / "m", tmp_path / "new.npy", "--quiet", "--quantile", 0.9)
    rows = [line.split(",") for line in told.splitlines()[1:]]
    np.testing.assert_allclose([-float(r[1]) for r in rows], detector.score_samples(new), rtol=1e-9)
    assert [1 - 2 * int(r[2]) for r in rows] == detector.predict(new).tolist()


@pytest.mark.parametrize("method", ["diffusion", "ssvd"])
def test_the_same_biclusters(method, program, rng, tmp_path):
    X = rng.normal(size=(40, 90))
    X[:12, :30] += 3
    X[25:, 40:60] -= 3
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / "out"
    run(program, "bicluster", tmp_path / "x.npy", "-o", out, "--algorithm", method, "--layers", 3, "--seed", 4, "--quiet")
    found = SparseBiclustering(3, method=method, random_state=4).fit(X)
    for file, symbol, ours, inside in (
        ("rows.csv", "w", found.row_loadings_, found.rows_),
        ("columns.csv", "y", found.column_loadings_, found.columns_),
    ):
        with open(out / file, newline="") as lines:
            table = list(csv.DictReader(lines))
        for k in range(3):
            np.testing.assert_allclose([float(row[f"{symbol}_{k + 1}"]) for row in table], ours[k], rtol=1e-9, atol=1e-12)
            assert [row[f"in_{k + 1}"] == "1" for row in table] == inside[k].tolist()


def test_the_same_picture(program, rng, tmp_path):
    image = pytest.importorskip("PIL.Image")
    i, j = np.mgrid[:40, :56]
    clean = 128 + 60 * np.sin(i / 4) + 40 * (j > 25)
    noisy = np.clip(clean + 20 * rng.normal(size=clean.shape), 0, 255).round().astype(np.uint8)
    image.fromarray(noisy).save(tmp_path / "noisy.png")
    run(program, "denoise", tmp_path / "noisy.png", "-o", tmp_path / "out.png", "--sigma", 20, "--atoms", 32, "--quiet")
    theirs = np.asarray(image.open(tmp_path / "out.png"))
    ours = denoise_image(noisy, 20, n_components=32, random_state=0)
    assert ours.dtype == np.uint8
    np.testing.assert_array_equal(ours, theirs)


def test_the_same_choice(program, rng, tmp_path):
    X, _ = planted(rng)
    np.save(tmp_path / "x.npy", X)
    told = json.loads(
        run(program, "tune", tmp_path / "x.npy", "--gammas", "0.05,0.2", "--atoms-grid", "6,12", "--delta", 0.1, "--only",
            "choice", "--json", "--quiet")
    )["choice"]
    found = dictmesh.tune(X, gammas=[0.05, 0.2], n_components=[6, 12], delta=0.1, compare=False, random_state=0)
    assert (found.gamma, found.n_components) == (told["gamma"], told["atoms"])
    assert [(c.gamma, c.n_components, c.error, c.standard_error) for c in found.cells] == [
        (c["gamma"], c["atoms"], c["score"], c["standard_error"]) for c in told["cells"]
    ]


def test_the_same_audit(program, rng, tmp_path):
    X, _ = planted(rng)
    np.save(tmp_path / "x.npy", X)
    e = DictionaryLearning(8, gamma=0.1, delta=0.1, mesh=MeshOptions(4, "ring"), max_iter=2, tol=0, random_state=0).fit(X)
    e.save(tmp_path / "m")
    told = json.loads(
        run(program, "audit", tmp_path / "x.npy", "--model", tmp_path / "m", "--samples", 12, "--rounds", 60, "--json",
            "--quiet")
    )
    found = dictmesh.audit(e, X, n_samples=12, max_rounds=60, random_state=0)
    assert (found.n_agents, found.n_links, found.n_components) == (told["agents"], told["links"], told["atoms"]) == (4, 4, 8)
    assert found.chance == told["chance"] and found.n_samples == told["samples"] == 12
    assert [s.name for s in found.strategies] == [s["name"] for s in told["strategies"]]
    for ours, theirs in zip(found.strategies, told["strategies"]):
        assert [a.cosines for a in ours.x_known.agents] == [
            [atom["cosine"] for atom in agent["atoms"]] for agent in theirs["x_known"]["agents"]
        ]


def test_strategies_are_compared(rng):
    X, _ = planted(rng)
    found = dictmesh.tune(
        X, gammas=[0.1], n_components=[8], mesh=MeshOptions(4, "ring"), strategies=["relaxed-admm", "diffusion"],
        max_rounds=300, random_state=0,
    )
    needs = {s.strategy: s for s in found.comparison.strategies}
    assert set(needs) == {"relaxed-admm", "diffusion"} and (found.gamma, found.n_components) == (0.1, 8)
    suggested = found.comparison.suggested
    assert suggested["kind"] == "relaxed-admm" and needs["relaxed-admm"].rounds is not None
    # It goes into a mesh as it is.
    DictionaryLearning(8, gamma=0.1, mesh=MeshOptions(4, "ring", strategy=suggested), max_iter=1, tol=0).fit(X)
    with pytest.raises(ValueError, match="goal == 30"):
        dictmesh.tune(X, goal=30)


def ours(*args, **more):
    """The program of the package."""
    command = [sys.executable, "-m", "dictmesh", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def test_the_package_has_the_program(rng, tmp_path):
    X, _ = planted(rng)
    np.save(tmp_path / "x.npy", X)
    assert ours("--version").stdout == f"dictmesh {dictmesh.__version__}\n"
    done = ours("learn", "x.npy", "-o", "m", "--atoms", 6, "--quiet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert dictmesh.load(tmp_path / "m").transform(X).shape == (300, 6)
    done = ours("learn", "none.npy", "-o", "m2", cwd=tmp_path)
    assert done.returncode == 1 and "none.npy" in done.stderr
    assert ours("lern").returncode == 2
    # Agents are processes of their own, which the package starts as well.
    flags = ("--agents", 2, "--over", "processes", "--quiet")
    done = ours("learn", "x.npy", "-o", "p", "--atoms", 6, *flags, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert dictmesh.load(tmp_path / "p").mesh.n_agents == 2


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_the_program(rng, tmp_path):
    np.save(tmp_path / "x.npy", planted(rng, samples=2000)[0])
    command = [sys.executable, "-m", "dictmesh", "learn", "x.npy", "-o", "m", "--passes", "1000000", "--quiet"]
    child = subprocess.Popen([*command, "--checkpoint-every", "0.1"], cwd=tmp_path)
    try:
        until = time.monotonic() + 60
        while not (tmp_path / "m.checkpoint").exists() and time.monotonic() < until:
            assert child.poll() is None
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert child.wait(60) == 130 and (tmp_path / "m.checkpoint").exists()
    finally:
        child.kill()
