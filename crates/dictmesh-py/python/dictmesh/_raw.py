"""From raw data (numbers, documents or pictures) to samples, the same before and after a model is saved."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from . import _core, _data, _settings
from ._types import Center, Normalize, Samples
from .text import TextVectorizer


class Raw:
    """What prepares the raw data of an estimator: text, pictures, or numbers that are centred and scaled."""

    vectorizer: TextVectorizer | None
    #: None where numbers are taken as they are.
    _how: _core.Preparation | None
    #: "numbers", "text" or "patches".
    _raw_kind: str
    n_features_in_: int

    def _keep(self, given: dict[str, Any]) -> None:
        """The arguments of __init__ as they are: all that scikit-learn lets it do with them."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def _first(self, X: Samples, *, stream: bool = False) -> Any:
        """The samples of the first raw data, to which the preparation is fitted; of a stream, the first block."""
        self._how, self._raw_kind = None, "numbers"
        if getattr(self, "patch_size", None) is not None:
            return self._first_pictures(X)
        if _data.is_text(X):
            return self._first_text(X, stream=stream)
        if self.vectorizer is not None:
            raise ValueError("vectorizer is for documents, but X is no list of strings: leave vectorizer out.")
        X = _data.samples(self, X, reset=True)
        self._how = self._numbers(X)
        return X

    def _next(self, X: Samples, *, stream: bool = False) -> Any:
        """The samples of further raw data; `stream` adds a block of documents to the past."""
        kind = self.__dict__.get("_raw_kind", "numbers")
        if kind == "text" and self._how is not None:
            if not _data.is_text(X):
                raise ValueError(f"{type(self).__name__} was fitted to documents: give a list of strings.")
            texts = _data.documents(X)
            parts = self._how.text_block(texts) if stream else self._how.vectors(texts)
            return _data.csr(parts, self.n_features_in_)
        if kind == "patches" and self._how is not None:
            return self._how.cut(pictures(X))[0]
        if kind == "counts" or not _data.is_text(X):
            return _data.new_samples(self, X)
        check_is_fitted(self)
        raise ValueError(
            f"X is a list of strings, but {type(self).__name__} was fitted to {self.n_features_in_} numbers a sample."
        )

    @property
    def _prepare(self) -> _core.Preparation | None:
        """What the core does to each part of the samples."""
        return self._how if self.__dict__.get("_raw_kind", "numbers") == "numbers" else None

    def _numbers(self, X: Any) -> _core.Preparation | None:
        center: Center | None = getattr(self, "center", None)
        norm: Normalize | None = getattr(self, "normalize", None)
        if center is not None:
            _settings.one_of("center", center, ("sample", "feature"))
        if norm is not None:
            _settings.one_of("normalize", norm, ("l1", "l2"))
        if center is None and norm is None:
            return None
        how = _core.Preparation.numbers(center or "none", norm or "none")
        how.fit(X)
        return how

    def _first_text(self, X: Samples, *, stream: bool) -> sp.csr_matrix:
        texts = _data.documents(X)
        vectorizer: TextVectorizer = TextVectorizer() if self.vectorizer is None else clone(self.vectorizer)
        if stream:
            vectors = vectorizer.partial_fit_transform(texts)
        else:
            vectors = vectorizer.fit(texts).transform(texts)
        self._how, self._raw_kind = vectorizer._how, "text"
        self.n_features_in_ = vectors.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        return vectors

    def _first_pictures(self, X: Samples) -> np.ndarray:
        planes = pictures(X)
        side = _settings.whole(getattr(self, "patch_size"), "patch_size", min_val=2)
        stride = getattr(self, "patch_stride")
        stride = side // 2 if stride is None else _settings.whole(stride, "patch_stride", min_val=1, max_val=side)
        self._how, self._raw_kind = _core.Preparation.patches(side, stride, 1.0), "patches"
        patches = self._how.cut(planes)[0]
        self.n_features_in_ = patches.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        return patches

    def _take_how(self, how: _core.Preparation) -> None:
        """Takes over the preparation of a model file."""
        options = json.loads(how.options)
        plain = how.kind == "numbers" and options == {"centre": "none", "norm": "none"}
        self._how = None if plain else how
        self._raw_kind = {"counts": "numbers"}.get(how.kind, how.kind)

    def _preparation(self) -> dict[str, Any]:
        """The entry of a model file."""
        how = self._how or _core.Preparation.numbers("none", "none")
        entry: dict[str, Any] = json.loads(how.to_json())
        return entry

    def _feature_names(self, given: Any = None) -> list[str]:
        """A name for each feature."""
        if given is None and self._raw_kind == "text" and self._how is not None:
            return self._how.names()
        if given is None:
            given = getattr(self, "feature_names_in_", None)
        if given is None:
            return [f"x{i}" for i in range(self.n_features_in_)]
        names = [str(name) for name in given]
        if len(names) != self.n_features_in_:
            raise ValueError(f"feature_names has {len(names)} names, but there are {self.n_features_in_} features.")
        return names


def params_of(how: _core.Preparation) -> dict[str, Any]:
    """The parameters of an estimator that prepares in this way."""
    options = json.loads(how.options)
    if how.kind == "text":
        return {"vectorizer": TextVectorizer._around(how)}
    if how.kind == "patches":
        return {"patch_size": options["side"], "patch_stride": options["stride"]}
    if how.kind == "numbers":
        named = {"center": options["centre"], "normalize": options["norm"]}
        return {name: value for name, value in named.items() if value != "none"}
    return {}


def pictures(X: Any) -> list[np.ndarray]:
    """Grey pictures from 0 (black) to 1 (white), in double precision."""
    if isinstance(X, np.ndarray) and (X.ndim == 2 or (X.ndim == 3 and X.shape[2] == 3)):
        X = [X]
    found = []
    for place, picture in enumerate(X):
        picture = np.asarray(picture)
        colour = picture.ndim == 3 and picture.shape[2] in (3, 4)
        if not (picture.ndim == 2 or colour) or picture.dtype.kind not in "fiu":
            raise ValueError(
                f"picture {place}: expected numbers of shape (height, width) or (height, width, 3), got "
                f"{picture.dtype} of {picture.shape}."
            )
        white = {"f": 1.0}.get(picture.dtype.kind, 65535.0 if picture.dtype == np.uint16 else 255.0)
        grey = picture[..., :3].mean(axis=2) if colour else picture
        grey = np.ascontiguousarray(grey, dtype=np.float64) / white
        if not np.isfinite(grey).all():
            raise ValueError(f"picture {place} contains NaN or infinity.")
        found.append(grey)
    if not found:
        raise ValueError("X has no pictures: give one picture, or a list of them.")
    return found
