/* The inner loops, compiled when the package is built (hatch_build.py). `loops.py` calls them with numpy's arrays.

   All matrices are stored by rows, without gaps. The loops use no global state, so threads can share a job. Products and
   sums may be fused, and sums marked with `omp simd` taken in any order; nothing else, as `TO_WHOLE` relies on the order
   of operations. `restrict` says that a loop's arrays do not overlap: only then is it vectorised. */

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef intptr_t whole; /* numpy's intp */

enum { ROWS = 32, COLUMNS = 256 };  /* a tile of the Gram matrix: 64 kB, so that it stays in the processor's cache */
enum { SIDE = 64 };  /* of a tile that is compared with its mirror image: 32 kB */
enum { LOOK = 10 };  /* passes of coordinate descent between two checks of the gap */
enum { LANES = 32, SUMS = 8 };  /* numbers compared or added at a time: compilers vectorise only a fixed number */
enum { KEPT = 1 << 27 };  /* bytes of rows of K, in one problem; libsvm keeps up to 200 MB */
enum { FEW = 500 };  /* coefficients whose part of K fits into the cache: none of them is left out */

#define LOG2E 0x1.71547652b82fep+0
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define TO_WHOLE 0x1.8p+52  /* adding it to a number of moderate size leaves the nearest integer in the last bits */
#define LEAST (-708.0)      /* below this, exp loses digits */
#define LN2_HIGH_SINGLE 0x1.62e4p-1f
#define LN2_LOW_SINGLE 0x1.7f7d1cp-20f
#define TO_WHOLE_SINGLE 0x1.8p+23f
#define LEAST_SINGLE (-87.0f)
#define TURN_HIGH 0x1.921fb54400000p+2
#define TURN_LOW 0x1.0b4611a626331p-32
#define PER_TURN 0x1.45f306dc9c883p-3
#define FAR 1e6             /* beyond this angle, the multiple of TURN_HIGH that is subtracted would be rounded */
#define MOST 800.0          /* exp(-MOST) is 0 */

/* exp(r) = 1 + r + r^2/2 + r^3 q(r), where q interpolates at the Chebyshev points of [-log(2)/2, log(2)/2]. It has
   fewer terms than a Taylor series of the same accuracy; the error is a tenth of a rounding error. */
static const double Q[9] = {
    0x1.5555555555552p-3, 0x1.5555555554cb9p-5, 0x1.111111111458ap-7, 0x1.6c16c1738e3c4p-10,
    0x1.a01a017dc3f02p-13, 0x1.a019c9af79d73p-16, 0x1.71dea2c2c59ebp-19, 0x1.288031b3fc22ep-22,
    0x1.adf0679ccba63p-26,
};

static const float Q_SINGLE[4] = {0x1.555526p-3, 0x1.55553ep-5, 0x1.11d946p-7, 0x1.6cdee8p-10};

/* 2 sin(r/4) / r and 2 cos(r/4) in the same way, as polynomials in r^2, for r in [-pi, pi] */
static const double SINE[7] = {
    0x1.0000000000001p-1, -0x1.55555555557c9p-8, 0x1.111111113e504p-16, -0x1.a01a01eccf449p-26,
    0x1.71de7457de033p-36, -0x1.ae8b8b4c44ca3p-47, 0x1.69bdaa5618b58p-58,
};
static const double COSINE[7] = {
    0x1.0000000000001p+1, -0x1.000000000009dp-4, 0x1.555555555cf4ap-12, -0x1.6c16c16f6082cp-21,
    0x1.a01a00ab6e66bp-31, -0x1.27e24b68b82f1p-41, 0x1.1c5a318986ebcp-52,
};

/* Whether the processor has AVX2 and FMA, and the system saves their registers. */
EXPORTED bool has_avx2(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d, saved;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA) || !(c & bit_OSXSAVE)) return false;
    __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    return (saved & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
#else
    return false;
#endif
}

static whole least(whole a, whole b) { return a < b ? a : b; }
static double min(double a, double b) { return a < b ? a : b; }
static double max(double a, double b) { return a > b ? a : b; }

static void add_multiple(whole n, double *restrict f, double c, const double *restrict x) {
    for (whole j = 0; j < n; j++) f[j] += c * x[j];
}

