"""Dictionary learning over a mesh of agents, in the manner of scikit-learn.

Estimators: :class:`DictionaryLearning`, :class:`NMF`, :class:`SparseCoder`, :class:`NoveltyDetector` and
:class:`SparseBiclustering`. :func:`denoise_image` takes noise out of a picture, :func:`load` reads model files, those
of the program `dictmesh` too. :class:`Mesh` and :class:`Topology` are for who wants to step through the rounds, and
the functions ``plot_...`` draw.

>>> import dictmesh
>>> dictmesh.__version__.count(".")
2
"""

from ._core import __version__
from ._model import load
from .bicluster import SparseBiclustering
from .coding import SparseCoder
from .decomposition import NMF, DictionaryLearning
from .image import denoise_image
from .mesh import Inference, Mesh, Run, Topology
from .novelty import Explanation, NoveltyDetector
from .plot import plot_atoms, plot_learning_curve, plot_mesh, plot_roc

__all__ = [
    "NMF",
    "DictionaryLearning",
    "Explanation",
    "Inference",
    "Mesh",
    "NoveltyDetector",
    "Run",
    "SparseBiclustering",
    "SparseCoder",
    "Topology",
    "__version__",
    "denoise_image",
    "load",
    "plot_atoms",
    "plot_learning_curve",
    "plot_mesh",
    "plot_roc",
]
