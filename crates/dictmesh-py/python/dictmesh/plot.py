"""Plots on matplotlib (``pip install dictmesh[plot]``)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_atoms", "plot_learning_curve", "plot_mesh", "plot_roc"]


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as e:
        raise ImportError("Plots need matplotlib: pip install 'dictmesh[plot]'.") from e
    return pyplot


def _axes(ax: Axes | None) -> Axes:
    return _pyplot().subplots(layout="constrained")[1] if ax is None else ax


def _atoms_of(what: Any) -> tuple[np.ndarray, list[np.ndarray] | None]:
    if hasattr(what, "components_"):
        return np.asarray(what.components_), getattr(what, "agents_", None)
    if hasattr(what, "dictionary"):
        return np.asarray(what.dictionary), what.agents
    return np.asarray(what), None


def _colours(count: int) -> list[Any]:
    return [_pyplot().get_cmap("tab20")(k % 20) for k in range(count)]


def plot_atoms(what: Any, shape: tuple[int, int] | None = None, *, max_atoms: int = 100) -> Figure:
    """Atoms as small pictures, framed in the colour of their agent, or as curves.

    Parameters
    ----------
    what : fitted estimator, Mesh or ndarray of shape (n_components, n_features)
    shape : (rows, columns), default=None
        Of the picture that an atom is; square if the number of features is a square, else curves are drawn.
    max_atoms : int, default=100
        The most atoms to draw, from the first.

    Returns
    -------
    figure : matplotlib Figure

    Examples
    --------
    >>> import numpy as np, dictmesh
    >>> figure = dictmesh.plot_atoms(np.eye(4), (2, 2))
    >>> len(figure.axes)
    4
    """
    atoms, agents = _atoms_of(what)
    total, atoms = len(atoms), atoms[:max_atoms]
    side = math.isqrt(atoms.shape[1])
    if shape is None and side > 1 and side * side == atoms.shape[1]:
        shape = (side, side)
    across = math.ceil(math.sqrt(len(atoms)))
    down = math.ceil(len(atoms) / across)
    figure, grid = _pyplot().subplots(
        down, across, figsize=(0.8 * across + 0.4, 0.8 * down + 0.6), squeeze=False, layout="constrained"
    )
    keeper = np.zeros(total, dtype=int)
    for k, own in enumerate(agents or []):
        keeper[own] = k
    colours = _colours(keeper.max() + 1)
    framed = agents is not None and len(agents) > 1
    for i, ax in enumerate(grid.flat):
        ax.set_xticks([])
        ax.set_yticks([])
        if i >= len(atoms):
            ax.remove()
            continue
        if shape is None:
            ax.plot(atoms[i], color="0.2", linewidth=0.8)
        else:
            limit = np.abs(atoms[i]).max() or 1.0
            low = 0 if atoms[i].min() >= 0 else -limit
            ax.imshow(atoms[i].reshape(shape), cmap="gray", vmin=low, vmax=limit, interpolation="nearest")
        for spine in ax.spines.values():
            spine.set_color(colours[keeper[i]] if framed else "0.8")
            spine.set_linewidth(2 if framed else 0.5)
    shown = f"{len(atoms)} of {total} atoms" if total > len(atoms) else f"{total} atoms"
    figure.suptitle(shown + (", framed in the colour of their agent" if framed else ""), fontsize=9)
    return cast("Figure", figure)


def plot_learning_curve(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """The mean objective of a sample in each batch, before the batch was learned.

    Parameters
    ----------
    estimator : fitted estimator
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np, dictmesh
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> learned = dictmesh.DictionaryLearning(3, max_iter=5, tol=0, batch_size=20, random_state=0).fit(X)
    >>> dictmesh.plot_learning_curve(learned).get_xlabel()
    'updates of the atoms'
    """
    check_is_fitted(estimator)
    costs = np.asarray(estimator.cost_history_)
    if not len(costs):
        raise ValueError("There is no history to plot: fit the estimator first (a model file does not keep it).")
    ax = _axes(ax)
    updates = np.arange(1, len(costs) + 1)
    many = len(costs) > 60
    ax.plot(updates, costs, color="0.75" if many else "C0", linewidth=0.8 if many else 1.5, label="each batch")
    if many:
        window = len(costs) // 20
        mean = np.convolve(costs, np.ones(window) / window, mode="valid")
        ax.plot(updates[window - 1 :], mean, color="C0", label=f"mean of {window} batches")
        ax.legend(frameon=False)
    ax.set_xlabel("updates of the atoms")
    ax.set_ylabel("objective of a sample")
    return ax


def _places(n: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """Places in the plane: the eigenvectors of the Laplacian put neighbours beside each other; a circle if they
    cannot."""
    circle = np.stack([np.cos(2 * np.pi * np.arange(n) / n), np.sin(2 * np.pi * np.arange(n) / n)], axis=1)
    if n < 4 or 2 * len(edges) > 0.6 * n * (n - 1):
        return circle
    laplacian = np.zeros((n, n))
    for i, j in edges:
        laplacian[i, j] = laplacian[j, i] = -1
    laplacian -= np.diag(laplacian.sum(axis=0))
    places = np.linalg.eigh(laplacian)[1][:, 1:3]
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(n)
    return places if apart.min() > 0.02 * np.ptp(places) else circle


def plot_mesh(what: Any, *, ax: Axes | None = None) -> Axes:
    """The graph of the agents: a disc for each, larger with more atoms, filled if it receives the samples.

    Parameters
    ----------
    what : fitted estimator, Mesh or Topology
    ax : matplotlib Axes, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import dictmesh
    >>> dictmesh.plot_mesh(dictmesh.Topology("ring", 5)).get_title()
    '5 agents, 5 links'
    """
    core = getattr(what, "_mesh", None) or getattr(what, "_core", None)
    if core is None:
        raise TypeError(f"Expected a fitted estimator, a Mesh or a Topology, got {type(what).__name__}.")
    if hasattr(core, "sizes"):
        edges, sizes, informed = core.edges(), core.sizes(), set(core.informed())
    else:
        edges, sizes = core.edges, [1] * core.agents
        informed = set(range(core.agents))
    ax = _axes(ax)
    places = _places(len(sizes), edges)
    for i, j in edges:
        ax.plot(*places[[i, j]].T, color="0.8", linewidth=0.8, zorder=1)
    colours = _colours(len(sizes))
    scale = 120 / max(1.0, len(sizes) / 30)
    for k, (x, y) in enumerate(places):
        size = scale * (0.5 + sizes[k] / max(1, max(sizes)))
        fill = colours[k] if k in informed else "white"
        ax.scatter([x], [y], s=size, color=[fill], edgecolors=[colours[k]], linewidths=1.5, zorder=2)
        if len(sizes) <= 40:
            ax.annotate(str(k), (x, y), ha="center", va="center", fontsize=6, zorder=3)
    ax.set_title(f"{len(sizes)} agent{'s' * (len(sizes) != 1)}, {len(edges)} link{'s' * (len(edges) != 1)}")
    ax.margins(0.12)
    ax.set_aspect("equal")
    ax.axis("off")
    return ax


def plot_roc(novel: Any, scores: Any, *, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The ROC curve of novelty scores.

    Parameters
    ----------
    novel : array-like of bool of shape (n_samples,)
        The true labels: novel or not (True, or -1 as ``predict`` writes it).
    scores : array-like of shape (n_samples,)
        Of ``score_samples`` or ``decision_function``: normal is high.
    ax : matplotlib Axes, default=None
    label : str, default=None

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import dictmesh
    >>> ax = dictmesh.plot_roc([True, False, False], [-0.9, -0.1, -0.2])
    >>> ax.get_legend().get_texts()[0].get_text()
    'AUC 1.000'
    """
    from sklearn.metrics import auc, roc_curve

    truth = np.asarray(novel)
    truth = truth == -1 if truth.dtype.kind == "i" and truth.min() < 0 else truth.astype(bool)
    false_alarm, detection, _ = roc_curve(truth, -np.asarray(scores))
    ax = _axes(ax)
    area = f"AUC {auc(false_alarm, detection):.3f}"
    ax.plot(false_alarm, detection, label=f"{label}: {area}" if label else area)
    ax.axline((0, 0), slope=1, color="0.8", linewidth=0.8, zorder=0)
    ax.set_xlabel("normal samples called novel")
    ax.set_ylabel("novel samples found")
    ax.set_aspect("equal")
    ax.legend(frameon=False, loc="lower right")
    return ax
