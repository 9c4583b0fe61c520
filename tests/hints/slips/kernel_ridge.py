import numpy as np
from math import comb, factorial


def centred__ones_before(X, y):
    n = X.shape[0]
    return np.hstack([np.ones((n, 1)), X - X.mean(0)]), y - np.mean(y)


def centred__whole_mean(X, y):
    return np.column_stack([X - X.mean(), np.ones(len(X))]), y - y.mean()


def ridge_predict__own_mean_of_Z(X, y, Z, lam):
    mu, yb = X.mean(axis=0), y.mean()
    A = np.c_[X - mu, np.ones(len(X))]
    w = np.linalg.inv(A.T @ A + lam * np.eye(A.shape[1])) @ A.T @ (y - yb)
    B = np.c_[Z - Z.mean(axis=0), np.ones(len(Z))]
    return B @ w + yb


def ridge_predict__mean_not_added(X, y, Z, lam):
    mu, yb = X.mean(axis=0), y.mean()
    A = np.c_[X - mu, np.ones(len(X))]
    w = np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ (y - yb))
    return np.c_[Z - mu, np.ones(len(Z))] @ w


def dual_ridge__swapped(X, y, lam):
    K = X @ X.T
    alpha = np.linalg.solve(K + lam * np.identity(len(y)), y)
    return X.T @ alpha, alpha


def dual_ridge__weights_from_y(X, y, lam):
    K = X.dot(X.T)
    alpha = np.linalg.inv(K + lam * np.eye(len(y))).dot(y)
    return alpha, X.T.dot(y)


def mean_risk_weights__divided_by_n(K, y, lam):
    n = len(y)
    return np.linalg.solve(K / n + lam * np.eye(n), y)


def mean_risk_linear__n_forgotten(X, y, lam):
    n, d = X.shape
    return np.linalg.solve(X.T @ X + lam * np.eye(d), X.T @ y)


def monomial_count__degree_p_only(d, p):
    return comb(d + p - 1, p)


def monomial_count__power(d, p):
    return (d + 1) ** p


def polynomial_kernel__one_after_power(X, Z, p):
    K = np.zeros((len(X), len(Z)))
    for i in range(len(X)):
        for j in range(len(Z)):
            K[i, j] = np.dot(X[i], Z[j]) ** p + 1
    return K


def monomial_weight__no_root(m, p):
    w = factorial(p)
    for e in m:
        w /= factorial(e)
    return w / factorial(p - sum(m))


def monomial_weight__rest_forgotten(m, p):
    w = factorial(p)
    for e in m:
        w = w / factorial(e)
    return w**0.5


def monomial_features__sum_of_powers(X, E, weights):
    out = np.empty((len(X), len(E)))
    for i, x in enumerate(X):
        for j, e in enumerate(E):
            out[i, j] = weights[j] * np.sum(x**e)
    return out


def gaussian_features__root_forgotten(x, sigma, degree):
    cols = []
    for j in range(degree + 1):
        cols.append(np.exp(-(x**2) / (2 * sigma**2)) * (x / sigma) ** j / factorial(j))
    return np.array(cols).T


def gaussian_features__sigma_once(x, sigma, degree):
    cols = [np.exp(-(x**2) / (2 * sigma**2)) * x**j / (sigma * np.sqrt(factorial(j))) for j in range(degree + 1)]
    return np.stack(cols, axis=1)


def testing_costs__features_of_tests_free(n, m, d, D):
    kernel = m * n * (d + 1)
    primal = 2 * n * D + m * D
    return kernel, primal


def primal_testing_pays__features_forgotten(n, m, d, D):
    kernel = m * (n * d + n)
    primal = n * D + m * D
    return primal < kernel
