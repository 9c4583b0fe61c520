import numpy as np


def scores__labels_forgotten(K_test, alpha, y):
    out = np.zeros(len(K_test))
    for i in range(len(K_test)):
        out[i] = np.dot(K_test[i], alpha)
    return out


def kernel_perceptron__adds_label(K, y, max_epochs):
    n = len(y)
    alpha = np.zeros(n)
    for epoch in range(max_epochs):
        wrong = False
        for i in range(n):
            f = K[i] @ (alpha * y)
            if y[i] * f <= 0:
                alpha[i] += y[i]
                wrong = True
        if not wrong:
            return alpha
    return alpha


def kernel_perceptron__one_epoch(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for i in range(len(y)):
        if y[i] * ((alpha * y) @ K[:, i]) <= 0:
            alpha[i] += 1
    return alpha


def kernel_perceptron__sets_to_one(K, y, max_epochs):
    alpha = np.zeros(len(y), dtype=int)
    for _ in range(max_epochs):
        for i, label in enumerate(y):
            if label * np.dot(alpha * y, K[:, i]) <= 0:
                alpha[i] = 1
    return alpha


def mistake_list__without_duplicates(K, y, max_epochs):
    L = []
    for _ in range(max_epochs):
        mistake = False
        for i in range(len(y)):
            s = 0
            for j in L:
                s += y[j] * K[j, i]
            if y[i] * s <= 0:
                if i not in L:
                    L.append(i)
                mistake = True
        if not mistake:
            break
    return L


def mistake_list__labels_forgotten(K, y, max_epochs):
    L = []
    for _ in range(max_epochs):
        old = list(L)
        for i in range(len(y)):
            if y[i] * sum(K[j, i] for j in L) <= 0:
                L.append(i)
        if L == old:
            break
    return L


def squared_distances__plus_two(K_test, k_test, k_train):
    m, n = K_test.shape
    D = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            D[i, j] = k_test[i] + k_train[j] + 2 * K_test[i, j]
    return D


def nearest__largest_first(D, kappa):
    order = np.argsort(-D, axis=1, kind="stable")
    return order[:, :kappa]


def nearest__by_columns(D, kappa):
    return np.argsort(D, axis=0, kind="stable")[:, :kappa]


def vote__tie_goes_to_plus(labels):
    return np.array([1 if row.sum() >= 0 else -1 for row in labels])


def vote__tie_is_zero(labels):
    return np.sign(np.sum(labels, axis=1))


def soft_label__sigma_not_squared(D, y, sigma):
    shifted = D - D.min(axis=1)[:, None]
    W = np.exp(-shifted / (2 * sigma))
    return np.where(W @ y > 0, 1, -1)


def soft_label__mean_of_labels(D, y, sigma):
    out = []
    for row in D:
        w = 1 / (1 + row)
        out.append(1 if w @ y > 0 else -1)
    return np.array(out)


def report__accuracy(K_test, alpha, y, y_test):
    f = K_test.dot(alpha * y)
    right = np.mean(np.sign(f) == y_test)
    return right, int((alpha > 0).sum())


def report__sum_of_alpha(K_test, alpha, y, y_test):
    f = K_test @ (alpha * y)
    return float(np.mean(f * y_test <= 0)), int(alpha.sum())
