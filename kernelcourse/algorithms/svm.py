r"""The kernel support vector machine (lecture K, K7; as a graph trained by SGD in lecture H, H8).

Everything here concerns one number, the mean hinge loss plus a penalty,

$$P(\alpha) = \frac1n \sum_i \max\{0,\ 1 - y_i f(x_i)\} + \text{lam}\ \alpha^\top D_y K D_y\, \alpha,
  \qquad f = \sum_j \alpha_j y_j\, k(x_j, \cdot) + b,$$

with labels $y_i = \pm 1$, and $b = 0$ except in `kernel_svm_with_offset`. Divided by 2 lam it is the textbooks'
$\frac12\|f\|^2 + C \sum_i \max\{0, 1 - y_i f(x_i)\}$ with $C = 1 / (2n\,\text{lam})$.

Its dual maximises $D(\alpha) = 2\,\text{lam}\,(\sum_i \alpha_i - \frac12 \alpha^\top D_y K D_y\, \alpha)$ over the box
$0 \le \alpha_i \le C$, and, where there is an offset, over $\sum_i \alpha_i y_i = 0$. No $D$ exceeds any $P$, so the
distance between the two at one $\alpha$, the duality gap, bounds how far that $\alpha$ is from the best. All solvers
here stop on it and report it relative to $P$. A sum of terms that cannot be negative, it suffers no cancellation:

$$\frac{P - D}{2\,\text{lam}} = \sum_i (C - \alpha_i) \max\{0, 1 - y_i f(x_i)\} + \alpha_i \max\{0, y_i f(x_i) - 1\}.$$
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from .._engine.threads import compiled, in_rows, one_thread
from ..linalg import add_multiple, factor, indefinite, refuse_indefinite, times
from ..validation import Array, flag, generator, points, real, signs, square, vector, warn, whole


class SVMFit(NamedTuple):
    """What a solver found, and how close to the optimum it is known to be."""

    alpha: Array  # (n,), each in [0, C]; f(x) = sum_i alpha_i y_i k(x_i, x) + b
    b: float  # 0 without an offset
    gap: float  # (P - D) / P, the relative duality gap
    steps: int  # of whatever kind the solver takes
    objective: float  # P
    support: NDArray[np.intp]  # the points with alpha_i > 0
    margin_support: NDArray[np.intp]  # those with 0 < alpha_i < C: they lie on the margin, y_i f(x_i) = 1


# ---------------------------------------------------------------- the problem


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
    K_test, alpha = points(K_test, "K_test"), vector(alpha, "alpha")
    if K_test.shape[1] != len(alpha):
        raise ValueError(
            f"K_test has shape {K_test.shape}, but alpha has {len(alpha)} entries: K_test needs a row for each test "
            f"point and {len(alpha)} columns, one for each training point"
        )
    return K_test @ (alpha * signs(y, length=len(alpha))) + real(b, "b")


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

    Outside the box it bounds nothing, and `alpha` is refused. With an offset the bound holds for
    $\sum_i \alpha_i y_i = 0$ only.

    >>> svm_dual_objective([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], [1, -1], lam=0.5)
    0.75
    """
    K, y, lam = _problem(K, y, lam)
    alpha, C = vector(alpha, "alpha", length=len(y)), C_from_lam(lam, n=len(y))
    if alpha.min() < -1e-9 * C or alpha.max() > (1 + 1e-9) * C:
        raise ValueError(
            f"alpha must lie between 0 and C = 1 / (2 n lam) = {C:g}, got entries from {alpha.min():g} to "
            f"{alpha.max():g}: outside that box the dual is no lower bound"
        )
    c = y * alpha
    return float(2 * lam * (alpha.sum() - (c @ K @ c) / 2))


def svm_subgradient(alpha: ArrayLike, K: ArrayLike, y: ArrayLike, *, lam: float) -> Array:
    r"""A subgradient of `svm_objective` in $\alpha$ (lecture K, K7; what lecture H's graph sends back, H8):

    $$D_y K D_y \Bigl(2\,\text{lam}\,\alpha - \tfrac1n h\Bigr), \qquad h_i = [\,y_i f(x_i) < 1\,].$$

    Away from the kinks $y_i f(x_i) = 1$ it is the gradient; at a kink every $h_i$ in [0, 1] would do.

    >>> svm_subgradient([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], [1, -1], lam=0.1)
    array([-0.25, -0.25])
    """
    K, y, lam = _problem(K, y, lam)
    alpha = vector(alpha, "alpha", length=len(y))
    h = y * (K @ (y * alpha)) < 1
    return y * (K @ (y * (2 * lam * alpha - h / len(y))))


