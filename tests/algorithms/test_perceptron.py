from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from sklearn.svm import SVC

from kernelcourse.algorithms.perceptron import (
    kernel_perceptron,
    kernel_perceptron_by_the_book,
    kernel_perceptron_list,
    minimise_perceptron_loss,
    novikoff_bound,
    perceptron,
    perceptron_loss,
    perceptron_loss_subgradient,
)

KERNEL_VERSIONS = [kernel_perceptron, kernel_perceptron_by_the_book]


def integer_problem(seed):
    """Whole-number features, so that every score is exact and no order of summation matters."""
    rng = np.random.default_rng(seed)
    n, M = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    return rng.integers(-3, 4, size=(n, M)).astype(float), rng.choice([-1, 1], size=n)


def gaussian_problem(seed=0, *, n=30, sigma=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    squared = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    return np.exp(-squared / (2 * sigma**2)), np.where((X**2).sum(axis=1) > 1, 1, -1)


problems = st.integers(0, 10_000).map(integer_problem)
orders = st.sampled_from([{"shuffle": False}, {"shuffle": True, "rng": 7}])


# The algorithm


def test_a_run_worked_out_by_hand():
    # w after each check, * for a mistake: (1, 0)* (0, -1)* | (1, -1)* (0, -2)* | (1, -2)* (1, -2) | no mistake
    Phi, y = np.array([[1.0, 0.0], [1.0, 1.0]]), [1, -1]
    assert perceptron(Phi, y).w.tolist() == [1.0, -2.0]
    for fit in KERNEL_VERSIONS:
        assert fit(Phi @ Phi.T, y).alpha.tolist() == [3, 2]
        assert fit(Phi @ Phi.T, y)[1:] == (5, 4, True)
    listed = kernel_perceptron_list(Phi @ Phi.T, y)
    assert listed.mistakes_list == [0, 1, 0, 1, 0]
    assert listed.coefficients.tolist() == [3.0, -2.0]


@pytest.mark.parametrize("fit", KERNEL_VERSIONS)
def test_a_score_of_zero_is_a_mistake_for_either_label(fit):
    result = fit(np.eye(2), [1, -1])
    assert result.alpha.tolist() == [1, 1]


@given(problem=problems, order=orders)
def test_the_four_versions_make_the_same_mistakes(problem, order):
    Phi, y = problem
    K = Phi @ Phi.T
    fast = kernel_perceptron(K, y, max_epochs=20, **order)
    book = kernel_perceptron_by_the_book(K, y, max_epochs=20, **order)
    listed = kernel_perceptron_list(K, y, max_epochs=20, **order)
    primal = perceptron(Phi, y, max_epochs=20, **order)
    np.testing.assert_array_equal(fast.alpha, book.alpha)
    np.testing.assert_array_equal(fast.alpha * y, listed.coefficients)
    np.testing.assert_array_equal(Phi.T @ (fast.alpha * y), primal.w)
    assert fast.mistakes == book.mistakes == len(listed.mistakes_list) == primal.mistakes
    assert fast[2:] == book[2:] == listed[2:] == primal[2:]  # epochs and separated


@pytest.mark.parametrize("order", [{"shuffle": False}, {"shuffle": True, "rng": 3}])
def test_the_kernel_versions_agree_on_a_gaussian_kernel(order):
    K, y = gaussian_problem()
    fast = kernel_perceptron(K, y, **order)
    np.testing.assert_array_equal(fast.alpha, kernel_perceptron_by_the_book(K, y, **order).alpha)
    np.testing.assert_array_equal(fast.alpha * y, kernel_perceptron_list(K, y, **order).coefficients)
    assert fast.separated and fast.mistakes > 2


def test_a_separated_fit_classifies_every_training_point():
    K, y = gaussian_problem()
    fit = kernel_perceptron(K, y)
    assert fit.separated
    assert np.all(y * (K @ (fit.alpha * y)) > 0)
    assert fit.mistakes == fit.alpha.sum()
    assert fit.alpha.dtype.kind == "i"


@given(problem=problems)
def test_separated_means_exactly_that_no_training_point_is_wrong(problem):
    Phi, y = problem
    K = Phi @ Phi.T
    fit = kernel_perceptron(K, y, max_epochs=5)
    right = y * (K @ (fit.alpha * y)) > 0
    assert right.all() or not fit.separated


@pytest.mark.parametrize("fit", [*KERNEL_VERSIONS, kernel_perceptron_list])
def test_a_contradiction_runs_to_the_last_epoch(fit):
    result = fit(np.ones((2, 2)), [1, -1], max_epochs=7)  # one point, two labels
    assert (result.epochs, result.separated) == (7, False)


def test_a_thousand_epochs_are_enough_unless_others_are_asked_for():
    assert perceptron([[1.0], [1.0]], [1, -1]).epochs == 1000
    assert kernel_perceptron(np.ones((2, 2)), [1, -1]).epochs == 1000


def test_xor_is_separated_by_a_quadratic_kernel_and_not_by_a_linear_one():
    X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), [1, 1, -1, -1]
    assert kernel_perceptron((X @ X.T) ** 2, y).separated
    assert not kernel_perceptron(X @ X.T, y).separated


