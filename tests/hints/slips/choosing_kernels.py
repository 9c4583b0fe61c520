import numpy as np


def folds__by_position(order, k):
    n = len(order)
    fold = np.zeros(n, dtype=int)
    for number, part in enumerate(np.array_split(np.arange(n), k)):
        fold[part] = number
    return fold


def folds__round_robin(order, k):
    fold = np.zeros(len(order), dtype=int)
    for position, point in enumerate(order):
        fold[point] = position % k
    return fold


def cross_validation__training_error(K, t, fold, lams):
    out = []
    for lam in lams:
        errs = []
        for f in np.unique(fold):
            tr = np.flatnonzero(fold != f)
            a = np.linalg.solve(K[np.ix_(tr, tr)] + lam * np.eye(len(tr)), t[tr])
            errs.append(np.mean((t[tr] - K[np.ix_(tr, tr)] @ a) ** 2))
        out.append(np.mean(errs))
    return np.array(out)


def cross_validation__summed(K, t, fold, lams):
    out = np.zeros(len(lams))
    for l, lam in enumerate(lams):
        for f in range(max(fold) + 1):
            te = np.where(fold == f)[0]
            tr = np.where(fold != f)[0]
            a = np.linalg.solve(K[tr][:, tr] + lam * np.eye(len(tr)), t[tr])
            out[l] += np.mean((K[te][:, tr] @ a - t[te]) ** 2)
    return out


def leave_one_out__diagonal_forgotten(K, t, lam):
    n = len(t)
    G = np.linalg.inv(K + lam * np.identity(n))
    return G.dot(t)


def leave_one_out__plain_residuals(K, t, lam):
    n = len(t)
    a = np.linalg.solve(K + lam * np.eye(n), t)
    return t - K @ a


def choose__largest_error(errors, sigmas, ridges):
    m = errors.mean(axis=0)
    i, j = np.unravel_index(m.argmax(), m.shape)
    return sigmas[i], ridges[j]


def choose__first_fold(errors, sigmas, ridges):
    m = errors[0]
    i, j = np.argwhere(m == m.min())[-1]
    return sigmas[i], ridges[j]


def parts__both_constants(X, Z, a, h, c1, c2):
    K = np.zeros((len(Z), len(X)))
    for i, z in enumerate(Z):
        for j, x in enumerate(X):
            K[i, j] = c1 * np.exp(-((z - x) @ (z - x)) / h**2)
    w = c1 * c2 * a @ X
    return K @ a, w


def parts__h_not_squared(X, Z, a, h, c1, c2):
    D = ((Z[:, None, :] - X[None, :, :]) ** 2).sum(-1)
    return c1 * (np.exp(-D / h) @ a), c2 * (X.T @ a)


def pair_kernel__not_squared(S, T):
    K = np.zeros((len(S), len(T)))
    for i, s in enumerate(S):
        for j, t in enumerate(T):
            K[i, j] = sum(a == b for a, b in zip(s, t))
    return K


def pair_kernel__distinct_pairs(S, T):
    K = np.zeros((len(S), len(T)))
    for i, s in enumerate(S):
        for j, t in enumerate(T):
            m = sum(a == b for a, b in zip(s, t))
            K[i, j] = m * (m - 1) / 2
    return K


def alignments__not_centred(Ks, t):
    tt = np.outer(t, t)
    return np.array([np.sum(K * tt) / (np.linalg.norm(K) * np.linalg.norm(tt)) for K in Ks])


def alignments__not_normalised(Ks, t):
    n = len(t)
    H = np.eye(n) - np.ones((n, n)) / n
    tc = t - t.mean()
    out = []
    for K in Ks:
        Kc = H @ K @ H
        out.append(tc @ Kc @ tc / np.linalg.norm(Kc))
    return np.array(out)