/* exp(x) for LEAST <= x <= 0, to the last digit or two: 2^k times a polynomial on [-log(2)/2, log(2)/2].

   A library's exp is called for one number at a time; a loop over this one is vectorised. The polynomial is summed in
   pairs of terms and pairs of pairs (Estrin's scheme): in Horner's scheme, each step would wait for the one before. */
static inline double exp_of(double x) {
    double t = x * LOG2E + TO_WHOLE, k = t - TO_WHOLE;
    double r = x - k * LN2_HIGH;
    r = r - k * LN2_LOW;
    double r2 = r * r, r4 = r2 * r2;
    double p = (Q[8] * r + Q[7]) * r2 + (Q[6] * r + Q[5]);
    p = p * r4 + ((Q[4] * r + Q[3]) * r2 + (Q[2] * r + Q[1]));
    p = p * r4 + ((Q[0] * r + 0.5) * r2 + (r + 1.0));
    uint64_t bits, exponent;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&exponent, &t, sizeof exponent);
    bits += exponent << 52;  /* add k to the exponent of p */
    memcpy(&p, &bits, sizeof p);
    return p;
}

/* exp of factor x[:n], all <= 0; each result depends on its own x alone. */
static void exp_in_place_float64(whole n, double *restrict x, double factor) {
    whole small = 0;
#pragma omp simd reduction(+ : small)
    for (whole j = 0; j < n; j++) {
        x[j] *= factor;
        small += !(x[j] >= LEAST);
    }
    if (small == 0)
        for (whole j = 0; j < n; j++) x[j] = exp_of(x[j]);
    else
        for (whole j = 0; j < n; j++) x[j] = x[j] >= LEAST ? exp_of(x[j]) : exp(x[j]);
}

/* exp of factor x[:n], all <= 0, in single precision, to the last digit or two; below LEAST_SINGLE it is no smaller. */
static void exp_in_place_float32(whole n, float *restrict x, float factor) {
    for (whole j = 0; j < n; j++) {
        float s = factor * x[j];
        s = s > LEAST_SINGLE ? s : LEAST_SINGLE;
        float t = s * (float)LOG2E + TO_WHOLE_SINGLE, k = t - TO_WHOLE_SINGLE;
        float r = s - k * LN2_HIGH_SINGLE;
        r = r - k * LN2_LOW_SINGLE;
        float q = ((Q_SINGLE[3] * r + Q_SINGLE[2]) * r + Q_SINGLE[1]) * r + Q_SINGLE[0];
        float p = 1 + (r + r * r * (q * r + 0.5f));
        uint32_t bits, exponent;
        memcpy(&bits, &p, sizeof bits);
        memcpy(&exponent, &t, sizeof exponent);
        bits += exponent << 23;
        memcpy(x + j, &bits, sizeof bits);
    }
}

/* exp(-s) times a polynomial in s, for the n <= COLUMNS numbers s >= 0 in x. */
static void exp_and_polynomial_in_place(whole n, double *restrict x, const double *coefficients, whole degrees) {
    double s[COLUMNS], p[COLUMNS];
    for (whole j = 0; j < n; j++) {
        s[j] = x[j] < MOST ? x[j] : MOST;
        x[j] = -s[j];
        p[j] = coefficients[degrees - 1];
    }
    exp_in_place_float64(n, x, 1);
    for (whole degree = degrees - 2; degree >= 0; degree--)
        for (whole j = 0; j < n; j++) p[j] = p[j] * s[j] + coefficients[degree];
    for (whole j = 0; j < n; j++) x[j] *= p[j];
}

/* Replace the angles in the left half of each row by their cosines, and fill its right half with their sines.

   Both are multiplied by `scale`. An angle is reduced to [-pi, pi]; twice the sine and cosine of a quarter of it are
   polynomials, and the angle is doubled twice: (2s, 2c) becomes (2s 2c, 2 - (2s)^2). */
