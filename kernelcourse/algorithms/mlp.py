r"""Multilayer perceptrons (lecture H): pooled perceptrons, networks as computational graphs, SGD, learned features.

A network is a chain of layers $h \mapsto \sigma(hW + b)$, the last one without $\sigma$; points are rows. Linear
regression is the network without a hidden layer and with `squared_error`, logistic regression the one with
`softmax_cross_entropy`. The layers before the last are a feature map that training chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..validation import Array, choice, generator, points, real, same_length, slices, vector, whole
from .logistic import expit
from .softmax import distributions, log_softmax

__all__ = [
    "Layer", "Network", "Training", "TrainingDiverged", "backward", "forward", "hidden_features", "init_network",
    "pooled_perceptrons", "sgd", "softmax_cross_entropy", "squared_error",
]  # fmt: skip

Loss = Callable[[Array, Array], tuple[float, Array]]


def pooled_perceptrons(X: ArrayLike, W: ArrayLike, v: ArrayLike) -> Array:
    r"""The sign of a weighted vote of perceptrons (lecture H, multilayer perceptrons), +1 or -1 for each point,

    $$y = \operatorname{sign}\Big(\sum_j v_j \operatorname{sign}\langle w^{(j)}, x \rangle\Big),
    \qquad \operatorname{sign}(0) = +1.$$

    The perceptrons $w^{(j)}$ are the rows of `W`. Two of them and a third that always gives +1 solve XOR, which no
    single perceptron can: the two stand for "at least one" and "not both".

    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]]  # the last column is the constant 1
    >>> W = [[1, 1, -0.5], [-1, -1, 1.5], [0, 0, 1]]
    >>> pooled_perceptrons(X, W, v=[1, 1, -1])
    array([-1.,  1.,  1., -1.])
    """
    X = points(X)
    W = points(W, "W", columns=X.shape[1])
    votes = np.where(X @ W.T >= 0, 1.0, -1.0)
    return np.where(votes @ vector(v, "v", length=len(W)) >= 0, 1.0, -1.0)


class Activation(NamedTuple):
    """A function applied to every entry, its derivative written in terms of its output, and a scale for new weights."""

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]  # as a function of h = function(z), not of z
    gain: float  # new weights have variance gain / inputs, which keeps all layers' outputs at about the same size


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(np.tanh, lambda h: 1 - h**2, gain=1.0),
    "relu": Activation(lambda z: np.maximum(z, 0), lambda h: (h > 0).astype(float), gain=2.0),
    "sigmoid": Activation(expit, lambda h: h * (1 - h), gain=1.0),
}


class Layer(NamedTuple):
    """Weights (inputs, outputs) and biases (outputs,) of a layer, or the gradient with respect to them."""

    W: Array
    b: Array


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, first to last, and the name of the activation between them (a key of `ACTIVATIONS`).

    >>> Network([Layer(np.eye(2), np.zeros(2)), Layer(np.ones((2, 1)), np.zeros(1))], activation="relu").sizes
    (2, 2, 1)
    """

    layers: Sequence[Layer]
    activation: str = "tanh"

    def __post_init__(self) -> None:
        choice(self.activation, "activation", tuple(ACTIVATIONS))
        layers = tuple(Layer(points(W, "W").copy(), vector(b, "b").copy()) for W, b in self.layers)
        if not layers:
            raise ValueError("layers must hold at least one layer, got none")
        given = len(layers[0].W)
        for number, (W, b) in enumerate(layers):
            if len(b) != W.shape[1]:
                raise ValueError(f"layer {number} has {W.shape[1]} outputs (W: {W.shape}), but {len(b)} entries in b")
            if len(W) != given:
                raise ValueError(f"layer {number} expects {len(W)} inputs, but layer {number - 1} gives {given}")
            given = len(b)
        object.__setattr__(self, "layers", layers)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Inputs, hidden units of each hidden layer, outputs."""
        return (len(self.layers[0].W), *(len(b) for _, b in self.layers))


def init_network(sizes: Sequence[int], *, rng: np.random.Generator | int | None, activation: str = "tanh") -> Network:
    """A network with `sizes = (inputs, hidden, ..., outputs)`, Gaussian weights of variance gain / inputs, biases 0.

    >>> init_network((2, 3, 1), rng=0).sizes
    (2, 3, 1)
    """
    if np.ndim(sizes) != 1 or len(sizes) < 2:
        raise ValueError(f"sizes must list the numbers of inputs, hidden units and outputs, got {sizes!r}")
    sizes = [whole(size, "every entry of sizes", at_least=1) for size in sizes]
    gain, rng = ACTIVATIONS[choice(activation, "activation", tuple(ACTIVATIONS))].gain, generator(rng)
    weights = [rng.normal(scale=np.sqrt(gain / shape[0]), size=shape) for shape in pairwise(sizes)]
    return Network([Layer(W, np.zeros(W.shape[1])) for W in weights], activation)


def forward(network: Network, X: ArrayLike) -> list[Array]:
    """The outputs of every layer at the points `X`: X itself, each hidden layer, and the network's outputs last.

    >>> network = Network([Layer([[1.0], [-1.0]], [0.0]), Layer([[2.0]], [1.0])], activation="relu")
    >>> forward(network, [[3.0, 1.0], [1.0, 3.0]])[1:]
    [array([[2.],
           [0.]]), array([[5.],
           [1.]])]
    """
    X = _inputs(network, X)
    return _forward(network.layers, ACTIVATIONS[network.activation], X)


def hidden_features(network: Network, X: ArrayLike) -> Array:
    r"""The last hidden layer at the points `X`: the learned feature map $\phi$ (lecture H), (n, hidden units).

    The network's output is the linear model $\phi(x) W + b$ of the last layer, and $k(x, z) = \phi(x)^\top\phi(z)$ is
    the kernel that training has learned: `Phi @ Phi.T`. Without a hidden layer $\phi(x) = x$.

    >>> network = Network([Layer([[1.0], [-1.0]], [0.0]), Layer([[2.0]], [1.0])], activation="relu")
    >>> hidden_features(network, [[3.0, 1.0], [1.0, 3.0]])
    array([[2.],
           [0.]])
    """
    return forward(network, X)[-2]


def squared_error(Z: ArrayLike, Y: ArrayLike) -> tuple[float, Array]:
    r"""The mean over the rows of $\tfrac12 \|y - z\|^2$ (lecture H, linear regression), and its gradient in `Z`.

    >>> squared_error([[3.0]], [[1.0]])
    (2.0, array([[2.]]))
    """
    Z, Y = _outputs_and_targets(Z, Y)
    return float(((Z - Y) ** 2).sum()) / 2 / len(Z), (Z - Y) / len(Z)


def softmax_cross_entropy(Z: ArrayLike, Y: ArrayLike) -> tuple[float, Array]:
    r"""The mean over the rows of $-\sum_j y_j \log \operatorname{softmax}(z)_j$ (lecture H, logistic regression), and
    its gradient in `Z`, $(\operatorname{softmax}(Z) - Y) / n$.

    Softmax and cross-entropy form one node of the graph: in separate nodes, a prediction that is certain but wrong
    would need the logarithm of 0. Rows of `Y` are one-hot (`one_hot`), or probabilities.

    >>> loss, gradient = softmax_cross_entropy([[0.0, 0.0]], [[1.0, 0.0]])
    >>> round(loss, 6), gradient
    (0.693147, array([[-0.5,  0.5]]))
    """
    Z, Y = _outputs_and_targets(Z, Y)
    log_p, Y = log_softmax(Z), distributions(Y, "Y")
    return -float((Y * log_p).sum()) / len(Z), (np.exp(log_p) - Y) / len(Z)


def backward(network: Network, X: ArrayLike, Y: ArrayLike, *, loss: Loss) -> tuple[float, list[Layer]]:
    r"""The loss at the points `X` with targets `Y`, and its gradient in every W and b, by backpropagation.

    The graph (lecture H, figure 1) is walked from the loss back to the inputs. With $\delta$ the gradient in a
    layer's $z = hW + b$,

    $$\nabla_W = h^\top \delta, \qquad \nabla_b = \textstyle\sum_i \delta_i, \qquad
    \delta \leftarrow (\delta W^\top) \odot \sigma'(z) \text{ for the layer before}.$$

    >>> network = Network([Layer([[2.0]], [0.0])])
    >>> backward(network, [[3.0]], [[5.0]], loss=squared_error)
    (0.5, [Layer(W=array([[3.]]), b=array([1.]))])
    """
    X, Y = _problem(network, X, Y, loss)
    return _backward(network.layers, ACTIVATIONS[network.activation], X, Y, loss)


class Training(NamedTuple):
    """A trained network, and its objective before training and after every epoch (epochs + 1 numbers)."""

    network: Network
    losses: Array


class TrainingDiverged(ArithmeticError):
    """The loss overflowed because the step is too large. The last good epoch's `network` and `losses` are kept."""

    def __init__(self, step: float, network: Network, losses: Array) -> None:
        super().__init__(
            f"training diverged in epoch {len(losses)}: the loss is no longer finite, so step={step:g} is too large; "
            f"try step={step / 10:g}. The last good network and the losses up to it are in .network and .losses"
        )
        self.step, self.network, self.losses = step, network, losses

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.step, self.network, self.losses)  # pickle would pass only the message


