"""A multilayer perceptron: a feature map that is learned, and a linear model on top of it (lecture H)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..algorithms import mlp
from ..algorithms.softmax import one_hot
from ..kernels.kernel import Kernel
from ..kernels.vectors import Linear
from ..validation import Array, generator, whole
from .base import ProbabilisticClassifier

__all__ = ["MLP"]


@dataclass(eq=False, repr=False)
class MLP(ProbabilisticClassifier):
    r"""A multilayer perceptron that classifies: softmax and cross-entropy, trained by SGD (lectures H6, H7).

    `hidden` lists the sizes of the hidden layers; `hidden=()` is softmax regression. Inputs are scaled to mean 0 and
    variance 1, so that one `step` suits most data; a step that is too large raises `TrainingDiverged`.
    Fitted: `network_`, `losses_`; `features(X)` is the last hidden layer.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["same", "same", "other", "other"]
    >>> MLP(hidden=(4,), rng=0).fit(X, y).predict(X).tolist()
    ['same', 'same', 'other', 'other']
    """

    hidden: Sequence[int] = (16,)
    activation: str = "tanh"
    step: float = 0.1
    epochs: int = 200
    batch_size: int = 16
    momentum: float = 0.9
    ridge: float = 0.0
    _: KW_ONLY
    rng: Any = 0
    softmax = True

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise the cross-entropy by stochastic gradient descent."""
        X = self._training_points(X)
        Y = one_hot(self._encode(y, len(X)), len(self.classes_))
        if not isinstance(self.hidden, Iterable):
            raise TypeError(f"hidden must list the sizes of the hidden layers, such as (16,), got {self.hidden!r}")
        hidden = [whole(size, "every entry of hidden", at_least=1) for size in self.hidden]
        rng = generator(self.rng)
        constant = np.ptp(X, axis=0) <= 1e-12 * np.abs(X).max(axis=0)  # rounding may leave such a column a tiny spread
        self.mean_, self.scale_ = X.mean(axis=0), np.where(constant, 1.0, X.std(axis=0))
        network = mlp.init_network((X.shape[1], *hidden, Y.shape[1]), rng=rng, activation=self.activation)
        options = {name: getattr(self, name) for name in ("step", "epochs", "batch_size", "momentum", "ridge")}
        Z = (X - self.mean_) / self.scale_
        self.network_, self.losses_ = mlp.sgd(network, Z, Y, loss=mlp.softmax_cross_entropy, rng=rng, **options)
        return self

    def _layers(self, X: Any) -> list[Array]:
        X = self._test_points(X)
        return mlp.forward(self.network_, (X - self.mean_) / self.scale_)

    def decision_function(self, X: Any) -> Array:
        """The outputs before the softmax; for two classes, their difference, the log-odds."""
        Z = self._layers(X)[-1]
        return Z[:, 1] - Z[:, 0] if Z.shape[1] == 2 else Z

    def features(self, X: Any) -> Array:
        r"""The last hidden layer: a learned $\phi(x)$, whose kernel is `features(X) @ features(Z).T` (lecture H9)."""
        return self._layers(X)[-2]

    def kernel(self) -> Kernel:
        r"""The learned kernel, $k(x, x') = \phi(x)^\top \phi(x')$, for any other method in the library (lecture H9).

        It does not change when the network is trained again.
        """
        self._require_fitted()
        return Linear().after(copy(self).features)
