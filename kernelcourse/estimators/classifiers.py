"""Classification: perceptron, neighbours, logistic regression and support vector machine, primal and with kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..algorithms import logistic, neighbors, perceptron, svm
from ..algorithms.softmax import kernel_softmax, primal_softmax
from ..kernels.kernel import Kernel
from ..kernels.vectors import Gaussian, absolute_distances, falling, squared_distances
from ..seam import definition
from ..validation import OFFSETS, Array, choice, flag, offset_word, real, whole
from .base import Classifier, Expansion, ProbabilisticClassifier, constant_of, gram, one_against_rest, side_by_side

__all__ = [
    "KernelLogisticRegression", "KernelNeighbors", "KernelPerceptron", "KernelSVM", "LogisticRegression", "Perceptron",
    "SoftmaxRegression",
]  # fmt: skip

ONE_MORE_FEATURE = ("none", "penalised")  # for methods in which a free constant has no meaning or no algorithm


def _with_ones(X: Array, offset: str) -> Array:
    return X if offset == "none" else np.column_stack([X, np.ones(len(X))])


@dataclass(eq=False, repr=False)
class Perceptron(Classifier):
    r"""The perceptron: $w \leftarrow w + y_i x_i$ at every mistake (lecture H).

    `offset` is "penalised" (one more feature, always 1, treated like every other) or "none".
    Fitted, with one entry for each one-against-rest problem: `w_`, `mistakes_`, `epochs_`, `separated_`.

    >>> Perceptron().fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]).predict([[0.5], [3.5]])
    array(['low', 'high'], dtype='<U4')
    """

    max_epochs: int = 1000
    shuffle: bool = False
    offset: str = "penalised"
    _: KW_ONLY
    rng: Any = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the points until none is misclassified, at most `max_epochs` times."""
        self.offset_ = offset_word(self.offset, ONE_MORE_FEATURE, true="penalised")
        Phi = _with_ones(self._training_points(X), self.offset_)
        options = {"max_epochs": self.max_epochs, "shuffle": flag(self.shuffle, "shuffle"), "rng": self.rng}
        fits = [perceptron.perceptron(Phi, signs, **options) for signs in self._problems(y, len(Phi))]
        self.w_ = side_by_side([f.w for f in fits])
        self.mistakes_, self.epochs_, self.separated_ = _reports(fits)
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$w^\top \phi(x)$."""
        return _with_ones(self._test_points(X), self.offset_) @ self.w_


def _reports(fits: list[Any]) -> tuple[list[int], list[int], list[bool]]:
    return [f.mistakes for f in fits], [f.epochs for f in fits], [f.separated for f in fits]


@dataclass(eq=False, repr=False)
class KernelPerceptron(Classifier):
    r"""The kernel perceptron: $h(x) = \operatorname{sgn} \sum_i \alpha_i y_i k(x_i, x)$ (lecture I, algorithm 1).

    `offset` is "none" or "penalised" (the kernel $k + 1$: one more feature, as in `Perceptron`).
    Fitted, with one entry for each one-against-rest problem: `c_` (the signed counts $\alpha_i y_i$), `b_`,
    `mistakes_`, `epochs_`, `separated_`; `X_` holds the training points.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> KernelPerceptron(Gaussian(0.5)).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    kernel: Kernel = Gaussian(1.0)
    max_epochs: int = 1000
    shuffle: bool = False
    offset: str = "none"
    _: KW_ONLY
    rng: Any = 0

    def fit(self, X: Any, y: Any) -> Self:
        """Pass over the points until none is misclassified, at most `max_epochs` times."""
        offset = offset_word(self.offset, ONE_MORE_FEATURE)
        options = {"max_epochs": self.max_epochs, "shuffle": flag(self.shuffle, "shuffle"), "rng": self.rng}
        P = self._prepared_points(X)
        problems = self._problems(y, len(P))
        K = gram(self.kernel_, P, offset)
        fits = [perceptron.kernel_perceptron(K, signs, **options) for signs in problems]
        self.c_ = side_by_side([f.alpha * signs for f, signs in zip(fits, problems, strict=True)])
        self.b_ = constant_of(self.c_, offset)
        self.mistakes_, self.epochs_, self.separated_ = _reports(fits)
        self.f_ = Expansion.over(P, self.c_, self.kernel_)
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i \alpha_i y_i k(x_i, x) + b$."""
        return self._expanded(X) + self.b_


@definition
def nearest_points(X: Array, Z: Array, kappa: int, metric: str) -> NDArray[np.intp]:
    r"""For each $x_i$, the indices of its `kappa` nearest $z_j$, nearest first; ties stay in order."""
    distances = squared_distances if metric == "euclidean" else absolute_distances
    return neighbors.nearest(distances(X, Z), kappa)


@definition
def labels_in_feature_space(kernel: Kernel, P: Any, Q: Any, labels: Any, kappa: int) -> Any:
    """For each point of P, the most common label of its `kappa` nearest points of Q in feature space."""
    return neighbors.kernel_neighbors(kernel.formula(P, Q), kernel.diagonal(P), kernel.diagonal(Q), labels, kappa=kappa)


@dataclass(eq=False, repr=False)
class KernelNeighbors(Classifier):
    r"""Kernel $\kappa$-nearest neighbours (lecture I, algorithm 2).

    Of points at equal distance, the first counts as nearer; of classes with equally many votes, the class of the
    nearest neighbour wins. Fitted: `X_`, `codes_`, and `points_`, the training points in the form that is compared.

    >>> KernelNeighbors(kappa=1).fit([[0.0], [5.0]], ["a", "b"]).predict([[1.0]])
    array(['a'], dtype='<U1')
    """

    kernel: Kernel = Gaussian(1.0)
    kappa: int = 3

    def fit(self, X: Any, y: Any) -> Self:
        """Store the points; nothing is learned."""
        X = self._training_points(X)
        self.kappa_ = whole(self.kappa, "kappa", at_least=1)
        if self.kappa_ > len(X):
            raise ValueError(f"kappa must be at most the number of points, got kappa={self.kappa}, n_samples={len(X)}")
        self.codes_ = self._encode(y, len(X))
        self._distance = falling(self.kernel_)
        self.points_ = self._compared(X)
        return self

    def _compared(self, X: Any) -> Any:
        return self.kernel_.prepare(X) if self._distance is None else self._distance.inputs(X)

    def predict(self, X: Any) -> Any:
        """The most common label of the nearest neighbours."""
        P = self._compared(self._test_points(X))
        if self._distance is None:
            codes = labels_in_feature_space(self.kernel_, P, self.points_, self.codes_, self.kappa_)
        else:  # where kernel values underflow, only distances tell far points apart
            codes = neighbors.vote(self.codes_[nearest_points(P, self.points_, self.kappa_, self._distance.metric)])
        return self.classes_[codes]


@dataclass(eq=False, repr=False)
class LogisticRegression(ProbabilisticClassifier):
    r"""Logistic regression $P(y = 1 \mid x) = s(w^\top x)$ with the penalty $\frac{\text{ridge}}{2} \lVert w\rVert^2$.

    More than two classes are fitted one against the rest, with probabilities scaled to sum to 1. `offset` is
    "penalised" (one more feature, always 1, with a penalised weight, lecture S) or "none". With the same `ridge` and
    `offset`, it equals `KernelLogisticRegression(Linear())` for two classes, but not for more: that is a softmax, like
    `SoftmaxRegression`. The default `offset` is "penalised" here and "none" there. Fitted: `w_`.

    >>> model = LogisticRegression(ridge=0.1, offset="none").fit([[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1])
    >>> model.predict_proba([[0.0]])
    array([[0.5, 0.5]])
    """

    ridge: float = 1.0
    offset: str = "penalised"

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise by Newton's method, to a gradient of 1e-8."""
        ridge = real(self.ridge, "ridge", above=0)
        self.offset_ = offset_word(self.offset, ONE_MORE_FEATURE, true="penalised")
        Phi = _with_ones(self._training_points(X), self.offset_)
        columns = []
        for signs in self._problems(y, len(Phi)):
            # The two columns of a softmax are -w/2 and w/2: half the penalty, hence twice the ridge.
            W = primal_softmax(Phi, (signs > 0).astype(int), ridge=2 * ridge, n_classes=2)
            columns.append(W[:, 1] - W[:, 0])
        self.w_ = side_by_side(columns)
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$w^\top x$, the log-odds."""
        return _with_ones(self._test_points(X), self.offset_) @ self.w_


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(ProbabilisticClassifier):
    r"""Kernel logistic regression: $P(y = 1 \mid x) = s(\sum_i a_i k(x_i, x))$ (lecture S), with the penalty
    $\frac{\text{ridge}}{2} a^\top K a$. For more than two classes, it uses softmax.

    `offset` is "none" or "penalised" (the kernel $k + 1$). With `Linear()` and the same `ridge` and `offset` it equals
    `LogisticRegression` for two classes and `SoftmaxRegression` for more; their default `offset` is "penalised".

    Fitted by Newton's method to a gradient of 1e-8: `a_`, (n,) or (n, k), `b_` and `X_`. Gradient descent as in the
    lecture reaches the same weights more slowly: `logistic_gradient_descent`, `logistic_sgd`.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> KernelLogisticRegression(Gaussian(0.5), ridge=0.1).fit(X, y).predict_proba(X)[:, 1].round(1)
    array([0.2, 0.2, 0.8, 0.8])
    """

    kernel: Kernel = Gaussian(1.0)
    ridge: float = 1.0
    offset: str = "none"
    softmax = True

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise the regularised cross-entropy."""
        ridge, offset = real(self.ridge, "ridge", above=0), offset_word(self.offset, ONE_MORE_FEATURE)
        P = self._prepared_points(X)
        codes = self._encode(y, len(P))
        K = gram(self.kernel_, P, offset)
        if len(self.classes_) == 2:
            self.a_ = logistic.logistic_newton_cg(K, codes, ridge=ridge).a
        else:
            self.a_ = kernel_softmax(K, codes, ridge=ridge, n_classes=len(self.classes_))
        self.b_ = constant_of(self.a_, offset)
        self.f_ = Expansion.over(P, self.a_, self.kernel_)
        return self

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i a_i k(x_i, x) + b$: the log-odds, or one score per class."""
        return self._expanded(X) + self.b_


@dataclass(eq=False, repr=False)
class SoftmaxRegression(ProbabilisticClassifier):
    r"""Softmax regression: $P(y = j \mid x) = \exp(w_j^\top x) / \sum_l \exp(w_l^\top x)$ (lecture H7).

    `offset` is "penalised" (one more feature, always 1) or "none". Fitted: `W_`, one column per class.

    >>> SoftmaxRegression(0.01).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).predict([[-1.0], [3.0]])
    array(['a', 'c'], dtype='<U1')
    """

    ridge: float = 1.0
    offset: str = "penalised"
    softmax = True

    def fit(self, X: Any, y: Any) -> Self:
        """Minimise by Newton's method, to a gradient of 1e-8."""
        ridge = real(self.ridge, "ridge", above=0)
        self.offset_ = offset_word(self.offset, ONE_MORE_FEATURE, true="penalised")
        Phi = _with_ones(self._training_points(X), self.offset_)
        codes = self._encode(y, len(Phi))
        self.W_ = primal_softmax(Phi, codes, ridge=ridge, n_classes=len(self.classes_))
        return self

    def decision_function(self, X: Any) -> Array:
        """One score per class; for two classes, their difference, the log-odds."""
        scores = _with_ones(self._test_points(X), self.offset_) @ self.W_
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


