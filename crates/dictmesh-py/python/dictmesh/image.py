"""Noise removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import _core, _settings
from ._progress import shown, threads, warn
from ._types import RandomState

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["denoise_image"]


def denoise_image(
    image: ArrayLike,
    sigma: float | None = None,
    *,
    patch_size: int = 8,
    stride: int = 1,
    n_components: int = 128,
    gamma: float | None = None,
    delta: float = 0.01,
    n_agents: int | None = None,
    max_iter: int = 2,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> np.ndarray:
    r"""Remove noise from a picture by a dictionary of its own patches.

    Patches x, less their mean, are learned and coded by 1/2 \|x - W y\|^2 + gamma \|y\|_1 + delta/2 \|y\|^2; each
    pixel becomes the mean of all restored patches over it. A colour picture is denoised as luminance and two opponent
    colours.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, 3)
        Grey, or red, green and blue, in any range.
    sigma : float, default=None
        Standard deviation of the noise, in the units of the picture; estimated if None.
    patch_size, stride : int, default=8, 1
        Side of the square patches, and pixels from one to the next.
    n_components : int, default=128
        Atoms.
    gamma : float, default=None
        Weight of \|y\|_1; 2.5 sigma if None.
    delta : float, default=0.01
        Weight of \|y\|^2 / 2.
    n_agents : int, default=None
        Agents that share the atoms and code together. If None, one agent has all atoms, which is much faster.
    max_iter : int, default=2
        Passes over (at most 20,000 of) the patches.
    random_state, n_jobs, verbose
        As in :class:`DictionaryLearning`.

    Returns
    -------
    restored : ndarray
        Of the shape of ``image``. Whole numbers come back rounded and within the range of their type, float32 as
        float32, all else as float64.

    Examples
    --------
    >>> import numpy as np
    >>> from dictmesh import denoise_image
    >>> i, j = np.mgrid[:48, :48]
    >>> clean = np.sin(i / 5) + (j > 24)
    >>> noisy = clean + np.random.default_rng(0).normal(scale=0.3, size=clean.shape)
    >>> restored = denoise_image(noisy, 0.3, n_components=32, random_state=0)
    >>> bool(np.mean((restored - clean) ** 2) < 0.3 * np.mean((noisy - clean) ** 2))
    True
    """
    image = np.asarray(image)
    colour = image.ndim == 3 and image.shape[2] == 3
    if not (image.ndim == 2 or colour) or image.dtype.kind not in "fiu":
        raise ValueError(
            f"Expected numbers of shape (height, width) or (height, width, 3), got {image.dtype} of {image.shape}."
        )
    whole = image.dtype.kind in "iu"
    given = np.asarray(image, dtype=np.float64)
    if not np.isfinite(given).all():
        raise ValueError("Input image contains NaN or infinity.")
    side = _settings.whole(patch_size, "patch_size", min_val=2, max_val=min(image.shape[:2]))
    _settings.whole(stride, "stride", min_val=1, max_val=side)
    _settings.whole(n_components, "n_components", min_val=1)
    _settings.whole(max_iter, "max_iter", min_val=0)
    if sigma is not None:
        _settings.real(sigma, "sigma", min_val=0)
    if n_agents is not None:
        _settings.whole(n_agents, "n_agents", min_val=1)
        if n_components % n_agents:
            raise ValueError(f"n_components == {n_components} atoms cannot be shared evenly by n_agents == {n_agents}.")
    planes = [np.ascontiguousarray(given[..., c]) for c in range(3)] if colour else [given]
    # Below what rounding makes there is no noise to take out, but every patch would need nearly all atoms.
    least = 1 / np.sqrt(12) if whole else 1e-4 * float(np.ptp(given))
    with shown(verbose, "denoising") as progress:
        restored, _, stop, why = _core.denoise(
            planes,
            None if sigma is None else float(sigma),
            None if gamma is None else float(gamma),
            float(delta),
            side,
            int(stride),
            int(n_components),
            None if n_agents is None else int(n_agents),
            int(max_iter),
            _settings.seed_of(random_state),
            threads(n_jobs),
            least,
            progress,
        )
    warn(stop, why, "Denoising")
    out = np.stack(restored, axis=2) if colour else restored[0]
    if whole:
        limits = np.iinfo(image.dtype)
        return np.clip(np.round(out), limits.min, limits.max).astype(image.dtype)
    return out.astype(np.float32) if image.dtype == np.float32 else out
