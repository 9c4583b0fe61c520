"""What the library says about the state of a figure: `HOLDS[name](state, facts)` compares the figure's own numbers."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import kernelcourse as kc
from kernelcourse.algorithms import mlp
from kernelcourse.algorithms.perceptron import PerceptronFit
from tests.lab.pages import LAB

START = {name: make() for name, make in LAB.STARTS.items()}
BASES = {
    "linear": kc.Linear(),
    "square": kc.Polynomial(2),
    "gaussian": kc.Gaussian(1.0),
    "periodic": kc.Periodic(period=2.0, length=1.0),
    "one": kc.Constant(1.0),
}
WEIGHTS = {"bell": lambda x: np.exp(-(x**2) / 8), "x": lambda x: x}


def close(mine: Any, theirs: Any, rtol: float = 1e-8) -> None:
    """Relative to the largest entry: a fit that passes through 0 is no less accurate there."""
    theirs = np.asarray(theirs)
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * max(np.abs(theirs).max(), 1e-300))


def line(points: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    data = np.array([p[:2] for p in points])
    return data[:, :1], data[:, 1]


def plane(points: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    data = np.array(points, dtype=float)
    return data[:, :2], data[:, 2].astype(int)


def kernel_of(state: dict) -> kc.Kernel:
    kinds = {"polynomial": lambda: kc.Polynomial(round(state["degree"])), "linear": kc.Linear}
    return kinds.get(state.get("kernel"), lambda: kc.Gaussian(state["sigma"]))()


def dual(state: dict, facts: dict) -> None:
    X, t = line(state["points"])
    Phi, Z = (np.vander(x, 6, increasing=True) for x in (X[:, 0], np.linspace(-1.2, 1.2, 201)))
    close(facts["a"], kc.dual_weights(Phi @ Phi.T, t, ridge=state["lambda"]))
    close(facts["primal"], Z @ kc.primal_weights(Phi, t, ridge=state["lambda"]))
    close(facts["dual"], facts["primal"])


def gaussian(state: dict, facts: dict) -> None:
    (X, t), (Z, u) = line(state["points"]), line(START["gaussian"]["held"])
    model = kc.KernelRidge(kc.Gaussian(state["sigma"]), ridge=state["lambda"]).fit(X, t)
    close(facts["training"], kc.mean_squared_error(t, model.predict(X)))
    close(facts["validation"], kc.mean_squared_error(u, model.predict(Z)))


def hero(state: dict, facts: dict) -> None:
    if not state["points"]:
        assert not np.any(facts["curve"])
        return
    X, t = line(state["points"])
    Z = np.linspace(-10, 10, 401)[:, None]
    curve = kc.KernelRidge(kc.Gaussian(state["sigma"]), ridge=state["ridge"]).fit(X, t).predict(Z)
    close(facts["curve"], curve, 1e-7)
    close(facts["distance"], np.sqrt(np.mean((curve - np.sinc(Z[:, 0] / np.pi)) ** 2)), 1e-6)


def votes(state: dict, facts: dict) -> None:
    X, t = line(state["points"])
    k, at = kc.Gaussian(state["sigma"]), np.array([[state["cross"][0][0]]])
    a = kc.dual_weights(k(X), t, ridge=state["lambda"])
    close(facts["votes"], a * k(X, at)[:, 0])
    close(facts["sum"], k(at, X) @ a)
    close(facts["curve"], k(np.linspace(-5, 5, 241)[:, None], X) @ a)


@cache
def loo_map(sample: int) -> np.ndarray:
    X, t = line(START["landscape"]["samples"][sample])
    ridges = np.logspace(-4, 1, 24)
    return np.array([kc.leave_one_out(kc.Gaussian(s)(X), t, ridges=ridges).errors for s in np.logspace(-1, 1.3, 24)]).T


def landscape(state: dict, facts: dict) -> None:
    X, t = line(START["landscape"]["samples"][state["sample"]])
    sigma, ridge = 10.0 ** np.array(state["pair"][0][:2])
    path = kc.leave_one_out(kc.Gaussian(sigma)(X), t, ridges=[ridge])
    close(facts["residuals"], path.residuals[:, 0], 1e-6)
    close(facts["error"], path.errors[0], 1e-6)
    np.testing.assert_allclose(np.reshape(facts["errors"], (24, 24)), loo_map(state["sample"]), rtol=1e-6)


def builder(state: dict, facts: dict) -> None:
    x = np.array([p[0] for p in state["points"]])
    K = np.abs(x[:, None] - x) if state["base"] == "distance" else BASES[state["base"]](x[:, None])
    for name, operand in (state[f"step{i}"].split(" ") for i in range(1, 6) if state[f"step{i}"]):
        if name in ("plus", "times", "minus"):
            other = BASES[operand](x[:, None])
            K = {"plus": K + other, "times": K * other, "minus": K - other}[name]
        elif name == "scale":
            K = float(operand) * K
        elif name == "weight":
            f = WEIGHTS[operand](x)
            K = f[:, None] * K * f
        else:
            K = np.exp(K) if name == "exp" else 1 + K + K**2
    close(facts["K"], K)
    close(facts["eigenvalues"], np.linalg.eigvalsh(K), 1e-9)
    if found := facts["found"]:
        assert found["value"] < 0 and not facts["valid"]


@cache
def _after(epochs: int, points: tuple, kernel: kc.Kernel) -> PerceptronFit:
    """The run that ends after so many epochs: a figure asks for the same one after each press of a button."""
    X, y = plane(points)
    return kc.kernel_perceptron(kernel(X), y, max_epochs=epochs)


def perceptron(state: dict, facts: dict) -> None:
    X, y = plane(state["points"])
    K, n = kernel_of(state)(X), len(y)
    run = partial(_after, points=tuple(map(tuple, state["points"])), kernel=kernel_of(state))
    end = run(200)
    assert (facts["total"], facts["ends"]) == (end.alpha.sum(), end.separated)
    checks = min(state["checks"], end.epochs * n)
    assert facts["checks"] == checks
    epochs, rest = divmod(checks, n)
    alpha = run(epochs).alpha.copy() if epochs else np.zeros(n, dtype=int)
    for i in range(rest):  # an epoch that is not finished
        alpha[i] += y[i] * (K[i] @ (alpha * y)) <= 0
    assert facts["alpha"] == alpha.tolist()
    assert facts["mistakes"] == alpha.sum()
    assert facts["done"] == (end.separated and checks == end.epochs * n)


def svm(state: dict, facts: dict) -> None:
    X, y = plane(state["points"])
    K = kc.Gaussian(state["sigma"])(X)
    fit = kc.kernel_svm(K, y, lam=state["lambda"], gap=1e-9)
    assert facts["objective"] == pytest.approx(fit.objective, rel=1e-7)
    close(facts["margins"], y * kc.decision_values(K, fit.alpha, y), 1e-3)
    assert facts["wrong"] == np.sum(np.array(facts["margins"]) <= 0)


@cache
def _trained(points: tuple, first: str, activation: str, step: float, epochs: int) -> mlp.Network:
    """The network after so many epochs, from the first weights as text: twenty presses reach the same epochs twice."""
    layers = tuple(mlp.Layer(np.array(each["W"]), np.array(each["b"])) for each in json.loads(first))
    network, (X, y) = mlp.Network(layers, activation), plane(points)
    if epochs == 0:
        return network
    Z, classes = (X - X.mean(axis=0)) / X.std(axis=0), (y > 0).astype(int)
    options = {"loss": mlp.softmax_cross_entropy, "step": step, "momentum": 0.9, "rng": 0}
    return mlp.sgd(network, Z, np.eye(2)[classes], **options, epochs=epochs, batch_size=len(Z)).network


def playground(state: dict, facts: dict) -> None:
    X, y = plane(state["points"])
    if state["model"] == "kernel":
        K = kernel_of(state)(X)
        fit = kc.kernel_svm(K, y, lam=state["lambda"], gap=1e-9)
        close(facts["scores"], y * kc.decision_values(K, fit.alpha, y), 1e-3)
        return
    points, first = tuple(map(tuple, state["points"])), json.dumps(facts["first"])
    network = _trained(points, first, state["activation"], state["step"], int(state["epochs"]))
    out = mlp.forward(network, (X - X.mean(axis=0)) / X.std(axis=0))[-1]
    close(facts["scores"], y * (out[:, 1] - out[:, 0]), 1e-5)


HOLDS = {
    "builder": builder,
    "dual": dual,
    "gaussian": gaussian,
    "hero": hero,
    "landscape": landscape,
    "perceptron": perceptron,
    "playground": playground,
    "svm": svm,
    "votes": votes,
}
