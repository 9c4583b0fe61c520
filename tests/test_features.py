"""Explicit feature maps against their definitions and against the kernels that they induce."""

from itertools import pairwise, product
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcourse import (
    Gaussian,
    Polynomial,
    gaussian_basis,
    identity_basis,
    monomial_count,
    monomials,
    polynomial_basis,
    sigmoid_basis,
    truncated_gaussian,
)
from kernelcourse.features import exponents

rng = np.random.default_rng(0)


@given(st.integers(1, 5), st.integers(0, 5))
def test_monomial_count_counts_every_exponent_once(d, p):
    brute = [m for m in product(range(p + 1), repeat=d) if sum(m) <= p]
    assert monomial_count(d, p) == len(brute)
    assert sorted(exponents(d, p)) == sorted(brute)


@given(st.integers(1, 4), st.integers(1, 5), st.floats(0, 2))
def test_monomials_are_the_features_of_the_polynomial_kernel(d, p, offset):
    X = np.random.default_rng(d + 10 * p).uniform(-1, 1, size=(4, d))
    Phi = monomials(X, p, offset=offset)
    np.testing.assert_allclose(Phi @ Phi.T, Polynomial(p, offset=offset)(X), rtol=1e-9, atol=1e-12)
    if offset > 0:
        assert Phi.shape[1] == monomial_count(d, p)


def test_monomials_by_hand_in_two_dimensions():
    x, z = 3.0, 5.0
    r = np.sqrt(2)
    np.testing.assert_allclose(monomials([[x, z]], 2), [[1, r * x, r * z, x**2, r * x * z, z**2]])
    np.testing.assert_allclose(monomials([[x, z]], 2, offset=0.0), [[x**2, r * x * z, z**2]])


def test_the_truncated_gaussian_is_the_lectures_vector_on_the_line():
    x, sigma = 0.7, 1.3
    by_hand = np.exp(-(x**2) / (2 * sigma**2)) * np.array([x**j / (sigma**j * np.sqrt(factorial(j))) for j in range(6)])
    np.testing.assert_allclose(truncated_gaussian([[x]], sigma=sigma, degree=5)[0], by_hand)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_truncated_gaussian_converges_from_below_on_the_diagonal(d, rng):
    X = rng.normal(size=(5, d))
    K = Gaussian(1.2)(X)
    errors, diagonals = [], []
    for degree in (0, 2, 5, 10, 20):
        Phi = truncated_gaussian(X, sigma=1.2, degree=degree)
        errors.append(np.abs(Phi @ Phi.T - K).max())
        diagonals.append((Phi**2).sum(axis=1))
    assert errors[-1] < 1e-7 < errors[0]
    assert all((b >= a - 1e-15).all() for a, b in pairwise(diagonals))
    assert (diagonals[-1] <= 1 + 1e-12).all()


def test_bases_on_the_line():
    x = np.array([-1.0, 0.5])
    np.testing.assert_allclose(polynomial_basis(x, 3), [[1, -1, 1, -1], [1, 0.5, 0.25, 0.125]])
    np.testing.assert_allclose(polynomial_basis(x[:, None], 0), [[1], [1]])
    np.testing.assert_allclose(gaussian_basis(x, [0.0], 2.0), np.exp(-(x[:, None] ** 2) / 8))
    np.testing.assert_allclose(sigmoid_basis(x, [0.25], 0.5), 1 / (1 + np.exp(-(x[:, None] - 0.25) / 0.5)))
    assert sigmoid_basis([1e6, -1e6], [0.0], 1e-3).tolist() == [[1.0], [0.0]]


def test_identity_is_a_copy():
    X = np.ones((2, 2))
    identity_basis(X)[0, 0] = 5
    assert X[0, 0] == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: polynomial_basis([[1.0, 2.0]], 2), "x must be 1-D"),
        (lambda: polynomial_basis([1.0], -1), "degree"),
        (lambda: polynomial_basis([1e200], 3), "too large"),
        (lambda: gaussian_basis([1.0], [0.0], 0.0), "width"),
        (lambda: monomials(np.ones((2, 100)), 8), "too many"),
        (lambda: monomials([[1.0]], 2, offset=-1.0), "offset"),
        (lambda: monomial_count(0, 2), "d must"),
        (lambda: truncated_gaussian([[1e40]], sigma=1.0, degree=10), "too large"),
        (lambda: truncated_gaussian([[1.0]], sigma=0.0, degree=10), "sigma"),
    ],
)
def test_bad_input_is_named(bad, words):
    with pytest.raises((ValueError, OverflowError), match=words):
        bad()
