"""PSNR and time of `dictmesh denoise` against dictionary denoisers built with SPAMS and scikit-learn.

Three 512 x 512 pictures of scikit-image (its package holds them: camera, astronaut in grey, brick) with
noise of sigma 25 and 50, rounded to 8 bits as in a file. All sides learn 128 atoms from the noisy picture's
own 8 x 8 patches without their means, 20,000 patches twice, code every patch (stride 1) and average. The
peers' lambda is tuned: the best PSNR over a grid, against the clean picture, which a user could not do;
only the run at the best lambda is timed. The bar is their PSNR, in less time. SPAMS also codes by OMP to an
error bound, tuned likewise: K-SVD's way, greedy and without a lambda, held to the same bar. Times are from the noisy picture to the clean one, without starting Python.
"""

import pathlib
import tempfile
import time
import warnings

import numpy as np
import skimage
from numpy.lib.stride_tricks import sliding_window_view

from common import dictmesh, interleaved

ABOUT = "PSNR and time against SPAMS and scikit-learn on three pictures, each with two noises"

PATCH, ATOMS, LEARNED, PASSES, BATCH = 8, 128, 20_000, 2, 256
PICTURES, SIGMAS = ["camera", "astronaut", "brick"], [25, 50]
LAMBDAS = [1.2, 1.4, 1.6, 1.8, 2.0, 2.3]  # in units of sigma
BOUNDS = [0.95, 1.0, 1.05, 1.1]  # the norm of the residual, in units of sigma sqrt(M)
REPEATS = 3


def picture(name):
    image = getattr(skimage.data, name)()
    if image.ndim == 3:
        image = skimage.color.rgb2gray(image) * 255
    return np.round(image).astype(np.uint8)


def cut(image):
    """The patches without their means, a column each, and the means."""
    windows = sliding_window_view(image.astype(np.float64), (PATCH, PATCH))
    x = windows.reshape(-1, PATCH * PATCH).T
    means = x.mean(axis=0)
    return np.asfortranarray(x - means), means


def average(patches, shape):
    out, count = np.zeros(shape), np.zeros(shape)
    height, width = shape[0] - PATCH + 1, shape[1] - PATCH + 1
    grid = patches.reshape(PATCH, PATCH, height, width)
    for i in range(PATCH):
        for j in range(PATCH):
            out[i : i + height, j : j + width] += grid[i, j]
            count[i : i + height, j : j + width] += 1
    return np.clip(np.round(out / count), 0, 255)


def psnr(clean, image):
    return 10 * np.log10(255**2 / np.mean((clean.astype(float) - image) ** 2))


def peer(learn, code):
    """A denoiser: the noisy picture, gamma and the parameter of its coding -> picture, seconds."""

    def run(noisy, gamma, parameter):
        began = time.perf_counter()
        x, means = cut(noisy)
        warnings.simplefilter("ignore")  # scikit-learn tells of every patch that ran into its limit
        drawn = np.random.default_rng(0).permutation(x.shape[1])[:LEARNED]
        atoms = learn(np.asfortranarray(x[:, drawn]), gamma)
        image = average(atoms @ code(x, atoms, parameter) + means, noisy.shape)
        return image, time.perf_counter() - began

    return run


