from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from kernelcourse.algorithms.neighbors import (
    kernel_neighbors,
    nearest,
    soft_neighbors,
    squared_distances_to,
    vote,
)


def data(seed=0, *, n=40, m=15, d=3, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, classes, size=n), rng.normal(size=(m, d))


def linear(Z, X):
    """The three arguments of the distances under the linear kernel."""
    return Z @ X.T, (Z**2).sum(axis=1), (X**2).sum(axis=1)


def gaussian(Z, X, sigma):
    return np.exp(-cdist(Z, X, "sqeuclidean") / (2 * sigma**2))


# Distances


def test_distances_of_the_linear_kernel_are_euclidean():
    X, _, Z = data()
    np.testing.assert_allclose(squared_distances_to(*linear(Z, X)), cdist(Z, X, "sqeuclidean"), atol=1e-12)


def test_distances_of_a_quadratic_kernel_are_those_of_its_features():
    X, _, Z = data(d=2)
    phi = lambda P: np.column_stack([P[:, 0] ** 2, np.sqrt(2) * P[:, 0] * P[:, 1], P[:, 1] ** 2])  # noqa: E731
    D = squared_distances_to((Z @ X.T) ** 2, (Z**2).sum(axis=1) ** 2, (X**2).sum(axis=1) ** 2)
    np.testing.assert_allclose(D, cdist(phi(Z), phi(X), "sqeuclidean"), atol=1e-10)


def test_rounding_never_makes_a_distance_negative():
    X = 1e4 + data(n=200)[0]
    D = squared_distances_to(*linear(X, X))
    raw = linear(X, X)[1][:, None] - 2 * X @ X.T + linear(X, X)[2]
    assert raw.min() < 0 <= D.min()


def test_single_precision_kernel_values_are_let_through():
    X = data(n=50)[0].astype(np.float32)
    k = np.einsum("ij,ij->i", X, X)
    assert squared_distances_to(X @ X.T, k, k).min() >= 0


def test_values_of_no_kernel_are_refused():
    with pytest.raises(ValueError, match=r"k_test\[0\] - 2 K_test\[0, 1\] \+ k_train\[1\] = -4 is negative"):
        squared_distances_to([[0.0, 3.0]], [1.0], [1.0, 1.0])


# Nearest


def nearest_by_the_book(D, kappa):
    """Lecture I, algorithm 2, lines 1 to 6."""
    neighbours = []
    for distances in D:
        S = list(range(len(distances)))
        S_kappa = []
        while len(S_kappa) < kappa:
            j = S[np.argmin(distances[S])]  # S stays sorted and argmin takes the first of equals: the smaller index
            S_kappa.append(j)
            S.remove(j)
        neighbours.append(S_kappa)
    return np.array(neighbours)


@given(st.integers(0, 10_000))
def test_sorting_finds_what_the_book_finds_ties_included(seed):
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 6), rng.integers(1, 9)
    D = rng.integers(0, 4, size=(m, n)).astype(float)  # few values, so many ties
    for kappa in range(1, n + 1):
        np.testing.assert_array_equal(nearest(D, kappa), nearest_by_the_book(D, kappa))


def test_the_smaller_index_comes_first_among_equals():
    D = np.tile([5.0, 1.0, 3.0, 1.0, 3.0, 0.0], 5)[None, :]
    assert nearest(D, 13).tolist() == [[5, 11, 17, 23, 29, 1, 3, 7, 9, 13, 15, 19, 21]]


def test_all_points_can_be_asked_for_and_come_in_order_of_distance():
    D = np.random.default_rng(0).random((4, 7))
    order = nearest(D, 7)
    assert order.shape == (4, 7)
    assert (np.diff(np.take_along_axis(D, order, axis=1)) >= 0).all()
    assert (np.sort(order) == np.arange(7)).all()


# Voting


def test_the_majority_wins_even_against_the_nearest():
    assert vote([[3, 1, 1]]).tolist() == [1]


def test_a_plurality_is_enough():
    assert vote([[0, 1, 2, 2, 3]]).tolist() == [2]


def test_a_tie_goes_to_the_nearest_of_the_tied_classes():
    assert vote([[0, 2, 1, 1, 2]]).tolist() == [2]  # class 0 has the nearest point, but is not among the tied classes
    assert vote([[-1, 1, 1, -1]]).tolist() == [-1]


@given(st.integers(0, 10_000))
def test_for_signs_the_vote_is_sgn_of_the_mean_where_that_is_not_zero(seed):
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1, 1], size=(5, int(rng.integers(1, 8))))
    mean = labels.mean(axis=1)
    np.testing.assert_array_equal(vote(labels)[mean != 0], np.sign(mean)[mean != 0])
    np.testing.assert_array_equal(vote(labels)[mean == 0], labels[mean == 0, 0])


@pytest.mark.parametrize("dtype", [int, float, np.int8, bool])
def test_labels_keep_their_type(dtype):
    labels = np.array([[0, 1, 1]], dtype=dtype)
    assert vote(labels).dtype == labels.dtype