# ---------------------------------------------------------------- solvers


def kernel_svm_by_the_book(
    K: ArrayLike, y: ArrayLike, *, lam: float, gap: float = 1e-6, max_epochs: int = 1000
) -> SVMFit:
    r"""The SVM without offset (lecture K, K7) by ascent on the dual, one coordinate after the other.

    Along $\alpha_i$ the dual is a parabola with its top where $y_i f(x_i) = 1$. So a step goes there, or as far as the
    box allows,

    $$\alpha_i \leftarrow \min\Bigl\{C,\ \max\Bigl\{0,\ \alpha_i + \frac{1 - y_i f(x_i)}{K_{ii}}\Bigr\}\Bigr\},$$

    and with the margins $y_i f(x_i)$ kept up to date it costs O(n). It ends when the relative duality gap is at most
    `gap`, and warns if `max_epochs` passes were not enough: a large C takes many. `kernel_svm` finds the same sooner.

    >>> kernel_svm_by_the_book([[1.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.25).alpha  # C = 1
    array([1.  , 0.25])
    """
    K, y, lam = _problem(K, y, lam)
    gap, max_epochs = real(gap, "gap", above=0), whole(max_epochs, "max_epochs", at_least=1)
    dual, n, C = _dual(K, y, lam, offset=False), len(y), C_from_lam(lam, n=len(y))
    Q = y[:, None] * K * y  # D_y K D_y
    alpha, margins = np.zeros(n), np.zeros(n)
    epochs, point = 0, _certify(dual, np.zeros(n))
    while point.gap > gap and epochs < max_epochs:
        for i in range(n):
            step = min(C, max(0.0, alpha[i] + (1 - margins[i]) / dual.diag[i])) - alpha[i]
            alpha[i] += step
            margins += step * Q[i]
        epochs, point = epochs + 1, _certify(dual, y * alpha)
    if not point.gap <= gap:
        warn(_stopped_before(point.gap, gap, f"max_epochs={max_epochs} ran out"))
    return _fit(dual, point, steps=epochs * n, lam=lam)


def kernel_svm(
    K: ArrayLike,
    y: ArrayLike,
    *,
    lam: float,
    gap: float = 1e-6,
    max_steps: int = 1_000_000,
    alpha0: ArrayLike | None = None,
) -> SVMFit:
    r"""The SVM without offset: the minimum of `svm_objective` (lecture K, K7), to the relative duality gap `gap`.

    Steps along one coefficient or a pair come first, each time the one that gains most. They soon show which points
    are at a bound; then a linear system puts the rest on the margin, exactly. Where C is too large for that to be
    soon, an interior-point method solves for the points that are still open. A warning says if the gap was missed.

    `alpha0` is where to start, the solution for a nearby `lam` for example. `K` has to be positive semidefinite: up
    to 500 points that is checked, beyond it is refused only if the solver meets a direction of negative curvature.

    >>> fit = kernel_svm([[1.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.25)  # C = 1
    >>> fit.alpha, fit.margin_support
    (array([1.  , 0.25]), array([1]))
    """
    K, y, lam = _problem(K, y, lam)
    return solved(K, y, lam=lam, offset=False, gap=gap, max_steps=max_steps, alpha0=alpha0)


