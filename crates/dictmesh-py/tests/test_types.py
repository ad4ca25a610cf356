"""Types and examples in the docs."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import dictmesh

MODULES = [m.name for m in pkgutil.iter_modules(dictmesh.__path__, "dictmesh.") if not m.name.endswith("_core")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["dictmesh", *MODULES])
def test_examples_in_the_docs_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_every_public_thing_has_a_doc_with_an_example():
    told = {"Inference", "Run", "Explanation", "Exact", "Tuning", "Audit", "__version__"}  # made by others, whose examples show them
    for name in set(dictmesh.__all__) - told:
        assert ">>> " in getattr(dictmesh, name).__doc__, name


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md"])
def test_the_python_of_the_pages_runs(page, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr


USE = """
import numpy as np
import dictmesh

codes: np.ndarray = dictmesh.DictionaryLearning(4, alpha=0.1).fit_transform(np.ones((3, 2)))
offset: float = dictmesh.NoveltyDetector().fit(codes).offset_
edges: list[tuple[int, int]] = dictmesh.Topology("ring", 5).edges
rounds: int = dictmesh.Mesh(codes, dictmesh.Topology("ring", 5)).run(codes).step(3).rounds
"""


def mypy(*args):
    command = [sys.executable, "-m", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_mypy_accepts_the_package_and_its_use(tmp_path):
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    done = mypy("mypy", *config, "-p", "dictmesh")
    assert done.returncode == 0, done.stdout
    (tmp_path / "use.py").write_text(USE)
    done = mypy("mypy", *config, "--allow-any-generics", str(tmp_path / "use.py"))
    assert done.returncode == 0, done.stdout
    (tmp_path / "wrong.py").write_text(USE.replace("Topology(\"ring\", 5).edges", "Topology(\"ring\", 5).diameter"))
    done = mypy("mypy", *config, str(tmp_path / "wrong.py"))
    assert done.returncode == 1 and "Incompatible types in assignment" in done.stdout


def test_the_stub_of_the_core_is_what_is_there():
    done = mypy("mypy.stubtest", "dictmesh._core")
    assert done.returncode == 0, done.stdout
