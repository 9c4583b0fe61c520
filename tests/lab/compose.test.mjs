import assert from "node:assert/strict";
import { test } from "node:test";
import { BASES, compose, counterexample, isNegative, spectrum, STEPS } from "../../book/_static/lab/compose.js";

const points = [-2, -0.7, 0.4, 1.5, 3];

test("the Gaussian kernel is assembled from the rules", () => {
  const steps = [["scale", "0.25"], ["exp", ""], ["weight", "bell"]];
  const { k, valid } = compose({ start: "linear", steps });
  assert.equal(valid, true);
  for (const x of points) for (const z of points) assert.ok(Math.abs(k(x, z) - Math.exp(-((x - z) ** 2) / 8)) < 1e-14);
});

test("every step that the rules allow leaves the eigenvalues nonnegative", () => {
  const operands = { scale: "2", exp: "", poly: "", weight: "x" };
  for (const start of Object.keys(BASES).filter((name) => BASES[name].valid)) {
    for (const name of Object.keys(STEPS).filter((step) => step !== "minus")) {
      const { k, valid } = compose({ start, steps: [[name, operands[name] ?? "gaussian"]] });
      assert.equal(valid, true);
      assert.equal(isNegative(spectrum(k, [-1, 0, 1.5]).values), false, `${start} ${name}`);
    }
  }
});

test("what breaks a rule is named", () => {
  assert.match(compose({ start: "distance", steps: [] }).broken, /not a kernel/);
  assert.match(compose({ start: "one", steps: [["minus", "linear"], ["exp", ""]] }).broken, /difference/);
  assert.match(compose({ start: "linear", steps: [["scale", "-1"]] }).broken, /6\.13/);
  assert.match(compose({ start: "linear", steps: [["plus", "distance"]] }).broken, /\|x − x′\| is not a kernel/);
});

test("a counterexample has a negative sum, and no point to spare", () => {
  for (const recipe of [
    { start: "distance", steps: [] },
    { start: "gaussian", steps: [["minus", "linear"]] },
    { start: "gaussian", steps: [["scale", "-1"]] },
  ]) {
    const { k } = compose(recipe);
    const found = counterexample(k, points);
    let sum = 0;
    found.points.forEach((x, i) => found.points.forEach((z, j) => (sum += found.a[i] * found.a[j] * k(x, z))));
    assert.ok(sum < 0);
    assert.ok(Math.abs(sum - found.value) < 1e-12);
    assert.ok(found.points.length <= 2);
  }
});

test("a kernel has no counterexample, with or without points to begin with", () => {
  assert.equal(counterexample(BASES.gaussian.k, points), null);
  assert.equal(counterexample(BASES.gaussian.k, []), null);
});
