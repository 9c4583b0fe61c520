"""The kernel SVM: its objective, its dual, and the solvers, compared with quadratic programming and scikit-learn."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise

import cvxopt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from kernelcourse._engine import svm as fast
from kernelcourse._engine.search import solved_path
from kernelcourse.algorithms import svm
from kernelcourse.algorithms.svm import (
    C_from_lam,
    decision_values,
    hinge_losses,
    kernel_svm,
    kernel_svm_by_the_book,
    kernel_svm_with_offset,
    lam_from_C,
    svm_dual_objective,
    svm_objective,
    svm_sgd,
    svm_subgradient,
)
from kernelcourse.validation import KernelCourseWarning

SOLVERS = [kernel_svm, kernel_svm_with_offset]
engine_only = pytest.mark.engine_only  # the greedy steps get there too, but take a million of them
WITHOUT_OFFSET = [kernel_svm, kernel_svm_by_the_book]


def gaussian(X, Z, sigma=0.7):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def noisy(n, *, flipped=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < flipped, -y, y)


def near_duplicates(n):
    X, y = noisy(n)
    X[n // 2 :] = X[: n - n // 2] + 1e-7 * np.random.default_rng(1).normal(size=(n - n // 2, 2))
    return gaussian(X, X), y


def gaussian_problem(n, **options):
    X, y = noisy(n, **options)
    return gaussian(X, X), y


def linear_problem(n, **options):
    X, y = noisy(n, **options)
    return X @ X.T, y


def quadratic_programme(K, y, C, *, offset):
    """The dual's minimiser as found by cvxopt: alpha and, with an offset, the multiplier of its constraint."""
    n = len(y)
    Q = cvxopt.matrix(y[:, None] * K * y)
    G, h = cvxopt.matrix(np.vstack([-np.eye(n), np.eye(n)])), cvxopt.matrix(np.r_[np.zeros(n), np.full(n, C)])
    balance = (cvxopt.matrix(y[None, :]), cvxopt.matrix(0.0)) if offset else ()
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    solution = cvxopt.solvers.qp(Q, cvxopt.matrix(-np.ones(n)), G, h, *balance, options=options)
    return np.array(solution["x"]).ravel(), float(solution["y"][0]) if offset else 0.0


def relative_gap(fit, K, y, lam):
    P = svm_objective(fit.alpha, K, y, lam=lam, b=fit.b)
    return (P - svm_dual_objective(fit.alpha, K, y, lam=lam)) / P


@st.composite
def problems(draw, both_labels=False):
    """Few points on a small grid, so that many coincide, with a singular or a regular K, and any C from 0.01 to 100."""
    n = draw(st.integers(2 if both_labels else 1, 14))
    X = np.array(draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=n, max_size=n)), dtype=float)
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    if both_labels:
        y[:2] = -1, 1
    K = draw(st.sampled_from([lambda X: X @ X.T, lambda X: gaussian(X, X), lambda X: (1 + X @ X.T) ** 2]))(X)
    return K, y, draw(st.sampled_from([0.01, 0.3, 1.0, 10.0, 100.0]))


# ---------------------------------------------------------------- the problem


def test_C_and_lam_undo_each_other_and_weigh_the_same_objective():
    K, y = gaussian_problem(20)
    alpha = np.random.default_rng(0).random(20)
    C = C_from_lam(0.03, n=20)
    assert lam_from_C(C, n=20) == pytest.approx(0.03)
    f = decision_values(K, alpha, y)
    usual = (y * alpha) @ K @ (y * alpha) / 2 + C * hinge_losses(f, y).sum()
    assert svm_objective(alpha, K, y, lam=0.03) == pytest.approx(usual * 2 * 0.03)


def test_objective_is_the_linear_svm_s_in_feature_space():
    X, y = noisy(15)
    alpha, lam, b = np.random.default_rng(0).normal(size=15), 0.2, -0.3
    w = X.T @ (alpha * y)
    by_hand = sum(max(0.0, 1 - y_i * (x_i @ w + b)) for x_i, y_i in zip(X, y, strict=True)) / 15 + lam * w @ w
    assert svm_objective(alpha, X @ X.T, y, lam=lam, b=b) == pytest.approx(by_hand)


def test_decision_values_at_new_points():
    X, y = noisy(12)
    Z = np.random.default_rng(1).normal(size=(5, 2))
    alpha = np.random.default_rng(2).random(12)
    assert decision_values(Z @ X.T, alpha, y, b=0.5) == pytest.approx(Z @ (X.T @ (alpha * y)) + 0.5)


