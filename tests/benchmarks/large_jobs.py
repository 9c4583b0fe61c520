"""Jobs beyond n², using only names that have not changed: `before.py` runs this file in each revision it compares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcourse import Falkon, FourierRidge, Gaussian, NystromLogisticRegression, NystromRidge, NystromSVM


def tasks(n: int) -> dict[str, Callable[[], object]]:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 8)), rng.normal(size=(n, 8))
    t = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * rng.normal(size=n)
    y, m = np.where(t > 0, 1, -1), min(n // 4, 500)
    fitted = NystromRidge(Gaussian(2.0), m=m, ridge=0.25, rng=0).fit(X, t)
    return {
        "Nyström ridge": lambda: NystromRidge(Gaussian(2.0), m=m, ridge=0.25, rng=0).fit(X, t),
        "Nyström ridge, predict": lambda: fitted.predict(Z),
        "Fourier ridge": lambda: FourierRidge(Gaussian(2.0), m=m, ridge=0.25, rng=0).fit(X, t),
        "Nyström logistic": lambda: NystromLogisticRegression(Gaussian(2.0), m=m, ridge=1.0, rng=0).fit(X, y),
        "Nyström SVM": lambda: NystromSVM(Gaussian(2.0), m=m, lam=1e-3, rng=0).fit(X, y),
        "FALKON": lambda: Falkon(Gaussian(2.0), m=m, ridge=0.25, rng=0).fit(X, t),
    }