def spams_peers(threads):
    import spams

    def learn(x, gamma):
        rounds = PASSES * LEARNED // BATCH
        return spams.trainDL(
            x, K=ATOMS, lambda1=gamma, iter=rounds, batchsize=BATCH, mode=2, numThreads=threads, verbose=False
        )

    def lasso(x, atoms, gamma):
        return spams.lasso(x, atoms, lambda1=gamma, lambda2=0.0, mode=2, numThreads=threads)

    def omp(x, atoms, bound):
        return spams.omp(x, atoms, L=PATCH * PATCH // 2, eps=bound**2, numThreads=threads)

    return peer(learn, lasso), peer(learn, omp)


def sklearn_peer(threads):
    from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode

    def learn(x, gamma):
        model = MiniBatchDictionaryLearning(
            ATOMS, alpha=gamma, batch_size=BATCH, max_iter=PASSES, fit_algorithm="cd", n_jobs=threads, random_state=0,
            max_no_improvement=None, tol=0.0,
        )
        return np.asfortranarray(model.fit(x.T).components_.T)

    def lasso(x, atoms, gamma):
        # alpha is the weight of the l1 norm beside 1/2 |x - W y|^2, as everywhere here.
        return sparse_encode(
            x.T, atoms.T, algorithm="lasso_cd", alpha=gamma, max_iter=100, n_jobs=threads, check_input=False
        ).T

    return peer(learn, lasso)


def tuned(run, clean, noisy, sigma, grid, unit):
    """The weight to learn with, and the parameter of coding with the best PSNR."""
    learning = 2.0 * sigma
    best = max(grid, key=lambda p: psnr(clean, run(noisy, learning, p * unit)[0]))
    return learning, best * unit


def rows(program, threads):
    lasso, omp = spams_peers(threads)
    scikit = sklearn_peer(threads)
    for name in PICTURES:
        clean = picture(name)
        for sigma in SIGMAS:
            noise = np.random.default_rng(sigma).standard_normal(clean.shape)
            noisy = np.clip(np.round(clean + sigma * noise), 0, 255).astype(np.uint8)
            norm = sigma * PATCH
            peers = [
                ("SPAMS lasso", lasso, tuned(lasso, clean, noisy, sigma, LAMBDAS, sigma)),
                ("SPAMS OMP", omp, tuned(omp, clean, noisy, sigma, BOUNDS, norm)),
            ]
            # The best lambda of one lasso is that of the other: scikit-learn takes minutes for each.
            peers.append(("scikit-learn", scikit, peers[0][2]))
            yield from compare(program, threads, (name, sigma), clean, noisy, peers)


def compare(program, threads, case, clean, noisy, peers):
    name, sigma = case
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch)
        skimage.io.imsave(path / "noisy.png", noisy, check_contrast=False)
        skimage.io.imsave(path / "clean.png", clean, check_contrast=False)

        def ours():
            return dictmesh(
                program, threads, "denoise", path / "noisy.png", "-o", path / "out.png", "--sigma", sigma
            )

        sides = [ours] + [lambda run=run, p=parameters: run(noisy, *p) for _, run, parameters in peers[:2]]
        measured = interleaved(REPEATS, *sides)
        # One run of scikit-learn is long enough to be sure.
        measured += interleaved(1, lambda: peers[2][1](noisy, *peers[2][2]))
        quality, _ = dictmesh(
            program, threads, "denoise", path / "noisy.png", "-o", path / "out.png", "--sigma", sigma,
            "--clean", path / "clean.png",
        )
        check_ssim(quality, clean, skimage.io.imread(path / "out.png"))
    ours_psnr, ours_s = quality["after"]["psnr"], measured[0][1]
    for (peer_name, _, _), (image, peer_s) in zip(peers, measured[1:]):
        peer_psnr = psnr(clean, image)
        yield {
            "bench": "denoising",
            "case": f"{name} {sigma}",
            "ours": ours_psnr,
            "peer": peer_name,
            "bar": peer_psnr,
            "ours_s": ours_s,
            "peer_s": peer_s,
            "ratio": peer_s / ours_s,
            "ok": bool(ours_psnr >= peer_psnr and ours_s < peer_s),
        }


def check_ssim(quality, clean, restored):
    """Our SSIM and PSNR are scikit-image's."""
    theirs = skimage.metrics.structural_similarity(clean, restored, data_range=255)
    if abs(theirs - quality["after"]["ssim"]) > 1e-6 or abs(psnr(clean, restored) - quality["after"]["psnr"]) > 1e-6:
        raise RuntimeError(f"SSIM {quality['after']['ssim']} is {theirs} by scikit-image")
