"""Dictionary learning and non-negative matrix factorisation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from sklearn.utils.validation import check_non_negative

from ._learning import Learning
from ._options import MeshOptions
from ._types import Center, DictNorm, Loss, Normalize, RandomState, Samples, TransformMethod
from .text import TextVectorizer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["DictionaryLearning", "NMF"]


class DictionaryLearning(Learning):
    r"""Dictionary learning over a mesh of agents.

    Finds atoms W (the rows w_k of ``components_``) and codes y such that, on average over the samples x,

    .. code-block:: text

        f(x - sum_k y_k w_k)  +  gamma |y|_1  +  delta/2 |y|_2^2      with |w_k|_2 <= 1

    is small, where f(u) = 1/2 \|u\|^2 for ``loss="squared"``, and

    .. code-block:: text

        gamma = alpha * l1_ratio      delta = alpha * max(1 - l1_ratio, 0.01)

    unless ``gamma`` or ``delta`` are given. With ``l1_ratio=1`` this is the objective of
    :class:`sklearn.decomposition.DictionaryLearning`, but for a ridge of 0.01 alpha: the dual problem, which the
    agents solve, needs delta > 0, and takes fewer rounds with a larger delta.

    Atoms are learned from one batch of samples after another, as in a stream. The entry of an atom with the
    largest magnitude is positive, unless ``positive_code`` or ``code_bounds`` forbids it. The objective determines
    the norm of an atom, at most 1.

    Samples are numbers; or a list of documents, which a :class:`TextVectorizer` turns into numbers; or, with
    ``patch_size``, pictures, which are cut into patches. The model keeps what prepares them.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; as many as features if None.
    alpha : float, default=1.0
        Weight of the penalty on codes.
    l1_ratio : float, default=1.0
        The share of alpha on \|y\|_1.
    gamma : float or array-like of shape (n_components,), default=None
        The paper's weight of \|y\|_1 in place of alpha, or one weight gamma_q for each atom. If delta is None, alpha
        is gamma / l1_ratio.
    delta : float, default=None
        The paper's weight of \|y\|^2 / 2.
    loss : {"squared", "huber", "l1", "ball", "equality"}, default="squared"
        f: 1/2 \|u\|^2; u^2 / (2 eta) up to eta and \|u\| - eta/2 beyond, entry by entry; \|u\|_1; 0 where
        \|u\| <= radius; 0 where u = 0. The last three have no curvature to take a step from: give a constant
        ``update``.
    eta : float, default=0.2
        Where the Huber loss turns linear.
    radius : float, default=0.1
        Of the ball.
    positive_code, positive_dict : bool, default=False
        No negative entries in codes or atoms.
    code_bounds : (lo, hi), default=None
        Every code is at least lo and at most hi; None is no bound.
    code_groups : int or list of int, default=None
        The group elastic net: adjacent codes in groups of this size, or of these sizes, are zero together. The
        penalty of a group of n codes is gamma sqrt(n) \|y_g\|_2. An agent has whole groups only.
    dict_norm : {"l2", "l1"}, default="l2"
        Atoms have \|w\|_2 <= 1, or \|w\|_1 <= 1, which makes them sparse.
    beta : float, default=0.0
        Weight of \|W\|_1, which makes atoms sparse.
    center : {"sample", "feature"}, default=None
        Subtract the mean of each sample, or of each feature over the samples of ``fit``.
    normalize : {"l2", "l1"}, default=None
        Scale each sample to norm 1, after centring.
    vectorizer : TextVectorizer, default=None
        How documents become numbers; ``TextVectorizer()`` if None.
    patch_size : int, default=None
        Samples are pictures: grey arrays (height, width) or (height, width, 3) with values from 0 to 1, or bytes. They
        are cut into square patches of this side without their means. A patch is one sample, column by column, as in
        the program.
    patch_stride : int, default=None
        Pixels from one patch to the next; half a side if None.
    batch_size : int, default=256
        Samples per update of the atoms.
    max_iter : int, default=1000
        Passes over the samples, at most.
    tol : float, default=1e-4
        Learning ends after a pass that lowers the mean objective by at most this share of it. 0 always makes
        ``max_iter`` passes.
    update : str, default="adaptive"
        The step of the atoms: "adaptive", each atom's own by its use so far, forgetting 3 % in 256 samples;
        "adaptive:0.97" forgets in each batch; "constant:0.01"; or "schedule:1", which is 1/s in the s-th block: a call
        of ``partial_fit``, or a part of the samples in ``fit``.
    dict_init : ndarray of shape (n_components, n_features) or "random", default=None
        Atoms to start from; samples drawn without repetition if None.
    transform_alpha : float, default=None
        alpha in transform; as in learning if None.
    transform_method : {"exact", "mesh"}, default="exact"
        "exact" solves for the codes in one place, with a certified duality gap of 1e-10; "mesh" solves by the agents,
        to the ``tol`` of the mesh.
    sparse_output : bool, default=False
        ``transform`` returns a CSR matrix.
    mesh : MeshOptions, default=None
        The agents that share the atoms and their links; one agent if None.
    checkpoint : path-like, default=None
        A model file that ``fit`` writes every ``checkpoint_every`` seconds, after an interruption, and at its end.
        :func:`load` reads it.
    checkpoint_every : float, default=60.0
        Seconds from one checkpoint to the next.
    resume : bool, default=False
        ``fit`` continues from the checkpoint, if there is one, and learns the same atoms as without the interruption.
        Samples and settings must be the same.
    random_state : int, RandomState instance or None, default=None
        An int is the program's ``--seed``.
    n_jobs : int, default=None
        Threads: None is 1, -1 all cores. No result depends on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms.
    n_iter_ : int
        Passes done.
    n_steps_ : int
        Updates of the atoms.
    cost_history_ : ndarray of shape (n_steps_,)
        Mean objective of a sample in each batch, before the batch was learned.
    agents_ : list of ndarray
        Which atoms each agent has.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import DictionaryLearning, MeshOptions
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(6, 20))
    >>> codes = rng.normal(size=(500, 6)) * (rng.random((500, 6)) < 0.3)
    >>> X = codes @ atoms
    >>> learned = DictionaryLearning(6, alpha=0.1, l1_ratio=0.5, mesh=MeshOptions(n_agents=3), max_iter=20, tol=0,
    ...                              random_state=0).fit(X)
    >>> learned.components_.shape, [len(a) for a in learned.agents_]
    ((6, 20), [2, 2, 2])
    >>> Y = learned.transform(X)
    >>> bool(np.mean((X - learned.inverse_transform(Y)) ** 2) < 0.05 * np.mean(X**2))
    True
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1.0,
        l1_ratio: float = 1.0,
        gamma: float | ArrayLike | None = None,
        delta: float | None = None,
        loss: Loss = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        positive_code: bool = False,
        positive_dict: bool = False,
        code_bounds: tuple[float | None, float | None] | None = None,
        code_groups: int | list[int] | None = None,
        dict_norm: DictNorm = "l2",
        beta: float = 0.0,
        center: Center | None = None,
        normalize: Normalize | None = None,
        vectorizer: TextVectorizer | None = None,
        patch_size: int | None = None,
        patch_stride: int | None = None,
        batch_size: int = 256,
        max_iter: int = 1000,
        tol: float = 1e-4,
        update: str = "adaptive",
        dict_init: ArrayLike | Literal["random"] | None = None,
        transform_alpha: float | None = None,
        transform_method: TransformMethod = "exact",
        sparse_output: bool = False,
        mesh: MeshOptions | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())


