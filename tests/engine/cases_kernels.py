"""Cases for the twins of the kernels: points of all sizes and layouts, parameters of all magnitudes."""

import numpy as np

from kernelcourse import (
    BagOfWords,
    Gaussian,
    Intersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spectrum,
    Subset,
    TfIdf,
)
from kernelcourse.kernels import Radial

SIZES = (1, 2, 7, 255, 257, 900)


class Triangle(Radial):
    """A user's kernel."""

    def profile(self, r):
        return np.maximum(0, 1 - r)


def pairs():
    """Two sets of points, or the same set twice."""
    rng = np.random.default_rng(0)
    for n in SIZES:
        X = rng.normal(size=(n, 3))
        yield X, X
        yield X, rng.normal(size=(n // 2 + 1, 3))
    for d in (1, 2, 40):  # few columns, and more than a compiled loop accepts
        X = rng.normal(size=(60, d)) / np.sqrt(d)
        yield X, X
        yield X, rng.normal(size=(300, d)) / np.sqrt(d)
    X, Z = rng.normal(size=(70, 4)), rng.normal(size=(33, 4))
    frozen = X.copy()
    frozen.flags.writeable = False
    for A in (X[::2], X[::-1, ::-2], np.asfortranarray(X), frozen, X.astype(">f8"), 1e8 + X, 1e-9 * X, X.round()):
        yield A, A
        yield A, Z[:, : A.shape[1]]
    wide = rng.normal(size=(70, 40)) / 7
    for A in (np.vstack([wide, wide[:5]]), 1e8 + wide, 1e-9 * wide):
        yield A, A
        yield A, wide[:33]
    twice = np.vstack([X, X, X[:5]])
    yield twice, twice
    yield twice, X
    apart = np.vstack([X, 1e4 + X])
    yield apart, apart


def formula(*kernels):
    """The arguments of `formula` for each of the kernels and all pairs of point sets."""

    def cases():
        for k in kernels:
            for X, Z in pairs():
                P = k.prepare(X)
                yield (k, P, P if Z is X else k.prepare(Z)), {}

    return cases


def expand():
    rng = np.random.default_rng(1)
    for k, X, Z in (args for args, _ in formula(Gaussian(0.7), Laplacian(2.0), Gaussian(1e-200), Laplacian(1e-310))()):
        yield (k, X, Z, rng.normal(size=len(Z))), {}
        yield (k, X, Z, rng.normal(size=(len(Z), 3))), {"entries": 100}


def texts():
    rng = np.random.default_rng(2)
    words = [f"w{i}" for i in range(400)]
    several = [" ".join(rng.choice(words, size=size)) for size in rng.integers(0, 60, size=90)]
    alike = [f"{text} some words that all of them have" for text in several]
    for k in (BagOfWords(), BagOfWords(vocabulary=words[:5]), TfIdf.fit(several), Spectrum(2)):
        for documents in (several, alike, several[:1], ["", ""], several[:3] * 2, ["w1 " * 4999, "w1 " * 4997]):
            P = k.prepare(documents)
            yield (k, P, P), {}
            yield (k, P, k.prepare(several[40:70])), {}


def sets():
    """Usual sets, and some that the definition has to look at element by element."""
    for k in (Intersection(), Subset(), Intersection(universe=[1, 2, 3])):
        for several in ([{1, 2}, {3}, set()], [frozenset({3, 1})], ({1}, {2})):
            yield (k, several), {}
    yield (Subset(), [{"a", 1}, {"b"}]), {}
    for several in ([{True, 2.5}, {None}], [[1, 1], (2,)], [{np.int64(3)}], [{(1, 2)}]):
        yield (Intersection(), several), {"name": "Z"}


def the_same_dicts(args, kwargs, fast, plain):
    assert fast == plain
    assert type(fast) is type(plain)


def powers():
    rng = np.random.default_rng(3)
    for power in (1, 2, 3, 7, 30):
        for values in (rng.normal(size=(7, 7)), rng.normal(size=255), np.array([[0.0, -1.0, 1e3]])):
            yield (Linear() ** power, values), {}


def strings():
    rng = np.random.default_rng(4)
    for s, t, many in ((0, 3, 2), (3, 0, 2), (1, 1, 1), (7, 9, 255), (60, 80, 257)):
        one, T = rng.integers(4, size=s), rng.integers(-1, 4, size=(t, many))
        for size, decay in ((1, 1.0), (2, 0.5), (5, 1e-3)):
            yield (one, T), {"size": size, "decay": decay}
            yield (one, T[:, ::-2]), {"size": size, "decay": decay}


CASES = {
    "Gaussian.formula": formula(*map(Gaussian, (0.7, 1e-200, 1e-3, 1e3, 1e200))),
    "Laplacian.formula": formula(*map(Laplacian, (1.5, 1e-310, 1e-3, 1e3, 1e300))),
    "Radial.formula": formula(
        Matern(0.8, nu=0.5),
        Matern(1e-300, nu=0.5),
        Matern(1.0, nu=2.5),
        Matern(1e-3, nu=1.5),
        RationalQuadratic(1.0, alpha=1e5),
        Triangle(),
    ),
    "Polynomial.formula": formula(Polynomial(1), Polynomial(2), Polynomial(3, offset=0.0), Polynomial(5, offset=1e-3)),
    "Power.value": powers,
    "Kernel.expand": expand,
    "CountKernel.formula": texts,
    "ObjectKernel.prepare": sets,
    "gap_weighted": strings,
}
CERTIFIED = {"ObjectKernel.prepare": the_same_dicts}
