"""Cases that compare the twins of `_engine/blocks.py` with their definitions."""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np

from kernelcourse import Gaussian, LandmarkFeatures, Linear, Polynomial, random_fourier

SIZES = [1, 2, 7, 255, 257, 900]


def _forms(X):
    """The same numbers in other memory layouts: strided, by columns, read-only, big-endian."""
    wide = np.zeros((2 * len(X), 2 * X.shape[1]))
    wide[::2, ::2] = X
    locked = X.copy()
    locked.flags.writeable = False
    return [X, wide[::2, ::2], np.asfortranarray(X), locked, X.astype(">f8").astype(float)]


def nearest_points_cases():
    rng = np.random.default_rng(0)
    for metric in ("euclidean", "cityblock"):
        for n, d in product(SIZES, (1, 3, 5)):  # in few dimensions by a tree
            X, Z = rng.normal(size=(n, d)), rng.normal(size=(max(n, 5), d))
            for kappa in {1, 5, len(Z) if n < 900 else 30}:  # all of them take long to sort
                yield (X, Z, kappa, metric), {}
        wide = rng.integers(0, 3, size=(257, 6)).astype(float)
        yield (wide, wide, 7, metric), {}
        twice = np.repeat(rng.integers(0, 50, size=(150, 6)), 2, axis=0).astype(float)  # pairs at equal distances
        yield (twice[::7], twice, 4, metric), {}
        grid = rng.integers(0, 3, size=(257, 2)).astype(float)  # many points are at equal distances
        for other in _forms(grid):
            yield (other, grid, 7, metric), {}
        for shift in (1e6, -1e9):
            yield (grid + shift, grid + shift, 3, metric), {}
        v = rng.normal(size=(20, 3))
        yield (np.zeros((2, 3)), np.vstack([v, -v]), 40, metric), {}  # equal distances, unless something is rounded
        yield (rng.normal(size=(40, 60)), rng.normal(size=(300, 60)), 4, metric), {}
        for scale in (1e-150, 1e140):
            yield (scale * grid, scale * grid, 3, metric), {}


def as_near(args, kwargs, fast, plain):
    """The neighbours are as near as the definition's; on a grid, where sums are exact, they are the same."""
    X, Z, _, metric = args
    assert fast.shape == plain.shape
    assert (np.diff(np.sort(fast, axis=1)) > 0).all()  # none appears twice
    if np.array_equal(fast, plain):
        return
    length = np.square if metric == "euclidean" else np.abs
    found, wanted = (length(X[:, None, :] - Z[neighbours]).sum(axis=2) for neighbours in (fast, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)
    assert (np.round(X) != X).any() or np.abs(X).max() >= 2**26


def labels_in_feature_space_cases():
    rng = np.random.default_rng(1)
    for kernel in (Linear(), Polynomial(2), Gaussian(1.0) + Linear()):
        for n in SIZES:
            X, Z = rng.normal(size=(n, 3)), rng.normal(size=(n + 4, 3))
            yield (kernel, kernel.prepare(X), kernel.prepare(Z), rng.integers(0, 3, size=n + 4), 5), {}
    many = rng.normal(size=(1500, 2))  # more than one slab of rows
    yield (Linear(), many, many, rng.integers(0, 2, size=1500), 3), {}


def row_blocks_cases():
    for n in (0, *SIZES):
        for columns in (1, 9, 5000):
            for rows in (1, 7, 10_000):
                yield (n, columns), {"memory": 8 * 4 * columns * rows}


def cover_the_rows(args, kwargs, fast, plain):
    """Both cover the same rows in order, and the twin's blocks are not larger."""
    fast, plain = list(fast), list(plain)
    for blocks in (fast, plain):
        assert [i for block in blocks for i in range(block.start, block.stop)] == list(range(args[0]))
    assert max((b.stop - b.start for b in fast), default=0) <= max((b.stop - b.start for b in plain), default=0)


def _add_moments(sums, Phi, y):
    total, squares = sums
    total += y @ Phi.sum(axis=1)
    squares += Phi.T @ Phi


def sum_over_blocks_cases():
    rng = np.random.default_rng(3)
    for n in SIZES:
        X = rng.normal(size=(n, 3))
        landmarks, waves = rng.normal(size=(9, 3)), random_fourier(Gaussian(1.0), 3, 8, rng=0)
        for features in (LandmarkFeatures(Gaussian(1.0), landmarks), waves):
            for rows in (1, 7, 10_000):
                shapes = ((), (features.m, features.m))
                yield (_add_moments, shapes, features, features.prepare(X), X[:, 0]), {"memory": 8 * 4 * 9 * rows}
    text = LandmarkFeatures(Linear().after(lambda word: [len(word)]), ["a", "abc"])
    words = text.prepare(["b" * i for i in range(1, 30)])
    yield (_add_moments, ((), (2, 2)), text, words, np.arange(29.0)), {"memory": 8 * 4 * 2 * 3}


def equal_sums(args, kwargs, fast, plain):
    """Each sum is the same up to the order of its terms."""
    assert len(fast) == len(plain)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


CASES: dict[str, Callable[[], Iterable[tuple[tuple, dict]]]] = {
    "nearest_points": nearest_points_cases,
    "labels_in_feature_space": labels_in_feature_space_cases,
    "row_blocks": row_blocks_cases,
    "sum_over_blocks": sum_over_blocks_cases,
}
CERTIFIED: dict[str, Callable[[tuple, dict, object, object], None]] = {
    "nearest_points": as_near,
    "row_blocks": cover_the_rows,
    "sum_over_blocks": equal_sums,
}
