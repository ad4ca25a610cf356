"""Dictionary learning over a mesh of agents, in the manner of scikit-learn.

Estimators: :class:`DictionaryLearning`, :class:`NMF`, :class:`SparseCoder`, :class:`NoveltyDetector`,
:class:`SparseBiclustering` and :class:`TextVectorizer`. :class:`MeshOptions` describes the agents of an estimator.
:func:`tune` chooses settings, and :func:`audit` measures what a mesh leaks. :func:`denoise_image` removes noise from
a picture. :func:`load` reads model files, those of the program `dictmesh` too. :class:`Mesh` and :class:`Topology`
step through the rounds, and the functions ``plot_...`` draw. The package contains the program: ``dictmesh``, or
``python -m dictmesh``.

>>> import dictmesh
>>> dictmesh.__version__.count(".")
2
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ._core import __version__

if TYPE_CHECKING:
    from ._model import load
    from ._options import MeshOptions
    from .auditing import Audit, audit
    from .bicluster import SparseBiclustering
    from .coding import SparseCoder
    from .decomposition import NMF, DictionaryLearning
    from .image import denoise_image
    from .mesh import Exact, Inference, Mesh, Run, Topology
    from .novelty import Explanation, NoveltyDetector
    from .plot import plot_atoms, plot_learning_curve, plot_mesh, plot_roc
    from .text import TextVectorizer
    from .tuning import Tuning, tune

__all__ = [
    "NMF",
    "Audit",
    "DictionaryLearning",
    "Exact",
    "Explanation",
    "Inference",
    "Mesh",
    "MeshOptions",
    "NoveltyDetector",
    "Run",
    "SparseBiclustering",
    "SparseCoder",
    "TextVectorizer",
    "Topology",
    "Tuning",
    "__version__",
    "audit",
    "denoise_image",
    "load",
    "plot_atoms",
    "plot_learning_curve",
    "plot_mesh",
    "plot_roc",
    "tune",
]

#: The module of each name. It is imported at first use: the program needs none of them, and starts at once.
_MODULES = {
    "Audit": "auditing",
    "DictionaryLearning": "decomposition",
    "Exact": "mesh",
    "Explanation": "novelty",
    "Inference": "mesh",
    "Mesh": "mesh",
    "MeshOptions": "_options",
    "NMF": "decomposition",
    "NoveltyDetector": "novelty",
    "Run": "mesh",
    "SparseBiclustering": "bicluster",
    "SparseCoder": "coding",
    "TextVectorizer": "text",
    "Topology": "mesh",
    "Tuning": "tuning",
    "audit": "auditing",
    "denoise_image": "image",
    "load": "_model",
    "plot_atoms": "plot",
    "plot_learning_curve": "plot",
    "plot_mesh": "plot",
    "plot_roc": "plot",
    "tune": "tuning",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'dictmesh' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
