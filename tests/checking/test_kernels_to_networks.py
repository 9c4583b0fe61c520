"""Correct answers computed in other ways pass the checks of assignment 10."""

import numpy as np
import pytest

from kernelcourse.checking import CheckFailed, Passed, kernels_to_networks


def pool_by_loop(X, W, v):
    def sign(z):
        return 1 if z >= 0 else -1

    return [sign(sum(v_j * sign(w @ x) for v_j, w in zip(v, W, strict=True))) for x in X]


def nand_and_or():
    return [[-1, -1, 1], [1, 1, 1], [0, 0, -1]], [2, 2, 3]


def one_unit_for_each_corner():
    return [[1, -1, -1], [-1, 1, -1], [0, 0, 1]], [1, 1, 1]


def softmax_by_rows(Z):
    rows = []
    for z in Z:
        e = np.exp(z - np.max(z))
        rows.append(e / e.sum())
    return rows


def softmax_by_differences(Z):
    with np.errstate(over="ignore"):
        return 1 / np.exp(Z[:, None, :] - Z[:, :, None]).sum(axis=2)


def entropy_by_labels(P, Y):
    return -np.mean(np.log(P[np.arange(len(P)), np.argmax(Y, axis=1)]))


def entropy_with_guarded_logarithm(P, Y):
    return -np.sum(Y * np.log(np.where(Y > 0, P, 1))) / len(Y)


def forward_with_constant_column(X, W1, b1, W2, b2):
    one = np.ones((len(X), 1))
    H = np.tanh(np.hstack([X, one]) @ np.vstack([W1, b1]))
    return H, np.hstack([H, one]) @ np.vstack([W2, b2])


def forward_with_exponentials(X, W1, b1, W2, b2):
    H = 2 / (1 + np.exp(-2 * (X @ W1 + b1))) - 1
    return [H, np.einsum("nm,mk->nk", H, W2) + b2]


def backward_point_by_point(X, Y, W1, b1, W2, b2):
    gradients = [np.zeros(W1.shape), np.zeros(b1.shape), np.zeros(W2.shape), np.zeros(b2.shape)]
    for x, y in zip(X, Y, strict=True):
        h = np.tanh(x @ W1 + b1)
        z = h @ W2 + b2
        e = np.exp(z - z.max())
        delta2 = (e / e.sum() - y) / len(X)
        delta1 = W2 @ delta2 / np.cosh(x @ W1 + b1) ** 2
        for gradient, part in zip(gradients, [np.outer(x, delta1), delta1, np.outer(h, delta2), delta2], strict=True):
            gradient += part
    return gradients


def backward_by_complex_steps(X, Y, W1, b1, W2, b2):
    """The derivative as the imaginary part at a tiny imaginary step: exact up to rounding, without the chain rule."""
    weights = [np.asarray(part, dtype=complex) for part in (W1, b1, W2, b2)]

    def loss():
        Z = np.tanh(X @ weights[0] + weights[1]) @ weights[2] + weights[3]
        Z = Z - Z.real.max(axis=1, keepdims=True)
        return np.sum(np.log(np.exp(Z).sum(axis=1)) - np.sum(Y * Z, axis=1)) / len(X)

    gradients = []
    for part in weights:
        gradient = np.zeros(part.shape)
        for index in np.ndindex(*part.shape):
            part[index] += 1e-30j
            gradient[index] = loss().imag / 1e-30
            part[index] -= 1e-30j
        gradients.append(gradient)
    return tuple(gradients)


def kernel_by_loop(X, Z, W1, b1):
    return [[np.tanh(x @ W1 + b1) @ np.tanh(z @ W1 + b1) for z in Z] for x in X]


def units_that_see_one_input_each():
    return [[1, 0, -2], [0, 3, 0]], [0.5, -1, 2], np.zeros((3, 2)), [0, 0]


def equal_outputs():
    return np.ones((2, 2)), np.zeros(2), np.ones((2, 2)), np.zeros(2)


ROUTES = {
    pool_by_loop: "pool",
    nand_and_or: "xor_network",
    one_unit_for_each_corner: "xor_network",
    softmax_by_rows: "softmax",
    softmax_by_differences: "softmax",
    entropy_by_labels: "cross_entropy",
    entropy_with_guarded_logarithm: "cross_entropy",
    forward_with_constant_column: "forward",
    forward_with_exponentials: "forward",
    backward_point_by_point: "backward",
    backward_by_complex_steps: "backward",
    kernel_by_loop: "learned_kernel",
    units_that_see_one_input_each: "stuck",
    equal_outputs: "stuck",
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("route", "piece"), ROUTES.items(), ids=lambda value: getattr(value, "__name__", value))
def test_another_correct_route_passes(route, piece, seed):
    assert isinstance(kernels_to_networks.checks(seed)(**{piece: route}), Passed)


@pytest.mark.parametrize("claim", ["xor_network", "stuck"])
@pytest.mark.parametrize(
    "junk",
    [
        None,
        3,
        "ab",
        "abcd",
        (),
        ([1], [2]),
        (np.zeros((0, 3)), []),
        (np.ones((2, 2)), [1, 1]),
        (np.ones((2, 3)), [1, 1, 1]),
        (np.ones((11, 3)), np.ones(11)),
        (np.full((2, 3), np.nan), [1, 1]),
        (np.ones((2, 3)), [1, np.inf]),
        ([[10**400] * 3], [1]),
        ([[1j] * 3], [1]),
        ([1], [2], [3], [4]),
        (np.ones((2, 1)), [0], np.zeros((1, 2)), [0, 0]),
        (np.ones((2, 2)), [0, 0], np.zeros((2, 3)), [0, 0]),
        (np.ones((2, 2)), [0, np.nan], np.zeros((2, 2)), [0, 0]),
        (np.full((2, 2), 1e9), [0, 0], np.zeros((2, 2)), [0, 0]),
    ],
    ids=lambda junk: repr(junk)[:40],
)
def test_junk_for_a_claim_is_a_wrong_answer_and_no_crash(claim, junk):
    with pytest.raises(CheckFailed):
        kernels_to_networks.checks(1)(**{claim: lambda: junk})


def test_a_pool_without_constants_cannot_solve_xor():
    rng = np.random.default_rng(0)
    for _ in range(200):
        W = np.column_stack([rng.normal(size=(5, 2)), np.zeros(5)])
        assert kernels_to_networks._verify_xor((W, rng.normal(size=5)))


def test_a_stationary_start_that_solves_xor_is_not_stuck():
    W1, b1 = 20 * np.array([[1.0, -1.0], [1.0, -1.0]]), np.array([20.0, 20.0])  # some +1? some -1?
    W2, b2 = 500 * np.array([[-1.0, 1.0], [-1.0, 1.0]]), np.array([500.0, -500.0])
    assert kernels_to_networks._verify_stuck((W1, b1, W2, b2)) == kernels_to_networks._ALREADY_SOLVED


def test_a_start_has_two_to_twenty_hidden_units():
    for m, said in [(1, kernels_to_networks._START_FORM), (2, ""), (20, ""), (21, kernels_to_networks._START_FORM)]:
        start = np.ones((2, m)), np.zeros(m), np.ones((m, 2)), np.zeros(2)
        assert kernels_to_networks._verify_stuck(start) == said
