"""Folds, cross-validation, exact leave-one-out, search, learned kernel weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from kernelcourse import (
    Gaussian,
    KernelCourseWarning,
    KernelRidge,
    KernelSVM,
    Linear,
    Polynomial,
    Spectrum,
    accuracy,
    alignment_weights,
    choose_kernel,
    cross_validate,
    grid_search,
    k_fold,
    leave_one_out,
    leave_one_out_by_the_book,
    mean_squared_error,
    monte_carlo,
    target_alignment,
)
from kernelcourse._engine import search
from kernelcourse.seam import engine

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(40, 1))
t = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=40)


@given(st.integers(2, 50), st.data())
def test_folds_hold_out_every_point_once(n, data):
    k = data.draw(st.integers(2, n))
    folds = k_fold(n, k, rng=1)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(n))
    sizes = [len(test) for _, test in folds]
    assert max(sizes) - min(sizes) <= 1
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(n))


def test_folds_are_reproducible_and_random():
    def first(seed):
        return k_fold(30, 3, rng=seed)[0][1].tolist()

    assert first(1) == first(1) != first(2)
    assert first(np.random.RandomState(1)) == first(1791095845)  # seeded by the first number below 2^31 that it draws
    splits = monte_carlo(30, 4, held_out=0.25, rng=0)
    assert {len(test) for _, test in splits} == {8}
    assert len({tuple(sorted(test)) for _, test in splits}) == 4
    for train, test in splits:
        assert sorted([*train, *test]) == list(range(30))


def test_leave_one_out_is_n_fits():
    for k in (Gaussian(0.8), Linear(), Polynomial(3)):  # the last two are singular
        path = leave_one_out(k(X), t, ridges=[0.01, 0.3, 5.0])
        for ridge, residuals in zip(path.ridges, path.residuals.T, strict=True):
            np.testing.assert_allclose(residuals, leave_one_out_by_the_book(k(X), t, ridge=ridge), rtol=1e-7)
        np.testing.assert_allclose(path.errors, (path.residuals**2).mean(axis=0))
        assert path.best == path.ridges[path.errors.argmin()]


def test_choose_kernel_takes_the_smallest_error_of_the_table():
    kernels, ridges = [Gaussian(0.05), Gaussian(0.7), Gaussian(5.0)], [1e-3, 1e-1, 10.0]
    choice = choose_kernel(kernels, X, t, ridges=ridges)
    assert choice.errors.shape == (3, 3)
    assert choice.error == choice.errors.min()
    i, j = np.unravel_index(choice.errors.argmin(), (3, 3))
    assert (choice.kernel, choice.ridge) == (kernels[i], ridges[j]) == (Gaussian(0.7), 0.1)


def test_grid_search_is_scikit_learns():
    folds = k_fold(40, 4, rng=3)
    fold_of = np.empty(40, dtype=int)
    for i, (_, test) in enumerate(folds):
        fold_of[test] = i
    grid = {"kernel__sigma": [0.2, 0.7, 3.0], "ridge": [0.01, 0.5]}
    ours = grid_search(KernelRidge(), X, t, grid, folds)
    peer = GridSearchCV(KernelRidge(), grid, cv=PredefinedSplit(fold_of)).fit(X, t)
    assert ours.best == peer.best_params_
    np.testing.assert_allclose(ours.best_score, peer.best_score_)
    np.testing.assert_allclose(sorted(ours.scores), sorted(peer.cv_results_["mean_test_score"]))
    np.testing.assert_allclose(ours.estimator.predict(X), peer.predict(X))


def test_errors_are_minimised_and_accuracies_maximised():
    folds = k_fold(40, 4, rng=3)
    by_error = grid_search(KernelRidge(ridge=0.1), X, t, {"kernel__sigma": [0.01, 0.7]}, folds, mean_squared_error)
    assert by_error.best == {"kernel__sigma": 0.7} and by_error.best_score == by_error.scores.min()
    y = np.where(t > 0.3, "high", "low")
    by_accuracy = grid_search(KernelSVM(), X, y, {"kernel__sigma": [1e-6, 0.7]}, folds, accuracy)
    assert by_accuracy.best == {"kernel__sigma": 0.7} and by_accuracy.best_score == by_accuracy.scores.max()


def test_cross_validation_leaves_the_estimator_alone_and_takes_objects():
    model = KernelRidge(Spectrum(1) + 1)
    words = ["ab", "abab", "b", "aaa", "bbb", "a"]
    counts = np.array([float(w.count("a")) for w in words])
    errors = cross_validate(model.set_params(ridge=1e-6), words, counts, k_fold(6, 3, rng=0), mean_squared_error)
    assert errors.shape == (3,) and errors.max() < 1e-4
    assert not hasattr(model, "a_")


def test_learned_weights_align_at_least_as_well_as_any_one_kernel(rng):
    grams = [Gaussian(0.1)(X), Gaussian(0.8)(X), Linear()(X), np.eye(40)]
    weights = alignment_weights(grams, t)
    assert (weights >= 0).all() and weights.sum() == pytest.approx(1)
    learned = target_alignment(sum(w * K for w, K in zip(weights, grams, strict=True)), t)
    assert learned >= max(target_alignment(K, t) for K in grams) - 1e-9
    for _ in range(200):  # no other mixture does better
        other = rng.dirichlet(np.ones(4))
        assert target_alignment(sum(w * K for w, K in zip(other, grams, strict=True)), t) <= learned + 1e-9


def test_learned_weights_do_not_depend_on_the_scale_of_a_kernel():
    grams = [Gaussian(0.1)(X), Gaussian(0.8)(X)]
    w = alignment_weights(grams, t)
    assert (w > 0).all()
    v = alignment_weights([100 * grams[0], grams[1]], t)
    np.testing.assert_allclose(w[0] / w[1], 100 * v[0] / v[1])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: k_fold(5, 6), "k must be at most n = 5"),
        (lambda: k_fold(1, 2), "n must"),
        (lambda: monte_carlo(10, 2, held_out=0.01), "held_out"),
        (lambda: monte_carlo(10, 2, held_out=1.0), "held_out"),
        (lambda: monte_carlo(10, 0), "repeats"),
        (lambda: leave_one_out(np.eye(1), [1.0], ridges=[1.0]), "two points"),
        (lambda: leave_one_out(np.eye(2), [1.0, 2.0], ridges=[0.0]), "ridges"),
        (lambda: leave_one_out(np.eye(2), [1.0, 2.0], ridges=[]), "ridges"),
        (lambda: leave_one_out(np.eye(2), [1.0, 2.0, 3.0], ridges=[1.0]), "t has 3"),
        (lambda: choose_kernel([], X, t, ridges=[1.0]), "kernels"),
        (lambda: grid_search(KernelRidge(), X, t, {"ridge": []}, k_fold(40, 2)), "grid"),
        (lambda: cross_validate(KernelRidge(), X, t[:3], k_fold(40, 2)), "y has 3"),
        (lambda: alignment_weights([], t), "grams"),
        (lambda: alignment_weights([np.ones((40, 40))], t), "constant"),
        (lambda: alignment_weights([np.eye(40)], np.ones(40)), "constant"),
        (lambda: alignment_weights([np.eye(40), np.eye(3)], t), "entries"),
        (lambda: mean_squared_error([1.0], [1.0, 2.0]), "prediction has 2"),
        (lambda: accuracy([1], [1, 2]), "prediction has 2"),
    ],
)
def test_bad_input_is_named(bad, words):
    with pytest.raises(ValueError, match=words):
        bad()


@pytest.mark.parametrize("grid", [{"ridge": [1e-3]}, {"ridge": [1e-3], "offset": ["free"]}], ids=str)
def test_the_score_of_one_point_is_refused_and_its_error_is_not(grid):
    folds = [(np.delete(np.arange(40), i), [i]) for i in range(40)]
    grid = {"kernel__sigma": [1e-6, 1.0], **grid}
    with pytest.raises(ValueError, match=r"R² of one point is undefined.*the metric mean_squared_error"):
        grid_search(KernelRidge(), X, t, grid, folds)
    assert grid_search(KernelRidge(), X, t, grid, folds, mean_squared_error).best["kernel__sigma"] == 1.0


def test_a_setting_without_a_score_is_never_the_best():
    def metric(truth, prediction):
        return np.nan if np.abs(prediction).max() < 1e-3 else mean_squared_error(truth, prediction)

    folds = k_fold(40, 4, rng=0)
    for larger in (False, True):
        with pytest.warns(KernelCourseWarning, match=r"1 of 2 settings have a score of NaN .* being \{'ridge': 100000"):
            found = grid_search(KernelRidge(), X, t, {"ridge": [1e6, 0.1]}, folds, metric, larger_is_better=larger)
        assert found.best == {"ridge": 0.1}
    with pytest.raises(ValueError, match="every setting in the grid has a score of NaN"):
        grid_search(KernelRidge(), X, t, {"ridge": [1e6]}, folds, metric, larger_is_better=False)


@pytest.mark.parametrize("points", [X, X.tolist()], ids=["array", "list"])
def test_folds_may_be_masks(points):
    fold_of = np.arange(40) % 4
    masks = [(fold_of != i, fold_of == i) for i in range(4)]
    indices = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks]
    expected = cross_validate(KernelRidge(), X, t, indices)
    np.testing.assert_array_equal(cross_validate(KernelRidge(), points, t, masks), expected)
    search = [grid_search(KernelRidge(), points, t, {"ridge": [0.1, 1.0]}, folds) for folds in (masks, indices)]
    np.testing.assert_array_equal(search[0].scores, search[1].scores)
    with pytest.raises(IndexError, match="boolean index"):
        cross_validate(KernelRidge(), points, t, [(fold_of[1:] != 0, fold_of[1:] == 0)])


def test_a_sparse_matrix_is_refused_with_advice():
    for use in (cross_validate, lambda model, X, t, folds: grid_search(model, X, t, {"ridge": [1.0]}, folds)):
        with pytest.raises(TypeError, match=r"X is a sparse matrix.*X.toarray\(\)"):
            use(KernelRidge(), csr_array(X), t, k_fold(40, 4, rng=0))


def test_a_column_of_targets_is_a_vector_with_a_warning():
    folds = k_fold(40, 4, rng=0)
    for metric in (None, mean_squared_error):
        with pytest.warns(UserWarning, match="column-vector"):
            scores = cross_validate(KernelRidge(), X, t[:, None], folds, metric)
        np.testing.assert_array_equal(scores, cross_validate(KernelRidge(), X, t, folds, metric))
    with pytest.warns(UserWarning, match="column-vector"):
        found = grid_search(KernelRidge(), X, t[:, None], {"ridge": [0.1, 1.0]}, folds)
    np.testing.assert_array_equal(found.scores, grid_search(KernelRidge(), X, t, {"ridge": [0.1, 1.0]}, folds).scores)


def test_text_is_not_compared_with_numbers():
    with pytest.raises(ValueError, match="y and prediction hold labels of different kinds"):
        accuracy(["0", "1"], [0, 1])
    with pytest.raises(ValueError, match="y and prediction hold labels of different kinds"):
        accuracy(np.array([0, 1]), np.array(["0", "1"], dtype=object))
    assert accuracy([True, False], [1, 1]) == 0.5


def test_an_order_of_chance_is_asked_for_by_name():
    with pytest.raises(TypeError, match="positional"):
        k_fold(10, 2, 0)


def test_a_search_on_many_points_fits_one_by_one_with_rows_on_demand(monkeypatch, rng):
    monkeypatch.setenv("KERNELCOURSE_FAST", "1")
    monkeypatch.setattr(search, "MANY", 80)
    monkeypatch.setattr(search, "solved_path", None)  # from all of K
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")
    grid = {"kernel__sigma": [0.5, 2.0], "lam": [0.1, 0.001]}
    folds = k_fold(80, 4, rng=0)
    found = grid_search(KernelSVM(offset="free", gap=1e-7), X, y, grid, folds).scores
    monkeypatch.undo()
    with engine("off"):
        expected = grid_search(KernelSVM(offset="free", gap=1e-7), X, y, grid, folds).scores
    np.testing.assert_allclose(found, expected, atol=1e-9)
