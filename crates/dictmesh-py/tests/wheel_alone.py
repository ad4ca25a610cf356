"""What works with nothing but the wheel and what it asks for: no plots, no bar, no source. Not a pytest module."""

import pathlib
import pickle
import subprocess
import sys
import tempfile

import numpy as np

import dictmesh

source = pathlib.Path(__file__).resolve().parents[1]
assert source not in pathlib.Path(dictmesh.__file__).resolve().parents, "this is the source tree, not the wheel"
assert "matplotlib" not in sys.modules

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5)) @ rng.normal(size=(5, 16))
learned = dictmesh.DictionaryLearning(
    5, alpha=0.1, mesh=dictmesh.MeshOptions(n_agents=2), max_iter=5, tol=0, random_state=0, verbose=1
).fit(X)
left = X - learned.inverse_transform(learned.transform(X))
assert np.mean(left**2) < 0.1 * np.mean(X**2)
with tempfile.TemporaryDirectory() as directory:
    learned.save(pathlib.Path(directory) / "m.model")
    again = dictmesh.load(pathlib.Path(directory) / "m.model")
for copy in (again, pickle.loads(pickle.dumps(learned))):
    assert (copy.transform(X) == learned.transform(X)).all()
assert dictmesh.NoveltyDetector(3, random_state=0).fit(X).predict(np.eye(16)[:1]) == -1
assert dictmesh.SparseBiclustering(2, random_state=0).fit(X).rows_.shape == (2, 200)
assert dictmesh.denoise_image(rng.normal(size=(20, 20)), 1.0, n_components=8, random_state=0).std() < 0.6
try:
    dictmesh.plot_atoms(learned)
except ImportError as said:
    assert "pip install 'dictmesh[plot]'" in str(said)
else:
    raise AssertionError("matplotlib should not be here")
assert dictmesh.NoveltyDetector(2, random_state=0).fit(["rain and storm", "storm, wind"]).predict(["an election"]) == -1

# The program, as pip installs it.
program = pathlib.Path(sys.executable).parent / "dictmesh"
with tempfile.TemporaryDirectory() as directory:
    np.save(pathlib.Path(directory) / "x.npy", X)
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    assert version == f"dictmesh {dictmesh.__version__}\n"
    subprocess.run([program, "learn", "x.npy", "-o", "m", "--quiet"], cwd=directory, check=True)
    assert dictmesh.load(pathlib.Path(directory) / "m").n_features_in_ == 16
print(f"the wheel of dictmesh {dictmesh.__version__} works alone")
