from __future__ import annotations

import re

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kernelcourse import datasets
from kernelcourse.datasets import (
    checkerboard,
    gaussian_mixture,
    noisy_polynomial,
    noisy_sinc,
    p450_chimeras,
    rings,
    small_graphs,
    small_texts,
    trend_and_wiggle,
    two_moons,
    xor,
)

REGRESSION = [noisy_sinc, noisy_polynomial, trend_and_wiggle]
TWO_CLASSES = [two_moons, rings, xor, checkerboard, gaussian_mixture]
NOISY = [noisy_sinc, noisy_polynomial, trend_and_wiggle, two_moons, rings, xor, p450_chimeras]
RANDOM = [*REGRESSION, *TWO_CLASSES, p450_chimeras, small_graphs]


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        if not callable(one):
            np.testing.assert_equal(one, other)


# --- what all of them share


@pytest.mark.parametrize("make", RANDOM)
def test_a_seed_fixes_the_data_and_another_seed_changes_them(make):
    assert_same(make(30, rng=7), make(30, rng=np.random.default_rng(7)))
    with pytest.raises(AssertionError):
        assert_same(make(30, rng=7), make(30, rng=8))


@pytest.mark.parametrize("make", RANDOM)
def test_the_global_generator_is_left_alone(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    make(10)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("make", RANDOM)
@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-3, ValueError), (2.5, TypeError), ("9", TypeError)])
def test_a_bad_number_of_points_is_refused_by_name(make, n, error):
    with pytest.raises(error, match="n must be a whole number"):
        make(n, rng=0)


@pytest.mark.parametrize("make", NOISY)
@pytest.mark.parametrize(("noise", "error"), [(-0.1, ValueError), (np.nan, ValueError), ("loud", TypeError)])
def test_bad_noise_is_refused_by_name(make, noise, error):
    with pytest.raises(error, match="noise"):
        make(10, noise=noise, rng=0)


@pytest.mark.parametrize("make", RANDOM)
def test_a_bad_rng_is_refused_by_name(make):
    with pytest.raises(TypeError, match="rng"):
        make(10, rng="seed")


# --- regression


@pytest.mark.parametrize("make", REGRESSION)
def test_regression_sets_are_a_column_of_points_and_a_vector_of_targets(make):
    data = make(25, rng=0)
    assert data.X.shape == (25, 1)
    assert data.t.shape == (25,)
    assert data.X.dtype == data.t.dtype == np.float64


@pytest.mark.parametrize("make", REGRESSION)
def test_without_noise_the_targets_are_the_truth(make):
    data = make(25, noise=0, rng=0)
    np.testing.assert_array_equal(data.t, data.truth(data.X))


@pytest.mark.parametrize("make", REGRESSION)
def test_noise_is_the_standard_deviation_about_the_truth(make):
    data = make(4000, noise=0.3, rng=0)
    residual = data.t - data.truth(data.X)
    assert stats.kstest(residual / 0.3, "norm").pvalue > 1e-3


@pytest.mark.parametrize("make", REGRESSION)
def test_the_truth_wants_points_on_a_line(make):
    with pytest.raises(ValueError, match="1 column,"):
        make(5, rng=0).truth(np.zeros((3, 2)))


def test_sinc_is_sin_x_over_x():
    x = np.array([-7.0, 0.5, 3.0])
    np.testing.assert_allclose(datasets.sinc(x[:, None]), np.sin(x) / x)
    assert datasets.sinc([[0.0]]) == 1.0


def test_polynomial_coefficients_rise_with_the_power():
    truth = noisy_polynomial(3, coefficients=[1, 2, 3], rng=0).truth
    np.testing.assert_allclose(truth([[0.0], [1.0], [-2.0]]), [1, 6, 9])
    x = np.array([-2.0, -1.0, 0.0, 1.0])
    np.testing.assert_allclose(noisy_polynomial(3, rng=0).truth(x[:, None]), 2 * x**3 - x)


@pytest.mark.parametrize("coefficients", [[], [[1.0]], [np.nan], "abc"])
def test_bad_coefficients_are_refused_by_name(coefficients):
    with pytest.raises(ValueError, match="coefficients"):
        noisy_polynomial(5, coefficients=coefficients, rng=0)