EXPORTED void waves_in_place(double *waves, whole n, whole columns, double scale) {
    whole half = columns / 2;
    for (whole i = 0; i < n; i++) {
        double *restrict left = waves + i * columns, *restrict right = left + half;
        whole far = 0;
#pragma omp simd reduction(+ : far)
        for (whole j = 0; j < half; j++) far += !(fabs(left[j]) < FAR);
        if (far > 0) {
            for (whole j = 0; j < half; j++) {
                double angle = left[j];
                left[j] = scale * cos(angle);
                right[j] = scale * sin(angle);
            }
            continue;
        }
        for (whole j = 0; j < half; j++) {
            double k = (left[j] * PER_TURN + TO_WHOLE) - TO_WHOLE;
            double r = left[j] - k * TURN_HIGH;
            r = r - k * TURN_LOW;
            double t = r * r, s = SINE[6], c = COSINE[6];
            s = s * t + SINE[5], c = c * t + COSINE[5];
            s = s * t + SINE[4], c = c * t + COSINE[4];
            s = s * t + SINE[3], c = c * t + COSINE[3];
            s = s * t + SINE[2], c = c * t + COSINE[2];
            s = s * t + SINE[1], c = c * t + COSINE[1];
            s = s * t + SINE[0], c = c * t + COSINE[0];
            s *= r;
            double twice = s * c, other = 2 - s * s;
            left[j] = 0.5 * scale * (2 - twice * twice);
            right[j] = 0.5 * scale * (twice * other);
        }
    }
}

/* Store exp of scale G + a_i + b_j in K (of m columns), where G has the products of the rows of K from `top` on; all
   these numbers are <= 0 up to rounding. With coefficients, they are -s^2, and exp(-s) times the polynomial in s is
   stored. For a symmetric matrix, G has the columns from `top` on, and is also stored transposed. */
EXPORTED void exp_of_products(double *G, whole rows, whole columns, double scale, const double *a, const double *b,
                              double *K, whole m, whole top, bool symmetric, const double *coefficients,
                              whole degrees) {
    whole left = symmetric ? top : 0;
    for (whole first = 0; first < columns; first += COLUMNS) {
        whole some = least(COLUMNS, columns - first);
        for (whole i = 0; i < rows; i++) {
            double *restrict x = G + i * columns + first, a_i = a[top + i];
            const double *restrict b_j = b + left + first;
            for (whole j = 0; j < some; j++) {
                double total = scale * x[j] + (a_i + b_j[j]);
                x[j] = total < 0 ? total : 0;
            }
            if (symmetric && first <= i && i < first + some) x[i - first] = 0;
            if (degrees == 0) exp_in_place_float64(some, x, 1);
            else {
                for (whole j = 0; j < some; j++) x[j] = sqrt(-x[j]);
                exp_and_polynomial_in_place(some, x, coefficients, degrees);
            }
            memmove(K + (top + i) * m + left + first, x, some * sizeof *x);  /* K may be G */
        }
        for (whole j = first; symmetric && j < first + some; j++)
            for (whole i = 0; i < least(j, rows); i++) K[(left + j) * m + top + i] = G[i * columns + j];
    }
}

/* The squared distances between the points i[p] of X and j[p] of Z. */
EXPORTED void squares_of_pairs(const double *X, const double *Z, whole d, const whole *i, const whole *j, whole pairs,
                               double *squares) {
    for (whole p = 0; p < pairs; p++) {
        const double *restrict x = X + i[p] * d, *restrict z = Z + j[p] * d;
        double total = 0;
#pragma omp simd reduction(+ : total)
        for (whole k = 0; k < d; k++) total += (x[k] - z[k]) * (x[k] - z[k]);
        squares[p] = total;
    }
}

/* Add to the rows of K (of m columns) from first to last those of the product of two sparse matrices: the first is given
   by rows, and the second by the entries of each of its rows as well. */
EXPORTED void add_sparse_product(double *K, whole m, whole first, whole last, const int32_t *starts,
                                 const int32_t *columns, const double *values, const int32_t *row_starts,
                                 const int32_t *places, const double *weights) {
    for (whole i = first; i < last; i++) {
        double *restrict row = K + i * m;
        for (int32_t e = starts[i]; e < starts[i + 1]; e++)
            for (int32_t f = row_starts[columns[e]]; f < row_starts[columns[e] + 1]; f++)
                row[places[f]] += values[e] * weights[f];
    }
}

/* One pass of the kernel perceptron over the points in this order; update alpha and f, return the mistakes. */
EXPORTED whole perceptron_epoch(const double *K, whole n, const double *y, const whole *order, whole steps,
                                whole *alpha, double *f) {
    whole mistakes = 0;
    for (whole t = 0; t < steps; t++) {
        whole i = order[t];
        if (y[i] * f[i] <= 0) {
            alpha[i]++, mistakes++;
            add_multiple(n, f, y[i], K + i * n);
        }
    }
    return mistakes;
}

