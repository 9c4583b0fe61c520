"""The fast paths agree with the plain ones: compiled or not, in one thread or two, in one slab or many."""

import ctypes
import json
import math
import re
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.polynomial import Chebyshev
from numpy.polynomial import Polynomial as Series
from scipy.spatial.distance import cdist
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from kernelcourse import (
    Gaussian,
    KernelLogisticRegression,
    KernelNeighbors,
    KernelPerceptron,
    KernelRidge,
    KernelSVM,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    accuracy,
    cross_validate,
    grid_search,
    k_fold,
    kernel_perceptron,
    kernel_perceptron_by_the_book,
    kernel_svm,
    kernel_svm_with_offset,
    lam_from_C,
    logistic_newton,
    logistic_newton_cg,
    logistic_sgd,
    logistic_sgd_by_the_book,
    mean_squared_error,
    nearest,
    predict,
    svm_dual_objective,
    svm_objective,
    svm_sgd,
)
from kernelcourse._engine import blocks, svm
from kernelcourse._engine import gram as tiles
from kernelcourse._engine import threads as fast
from kernelcourse._engine.search import solve_ridges, solved_path
from kernelcourse.algorithms.svm import certify, dual_problem
from kernelcourse.estimators.classifiers import svms_on_points
from kernelcourse.linalg import solve_ridge
from kernelcourse.seam import engine
from kernelcourse.validation import KernelCourseWarning, square

ROOT = Path(__file__).resolve().parents[1]

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
Z = rng.normal(size=(70, 3))
t = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=90)
y = np.where(t > 0, 1.0, -1.0)
K = Gaussian(1.0)(X)


