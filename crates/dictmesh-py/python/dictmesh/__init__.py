"""Dictionary learning over a mesh of agents, in the manner of scikit-learn.

>>> import dictmesh
>>> dictmesh.__version__.count(".")
2
"""

from ._core import __version__
from ._model import load
from .decomposition import NMF, DictionaryLearning, SparseCoder

__all__ = ["NMF", "DictionaryLearning", "SparseCoder", "load", "__version__"]
