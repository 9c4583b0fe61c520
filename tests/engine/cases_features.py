"""Cases that compare the twins of `_engine/features.py` with their definitions: objectives, not weights."""

import numpy as np

from kernelcourse import Gaussian, LandmarkFeatures, Linear, random_fourier
from kernelcourse.scaling.estimators import FALKON, LOGISTIC, RIDGE, SVM


def fit_each():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    codes = np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5])
    problems = [np.where(codes == c, 1.0, -1.0) for c in range(3)]
    for features in (LandmarkFeatures(Gaussian(1.0), X[:30]), random_fourier(Gaussian(1.0), 3, 40, rng=0)):
        for memory in (2**28, 8 * 3 * 120 * 40, 2**16):  # holds a matrix of all pairs, the features, or neither
            for strength in (1e-3, 0.1):
                yield (SVM, features, X, problems, {"lam": strength, "memory": memory}), {}
                yield (LOGISTIC, features, X, problems, {"ridge": 10 * strength, "memory": memory}), {}
            yield (SVM, features, X, problems[:1], {"lam": 0.01, "memory": memory}), {}
            yield (LOGISTIC, features, X, problems[:1], {"ridge": 0.1, "memory": memory}), {}
    many, little = rng.normal(size=(500, 3)), 8 * 3 * 500 * 30  # fewer than all points fit, and more than the first
    signs = [np.sign(many[:, 0] + 1e-9), np.sign(many[:, 0] * many[:, 1] + rng.normal(size=500))]
    for memory in (2**28, little):
        yield (SVM, LandmarkFeatures(Gaussian(1.0), many[:30]), many, signs, {"lam": 1e-3, "memory": memory}), {}
    far = 1e4 * many  # with a C so large that rounding keeps the gap of a dual problem near 1
    yield (SVM, LandmarkFeatures(Linear(), far[:20]), far, signs[1:], {"lam": 1e-14, "memory": 2**28}), {}
    twice = np.vstack([X[:20], X[:20]])  # a penalty without an inverse
    yield (SVM, LandmarkFeatures(Gaussian(1.0), twice), X, problems, {"lam": 0.01, "memory": 2**28}), {}
    for model, extra in ((RIDGE, {}), (FALKON, {"iterations": 5})):
        yield (
            (model, LandmarkFeatures(Gaussian(1.0), X[:30]), X, [X[:, 0]], {"ridge": 1.0, "memory": 2**28, **extra}),
            {},
        )


def reach_the_same_objective(args, kwargs, fast, plain):
    model, features, X, problems, options = args
    Phi, P = features(X), features.penalty()
    for one, other, y in zip(fast, plain, problems, strict=True):
        found, wanted = (_objective(model, Phi @ fit.w, fit.w @ P @ fit.w, y, options) for fit in (one, other))
        if model is SVM:
            assert found <= wanted * (1 + 1e-4)
            assert found >= wanted - 2.6e-4  # what smoothing the hinge may cost the definition
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-7)
        if model is LOGISTIC:
            pull = Phi.T @ (y / (1 + np.exp(y * (Phi @ one.w))))
            np.testing.assert_allclose(options["ridge"] * P @ one.w, pull, rtol=0, atol=1e-5 * np.abs(pull).max())


def _objective(model, f, square, y, options):
    if model is SVM:
        return np.maximum(0, 1 - y * f).mean() + options["lam"] * square
    return np.logaddexp(0, -y * f).sum() + options["ridge"] / 2 * square


def rows():
    rng = np.random.default_rng(0)
    for n, d, m in ((1, 1, 2), (2, 3, 10), (7, 2, 100), (255, 5, 30), (257, 1, 4), (900, 3, 64)):
        features, P = random_fourier(Gaussian(0.5), d, m, rng=rng), rng.normal(size=(2 * n, 2 * d))
        frozen = P[:n, :d].copy()
        frozen.flags.writeable = False
        for A in (P[::2, ::2], P[:n, :d], np.asfortranarray(P[:n, :d]), frozen, P[:n, :d].astype(">f8"), 1e3 + frozen):
            yield (features, A), {}
    # Huge angles, each from one product, which both sides round alike
    yield (random_fourier(Gaussian(0.5), 1, 10, rng=0), rng.uniform(-1e18, 1e18, size=(30, 1))), {}


CASES = {"FourierFeatures.rows": rows, "fit_each": fit_each}
CERTIFIED = {"fit_each": reach_the_same_objective}
