"""The inner loops, compiled by numba; only `threads.compiled` imports them, when a job is large enough.

They release the GIL, so that threads can share a job. numba keeps the compiled code on disk.
"""

from math import cos, exp, factorial, log, pi, sin, sqrt

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.polynomial import Chebyshev, Polynomial

from . import steps

ROWS, COLUMNS = 32, 256  # a tile of the Gram matrix: 64 kB, so that it stays in the processor's cache

LOG2E = 1 / log(2)
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
TO_WHOLE = 1.5 * 2.0**52  # adding it to a number of moderate size leaves the nearest integer in the last bits
LEAST = -708.0  # below this, exp loses digits

# exp(r) = 1 + r + r^2/2 + r^3 q(r), where q interpolates at the Chebyshev points of [-log(2)/2, log(2)/2]. It has fewer
# terms than a Taylor series of the same accuracy; the error is a tenth of a rounding error.
_series = Polynomial([1 / factorial(j + 3) for j in range(20)])
_q = Chebyshev.interpolate(_series, 8, [-log(2) / 2, log(2) / 2])
C3, C4, C5, C6, C7, C8, C9, C10, C11 = map(float, _q.convert(kind=Polynomial).coef)

# 2 sin(r/4) / r and 2 cos(r/4) in the same way, as polynomials in r^2, for r in [-pi, pi]
SINE, COSINE = (
    tuple(Chebyshev.interpolate(one, 6, [0, pi**2]).convert(kind=Polynomial).coef.tolist())
    for one in (Polynomial([2 * (-1 / 16) ** j / factorial(2 * j + k) / 4**k for j in range(20)]) for k in (1, 0))
)
TURN_HIGH, TURN_LOW = float.fromhex("0x1.921fb54400000p+2"), float.fromhex("0x1.0b4611a626331p-32")
FAR = 1e6  # beyond this angle, the multiple of TURN_HIGH that is subtracted would be rounded

FEW = 500  # coefficients whose part of K fits into the processor's cache: none of them is left out
LANES = 32  # numbers that a search for the maximum compares in parallel

