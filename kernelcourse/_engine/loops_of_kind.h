/* Loops over a matrix of numbers of one kind, REAL: included by `loops.c` once for each kind. */

static double OF_KIND(dot)(whole n, const REAL *restrict x, const double *restrict y) {
    double total = 0, sums[SUMS] = {0};
    whole i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (whole k = 0; k < SUMS; k++) sums[k] += x[i + k] * y[i + k];
    for (; i < n; i++) total += x[i] * y[i];
    for (whole k = 0; k < SUMS; k++) total += sums[k];
    return total;
}

/* Points as the columns of a matrix, and a kernel of the form exp(factor |x - z|^p) with p = 2 or 1. */
struct OF_KIND(radial) {
    const REAL *Z_T;
    whole d, m;
    bool squared;
    double factor;
};

/* One row of the distances |x - z|^p, for `columns` columns from `left` on, into x; two terms of each at a time. */
static void OF_KIND(distances_to_one)(const REAL *restrict point, const struct OF_KIND(radial) *k, whole left,
                                      whole columns, REAL *restrict x) {
    for (whole j = 0; j < columns; j++) x[j] = 0;
    whole i = 0;
    for (; i + 1 < k->d; i += 2) {
        const REAL *restrict y = k->Z_T + i * k->m + left, *restrict z = y + k->m;
        REAL y_i = point[i], z_i = point[i + 1];
        if (k->squared)
            for (whole j = 0; j < columns; j++) x[j] += (y_i - y[j]) * (y_i - y[j]) + (z_i - z[j]) * (z_i - z[j]);
        else
            for (whole j = 0; j < columns; j++) x[j] += (REAL)(fabs(y_i - y[j]) + fabs(z_i - z[j]));
    }
    if (i < k->d) {
        const REAL *restrict z = k->Z_T + i * k->m + left;
        REAL z_i = point[i];
        if (k->squared)
            for (whole j = 0; j < columns; j++) x[j] += (z_i - z[j]) * (z_i - z[j]);
        else
            for (whole j = 0; j < columns; j++) x[j] += (REAL)fabs(z_i - z[j]);
    }
}

/* Insert the largest S - half of each row into `best`, largest first, and their columns, counted from `start`. */
EXPORTED void OF_KIND(insert_largest)(const REAL *S, whole rows, whole columns, const double *half, whole start,
                                      double *best, whole *where, whole places) {
    for (whole i = 0; i < rows; i++, S += columns, best += places, where += places) {
        double smallest = best[places - 1];
        for (whole j = 0; j < columns; j++) {
            double s = S[j] - half[j];
            if (!(s > smallest)) continue;
            whole k = places - 1;
            for (; k > 0 && s > best[k - 1]; k--) best[k] = best[k - 1], where[k] = where[k - 1];
            best[k] = s, where[k] = start + j;
            smallest = best[places - 1];
        }
    }
}

/* Rows of a part of K. When all places are taken, a new row takes the next one whose row was not requested since the
   last search came past it (the clock algorithm). */
struct OF_KIND(cache) {
    REAL *places;
    whole room, *place, *owner;  /* how many places; of each row, or -1; whose each one is, or -1 */
    bool *requested;
    whole hand;  /* the place that was taken last */
};

static bool OF_KIND(opened)(struct OF_KIND(cache) *cache, whole n, whole bytes) {
    whole fit = bytes / (n * (whole)sizeof(REAL)), room = least(n, fit < 16 ? 16 : fit);
    *cache = (struct OF_KIND(cache)){
        .places = malloc(room * n * sizeof(REAL)),  /* what is not touched costs no memory */
        .room = room,
        .place = malloc(n * sizeof(whole)),
        .owner = malloc(room * sizeof(whole)),
        .requested = calloc(room, sizeof(bool)),
        .hand = -1,
    };
    if (cache->places == NULL || cache->place == NULL || cache->owner == NULL || cache->requested == NULL) return false;
    for (whole k = 0; k < n; k++) cache->place[k] = -1;
    for (whole k = 0; k < room; k++) cache->owner[k] = -1;
    return true;
}

static void OF_KIND(closed)(struct OF_KIND(cache) *cache) {
    free(cache->places), free(cache->place), free(cache->owner), free(cache->requested);
}

/* A place for row i; the row requested last keeps its own. */
static void OF_KIND(take_place)(struct OF_KIND(cache) *cache, whole i) {
    whole hand = cache->hand;
    for (;;) {
        hand = hand + 1 < cache->room ? hand + 1 : 0;
        if (!cache->requested[hand]) break;
        cache->requested[hand] = false;
    }
    if (cache->owner[hand] >= 0) cache->place[cache->owner[hand]] = -1;
    cache->owner[hand] = i;
    cache->place[i] = cache->hand = hand;
}

