import numpy as np


def pool__no_inner_sign(X, W, v):
    return np.where(X @ W.T @ v >= 0, 1.0, -1.0)


def pool__zero_votes(X, W, v):
    return np.sign(np.sign(X @ W.T) @ v)


def softmax__columns(Z):
    E = np.exp(Z - Z.max())
    return E / E.sum(axis=0)


def softmax__overflows(Z):
    E = np.exp(Z)
    return E / E.sum(axis=1, keepdims=True)


def cross_entropy__summed(P, Y):
    return -np.sum(Y * np.log(np.where(Y > 0, P, 1)))


def cross_entropy__divided_by_entries(P, Y):
    return float(-np.mean(Y * np.log(np.where(Y > 0, P, 1))))


def forward__bias_outside(X, W1, b1, W2, b2):
    H = np.tanh(X @ W1) + b1
    return H, H @ W2 + b2


def forward__scores_squashed(X, W1, b1, W2, b2):
    H = np.tanh(X.dot(W1) + b1)
    Z = np.tanh(H.dot(W2) + b2)
    return H, Z


def backward__no_mean(X, Y, W1, b1, W2, b2):
    H = np.tanh(X @ W1 + b1)
    Z = H @ W2 + b2
    P = np.exp(Z - Z.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    D2 = P - Y
    D1 = D2 @ W2.T * (1 - H**2)
    return X.T @ D1, D1.sum(0), H.T @ D2, D2.sum(0)


def backward__derivative_of_tanh(X, Y, W1, b1, W2, b2):
    n = len(X)
    H = np.tanh(X @ W1 + b1)
    Z = H @ W2 + b2
    P = np.exp(Z - Z.max(1, keepdims=True))
    P /= P.sum(1, keepdims=True)
    D2 = (P - Y) / n
    D1 = D2 @ W2.T * H * (1 - H)
    return X.T @ D1, D1.sum(0), H.T @ D2, D2.sum(0)


def backward__sign(X, Y, W1, b1, W2, b2):
    n = len(X)
    H = np.tanh(X @ W1 + b1)
    S = H @ W2 + b2
    P = np.exp(S - S.max(axis=1)[:, None])
    P = P / P.sum(axis=1)[:, None]
    D2 = (Y - P) / n
    D1 = (1 - H * H) * (D2 @ W2.T)
    return X.T @ D1, D1.sum(axis=0), H.T @ D2, D2.sum(axis=0)


def learned_kernel__no_bias(X, Z, W1, b1):
    A = np.tanh(X @ W1)
    B = np.tanh(Z @ W1)
    return A @ B.T


def learned_kernel__tanh_of_products(X, Z, W1, b1):
    return np.tanh((X @ W1 + b1) @ (Z @ W1 + b1).T)
