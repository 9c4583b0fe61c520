"""Assignment 10, from kernels to networks: its pieces and their usual mistakes (lecture H, topics H6, H7 and H9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..algorithms import mlp, softmax
from .cases import Case
from .checks import seeded
from .piece import Claim, Mistake, Piece

_CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
_XOR = np.array([-1.0, 1.0, 1.0, -1.0])  # +1 where the two signs differ


def _pool_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.normal(size=(1, 2)), rng.normal(size=(1, 2)), rng.uniform(0.5, 2, size=1)), "one point, one vote")
    yield Case((np.array([[0, 0]]), np.array([[1, 2]]), np.array([1])), "a point on the line, whole numbers")
    yield Case((np.array([[1, 1], [1, -1]]), np.array([[1, 1], [-1, -1]]), np.array([1, 1])), "votes that cancel")
    yield Case(
        (np.array([[1.0, 1.0]]), np.array([[5.0, 0.0], [-1.0, 0.0], [0.0, -1.0]]), np.ones(3)), "two against one"
    )
    yield Case((_CORNERS, rng.normal(size=(3, 2)), rng.normal(size=3)), "the four corners")
    yield Case((rng.normal(size=(5, 1)), rng.normal(size=(2, 1)), rng.normal(size=2)), "one input")
    yield Case((rng.normal(size=(8, 3)), rng.normal(size=(5, 3)), rng.normal(size=5)))
    yield Case((rng.normal(size=(9, 2)), rng.normal(size=(4, 2)), rng.normal(size=4)))


def _score_cases(rng: np.random.Generator) -> Iterator[Case]:
    yield Case((rng.normal(size=(1, 3)),), "one point")
    yield Case((rng.normal(size=(4, 1)),), "one class")
    yield Case((rng.integers(-3, 4, size=(3, 2)),), "whole numbers")
    yield Case((1000 * rng.permutation(6).reshape(2, 3),), "large scores")
    yield Case((rng.normal(size=(3, 2)) - 1000,), "very negative scores")
    yield Case((rng.normal(size=(5, 4)),))


def _probability_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, n, k in [("one point", 1, 3), ("two classes", 4, 2), ("one class", 2, 1), ("", 6, 4)]:
        Y = np.eye(k, dtype=int)[rng.integers(k, size=n)]
        yield Case((rng.dirichlet(np.full(k, 3.0), size=n), Y), label)
    yield Case((np.array([[1, 0], [0, 1]]), np.array([[1, 0], [0, 1]])), "certain and right, in whole numbers")


def _networks(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, tuple[np.ndarray, ...]]]:
    """Points, and a network with a hidden layer for them."""
    for label, n, d, m, k in [
        ("one point, one input, one hidden unit", 1, 1, 1, 2),
        ("one point", 1, 3, 2, 2),
        ("one hidden unit", 4, 2, 1, 3),
        ("whole numbers", 3, 2, 2, 2),
        ("repeated points", 4, 2, 3, 2),
        ("", 5, 3, 4, 2),
        ("", 7, 2, 3, 3),
    ]:
        X = rng.integers(-2, 3, size=(n, d)) if label == "whole numbers" else rng.normal(size=(n, d))
        if label == "repeated points":
            X = X[[0, 1, 0, 1]]
        shapes = [(d, m), (m,), (m, k), (k,)]
        yield label, X, tuple(rng.normal(size=shape) for shape in shapes)


def _forward_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, X, weights in _networks(rng):
        yield Case((X, *weights), label)


def _backward_cases(rng: np.random.Generator) -> Iterator[Case]:
    for label, X, weights in _networks(rng):
        k = len(weights[-1])
        Y = np.eye(k, dtype=int)[rng.integers(k, size=len(X))]
        yield Case((X, Y, *weights), label)
    W1, b1, W2, b2 = weights
    yield Case((X, Y, W1, b1, 2000 * W2, b2), "large scores")
    yield Case((X, Y, W1, b1, W2, b2 + 1000), "large scores")  # exp overflows for all draws


def _learned_cases(rng: np.random.Generator) -> Iterator[Case]:
    for number, (label, X, (W1, b1, *_)) in enumerate(_networks(rng), start=1):
        yield Case((X, rng.normal(size=(number, X.shape[1])), W1, b1), label)


def _network(W1: Any, b1: Any, W2: Any, b2: Any) -> mlp.Network:
    return mlp.Network([mlp.Layer(W1, b1), mlp.Layer(W2, b2)], activation="tanh")


# Piece 1: perceptrons that pool perceptrons (H6)


def _pool(X: Any, W: Any, v: Any) -> np.ndarray:
    return mlp.pooled_perceptrons(X, W, v)


def zero_is_neither(X, W, v):
    return np.sign(np.sign(X @ W.T) @ v)


def votes_without_sign(X, W, v):
    return np.where((X @ W.T) @ v >= 0, 1.0, -1.0)


_XOR_FORM = (
    "Return two things: W, an array of shape (m, 3) with 1 to 10 perceptrons as its rows, and v, a vector with their m "
    "weights. All entries must be finite."
)
_XOR_TIE = (
    "At one of the corners the votes cancel to exactly 0, and the answer depends on what sign(0) is taken to be. Two "
    "votes of equal weight cancel where they disagree; a third perceptron with the same output everywhere, w = (0, 0, "
    "1), decides."
)
_XOR_WRONG = (
    "At one of the corners the answer is not that of XOR. Build it from two questions: is at least one input +1? Is at "
    "least one input −1? XOR is +1 if both answers are yes, so the vote must be negative if one of them is no."
)


def _xor_network() -> tuple[np.ndarray, np.ndarray]:
    return np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, -1.0])


def _verify_xor(answer: Any) -> str:
    try:
        W, v = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _XOR_FORM
    if W.ndim != 2 or W.shape[1] != 3 or not 1 <= len(W) <= 10 or v.shape != (len(W),):
        return _XOR_FORM
    if not ((np.abs(W) < 1e100).all() and (np.abs(v) < 1e100).all()):
        return _XOR_FORM
    X = np.column_stack([_CORNERS, np.ones(4)])
    votes = np.where(X @ W.T >= 0, 1.0, -1.0) @ v
    if (np.abs(votes) <= 1e-9 * np.abs(v).sum()).any():
        return _XOR_TIE
    return "" if (mlp.pooled_perceptrons(X, W, v) == _XOR).all() else _XOR_WRONG


def two_votes():
    return np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]]), np.array([1.0, 1.0])


def constant_with_the_wrong_sign():
    return np.array([[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [0.0, 0.0, 1.0]]), np.array([1.0, 1.0, 1.0])


# Piece 2: softmax and cross-entropy (H7)


def _softmax(Z: Any) -> np.ndarray:
    return softmax.softmax(Z)


def over_the_points(Z):
    E = np.exp(Z - Z.max(axis=0))
    return E / E.sum(axis=0)


def over_everything(Z):
    E = np.exp(Z - Z.max())
    return E / E.sum()


def _cross_entropy(P: Any, Y: Any) -> float:
    return abs(softmax.cross_entropy(P, Y)) / len(P)  # a loss of -0 would puzzle a reader


def summed_over_points(P, Y):
    return -np.sum(np.log(P[Y == 1]))


def mean_of_all_entries(P, Y):
    return -np.sum(np.log(P[Y == 1])) / P.size


# Piece 3: forward (H7)


def _forward(X: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> tuple[np.ndarray, np.ndarray]:
    _, H, Z = mlp.forward(_network(W1, b1, W2, b2), X)
    return H, Z


def linear_all_the_way(X, W1, b1, W2, b2):
    H = X @ W1 + b1
    return H, H @ W2 + b2


def squashed_outputs(X, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    return H, np.tanh(H @ W2 + b2)


# Piece 4: backward (H7)


def _backward(X: Any, Y: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> tuple[np.ndarray, ...]:
    _, layers = mlp.backward(_network(W1, b1, W2, b2), X, Y, loss=mlp.softmax_cross_entropy)
    return tuple(part for layer in layers for part in layer)


def not_divided_by_n(X, Y, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    Z = H @ W2 + b2
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    delta2 = E / E.sum(axis=1, keepdims=True) - Y
    delta1 = (delta2 @ W2.T) * (1 - H**2)
    return X.T @ delta1, delta1.sum(axis=0), H.T @ delta2, delta2.sum(axis=0)


def derivative_forgotten(X, Y, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    Z = H @ W2 + b2
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    delta2 = (E / E.sum(axis=1, keepdims=True) - Y) / len(X)
    delta1 = delta2 @ W2.T
    return X.T @ delta1, delta1.sum(axis=0), H.T @ delta2, delta2.sum(axis=0)


def derivative_at_the_output(X, Y, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    Z = H @ W2 + b2
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    delta2 = (E / E.sum(axis=1, keepdims=True) - Y) / len(X)
    delta1 = (delta2 @ W2.T) * (1 - np.tanh(H) ** 2)
    return X.T @ delta1, delta1.sum(axis=0), H.T @ delta2, delta2.sum(axis=0)


def overflowing_scores(X, Y, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    E = np.exp(H @ W2 + b2)
    delta2 = (E / E.sum(axis=1, keepdims=True) - Y) / len(X)
    delta1 = (delta2 @ W2.T) * (1 - H**2)
    return X.T @ delta1, delta1.sum(axis=0), H.T @ delta2, delta2.sum(axis=0)


# Piece 5: the learned kernel (H9)


def _learned_kernel(X: Any, Z: Any, W1: Any, b1: Any) -> np.ndarray:
    network = _network(W1, b1, np.zeros((len(b1), 1)), np.zeros(1))
    return mlp.hidden_features(network, X) @ mlp.hidden_features(network, Z).T


def before_the_activation(X, Z, W1, b1):
    return (X @ W1 + b1) @ (Z @ W1 + b1).T


def activation_of_the_kernel(X, Z, W1, b1):
    return np.tanh((X @ W1 + b1) @ (Z @ W1 + b1).T)


# Piece 6: the claim that training solves XOR from any start

_START_FORM = (
    "Return four arrays for a number m of hidden units from 2 to 20: W1 of shape (2, m), b1 (m,), W2 (m, 2) and b2 "
    "(2,), with entries between -1000 and 1000."
)
_NOTHING_AT_ALL = (
    "With W1 = 0 the network ignores its inputs. That start is indeed stuck, but give W1 at least one entry "
    "that is not zero."
)
_IT_MOVES = (
    "The gradient at your start is not zero, so gradient descent moves away from it. If W2 = 0 and b2 = 0, the "
    "gradients of W1 and b1 vanish; that of W2 is Hᵀδ, and it vanishes if every hidden unit has the same mean over "
    "both classes."
)
_ALREADY_SOLVED = (
    "The gradient vanishes, but all four corners come out right: there is nothing left to learn. Find a start that is "
    "stuck and wrong."
)


def _stuck() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return np.eye(2), np.zeros(2), np.zeros((2, 2)), np.zeros(2)


def _verify_stuck(answer: Any) -> str:
    try:
        W1, b1, W2, b2 = (np.asarray(part, dtype=float) for part in answer)
    except (TypeError, ValueError, OverflowError):
        return _START_FORM
    if W1.ndim != 2 or not 2 <= W1.shape[1] <= 20:
        return _START_FORM
    m = W1.shape[1]
    if (W1.shape, b1.shape, W2.shape, b2.shape) != ((2, m), (m,), (m, 2), (2,)):
        return _START_FORM
    if not all((np.abs(part) <= 1000).all() for part in (W1, b1, W2, b2)):
        return _START_FORM
    if not W1.any():
        return _NOTHING_AT_ALL
    network = _network(W1, b1, W2, b2)
    Y = np.column_stack([_XOR < 0, _XOR > 0]).astype(float)
    _, layers = mlp.backward(network, _CORNERS, Y, loss=mlp.softmax_cross_entropy)
    if max(float(np.abs(part).max()) for layer in layers for part in layer) > 1e-9:
        return _IT_MOVES
    Z = mlp.forward(network, _CORNERS)[-1]
    return _ALREADY_SOLVED if ((Z[:, 1] - Z[:, 0]) * _XOR > 1e-9).all() else ""


def all_zero():
    return np.zeros((2, 2)), np.zeros(2), np.zeros((2, 2)), np.zeros(2)


def both_layers_one():
    return np.eye(2), np.zeros(2), np.eye(2), np.zeros(2)


PIECES = (
    Piece(
        "pool",
        1,
        _pool,
        _pool_cases,
        [
            Mistake(
                zero_is_neither,
                "np.sign(0) is 0, which is neither of the two classes. Here sign(0) = +1, for the perceptrons and for "
                "the pool: np.where(z >= 0, 1, -1).",
            ),
            Mistake(
                votes_without_sign,
                "The perceptrons' outputs are missing their sign(·): without it the pool is linear in x, a single "
                "perceptron with the weights Wᵀv. Each perceptron votes +1 or −1.",
            ),
        ],
    ),
    Claim(
        "xor_network",
        2,
        _xor_network,
        _verify_xor,
        [Mistake(two_votes, _XOR_TIE), Mistake(constant_with_the_wrong_sign, _XOR_WRONG)],
    ),
    Piece(
        "softmax",
        2,
        _softmax,
        _score_cases,
        [
            Mistake(
                over_the_points,
                "Here the columns sum to 1: this normalises over the points. A row is a point, and its probabilities "
                "over the classes sum to 1: axis=1, with keepdims=True.",
            ),
            Mistake(
                over_everything,
                "Here all entries together sum to 1. Every point has its own probabilities, so each row sums to 1: "
                "axis=1, with keepdims=True.",
            ),
        ],
    ),
    Piece(
        "cross_entropy",
        1,
        _cross_entropy,
        _probability_cases,
        [
            Mistake(
                summed_over_points,
                "This is the sum over the points. Here the loss is their mean: divide by n, so that a step of gradient "
                "descent means the same for few points and for many.",
            ),
            Mistake(
                mean_of_all_entries,
                "This divides by all entries of Y, n times the number of classes. Sum over the classes, and take the "
                "mean over the n points only.",
            ),
        ],
    ),
    Piece(
        "forward",
        2,
        _forward,
        _forward_cases,
        [
            Mistake(
                linear_all_the_way,
                "The tanh of the hidden layer is missing. Without it the two layers collapse into one "
                "linear model, x(W₁W₂) + b₁W₂ + b₂; it should be H = tanh(XW₁ + b₁).",
            ),
            Mistake(
                squashed_outputs,
                "H is right, but the outputs went through tanh as well. The last layer is linear, Z = HW₂ + b₂; the "
                "softmax comes with the loss.",
            ),
        ],
    ),
    Piece(
        "backward",
        4,
        _backward,
        _backward_cases,
        [
            Mistake(
                not_divided_by_n,
                "This is n times the gradient. The loss is a mean over the points, so δ₂ = (P − Y)/n.",
            ),
            Mistake(
                overflowing_scores,
                "This is right as long as the scores are small; for large ones exp overflows. Subtract the largest "
                "score of each row first, as in your softmax: the probabilities stay the same.",
            ),
            Mistake(
                derivative_forgotten,
                "The gradients of W₂ and b₂ are right. On the way back through the hidden layer, the derivative of "
                "tanh is missing: δ₁ = (δ₂W₂ᵀ) ⊙ (1 − H²).",
            ),
            Mistake(
                derivative_at_the_output,
                "The gradients of W₂ and b₂ are right. For the hidden layer you took 1 − tanh²(H), but H is already "
                "the tanh: the derivative is 1 − H².",
            ),
        ],
        tolerance=1e-8,
        tolerance_reason="scores of order 1 go through exp and tanh, which keep 15 digits; the sums over a few points "
        "leave more than 8 digits whatever their order",
    ),
    Piece(
        "learned_kernel",
        2,
        _learned_kernel,
        _learned_cases,
        [
            Mistake(
                before_the_activation,
                "These are inner products of XW₁ + b₁, before the tanh: a linear kernel in disguise. The features of "
                "the last layer are H = tanh(XW₁ + b₁).",
            ),
            Mistake(
                activation_of_the_kernel,
                "This applies tanh to the inner products. It belongs to the features: φ(x) = tanh(xW₁ + b₁) first, "
                "then φ(x)ᵀφ(z).",
            ),
        ],
    ),
    Claim(
        "stuck",
        2,
        _stuck,
        _verify_stuck,
        [Mistake(all_zero, _NOTHING_AT_ALL), Mistake(both_layers_one, _IT_MOVES)],
    ),
)

checks = seeded(PIECES)
