"""The jobs of the map as data: for each, a grid of cells, and how our side and the peer compute one of them.

No cell was chosen for its result: they are all combinations of what users vary, up to the sizes that fit. A builder
takes one cell's parameters and returns a `Cell`: two calls, and a function that compares the two answers. Packages that
are not among our requirements compete with the peer where they are installed; the fastest of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

import kernelcourse as kc
from kernelcourse.kernels.counts import count_matrix

Parameters = dict[str, Any]
Verdict = tuple[bool, str]  # whether the answers agree, and what each side reached


@dataclass(frozen=True)
class Cell:
    ours: Callable[[], Any]
    peer: Callable[[], Any]
    verdict: Callable[[Any, Any], Verdict]
    others: dict[str, Callable[[], Any]] = field(default_factory=dict)  # by package: other ways to do the peer's job


ON_OBJECTS = ("as installed", "1 thread", "first call")


@dataclass(frozen=True)
class Job:
    name: str
    peer: str
    build: Callable[..., Cell]
    grid: Callable[[], Iterator[Parameters]]
    ways: tuple[str, ...] = (*ON_OBJECTS, "float32")


def optional(module: str) -> Any:
    """A package that need not be installed; None if it is missing or does not load."""
    try:
        return import_module(module)
    except (ImportError, OSError):
        return None


def cells(**values: tuple[Any, ...]) -> Callable[[], Iterator[Parameters]]:
    return lambda: (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


# ---------------------------------------------------------------- data

SHAPES = ("plain", "duplicated", "unscaled", "one dominating")
_dtype = ContextVar("dtype", default="float64")


@contextmanager
def given_as(dtype: str) -> Iterator[None]:
    """Within this context, both sides get their points in this precision."""
    before = _dtype.set(dtype)
    try:
        yield
    finally:
        _dtype.reset(before)


def given(X: np.ndarray) -> np.ndarray:
    return X.astype(_dtype.get(), copy=False)


@cache
def points(n: int, d: int, shape: str = "plain", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if shape == "duplicated":
        X = X[rng.integers(n // 2, size=n)]
    elif shape == "unscaled":
        X = X * np.logspace(-1, 1, d) if d > 1 else 10 * X
    elif shape == "one dominating":
        X = X * np.where(np.arange(d) == 0, 10.0, 1.0)
    return X


@cache
def function(n: int, d: int, shape: str = "plain") -> np.ndarray:
    Z = points(n, d, shape)
    Z = Z / np.maximum(Z.std(axis=0), 1e-12)
    return np.sin(1.5 * Z[:, 0]) + Z[:, d // 2] * Z[:, -1]


def labels(kind: str, n: int, d: int, shape: str) -> np.ndarray:
    """Two classes: a clear border, one wrong label in ten, or random labels for a third of the points."""
    rng, f = np.random.default_rng(1), function(n, d, shape)
    wrong = {"separable": 0.0, "noisy": 0.1, "hard": 0.33}[kind]
    return np.where((f > np.median(f)) ^ (rng.uniform(size=n) < wrong), 1, -1)


def many_labels(n: int, d: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Clouds that overlap a little."""
    rng = np.random.default_rng(2)
    y = rng.integers(classes, size=n)
    return 2.5 * rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)), y


@cache
def width(d: int, shape: str = "plain") -> float:
    """The median distance between points, which users are advised to start from."""
    from scipy.spatial.distance import pdist

    return float(max(np.median(pdist(points(200, d, shape))), 1e-3))


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    data = kc.load_digits()
    return np.asarray(data.X, dtype=float) / 16, np.asarray(data.y)


@cache
def penguins() -> tuple[np.ndarray, np.ndarray]:
    data = kc.load_penguins()
    X = np.asarray(data.X, dtype=float)
    whole = np.isfinite(X).all(axis=1)
    X = X[whole]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.asarray(data.y)[whole]


def close(tolerance: float) -> Callable[[Any, Any], Verdict]:
    def verdict(ours: Any, peer: Any) -> Verdict:
        apart = float(np.abs(ours - peer).max() / max(np.abs(peer).max(), 1e-300))
        return apart <= allowed, f"differ by {apart:.0e}"

    allowed = max(tolerance, 0.0 if _dtype.get() == "float64" else 1e-2)  # some peers compute in the precision given
    return verdict


def same(share: float) -> Callable[[Any, Any], Verdict]:
    def verdict(ours: Any, peer: Any) -> Verdict:
        agree = float(np.mean(ours == peer))
        return agree >= share, f"{agree:.2%} the same"

    return verdict