@definition
def svms_on_points(kernel: Kernel, P: Any, problems: list[svm.Problem], lam: float, *, offset: str, gap: float) -> Any:
    K = gram(kernel, P, offset)
    return svm.solve_each(K, problems, lam, offset=offset == "free", gap=gap)


@dataclass(eq=False, repr=False)
class KernelSVM(Classifier):
    r"""The support vector machine: hinge loss plus $\lambda \lVert f\rVert^2$ (lecture K7):

    $$\min_f\ \tfrac1n \sum_i \max(0, 1 - y_i f(x_i)) + \lambda \lVert f\rVert^2 .$$

    `lam` is lecture K's $\lambda$; the usual C is $1/(2n\lambda)$. `offset` is "none", "penalised" (the kernel
    $k + 1$) or "free" (the b of lecture I, which is not penalised). The solver stops at the relative duality gap `gap`:
    the objective is at most that fraction above its minimum. The default is about as accurate as libsvm's;
    `gap=1e-9` gives the weights to many digits.

    For more than two classes, `multiclass="ovo"` solves one problem for each pair of classes, on their points alone and
    with the same C, and predicts the class that wins most pairs; "ovr" solves one problem for each class against the
    rest, and the largest score wins.

    Fitted, with one entry for each of these problems: `c_` (the signed weights $\alpha_i y_i$), `b_`, `gap_`;
    `support_` holds the indices of the points with a non-zero weight in any of them, `X_` the training points.

    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]
    >>> KernelSVM(Gaussian(0.5), lam=0.01).fit(X, y).predict(X)
    array([-1, -1,  1,  1])
    """

    kernel: Kernel = Gaussian(1.0)
    lam: float = 0.01
    offset: str = "none"
    gap: float = 1e-4
    multiclass: str = "ovo"

    def fit(self, X: Any, y: Any) -> Self:
        """Solve the dual to the requested duality gap."""
        offset = offset_word(self.offset, OFFSETS, true="free")
        P = self._prepared_points(X)
        codes = self._encode(y, len(P))
        problems, lam = self._svm_problems(codes), real(self.lam, "lam", above=0)
        fits = svms_on_points(self.kernel_, P, problems, lam, offset=offset, gap=self.gap)
        columns, b = np.zeros((len(fits), len(P))), np.array([f.b for f in fits])
        for column, fit, (rows, signs) in zip(columns, fits, problems, strict=True):
            column[rows] = fit.alpha * signs
        self.c_ = columns[0] if len(fits) == 1 else columns.T
        self.b_ = (b[0] if len(fits) == 1 else b) + constant_of(self.c_, offset)
        self.gap_ = [f.gap for f in fits]
        support = [rows[f.support] for f, (rows, _) in zip(fits, problems, strict=True)]
        self.support_ = np.unique(np.concatenate(support))
        self.f_ = Expansion.over(P, self.c_, self.kernel_)
        return self

    def _svm_problems(self, codes: Any) -> list[svm.Problem]:
        """The rows and signs of each problem. Also sets how the scores will be interpreted."""
        self.multiclass_ = choice(self.multiclass, "multiclass", ("ovo", "ovr"))
        if len(self.classes_) > 2 and self.multiclass_ == "ovo":
            return one_against_one(codes, len(self.classes_))
        return [(np.arange(len(codes)), signs) for signs in one_against_rest(codes, len(self.classes_))]

    def decision_function(self, X: Any) -> Array:
        r"""$\sum_i \alpha_i y_i k(x_i, x) + b$; for more than two classes, one number per class: see `votes`."""
        return self._scored(self._expanded(X) + self.b_)

    def _scored(self, scores: Array) -> Array:
        pairs = len(self.classes_) > 2 and self.multiclass_ == "ovo"
        return votes(scores, len(self.classes_)) if pairs else scores


def one_against_one(codes: Any, n_classes: int) -> list[tuple[Any, Any]]:
    """For each pair of classes, the rows of its points and their signs: +1 for the later class."""
    members = [(rows := np.flatnonzero(codes == i), np.ones(len(rows))) for i in range(n_classes)]
    return [(np.concatenate([i, j]), np.concatenate([-n_i, n_j])) for (i, n_i), (j, n_j) in combinations(members, 2)]


def votes(scores: Array, n_classes: int) -> Array:
    """From one score per pair of classes, (n, pairs), how many pairs each class wins, (n, classes).

    Ties are broken by the sums of the scores, which add less than half a vote.
    """
    wins, sums = np.zeros((2, len(scores), n_classes))
    for (i, j), score in zip(combinations(range(n_classes), 2), scores.T, strict=True):
        wins[:, i] += score <= 0
        wins[:, j] += score > 0
        sums[:, i] -= score
        sums[:, j] += score
    return wins + sums / (3 * (np.abs(sums) + 1))