def test_no_training_point_lies_in_the_gap_or_beyond():
    data = trend_and_wiggle(3000, rng=0)
    x = data.X[:, 0]
    assert not np.any((data.gap[0] < x) & (x < data.gap[1]))
    assert x.max() <= data.beyond[0]
    # the rest is covered evenly: 6 of 9 parts lie to the left of the gap, 3 to its right
    assert stats.binomtest(int((x < data.gap[0]).sum()), len(x), 6 / 9).pvalue > 1e-3


def test_the_trend_is_linear_through_the_origin_and_the_wiggle_is_local():
    data = trend_and_wiggle(5, rng=0)
    Z = np.linspace(-9, 9, 50)[:, None]
    np.testing.assert_allclose(data.trend(Z), Z[:, 0] * data.trend([[1.0]]), atol=1e-12)
    assert np.abs(data.wiggle([[0.5]])) > 0.5
    assert np.abs(data.wiggle([[-9.0], [9.0]])).max() < 1e-3


# --- two classes


@settings(max_examples=15, deadline=None)
@given(n=st.integers(4, 60), seed=st.integers(0, 2**31))
@pytest.mark.parametrize("make", TWO_CLASSES)
def test_both_classes_are_there_in_nearly_equal_numbers(make, n, seed):
    data = make(n, rng=seed)
    assert data.X.shape == (n, 2)
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert set(data.y) == {-1, 1}
    assert abs(data.y.sum()) <= 1


@pytest.mark.parametrize("make", [two_moons, rings, checkerboard, gaussian_mixture])
def test_two_points_are_enough_for_two_classes_and_one_is_not(make):
    assert set(make(2, rng=0).y) == {-1, 1}
    with pytest.raises(ValueError, match=">= 2"):
        make(1, rng=0)


@pytest.mark.parametrize("make", TWO_CLASSES)
def test_the_classes_come_in_random_order(make):
    changes = np.sum(np.diff(make(400, rng=0).y) != 0)
    assert 150 < changes < 250  # 1 if sorted, 399 if alternating


