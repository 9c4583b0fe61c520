"""What the page computes is what the library computes: 50 random problems for each solver, in a real browser."""

from __future__ import annotations

import numpy as np
import pytest

import kernelcourse as kc
from kernelcourse.algorithms import mlp
from tests.lab.library import BASES, WEIGHTS, close

PROBLEMS = 50


@pytest.fixture(scope="module")
def compute(new_window, folder):
    """`compute(body, problems)` gives, for each problem p, the value of a JavaScript expression in p and `lab`."""
    page = new_window().new_page()
    page.goto((folder / "dual.html").as_uri())

    def answers(expression: str, problems: list[dict]) -> list:
        code = f"(problems) => {{ const lab = window.kernelLab; return problems.map((p) => {expression}) }}"
        return page.evaluate(code, problems)

    yield answers
    page.close()


def random_kernels(rng):
    """The same kernel for the library and for the page."""
    sigma, degree = float(rng.uniform(0.3, 2)), int(rng.integers(1, 5))
    return [
        (kc.Gaussian(sigma), {"kind": "gaussian", "sigma": sigma}),
        (kc.Polynomial(degree), {"kind": "polynomial", "degree": degree}),
        (kc.Linear(), {"kind": "linear"}),
    ][rng.integers(3)]


def clouds(rng, *, most=60):
    """Points of two classes, both present."""
    n = int(rng.integers(5, most))
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] + 0.4 * rng.normal(size=n) > 0.5, 1, -1)
    y[:2] = 1, -1
    return X, y


def test_primal_and_dual_fits(compute):
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(PROBLEMS):
        n = int(rng.integers(1, 100))
        x, t = rng.uniform(-1.2, 1.2, n), rng.normal(size=n)
        problems.append({"x": x.tolist(), "t": t.tolist(), "ridge": float(10 ** rng.uniform(-3, 1))})
    at = np.linspace(-1.2, 1.2, 31)
    expression = """(({ a, primal, dual }) => ({ a: [...a], primal: [...primal], dual }))(
        lab.fitBoth(p.x, p.t, p.ridge, p.at))"""
    for p, mine in zip(problems, compute(expression, [{**p, "at": at.tolist()} for p in problems]), strict=True):
        Phi, Phi_at = np.vander(p["x"], 6, increasing=True), np.vander(at, 6, increasing=True)
        a = kc.dual_weights(Phi @ Phi.T, p["t"], ridge=p["ridge"])
        close(mine["a"], a)
        close(mine["primal"], Phi_at @ kc.primal_weights(Phi, p["t"], ridge=p["ridge"]))
        close(mine["dual"], kc.predict(Phi_at @ Phi.T, a))


def test_gaussian_fits_and_errors(compute):
    rng = np.random.default_rng(1)
    problems = []
    for _ in range(PROBLEMS):
        train, held = (rng.normal(size=(int(rng.integers(1, 60)), 2)) * [4, 1] for _ in range(2))
        sigma, ridge = (float(10**e) for e in (rng.uniform(-1.5, 1.2), rng.uniform(-3, 1.5)))
        problems.append({"train": train.tolist(), "held": held.tolist(), "sigma": sigma, "ridge": ridge})
    expression = """(({ a, training, validation }) => ({ a: [...a], training, validation }))(
        lab.errorsAt(p.sigma, p.ridge, p.train, p.held))"""
    for p, mine in zip(problems, compute(expression, problems), strict=True):
        (x, t), (z, u) = np.array(p["train"]).T, np.array(p["held"]).T
        model = kc.KernelRidge(kc.Gaussian(p["sigma"]), ridge=p["ridge"]).fit(x[:, None], t)
        close(mine["a"], kc.dual_weights(kc.Gaussian(p["sigma"])(x[:, None]), t, ridge=p["ridge"]))
        close(mine["training"], np.mean((model.predict(x[:, None]) - t) ** 2))
        close(mine["validation"], np.mean((model.predict(z[:, None]) - u) ** 2))