def test_subgradient_is_the_gradient_away_from_the_kinks():
    K, y = gaussian_problem(12)
    alpha, h = np.random.default_rng(3).random(12), 1e-6
    margins = y * decision_values(K, alpha, y)
    assert np.abs(margins - 1).min() > 1e-3
    assert (margins < 1).any()
    assert (margins > 1).any()
    slopes = [
        (svm_objective(alpha + h * e, K, y, lam=0.1) - svm_objective(alpha - h * e, K, y, lam=0.1)) / (2 * h)
        for e in np.eye(12)
    ]
    assert svm_subgradient(alpha, K, y, lam=0.1) == pytest.approx(slopes, abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_subgradient_supports_the_objective_from_below(problem, seed):
    K, y, C = problem
    lam = lam_from_C(C, n=len(y))
    alpha, other = np.random.default_rng(seed).integers(-2, 3, size=(2, len(y))) / 2.0  # halves hit many kinks
    P, g = svm_objective(alpha, K, y, lam=lam), svm_subgradient(alpha, K, y, lam=lam)
    assert svm_objective(other, K, y, lam=lam) >= P + g @ (other - alpha) - 1e-9 * (1 + abs(P) + np.abs(g).sum())


@settings(max_examples=50, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_no_dual_value_exceeds_any_primal_value(problem, seed):
    K, y, C = problem
    lam, rng = lam_from_C(C, n=len(y)), np.random.default_rng(seed)
    dual = svm_dual_objective(C * rng.random(len(y)), K, y, lam=lam)
    primal = svm_objective(C * rng.normal(size=len(y)) * 10.0 ** rng.integers(-3, 2), K, y, lam=lam)
    assert primal >= dual - 1e-9 * (abs(primal) + abs(dual))


@settings(max_examples=50, deadline=None)
@given(problems(both_labels=True), st.integers(0, 2**32 - 1))
def test_balanced_dual_values_bound_the_primal_for_every_offset(problem, seed):
    K, y, C = problem
    lam, rng = lam_from_C(C, n=len(y)), np.random.default_rng(seed)
    alpha = C * rng.random(len(y))
    plus, minus = alpha[y > 0].sum(), alpha[y < 0].sum()
    alpha[y > 0] *= min(plus, minus) / plus
    alpha[y < 0] *= min(plus, minus) / minus
    dual = svm_dual_objective(alpha, K, y, lam=lam)
    primal = svm_objective(C * rng.normal(size=len(y)), K, y, lam=lam, b=3 * rng.normal())
    assert primal >= dual - 1e-9 * (abs(primal) + abs(dual))


@pytest.mark.parametrize("alpha", [[-0.1, 0.2], [0.1, 0.6]])
def test_dual_refuses_alpha_outside_its_box(alpha):
    with pytest.raises(ValueError, match=r"between 0 and C = 0.5"):
        svm_dual_objective(alpha, np.eye(2), [1, -1], lam=0.5)


# ---------------------------------------------------------------- the solvers, against others


@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("make", [gaussian_problem, linear_problem])
@pytest.mark.parametrize("solver", SOLVERS)
def test_agrees_with_quadratic_programming(solver, make, C):
    K, y = make(40)
    lam = lam_from_C(C, n=40)
    alpha, b = quadratic_programme(K, y, C, offset=solver is kernel_svm_with_offset)
    fit = solver(K, y, lam=lam, gap=1e-10)
    assert svm_dual_objective(fit.alpha, K, y, lam=lam) == pytest.approx(
        svm_dual_objective(np.clip(alpha, 0, C), K, y, lam=lam), rel=1e-6
    )
    assert decision_values(K, fit.alpha, y, b=fit.b) == pytest.approx(decision_values(K, alpha, y, b=b), abs=1e-5)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_offset_version_agrees_with_scikit_learn(C):
    X, y = noisy(150)
    Z = np.random.default_rng(1).normal(size=(40, 2))
    peer = SVC(kernel="precomputed", C=C, tol=1e-10).fit(gaussian(X, X), y)
    fit = kernel_svm_with_offset(gaussian(X, X), y, lam=lam_from_C(C, n=150), gap=1e-12)
    values = decision_values(gaussian(Z, X), fit.alpha, y, b=fit.b)
    assert values == pytest.approx(peer.decision_function(gaussian(Z, X)), abs=1e-4)  # its K is in single precision
    assert fit.b == pytest.approx(peer.intercept_[0], abs=1e-4)
    assert list(fit.support) == sorted(peer.support_)


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_the_book_s_coordinate_ascent_finds_the_same_function(C):
    K, y = gaussian_problem(50)
    book = kernel_svm_by_the_book(K, y, lam=lam_from_C(C, n=50), gap=1e-10, max_epochs=20_000)
    greedy = kernel_svm(K, y, lam=lam_from_C(C, n=50), gap=1e-10)
    assert book.gap <= 1e-10
    assert book.objective == pytest.approx(greedy.objective, rel=1e-9)
    assert decision_values(K, book.alpha, y) == pytest.approx(decision_values(K, greedy.alpha, y), abs=1e-4)


def test_the_book_s_first_pass_is_one_exact_step_per_coordinate():
    K, y = gaussian_problem(8)
    alpha, C = np.zeros(8), C_from_lam(0.02, n=8)
    for i in range(8):
        others = alpha.copy()
        others[i] = 0
        alpha[i] = np.clip((1 - y[i] * (K[i] @ (y * others))) / K[i, i], 0, C)  # the top of the parabola in alpha_i
    with pytest.warns(KernelCourseWarning, match="max_epochs=1 ran out"):
        fit = kernel_svm_by_the_book(K, y, lam=0.02, gap=1e-12, max_epochs=1)
    assert fit.alpha == pytest.approx(alpha)
    assert fit.steps == 8


# ---------------------------------------------------------------- optimality


def assert_optimal(fit, K, y, lam):
    """The Karush-Kuhn-Tucker conditions, to a tolerance that suits the gap."""
    C = C_from_lam(lam, n=len(y))
    slack = 1e-4 * (1 + np.abs(K).max())
    margins = y * decision_values(K, fit.alpha, y, b=fit.b)
    assert fit.alpha.min() >= 0
    assert fit.alpha.max() <= C
    assert (margins[fit.alpha < C * (1 - 1e-3)] >= 1 - slack).all()
    assert (margins[fit.alpha > C * 1e-3] <= 1 + slack).all()


@settings(max_examples=50, deadline=None)
@given(problems())
def test_optimality_conditions_without_offset(problem):
    K, y, C = problem
    lam = lam_from_C(C, n=len(y))
    fit = kernel_svm(K, y, lam=lam, gap=1e-11)
    assert fit.b == 0
    assert_optimal(fit, K, y, lam)


@settings(max_examples=50, deadline=None)
@given(problems(both_labels=True))
def test_optimality_conditions_with_offset(problem):
    K, y, C = problem
    lam = lam_from_C(C, n=len(y))
    fit = kernel_svm_with_offset(K, y, lam=lam, gap=1e-11)
    assert abs(fit.alpha @ y) <= 1e-12 * fit.alpha.sum()
    assert_optimal(fit, K, y, lam)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_perturbation_improves_the_objective(solver):
    K, y = gaussian_problem(30)
    fit, rng = solver(K, y, lam=0.01, gap=1e-12), np.random.default_rng(0)
    moves_b = solver is kernel_svm_with_offset
    for size in np.logspace(-6, 0, 60):
        alpha, b = fit.alpha + size * rng.normal(size=30), fit.b + moves_b * size * rng.normal()
        assert svm_objective(alpha, K, y, lam=0.01, b=b) >= fit.objective * (1 - 1e-11)


@pytest.mark.parametrize("C", [1.0, 100.0, pytest.param(1e4, marks=engine_only)])
@pytest.mark.parametrize(
    ("K", "y"),
    [
        gaussian_problem(200),
        gaussian_problem(200, flipped=0.0),
        linear_problem(200),
        near_duplicates(200),
        (lambda X, y: (gaussian(X, X, sigma=5.0), y))(*noisy(200)),
    ],
    ids=["noisy", "separable", "singular", "near duplicates", "ill-conditioned"],
)
@pytest.mark.parametrize("solver", SOLVERS)
def test_reaches_a_tiny_gap_and_reports_it_honestly(solver, K, y, C):
    lam = lam_from_C(C, n=200)
    fit = solver(K, y, lam=lam, gap=1e-9)
    assert fit.gap <= 1e-9
    assert relative_gap(fit, K, y, lam) <= 1.1e-9
    assert fit.objective == pytest.approx(svm_objective(fit.alpha, K, y, lam=lam, b=fit.b), rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@engine_only
def test_many_open_points_are_solved_for_in_growing_groups(solver):
    K, y = gaussian_problem(700)
    fit = solver(K, y, lam=lam_from_C(100.0, n=700), gap=1e-9)
    assert relative_gap(fit, K, y, lam_from_C(100.0, n=700)) <= 1.1e-9


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("solver", SOLVERS)
@engine_only
def test_steps_among_some_of_many_lead_to_the_same_function(solver, C, monkeypatch):
    K, y = gaussian_problem(250)
    lam = lam_from_C(C, n=250)
    whole = solver(K, y, lam=lam, gap=1e-10)
    sizes, descend = [], fast._descend
    monkeypatch.setattr(fast, "_descend", lambda dual, *rest: sizes.append(len(dual.y)) or descend(dual, *rest))
    monkeypatch.setattr(fast, "_put_on_margin", lambda dual, point, rounds: (point, 0))  # or it would stop too soon
    monkeypatch.setattr(fast, "SMALL", 50)
    monkeypatch.setattr(fast, "CHECK", 50)
    some = solver(K, y, lam=lam, gap=1e-10)
    assert sizes[0] == 250 and min(sizes) < 180  # all variables at first, then fewer
    assert some.gap <= 1e-10 and relative_gap(some, K, y, lam) < 1e-9
    np.testing.assert_allclose(K @ (some.alpha * y) + some.b, K @ (whole.alpha * y) + whole.b, atol=1e-3)


@pytest.mark.parametrize("offset", [False, True])
def test_steps_among_some_gain(offset, monkeypatch):
    monkeypatch.setattr(fast, "SMALL", 50)
    monkeypatch.setattr(fast, "CHECK", 50)
    K, y = gaussian_problem(250)
    dual = svm.dual_problem(K, y, lam_from_C(1.0, n=250), offset=offset)
    points = [svm.certify(dual, np.zeros(250))]
    for _ in range(3):
        c, f, took, done = fast._steps(dual, points[-1], None, 1e-9, 100)
        assert took == 100 and not done and np.all((dual.lo <= c) & (c <= dual.hi))
        np.testing.assert_allclose(f, K @ c, atol=1e-12)
        points.append(svm.certify(dual, c))
    values = [0.5 * p.c @ p.f - y @ p.c for p in points]  # the objective of the dual
    assert all(after < before for before, after in pairwise(values))


@pytest.mark.parametrize("C", [1e6, 1e9])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_huge_C_gives_the_hard_margin(solver, C):
    X = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, -1.0], [3.0, -1.5]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    fit = solver(X @ X.T, y, lam=lam_from_C(C, n=4))
    assert (X.T @ (fit.alpha * y)) @ X.T + fit.b == pytest.approx([1, 2, -1, -1.5], abs=1e-6)  # f(x) = x_2


def test_support_vectors_are_told_apart():
    K, y = gaussian_problem(100)
    lam = lam_from_C(1.0, n=100)
    fit = kernel_svm_with_offset(K, y, lam=lam, gap=1e-12)
    margins = y * decision_values(K, fit.alpha, y, b=fit.b)
    assert list(fit.support) == list(np.flatnonzero(margins < 1 + 1e-8))
    assert list(fit.margin_support) == list(np.flatnonzero(np.abs(margins - 1) < 1e-8))
    assert 0 < len(fit.margin_support) < len(fit.support) < 100


def test_offset_is_the_middle_where_no_support_vector_is_on_the_margin():
    x = np.array([0.0, 3.0])
    fit = kernel_svm_with_offset(np.outer(x, x), [1, -1], lam=lam_from_C(0.1, n=2))  # both at C, f = -0.3 x + b
    assert fit.alpha == pytest.approx([0.1, 0.1])
    assert len(fit.margin_support) == 0
    assert fit.b == pytest.approx((1 + -1 + 0.9) / 2)  # every b between -0.1 and 1 has the same two losses


@pytest.mark.parametrize("solver", SOLVERS)
def test_other_labels_and_another_order_change_nothing_else(solver):
    K, y = gaussian_problem(60)
    fit, order = solver(K, y, lam=0.01, gap=1e-12), np.random.default_rng(0).permutation(60)
    flipped = solver(K, -y, lam=0.01, gap=1e-12)
    shuffled = solver(K[np.ix_(order, order)], y[order], lam=0.01, gap=1e-12)
    assert flipped.alpha == pytest.approx(fit.alpha, abs=1e-8)
    assert flipped.b == pytest.approx(-fit.b, abs=1e-8)
    assert shuffled.alpha == pytest.approx(fit.alpha[order], abs=1e-8)


# ---------------------------------------------------------------- where to start, when to stop


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_solution_takes_no_step(solver):
    K, y = gaussian_problem(80)
    fit = solver(K, y, lam=0.001, gap=1e-10)
    again = solver(K, y, lam=0.001, gap=1e-9, alpha0=fit.alpha)
    assert again.steps == 0
    assert again.alpha == pytest.approx(fit.alpha, rel=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_who_is_content_with_a_gap_of_one_gets_nothing(solver):
    """At 0, the dual is 0 and the gap is the whole objective."""
    fit = solver(*gaussian_problem(80), lam=0.001, gap=1.0)
    assert (fit.steps, fit.gap) == (0, 1.0) and not fit.alpha.any()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_nearby_takes_few_steps(solver):
    K, y = gaussian_problem(80)
    fit = solver(K, y, lam=0.001, gap=1e-10)
    near = solver(K, y, lam=0.001 * 1.0001, gap=1e-10, alpha0=fit.alpha)
    assert near.gap <= 1e-10
    assert near.steps <= 5 < 60 <= fit.steps


@pytest.mark.parametrize("solver", SOLVERS)
def test_any_start_leads_to_the_same_function(solver):
    K, y = gaussian_problem(80)
    alpha0 = 10 * np.random.default_rng(0).normal(size=80)  # outside the box on both sides, and out of balance
    kept = alpha0.copy()
    cold, warm = solver(K, y, lam=0.01, gap=1e-12), solver(K, y, lam=0.01, gap=1e-12, alpha0=alpha0)
    assert warm.alpha == pytest.approx(cold.alpha, abs=1e-8)
    assert np.array_equal(alpha0, kept)


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize("share", [0, 0.01, 0.1, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("solver", SOLVERS)
def test_warns_when_steps_run_out_and_still_returns_a_certified_point(solver, share, compiled, monkeypatch):
    monkeypatch.setenv("KERNELCOURSE_FAST", compiled)
    K, y = gaussian_problem(100)
    lam = lam_from_C(1000.0, n=100)
    max_steps = int(share * solver(K, y, lam=lam, gap=1e-9).steps)
    with pytest.warns(KernelCourseWarning, match=f"max_steps={max_steps} ran out"):
        fit = solver(K, y, lam=lam, gap=1e-9, max_steps=max_steps)
    assert fit.steps == max_steps
    assert fit.gap == pytest.approx(relative_gap(fit, K, y, lam), rel=1e-6)
    if solver is kernel_svm_with_offset:
        assert abs(fit.alpha @ y) <= 1e-12 * fit.alpha.sum()


@pytest.mark.parametrize("offset", [False, True])
def test_along_a_path_each_fit_gains_from_the_one_before(offset):
    K, y = gaussian_problem(150)
    lams = [lam_from_C(C, n=150) for C in (1.0, 1.5, 2.0, 3.0)]
    path = solved_path(K, y, np.array(lams), offset=offset, gap=1e-9)
    alone = [(kernel_svm_with_offset if offset else kernel_svm)(K, y, lam=lam, gap=1e-9) for lam in lams]
    assert sum(fit.steps for fit in path) < 0.95 * sum(fit.steps for fit in alone)


@engine_only
def test_warns_when_rounding_forbids_the_gap():
    K, y = gaussian_problem(100)
    with pytest.warns(KernelCourseWarning, match="rounding"):
        kernel_svm(K, y, lam=lam_from_C(1e8, n=100), gap=1e-15)


# ---------------------------------------------------------------- the parts, whose faults could be hidden by the others


def signed_problem(n, C=1.0):
    K, y = gaussian_problem(n)
    return K, y, np.minimum(0.0, C * y), np.maximum(0.0, C * y)


def dual_value(K, y, c):
    return y @ c - c @ K @ c / 2


def test_a_single_step_is_the_best_of_all_single_steps():
    K, y, lo, hi = signed_problem(25)
    K *= np.outer(s := np.linspace(0.3, 2, 25), s)  # all diagonal entries differ
    c = np.zeros(25)
    for _ in range(60):
        r = y - K @ c
        moves = np.clip(c + r / np.diag(K), lo, hi) - c
        best = max(dual_value(K, y, c + move * e) for move, e in zip(moves, np.eye(25), strict=True))
        assert fast._single_steps(K, np.diag(K), lo, hi, c, r, 1) == 1
        assert dual_value(K, y, c) == pytest.approx(best, rel=1e-14)
        assert r == pytest.approx(y - K @ c, abs=1e-12)


def test_a_pair_step_is_the_best_with_the_partner_that_gains_most():
    K, y, lo, hi = signed_problem(25)
    c, clipped = np.zeros(25), 0
    for _ in range(80):
        r = y - K @ c
        i = max(np.flatnonzero(c < hi), key=lambda k: r[k])
        partners = [k for k in np.flatnonzero(c > lo) if r[k] < r[i]]
        j = max(partners, key=lambda k: (r[i] - r[k]) ** 2 / (K[i, i] + K[k, k] - 2 * K[i, k]))
        before = c.copy()
        assert fast._pair_steps(K, np.diag(K), lo, hi, c, r, 1) == 1
        assert set(np.flatnonzero(c != before)) == {i, j}
        assert r == pytest.approx(y - K @ c, abs=1e-12)
        at_bound = c[i] == hi[i] or c[j] == lo[j]
        assert at_bound or r[i] == pytest.approx(r[j], abs=1e-12)  # nothing left to gain along this pair
        clipped += at_bound
    assert 0 < clipped < 80
    assert c.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("offset", [False, True])
def test_a_greedy_step_gains_at_least_as_much_as_the_best_pair_and_the_best_single_step(offset):
    K, y = gaussian_problem(25)
    dual = svm.dual_problem(K, y, lam_from_C(1.0, n=25), offset=offset)
    c, r = np.zeros(25), y.copy()
    for _ in range(1000):
        rivals = [(fast._pair_steps, c.copy(), r.copy())]
        rivals += [] if offset else [(fast._single_steps, c.copy(), r.copy())]
        for steps_of, other, residual in rivals:
            steps_of(K, np.diag(K), dual.lo, dual.hi, other, residual, 1)
        if not svm.take_best_step(dual, c, r, rounding=1e-9):
            break
        assert dual_value(K, y, c) >= max(dual_value(K, y, other) for _, other, _ in rivals) - 1e-12
        assert r == pytest.approx(y - K @ c, abs=1e-12)
        assert np.all((dual.lo <= c) & (c <= dual.hi)) and (not offset or c.sum() == pytest.approx(0, abs=1e-12))
    assert svm.certify(dual, c).gap < 1e-6


def test_a_step_goes_down_where_all_coefficients_are_at_the_top():
    K, y, c = np.array([[1.0, 1.5], [1.5, 4.0]]), np.ones(2), np.full(2, 0.25)
    dual = svm.dual_problem(K, y, lam_from_C(0.25, n=2), offset=False)
    assert svm.take_best_step(dual, c, y - K @ c, rounding=1e-9)
    assert c.tolist() == [0.25, 0.15625]  # from residual -0.375 to 0: by 0.375 / 4


def test_steps_end_where_rounding_allows_no_further_progress(monkeypatch, rng):
    """The points are so close and C is so large that residuals of a rounding error make a gap."""
    certified = []

    def certify(*args):
        certified.append(svm.certify(*args))
        assert len(certified) < 200
        return certified[-1]

    monkeypatch.setattr(fast, "certify", certify)
    monkeypatch.setenv("KERNELCOURSE_FAST", "0")
    for X in 1e-4 * rng.normal(size=(40, 3, 1)):
        K, y = gaussian(X, X), np.array([1.0, -1.0, 1.0])
        certified.clear()
        dual = svm.dual_problem(K, y, lam_from_C(1e18, n=3), offset=False)
        point, _ = fast.descend(dual, np.zeros(3), gap=0.01, max_steps=10_000)
        assert any(point is one for one in certified)
        assert np.all((dual.lo <= point.c) & (point.c <= dual.hi))


def test_a_close_guess_is_put_on_the_margin_by_one_system():
    K, y = gaussian_problem(80)
    for offset in (False, True):
        dual = svm.dual_problem(K, y, lam_from_C(1.0, n=80), offset=offset)
        exact = svm.descend(dual, np.zeros(80), gap=1e-12, max_steps=10_000)[0]
        free = np.flatnonzero((dual.lo < exact.c) & (exact.c < dual.hi))[:2]
        c = exact.c.copy()
        c[free] += [1e-4, -1e-4]
        close = svm.certify(dual, c)
        assert svm.put_on_margin(dual, close).gap < 1e-13 < 1e-9 < close.gap
        far = svm.certify(dual, np.zeros(80))
        assert svm.put_on_margin(dual, far) is far  # it would leave the box


@pytest.mark.parametrize("steps_of", [fast._single_steps, fast._pair_steps])
def test_what_runs_into_a_bound_is_there_to_the_last_digit(steps_of):
    top = 1 / 3
    start = next(x for x in np.random.default_rng(0).uniform(0, top, size=1000) if x + (top - x) != top)
    c = np.array([start, 0.9])
    assert steps_of(np.eye(2), np.ones(2), np.zeros(2), np.array([top, 1.0]), c, np.array([9.0, 0.0]), 1) == 1
    assert c[0] == top


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_linear_system_puts_a_close_guess_on_the_margin(solver):
    K, y = gaussian_problem(80)
    lam = lam_from_C(1.0, n=80)
    fit = solver(K, y, lam=lam, gap=1e-10)
    dual = svm.dual_problem(K, y, lam, offset=solver is kernel_svm_with_offset)
    c = y * fit.alpha
    pair = fit.margin_support[:2]
    c[pair] += [1e-4, -1e-4]
    close = svm.certify(dual, c)
    assert close.gap > 1e-9
    found, solved = fast._put_on_margin(dual, close, 5)
    assert found.gap < 1e-14
    assert solved == 1


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("total", [None, 0.3])
def test_the_interior_point_method_alone_agrees_with_quadratic_programming(total, C):
    K, t, lo, hi = signed_problem(40, C)
    t = t + np.linspace(-0.2, 0.2, 40)
    c, steps = fast._interior_point(K, t, lo, hi, np.zeros(40), total=total, tolerance=1e-10, max_steps=100)
    G, h = np.vstack([-np.eye(40), np.eye(40)]), np.r_[-lo, hi]
    equality = () if total is None else (cvxopt.matrix(np.ones((1, 40))), cvxopt.matrix(total))
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    solution = cvxopt.solvers.qp(*map(cvxopt.matrix, (K, -t, G, h)), *equality, options=options)
    assert dual_value(K, t, c) == pytest.approx(-solution["primal objective"], rel=1e-9)
    assert steps <= 20
    if total is not None:
        assert c.sum() == pytest.approx(total, abs=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
def test_solving_for_some_leaves_a_solution_where_it_is(solver):
    K, y = gaussian_problem(80)
    lam = lam_from_C(1.0, n=80)
    fit = solver(K, y, lam=lam, gap=1e-12)
    dual = svm.dual_problem(K, y, lam, offset=solver is kernel_svm_with_offset)
    point = svm.certify(dual, y * fit.alpha)
    found, _ = fast._solve_open(dual, point, len(fit.margin_support) + 10, gap=1e-9, max_steps=100)
    assert found.c == pytest.approx(point.c, abs=1e-8)


# ---------------------------------------------------------------- odd but legal problems


@pytest.mark.parametrize("solver", WITHOUT_OFFSET)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_is_a_problem_like_any_other_without_offset(solver, label):
    K = gaussian_problem(15)[0]
    y = np.full(15, label)
    fit = solver(K, y, lam=0.1, gap=1e-9)
    assert_optimal(fit, K, y, 0.1)


@pytest.mark.parametrize("y", [[1, 1, 1], [-1, -1, -1]])
def test_one_class_is_refused_with_offset(y):
    with pytest.raises(ValueError, match="both labels"):
        kernel_svm_with_offset(np.eye(3), y, lam=1.0)


@pytest.mark.parametrize("solver", WITHOUT_OFFSET)
def test_one_point(solver):
    assert solver([[4.0]], [-1], lam=0.5).alpha == pytest.approx([0.25])  # the margin is reached below C = 1
    assert solver([[4.0]], [-1], lam=5.0).alpha == pytest.approx([0.1])  # C


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_place_with_both_labels_is_as_good_as_nothing(solver):
    fit = solver(np.ones((2, 2)), [1, -1], lam=0.1)
    assert fit.objective == pytest.approx(1.0)
    assert fit.alpha == pytest.approx([2.5, 2.5])


@pytest.mark.parametrize("solver", [*SOLVERS, kernel_svm_by_the_book])
def test_a_kernel_that_is_zero_leaves_the_losses(solver):
    fit = solver(np.zeros((3, 3)), [1, -1, 1], lam=0.1)
    assert fit.objective == pytest.approx(2 / 3 if solver is kernel_svm_with_offset else 1.0)


@pytest.mark.parametrize("solver", [*SOLVERS, kernel_svm_by_the_book])
def test_a_point_at_the_origin_of_feature_space(solver):
    X = np.array([[0.0], [1.0], [2.0], [-1.0]])
    y = np.array([1.0, 1.0, 1.0, -1.0])
    fit = solver(X @ X.T, y, lam=0.05, gap=1e-9)
    assert_optimal(fit, X @ X.T, y, 0.05)


@pytest.mark.parametrize("solver", SOLVERS)
def test_K_in_single_precision_or_column_order_and_kept_as_it_is(solver):
    K, y = gaussian_problem(300)
    expected = solver(K, y, lam=0.01)
    for other in (K.astype(np.float32), np.asfortranarray(K)):
        kept = other.copy()
        assert solver(other, y, lam=0.01).objective == pytest.approx(expected.objective, rel=1e-5)
        assert np.array_equal(other, kept)


# ---------------------------------------------------------------- stochastic gradient descent


def pegasos_by_the_book(K, y, lam, order):
    """All iterates of the update as on paper: coefficients are scaled and added to."""
    alpha, iterates = np.zeros(len(y)), []
    for t, i in enumerate(order, start=1):
        hit = y[i] * (K[i] @ (y * alpha)) < 1
        alpha = (1 - 1 / t) * alpha
        alpha[i] += hit / (2 * lam * t)
        iterates.append(alpha)
    return np.array(iterates)


def test_sgd_takes_the_steps_on_paper():
    K, y = gaussian_problem(20)
    iterates = pegasos_by_the_book(K, y, 0.01, np.random.default_rng(5).integers(20, size=200))
    last = svm_sgd(K, y, lam=0.01, steps=200, rng=5, averaged=False)
    mean = svm_sgd(K, y, lam=0.01, steps=200, rng=5)
    assert last == pytest.approx(iterates[-1])
    assert mean == pytest.approx(np.average(iterates, axis=0, weights=np.arange(1, 201)))


def test_sgd_approaches_the_minimum_and_the_average_gets_closer():
    K, y = gaussian_problem(60)
    best = kernel_svm(K, y, lam=0.01).objective
    excess = {
        averaged: np.mean(
            [
                svm_objective(svm_sgd(K, y, lam=0.01, steps=5000, rng=seed, averaged=averaged), K, y, lam=0.01)
                for seed in range(5)
            ]
        )
        / best
        - 1
        for averaged in (True, False)
    }
    assert 0 <= excess[True] < 0.01
    assert excess[True] < excess[False] < 0.1


def test_sgd_draws_from_the_generator_it_is_given():
    K, y = gaussian_problem(20)
    rng = np.random.default_rng(0)
    first, second = (svm_sgd(K, y, lam=0.1, steps=30, rng=rng) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, svm_sgd(K, y, lam=0.1, steps=30, rng=0))


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("K", "y", "options", "error", "message"),
    [
        ([[1.0, np.nan], [np.nan, 1.0]], [1, -1], {}, ValueError, "K contains NaN"),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1, -1], {}, ValueError, "K must be square"),
        ([[1.0, 0.5], [0.0, 1.0]], [1, -1], {}, ValueError, "K must be symmetric"),
        (np.zeros((0, 0)), [], {}, ValueError, "K has 0"),
        (np.eye(2), [0, 1], {}, ValueError, "y must hold the labels -1 and"),
        (np.eye(2), [1, -1, 1], {}, ValueError, "y has 3 entries, expected 2"),
        (np.eye(2), ["a", "b"], {}, ValueError, "y must hold numbers"),
        (np.eye(2), [1, -1], {"lam": 0.0}, ValueError, "lam must be a finite number > 0"),
        (np.eye(2), [1, -1], {"lam": 1e-200}, ValueError, "lam is too small"),
        (np.eye(2), [1, -1], {"lam": "1"}, TypeError, "lam must be"),
        (np.eye(2), [1, -1], {"gap": 0.0}, ValueError, "gap must be a finite number > 0"),
        ([[-1.0, 0.0], [0.0, 1.0]], [1, -1], {}, ValueError, "K must be positive semidefinite.* -1:"),
        ([[1.0, 2.0], [2.0, 1.0]], [1, -1], {}, ValueError, "K must be positive semidefinite.* -1:"),
    ],
)
@pytest.mark.parametrize("solver", [*SOLVERS, kernel_svm_by_the_book])
def test_bad_problems_are_refused_by_name(solver, K, y, options, error, message):
    with pytest.raises(error, match=message):
        solver(K, y, **{"lam": 0.1, **options})


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"alpha0": [1.0]}, ValueError, "alpha0 has 1 entries, expected 2"),
        ({"alpha0": [1.0, np.inf]}, ValueError, "alpha0 contains inf"),
        ({"max_steps": 1.5}, TypeError, "max_steps must be a whole number"),
    ],
)
def test_bad_starts_and_limits_are_refused_by_name(solver, options, error, message):
    with pytest.raises(error, match=message):
        solver(np.eye(2), [1, -1], lam=0.1, **options)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_large_indefinite_K_is_refused_where_the_solver_meets_it(solver, C):
    X, y = noisy(501)
    K = 1 - np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))  # every 1 x 1 minor is fine, most 2 x 2 are not
    with pytest.raises(ValueError, match="K must be positive semidefinite"):
        solver(K, y, lam=lam_from_C(C, n=501))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_what_passes_for_rounding_grows_with_K(scale):
    X, y = noisy(501)
    K = 1 - np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    with pytest.raises(ValueError, match="K must be positive semidefinite"):
        kernel_svm(scale * K, y, lam=lam_from_C(1 / scale, n=501))
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    for lowest, refused in [(-5e-7, False), (-1e-3, True)]:
        K = scale * (Q * np.r_[lowest, np.ones(7)]) @ Q.T
        K = (K + K.T) / 2
        with pytest.raises(ValueError, match="K must be positive semidefinite") if refused else nullcontext():
            kernel_svm(K, y[:8], lam=lam_from_C(1 / scale, n=8))


