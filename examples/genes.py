# %% [markdown]
# # Genes
#
# A made-up table of 60 patients and 500 genes. Three groups of patients have some genes of their own that are high;
# most genes are noise. Nobody tells the algorithm who is in which group.

# %%
import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np

import dictmesh

rng = np.random.default_rng(0)
group = rng.permutation(np.repeat([0, 1, 2, 3], [15, 12, 10, 23]))
X = rng.normal(size=(60, 500))
genes = rng.permutation(500)
marks = [genes[:60], genes[60:110], genes[110:150]]
for g, columns in enumerate(marks):
    X[np.ix_(group == g, columns)] += 2.5

# %% [markdown]
# ## Biclusters
#
# One agent for each; each learns its layer from one gene after the other.

# %%
found = dictmesh.SparseBiclustering(3, gamma=1.5, random_state=0).fit(X)
for k in range(3):
    rows, columns = found.get_indices(k)
    best = np.bincount(group[rows]).argmax()
    right = (group[rows] == best).sum()
    hits = np.isin(columns, marks[best]).sum()
    print(
        f"bicluster {k}: {len(rows)} patients, {right} of the {np.sum(group == best)} in group {best}; "
        f"{len(columns)} genes, {hits} of its {len(marks[best])}"
    )

# %% [markdown]
# ## A picture
#
# Rows and columns in the order of the layers; a scatter of the patients in two of them.

# %%
layer = np.where(found.rows_.any(axis=0), np.abs(found.row_loadings_).argmax(axis=0), 3)
order = np.lexsort([-np.abs(found.row_loadings_).max(axis=0), layer])
strength = np.abs(found.column_loadings_)
columns = np.lexsort([-strength.max(axis=0), np.where(found.columns_.any(axis=0), strength.argmax(axis=0), 3)])

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=[1.8, 1], layout="constrained")
image = left.imshow(X[np.ix_(order, columns)], aspect="auto", cmap="RdBu_r", vmin=-4, vmax=4, interpolation="nearest")
left.set_xlabel("genes, in the order of their bicluster")
left.set_ylabel("patients, in the order of theirs")
left.set_title("The table, sorted by what was found")
figure.colorbar(image, ax=left, label="expression")
for g in range(4):
    inside = group == g
    right.scatter(*found.row_loadings_[:2, inside], s=22, color=f"C{g}", label=f"group {g}" if g < 3 else "no group")
right.set_xlabel("weight in bicluster 0")
right.set_ylabel("weight in bicluster 1")
right.set_title("Patients; colours are the truth")
right.legend(frameon=False, fontsize=8)

out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "genes.png"
figure.savefig(out, dpi=110)
print(f"picture: {out.name}")