def test_leave_one_out_residuals_and_votes(compute):
    rng = np.random.default_rng(8)
    problems = []
    for _ in range(PROBLEMS // 2):
        points = rng.normal(size=(int(rng.integers(2, 40)), 2)) * [4, 1]
        sigma, ridges = float(10 ** rng.uniform(-1, 1.3)), (10 ** rng.uniform(-4, 1, size=3)).tolist()
        problems.append({"points": points.tolist(), "sigma": sigma, "ridges": ridges, "at": float(rng.normal())})
    expression = """({ path: lab.looAt(p.points, p.sigma, p.ridges).map((each) => ({ ...each, a: [...each.a],
        residuals: [...each.residuals] })),
        votes: [...lab.votesAt(p.points, { sigma: p.sigma, ridge: p.ridges[0] }, p.at, [0]).votes] })"""
    for p, mine in zip(problems, compute(expression, problems), strict=True):
        X, t, k = np.array(p["points"])[:, :1], np.array(p["points"])[:, 1], kc.Gaussian(p["sigma"])
        path = kc.leave_one_out(k(X), t, ridges=p["ridges"])
        close([each["error"] for each in mine["path"]], path.errors, 1e-6)
        close(np.transpose([each["residuals"] for each in mine["path"]]), path.residuals, 1e-6)
        close(mine["votes"], kc.dual_weights(k(X), t, ridge=p["ridges"][0]) * k(X, [[p["at"]]])[:, 0], 1e-6)


def test_gram_matrices_and_surfaces(compute):
    rng = np.random.default_rng(2)
    problems, kernels = [], []
    for _ in range(PROBLEMS):
        k, spec = random_kernels(rng)
        X, _ = clouds(rng)
        kernels.append(k)
        problems.append({"X": X.tolist(), "spec": spec, "c": rng.normal(size=len(X)).tolist()})
    expression = """({ K: lab.gram(lab.kernelOf(p.spec), p.X).map((row) => [...row]),
        f: [...lab.surface(p.spec, p.X, p.c, Float64Array.of(-2, 0, 1), Float64Array.of(-1, 2))] })"""
    Z = [[x, y] for y in (-1, 2) for x in (-2, 0, 1)]
    for p, k, mine in zip(problems, kernels, compute(expression, problems), strict=True):
        close(mine["K"], k(p["X"]))
        close(mine["f"], k(Z, p["X"]) @ p["c"])


def test_perceptron_counts(compute):
    rng = np.random.default_rng(3)
    problems, fits = [], []
    for _ in range(PROBLEMS):
        k, spec = random_kernels(rng)
        X, y = clouds(rng)
        fits.append(kc.kernel_perceptron(k(X), y, max_epochs=40))
        problems.append({"X": X.tolist(), "y": y.tolist(), "spec": spec})
    answers = compute("lab.kernelPerceptron(lab.gram(lab.kernelOf(p.spec), p.X), p.y, 40)", problems)
    for fit, mine in zip(fits, answers, strict=True):
        assert mine == {"alpha": fit.alpha.tolist(), "epochs": fit.epochs, "separated": fit.separated}


def test_labels_of_neighbours(compute):
    rng = np.random.default_rng(4)
    problems, theirs = [], []
    for _ in range(PROBLEMS):
        k, spec = random_kernels(rng)
        X, y = clouds(rng)
        Z, kappa = rng.normal(size=(40, 2)), int(rng.integers(1, min(16, len(X))))
        problems.append({"X": X.tolist(), "y": y.tolist(), "Z": Z.tolist(), "spec": spec, "kappa": kappa})
        theirs.append(kc.kernel_neighbors(k(Z, X), k.diag(Z), k.diag(X), y, kappa=kappa).tolist())
    assert compute("lab.kernelNeighbors(p.spec, p.Z, p.X, p.y, p.kappa)", problems) == theirs


def test_svm_objective_and_labels(compute):
    rng = np.random.default_rng(5)
    problems, kernels = [], []
    for _ in range(PROBLEMS):
        X, y = clouds(rng, most=120)
        sigma = float(rng.uniform(0.2, 2))
        kernels.append(kc.Gaussian(sigma))
        lam = float(10 ** rng.uniform(-4, 0))
        problems.append({"X": X.tolist(), "y": y.tolist(), "lam": lam, "spec": {"kind": "gaussian", "sigma": sigma}})
    expression = """(({ alpha, objective, gap }) => ({ alpha: [...alpha], objective, gap }))(
        lab.kernelSVM(lab.gram(lab.kernelOf(p.spec), p.X), p.y, p.lam))"""
    Z = rng.normal(size=(200, 2))
    for p, k, mine in zip(problems, kernels, compute(expression, problems), strict=True):
        K, K_test = k(p["X"]), k(Z, p["X"])
        fit = kc.kernel_svm(K, p["y"], lam=p["lam"], gap=1e-9)
        assert mine["objective"] == pytest.approx(fit.objective, rel=1e-4)
        assert kc.svm_objective(mine["alpha"], K, p["y"], lam=p["lam"]) == pytest.approx(mine["objective"], rel=1e-8)
        f, g = (kc.decision_values(K_test, alpha, p["y"]) for alpha in (fit.alpha, mine["alpha"]))
        clear = np.abs(f) > 0.05
        assert np.array_equal(np.sign(f[clear]), np.sign(g[clear]))


def test_network_outputs_and_losses(compute):
    rng = np.random.default_rng(6)
    problems, runs = [], []
    for number in range(PROBLEMS):
        X, y = clouds(rng, most=30)
        activation = ("tanh", "relu", "sigmoid")[number % 3]
        sizes = (2, *rng.integers(1, 9, size=rng.integers(0, 3)), 2)
        network = mlp.init_network([int(s) for s in sizes], rng=rng, activation=activation)
        classes = (y > 0).astype(int)
        step, momentum = float(rng.uniform(0.05, 0.5)), float(rng.choice([0.0, 0.9]))
        layers = [{"W": W.tolist(), "b": b.tolist()} for W, b in network.layers]
        problems.append({"X": X.tolist(), "classes": classes.tolist(), "layers": layers, "activation": activation})
        problems[-1] |= {"step": step, "momentum": momentum}
        options = {"loss": mlp.softmax_cross_entropy, "step": step, "momentum": momentum}
        run = mlp.sgd(network, X, np.eye(2)[classes], **options, epochs=25, batch_size=len(X), rng=0)
        runs.append((mlp.forward(network, X)[-1], run))
    expression = """(() => {
        const before = p.X.map((x) => [...lab.forward(p.layers, p.activation, x).at(-1)]);
        const losses = lab.train(p.layers, p.activation, p.X, p.classes,
          { step: p.step, momentum: p.momentum, epochs: 25 });
        return { before, losses, after: p.X.map((x) => [...lab.forward(p.layers, p.activation, x).at(-1)]) };
    })()"""
    for p, (before, run), mine in zip(problems, runs, compute(expression, problems), strict=True):
        close(mine["before"], before)
        close(mine["losses"], run.losses)
        close(mine["after"], mlp.forward(run.network, p["X"])[-1])


def random_recipe(rng):
    """The same kernel, put together by the library and by the page."""
    start = str(rng.choice(list(BASES)))
    k, steps = BASES[start], []
    for name in rng.choice(["plus", "times", "scale", "exp", "poly", "weight"], size=rng.integers(0, 4)):
        if name in ("plus", "times"):
            operand = str(rng.choice(list(BASES)))
            k = k + BASES[operand] if name == "plus" else k * BASES[operand]
        elif name == "scale":
            operand = str(rng.choice(["0.25", "0.5", "2"]))
            k = float(operand) * k
        elif name == "weight":
            operand = str(rng.choice(list(WEIGHTS)))
            k = k.weighted(lambda X, f=WEIGHTS[operand]: f(X[:, 0]))
        else:
            operand, k = "", k.exp() if name == "exp" else k.polynomial([1, 1, 1])
        steps.append([str(name), operand])
    return k, {"start": start, "steps": steps}


def test_composed_kernels_and_their_eigenvalues(compute):
    rng = np.random.default_rng(7)
    problems, kernels = [], []
    for _ in range(PROBLEMS):
        k, recipe = random_recipe(rng)
        kernels.append(k)
        problems.append({"recipe": recipe, "x": rng.uniform(-1, 1, size=rng.integers(1, 9)).tolist()})
    expression = """(({ k, valid }) => (({ K, values }) => ({ K: K.map((row) => [...row]), values, valid }))(
        lab.spectrum(k, p.x)))(lab.compose(p.recipe))"""
    for p, k, mine in zip(problems, kernels, compute(expression, problems), strict=True):
        K = k(np.array(p["x"])[:, None])
        assert mine["valid"]
        close(mine["K"], K)
        close(mine["values"], np.linalg.eigvalsh(K), 1e-10)


def test_differences_and_distances_and_their_counterexamples(compute):
    recipes = [{"start": s, "steps": [["minus", o]]} for s in BASES for o in BASES if s != o]
    recipes.append({"start": "distance", "steps": []})
    x = np.array([-2.0, -0.5, 0.3, 1.4])
    expression = """(({ k, valid }) => ({ valid, K: lab.spectrum(k, p.x).K.map((row) => [...row]),
        found: ((c) => c && { ...c, a: [...c.a] })(lab.counterexample(k, p.x)) }))(lab.compose(p.recipe))"""
    answers = compute(expression, [{"recipe": recipe, "x": x.tolist()} for recipe in recipes])
    for recipe, mine in zip(recipes, answers, strict=True):

        def k(X, recipe=recipe):
            if recipe["start"] == "distance":
                return np.abs(X - X.T)
            return BASES[recipe["start"]](X) - BASES[recipe["steps"][0][1]](X)

        close(mine["K"], k(x[:, None]))
        assert not mine["valid"]
        if mine["found"]:
            a = np.array(mine["found"]["a"])
            value = a @ k(np.array(mine["found"]["points"])[:, None]) @ a
            assert value < 0
            assert value == pytest.approx(mine["found"]["value"], rel=1e-6)
        else:  # (1 + x x')^2 minus 1 or minus x x' is a kernel, though no rule says so
            assert recipe["start"] == "square" and recipe["steps"][0][1] in ("one", "linear")
