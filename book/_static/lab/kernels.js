// Kernels on points (arrays of numbers), Gram matrices, and sums of kernels on a grid of the plane.

import { zeros } from "./linalg.js";

export function squaredDistance(x, z) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += (x[i] - z[i]) ** 2;
  return sum;
}

function inner(x, z) {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * z[i];
  return sum;
}

// A kernel is its name and its parameters: { kind: "gaussian", sigma: 1 }.
const KERNELS = {
  linear: () => inner,
  polynomial:
    ({ degree, offset = 1 }) =>
    (x, z) =>
      (inner(x, z) + offset) ** degree,
  gaussian: ({ sigma }) => {
    const rate = -0.5 / Math.max(sigma * sigma, 1e-300);
    return (x, z) => Math.exp(rate * squaredDistance(x, z));
  },
};

export const kernelOf = (spec) => KERNELS[spec.kind](spec);

export function cross(k, Z, X) {
  const K = zeros(Z.length, X.length);
  for (let i = 0; i < Z.length; i++) for (let j = 0; j < X.length; j++) K[i][j] = k(Z[i], X[j]);
  return K;
}

export function gram(k, X) {
  const K = zeros(X.length, X.length);
  for (let i = 0; i < X.length; i++) {
    for (let j = 0; j <= i; j++) K[i][j] = K[j][i] = k(X[i], X[j]);
  }
  return K;
}

export const linspace = (low, high, n) => Float64Array.from(
  { length: n },
  (_, i) => low + ((high - low) * i) / (n - 1),
);

// The points of the grid xs times ys, row after row.
export const gridPoints = ({ xs, ys }) => Array.from(ys).flatMap((y) => Array.from(xs, (x) => [x, y]));

// f(x, y) = sum_i c_i k(x_i, (x, y)) at the points of such a grid. A Gaussian factors into its coordinates, so it takes
// only one exponential per point and grid line.
export function surface(spec, X, c, xs, ys) {
  const values = new Float64Array(xs.length * ys.length);
  const k = kernelOf(spec);
  X.forEach((point, i) => {
    if (c[i] === 0) return;
    if (spec.kind === "gaussian") {
      const across = xs.map((x) => c[i] * k([x], [point[0]]));
      const up = ys.map((y) => k([y], [point[1]]));
      for (let row = 0, at = 0; row < ys.length; row++) {
        if (up[row] < 1e-30) at += xs.length;
        else for (let j = 0; j < xs.length; j++, at++) values[at] += across[j] * up[row];
      }
    } else {
      for (let row = 0, at = 0; row < ys.length; row++) {
        for (let j = 0; j < xs.length; j++, at++) values[at] += c[i] * k([xs[j], ys[row]], point);
      }
    }
  });
  return values;
}
