"""Correct answers computed in other ways pass the checks of assignment 03."""

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, perceptron_and_neighbours


def scores_by_loop(K_test, alpha, y):
    return [sum(a * s * k for a, s, k in zip(alpha, y, row, strict=True)) for row in K_test]


def scores_by_einsum(K_test, alpha, y):
    return np.einsum("mn,n,n->m", K_test, alpha, y)


def perceptron_with_scores_kept(K, y, max_epochs):
    alpha, f = np.zeros(len(y)), np.zeros(len(y))
    for _ in range(max_epochs):
        clean = True
        for i, label in enumerate(y):
            if label * f[i] <= 0:
                alpha[i] += 1
                f = f + label * K[:, i]
                clean = False
        if clean:
            return alpha
    return alpha


def perceptron_with_signed_weights(K, y, max_epochs):
    c = np.zeros(len(y))
    for _ in range(max_epochs):
        for i in range(len(y)):
            if np.sign(K[i] @ c) != y[i]:
                c[i] += y[i]
    return np.abs(c)


def list_from_counts(K, y, max_epochs):
    alpha, L = np.zeros(len(y)), []
    for _ in range(max_epochs):
        for i in range(len(y)):
            if y[i] * (K[i] @ (alpha * y)) <= 0:
                alpha[i] += 1
                L.append(i)
    return np.array(L)


def list_in_feature_space(K, y, max_epochs):
    values, Q = np.linalg.eigh(K)
    Phi = Q * np.sqrt(np.clip(values, 0, None))
    w, L = np.zeros(len(y)), []
    for _ in range(max_epochs):
        for i in range(len(y)):
            if y[i] * (Phi[i] @ w) <= 0:
                w += y[i] * Phi[i]
                L.append(i)
    return L


def distances_by_loop(K_test, k_test, k_train):
    m, n = K_test.shape
    return [[k_test[i] - 2 * K_test[i, j] + k_train[j] for j in range(n)] for i in range(m)]


def distances_clipped(K_test, k_test, k_train):
    return np.maximum(np.add.outer(k_test, k_train) - 2 * K_test, 0)


def nearest_one_by_one(D, kappa):
    D = D.astype(float)
    found = []
    for _ in range(kappa):
        found.append(np.argmin(D, axis=1))
        D[np.arange(len(D)), found[-1]] = np.inf
    return np.stack(found, axis=1)


def nearest_by_sorting_pairs(D, kappa):
    return [[j for _, j in sorted((d, j) for j, d in enumerate(row))[:kappa]] for row in D]


def vote_with_a_little_extra_for_the_nearest(labels):
    return np.sign(np.sum(labels, axis=1) + labels[:, 0] / 2)


def vote_by_counting(labels):
    votes = []
    for row in labels:
        plus, minus = list(row).count(1), list(row).count(-1)
        votes.append(row[0] if plus == minus else 1 if plus > minus else -1)
    return votes


def soft_by_log_sums(D, y, sigma):
    def log_sum(exponents):
        if exponents.size == 0:
            return -np.inf
        return exponents.max() + np.log(np.sum(np.exp(exponents - exponents.max())))

    E = -D / (2 * sigma**2)
    return [1 if log_sum(row[y == 1]) > log_sum(row[y == -1]) else -1 for row in E]


def soft_with_normalised_weights(D, y, sigma):
    E = -D / (2 * sigma**2)
    W = np.exp(E - E.max(axis=1)[:, None])
    return np.where((W / W.sum(axis=1)[:, None]) @ y > 0, 1.0, -1.0)


def report_by_predicted_labels(K_test, alpha, y, y_test):
    kept = np.flatnonzero(alpha)
    predicted = np.sign(K_test[:, kept] @ (alpha * y)[kept])
    return [1 - np.mean(predicted == y_test), len(kept)]


def corners_of_a_square():
    return [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 1, -1, -1], (0, 0), 3


def a_tie_behind_a_nearer_pair():
    return [[0.1], [-0.2], [2.0], [-2.0]], [1.0, -1.0, 1.0, -1.0], [0.0], np.int64(3)


def a_circle():
    angle = 2 * np.pi * np.arange(6) / 6
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), np.array([1, -1] * 3), np.zeros(2), 1.0


ROUTES = {
    scores_by_loop: "scores",
    scores_by_einsum: "scores",
    perceptron_with_scores_kept: "kernel_perceptron",
    perceptron_with_signed_weights: "kernel_perceptron",
    list_from_counts: "mistake_list",
    list_in_feature_space: "mistake_list",
    distances_by_loop: "squared_distances",
    distances_clipped: "squared_distances",
    nearest_one_by_one: "nearest",
    nearest_by_sorting_pairs: "nearest",
    vote_with_a_little_extra_for_the_nearest: "vote",
    vote_by_counting: "vote",
    soft_by_log_sums: "soft_label",
    soft_with_normalised_weights: "soft_label",
    report_by_predicted_labels: "report",
    corners_of_a_square: "depends_on_the_order",
    a_tie_behind_a_nearer_pair: "depends_on_the_order",
    a_circle: "depends_on_the_order",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(perceptron_and_neighbours.checks(seed)(**{piece: route}), Passed)


LINE, SIGNS = [[-1.0], [1.0]], [-1, 1]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "abcd",
        (),
        (LINE, SIGNS, [0.0], 0),
        (LINE, SIGNS, [0.0], 1.5),
        (LINE, SIGNS, [0.0], np.nan),
        (LINE, SIGNS, [0.0], [1]),
        (LINE, SIGNS, [0.0], 3),
        (LINE, SIGNS, 0.0, 1),
        (LINE, SIGNS, [0.0, 0.0], 1),
        (LINE, [0, 1], [0.0], 1),
        (LINE, [1], [0.0], 1),
        ([[np.nan], [1.0]], SIGNS, [0.0], 1),
        ([[-1e200], [1e200]], SIGNS, [0.0], 1),
        ([], [], [], 1),
        (np.zeros((0, 2)), [], [0.0, 0.0], 1),
    ],
    ids=repr,
)
def test_junk_for_the_claim_is_a_wrong_answer_and_no_crash(junk):
    with pytest.raises(CheckFailed, match="Return four things"):
        perceptron_and_neighbours.checks(1)(depends_on_the_order=lambda: junk)


@pytest.mark.parametrize(
    "witness",
    [
        ([[-1.0], [1.1]], SIGNS, [0.0], 1),  # no tie
        ([[0.1], [0.2], [-1.0], [1.0]], [1, 1, -1, 1], [0.0], 3),  # a tie that the nearer points overrule
        ([[-1.0], [1.0], [3.0]], [-1, 1, 1], [0.0], 3),  # a tie, but all are among the nearest
    ],
)
def test_a_tie_has_to_decide_the_vote(witness):
    with pytest.raises(CheckFailed, match="the same answer in whatever order"):
        perceptron_and_neighbours.checks(1)(depends_on_the_order=lambda: witness)


def test_no_soft_vote_of_a_case_is_close():
    """If it were, its sign would depend on the last digit."""
    D, y = perceptron_and_neighbours._clear_votes(np.random.default_rng(0), 500, 6, 0.8)
    weights = np.exp(-D / (2 * 0.8**2))
    assert (np.abs(weights @ y) > 0.01 * weights.sum(axis=1)).all()