def test_one_class_and_one_point_are_no_special_case():
    assert kernel_perceptron(np.eye(3), [1, 1, 1]).alpha.tolist() == [1, 1, 1]
    assert kernel_perceptron([[2.0]], [-1]) == ([1], 1, 2, True)


def test_the_last_clean_pass_counts_as_an_epoch_and_one_epoch_cannot_separate():
    assert kernel_perceptron(np.eye(3), [1, -1, 1]).epochs == 2
    assert kernel_perceptron(np.eye(3), [1, -1, 1], max_epochs=1).separated is False


def test_shuffling_is_reproducible_and_depends_on_the_seed():
    K, y = gaussian_problem()
    same = [kernel_perceptron(K, y, shuffle=True, rng=rng).alpha for rng in (5, np.random.default_rng(5))]
    np.testing.assert_array_equal(*same)
    others = {tuple(kernel_perceptron(K, y, shuffle=True, rng=seed).alpha) for seed in range(5)}
    assert len(others) > 1


def test_every_epoch_has_a_fresh_order():
    fit = kernel_perceptron_list(-np.eye(6), np.ones(6), max_epochs=2, shuffle=True, rng=0)  # each check is a mistake
    first, second = fit.mistakes_list[:6], fit.mistakes_list[6:]
    assert sorted(first) == sorted(second) == list(range(6))
    assert first != second


def test_fitting_leaves_the_arguments_alone():
    K, y = gaussian_problem()
    K_before, y_before = K.copy(), y.copy()
    kernel_perceptron(K, y)
    minimise_perceptron_loss(K, y, step=1.0, epochs=2, rng=0)
    np.testing.assert_array_equal(K, K_before)
    np.testing.assert_array_equal(y, y_before)


# The loss


def test_the_loss_counts_only_wrong_points_by_how_wrong_they_are():
    assert perceptron_loss([2.0, 3.0, 4.0], np.eye(3), [1, -1, -1]) == pytest.approx((0 + 3 + 4) / 3)


@given(problem=problems)
def test_zero_coefficients_are_a_trivial_minimiser(problem):
    Phi, y = problem
    c = np.random.default_rng(0).normal(size=len(y))
    assert perceptron_loss(np.zeros(len(y)), Phi @ Phi.T, y) == 0 <= perceptron_loss(c, Phi @ Phi.T, y)


def test_the_subgradient_is_the_gradient_away_from_kinks():
    K, y = gaussian_problem()
    c = np.random.default_rng(1).normal(size=len(y))
    numeric = approx_fprime(c, lambda v: perceptron_loss(v, K, y))
    assert np.abs(numeric).max() > 0.01
    np.testing.assert_allclose(perceptron_loss_subgradient(c, K, y), numeric, atol=1e-7)


@given(problem=problems, seed=st.integers(0, 1000))
def test_the_subgradient_inequality_holds_everywhere_kinks_included(problem, seed):
    Phi, y = problem
    K = Phi @ Phi.T
    c, other = np.random.default_rng(seed).integers(-2, 3, size=(2, len(y))).astype(float)
    tangent = perceptron_loss(c, K, y) + perceptron_loss_subgradient(c, K, y) @ (other - c)
    assert perceptron_loss(other, K, y) >= tangent - 1e-9


def test_the_subgradient_at_zero_takes_every_point_for_a_mistake():
    K, y = gaussian_problem()
    np.testing.assert_allclose(perceptron_loss_subgradient(np.zeros(len(y)), K, y), -K @ y / len(y))


@pytest.mark.parametrize("epochs", [1, 2, 50])
def test_descent_with_step_one_is_the_kernel_perceptron(epochs):
    K, y = gaussian_problem()
    c = minimise_perceptron_loss(K, y, step=1.0, epochs=epochs, rng=4)
    np.testing.assert_array_equal(c, kernel_perceptron(K, y, max_epochs=epochs, shuffle=True, rng=4).alpha * y)


def test_the_step_only_sets_the_scale():
    K, y = gaussian_problem()
    one = minimise_perceptron_loss(K, y, step=1.0, epochs=5, rng=4)
    small = minimise_perceptron_loss(K, y, step=1 / 1024, epochs=5, rng=4)  # a power of 2 scales without rounding
    np.testing.assert_array_equal(small * 1024, one)


