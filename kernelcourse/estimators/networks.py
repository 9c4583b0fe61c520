"""Multilayer perceptrons: a feature map that is learned, and a linear model on top of it (lecture H)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..algorithms import mlp
from ..algorithms.softmax import one_hot
from ..kernels.kernel import Kernel
from ..kernels.vectors import Linear
from ..validation import Array, generator, whole
from .base import Estimator, ProbabilisticClassifier, Regressor

__all__ = ["MLP", "MLPRegressor"]


@dataclass(eq=False, repr=False)
class _Network(Estimator):
    """What the two networks share: their parameters, training, and the learned features."""

    loss: ClassVar[Any]

    hidden: Sequence[int] = (16,)
    activation: str = "tanh"
    step: float = 0.1
    epochs: int = 200
    batch_size: int = 16
    momentum: float = 0.9
    ridge: float = 0.0
    _: KW_ONLY
    rng: Any = 0

    def _train(self, X: Array, Y: Array) -> None:
        if not isinstance(self.hidden, Iterable):
            raise TypeError(f"hidden must list the sizes of the hidden layers, such as (16,), got {self.hidden!r}")
        hidden = [whole(size, "every entry of hidden", at_least=1) for size in self.hidden]
        rng = generator(self.rng)
        self.mean_, self.scale_ = X.mean(axis=0), _spread(X)
        network = mlp.init_network((X.shape[1], *hidden, Y.shape[1]), rng=rng, activation=self.activation)
        options = {name: getattr(self, name) for name in ("step", "epochs", "batch_size", "momentum", "ridge")}
        Z = (X - self.mean_) / self.scale_
        self.network_, self.losses_ = mlp.sgd(network, Z, Y, loss=self.loss, rng=rng, **options)

    def _layers(self, X: Any) -> list[Array]:
        X = self._test_points(X)
        return mlp.forward(self.network_, (X - self.mean_) / self.scale_)

    def features(self, X: Any) -> Array:
        r"""The last hidden layer: a learned $\phi(x)$, whose kernel is `features(X) @ features(Z).T` (lecture H9)."""
        return self._layers(X)[-2]

    def kernel(self) -> Kernel:
        r"""The learned kernel, $k(x, x') = \phi(x)^\top \phi(x')$, for any other method of the library (lecture H9).

        It stays as it is when the network is trained again.
        """
        self._require_fitted()
        return Linear().after(copy(self).features)


def _spread(values: Array) -> Array:
    """The standard deviation of each column; 1 where a column is constant, which rounding may hide."""
    constant = np.ptp(values, axis=0) <= 1e-12 * np.abs(values).max(axis=0)
    return np.where(constant, 1.0, values.std(axis=0))


class MLP(_Network, ProbabilisticClassifier):
    r"""A multilayer perceptron that classifies: softmax and cross-entropy, trained by SGD (lectures H6, H7).

    `hidden` lists the sizes of the hidden layers; `hidden=()` is softmax regression. Inputs are scaled to mean 0 and
    variance 1, so that one `step` suits most data; one that is too large raises `TrainingDiverged`.
    Fitted: `network_`, `losses_`; `features(X)` is the last hidden layer.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["same", "same", "other", "other"]
    >>> MLP(hidden=(4,), rng=0).fit(X, y).predict(X).tolist()
    ['same', 'same', 'other', 'other']
    """

    loss = staticmethod(mlp.softmax_cross_entropy)
    softmax = True

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise the cross-entropy by stochastic gradient descent."""
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        self._train(X, one_hot(codes, len(self.classes_)))
        return self

    def decision_function(self, X: Any) -> Array:
        """The outputs before the softmax; for two classes their difference, the log-odds."""
        Z = self._layers(X)[-1]
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z


class MLPRegressor(_Network, Regressor):
    r"""A multilayer perceptron that predicts numbers: squared error, trained by SGD (lectures H6, H7).

    Parameters as for `MLP`; the targets are scaled like the inputs. `hidden=()` is linear regression.

    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> MLPRegressor(epochs=300, rng=0).fit(X, np.sin(2 * X[:, 0])).score(X, np.sin(2 * X[:, 0])) > 0.98
    True
    """

    loss = staticmethod(mlp.squared_error)

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise the squared error by stochastic gradient descent."""
        X = self._training_points(X)
        t = self._numbers(y, len(X))
        self.t_mean_, self.t_scale_ = float(t.mean()), float(_spread(t))
        self._train(X, ((t - self.t_mean_) / self.t_scale_)[:, None])
        return self

    def predict(self, X: Any) -> Array:
        """The network's output, in the units of the targets."""
        outputs = self._layers(X)[-1][:, 0]
        return self.t_mean_ + self.t_scale_ * outputs