/* The rows and columns of K that make up a problem; all of K without a cache. Without K, they are computed from the
   points, the columns of kernel.Z_T. */
struct OF_KIND(source) {
    const REAL *K;
    whole m;  /* its columns; 0 if there is no K */
    const whole *rows;
    whole n;
    struct OF_KIND(radial) kernel;
    REAL *point;  /* space for a point */
    struct OF_KIND(cache) *cache;
};

/* Row i of the problem. It stays valid until the next but one is requested. */
static const REAL *OF_KIND(row_of)(const struct OF_KIND(source) *source, whole i) {
    struct OF_KIND(cache) *cache = source->cache;
    whole n = source->n;
    if (cache == NULL) return source->K + i * source->m;
    bool there = cache->place[i] >= 0;
    if (!there) OF_KIND(take_place)(cache, i);
    REAL *row = cache->places + cache->place[i] * n;
    cache->requested[cache->place[i]] = true;
    if (there) return row;
    if (source->m == 0) {
        for (whole k = 0; k < source->kernel.d; k++) source->point[k] = source->kernel.Z_T[k * n + i];
        OF_KIND(distances_to_one)(source->point, &source->kernel, 0, n, row);
        OF_KIND(exp_in_place)(n, row, (REAL)source->kernel.factor);
    } else {
        const REAL *all = source->K + source->rows[i] * source->m;
        for (whole j = 0; j < n; j++) row[j] = all[source->rows[j]];
    }
    return row;
}

/* Minimise c'Kc/2 - y'c over lo <= c <= hi and, with an offset, a constant sum of c; r = y - K c. */
struct OF_KIND(dual) {
    struct OF_KIND(source) source;
    const double *diag, *lo, *hi;
    double *c, *r;
    double *space;  /* for 3 n numbers */
    bool offset;
};

/* Move the coefficient that gains most, until its residual is at most tol; otherwise like `pair_steps`. */
static whole OF_KIND(single_steps)(const struct OF_KIND(dual) *dual, whole steps, double tol) {
    whole n = dual->source.n;
    const double *restrict diag = dual->diag, *restrict lo = dual->lo, *restrict hi = dual->hi;
    double *restrict c = dual->c, *restrict r = dual->r, *restrict goal = dual->space, *restrict gain = goal + n;
    for (whole step = 0; step < steps; step++) {
#pragma omp simd
        for (whole k = 0; k < n; k++) {
            goal[k] = min(max(c[k] + r[k] / diag[k], lo[k]), hi[k]);
            double delta = goal[k] - c[k];
            gain[k] = delta * (r[k] - 0.5 * diag[k] * delta);
        }
        whole i = first_largest(n, gain);
        if (goal[i] == c[i] || fabs(r[i]) <= tol) return step;
        double delta = goal[i] - c[i];
        const REAL *restrict row = OF_KIND(row_of)(&dual->source, i);
        c[i] = goal[i];
        for (whole k = 0; k < n; k++) r[k] -= delta * row[k];
    }
    return steps;
}

/* Move the pair that gains most, one up and one down, until no pair has a KKT violation above tol. Change c and r; return
   the steps taken, fewer than `steps` if there is nothing left to do. */
