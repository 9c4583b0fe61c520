// The algorithms of kernelcourse.algorithms, on the Gram matrix: the same steps, the same rules for ties and the same
// parameters.

import { kernelOf, squaredDistance } from "./kernels.js";
import { EPSILON, cholesky, choleskySolve, dot, multiply, solveRidge, zeros } from "./linalg.js";

// --- ridge regression

export const dualWeights = (K, t, ridge) => solveRidge(K, t, ridge);

export function primalWeights(Phi, t, ridge) {
  const D = Phi[0].length;
  const A = zeros(D, D);
  const right = new Float64Array(D);
  Phi.forEach((phi, n) => {
    for (let i = 0; i < D; i++) {
      right[i] += phi[i] * t[n];
      for (let j = 0; j < D; j++) A[i][j] += phi[i] * phi[j];
    }
  });
  return solveRidge(A, right, ridge);
}

export function meanSquare(f, t) {
  let sum = 0;
  for (let i = 0; i < t.length; i++) sum += (f[i] - t[i]) ** 2;
  return sum / t.length;
}

// --- the perceptron, one check at a time

export const perceptronStart = (n) => ({
  alpha: new Array(n).fill(0),
  f: new Float64Array(n),
  next: 0, // the point that the next check looks at
  checks: 0,
  epoch: 1,
  clean: true, // no mistake yet in this epoch
  done: n === 0,
});

// Look at one point; say which one, and whether it was a mistake.
export function perceptronCheck(state, K, y) {
  const i = state.next;
  const n = y.length;
  const score = state.f[i];
  const mistake = y[i] * score <= 0;
  if (mistake) {
    state.alpha[i] += 1;
    state.clean = false;
    for (let j = 0; j < n; j++) state.f[j] += y[i] * K[j][i];
  }
  state.checks += 1;
  state.next = (i + 1) % n;
  if (state.next === 0) {
    state.done = state.clean;
    if (!state.done) {
      state.epoch += 1;
      state.clean = true;
    }
  }
  return { i, score, mistake };
}

export function kernelPerceptron(K, y, maxEpochs) {
  const state = perceptronStart(y.length);
  while (!state.done && state.checks < maxEpochs * y.length) perceptronCheck(state, K, y);
  return { alpha: state.alpha, epochs: state.checks / y.length, separated: state.done };
}

// --- nearest neighbours

// The label that most of the kappa nearest points have, from the distances to all points. Among points at equal
// distances the one with the smaller index counts as nearer, and the nearest point decides a tied vote.
export function vote(distances, y, kappa) {
  const nearest = [];
  for (let j = 0; j < y.length; j++) {
    if (nearest.length === kappa && distances[j] >= distances[nearest[kappa - 1]]) continue;
    let place = nearest.length === kappa ? kappa - 1 : nearest.length;
    while (place > 0 && distances[j] < distances[nearest[place - 1]]) {
      nearest[place] = nearest[place - 1];
      place -= 1;
    }
    nearest[place] = j;
  }
  const sum = nearest.reduce((total, j) => total + y[j], 0);
  return sum === 0 ? y[nearest[0]] : Math.sign(sum);
}

// The labels of Z by their nearest points in feature space, by k(z, z) - 2 k(z, x_j) + k(x_j, x_j). Under a Gaussian
// kernel the order is that of the distances in the plane, where nothing is lost in rounding.
export function kernelNeighbors(spec, Z, X, y, kappa) {
  const k = spec.kind === "gaussian" ? (z, x) => -0.5 * squaredDistance(z, x) : kernelOf(spec);
  const diagonal = X.map((x) => k(x, x));
  const distances = new Float64Array(X.length);
  return Z.map((z) => {
    for (let j = 0; j < X.length; j++) distances[j] = diagonal[j] - 2 * k(z, X[j]);
    return vote(distances, y, Math.min(kappa, y.length));
  });
}

// --- the support vector machine without offset

// The objective, mean hinge loss plus lam |f|^2, and the duality gap relative to the objective.
function certificate(alpha, margins, C) {
  let gap = 0;
  let losses = 0;
  for (let i = 0; i < alpha.length; i++) {
    const loss = Math.max(0, 1 - margins[i]);
    losses += loss;
    gap += (C - alpha[i]) * loss + alpha[i] * Math.max(0, margins[i] - 1);
  }
  const objective = Math.max(0, dot(alpha, margins)) / 2 + C * losses;
  return { gap: objective > 0 ? gap / objective : 0, objective };
}

// Points whose coefficients are strictly inside the box are put exactly on the margin, if the coefficients stay inside.
function putOnMargin(Q, alpha, margins, C) {
  const free = [];
  for (let i = 0; i < alpha.length; i++) {
    const probe = alpha[i] + (1 - margins[i]) / Math.max(Q[i][i], EPSILON);
    if (probe > 0 && probe < C) free.push(i);
  }
  if (free.length === 0) return null;
  const next = Float64Array.from(alpha, (a, i) => (a + (1 - margins[i]) / Math.max(Q[i][i], EPSILON) >= C ? C : 0));
  const held = multiply(Q, next);
  const jitter = 1e-13 * free.reduce((most, i) => Math.max(most, Q[i][i]), 0);
  const A = free.map((i, row) => Float64Array.from(free, (j, column) => Q[i][j] + (row === column ? jitter : 0)));
  const L = cholesky(A);
  if (!L) return null;
  choleskySolve(L, free.map((i) => 1 - held[i])).forEach((value, at) => (next[free[at]] = value));
  return next.every((a) => a >= 0 && a <= C) ? next : null;
}

// Ascent on the dual, one coefficient after the other, from alpha0. It ends at the relative duality gap `goal`, or
// after maxEpochs passes with the gap that it has reached.
export function kernelSVM(K, y, lam, { alpha0 = null, goal = 1e-6, maxEpochs = 2000 } = {}) {
  const n = y.length;
  const C = 1 / (2 * n * lam);
  const Q = K.map((row, i) => row.map((value, j) => y[i] * y[j] * value));
  let alpha = Float64Array.from({ length: n }, (_, i) => (alpha0 ? Math.min(C, Math.max(0, alpha0[i])) : 0));
  let margins = multiply(Q, alpha);
  let found = certificate(alpha, margins, C);
  let epochs = 0;
  for (; found.gap > goal && epochs < maxEpochs; epochs++) {
    for (let i = 0; i < n; i++) {
      const step = Math.min(C, Math.max(0, alpha[i] + (1 - margins[i]) / Math.max(Q[i][i], 1e-200))) - alpha[i];
      if (step === 0) continue;
      alpha[i] += step;
      const row = Q[i];
      for (let j = 0; j < n; j++) margins[j] += step * row[j];
    }
    found = certificate(alpha, margins, C);
    if (found.gap > goal && found.gap < 0.05 && epochs % 8 === 7) {
      const exact = putOnMargin(Q, alpha, margins, C);
      const its = exact && multiply(Q, exact);
      const better = exact && certificate(exact, its, C);
      if (better && better.gap < found.gap) [alpha, margins, found] = [exact, its, better];
    }
  }
  return { alpha, margins, C, gap: found.gap, objective: 2 * lam * found.objective, epochs };
}
