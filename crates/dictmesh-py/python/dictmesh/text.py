"""Raw text as samples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _data, _settings
from ._types import Texts

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["TextVectorizer"]


class TextVectorizer(TransformerMixin, BaseEstimator):
    r"""TF-IDF vectors of documents, as the program ``dictmesh`` makes them.

    A word is a run of two or more letters and digits of any script, in lower case. The weight of a word that a
    document has c times is

    .. code-block:: text

        tf(c) * ln((2 + n) / (1 + d)),      tf(c) = c, or 1 + ln(c) with sublinear_tf

    where d of the n documents of the past have the word; then each vector is scaled to norm 1.

    ``fit`` takes the words and frequencies of all documents. ``partial_fit_transform`` works through a stream: it
    returns the vectors of a block by the frequencies before it, and then adds the block to them.

    Parameters
    ----------
    max_features : int, default=20000
        Words with a feature of their own: with ``fit`` those of the most documents, in a stream the first ones.
    hash_bits : int, default=None
        In place of a vocabulary, 2^hash_bits features; the feature of a word is its hash.
    stop_words : {"english"} or None, default="english"
        Leave out English words that carry no topic.
    sublinear_tf : bool, default=False
        1 + ln(c) in place of c.
    use_idf : bool, default=True
        Whether rare words weigh more.
    norm : {"l2"} or None, default="l2"
        Whether vectors are scaled to norm 1.
    min_df : int, default=1
        A word counts once this many documents have it.

    Attributes
    ----------
    vocabulary_ : dict
        The feature of each word.
    idf_ : ndarray of shape (n_features,)
        The weight of one mention of each word, before a vector is scaled.
    n_documents_ : int
        Documents whose frequencies are known.

    Examples
    --------
    >>> from dictmesh import TextVectorizer
    >>> vectorizer = TextVectorizer().fit(["storm in the bay", "storm warning", "elections"])
    >>> sorted(vectorizer.vocabulary_)
    ['bay', 'elections', 'storm', 'warning']
    >>> X = vectorizer.transform(["a storm, a storm!"])
    >>> X.shape[0], X.nnz, str(vectorizer.get_feature_names_out()[X.indices[0]])
    (1, 1, 'storm')
    """

    def __init__(
        self,
        max_features: int = 20_000,
        *,
        hash_bits: int | None = None,
        stop_words: Literal["english"] | None = "english",
        sublinear_tf: bool = False,
        use_idf: bool = True,
        norm: Literal["l2"] | None = "l2",
        min_df: int = 1,
    ) -> None:
        self.max_features = max_features
        self.hash_bits = hash_bits
        self.stop_words = stop_words
        self.sublinear_tf = sublinear_tf
        self.use_idf = use_idf
        self.norm = norm
        self.min_df = min_df

    def fit(self, X: Texts, y: object = None) -> Self:
        """Learn the words and the document frequencies of all documents.

        Parameters
        ----------
        X : list, array or column of str
            Documents.
        y : ignored

        Returns
        -------
        self
        """
        documents = self._documents(X)
        core = self._begin()
        if core.fit_text(documents) == 0:
            raise ValueError(
                "The documents have no words but stop words: give documents with words that carry a topic, or "
                "stop_words=None."
            )
        self._how = core
        return self

    def partial_fit_transform(self, X: Texts) -> sp.csr_matrix:
        """Return the vectors of a block by the frequencies of the past, and add the block to the past.

        The first block has no past and takes its own frequencies. A new word gets a feature at once, while there are
        some left.

        Parameters
        ----------
        X : list, array or column of str

        Returns
        -------
        vectors : CSR matrix of shape (n_documents, n_features)
        """
        documents = self._documents(X)
        if not hasattr(self, "_how"):
            self._how = self._begin()
        return _data.csr(self._how.text_block(documents), self._how.rows)

    def partial_fit(self, X: Texts, y: object = None) -> Self:
        """Add a block of documents to the past."""
        self.partial_fit_transform(X)
        return self

    def transform(self, X: Texts) -> sp.csr_matrix:
        """Return the vectors of documents; nothing is learned.

        The words of a document that have no feature share the first free one, if there is one.

        Parameters
        ----------
        X : list, array or column of str

        Returns
        -------
        vectors : CSR matrix of shape (n_documents, n_features)
        """
        check_is_fitted(self, "_how")
        return _data.csr(self._how.vectors(self._documents(X)), self._how.rows)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Return the word of each feature, "#n" for one without a word yet."""
        check_is_fitted(self, "_how")
        return np.asarray(self._how.names(), dtype=object)

    def unknown_words(self, document: str) -> list[str]:
        """Return the words of a document that have no feature, those with the most mentions first."""
        check_is_fitted(self, "_how")
        return self._how.unknown(document)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The feature of each word."""
        check_is_fitted(self, "_how")
        return {term: row for row, term in self._how.terms()}

    @property
    def idf_(self) -> np.ndarray:
        """The weight of one mention of each word."""
        check_is_fitted(self, "_how")
        return self._how.idf()

    @property
    def n_documents_(self) -> int:
        """Documents whose frequencies are known."""
        check_is_fitted(self, "_how")
        return self._how.documents

    def _documents(self, X: Texts) -> list[str]:
        if isinstance(X, str):
            raise ValueError("X is one string: give a list of documents, [document].")
        return _data.documents(X)

    def _begin(self) -> _core.Preparation:
        """The vectoriser before its first document."""
        if self.stop_words is not None:
            _settings.one_of("stop_words", self.stop_words, ("english",))
        if self.norm is not None:
            _settings.one_of("norm", self.norm, ("l2",))
        if self.hash_bits is None:
            words = _settings.whole(self.max_features, "max_features", min_val=1)
            vocabulary: dict[str, object] = {"growing": {"max": words}}
        else:
            bits = _settings.whole(self.hash_bits, "hash_bits", min_val=1, max_val=26)
            vocabulary = {"hashing": {"bits": bits}}
        options = {
            "vocabulary": vocabulary,
            "stop_words": self.stop_words is not None,
            "weighting": {
                "counting": "log" if self.sublinear_tf else "counts",
                "idf": bool(self.use_idf),
                "unit": self.norm is not None,
                "min_documents": _settings.whole(self.min_df, "min_df", min_val=0),
            },
        }
        return _core.Preparation.text(_settings.text(options))

    @classmethod
    def _around(cls, how: _core.Preparation) -> Self:
        """The vectoriser of a model."""
        options = json.loads(how.options)
        vocabulary, weighting = options["vocabulary"], options["weighting"]
        vectorizer = cls(
            vocabulary.get("growing", {}).get("max", 20_000),
            hash_bits=vocabulary.get("hashing", {}).get("bits"),
            stop_words="english" if options["stop_words"] else None,
            sublinear_tf=weighting["counting"] == "log",
            use_idf=weighting["idf"],
            norm="l2" if weighting["unit"] else None,
            min_df=weighting["min_documents"],
        )
        vectorizer._how = how
        return vectorizer

    def __sklearn_tags__(self) -> object:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