static whole OF_KIND(pair_steps)(const struct OF_KIND(dual) *dual, whole steps, double tol) {
    whole n = dual->source.n;
    const double *restrict diag = dual->diag, *restrict lo = dual->lo, *restrict hi = dual->hi;
    double *restrict c = dual->c, *restrict r = dual->r, *restrict gain = dual->space;
    double *restrict up = gain + n;   /* a summand that excludes what cannot go up */
    double *restrict down = up + n;   /* a factor that excludes what cannot go down */
    double floor = 1e-200;
    for (whole k = 0; k < n; k++) {
        up[k] = c[k] < hi[k] ? 0 : -INFINITY;
        down[k] = c[k] > lo[k] ? 1 : 0;
        floor = max(floor, 1e-12 * diag[k]);
        gain[k] = r[k] + up[k];
    }
    for (whole step = 0; step < steps; step++) {
        whole i = first_largest(n, gain);
        const REAL *restrict row_i = OF_KIND(row_of)(&dual->source, i);
        double k_ii = diag[i], r_i = r[i];
        for (whole k = 0; k < n; k++) {
            double slope = (r_i - r[k]) * down[k], curvature = k_ii + diag[k] - 2 * row_i[k];
            slope = max(slope, 0);
            gain[k] = slope * slope / max(curvature, floor);
        }
        whole j = first_largest(n, gain);
        if (gain[j] == 0 || c[i] == hi[i]) return step;
        if (r_i - r[j] <= tol) {
            double largest = 0;  /* another pair may violate more and gain less */
            for (whole k = 0; k < n; k++) largest = max(largest, (r_i - r[k]) * down[k]);
            if (largest <= tol) return step;
        }
        const REAL *restrict row_j = OF_KIND(row_of)(&dual->source, j);
        double room_i = hi[i] - c[i], room_j = c[j] - lo[j];
        double delta = (r_i - r[j]) / max(floor, k_ii + diag[j] - 2 * row_i[j]);
        delta = min(delta, min(room_i, room_j));
        c[i] = delta == room_i ? hi[i] : c[i] + delta;
        c[j] = delta == room_j ? lo[j] : c[j] - delta;
        up[i] = c[i] < hi[i] ? 0 : -INFINITY, up[j] = c[j] < hi[j] ? 0 : -INFINITY;
        down[i] = c[i] > lo[i] ? 1 : 0, down[j] = c[j] > lo[j] ? 1 : 0;
        for (whole k = 0; k < n; k++) {
            r[k] -= delta * ((double)row_i[k] - row_j[k]);
            gain[k] = r[k] + up[k];
        }
    }
    return steps;
}

/* Pair steps, and without an offset single steps in turn, which alone change the sum of c; return their number. */
static whole OF_KIND(descend_all)(const struct OF_KIND(dual) *dual, whole steps, double tol) {
    whole took = 0, block = dual->offset ? steps : steps < 20 ? 1 : steps / 20;
    while (took < steps) {
        whole now = OF_KIND(pair_steps)(dual, least(block, steps - took), tol);
        if (!dual->offset) now += OF_KIND(single_steps)(dual, least(block, steps - took - now), tol);
        if (now == 0) break;
        took += now;
    }
    return took;
}

/* The free coefficients, and those at a bound with a KKT violation; return how many. */
static whole OF_KIND(may_move)(const struct OF_KIND(dual) *dual, whole *kept) {
    const double *lo = dual->lo, *hi = dual->hi, *c = dual->c, *r = dual->r;
    double top = dual->offset ? -INFINITY : 0, bottom = dual->offset ? INFINITY : 0;
    whole m = 0, n = dual->source.n;
    for (whole k = 0; k < n; k++) {
        if (c[k] < hi[k]) top = max(top, r[k]);
        if (c[k] > lo[k]) bottom = min(bottom, r[k]);
    }
    for (whole k = 0; k < n; k++) {
        bool up = c[k] < hi[k], down = c[k] > lo[k];
        if ((up && down) || (up && r[k] >= bottom) || (down && r[k] <= top)) kept[m++] = k;
    }
    return m;
}

/* `descend_all` on the m coefficients `kept` alone; then the steps taken, and their effect on all of r. Without enough
   memory for their part of K, nothing happens. */
static whole OF_KIND(descend_part)(const struct OF_KIND(dual) *dual, const whole *kept, whole m, whole steps, double tol) {
    const struct OF_KIND(source) *source = &dual->source;
    whole n = source->n, d = source->m == 0 ? source->kernel.d : 0, took = 0;
    struct OF_KIND(cache) cache;
    bool enough = OF_KIND(opened)(&cache, m, KEPT / 2);
    REAL *points = malloc((d + 1) * m * sizeof *points);
    double *numbers = malloc(8 * m * sizeof *numbers);
    whole *rows = malloc(m * sizeof *rows);
    if (enough && points != NULL && numbers != NULL && rows != NULL) {
        double *diag = numbers, *lo = diag + m, *hi = lo + m, *c = hi + m, *r = c + m;
        for (whole k = 0; k < m; k++) {
            whole i = kept[k];
            rows[k] = source->rows[i];
            diag[k] = dual->diag[i], lo[k] = dual->lo[i], hi[k] = dual->hi[i], c[k] = dual->c[i], r[k] = dual->r[i];
        }
        for (whole j = 0; j < d; j++)
            for (whole k = 0; k < m; k++) points[j * m + k] = source->kernel.Z_T[j * n + kept[k]];
        struct OF_KIND(dual) inner = *dual;
        inner.source.rows = rows, inner.source.n = m, inner.source.cache = &cache;
        inner.source.kernel.Z_T = points, inner.source.kernel.m = m;
        inner.diag = diag, inner.lo = lo, inner.hi = hi, inner.c = c, inner.r = r, inner.space = r + m;
        took = OF_KIND(descend_all)(&inner, steps, tol);
        for (whole k = 0; k < m; k++) {
            double delta = c[k] - dual->c[kept[k]];
            if (delta == 0) continue;
            const REAL *restrict row = OF_KIND(row_of)(source, kept[k]);
            double *restrict residuals = dual->r;
            dual->c[kept[k]] = c[k];
            for (whole j = 0; j < n; j++) residuals[j] -= delta * row[j];
        }
    }
    OF_KIND(closed)(&cache);
    free(points), free(numbers), free(rows);
    return took;
}

