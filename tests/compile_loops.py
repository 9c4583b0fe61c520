"""Take small jobs through every compiled loop: numba keeps the code beside the library, for all processes.

Set-up runs this once. Otherwise every test worker and every notebook that comes first would compile the same loops at
the same time.
"""

import numpy as np

from kernelcourse import (
    FourierSVM,
    Gaussian,
    KernelNeighbors,
    KernelSVM,
    engine,
    kernel_perceptron,
    kernel_svm,
    logistic_sgd,
    svm_sgd,
)


def main():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 40)), rng.choice([-1.0, 1.0], size=80)
    few, gaussian = X[:, :3], Gaussian()  # few columns and many take different loops
    with engine("always"):
        K = gaussian(few)
        Gaussian(sigma=9.0)(X)
        gaussian.expand(few, few, y)
        for gap in (1e-3, 1e-6):  # rows of K in single and in double precision
            KernelSVM(gaussian, gap=gap).fit(few, y)
        kernel_svm(K, y, lam=1e-3, gap=1e-9)
        FourierSVM(gaussian, m=4).fit(few, y)
        KernelNeighbors(gaussian, kappa=1).fit(X, y).predict(X)
        kernel_perceptron(K, y, max_epochs=1)
        logistic_sgd(K, (y + 1) / 2, step=0.1, steps=1, rng=0)
        svm_sgd(K, y, lam=1.0, steps=1, rng=0)


if __name__ == "__main__":
    main()
