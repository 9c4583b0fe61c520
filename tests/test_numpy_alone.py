"""Numpy is enough: with every other package blocked, all kernels compute and all estimators fit and predict."""

import inspect
import os
import subprocess
import sys

import kernelcourse

BLOCK = """
import importlib.abc, inspect, sys

BLOCKED = {"scipy", "matplotlib", "threadpoolctl", "dask", "distributed", "sklearn", "pandas"}

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""

ALONE = """
import numpy as np
import kernelcourse as kc
from kernelcourse.estimators.base import Estimator

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(40, 3)), rng.normal(size=(5, 3))
t, y, three = np.sin(X[:, 0]), np.where(X[:, 0] > 0, "a", "b"), np.digitize(X[:, 0], [-0.5, 0.5])
words, texts = ["abab", "bbab", "aaab"], ["the cat", "a cat sat", "the dog"]
graphs = [np.array([[0, 1], [1, 0]]), np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])]
linear, gaussian = kc.Linear(), kc.Gaussian(1.0)

vectors = [
    kc.Constant(2.0), linear, kc.Bilinear(np.eye(3)), kc.Polynomial(3), kc.Cosine(), gaussian, kc.Laplacian(1.0),
    kc.Matern(1.0, nu=0.5), kc.RationalQuadratic(1.0), kc.Matern(1.0, nu=1.5), kc.Periodic(),
    gaussian + linear, gaussian * linear, 0.5 * gaussian, linear**3, (0.1 * linear).exp(),
    linear.polynomial([1.0, 0.5]), linear.weighted(lambda x: x[0]), linear.after(np.tanh), gaussian.on([0, 2]),
    kc.Polynomial(2).normalized(),
]
objects = [
    (kc.Spectrum(2), words), (kc.Subsequence(2, 0.5), words), (kc.Hamming(0.5), words), (kc.Positions(), words),
    (kc.BagOfWords(), texts), (kc.TfIdf.fit(texts), texts),
    (kc.Intersection(), [{1, 2}, {2}, {3}]), (kc.Subset(), [{1, 2}, {2}, {3}]),
    (kc.ShortestPath(), graphs), (kc.WeisfeilerLehman(2), graphs),
]
for kernel, points in [(kernel, X) for kernel in vectors] + objects:
    K = kernel(points)
    assert K.shape == (len(points), len(points)) and np.isfinite(K).all(), kernel
    np.testing.assert_allclose(kernel.diag(points), np.diag(K), atol=1e-12)
    np.testing.assert_allclose(kernel.times(points, points, np.ones(len(points))), K.sum(axis=1), atol=1e-9)
tried = {type(kernel).__name__ for kernel in vectors} | {type(kernel).__name__ for kernel, _ in objects}

def below(cls):
    return [found for sub in cls.__subclasses__() for found in (sub, *below(sub))]

estimators = [cls for cls in below(Estimator) if not inspect.isabstract(cls)]
assert len(estimators) >= 22, estimators
small = {"epochs": 3, "max_epochs": 20, "m": 20}
for cls in estimators:
    model = cls()
    model.set_params(**{name: value for name, value in small.items() if name in model.get_params()})
    for targets in (t,) if cls.kind == "regressor" else (y, three):
        assert model.fit(X, targets).predict(Z).shape == (5,), cls
        assert 0 <= model.score(X, targets) <= 1 or cls.kind == "regressor"
for offset in ("none", "penalised", "free"):
    for model, targets in ((kc.KernelSVM(offset=offset), y), (kc.KernelRidge(offset=offset), t)):
        model.fit(X, targets).predict(Z)
for landmarks in ("uniform", "kmeans++", "leverage"):
    for cls, targets in ((kc.NystromRidge, t), (kc.Falkon, t), (kc.NystromLogisticRegression, y), (kc.NystromSVM, y)):
        cls(m=20, landmarks=landmarks).fit(X, targets).gram_error(X)
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
print("kernels", sorted(tried))
"""


CHECKS = """
import pkgutil
from dataclasses import replace
from kernelcourse import checking
from kernelcourse.checking.cases import case_generator
from kernelcourse.checking.checks import catalogue

class Everything(tuple):
    def __contains__(self, name):
        return True

tried = 0
for info in pkgutil.iter_modules(checking.__path__):
    for piece in getattr(catalogue(info.name), "PIECES", ()):
        piece = replace(piece, allows=Everything())  # references may call the library
        for hidden in (False, True):
            result = piece.examine(piece.reference, case_generator(1, piece.name, hidden=hidden), hidden=hidden)
            assert result.passed, f"{info.name}, {piece.name}: {result}"
            tried += 1
        for mistake in piece.mistakes:
            assert not piece.examine(mistake.wrong, case_generator(1, piece.name, hidden=False)).passed, mistake.name
assert not BLOCKED & {name.partition(".")[0] for name in sys.modules}
print(tried)
"""


def run(code):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KERNELCOURSE_")}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCK + code], capture_output=True, text=True, env=clean
    )


def test_every_check_of_the_exercises_works_on_numpy_alone():
    done = run(CHECKS)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 100


def test_kernels_and_estimators_work_on_numpy_alone():
    done = run(ALONE)
    assert done.returncode == 0, done.stderr[-3000:]
    missing = {name for name in kernels() if repr(name) not in done.stdout}
    assert not missing, f"kernels that were not tried: {missing}"


def kernels():
    public = (getattr(kernelcourse, name) for name in kernelcourse.__all__)
    classes = [thing for thing in public if inspect.isclass(thing) and issubclass(thing, kernelcourse.Kernel)]
    for_users = {"DotProduct", "Radial"}  # base classes for kernels
    return {cls.__name__ for cls in classes if not inspect.isabstract(cls)} - for_users