/* `descend_all`, again and again on those alone that may still move if they are few: fewer numbers are read faster.

   Returns the steps; those on a part of the coefficients count as the same part of a step. `kept` is space for n. */
static whole OF_KIND(descend_by_parts)(const struct OF_KIND(dual) *dual, whole steps, double tol, whole *kept) {
    whole n = dual->source.n, took = 0, block = n < FEW ? steps : FEW;
    while (took < steps) {
        whole some = least(block, steps - took), now = OF_KIND(descend_all)(dual, some, tol);
        took += now;
        if (now < some || took >= steps) break;
        whole m = OF_KIND(may_move)(dual, kept);
        if (1 < m && (double)m < 0.6 * (double)n) {
            whole most = (whole)((double)(steps - took) * (double)n / (double)m);
            took += OF_KIND(descend_part)(dual, kept, m, most, tol) * m / n;
        }
    }
    return took;
}

/* Steps on all of K; `space` is for 3 n numbers. */
EXPORTED whole OF_KIND(descend)(const REAL *K, whole n, const double *diag, const double *lo, const double *hi,
                                double *c, double *r, double *space, whole steps, double tol, bool offset) {
    struct OF_KIND(dual) dual = {.source = {.K = K, .m = n, .n = n}, .diag = diag, .lo = lo, .hi = hi, .c = c, .r = r,
                                 .space = space, .offset = offset};
    return OF_KIND(descend_all)(&dual, steps, tol);
}

/* Solve one problem on its own rows of K, or of the points in kernel.Z_T, by steps alone, from coefficients c that are
   0 to a relative gap, with at most `most` steps. `found` becomes its offset, gap, objective and steps. Returns whether
   there was enough memory. */
static bool OF_KIND(small_problem)(const REAL *K, whole m, const struct OF_KIND(radial) *kernel, const whole *rows,
                                   const double *y, whole n, double C, bool offset, double gap, whole most, double *c,
                                   double *found) {
    bool all = n == m;
    for (whole k = 0; all && k < n; k++) all = rows[k] == k;
    whole d = m == 0 ? kernel->d : 0;
    struct OF_KIND(cache) cache = {0};
    bool enough = all || OF_KIND(opened)(&cache, n, KEPT);
    REAL *points = malloc((d + 1) * (n + 1) * sizeof *points);
    double *numbers = malloc(8 * n * sizeof *numbers);
    whole *kept = malloc(n * sizeof *kept);
    enough = enough && points != NULL && numbers != NULL && kept != NULL;
    if (enough) {
        double *lo = numbers, *hi = lo + n, *diag = hi + n, *r = diag + n, *f = r + n, *space = f + n;
        whole plus = 0;
        for (whole k = 0; k < n; k++) {
            lo[k] = min(0, C * y[k]), hi[k] = max(0, C * y[k]);
            diag[k] = m == 0 ? 1 : max(K[rows[k] * m + rows[k]], 1e-200);
            r[k] = y[k];
            plus += y[k] > 0;
        }
        for (whole j = 0; j < d; j++)
            for (whole k = 0; k < n; k++) points[j * n + k] = kernel->Z_T[j * kernel->m + rows[k]];
        struct OF_KIND(dual) dual = {.source = {K, m, rows, n, *kernel, points + d * n, all ? NULL : &cache}, .diag = diag,
                                     .lo = lo, .hi = hi, .c = c, .r = r, .space = space, .offset = offset};
        dual.source.kernel.Z_T = points, dual.source.kernel.m = n;
        double tol = min(0.1, max(1e-3, 100 * gap)), b = 0, reached = INFINITY, objective = INFINITY;
        whole steps = 0;
        while (!offset || (0 < plus && plus < n)) {  /* a single label is an error, which others report */
            steps += OF_KIND(descend_by_parts)(&dual, most - steps, tol, kept);
            if (offset) {
                memcpy(f, r, n * sizeof *f);
                b = between(f, n, plus - 1);
            }
            for (whole k = 0; k < n; k++) f[k] = y[k] - r[k];
            double sizes[3], s = to_the_margin(n, y, f, b, c, C);
            gap_and_objective(n, y, f, b, lo, hi, c, sizes);
            if (s > 1 && sizes[0] > gap * sizes[1]) {
                for (whole k = 0; k < n; k++) f[k] *= s, space[k] = s * c[k];
                gap_and_objective(n, y, f, s * b, lo, hi, space, sizes);
                if (sizes[0] <= gap * sizes[1]) b *= s, memcpy(c, space, n * sizeof *c);
            }
            objective = sizes[1], reached = sizes[0] / objective;
            if (reached <= gap || steps >= most || tol < 1e-12) break;
            tol *= min(0.5, max(0.02, 0.5 * gap / reached));
        }
        found[0] = b, found[1] = reached, found[2] = objective, found[3] = (double)steps;
    }
    OF_KIND(closed)(&cache);
    free(points), free(numbers), free(kept);
    return enough;
}