def sgd(
    network: Network,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    loss: Loss,
    step: float,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator | int | None,
    momentum: float = 0.0,
    ridge: float = 0.0,
) -> Training:
    r"""Train by stochastic gradient descent (lecture H); the given network is not changed.

    Each epoch visits the points once, in a fresh order `rng.permutation(n)`, a batch at a time (the last one may be
    smaller). Starting from $v = 0$, each batch takes the step

    $$v \leftarrow \text{momentum} \cdot v - \text{step} \cdot \nabla, \qquad \theta \leftarrow \theta + v.$$

    The objective is `loss` over all n points plus $\tfrac{\text{ridge}}{2n} \sum \|W\|^2$; n times this is a sum over
    the points plus the penalty of ridge and logistic regression. Biases are not penalised. `TrainingDiverged` is raised
    when the loss overflows, and carries the last good network.

    >>> network = Network([Layer([[0.0]], [0.0])])
    >>> X, Y = [[-1.0], [1.0]], [[1.0], [5.0]]  # on the line y = 3 + 2 x
    >>> sgd(network, X, Y, loss=squared_error, step=0.5, epochs=100, batch_size=2, rng=0).network.layers[0]
    Layer(W=array([[2.]]), b=array([3.]))
    """
    X, Y = _problem(network, X, Y, loss)
    step, ridge = real(step, "step", above=0), real(ridge, "ridge", at_least=0)
    epochs, batch_size = whole(epochs, "epochs"), whole(batch_size, "batch_size", at_least=1)
    momentum = real(momentum, "momentum", at_least=0)
    if momentum >= 1:
        raise ValueError(f"momentum must be below 1, got {momentum:g}: steps would never die out")
    rng, activation, n = generator(rng), ACTIVATIONS[network.activation], len(X)

    def objective(layers: Sequence[Layer]) -> float:
        Z = np.concatenate([_forward(layers, activation, X[rows])[-1] for rows in slices(n, 1000)])
        _refuse_overflow(Z, *(part for layer in layers for part in layer))  # Z does not show an idle unit's weights
        value = loss(Z, Y)[0] + ridge / 2 / n * sum(float((W**2).sum()) for W, _ in layers)
        _refuse_overflow(value)
        return value

    layers: Sequence[Layer] = network.layers
    velocity = [Layer(np.zeros_like(W), np.zeros_like(b)) for W, b in layers]
    losses = [objective(layers)]
    for _ in range(epochs):
        order = rng.permutation(n)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(0, n, batch_size):
                    batch = order[start : start + batch_size]
                    _, gradient = _backward(layers, activation, X[batch], Y[batch], loss)
                    velocity = [
                        Layer(momentum * v.W - step * (g.W + ridge / n * W), momentum * v.b - step * g.b)
                        for v, g, (W, _) in zip(velocity, gradient, layers, strict=True)
                    ]
                    layers = [Layer(W + v.W, b + v.b) for (W, b), v in zip(layers, velocity, strict=True)]
                losses.append(objective(layers))
        except FloatingPointError as error:
            raise TrainingDiverged(step, network, np.array(losses)) from error
        network = Network(layers, network.activation)
    return Training(network, np.array(losses))


