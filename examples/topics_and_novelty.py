# %% [markdown]
# # Topics of documents, and the day a new one appears
#
# Made-up news: each report draws its words from one topic. We learn the topics of the first reports, read a stream
# block by block, and ask which reports are about something new, and why.

# %%
import pathlib
import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import dictmesh

TOPICS = {
    "sea": "ship harbour captain sailor storm wave cargo island anchor fleet",
    "court": "judge trial verdict lawyer appeal witness jury sentence law crime",
    "sport": "match goal team coach season player league win defeat stadium",
    "money": "bank market share price profit trade loan rate bond investor",
    "space": "rocket orbit launch moon crew satellite engine station probe mission",
}
COMMON = "today people city time news week report say new year".split()
rng = np.random.default_rng(0)


def report(topic: str) -> str:
    """Forty words, of which a third are the topic's own."""
    own = TOPICS[topic].split()
    words = [rng.choice(own) if rng.random() < 0.35 else rng.choice(COMMON) for _ in range(40)]
    return " ".join(words)


def block(topics: list[str], size: int) -> tuple[list[str], np.ndarray]:
    names = rng.choice(topics, size=size)
    return [report(name) for name in names], names


# %% [markdown]
# ## Topics
#
# Four agents share four non-negative atoms. Documents are sparse and stay so.

# %%
known = ["sea", "court", "sport", "money"]
texts, _ = block(known, 200)
vectors = TfidfVectorizer(vocabulary=sorted({w for t in TOPICS.values() for w in t.split()} | set(COMMON)))
X = vectors.fit_transform(texts)
words = vectors.get_feature_names_out()

mesh = dictmesh.MeshOptions(n_agents=4)
topics = dictmesh.NMF(4, gamma=0.02, delta=0.05, mesh=mesh, batch_size=20, max_iter=20, tol=0, random_state=0).fit(X)
for k, atom in enumerate(topics.components_):
    print(f"topic {k}: {', '.join(words[np.argsort(-atom)[:5]])}")

# %% [markdown]
# ## Novelty
#
# Each block is scored by what was learned before it; then two agents join, and the mesh learns it. In the third block
# the first rockets start.

# %%
detector = dictmesh.NoveltyDetector(6, agents_per_block=2, random_state=0).partial_fit(X)
scores, truth, limits = [], [], []
for number in range(5):
    texts, names = block(known + ["space"] * (number >= 2), 60)
    limits.append(detector.offset_)
    detector.partial_fit(vectors.transform(texts))
    scores.append(detector.block_scores_)
    truth.append(names == "space")

before = dictmesh.NoveltyDetector(6, random_state=0).fit(X)
texts, names = block(["space"], 1)
told = before.explain(vectors.transform(texts), feature_names=words)[0]
print("a report no atom explains:", ", ".join(name for name, _ in told.unexplained))

# %% [markdown]
# ## A picture

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=[1.6, 1], layout="constrained")
for number, (score, novel, limit) in enumerate(zip(scores, truth, limits)):
    at = 60 * number + np.arange(60)
    left.scatter(at[~novel], score[~novel], s=9, color="0.6", label="known topics" if number == 0 else None)
    left.scatter(at[novel], score[novel], s=16, color="C3", label="space" if number == 2 else None)
    left.hlines(limit, at[0], at[-1], color="C0", label="offset_" if number == 0 else None)
left.set_xlabel("report")
left.set_ylabel("score_samples (normal is high)")
left.set_title("New in the third block, known after it")
left.legend(frameon=False)
dictmesh.plot_roc(truth[2], scores[2], ax=right, label="third block")
right.set_title("The block with the first rockets")

out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / "topics_and_novelty.png"
figure.savefig(out, dpi=110)
print(f"picture: {out.name}")
