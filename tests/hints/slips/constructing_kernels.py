import numpy as np


def polynomial_features__one_power_short(x, M):
    return np.array([[v**j for j in range(M)] for v in x])


def polynomial_features__decreasing_powers(x, M):
    return np.vander(x, M + 1)


def square_features__two_for_root_two(X):
    x1, x2 = X[:, 0], X[:, 1]
    return np.column_stack([x1 * x1, 2 * x1 * x2, x2 * x2])


def gaussian__distance_not_squared(X, Z, h):
    D = np.sqrt(((X[:, None, :] - Z[None, :, :]) ** 2).sum(-1))
    return np.exp(-D / h**2)


def gaussian__two_sigma_squared(X, Z, h):
    sq = (X**2).sum(1)[:, None] + (Z**2).sum(1)[None] - 2 * X @ Z.T
    return np.exp(-sq / (2 * h**2))


def laplacian__euclidean(X, Z, h):
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            K[i, j] = np.exp(-np.linalg.norm(x - z) / h)
    return K


def is_psd__strictly_positive(K):
    if not np.allclose(K, K.T):
        return False
    return bool(np.all(np.linalg.eigvalsh(K) > 0))


def weighted__only_rows(K, f):
    return np.diag(f) @ K


def polynomial_of__coefficients_reversed(K, q):
    K = np.asarray(K, dtype=float)
    return np.polyval(q, K)


def polynomial_of__matrix_power(K, q):
    total = np.zeros(K.shape)
    P = np.eye(len(K))
    for c in q:
        total = total + c * P
        P = P @ K
    return total


def product_features__elementwise(Phi1, Phi2):
    rows = []
    for a, b in zip(Phi1, Phi2):
        rows.append(np.outer(b, a).ravel())
    return np.array(rows)


def gaussian_by_rules__sign_in_f(X, sigma):
    G = X @ X.T
    s = G / sigma**2
    e = np.exp(s)
    f = np.exp(np.diag(G) / (2 * sigma**2))
    return s, e, np.outer(f, f) * e


def season_kernel__degrees(days, sigma):
    a = days / 365.0
    c, s = np.cos(a), np.sin(a)
    D = (c[:, None] - c) ** 2 + (s[:, None] - s) ** 2
    return np.exp(-D / (2 * sigma**2))


def plant_kernel__one_outside(K_season, X, A):
    n = len(X)
    K = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            K[i, j] = 1 + K_season[i, j] * (X[i] @ A @ X[j])
    return K


def subset_features__contains_instead(A, universe):
    feats = []
    for j in range(2 ** len(universe)):
        U = {u for i, u in enumerate(universe) if (j >> i) & 1}
        feats.append(1.0 if set(A) <= U else 0.0)
    return np.array(feats)


def spectrum__set_of_substrings(s, t, p):
    S = {s[i : i + p] for i in range(len(s) - p + 1)}
    T = {t[i : i + p] for i in range(len(t) - p + 1)}
    return len(S & T)


def spectrum__last_window_lost(s, t, p):
    total = 0
    for i in range(len(s) - p):
        for j in range(len(t) - p):
            if s[i : i + p] == t[j : j + p]:
                total += 1
    return total