def test_objectives_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="alpha has 3 entries, expected 2"):
        svm_objective([1.0, 2.0, 3.0], np.eye(2), [1, -1], lam=0.1)
    with pytest.raises(ValueError, match="alpha has 3 entries, expected 2"):
        svm_dual_objective([1.0, 2.0, 3.0], np.eye(2), [1, -1], lam=0.1)
    with pytest.raises(ValueError, match="alpha has 3 entries, expected 2"):
        svm_subgradient([1.0, 2.0, 3.0], np.eye(2), [1, -1], lam=0.1)
    with pytest.raises(ValueError, match="K_test must have 2 columns"):
        decision_values(np.eye(3), [1.0, 2.0], [1, -1])
    with pytest.raises(ValueError, match="y has 1 entries, expected 2"):
        hinge_losses([1.0, 2.0], [1])
    with pytest.raises(TypeError, match="n must be a whole number"):
        C_from_lam(0.1, n=2.5)
    with pytest.raises(ValueError, match="C must be a finite number > 0"):
        lam_from_C(-1.0, n=2)
    with pytest.raises(ValueError, match="steps must be a whole number >= 1"):
        svm_sgd(np.eye(2), [1, -1], lam=0.1, steps=0)


# ---------------------------------------------------------------- the parts of the fast solver, each by the law it
# obeys