def kernel_svm_with_offset(
    K: ArrayLike,
    y: ArrayLike,
    *,
    lam: float,
    gap: float = 1e-6,
    max_steps: int = 1_000_000,
    alpha0: ArrayLike | None = None,
) -> SVMFit:
    r"""The SVM whose $f$ has an offset $b$ without penalty (the representer theorem with $b$, I3; the figure of S13).

    A free $b$ asks of the dual that $\sum_i \alpha_i y_i = 0$, so the smallest step moves two coefficients: sequential
    minimal optimisation, the pair chosen by its second-order gain (Fan, Chen and Lin, 2005). The rest is as in
    `kernel_svm`. The offset is the best one for the $f$ found, in the middle where there is a choice. Both labels have
    to occur: with one of them $b$ alone makes every loss 0, and there is nothing to learn.

    >>> fit = kernel_svm_with_offset([[0.0, 0.0], [0.0, 4.0]], [1, -1], lam=0.05)  # points 0 and 2 on a line
    >>> fit.alpha, fit.b
    (array([0.5, 0.5]), 1.0)
    """
    K, y, lam = _problem(K, y, lam)
    return solved(K, y, lam=lam, offset=True, gap=gap, max_steps=max_steps, alpha0=alpha0)


def svm_path(
    K: ArrayLike,
    y: ArrayLike,
    *,
    lams: ArrayLike,
    offset: bool = False,
    gap: float = 1e-6,
    max_steps: int = 1_000_000,
) -> list[SVMFit]:
    r"""The SVM for many `lams`, in the order given: `kernel_svm`, or with an offset `kernel_svm_with_offset`.

    They are solved from the largest down. What was at the old C starts at the new one, the rest in proportion: most
    points stay where they are between neighbouring lams, and a solution costs less than one from nothing.

    >>> [fit.alpha for fit in svm_path([[1.0, 0.0], [0.0, 4.0]], [1, -1], lams=[0.25, 0.5])]
    [array([1.  , 0.25]), array([0.5 , 0.25])]
    """
    K, y, _ = _problem(K, y, 1.0)
    return solved_path(K, y, lams=vector(lams, "lams"), offset=offset, gap=gap, max_steps=max_steps)


def svm_sgd(K: ArrayLike, y: ArrayLike, *, lam: float, steps: int, rng: Any = None, averaged: bool = True) -> Array:
    r"""The SVM without offset by stochastic subgradient descent on hinge loss plus penalty (lecture H, H8; Pegasos).

    Step $t$ draws a point $i$ and moves by $1 / (2\,\text{lam}\,t)$ against a subgradient of
    $\max\{0, 1 - y_i f(x_i)\} + \text{lam}\,\|f\|^2$:

    $$\alpha \leftarrow \Bigl(1 - \frac1t\Bigr)\,\alpha, \qquad
      \alpha_i \leftarrow \alpha_i + \frac1{2\,\text{lam}\,t} \quad\text{if } y_i f(x_i) < 1.$$

    So after $t$ steps $2\,\text{lam}\,t\,\alpha$ merely counts how often each point was a hit, and that is what is
    kept: a step costs O(1), or O(n) for a hit. The average of all iterates, weighted by $t$, lands closer to the
    optimum than the last one; `averaged=False` gives the last. Returns $\alpha \ge 0$, which may leave the dual's box.

    >>> svm_sgd([[1.0, 0.0], [0.0, 1.0]], [1, -1], lam=0.5, steps=1000, rng=0).round(1)  # C = 1 / 2
    array([0.5, 0.5])
    """
    K, y, lam = _problem(K, y, lam)
    steps = whole(steps, "steps", at_least=1)
    hits, total = np.zeros(len(y)), np.zeros(len(y))
    f = np.zeros(len(y))  # of the hits; the iterate's own is f / (2 lam (t - 1))
    order = generator(rng).integers(len(y), size=steps)
    if (loops := compiled(steps * len(y))) is not None:
        loops.svm_sgd(in_rows(K), y, order, lam, hits, total, f)
    else:
        labels = y.tolist()
        for t, i in enumerate(order.tolist(), start=1):
            if labels[i] * f.item(i) < 2 * lam * max(t - 1, 1):
                hits[i] += 1
                total[i] += steps - t + 1  # this hit is in all iterates from t to the last
                add_multiple(f, labels[i], K[i])
    return total / (lam * steps * (steps + 1)) if averaged else hits / (2 * lam * steps)


# ---------------------------------------------------------------- for a K that is known to be a Gram matrix