# ---------------------------------------------------------------- Gram matrices


def gram(kernel: str, n: int, d: int, shape: str = "plain", cross: bool = False) -> Cell:
    from sklearn.gaussian_process.kernels import Matern
    from sklearn.metrics import pairwise

    s = width(d, shape)
    k, theirs = {
        "Gaussian": (kc.Gaussian(s), partial(pairwise.rbf_kernel, gamma=0.5 / s**2)),
        "Laplacian": (kc.Laplacian(s), partial(pairwise.laplacian_kernel, gamma=1 / s)),
        "polynomial": (kc.Polynomial(3), partial(pairwise.polynomial_kernel, degree=3, gamma=1.0, coef0=1.0)),
        "linear": (kc.Linear(), pairwise.linear_kernel),
        "Matern": (kc.Matern(s, nu=1.5), Matern(s, nu=1.5)),
    }[kernel]
    X = given(points(n, d, shape))
    others = (given(points(n // 2, d, shape, seed=5)),) if cross else ()
    return Cell(lambda: k(X, *others), lambda: theirs(X, *others), close(1e-8))


# ---------------------------------------------------------------- ridge


def ridge(step: str, n: int, d: int, shape: str = "plain") -> Cell:
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV

    X, s = given(points(n, d, shape)), width(d, shape)
    t = function(n, d, shape) + 0.3 * np.random.default_rng(3).normal(size=n)
    ours, peer = kc.KernelRidge(kc.Gaussian(s), ridge=1.0), KernelRidge(kernel="rbf", gamma=0.5 / s**2, alpha=1.0)
    if step == "fit":
        return Cell(lambda: ours.fit(X, t).a_, lambda: peer.fit(X, t).dual_coef_, close(1e-6))
    if step == "predict":
        ours.fit(X, t)
        peer.fit(X, t)
        Z = given(points(n, d, shape, seed=4))
        keops = optional("pykeops.numpy")
        others = {"pykeops": partial(keops_sums, keops, Z, X, 0.5 / s**2, peer.dual_coef_)} if keops else {}
        return Cell(lambda: ours.predict(Z), lambda: peer.predict(Z), close(1e-6), others)
    ridges, folds = np.logspace(-2, 2, 10), kc.k_fold(n, 5, rng=0)
    search = GridSearchCV(peer, {"alpha": ridges}, cv=folds, scoring="neg_mean_squared_error", refit=False)
    return Cell(
        lambda: kc.grid_search(ours, X, t, {"ridge": ridges}, folds, kc.mean_squared_error).scores,
        lambda: -search.fit(X, t).cv_results_["mean_test_score"],
        close(1e-6),
    )


def keops_sums(keops: Any, Z: np.ndarray, X: np.ndarray, gamma: float, a: np.ndarray) -> np.ndarray:
    z_i, x_j = keops.LazyTensor(Z[:, None, :].astype(float)), keops.LazyTensor(X[None, :, :].astype(float))
    return ((-gamma * ((z_i - x_j) ** 2).sum(-1)).exp() @ a[:, None])[:, 0]


# ---------------------------------------------------------------- support vector machine


def svcs(X: np.ndarray, y: np.ndarray, **options: float) -> dict[str, Callable[[], Any]]:
    """Other packages with the interface of scikit-learn's `SVC`."""
    found = {name: optional(f"{name}.svm" if name == "sklearnex" else name) for name in ("sklearnex", "thundersvm")}
    return {name: lambda m=module: m.SVC(**options).fit(X, y) for name, module in found.items() if module}


def svm(data: str, n: int, d: int, C: float, shape: str = "plain") -> Cell:
    """Two classes: the same problem, with a free offset, each solver to its default tolerance."""
    from sklearn.svm import SVC

    X, y, k = given(points(n, d, shape)), labels(data, n, d, shape), kc.Gaussian(width(d, shape))
    lam = kc.lam_from_C(C, n=n)

    def verdict(ours: kc.KernelSVM, peer: SVC) -> Verdict:
        K, alpha = k(X), np.zeros(n)
        alpha[peer.support_] = np.abs(peer.dual_coef_[0])
        found = kc.svm_objective(np.abs(ours.c_), K, y, lam=lam, b=ours.b_)
        theirs = kc.svm_objective(alpha, K, y, lam=lam, b=float(peer.intercept_[0]))
        low = max(
            kc.svm_dual_objective(a, K, y, lam=lam) for a in (np.minimum(np.abs(ours.c_), C), np.minimum(alpha, C))
        )
        gaps = (found - low) / found, (theirs - low) / theirs
        return gaps[0] <= max(1.1e-4, gaps[1]), f"gap {gaps[0]:.0e}, peer {gaps[1]:.0e}"

    return Cell(
        lambda: kc.KernelSVM(k, lam=lam, offset="free").fit(X, y),
        lambda: SVC(C=C, gamma=k.gamma).fit(X, y),
        verdict,
        svcs(X, y, C=C, gamma=k.gamma),
    )


def svm_classes(data: str, C: float, n: int = 0, d: int = 0, classes: int = 0) -> Cell:
    from sklearn.svm import SVC

    X, y = many_labels(n, d, classes) if data == "clouds" else digits() if data == "digits" else penguins()
    X, k = given(X), kc.Gaussian(2.5 if data == "digits" else 2.0 * np.sqrt(X.shape[1]))
    lam = kc.lam_from_C(C, n=len(X))

    def verdict(ours: kc.KernelSVM, peer: SVC) -> Verdict:
        return same(0.95)(ours.predict(X), peer.predict(X))  # ties between classes are broken in different ways

    return Cell(
        lambda: kc.KernelSVM(k, lam=lam, offset="free").fit(X, y),
        lambda: SVC(C=C, gamma=k.gamma).fit(X, y),
        verdict,
        svcs(X, y, C=C, gamma=k.gamma),
    )


def class_grid() -> Iterator[Parameters]:
    real = ["digits", "penguins"]
    yield from cells(data=tuple(real), C=(0.1, 1.0, 10.0, 100.0, 1000.0))()
    clouds = cells(data=("clouds",), C=(0.1, 1.0, 10.0, 1000.0), n=N, d=(2, 8, 64), classes=(3, 10, 26))
    yield from (cell for cell in clouds() if not slow(cell))


def svm_predict(data: str, n: int, d: int, C: float) -> Cell:
    from sklearn.svm import SVC

    X, y, k = given(points(n, d)), labels(data, n, d, "plain"), kc.Gaussian(width(d))
    Z = given(points(n, d, seed=6))
    ours = kc.KernelSVM(k, lam=kc.lam_from_C(C, n=n), offset="free").fit(X, y)
    peer = SVC(C=C, gamma=k.gamma).fit(X, y)
    return Cell(lambda: ours.predict(Z), lambda: peer.predict(Z), same(0.99))


def svm_search(data: str, n: int, d: int) -> Cell:
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    X, y, folds, s = given(points(n, d)), labels(data, n, d, "plain"), kc.k_fold(n, 5, rng=0), width(d)
    Cs = np.logspace(-1, 2, 4)
    grid = {"kernel__sigma": [s / 2, s], "lam": [kc.lam_from_C(C, n=len(folds[0][0])) for C in Cs]}
    search = GridSearchCV(SVC(), {"gamma": [2 / s**2, 0.5 / s**2], "C": Cs}, cv=folds, refit=False)
    return Cell(
        lambda: kc.grid_search(kc.KernelSVM(offset="free"), X, y, grid, folds, kc.accuracy).best_score,
        lambda: search.fit(X, y).best_score_,
        close(0.01),
    )


# ---------------------------------------------------------------- logistic regression, neighbours


def logistic(classes: int, n: int, d: int, ridge: float) -> Cell:
    """The peer gets as many exact features as there are points, and its default tolerance."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    X, y = digits() if n == 1797 else many_labels(n, d, classes)
    X, k = given(X), kc.Gaussian(2.5 if n == 1797 else 2.0 * np.sqrt(d))
    peer = make_pipeline(
        Nystroem(gamma=k.gamma, n_components=len(X), random_state=0),
        LogisticRegression(C=1 / ridge, fit_intercept=False, max_iter=1000),
    )
    ours = kc.KernelLogisticRegression(k, ridge=ridge)
    return Cell(lambda: ours.fit(X, y), lambda: peer.fit(X, y), lambda a, b: same(0.98)(a.predict(X), b.predict(X)))


def neighbours(n: int, d: int, shape: str) -> Cell:
    from sklearn.neighbors import KNeighborsClassifier

    X, y, Z = given(points(n, d, shape)), labels("noisy", n, d, shape), given(points(n // 2, d, shape, seed=7))
    ours, peer = kc.KernelNeighbors(kc.Gaussian(1.0), kappa=5).fit(X, y), KNeighborsClassifier(5).fit(X, y)
    # Among points that occur twice, it is arbitrary which of the equally near ones count.
    return Cell(lambda: ours.predict(Z), lambda: peer.predict(Z), same(0.85 if shape == "duplicated" else 0.999))


# ---------------------------------------------------------------- many points, objects


def on_features(model: str, classes: int, n: int, d: int, m: int, waves: bool = False) -> Cell:
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    X, y = digits() if n == 1797 else many_labels(n, d, classes)
    X, k, n = given(X), kc.Gaussian(2.5 if n == 1797 else 2.0 * np.sqrt(d)), len(X)
    ours, last, verdict = {
        "ridge": (
            (kc.FourierRidge if waves else kc.NystromRidge)(k, m=m, ridge=1.0),
            Ridge(alpha=1.0, fit_intercept=False),
            None,
        ),
        "logistic": (
            (kc.FourierLogisticRegression if waves else kc.NystromLogisticRegression)(k, m=m, ridge=1.0),
            LogisticRegression(C=1.0, fit_intercept=False, max_iter=1000),
            same(0.95),
        ),
        "SVM": (
            (kc.FourierSVM if waves else kc.NystromSVM)(k, m=m, lam=kc.lam_from_C(1.0, n=n)),
            LinearSVC(C=1.0, loss="hinge", fit_intercept=False, max_iter=10_000),
            same(0.95),
        ),
    }[model]
    features = RBFSampler if waves else Nystroem
    peer = make_pipeline(features(gamma=k.gamma, n_components=m, random_state=0), last)
    t = y.astype(float) if model == "ridge" else y

    def fits(a: Any, b: Any) -> Verdict:
        if verdict is not None:
            return verdict(a.predict(X), b.predict(X))
        scores = a.score(X, t), b.score(X, t)
        return abs(scores[0] - scores[1]) < 0.05, f"R² {scores[0]:.3f}, peer {scores[1]:.3f}"

    return Cell(lambda: ours.fit(X, t), lambda: peer.fit(X, t), fits)


def counts(kernel: str, n: int) -> Cell:
    from sklearn.feature_extraction.text import CountVectorizer

    rng = np.random.default_rng(0)
    if kernel == "SciPy summaries":
        objects, k, vectorizer = kc.load_scipy_summaries().X[:n], kc.BagOfWords(), CountVectorizer(tokenizer=kc.words)
    elif kernel == "splice sites":
        objects, k = kc.load_splice_sites().X[:n], kc.Spectrum(3)
        vectorizer = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)
    elif kernel == "words":
        chance = 1 / np.arange(1, 2001)
        objects = [" ".join(f"word{i}" for i in rng.choice(2000, size=100, p=chance / chance.sum())) for _ in range(n)]
        k, vectorizer = kc.BagOfWords(), CountVectorizer()
    else:
        objects = ["".join(rng.choice(list("ACGT"), size=100)) for _ in range(n)]
        k, vectorizer = kc.Spectrum(3), CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False)

    def peer() -> np.ndarray:
        C = vectorizer.fit_transform(objects).astype(float)
        return (C @ C.T).toarray()

    others = {}
    if kernel == "strings" and (strkernel := optional("strkernel.mismatch_kernel")):
        numbers = [["ACGT".index(letter) for letter in string] for string in objects]
        others["strkernel"] = lambda: strkernel.MismatchKernel(l=4, k=3, m=0).get_kernel(numbers).kernel
    return Cell(lambda: k(objects), peer, close(1e-12), others)


def graphs(kernel: str, data: str, n: int) -> Cell:
    """Molecules, or random graphs of 10 to 30 nodes with three labels."""
    import grakel.kernels as theirs

    rng = np.random.default_rng(0)
    if data == "MUTAG":
        objects = [(graph.adjacency, graph.labels) for graph in kc.load_mutag().X[:n]]
    else:
        upper = [np.triu(rng.uniform(size=(m, m)) < 2.5 / m, 1).astype(int) for m in rng.integers(10, 31, size=n)]
        objects = [(A + A.T, tuple(rng.choice(list("abc"), size=len(A)).tolist())) for A in upper]
    graphs = [[A, dict(enumerate(names))] for A, names in objects]
    if kernel == "WeisfeilerLehman":
        peer = partial(theirs.WeisfeilerLehman, n_iter=3, base_graph_kernel=theirs.VertexHistogram)
        return Cell(lambda: kc.WeisfeilerLehman(3)(objects), lambda: peer().fit_transform(graphs), close(1e-12))

    def verdict(ours: np.ndarray, peer: np.ndarray) -> Verdict:
        """The peer counts every path in both directions, so paths between equal ends have weight 4 and others 2."""
        counted = (kc.ShortestPath().counts(graph).items() for graph in objects)
        like = count_matrix([{part: count for part, count in parts if part[0] == part[2]} for parts in counted])
        return close(1e-12)(2 * ours + 2 * like @ like.T, peer)

    return Cell(lambda: kc.ShortestPath()(objects), lambda: theirs.ShortestPath().fit_transform(graphs), verdict)


def sets(n: int, elements: int) -> Cell:
    from sklearn.preprocessing import MultiLabelBinarizer

    rng = np.random.default_rng(0)
    objects = [frozenset(rng.integers(elements, size=10).tolist()) for _ in range(n)]

    def peer() -> np.ndarray:
        C = MultiLabelBinarizer(sparse_output=True).fit_transform(objects).astype(float)
        return (C @ C.T).toarray()

    return Cell(lambda: kc.Intersection()(objects), peer, close(1e-12))


def leave_one_out(n: int, d: int, shape: str) -> Cell:
    """The peer gets exact features, on which its leave-one-out takes one decomposition as well."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV

    X, s, ridges = given(points(n, d, shape)), width(d, shape), np.logspace(-2, 2, 10)
    t = function(n, d, shape) + 0.3 * np.random.default_rng(3).normal(size=n)

    def peer() -> float:
        Phi = Nystroem(gamma=0.5 / s**2, n_components=n, random_state=0).fit_transform(X)
        return float(RidgeCV(ridges, fit_intercept=False).fit(Phi, t).alpha_)

    return Cell(lambda: kc.choose_kernel([kc.Gaussian(s)], X, t, ridges=ridges).ridge, peer, close(1e-6))


def perceptron(data: str, n: int, d: int) -> Cell:
    """No package has this algorithm: the peer is the lecture's loop in numpy, with the scores kept."""
    y, K = labels(data, n, d, "plain").astype(float), kc.Gaussian(width(d))(points(n, d))

    def peer() -> np.ndarray:
        alpha, f = np.zeros(n, dtype=int), np.zeros(n)
        for _ in range(10):
            for i in range(n):
                if y[i] * f[i] <= 0:
                    alpha[i] += 1
                    f += y[i] * K[i]
        return alpha

    return Cell(lambda: kc.kernel_perceptron(K, y, max_epochs=10).alpha, peer, same(0.999))


def network(n: int, d: int, classes: int, hidden: int) -> Cell:
    """Both train for twenty epochs with the same batches, step and momentum.

    They start from different weights, so where classes overlap they end with different labels: accuracies are compared.
    """
    from sklearn.neural_network import MLPClassifier

    X, y = many_labels(n, d, classes)
    X = given(X)
    options = {"max_iter": 20, "batch_size": 32, "learning_rate_init": 0.05, "momentum": 0.9, "tol": 0.0}
    peer = MLPClassifier((hidden,), activation="tanh", solver="sgd", alpha=0.0, random_state=0, **options)
    ours = kc.MLP((hidden,), step=0.05, epochs=20, batch_size=32)

    def verdict(ours: kc.MLP, peer: MLPClassifier) -> Verdict:
        mine, theirs = ours.score(X, y), peer.score(X, y)
        return mine >= theirs - 0.05, f"accuracy {mine:.3f}, peer {theirs:.3f}"

    return Cell(lambda: ours.fit(X, y), lambda: peer.fit(X, y), verdict)


# ---------------------------------------------------------------- the jobs

N, D = (200, 1000, 4000, 10_000), (1, 2, 8, 64, 500, 784)
KERNELS = ("Gaussian", "Laplacian", "polynomial", "linear", "Matern")


def gram_grid() -> Iterator[Parameters]:
    for kernel in KERNELS:  # the peer's 10,000^2 sums of 500 absolute values take minutes
        yield from (p for p in cells(kernel=(kernel,), n=N, d=D)() if not (kernel == "Laplacian" and slow(p)))
    yield from cells(kernel=("Gaussian",), n=N, d=D, shape=SHAPES[1:])()
    yield from cells(kernel=("Gaussian", "Laplacian"), n=N[:3], d=D, cross=(True,))()


def slow(cell: Parameters) -> bool:
    return cell["n"] == N[-1] and (cell["d"] > 64 or cell.get("C", 1.0) > 10.0)


def svm_grid() -> Iterator[Parameters]:
    """The peer takes minutes for 10,000 points and a large C."""
    Cs = (0.1, 1.0, 10.0, 100.0, 1000.0)
    grid = cells(data=("separable", "noisy", "hard"), n=N, d=(2, 8, 64), C=Cs, shape=SHAPES)
    yield from (cell for cell in grid() if not slow(cell))


def predict_grid() -> Iterator[Parameters]:
    grid = cells(data=("separable", "noisy"), n=N, d=D, C=(1.0, 100.0))
    yield from (cell for cell in grid() if not slow(cell))


def feature_grid(model: str, **waves: tuple[bool]) -> Iterator[Parameters]:
    for classes in (2,) if model == "ridge" else (2, 10):
        yield from cells(model=(model,), classes=(classes,), n=(200,), d=(2, 8, 64), m=(100,), **waves)()
        size = {"n": (1000, 4000, 10_000), "d": (2, 8, 64), "m": (100, 500)}
        yield from cells(model=(model,), classes=(classes,), **size, **waves)()
    if model != "ridge":
        yield from cells(model=(model,), classes=(10,), n=(1797,), d=(64,), m=(300, 1000), **waves)()


def count_grid() -> Iterator[Parameters]:
    yield from cells(kernel=("words", "strings"), n=N)()
    yield from cells(kernel=("splice sites",), n=N[:3])()
    yield from cells(kernel=("SciPy summaries",), n=(200, 294))()


def graph_grid() -> Iterator[Parameters]:
    yield from cells(kernel=("WeisfeilerLehman", "ShortestPath"), data=("MUTAG",), n=(50, 188))()
    yield from cells(kernel=("WeisfeilerLehman", "ShortestPath"), data=("random",), n=(200, 1000))()


def logistic_grid() -> Iterator[Parameters]:
    yield from cells(classes=(2, 10), n=(200, 1000, 2000), d=(2, 8, 64), ridge=(0.01, 1.0))()
    yield from cells(classes=(10,), n=(1797,), d=(64,), ridge=(0.01, 1.0))()


LINEAR_MODELS = {"ridge": "Ridge", "logistic": "LogisticRegression", "SVM": "LinearSVC"}
JOBS = [
    Job("gram", "sklearn.metrics.pairwise", gram, gram_grid),
    Job("ridge-fit", "KernelRidge", partial(ridge, "fit"), cells(n=N, d=D, shape=SHAPES)),
    Job("ridge-predict", "KernelRidge", partial(ridge, "predict"), cells(n=N, d=D, shape=SHAPES)),
    Job("ridge-search", "GridSearchCV(KernelRidge)", partial(ridge, "search"), cells(n=N[:3], d=(2, 64, 784))),
    Job("svm", "SVC", svm, svm_grid),
    Job("svm-classes", "SVC", svm_classes, class_grid),
    Job("svm-predict", "SVC", svm_predict, predict_grid),
    Job("svm-search", "GridSearchCV(SVC)", svm_search, cells(data=("separable", "noisy"), n=N[:2], d=(2, 64))),
    Job("logistic", "Nystroem(n) + LogisticRegression", logistic, logistic_grid),
    Job("neighbours", "KNeighborsClassifier", neighbours, cells(n=N, d=D, shape=SHAPES)),
    *(
        Job(f"nystrom-{model.lower()}", f"Nystroem + {peer}", on_features, partial(feature_grid, model))
        for model, peer in LINEAR_MODELS.items()
    ),
    *(
        Job(
            f"fourier-{model.lower()}", f"RBFSampler + {peer}", on_features, partial(feature_grid, model, waves=(True,))
        )
        for model, peer in LINEAR_MODELS.items()
    ),
    Job("counts", "CountVectorizer, product", counts, count_grid, ON_OBJECTS),
    Job("sets", "MultiLabelBinarizer, product", sets, cells(n=N, elements=(30, 1000)), ON_OBJECTS),
    Job("leave-one-out", "Nystroem(n) + RidgeCV", leave_one_out, cells(n=N[:2], d=(2, 8, 64), shape=SHAPES)),
    Job(
        "perceptron",
        "a loop in numpy",
        perceptron,
        cells(data=("separable", "noisy", "hard"), n=N, d=(2, 64)),
        ON_OBJECTS,
    ),
    Job("network", "MLPClassifier", network, cells(n=N, d=(2, 64), classes=(2, 10), hidden=(16, 100))),
]
if optional("grakel"):  # which has no wheels for Python 3.13
    JOBS.append(Job("graphs", "GraKeL", graphs, graph_grid, ON_OBJECTS))
