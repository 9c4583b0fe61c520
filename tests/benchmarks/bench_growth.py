"""How times grow: the slope of log time against log n or log d, beside the slope of the counted operations.

It measures processor time in one thread and takes the best of a few runs. The book's page of benchmarks shows the
table.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np

import kernelcourse as kc
from tests.benchmarks import harness
from tests.benchmarks.jobs import way


@dataclass(frozen=True)
class Growth:
    """A family of jobs of growing size."""

    job: str
    order: str  # as the chapter states it
    variable: str
    sizes: list[int]
    make: Callable[[int], tuple[Callable[[], Any], float]]  # size -> what to time, and its counted operations


def points(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return X, rng.normal(size=n)


def labelled(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    return kc.Gaussian(2.5)(X), np.where((X[:, 0] * X[:, 1] > 0) ^ (rng.uniform(size=n) < 0.1), 1.0, -1.0)


def primal_ridge(n: int, D: int) -> tuple[Callable[[], Any], float]:
    Phi, t = points(n, D)
    return lambda: kc.primal_weights(Phi, t, ridge=1.0), n * D**2 + D**3 / 3


def dual_ridge(n: int, D: int) -> tuple[Callable[[], Any], float]:
    Phi, t = points(n, D)
    return lambda: kc.dual_weights(Phi @ Phi.T, t, ridge=1.0, overwrite_K=True), n**2 * D + n**3 / 3


def kernel_ridge(n: int, d: int) -> tuple[Callable[[], Any], float]:
    X, t = points(n, d)
    return lambda: kc.KernelRidge(kc.Polynomial(2), ridge=1.0).fit(X, t), n**2 * d + n**3 / 3


def batch_primal(n: int, D: int) -> tuple[Callable[[], Any], float]:
    Phi, t = points(n, D)
    y = (t > 0).astype(float)
    return lambda: kc.primal_logistic_gradient_descent(Phi, y, step=1e-3, iterations=20), 20 * 4 * n * D


def batch_kernel(n: int) -> tuple[Callable[[], Any], float]:
    K, y = labelled(n)
    return lambda: kc.logistic_gradient_descent(K, (y + 1) / 2, step=1e-3, iterations=50), 50 * 2 * n**2


def stochastic_kernel(n: int) -> tuple[Callable[[], Any], float]:
    K, y = labelled(n)
    return lambda: kc.logistic_sgd(K, (y + 1) / 2, step=0.1, steps=20_000, rng=0), 20_000 * 2 * n


def perceptron(n: int) -> tuple[Callable[[], Any], float]:
    K, y = labelled(n)
    mistakes = kc.kernel_perceptron(K, y, max_epochs=10).mistakes
    return lambda: kc.kernel_perceptron(K, y, max_epochs=10), 2 * mistakes * n


def svm(n: int) -> tuple[Callable[[], Any], float]:
    K, y = labelled(n)
    lam = kc.lam_from_C(1.0, n=n)
    return lambda: kc.kernel_svm(K, y, lam=lam), kc.kernel_svm(K, y, lam=lam).steps * 10 * n


N = [1000, 1400, 2000, 2800, 4000]
FAMILIES = [
    Growth("primal ridge", "D³ + D²n", "n", [2000, 4000, 8000, 16000, 32000], lambda n: primal_ridge(n, 200)),
    Growth("primal ridge", "D³ + D²n", "D", [100, 200, 400, 800, 1600], lambda D: primal_ridge(2000, D)),
    Growth("dual ridge, no trick", "n³ + n²D", "n", N, lambda n: dual_ridge(n, 500)),
    Growth("dual ridge, no trick", "n³ + n²D", "D", [500, 1000, 2000, 4000, 8000], lambda D: dual_ridge(700, D)),
    Growth("kernel ridge", "n³ + n²d", "n", N, lambda n: kernel_ridge(n, 20)),
    Growth("kernel ridge", "n³ + n²d", "d", [250, 500, 1000, 2000, 4000], lambda d: kernel_ridge(700, d)),
    Growth("logistic regression, batch, primal", "nDj", "n", [2000, 4000, 8000, 16000, 32000],
           lambda n: batch_primal(n, 50)),
    Growth("logistic regression, batch, primal", "nDj", "D", [50, 100, 200, 400, 800],
           lambda D: batch_primal(4000, D)),
    Growth("logistic regression, batch, kernel", "n²j", "n", [500, 1000, 2000, 4000], batch_kernel),
    Growth("logistic regression, stochastic, kernel", "nj", "n", [1000, 2000, 4000, 8000], stochastic_kernel),
    Growth("kernel perceptron", "n per mistake", "n", [1000, 2000, 4000, 8000], perceptron),
    Growth("SVM", "n per step", "n", [1000, 2000, 4000, 8000], svm),
]  # fmt: skip


def slope(sizes: list[int], values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def best_of(run: Callable[[], Any], repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times)


def run(only: str = "") -> list[dict[str, Any]]:
    rows = []
    for family in FAMILIES:
        if only not in family.job:
            continue
        times, counts = [], []
        with way(compiled=True, threads=1):
            for size in family.sizes:
                task, count = family.make(size)
                task()  # warm: imports, compiled loops
                times.append(best_of(task))
                counts.append(count)
        kept = {name: value for name, value in asdict(family).items() if name != "make"}
        counted, clock = slope(family.sizes, counts), slope(family.sizes, times)
        rows.append(kept | {"seconds": times, "counted": counted, "measured": clock})
        print(line(rows[-1]), flush=True)
    save(rows)
    return rows


HEAD = ["| job | $O(\\cdot)$ | against | sizes | counted | measured |", "|---|---|---|---|---|---|"]


def line(row: dict[str, Any]) -> str:
    sizes = f"{row['sizes'][0]} to {row['sizes'][-1]}"
    cells = [row["job"], row["order"], row["variable"], sizes, f"{row['counted']:.2f}", f"{row['measured']:.2f}"]
    return "| " + " | ".join(cells) + " |"


def for_the_book(record: dict[str, Any]) -> str:
    return "\n".join([*HEAD, *map(line, record["rows"])]) + "\n"


def save(rows: list[dict[str, Any]]) -> None:
    harness.RESULTS.mkdir(parents=True, exist_ok=True)
    text = "\n".join([*HEAD, *map(line, rows)]) + "\n"
    (harness.RESULTS / "growth.md").write_text(text, encoding="utf-8")
    record = {"machine": harness.machine(), "rows": rows}
    (harness.RESULTS / "growth.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print("\n" + text)