def solved(
    K: Array,
    y: Array,
    *,
    lam: float,
    offset: bool,
    gap: float,
    max_steps: int = 1_000_000,
    alpha0: ArrayLike | None = None,
) -> SVMFit:
    """`kernel_svm`, or with an offset `kernel_svm_with_offset`, without another look at all of K and y."""
    lam, gap, max_steps = real(lam, "lam", above=0), real(gap, "gap", above=0), whole(max_steps, "max_steps")
    if flag(offset, "offset"):
        _require_both(y)
    dual = _dual(K, y, lam, offset=offset)
    point, steps = _solve(dual, _start(dual, alpha0), gap=gap, max_steps=max_steps)
    if not point.gap <= gap:
        warn(_stopped_before(point.gap, gap, _reason(steps, max_steps)))
    return _fit(dual, point, steps=steps, lam=lam)


def solved_path(
    K: Array, y: Array, *, lams: Array, offset: bool, gap: float, max_steps: int = 1_000_000
) -> list[SVMFit]:
    """`svm_path`, without another look at all of K and y."""
    fits: dict[int, SVMFit] = {}
    alpha, before = None, 1.0
    for i in np.argsort(-lams):
        lam = real(lams[i], "lams", above=0)
        start = None if alpha is None else _at_new_bound(alpha, before / lam)
        fits[i] = solved(K, y, lam=lam, offset=offset, gap=gap, max_steps=max_steps, alpha0=start)
        alpha, before = fits[i].alpha, lam
    return [fits[i] for i in range(len(lams))]


def _at_new_bound(alpha: Array, ratio: float) -> Array:
    """Who was at the bound C goes to the new one, ratio C; the others stay."""
    return np.where(alpha >= (1 - 1e-8) * alpha.max(), ratio * alpha, alpha)


# ---------------------------------------------------------------- the dual, in signed coefficients


class _Dual(NamedTuple):
    r"""Minimise $\frac12 c^\top K c - y^\top c$ over $lo \le c \le hi$ and, with an offset, $\sum_i c_i = 0$.

    In the signed coefficients $c_i = y_i \alpha_i$ the labels are mere targets. The residual $r = y - Kc - b$ is the
    negative gradient: it says which way each $c_i$ wants to go.
    """

    K: Array
    y: Array
    lo: Array
    hi: Array
    diag: Array  # of K, a zero raised to _TINY: a step divided by it runs straight to a bound
    offset: bool


class _Point(NamedTuple):
    """A feasible c with its certificate."""

    c: Array
    f: Array  # K c
    b: float
    gap: float  # (P - D) / P
    objective: float  # P / (2 lam)


_Solver = Callable[[Array, float], tuple[Array, float]]

MANY, FEWEST = 2000, 500  # coefficients: so many are passed over in parts, and a part has at least so many
_TINY = 1e-200
_SLACK = 1e-5  # an eigenvalue above -_SLACK max_i K_ii passes for rounding, that of a K kept in single precision too


def _dual(K: Array, y: Array, lam: float, *, offset: bool) -> _Dual:
    C, diag = C_from_lam(lam, n=len(y)), np.diag(K)
    if len(K) <= 500 or diag.min() < 0:
        refuse_indefinite(K, _SLACK * np.abs(diag).max())
    if C > 1e150:
        raise ValueError(f"lam is too small: C = 1 / (2 n lam) = {C:g} leaves floating point no room, got lam={lam!r}")
    lo, hi = np.minimum(0.0, C * y), np.maximum(0.0, C * y)
    return _Dual(in_rows(K), y, lo, hi, np.maximum(diag, _TINY), offset)


def _certify(dual: _Dual, c: Array) -> _Point:
    f = times(dual.K, c) if c.any() else np.zeros_like(c)
    if c @ f < -_SLACK * dual.diag.max() * (c @ c):
        refuse_indefinite(dual.K, _SLACK * dual.diag.max())
    b = _best_offset(dual.y - f, dual.y) if dual.offset else 0.0
    r = dual.y - f - b
    gap = (dual.hi - c) @ np.maximum(0.0, r) + (c - dual.lo) @ np.maximum(0.0, -r)
    gap += abs(b * c.sum())  # what rounding has left of the constraint
    objective = max(0.0, float(c @ f)) / 2 + (dual.hi - dual.lo) @ np.maximum(0.0, dual.y * r)
    return _Point(c, f, b, float(gap / objective), float(objective))