@pytest.mark.parametrize("sign", [1, -1])
def test_balancing_scales_the_heavier_class_and_leaves_the_lighter(sign):
    c = sign * np.array([3.0, 1.0, 0.0, -0.5, -1.5])
    np.testing.assert_allclose(svm.balanced(c), sign * np.array([1.5, 0.5, 0.0, -0.5, -1.5]), rtol=1e-14)


@pytest.mark.parametrize("lack", [0.0, 1e-14, 1e-12, 1e-10, 1e-8])
def test_a_factor_needs_no_more_on_the_diagonal_than_the_matrix_lacks(lack):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(12, 12)))[0]
    K = (Q * np.r_[-lack, np.linspace(0.5, 1, 11)]) @ Q.T
    lower = np.tril(fast._cholesky(K, np.zeros(12)))
    np.testing.assert_allclose(lower @ lower.T, K, atol=1e-12 + 200 * lack)


@pytest.mark.parametrize("total", [None, 0.3])
def test_the_interior_point_method_finds_the_minimum_in_a_box_in_few_steps(total):
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 12))
    K, t, lo, hi = A @ A.T / 12, rng.normal(size=12), np.full(12, -0.5), np.linspace(0.5, 1, 12)
    c, steps = fast._interior_point(K, t, lo, hi, np.full(12, 9.0), total=total, tolerance=1e-12, max_steps=60)
    equal = [] if total is None else [{"type": "eq", "fun": lambda c: c.sum() - total}]
    best = minimize(
        lambda c: c @ K @ c / 2 - t @ c,
        np.zeros(12),
        jac=lambda c: K @ c - t,
        bounds=list(zip(lo, hi, strict=True)),
        constraints=equal,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(c, best.x, atol=1e-5)
    assert (lo <= c).all() and (c <= hi).all()
    assert total is None or c.sum() == pytest.approx(total, abs=1e-12)
    assert c @ K @ c / 2 - t @ c <= best.fun + 1e-10
    assert 5 < steps <= 15
