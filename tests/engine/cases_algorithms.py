"""Cases for the twins of linear algebra, solvers, loops and searches: arguments for each definition, certificates."""

from __future__ import annotations

from itertools import product

import numpy as np

from kernelcourse.algorithms.logistic import expit
from kernelcourse.algorithms.svm import dual_problem, svm_objective
from kernelcourse.estimators import KernelRidge, KernelSVM
from kernelcourse.kernels import Gaussian, Laplacian, Polynomial
from kernelcourse.selection import accuracy, k_fold, mean_squared_error

SIZES = (1, 2, 7, 255, 257)


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def gram(n, sigma=1.0):
    return np.exp(-((points(n)[:, None] - points(n)) ** 2).sum(axis=2) / (2 * sigma**2))


def labels(n):
    y = np.where(np.sin(2 * points(n)[:, 0]) + 0.5 * points(n)[:, 1] > 0, 1.0, -1.0)
    y[: min(n, 2)] = [1.0, -1.0][: min(n, 2)]  # both labels occur
    return y


def strided(A):
    wide = np.zeros([2 * size for size in A.shape])
    wide[tuple(slice(None, None, 2) for _ in A.shape)] = A
    return wide[tuple(slice(None, None, 2) for _ in A.shape)]


def frozen(A):
    A = A.copy()
    A.flags.writeable = False
    return A


LAYOUTS = (np.ascontiguousarray, np.asfortranarray, strided, frozen)


def matrices(sizes=SIZES):
    """Gram matrices of all sizes and memory layouts, and two of extreme scale."""
    yield from (layout(gram(n)) for n in sizes for layout in LAYOUTS)
    yield from (scale * gram(7) for scale in (1e-150, 1e150))
    yield np.ones((4, 4)) + np.diag([0.0, 0.0, 1e-3, 1.0])  # two identical points


# ---------------------------------------------------------------- arguments


