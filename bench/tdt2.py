"""The documents of the paper's experiment and dense rounds over them in numpy: what two benches share."""

import numpy as np
import scipy.sparse

from common import data

# The paper's constants for documents, and ours.
HUBER = {"gamma": 0.05, "delta": 0.1, "eta": 0.2}
SQUARED = {"gamma": 0.01, "delta": 0.05}


def documents():
    """TF-IDF of the terms in at least 5 documents, |x| = 1, a document a row: 9,394 x 19,677."""
    counts = scipy.sparse.load_npz(data("tdt2.npz") / "tdt2.npz").tocsr().astype(np.float64)
    frequency = np.asarray((counts > 0).sum(axis=0)).ravel()
    counts = counts[:, frequency >= 5]
    weights = np.log(len(frequency) / frequency[frequency >= 5])
    x = (counts @ scipy.sparse.diags_array(weights)).tocsr()
    norms = np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())
    return (scipy.sparse.diags_array(1 / norms) @ x).tocsr()


def atoms(x, agents, rng):
    """Means of ten documents each, of norm 1."""
    chosen = rng.choice(x.shape[0], size=(agents, 10), replace=False)
    w = np.array([np.asarray(x[list(rows)].mean(axis=0)).ravel() for rows in chosen])
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def graph(agents, p, rng):
    """A random connected graph: its adjacency matrix."""
    while True:
        a = np.triu(rng.random((agents, agents)) < p, 1).astype(np.float64)
        a = a + a.T
        if (np.linalg.matrix_power(a + np.eye(agents), agents) > 0).all():
            return a


def metropolis(adjacency):
    """The combination weights of the paper."""
    degree = adjacency.sum(axis=1)
    weights = adjacency / (1 + np.maximum(degree[:, None], degree[None, :]))
    return weights + np.diag(1 - weights.sum(axis=1))


class Diffusion:
    """The paper's diffusion with Huber's residual: all agents' dual vectors in one N x M array."""

    def __init__(self, x, w, adjacency, mu, gamma, delta, eta):
        self.share, self.w, self.weights = x / len(w), w, metropolis(adjacency).T.copy()
        self.mu, self.gamma, self.delta, self.eta = mu, gamma, delta, eta
        self.nu, self.psi = np.zeros_like(w), np.empty_like(w)

    def round(self):
        nu, psi, n = self.nu, self.psi, len(self.w)
        y = np.maximum(np.einsum("km,km->k", self.w, nu) - self.gamma, 0) / self.delta
        np.multiply(self.w, (-self.mu * y)[:, None], out=psi)
        psi += self.mu * self.share
        nu *= 1 - self.mu * self.eta / n
        psi += nu
        np.matmul(self.weights, psi, out=nu)
        np.clip(nu, -1, 1, out=nu)


class RelaxedAdmm:
    """relaxed-admm for agents of one atom, squared residual (no eta) or Huber's."""

    def __init__(self, x, w, adjacency, rho, gamma, delta, eta=None, alpha=0.9):
        degree = adjacency.sum(axis=1)[:, None]
        self.share, self.w, self.adjacency = x / len(w), w, adjacency
        self.rho, self.alpha, self.gamma, self.delta, self.huber = rho, alpha, gamma, delta, eta is not None
        self.a = (eta if self.huber else 1.0) / len(w) + rho * degree
        self.sent = 2 * rho * degree
        self.squares = np.einsum("km,km->k", w, w)[:, None]
        self.s, self.t, self.nu, self.sum = (np.zeros_like(w) for _ in range(4))
        self.y = np.zeros((len(w), 1))

    def argmin(self, c):
        """nu = (c - w y)/a, in the box for Huber, with y the code of nu."""
        if not self.huber:
            y = np.einsum("km,km->k", self.w, c)[:, None] - self.gamma * self.a
            self.y = np.maximum(y, 0) / (self.squares + self.a * self.delta)
            np.multiply(self.w, -self.y, out=self.nu)
            self.nu += c
            self.nu /= self.a
            return
        # Newton on the monotone piecewise linear delta y + gamma - w'nu(y) = 0, y >= 0, from the last y.
        for _ in range(50):
            np.multiply(self.w, -self.y, out=self.nu)
            self.nu += c
            self.nu /= self.a
            free = np.abs(self.nu) < 1
            np.clip(self.nu, -1, 1, out=self.nu)
            value = self.delta * self.y + self.gamma - np.einsum("km,km->k", self.w, self.nu)[:, None]
            slope = self.delta + np.einsum("km,km,km->k", self.w, self.w, free)[:, None] / self.a
            y = np.maximum(self.y - value / slope, 0)
            moved = np.abs(y - self.y).max()
            self.y = y
            if moved <= 1e-15:
                return

    def round(self):
        self.argmin(self.s + self.share)
        np.matmul(self.adjacency, self.nu, out=self.sum)
        keep, alpha, s, t = 1 - self.alpha, self.alpha, self.s, self.t
        self.sum *= 2 * self.rho
        self.sum -= t
        t *= keep
        t += alpha * (self.sent * self.nu - s)
        s *= keep
        self.sum *= alpha
        s += self.sum