def _forward(layers: Sequence[Layer], activation: Activation, X: Array) -> list[Array]:
    outputs = [X]
    for W, b in layers[:-1]:
        outputs.append(activation.function(outputs[-1] @ W + b))
    W, b = layers[-1]
    return [*outputs, outputs[-1] @ W + b]


def _backward(
    layers: Sequence[Layer], activation: Activation, X: Array, Y: Array, loss: Loss
) -> tuple[float, list[Layer]]:
    *inputs, Z = _forward(layers, activation, X)
    _refuse_overflow(Z)
    value, delta = loss(Z, Y)
    gradient = []
    for (W, _), h in zip(reversed(layers), reversed(inputs), strict=True):
        gradient.append(Layer(h.T @ delta, delta.sum(axis=0)))
        if h is not X:
            delta = (delta @ W.T) * activation.derivative(h)
    return value, gradient[::-1]


def _refuse_overflow(*values: Array | float) -> None:
    if not all(np.isfinite(value).all() for value in values):
        raise FloatingPointError("the network's weights, outputs or loss are too large for floating-point numbers")


def _inputs(network: Network, X: ArrayLike) -> Array:
    if not isinstance(network, Network):
        raise TypeError(f"network must be a Network, got {type(network).__name__}")
    return points(X, columns=network.sizes[0])


def _problem(network: Network, X: ArrayLike, Y: ArrayLike, loss: Loss) -> tuple[Array, Array]:
    X, Y = _inputs(network, X), points(Y, "Y", columns=network.sizes[-1])
    same_length(Y, "Y", len(X))
    if not callable(loss):
        raise TypeError(f"loss must be a function such as squared_error or softmax_cross_entropy, got {loss!r}")
    return X, Y


def _outputs_and_targets(Z: ArrayLike, Y: ArrayLike) -> tuple[Array, Array]:
    Z, Y = points(Z, "Z"), points(Y, "Y")
    if Z.shape != Y.shape:
        raise ValueError(f"Z and Y must have the same shape, got {Z.shape} and {Y.shape}")
    return Z, Y
