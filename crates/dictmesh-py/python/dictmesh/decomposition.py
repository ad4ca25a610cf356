"""Dictionary learning and non-negative matrix factorisation."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_non_negative

from ._base import Learning

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
    agents solve with each other, has a code only with delta > 0, and takes the fewer rounds the larger it is.

    Atoms are learned from batches of samples, one after the other, as in a stream. Their signs are fixed by a rule:
    the entry of an atom that is largest in size is positive, unless ``positive_code`` leaves no choice. Their scale
    is fixed by the objective: atoms are as long as it likes them, up to 1.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms; as many as features if None.
    alpha : float, default=1.0
        Weight of the penalty on codes.
    l1_ratio : float, default=1.0
        The share of alpha that goes to \|y\|_1.
    gamma, delta : float, default=None
        The paper's weights of \|y\|_1 and of \|y\|^2 / 2, in place of alpha and l1_ratio.
    loss : {"squared", "huber", "l1", "ball", "equality"}, default="squared"
        f: 1/2 \|u\|^2; u^2 / (2 eta) up to eta and \|u\| - eta/2 beyond, entry by entry; \|u\|_1; 0 where
        \|u\| <= radius; 0 where u = 0. The last three have no curvature to take a step from: give ``dict_step``.
    eta : float, default=0.2
        Where the Huber loss turns linear.
    radius : float, default=0.1
        Of the ball.
    positive_code, positive_dict : bool, default=False
        No negative entries in codes or atoms.
    batch_size : int, default=256
        Samples per update of the atoms.
    max_iter : int, default=1000
        Passes over the samples, at most.
    tol : float, default=1e-4
        Passes end when one lowered the mean objective by no more than this share of it. 0 does all ``max_iter``.
    dict_init : ndarray of shape (n_components, n_features) or "random", default=None
        Atoms to start from; samples drawn without repetition if None.
    dict_step : float, default=None
        A constant step of the atoms; each atom's own, by its use so far, if None.
    transform_alpha : float, default=None
        alpha in transform; as in learning if None.
    transform_method : {"exact", "mesh"}, default="exact"
        "exact" solves for the codes in one place, with a certified duality gap of 1e-10; "mesh" has the agents find
        them with each other, to ``inference_tol``.
    n_agents : int, default=1
        Agents that share the atoms evenly. Each knows its own only.
    topology : str, Topology or list of (i, j), default=None
        Who talks to whom: "complete", "ring", "path", "star", "grid:4x5", "random:0.3" or "geometric:0.4". If
        None, a 2-connected "random:0.3", or "complete" for few agents.
    strategy : str or dict, default="auto"
        How agents find the dual vectors: "relaxed-admm", "exact-diffusion", "jacobi-admm", "diffusion" or
        "consensus" by exchanges between neighbours, or "tree" by sums of small integers to the
        root of a spanning tree, with a certified gap for each sample. "auto" is "tree" or
        "relaxed-admm", whichever is predicted to take less time on a network: by sizes, graph,
        latency (seconds of a hop) and bandwidth (bytes per second), never by measured time. With
        constants: ``{"kind": "auto", "latency": 0.05, "bandwidth": 1e6}``,
        ``{"kind": "diffusion", "mu": 0.05}`` or ``{"kind": "tree", "bits": 8}`` (4 to 16 bits). Gossip
        sends doubles, or with "bits" differences of few bits: ``{"kind": "relaxed-admm", "bits": 8}``.
    informed : list of int, default=None
        The agents that see the samples; all if None.
    inference_tol : float, default=1e-4
        Rounds end at this relative error of the dual vectors, estimated; with "tree" at a
        certified relative gap of its square.
    max_rounds : int, default=100000
        Rounds for one batch, at most.
    accel : str, default="all"
        Speed-ups: "all", "none", or names separated by commas ("single-agent", "reduction", "chunks",
        "neighbour-sums", "lanes"). Codes are bit-identical without "reduction". With it they agree
        within 1e-9, or within the certified gaps of "tree".
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
    >>> from dictmesh import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> atoms = rng.normal(size=(6, 20))
    >>> codes = rng.normal(size=(500, 6)) * (rng.random((500, 6)) < 0.3)
    >>> X = codes @ atoms
    >>> learned = DictionaryLearning(6, alpha=0.1, l1_ratio=0.5, n_agents=3, max_iter=20, tol=0, random_state=0)
    >>> learned = learned.fit(X)
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
        gamma: float | None = None,
        delta: float | None = None,
        loss: str = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        positive_code: bool = False,
        positive_dict: bool = False,
        batch_size: int = 256,
        max_iter: int = 1000,
        tol: float = 1e-4,
        dict_init: Any = None,
        dict_step: float | None = None,
        transform_alpha: float | None = None,
        transform_method: str = "exact",
        n_agents: int = 1,
        topology: Any = None,
        strategy: Any = "auto",
        informed: Any = None,
        inference_tol: float = 1e-4,
        max_rounds: int = 100_000,
        accel: str = "all",
        random_state: Any = None,
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
        The share of alpha that goes to \|y\|_1.
    gamma, delta, loss, eta, radius, batch_size, max_iter, tol, dict_init, dict_step, transform_alpha, \
transform_method, n_agents, topology, strategy, informed, inference_tol, max_rounds, accel, random_state, n_jobs, verbose
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
        gamma: float | None = None,
        delta: float | None = None,
        loss: str = "squared",
        eta: float = 0.2,
        radius: float = 0.1,
        batch_size: int = 256,
        max_iter: int = 1000,
        tol: float = 1e-4,
        dict_init: Any = None,
        dict_step: float | None = None,
        transform_alpha: float | None = None,
        transform_method: str = "exact",
        n_agents: int = 1,
        topology: Any = None,
        strategy: Any = "auto",
        informed: Any = None,
        inference_tol: float = 1e-4,
        max_rounds: int = 100_000,
        accel: str = "all",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _samples(self, X: Any, *, reset: bool) -> Any:
        X = super()._samples(X, reset=reset)
        check_non_negative(X, "NMF (input X)")
        return X

    def _new_samples(self, X: Any) -> Any:
        X = super()._new_samples(X)
        check_non_negative(X, "NMF (input X)")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
