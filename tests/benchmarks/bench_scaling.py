"""Beyond n²: Nyström ridge against scikit-learn's, its memory, FALKON's iterations, and two Dask workers.

`make bench ONLY=scaling FLAGS=--save` measures it all and writes book/times/measured/beyond.json, from which the
chapter "Beyond n²" draws its figure.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from timeit import timeit
from typing import Any

import numpy as np

from kernelcourse import (
    Falkon,
    FourierRidge,
    Gaussian,
    KernelRidge,
    LandmarkFeatures,
    NystromRidge,
    falkon,
    feature_ridge,
)
from kernelcourse._engine.threads import threads
from tests.benchmarks.harness import RESULTS, Row, alone, compare, machine

SAVED = RESULTS / "beyond.json"
NOISE = 0.5
NAN = float("nan")


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.5 * X[:, 2] * np.exp(-(X[:, 3] ** 2) / 2)


def ridges(X: np.ndarray) -> np.ndarray:
    return np.abs(X[:, 0] + X[:, 1]) + np.maximum(X[:, 2], X[:, 3])


def draw(n: int, d: int, *, f: Callable[[np.ndarray], np.ndarray] = smooth, seed: int = 0) -> tuple[np.ndarray, ...]:
    """n training points with noise, and 5000 test points without."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.normal(size=(n, d)), rng.normal(size=(5000, d))
    return X, f(X) + NOISE * rng.normal(size=n), X_test, f(X_test)


def rmse(prediction: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((prediction - wanted) ** 2)))


# ---------------------------------------------------------------- against scikit-learn

GAMMA, RIDGE = 0.1, 0.25


def peer(X: np.ndarray, t: np.ndarray, *, m: int = 1000, intercept: bool = True) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    features = Nystroem(gamma=GAMMA, n_components=m, random_state=0)
    return make_pipeline(features, Ridge(alpha=RIDGE, fit_intercept=intercept)).fit(X, t)


