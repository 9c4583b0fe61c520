import assert from "node:assert/strict";
import { test } from "node:test";
import { standardise } from "../../book/_static/lab/playground.js";
import { decode, encode } from "../../book/_static/lab/widgets.js";

const start = { lambda: 0.1, kernel: "gaussian", step: "scale 0.25", points: [[0, 0, 1]] };

test("the start has an empty address, and an empty address is the start", () => {
  assert.equal(encode(structuredClone(start), start), "");
  assert.deepEqual(decode("", start), start);
});

test("a state comes back from its address, points to the last digit", () => {
  const state = { lambda: 2.5e-3, kernel: "linear", step: "plus a,b:c", points: [[-20, 20, -1], [1.234, -0.001, 1], [0, 3, 0]] };
  assert.deepEqual(decode(encode(state, start), start), state);
});

test("no points is a state of its own", () => {
  assert.deepEqual(decode(encode({ ...start, points: [] }, start), start).points, []);
});

test("what cannot be read is left as it was", () => {
  for (const text of ["lambda:x", "lambda:", "lambda:Infinity", "kernel:%E0", "unknown:1", "points:???????", "toString:1"]) {
    assert.deepEqual(decode(text, start), start, text);
  }
});

test("standardised columns have mean 0 and standard deviation 1, a constant one is only moved", () => {
  const scaled = standardise([[1, 5], [3, 5]]);
  assert.deepEqual([[1, 5], [3, 5], [2, 6]].map(scaled), [[-1, 0], [1, 0], [0, 1]]);
});