@pytest.fixture(params=["plain", "compiled"])
def way(request, monkeypatch):
    """Every job, however small, by numpy alone or by the compiled loops; in tiles of a few rows, in two threads."""
    monkeypatch.setenv("KERNELCOURSE_FAST", "0" if request.param == "plain" else "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    monkeypatch.setattr(fast, "WORTH_CALLING", 0)
    monkeypatch.setattr(fast, "WORTH_A_THREAD", 0)
    for name, value in {"ROWS": 7, "COLUMNS": 20, "ENTRIES": 1000}.items():
        monkeypatch.setattr(tiles, name, value)
    return request.param


# ---------------------------------------------------------------- where they come from


def test_loops_do_the_jobs_that_are_worth_a_call_unless_they_are_turned_off(monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_FAST", "1")
    monkeypatch.setattr(fast, "_loops", lambda: "loops")
    with engine("on"):
        assert fast.compiled(fast.WORTH_CALLING - 1) is None
        assert fast.compiled(fast.WORTH_CALLING) == "loops"
    with engine("always"):
        assert fast.compiled(1) == "loops"
        monkeypatch.setenv("KERNELCOURSE_FAST", "0")
        assert fast.compiled(1e9) is None


def test_jobs_side_by_side_keep_their_order_and_their_errors(way):
    assert fast.side_by_side([lambda i=i: i * i for i in range(20)]) == [i * i for i in range(20)]
    with pytest.raises(ZeroDivisionError):
        fast.side_by_side([lambda: 1, lambda: 1 / 0])


@pytest.fixture
def several_threads():
    """Linear algebra with several threads, which other tests do not use; yields how many each library has."""
    libraries = fast.controller().lib_controllers
    had = [library.num_threads for library in libraries]
    set_threads(libraries, [3] * len(libraries))
    before = threads_of_the_linear_algebra()
    assert max(before) > 1  # a library that was built for one thread keeps to one
    yield before
    set_threads(libraries, had)


def set_threads(libraries, counts):
    for library, count in zip(libraries, counts, strict=True):
        library.set_num_threads(count)
        library.clear_controlling_thread(force=True)  # held by threadpoolctl, which would let no other thread change it


def threads_of_the_linear_algebra():
    return [library.num_threads for library in fast.controller().lib_controllers]


def test_the_linear_algebra_gets_its_threads_back(way, several_threads):
    with ThreadPoolExecutor(4) as pool:  # which all limit it, at overlapping times
        list(pool.map(lambda _: Polynomial(3)(X), range(40)))
    assert threads_of_the_linear_algebra() == several_threads


def test_who_leaves_first_leaves_one_thread_to_the_others(several_threads):
    entered, left, found = threading.Barrier(2), threading.Event(), []

    def first():
        with fast.one_thread():
            entered.wait()
        left.set()

    def second():
        with fast.one_thread():
            entered.wait()
            left.wait()
            found.append(threads_of_the_linear_algebra())

    workers = [threading.Thread(target=job) for job in (first, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [[1] * len(several_threads)]
    assert threads_of_the_linear_algebra() == several_threads


def test_a_limit_of_the_user_stays(several_threads):
    from threadpoolctl import threadpool_limits

    one_each = [1] * len(several_threads)
    with threadpool_limits(1):
        with fast.one_thread():
            assert threads_of_the_linear_algebra() == one_each
        assert threads_of_the_linear_algebra() == one_each
    assert threads_of_the_linear_algebra() == several_threads


def test_without_threadpoolctl_one_job_follows_the_other(monkeypatch):
    monkeypatch.setattr(fast, "controller", lambda: None)
    assert fast.side_by_side([threading.current_thread, threading.current_thread]) == [threading.main_thread()] * 2


def test_a_package_built_without_a_compiler_computes_the_same(tmp_path):
    """And one whose library is for another kind of machine."""
    code = """
import sys, numpy as np, kernelcourse as kc
from kernelcourse._engine import threads
assert kc.__file__.startswith(sys.argv[1])
assert threads.compiled(1e9) is None
X = np.random.default_rng(0).normal(size=(300, 2))
model = kc.KernelSVM(kc.Gaussian(1.0), offset="free", gap=1e-9)
print(model.fit(X, X[:, 0] > X[:, 1] ** 2).decision_function(X).tolist())
"""
    shutil.copytree(ROOT / "kernelcourse", tmp_path / "kernelcourse", ignore=shutil.ignore_patterns("*.so"))
    X = np.random.default_rng(0).normal(size=(300, 2))
    expected = KernelSVM(Gaussian(1.0), offset="free", gap=1e-9).fit(X, X[:, 0] > X[:, 1] ** 2).decision_function(X)
    for library in (None, b"for another machine"):
        if library is not None:
            (tmp_path / "kernelcourse/_engine/libloops.so").write_bytes(library)
        command = [sys.executable, "-c", code, str(tmp_path)]
        found = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        np.testing.assert_allclose(json.loads(found), expected, atol=1e-5)


def test_a_compiled_loop_refuses_numbers_that_it_would_misread():
    loops = fast._loops()
    for wrong in (K[:, ::2], K.T, K.astype(np.float32)):
        with pytest.raises(ctypes.ArgumentError):
            loops.among(wrong, np.arange(3))
    with pytest.raises(ctypes.ArgumentError):
        loops.among(K, np.arange(3, dtype=np.int32))


def test_threads_follow_what_the_linear_algebra_is_told(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert fast.threads() == 1
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert fast.threads() >= 1


def test_what_fails_in_a_thread_fails(monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")

    def fail(rows):
        raise ArithmeticError(f"in rows {rows.start} to {rows.stop}")

    with pytest.raises(ArithmeticError, match="rows 0 to 3"):
        fast.in_threads(fail, fast.slabs(6, 1, 3), fast.WORTH_A_THREAD)


# ---------------------------------------------------------------- matrices


FORMULAS = [
    (Gaussian(0.7), lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / (2 * 0.7**2))),
    (Laplacian(1.5), lambda A, B: np.exp(-cdist(A, B, "cityblock") / 1.5)),
    (Matern(0.8, nu=0.5), lambda A, B: np.exp(-cdist(A, B) / 0.8)),
    (Linear(), lambda A, B: A @ B.T),
    (Polynomial(5, offset=0.5), lambda A, B: (A @ B.T + 0.5) ** 5),
]


@pytest.mark.parametrize(("k", "formula"), FORMULAS, ids=lambda v: repr(v) if not callable(v) else "")
@pytest.mark.parametrize("n", [1, 5, 90])
def test_matrices_are_the_formula_in_tiles_and_triangles(way, k, formula, n, rng):
    A = X[:n]
    gram = k(A)
    np.testing.assert_allclose(gram, formula(A, A), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(k(A, Z), formula(A, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k(A, np.asfortranarray(Z)), formula(A, Z), rtol=1e-12, atol=1e-12)
    for weights in (t[:70], rng.normal(size=(70, 3))):
        np.testing.assert_allclose(k.times(A, Z, weights), formula(A, Z) @ weights, rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(k.times(A, Z, weights, entries=200), formula(A, Z) @ weights, rtol=1e-12, atol=1e-11)


def test_many_columns_go_by_one_product(way, rng):
    wide = rng.normal(size=(30, tiles.MOST_COLUMNS + 8))
    exact = np.exp(-cdist(wide, wide, "sqeuclidean") / 50)
    np.testing.assert_allclose(Gaussian(5.0)(wide), exact, rtol=1e-12)
    np.testing.assert_allclose(Gaussian(5.0).times(wide, wide, t[:30]), exact @ t[:30], rtol=1e-12)
    np.testing.assert_allclose(Polynomial(3)(wide), (wide @ wide.T + 1) ** 3, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("base", [Gaussian, Laplacian])
def test_a_subclass_with_a_formula_of_its_own_is_taken_at_its_word(way, base):
    class Doubled(base):
        def formula(self, X, Z):
            return 2 * super().formula(X, Z)

    np.testing.assert_allclose(Doubled(1.0).times(X, Z, t[:70]), 2 * base(1.0)(X, Z) @ t[:70], rtol=1e-12)


def test_weights_that_do_not_fit_the_points_are_refused():
    for k, weights in ((Gaussian(1.0), t), (Linear(), t[:, None]), (Gaussian(1.0), 1.0)):
        with pytest.raises(ValueError, match="Z has 70 points: expected one weight for each"):
            k.times(X, Z, weights)
    with pytest.raises(ValueError, match="same number of columns, got 3 and 2"):
        Gaussian(1.0).times(X, Z[:, :2], t[:70])


@pytest.mark.parametrize(("k", "formula"), FORMULAS, ids=lambda v: repr(v) if not callable(v) else "")
@pytest.mark.parametrize(
    ("d", "limit"), [(2, True), (100, True), (40, False), (100, False)]
)  # one product per tile, with fewer columns where it must be small, and a single product where it cannot be
def test_matrices_larger_than_a_tile(way, k, formula, d, limit, monkeypatch, rng):
    if not limit:
        monkeypatch.setattr(fast, "controller", lambda: None)
    many = rng.normal(size=(333, d)) / np.sqrt(d)
    few = many[100:271]
    gram = k(many)
    np.testing.assert_allclose(gram, formula(many, many), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(k(many, few), formula(many, few), rtol=1e-11, atol=1e-11)
    weights = rng.normal(size=len(few))
    np.testing.assert_allclose(k.times(many, few, weights), formula(many, few) @ weights, rtol=1e-11, atol=1e-10)


def test_exponentials_keep_their_digits_at_every_size(way):
    line = np.linspace(0, 45, 3000)[:, None]
    k = Gaussian(1.0)([[0.0]], line)[0]
    exact = np.exp(-(line[:, 0] ** 2) / 2)
    assert exact[-1] == 0 and 0 < exact[np.flatnonzero(exact)[-1]] < 1e-307  # down to where a float loses its precision
    np.testing.assert_allclose(k, exact, rtol=1e-13, atol=0)


def test_far_away_is_zero_and_the_same_place_is_one(way):
    np.testing.assert_array_equal(Gaussian(1.0)([[1e308], [-1e308]]), np.eye(2))
    np.testing.assert_array_equal(Gaussian(1e-200)([[0.0], [1.0], [0.0]]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    two = np.vstack([X, 1e8 + X])
    np.testing.assert_allclose(Gaussian(1.0)(two), np.exp(-cdist(two, two, "sqeuclidean") / 2), atol=1e-9)


def test_points_that_cannot_be_written_to_are_taken(way):
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(Gaussian(1.0)(frozen), Gaussian(1.0)(X))
    np.testing.assert_array_equal(Gaussian(1.0)(X[::2]), Gaussian(1.0)(X[::2].copy()))


@pytest.mark.parametrize("n", [1, 90, 300])
def test_one_wrong_entry_of_a_symmetric_matrix_is_seen(way, n, rng):
    A = rng.normal(size=(n, n))
    A += A.T
    assert square(A) is A
    assert square(A + 0 * A) is not A
    for i, j in {(0, 0), (n // 2, n - 1), (n - 1, n // 3), (n - 1, n - 1)}:
        for wrong, message in ((np.nan, "NaN"), (np.inf, "inf"), (A[i, j] + 1e-3, "symmetric")):
            if i == j and message == "symmetric":
                continue
            B = A.copy()
            B[i, j] = wrong
            with pytest.raises(ValueError, match=message):
                square(B)
            if message == "inf":
                B[j, i] = wrong  # symmetric, but not finite
                with pytest.raises(ValueError, match="inf"):
                    square(B)
    if n > 1:
        A[0, 1] += 1e-12  # rounding errors are allowed
        assert square(A) is A


@pytest.mark.parametrize("kappa", [1, 4, 70])
def test_nearest_points_are_those_of_the_sorted_distances(way, kappa):
    tied = np.vstack([Z[:30], Z[:40]])  # thirty points appear twice: the first of equals counts as the nearer
    found = blocks.nearest_points(X, tied, kappa, "euclidean")
    np.testing.assert_array_equal(found, np.argsort(cdist(X, tied, "sqeuclidean"), axis=1, kind="stable")[:, :kappa])


def test_nearest_points_in_tiles_of_products(rng):
    """More columns than a tree is for, and enough pairs for several tiles of the compiled scan."""
    assert fast._loops() is not None
    X, Z = (rng.integers(-(2**31), 2**31, size=(n, 6)) / 2**30 for n in (300, 900))
    apart = rng.integers(1, 2**10, size=(100, 6)) / 2**30
    Z[400:500], Z[500:600] = X[:100] + apart, X[:100] - apart  # equally near, but their products are rounded
    Z[600:620] = Z[:20]
    exact = np.argsort(cdist(X, Z, "sqeuclidean"), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(blocks.nearest_points(X, Z, 5, "euclidean"), exact)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_nearest_points_that_single_precision_cannot_tell_apart(rng, scale):
    X, base = scale * rng.normal(size=(100, 30)), scale * rng.normal(size=(150, 30))
    Z = rng.permutation(np.concatenate([base, (1 + 1e-6) * base]))
    exact = np.argsort(cdist(X, Z, "sqeuclidean"), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(blocks.nearest_points(X, Z, 5, "euclidean"), exact)


def test_nearest_points_among_many(way, rng):
    many = rng.integers(0, 12, size=(3000, 2)).astype(float)  # many points at the same place
    D = ((X[:20, None, :2].round() - many) ** 2).sum(axis=2)
    exact = np.argsort(D, axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(blocks.nearest_points(X[:20, :2].round(), many, 5, "euclidean"), exact)
    np.testing.assert_array_equal(nearest(D, 5), exact)


def test_a_tie_is_broken_the_same_way_whatever_other_points_are_asked_for(rng):
    for p, v in rng.integers(-(2**30), 2**30, size=(30, 2, 2)) / [[2**33], [2**30]]:
        two = np.array([p + v, p - v])  # equally far from p to the last digit, though their products with p round
        assert blocks._among_all(np.array([p - 0.1 * v, p]), two, 2).tolist() == [[1, 0], [0, 1]]


# ---------------------------------------------------------------- solvers


def test_a_solve_may_use_up_its_matrix():
    kept, used = K.copy(), K.copy()
    a = solve_ridge(kept, t, 0.1)
    np.testing.assert_array_equal(kept, K)
    np.testing.assert_array_equal(solve_ridge(used, t, 0.1, overwrite=True), a)
    assert not np.array_equal(used, K)
    singular = np.ones((3, 3))
    with pytest.warns(KernelCourseWarning, match="leaving out 2 of 3"):
        np.testing.assert_allclose(solve_ridge(singular, np.array([1.0, 2.0, 6.0]), 0.0, overwrite=True), 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 90])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("order", ["C", "F"])
def test_many_ridges_from_one_reduction(n, scale, order):
    ridges, A = scale * np.array([1e-4, 0.1, 30.0, 1e3]), np.array(scale * K[:n, :n], order=order)
    kept = A.copy()
    a = solve_ridges(A, t[:n], ridges)
    np.testing.assert_array_equal(A, kept)
    np.testing.assert_allclose(solve_ridges(kept, t[:n], ridges, overwrite=True), a, rtol=1e-8)
    for ridge, column in zip(ridges, a.T, strict=True):
        np.testing.assert_allclose(column, solve_ridge(A, t[:n], ridge), rtol=1e-8)


@pytest.mark.parametrize("overwrite", [False, True])
def test_many_ridges_of_an_indefinite_matrix_are_solved_one_by_one(overwrite):
    values = np.array([1.0, 0.5, -1e-8])
    A = np.linalg.qr(K[:3, :3])[0]
    A = (A * values) @ A.T
    with pytest.warns(KernelCourseWarning, match="leaving out|not numerically"):
        a = solve_ridges((A + A.T) / 2, t[:3], np.array([1e-9]), overwrite=overwrite)
    with pytest.warns(KernelCourseWarning, match="leaving out|not numerically"):
        np.testing.assert_array_equal(a[:, 0], solve_ridge((A + A.T) / 2, t[:3], 1e-9))


def test_a_ridge_below_rounding_is_solved_by_itself():
    singular = np.ones((3, 3))
    with pytest.warns(KernelCourseWarning, match="leaving out"):
        a = solve_ridges(singular, np.array([1.0, 2.0, 6.0]), np.array([1e-30]))
    np.testing.assert_allclose(singular @ a[:, 0], 3.0)


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_perceptron_makes_the_same_mistakes(way, shuffle):
    fit = kernel_perceptron(K, y, max_epochs=5, shuffle=shuffle, rng=0)
    book = kernel_perceptron_by_the_book(K, y, max_epochs=5, shuffle=shuffle, rng=0)
    np.testing.assert_array_equal(fit.alpha, book.alpha)
    assert fit[1:] == book[1:]


def test_stochastic_steps_are_those_by_the_book(way):
    labels = (y + 1) / 2
    a = logistic_sgd(K, labels, step=0.5, steps=400, rng=1, ridge=0.1)
    np.testing.assert_allclose(
        a, logistic_sgd_by_the_book(K, labels, step=0.5, steps=400, rng=1, ridge=0.1), atol=1e-12
    )
    alpha, order = np.zeros(90), np.random.default_rng(1).integers(90, size=300)
    for step, i in enumerate(order, start=1):
        hit = y[i] * (K[i] @ (y * alpha)) < 1
        alpha *= 1 - 1 / step
        alpha[i] += hit / (2 * 0.01 * step)
    np.testing.assert_allclose(svm_sgd(K, y, lam=0.01, steps=300, rng=1, averaged=False), alpha, atol=1e-9)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("kind", [float, np.float32])
@pytest.mark.parametrize("n", [5, 40, 90])
def test_compiled_steps_of_the_svm_are_the_plain_ones(n, kind, offset):
    """One step along a pair from points drawn at random, and one along a single coefficient.

    More pairs would be decided by rounding: a step along a pair often leaves both residuals equal, and then either is
    the largest.
    """
    part, loops, rng = K[:n, :n].astype(kind), fast._loops(), np.random.default_rng(n)
    dual = svm.Dual(part.astype(float), y[:n], np.minimum(0.0, y[:n]), np.maximum(0.0, y[:n]), np.ones(n), offset)
    steps = 1 if offset else 2
    for c in np.clip(rng.normal(scale=0.7, size=(20, n)), dual.lo, dual.hi):
        plain, r = c.copy(), y[:n] - dual.K @ c
        assert svm._descend(dual, None, plain, r, steps, 0.0) == steps and (plain != c).any()
        own, own_r = c.copy(), y[:n] - dual.K @ c
        assert loops.descend(part, dual.diag, dual.lo, dual.hi, own, own_r, steps, 0.0, offset) == steps
        np.testing.assert_allclose(own, plain, atol=1e-10)
        np.testing.assert_allclose(own_r, r, atol=1e-10)


@pytest.mark.parametrize("offset", [False, True])
def test_compiled_steps_stop_where_nothing_is_left_to_gain(offset):
    c = np.array([1.0, 1.0])
    steps = fast._loops().descend(
        np.eye(2), np.ones(2), np.zeros(2), np.ones(2), c, np.array([0.5, 0.5]), 10, 0.0, offset
    )
    assert steps == 0 and (c == 1).all()


@pytest.mark.parametrize("C", [10.0, 1000.0])
def test_an_svm_on_more_points_than_the_cache_has_room_for(C):
    """All points are support vectors, so every row of K is requested, and rows replace each other."""
    n = 7000 if C <= 100 else 4500
    X = np.random.default_rng(0).normal(size=(n, 1))
    labels = np.where(np.random.default_rng(1).uniform(size=n) < 0.5, 1.0, -1.0)
    kernel, lam = Gaussian(2.0), lam_from_C(C, n=n)
    (fit,) = svms_on_points(kernel, X, [(np.arange(n), labels)], lam, offset="free", gap=1e-4)
    f = kernel.times(X, X, fit.alpha * labels)
    primal = (fit.alpha * labels @ f) / 2 + C * np.maximum(0, 1 - labels * (f + fit.b)).sum()
    dual = fit.alpha.sum() - (fit.alpha * labels @ f) / 2
    assert len(fit.support) > 0.9 * n and abs(fit.alpha @ labels) <= 1e-9 * fit.alpha.sum()
    assert primal - dual <= 1.1e-4 * primal and fit.objective * C * n == pytest.approx(primal, rel=1e-5)


@pytest.mark.parametrize("offset", ["none", "free"])
def test_an_svm_on_separable_points_with_a_large_C_stops_when_the_margin_is_nearly_right(offset):
    """The losses just inside the margin weigh C each. A scale removes them, and the gap holds for the result."""
    X = np.random.default_rng(3).normal(size=(400, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    K, C = Gaussian(1.0)(X), 1e6
    lam = lam_from_C(C, n=len(X))
    (fit,) = svm.solve_each(K, [(np.arange(len(X)), y)], lam, offset=offset == "free", gap=1e-4)
    f = K @ (fit.alpha * y) + fit.b
    assert (y * f >= 1 - 1e-12).all() and fit.alpha.max() <= C
    objective = svm_objective(fit.alpha, K, y, lam=lam, b=fit.b)
    assert objective - svm_dual_objective(fit.alpha, K, y, lam=lam) <= 1.0001e-4 * objective
    assert fit.objective == pytest.approx(objective)


def polynomials_in_the_source():
    """The tables of coefficients in loops.c, by name."""
    source = (ROOT / "kernelcourse/_engine/loops.c").read_text(encoding="utf-8")
    found = re.findall(r"static const \w+ (\w+)\[\d+\] = {(.*?)};", source, re.DOTALL)
    return {name: [float.fromhex(number) for number in numbers.split(",") if number.strip()] for name, numbers in found}


def test_the_polynomials_in_the_compiled_loops_interpolate_what_they_say():
    series = Series([1 / math.factorial(j + 3) for j in range(20)])
    reduced = [-math.log(2) / 2, math.log(2) / 2]
    found = {"Q": Chebyshev.interpolate(series, 8, reduced), "Q_SINGLE": Chebyshev.interpolate(series, 3, reduced)}
    for name, k in (("SINE", 1), ("COSINE", 0)):
        wave = Series([2 * (-1 / 16) ** j / math.factorial(2 * j + k) / 4**k for j in range(20)])
        found[name] = Chebyshev.interpolate(wave, 6, [0, math.pi**2])
    assert polynomials_in_the_source().keys() == found.keys()
    for name, coefficients in polynomials_in_the_source().items():
        x = np.linspace(*found[name].domain, 100)
        rounding = 1e-7 if name == "Q_SINGLE" else 4e-16
        np.testing.assert_allclose(Series(coefficients)(x), found[name](x), rtol=rounding)


@pytest.mark.parametrize("d", [2, 32, 64])
def test_the_gaussian_of_points_that_nearly_agree_is_at_most_one(way, rng, d):
    P = rng.normal(size=(300, d))
    for Q in (P.copy(), P + 1e-9 * rng.normal(size=P.shape)):
        with engine("always"):
            assert Gaussian(1.0)(P, Q).max() <= 1


@pytest.mark.parametrize("values", [[0.0, 1.0], [2.0, 2.0, 2.0], [3.0, 1.0, 2.0, 1.0, 3.0, np.inf]], ids=str)
def test_the_offset_is_between_two_residuals_in_ascending_order(values, rng):
    between, ordered = fast.compiled(1e9).between, np.sort(values)
    for _ in range(20):
        for k in range(len(values) - 1):
            assert between(rng.permutation(values), k) == (ordered[k] + ordered[k + 1]) / 2


def test_a_compiled_certificate_is_the_plain_one(rng):
    C, c = 0.7, y * rng.uniform(0, 0.7, size=90)
    dual = dual_problem(K, y, lam_from_C(C, n=90), offset=True)
    point = certify(dual, c)
    found = fast.compiled(1e9).gap_and_objective(y, point.f, point.b, dual.lo, dual.hi, c)
    assert found == pytest.approx((point.gap * point.objective, point.objective, c @ K @ c), rel=1e-12)


@pytest.mark.parametrize("kind", [float, np.float32])
def test_coordinate_descent_reaches_the_dual_solution(rng, kind):
    Psi, alpha, w = rng.normal(size=(200, 4)).astype(kind), np.zeros(200), np.zeros(4)
    labels, squares = np.where(Psi[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0), (Psi.astype(float) ** 2).sum(axis=1)
    descend = fast.compiled(1e9).coordinate_descent
    passes, gap, objective = descend(Psi, squares, labels, 2.0, 1e-9, 10_000, alpha, w)
    fit = kernel_svm(Psi @ Psi.T.astype(float), labels, lam=lam_from_C(2.0, n=200), gap=1e-12)
    assert 0 < len(fit.margin_support) < len(fit.support) < 200
    np.testing.assert_allclose(w, Psi.T @ (alpha * labels), atol=1e-9)
    np.testing.assert_allclose(w, Psi.T @ (fit.alpha * labels), atol=1e-3)
    assert objective / (2.0 * 200) == pytest.approx(fit.objective, rel=2e-9)
    losses = np.maximum(0, 1 - labels * (Psi @ w))
    assert objective == pytest.approx(w @ w / 2 + 2.0 * losses.sum(), rel=1e-12)
    assert gap == pytest.approx((w @ w + 2.0 * losses.sum() - alpha.sum()) / objective, abs=1e-11) and gap <= 1e-9
    assert passes < 10_000 and descend(Psi, squares, labels, 2.0, 1e-9, 20, 0 * alpha, 0 * w)[0] == 20


@pytest.mark.parametrize("offset", [False, True])
def test_the_svm_reaches_the_same_minimum(way, offset):
    solve = kernel_svm_with_offset if offset else kernel_svm
    for lam in (0.05, 1e-4):
        fit = solve(K, y, lam=lam, gap=1e-10)
        assert fit.gap <= 1e-10
        assert fit.objective == pytest.approx(solve(K[::-1, ::-1], y[::-1], lam=lam, gap=1e-10).objective, rel=1e-9)


@pytest.mark.parametrize("offset", [False, True])
def test_a_path_is_its_solutions_one_by_one(offset):
    solve = kernel_svm_with_offset if offset else kernel_svm
    lams = [0.01, 0.3, 0.001]
    for lam, fit in zip(lams, solved_path(K, y, np.array(lams), offset=offset, gap=1e-11), strict=True):
        np.testing.assert_allclose(fit.alpha, solve(K, y, lam=lam, gap=1e-11).alpha, atol=1e-7)
    with pytest.raises(ValueError, match="lam must be a finite number > 0"):
        grid_search(KernelSVM(), X, y, {"lam": [0.1, 0.0]}, k_fold(90, 3, rng=0))
    with pytest.raises(ValueError, match="both labels"):
        solved_path(K, np.ones(90), np.array([0.1]), offset=True, gap=1e-6)


@pytest.mark.parametrize("ridge", [10.0, 0.1, 1e-5])
def test_conjugate_gradients_end_where_newton_does(ridge):
    labels = (y + 1) / 2
    fit, newton = logistic_newton_cg(K, labels, ridge=ridge), logistic_newton(K, labels, ridge=ridge)
    assert fit.gradient_norm <= 1e-8
    np.testing.assert_allclose(K @ fit.a, K @ newton.a, rtol=1e-6, atol=1e-6)
    assert fit.objective == pytest.approx(newton.objective, rel=1e-10)


def test_conjugate_gradients_hand_over_when_products_run_out():
    labels = (y + 1) / 2
    fit = logistic_newton_cg(K, labels, ridge=1e-3, max_products=5)
    np.testing.assert_array_equal(fit.a, logistic_newton(K, labels, ridge=1e-3).a)
    singular = np.ones((4, 4))
    a = logistic_newton_cg(singular, [0, 1, 1, 1], ridge=0.5).a
    np.testing.assert_allclose(singular @ a, singular @ logistic_newton(singular, [0, 1, 1, 1], ridge=0.5).a, atol=1e-8)
    with pytest.raises(ValueError, match="positive semidefinite"):
        logistic_newton_cg(np.diag([1.0, -1.0]), [0, 1], ridge=0.1)


# ---------------------------------------------------------------- estimators and searches


def test_estimators_predict_without_the_matrix_what_it_gives(way):
    k = Gaussian(1.0)
    model = KernelRidge(k, ridge=0.1).fit(X, t)
    np.testing.assert_allclose(model.predict(Z), predict(k(Z, X), model.a_), atol=1e-12)
    machine = KernelSVM(k, lam=0.01, offset="free").fit(X, y)
    assert 0 < len(machine.support_) < 90
    np.testing.assert_allclose(machine.decision_function(Z), k(Z, X) @ machine.c_ + machine.b_, atol=1e-12)
    three = np.digitize(t, [-0.5, 0.5])
    for estimator in (KernelPerceptron(k, max_epochs=3), KernelLogisticRegression(k), KernelSVM(k, multiclass="ovr")):
        fitted = estimator.fit(X, three)
        weights = fitted.a_ if hasattr(fitted, "a_") else fitted.c_
        np.testing.assert_allclose(
            fitted.decision_function(Z), k(Z, X) @ weights + getattr(fitted, "b_", 0.0), atol=1e-12
        )


@pytest.mark.parametrize("k", [Gaussian(1.0), Matern(1.0, nu=1.5), Laplacian(1.0), Linear(), Gaussian(1.0) + Linear()])
def test_neighbours_are_those_of_the_kernel(way, k):
    labels = np.digitize(t, [-0.5, 0.5])
    model = KernelNeighbors(k, kappa=5).fit(X, labels)
    D = k.diag(Z)[:, None] - 2 * k(Z, X) + k.diag(X)
    votes = labels[np.argsort(D, axis=1, kind="stable")[:, :5]]
    expected = [max(row, key=lambda c: (list(row).count(c), -list(row).index(c))) for row in votes]
    np.testing.assert_array_equal(model.predict(Z), expected)


def test_a_ridge_fit_keeps_nothing_but_its_weights_of_K():
    model = KernelRidge(Gaussian(1.0), ridge=0.1, offset="penalised").fit(X, t)
    centred = X - X.mean(axis=0)
    a = solve_ridge(Gaussian(1.0)(centred) + 1, t - t.mean(), 0.1)
    np.testing.assert_allclose(model.a_, a, atol=1e-12)


def one_by_one(model, data, targets, settings, folds, metric=None):
    fresh = [type(model)(**model.get_params(deep=False)).set_params(**setting) for setting in settings]
    return np.array([cross_validate(each, data, targets, folds, metric).mean() for each in fresh])


@pytest.mark.parametrize("metric", [None, mean_squared_error])
@pytest.mark.parametrize("offset", ["none", "free"])
def test_a_search_over_ridges_is_as_if_each_were_fitted(offset, metric):
    folds = k_fold(90, 4, rng=0)
    grid = {"kernel__sigma": [0.5, 2.0], "ridge": [1e-3, 0.1, 5.0]}
    found = grid_search(KernelRidge(offset=offset), X, t, grid, folds, metric)
    expected = one_by_one(KernelRidge(offset=offset), X, t, found.settings, folds, metric)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-8)


def test_a_search_over_ridges_is_scikit_learns():
    from sklearn.kernel_ridge import KernelRidge as Peer

    folds = k_fold(90, 5, rng=1)
    fold_of = np.empty(90, dtype=int)
    for i, (_, test) in enumerate(folds):
        fold_of[test] = i
    ridges = np.logspace(-3, 1, 7)
    ours = grid_search(KernelRidge(Gaussian(1.0)), X, t, {"ridge": ridges}, folds)
    peer = GridSearchCV(Peer(kernel="rbf", gamma=0.5), {"alpha": ridges}, cv=PredefinedSplit(fold_of)).fit(X, t)
    np.testing.assert_allclose(ours.scores, peer.cv_results_["mean_test_score"], rtol=1e-8)


@pytest.mark.parametrize("offset", ["none", "penalised", "free"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_search_over_lams_is_as_if_each_were_fitted(offset, classes, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # so that the folds of two kernels are done together
    labels = np.array(["a", "b", "c"])[np.digitize(t, [0.0] if classes == 2 else [-0.5, 0.5])]
    folds = k_fold(90, 3, rng=0)
    model = KernelSVM(offset=offset, gap=1e-9)
    grid = {"kernel__sigma": [0.5, 2.0, 6.0], "lam": [1e-3, 0.1, 0.01]}
    found = grid_search(model, X, labels, grid, folds, accuracy)
    np.testing.assert_allclose(found.scores, one_by_one(model, X, labels, found.settings, folds, accuracy))


def test_a_class_made_from_ours_is_fitted_as_it_says():
    class Constantly(KernelRidge):
        def fit(self, X, y):
            self.mean_ = float(np.mean(y))
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    scores = grid_search(Constantly(), X, t, {"ridge": [0.1, 1.0]}, k_fold(90, 3, rng=0), mean_squared_error).scores
    assert scores[0] == scores[1]