def test_descent_ends_with_loss_zero_on_separable_data_without_stopping_at_zero():
    K, y = gaussian_problem()
    c = minimise_perceptron_loss(K, y, step=0.5, epochs=100, rng=0)
    assert perceptron_loss(c, K, y) == 0
    assert np.all(y * (K @ c) > 0)


# Novikoff's bound


def separable(seed, *, n=25):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X = X[np.abs(X @ [1.0, 2.0]) > 0.5]  # a gap around a line through the origin
    return X, np.sign(X @ [1.0, 2.0])


def widest_margin(K, y):
    """Signed coefficients of the separator with the widest margin; without an offset, as the perceptron has none."""
    both = np.block([[K, -K], [-K, K]])  # every point and its mirror image, with the opposite label: the offset is 0
    svm = SVC(kernel="precomputed", C=1e8, tol=1e-8).fit(both, np.concatenate([y, -y]))
    full = np.zeros(2 * len(y))
    full[svm.support_] = svm.dual_coef_[0]
    return full[: len(y)] - full[len(y) :]


@pytest.mark.parametrize("seed", range(5))
def test_no_order_of_the_points_beats_the_bound(seed):
    X, y = separable(seed)
    K = X @ X.T
    bound = novikoff_bound(K, y, widest_margin(K, y))
    for order in range(10):
        fit = kernel_perceptron(K, y, shuffle=True, rng=order)
        assert fit.separated
        assert 1 <= fit.mistakes <= bound


def test_the_widest_margin_gives_the_best_bound():
    X, y = separable(0)
    K = X @ X.T
    fit = kernel_perceptron(K, y)
    assert novikoff_bound(K, y, widest_margin(K, y)) <= novikoff_bound(K, y, fit.alpha * y) * (1 + 1e-6)


def test_the_bound_is_reached_by_orthogonal_points():
    y = np.array([1, -1, 1, -1])
    assert novikoff_bound(np.eye(4), y, y) == kernel_perceptron(np.eye(4), y).mistakes == 4


def test_the_bound_is_the_ratio_of_radius_and_margin_in_feature_space():
    X, y = separable(3)
    c = kernel_perceptron(X @ X.T, y).alpha * y
    w = X.T @ c
    radius, margin = np.linalg.norm(X, axis=1).max(), (y * (X @ w)).min() / np.linalg.norm(w)
    assert novikoff_bound(X @ X.T, y, c) == pytest.approx((radius / margin) ** 2)
    assert novikoff_bound(X @ X.T, y, 1e6 * c) == pytest.approx((radius / margin) ** 2)


# Bad input

K2 = np.eye(2)
FITS = [kernel_perceptron, kernel_perceptron_by_the_book, kernel_perceptron_list, perceptron]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 0], r"y must hold the labels -1 and \+1"),
        ([1, -1, 1], "y has 3 entries, expected 2"),
        ([1, np.nan], "y contains NaN"),
        (["a", "b"], "y must hold numbers"),
        ([[1, -1]], "y must be 1-D"),
    ],
)
def test_bad_labels_are_named(fit, y, message):
    with pytest.raises(ValueError, match=message):
        fit(K2, y)


@pytest.mark.parametrize("fit", FITS)
def test_bad_epochs_are_named(fit):
    with pytest.raises(ValueError, match="max_epochs must be a whole number >= 1"):
        fit(K2, [1, -1], max_epochs=0)
    with pytest.raises(TypeError, match="max_epochs must be a whole number"):
        fit(K2, [1, -1], max_epochs=2.5)


@pytest.mark.parametrize("fit", FITS[:3])
def test_a_bad_gram_matrix_is_named(fit):
    with pytest.raises(ValueError, match="K must be square"):
        fit([[1.0, 2.0]], [1])
    with pytest.raises(ValueError, match="K contains NaN"):
        fit([[np.nan]], [1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: perceptron([1.0, 2.0], [1, -1]), "Phi must be 2-D"),
        (lambda: perceptron_loss([1.0], K2, [1, -1]), "c has 1 entries"),
        (lambda: perceptron_loss_subgradient([1.0, 2.0], K2, [1, 2]), "y must hold the labels"),
        (lambda: minimise_perceptron_loss(K2, [1, -1], step=0.0, epochs=1), "step must be"),
        (lambda: minimise_perceptron_loss(K2, [1, -1], step=1.0, epochs=0), "epochs must be"),
        (lambda: novikoff_bound(K2, [1, -1], [1.0, 1.0]), r"c must separate.*point 1, label -1, scores 1"),
        (lambda: novikoff_bound(K2, [1, -1], [0.0, 0.0]), "c must separate"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_bad_rng_is_named():
    with pytest.raises(TypeError, match="rng must be"):
        kernel_perceptron(K2, [1, -1], shuffle=True, rng="seed")
