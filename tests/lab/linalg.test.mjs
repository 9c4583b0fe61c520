import assert from "node:assert/strict";
import { test } from "node:test";
import { cholesky, choleskySolve, dot, eigenSymmetric, multiply, solveRidge } from "../../book/_static/lab/linalg.js";
import { uniformFrom } from "../../book/_static/lab/network.js";

const rows = (matrix) => matrix.map((row) => Float64Array.from(row));
const close = (a, b, tolerance = 1e-10) => {
  assert.equal(a.length, b.length);
  for (let i = 0; i < a.length; i++) assert.ok(Math.abs(a[i] - b[i]) <= tolerance, `${a[i]} is not ${b[i]}, at ${i}`);
};
const randomSymmetric = (n, seed) => {
  const uniform = uniformFrom(seed);
  const A = rows(Array.from({ length: n }, () => Array.from({ length: n }, () => uniform() - 0.5)));
  return A.map((row, i) => row.map((value, j) => value + A[j][i]));
};

test("Cholesky factors multiply back to the matrix", () => {
  const A = rows([[4, 2, 0], [2, 5, 3], [0, 3, 6]]);
  const L = cholesky(A);
  for (let i = 0; i < 3; i++) close(A[i], L.map((row) => dot(L[i], row)));
  assert.equal(L[0][2], 0);
});

test("Cholesky refuses what is not positive definite", () => {
  assert.equal(cholesky(rows([[1, 2], [2, 1]])), null);
  assert.equal(cholesky(rows([[1, 1], [1, 1]])), null);
  assert.equal(cholesky(rows([[NaN]])), null);
});

test("a Cholesky solution satisfies its equations", () => {
  const A = rows([[4, 2, 0], [2, 5, 3], [0, 3, 6]]);
  close(multiply(A, choleskySolve(cholesky(A), [1, -2, 3])), [1, -2, 3]);
});

test("eigenvalues rise and their vectors are orthonormal eigenvectors", () => {
  for (const n of [1, 2, 7, 20]) {
    const A = randomSymmetric(n, n);
    const { values, vectors } = eigenSymmetric(A);
    for (let i = 0; i < n; i++) {
      if (i > 0) assert.ok(values[i] >= values[i - 1]);
      close(multiply(A, vectors[i]), vectors[i].map((v) => v * values[i]), 1e-12 * n);
      for (let j = 0; j < n; j++) close([dot(vectors[i], vectors[j])], [i === j ? 1 : 0], 1e-12 * n);
    }
  }
});

test(
  "a zero matrix has zero eigenvalues",
  () => assert.deepEqual(eigenSymmetric(rows([[0, 0], [0, 0]])).values, [0, 0]),
);

test("the ridge is added to the diagonal", () => close(solveRidge(rows([[1, 0], [0, 3]]), [4, 6], 1), [2, 1.5]));

test("duplicates without a ridge share the weight evenly, as the limit of small ridges does", () => {
  close(solveRidge(rows([[1, 1], [1, 1]]), [2, 2], 0), [1, 1]);
  close(solveRidge(rows([[1, 1], [1, 1]]), [3, 1], 0), [1, 1]);
});
