# %% [markdown]
# # Patches of a picture
#
# Sixteen agents learn the patches of a made-up picture, four atoms each; then the noise is taken out of it.

# %%
import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.image import extract_patches_2d

import dictmesh

rng = np.random.default_rng(0)
i, j = np.mgrid[:128, :128] / 128
clean = 0.5 + 0.2 * np.sin(40 * (i + 0.6 * j)) * (i + j < 1) + 0.3 * ((i - 0.65) ** 2 + (j - 0.65) ** 2 < 0.06)
clean += 0.15 * (np.floor(16 * j) % 2) * (i > 0.5) * (j < 0.45)
sigma = 0.1
noisy = clean + sigma * rng.normal(size=clean.shape)

# %% [markdown]
# ## Atoms
#
# Patches lose their mean. The agents are joined at random, two of them see the patches, and nobody sees another's
# atoms.

# %%
patches = extract_patches_2d(noisy, (8, 8), max_patches=800, random_state=0).reshape(-1, 64)
patches -= patches.mean(axis=1, keepdims=True)
learned = dictmesh.DictionaryLearning(
    64, gamma=2 * sigma, delta=0.05, mesh=dictmesh.MeshOptions(16, "random:0.4", informed=[0, 5]), max_iter=1, tol=0,
    random_state=2,
).fit(patches)
codes = learned.transform(patches)
print(f"objective of a patch: {learned.cost_history_[0]:.3f} at first, {-learned.score(patches):.3f} in the end")
print(f"a code has {np.mean((codes != 0).sum(axis=1)):.1f} entries that are not 0")

# %% [markdown]
# ## Without noise

# %%
restored = dictmesh.denoise_image(noisy, sigma, random_state=0)


def psnr(x: np.ndarray) -> float:
    return float(-10 * np.log10(np.mean((x - clean) ** 2)))


print(f"PSNR: {psnr(noisy):.1f} dB with noise, {psnr(restored):.1f} dB without")

# %% [markdown]
# ## A picture

# %%
figure, axes = plt.subplots(1, 4, figsize=(14, 3.7), layout="constrained")
axes[0].imshow(noisy, cmap="gray", vmin=0, vmax=1)
axes[0].set_title(f"noisy, {psnr(noisy):.1f} dB")
axes[1].imshow(restored, cmap="gray", vmin=0, vmax=1)
axes[1].set_title(f"denoised, {psnr(restored):.1f} dB")
used = np.argsort(-(codes**2).sum(axis=0))
tiles = np.pad(learned.components_[used].reshape(8, 8, 8, 8), [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=np.nan)
axes[2].imshow(tiles.transpose(0, 2, 1, 3).reshape(72, 72), cmap="gray")
axes[2].set_title("64 atoms, the most used first")
for ax in axes[:3]:
    ax.axis("off")
dictmesh.plot_mesh(learned, ax=axes[3])
axes[3].set_title("16 agents; filled: sees the patches")

out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "patches.png"
figure.savefig(out, dpi=110, bbox_inches="tight")
print(f"picture: {out.name}")
