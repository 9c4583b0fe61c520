import assert from "node:assert/strict";
import { test } from "node:test";
import { cross, gram, kernelOf, linspace, surface } from "../../book/_static/lab/kernels.js";
import { dot, multiply } from "../../book/_static/lab/linalg.js";
import { atRest, descend, forward, meanLoss, newNetwork, train, uniformFrom } from "../../book/_static/lab/network.js";
import * as solvers from "../../book/_static/lab/solvers.js";

const cloud = (n, seed) => {
  const uniform = uniformFrom(seed);
  return Array.from({ length: n }, () => [4 * uniform() - 2, 4 * uniform() - 2]);
};
const labels = (X) => X.map(([a, b]) => (a * a + b > 0.5 ? 1 : -1));
const close = (a, b, tolerance) =>
  a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) <= tolerance, `${value} is not ${b[i]}, at ${i}`));

test("a sum of kernels on a grid is the sum at each of its points", () => {
  const X = cloud(9, 1);
  const c = X.map(([a]) => a);
  const [xs, ys] = [linspace(-2, 2, 5), linspace(-1, 3, 4)];
  const Z = Array.from(ys).flatMap((y) => Array.from(xs, (x) => [x, y]));
  const kinds = [{ kind: "linear" }, { kind: "polynomial", degree: 3 }, { kind: "gaussian", sigma: 0.7 }];
  for (const spec of kinds) {
    close(surface(spec, X, c, xs, ys), multiply(cross(kernelOf(spec), Z, X), c), 1e-12);
  }
});

test("primal and dual ridge regression agree for the linear kernel", () => {
  const X = cloud(12, 2);
  const t = X.map(([a, b]) => Math.sin(a) + b);
  const w = solvers.primalWeights(X, t, 0.3);
  const a = solvers.dualWeights(gram(kernelOf({ kind: "linear" }), X), t, 0.3);
  close(X.map((x) => dot(x, w)), multiply(gram(kernelOf({ kind: "linear" }), X), a), 1e-12);
});

test("the perceptron counts its mistakes and stops after a pass without one", () => {
  const K = gram(kernelOf({ kind: "linear" }), [[1, 0], [0, 1]]);
  assert.deepEqual(solvers.kernelPerceptron(K, [1, -1], 10), { alpha: [1, 1], epochs: 2, separated: true });
});

test("the perceptron gives up at its last epoch where no function separates", () => {
  const K = gram(kernelOf({ kind: "gaussian", sigma: 1 }), [[0, 0], [0, 0]]);
  assert.equal(solvers.kernelPerceptron(K, [1, -1], 7).epochs, 7);
  assert.equal(solvers.kernelPerceptron(K, [1, -1], 7).separated, false);
});

test("a vote takes the nearest, the smaller index of equals, and breaks ties by the nearest", () => {
  assert.equal(solvers.vote([3, 1, 2], [1, -1, -1], 1), -1);
  assert.equal(solvers.vote([1, 1, 5], [1, -1, -1], 1), 1);
  assert.equal(solvers.vote([2, 1], [1, -1], 2), -1);
  assert.equal(solvers.vote([3, 2, 1], [1, 1, -1], 3), 1);
});

test("the SVM reaches its duality gap from a cold and from a warm start", () => {
  const X = cloud(60, 3);
  const y = labels(X);
  const K = gram(kernelOf({ kind: "gaussian", sigma: 0.7 }), X);
  for (const lam of [0.1, 0.01, 0.0005]) {
    const cold = solvers.kernelSVM(K, y, lam, { goal: 1e-8 });
    assert.ok(cold.gap <= 1e-8);
    assert.ok(cold.alpha.every((a) => a >= 0 && a <= cold.C));
    const losses = cold.margins.map((m) => Math.max(0, 1 - m));
    const objective = losses.reduce((s, v) => s + v, 0) / 60 + lam * dot(cold.alpha, cold.margins);
    close([objective], [cold.objective], 1e-12);
    const warm = solvers.kernelSVM(K, y, lam, { goal: 1e-8, alpha0: cold.alpha });
    assert.equal(warm.epochs, 0);
  }
});

test("the SVM stops at its last epoch and says how far it got", () => {
  const X = cloud(40, 4);
  const rough = solvers.kernelSVM(gram(kernelOf({ kind: "gaussian", sigma: 1 }), X), labels(X), 1e-4, { maxEpochs: 2 });
  assert.equal(rough.epochs, 2);
  assert.ok(rough.gap > 1e-6);
});

test("the gradient of the network's loss is that of finite differences", () => {
  const X = cloud(5, 5);
  const classes = [0, 1, 1, 0, 1];
  for (const activation of ["tanh", "sigmoid", "relu"]) {
    const before = newNetwork([2, 3, 3, 2], activation, 7);
    const after = structuredClone(before);
    descend(after, atRest(after), activation, X, classes, 1, 0);
    before.forEach(({ W, b }, l) => {
      [...W, b].forEach((row, i) => {
        for (let j = 0; j < row.length; j++) {
          const slope = row[j] - [...after[l].W, after[l].b][i][j];
          const kept = row[j];
          row[j] = kept + 1e-6;
          const up = meanLoss(before, activation, X, classes);
          row[j] = kept - 1e-6;
          const down = meanLoss(before, activation, X, classes);
          row[j] = kept;
          close([slope], [(up - down) / 2e-6], 1e-8);
        }
      });
    });
  }
});

test("training lowers the loss, momentum or not, and two runs from one seed are the same", () => {
  const X = cloud(30, 6);
  const classes = labels(X).map((y) => (y + 1) / 2);
  const run = (momentum) => train(newNetwork([2, 4, 2], "tanh", 1), "tanh", X, classes, {
    step: 0.3,
    epochs: 50,
    momentum,
  });
  for (const momentum of [0, 0.9]) {
    const losses = run(momentum);
    assert.equal(losses.length, 51);
    assert.ok(losses[50] < 0.8 * losses[0]);
    assert.deepEqual(losses, run(momentum));
  }
});

test("the first layer of outputs is the point itself and the last has no activation", () => {
  const layers = [{
    W: [Float64Array.of(1), Float64Array.of(-1)],
    b: Float64Array.of(0),
  }, { W: [Float64Array.of(2)], b: Float64Array.of(-9) }];
  assert.deepEqual(forward(layers, "relu", [3, 1]).map((h) => [...h]), [[3, 1], [2], [-5]]);
});
