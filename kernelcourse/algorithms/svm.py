r"""The kernel support vector machine (lecture K, K7; as a graph trained by SGD in lecture H, H8).

Everything here concerns one objective, the mean hinge loss plus a penalty,

$$P(\alpha) = \frac1n \sum_i \max\{0,\ 1 - y_i f(x_i)\} + \text{lam}\ \alpha^\top D_y K D_y\, \alpha,
  \qquad f = \sum_j \alpha_j y_j\, k(x_j, \cdot) + b,$$

with labels $y_i = \pm 1$, and $b = 0$ except in `kernel_svm_with_offset`. Divided by 2 lam it is the textbooks'
$\frac12\|f\|^2 + C \sum_i \max\{0, 1 - y_i f(x_i)\}$ with $C = 1 / (2n\,\text{lam})$.

Its dual maximises $D(\alpha) = 2\,\text{lam}\,(\sum_i \alpha_i - \frac12 \alpha^\top D_y K D_y\, \alpha)$ over the box
$0 \le \alpha_i \le C$, and, where there is an offset, over $\sum_i \alpha_i y_i = 0$. No $D$ exceeds any $P$, so the
duality gap, the distance between the two at one $\alpha$, bounds how far $P(\alpha)$ is above its minimum. All solvers
here except `svm_sgd` stop on it and report it relative to $P$. It is a sum of non-negative terms, so nothing cancels:

$$\frac{P - D}{2\,\text{lam}} = \sum_i (C - \alpha_i) \max\{0, 1 - y_i f(x_i)\} + \alpha_i \max\{0, y_i f(x_i) - 1\}.$$
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..linalg import EPS, SLACK, cholesky, cholesky_solve, refuse_indefinite, symmetric_product
from ..seam import definition
from ..validation import Array, generator, points, real, signs, square, vector, warn, whole

__all__ = [
    "C_from_lam", "SVMFit", "decision_values", "hinge_losses", "kernel_svm", "kernel_svm_by_the_book",
    "kernel_svm_with_offset", "lam_from_C", "svm_dual_objective", "svm_objective", "svm_sgd", "svm_subgradient",
]  # fmt: skip


class SVMFit(NamedTuple):
    """What a solver found, and how close to the optimum it is known to be."""

    alpha: Array  # (n,), each in [0, C]; f(x) = sum_i alpha_i y_i k(x_i, x) + b
    b: float  # 0 without an offset
    gap: float  # (P - D) / P, the relative duality gap
    steps: int  # what counts as a step depends on the solver
    objective: float  # P
    support: NDArray[np.intp]  # the points with alpha_i > 0
    margin_support: NDArray[np.intp]  # those with 0 < alpha_i < C: they lie on the margin, y_i f(x_i) = 1


def C_from_lam(lam: float, *, n: int) -> float:
    r"""The textbooks' $C = 1 / (2n\,\text{lam})$, which weighs the sum of the losses against $\frac12\|f\|^2$.

    >>> C_from_lam(0.01, n=50)
    1.0
    """
    return 1 / (2 * whole(n, "n", at_least=1) * real(lam, "lam", above=0))


def lam_from_C(C: float, *, n: int) -> float:
    r"""Lecture K's $\text{lam} = 1 / (2nC)$, which weighs $\|f\|^2$ against the mean of the losses.

    >>> lam_from_C(1.0, n=50)
    0.01
    """
    return 1 / (2 * whole(n, "n", at_least=1) * real(C, "C", above=0))


def hinge_losses(f: ArrayLike, y: ArrayLike) -> Array:
    r"""The hinge loss $\max\{0, 1 - y_i f_i\}$ of each prediction (lecture K, K7).

    >>> hinge_losses([2.0, 0.5, 0.5], [1, 1, -1])
    array([0. , 0.5, 1.5])
    """
    f = vector(f, "f")
    return np.maximum(0.0, 1 - signs(y, length=len(f)) * f)


def decision_values(K_test: ArrayLike, alpha: ArrayLike, y: ArrayLike, *, b: float = 0.0) -> Array:
    r"""$f(x) = \sum_i \alpha_i y_i\, k(x_i, x) + b$ at each test point; its sign is the prediction (lecture K, K7).

    `K_test` has a row for each test point and a column for each training point.

    >>> decision_values([[1.0, 3.0]], [0.5, 0.25], [1, -1])
    array([-0.25])
    """
    alpha = vector(alpha, "alpha")
    return points(K_test, "K_test", columns=len(alpha)) @ (alpha * signs(y, length=len(alpha))) + real(b, "b")


def svm_objective(alpha: ArrayLike, K: ArrayLike, y: ArrayLike, *, lam: float, b: float = 0.0) -> float:
    r"""Mean hinge loss plus penalty (lecture K, K7), for any $\alpha$, inside the dual's box or not:

    $$P = \frac1n \sum_i \max\{0, 1 - y_i f(x_i)\} + \text{lam}\ \alpha^\top D_y K D_y\, \alpha.$$

    >>> svm_objective([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [1, -1], lam=0.5)  # losses 1/2 each, penalty 1/4
    0.75
    """
    K, y, lam = _problem(K, y, lam)
    c = y * vector(alpha, "alpha", length=len(y))
    f = K @ c
    return float(hinge_losses(f + real(b, "b"), y).mean() + lam * (c @ f))


def svm_dual_objective(alpha: ArrayLike, K: ArrayLike, y: ArrayLike, *, lam: float) -> float:
    r"""The dual of K7, a lower bound on every value of `svm_objective`:

    $$D(\alpha) = 2\,\text{lam}\,\Bigl(\sum_i \alpha_i - \tfrac12\, \alpha^\top D_y K D_y\, \alpha\Bigr),
      \qquad 0 \le \alpha_i \le C = \frac1{2n\,\text{lam}}.$$

    Outside the box it bounds nothing, and `alpha` is refused. With an offset the bound holds
    only if $\sum_i \alpha_i y_i = 0$.

    >>> svm_dual_objective([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [1, -1], lam=0.5)
    0.75
    """
    K, y, lam = _problem(K, y, lam)
    alpha, C = vector(alpha, "alpha", length=len(y)), C_from_lam(lam, n=len(y))
    if alpha.min() < -1e-9 * C or alpha.max() > (1 + 1e-9) * C:
        raise ValueError(f"alpha must lie between 0 and C = {C:g}, got entries from {alpha.min():g} to {alpha.max():g}")
    c = y * alpha
    return float(2 * lam * (alpha.sum() - (c @ K @ c) / 2))


def svm_subgradient(alpha: ArrayLike, K: ArrayLike, y: ArrayLike, *, lam: float) -> Array:
    r"""A subgradient of `svm_objective` in $\alpha$ (lecture K, K7; what lecture H's graph propagates back, H8):

    $$D_y K D_y \Bigl(2\,\text{lam}\,\alpha - \tfrac1n h\Bigr), \qquad h_i = [\,y_i f(x_i) < 1\,].$$

    Away from the kinks $y_i f(x_i) = 1$ it is the gradient; at a kink every $h_i$ in [0, 1] would do.

    >>> svm_subgradient([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], [1, -1], lam=0.1)
    array([-0.25, -0.25])
    """
    K, y, lam = _problem(K, y, lam)
    alpha = vector(alpha, "alpha", length=len(y))
    h = y * (K @ (y * alpha)) < 1
    return y * (K @ (y * (2 * lam * alpha - h / len(y))))


def kernel_svm_by_the_book(
    K: ArrayLike, y: ArrayLike, *, lam: float, gap: float = 1e-6, max_epochs: int = 1000
) -> SVMFit:
    r"""The SVM without offset (lecture K, K7) by ascent on the dual, one coordinate at a time.

    Along $\alpha_i$ the dual is a parabola with its maximum where $y_i f(x_i) = 1$. So a step goes there, or as far as
    the box allows,

    $$\alpha_i \leftarrow \min\Bigl\{C,\ \max\Bigl\{0,\ \alpha_i + \frac{1 - y_i f(x_i)}{K_{ii}}\Bigr\}\Bigr\},$$

    and with the margins $y_i f(x_i)$ kept up to date it costs O(n). It ends when the relative duality gap is at most
    `gap`, and warns if `max_epochs` passes were not enough: a large C takes many. `kernel_svm` is faster.

    >>> kernel_svm_by_the_book([[1.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.25).alpha  # C = 1
    array([1.  , 0.25])
    """
    K, y, lam = _checked_problem(K, y, lam)
    gap, max_epochs = real(gap, "gap", above=0), whole(max_epochs, "max_epochs", at_least=1)
    dual, n, C = dual_problem(K, y, lam, offset=False), len(y), C_from_lam(lam, n=len(y))
    Q = y[:, None] * K * y  # D_y K D_y
    alpha, margins = np.zeros(n), np.zeros(n)
    epochs, point = 0, certify(dual, np.zeros(n))
    while point.gap > gap and epochs < max_epochs:
        for i in range(n):
            step = min(C, max(0.0, alpha[i] + (1 - margins[i]) / dual.diag[i])) - alpha[i]
            alpha[i] += step
            margins += step * Q[i]
        epochs, point = epochs + 1, certify(dual, y * alpha)
    return fit_at(point, C, gap, lam, epochs * n, f"max_epochs={max_epochs} ran out")


def kernel_svm(
    K: ArrayLike, y: ArrayLike, *, lam: float, gap: float = 1e-6, max_steps: int = 1_000_000, alpha0: Any = None
) -> SVMFit:
    r"""The SVM without offset: the minimum of `svm_objective` (lecture K, K7) to within a relative gap of `gap`.

    It first takes steps along one coefficient or a pair, always the one that gains most. These soon show which points
    are at a bound; a linear system then puts the rest exactly on the margin: see `descend`. It warns if it does
    not reach the gap. `alpha0` is the starting point, for example the solution for a nearby `lam`. `K` must be positive
    semidefinite: up to 500 points this is checked, beyond that only in the directions that the solver meets.

    >>> fit = kernel_svm([[1.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.25)  # C = 1
    >>> fit.alpha, fit.margin_support
    (array([1.  , 0.25]), array([1]))
    """
    K, y, lam = _checked_problem(K, y, lam)
    return solved(K, y, lam, offset=False, gap=gap, max_steps=max_steps, alpha0=alpha0)


def kernel_svm_with_offset(
    K: ArrayLike, y: ArrayLike, *, lam: float, gap: float = 1e-6, max_steps: int = 1_000_000, alpha0: Any = None
) -> SVMFit:
    r"""The SVM whose $f$ has an offset $b$ without penalty (the representer theorem with $b$, I3; the figure of S13).

    A free $b$ adds the constraint $\sum_i \alpha_i y_i = 0$ to the dual, so the smallest step moves two coefficients:
    sequential minimal optimisation, with the pair chosen by its second-order gain (Fan, Chen and Lin, 2005). The offset
    is the best one for the $f$ found, or the middle of the best ones. All else is as in `kernel_svm`; both labels must
    occur.

    >>> fit = kernel_svm_with_offset([[0.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.05)  # points 0 and 2 on a line
    >>> fit.alpha, fit.b
    (array([0.5, 0.5]), 1.0)
    """
    K, y, lam = _checked_problem(K, y, lam)
    return solved(K, y, lam, offset=True, gap=gap, max_steps=max_steps, alpha0=alpha0)


def solved(
    K: Array, y: Array, lam: float, *, offset: bool, gap: float, max_steps: int = 1_000_000, alpha0: Any = None
) -> SVMFit:
    """Either SVM, for a K known to be a Gram matrix and labels known to be -1 and +1."""
    lam, gap, max_steps = real(lam, "lam", above=0), real(gap, "gap", above=0), whole(max_steps, "max_steps")
    if offset and np.all(y == y[0]):
        raise ValueError(f"y must hold both labels -1 and +1, got {y[0]:+g} only: an offset alone fits one class")
    dual = dual_problem(K, y, lam, offset=offset)
    alpha = np.zeros(len(y)) if alpha0 is None else vector(alpha0, "alpha0", length=len(y))
    c = np.clip(y * alpha, dual.lo, dual.hi)
    point, steps = descend(dual, balanced(c) if offset else c, gap=gap, max_steps=max_steps)
    reason = "rounding allows no smaller gap; a larger lam, or K scaled to a diagonal near 1, would help"
    C, reason = C_from_lam(lam, n=len(y)), f"max_steps={max_steps} ran out" if steps >= max_steps else reason
    return fit_at(point, C, gap, lam, steps, reason)


Problem = tuple[NDArray[np.intp], Array]  # the rows of some points, and their signs


@definition
def solve_each(
    K: Array, problems: list[Problem], lam: float, *, offset: bool, gap: float, max_steps: int = 1_000_000
) -> list[SVMFit]:
    """The SVM for each problem, always with the C that `lam` gives for all points of K."""
    parts = (K if len(rows) == len(K) else K[np.ix_(rows, rows)] for rows, _ in problems)
    options: Any = {"offset": offset, "gap": gap, "max_steps": max_steps}
    return [solved(part, y, lam * len(K) / len(y), **options) for part, (_, y) in zip(parts, problems, strict=True)]


def svm_sgd(K: ArrayLike, y: ArrayLike, *, lam: float, steps: int, rng: Any = None, averaged: bool = True) -> Array:
    r"""The SVM without offset by stochastic subgradient descent on hinge loss plus penalty (lecture H, H8; Pegasos).

    Step $t$ draws a point $i$ and moves by $1 / (2\,\text{lam}\,t)$ against a subgradient of
    $\max\{0, 1 - y_i f(x_i)\} + \text{lam}\,\|f\|^2$:

    $$\alpha \leftarrow \Bigl(1 - \frac1t\Bigr)\,\alpha, \qquad
      \alpha_i \leftarrow \alpha_i + \frac1{2\,\text{lam}\,t} \quad\text{if } y_i f(x_i) < 1.$$

    So after $t$ steps, $2\,\text{lam}\,t\,\alpha$ counts how often each point was a hit, $y_i f(x_i) < 1$. Only these
    counts are kept: a step costs O(1), or O(n) for a hit. The iterates' average, weighted by $t$, is closer to the
    optimum than the last, which `averaged=False` gives. Returns $\alpha \ge 0$, which may lie outside the dual's box.

    >>> svm_sgd([[1.0, 0.0], [0.0, 1.0]], [1, -1], lam=0.5, steps=1000, rng=0).round(1)  # C = 1 / 2
    array([0.5, 0.5])
    """
    K, y, lam = _problem(K, y, lam)
    steps = whole(steps, "steps", at_least=1)
    hits, total = hits_and_totals(K, y, generator(rng).integers(len(y), size=steps), lam)
    return total / (lam * steps * (steps + 1)) if averaged else hits / (2 * lam * steps)


@definition
def hits_and_totals(K: Array, y: Array, order: NDArray[np.intp], lam: float) -> tuple[Array, Array]:
    """How often each point, visited in this order, was a hit, and how many iterates contain its hits, added up."""
    hits, total, f = np.zeros(len(y)), np.zeros(len(y)), np.zeros(len(y))  # f is 2 lam t times the iterate's
    for t, i in enumerate(order.tolist(), start=1):
        if y[i] * f[i] < 2 * lam * max(t - 1, 1):
            hits[i] += 1
            total[i] += len(order) - t + 1  # this hit is in all iterates from t to the last
            f += y[i] * K[i]
    return hits, total


class Dual(NamedTuple):
    r"""Minimise $\frac12 c^\top K c - y^\top c$ over $lo \le c \le hi$ and, with an offset, $\sum_i c_i = 0$.

    In the signed coefficients $c_i = y_i \alpha_i$ the labels act as targets. The residual $r = y - Kc - b$ is the
    negative gradient: its sign says which way each $c_i$ should go.
    """

    K: Array
    y: Array
    lo: Array
    hi: Array
    diag: Array  # of K, but at least TINY: a step divided by TINY runs straight to a bound
    offset: bool


class Point(NamedTuple):
    """A feasible c with its certificate."""

    c: Array
    f: Array  # K c
    b: float
    gap: float  # (P - D) / P
    objective: float  # P / (2 lam)


TINY = 1e-200


def dual_problem(K: Array, y: Array, lam: float, *, offset: bool) -> Dual:
    """The dual of the SVM; refuses a K with a negative diagonal, and a C above 1e150."""
    C, diag = C_from_lam(lam, n=len(y)), np.diag(K)
    if diag.min() < 0:
        refuse_indefinite(K, SLACK * np.abs(diag).max())
    if C > 1e150:
        raise ValueError(f"lam is too small: C = 1 / (2 n lam) = {C:g} exceeds 1e150, got lam={lam!r}")
    return Dual(K, y, np.minimum(0.0, C * y), np.maximum(0.0, C * y), np.maximum(diag, TINY), offset)


def certify(dual: Dual, c: Array, f: Array | None = None) -> Point:
    """The point c with its duality gap; f = K c is computed unless it is given."""
    f = symmetric_product(dual.K, c) if f is None else f
    if c @ f < -SLACK * dual.diag.max() * (c @ c):
        refuse_indefinite(dual.K, SLACK * dual.diag.max())
    b = best_offset(dual.y - f, dual.y) if dual.offset else 0.0
    r = dual.y - f - b
    gap = (dual.hi - c) @ np.maximum(0.0, r) + (c - dual.lo) @ np.maximum(0.0, -r)
    gap += abs(b * c.sum())  # how far rounding has violated the constraint
    objective = max(0.0, float(c @ f)) / 2 + (dual.hi - dual.lo) @ np.maximum(0.0, dual.y * r)
    return Point(c, f, b, float(gap / objective), float(objective))


def best_offset(r: Array, y: Array) -> float:
    r"""The $b$ that minimises $\sum_i \max\{0, 1 - y_i (f_i + b)\}$, given $r = y - f$.

    The slope of the sum starts at $-n_+$, minus the number of positive labels, and gains 1 at every $r_i$. With the
    $r_i$ sorted, it is 0 between the $n_+$-th of them and the next.
    """
    n_plus = np.count_nonzero(y > 0)
    ordered = np.partition(r, [n_plus - 1, n_plus])
    return float(ordered[n_plus - 1] + ordered[n_plus]) / 2


def fit_at(point: Point, C: float, gap: float, lam: float, steps: int, reason: str) -> SVMFit:
    """The fit at a point, with a warning that gives the reason if the gap was not reached."""
    if not point.gap <= gap:
        warn(f"the SVM stopped at relative duality gap {point.gap:.1e} > gap={gap:g}: {reason}")
    alpha = np.abs(point.c)
    support = np.flatnonzero(alpha > 1e-8 * alpha.max())  # an interior-point solution has tiny values in place of 0
    on_margin = support[alpha[support] < (1 - 1e-8) * C]
    return SVMFit(alpha, point.b, point.gap, steps, 2 * lam * point.objective, support, on_margin)


@definition
def descend(dual: Dual, c: Array, *, gap: float, max_steps: int) -> tuple[Point, int]:
    """The point with the smallest duality gap found on the way to `gap`, and the number of steps.

    n steps cost as much as a certificate, O(n^2). Each certificate brings a guess about which points end at a bound.
    """
    best = last = certify(dual, c)
    c, steps, took = c.copy(), 0, 1
    while best.gap > gap:
        best = min(best, put_on_margin(dual, last), key=lambda point: point.gap)
        if best.gap <= gap or steps >= max_steps or took == 0:
            break
        r, took = dual.y - last.f, 0
        rounding = EPS * dual.diag.max() * np.abs(c).max()
        while took < min(len(c), max_steps - steps) and take_best_step(dual, c, r, rounding):
            took += 1
        steps, last = steps + took, certify(dual, c.copy())
        best = min(best, last, key=lambda point: point.gap)
    return best, steps


def take_best_step(dual: Dual, c: Array, r: Array, rounding: float) -> bool:
    r"""Change the pair of coefficients (without an offset, the one) that gains most, and keep $r = y - Kc$ up to date.

    In a pair, $c_i$ goes up and $c_j$ down: $i$ has the largest residual of those that can still go up, and $j$ gains
    most with it, $(r_i - r_j)^2 / 2$ over the curvature $K_{ii} + K_{jj} - 2K_{ij}$. A single coefficient moves by
    $\delta$ and gains $\delta r_i - \frac12 \delta^2 K_{ii}$. Returns False if there is nothing left to gain.
    """
    K, _, lo, hi, diag, offset = dual
    i = int(np.where(c < hi, r, -np.inf).argmax())
    slope = np.where((c > lo) & (c[i] < hi[i]), r[i] - r, 0.0)
    curvature = np.maximum(diag[i] + diag - 2 * K[i], max(1e-12 * diag.max(), TINY))  # 0 for two equal points
    gains = np.maximum(slope, 0.0) ** 2 / (2 * curvature)
    j = int(gains.argmax())
    if not offset:
        goal = np.clip(c + r / diag, lo, hi)
        alone = (goal - c) * (r - diag * (goal - c) / 2)
        k = int(alone.argmax())
        if alone[k] >= gains[j]:
            moved = goal[k] != c[k] and abs(r[k]) > rounding
            r -= (goal[k] - c[k]) * K[k]
            c[k] = goal[k]
            return bool(moved)
    room_i, room_j = hi[i] - c[i], c[j] - lo[j]
    delta = min(slope[j] / curvature[j], room_i, room_j)
    if not slope[j] > rounding:
        return False
    c[i] = hi[i] if delta == room_i else c[i] + delta
    c[j] = lo[j] if delta == room_j else c[j] - delta
    r -= delta * (K[i] - K[j])
    return True


def put_on_margin(dual: Dual, point: Point) -> Point:
    """Guess which points end at a bound, and solve for residual 0 at the others: Newton's method on the dual.

    Close to the solution the guess is right and the answer exact; if it leads out of the box, nothing changes.
    """
    goal = point.c + (dual.y - point.f - point.b) / dual.diag
    c = np.clip(goal, dual.lo, dual.hi)
    free = np.flatnonzero((c == goal) & (dual.diag > TINY))
    if len(free) == 0:
        return point
    c[free] = 0.0
    L = cholesky(dual.K[np.ix_(free, free)])
    c[free] = cholesky_solve(L, (dual.y - dual.K @ c)[free])
    if dual.offset:  # K c + b = y with one more unknown, b, and one more equation, sum(c) = 0
        per_b = cholesky_solve(L, np.ones(len(free)))
        c[free] -= c.sum() / per_b.sum() * per_b
    in_balance = not dual.offset or abs(c.sum()) <= 1e-12 * np.abs(c).sum()
    return certify(dual, c) if in_balance and np.all((dual.lo <= c) & (c <= dual.hi)) else point


def _problem(K: ArrayLike, y: ArrayLike, lam: float) -> tuple[Array, Array, float]:
    K = square(K)
    return K, signs(y, length=len(K)), real(lam, "lam", above=0)


def _checked_problem(K: ArrayLike, y: ArrayLike, lam: float) -> tuple[Array, Array, float]:
    """The problem for a user's K: a small K is checked completely, a large one only where the solver goes."""
    K, y, lam = _problem(K, y, lam)
    if len(K) <= 500:
        refuse_indefinite(K, SLACK * np.abs(np.diag(K)).max())
    return K, y, lam


def balanced(c: Array) -> Array:
    """Scale the heavier of the two classes down, so that the coefficients sum to 0."""
    plus, minus = c[c > 0].sum(), -c[c < 0].sum()
    if abs(plus - minus) <= 1e-14 * (plus + minus):
        return c  # coefficients at a bound stay exactly there
    lighter = min(plus, minus)
    return np.where(c > 0, c * (lighter / max(plus, TINY)), c * (lighter / max(minus, TINY)))
