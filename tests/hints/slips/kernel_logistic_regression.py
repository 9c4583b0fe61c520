import numpy as np


def logistic__sign(z):
    return 1 / (1 + np.exp(z))


def logistic__tanh_without_half(z):
    return 0.5 * (1 + np.tanh(z))


def objective__labels_swapped(a, K, y, lam):
    f = K @ a
    p = 1 / (1 + np.exp(-f))
    loss = -np.sum((1 - y) * np.log(p) + y * np.log(1 - p))
    return loss + 0.5 * lam * a @ K @ a


def objective__mean_loss(a, K, y, lam):
    f = K.dot(a)
    p = 1 / (1 + np.exp(-f))
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)) + lam / 2 * a.dot(f)


def primal_step__ascends_the_penalty(w, Phi, y, step, lam):
    p = 1 / (1 + np.exp(-(Phi @ w)))
    g = np.zeros_like(w, dtype=float)
    for i in range(len(y)):
        g += (y[i] - p[i]) * Phi[i]
    return w + step * (g + lam * w)


def primal_step__penalty_not_stepped(w, Phi, y, step, lam):
    p = 1 / (1 + np.exp(-Phi @ w))
    return w + step * Phi.T @ (y - p) - lam * w


def dual_step__multiplied_by_gram(a, K, y, step, lam):
    p = 1 / (1 + np.exp(-K @ a))
    return a + step * K @ (y - p - lam * a)


def dual_step__probability_of_a(a, K, y, step, lam):
    p = 1 / (1 + np.exp(-a))
    return a + step * (y - p - lam * a)


def train__one_step_less(K, y, step, lam, iterations):
    a = np.zeros(len(y))
    for it in range(1, iterations):
        p = 1 / (1 + np.exp(-K @ a))
        a = a + step * (y - p - lam * a)
    return a


def train__starts_with_ones(K, y, step, lam, iterations):
    a = np.ones(len(y))
    while iterations > 0:
        p = 1 / (1 + np.exp(-K @ a))
        a = a + step * (y - p) - step * lam * a
        iterations -= 1
    return a


def probabilities__labels(K_test, a):
    p = 1 / (1 + np.exp(-K_test @ a))
    return (p > 0.5).astype(float)


def probabilities__class_zero(K_test, a):
    return 1 / (1 + np.exp(K_test @ a))


def sgd__predictions_not_updated(K, y, order, step, lam):
    n = len(y)
    a = np.zeros(n)
    q = np.zeros(n)
    for i in order:
        p = 1 / (1 + np.exp(-q[i]))
        d = step * (y[i] - p - lam * a[i])
        a[i] = a[i] + d
        q[i] = q[i] + d * K[i, i]
    return a, q


def sgd__penalty_after(K, y, order, step, lam):
    a = np.zeros(len(y))
    for i in order:
        q = K @ a
        a[i] += step * (y[i] - 1 / (1 + np.exp(-q[i])))
        a -= step * lam * a
    return a, K @ a
