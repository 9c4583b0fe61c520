import numpy as np


def kernel__powers_start_at_x(x, z, degree):
    total = 0.0
    for i in range(1, degree + 2):
        total += x**i * z**i
    return total


def kernel__adds_instead_of_multiplying(x, z, degree):
    a = np.array([x**i for i in range(degree + 1)])
    b = np.array([z**i for i in range(degree + 1)])
    return float((a + b).sum())


def objective__absolute_errors(w, Phi, t, lam):
    r = t - Phi.dot(w)
    return 0.5 * np.abs(r).sum() + 0.5 * lam * (w**2).sum()


def objective__penalty_over_n(w, Phi, t, lam):
    N = len(t)
    cost = 0.0
    for n in range(N):
        cost += 0.5 * (w.dot(Phi[n]) - t[n]) ** 2
        cost += 0.5 * lam * w.dot(w)
    return cost


def gradient__w_not_in_penalty(w, Phi, t, lam):
    residual = np.dot(Phi, w) - t
    grad = np.zeros(len(w))
    for m in range(len(w)):
        grad[m] = np.sum(residual * Phi[:, m]) + lam
    return grad


def gradient__targets_forgotten(w, Phi, t, lam):
    A = Phi.T @ Phi
    return A @ w + lam * w


def primal_weights__gram_the_wrong_way(Phi, t, lam):
    N, M = Phi.shape
    A = Phi @ Phi.T + lam * np.eye(N)
    return np.linalg.inv(A) @ t


def primal_weights__lambda_squared(Phi, t, lam):
    M = Phi.shape[1]
    return np.linalg.inv(Phi.T @ Phi + lam**2 * np.identity(M)).dot(Phi.T).dot(t)


def dual_from_primal__sign_and_factor_in_wrong_place(w, Phi, t, lam):
    return np.array([t[n] - Phi[n] @ w / lam for n in range(len(t))])


def primal_from_dual__last_point_lost(a, Phi):
    w = np.zeros(Phi.shape[1])
    for n in range(len(a) - 1):
        w += a[n] * Phi[n]
    return w


def dual_objective__penalty_missing_gram(a, K, t, lam):
    fit = K @ a
    return 0.5 * ((fit - t) ** 2).sum() + 0.5 * lam * a @ fit + 0.5 * (t**2).sum()


def gram_matrix__only_half_filled(Phi):
    N = len(Phi)
    K = np.zeros((N, N))
    for i in range(N):
        for j in range(i, N):
            K[i, j] = Phi[i] @ Phi[j]
    return K


def dual_weights__targets_divided(K, t, lam):
    n = K.shape[0]
    C = K / lam + np.eye(n)
    return np.linalg.solve(C, t)


def predict__sums_over_tests(K_test, a):
    return np.sum(K_test * a, axis=0)


def multiplications__third_forgotten(N, M):
    primal = N * M * M + M**3
    dual = N * N * M + N**3
    return primal, dual


def kernel_regression__test_kernel_transposed(X, t, Z, sigma, lam):
    K = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(len(X)):
            K[i, j] = np.exp(-(np.linalg.norm(X[i] - X[j]) ** 2) / (2 * sigma**2))
    a = np.linalg.solve(K + lam * np.eye(len(X)), t)
    out = []
    for z in Z:
        k = np.array([np.exp(-(np.linalg.norm(z - x) ** 2) / (2 * sigma)) for x in X])
        out.append(k @ a)
    return np.array(out)
