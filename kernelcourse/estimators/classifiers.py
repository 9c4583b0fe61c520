"""Classification: perceptron, neighbours, logistic regression and support vector machine, primal and with kernels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._engine.gram import nearest_points
from .._engine.threads import slabs
from ..algorithms import logistic, neighbors, perceptron, svm
from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian, falling
from ..validation import Array, flag, real, whole
from .base import Classifier, KernelMixin, ScoringClassifier, one_against_rest, side_by_side


def _with_ones(X: Array, offset: bool) -> Array:
    return np.column_stack([X, np.ones(len(X))]) if offset else X


def _log_logistic(z: Array) -> Array:
    """log s(z) = -log(1 + exp(-z)), without overflow."""
    return -np.logaddexp(0, -z)


class Perceptron(ScoringClassifier):
    r"""The perceptron: $w \leftarrow w + y_i x_i$ at every mistake (lecture H). `offset` adds the feature 1.

    Fitted, with one entry for each one-against-rest problem: `w_`, `mistakes_`, `epochs_`, `separated_`.

    >>> Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]).predict([[0.5], [3.5]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(self, max_epochs: int = 1000, shuffle: bool = False, offset: bool = True, rng: Any = 0) -> None:
        self.max_epochs = max_epochs
        self.shuffle = shuffle
        self.offset = offset
        self.rng = rng

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the points until none is misclassified, at most `max_epochs` times."""
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        self.offset_ = flag(self.offset, "offset")
        Phi = _with_ones(X, self.offset_)
        fits = [
            perceptron.perceptron(
                Phi, signs, max_epochs=self.max_epochs, shuffle=flag(self.shuffle, "shuffle"), rng=self.rng
            )
            for signs in one_against_rest(codes, len(self.classes_))
        ]
        self.w_ = side_by_side([f.w for f in fits])
        self.mistakes_ = [f.mistakes for f in fits]
        self.epochs_ = [f.epochs for f in fits]
        self.separated_ = [f.separated for f in fits]
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$w^\top \phi(x)$."""
        return _with_ones(self._test_points(X), self.offset_) @ self.w_


class KernelPerceptron(KernelMixin, ScoringClassifier):
    r"""The kernel perceptron: $h(x) = \operatorname{sgn} \sum_i \alpha_i y_i k(x_i, x)$ (lecture I, algorithm 1).

    Fitted, with one entry for each one-against-rest problem: `c_` (the signed counts $\alpha_i y_i$), `mistakes_`,
    `epochs_`, `separated_`; `X_` are the training points.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> KernelPerceptron(Gaussian(0.5)).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008 - kernels are immutable
        max_epochs: int = 1000,
        shuffle: bool = False,
        rng: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.max_epochs = max_epochs
        self.shuffle = shuffle
        self.rng = rng

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the points until none is misclassified, at most `max_epochs` times."""
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        K = self.kernel_(X)
        problems = one_against_rest(codes, len(self.classes_))
        fits = [
            perceptron.kernel_perceptron(
                K, signs, max_epochs=self.max_epochs, shuffle=flag(self.shuffle, "shuffle"), rng=self.rng
            )
            for signs in problems
        ]
        self.c_ = side_by_side([f.alpha * signs for f, signs in zip(fits, problems, strict=True)])
        self.mistakes_ = [f.mistakes for f in fits]
        self.epochs_ = [f.epochs for f in fits]
        self.separated_ = [f.separated for f in fits]
        self.X_ = X
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i \alpha_i y_i k(x_i, x)$."""
        return self._expansion(self._test_points(X), self.c_)


class KernelNeighbors(KernelMixin, Classifier):
    r"""Kernel $\kappa$-nearest neighbours (lecture I, algorithm 2).

    Of points at equal distance the one that came first counts as nearer; of classes with equally many votes the one
    with the nearest neighbour wins. Fitted: `X_`, `codes_`, `diag_`.

    >>> KernelNeighbors(kappa=1).fit([[0.0], [5.0]], ["a", "b"]).predict([[1.0]])
    array(['a'], dtype='<U1')
    """

    def __init__(self, kernel: Kernel = Gaussian(1.0), kappa: int = 3) -> None:  # noqa: B008
        self.kernel = kernel
        self.kappa = kappa

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the points: nothing is learned."""
        X = self._training_points(X)
        self.kappa_ = whole(self.kappa, "kappa", at_least=1)
        if self.kappa_ > len(X):
            raise ValueError(f"kappa must be at most the number of points, got kappa={self.kappa}, n_samples={len(X)}")
        self.codes_ = self._encode(y, len(X))
        self.X_ = X
        self.diag_ = self.kernel_.diag(X)
        return self

    def predict(self, X: Any) -> Any:
        """The label that most of the nearest neighbours have."""
        X = self._test_points(X)
        blocks = slabs(len(X), len(self.X_))
        if (distance := falling(self.kernel_)) is not None:
            X, X_train = distance.inputs(X), distance.inputs(self.X_)
            if distance.metric == "euclidean":
                neighbours = nearest_points(X, X_train, self.kappa_)
            else:
                from scipy.spatial.distance import cdist

                distances = (cdist(X[rows], X_train, distance.metric) for rows in blocks)
                neighbours = np.concatenate([neighbors.nearest(D, self.kappa_) for D in distances])
            return self.classes_[neighbors.vote(self.codes_[neighbours])]
        codes = [
            neighbors.kernel_neighbors(
                self.kernel_(X[rows], self.X_), self.kernel_.diag(X[rows]), self.diag_, self.codes_, kappa=self.kappa_
            )
            for rows in blocks
        ]
        return self.classes_[np.concatenate(codes)]


class ProbabilisticClassifier(ScoringClassifier):
    """A classifier with probabilities."""

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`, accurate also where a probability is too small for a float."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([_log_logistic(-scores), _log_logistic(scores)])
        weights = self._log_weights(scores)
        return weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)

    def _log_weights(self, scores: Array) -> Array:
        """The logarithms of numbers that the probabilities are proportional to: for a softmax the scores."""
        return scores


class LogisticRegression(ProbabilisticClassifier):
    r"""Logistic regression, $P(y = 1 \mid x) = s(w^\top x)$, with $\frac{\text{ridge}}{2} \lVert w\rVert^2$.

    More than two classes: one against the rest, the probabilities scaled to sum to 1 (`SoftmaxRegression` models
    them jointly). `offset` adds a feature that is always 1; its weight is penalised too (lecture S). For two classes
    `KernelLogisticRegression(Linear() + 1)` is the same model, for more it is that of `SoftmaxRegression`.
    Fitted: `w_`.

    >>> model = LogisticRegression(ridge=0.1, offset=False).fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[0.0]])
    array([[0.5, 0.5]])
    """

    def __init__(self, ridge: float = 1.0, offset: bool = True) -> None:
        self.ridge = ridge
        self.offset = offset

    def fit(self, X: Any, y: Any) -> Self:
        """Newton's method to a gradient of 1e-8."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        self.offset_ = flag(self.offset, "offset")
        Phi = _with_ones(X, self.offset_)
        columns = []
        for signs in one_against_rest(codes, len(self.classes_)):
            # The two columns of a softmax are -w/2 and w/2: half the penalty, hence twice the ridge.
            W = logistic.primal_softmax(Phi, (signs > 0).astype(int), ridge=2 * ridge, n_classes=2)
            columns.append(W[:, 1] - W[:, 0])
        self.w_ = side_by_side(columns)
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$w^\top x$, the log-odds."""
        return _with_ones(self._test_points(X), self.offset_) @ self.w_

    def _log_weights(self, scores: Array) -> Array:
        return _log_logistic(scores)


class KernelLogisticRegression(KernelMixin, ProbabilisticClassifier):
    r"""Kernel logistic regression: $P(y = 1 \mid x) = s(\sum_i a_i k(x_i, x))$ (lecture S), with the penalty
    $\frac{\text{ridge}}{2} a^\top K a$. More than two classes: softmax, as in `SoftmaxRegression`, and not one against
    the rest, as in `LogisticRegression`.

    Fitted by Newton's method to a gradient of 1e-8: `a_`, (n,) or (n, k), and `X_`. Gradient descent as in the lecture
    reaches the same weights, later: `logistic_gradient_descent`, `logistic_sgd`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> KernelLogisticRegression(Gaussian(0.5), ridge=0.1).fit(X, y).predict_proba(X)[:, 1].round(1)
    array([0.2, 0.2, 0.8, 0.8])
    """

    def __init__(self, kernel: Kernel = Gaussian(1.0), ridge: float = 1.0) -> None:  # noqa: B008
        self.kernel = kernel
        self.ridge = ridge

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise the regularised cross-entropy."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        K = self.kernel_(X)
        if len(self.classes_) == 2:
            self.a_ = logistic.logistic_newton_cg(K, codes, ridge=ridge).a
        else:
            self.a_ = logistic.kernel_softmax(K, codes, ridge=ridge, n_classes=len(self.classes_))
        self.X_ = X
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i a_i k(x_i, x)$: the log-odds, or one score a class."""
        return self._expansion(self._test_points(X), self.a_)


class SoftmaxRegression(ProbabilisticClassifier):
    r"""Softmax regression: $P(y = j \mid x) = \exp(w_j^\top x) / \sum_l \exp(w_l^\top x)$ (lecture H7).

    `offset` adds a feature that is always 1. Fitted: `W_`, one column a class.

    >>> SoftmaxRegression(0.01).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).predict([[-1.0], [3.0]])
    array(['a', 'c'], dtype='<U1')
    """

    def __init__(self, ridge: float = 1.0, offset: bool = True) -> None:
        self.ridge = ridge
        self.offset = offset

    def fit(self, X: Any, y: Any) -> Self:
        """Newton's method to a gradient of 1e-8."""
        ridge = real(self.ridge, "ridge", above=0)
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        self.offset_ = flag(self.offset, "offset")
        self.W_ = logistic.primal_softmax(_with_ones(X, self.offset_), codes, ridge=ridge, n_classes=len(self.classes_))
        return self

    def decision_function(self, X: Any) -> Array:
        """One score a class; for two classes the difference, which is the log-odds."""
        scores = _with_ones(self._test_points(X), self.offset_) @ self.W_
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class KernelSVM(KernelMixin, ScoringClassifier):
    r"""The support vector machine: hinge loss plus $\lambda \lVert f\rVert^2$ (lecture K7):

    $$\min_f\ \tfrac1n \sum_i \max(0, 1 - y_i f(x_i)) + \lambda \lVert f\rVert^2 .$$

    `lam` is lecture K's $\lambda$; the usual C is $1/(2n\lambda)$. `offset=True` adds the free b of lecture I. The
    solver stops at the relative duality gap `gap`.

    Fitted, with one entry for each one-against-rest problem: `c_` (the signed weights $\alpha_i y_i$), `b_`, `gap_`;
    `support_` are the indices of the points with a non-zero weight in any of them, `X_` the training points.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> KernelSVM(Gaussian(0.5), lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    def __init__(
        self,
        kernel: Kernel = Gaussian(1.0),  # noqa: B008
        lam: float = 0.01,
        offset: bool = False,
        gap: float = 1e-6,
    ) -> None:
        self.kernel = kernel
        self.lam = lam
        self.offset = offset
        self.gap = gap

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual to the requested duality gap."""
        X = self._training_points(X)
        codes = self._encode(y, len(X))
        K = self.kernel_(X)
        problems = one_against_rest(codes, len(self.classes_))
        fits = [svm.solved(K, signs, lam=self.lam, offset=self.offset, gap=self.gap) for signs in problems]
        self.c_ = side_by_side([f.alpha * signs for f, signs in zip(fits, problems, strict=True)])
        self.b_ = side_by_side([np.array([f.b]) for f in fits])[0]
        self.gap_ = [f.gap for f in fits]
        self.support_ = np.unique(np.concatenate([f.support for f in fits]))
        self.X_ = X
        return self

    path = "lam"
    path_in_threads = True  # it is made of many short products

    def _along_path(self, K: Array, y: Any, K_test: Array, lams: list[Any]) -> list[Any]:
        """The predictions for many lams, each solution the start of the next."""
        values = np.array([real(lam, "lam", above=0) for lam in lams])
        codes = self._encode(y, len(K))
        columns = []
        for signs in one_against_rest(codes, len(self.classes_)):
            fits = svm.solved_path(K, signs, lams=values, gap=self.gap, offset=self.offset)
            alpha, b = np.array([f.alpha for f in fits]), np.array([f.b for f in fits])
            columns.append((alpha * signs) @ K_test.T + b[:, None])  # (lams, test points)
        return [self._decide(side_by_side(list(scores))) for scores in zip(*columns, strict=True)]

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i \alpha_i y_i k(x_i, x) + b$."""
        return self._expansion(self._test_points(X), self.c_) + self.b_