# Products and sums may be fused, nothing else: `TO_WHOLE` relies on the order of operations.
loop = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})  # the order of summands does not matter
def dot(x, y):
    """The inner product of short vectors, for which a call of numpy would take longer than the sum itself."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * y[j]
    return total


@loop
def exp_in_place(x, n, factor):
    """exp of factor x[:n], all <= 0, to the last digit or two: 2^k times a polynomial on [-log(2)/2, log(2)/2].

    A library's exp is called for one number at a time; this loop is vectorised. The polynomial is summed in
    pairs of terms and pairs of pairs (Estrin's scheme): in Horner's scheme, each step would wait for the one before.
    """
    small = 0
    for j in range(n):
        x[j] *= factor
        small += x[j] < LEAST
    if small > 0:
        for j in range(n):
            x[j] = exp(x[j])
        return
    for j in range(n):
        t = x[j] * LOG2E + TO_WHOLE
        k = t - TO_WHOLE
        r = x[j] - k * LN2_HIGH
        r = r - k * LN2_LOW
        r2 = r * r
        r4 = r2 * r2
        p = (C11 * r + C10) * r2 + (C9 * r + C8)
        p = p * r4 + ((C7 * r + C6) * r2 + (C5 * r + C4))
        p = p * r4 + ((C3 * r + 0.5) * r2 + (r + 1.0))
        # add k to the exponent of p
        x[j] = np.int64(np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << 52)).view(np.float64)


@loop
def waves_in_place(waves, scale):
    """Replace the angles in the left half of each row by their cosines, and fill its right half with their sines.

    Both are multiplied by `scale`. An angle is reduced to [-pi, pi]; twice the sine and cosine of a quarter of it are
    polynomials, and the angle is doubled twice: (2s, 2c) becomes (2s 2c, 2 - (2s)^2).
    """
    half = waves.shape[1] // 2
    for i in range(len(waves)):
        left, right, far = waves[i, :half], waves[i, half:], 0
        for j in range(half):
            far += not abs(left[j]) < FAR
        if far > 0:
            for j in range(half):
                left[j], right[j] = scale * cos(left[j]), scale * sin(left[j])
            continue
        for j in range(half):
            k = (left[j] * (0.5 / pi) + TO_WHOLE) - TO_WHOLE
            r = left[j] - k * TURN_HIGH
            r = r - k * TURN_LOW
            t, s, c = r * r, 0.0, 0.0
            for n in range(6, -1, -1):
                s, c = s * t + SINE[n], c * t + COSINE[n]
            s *= r
            s, c = s * c, 2.0 - s * s
            left[j], right[j] = 0.5 * scale * (2.0 - s * s), 0.5 * scale * (s * c)


@loop
def exp_of_distances_to_one(point, Z_T, left, columns, squared, factor, coefficients, x):
    """One row of the matrix, for `columns` columns of Z_T from `left` on, into x; two terms of a distance at a time."""
    d = len(point)
    for j in range(columns):
        x[j] = 0.0
    for k in range(0, d - d % 2, 2):
        y, z, y_k, z_k = Z_T[k, left : left + columns], Z_T[k + 1, left : left + columns], point[k], point[k + 1]
        if squared:
            for j in range(columns):
                x[j] += (y_k - y[j]) * (y_k - y[j]) + (z_k - z[j]) * (z_k - z[j])
        else:
            for j in range(columns):
                x[j] += abs(y_k - y[j]) + abs(z_k - z[j])
    if d % 2:
        z, z_k = Z_T[d - 1, left : left + columns], point[d - 1]
        for j in range(columns):
            x[j] += (z_k - z[j]) * (z_k - z[j]) if squared else abs(z_k - z[j])
    if len(coefficients) == 0:
        exp_in_place(x, columns, factor)
        return
    s = np.empty(columns)
    for j in range(columns):
        s[j] = min(-factor * sqrt(x[j]), 800.0)
        x[j] = -s[j]
    exp_in_place(x, columns, 1.0)
    for j in range(columns):
        p = 0.0
        for k in range(len(coefficients) - 1, -1, -1):
            p = p * s[j] + coefficients[k]
        x[j] *= p


@loop
def exp_of_distances(X, Z_T, first, last, K, symmetric, squared, factor, coefficients):
    r"""$K_{ij} = \exp(\text{factor} \sum_k |x_{ik} - z_{jk}|^p)$ with p = 2 or 1, for the rows from first to last.

    With coefficients, it is $e^{-s}$ times their polynomial in $s = -\text{factor} \lVert x_i - z_j\rVert$. For a
    symmetric matrix, only the tiles on and right of the diagonal are computed; each is also stored transposed.
    """
    m = K.shape[1]
    tile = np.empty((ROWS, COLUMNS))  # aligned, unlike some rows of K
    for top in range(first, last, ROWS):
        rows = min(ROWS, last - top)
        left = top if symmetric else 0
        while left < m:
            columns = min(COLUMNS, m - left)
            for i in range(rows):
                x, row = tile[i if symmetric else 0], K[top + i, left : left + columns]
                exp_of_distances_to_one(X[top + i], Z_T, left, columns, squared, factor, coefficients, x)
                for j in range(columns):
                    row[j] = x[j]
            if symmetric:
                for j in range(columns):
                    row = K[left + j, top : top + rows]
                    for i in range(rows):
                        row[i] = tile[i, j]
            left += columns


@loop
def weighted_exp_of_distances(X, Z_T, first, last, weights, sums, squared, factor):
    """Add to each row of sums, from first to last, the matrix that `exp_of_distances` gives times each row of weights.

    The matrix is computed a few entries at a time and never stored.
    """
    m = weights.shape[1]
    x, none = np.empty(COLUMNS), np.empty(0)
    for top in range(first, last, ROWS):
        for left in range(0, m, COLUMNS):
            columns = min(COLUMNS, m - left)
            for i in range(top, min(top + ROWS, last)):
                exp_of_distances_to_one(X[i], Z_T, left, columns, squared, factor, none, x)
                for c in range(len(weights)):
                    sums[i, c] += dot(x[:columns], weights[c, left : left + columns])


@loop
def exp_of_products(G, a, b, K, top, symmetric):
    """Store exp of G + a_i + b_j in K, where G has rows of products from row `top` on; all are <= 0 up to rounding.

    For a symmetric matrix, G has the columns from `top` on, and is also stored transposed.
    """
    rows, columns = G.shape
    left = top if symmetric else 0
    for first in range(0, columns, COLUMNS):
        last = min(first + COLUMNS, columns)
        for i in range(rows):
            x, a_i, b_j, row = G[i, first:last], a[top + i], b[left + first : left + last], K[top + i, left + first :]
            for j in range(last - first):
                total = x[j] + (a_i + b_j[j])
                x[j] = total if total < 0.0 else 0.0
            if symmetric and first <= i < last:
                x[i - first] = 0.0
            exp_in_place(x, last - first, 1.0)
            for j in range(last - first):
                row[j] = x[j]
        if symmetric:
            for j in range(first, last):
                row = K[left + j, top : top + rows]
                for i in range(min(j, rows)):
                    row[i] = G[i, j]


@overload(steps.add_multiple, inline="always")
def add_multiple(f, c, x):
    """What BLAS does when the loops run uncompiled."""

    def add(f, c, x):
        for j in range(len(f)):
            f[j] += c * x[j]

    return add


@loop
def insert_largest(S, half, start, best, where):
    """Insert the largest S - half of each row into `best`, largest first, and their columns, counted from `start`."""
    last = best.shape[1] - 1
    for i in range(len(S)):
        least = best[i, last]
        for j in range(S.shape[1]):
            s = S[i, j] - half[j]
            if s > least:
                k = last
                while k > 0 and s > best[i, k - 1]:
                    best[i, k], where[i, k] = best[i, k - 1], where[i, k - 1]
                    k -= 1
                best[i, k], where[i, k] = s, start + j
                least = best[i, last]


perceptron_epoch, logistic_sgd, svm_sgd = loop(steps.perceptron_epoch), loop(steps.logistic_sgd), loop(steps.svm_sgd)


@loop
def first_largest(x, lanes):
    """The first index of the largest entry of x; `lanes` is scratch space for the maxima updated in parallel."""
    width, i = len(lanes), 0
    if len(x) < 4 * width:  # too short for lanes to pay
        for k in range(1, len(x)):
            i = k if x[k] > x[i] else i
        return i
    lanes[:] = -np.inf
    right = len(x) - len(x) % width
    for left in range(0, right, width):
        block = x[left : left + width]
        for k in range(width):
            lanes[k] = block[k] if block[k] > lanes[k] else lanes[k]
    top = -np.inf
    for k in range(width):
        top = max(top, lanes[k])
    for i in range(right, len(x)):
        top = max(top, x[i])
    for left in range(0, right, width):
        block, found = x[left : left + width], 0
        for k in range(width):
            found += block[k] == top
        if found > 0:
            right = left
            break
    i = right
    while x[i] != top:
        i += 1
    return i


@loop
def row_of(source, i):
    """Row i of the part of K that has these rows and columns, copied or computed when it is first requested."""
    K, rows, part, there, Z_T, squared, factor = source
    row, n = part[i], len(rows)
    if not there[i]:
        there[i] = True
        if len(K) == 0:
            exact, start = np.empty(n), np.int64(0)  # numba would compile the loop once more for a literal
            exp_of_distances_to_one(Z_T[:, i].copy(), Z_T, start, n, squared, factor, np.empty(0), exact)
            for j in range(n):
                row[j] = exact[j]
        else:
            whole = K[rows[i]]
            for j in range(n):
                row[j] = whole[rows[j]]
    return row


@loop
def single_steps(source, diag, lo, hi, c, r, steps, tol):
    """Move the coefficient that gains most, until its residual is at most tol; otherwise like `pair_steps`."""
    n = len(c)
    goal, gain, lanes = np.empty(n), np.empty(n), np.empty(LANES)
    for step in range(steps):
        for k in range(n):
            free = c[k] + r[k] / diag[k]
            free = free if free > lo[k] else lo[k]
            goal[k] = free if free < hi[k] else hi[k]
            delta = goal[k] - c[k]
            gain[k] = delta * (r[k] - 0.5 * diag[k] * delta)
        i = first_largest(gain, lanes)
        if goal[i] == c[i] or abs(r[i]) <= tol:
            return step
        delta, c[i], row = goal[i] - c[i], goal[i], row_of(source, i)
        for k in range(n):
            r[k] -= delta * row[k]
    return steps


@loop
def pair_steps(source, diag, lo, hi, c, r, steps, tol):
    """Move the pair that gains most, one up and one down, until no pair has a KKT violation above tol.

    The source consists of K, its rows and columns that make up the problem, and the part of them that is already
    `there`. If K is empty, rows are computed from the points, the columns of Z_T. Change c and r = y - K c; return the
    steps taken, fewer than `steps` if there is nothing left to do.
    """
    n = len(c)
    gain, lanes = np.empty(n), np.empty(LANES)
    up = np.empty(n)  # a summand that excludes what cannot go up
    down = np.empty(n)  # a factor that excludes what cannot go down
    floor = 1e-200
    for k in range(n):
        up[k] = 0.0 if c[k] < hi[k] else -np.inf
        down[k] = 1.0 if c[k] > lo[k] else 0.0
        floor = max(floor, 1e-12 * diag[k])
        gain[k] = r[k] + up[k]
    for step in range(steps):
        i = first_largest(gain, lanes)
        row_i, k_ii, r_i = row_of(source, i), diag[i], r[i]
        for k in range(n):
            slope = (r_i - r[k]) * down[k]
            slope = slope if slope > 0.0 else 0.0
            curvature = k_ii + diag[k] - 2 * row_i[k]
            gain[k] = slope * slope / (curvature if curvature > floor else floor)
        j = first_largest(gain, lanes)
        if gain[j] == 0 or c[i] == hi[i]:
            return step
        if r_i - r[j] <= tol:
            largest = 0.0  # another pair may violate more and gain less
            for k in range(n):
                largest = max(largest, (r_i - r[k]) * down[k])
            if largest <= tol:
                return step
        row_j, room_i, room_j = row_of(source, j), hi[i] - c[i], c[j] - lo[j]
        delta = min((r_i - r[j]) / max(floor, k_ii + diag[j] - 2 * row_i[j]), room_i, room_j)
        c[i] = hi[i] if delta == room_i else c[i] + delta
        c[j] = lo[j] if delta == room_j else c[j] - delta
        for k in (i, j):
            up[k] = 0.0 if c[k] < hi[k] else -np.inf
            down[k] = 1.0 if c[k] > lo[k] else 0.0
        for k in range(n):
            r[k] -= delta * (row_i[k] - row_j[k])
            gain[k] = r[k] + up[k]
    return steps


@loop
def descend(source, diag, lo, hi, c, r, steps, tol, offset):
    """Pair steps, and without an offset single steps in turn, which alone change the sum of c; return their number."""
    took, block = 0, steps if offset else max(1, steps // 20)
    while took < steps:
        now = pair_steps(source, diag, lo, hi, c, r, min(block, steps - took), tol)
        if not offset:
            now += single_steps(source, diag, lo, hi, c, r, min(block, steps - took - now), tol)
        if now == 0:
            break
        took += now
    return took


@loop
def may_move(lo, hi, c, r, offset):
    """The free coefficients, and those at a bound with a KKT violation."""
    top, bottom = (-np.inf, np.inf) if offset else (0.0, 0.0)
    for k in range(len(c)):
        top = max(top, r[k]) if c[k] < hi[k] else top
        bottom = min(bottom, r[k]) if c[k] > lo[k] else bottom
    kept, m = np.empty(len(c), np.intp), 0
    for k in range(len(c)):
        up, down = c[k] < hi[k], c[k] > lo[k]
        if (up and down) or (up and r[k] >= bottom) or (down and r[k] <= top):
            kept[m], m = k, m + 1
    return kept[:m]


@loop
def descend_by_parts(source, diag, lo, hi, c, r, steps, tol, offset):
    """`descend`, again and again on those alone that may still move if they are few: fewer numbers are read faster.

    Returns the steps; those on a part of the coefficients count as the same part of a step.
    """
    K, rows, part, _, Z_T, squared, factor = source
    n, took, block = len(c), 0, steps if len(c) < FEW else FEW
    while took < steps:
        some = min(block, steps - took)
        now = descend(source, diag, lo, hi, c, r, some, tol, offset)
        took += now
        if now < some or took >= steps:
            break
        kept = may_move(lo, hi, c, r, offset)
        m = len(kept)
        if 1 < m < 0.6 * n:
            points = Z_T[:, kept] if len(K) == 0 else Z_T
            inner = K, rows[kept], np.empty((m, m), part.dtype), np.zeros(m, np.bool_), points, squared, factor
            c_m, r_m, most = c[kept], r[kept], (steps - took) * n // m
            now = descend(inner, diag[kept], lo[kept], hi[kept], c_m, r_m, most, tol, offset)
            took += now * m // n
            for k in range(m):
                delta = c_m[k] - c[kept[k]]
                if delta != 0.0:
                    row, c[kept[k]] = row_of(source, kept[k]), c_m[k]
                    for j in range(n):
                        r[j] -= delta * row[j]
    return took


@loop
def among(K, chosen):
    """A copy of these rows and columns of K."""
    part = np.empty((len(chosen), len(chosen)))
    for i in range(len(chosen)):
        row = K[chosen[i]]
        for j in range(len(chosen)):
            part[i, j] = row[chosen[j]]
    return part


@loop
def gap_and_objective(y, f, b, lo, hi, c):
    """The numbers of the certificate in `algorithms.svm`, up to a common factor: P - D, P and c'Kc."""
    gap, losses, square, total = 0.0, 0.0, 0.0, 0.0
    for k in range(len(c)):
        r = y[k] - f[k] - b
        gap += (hi[k] - c[k]) * max(0.0, r) + (c[k] - lo[k]) * max(0.0, -r)
        losses += (hi[k] - lo[k]) * max(0.0, y[k] * r)
        square += c[k] * f[k]
        total += c[k]
    return gap + abs(b * total), max(0.0, square) / 2 + losses, square


@loop
def between(x, k):
    """The mean of entries k and k + 1 of x in ascending order; x is reordered. To compile a sort takes seconds."""
    k, left, right = k + 1, 0, len(x) - 1
    while left < right:  # Hoare's selection
        i, j, pivot = left, right, x[(left + right) // 2]
        while i <= j:
            while x[i] < pivot:
                i += 1
            while x[j] > pivot:
                j -= 1
            if i <= j:
                x[i], x[j] = x[j], x[i]
                i, j = i + 1, j - 1
        if j < k < i:
            break
        left, right = (left, j) if k <= j else (i, right)
    below = -np.inf
    for i in range(k):
        below = max(below, x[i])
    return (below + x[k]) / 2


@loop
def small_problems(K, X_T, squared, factor, rows, y, starts, first, last, C, offset, gap, most, c, found):
    """Solve the problems from first to last, each on its own rows of K, or of the points in X_T, by steps alone.

    Problem p has the entries of rows, y and c from starts[p] on; found[p] holds its offset, gap, objective and steps.
    """
    for p in range(first, last):
        begin, end = starts[p], starts[p + 1]
        chosen, signs, c_p = rows[begin:end], y[begin:end], c[begin:end]
        n = end - begin
        whole = n == len(K)
        for k in range(n):
            whole = whole and chosen[k] == k
        part = K if whole else np.empty((n, n), K.dtype)  # memory into which no row is copied costs nothing
        there = np.empty(n, np.bool_)
        source = K, chosen, part, there, X_T[:, chosen] if len(K) == 0 else X_T, squared, factor
        lo, hi, diag, r, plus = np.empty(n), np.empty(n), np.empty(n), signs.copy(), 0
        for k in range(n):
            there[k] = whole
            lo[k], hi[k] = min(0.0, C * signs[k]), max(0.0, C * signs[k])
            diag[k] = 1.0 if len(K) == 0 else max(K[chosen[k], chosen[k]], 1e-200)
            plus += signs[k] > 0
        steps, tol, b, reached, objective = 0, min(0.1, max(1e-3, 100 * gap)), 0.0, np.inf, np.inf
        while not offset or 0 < plus < n:  # a single label is an error
            steps += descend_by_parts(source, diag, lo, hi, c_p, r, most[p] - steps, tol, offset)
            if offset:
                b = between(r.copy(), plus - 1)
            distance, objective, _ = gap_and_objective(signs, signs - r, b, lo, hi, c_p)
            reached = distance / objective
            if reached <= gap or steps >= most[p] or tol < 1e-12:
                break
            tol *= min(0.5, max(0.02, 0.5 * gap / reached))
        found[p, 0], found[p, 1], found[p, 2], found[p, 3] = b, reached, objective, steps


@loop
def dual_coordinate_descent(Psi, squares, y, C, order, alpha, w):
    """Make one pass over the points in this order (Hsieh et al. 2008); change alpha and w."""
    for i in order:
        row = Psi[i]
        goal = min(C, max(0.0, alpha[i] + (1.0 - y[i] * dot(row, w)) / squares[i]))
        delta = (goal - alpha[i]) * y[i]
        if delta != 0.0:
            alpha[i] = goal
            for k in range(len(w)):
                w[k] += delta * row[k]
