import numpy as np


def hinge_losses__squared(f, y):
    m = 1 - f * y
    return np.where(m > 0, m**2, 0)


def hinge_losses__zero_margin(f, y):
    return np.array([max(0.0, -yi * fi) for fi, yi in zip(f, y)])


def objective__labels_twice(alpha, K, y, lam):
    f = K @ alpha
    loss = np.mean(np.clip(1 - y * f, 0, None))
    return loss + lam * alpha @ K @ alpha


def objective__sum_of_losses(alpha, K, y, lam):
    c = alpha * y
    f = K.dot(c)
    total = 0
    for fi, yi in zip(f, y):
        total += max(0, 1 - yi * fi)
    return total + lam * c.dot(f)


def objective__half_penalty(alpha, K, y, lam):
    c = alpha * y
    return np.mean(np.maximum(1 - y * (K @ c), 0)) + lam / 2 * c @ K @ c


def classify__sign(K_test, alpha, y):
    return np.sign(K_test @ (alpha * y))


def classify__margin(K_test, alpha, y):
    f = K_test.dot(alpha * y)
    return np.array([1 if v >= 1 else -1 for v in f])


def subgradient__all_points(alpha, K, y, lam):
    D = np.diag(y)
    Q = D @ K @ D
    return 2 * lam * Q @ alpha - Q @ np.ones(len(y)) / len(y)


def subgradient__sum(alpha, K, y, lam):
    Q = np.outer(y, y) * K
    active = (Q @ alpha < 1).astype(float)
    return 2 * lam * Q @ alpha - Q @ active


def coordinate_step__box_without_n(alpha, K, y, lam, i):
    a = np.array(alpha, dtype=float)
    margin = y[i] * np.sum(K[i] * y * alpha)
    step = (1 - margin) / K[i, i]
    a[i] = min(max(a[i] + step, 0), 1 / (2 * lam))
    return a


def coordinate_step__replaces(alpha, K, y, lam, i):
    a = alpha.astype(float).copy()
    margin = y[i] * np.sum(K[i] * y * alpha)
    a[i] = np.clip((1 - margin) / K[i, i], 0, 1 / (2 * len(y) * lam))
    return a


def train__no_lower_end(K, y, lam, epochs):
    n = len(y)
    C = 1 / (2 * n * lam)
    a = np.zeros(n)
    for _ in range(epochs):
        for i in range(n):
            g = 1 - y[i] * (K[i] @ (a * y))
            a[i] = min(C, a[i] + g / K[i, i])
    return a


def train__all_at_once(K, y, lam, epochs):
    n = len(y)
    a = np.zeros(n)
    for _ in range(epochs):
        f = K @ (a * y)
        a = np.clip(a + (1 - y * f) / np.diag(K), 0, 1 / (2 * n * lam))
    return a


def gap__dual_without_two_lambda(alpha, K, y, lam):
    c = alpha * y
    f = K @ c
    P = np.mean(np.maximum(0, 1 - y * f)) + lam * c @ f
    D = alpha.sum() - 0.5 * c @ f
    return P - D


def gap__sum(alpha, K, y, lam):
    c = alpha * y
    f = K @ c
    P = np.maximum(0, 1 - y * f).mean() + lam * c @ f
    D = 2 * lam * alpha.sum() - lam * c @ f
    return P + D