class NMF(Learning):
    r"""Non-negative matrix factorisation over a mesh of agents.

    As :class:`DictionaryLearning`, with atoms and codes that have no negative entry:

    .. code-block:: text

        f(x - sum_k y_k w_k)  +  gamma |y|_1  +  delta/2 |y|_2^2      with y >= 0, w_k >= 0, |w_k|_2 <= 1

        gamma = alpha * l1_ratio      delta = alpha * max(1 - l1_ratio, 0.01)

    Where :class:`sklearn.decomposition.NMF` leaves the scale to W or H, here atoms have at most norm 1. X must have no
    negative entry. X may be CSR and is not made dense.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; as many as features if None.
    alpha : float, default=0.1
        Weight of the penalty on codes.
    l1_ratio : float, default=0.5
        The share of alpha on \|y\|_1.
    gamma, delta, loss, eta, radius, dict_norm, beta, normalize, vectorizer, batch_size, max_iter, tol, update, \
dict_init, transform_alpha, transform_method, sparse_output, mesh, checkpoint, checkpoint_every, resume, random_state, \
n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Attributes
    ----------
    components_, n_iter_, n_steps_, cost_history_, agents_, n_features_in_, feature_names_in_
        As in :class:`DictionaryLearning`.

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import NMF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((200, 3)) @ rng.random((3, 10))
    >>> learned = NMF(3, alpha=0.01, random_state=0, max_iter=50, tol=0).fit(X)
    >>> Y = learned.transform(X)
    >>> bool((Y >= 0).all() and (learned.components_ >= 0).all())
    True
    >>> bool(np.abs(X - learned.inverse_transform(Y)).mean() < 0.05)
    True
    """

    positive_code = True
    positive_dict = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 0.1,
        l1_ratio: float = 0.5,
        gamma: float | ArrayLike | None = None,
        delta: float | None = None,
        loss: Loss = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        dict_norm: DictNorm = "l2",
        beta: float = 0.0,
        normalize: Normalize | None = None,
        vectorizer: TextVectorizer | None = None,
        batch_size: int = 256,
        max_iter: int = 1000,
        tol: float = 1e-4,
        update: str = "adaptive",
        dict_init: ArrayLike | Literal["random"] | None = None,
        transform_alpha: float | None = None,
        transform_method: TransformMethod = "exact",
        sparse_output: bool = False,
        mesh: MeshOptions | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _first_samples(self, X: Samples) -> Any:
        X = super()._first_samples(X)
        check_non_negative(X, "NMF (input X)")
        return X

    def _new_samples(self, X: Samples) -> Any:
        X = super()._new_samples(X)
        check_non_negative(X, "NMF (input X)")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