def is_symmetric():
    for K in matrices():
        yield (K,), {}
        for i, j, by in ((0, -1, 1e-3), (-1, 0, 1e-3), (len(K) // 2, -1, 1e-9)):
            wrong = K.copy()
            wrong[i, j] += by * K[0, 0]
            yield (wrong,), {}
            yield (wrong, 1e-6 * K[0, 0]), {}
        for bad in (np.nan, np.inf):  # on the diagonal, and in two places that mirror each other
            for i in (0, len(K) - 1):
                wrong = K.copy()
                wrong[i, -1] = wrong[-1, i] = bad
                yield (wrong,), {}
                yield (wrong, np.inf), {}


# ---------------------------------------------------------------- systems


def solve_ridge():
    for K in matrices():
        t = np.sin(np.arange(len(K)))
        for ridge in (0.1, 1e3):
            yield (K, t, ridge * K[0, 0]), {}
        yield (K, np.column_stack([t, t**2]), K[0, 0]), {}
    yield (np.ones((3, 3)), np.array([1.0, 2.0, 6.0]), 0.0), {"quiet": True}
    yield (np.diag([1.0, 1.0, -1e-14]), np.array([1.0, 2.0, 0.0]), 0.0), {"quiet": True}


def positive_definite():
    yield from (K + 0.1 * K[0, 0] * np.eye(len(K)) for K in matrices())


def cholesky():
    for A in positive_definite():
        yield (A,), {}
        yield (np.tril(A),), {}  # only this triangle is read


def triangular_solve():
    for A in positive_definite():
        L, b = np.linalg.cholesky(A), np.sin(np.arange(len(A)))
        for transposed in (False, True):
            yield (L, b), {"transposed": transposed}
            yield (np.asfortranarray(L), np.column_stack([b, b**2])), {"transposed": transposed}


# ---------------------------------------------------------------- solvers


def descend():
    for n in SIZES:
        for C in (1e-3, 1.0, 100.0):
            for offset in {False, n > 1}:
                dual = dual_problem(gram(n), labels(n), 1 / (2 * n * C), offset=offset)
                yield (dual, np.zeros(n)), {"gap": 1e-9, "max_steps": 1_000_000}
    for layout in LAYOUTS[1:]:
        dual = dual_problem(layout(gram(60, sigma=3.0)), labels(60), 1e-3, offset=True)
        yield (dual, np.zeros(60)), {"gap": 1e-9, "max_steps": 1_000_000}
    for scale in (1e-6, 1e6):
        dual = dual_problem(scale * gram(60), labels(60), scale / 120, offset=False)
        yield (dual, np.zeros(60)), {"gap": 1e-9, "max_steps": 1_000_000}


def reaches_the_gap(args, kwargs, fast, plain):
    dual = args[0]
    for point, _ in (fast, plain):
        assert point.gap <= kwargs["gap"]
        assert (dual.lo <= point.c).all() and (point.c <= dual.hi).all()
        assert not dual.offset or abs(point.c.sum()) <= 1e-12 * np.abs(point.c).sum()
        np.testing.assert_allclose(point.f, dual.K @ point.c, rtol=1e-9, atol=1e-9 * np.abs(point.f).max())
    np.testing.assert_allclose(fast[0].objective, plain[0].objective, rtol=1e-8)


def solve_each():
    n = 90
    rows = [np.arange(n), np.arange(0, n, 2), np.array([3, 4, 5, 20, 21, 60])]
    for layout in LAYOUTS:
        for offset in (False, True):
            problems = [(some, np.where(np.arange(len(some)) % 3 == 0, 1.0, -1.0)) for some in rows]
            yield (layout(gram(n)), problems, 0.01), {"offset": offset, "gap": 1e-11}
            yield (layout(gram(n)), problems[:1], 0.01), {"offset": offset, "gap": 1e-11}


def svms_on_points():
    X, codes = points(90), np.arange(90) % 3
    pairs = [np.flatnonzero(codes != c) for c in range(3)]
    for kernel in (Gaussian(1.0), Laplacian(2.0), Polynomial(2)):
        for offset in ("none", "free", "penalised"):
            for problems in (pairs, [np.arange(90)]):
                signed = [(rows, labels(90)[rows]) for rows in problems]
                yield (kernel, X, signed, 0.01), {"offset": offset, "gap": 1e-7}
    many = points(600)  # so many that coefficients are left out; at the first C, rows are kept in single precision
    separable = [(np.arange(600), np.where(many[:, 0] > 0, 1.0, -1.0))]
    apart = many + 1e5 * (np.arange(600) % 2)[:, None]  # single precision would lose the distances between neighbours
    for offset, C in product(("none", "free"), (30.0, 1000.0)):
        for kernel, X in (
            (Gaussian(1.0), many),
            (Gaussian(1.0), many + 1e5),
            (Gaussian(1.0), apart),
            (Laplacian(1.0), apart),
        ):
            yield (kernel, X, separable, 1 / (1200 * C)), {"offset": offset, "gap": 1e-4}
        yield (Laplacian(2e-60), 1e-60 * many, separable, 1 / (1200 * C)), {"offset": offset, "gap": 1e-4}


def have_the_same_objectives(args, kwargs, fast, plain):
    kernel, points, problems, lam = args
    for (rows, y), one, other in zip(problems, fast, plain, strict=True):
        assert max(one.gap, other.gap) <= kwargs["gap"]
        if kwargs["offset"] != "penalised":  # the objective reported is that of the exact kernel
            K, at = kernel(points[rows]), {"lam": lam * len(points) / len(rows), "b": one.b}
            np.testing.assert_allclose(one.objective, svm_objective(one.alpha, K, y, **at), rtol=0.1 * kwargs["gap"])
        supported, C = one.alpha > 1e-8 * one.alpha.max(), 1 / (2 * len(points) * lam)
        assert len(one.alpha) == len(rows) and one.support.tolist() == np.flatnonzero(supported).tolist()
        on_margin = np.flatnonzero(supported & (one.alpha < (1 - 1e-8) * C))
        assert one.margin_support.tolist() == on_margin.tolist()
        np.testing.assert_allclose(one.objective, other.objective, rtol=2 * kwargs["gap"])


def have_the_same_solutions(args, kwargs, fast, plain):
    K, problems, _ = args
    for (rows, y), one, other in zip(problems, fast, plain, strict=True):
        assert max(one.gap, other.gap) <= kwargs["gap"]
        np.testing.assert_allclose(one.objective, other.objective, rtol=1e-10)
        part = K[np.ix_(rows, rows)]
        np.testing.assert_allclose(part @ (one.alpha * y), part @ (other.alpha * y), atol=1e-4)


def symmetric_product():
    for K in matrices():
        yield (K, np.sin(np.arange(len(K)))), {}
        yield (K, np.sin(np.arange(2 * len(K))).reshape(-1, 2)), {}


def newton_by_products():
    for n in SIZES:
        y = (labels(n) + 1) / 2

        def errors(f, y=y):
            return expit(f) - y

        def curvature(f):
            p = expit(f) * expit(-f)
            return lambda u: p * u

        for K in (gram(n), strided(gram(n))):
            for ridge, most in ((1e-2, 1000), (1e3, 1000), (0.1, 3)):
                yield (K, errors, curvature, (n,), ridge, 1e-9, most), {}


def reaches_the_minimum(args, kwargs, fast, plain):
    K, errors, _, _, ridge, tol, _ = args
    assert (fast[0] is None) == (plain[0] is None)
    if plain[0] is not None:
        for a, _ in (fast, plain):
            assert np.abs(errors(K @ a) + ridge * a).max() <= 2 * tol


# ---------------------------------------------------------------- one point after another


def orders(n, repeats, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n) for _ in range(repeats)]


def count_mistakes():
    for K in matrices():
        n = len(K)
        yield (K, labels(n), orders(n, 5)), {}
        yield (K, labels(n), [np.arange(n)]), {}


def visits(n):
    return np.random.default_rng(1).integers(n, size=3 * n)


def logistic_steps():
    for n in SIZES:
        for layout in LAYOUTS:
            for step, ridge in ((0.5, 0.0), (1e-6, 1.0), (0.1, 10.0)):
                yield (layout(gram(n)), (labels(n) + 1) / 2, visits(n), step, ridge), {}


def hits_and_totals():
    for n in SIZES:
        for layout in LAYOUTS:
            for lam in (1e-4, 0.1, 1e3):
                yield (layout(gram(n)), labels(n), visits(n), lam), {}


def largest():
    rng = np.random.default_rng(0)
    for m, n in ((1, 1), (7, 2), (2, 255), (7, 257), (3, 900)):
        for K in (rng.normal(size=(m, n)), rng.integers(0, 5, size=(m, n)).astype(float)):  # distinct, and with ties
            for kappa in {1, min(n, 3), n}:
                yield from (((layout(K), kappa), {}) for layout in LAYOUTS)


# ---------------------------------------------------------------- searches


def mean_scores():
    X, folds = points(60), [(np.sort(a), np.sort(b)) for a, b in k_fold(60, 3, rng=0)]
    t, three = np.sin(2 * X[:, 0]) + X[:, 1], np.digitize(X[:, 0], [-0.5, 0.5])
    ridges = [{"kernel__sigma": s, "ridge": r} for s in (0.5, 2.0) for r in (1e-3, 5.0)]
    lams = [{"kernel": k, "lam": lam} for k in (Gaussian(0.5), Gaussian(2.0)) for lam in (1e-3, 0.1)]
    for metric in (None, mean_squared_error):
        yield (KernelRidge(), X, t, ridges, folds, metric), {}
        yield (KernelRidge(offset="free"), X, t, ridges, folds, metric), {}
    yield (KernelRidge(), X.tolist(), t, [{"ridge": 1e-15}, {"ridge": 1e3}], folds, None), {}
    for y in (labels(60), three, np.array(["a", "b", "c"])[three]):
        for model in (KernelSVM(gap=1e-9), KernelSVM(offset="penalised", gap=1e-9), KernelSVM(offset="free", gap=1e-9)):
            yield (model, X, y, lams, folds, accuracy), {}


CASES = {
    definition.__name__: definition
    for definition in (
        *(is_symmetric, solve_ridge, cholesky, triangular_solve),
        *(
            descend,
            solve_each,
            svms_on_points,
            symmetric_product,
            newton_by_products,
            count_mistakes,
            logistic_steps,
            hits_and_totals,
            largest,
            mean_scores,
        ),
    )
}
CERTIFIED = {
    "descend": reaches_the_gap,
    "solve_each": have_the_same_solutions,
    "svms_on_points": have_the_same_objectives,
    "newton_by_products": reaches_the_minimum,
}