def test_moons_are_half_circles():
    X, y = two_moons(60, noise=0, rng=0)
    upper, lower = X[y == 1], X[y == -1]
    np.testing.assert_allclose(np.linalg.norm(upper, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(lower - [1.0, 0.5], axis=1), 1)
    assert upper[:, 1].min() >= 0
    assert lower[:, 1].max() <= 0.5


def test_noise_blurs_the_rings():
    X, y = rings(2000, noise=0.05, rng=0)
    off = np.linalg.norm(X, axis=1) - np.where(y == 1, 1, 2)
    assert 0.045 < off.std() < 0.055


def test_xor_has_four_clouds_and_is_not_linearly_separable():
    X, y = xor(200, noise=0, rng=0)
    _, counts = np.unique(X, axis=0, return_counts=True)
    np.testing.assert_array_equal(counts, 50)
    np.testing.assert_array_equal(y, -np.sign(X[:, 0] * X[:, 1]))
    with pytest.raises(ValueError, match=">= 4"):
        xor(3, rng=0)


def test_xor_noise_is_the_standard_deviation_of_a_cloud():
    X, _ = xor(4000, noise=0.1, rng=0)
    assert 0.095 < (X - np.sign(X)).std() < 0.105


@pytest.mark.parametrize("cells", [2, 3, 5])
def test_a_checkerboard_alternates_and_fills_all_its_cells(cells):
    X, y = checkerboard(80 * cells**2, cells=cells, rng=0)
    square = np.floor(X).astype(int)
    np.testing.assert_array_equal(y, np.where(square.sum(axis=1) % 2 == 1, 1, -1))
    assert len(np.unique(square, axis=0)) == cells**2
    assert X.min() >= 0
    assert X.max() <= cells


@pytest.mark.parametrize(("cells", "error"), [(1, ValueError), (2.0, TypeError)])
def test_a_board_of_one_cell_is_refused(cells, error):
    with pytest.raises(error, match="cells"):
        checkerboard(10, cells=cells, rng=0)


# --- the mixture of Gaussians


def test_bayes_log_odds_are_those_of_the_two_densities():
    mixture = gaussian_mixture(20, rng=0)
    Z = np.random.default_rng(1).normal(size=(7, 2))

    def density(means):
        return np.mean([stats.multivariate_normal(m, np.eye(2) / 5).pdf(Z) for m in means], axis=0)

    expected = np.log(density(mixture.means_plus)) - np.log(density(mixture.means_minus))
    np.testing.assert_allclose(mixture.bayes_log_odds(Z), expected)
    np.testing.assert_array_equal(mixture.bayes_label(Z), np.sign(expected))


def test_bayes_log_odds_stay_finite_far_away():
    odds = gaussian_mixture(20, rng=0).bayes_log_odds([[1e3, -1e3], [-1e3, 1e3]])
    assert np.isfinite(odds).all()


def test_the_points_follow_the_mixture():
    mixture = gaussian_mixture(20, rng=0).sample(4000, rng=1)
    for label, means in ((1, mixture.means_plus), (-1, mixture.means_minus)):
        X = mixture.X[mixture.y == label]
        spread = means.var(axis=0) + 1 / 5
        np.testing.assert_allclose(X.mean(axis=0), means.mean(axis=0), atol=4 * np.sqrt(spread.max() / len(X)))
        np.testing.assert_allclose(X.var(axis=0), spread, rtol=0.15)


def test_the_means_are_centred_at_the_two_corners():
    mixtures = [gaussian_mixture(2, rng=seed) for seed in range(200)]
    np.testing.assert_allclose(np.mean([m.means_plus for m in mixtures], axis=(0, 1)), [1, 0], atol=0.1)
    np.testing.assert_allclose(np.mean([m.means_minus for m in mixtures], axis=(0, 1)), [0, 1], atol=0.1)


def test_no_rule_beats_bayes_on_a_large_test_set():
    mixture = gaussian_mixture(200, rng=0)
    test = mixture.sample(5000, rng=1)
    nearest_centre = np.where(test.X[:, 0] > test.X[:, 1], 1, -1)
    bayes = np.mean(mixture.bayes_label(test.X) != test.y)
    assert bayes < np.mean(nearest_centre != test.y)


def test_a_new_sample_keeps_the_means_and_draws_new_points():
    mixture = gaussian_mixture(20, rng=0)
    other = mixture.sample(20, rng=1)
    np.testing.assert_array_equal(other.means_plus, mixture.means_plus)
    assert not np.isclose(other.X, mixture.X).any()


def test_the_bayes_rule_wants_points_of_the_plane():
    with pytest.raises(ValueError, match="2 columns"):
        gaussian_mixture(4, rng=0).bayes_log_odds(np.zeros((3, 1)))


# --- chimeras


def test_all_chimeras_are_there_once():
    chimeras = p450_chimeras(rng=0)
    assert len(set(chimeras.sequences)) == len(chimeras.t) == 3**8
    assert set("".join(chimeras.sequences)) == set("123")
    assert {len(sequence) for sequence in chimeras.sequences} == {8}


def test_a_sample_has_no_chimera_twice_and_is_measured_with_noise():
    chimeras = p450_chimeras(2000, noise=0.5, rng=0)
    assert len(set(chimeras.sequences)) == 2000
    residual = chimeras.t - chimeras.truth(chimeras.sequences)
    assert stats.kstest(residual / 0.5, "norm").pvalue > 1e-3


def test_more_chimeras_than_there_are_is_refused():
    with pytest.raises(ValueError, match="6561"):
        p450_chimeras(6562, rng=0)


def one_hot(sequences):
    return np.array([[block == parent for block in s for parent in "123"] for s in sequences], dtype=float)


def test_blocks_add_up_once_the_stated_pairs_are_told():
    chimeras = p450_chimeras(noise=0)
    blocks = one_hot(chimeras.sequences)

    def unexplained(Phi):
        w = np.linalg.lstsq(Phi, chimeras.t, rcond=None)[0]
        return np.std(chimeras.t - Phi @ w)

    broken = np.array([[s[i] != s[j] for i, j in chimeras.interacting] for s in chimeras.sequences], dtype=float)
    assert unexplained(blocks) > 1
    assert unexplained(np.column_stack([blocks, broken])) < 1e-9
    for left_out in range(len(chimeras.interacting)):  # each of the stated pairs matters
        assert unexplained(np.column_stack([blocks, np.delete(broken, left_out, axis=1)])) > 0.5


def test_some_chimera_beats_every_parent():
    chimeras = p450_chimeras(noise=0)
    parents = chimeras.truth(list(chimeras.parents.values()))
    assert chimeras.t.max() > parents.max() + 2


def test_parents_have_all_their_blocks_from_one():
    assert list(p450_chimeras(3, rng=0).parents.values()) == ["1" * 8, "2" * 8, "3" * 8]


def test_chimeras_say_that_they_are_simulated():
    assert p450_chimeras(3, rng=0).origin == "simulated"
    assert "simulated" in p450_chimeras.__doc__


@pytest.mark.parametrize("bad", [["1231"], ["12312314"], [12312312]])
def test_bad_sequences_are_refused(bad):
    with pytest.raises(ValueError, match="eight digits"):
        p450_chimeras(3, rng=0).truth(bad)


def test_a_single_sequence_is_not_taken_for_eight():
    with pytest.raises(TypeError, match="list of strings"):
        p450_chimeras(3, rng=0).truth("12312312")


# --- texts and graphs


def test_texts_are_forty_different_documents_in_four_equal_topics():
    texts = small_texts()
    assert len(set(texts.documents)) == 40
    np.testing.assert_array_equal(np.bincount(texts.y), [10] * 4)
    assert all(12 <= len(document.split()) <= 30 for document in texts.documents)
    assert "oven" in " ".join(
        d for d, topic in zip(texts.documents, texts.y, strict=True) if texts.names[topic] == "cooking"
    )


def test_topics_can_be_told_apart_by_their_words():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.model_selection import cross_val_score
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    texts = small_texts()
    classifier = make_pipeline(TfidfVectorizer(stop_words="english"), MultinomialNB(alpha=0.1))
    accuracy = cross_val_score(classifier, texts.documents, texts.y, cv=5).mean()
    assert accuracy > 0.7


@pytest.mark.parametrize(
    ("word", "topics"),
    [
        ("captain", {"sailing", "football"}),
        ("galley", {"cooking", "sailing"}),
        ("star", {"sailing", "astronomy", "football"}),
    ],
)
def test_some_words_belong_to_several_topics(word, topics):
    texts = small_texts()
    pairs = zip(texts.documents, texts.y, strict=True)
    found = {texts.names[y] for document, y in pairs if re.search(rf"\b{word}\b", document)}
    assert found == topics


@settings(max_examples=20, deadline=None)
@given(n=st.integers(3, 12), seed=st.integers(0, 2**31))
def test_every_graph_has_the_shape_of_its_class(n, seed):
    graphs, y, names = small_graphs(n, rng=seed)
    assert len(graphs) == len(y) == n
    counts = np.bincount(y)
    assert len(counts) == len(names) == 3
    assert np.ptp(counts) <= 1
    for graph, shape in zip(graphs, y, strict=True):
        G = networkx.from_numpy_array(graph.adjacency)
        m = len(G)
        np.testing.assert_array_equal(graph.adjacency, graph.adjacency.T)
        assert set(np.unique(graph.adjacency)) == {0, 1}
        assert 6 <= m <= 10
        assert len(graph.labels) == m
        assert set(graph.labels) <= set("CNO")
        assert networkx.is_connected(G)
        largest_clique = max(len(clique) for clique in networkx.find_cliques(G))
        if names[shape] == "ring":
            assert set(dict(G.degree).values()) == {2}
        elif names[shape] == "tree":
            assert networkx.is_tree(G)
        else:
            assert largest_clique == m // 2 + 1
            assert min(dict(G.degree).values()) == 1
            assert G.number_of_edges() == largest_clique * (largest_clique - 1) // 2 + m - largest_clique


def test_nodes_come_in_random_order():
    graphs, y, _ = small_graphs(60, rng=0)
    rings_ = [graph.adjacency for graph, shape in zip(graphs, y, strict=True) if shape == 0]
    assert not all(np.diag(A, 1).all() for A in rings_)


def test_two_graphs_cannot_show_three_classes():
    with pytest.raises(ValueError, match=">= 3"):
        small_graphs(2, rng=0)
