"""The support vector machine for many points or a large C: cheap steps first, exact ones at the end.

Greedy steps along one coefficient or a pair quickly show which points are at a bound. A linear system then puts the
others on the margin. If C is so large that steps take too long, an interior-point method solves for the points left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from ..algorithms import svm
from ..algorithms.svm import TINY, Dual, Point, balanced, certify
from ..estimators import classifiers
from ..estimators.base import gram
from ..kernels.vectors import Gaussian, Laplacian
from ..linalg import indefinite, nuggets, symmetric_product
from ..seam import accelerates, always
from ..validation import Array, real
from .gram import exponent
from .linalg import add_multiple, factor
from .threads import CALL, Loops, compiled, in_rows, in_threads, one_thread, side_by_side

Solver = Callable[[Array, float], tuple[Array, float]]

STEPS = 20  # per point: an estimate of what a solution takes
SMALL = 500  # coefficients that fit in the processor's cache with their part of K: none of them is left out
SHORT = 1500  # points; a problem with more is given fewer steps before another method takes over
MANY = 1000  # points; of fewer, all of K takes little memory
CHECK = 500  # steps between two checks of which coefficients can be left out
WORTH_A_THREAD = 1000  # points in each of several problems worth solving at the same time
WORTH_BLAS_THREADS = 1500  # points in one problem; for fewer, a second thread costs more than it saves
NO_POINTS = np.empty((0, 0)), False, 0.0  # for compiled steps that have all of K
NEAR = 32  # widths of the kernel; points not further from their mean have accurate distances in single precision
TIGHT = 1e-5  # below this gap, the linear system is tried as soon as its guess may be right


@accelerates(svm.solve_each)
def solve_each(K: Array, problems: list[svm.Problem], lam: float, **numbers: Any) -> list[svm.SVMFit]:
    """Solve all problems by steps in one compiled loop; the unfinished ones follow one by one, or at the same time."""
    K, n, sizes = in_rows(K), len(K), [len(y) for _, y in problems]
    loops = compiled(STEPS * sum(size**2 for size in sizes))
    starts: list[Any] = [None] * len(problems)
    if loops is not None and (max(sizes) < SHORT or len(problems) > 1) and numbers["gap"] > 1e-8:
        goal = {name: numbers[name] for name in ("offset", "gap")}
        starts = _by_steps(loops, (K, *NO_POINTS), n, problems, lam, **goal)
    return _finished(K, problems, starts, lam, numbers)


def rows_on_demand(kernel: Any) -> bool:
    """Whether the compiled steps can compute rows of K for this kernel."""
    return type(kernel).formula in (Gaussian.formula, Laplacian.formula)


@accelerates(classifiers.svms_on_points)
def svms_on_points(
    kernel: Any, P: Any, problems: list[svm.Problem], lam: float, *, offset: str, gap: float
) -> list[svm.SVMFit]:
    """Solve by steps that compute rows of K on demand, as few points may be support vectors; the rest from all of K."""
    if not rows_on_demand(kernel) or offset == "penalised" or gap <= 1e-8:
        return NotImplemented
    if len(P) < MANY and not always():
        return NotImplemented
    if (loops := compiled(len(P) ** 2)) is None:
        return svm.solve_each(gram(kernel, P), problems, lam, offset=offset == "free", gap=gap)
    free, (factor, squared), points = offset == "free", exponent(kernel), P - P.mean(axis=0)
    kind: Any = np.float64
    if gap >= TIGHT and svm.C_from_lam(lam, n=len(P)) <= 100:  # in single precision, an entry of K changes f by 1e-7 C
        scaled = points * (math.sqrt(-factor) if squared else -factor)
        if np.linalg.norm(scaled, ord=None if squared else 1, axis=1).max() < NEAR:
            kind, points, factor = np.float32, scaled, -1.0
    source = np.empty((0, 0), kind), np.ascontiguousarray(points.T, dtype=kind), squared, factor
    fits = _by_steps(loops, source, len(P), problems, lam, offset=free, gap=gap)
    if all(isinstance(fit, svm.SVMFit) for fit in fits):
        return fits
    return _finished(gram(kernel, P), problems, fits, lam, {"offset": free, "gap": gap})


def _finished(K: Array, problems: list[svm.Problem], starts: list[Any], lam: float, numbers: Any) -> list[svm.SVMFit]:
    """The fits among `starts`, and in place of the others the solutions that these coefficients lead to."""
    left = [
        partial(_solve_one, K, *problem, lam, {**numbers, "alpha0": start})
        for problem, start in zip(problems, starts, strict=True)
        if not isinstance(start, svm.SVMFit)
    ]
    if len(left) > 1 and (min(len(y) for _, y in problems) >= WORTH_A_THREAD or always()):
        solved = iter(side_by_side(left))
    else:
        with one_thread(len(left) > 1):
            solved = iter([job() for job in left])
    return [start if isinstance(start, svm.SVMFit) else next(solved) for start in starts]


def _by_steps(
    loops: Loops, source: Any, n: int, problems: list[svm.Problem], lam: float, *, offset: bool, gap: float
) -> list[Any]:
    """The fits; if 20 steps per point, or 40 for many points, do not reach the gap, the coefficients they lead to."""
    starts = np.append(0, np.cumsum([len(y) for _, y in problems]))
    rows, y = np.concatenate([rows for rows, _ in problems]), np.concatenate([y for _, y in problems])
    limits = np.array([20 * max(SMALL, n) if len(y) < SHORT else 40 * len(y) for _, y in problems], dtype=np.intp)
    C, gap = svm.C_from_lam(lam, n=n), real(gap, "gap", above=0)
    c, found, shares = np.zeros(len(y)), np.empty((len(problems), 4)), np.linspace(0, len(problems), 9).astype(int)

    def work(part: slice) -> None:
        loops.small_problems(*source, rows, y, starts, part.start, part.stop, C, offset, gap, limits, c, found)

    in_threads(
        work, [slice(a, b) for a, b in pairwise(shares.tolist()) if a < b], sum(len(y) ** 2 for _, y in problems)
    )
    alpha = np.abs(c)
    support = np.flatnonzero(alpha > np.repeat(1e-8 * np.maximum.reduceat(alpha, starts[:-1]), np.diff(starts)))
    parts = [_cut(support, starts), _cut(support[alpha[support] < (1 - 1e-8) * C], starts)]
    each = zip(pairwise(starts.tolist()), found.tolist(), *parts, strict=True)
    return [
        svm.SVMFit(alpha[a:z], b, at, int(steps), value / (C * (z - a)), *where) if at <= gap else alpha[a:z]
        for (a, z), (b, at, value, steps), *where in each
    ]


def _cut(indices: NDArray[np.intp], starts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """The sorted indices between each start and the next, counted from that start."""
    cuts = np.searchsorted(indices, starts)
    local = indices - np.repeat(starts[:-1], np.diff(cuts))
    return [local[a:z] for a, z in pairwise(cuts.tolist())]


def _solve_one(K: Array, rows: NDArray[np.intp], y: Array, lam: float, numbers: dict[str, Any]) -> svm.SVMFit:
    part = K if len(rows) == len(K) else among(K, rows)
    return svm.solved(part, y, lam * len(K) / len(rows), **numbers)


@accelerates(svm.descend)
def descend(dual: Dual, c: Array, *, gap: float, max_steps: int) -> tuple[Point, int]:
    """A point that reaches `gap`, or else the best one found, and the steps taken."""
    dual = dual._replace(K=in_rows(dual.K))
    with one_thread(len(c) < WORTH_BLAS_THREADS):
        return _descended(dual, c, gap, max_steps)


def _descended(dual: Dual, c: Array, gap: float, max_steps: int) -> tuple[Point, int]:

    def rank(p: Point) -> tuple[bool, float]:
        return p.gap > gap, p.objective

    n, steps, tol = len(c), 0, min(0.1, max(1e-3, 100 * gap))
    best = point = Point(c, np.zeros(n), 0.0, np.inf, np.inf)  # at 0 no certificate is needed
    if c.any() or gap >= 1 or max_steps == 0:
        best = point = certify(dual, c)
        if gap < point.gap < 0.1:  # the start is close to the solution
            point, steps = _put_on_margin(dual, point, min(5, max_steps))
            best = min(best, point, key=rank)
    few, many = max(50, 3 * n // 4), 3 * n if n < SHORT else 10 * n
    while best.gap > gap:
        loops = compiled(few * (2 * n + 8 * CALL))
        # A compiled step takes microseconds, a system of all free coefficients O(n^3): for many points, more steps pay.
        some, most = (many, max(20 * n, n * n // 20)) if loops else (few, max(3 * n, n * n // 300))
        if steps >= min(most, max_steps):
            break
        c, f, took, done = _steps(dual, point, loops, tol, min(some, max_steps - steps))
        steps += took
        point = certify(dual, c, f if gap > 1e-8 else None)  # for a small gap, the rounding in f matters
        best = min(best, point, key=rank)
        if point.gap <= gap:
            break
        free = np.count_nonzero((dual.lo < c) & (c < dual.hi))
        paid = n < SHORT and took * n > (free + 200) ** 3 / 100  # the steps have taken as long as a system would
        if point.gap < 0.1 and (gap < TIGHT or not done or paid):
            point, took = _put_on_margin(dual, point, min(5, max_steps - steps))
            steps += took
            best = min(best, point, key=rank)
        elif took == 0 and tol < 1e-12:
            break  # rounding allows no further progress
        many *= 2 if n < SHORT else 1
        if done:
            tol *= min(0.5, max(0.02, 0.5 * gap / max(point.gap, TINY)))

    size = max(500, 2 * int(np.count_nonzero((dual.lo < point.c) & (point.c < dual.hi))))
    while best.gap > gap and steps < max_steps:
        point, took = _solve_open(dual, point, min(size, n), gap=gap, max_steps=max_steps - steps)
        steps += took
        best = min(best, point, key=rank)
        if size >= n:
            break
        size *= 2
    return best, steps


def _steps(dual: Dual, point: Point, loops: Loops, tol: float, most: int) -> tuple[Array, Array, int, bool]:
    """Take cheap steps until no violation exceeds `tol`; return the coefficients, Kc, the steps, and whether it ended.

    From time to time, coefficients at a bound without a KKT violation are left out, because a smaller copy of K is read
    faster. The next certificate shows which were left out too early.
    """
    c, took, active, part = point.c.copy(), 0, np.arange(len(point.c)), dual
    moved, r = c, dual.y - point.f
    while took < most:
        steps = min(max(CHECK, len(active) // 3), most - took)
        now = _descend(part, loops, moved, r, steps, tol)
        took += now
        if now < steps:
            break
        if len(active) < SMALL:
            continue
        kept = _may_move(part, moved, r)
        if len(kept) < 0.6 * len(active):
            c[active] = moved
            active, moved, r = active[kept], moved[kept], r[kept]
            y, lo, hi, diag = (v[kept] for v in (part.y, part.lo, part.hi, part.diag))
            part = Dual(among(part.K, kept), y, lo, hi, diag, dual.offset)
    c[active] = moved
    return c, dual.y - r if len(active) == len(c) else symmetric_product(dual.K, c), took, now < steps


def _may_move(dual: Dual, c: Array, r: Array) -> NDArray[np.intp]:
    """The free coefficients, and those at a bound with a KKT violation."""
    up, down = c < dual.hi, c > dual.lo
    top, bottom = r[up].max(initial=-np.inf), r[down].min(initial=np.inf)
    if not dual.offset:
        top, bottom = max(top, 0.0), min(bottom, 0.0)
    return np.flatnonzero((up & down) | (up & (r >= bottom)) | (down & (r <= top)))


def _descend(dual: Dual, loops: Loops, c: Array, r: Array, steps: int, tol: float) -> int:
    """Change c and r = y - K c by cheap steps, and return their number: fewer than `steps` if no step is left."""
    K, diag, lo, hi = dual.K, dual.diag, dual.lo, dual.hi
    if loops is not None:
        return loops.descend(K, diag, lo, hi, c, r, steps, tol, dual.offset)
    if dual.offset:
        return _pair_steps(K, diag, lo, hi, c, r, steps, tol)
    took, block = 0, max(1, steps // 20)  # pairs make faster progress, but only single steps change the sum of c
    while took < steps:
        pairs = _pair_steps(K, diag, lo, hi, c, r, min(block, steps - took), tol)
        singles = _single_steps(K, diag, lo, hi, c, r, min(block, steps - took - pairs), tol)
        took += pairs + singles
        if pairs + singles == 0:
            break
    return took


def _single_steps(K: Array, diag: Array, lo: Array, hi: Array, c: Array, r: Array, steps: int, tol: float = 0.0) -> int:
    r"""Move the $c_i$ that gains most, $\delta r_i - \frac12 \delta^2 K_{ii}$, keeping $r = y - Kc$; return steps."""
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
        if delta[i] == 0 or abs(r[i]) <= tol:
            return step
        c[i] = goal[i]
        add_multiple(r, -delta.item(i), K[i])
    return steps


def _pair_steps(K: Array, diag: Array, lo: Array, hi: Array, c: Array, r: Array, steps: int, tol: float = 0.0) -> int:
    r"""Move the pair that `svm.take_best_step` moves, keeping $r = y - Kc$; return the number of steps."""
    floor = max(1e-12 * diag.max(), TINY)  # two identical points have curvature 0
    up = np.where(c < hi, 0.0, -np.inf)  # a summand that excludes what cannot go up
    down = np.where(c > lo, 1.0, 0.0)  # a factor that excludes what cannot go down
    gain, curvature = np.empty_like(r), np.empty_like(r)  # reused, because a step is only a few short passes over n
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
        if r_i - r[j] <= tol and r_i - r[down > 0].min() <= tol:
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


def _put_on_margin(dual: Dual, point: Point, rounds: int) -> tuple[Point, int]:
    """`svm.put_on_margin`, guessing again after each system; return the best point and the number of systems."""
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
            solve = _kkt_solver(among(K, free), np.zeros(len(free)), offset=dual.offset)
            step, step_b = solve((y - f - b)[free], -held.sum())
        c = held.copy()
        c[free] += step
        f = _moved(K, f, held, c)
        b += step_b
        balanced = not dual.offset or abs(c.sum()) <= 1e-12 * np.abs(c).sum()
        if balanced and np.all((lo <= c) & (c <= hi)):
            tried = certify(dual, c)
            f = tried.f
            best = min(best, tried, key=lambda p: p.gap)
    return best, rounds


def among(K: Array, chosen: NDArray[np.intp]) -> Array:
    """A copy of these rows and columns of K."""
    if (loops := compiled(len(chosen) ** 2)) is not None:
        return loops.among(K, chosen)
    return K[chosen].take(chosen, axis=1)  # faster than `K[np.ix_(chosen, chosen)]`


def _moved(K: Array, f: Array, c: Array, to: Array) -> Array:
    """The product of K and `to`, from f = K c and the coefficients that differ."""
    changed = np.flatnonzero(c != to)
    if 10 * len(changed) > len(c):  # copying many rows costs more than reading one triangle of K
        return symmetric_product(K, to)
    return f + (to - c)[changed] @ K[changed]


def _solve_open(dual: Dual, point: Point, size: int, *, gap: float, max_steps: int) -> tuple[Point, int]:
    """Solve for `size` coefficients, free ones first, then by KKT violation; the others stay fixed."""
    K, y, lo, hi, c = dual.K, dual.y, dual.lo, dual.hi, point.c.copy()
    r = y - point.f - point.b
    violation = np.where((lo < c) & (c < hi), np.inf, np.where(c == lo, r, -r))
    chosen = np.argpartition(-violation, size - 1)[:size]
    held = np.delete(np.arange(len(c)), chosen)
    dual_value = point.objective * (1 - point.gap)
    c[chosen], steps = _interior_point(
        among(K, chosen),
        y[chosen] - K[np.ix_(chosen, held)] @ c[held],
        lo[chosen],
        hi[chosen],
        c[chosen],
        total=-c[held].sum() if dual.offset else None,
        tolerance=max(1e-3 * gap, 1e-14) * max(dual_value, 1e-3 * point.objective),
        max_steps=min(60, max_steps),
    )
    found = certify(dual, balanced(c) if dual.offset else c)  # if it stopped early, the constraint does not hold yet
    found, solved = _put_on_margin(dual, found, min(5, max_steps - steps)) if found.gap > gap else (found, 0)
    return found, steps + solved


def _interior_point(
    K: Array, t: Array, lo: Array, hi: Array, c: Array, *, total: float | None, tolerance: float, max_steps: int
) -> tuple[Array, int]:
    r"""Minimise $\frac12 c^\top K c - t^\top c$ over $lo \le c \le hi$ and, if `total` is given, $\sum_i c_i$ = total.

    At the minimum, $t - Kc - b = z_2 - z_1$ with multipliers $z \ge 0$ that vanish where the slacks $c - lo$ and
    $hi - c$ (`room`) do not. Mehrotra's predictor-corrector method lowers all products of slack and multiplier
    together, until their sum is at most `tolerance`.
    """

    def residuals(c: Array, b: float) -> tuple[Array, float]:
        return t - K @ c - b, 0.0 if total is None else total - float(c.sum())

    width, b, steps = hi - lo, 0.0, 0
    c = np.clip(c, lo + 0.05 * width, hi - 0.05 * width)
    r, lack = residuals(c, b)
    room = np.array([c - lo, hi - c])  # (2, n), stored because close to a bound the difference would round to 0
    z = 1 + np.maximum(0.0, [-r, r])  # (2, n), with r = z[1] - z[0] from the start
    while steps < max_steps and np.sum(room * z) + abs(lack) * z.max() > tolerance:
        solve = _kkt_solver(K, (z / room).sum(axis=0), offset=total is not None)
        d, _, d_z = _barrier_direction(solve, r, lack, room, z, np.zeros_like(z))  # straight towards the conditions
        d_room = np.array([d, -d])
        a = _longest(room, z, d_room, d_z)
        mean, ahead = np.mean(room * z), np.mean((room + a * d_room) * (z + a * d_z))
        # The less this step gains, the closer the products should stay to their present mean.
        d, d_b, d_z = _barrier_direction(solve, r, lack, room, z, mean * (ahead / mean) ** 3 - d_room * d_z)
        d_room = np.array([d, -d])
        a = 0.995 * _longest(room, z, d_room, d_z)
        c, b, room, z = c + a * d, b + a * d_b, room + a * d_room, z + a * d_z
        r, lack = residuals(c, b)
        steps += 1
    return np.clip(c, lo, hi), steps


def _barrier_direction(
    solve: Solver, r: Array, lack: float, room: Array, z: Array, products: Array
) -> tuple[Array, float, Array]:
    """The Newton step in c, b and z that would bring room * z to the given products."""
    goal = products / room
    d, d_b = solve(r + goal[0] - goal[1], lack)
    return d, d_b, goal - z - z / room * np.array([d, -d])


def _longest(room: Array, z: Array, d_room: Array, d_z: Array) -> float:
    """The longest step, at most 1, that leaves room and z non-negative."""
    return 1 / max(1.0, np.max(-d_room / room), np.max(-d_z / z))


def _kkt_solver(K: Array, diagonal: Array, *, offset: bool) -> Solver:
    """A solver for d and d_b in `(K + diag(diagonal)) d + d_b = rhs`, `sum(d) = lack`; without an offset, d_b is 0."""
    L = _cholesky(K, diagonal)

    def solved(rhs: Array) -> Array:
        return blas.dtrsv(L, blas.dtrsv(L, rhs, lower=1), lower=1, trans=1)  # for one vector, faster than LAPACK

    if not offset:
        return lambda rhs, lack: (solved(rhs), 0.0)
    ones = solved(np.ones(len(K)))

    def solve(rhs: Array, lack: float) -> tuple[Array, float]:
        d = solved(rhs)
        d_b = (d.sum() - lack) / ones.sum()
        return d - d_b * ones, d_b

    return solve


def _cholesky(K: Array, diagonal: Array) -> Array:
    """The lower factor of K + diag(diagonal), with a small nugget on the diagonal if K is singular up to rounding."""
    for nugget in nuggets(K):
        A = K.copy()
        np.einsum("ii->i", A)[:] += diagonal + max(nugget, TINY)
        if not factor(A):
            return A.T
    raise indefinite(K)
