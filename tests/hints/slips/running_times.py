import math

import numpy as np


def feature_count__without_constant(d, p):
    return math.comb(d + p, p) - 1


def feature_count__sum_of_powers(d, p):
    return sum(d**k for k in range(p + 1))


def training__half_for_third(n, d, D):
    primal = n * D * D + D**3 / 2
    dual = n * n * D + n**3 / 2
    kernel = n * n * d + n**3 / 2
    return primal, dual, kernel


def training__kernel_uses_features(n, d, D):
    solve = n**3 / 3
    return n * D**2 + D**3 / 3, D * n**2 + solve, D * n**2 + solve


def testing__features_only(n, d, D):
    return D, n * D, n * d


def testing__n_forgotten(n, d, D):
    return 2 * D, 2 * D + n, 2 * n * d


def test_points_needed__no_strictness(n, d, D):
    if n * d <= D:
        return 0
    return math.ceil(n * D / (n * d - D))


def test_points_needed__w_uncounted(n, d, D):
    if n * d > D:
        return 1
    return 0


def kernel_pays_up_to__one_too_many(d, D):
    n = 1
    while n**2 * d + n**3 / 3 < n * D**2 + D**3 / 3:
        n += 1
    return n


def kernel_pays_up_to__is_D(d, D):
    return D


def power_law__no_logs_of_seconds(sizes, seconds, n):
    best = seconds.min(axis=0)
    q, c = np.polyfit(np.log(sizes), best, 1)
    return q, c + q * np.log(n)


def power_law__means(sizes, seconds, n):
    s = np.log(seconds.mean(axis=0))
    l = np.log(sizes)
    q = np.cov(l, s, bias=True)[0, 1] / np.var(l)
    return q, np.exp(s.mean() + q * (np.log(n) - l.mean()))


def power_law__forecast_in_logs(sizes, seconds, n):
    q, c = np.polyfit(np.log(sizes), np.log(seconds.min(axis=0)), 1)
    return q, q * np.log(n) + c


def perceptron_evaluations__counts_all_points(K, y, epochs):
    n = len(y)
    alpha = np.zeros(n)
    counts = []
    for _ in range(epochs):
        c = 0
        for i in range(n):
            c += n
            if y[i] * (K[i] @ alpha) <= 0:
                alpha[i] += y[i]
        counts.append(c)
    return np.array(counts, dtype=float)


def perceptron_evaluations__counts_after_update(K, y, epochs):
    alpha = np.zeros(len(y))
    counts = np.zeros(epochs)
    for e in range(epochs):
        for i in range(len(y)):
            if y[i] * np.dot(K[i], alpha) <= 0:
                alpha[i] += y[i]
            counts[e] += np.sum(alpha != 0)
    return counts