/* Stochastic steps of kernel logistic regression; update a and q = K a. */
EXPORTED void logistic_sgd(const double *K, whole n, const double *y, const whole *order, whole steps, double step,
                           double ridge, double *a, double *q) {
    for (whole t = 0; t < steps; t++) {
        whole i = order[t];
        double e = exp(-fabs(q[i])), delta = step * (y[i] - (q[i] >= 0 ? 1 : e) / (1 + e) - ridge * a[i]);
        a[i] += delta;
        add_multiple(n, q, delta, K + i * n);
    }
}

/* Stochastic steps of the SVM; count the hits of each point and the iterates that contain them. */
EXPORTED void svm_sgd(const double *K, whole n, const double *y, const whole *order, whole steps, double lam,
                      double *hits, double *total, double *f) {
    for (whole t = 0; t < steps; t++) {
        whole i = order[t];
        if (y[i] * f[i] < 2 * lam * (double)(t > 1 ? t : 1)) {
            hits[i] += 1;
            total[i] += (double)(steps - t);
            add_multiple(n, f, y[i], K + i * n);
        }
    }
}

/* The numbers of the certificate in `algorithms.svm`, up to a common factor: P - D, P and c'Kc. */
EXPORTED void gap_and_objective(whole n, const double *y, const double *f, double b, const double *lo, const double *hi,
                                const double *c, double *found) {
    double gap = 0, losses = 0, square = 0, total = 0;
    for (whole k = 0; k < n; k++) {
        double r = y[k] - f[k] - b;
        gap += (hi[k] - c[k]) * max(0, r) + (c[k] - lo[k]) * max(0, -r);
        losses += (hi[k] - lo[k]) * max(0, y[k] * r);
        square += c[k] * f[k];
        total += c[k];
    }
    found[0] = gap + fabs(b * total), found[1] = max(0, square) / 2 + losses, found[2] = square;
}

/* The factor that takes all points out of the margin, if they are nearly out and it takes no coefficient beyond C; else
   1. For a large C, what a slightly smaller margin costs in the penalty is far less than the losses inside the margin. */
static double to_the_margin(whole n, const double *y, const double *f, double b, const double *c, double C) {
    double smallest = INFINITY, largest = 0;
    for (whole k = 0; k < n; k++) smallest = min(smallest, y[k] * (f[k] + b)), largest = max(largest, fabs(c[k]));
    return 0.5 < smallest && smallest < 1 && largest <= C * smallest ? 1 / smallest : 1;
}

/* The mean of entries k and k + 1 of x in ascending order; x is reordered (Hoare's selection). */
EXPORTED double between(double *x, whole n, whole k) {
    whole left = 0, right = n - 1;
    k++;
    while (left < right) {
        whole i = left, j = right;
        double pivot = x[(left + right) / 2];
        while (i <= j) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i <= j) {
                double kept = x[i];
                x[i++] = x[j], x[j--] = kept;
            }
        }
        if (j < k && k < i) break;
        if (k <= j) right = j;
        else left = i;
    }
    double below = -INFINITY;
    for (whole i = 0; i < k; i++) below = max(below, x[i]);
    return (below + x[k]) / 2;
}

/* Whether all entries of these rows of K, on the diagonal and right of it, are finite and at most `slack` from their
   mirror images. */
EXPORTED bool rows_are_symmetric(const double *K, whole n, whole first, whole last, double slack) {
    double mirrored[SIDE][SIDE];  /* memory is read along rows: down columns, it is read at half the speed */
    for (whole top = first; top < last; top += SIDE)
        for (whole left = top; left < n; left += SIDE) {
            whole apart = 0, rows = least(SIDE, last - top), columns = least(SIDE, n - left);
            for (whole j = 0; j < columns; j++)
                for (whole i = 0; i < rows; i++) mirrored[i][j] = K[(left + j) * n + top + i];
            for (whole i = 0; i < rows; i++) {
                const double *restrict x = K + (top + i) * n + left, *restrict mirror = mirrored[i];
                for (whole j = 0; j < columns; j++) apart += !(fabs(x[j] - mirror[j]) <= slack);
            }
            if (apart > 0) return false;
        }
    return true;
}

