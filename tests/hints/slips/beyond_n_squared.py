import math

import numpy as np


def gram_bytes__triangle(n):
    return 8 * n * (n + 1) // 2


def gram_bytes__bits(n):
    return 64 * n**2


def block_count__rounds_down(n, m, memory):
    rows = memory // (8 * m)
    return n // rows


def block_count__square_blocks(n, m, memory):
    rows = int(math.sqrt(memory / 8))
    return math.ceil(n / rows)


def block_count__plus_one(n, m, memory):
    rows = memory // (m * 8)
    return n // rows + 1


def nystrom_weights__identity(K_ZZ, K_XZ, t, lam):
    m = len(K_ZZ)
    A = K_XZ.T @ K_XZ + lam * np.eye(m)
    return np.linalg.solve(A, K_XZ.T @ t)


def nystrom_weights__gram_not_penalised(K_ZZ, K_XZ, t, lam):
    return np.linalg.solve(K_XZ.T @ K_XZ + K_ZZ, K_XZ.T @ t)


def add_block__targets_not_added(A, b, Phi, t):
    return A + Phi.T @ Phi, Phi.T @ t


def add_block__outer(A, b, Phi, t):
    new_A = A.astype(float).copy()
    new_b = b.astype(float).copy()
    for row, target in zip(Phi, t):
        new_A += np.outer(row, row)
        new_b += row
    return new_A, new_b


def fourier_features__wrong_scale(X, W):
    P = X @ W
    return np.concatenate([np.cos(P), np.sin(P)], axis=1) * np.sqrt(2 / W.shape[1])


def fourier_features__interleaved(X, W):
    P = X @ W
    q = W.shape[1]
    out = np.empty((len(X), 2 * q))
    out[:, 0::2] = np.cos(P) / np.sqrt(q)
    out[:, 1::2] = np.sin(P) / np.sqrt(q)
    return out


def estimate_variance__kernel_not_squared(delta, sigma, m):
    r2 = np.sum(np.asarray(delta) ** 2) / sigma**2
    k = np.exp(-r2 / 2)
    return (1 + np.exp(-2 * r2) - 2 * k) / m


def estimate_variance__twice_delta_squared_once(delta, sigma, m):
    r2 = np.sum(np.asarray(delta) ** 2) / sigma**2
    k = math.exp(-r2 / 2)
    k2 = math.exp(-r2)
    return (1 + k2 - 2 * k * k) / m