def _best_offset(r: Array, y: Array) -> float:
    r"""The $b$ that minimises $\sum_i \max\{0, 1 - y_i (f_i + b)\}$, given $r = y - f$.

    The slope of the sum starts at $-n_+$, the number of positive labels, and gains 1 at every $r_i$: it is 0 between
    the $n_+$-th of them in order and the next.
    """
    n_plus = np.count_nonzero(y > 0)
    ordered = np.partition(r, [n_plus - 1, n_plus])
    return float(ordered[n_plus - 1] + ordered[n_plus]) / 2


def _fit(dual: _Dual, point: _Point, *, steps: int, lam: float) -> SVMFit:
    alpha, C = np.abs(point.c), dual.hi[0] - dual.lo[0]
    support = alpha > 1e-8 * alpha.max()  # an interior point leaves traces where the solution is 0
    on_margin = support & (alpha < (1 - 1e-8) * C)
    return SVMFit(
        alpha, point.b, point.gap, steps, 2 * lam * point.objective, np.flatnonzero(support), np.flatnonzero(on_margin)
    )


# ---------------------------------------------------------------- cheap steps first, exact ones at the end


def _solve(dual: _Dual, c: Array, *, gap: float, max_steps: int) -> tuple[_Point, int]:
    """A point that reaches `gap`, or else the best one met on the way there, and the steps taken."""

    def rank(p: _Point) -> tuple[bool, float]:
        return p.gap > gap, p.objective

    n, steps = len(c), 0
    best = point = _certify(dual, c)

    # First a look at a warm start. For few points, more than three passes cost more than they save below; a pass is
    # O(n^2) and what comes below O(n^3), so that for many points more of them pay.
    passes = 3 if n < 1000 and compiled(n * n) is None else max(18, n // 100)
    for number in range(passes + 1):
        if best.gap <= gap or steps >= max_steps:
            return best, steps
        if number > 0:
            c, took = _pass(dual, point, first=number == 1, most=max_steps - steps)
            steps += took
            point = _certify(dual, c)
        # Far away, guesses at who is at a bound are seldom good, and for many points each costs a large system.
        if point.gap < (0.1 if n < MANY else 0.01 if number < 3 else 0.03) or number == passes:
            point, took = _put_on_margin(dual, point, min(5, max_steps - steps))
            steps += took
        best = min(best, point, key=rank)

    size = max(500, 2 * int(np.count_nonzero((dual.lo < point.c) & (point.c < dual.hi))))
    while best.gap > gap and steps < max_steps:
        point, took = _solve_open(dual, point, min(size, n), gap=gap, max_steps=max_steps - steps)
        steps += took
        best = min(best, point, key=rank)
        if size >= n:
            break
        size *= 2
    return best, steps


def _pass(dual: _Dual, point: _Point, *, first: bool, most: int) -> tuple[Array, int]:
    """A cheap step for three of four coefficients.

    Of many, more than a processor's cache has room for, those are left out from the second pass on that are at a bound
    and want to stay there most. A copy of the others' part of K is read faster, and many times as many steps pay.
    """
    n, c, r = len(point.c), point.c.copy(), dual.y - point.f
    wish = _wish(dual, point)
    size = max(FEWEST, int(1.2 * np.count_nonzero(wish > 0)))
    if first or n < MANY or size > 0.7 * n:
        return c, _descend(dual, c, r, min(max(1, 3 * n // 4), most))
    chosen = np.argpartition(-wish, size - 1)[:size]
    chosen.sort()
    K = _among(dual.K, chosen)
    part = _Dual(K, dual.y[chosen], dual.lo[chosen], dual.hi[chosen], dual.diag[chosen], dual.offset)
    moved = c[chosen]
    took = _descend(part, moved, r[chosen], min(3 * n, most))
    c[chosen] = moved
    return c, took


def _wish(dual: _Dual, point: _Point) -> Array:
    """How much each coefficient wants to leave its bound; those off their bounds more than any."""
    r = dual.y - point.f - point.b
    wish = np.where(point.c == dual.lo, r, -r)
    wish[(dual.lo < point.c) & (point.c < dual.hi)] = np.inf
    return wish


def _descend(dual: _Dual, c: Array, r: Array, steps: int) -> int:
    """Change c and r = y - K c by cheap steps, and say how many it took."""
    K, diag, lo, hi = dual.K, dual.diag, dual.lo, dual.hi
    loops = compiled(K.size)
    pair_steps, single_steps = (_pair_steps, _single_steps) if loops is None else (loops.pair_steps, loops.single_steps)
    if dual.offset:
        return pair_steps(K, diag, lo, hi, c, r, steps)
    took, block = 0, max(1, steps // 20)  # pairs get around faster, but only single steps change the sum of c
    while took < steps:
        pairs = pair_steps(K, diag, lo, hi, c, r, min(block, steps - took))
        singles = single_steps(K, diag, lo, hi, c, r, min(block, steps - took - pairs))
        took += pairs + singles
        if pairs + singles == 0:
            break
    return took


def _single_steps(K: Array, diag: Array, lo: Array, hi: Array, c: Array, r: Array, steps: int) -> int:
    r"""Move the $c_i$ that gains most, $\delta r_i - \frac12 \delta^2 K_{ii}$, keeping $r = y - Kc$; steps taken."""
    half, goal, gain = 0.5 * diag, np.empty_like(r), np.empty_like(r)
    for step in range(steps):
        np.divide(r, diag, out=goal)
        goal += c
        np.maximum(goal, lo, out=goal)
        np.minimum(goal, hi, out=goal)
        delta = goal - c
        np.multiply(delta, half, out=gain)
        np.subtract(r, gain, out=gain)
        gain *= delta
        i = int(gain.argmax())
        if delta[i] == 0:
            return step
        c[i] = goal[i]
        add_multiple(r, -delta.item(i), K[i])
    return steps


def _pair_steps(K: Array, diag: Array, lo: Array, hi: Array, c: Array, r: Array, steps: int) -> int:
    r"""Move two coefficients against each other, $c_i$ up and $c_j$ down, keeping $r = y - Kc$; steps taken.

    $i$ has the largest residual that can still go up; $j$ gains most with it, $(r_i - r_j)^2 / 2$ over the curvature
    $K_{ii} + K_{jj} - 2K_{ij}$.
    """
    floor = max(1e-12 * diag.max(), _TINY)  # two points at one place have curvature 0
    up = np.where(c < hi, 0.0, -np.inf)  # what can go up, as a summand
    down = np.where(c > lo, 1.0, 0.0)  # what can go down, as a factor
    gain, curvature = np.empty_like(r), np.empty_like(r)  # used again and again: a step is a few short passes over n
    for step in range(steps):
        i = int(np.add(r, up, out=gain).argmax())
        r_i, room_i = float(r[i]), float(hi[i] - c[i])
        np.add(diag, diag[i], out=curvature)
        add_multiple(curvature, -2.0, K[i])
        np.maximum(curvature, floor, out=curvature)
        np.subtract(r_i, r, out=gain)
        gain *= down
        np.maximum(gain, 0.0, out=gain)
        gain *= gain
        gain /= curvature
        j = int(gain.argmax())
        if gain[j] == 0 or room_i == 0:
            return step
        room_j = float(c[j] - lo[j])
        delta = min((r_i - float(r[j])) / float(curvature[j]), room_i, room_j)
        c[i] = hi[i] if delta == room_i else c[i] + delta
        c[j] = lo[j] if delta == room_j else c[j] - delta
        for k in (i, j):
            up[k] = 0.0 if c[k] < hi[k] else -np.inf
            down[k] = 1.0 if c[k] > lo[k] else 0.0
        np.subtract(K[j], K[i], out=gain)
        add_multiple(r, delta, gain)
    return steps


def _put_on_margin(dual: _Dual, point: _Point, rounds: int) -> tuple[_Point, int]:
    """Guess who is at a bound, solve for the others to have residual 0, guess again: Newton's method on the dual.

    Close to the solution the guess is soon right, and then the answer is exact. The best point is returned, and the
    number of systems solved.
    """
    K, y, lo, hi = dual.K, dual.y, dual.lo, dual.hi
    best, c, f, b, guess = point, point.c, point.f, point.b, np.zeros(0)
    for solved in range(rounds):
        probe = c + (y - f - b) / dual.diag
        last, guess = guess, np.where(probe <= lo, lo, np.where(probe >= hi, hi, np.nan))
        free = np.flatnonzero(np.isnan(guess))
        if len(free) == 0 or np.array_equal(guess, last, equal_nan=True):
            return best, solved
        held = np.where(np.isnan(guess), c, guess)
        f = _moved(K, f, c, held)
        with one_thread(len(free) < 1000):
            solve = _kkt_solver(_among(K, free), np.zeros(len(free)), offset=dual.offset)
            step, step_b = solve((y - f - b)[free], -held.sum())
        c = held.copy()
        c[free] += step
        f = _moved(K, f, held, c)
        b += step_b
        balanced = not dual.offset or abs(c.sum()) <= 1e-12 * np.abs(c).sum()
        if balanced and np.all((lo <= c) & (c <= hi)):
            tried = _certify(dual, c)
            f = tried.f
            best = min(best, tried, key=lambda p: p.gap)
    return best, rounds


def _among(K: Array, chosen: NDArray[np.intp]) -> Array:
    """A copy of these rows and columns of K."""
    if len(chosen) > 500:
        return K[np.ix_(chosen, chosen)]
    return K.ravel().take(chosen[:, None] * len(K) + chosen)  # faster for few


def _moved(K: Array, f: Array, c: Array, to: Array) -> Array:
    """K to, from f = K c: only what has changed counts."""
    changed = np.flatnonzero(c != to)
    if 10 * len(changed) > len(c):  # a copy of many rows costs more than half of all of them read once
        return times(K, to)
    return f + (to - c)[changed] @ K[changed]


def _solve_open(dual: _Dual, point: _Point, size: int, *, gap: float, max_steps: int) -> tuple[_Point, int]:
    """Solve for `size` coefficients, the others held: those off their bounds, then those that want to leave theirs
    most, then those that want to stay least."""
    K, y, lo, hi, c = dual.K, dual.y, dual.lo, dual.hi, point.c.copy()
    chosen = np.argpartition(-_wish(dual, point), size - 1)[:size]
    held = np.delete(np.arange(len(c)), chosen)
    dual_value = point.objective * (1 - point.gap)
    c[chosen], steps = _interior_point(
        _among(K, chosen),
        y[chosen] - K[np.ix_(chosen, held)] @ c[held],
        lo[chosen],
        hi[chosen],
        c[chosen],
        total=-c[held].sum() if dual.offset else None,
        tolerance=max(1e-3 * gap, 1e-14) * max(dual_value, 1e-3 * point.objective),
        max_steps=min(60, max_steps),
    )
    found = _certify(dual, _balanced(c) if dual.offset else c)  # cut short, it leaves the constraint open
    found, solved = _put_on_margin(dual, found, min(5, max_steps - steps))
    return found, steps + solved


def _interior_point(
    K: Array, t: Array, lo: Array, hi: Array, c: Array, *, total: float | None, tolerance: float, max_steps: int
) -> tuple[Array, int]:
    r"""Minimise $\frac12 c^\top K c - t^\top c$ over $lo \le c \le hi$ and, if `total` is given, $\sum_i c_i$ = total.

    At the minimum $t - Kc - b = z_2 - z_1$ with multipliers $z \ge 0$ that vanish where the rooms $c - lo$ and
    $hi - c$ do not. Mehrotra's predictor-corrector method lets all products of room and multiplier fall together, and
    ends when they sum to at most `tolerance`.
    """

    def residuals(c: Array, b: float) -> tuple[Array, float]:
        return t - K @ c - b, 0.0 if total is None else total - float(c.sum())

    width, b, steps = hi - lo, 0.0, 0
    c = np.clip(c, lo + 0.05 * width, hi - 0.05 * width)
    r, lack = residuals(c, b)
    room = np.array([c - lo, hi - c])  # (2, n), kept beside c: close to a bound the difference would round to 0
    z = 1 + np.maximum(0.0, [-r, r])  # (2, n), with r = z[1] - z[0] from the start
    while steps < max_steps and (np.sum(room * z) > tolerance or abs(lack) > 1e-14 * width.sum()):
        solve = _kkt_solver(K, (z / room).sum(axis=0), offset=total is not None)
        d, _, d_z = _barrier_direction(solve, r, lack, room, z, np.zeros_like(z))  # straight at the conditions
        d_room = np.array([d, -d])
        a = _longest(room, z, d_room, d_z)
        mean, ahead = np.mean(room * z), np.mean((room + a * d_room) * (z + a * d_z))
        # The less that step could gain, the closer to their present mean the products should stay.
        d, d_b, d_z = _barrier_direction(solve, r, lack, room, z, mean * (ahead / mean) ** 3 - d_room * d_z)
        d_room = np.array([d, -d])
        a = 0.995 * _longest(room, z, d_room, d_z)
        c, b, room, z = c + a * d, b + a * d_b, room + a * d_room, z + a * d_z
        r, lack = residuals(c, b)
        steps += 1
    return np.clip(c, lo, hi), steps


def _barrier_direction(
    solve: _Solver, r: Array, lack: float, room: Array, z: Array, products: Array
) -> tuple[Array, float, Array]:
    """The Newton step in c, b and z that would bring room * z to the given products."""
    goal = products / room
    d, d_b = solve(r + goal[0] - goal[1], lack)
    return d, d_b, goal - z - z / room * np.array([d, -d])


def _longest(room: Array, z: Array, d_room: Array, d_z: Array) -> float:
    """The longest step, at most 1, that leaves room and z nonnegative."""
    return 1 / max(1.0, np.max(-d_room / room), np.max(-d_z / z))


def _kkt_solver(K: Array, diagonal: Array, *, offset: bool) -> _Solver:
    """A solver for d and d_b in `(K + diag(diagonal)) d + d_b = rhs`, `sum(d) = lack`; without offset d_b is 0."""
    lower = _cholesky(K, diagonal)
    if not offset:
        return lambda rhs, lack: (linalg.cho_solve(lower, rhs, check_finite=False), 0.0)
    ones = linalg.cho_solve(lower, np.ones(len(K)), check_finite=False)

    def solve(rhs: Array, lack: float) -> tuple[Array, float]:
        d = linalg.cho_solve(lower, rhs, check_finite=False)
        d_b = (d.sum() - lack) / ones.sum()
        return d - d_b * ones, d_b

    return solve


def _cholesky(K: Array, diagonal: Array) -> tuple[Array, bool]:
    """Factor K + diag(diagonal), with as little more on the diagonal as a K that is singular up to rounding needs."""
    for jitter in (1e-13, 1e-11, 1e-9, 1e-7, _SLACK):
        A = K.copy()
        np.einsum("ii->i", A)[:] += diagonal + max(jitter * np.diag(K).max(), _TINY)
        if not factor(A):
            return A.T, True
    raise indefinite(K)


# ---------------------------------------------------------------- checks


def _problem(K: ArrayLike, y: ArrayLike, lam: float) -> tuple[Array, Array, float]:
    K = square(K)
    return K, signs(y, length=len(K)), real(lam, "lam", above=0)


def _require_both(y: Array) -> None:
    if np.all(y == y[0]):
        raise ValueError(f"y must hold both labels -1 and +1, got {y[0]:+g} only: an offset alone fits one class")


def _start(dual: _Dual, alpha0: ArrayLike | None) -> Array:
    """Signed coefficients to start from: `alpha0` brought into the box and, for an offset, into balance."""
    n = len(dual.y)
    if alpha0 is None:
        return np.zeros(n)
    c = np.clip(dual.y * vector(alpha0, "alpha0", length=n), dual.lo, dual.hi)
    return _balanced(c) if dual.offset else c


def _balanced(c: Array) -> Array:
    """Scale the heavier of the two classes down, so that the coefficients sum to 0."""
    plus, minus = c[c > 0].sum(), -c[c < 0].sum()
    if abs(plus - minus) <= 1e-14 * (plus + minus):
        return c  # what is at a bound stays there to the last digit
    lighter = min(plus, minus)
    return np.where(c > 0, c * (lighter / max(plus, _TINY)), c * (lighter / max(minus, _TINY)))


def _stopped_before(reached: float, gap: float, why: str) -> str:
    return f"the SVM stopped at relative duality gap {reached:.1e} > gap={gap:g}: {why}"


def _reason(steps: int, max_steps: int) -> str:
    if steps >= max_steps:
        return f"max_steps={max_steps} ran out"
    return "rounding allows no better; a larger lam, or K scaled to a diagonal near 1, would"