# The classifier


@pytest.mark.parametrize(("classes", "kappa"), [(2, 1), (2, 5), (4, 1)])
def test_the_linear_kernel_gives_scikit_learns_neighbours(classes, kappa):
    X, y, Z = data(classes=classes)
    oracle = KNeighborsClassifier(kappa).fit(X, y).predict(Z)
    assert len(np.unique(oracle)) == classes
    np.testing.assert_array_equal(kernel_neighbors(*linear(Z, X), y, kappa=kappa), oracle)


def test_a_radial_kernel_has_the_neighbours_of_the_input_space():
    X, y, Z = data()
    predicted = kernel_neighbors(gaussian(Z, X, 1.0), np.ones(len(Z)), np.ones(len(X)), y, kappa=5)
    np.testing.assert_array_equal(predicted, kernel_neighbors(*linear(Z, X), y, kappa=5))


def test_another_kernel_has_other_neighbours():
    X, y, Z = np.array([[1.0, 0.0], [-3.0, 0.1]]), [1, -1], np.array([[3.0, 0.0]])
    K_test, k_test, k_train = linear(Z, X)
    assert kernel_neighbors(K_test, k_test, k_train, y, kappa=1) == [1]
    assert kernel_neighbors(K_test**2, k_test**2, k_train**2, y, kappa=1) == [-1]  # even: x and -x are one point


def test_all_points_as_neighbours_predict_the_commonest_label():
    X, _, Z = data(n=5)
    np.testing.assert_array_equal(kernel_neighbors(*linear(Z, X), [2, 0, 2, 1, 2], kappa=5), 2)


def test_duplicates_with_two_labels_give_the_first():
    X, Z = np.array([[1.0], [1.0]]), np.array([[2.0]])
    for kappa in (1, 2):
        assert kernel_neighbors(*linear(Z, X), [-1, 1], kappa=kappa) == [-1]
        assert kernel_neighbors(*linear(Z, X), [1, -1], kappa=kappa) == [1]


# Soft neighbours


def test_soft_vote_is_the_sum_written_out():
    X, y, Z = data()
    y = 2 * y - 1
    K_test = gaussian(Z, X, 0.7)
    by_hand = [sum(y[i] * K_test[j, i] for i in range(len(X))) for j in range(len(Z))]
    np.testing.assert_allclose(soft_neighbors(K_test, y), by_hand)


def test_a_narrow_gaussian_votes_like_one_nearest_neighbour_and_a_wide_one_does_not():
    X, y, Z = data(m=200, d=2)
    y = 2 * y - 1
    distances = np.sort(cdist(Z, X, "sqeuclidean"), axis=1)
    sigma = 0.05
    # The nearest term outweighs the n - 1 others once its exponent leads by log(n).
    clear = (distances[:, 1] - distances[:, 0]) / (2 * sigma**2) > np.log(len(X))
    assert clear.sum() > 100
    one_nearest = kernel_neighbors(*linear(Z, X), y, kappa=1)
    np.testing.assert_array_equal(np.sign(soft_neighbors(gaussian(Z, X, sigma), y))[clear], one_nearest[clear])
    assert np.any(np.sign(soft_neighbors(gaussian(Z, X, 3.0), y)) != one_nearest)


# Bad input

GOOD = {"K_test": [[2.0, 6.0]], "k_test": [4.0], "k_train": [1.0, 9.0], "y": [1, -1], "kappa": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K_test": [2.0, 6.0]}, "K_test must be 2-D"),
        ({"K_test": [[2.0, np.nan]]}, "K_test contains NaN"),
        ({"k_test": [4.0, 4.0]}, "k_test has 2 entries, expected 1"),
        ({"k_train": [1.0]}, "k_train has 1 entries, expected 2"),
        ({"y": [1]}, "y has 1 entries, expected 2"),
        ({"y": [[1, -1]]}, "y must be 1-D"),
        ({"y": ["a", "b"]}, "y must hold numbers"),
        ({"y": [1, np.nan]}, "y contains NaN"),
        ({"y": [0.5, 1.0]}, "y must hold class labels .* got 0.5"),
        ({"kappa": 0}, "kappa must be a whole number >= 1"),
        ({"kappa": 3}, "kappa must be at most 2, the number of training points, got 3"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(ValueError, match=message):
        kernel_neighbors(**{**GOOD, **change})


def test_a_kappa_that_is_no_whole_number_is_named():
    with pytest.raises(TypeError, match="kappa must be a whole number"):
        kernel_neighbors(**{**GOOD, "kappa": 1.0})


def test_bad_votes_are_named():
    with pytest.raises(ValueError, match="labels must be 2-D"):
        vote([1, -1])
    with pytest.raises(ValueError, match="labels must be 2-D"):
        vote(np.zeros((2, 0)))


def test_soft_neighbours_want_signs():
    with pytest.raises(ValueError, match=r"y must hold the labels -1 and \+1"):
        soft_neighbors([[0.5, 0.5]], [0, 1])
