import numpy as np


def inner_product__only_matching(c, d, K_zu):
    total = 0.0
    for i in range(min(len(c), len(d))):
        total += c[i] * d[i] * K_zu[i, i]
    return total


def inner_product__first_coefficients_missing(c, d, K_zu):
    return float(np.sum(K_zu @ d))


def norm__squared(c, K):
    return float(sum(c[i] * c[j] * K[i, j] for i in range(len(c)) for j in range(len(c))))


def norm__of_coefficients(c, K):
    return float(np.linalg.norm(c))


def project__no_solve(K, K_xz, c):
    return K_xz @ c


def project__multiplied(K, K_xz, c):
    return K @ (K_xz @ c)


def rest__norm_not_squared(K, K_xz, K_zz, c):
    g2 = c @ K_zz @ c
    beta = np.linalg.solve(K, K_xz @ c)
    return float(np.sqrt(g2 - beta @ K @ beta))


def rest__cross_term(K, K_xz, K_zz, c):
    beta = np.linalg.solve(K, K_xz @ c)
    return float(c @ K_zz @ c + beta @ K @ beta)


def fit_with_offset__mean_as_offset(K, t, lam):
    b = t.mean()
    a = np.linalg.solve(K + lam * np.eye(len(t)), t - b)
    return a, float(b)


def fit_with_offset__offset_penalised(K, t, lam):
    n = len(t)
    M = np.zeros((n + 1, n + 1))
    M[:n, :n] = K
    M[:n, n] = 1
    M[n, :n] = 1
    M += lam * np.eye(n + 1)
    s = np.linalg.solve(M, np.concatenate([t, [0.0]]))
    return s[:n], s[n]


def network__n_forgotten(K, y, gamma):
    G = K.astype(float).copy()
    G[np.diag_indices(len(y))] += gamma
    return np.linalg.solve(G, y)


def descend__sign_of_penalty(alpha, K, y, gamma, eta):
    n = len(y)
    r = y - K @ alpha
    return alpha + eta * (2 * r / n + 2 * gamma * alpha)


def descend__with_gram(alpha, K, y, gamma, eta):
    n = len(y)
    grad = -2 / n * K @ (y - K @ alpha) + 2 * gamma * K @ alpha
    return alpha - eta * grad
