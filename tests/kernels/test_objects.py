"""Kernels on sets, strings, texts and graphs: compared with enumeration and their features, and misused."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations, pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from kernelcourse._engine import gram
from kernelcourse.datasets import p450_chimeras, small_graphs, small_texts
from kernelcourse.gram import is_psd
from kernelcourse.kernels.counts import CountKernel, distinct, symbols
from kernelcourse.kernels.graphs import ShortestPath, WeisfeilerLehman
from kernelcourse.kernels.kernel import InvalidKernel, NoFiniteFeatureMap
from kernelcourse.kernels.sets import Intersection, Subset
from kernelcourse.kernels.strings import Hamming, Positions, Spectrum, Subsequence, gap_weighted
from kernelcourse.kernels.text import BagOfWords, TfIdf, words
from kernelcourse.seam import engine

SETS = st.frozensets(st.integers(0, 5))
STRINGS = st.text("abc", max_size=6)
ALIGNED = st.text("abc", min_size=4, max_size=4)
TEXTS = st.text("ab '.", max_size=12)


@st.composite
def graphs(draw):
    m = draw(st.integers(1, 5))
    edges = [pair for pair in combinations(range(m), 2) if draw(st.booleans())]
    return adjacency(m, edges), tuple(draw(st.lists(st.sampled_from("CNO"), min_size=m, max_size=m)))


GRAPHS = graphs()


@cache
def lists_of(objects):
    """Lists of objects chosen by hypothesis: once for all kernels, since drawing takes longer than checking laws."""
    drawn = []

    @given(st.lists(objects, min_size=1, max_size=6))
    def draw(X):
        drawn.append(X)

    draw()
    return drawn


def adjacency(m, edges):
    A = np.zeros((m, m), dtype=int)
    for i, j in edges:
        A[i, j] = A[j, i] = 1
    return A


RING = adjacency(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
PATH = adjacency(4, [(0, 1), (1, 2), (2, 3)])
FITTED = TfIdf.fit(["a b", "a a' b'a", "b"])

KERNELS = [
    (Intersection(), SETS),
    (Intersection(universe=range(6)), SETS),
    (Subset(), SETS),
    (Subset(universe=range(6)), SETS),
    (Spectrum(1), STRINGS),
    (Spectrum(2, alphabet="abc"), STRINGS),
    (Subsequence(1, 0.7), STRINGS),
    (Subsequence(3, 0.7, alphabet="cab"), STRINGS),
    (Positions(), ALIGNED),
    (Hamming(0.3), ALIGNED),
    (Hamming(0.3, alphabet="abc"), ALIGNED),
    (Hamming(1.0, alphabet="abc"), ALIGNED),
    (BagOfWords(), TEXTS),
    (BagOfWords(vocabulary=["ab", "b"]), TEXTS),
    (FITTED, TEXTS),
    (TfIdf({"a": 2.0, "b": 0.0}), TEXTS),
    (WeisfeilerLehman(0), GRAPHS),
    (WeisfeilerLehman(3), GRAPHS),
    (ShortestPath(), GRAPHS),
]
FINITE = [
    case for case in KERNELS if any(getattr(case[0], field, None) for field in ("universe", "alphabet", "vocabulary"))
] + [(FITTED, TEXTS)]
name = lambda case: repr(case[0])[:60] if isinstance(case, tuple) else None  # noqa: E731


# --- laws


@pytest.mark.parametrize("case", KERNELS, ids=name)
def test_gram_matrices_are_symmetric_psd_and_agree_with_single_values(case):
    k, objects = case
    for X in lists_of(objects):
        K = k(X)
        assert np.array_equal(K, K.T)
        assert is_psd(K, tol=1e-9)
        np.testing.assert_allclose(k.diag(X), np.diag(K), rtol=1e-12)
        singly = [[k([x], [z])[0, 0] for z in X] for x in X]
        np.testing.assert_allclose(K, singly, rtol=1e-12)


@pytest.mark.parametrize("case", FINITE, ids=name)
def test_features_give_the_kernel(case):
    k, objects = case
    for X, Z in pairwise(lists_of(objects)):
        np.testing.assert_allclose(k.features(X) @ k.features(Z).T, k(X, Z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("k", [k for k, _ in KERNELS], ids=repr)
def test_the_printed_form_is_the_kernel(k):
    assert eval(repr(k)) == k
    assert hash(eval(repr(k))) == hash(k)
    assert not k.is_stationary
    assert not k.is_radial


@pytest.mark.parametrize("k", [k for k, _ in KERNELS], ids=repr)
def test_latex_is_the_kernels_own(k):
    formula = k.latex("P", "Q")
    assert "operatorname" not in formula
    assert "P" in formula
    assert "Q" in formula
    assert formula.count("{") == formula.count("}")


def test_a_sum_is_bracketed_inside_a_product_only():
    spectrum = r"\sum_{u \in \mathcal{A}^{2}} \#_u(x)\, \#_u(x')"
    assert (Spectrum(2) * Hamming(0.5)).latex().startswith(rf"\left({spectrum}\right) \cdot 0.5^")
    assert (Spectrum(2) + Hamming(0.5)).latex().startswith(rf"{spectrum} + 0.5^")


# --- counting


class Letters(CountKernel):
    def counts(self, obj):
        return Counter(obj)


@given(X=st.lists(STRINGS, min_size=1, max_size=5), Z=st.lists(STRINGS, min_size=1, max_size=5))
def test_one_sparse_product_equals_the_double_loop(X, Z):
    pairwise = [[sum(Counter(x)[u] * Counter(z)[u] for u in "abc") for z in Z] for x in X]
    assert np.array_equal(Letters()(X, Z), pairwise)


def test_gram_matrices_are_symmetric_to_the_last_digit_whatever_the_order_of_the_parts():
    rng = np.random.default_rng(0)
    k = TfIdf({f"w{i}": weight for i, weight in enumerate(rng.random(30))})
    K = k([" ".join(f"w{i}" for i in rng.permutation(30)) for _ in range(10)])
    assert np.array_equal(K, K.T)


def test_a_field_vocabulary_is_all_that_a_new_kernel_needs_for_features():
    @dataclass(frozen=True)
    class ChosenLetters(Letters):
        vocabulary: tuple[str, ...] | None = None

    k = ChosenLetters(vocabulary=("n", "z", "a"))
    assert np.array_equal(k.features(["banana"]), [[2, 0, 3]])
    assert np.array_equal(k(["banana"]), [[13]])
    with pytest.raises(NoFiniteFeatureMap, match="infinitely many parts"):
        Letters().features(["banana"])


def test_counts_that_are_no_mapping_are_refused():
    class Forgetful(CountKernel):
        def counts(self, obj):
            return list(obj)

    with pytest.raises(TypeError, match=r"X\[0\]: counts\(\) must return a Counter"):
        Forgetful()(["ab"])


@pytest.mark.parametrize("case", [case for case in KERNELS if isinstance(case[0], CountKernel)], ids=name)
@pytest.mark.engine_only  # it sets the engine's state itself
def test_few_counts_and_many_give_the_same(case, monkeypatch):
    k, objects = case
    for X in lists_of(objects):
        found = []
        for state, sparse in (("off", 0), ("on", np.inf), ("on", 0)):  # by the definition; always dense, never
            monkeypatch.setattr(gram, "SPARSE", sparse)
            with engine(state):
                found.append((k(X), k(X, X[:2])))
            np.testing.assert_array_equal(found[-1][0], found[-1][0].T)
        for plain, many, few in zip(*found, strict=True):
            np.testing.assert_allclose(many, plain, rtol=1e-13)
            np.testing.assert_allclose(few, plain, rtol=1e-13)


@pytest.mark.engine_only
def test_weights_in_any_order_give_an_exactly_symmetric_matrix(monkeypatch, rng):
    class Weighted(CountKernel):
        def counts(self, obj):
            return obj

    objects = [{int(part): rng.normal() for part in rng.permutation(40)[:20]} for _ in range(60)]
    monkeypatch.setattr(gram, "SPARSE", 0)
    with engine("always"):
        K = Weighted()(objects)
    np.testing.assert_array_equal(K, K.T)


def test_counts_of_nothing_give_zero():
    assert np.array_equal(Spectrum(3)(["ab", ""], ["abc"]), [[0], [0]])
    assert np.array_equal(Spectrum(3)(["ab", ""]), np.zeros((2, 2)))
    assert np.array_equal(Spectrum(3).normalized()(["ab", "abc"]), [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("k", "how"),
    [
        (Subset(), r"Subset\(universe=\[...\]\)"),
        (Intersection(), r"Intersection\(universe=\[...\]\)"),
        (Spectrum(3), r"Spectrum\(size=3, alphabet=\[...\]\)"),
        (Subsequence(2, 0.5), r"Subsequence\(size=2, decay=0.5, alphabet=\[...\]\)"),
        (Positions(), r"Positions\(alphabet=\[...\]\)"),
        (Hamming(0.5), r"Hamming\(decay=0.5, alphabet=\[...\]\)"),
        (BagOfWords(), r"BagOfWords\(vocabulary=\[...\]\)"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_without_a_stated_list_there_are_no_features_and_the_error_says_how_to_state_it(k, how):
    X = [["a"]] if isinstance(k, (Subset, Intersection)) else ["a"]
    with pytest.raises(NoFiniteFeatureMap, match=how):
        k.features(X)


@pytest.mark.parametrize("k", [WeisfeilerLehman(2), ShortestPath()], ids=repr)
def test_graph_kernels_have_no_finite_features(k):
    with pytest.raises(NoFiniteFeatureMap, match="infinitely many parts"):
        k.features([RING])


@pytest.mark.parametrize(
    ("k", "X"),
    [
        (Subset(universe=range(17)), [{1}]),
        (Spectrum(4, alphabet=range(17)), [[1]]),
        (Subsequence(4, 0.5, alphabet=range(17)), [[1]]),
        (Hamming(0.5, alphabet="123"), ["123123123"]),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_feature_maps_too_long_to_write_down_are_refused_but_the_kernel_is_not(k, X):
    with pytest.raises(ValueError, match="features, more than 65,536"):
        k.features(X)
    assert k(X).shape == (1, 1)


# --- sets


@given(A=SETS, B=SETS)
def test_the_subset_kernel_counts_common_subsets(A, B):
    def subsets(S):
        return set(map(frozenset, chain.from_iterable(combinations(sorted(S), r) for r in range(len(S) + 1))))

    assert Subset()([A], [B])[0, 0] == len(subsets(A) & subsets(B))
    assert Intersection()([A], [B])[0, 0] == len(A & B)


@given(X=st.lists(SETS, min_size=1, max_size=4))
def test_the_subset_kernel_follows_from_the_rules(X):
    np.testing.assert_allclose((np.log(2) * Intersection()).exp()(X), Subset()(X), rtol=1e-12)


@given(A=SETS)
def test_columns_of_the_subset_features_are_binary_numbers(A):
    universe = [3, 0, 5, 1, 4, 2]
    (phi,) = Subset(universe=universe).features([A])
    for j, value in enumerate(phi):
        U = {element for i, element in enumerate(universe) if j >> i & 1}
        assert value == (A >= U)


def test_lists_tuples_and_arrays_are_read_as_sets():
    X = [{1, 2}, [2, 1, 2], (1, 2), np.array([1, 2]), range(1, 3), frozenset({1, 2})]
    assert np.array_equal(Subset()(X), np.full((6, 6), 4.0))


@pytest.mark.filterwarnings("error")
def test_a_power_of_two_beyond_floats_is_an_error_not_a_number():
    assert Subset()([range(1000)])[0, 0] == 2.0**1000
    with pytest.raises(OverflowError, match=r"at Z\[1\]"):
        Subset()([{1}], [{1}, range(1100)])
    assert Intersection()([range(1100)])[0, 0] == 1100


def test_an_element_outside_the_universe_is_refused():
    with pytest.raises(ValueError, match=r"Z\[1\]: 7 is not in the universe \[1, 2\]"):
        Subset(universe=[1, 2])([{1}], [{2}, {1, 7}])


def test_a_universe_keeps_its_order_and_a_set_is_sorted():
    assert Subset(universe=["b", "a"]).universe == ("b", "a")
    assert Subset(universe={10, 9, 1}).universe == (1, 9, 10)
    assert distinct({"a", 1, "b"}, "universe") == ("a", "b", 1)  # by their printed form if they cannot be compared
    assert repr(Subset(universe=np.array([2, 1]))) == "Subset(universe=(2, 1))"


@pytest.mark.parametrize(
    ("universe", "error", "message"),
    [
        ([1, 2, 1], ValueError, "universe must hold different values, but 1 appears twice"),
        ([2, 1, 1], ValueError, "but 1 appears twice"),
        ([], ValueError, "universe is empty"),
        ("abc", TypeError, "universe must be a list, got str 'abc'"),
        (3, TypeError, "universe must be a list, got int 3"),
        ([[1], [2]], TypeError, r"universe: list \[1\] cannot be counted"),
        ([1.0, float("nan")], ValueError, "universe: NaN cannot be counted"),
    ],
)
def test_a_universe_that_is_none_is_refused(universe, error, message):
    with pytest.raises(error, match=message):
        Subset(universe=universe)


# --- strings


@given(s=STRINGS, t=STRINGS, p=st.integers(1, 4))
def test_the_spectrum_kernel_counts_pairs_of_equal_substrings(s, t, p):
    pairs = product(range(len(s) - p + 1), range(len(t) - p + 1))
    assert Spectrum(p)([s], [t])[0, 0] == sum(s[i : i + p] == t[j : j + p] for i, j in pairs)


@given(s=STRINGS, t=STRINGS, p=st.integers(1, 4), decay=st.sampled_from([0.25, 0.6, 1.0]))
def test_the_subsequence_kernel_equals_its_enumeration(s, t, p, decay):
    def weights(s):
        phi = Counter()
        for i in combinations(range(len(s)), p):
            phi["".join(s[j] for j in i)] += decay ** (i[-1] - i[0] + 1)
        return phi

    phi, psi = weights(s), weights(t)
    np.testing.assert_allclose(Subsequence(p, decay)([s], [t])[0, 0], sum(phi[u] * psi[u] for u in phi), rtol=1e-12)


def test_the_subsequence_kernel_of_many_strings_in_blocks_equals_one_by_one():
    rng = np.random.default_rng(0)
    s = rng.integers(4, size=200)
    T = rng.integers(4, size=(150, 20))  # 200 * 150 * 20 cells: several blocks
    together = gap_weighted(s, T, size=3, decay=0.5)
    singly = [gap_weighted(s, T[:, [j]], size=3, decay=0.5)[0] for j in range(20)]
    np.testing.assert_allclose(together, singly, rtol=1e-12)


def test_a_known_value_of_the_subsequence_kernel():
    decay = 0.5  # cat and car share only ca: decay^2 in each
    k = Subsequence(2, decay)
    assert k(["cat"], ["car"])[0, 0] == decay**4
    assert k(["cat"])[0, 0] == 2 * decay**4 + decay**6
    np.testing.assert_allclose(k.normalized()(["cat"], ["car"]), 1 / (2 + decay**2))


@pytest.mark.filterwarnings("error")
def test_subsequences_beyond_floats_are_an_error_not_a_number():
    with pytest.raises(OverflowError, match=r"at X\[0\]"):
        Subsequence(265, 1.0)(["a" * 530])


@given(s=ALIGNED, t=ALIGNED)
def test_aligned_kernels_compare_position_by_position(s, t):
    agree = np.array([a == b for a, b in zip(s, t, strict=True)])
    assert Positions()([s], [t])[0, 0] == agree.sum()
    np.testing.assert_allclose(Hamming(0.3)([s], [t])[0, 0], np.prod(np.where(agree, 1.0, 0.3)))


def test_the_square_of_positions_holds_all_pairs_of_blocks():
    chimeras = p450_chimeras(noise=0, n=400, rng=1)

    def worst_residual(k):
        Phi = np.hstack([np.ones((400, 1)), k.features(chimeras.sequences)])
        w, *_ = np.linalg.lstsq(Phi, chimeras.t, rcond=None)
        return np.abs(Phi @ w - chimeras.t).max()

    k = Positions(alphabet="123")
    assert worst_residual(k) > 0.5  # the stability is not a sum of block effects
    assert worst_residual(k**2) < 1e-8  # but it is a sum of effects of pairs


def test_sequences_are_strings_lists_tuples_arrays_or_rows():
    same = ["121", list("121"), tuple("121"), np.array(list("121"))]
    for k in (Spectrum(2), Subsequence(2, 0.5), Positions(), Hamming(0.5)):
        K = k(same)
        assert np.array_equal(K, np.full((4, 4), K[0, 0]))
    rows = [[1, 2, 1], [2, 2, 1]]
    assert np.array_equal(Positions()(np.array(rows)), [[3, 2], [2, 3]])
    assert np.array_equal(Positions()(pd.DataFrame(rows)), [[3, 2], [2, 3]])
    assert np.array_equal(Positions()(np.array(rows), rows), [[3, 2], [2, 3]])


def test_an_alphabet_prints_as_a_string_where_it_can():
    assert Spectrum(2, alphabet=["a", "b"]) == Spectrum(2, alphabet="ab")
    assert repr(Spectrum(2, alphabet=["a", "b"])) == "Spectrum(size=2, alphabet='ab')"
    assert Spectrum(2, alphabet=["ab", "c"]).alphabet == ("ab", "c")
    assert Spectrum(2, alphabet=[1, 2]).alphabet == (1, 2)
    assert repr(Positions(alphabet=["a", "b"])) == "Positions(alphabet='ab')"
    assert Positions(alphabet=[1, 2]).alphabet == (1, 2)


@pytest.mark.parametrize(
    "k", [Spectrum(2, "ab"), Subsequence(2, 0.5, "ab"), Positions("ab"), Hamming(0.5, "ab")], ids=repr
)
def test_a_symbol_outside_the_alphabet_is_refused(k):
    with pytest.raises(ValueError, match=r"X\[1\]: the symbol 'x' at position 2 is not in the alphabet 'ab'"):
        k(["abab", "abxa"])


@pytest.mark.parametrize("k", [Positions(), Hamming(0.5)], ids=repr)
def test_sequences_that_are_not_aligned_are_refused(k):
    with pytest.raises(ValueError, match=r"X\[0\] has 2 symbols and X\[2\] has 3"):
        k(["ab", "ba", "aba"])
    with pytest.raises(ValueError, match="X has sequences of 2 symbols, but Z has sequences of 3"):
        k(["ab"], ["aba"])
    with pytest.raises(ValueError, match=r"X\[1\]: the sequence is empty"):
        k(["a", ""])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Spectrum(0), ValueError, "size must be a whole number >= 1"),
        (lambda: Spectrum(2.5), TypeError, "size must be a whole number"),
        (lambda: Spectrum(2, alphabet=""), ValueError, "alphabet is empty"),
        (lambda: Spectrum(2, alphabet="aba"), ValueError, "'a' appears twice"),
        (lambda: Subsequence(2, 0), ValueError, "decay must be a finite number > 0"),
        (lambda: Subsequence(2, 1.5), ValueError, r"decay must be in \(0, 1\], got 1.5"),
        (lambda: Subsequence(0.5, 2), ValueError, r"decay must be in \(0, 1\], got 2"),
        (lambda: Hamming(1.1), InvalidKernel, r"decay must be in \(0, 1\], got 1.1"),
        (lambda: Hamming("a"), TypeError, "decay must be a finite number"),
        (lambda: Positions(alphabet="aba"), ValueError, "'a' appears twice"),
    ],
)
def test_parameters_of_string_kernels_are_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_decay_above_one_would_be_no_kernel():
    assert not is_psd([[1.0, 1.1], [1.1, 1.0]])
    assert is_psd(Hamming(1.0)(["a", "b"]))


# --- texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat; the DOG!", ["the", "cat", "the", "dog"]),
        ("don't 'quote' rock'n'roll it’s", ["don't", "quote", "rock'n'roll", "it's"]),
        ("snake_case and-dash 3.14", ["snake", "case", "and", "dash", "3", "14"]),
        ("Ελληνικά Cafe\u0301 Caf\u00e9", ["ελληνικά", "caf\u00e9", "caf\u00e9"]),
        ("", []),
        (" ... ", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def test_bag_of_words_equals_scikit_learns():
    documents = small_texts().documents
    C = CountVectorizer(tokenizer=words, token_pattern=None).fit_transform(documents).toarray()
    assert np.array_equal(BagOfWords()(documents), C @ C.T)


def test_tf_idf_equals_scikit_learns_on_old_and_new_documents():
    documents = small_texts().documents
    train, new = documents[::2], documents[1::2]
    theirs = TfidfVectorizer(tokenizer=words, token_pattern=None, norm=None).fit(train)
    A, B = theirs.transform(new).toarray(), theirs.transform(train).toarray()
    k = TfIdf.fit(train)
    np.testing.assert_allclose(k(new, train), A @ B.T, rtol=1e-12)
    np.testing.assert_allclose(k(new), A @ A.T, rtol=1e-12)
    np.testing.assert_allclose(k.features(new), A, rtol=1e-12)
    A, B = (M / np.linalg.norm(M, axis=1, keepdims=True) for M in (A, B))
    np.testing.assert_allclose(k.normalized()(new, train), A @ B.T, rtol=1e-12)


def test_tf_idf_is_one_kernel_however_its_weights_are_written():
    k = TfIdf({"b": 1, "a": 2.5})
    assert k == TfIdf([("a", 2.5), ("b", 1.0)])
    assert repr(k) == "TfIdf(idf={'a': 2.5, 'b': 1.0})"


def test_a_vocabulary_limits_what_is_counted():
    k = BagOfWords(vocabulary=["dog", "cat"])
    assert np.array_equal(k.features(["cat dog cat bird"]), [[1, 2]])
    assert np.array_equal(k(["bird cat"], ["bird"]), [[0]])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: BagOfWords(vocabulary="the cat"), TypeError, "vocabulary must be a list"),
        (
            lambda: BagOfWords(vocabulary=["cat", "Dog"]),
            ValueError,
            r"vocabulary\[1\] must be one word, got 'Dog'.*'dog'",
        ),
        (lambda: BagOfWords(vocabulary=["hot dog"]), ValueError, r"vocabulary\[0\] must be one word"),
        (lambda: BagOfWords(vocabulary=[1]), TypeError, r"vocabulary\[0\] must be a word, got 1"),
        (lambda: TfIdf(3), TypeError, "idf must map words to weights, got 3"),
        (lambda: TfIdf({}), ValueError, "idf is empty"),
        (lambda: TfIdf({"a": -1.0}), ValueError, r"idf\['a'\] must be a finite number >= 0"),
        (lambda: TfIdf({"A": 1.0}), ValueError, "each key of idf must be one word"),
        (lambda: TfIdf.fit("one text"), TypeError, "documents must be a list of objects, got str"),
        (lambda: TfIdf.fit(["one", None]), TypeError, r"documents\[1\]: expected a text, got NoneType"),
        (lambda: TfIdf.fit(["...", ""]), ValueError, "documents contain no words"),
    ],
)
def test_parameters_of_text_kernels_are_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


# --- graphs

GRAPH_KERNELS = [WeisfeilerLehman(0), WeisfeilerLehman(1), WeisfeilerLehman(6), ShortestPath()]


def subtree(graph, node, height):
    """The labels met along the way down, as nested tuples: what the compressed label of a node stands for."""
    A, labels = graph
    below = [] if height == 0 else [subtree(graph, j, height - 1) for j in np.flatnonzero(A[node])]
    return labels[node], height, tuple(sorted(below))


@given(G=graphs(), H=graphs())
def test_weisfeiler_lehman_counts_pairs_of_equal_subtrees(G, H):
    pairs = [subtree(G, u, h) == subtree(H, v, h) for h in range(5) for u in range(len(G[1])) for v in range(len(H[1]))]
    assert WeisfeilerLehman(4)([G], [H])[0, 0] == sum(pairs)


@given(G=graphs(), H=graphs())
def test_shortest_path_equals_a_count_with_networkx(G, H):
    def paths(graph):
        A, labels = graph
        lengths = dict(nx.all_pairs_shortest_path_length(nx.from_numpy_array(A)))
        reached = ((u, v) for u, v in combinations(range(len(labels)), 2) if v in lengths[u])
        return Counter((frozenset([labels[u], labels[v]]), lengths[u][v]) for u, v in reached)

    a, b = paths(G), paths(H)
    assert ShortestPath()([G], [H])[0, 0] == sum(a[path] * b[path] for path in a)


@pytest.mark.parametrize("k", GRAPH_KERNELS, ids=repr)
@given(G=graphs(), H=graphs(), data=st.data())
def test_the_numbering_of_the_nodes_does_not_matter(k, G, H, data):
    order = data.draw(st.permutations(range(len(G[1]))))
    renumbered = G[0][np.ix_(order, order)], [G[1][i] for i in order]
    assert np.array_equal(k([renumbered], [G, H]), k([G], [G, H]))
    assert len(set(k([G, renumbered]).ravel())) == 1


@pytest.mark.parametrize("k", GRAPH_KERNELS, ids=repr)
def test_all_ways_to_write_a_graph_agree(k):
    chosen = small_graphs(6, rng=0).graphs
    as_networkx = [nx.from_numpy_array(graph.adjacency) for graph in chosen]
    for G, graph in zip(as_networkx, chosen, strict=True):
        nx.set_node_attributes(G, dict(enumerate(graph.labels)), "label")
    K = k(chosen)
    for others in (
        as_networkx,
        [tuple(g) for g in chosen],
        [[g.adjacency.tolist(), "".join(g.labels)] for g in chosen],
    ):
        assert np.array_equal(k(others), K)
        assert np.array_equal(k(chosen, others), K)


@pytest.mark.parametrize("k", GRAPH_KERNELS, ids=repr)
def test_without_labels_all_nodes_are_alike(k):
    alike = [RING, RING.tolist(), RING.astype(bool), nx.cycle_graph(4), nx.cycle_graph("abcd"), (RING, [None] * 4)]
    assert len(set(k(alike).ravel())) == 1
    K = k(np.array([RING, PATH]))
    assert K.shape == (2, 2)
    assert np.array_equal(K, k([RING, PATH]))
    assert k([[[0, 1], [1, 0]]])[0, 0] > 0  # two nodes: an adjacency matrix, not a pair of adjacency and labels


def test_weisfeiler_lehman_tells_ring_from_path_and_not_two_triangles_from_a_hexagon():
    k = WeisfeilerLehman(3)
    ring_and_path = k.normalized()([RING, PATH])
    assert ring_and_path[0, 1] < 0.9
    hexagon, triangles = nx.cycle_graph(6), nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert len(set(k([hexagon, triangles]).ravel())) == 1
    assert len(set(ShortestPath()([hexagon, triangles]).ravel())) > 1


def test_depth_zero_compares_the_labels_alone():
    assert WeisfeilerLehman(0)([(RING, "aabb")], [(PATH, "abbb")])[0, 0] == 2 * 1 + 2 * 3


def test_long_labels_keep_different_surroundings_apart():
    k = WeisfeilerLehman(1)
    star = adjacency(10, [(0, i) for i in range(1, 10)])
    long = ["center"] + ["a very long label, longer than a name may be"] * 8
    one, other = (star, [*long, "x"]), (star, [*long, "y"])
    assert max(map(len, k.counts(one))) < 80
    assert k([one], [one])[0, 0] - k([one], [other])[0, 0] == 3  # the leaf x, the leaf x at the centre, the centre
    assert np.array_equal(k([one]), k([one], [(star, [*long, "x"])]))


@pytest.mark.parametrize("k", GRAPH_KERNELS, ids=repr)
def test_equal_labels_are_equal_whatever_their_type(k):
    ways = [[1, 2, 1, 2], [1.0, 2.0, 1.0, 2.0], np.array([1, 2, 1, 2]), [True, 2, True, 2]]
    assert len(set(k([(RING, labels) for labels in ways]).ravel())) == 1
    other = [["1", "2", "1", "2"], [1.5, 2.5, 1.5, 2.5], [(1, "a"), (2, "a"), (1, "a"), (2, "a")]]
    assert not k([(RING, [1, 2, 1, 2])], [(RING, labels) for labels in other]).any()


def test_a_label_cannot_pass_for_a_refined_one():
    lonely = np.zeros((1, 1))
    assert WeisfeilerLehman(1)([(lonely, ["a"])], [(lonely, ["'a'()"])])[0, 0] == 0


@pytest.mark.parametrize("k", [WeisfeilerLehman(2), ShortestPath()], ids=repr)
@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.ones((2, 3)), ValueError, r"must be square, got shape \(2, 3\)"),
        ([0, 1], ValueError, r"must be square, got shape \(2,\)"),
        (np.array([[0, 1], [0, 0]]), ValueError, "there is an edge from 0 to 1 and none back"),
        (nx.DiGraph([("a", "b")]), ValueError, "there is an edge from 0 to 1 and none back"),
        (np.array([[0, np.nan], [np.nan, 0]]), ValueError, "the adjacency matrix contains NaN"),
        (np.array([[0, 0.5], [0.5, 0]]), ValueError, r"must be 0 or 1.*, got 0.5 at \[0, 1\]"),
        (nx.Graph(), ValueError, "the graph is empty"),
        (np.zeros((0, 0)), ValueError, "the graph is empty"),
        ((RING, ["a"]), ValueError, "the graph has 4 nodes, but 1 labels"),
        ((RING, 3), TypeError, "expected a string or a list of symbols, got int 3"),
        ((RING, [1, 2, 3, float("nan")]), ValueError, "NaN cannot be counted"),
        ((RING, [1, 2, 3, [4]]), TypeError, r"list \[4\] cannot be counted"),
        ((RING, [1, 2, 3, 4j]), TypeError, "a label must be a string, a number or a tuple of these, got complex"),
        ("graph", ValueError, "the adjacency matrix must hold numbers"),
    ],
    ids=lambda value: str(value)[:20].replace("\n", ""),
)
def test_what_is_no_graph_is_refused_with_its_place(k, graph, error, message):
    with pytest.raises(error, match=r"Z\[1\]: .*" + message):
        k([RING], [RING, graph])


@pytest.mark.parametrize("graph", [RING, nx.cycle_graph(4), small_graphs(3, rng=0).graphs[0]], ids=type)
def test_one_graph_is_no_list_of_graphs(graph):
    with pytest.raises(TypeError, match=r"X must be a list of graphs, got one .*: pass \[X\]"):
        WeisfeilerLehman(1)(graph)


def test_depth_is_checked():
    with pytest.raises(ValueError, match="depth must be a whole number >= 0"):
        WeisfeilerLehman(-1)
    with pytest.raises(TypeError, match="depth must be a whole number"):
        WeisfeilerLehman(1.5)


# --- misuse that all share


@pytest.mark.parametrize("k", [k for k, _ in KERNELS], ids=repr)
@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([], ValueError, "X is empty"),
        ("abab", TypeError, "X must be a list of objects, got str 'abab'"),
        (b"abab", TypeError, "X must be a list of objects, got bytes"),
        (3, TypeError, "X must be a list of objects, got int 3"),
        (None, TypeError, "X must be a list of objects, got NoneType"),
        ({"a": "ab"}, TypeError, "X must be a list of objects, got dict"),
        ({"ab"}, TypeError, "X must be a list of objects, got set"),
        (np.array(3.0), TypeError, "X must be a list of objects, got ndarray"),
        ([3], (TypeError, ValueError), r"X\[0\]: "),
        ([None], (TypeError, ValueError), r"X\[0\]: "),
        ([float("nan")], (TypeError, ValueError), r"X\[0\]: "),
        ([b"abab"], (TypeError, ValueError), r"X\[0\]: "),
        ([{"a": 1}], (TypeError, ValueError), r"X\[0\]: "),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_list_of_objects_is_refused(k, X, error, message):
    for use in (k, k.diag, k.features):
        with pytest.raises(error, match=message):
            use(X)


@pytest.mark.parametrize(
    ("k", "X", "message"),
    [
        (Subset(), [{1}, "ab"], r"X\[1\]: expected a set, got str 'ab'"),
        (Subset(), [{1}, [[2]]], r"X\[1\]: list \[2\] cannot be counted"),
        (Subset(), [{1}, [float("nan")]], r"X\[1\]: NaN cannot be counted"),
        (Spectrum(1), ["a", {"a"}], r"X\[1\]: expected a string or a list of symbols, got set"),
        (Hamming(0.5), [["a"], [["a"]]], r"X\[1\]: list \['a'\] cannot be counted"),
        (Hamming(0.5), np.array([[1.0], [np.nan]]), r"X\[1\]: NaN cannot be counted"),
        (BagOfWords(), ["a", ["a"]], r"X\[1\]: expected a text, got list"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_an_object_of_the_wrong_kind_is_named(k, X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        k(X)


def test_a_column_of_a_data_frame_is_a_list():
    frame = pd.DataFrame({"text": ["a b", "b"]})
    assert np.array_equal(BagOfWords()(frame["text"]), [[2, 1], [1, 1]])
    with pytest.raises(TypeError, match=r"X\[0\]: expected a text, got ndarray"):
        BagOfWords()(frame)


def test_a_string_among_them_excuses_no_other_symbol():
    with pytest.raises(ValueError, match="NaN cannot be counted"):
        symbols(["a", float("nan")])
    with pytest.raises(TypeError, match="not hashable"):
        symbols(["a", [1]])
    assert symbols(["a", np.int64(3)]) == ("a", 3) and type(symbols(["a", np.int64(3)])[1]) is int


@pytest.mark.parametrize("k", [WeisfeilerLehman(1), ShortestPath()], ids=repr)
def test_weights_of_edges_are_refused_wherever_they_stand(k):
    G = nx.Graph()
    G.add_edge("a", "b", weight=2.5)
    for graph in (G, [[0.0, 2.5], [2.5, 0.0]]):
        with pytest.raises(ValueError, match=r"X\[0\]: .*edges have no weights\), got 2.5 at \[0, 1\]"):
            k([graph])