/* A copy of these rows and columns of K (of m columns). */
EXPORTED void among(const double *K, whole m, const whole *chosen, whole n, double *part) {
    for (whole i = 0; i < n; i++)
        for (whole j = 0; j < n; j++) part[i * n + j] = K[chosen[i] * m + chosen[j]];
}

/* The first index of the largest entry of x. */
static whole first_largest(whole n, const double *restrict x) {
    double top = -INFINITY, lanes[LANES];
    for (whole k = 0; k < LANES; k++) lanes[k] = top;
    whole i = 0;
    for (; i + LANES <= n; i += LANES)
        for (whole k = 0; k < LANES; k++) lanes[k] = max(x[i + k], lanes[k]);
    for (; i < n; i++) top = max(x[i], top);
    for (whole k = 0; k < LANES; k++) top = max(lanes[k], top);
    for (i = 0; i + LANES <= n; i += LANES) {
        whole found = 0;
        for (whole k = 0; k < LANES; k++) found += x[i + k] == top;
        if (found > 0) break;
    }
    while (i < n - 1 && x[i] != top) i++;
    return i;
}

/* What depends on whether K is kept in double or in single precision */

#define REAL double
#define OF_KIND(name) name##_float64
#include "loops_of_kind.h"
#undef REAL
#undef OF_KIND

#define REAL float
#define OF_KIND(name) name##_float32
#include "loops_of_kind.h"

/* With coefficients, the kernel e^(-s) times their polynomial in s = -factor |x - z|. */
struct matern {
    struct radial_float64 radial;
    const double *coefficients;
    whole degrees;
};

/* One row of the matrix, for `columns` columns from `left` on, into x. With coefficients, there are at most COLUMNS. */
static void exp_of_distances_to_one(const double *point, const struct matern *k, whole left, whole columns, double *x) {
    distances_to_one_float64(point, &k->radial, left, columns, x);
    if (k->degrees == 0) {
        exp_in_place_float64(columns, x, k->radial.factor);
        return;
    }
    for (whole j = 0; j < columns; j++) x[j] = -k->radial.factor * sqrt(x[j]);
    exp_and_polynomial_in_place(columns, x, k->coefficients, k->degrees);
}

/* The rows from first to last of the matrix K (of m columns) between the points X and Z. For a symmetric matrix, only
   the tiles on and right of the diagonal are computed; each is also stored transposed. */
EXPORTED void exp_of_distances(const double *X, const double *Z_T, whole d, whole m, whole first, whole last, double *K,
                               bool symmetric, bool squared, double factor, const double *coefficients,
                               whole degrees) {
    struct matern kernel = {{Z_T, d, m, squared, factor}, coefficients, degrees};
    double tile[ROWS][COLUMNS];
    for (whole top = first; top < last; top += ROWS) {
        whole rows = least(ROWS, last - top);
        for (whole left = symmetric ? top : 0; left < m; left += COLUMNS) {
            whole columns = least(COLUMNS, m - left);
            for (whole i = 0; i < rows; i++) {
                double *x = tile[symmetric ? i : 0];
                exp_of_distances_to_one(X + (top + i) * d, &kernel, left, columns, x);
                memcpy(K + (top + i) * m + left, x, columns * sizeof *x);
            }
            for (whole j = 0; symmetric && j < columns; j++)
                for (whole i = 0; i < rows; i++) K[(left + j) * m + top + i] = tile[i][j];
        }
    }
}

/* Add to each row of sums (of `outputs` columns), from first to last, the matrix that `exp_of_distances` gives times
   each row of weights. The matrix is computed a few entries at a time and never stored. */
EXPORTED void weighted_exp_of_distances(const double *X, const double *Z_T, whole d, whole m, whole first, whole last,
                                        const double *weights, whole outputs, double *sums, bool squared,
                                        double factor) {
    struct matern kernel = {{Z_T, d, m, squared, factor}, NULL, 0};
    double x[COLUMNS];
    for (whole top = first; top < last; top += ROWS)
        for (whole left = 0; left < m; left += COLUMNS) {
            whole columns = least(COLUMNS, m - left);
            for (whole i = top; i < least(top + ROWS, last); i++) {
                exp_of_distances_to_one(X + i * d, &kernel, left, columns, x);
                for (whole c = 0; c < outputs; c++)
                    sums[i * outputs + c] += dot_float64(columns, x, weights + c * m + left);
            }
        }
}