/* Solve the problems from first to last: problem p has the entries of rows, y and c from starts[p] on, and row p of
   `found`. Returns whether there was enough memory. */
EXPORTED bool OF_KIND(small_problems)(const REAL *K, whole m, const REAL *X_T, whole d, whole points, bool squared,
                                      double factor, const whole *rows, const double *y, const whole *starts, whole first, whole last,
                                      double C, bool offset, double gap, const whole *most, double *c, double *found) {
    struct OF_KIND(radial) kernel = {X_T, d, points, squared, factor};
    for (whole p = first; p < last; p++) {
        whole begin = starts[p];
        if (!OF_KIND(small_problem)(K, m, &kernel, rows + begin, y + begin, starts[p + 1] - begin, C, offset, gap,
                                    most[p], c + begin, found + 4 * p))
            return false;
    }
    return true;
}

/* Solve one problem by dual coordinate descent (Hsieh et al. 2008), from alpha and w that are 0 to a relative gap: passes
   over the points in random order, at most `most`. Points at a bound that would rather be beyond it, by more than any
   step of the last pass, are left out until the next check of the gap. `squares` has the squared norms of the rows of
   Psi, and `active` is space for n numbers. Returns the passes; `found` becomes the relative gap and the objective. */
EXPORTED whole OF_KIND(coordinate_descent)(const REAL *Psi, whole n, whole m, const double *squares, const double *y,
                                           double C, double gap, whole most, whole *active, double *alpha, double *w,
                                           double *found) {
    uint64_t random = 1;
    whole left = n, pass = 0;
    double far = INFINITY;
    for (whole i = 0; i < n; i++) active[i] = i;
    while (pass < most) {
        double largest = 0;
        for (whole t = 0; t < left; t++) {
            random = random * 6364136223846793005u + 1442695040888963407u;  /* Knuth's generator */
            whole drawn = t + (whole)((random >> 33) % (uint64_t)(left - t)), i = active[drawn];
            const REAL *restrict row = Psi + i * m;
            active[drawn] = active[t], active[t] = i;
            double room = 1 - y[i] * OF_KIND(dot)(m, row, w);
            if ((alpha[i] == 0 && room < -far) || (alpha[i] == C && room > far)) {
                active[t--] = active[--left];
                continue;
            }
            double goal = min(C, max(0, alpha[i] + room / squares[i])), delta = (goal - alpha[i]) * y[i];
            if (delta == 0) continue;
            largest = max(largest, fabs(room));
            alpha[i] = goal;
            for (whole k = 0; k < m; k++) w[k] += delta * row[k];
        }
        far = largest;
        if (++pass % LOOK > 0 && pass < most) continue;
        double losses = 0, sum = 0, half = dot_float64(m, w, w) / 2;
        left = 0;
        for (whole i = 0; i < n; i++) {
            double room = 1 - y[i] * OF_KIND(dot)(m, Psi + i * m, w);
            losses += max(0, room), sum += alpha[i];
            if ((alpha[i] > 0 || room > 0) && (alpha[i] < C || room < 0)) active[left++] = i;
        }
        far = INFINITY;
        found[1] = half + C * losses, found[0] = (found[1] - (sum - half)) / found[1];
        if (found[0] <= gap) break;
    }
    return pass;
}