def ours(X: np.ndarray, t: np.ndarray, rows: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    features = LandmarkFeatures(Gaussian.from_gamma(GAMMA), X[rows])
    w = feature_ridge(features, X, t, ridge=RIDGE)
    return lambda Z: features(Z) @ w


def against_scikit_learn(n: int = 100_000) -> list[Row]:
    X, t, X_test, f_test = draw(n, 10)
    fitted = peer(X, t)
    rows = fitted[0].component_indices_
    theirs, mine = rmse(fitted.predict(X_test), f_test), rmse(ours(X, t, rows)(X_test), f_test)
    assert abs(mine - theirs) < 0.01 * theirs, (mine, theirs)
    job, note = f"Nyström ridge, n = {n:,}, d = 10, m = 1000", f"test error {mine:.4f} and {theirs:.4f}, goal "
    result = [
        compare(
            job,
            lambda: ours(X, t, rows),
            "sklearn Nystroem + Ridge",
            lambda: peer(X, t),
            repeats=5,
            note=note + "5x",
        ),
        compare(
            f"{job}, no intercept",
            lambda: ours(X, t, rows),
            "sklearn Nystroem + Ridge",
            lambda: peer(X, t, intercept=False),
            repeats=2,
            note="the very same problem",
        ),
    ]
    os.environ["KERNELCOURSE_FAST"] = "0"
    try:
        result.append(
            compare(
                f"{job}, without compiled loops",
                lambda: ours(X, t, rows),
                "sklearn Nystroem + Ridge",
                lambda: peer(X, t),
                repeats=2,
                note=note + "2.7x",
            )
        )
    finally:
        del os.environ["KERNELCOURSE_FAST"]
    return result


# ---------------------------------------------------------------- memory

_PEAK = """
import ctypes, json
import numpy as np
from tests.benchmarks import bench_scaling as bench

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

run = {run}
X, t, *_ = bench.draw(6000, 10)
run(X, t)                                    # imports, compiled loops and the threads' buffers
X, t, *_ = bench.draw({n}, 10)
ctypes.CDLL("libc.so.6").malloc_trim(0)        # what the first run left behind counts as free
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before = peak()
run(X, t)
print(json.dumps(peak() - before))
"""


def extra_memory(run: str, n: int) -> int:
    """Bytes of resident memory that a fit takes at its peak beyond the data, in a separate process (Linux)."""
    code = _PEAK.format(run=run, n=n)
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(json.loads(out.stdout))


def memory() -> list[Row]:
    mine = "lambda X, t: bench.ours(X, t, np.arange(1000))"
    small, peers = extra_memory(mine, 100_000), extra_memory("bench.peer", 100_000)
    large = extra_memory(mine, 1_000_000)
    unit = 2**20
    return [
        Row(
            "peak memory in MiB beyond the data, n = 100,000",
            "sklearn Nystroem + Ridge",
            small / unit,
            small / unit,
            peers / unit,
            peers / unit,
            peers / max(small, 1),
            (NAN, NAN),
            "goal 50x less",
        ),
        Row(
            "peak memory in MiB beyond the data, n = 1,000,000",
            "",
            large / unit,
            large / unit,
            NAN,
            NAN,
            NAN,
            (NAN, NAN),
            "goal at most 1024",
        ),
    ]


# ---------------------------------------------------------------- FALKON's iterations


def falkon_iterations(f: Callable[[np.ndarray], np.ndarray], name: str, n: int = 50_000, m: int = 1000) -> Row:
    """How many iterations bring the test error within 1 % of the direct solution's."""
    X, t, X_test, f_test = draw(n, 6, f=f, seed=1)
    features, ridge = LandmarkFeatures(Gaussian(2.0), X[:m]), 1e-4 * n
    start = time.perf_counter()
    direct = rmse(features(X_test) @ feature_ridge(features, X, t, ridge=ridge), f_test)
    direct_seconds, needed = time.perf_counter() - start, 20
    start = time.perf_counter()
    fit = falkon(features, X, t, ridge=ridge, iterations=20, tol=0.0)
    falkon_seconds = time.perf_counter() - start
    error = rmse(features(X_test) @ fit.w, f_test)
    assert abs(error - direct) < 0.01 * direct, (error, direct)
    for needed in range(1, 21):
        early = falkon(features, X, t, ridge=ridge, iterations=needed, tol=0.0)
        if abs(rmse(features(X_test) @ early.w, f_test) - direct) < 0.01 * direct:
            break
    return Row(
        f"FALKON on {name}, n = {n:,}, m = {m}, 20 iterations",
        "direct solution",
        falkon_seconds,
        falkon_seconds,
        direct_seconds,
        direct_seconds,
        direct_seconds / falkon_seconds,
        (NAN, NAN),
        f"test error {error:.4f}, direct {direct:.4f}; within 1 % from iteration {needed}",
    )


# ---------------------------------------------------------------- two workers

_WORKERS = """
import json, logging, os, signal, statistics, threading, time
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from kernelcourse import Gaussian, NystromRidge
from tests.benchmarks.bench_scaling import draw
from tests.benchmarks.harness import undisturbed

if __name__ == "__main__":
    X, t, X_test, _ = draw({n}, 10)
    model = NystromRidge(Gaussian(2.0), m=1000, ridge=1e-3 * {n})
    here = model.fit(X, t).predict(X_test)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster,
        Client(cluster) as client,
    ):
        chunks = {n} // {chunks}
        X_d = da.from_array(X, chunks=(chunks, 10)).persist()
        t_d = da.from_array(t, chunks=chunks).persist()
        model.fit(X_d, t_d)
        alone, together = lambda: model.fit(X, t), lambda: model.fit(X_d, t_d)
        pairs = [(undisturbed(alone), undisturbed(together)) for _ in range(5)]
        there = model.fit(X_d, t_d).predict(X_test)
        pids = [worker.pid for worker in cluster.workers.values()]
        threading.Timer(statistics.median(b for _, b in pairs) / 2, os.kill, (pids[0], signal.SIGKILL)).start()
        survived = model.fit(da.from_array(X, chunks=(chunks, 10)), da.from_array(t, chunks=chunks)).predict(X_test)
        again = [worker.pid for worker in cluster.workers.values()]
    print(json.dumps([pairs, float(np.abs(there - here).max()), float(np.abs(survived - here).max()), pids != again]))
"""


def two_workers(n: int = 800_000, chunks: int = 16) -> Row:
    code = _WORKERS.format(n=n, chunks=chunks)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"two_workers_{os.getpid()}.py"
    path.write_text(code, encoding="utf-8")
    try:
        root = str(Path(__file__).resolve().parents[2])
        out = subprocess.run(
            [sys.executable, str(path)],
            check=True,
            capture_output=True,
            text=True,
            env={**env, "PYTHONPATH": root},
        ).stdout
    finally:
        path.unlink()
    pairs, gap, gap_killed, killed = json.loads(out.splitlines()[-1])
    assert gap < 1e-10 and gap_killed < 1e-10 and killed, (gap, gap_killed, killed)
    alone_, together = zip(*pairs, strict=True)
    ratios = sorted(a / b for a, b in pairs)
    return Row(
        f"Nyström ridge on two Dask workers, n = {n:,}, m = 1000, {chunks} chunks",
        "one process with one thread",
        statistics.median(together),
        min(together),
        statistics.median(alone_),
        min(alone_),
        statistics.median(ratios),
        (ratios[0], ratios[-1]),
        f"goal 1.6x; largest difference {gap:.0e}, with a worker killed {gap_killed:.0e}",
    )


# ---------------------------------------------------------------- error against time, for the chapter


def curves() -> list[dict[str, Any]]:
    """Seconds of training and test error of exact and approximate ridge regression, n up to a million, d = 4."""
    X, t, X_test, f_test = draw(1_000_000, 4)
    kernel, points = Gaussian(1.0), []

    def add(method: str, n: int, m: int, model: Any) -> None:
        # With NOISE**2 alone, the direct methods do better at n = 1e6, but 20 iterations of FALKON are far too few.
        model.set_params(ridge=NOISE**2 + 3e-5 * n)
        took = timeit(lambda: model.fit(X[:n], t[:n]), number=1)
        error = rmse(model.predict(X_test), f_test)
        points.append({"method": method, "n": n, "m": m, "seconds": took, "error": error})
        print(f"  {method:8} n = {n:9,} m = {m:5}: {took:8.2f} s, error {error:.4f}", flush=True)

    NystromRidge(kernel, m=1000).fit(X[:2000], t[:2000])
    for n in (1000, 2000, 4000, 8000):
        add("exact", n, n, KernelRidge(kernel))
    for n in (10_000, 100_000, 1_000_000):
        for m in (100, 300, 1000):
            add("Nyström", n, m, NystromRidge(kernel, m=m))
            add("Fourier", n, m, FourierRidge(kernel, m=m))
            add("FALKON", n, m, Falkon(kernel, m=m))
    return points


def run() -> list[Row]:
    """Run every part and report when each is finished; the chapter shows what is written to `SAVED`."""
    found: list[dict[str, Any]] = []
    parts: list[Callable[[], list[Row]]] = [
        against_scikit_learn,
        memory,
        lambda: [falkon_iterations(smooth, "a smooth function"), falkon_iterations(ridges, "a function with kinks")],
        lambda: [two_workers()],
        lambda: [alone("error against time, n up to 1,000,000", lambda: found.extend(curves()))],
    ]
    rows: list[Row] = []
    for part in parts:
        rows += part()
        print(f"  {rows[-1].job}: done", flush=True)
    record = {"machine": machine(), "threads": threads(), "rows": [asdict(row) for row in rows], "curves": found}
    RESULTS.mkdir(parents=True, exist_ok=True)
    SAVED.write_text(json.dumps(record, indent=1, ensure_ascii=False).replace("NaN", "null") + "\n", encoding="utf-8")
    return rows
